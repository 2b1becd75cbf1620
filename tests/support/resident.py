"""What keeps a tool in memory during a test run: programs of the folder `resident`, built once, and their start."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

SOURCES = Path(__file__).parent / "resident"
MOST_CHARACTERS = 100
"""Of a socket's path: Linux takes 107."""
SECONDS = 30
"""[s] that a tool may take to start."""

Stop = Callable[[], None]


def are_plain() -> bool:
    """Return whether the tools of this run, gcc and glslangValidator, are to be as they are installed."""
    return os.environ.get("SHADESMITH_PLAIN_TOOLS", "0") not in ("", "0")


def programs(kind: str, tool: Path, name: str, cache: Path) -> Path:
    """Return a folder with the server and the client, `name`, for this very tool.

    Its name says which: binaries are known by the client. cache: a folder that outlives the run.
    """
    status = tool.stat()
    texts = (path.read_text() for path in sorted(SOURCES.iterdir()) if path.is_file())
    material = [f"{tool} {status.st_size} {status.st_mtime_ns}", *texts]
    folder = cache / f"{kind}-{hashlib.sha256(''.join(material).encode()).hexdigest()[:16]}"
    if not (folder / name).exists():
        folder.mkdir(parents=True, exist_ok=True)
        _build([str(SOURCES / f"{kind}_server.c"), "-fPIC", "-shared", "-ldl"], folder / "server.so")
        _build([str(SOURCES / f"{kind}_client.c"), "-static", f'-DTOOL="{tool}"'], folder / name)
    return folder


def _build(words: list[str], output: Path) -> None:
    """Compile a program and give it its name when it is whole: runs may build it at the same time."""
    part = output.with_name(f"{output.name}.{os.getpid()}")
    subprocess.run(["gcc", "-O1", *words, "-o", str(part)], check=True, capture_output=True, timeout=SECONDS)
    os.replace(part, output)


def started(
    command: Sequence[str],
    folder: Path,
    socket: Path,
    stdin: int,
    variables: Mapping[str, str],
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a tool with the server of `folder` in it. It serves when the socket is there: see `wait`."""
    return subprocess.Popen(
        command,
        env={**os.environ, **variables, "LD_PRELOAD": str(folder / "server.so"), "RESIDENT_SOCKET": str(socket)},
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=pass_fds,
    )


def wait(process: subprocess.Popen[bytes], socket: Path) -> bool:
    """Return whether the tool serves; one that does not is ended."""
    end = time.monotonic() + SECONDS
    while not socket.exists():
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            process.wait()
            return False
        time.sleep(0.005)
    return True


def put_first_on_the_path(folder: Path) -> None:
    """Let `folder` be where programs are found first, also those that programs of this run start."""
    os.environ["PATH"] = os.pathsep.join((str(folder), os.environ["PATH"]))


def client_and_installed(name: str, variable: str) -> tuple[str, str] | None:
    """Return the paths of a tool's client and of the installed tool; None where it does not stay in this run.

    variable: of the environment, which tells clients where the tool is.
    """
    found = shutil.which(name)
    if variable not in os.environ or found is None:
        return None
    folders = [folder for folder in os.environ["PATH"].split(os.pathsep) if folder != str(Path(found).parent)]
    installed = shutil.which(name, path=os.pathsep.join(folders))
    assert installed is not None
    return found, installed
