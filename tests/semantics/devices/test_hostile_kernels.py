"""Kernels that do not end, fault or exhaust something: each is an error, and the process goes on computing.

All cases run in one process for each target, so one that took it along would take the others along too.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from shadesmith.runtime.devices.host import guarded_memory
from shadesmith.runtime.session import session as sessions

PROGRAM = Path(__file__).parents[2] / "support" / "hostile_kernels.py"
TOO_LONG = r"LaunchTimeoutError: .*ran longer than 0.5 s and was stopped"
LOOPS_END = r"(TaichiRuntime|LaunchTimeout)Error: .*65,535 iterations"
OUTSIDE = r"TaichiRuntimeError: kernel .* (wrote|read) out of bounds"
STACK = r"TaichiRuntimeError: kernel .* needs more stack than its thread has"
NO_RECURSION = "UnsupportedError: .* has no recursion"
TRAPS = "TaichiRuntimeError: .*executed an instruction that traps"
FULL = "TaichiRuntimeError: a list of .* was full"
NO_MEMORY = "TaichiRuntimeError: (out of memory|shape .* at most 2147483647)"
BARRIER = "TaichiSyntaxError: Barrier in divergent control flow"

EXPECTED: dict[str, tuple[str, str]] = {
    "endless while of one thread": (TOO_LONG, LOOPS_END),
    "endless while of all threads": (TOO_LONG, LOOPS_END),
    "endless while in serial code": (TOO_LONG, LOOPS_END),
    "a loop of 2^40 iterations": (TOO_LONG, LOOPS_END),
    "near store": ("ended", "ended"),
    "far store": (OUTSIDE, OUTSIDE),
    "store at a negative index": (OUTSIDE, OUTSIDE),
    "far load": (OUTSIDE, OUTSIDE),
    "far atomic addition": (OUTSIDE, OUTSIDE),
    "integer division by zero": ("ended", "ended"),
    "remainder of zero": ("ended", "ended"),
    "smallest integer by -1": ("ended", "ended"),
    "raw division by zero": ("ended", "ended"),
    "shift by too much": ("ended", "ended"),
    "cast of a huge float": ("ended", "ended"),
    "endless recursion": (STACK, NO_RECURSION),
    "endless recursion of all threads": (STACK, NO_RECURSION),
    "barrier that some threads miss": (BARRIER, BARRIER),
    "a local array": ("ended", "ended|LaunchTimeoutError"),
    "endless while in a function": (TOO_LONG, LOOPS_END),
    "endless while in a sum": (TOO_LONG, LOOPS_END),
    "endless prints": (TOO_LONG, LOOPS_END),
    "endless recursion of two functions": (f"{TOO_LONG}|{STACK}", NO_RECURSION),
    "endless appending": (f"{TOO_LONG}|{FULL}", f"{LOOPS_END}|{FULL}"),
    "an array of 2^42 numbers": (NO_MEMORY, NO_MEMORY),
    "a field of 2^42 numbers": (NO_MEMORY, NO_MEMORY),
    "endless grid loop of an edit": (f"{TOO_LONG}|{TRAPS}", LOOPS_END),
    "edit that stores at a negative index": (OUTSIDE, OUTSIDE),
    "edit that divides by zero": (TRAPS, "ended"),
    "endless edit": (r"LaunchTimeoutError: .*plain\.c:\d+: kernel `plain`.*ran longer", LOOPS_END),
    "edit that stores at null": (OUTSIDE, OUTSIDE),
    "edit with a large array": (STACK, "ended|LaunchTimeoutError"),
    "edit that traps": (TRAPS, "ended"),
}
"""What each case gives, in C and on lavapipe."""

SOME = ("endless while of all threads", "far store", "endless recursion of all threads")


@pytest.mark.skipif(not guarded_memory.has_guards() or "x86" not in platform.machine(), reason="for Linux on x86-64")
@pytest.mark.parametrize("cases", [SOME, pytest.param(tuple(EXPECTED), marks=pytest.mark.exhaustive)], ids=len)
@pytest.mark.all_targets
def test_hostile_kernels(target: str, cases: tuple[str, ...]) -> None:
    if target not in ("cpu", "vulkan"):
        pytest.skip("the interpreter has no such kernels; `--each` is for GPUs")
    if "llvmpipe" not in sessions.current().device.title and target == "vulkan":
        pytest.skip("a GPU's context does not survive an access outside memory")
    done = subprocess.run(
        [sys.executable, PROGRAM, target, *cases], capture_output=True, text=True, timeout=400, check=False
    )
    outcomes = dict(line.partition(": ")[::2] for line in done.stdout.splitlines())
    assert done.returncode == 0 and outcomes.keys() == set(cases), done.stdout[-1000:] + done.stderr[-1000:]
    for case, told in outcomes.items():
        assert re.match(EXPECTED[case][target == "vulkan"], told), f"{case}: {told}"
        assert "; " not in told.partition(" [")[2], told
