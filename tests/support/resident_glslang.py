"""A glslangValidator that stays in memory during a test run: a shader takes 5 ms instead of 110 ms.

The program is the one that is installed; `glslang/server.c` says how it is made to stay. It is found first on the PATH
of the run, so that programs started by tests use it too. Where anything is unusual (another system, no compiler), the
tests use the installed one as it is; so they do with SHADESMITH_PLAIN_GLSLANG=1, as `make test-all` does.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SOURCES = Path(__file__).parent / "glslang"
NAME = "glslangValidator"
SOCKET = "SHADESMITH_TESTS_GLSLANG"
WARM_UP = "#version 460\nlayout(local_size_x = 1) in;\nvoid main() {\n}\n"
MOST_CHARACTERS = 100
"""Of a socket's path: Linux takes 107."""
SECONDS = 30
"""[s] that the tool may take to start."""


def start(cache: Path, run: Path) -> Callable[[], None] | None:
    """Start the tool and put it first on the PATH; return what stops it, None where it is left as it is.

    cache: a folder that outlives the run, where the programs are built once. run: a folder of this run.
    """
    tool = shutil.which(NAME)
    if sys.platform != "linux" or tool is None or shutil.which("gcc") is None or len(str(run)) > MOST_CHARACTERS - 8:
        return None
    if os.environ.get("SHADESMITH_PLAIN_GLSLANG", "0") not in ("", "0") or SOCKET in os.environ:
        return None
    try:
        folder = _programs(Path(tool).resolve(), cache)
        process, socket = _started(Path(tool), folder, run)
    except (OSError, subprocess.SubprocessError, TimeoutError):
        return None
    os.environ[SOCKET] = str(socket)
    os.environ["PATH"] = os.pathsep.join((str(folder), os.environ["PATH"]))

    def stop() -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(SECONDS)

    return stop


def _programs(tool: Path, cache: Path) -> Path:
    """Return a folder with client and server for this very tool. Its name says which: binaries are known by the client."""
    status = tool.stat()
    material = [f"{tool} {status.st_size} {status.st_mtime_ns}", *(path.read_text() for path in _sources())]
    folder = cache / f"glslang-{hashlib.sha256(''.join(material).encode()).hexdigest()[:16]}"
    if not (folder / NAME).exists():
        folder.mkdir(parents=True, exist_ok=True)
        server, client = _sources()
        _build([str(server), "-fPIC", "-shared", "-ldl"], folder / "server.so")
        _build([str(client), f'-DTOOL="{tool}"'], folder / NAME)
    return folder


def _sources() -> tuple[Path, Path]:
    return SOURCES / "server.c", SOURCES / "client.c"


def _build(words: list[str], output: Path) -> None:
    """Compile a program and give it its name when it is whole: runs may build it at the same time."""
    part = output.with_name(f"{output.name}.{os.getpid()}")
    subprocess.run(["gcc", "-O1", *words, "-o", str(part)], check=True, capture_output=True, timeout=SECONDS)
    os.replace(part, output)


def _started(tool: Path, folder: Path, run: Path) -> tuple[subprocess.Popen[bytes], Path]:
    socket, shader = run / "glslang", run / "warm_up.comp"
    shader.write_text(WARM_UP)
    output = str(run / "resident-warm-up")
    process = subprocess.Popen(
        [str(tool), "-S", "comp", "--target-env", "vulkan1.2", "-o", output, str(shader)],
        env={**os.environ, "LD_PRELOAD": str(folder / "server.so"), "RESIDENT_SOCKET": str(socket)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + SECONDS
    while not socket.exists():
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            process.wait()
            raise TimeoutError
        time.sleep(0.01)
    return process, socket
