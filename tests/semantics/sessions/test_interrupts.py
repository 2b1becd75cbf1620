"""Ctrl-C during a kernel on the CPU: it raises KeyboardInterrupt soon, in serial and parallel code, and all goes on."""

import platform
import subprocess
import sys

import pytest

from shadesmith.runtime.devices.host import guarded_memory

PROGRAM = """
import os, signal, sys, threading, time
import shadesmith as ti

ti.init(arch=ti.cpu, log_level="warn")
x, hits = ti.field(ti.f64, 64), ti.field(ti.i32, ())

@ti.kernel
def serial(n: ti.i64):
    j = ti.i64(0)
    while j < n:
        x[j % 64] += 1.5
        j += 1

@ti.kernel
def dynamic(n: ti.i64):
    for t in range(1000):
        j = ti.i64(0)
        while j < n:
            x[(j + t) % 64] += 1.5
            j += 1

@ti.kernel
def static_schedule(n: ti.i32):
    for t in range(64):
        for j in range(n):
            x[t] += ti.sin(x[t] + j)

@ti.kernel
def count():
    for k in range(1000):
        hits[None] += 1

def press(*seconds):
    for delay in seconds:
        threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()

def outcome(kernel, n, *presses):
    start = time.monotonic()
    press(*presses)
    try:
        kernel(n)
    except KeyboardInterrupt as error:
        return str(error) or "plain", time.monotonic() - start
    return "ended", time.monotonic() - start

for kernel in (serial, dynamic, static_schedule):
    kernel(1)
count()
LONG = 2**31 - 1
"""

CASES = """
for kernel in (serial, dynamic, static_schedule):
    text, seconds = outcome(kernel, LONG * 1000 if kernel is not static_schedule else LONG, 0.2)
    assert text == f"kernel `{kernel.__name__}` was stopped; what it computes is incomplete", text
    assert 1 < seconds < 15, seconds
    hits[None] = 0
    count()
    assert hits[None] == 1000
text, seconds = outcome(dynamic, LONG * 1000, 0.2, 0.3)
assert "was stopped" in text and seconds < 10, (text, seconds)
print("right")
"""

SHORT = """
# A kernel that ends within a second after Ctrl-C has computed all.
start = time.monotonic(); serial(10_000_000); rate = 10_000_000 / (time.monotonic() - start)
x.fill(0)
n = int(rate * 0.5) // 64 * 64
text, seconds = outcome(serial, n, 0.05)
assert text == "plain", text
assert x.to_numpy().sum() == n * 1.5
# and the launches after it are not stopped
hits[None] = 0
start = time.monotonic()
while time.monotonic() - start < 1.5:
    serial(int(rate * 0.2))
count()
assert hits[None] == 1000
print("right")
"""

OWN_HANDLER = """
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
start = time.monotonic(); serial(10_000_000); rate = 10_000_000 / (time.monotonic() - start)
x.fill(0)
n = int(rate * 2) // 64 * 64
text, seconds = outcome(serial, n, 0.1)
assert text == "ended" and seen == [1] and x.to_numpy().sum() == n * 1.5, (text, seen)
print("right")
"""


@pytest.mark.skipif(not guarded_memory.has_guards() or "x86" not in platform.machine(), reason="for Linux on x86-64")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(CASES, id="long kernels are stopped"),
        pytest.param(SHORT, id="short kernels end", marks=pytest.mark.exhaustive),
        pytest.param(OWN_HANDLER, id="the program's own handler", marks=pytest.mark.exhaustive),
    ],
)
def test_ctrl_c(tmp_path, case: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + case)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout.endswith("right\n"), done.stderr
