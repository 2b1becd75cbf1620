"""Convert the log of an external compiler into a message for the author of the kernel.

In: the log of cc or NVRTC and its `SourceFile`. Out: a message that shows, for each of the first errors, the emitted
line, its Python line, and the compiler's message.
"""

from __future__ import annotations

import linecache
import re

from ...transpiler.backend.module.interface import SourceFile
from ...transpiler.errors import TaichiCompilationError

MAX_ERRORS = 5
"""Later errors are mostly consequences of the first."""

MAX_LOG_CHARACTERS = 4000
"""A failing compiler may print megabytes; the start of the log suffices."""

INSTALL_C_COMPILER = (
    "Install a C compiler (Debian, Ubuntu: `apt-get install gcc`; Fedora: `dnf install gcc`; macOS: "
    "`xcode-select --install`), or name one in the environment variable CC."
)

_PLACES = (
    re.compile(r":(\d+):\d+: (?:fatal )?error: (.*)"),  # gcc and clang: <stdin>:12:5: error: text
    re.compile(r"\((\d+)\): (?:catastrophic )?error: (.*)"),  # NVRTC: name(12): error: text
)


class CompilerFailure(TaichiCompilationError):
    """A source was not compiled. log: the compiler's output."""

    def __init__(self, message: str, log: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.log = log


def describe_log(file: SourceFile, log: str) -> str:
    """Return the compiler's errors with their lines, or the start of the log if no error is recognised."""
    found = []
    for line in log[: 50 * MAX_LOG_CHARACTERS].splitlines():
        for place in _PLACES:
            match = place.search(line)
            if match:
                found.append(_describe_error(file, int(match[1]), match[2]))
                break
        if len(found) == MAX_ERRORS:
            break
    start = "".join(c if c.isprintable() or c in "\n\t" else "?" for c in log[:MAX_LOG_CHARACTERS]).strip()
    return "\n".join(found) or start or "(the compiler printed nothing)"


def _describe_error(file: SourceFile, line_emitted: int, message: str) -> str:
    lines = file.text.splitlines()
    emitted = lines[line_emitted - 1].strip() if 0 < line_emitted <= len(lines) else ""
    text = f"{file.name}:{line_emitted}: error: {message}\n    {emitted}"
    place = file.python_location(line_emitted)
    if place is None:
        return text
    path, line_python = place
    return f"{text}\n  emitted for {path}:{line_python}\n    {linecache.getline(path, line_python).strip()}"
