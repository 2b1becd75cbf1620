"""A listing: the compiled code of a file as text, every instruction with its Python line.

In: the lines that a disassembler prints. Out: `Listing`. The listed code is the code that runs: lines come from debug
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
"""Column of the Python line after an instruction; after longer instructions two blanks."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The compiled code of a source file. form: "ptx", "sass" or "spirv". file: the source's name.

    locations: by line of this text (from 1), for instructions only, their lines of the source: the innermost first,
    then those where the functions around it were inlined.
    """

    form: str
    file: str
    text: str
    locations: dict[int, tuple[int, ...]]


class ListingWriter:
    """Collects the lines of a listing. location: of the next instructions."""

    def __init__(self, form: str, file: SourceFile, comment: str) -> None:
        self.form, self.file, self.comment = form, file, comment
        self.lines: list[str] = []
        self.location: tuple[int, ...] = ()
        self.locations: dict[int, tuple[int, ...]] = {}

    def write(self, line: str, is_code: bool) -> None:
        """Append a line, an instruction with its location."""
        line = line.rstrip()
        if not line and (not self.lines or not self.lines[-1]):
            return
        if is_code:
            number = len(self.lines) + 1
            if self.location:
                self.locations[number] = self.location
                line = f"{line.ljust(COMMENT_COLUMN)}  {self.comment} {location_label(self.file, self.location)}"
        self.lines.append(line)

    def listing(self) -> Listing:
        """Return the listing."""
        while self.lines and not self.lines[-1]:
            self.lines.pop()
        return Listing(self.form, self.file.name, "\n".join(self.lines) + "\n", self.locations)


def ignoring_line_directives(file: SourceFile) -> SourceFile:
    """Return a file without `#line`, so that compilers report its own line numbers."""
    return replace(file, text=without_line_directives(file.text)) if "#line" in file.text else file


def python_of(file: SourceFile, locations: Sequence[int]) -> tuple[str, int] | None:
    """Return the Python line of the innermost of nested locations that has one."""
    return next((found for line in locations if (found := file.python_location(line)) is not None), None)


def location_label(file: SourceFile, locations: Sequence[int]) -> str:
    """Return `paint.py:17`; if there is no Python line, the line of the source: `paint.cu:56`."""
    found = python_of(file, locations)
    if found is not None:
        return f"{basename(found[0])}:{found[1]}"
    return f"{file.name}:{locations[-1]}"


def run_disassembler(command: list[str], data: bytes) -> str:
    """Run a disassembler. Raises: TaichiRuntimeError if it fails."""
    name = basename(command[0])
    try:
        code, output, errors = run_tool(command, data, TIME_LIMIT_SECONDS)
    except TimeoutError:
        raise TaichiCompilationError(f"{name} did not finish within {TIME_LIMIT_SECONDS:g} s and was stopped") from None
    except OSError as error:
        raise TaichiRuntimeError(f"{name} could not be started: {error}") from error
    if code != 0:
        raise TaichiRuntimeError(f"{name} failed: {(errors or output).decode(errors='replace').strip()[:1000]}")
    return output.decode(errors="replace")
