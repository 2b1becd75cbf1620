"""While a driver opens a device, another thread loads what the first call of a kernel needs."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from ..devices.test_vulkan_device import vulkan_is_here

pytestmark = [
    pytest.mark.skipif(not vulkan_is_here(), reason="no Vulkan device or no glslangValidator"),
    pytest.mark.usefixtures("own_cache"),
]

PROGRAM = """
    import os, sys, threading
    import shadesmith as ti

    ti.init(arch=ti.vulkan, log_level="error", enable_fallback=False, offline_cache_file_path={cache!r})
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = i

    {action}
"""


def run(tmp_path, action: str) -> str:
    program, cache = tmp_path / "program.py", str(tmp_path / "cache")
    program.write_text(textwrap.dedent(PROGRAM).format(cache=cache, action="ACTION").replace("ACTION", action))
    command = [
        sys.executable,
        "-W",
        "ignore:This process:DeprecationWarning",
        program,
    ]  # of `fork`, from Python 3.12 on
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.strip()


WAIT = '[thread.join() for thread in threading.enumerate() if thread.name == "shadesmith\'s modules"]'
LOADED = "print('shadesmith.transpiler.pipeline' in sys.modules, 'shadesmith.runtime.cache.lookup' in sys.modules)"


def test_the_compiler_is_loaded_if_the_cache_is_empty(tmp_path):
    assert run(tmp_path, f"{WAIT}; {LOADED}; fill()") == "True True"
    assert run(tmp_path, f"{WAIT}; {LOADED}") == "False True"


@pytest.mark.exhaustive
def test_a_program_may_end_at_once(tmp_path):
    assert run(tmp_path, "") == ""


@pytest.mark.exhaustive
def test_a_child_does_not_wait_for_the_thread(tmp_path):
    child = "ti.init(arch=ti.python, log_level='error'); import shadesmith.transpiler.pipeline; os._exit(7)"
    action = f"pid = os.fork()\nif pid == 0:\n    {child}\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    assert run(tmp_path, action) == "7"
