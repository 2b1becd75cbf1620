"""Run the host's C compiler: concurrently, each process with a time limit, and with all files removed afterwards.

In: command lines and a source for their standard input. Out: exit statuses and output. All files, the compiler's own
too, are in one private folder that is removed at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ..compiler_messages import INSTALL_C_COMPILER

TIME_LIMIT = 60.0
"""Time limit of a compiler for one kernel [s]; SHADESMITH_CC_TIMEOUT changes it."""


def run_tools(commands: Sequence[Sequence[str]], text: str, folder: str) -> list[tuple[int, str]]:
    """Run compilers concurrently, each with `text` as its input; return their exit statuses and output.

    Temporary files are in `folder`.
    Raises: TaichiRuntimeError if one cannot be started; TaichiCompilationError if one exceeds the time limit. In both
    cases all of them and their children (cc1, as, ld) have ended.
    """
    limit = float(os.environ.get("SHADESMITH_CC_TIMEOUT", TIME_LIMIT))
    source = Path(folder, "source")
    source.write_text(text, encoding="utf-8")
    processes: list[subprocess.Popen[bytes]] = []
    end = time.monotonic() + limit
    try:
        for command in commands:
            processes.append(_start(command, source, folder))
        outputs = [process.communicate(timeout=max(0.0, end - time.monotonic()))[0] for process in processes]
    except subprocess.TimeoutExpired as error:
        raise TaichiCompilationError(
            f"`{commands[0][0]}` did not finish within {limit:g} s and was stopped.",
            "make the kernel smaller, unroll less with ti.static, or raise SHADESMITH_CC_TIMEOUT [s].",
        ) from error
    finally:
        for process in processes:
            if process.returncode is None:
                _kill(process)
    return [(process.returncode, output.decode(errors="replace")) for process, output in zip(processes, outputs)]


def _start(command: Sequence[str], source: Path, folder: str) -> subprocess.Popen[bytes]:
    """Start a compiler as the leader of a process group, so that the whole group can be killed."""
    environment = {**os.environ, "TMPDIR": folder, "LC_ALL": "C"}
    try:
        with source.open("rb") as text:
            return subprocess.Popen(
                command,
                stdin=text,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
    except OSError as error:
        raise TaichiRuntimeError(f"`{command[0]}` cannot be started: {error.strerror}. {INSTALL_C_COMPILER}") from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a compiler and its children, and leave no zombie and no open pipe."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def what_happened(program: str, code: int) -> str:
    """Return a phrase for how a failed compiler ended."""
    if code > 0:
        return f"`{program}` refused the emitted source"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"`{program}` crashed ({name}) on the emitted source"


def private_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that exists during one run. Raises: TaichiRuntimeError if it cannot be made."""
    try:
        return tempfile.TemporaryDirectory(prefix="shadesmith-")
    except OSError as error:
        raise TaichiRuntimeError(f"No folder for temporary files: {error}. Set TMPDIR to a writable one.") from error


def temporary_folder() -> str:
    """Return the folder in which private folders are made."""
    return tempfile.gettempdir()
