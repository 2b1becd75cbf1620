"""Locations in the user's file, and the exceptions that report them.

Input: positions from Python's `ast`. Output: Taichi's exception classes, whose message names file, line and column, and
shows the line with a caret under the construct, the chain of call sites for inlined functions, and a remedy.

Without dataclasses, whose import takes 6 ms: a driver begins to open a GPU when this module has been imported.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from types import FrameType
from typing import Any, NamedTuple, TypeVar

PACKAGE = __name__.split(".", maxsplit=1)[0]
"""Module of the exceptions for users, also in tracebacks: `shadesmith.TaichiTypeError`."""


class ReportedError(Exception):
    """The base of every error of shadesmith. `str(error)` joins its fields.

    Attributes:
        message: what was found and what was expected.
        hint: the remedy, None if there is none.
        location: the span in the user's file with the chain of calls (`.call_site`), None if there is no such span.
    """

    message: str
    hint: str | None
    location: SourceLocation | None

    def __init__(self, message: str = "", hint: str | None = None, location: SourceLocation | None = None) -> None:
        super().__init__(_joined(message, hint) if location is None else f"\n{location.explained(message, hint)}")
        self.message, self.hint, self.location = message, hint, location

    def __str__(self) -> str:  # SyntaxError would append its own "(file, line n)"
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


E = TypeVar("E", bound=ReportedError)
MAX_COLUMNS, SHOWN_COLUMNS = 200, 120
"""How long a line may be that errors show whole, and how much of a longer one they show."""

CELL_NAMES: list[Callable[[str], str]] = []
"""Functions that name the cell of a notebook by its file, "" for other files; a notebook's session installs one."""


def _joined(message: str, hint: str | None) -> str:
    """Return message and hint as one string: in one line, unless the message has several sentences or lines."""
    if not hint:
        return message
    if "\n" in message or message.endswith("."):
        return f"{message}\nHint: {hint}"
    return f"{message}{'' if message.endswith(('?', '!')) else '.'} Hint: {hint}"


def _restore(kind: type[E], args: tuple[Any, ...], fields: dict[str, Any]) -> E:
    """Return an error from its pickled state; subclasses have constructors of several signatures."""
    error = kind.__new__(kind, *args)
    super(ReportedError, error).__init__(*args)
    error.__dict__.update(fields)
    return error


class TaichiCompilationError(ReportedError):
    """A kernel cannot be compiled; the base of every error found before a launch."""

    __module__ = PACKAGE


class TaichiSyntaxError(TaichiCompilationError, SyntaxError):
    """A Python construct that kernels do not support."""

    __module__ = PACKAGE


class TaichiNameError(TaichiCompilationError, NameError):
    """A name that is not defined where it is used."""

    __module__ = PACKAGE


class TaichiIndexError(TaichiCompilationError, IndexError):
    """An invalid index: a wrong number of indices, or a constant out of range."""

    __module__ = PACKAGE


class TaichiTypeError(TaichiCompilationError, TypeError):
    """A value of a type that the operation does not take."""

    __module__ = PACKAGE


class TaichiRuntimeError(ReportedError, RuntimeError):
    """A failure outside compilation: devices, launches, reads and writes."""

    __module__ = PACKAGE


class LaunchTimeoutError(TaichiRuntimeError):
    """A launch took longer than `ti.init(watchdog=...)` or a tool allows; it was stopped or is waited for no more."""

    __module__ = PACKAGE


class TaichiAssertionError(TaichiRuntimeError, AssertionError):
    """A check failed while a kernel was running: an `assert`, an index, an overflow.

    Attributes:
        location: of the check, with the chain of calls (`.call_site`).
        message: what failed, without its location.
        kind: "assert", "bounds", "overflow" or "iterations".
        kernel: its name.
        values: the numbers in the message.
        iteration: indices of the parallel loop by name; None outside loops and if only the launch knows them.
        failures: number of checks that failed in the launch.
        array, index, shape: of an access out of bounds.
    """

    kind: str = "assert"
    kernel: str = ""
    values: tuple[Any, ...] = ()
    iteration: dict[str, int] | None = None
    failures: int = 1
    array: str | None = None
    index: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()

    __module__ = PACKAGE


class TaichiRuntimeTypeError(TaichiRuntimeError, TypeError):
    """An argument whose type does not match the kernel's annotation."""

    __module__ = PACKAGE

    @classmethod
    def get(cls, position: int, needed: object, provided: object) -> TaichiRuntimeTypeError:
        """Return the error for argument number `position` (from 0) with Taichi's wording."""
        return cls(f"Argument {position} (type={provided}) cannot be converted into required type {needed}")


class UnsupportedError(TaichiCompilationError):
    """The program is legal, but the chosen target lacks what it needs."""

    __module__ = PACKAGE


class NotYetError(ReportedError, AttributeError):
    """A Taichi name that this version lacks."""

    def __init__(self, name: str, subject: str, issue: int | None, hint: str = "") -> None:
        planned = f"issue {issue} of the roadmap" if issue is not None else "a later issue of the roadmap"
        super().__init__(
            f"{name} is not in this version of shadesmith; see docs/status.md: {subject} come with {planned}",
            hint or "docs/status.md lists what works now",
        )


class InternalError(ReportedError):
    """A fault of shadesmith itself; the message contains the name of the pass and the kernel.

    statement: of the IR that is at fault, None if it is not known.
    """

    statement: Any = None


class ShadesmithWarning(UserWarning):
    """Category of every warning shadesmith gives, so that users can filter it."""

    __module__ = PACKAGE


class SourceText:
    """The source of one function, with its location in the user's file; nothing of it changes.

    Attributes:
        file: path as shown to the user.
        first_line: line of the file (from 1) at which the function starts.
        lines: the lines of the function.
        is_ascii: whether a column in bytes is one in characters in all lines.
    """

    __slots__ = ("file", "first_line", "is_ascii", "lines")

    def __init__(self, file: str, first_line: int, lines: tuple[str, ...]) -> None:
        self.file, self.first_line, self.lines = file, first_line, lines
        self.is_ascii = all(map(str.isascii, lines))

    def __repr__(self) -> str:
        return f"SourceText(file={self.file!r}, first_line={self.first_line}, lines={self.lines!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SourceText):
            return NotImplemented
        return (self.file, self.first_line, self.lines) == (other.file, other.first_line, other.lines)

    def __hash__(self) -> int:  # not of the lines: a location, whose source this is, is hashed for each statement
        return hash((self.file, self.first_line))

    def line(self, number: int) -> str:
        """Return line `number` (counted in the file, from 1), or an empty string if it is missing."""
        index = number - self.first_line
        return self.lines[index] if 0 <= index < len(self.lines) else ""


@lru_cache(maxsize=64)
def basename(file: str) -> str:
    """Return the last part of a path, so that sources do not depend on the folder; it cannot end a comment."""
    name = file.replace("\\", "/").rsplit("/", 1)[-1].replace("??/", "? ?/")
    return name if name.isprintable() else "".join(c if c.isprintable() else " " for c in name)


class SourceLocation(NamedTuple):
    """A span in the user's file: lines from 1, columns from 1 in characters, the end exclusive.

    A tuple, which Python makes in half the time of a frozen dataclass: each expression has one.

    call_site: where the function that contains this span was inlined, or None in the kernel itself.
    is_derivative: what is located differentiates the Python statement, instead of doing what it says.
    """

    source: SourceText
    line: int
    column: int
    end_line: int
    end_column: int
    function: str = ""
    call_site: SourceLocation | None = None
    is_derivative: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """File and line, the latter negative if the line is differentiated."""
        return self.source.file, -self.line if self.is_derivative else self.line

    @property
    def file(self) -> str:
        """Path of the user's file."""
        return self.source.file

    @property
    def python_line(self) -> str:
        """The first Python line of the span, without indentation."""
        return self.source.line(self.line).strip()

    def describe(self) -> str:
        """Return `File "x.py", line 3, column 5, in f:` with the line, a caret, and the chain of call sites."""
        cell = next((name for name_of in CELL_NAMES if (name := name_of(self.file))), "")
        file = cell or f'File "{self.file}"'
        text = f"{file}, line {self.line}, column {self.column}, in {self.function}:"
        if self.source.line(self.line):
            text += f"\n{self._caret()}"
        if self.call_site is not None:
            text = f"{self.call_site.describe()}\n{text}"
        return text

    def called_from(self, site: SourceLocation) -> SourceLocation:
        """Return the location with `site` as the outermost call of its chain."""
        return self._replace(call_site=site if self.call_site is None else self.call_site.called_from(site))

    def _caret(self) -> str:
        line = self.source.line(self.line)
        end = self.end_column if self.end_line == self.line else len(line) + 1
        marks = "^" * max(1, end - self.column)
        return "\n".join(window(line, self.column - 1, marks))

    def error(self, kind: type[E], message: str, hint: str | None = None) -> E:
        """Return (not raise) an exception of `kind` at this location.

        message: one sentence, what was found and what was expected. hint: what to write instead.
        """
        return kind(message, hint, self)

    def explained(self, message: str, hint: str | None = None) -> str:
        """Return the string of an error or warning: the location, the line with a caret, the message and the remedy."""
        return f"{self.describe()}\n{message}" + (f"\nHint: {hint}" if hint else "")


def window(line: str, start: int, marks: str) -> tuple[str, str]:
    """Return a line and the marks below its column `start`, from 0; of a long line only what is around them."""
    if len(line) > MAX_COLUMNS:
        first = max(0, min(start - SHOWN_COLUMNS // 3, len(line) - SHOWN_COLUMNS))
        last = first + SHOWN_COLUMNS
        before, after = "..." * (first > 0), "..." * (last < len(line))
        line, marks = f"{before}{line[first:last]}{after}", marks[: last - start]
        start += len(before) - first
    padding = "".join("\t" if c == "\t" else " " for c in line[:start])
    return line, padding + marks


new_location: Callable[[tuple[Any, ...]], SourceLocation] = partial(tuple.__new__, SourceLocation)
"""Returns a location of all its members, in half the time: each expression has one."""

NOWHERE = SourceLocation(SourceText("<generated>", 1, ()), 1, 1, 1, 1)
"""Location of statements without a Python line."""


# --- tracebacks -----------------------------------------------------------------------------------------------------


def as_seen_by_user(error: Exception) -> Exception:
    """Return `error` without traceback, to be raised at once: the traceback then contains no frames of shadesmith.

    Python adds a traceback entry for each frame that an exception leaves, also after our last statement has run. So the
    entries are removed where the exception arrives: a trace function on the caller's frame, the mechanism of
    `pdb.set_trace`, receives the exception and drops the entries below it; it is active for that one event. If a
    debugger
    or a coverage tool is tracing already, our frames stay.
    """
    caller: FrameType | None = sys._getframe(1)
    while caller is not None and is_internal(caller):
        caller = caller.f_back
    if caller is not None and sys.gettrace() is None:
        caller.f_trace = _cut
        sys.settrace(_trace_no_calls)
    return error.with_traceback(None)


def warn_user(message: str) -> None:
    """Warn at the line of the user's code that called shadesmith, at whatever depth."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and is_internal(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ShadesmithWarning, stacklevel=level)


def is_internal(frame: FrameType) -> bool:
    """Return whether a frame is of shadesmith."""
    name = frame.f_globals.get("__name__")
    return isinstance(name, str) and name.split(".", maxsplit=1)[0] == PACKAGE


def _trace_no_calls(frame: FrameType, event: str, argument: Any) -> None:
    """Do not trace the functions called in between."""


def _cut(frame: FrameType, event: str, argument: Any) -> None:
    sys.settrace(None)
    frame.f_trace = None
    if event == "exception" and argument[2] is not None:
        argument[2].tb_next = None
