"""Worker processes that are killed, and devices that are lost: the others' work and the machine's memory remain."""

import ctypes
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from multiprocessing import connection
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan import device as vulkan
from shadesmith.runtime.devices.vulkan.instance import Api, load_api
from shadesmith.runtime.session import session as sessions

ROOT = Path(__file__).resolve().parents[3]
WORKERS, ROUNDS, SIZE = 3, 6, 1 << 22


@ti.kernel
def work(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in x:
        x[i] = x[i] * 3 + n


def expected():
    """Return an element after all rounds."""
    value = 0
    for n in range(ROUNDS):
        value = (value * 3 + n) & 0xFFFFFFFF
    return value


def compute(arch, results, number):
    """Do all rounds in a session of this process, and report each."""
    ti.init(arch=getattr(ti, arch), log_level=ti.WARN, enable_fallback=False)
    x = ti.ndarray(ti.i32, SIZE)
    for n in range(ROUNDS):
        work(x, n)
        ti.sync()
        results.send((number, n, None))
        time.sleep(0.2)
    results.send((number, ROUNDS, np.unique(x.to_numpy()).tolist()))


def memory_in_use():
    """Return the memory of all GPUs in use [bytes], as the driver tells a process that makes no context; else 0."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return 0
    count, total, numbers = ctypes.c_uint(), 0, (ctypes.c_ulonglong * 3)()
    nvml.nvmlInit_v2()
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    for index in range(count.value):
        handle = ctypes.c_void_p()
        nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
        nvml.nvmlDeviceGetMemoryInfo(handle, numbers)
        total += numbers[2]
    return total


def shared_files():
    """Return what is in the folder of shared memory."""
    folder = Path("/dev/shm")
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


@pytest.mark.exhaustive
@pytest.mark.parametrize("arch", ["cpu", "vulkan", "cuda"])
def test_a_killed_worker_takes_nothing_with_it(arch):
    if not any(device.name.startswith(arch) for device in ti.devices()):
        pytest.skip(f"there is no {arch}")
    context = multiprocessing.get_context("spawn")
    before, files = memory_in_use(), shared_files()
    workers, results = {}, {}

    def start(number):  # with a pipe of its own: a queue's lock would be held for ever by a worker that is killed in it
        results[number], sender = context.Pipe(duplex=False)
        workers[number] = context.Process(target=compute, args=(arch, sender, number))
        workers[number].start()
        sender.close()

    for number in range(WORKERS):
        start(number)
    found, killed = {}, False
    while len(found) < WORKERS:
        ready = connection.wait([results[n] for n in results if n not in found], timeout=120)
        assert ready, "no worker answers"
        number, done, values = ready[0].recv()
        if values is not None:
            found[number] = values
        if number == 0 and done == 2 and not killed:
            os.kill(workers[0].pid, signal.SIGKILL)
            workers[0].join()
            assert workers[0].exitcode == -signal.SIGKILL
            killed = True
            start(0)
    for worker in workers.values():
        worker.join()
        assert worker.exitcode == 0
    assert killed and all([v & 0xFFFFFFFF for v in values] == [expected()] for values in found.values())
    time.sleep(0.5)
    is_alone = "PYTEST_XDIST_WORKER" not in os.environ  # else other tests use the GPU meanwhile
    assert not is_alone or memory_in_use() <= before + (1 << 20)
    assert {name for name in shared_files() - files if not name.startswith("sem.")} == set()


@pytest.mark.exhaustive
def test_a_server_survives_its_workers():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT.parent), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "shadesmith.examples.engines.preforked_server", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        port = int(server.stdout.readline().split()[1])

        def ask(*numbers):
            with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
                lines = connection.makefile("rw")
                found = []
                for number in numbers:
                    lines.write(f"{number}\n")
                    lines.flush()
                    found.append(lines.readline().split(maxsplit=1))
                return found

        (first, total), (_, again), refused = ask(10, 1000, "x")
        assert (total.strip(), again.strip(), refused[0]) == ("285", "332833500", "error:")
        for _ in range(3):
            pid, found = ask(10)[0]
            assert found.strip() == "285"
            os.kill(int(pid), signal.SIGKILL)
        assert ask(100)[0][1].strip() == "328350"
    finally:
        server.terminate()
        server.wait(30)
    assert server.returncode == 0


class Losing:
    """Vulkan's functions; as soon as `is_lost` has an item, waits and submissions report a lost device."""

    def __init__(self, lib, is_lost):
        self._lib, self._is_lost = lib, is_lost

    def __getattr__(self, name):
        if self._is_lost and name in ("vkWaitSemaphores", "vkQueueSubmit", "vkGetSemaphoreCounterValue"):
            return lambda *arguments: -4
        return getattr(self._lib, name)


def test_a_lost_device_takes_its_session_along_and_no_other(monkeypatch):
    try:
        real = load_api()
    except ti.TaichiRuntimeError:
        pytest.skip("there is no Vulkan")
    api, is_lost = Api(real.constants), []
    api.lib = Losing(real.lib, is_lost)
    monkeypatch.setitem(sessions.OPENERS, "vulkan", lambda config, software: vulkan.open_device(api=api))
    lost = ti.Session(ti.vulkan, log_level=ti.WARN)
    monkeypatch.undo()
    others = [ti.Session(arch, log_level=ti.WARN) for arch in (ti.vulkan, ti.cpu)]
    arrays = []
    for session in (lost, *others):
        with session:
            arrays.append(ti.ndarray(ti.i32, 100))
            work(arrays[-1], 1)
    is_lost.append(True)
    with pytest.raises(ti.TaichiRuntimeError, match="Vulkan device was lost"), lost:
        work(arrays[0], 2)
        ti.sync()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ti.TaichiRuntimeError, match="was lost"):
            arrays[0].to_numpy()
        try:
            lost.close()
        except ti.TaichiRuntimeError as error:
            assert "was lost" in str(error)
    for session, array in zip(others, arrays[1:], strict=True):
        with session:
            work(array, 2)
            assert set(array.to_numpy().tolist()) == {5}
    with ti.Session(ti.vulkan, log_level=ti.WARN) as new:
        x = ti.ndarray(ti.i32, 10)
        work(x, 3)
        assert x[9] == 3
    for session in (new, *others):
        session.close()
