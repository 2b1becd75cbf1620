"""Run an untrusted tool that reads standard input and writes standard output.

In: a command line and bytes. Out: exit status, output and error output. The tool may hang, crash, or print endlessly.

A `WaitingTool` has been started before its input exists. Its standard input names a file, and a lease on that file lets
its `open` wait until we give the file up (Linux, `fcntl(2)`: "F_SETLEASE").
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable

try:
    import fcntl
except ImportError:  # no Unix
    fcntl = None  # type: ignore[assignment]

OUTPUT_LIMIT_BYTES = 64 << 20
MEMORY_FILES = "/dev/shm"
"""Where a file takes no disk, and has leases."""
MAX_WAIT_SECONDS = 30.0
"""After 45 s Linux takes a lease away from its holder: the tool would read an empty file."""


def run_tool(command: list[str], text: bytes, time_limit_seconds: float) -> tuple[int, bytes, bytes]:
    """Run a program with `text` as its standard input; return exit code, output and error output.

    Raises: TimeoutError, OverflowError (too much output), OSError (cannot start). The process has always ended.
    """
    process = _start(command)
    try:
        output, errors = _exchange(process, text, time.monotonic() + time_limit_seconds)
        return process.wait(), output, errors
    finally:
        _end(process)


class WaitingTool:
    """A process whose input comes later: `text(path)`, its standard input, names the file that `give` fills.

    The path is relative to the root folder, in which the tool runs. The file has no name of its own, so nothing remains
    of it. If this process ends, the tool reads an empty file and ends, too.
    Raises: OSError if the system has no such files.
    """

    def __init__(self, command: list[str], text: Callable[[str], bytes]) -> None:
        if not hasattr(fcntl, "F_SETLEASE"):
            raise OSError("no leases on files")
        self._started, self._owner = time.monotonic(), os.getpid()
        path = os.path.join(MEMORY_FILES, f"shadesmith-{self._owner}-{time.monotonic_ns()}")
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.unlink(path)
            fcntl.fcntl(self._file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            fcntl.fcntl(self._file, fcntl.F_SETOWN, 0)  # no signal when the tool opens the file
            self._process = _start(command, "/")
        except BaseException:
            os.close(self._file)
            raise
        try:
            _feed_all(self._process, text(f"proc/{self._owner}/fd/{self._file}"))
        except OSError:
            self.end()
            raise

    def is_waiting(self) -> bool:
        """Return whether the tool still waits, for this process."""
        is_young = time.monotonic() - self._started < MAX_WAIT_SECONDS
        return is_young and os.getpid() == self._owner and self._process.poll() is None

    def give(self, text: bytes, time_limit_seconds: float) -> tuple[int, bytes, bytes]:
        """Give the tool its input; return and raise as `run_tool` does."""
        try:
            rest = memoryview(text)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            fcntl.fcntl(self._file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            output, errors = _exchange(self._process, b"", time.monotonic() + time_limit_seconds)
            return self._process.wait(), output, errors
        finally:
            self.end()

    def end(self) -> None:
        """End the tool. A forked child leaves its parent's alone."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            if os.getpid() == self._owner:
                _end(self._process)


def _start(command: list[str], folder: str | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd=folder,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that has not ended, with all that it has started, and close its pipes."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)  # the whole session: the tool may be a script around another
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _feed_all(process: subprocess.Popen[bytes], text: bytes) -> None:
    """Give a process a standard input that is shorter than the buffer of a pipe."""
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.close()
    process.stdin = None


def _exchange(process: subprocess.Popen[bytes], text: bytes, deadline: float) -> tuple[bytes, bytes]:
    """Feed the process and collect both outputs until all pipes are closed and it ended."""
    assert process.stdout is not None and process.stderr is not None
    collected: dict[int, bytearray] = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    source, rest = -1, memoryview(text)
    with selectors.DefaultSelector() as selector:
        if process.stdin is not None:
            source = process.stdin.fileno()
            os.set_blocking(source, False)
            selector.register(source, selectors.EVENT_WRITE)
        for descriptor in collected:
            selector.register(descriptor, selectors.EVENT_READ)
        while len(selector.get_map()) > 0:
            for key, _ in selector.select(_remaining(deadline)):
                if process.stdin is not None and key.fd == source:
                    rest = _feed(source, rest)
                    if not rest:
                        selector.unregister(source)
                        process.stdin.close()
                    continue
                piece = os.read(key.fd, 1 << 16)
                collected[key.fd] += piece
                if not piece:
                    selector.unregister(key.fd)
                if sum(map(len, collected.values())) > OUTPUT_LIMIT_BYTES:
                    raise OverflowError(OUTPUT_LIMIT_BYTES)
    try:
        process.wait(_remaining(deadline))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    output, errors = collected.values()
    return bytes(output), bytes(errors)


def _feed(descriptor: int, rest: memoryview) -> memoryview:
    """Write as much as the pipe takes and return the rest; nothing is left once the reader has closed the pipe."""
    try:
        return rest[os.write(descriptor, rest[: 1 << 16]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[:0]


def _remaining(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining
