"""The process that runs edited sources: start it, send it requests, end it, and say how it ended.

In: a session's device and options. Out: `ChildProcess`, whose `request` returns a reply within a time limit. What an
edit does to its process, a far store, a trap, an endless loop, ends that process only. It imports what this one does
(`sys.path` is handed over), opens a device of the same kind, and ends with this process, however this one ends.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from .....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ....arrays.memory import Array
from ....config import OPTIONS, Config
from .messages import Closed, Message, receive, send
from .sanitizers import sanitizing_environment

if TYPE_CHECKING:
    from ....session.session import Session

START_SECONDS = 120.0
"""Time limit for starting the process, opening a device in it, and compiling; compilers have their own."""
OUTPUT_BYTES = 20_000
"""How much is kept of what the process writes to its standard error."""
LOCAL_OPTIONS = frozenset(
    {
        "arch",
        "dump_dir",
        "edits",
        "edits_dir",
        "log_level",
        "passes",
        "print_ir",
        "print_full_traceback",
        "templates_dir",
    }
)
"""Options of the program's session that the process does not take over."""
SIGNALS = {
    "SIGSEGV": "it accessed memory that does not exist, or its stack overflowed",
    "SIGBUS": "it accessed memory that does not exist",
    "SIGFPE": "an integer division by zero, or an overflow of one",
    "SIGILL": "it ran a trap or an illegal instruction",
    "SIGTRAP": "it ran a trap",
    "SIGABRT": "it called `abort`, or the C library found its memory damaged",
    "SIGKILL": "it used more memory than there is, or somebody killed it",
    "SIGXFSZ": "it wrote too much to a file",
}
"""What a signal mostly means."""
PROGRAM = """
import sys
sys.path[:] = {path!r}
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location({root!r}, {file!r}, submodule_search_locations=[{folder!r}])
sys.modules[{root!r}] = module = module_from_spec(spec)
spec.loader.exec_module(module)
from {package} import main
main({descriptor}, {parent})
"""


class ProcessEnded(TaichiRuntimeError):
    """The process ended, or was stopped, while it ran a source."""


class ChildProcess:
    """A process with a device. sanitize: kernels of the host are compiled with sanitizers there."""

    def __init__(self, session: Session, sanitize: bool = False) -> None:
        self._session = session
        self._connection, child_end = socket.socketpair()
        self._output = bytearray()
        package = f"{__package__}.child"
        root = package.partition(".")[0]
        file = str(sys.modules[root].__file__)
        code = PROGRAM.format(
            path=sys.path, root=root, file=file, folder=os.path.dirname(file), package=package,
            descriptor=child_end.fileno(), parent=os.getpid(),
        )  # fmt: skip
        environment = {**os.environ, "SHADESMITH_ARCH": session.arch.name}
        if sanitize:
            environment |= sanitizing_environment()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, pass_fds=[child_end.fileno()], start_new_session=True, env=environment,
            )  # fmt: skip
        except OSError as error:
            self._connection.close()
            raise _cannot_start(str(error)) from error
        finally:
            child_end.close()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._folder = tempfile.TemporaryDirectory(prefix="shadesmith-") if sanitize else None
        folder = "" if self._folder is None else self._folder.name
        options: Message = {"arch": session.arch.name, "options": _options(session.config)}
        options |= {"sanitize": sanitize, "folder": folder}
        send(self._connection, {"do": "open", **options})
        self._is_open = False
        self.is_alive = True

    def request(
        self, message: Message, arrays: Sequence[tuple[Array, bool]] = (), limit: float = START_SECONDS
    ) -> tuple[Message, list[Array]]:
        """Send a request and return the reply. limit: for the reply [s].

        Raises: ProcessEnded if the process ends or exceeds the limit, after which it does not run any more; the errors
        that the device reports there.
        """
        if not self._is_open:
            self._open()
        return self._exchange(message, arrays, limit)

    def _open(self) -> None:
        """Wait until the device is open. Raises: TaichiRuntimeError if it does not open, or is another."""
        try:
            reply, _ = receive(self._connection, START_SECONDS)
        except (Closed, TimeoutError, ValueError):
            self.close()
            raise _cannot_start(self.messages()) from None
        self._raise_error(reply)
        title = self._session.device.title
        if title and reply["title"] != title:
            self.close()
            raise _cannot_start(f"it opens {reply['title']}, not {title}")
        self._is_open = True

    def _exchange(
        self, message: Message, arrays: Sequence[tuple[Array, bool]], limit: float
    ) -> tuple[Message, list[Array]]:
        try:
            self._connection.settimeout(START_SECONDS)
            send(self._connection, message, arrays)
            reply, found = receive(self._connection, limit)
        except TimeoutError:
            self.close()
            raise ProcessEnded(f"was stopped after {limit:.3g} s") from None
        except (Closed, ValueError):
            raise ProcessEnded(self._end()) from None
        except BaseException:  # Ctrl-C
            self.close()
            raise
        self._raise_error(reply)
        return reply, found

    def _raise_error(self, reply: Message) -> None:
        error = reply.get("error")
        if error is None:
            return
        if error["ends"]:
            self.close()
        kind = TaichiCompilationError if error["is_compilation"] else TaichiRuntimeError
        raise kind(error["message"], error["hint"])

    def _end(self) -> str:
        """Return how the process ended, as a phrase that follows the name of a source."""
        try:
            code = self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            code = 0
        output = self.messages()
        self.close()
        found = re.search(r"(?:ERROR: AddressSanitizer: |runtime error: )([^\n]*)", output)
        if found:
            return f"failed under sanitizers: {_sanitizers_words(output)}"
        if code >= 0:
            return f"ended its process (status {code})"
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        meaning = SIGNALS.get(name, "")
        return f"crashed: {name}{f', {meaning}' if meaning else ''}"

    def _listen(self) -> None:
        """Keep the last part of what the process writes to its standard error."""
        stream = self._process.stderr
        while stream is not None and (part := os.read(stream.fileno(), 1 << 16)):
            self._output += part
            del self._output[:-OUTPUT_BYTES]

    def messages(self) -> str:
        """Return the last part of what the process wrote to its standard error."""
        self._listener.join(1.0)
        return bytes(self._output).decode(errors="replace")

    def close(self) -> None:
        """End the process, whatever it is doing, with all that it started."""
        self.is_alive = False
        self._connection.close()
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()
        self._listener.join(1.0)
        if self._process.stderr is not None and not self._listener.is_alive():
            self._process.stderr.close()


def _sanitizers_words(output: str) -> str:
    """Return the first report of a sanitizer: what, and the lines of the source."""
    lines = output.splitlines()
    start = next(k for k, line in enumerate(lines) if "ERROR: AddressSanitizer" in line or "runtime error:" in line)
    head = re.sub(r"^.*?(?:ERROR: AddressSanitizer: |runtime error: )", "", lines[start])
    line = re.search(r"<stdin>:(\d+)", "\n".join(lines[start : start + 40]))
    return f"line {line[1]}: {head}" if line else head


def _options(config: Config) -> dict[str, Any]:
    """Return the options that differ from the default and that the process takes over."""
    names = [option.name for option in fields(Config) if option.name not in LOCAL_OPTIONS]
    values = {name: getattr(config, name) for name in names}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, bool | int | float | str) and value != OPTIONS[name]
    }


def _cannot_start(reason: str) -> TaichiRuntimeError:
    return TaichiRuntimeError(
        f"the process in which edited sources run cannot be started: {reason.strip() or 'it does not answer'}",
        "`in_process=True`, or `--in-process` on the command line, runs them in this one",
    )


def can_isolate() -> bool:
    """Return whether this system and this interpreter can start such a process."""
    return os.name == "posix" and bool(sys.executable)
