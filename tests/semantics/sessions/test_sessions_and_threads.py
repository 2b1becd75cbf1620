"""`ti.init`, `ti.reset`, `destroy` and the end of the process while other threads launch: errors, but no crash."""

import random
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import shadesmith as ti
from shadesmith.runtime.session import session

EXPECTED = (
    "maybe you forgot to call `ti.init()` first",
    "made before the last `ti.init()`",
    "Please call init() first",
    "was destroyed",
)
"""Parts of the messages that a thread may get whose session ends."""


def is_expected(error: Exception) -> bool:
    """Return whether an error tells that the session has ended."""
    return any(text in str(error) for text in EXPECTED)


@ti.kernel
def add(a: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in a:
        a[i] += n


@ti.kernel
def increment(x: ti.template()):
    for i in x:
        x[i] += 1


@ti.kernel
def total(x: ti.template()) -> ti.i32:
    found = 0
    for i in x:
        found += x[i]
    return found


class Stress:
    """Threads that create, launch, read and drop, while the main thread does something else for `seconds`."""

    def __init__(self, seconds: float, seed: int = 1) -> None:
        self.end = time.monotonic() + seconds
        self.random = random.Random(seed)
        self.rounds = 0
        self.unexpected: list[Exception] = []

    def run(self, action) -> None:
        """Call `action` until the time has passed."""
        threads = [threading.Thread(target=self._work) for _ in range(3)]
        for thread in threads:
            thread.start()
        while time.monotonic() < self.end:
            time.sleep(self.random.random() * 0.05)
            action()
        for thread in threads:
            thread.join()
        if self.unexpected:
            raise self.unexpected[0]

    def _work(self) -> None:
        while time.monotonic() < self.end:
            try:
                self._round()
                self.rounds += 1
            except Exception as error:
                if not is_expected(error):
                    self.unexpected.append(error)
                time.sleep(0.001)

    def _round(self) -> None:
        a, x = ti.ndarray(ti.i32, 1000), ti.field(ti.i32, 100)
        y = ti.field(ti.i32)
        ti.root.pointer(ti.i, 8).place(y)
        count = self.random.randrange(1, 10)
        for _ in range(count):
            add(a, 1)
            increment(x)
            y[3] = 1
        assert total(x) in (0, 100 * count) and (a.to_numpy() == count).all()
        assert x[3] == count and y[3] == 1


def options() -> dict:
    """Return the arguments of `ti.init` for the current target."""
    return {"arch": ti.cfg.arch, "log_level": ti.WARN, "enable_fallback": False}


def check_that_all_is_well(arguments: dict) -> None:
    """Run a kernel in a new session."""
    ti.init(**arguments)
    x = ti.field(ti.i32, 100)
    increment(x)
    assert total(x) == 100


LENGTHS = [pytest.param(1.5, id="short"), pytest.param(20.0, id="long", marks=pytest.mark.exhaustive)]


@pytest.mark.one_target
@pytest.mark.parametrize("seconds", LENGTHS)
def test_sessions_start_and_end_while_threads_launch(target: str, seconds: float) -> None:
    arguments = options()
    stress = Stress(seconds)

    def restart() -> None:
        if stress.random.random() < 0.3:
            ti.reset()
        ti.init(**arguments)

    stress.run(restart)
    check_that_all_is_well(arguments)


@pytest.mark.one_target
@pytest.mark.parametrize("seconds", LENGTHS)
def test_trees_are_destroyed_while_threads_launch(target: str, seconds: float) -> None:
    arguments = options()
    state: dict = {}

    def build() -> None:
        builder = ti.FieldsBuilder()
        x = ti.field(ti.i32)
        builder.dense(ti.i, 5000).place(x)
        state["x"], state["tree"] = x, builder.finalize()

    def work() -> None:
        while time.monotonic() < stress.end:
            try:
                increment(state["x"])
                total(state["x"])
            except Exception as error:
                if not is_expected(error):
                    stress.unexpected.append(error)

    def destroy() -> None:
        tree = state["tree"]
        build()
        tree.destroy()

    build()
    stress = Stress(seconds)
    stress._work = work
    stress.run(destroy)
    check_that_all_is_well(arguments)


def test_all_threads_start_sessions(target: str) -> None:
    arguments = options()
    errors: list[Exception] = []

    def work() -> None:
        for _ in range(5):
            try:
                ti.init(**arguments)
                x = ti.field(ti.i32, 100)
                increment(x)
            except Exception as error:
                if not is_expected(error):
                    errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]
    check_that_all_is_well(arguments)


@pytest.mark.one_target
@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", ["end", "sys.exit", "exception"])
def test_process_ends_while_daemon_threads_launch(target: str, how: str, tmp_path) -> None:
    last = {"end": "", "sys.exit": "sys.exit(0)", "exception": "raise ValueError('mine')"}[how]
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(f"""
        import sys, threading, time
        import shadesmith as ti
        ti.init(arch=ti.{target}, log_level="warn", enable_fallback=False)
        x = ti.field(ti.i32, 100)
        @ti.kernel
        def add(a: ti.types.ndarray(ti.i32, 1)):
            for i in a:
                a[i] += x[i % 100] + 1
        def work():
            a = ti.ndarray(ti.i32, 1000)
            while True:
                add(a)
                a[3]
        threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        print("right", flush=True)
        {last}
        """)
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "right\n", done.stderr
    assert done.returncode == (how == "exception"), done.stderr


def test_long_launch_of_another_thread_keeps_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    x = ti.field(ti.f64, 100)

    @ti.kernel
    def climb(n: ti.i64):
        j = ti.i64(0)
        while j < n:
            x[j % 100] += 1.0
            j += 1

    climb(1)
    start = time.monotonic()
    climb(10_000_000)
    rate = 10_000_000 / (time.monotonic() - start)
    thread = threading.Thread(target=climb, args=(int(2 * rate),))
    thread.start()
    time.sleep(0.2)
    monkeypatch.setattr(session, "LONGEST_WAIT", 0.3)
    with pytest.warns(match="had not ended after 0.3 s"):
        ti.init(arch=ti.cpu, log_level=ti.WARN)
    assert thread.is_alive()
    y = ti.ndarray(ti.f64, 100)
    thread.join()
    assert not y.to_numpy().any()
    with pytest.raises(RuntimeError, match="made before the last"):
        x[0]
