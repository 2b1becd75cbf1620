"""Recordings: every launch is in them, and a replay leaves the same in memory."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.commands.command_line import main
from shadesmith.runtime.launch.instance import LAUNCH_OBSERVERS
from shadesmith.runtime.launch.kernel import CALL_OBSERVERS
from shadesmith.runtime.recording.yaml_subset import dump_yaml, load_yaml

ARCH = {"cpu": "c"}


@pytest.fixture(autouse=True)
def nothing_stays() -> Any:
    yield
    with contextlib.suppress(ti.TaichiRuntimeError):  # raised but where a test failed within a recording
        ti.aot.stop_recording()
    assert not CALL_OBSERVERS and not LAUNCH_OBSERVERS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "record.yml"


def recorded(path: Path) -> dict[str, Any]:
    return load_yaml(path.read_text())


def replay(path: Path, capsys: Any, *options: str) -> tuple[int, str]:
    capsys.readouterr()
    status = main(["replay", str(path), *options])
    return status, capsys.readouterr().out


@ti.kernel
def scale(x: ti.types.ndarray(dtype=ti.f32, ndim=1), n: ti.i32, by: ti.f32):
    for i in range(n):
        x[i] *= by


@pytest.mark.all_targets
def test_a_program_is_replayed_bit_by_bit(target: str, path: Path, capsys: Any) -> None:
    total, values = ti.field(ti.i32, ()), ti.Vector.field(2, ti.f32, 100)

    @ti.kernel
    def fill(seed: ti.i32) -> ti.i32:
        for i in values:
            values[i] = [i + seed, ti.random()]
            total[None] += i
        return total[None]

    ti.aot.start_recording(str(path))
    results = [fill(1), fill(2)]
    ti.aot.stop_recording()
    data = recorded(path)
    (session,) = data["sessions"]
    assert session["arch"] == ARCH.get(target, target)
    assert [launch["arguments"] for launch in session["launches"]] == [{"seed": 1}, {"seed": 2}]
    assert results == [4950, 9900] and data["kernels"][0]["name"] == "fill"
    assert data["kernels"][0]["file"] == __file__ and data["kernels"][0]["line"] > 1
    assert [task["kind"] for task in data["kernels"][0]["tasks"]][0] == "range_for"
    if target == "python":
        assert all(launch["left_out"] == "the interpreter runs no source" for launch in session["launches"])
        return
    status, output = replay(path, capsys)
    assert status == 0 and "2 launches" in output, output
    assert "DIFFERS" not in output and "values: equal" in output


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_what_python_writes_in_between_is_kept(target: str, path: Path, capsys: Any) -> None:
    x = ti.ndarray(ti.f32, 8)
    ti.aot.start_recording(path)
    x.fill(1)
    scale(x, 8, 2.0)
    x[3] = 10
    scale(x, 4, 3.0)
    scale(x, 8, 0.5)
    ti.aot.stop_recording()
    assert x.to_numpy().tolist() == [3, 3, 3, 15, 1, 1, 1, 1]
    launches = recorded(path)["sessions"][0]["launches"]
    if target != "python":
        assert [len(launch["before"]) for launch in launches] == [1, 1, 0]
        assert replay(path, capsys)[0] == 0


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_arrays_of_other_libraries_are_kept(target: str, path: Path, capsys: Any) -> None:
    x = np.arange(10, dtype=np.float32)
    ti.aot.start_recording(path)
    scale(x, 10, 2.0)
    scale(x[::2], 5, 2.0)
    scale(x.copy(), 10, 0.0)
    ti.aot.stop_recording()
    assert x.tolist() == [0, 2, 8, 6, 16, 10, 24, 14, 32, 18]
    if target != "python":
        status, output = replay(path, capsys)
        assert status == 0 and "3 launches" in output, output


def test_what_is_compiled_alone_is_recorded_too(path: Path, capsys: Any) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    ti.aot.start_recording(path)

    @ti.kernel
    def unused(n: ti.i32) -> ti.i32:
        return n + 1

    unused.compile(1)
    ti.aot.stop_recording()
    data = recorded(path)
    assert [kernel["name"] for kernel in data["kernels"]] == ["unused"] and data["sessions"] == []
    assert unused(1) == 2 and replay(path, capsys)[0] == 0


def test_a_damaged_older_recording_is_replaced(path: Path, capsys: Any) -> None:
    path.write_text("format: shadesmith-recording\nkernels:\n  - 3\n")
    record_one(path)
    assert replay(path, capsys)[0] == 0


def test_kernels_compiled_before_are_recorded_and_run_on_afterwards(path: Path) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    x = ti.ndarray(ti.f32, 4)
    scale(x, 4, 1.0)
    ti.aot.start_recording(path)
    scale(x, 4, 1.0)
    ti.aot.stop_recording()
    scale(x, 4, 1.0)
    assert len(recorded(path)["sessions"][0]["launches"]) == 1


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_methods_templates_and_packs(target: str, path: Path, capsys: Any) -> None:
    @ti.data_oriented
    class Grid:
        def __init__(self, n: int) -> None:
            self.cells = ti.field(ti.f32, n)

        @ti.kernel
        def add(self, other: ti.template(), by: ti.types.vector(3, ti.f32)):
            for i in self.cells:
                self.cells[i] += other[i] + by.y

    other = ti.field(ti.f32, 5)
    other.fill(1.5)
    grid = Grid(5)
    ti.aot.start_recording(path)
    grid.add(other, ti.Vector([1.0, 2.0, 3.0]))
    ti.aot.stop_recording()
    assert grid.cells.to_numpy().tolist() == [3.5] * 5
    if target != "python":
        assert replay(path, capsys)[0] == 0


def test_what_a_kernel_prints_is_printed_again(path: Path, capfd: Any) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)

    @ti.kernel
    def say(n: ti.i32):
        print("said", n)

    ti.aot.start_recording(path)
    say(41)
    ti.aot.stop_recording()
    capfd.readouterr()
    assert main(["replay", str(path)]) == 0
    assert "said 41" in capfd.readouterr().out


def test_a_launch_without_turns_and_an_empty_recording(path: Path, capsys: Any) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    ti.aot.start_recording(path)
    scale(np.zeros(0, np.float32), 0, 1.0)
    ti.aot.stop_recording()
    assert replay(path, capsys)[0] == 0
    ti.aot.start_recording(path)
    ti.aot.stop_recording()
    assert recorded(path)["sessions"] == [] and replay(path, capsys)[0] == 0


def test_sessions_follow_each_other(path: Path, capsys: Any) -> None:
    ti.aot.start_recording(path)
    for _ in range(2):
        ti.init(arch=ti.cpu, log_level=ti.WARN)
        scale(ti.ndarray(ti.f32, 3), 3, 2.0)
    ti.aot.stop_recording()
    assert len(recorded(path)["sessions"]) == 2
    status, output = replay(path, capsys, "--json")
    assert status == 0 and [result["launches"] for result in json.loads(output)] == [1, 1]


def test_an_edited_text_is_replayed_as_it_is_now(path: Path, capsys: Any) -> None:
    record_one(path)
    (text,) = path.with_suffix("").glob("scale-*/scale.c")
    assert "x(i) * args.by" in text.read_text()
    text.write_text(text.read_text().replace("x(i) * args.by", "x(i) + args.by"))
    status, output = replay(path, capsys)
    assert status == 1 and "x: DIFFERS" in output and "first after launch 1" in output, output


def test_rounding_is_told_from_mistakes(path: Path, capsys: Any) -> None:
    record_one(path)
    (text,) = path.with_suffix("").glob("scale-*/scale.c")
    original = text.read_text()
    for factor, status, word in (("1.0000002f", 0, "within rounding"), ("1.001f", 1, "DIFFERS")):
        text.write_text(original.replace("x(i) * args.by", f"x(i) * args.by * {factor}"))
        assert text.read_text() != original
        found, output = replay(path, capsys)
        assert found == status and f"x: {word}" in output, output


def record_one(path: Path) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    x = ti.ndarray(ti.f32, 64)
    x.from_numpy(np.arange(64, dtype=np.float32) + 0.5)
    ti.aot.start_recording(path)
    scale(x, 64, 2.5)
    ti.aot.stop_recording()


def test_the_list_of_launches(path: Path, capsys: Any) -> None:
    record_one(path)
    status, output = replay(path, capsys, "--list")
    assert status == 0 and "(x=ndarray[f32, 1], n=64, by=2.5)" in output
    status, output = replay(path, capsys, "--list", "--json")
    assert json.loads(output) == recorded(path)


def test_sparse_trees_are_named_and_left_out(path: Path, capsys: Any) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(x)

    @ti.kernel
    def grow():
        x[3] = 1

    ti.aot.start_recording(path)
    grow()
    ti.aot.stop_recording()
    assert x[3] == 1
    status, output = replay(path, capsys)
    assert status == 1 and "left out: launch 1" in output and "sparse tree" in output


def test_launches_from_several_threads(path: Path, capsys: Any) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    arrays = [ti.ndarray(ti.f32, 100) for _ in range(4)]

    def work(x: Any) -> None:
        for _ in range(20):
            scale(x, 100, 0.5)

    for x in arrays:
        x.fill(1)
    ti.aot.start_recording(path)
    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ti.aot.stop_recording()
    assert len(recorded(path)["sessions"][0]["launches"]) == 80
    assert replay(path, capsys)[0] == 0


# --- what is refused ------------------------------------------------------------------------------------------------


def test_pairs_that_do_not_match(path: Path) -> None:
    with pytest.raises(ti.TaichiRuntimeError, match="nothing is being recorded"):
        ti.aot.stop_recording()
    ti.aot.start_recording(path)
    with pytest.raises(ti.TaichiRuntimeError, match=r"record.yml is being recorded"):
        ti.aot.start_recording(path)
    ti.aot.stop_recording()


def test_nothing_of_the_users_is_overwritten(path: Path) -> None:
    path.write_text("important: true\n")
    with pytest.raises(ti.TaichiRuntimeError, match="is not a recording"):
        ti.aot.start_recording(path)
    assert path.read_text() == "important: true\n"
    path.unlink()
    folder = path.with_suffix("")
    folder.mkdir()
    (folder / "mine.txt").write_text("x")
    with pytest.raises(ti.TaichiRuntimeError, match="is not empty"):
        ti.aot.start_recording(path)
    with pytest.raises(ti.TaichiRuntimeError, match="has no suffix"):
        ti.aot.start_recording(folder / "record")


def test_an_older_recording_is_replaced(path: Path, capsys: Any) -> None:
    record_one(path)
    before = sorted(file.name for file in path.parent.rglob("*"))
    record_one(path)
    assert sorted(file.name for file in path.parent.rglob("*")) == before
    assert replay(path, capsys)[0] == 0


DAMAGE: dict[str, Any] = {
    "version": lambda d: d.update(version=2),
    "format": lambda d: d.update(format="x"),
    "no sessions": lambda d: d.pop("sessions"),
    "kernel": lambda d: d["sessions"][0]["launches"][0].update(kernel="../../x-00000000"),
    "packed": lambda d: d["sessions"][0]["launches"][0].update(packed="00"),
    "turns": lambda d: d["sessions"][0]["launches"][0].update(turns=[]),
    "memory": lambda d: d["sessions"][0]["launches"][0].update(pointers=[[0, 99, 0]]),
    "offset": lambda d: d["sessions"][0]["launches"][0].update(pointers=[[10**6, 0, 0]]),
    "digest": lambda d: d["sessions"][0]["launches"][0].update(before=[[0, "../x"]]),
    "size": lambda d: d["sessions"][0]["memory"][0].update(size_bytes=-1),
    "launches": lambda d: d["sessions"][0].update(launches=3),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_recording_is_refused_by_name(name: str, path: Path, capsys: Any) -> None:
    record_one(path)
    data = recorded(path)
    DAMAGE[name](data)
    path.write_text(dump_yaml(data))
    assert main(["replay", str(path)]) == 2
    assert "record.yml is no recording that can be replayed" in capsys.readouterr().err


def test_changed_contents_are_refused(path: Path, capsys: Any) -> None:
    record_one(path)
    for file in path.with_suffix("").glob("memory/*.bin"):
        file.write_bytes(bytes(file.stat().st_size))
    assert main(["replay", str(path)]) == 2
    assert "was changed" in capsys.readouterr().err


# --- the seed's own order -------------------------------------------------------------------------------------------


def test_recording_may_begin_before_init_and_end_with_the_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        textwrap.dedent("""
        import shadesmith as ti
        ti.aot.start_recording('record.yml')
        ti.init(arch=ti.cc)
        loss = ti.field(float, ())
        x = ti.field(float, 233)

        @ti.kernel
        def compute_loss():
            for i in x:
                loss[None] += x[i]**2

        x.fill(2)
        compute_loss()
        """)
    )
    for words in (["program.py"], ["-m", "shadesmith", "replay", "record.yml"]):
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "loss: equal" in done.stdout


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_textures_are_named_and_left_out(target: str, path: Path, capsys: Any) -> None:
    texture = ti.Texture(ti.Format.rgba8, (4, 4))

    @ti.kernel
    def paint(t: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8, lod=0)):
        for i, j in ti.ndrange(4, 4):
            t.store(ti.Vector([i, j]), ti.Vector([1.0, 0.0, 0.0, 1.0]))

    ti.aot.start_recording(path)
    paint(texture)
    ti.aot.stop_recording()
    (launch,) = recorded(path)["sessions"][0]["launches"]
    assert launch["left_out"] in ("it uses textures", "the interpreter runs no source")
    assert texture.to_image().getpixel((0, 0)) == (255, 0, 0)
    assert replay(path, capsys)[0] == (2 if target == "python" else 1)
