"""A pre-forked server: worker processes accept connections, each with a session of its own; a dead one is replaced.

    python -m shadesmith.examples.engines.preforked_server [--port 8000] [--workers 2] [--arch cpu]

The parent imports the kernels and starts no session, so that its children may start any (a Vulkan or CUDA session does
not survive a fork). A request is a number n, a line of text; the answer is the sum of the squares below n.
This is the shape of gunicorn's and uWSGI's workers: start the session in their hook after the fork (`post_fork`).
"""

import argparse
import os
import signal
import socket
from collections.abc import Callable

import shadesmith as ti

LARGEST = 1 << 20


@ti.kernel
def fill(x: ti.types.ndarray(ti.i64, 1), n: ti.i32):
    for i in range(n):
        x[i] = ti.cast(i, ti.i64) * i


@ti.kernel
def total(x: ti.types.ndarray(ti.i64, 1), n: ti.i32) -> ti.i64:
    s = ti.i64(0)
    for i in range(n):
        s += x[i]
    return s


def serve(listening: socket.socket, arch: str) -> None:
    """Answer requests for ever, in a session with a limit of memory."""
    session = ti.Session(arch, memory_limit_GB=0.25, log_level=ti.WARN)
    with session:
        squares = ti.ndarray(ti.i64, LARGEST)
        while True:
            connection, _ = listening.accept()
            with connection, connection.makefile("rw") as lines:
                for line in lines:
                    lines.write(answer(line, squares) + "\n")
                    lines.flush()


def answer(line: str, squares: ti.Ndarray) -> str:
    """Return the answer to one request; a wrong one is no reason to end."""
    try:
        count = min(max(0, int(line)), LARGEST)
        fill(squares, count)
        return f"{os.getpid()} {total(squares, count)}"
    except (ValueError, ti.TaichiRuntimeError) as error:
        return f"error: {str(error).splitlines()[0]}"


def fork(work: Callable[[], None]) -> int:
    """Run `work` in a child process; return its number."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            work()
        finally:
            os._exit(1)
    return child


def main() -> None:
    """Start the workers, and replace those that die until SIGTERM or Ctrl-C ends all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8000, help="0: any that is free")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--arch", default="cpu")
    options = parser.parse_args()
    children: set[int] = set()

    def stop(*_: object) -> None:
        for child in children:
            os.kill(child, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    with socket.create_server(("127.0.0.1", options.port)) as listening:
        print(f"port {listening.getsockname()[1]}", flush=True)
        while True:
            while len(children) < options.workers:
                children.add(fork(lambda: serve(listening, options.arch)))
            ended, _ = os.wait()
            children.discard(ended)


if __name__ == "__main__":
    main()
