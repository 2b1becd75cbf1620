"""Children of a process that has a session: they use what survives, start their own sessions, and end without a crash."""

import os
import subprocess
import sys

import pytest

import shadesmith as ti
from shadesmith.runtime.session import session

pytestmark = [pytest.mark.exhaustive, pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")]

PROGRAM = """
import gc, multiprocessing, os, signal, sys, threading, time
import numpy as np
import shadesmith as ti

def start(name):
    ti.init(arch=getattr(ti, name), log_level="warn", enable_fallback=False)

@ti.kernel
def add(x: ti.template(), n: ti.i32):
    for i in x:
        x[i] += n

@ti.kernel
def total(x: ti.template()) -> ti.i32:
    found = 0
    for i in x:
        found += x[i]
    return found

def fresh(name, value=3):
    start(name)
    z = ti.field(ti.i32, 10_000)
    add(z, value)
    return total(z)

def message_of(function, *arguments):
    try:
        function(*arguments)
    except RuntimeError as error:
        return str(error)
    return "no error"

def in_child(function):
    child = os.fork()
    if not child:
        signal.alarm(50)  # ends a child that hangs; the timer of `faulthandler` does not survive a fork
        try:
            function()
        except Exception:
            import traceback
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(9)
        sys.exit(0)  # with all finalizers
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if os.getpid() == PARENT:
        assert code == 0, code

PARENT = os.getpid()
NAME = sys.argv[1]
SURVIVES = NAME in ("cpu", "python")

def task(value):
    return fresh(NAME, value)

def main():
    global x, y, a
    start(NAME)
    x, a = ti.field(ti.i32, 10_000), ti.ndarray(ti.i32, 100)
    y = ti.field(ti.i32)
    ti.root.pointer(ti.i, 64).place(y)
    add(x, 2)
    y[3] = 5
    CASE
    add(x, 1)
    print("right", total(x) // 10_000)

if __name__ == "__main__":
    main()
"""

USE = """
    def use():
        if SURVIVES:
            add(x, 4)
            assert total(x) == 60_000 and y[3] == 5
        else:
            assert "forked" in message_of(add, x, 4) and "forked" in message_of(total, x)
            assert "forked" in message_of(lambda: ti.field(ti.i32, 3)[0])
    in_child(use)
"""
DROP = """
    def drop():
        global x, y, a
        del x, y, a
        gc.collect()
    in_child(drop)
    in_child(ti.reset)
    in_child(lambda: None)
"""
START = """
    def begin():
        old = x
        assert fresh("cpu") == 30_000
        assert "made before the last" in message_of(add, old, 1)
        in_child(lambda: fresh("cpu", 4) == 40_000 or os._exit(8))
        assert fresh("cpu", 2) == 20_000
    in_child(begin)
"""
THREADS = """
    stop = threading.Event()
    def launch():
        while not stop.is_set():
            add(z, 1)
    z = ti.field(ti.i32, 10_000)
    threads = [threading.Thread(target=launch) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        in_child(lambda: fresh("cpu") == 30_000 or os._exit(8))
    stop.set()
    for thread in threads:
        thread.join()
"""
POOLS = """
    for method in ("spawn", "forkserver", "fork"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            try:
                assert pool.map(task, [1, 2, 3]) == [10_000, 20_000, 30_000], method
                assert method != "fork" or NAME != "cuda"
            except RuntimeError as error:  # lavapipe opens a device in such a child, NVIDIA's drivers do not
                assert method == "fork" and not SURVIVES and "forked" in str(error), error
"""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(USE, id="use"),
        pytest.param(DROP, id="drop"),
        pytest.param(START, id="start"),
        pytest.param(THREADS, id="threads", marks=pytest.mark.exhaustive),
        pytest.param(POOLS, id="pools", marks=pytest.mark.exhaustive),
    ],
)
def test_fork(target: str, case: str, tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("    CASE\n", case))
    quiet = ("-W", "ignore:This process:DeprecationWarning")  # of Python 3.12, wherever a process with threads forks
    done = subprocess.run(
        [sys.executable, *quiet, program, target], capture_output=True, text=True, timeout=150, check=False
    )
    assert done.stdout.endswith("right 3\n") and done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr


EXIT_CODES = """
import ctypes, os, sys
import shadesmith as ti
ti.init(arch=ti.vulkan, log_level="warn")
x = ti.field(ti.i32, 4)
x[0] = 1
child = os.fork()
if not child:
    ctypes.CDLL(None).printf(b"from C\\n")  # held in a stream that the end of the process writes
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("right", x[0])
"""


def test_a_child_of_a_vulkan_process_ends_with_its_status(tmp_path) -> None:
    """lavapipe registers a function with `exit` that waits for its threads, which a child does not have."""
    program = tmp_path / "program.py"
    program.write_text(EXIT_CODES)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=100, check=False)
    if "fell back" in done.stderr or "no Vulkan" in done.stderr:
        pytest.skip("no Vulkan device")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == ["", "from C", "right 1"]


@pytest.mark.all_targets
def test_device_says_whether_it_survives(target: str) -> None:
    assert session.CURRENT.device.survives_fork == (ti.cfg.arch in (ti.cpu, ti.python))
