"""`kernel.bench` on devices: copies are timed, each time from equal inputs; what is slower is called so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.runtime.devices.cuda.timer import BUSY
from shadesmith.runtime.devices.timer import HostTimer
from shadesmith.runtime.devices.vulkan import timer as vulkan_timer
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.measure import harness
from shadesmith.runtime.workbench.measure.harness import ReplicaSet
from shadesmith.runtime.workbench.measure.replicas import record
from shadesmith.transpiler.errors import TaichiCompilationError, TaichiRuntimeError

pytestmark = pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter runs no text

WORK = """
    @ti.kernel
    def work(x: ti.types.ndarray(ti.f32, 1), turns: ti.i32):
        for i in x:
            s = x[i]
            for j in range(turns):
                s = s * 0.5 + ti.sqrt(s + j)
            x[i] = s
"""
SIZE = 5000


@pytest.fixture(autouse=True)
def compiled(target: str) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")


@pytest.fixture
def work(tmp_path: Path):
    return written_programs.write(tmp_path / "p.py", WORK).work


def ones() -> ti.ScalarNdarray:
    x = ti.ndarray(ti.f32, SIZE)
    x.fill(1.0)
    return x


@pytest.mark.exhaustive
def test_what_does_more_is_slower_and_the_other_way_round(work, target: str) -> None:
    x = ones()
    path = work.edit(x, 60, variant="more")
    written_programs.replaced(path, "args.turns", "(20 * args.turns)")
    found = work.bench(x, 60, seconds=20.0)
    assert [row.name for row in found.rows] == ["generated", "more"]
    assert found.verdict == found["more"].verdict == "slower", str(found)
    assert found.fastest == "generated"
    turned = work.bench(x, 60, variants=["more", "generated"], seconds=20.0)
    assert turned.verdict == "faster" and turned.fastest == "generated"


def test_users_arrays_are_left_alone(work, target: str) -> None:
    x, y = ones(), np.ones(SIZE, np.float32)
    launches = sessions.CURRENT.epoch
    work.bench(x, 3, seconds=0.1)
    work.bench(y, 3, seconds=0.1)
    assert (x.to_numpy() == 1).all() and (y == 1).all()
    assert sessions.CURRENT.epoch == launches, "no launch of the user's"


def test_each_sample_begins_with_the_same_inputs(work, target: str) -> None:
    variants = work.variants(ones(), 2)
    recording = record(variants)
    replicas = ReplicaSet(recording)
    (region,) = [region for region in recording.regions if region.role == "data"]
    launch = replicas.launcher(variants.generated)

    def held() -> np.ndarray:
        hold, begin = replicas._replicas.memory(region), replicas._replicas.offset(region)
        data = np.empty(hold.size_bytes, np.uint8)
        sessions.CURRENT.device.read(hold.allocation, data.data)
        return data[begin : begin + 4 * SIZE].view(np.float32)

    launch()
    once = held()
    launch()
    twice = held()
    replicas.restore()
    assert (held() == 1).all() and (once != 1).all() and (twice != once).all()
    launch()
    np.testing.assert_array_equal(held(), once)


def test_results_captured_fields_and_sparse_trees(target: str, tmp_path: Path) -> None:
    program = written_programs.write(
        tmp_path / "p.py",
        """
        def make():
            total, cells = ti.field(ti.f32, ()), ti.field(ti.i32)
            ti.root.pointer(ti.i, 64).dense(ti.i, 16).place(cells)

            @ti.kernel
            def grow(n: ti.i32) -> ti.f32:
                for i in range(n):
                    cells[i] += i
                for i in cells:
                    total[None] += cells[i]
                return total[None]

            return grow, total, cells
        """,
    )
    grow, total, cells = program.make()
    cells[5] = 7
    found = grow.bench(100, seconds=0.2)
    assert found.rounds >= 10 and found.rows[0].median > 0
    assert total[None] == 0 and cells[5] == 7 and cells[6] == 0
    assert grow(3) == 10, "5 cells of one block: 0 + 1 + 2 + 7"


def test_a_table_for_people_and_data_for_programs(work, target: str) -> None:
    x = ones()
    written_programs.replaced(work.edit(x, 5), "// p.py", "//  p.py")
    found = work.bench(x, 5, seconds=0.2)
    title, heading, first, second = str(found).splitlines()
    assert title.startswith(f"work(ndarray[f32, 1], i32) on {sessions.CURRENT.device.title}: {found.rounds} rounds")
    assert heading.split("  ")[0] == "variant" and heading.endswith("verdict") and "time to generated" in heading
    assert first.startswith("generated  ") and second.startswith("edit       ")
    data = json.loads(json.dumps(found.to_json()))
    assert [row["variant"] for row in data["variants"]] == ["generated", "edit"]
    assert data["variants"][1]["verdict"] == found.verdict and len(data["variants"][1]["interval"]) == 2


def test_one_text_alone_has_times_and_no_verdict(work, target: str) -> None:
    found = work.bench(ones(), 5, seconds=0.2)
    assert found.verdict == "" and found.rows[0].ratio is None and str(found).count("\n") == 3


def test_short_kernels_are_launched_several_times_in_a_sample(work, target: str, monkeypatch) -> None:
    monkeypatch.setattr(harness, "SAMPLE_RESOLUTIONS", 20_000)  # no launch of nothing takes that long, however busy
    found = work.bench(ti.ndarray(ti.f32, 1), 0, seconds=0.2)
    assert found.repeats > 1 and f"rounds of {found.repeats} launches" in str(found)


def test_methods(target: str, tmp_path: Path) -> None:
    program = written_programs.write(
        tmp_path / "p.py",
        """
        @ti.data_oriented
        class Holder:
            def __init__(self):
                self.x = ti.field(ti.f32, 100)

            @ti.kernel
            def step(self):
                for i in self.x:
                    self.x[i] += 1.0
        """,
    )
    holder = program.Holder()
    assert holder.step.bench(seconds=0.1).rows[0].median > 0 and holder.x[0] == 0


def test_mistakes_are_told(work, target: str) -> None:
    x = ones()
    with pytest.raises(TaichiRuntimeError, match="has no variant `tiled`"):
        work.bench(x, 5, variants=["generated", "tiled"])
    with pytest.raises(TaichiRuntimeError, match="names nothing to time"):
        work.bench(x, 5, variants=[])
    written_programs.replaced(work.edit(x, 5), "float s", "flaot s")
    with pytest.raises(TaichiCompilationError):
        work.bench(x, 5)
    alone = work.bench(x, 5, variants=["generated"], seconds=0.1)
    assert alone.rounds >= 10 and str(alone).endswith("no verdict: `generated` is the only variant; `kernel.edit(...)` "
                                                      "starts another")  # fmt: skip


# --- timers


def test_a_timer_reads_its_spans_in_order(work, target: str) -> None:
    x, timer = ti.ndarray(ti.f32, 64), sessions.CURRENT.device.timer()
    work(x, 1)
    for turns in (1, 30_000, 1, 1, 1, 1):
        timer.delay(1e-3)
        timer.start()
        work(x, turns)
        timer.stop()
    spans = timer.read()
    assert len(spans) == 6 and min(spans) > 0 and timer.read() == []
    assert spans[1] > min(spans[2:]), "30,000 turns take longer than the quickest of four with one"
    timer.close()


def test_a_timer_has_no_limit_of_spans(work, target: str) -> None:
    x, timer = ones(), sessions.CURRENT.device.timer()
    count = vulkan_timer.SPANS + 10
    for _ in range(count):
        timer.start()
        work(x, 0)
        timer.stop()
    spans = timer.read()
    assert len(spans) == count and min(spans) >= 0
    timer.close()
    work(x, 1)
    assert np.isfinite(x.to_numpy()).all()


def test_launches_go_on_when_a_timer_is_closed_while_it_holds(work, target: str) -> None:
    x, timer = ones(), sessions.CURRENT.device.timer()
    timer.delay(1e-3)
    timer.start()
    work(x, 1)
    timer.close()
    work(x, 1)
    assert (x.to_numpy() != 1).all()


def test_what_has_no_clock_is_timed_by_the_hosts() -> None:
    waited = []
    timer = HostTimer(lambda: waited.append(1))
    timer.start()
    timer.stop()
    assert len(waited) == 2 and len(timer.read()) == 1


def test_what_keeps_a_gpu_busy_compiles(target: str) -> None:
    try:
        cubin, log = nvrtc.compile_cubin(BUSY, name="keep_busy.cu")
    except TaichiRuntimeError as error:
        pytest.skip(str(error).splitlines()[0])
    assert cubin.startswith(b"\x7fELF") and "warning" not in log
