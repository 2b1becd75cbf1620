"""What a test run leaves out since no test looks at it: optimized machine code of lavapipe and, in some folders, of gcc;
loops that lavapipe unrolls; a driver's device for each session; reports of nothing.

Under `make test-all` (SHADESMITH_PLAIN_TOOLS=1) the driver optimizes, as it does for users.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest
import resident
import resident_gcc
from _pytest.pathlib import import_path
from _pytest.runner import runtestprotocol

from shadesmith.runtime.devices.host.compiler import HostCompiler
from shadesmith.runtime.devices.vulkan import device, instance
from shadesmith.runtime.devices.vulkan.lavapipe import limits
from shadesmith.runtime.devices.vulkan.spirv import HEADER_WORDS
from shadesmith.runtime.devices.vulkan.spirv_words import Op
from shadesmith.runtime.workbench.measure.harness import BenchmarkHarness

TESTS = Path(__file__).parents[1]
LOW_EFFORT = frozenset({
    *(f"semantics/{name}" for name in (
        "data", "debugging", "derivatives", "devices", "docs", "graphs", "interop", "language", "layouts", "memory", "meshes",
        "programs", "quantised", "sessions", "simt", "sparse", "textures",
    )),
    *(f"passes/{name}" for name in (
        "addresses", "arithmetic", "atomics", "cleanup", "derivatives", "drivers", "lowering", "rows", "sparse", "tasks",
        "threads", "tiles", "wide",
    )),
    *(f"workbench/{name}" for name in ("bisect", "check", "edits", "inspect", "measure")),
    "aot", "api", "backend", "cache", "commands", "recording",
})  # fmt: skip
"""Folders of tests that are not about what gcc makes of a source."""
NEEDS_EFFORT = (
    "test_found_by_fuzzing.py", "test_compiler_parameters.py", "test_host_compiler.py", "test_resident_gcc.py",
    "test_binaries.py", "test_profiler.py",
)  # fmt: skip
FLAGS_OF_USERS = HostCompiler._flags
TILES = "passes/tiles"
FOLDER = [""]
"""The folder of the test that runs."""
UNROLL, DONT_UNROLL = 1, 2
"""What a shader says of a loop, `[[unroll]]` in GLSL: a hint, of which results do not depend."""


def configure(config: pytest.Config) -> None:
    """Let lavapipe compile without LLVM's optimizations, unless the tools are to be as they are.

    LLVM may change no result, and half of the processor time of Vulkan tests is its own: without (`nopt`, in Mesa's list
    of environment variables) the tests of derivatives take 11.2 s in place of 15.5, those of numbers 57 in place of 70.
    A worker of pytest-xdist sends one report of a test, not three: 1 ms less for each test. No processor is launched upon
    for .1 s before times are taken, as a GPU is until its clock rate is up.
    """
    if not resident.are_plain():
        os.environ.setdefault("GALLIVM_PERF", "nopt")
        config.add_cleanup(keep_devices())
        leave_loops_as_they_are()
    if hasattr(config, "workerinput") and not config.getoption("xmlpath", None):  # which needs all three
        config.pluginmanager.register(FewReports(), "few-reports")
    if "cuda" not in config.getoption("--targets"):
        BenchmarkHarness.warm_up.__defaults__ = (0.0,)


def lower_effort_of_gcc(path: Path) -> None:
    """Let kernels of the tests of some folders be compiled with -O1, those of others as for users.

    -O3 takes twice as long, 59 ms in place of 27. What it makes of our sources is seen where those of numbers and of the
    passes for loops, branches and vectors run; loops with `#pragma omp simd` are vectorized by -O1, too.
    """
    folder = path.parent.relative_to(TESTS).as_posix()
    FOLDER[:] = [folder]
    is_low = folder in LOW_EFFORT and path.name not in NEEDS_EFFORT and not resident.are_plain()
    HostCompiler._flags = _low_flags if is_low else FLAGS_OF_USERS  # type: ignore[method-assign]


def _low_flags(compiler: HostCompiler, fast_math: bool, openmp: bool, march: str) -> tuple[str, ...]:
    return resident_gcc.with_low_effort(FLAGS_OF_USERS(compiler, fast_math, openmp, march))


def leave_loops_as_they_are() -> None:
    """Let lavapipe unroll no loop of tests in `passes/tiles` because its shader asks for it: 16 times the code, for LLVM.

    The tests of register tiles take 5.7 s of processor time in place of 10.9. Elsewhere less is gained, and Mesa 22.3.6
    computes `p[k] = exp(p[k]) / (1.0 + p[k + 1])` wrongly in a loop that it leaves as it is (`test_common_values.py`).
    """
    change = limits.for_lavapipe

    def changed(code: bytes, number: int) -> bytes:
        if FOLDER != [TILES]:
            return change(code, number)
        words = array("I", code)
        position = HEADER_WORDS
        while position < len(words):
            if words[position] == 4 << 16 | Op.LOOP_MERGE and words[position + 3] == UNROLL:
                words[position + 3] = DONT_UNROLL
            position += max(1, words[position] >> 16)
        return change(words.tobytes(), number)

    limits.for_lavapipe = changed


def keep_devices() -> Callable[[], None]:
    """Let sessions on Vulkan take the logical device that the last one gave back, idle: to make one takes 5 to 9 ms.

    Returns what destroys it at the end. All that a session makes of it is destroyed as always. So are devices of an
    instance of their own, as the validation layer has, and those of functions that replace Vulkan's.
    """
    make, destroy = device.logical_device, device.destroy
    kept: list[tuple[int, object, tuple[object, object]]] = []

    def take(api: instance.Api, adapter: instance.Adapter) -> tuple[object, object]:
        while kept:
            process, physical, made = kept.pop()
            if process == os.getpid() and physical == adapter.handle and api is instance.load_api():
                return made
        return make(api, adapter)

    def give_back(api: instance.Api, adapter: instance.Adapter, made: tuple[object, object]) -> None:
        resident = instance.resident_instance(api) if api is instance.load_api() else None
        is_resident = resident is not None and any(each.handle == adapter.handle for each in resident.adapters())
        if kept or not is_resident or api.lib.vkDeviceWaitIdle(made[0]) != 0:
            destroy(api, adapter, made)
        else:
            kept.append((os.getpid(), adapter.handle, made))

    def end() -> None:
        for process, _, made in kept:
            if process == os.getpid():
                destroy(instance.load_api(), None, made)
        kept.clear()

    device.logical_device, device.destroy = take, give_back
    return end


def import_a_share(config: pytest.Config) -> None:
    """Import part of the files of tests before all are collected, the workers of pytest-xdist a part each.

    Half of the time of a collection in a fresh clone goes into the assertions, which pytest rewrites in each file. What it
    makes is written to disk: here each worker does it for its part, and finds those of the others there.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode or config.args != config.getini("testpaths"):
        return
    files = sorted(config.rootpath.joinpath("tests").rglob("test_*.py"))
    for path in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        try:
            import_path(path, mode="importlib", root=config.rootpath, consider_namespace_packages=False)
        except (Exception, pytest.skip.Exception):  # the collection of the file meets it once more, and reports it
            pass


class FewReports:
    """Lets a worker send a report of each test, not of its fixtures too: unless they fail, nothing is to be told."""

    @pytest.hookimpl
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test as pytest does, and pass on what is told of it: not that it begins, which nobody shows."""
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.when == "call" or not report.passed:
                item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
