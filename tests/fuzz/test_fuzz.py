"""A sample of random programs on each target, and the fuzzer itself: programs are the same each time, failures shrink."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.comparing import difference
from fuzz.known import cause_of
from fuzz.other_forms import unfolded
from fuzz.program import Program
from fuzz.reducing import has_new_parallel_loop, reduce
from fuzz.session import PROGRESS_SECONDS, Failure, Progress
from fuzz.workers import OUT_OF_TIME, Worker

import shadesmith as ti

SEEDS = 2
MANY = 120
FIRST = {"cpu": 0, "vulkan": 1000, "cuda": 2000, "python": 3000}
"""Each target runs other programs."""
NUMBERS = itertools.count()


def results(path: Path, arch: str, **options: Any) -> Any:
    """Run a program in a session of its own."""
    ti.init(arch=getattr(ti, arch), fast_math=False, log_level=ti.ERROR, enable_fallback=False, **options)
    spec = importlib.util.spec_from_file_location(f"fuzz_program_{next(NUMBERS)}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [(name, np.array(value)) for name, value in module.run()]


@cache
def expected_of(path: Path) -> Any:
    """Return what the interpreter computes, once for all targets."""
    return results(path, "python")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.all_targets
def test_random_programs_compute_what_the_interpreter_does(target: str, full: bool, tmp_path: Path) -> None:
    """On the interpreter itself: all checks of `debug` pass, so programs are as well-defined as they claim."""
    for seed in range(FIRST[target], FIRST[target] + (MANY if full else SEEDS)):
        path = tmp_path / f"program_{seed}.py"
        path.write_text(Program(seed).text())
        expected = results(path, "python")
        options = {"debug": True} if target == "python" else {}
        assert difference(results(path, target, **options), expected) is None, f"python -m fuzz --show {seed}"


@pytest.mark.filterwarnings("ignore")
def test_a_program_whose_literals_cannot_be_folded_computes_the_same(tmp_path: Path) -> None:
    """Else it would excuse a mismatch with Taichi that is ours."""
    for seed in (0, 1):
        path, other = tmp_path / f"program_{seed}.py", tmp_path / f"unfolded_{seed}.py"
        text = Program(seed, "taichi").text()
        path.write_text(text)
        other.write_text(unfolded(text))
        assert difference(results(other, "python"), results(path, "python")) is None


@pytest.mark.parametrize(
    "line, expected",
    [
        ("x, y = 1, ti.u8(-7) // 2 in (3, 4)", "x, y = (1 + Z, ti.u8(-(7 + Z)) // (2 + Z) in (3, 4))"),
        ("b[-7 % 4, 3][0, x - 1] &= 5", "b[-(7 + Z) % (4 + Z), 3][0, x - (1 + Z)] &= 5 + Z"),
        ("x = ti.Vector([1, y])[0]", "x = ti.Vector([1 + Z, y])[0]"),
        ("for i, j in ti.ndrange(b[f(-7)] % 4, 4): pass", "for i, j in ti.ndrange(b[f(-(7 + Z))] % (4 + Z), 4 + Z):"),
        ("for i, j in ti.ndrange((-1, 2), x): pass", "for i, j in ti.ndrange((-1, 2), x):"),
        ("b[2] = ti.static(3)", "b[2] = ti.static(3)"),
        ("x = self.k % 3 + self.y", "x = (self.k + Z) % (3 + Z) + self.y"),
        ("x = b.shape[0] ** 12", "x = (b.shape[0] + Z) ** 12"),
        ("x = y ** (-7 // 8 & 3) ** 2", "x = y ** (-(7 + Z) // (8 + Z) & 3 + Z) ** 2"),
    ],
)  # fmt: skip
def test_literals_cannot_be_folded_wherever_they_stand(line: str, expected: str) -> None:
    text = (
        f"import shadesmith as ti\n\nclass A:\n    x: ti.i32 = 3\n\n    @ti.kernel\n    def f(n=3):\n        {line}\n"
    )
    lines = [found.strip() for found in unfolded(text).splitlines()]
    assert expected.replace("Z", "zero_of_the_fuzzer[None]") in lines


def test_literals_outside_of_kernels_stay() -> None:
    """Extents are needed before a launch, which an element of a field is."""
    text = "import shadesmith as ti\nx = ti.field(ti.i32, shape=3)\n\ndef run():\n    return x[1] + 2"
    zero = "zero_of_the_fuzzer = ti.field(ti.i32, shape=())\n"
    assert unfolded(text) == text.replace("x = ", f"{zero}x = ")


@pytest.mark.filterwarnings("ignore")
def test_a_quotient_of_a_matrix_by_a_wider_number_is_wider(tmp_path: Path) -> None:
    """A component of one was passed as a reference to an i32."""
    path = tmp_path / "program.py"
    path.write_text(Program(23002861).text())
    assert results(path, "python")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "found").glob("*.py")), ids=lambda path: path.stem)
def test_a_program_that_failed_once(target: str, path: Path) -> None:
    """Those that are not in tests/semantics, since nothing shorter failed."""
    assert difference(results(path, target), expected_of(path)) is None


DIES = """import signal
import shadesmith as ti

def _pipeline():
    signal.raise_signal(signal.SIGSEGV)

def run():
    if ti.cfg.arch == ti.vulkan:
        _pipeline()
    return []
"""


def test_a_death_in_the_compiler_of_a_driver_has_its_name(tmp_path: Path) -> None:
    workers = {target: Worker(target, tmp_path) for target in ("vulkan", "checked")}
    try:
        for function, expected in (("_pipeline", True), ("_launch", False)):
            text = DIES.replace("_pipeline", function)
            kind, what = workers["vulkan"].run(text)
            assert (kind, what) == ("died", f"SIGSEGV in `{function}`")
            failure = Failure(0, "vulkan", kind, what, text)
            cause = cause_of(failure, lambda target, text: workers[target].run(text))
            assert (cause is not None and "vkCreateComputePipelines" in cause) == expected
    finally:
        for worker in workers.values():
            worker.stop()


def test_a_seed_is_a_program_byte_for_byte() -> None:
    code = "from fuzz.program import Program; print(''.join(Program(s, d).text() for s in range(40) for d in ('portable', 'taichi')))"
    found = set()
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])}
        found.add(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True).stdout)
    assert len(found) == 1 and len(found.pop()) > 100_000


def test_a_failure_shrinks_to_the_statements_that_it_needs() -> None:
    texts = [Program(seed).text() for seed in range(20)]
    text = min((text for text in texts if " % " in text and "while" in text), key=len)  # others take 10 s

    def first_failing(candidates: Sequence[str]) -> int | None:
        return next((n for n, text in enumerate(candidates) if "while" in text and " % " in text), None)

    for at_a_time in (1, 3):
        short = reduce(text, first_failing, at_a_time=at_a_time)
        assert first_failing([short]) == 0
        assert len(short.splitlines()) < 20 < len(text.splitlines())
        compile(short, "short", "exec")


def test_a_reduction_ends_when_its_time_does() -> None:
    tried: list[str] = []

    def first_failing(candidates: Sequence[str]) -> None:
        tried.extend(candidates)

    text = Program(0).text()
    assert ast.unparse(ast.parse(reduce(text, first_failing, may_go_on=lambda attempts, tree: attempts < 5))) == (
        ast.unparse(ast.parse(text))
    )
    assert len(tried) == 5


def test_a_program_that_outlasts_the_run_is_no_failure(tmp_path: Path) -> None:
    worker = Worker("python", tmp_path)
    try:
        assert worker.run("def run():\n    return []\n") == ("ok", [])
        worker.end = time.monotonic() + 0.2
        assert worker.run("import time\n\ndef run():\n    time.sleep(60)\n") == OUT_OF_TIME
        assert worker.process is None and worker.run("def run():\n    return []\n") == OUT_OF_TIME
    finally:
        worker.stop()


def test_a_run_says_how_far_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress.say("too early")
    progress.last -= PROGRESS_SECONDS
    progress.say("7 kernels")
    assert capfd.readouterr() == ("", "# 0 s: 7 kernels\n")


def test_no_loop_of_a_function_is_parallel() -> None:
    """A `ti.func` is inlined: its loops would be outermost ones where a kernel calls it outside of all loops."""
    programs = [ast.parse(Program(seed).text()) for seed in range(40)]
    programs.append(ast.parse(Program(91, "taichi").text()))  # a kernel given vectors calls a function with loops
    assert not any(has_new_parallel_loop(program) for program in programs)
    text = "@ti.func\ndef f(n):\n    for k1 in range(n):\n        pass\n    return n\n\n@ti.kernel\ndef g():\n    {}\n"
    assert has_new_parallel_loop(ast.parse(text.format("x = f(3) + 1")))
    assert has_new_parallel_loop(ast.parse(text.format("for s1 in ti.static(range(2)): x = f(3)")))
    assert not has_new_parallel_loop(ast.parse(text.format("while x < 2: x = f(3)")))
    assert not has_new_parallel_loop(ast.parse(text.replace("ti.func", "ti.real_func").format("x = f(3)")))
