"""A Vulkan device whose driver is still at work when `ti.init` returns, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from shadesmith.transpiler.errors import TaichiRuntimeError

pytestmark = pytest.mark.one_target

SLOW = """\
import threading
import time

import shadesmith as ti
from shadesmith.runtime.devices.vulkan import instance

events = []
create = instance.create_device


def slow(api, adapter):
    events.append("begun")
    time.sleep(0.5)
    made = create(api, adapter)
    destroy = api.lib.vkDestroyDevice
    events.append("made")
    return made


instance.create_device = slow


@ti.kernel
def count(n: ti.i32) -> ti.i32:
    total = 0
    for i in range(n):
        total += i
    return total


"""


def run(tmp_path: Path, body: str) -> str:
    """Run a program whose driver needs half a second, and return what it prints."""
    try:
        from shadesmith.runtime.devices.vulkan.device import open_device

        open_device().close()
    except TaichiRuntimeError as error:
        pytest.skip(str(error))
    path = tmp_path / "program.py"
    path.write_text(SLOW + textwrap.dedent(body))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_init_returns_before_the_device_is_made(tmp_path: Path) -> None:
    body = """
        ti.init(arch=ti.vulkan, log_level="error")
        first = list(events)
        print(first, ti.cfg.arch.name, count(10), events)
    """
    assert run(tmp_path, body) == "['begun'] vulkan 45 ['begun', 'made']\n"


def test_threads_wait_for_one_device(tmp_path: Path) -> None:
    body = """
        ti.init(arch=ti.vulkan, log_level="error")
        found = []
        threads = [threading.Thread(target=lambda: found.append(ti.field(ti.f32, 4).to_numpy().sum())) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(sum(found), len(found), events)
    """
    assert run(tmp_path, body) == "0.0 8 ['begun', 'made']\n"


def test_a_device_that_nobody_uses(tmp_path: Path) -> None:
    body = """
        ti.init(arch=ti.vulkan, log_level="error")
        ti.reset()
        print(events)
        ti.init(arch=ti.vulkan, log_level="error")
        print(count(10), events)
        ti.init(arch=ti.vulkan, log_level="error")
    """
    assert run(tmp_path, body) == "['begun', 'made']\n45 ['begun', 'made', 'begun', 'made']\n"


@pytest.mark.parametrize("body", ["pass", "raise SystemExit", "x = ti.field(ti.f32, 4)"])
def test_a_program_that_ends_at_once(tmp_path: Path, body: str) -> None:
    assert run(tmp_path, f'ti.init(arch=ti.vulkan, log_level="error")\n{body}\n') == ""


def test_an_error_of_the_driver_is_that_of_the_first_use(tmp_path: Path) -> None:
    body = """
        def refuse(api, adapter):
            time.sleep(0.3)
            raise ti.TaichiRuntimeError("opening the device: VK_ERROR_INITIALIZATION_FAILED")


        instance.create_device = refuse
        ti.init(arch=ti.vulkan, log_level="error")
        for _ in range(2):
            try:
                count(10)
            except ti.TaichiRuntimeError as error:
                print(error)
        instance.create_device = create
        print(count(10))
    """
    message = "opening the device: VK_ERROR_INITIALIZATION_FAILED\n"
    assert run(tmp_path, body) == f"{message}{message}45\n"


def test_a_wrong_option_while_the_driver_works(tmp_path: Path) -> None:
    body = """
        try:
            ti.init(arch=ti.vulkan, no_such_option=1)
        except KeyError:
            print("refused")
        ti.init(arch=ti.vulkan, log_level="error")
        print(count(10), events)
    """
    assert run(tmp_path, body) == "refused\n45 ['begun', 'made']\n"


def test_a_child_does_not_use_its_parents_device(tmp_path: Path) -> None:
    body = """
        import os

        ti.init(arch=ti.vulkan, log_level="error")
        child = os.fork()
        if child == 0:
            try:
                count(10)
            except ti.TaichiRuntimeError as error:
                os.write(1, b"forked\\n" if "forked" in str(error) else str(error).encode())
            os._exit(0)
        os.waitpid(child, 0)
        print(count(10))
    """
    assert run(tmp_path, body) == "forked\n45\n"


def test_ctrl_c_while_the_first_use_waits(tmp_path: Path) -> None:
    body = """
        import signal

        def interrupt(signum, frame):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, interrupt)
        ti.init(arch=ti.vulkan, log_level="error")
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            count(10)
        except KeyboardInterrupt:
            print("interrupted", events)
        print(count(10), events)
    """
    assert run(tmp_path, body) == "interrupted ['begun']\n45 ['begun', 'made']\n"
