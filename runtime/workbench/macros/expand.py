"""The source of an edit as it is compiled: its macros replaced by nothing, or by code that writes records.

In: a source with macros. Out: the same lines without them (`blanked`), or with code and the sites of its records
(`Expansion`). Each line of the result is the same line of the edited file: the header that the code needs is followed
by `#line`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ....transpiler.backend.module.interface import BackendModule, SourceFile
from ...devices.target_tools import part_of
from ..check.diagnostics import DiagnosticList, refuse
from ..check.parsed_source import ParsedSource, without_line_directives
from .formats import check_format, folded
from .macro_tools import MacroTools, Statement
from .operands import operands
from .scopes import Function, function_at, functions, knows_integer, reaching, without_directives
from .uses import ASSERT, MacroError, Use, has_macros, uses

LINE = "__LINE__"


def blanked(source: str) -> str:
    """Return a source with blanks in place of its macros; others than well-written ones stay."""
    try:
        return _blanked(source, uses(source))
    except MacroError:
        return source


def check_macros(source: str, path: Path) -> None:
    """Raise EditError for a macro that is written wrongly."""
    if not has_macros(source):
        return
    try:
        for use in uses(source):
            check_format(use)
    except MacroError as error:
        diagnostics = DiagnosticList(path, ParsedSource(source), [])
        diagnostics.add(diagnostics.source.locate(error.start, error.end), error.message, error.hint)
        refuse([diagnostics])


def without_macros(module: BackendModule) -> BackendModule:
    """Return a module with blanks in place of the macros of its files; the module itself if it has none."""
    if not any(has_macros(file.text) for file in module.files):
        return module
    return replace(module, files=tuple(replace(file, text=blanked(file.text)) for file in module.files))


def macros_of(module: BackendModule) -> list[tuple[SourceFile, Use]]:
    """Return the macros of a module's files."""
    return [(file, use) for file in module.files for use in uses(file.text)]


def _blanked(source: str, found: list[Use]) -> str:
    for use in reversed(found):
        blank = re.sub(r"(?!\\\n)[^\n]", " ", source[use.start : use.end])
        source = source[: use.start] + blank + source[use.end :]
    return source


@dataclass(slots=True)
class Expansion:
    """Macros of the files of one edit, which write records. address: of the buffer.

    sites: descriptions of the records, in the order of their numbers, after those of the generated source.
    """

    generated: BackendModule
    address: int
    sites: list[dict[str, Any]] = field(default_factory=list)

    def expand(self, edited: BackendModule, paths: Mapping[str, Path]) -> BackendModule:
        """Return a module with code in place of the macros of its files. paths: of the edited files, by name."""
        files = tuple(
            self._expanded(file, paths[file.name])
            if uses(file.text)
            else replace(file, text=without_line_directives(file.text))
            for file in edited.files
        )
        reports = (*self.generated.interface.reports, *self.sites)
        return replace(edited, files=files, interface=replace(edited.interface, reports=reports))

    def _expanded(self, file: SourceFile, path: Path) -> SourceFile:
        source = without_line_directives(file.text)
        tools = part_of(self.generated.target, MacroTools)
        parsed = ParsedSource(source)
        code = without_directives(parsed.code)
        header = tools.place(parsed.code)
        context = _Context(code, functions(code), parsed.accessors(), self._entries(file))
        pieces: list[tuple[int, int, str]] = [(at, at, text) for at, text in tools.additions(code).items()]
        for use in uses(source):
            pieces.append((use.start, use.end, self._code(use, source, path, context, tools)))
        line = source.count("\n", 0, header) + 1
        start = "" if header == 0 or source[header - 1] == "\n" else "\n"
        text = f"{start}{tools.header(source, self.address).rstrip()}\n#line {line}\n"
        pieces.append((header, header, text))
        for start_of, end, new in sorted(pieces, reverse=True):
            source = source[:start_of] + new + source[end:]
        return replace(file, text=source)

    def _entries(self, file: SourceFile) -> dict[str, int]:
        number = next(k for k, other in enumerate(self.generated.files) if other.name == file.name)
        return {task.entry: k for k, task in enumerate(self.generated.tasks) if task.file == number}

    def _code(self, use: Use, source: str, path: Path, context: _Context, tools: MacroTools) -> str:
        function = None if use.definition else function_at(context.functions, use.start)
        number = context.task_of(function)
        task = self.generated.tasks[number]
        names = task.loop.names if task.loop is not None and function is not None else ()
        known = [n for n in names if function and knows_integer(context.code, function, use.start, n)]
        before = [*([LINE] if use.definition else []), *known]
        shown = operands(use.condition, context.accessors) if use.name == ASSERT else []
        text, own = folded(use)
        values = [*shown, *own]
        column = use.start - (source.rfind("\n", 0, use.start) + 1) + 1
        first, _, rest = source[use.start : use.end].partition("\n")
        site = len(self.generated.interface.reports) + len(self.sites)
        self.sites.append(
            {
                "kind": "macro",
                "macro": use.name,
                "task": number,
                "file": str(path),
                "span": [use.line, column, use.line, column + len(first)],
                "text": source.split("\n")[use.line - 1],
                "function": function.name if function is not None else use.definition,
                "has_thread": tools.has_threads,
                "has_line": bool(use.definition),
                "lines": source.split("\n") if use.definition else [],
                "indices": known,
                "operands": len(shown),
                "names": values,
                "format": text,
                "condition": use.condition,
            }
        )
        statement = Statement(use.name, site, use.condition, before, values, task)
        breaks = "\\\n" if use.definition else "\n"
        return tools.statement(statement) + breaks * source.count("\n", use.start, use.end)


@dataclass(slots=True)
class _Context:
    """What is known of the functions of a file. code: without comments, strings and directives.

    accessors: the macros that read and write arrays. entries: tasks by the names of entry points.
    """

    code: str
    functions: list[Function]
    accessors: Mapping[str, str]
    entries: Mapping[str, int]
    _tasks: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._tasks = reaching(self.code, self.functions, self.entries)

    def task_of(self, function: Function | None) -> int:
        """Return the first task that reaches a function; the file's first one if that is unknown."""
        return self._tasks.get(function.name if function is not None else "", min(self.entries.values(), default=0))
