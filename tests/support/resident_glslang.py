"""A glslangValidator that stays in memory during a test run: a shader takes 5 ms instead of 110 ms.

The program is the one that is installed; `resident/glslang_server.c` says how it is made to stay. It is found first on
the PATH of the run, so that programs started by tests use it too. Where anything is unusual (another system, no
compiler), the tests use the installed one as it is; so they do with SHADESMITH_PLAIN_TOOLS=1, as `make test-all` does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import resident

NAME = "glslangValidator"
SOCKET = "SHADESMITH_TESTS_GLSLANG"
WARM_UP = "#version 460\nlayout(local_size_x = 1) in;\nvoid main() {\n}\n"


def start(cache: Path, run: Path) -> resident.Stop | None:
    """Start the tool and put it first on the PATH; return what stops it, None where it is left as it is.

    cache: a folder that outlives the run, where the programs are built once. run: a folder of this run.
    """
    tool = shutil.which(NAME)
    socket = run / "glslang"
    if sys.platform != "linux" or tool is None or shutil.which("gcc") is None or resident.are_plain():
        return None
    if SOCKET in os.environ or len(str(socket)) > resident.MOST_CHARACTERS:
        return None
    shader = run / "warm_up.comp"
    words = [tool, "-S", "comp", "--target-env", "vulkan1.2", "-o", str(run / "resident-warm-up"), str(shader)]
    try:
        folder = resident.programs("glslang", Path(tool).resolve(), NAME, cache)
        shader.write_text(WARM_UP)
        process = resident.started(words, folder, socket, subprocess.PIPE, {})
    except (OSError, subprocess.SubprocessError):
        return None
    if not resident.wait(process, socket):
        return None
    os.environ[SOCKET] = str(socket)
    resident.put_first_on_the_path(folder)

    def stop() -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(resident.SECONDS)

    return stop
