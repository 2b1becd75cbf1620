"""`ti.init(watchdog=...)`: what each device does when a launch takes too long, and that other launches are as before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.cuda import limited_waits
from shadesmith.runtime.launch import watchdog
from shadesmith.runtime.session import session as sessions

ARCHES = {"cpu": ti.cpu, "vulkan": ti.vulkan, "python": ti.python, "cuda": ti.cuda}


@ti.kernel
def total(n: ti.i32) -> ti.i32:
    s = 0
    for i in range(n):
        s += i
    return s


@ti.kernel
def endless(x: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        while x[i] > -1.0:
            x[i] += 1.0


@pytest.fixture
def limited(target: str) -> Any:
    """Start a session with a watchdog."""

    def start(seconds: float) -> Any:
        ti.init(arch=ARCHES[target], watchdog=seconds, log_level="warn")
        return sessions.current()

    return start


@pytest.mark.all_targets
def test_launches_in_time_are_as_without_it(limited, target: str) -> None:
    limited(20.0)
    x = np.zeros(4, np.float32)
    assert total(10) == 45 and total(0) == 0
    if target == "python":
        limited(0.2)
        with pytest.raises(ti.LaunchTimeoutError, match="kernel `endless` ran longer than 0.2 s and was stopped"):
            endless(x)
        assert total(10) == 45


@pytest.mark.targets("vulkan")
def test_a_gpu_that_does_not_answer_is_given_up(limited, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if target != "vulkan":
        pytest.skip("lavapipe stands for all GPUs")
    session, ends = limited(20.0), []
    monkeypatch.setattr(watchdog, "end_without_drivers", lambda: ends.append(True))
    monkeypatch.setattr(type(session.device), "ends_loops", False, raising=False)
    monkeypatch.setattr(type(session.device), "finish_within", lambda self, seconds, stream=None: False)
    with pytest.raises(ti.LaunchTimeoutError, match=r"kernel `total` .*has run for more than 20 s on .*program again"):
        total(10)
    with pytest.raises(ti.TaichiRuntimeError, match="this process cannot use the device any more"):
        ti.ndarray(ti.f32, 4).to_numpy()
        total(3)
    monkeypatch.undo()
    assert ends, "the driver would wait for the kernel at the end of the process"
    session.device._queue.owner = session.device._queue._process  # the device is there in truth, and is closed here
    limited(20.0)
    assert total(10) == 45
    session.device.close()


END = """
import atexit, ctypes, sys
from shadesmith.runtime.devices.forks import end_without_drivers
library = ctypes.CDLL(None)
library.on_exit(library.sleep, None)  # as a driver that waits; it gets the status, which is the number of seconds
atexit.register(print, "Python's own come first")
end_without_drivers()
library.puts(b"and what C has written is kept")
sys.exit(90)
"""


@pytest.mark.one_target
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of glibc")
def test_a_process_that_gave_up_its_gpu_does_not_wait_for_the_driver() -> None:
    root = str(Path(ti.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}
    done = subprocess.run([sys.executable, "-c", END], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 90, done.stderr
    assert sorted(done.stdout.splitlines()) == ["Python's own come first", "and what C has written is kept"]


class FakeRuntime:
    """Answers questions for an event: with numbers, one after the other, the last one for ever."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)

    eventDisableTiming = 2  # noqa: N815 - CuPy's name

    def eventCreateWithFlags(self, flags: int) -> int:  # noqa: N802
        return 1

    def eventRecord(self, event: int, stream: int) -> None:  # noqa: N802
        assert (event, stream) in ((1, 0), (1, 3))

    def eventQuery(self, event: int) -> int:  # noqa: N802 - CuPy's name
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def fake_device(*answers: int) -> SimpleNamespace:
    stream = SimpleNamespace(ptr=0)
    return SimpleNamespace(index=77, runtime=FakeRuntime(*answers), current_stream=lambda: stream, failure=(OSError,))


def test_waits_for_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited_waits, "STUCK", {})
    assert limited_waits.finish_within(fake_device(limited_waits.NOT_READY, limited_waits.NOT_READY, 0), 5.0)
    assert limited_waits.finish_within(fake_device(limited_waits.NOT_READY, 700), 5.0, 3), "a fault is no timeout"
    stuck = fake_device(limited_waits.NOT_READY)
    assert not limited_waits.finish_within(stuck, 0.01)
    limited_waits.refuse(stuck, "it runs on")
    for use in (
        lambda: stuck.runtime.memcpy(1, 2),
        lambda: stuck.build(None),
        lambda: limited_waits.finish_within(stuck, 1.0),
    ):
        with pytest.raises(ti.TaichiRuntimeError, match="it runs on"):
            use()
