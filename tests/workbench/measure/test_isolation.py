"""Edited sources in a child process: all kinds of arguments reach it, and what happens there stays there."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import compared
import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.measure.process import child_process
from shadesmith.runtime.workbench.measure.process.child_process import ChildProcess, ProcessEnded
from shadesmith.runtime.workbench.measure.process.runners import IsolatedRunner
from shadesmith.runtime.workbench.measure.swept import SweptComparer

pytestmark = pytest.mark.isolated


@pytest.fixture(autouse=True)
def edits(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no source")
    sessions.CURRENT.config.edits_dir = str(tmp_path)


def edited(kernel: Any, args: tuple[Any, ...], old: str, new: str, variant: str = "") -> Path:
    path = kernel.edit(*args, variant=variant)
    written_programs.replaced(path, old, new)
    return path


@ti.data_oriented
class Solver:
    """A kernel of an object, with a field, a vector ndarray, a plain array, a struct and a number."""

    def __init__(self) -> None:
        self.weights = ti.field(ti.f32, 4)
        self.weights.from_numpy(np.arange(4, dtype=np.float32))

    @ti.kernel
    def step(
        self, v: ti.types.ndarray(ti.math.vec3, 1), x: ti.types.ndarray(), s: ti.types.vector(2, ti.f32), n: ti.i32
    ) -> ti.f32:
        total = 0.0
        for i in range(n):
            v[i] += 2.5 * self.weights[i % 4] * ti.math.vec3(x[i], s.x, s.y)
            total += 1.0
        return total


@pytest.mark.one_target
def test_all_kinds_of_arguments_reach_the_process(target: str) -> None:
    solver, v = Solver(), ti.Vector.ndarray(3, ti.f32, 40)
    args = (v, np.linspace(0, 1, 40, dtype=np.float32), ti.Vector([1.0, 2.0]), 40)
    path = solver.step.edit(*args)
    for file in [path] if path.is_file() else sorted(path.glob("*.comp")):
        file.write_text(file.read_text().replace("2.5", "2.50"))
    found = solver.step.compare(*args)
    assert found.passed and {"v", "x", "return value"} <= set(found.outputs), found
    for file in [path] if path.is_file() else sorted(path.glob("*.comp")):
        file.write_text(file.read_text().replace("2.50", "3.50"))
    assert "v[" in str(solver.step.compare(*args).outputs["v"].first)
    assert not v.to_numpy().any()


@pytest.mark.one_target
def test_textures_and_sparse_trees_reach_the_process(target: str) -> None:
    texture = ti.Texture(ti.Format.rgba8, (8, 4))
    texture.from_numpy(np.arange(8 * 4 * 4, dtype=np.uint8).reshape(8, 4, 4))
    x = ti.field(ti.f32)
    ti.root.pointer(ti.i, 16).dense(ti.i, 4).place(x)

    @ti.kernel
    def sample(t: ti.types.texture(2), y: ti.types.ndarray(ti.f32, 1)):
        for i in y:
            y[i] = 3.0 * t.fetch(ti.Vector([i, 1]), 0).x

    @ti.kernel
    def fill(n: ti.i32):
        for i in range(n):
            x[4 * i + 3] = 10.0 + i

    args = (texture, np.zeros(8, np.float32))
    edited(sample, args, "3.0", "3.50")
    found = sample.compare(*args)
    assert not found.passed and "y" in found.outputs, found
    edited(fill, (5,), "10.0", "1.5e1")
    assert str(fill.compare(5).outputs["x"].first) == "x[3]: 10, found 15"


@pytest.mark.one_target
def test_a_crash_leaves_the_next_comparison_alone(target: str) -> None:
    kernel, args = compared.bits()
    far = "y(i + 1500000000) =" if target == "vulkan" else "y((long long)i + (1LL << 40)) ="
    edited(kernel, args, "y(i) =", far, variant="far")
    edited(kernel, args, "y(i) =", "/**/ y(i) =", variant="right")
    variants = kernel.variants(*args)
    runner = IsolatedRunner(variants.session, 5.0)
    try:
        modules = {name: variants.module(name) for name in ("far", "right")}
        comparer = SweptComparer(variants, list(modules.values()), runner)
        with pytest.raises(ti.TaichiRuntimeError, match=r"`far`"):
            comparer.against("far", modules["far"])
        found = comparer.against("right", modules["right"])
        assert found.passed and len(found.sizes) == 7, found
    finally:
        runner.close()


@pytest.mark.exhaustive
@pytest.mark.all_targets
def test_bench_and_tune_name_what_does_not_end(target: str) -> None:
    if target == "vulkan" and sessions.CURRENT.device.is_software:
        pytest.skip("lavapipe ends loops after 65,535 iterations")
    kernel, args = compared.bits()
    loop = {
        "cpu": "for (volatile int q = 1; q; ) { }",
        "cuda": "while (*(volatile int *)&y(i) != 1 << 30) { }",  # NVRTC drops a loop over a local volatile
        "vulkan": "y(i) = 1; while (y(i) != 0) { y(i) = 2; }",
    }[target]
    edited(kernel, args, "y(i) =", f"{loop} y(i) =")
    with pytest.raises(ProcessEnded, match=r"^\S+mix\.\w+:1: `edit` of kernel `mix` was stopped after 1 s"):
        kernel.bench(*args, seconds=0.1, time_limit=1.0)
    path = next(Path(sessions.CURRENT.config.edits_dir).rglob("mix.*"))
    text = path.read_text().replace(loop, f"if (STOP == 1) {{ {loop} }}")
    place = text.index("struct Args") if "struct Args" in text else text.index("layout(")
    path.write_text(f"{text[:place]}#define STOP 0  // @tune STOP = 0 | 1 | 2\n{text[place:]}")
    found = kernel.tune(*args, seconds=0.1, time_limit=1.0)
    status = {trial.label: trial.status for trial in found.trials}
    assert status == {"STOP=0": "timed", "STOP=1": "failed", "STOP=2": "timed"}, found


@pytest.mark.one_target
def test_a_killed_process_is_told_and_leaves_nothing(target: str) -> None:
    process = ChildProcess(sessions.CURRENT)
    process._open()
    threading.Timer(0.2, os.kill, (process._process.pid, signal.SIGKILL)).start()
    time.sleep(0.5)
    with pytest.raises(ProcessEnded, match="crashed: SIGKILL"):
        process.request({"do": "time"}, limit=5.0)
    assert process._process.returncode == -signal.SIGKILL and not process.is_alive


@pytest.mark.targets("cpu")
def test_ctrl_c_ends_the_process(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if target != "cpu":
        pytest.skip("once is enough")
    kernel, args = compared.bits()
    edited(kernel, args, "y(i) =", "for (volatile int q = 1; q; ) { } y(i) =")
    started = []
    popen = child_process.subprocess.Popen
    monkeypatch.setattr(
        child_process.subprocess, "Popen", lambda *a, **o: started.append(popen(*a, **o)) or started[-1]
    )

    def children() -> list[Any]:
        return [process for process in started if "shadesmith" in str(process.args)]

    def press() -> None:
        """To the thread that waits, as the terminal's signal: raised in this thread it would interrupt no wait."""
        while not children() and not is_over.wait(0.05):
            pass
        if not is_over.wait(1.5):
            signal.pthread_kill(main.ident, signal.SIGINT)

    main, is_over = threading.main_thread(), threading.Event()
    presser = threading.Thread(target=press)
    presser.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            kernel.compare(*args, time_limit=60.0)
    finally:
        is_over.set()
        presser.join()
    assert children() and all(process.poll() is not None for process in children())


@pytest.mark.exhaustive
@pytest.mark.targets("cpu")
def test_sanitizers_name_the_line(target: str) -> None:
    if target != "cpu":
        pytest.skip("they are of the host's compiler")
    kernel, args = compared.bits()
    path = edited(kernel, args, "x(i) + 3", "x(i + 1) + 3")
    line = next(k for k, text in enumerate(path.read_text().splitlines(), 1) if "x(i + 1)" in text)
    try:
        kernel.compare(*args, sanitize=True)
    except ti.TaichiRuntimeError as error:
        if "no sanitizers" in str(error):
            pytest.skip("this compiler has none")
        assert f"failed under sanitizers: line {line}: " in str(error), error
    else:
        raise AssertionError("a read behind the end of an array")
    written_programs.replaced(path, "x(i + 1)", "x(i)")
    written_programs.replaced(path, "y(i) =", "/**/ y(i) =")
    assert kernel.compare(*args, sanitize=True).passed


@pytest.mark.one_target
def test_a_better_sum_passes_and_a_worse_one_does_not(target: str) -> None:
    @ti.kernel
    def add_up(x: ti.types.ndarray(ti.f32, 1), s: ti.types.ndarray(ti.f32, 1)):
        ti.loop_config(serialize=True)
        for i in x:
            s[0] += x[i]

    args = np.full(60_000, 0.1, np.float32), np.full(1, 1 << 22, np.float32)  # 0.1 is less than half a unit there
    old = "s(0) += x(i);"
    assert old in add_up.source(*args)
    edited(add_up, args, old, "if (i == 0) s(0) += 6000;")
    found = add_up.compare(*args, sweep=False)
    assert found.passed and found.outputs["s"].max_abs == 6000.0, found
    assert "s against f64: generated off by 0.0007" in str(found)
    edited(add_up, args, "6000;", "30000;")
    assert not add_up.compare(*args, sweep=False).passed


@pytest.mark.one_target
def test_numbers_that_are_others_in_f64_excuse_none(target: str) -> None:
    """Nearly all remainders are: they would allow any number from 0 to 7."""

    @ti.kernel
    def remainders(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            y[i] = ti.cast(ti.cast(x[i] * 1e8, ti.i32) % 7, ti.f32)

    args = np.random.default_rng(0).random(1000, np.float32), np.zeros(1000, np.float32)
    edited(remainders, args, "y(i) =", "y(i) = i == 5 ? 2.5f :")
    found = remainders.compare(*args, sweep=False)
    assert not found.passed and found.outputs["y"].count == 1, found


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_sizes_that_the_generated_source_does_not_take_are_said(target: str) -> None:
    @ti.kernel
    def copy(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1)):
        for i in range(64):
            y[i] = x[i]

    args = np.arange(1, 101, dtype=np.int32), np.zeros(100, np.int32)
    edited(copy, args, "y(i) =", "/**/ y(i) =")
    said = str(copy.compare(*args))
    assert "not compared with x (7,), y (7,), the generated source writes outside of" in said, said
    assert "also compared with x (8229,), y (8229,)" in said and said.endswith("passed")


@pytest.mark.one_target
def test_a_rule_limits_the_sizes(target: str) -> None:
    kernel, args = compared.bits()
    path = edited(kernel, args, "y(i) =", "if (i < args.x_n / 8 * 8) y(i) =", variant="eights")
    assert not kernel.compare(*args, variant="eights").passed
    text = path.read_text()
    first, rest = text.split("\n", 1)
    path.write_text(f"{first}\n// @when x.shape[0] % 8 == 0\n{rest}")
    found = kernel.compare(*args, variant="eights")
    assert found.passed and "since `@when x.shape[0] % 8 == 0` does not hold" in str(found), found
