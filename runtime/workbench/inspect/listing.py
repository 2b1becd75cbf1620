"""A listing: what a compiler made of a file, as text, every instruction with the Python line it came from.

In: the lines that a disassembler prints. Out: `Listing`. What is listed is what runs: lines are found by debug
information (`-lineinfo`, `-g`), which changes no instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os.path import basename

from ....transpiler.backend.module.interface import SourceFile
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...devices.tool_process import run_tool
from ..check.parsed_source import without_line_directives

TIME_LIMIT_SECONDS = 60.0
COMMENT_COLUMN = 72
"""Where the Python place stands behind an instruction; behind longer ones after two blanks."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A text that was made of a source file. form: "ptx", "sass" or "spirv". file: the source's name.

    places: by line of this text (from 1), for instructions only, the lines of the source that it came from: where it
    stands, then where the functions that hold it were inlined.
    """

    form: str
    file: str
    text: str
    places: dict[int, tuple[int, ...]]


class ListingWriter:
    """Collects the lines of a listing. place: of the instructions to come."""

    def __init__(self, form: str, file: SourceFile, comment: str) -> None:
        self.form, self.file, self.comment = form, file, comment
        self.lines: list[str] = []
        self.place: tuple[int, ...] = ()
        self.places: dict[int, tuple[int, ...]] = {}

    def write(self, line: str, is_code: bool) -> None:
        """Append a line, an instruction with the place it came from."""
        line = line.rstrip()
        if not line and (not self.lines or not self.lines[-1]):
            return
        if is_code:
            number = len(self.lines) + 1
            if self.place:
                self.places[number] = self.place
                line = f"{line.ljust(COMMENT_COLUMN)}  {self.comment} {place_source(self.file, self.place)}"
        self.lines.append(line)

    def listing(self) -> Listing:
        """Return what was collected."""
        while self.lines and not self.lines[-1]:
            self.lines.pop()
        return Listing(self.form, self.file.name, "\n".join(self.lines) + "\n", self.places)


def counted_as_it_is(file: SourceFile) -> SourceFile:
    """Return a file whose lines compilers count as they are, whatever `#line` says in an edited text."""
    return replace(file, text=without_line_directives(file.text)) if "#line" in file.text else file


def python_of(file: SourceFile, places: Sequence[int]) -> tuple[str, int] | None:
    """Return the Python line of the innermost of some nested places of a source that has one."""
    return next((found for line in places if (found := file.python_location(line)) is not None), None)


def place_source(file: SourceFile, places: Sequence[int]) -> str:
    """Return `paint.py:17`; where no Python line asked for it, the line of the source: `paint.cu:56`."""
    found = python_of(file, places)
    if found is not None:
        return f"{basename(found[0])}:{found[1]}"
    return f"{file.name}:{places[-1]}"


def converse(command: list[str], data: bytes) -> str:
    """Run a disassembler. Raises: TaichiRuntimeError where it fails."""
    name = basename(command[0])
    try:
        code, output, errors = run_tool(command, data, TIME_LIMIT_SECONDS)
    except TimeoutError:
        raise TaichiCompilationError(f"{name} did not end within {TIME_LIMIT_SECONDS:g} s and was stopped") from None
    except OSError as error:
        raise TaichiRuntimeError(f"{name} could not be started: {error}") from error
    if code != 0:
        raise TaichiRuntimeError(f"{name} failed: {(errors or output).decode(errors='replace').strip()[:1000]}")
    return output.decode(errors="replace")
