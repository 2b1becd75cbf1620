"""Run an untrusted tool that reads standard input and writes standard output.

In: a command line and bytes. Out: exit status, output and error output. The tool may hang, crash, or print endlessly.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time

OUTPUT_LIMIT_BYTES = 64 << 20


def run_tool(command: list[str], text: bytes, time_limit_seconds: float) -> tuple[int, bytes, bytes]:
    """Run a program with `text` as its standard input; return exit code, output and error output.

    Raises: TimeoutError, OverflowError (too much output), OSError (cannot start). The process has always ended.
    """
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        output, errors = _exchange(process, text, time.monotonic() + time_limit_seconds)
        return process.wait(), output, errors
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # the whole session: the tool may be a script around another
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _exchange(process: subprocess.Popen[bytes], text: bytes, deadline: float) -> tuple[bytes, bytes]:
    """Feed the process and collect both outputs until all pipes are closed and it ended."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    collected: dict[int, bytearray] = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    source, rest = process.stdin.fileno(), memoryview(text)
    os.set_blocking(source, False)
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_WRITE)
        for descriptor in collected:
            selector.register(descriptor, selectors.EVENT_READ)
        while len(selector.get_map()) > 0:
            for key, _ in selector.select(_remaining(deadline)):
                if key.fd == source:
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
