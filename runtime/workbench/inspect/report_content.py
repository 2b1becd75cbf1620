"""What the report page shows of a kernel: its forms for all targets, linked by lines of Python; nothing is launched."""

from __future__ import annotations

import ast
import linecache
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ....transpiler.backend.module.interface import END_OF_BODY, BackendModule, Expression, SourceFile
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ....transpiler.lang.arch import ARCHES, Arch, cpu
from ...devices.target_tools import source_tools, tools_of
from ...launch.inspection import Inspection
from ...launch.kernel import Kernel
from ...session import session as sessions
from ..edits.identity import shown
from .inspection_tools import forms_of, listings, resources
from .ir_changes import GONE, NEW, SKIPPED, UNCHANGED, Change, ChangedLine, changes, hunks
from .listing import Listing, python_of
from .report import History, KernelReport, Pane, Table, Text
from .report_edits import describe_edits
from .report_times import compile_times, measured_times, stored_times
from .resources import COLUMNS

PACKAGE_FOLDER = str(Path(__file__).resolve().parents[3])
TARGETS = tuple((ARCHES[tools.arch], tools.language, tools.title) for tools in source_tools())
"""Architecture, key of its pane, title."""
NO_OPTIMIZER = "spirv-opt is not installed."
SOURCE_KEYS = tuple(key for _, key, _ in TARGETS)

_SHOWN_LINE = re.compile(r"\s*// (\S+):(\d+)  (.*)")
"""The comment with a line of Python, as emitted above what became of it."""
_SHOWN_NUMBER = re.compile(r".*  // :(\d+)(?:, |$)")
"""The comment with the number of a line of Python, at the end of what became of it."""
_ORIGIN = re.compile(r"// shadesmith [^\s,]+, \w+ [0-9a-f]{8}, [^:]+:(\d+):")
"""The comment at the top: where the kernel was when the source was emitted."""

Rows = tuple[tuple[str, ...], ...]
Place = tuple[str, int]
"""File and line of Python."""


class PythonPane:
    """The kernel's text, then the other functions that lines of its forms came from; says which line is which row."""

    def __init__(self, definition: Any, places: Iterable[Place]) -> None:
        source = definition.source
        self.file = self.last_file = source.file
        self.lines: list[str] = list(source.lines)
        self.numbers: list[int] = list(range(source.first_line, source.first_line + len(source.lines)))
        self.rows: dict[Place, int] = {(source.file, number): row + 1 for row, number in enumerate(self.numbers)}
        for file, line in sorted(set(places), key=lambda place: (place[0] != source.file, place)):
            if (file, line) not in self.rows:
                self._add(file, line)

    def row(self, place: Place | None) -> int:
        """Return the row of a place, 0 for none."""
        return self.rows.get(place, 0) if place is not None else 0

    def row_of_comment(self, name: str, line: int, shown: str) -> int:
        """Return the row that a comment `// name:line  shown` is about, 0 for none.

        In a text made when the file was another, the line has the same words and perhaps another number.
        """
        found = [
            (abs(number - line), row) for (file, number), row in self.rows.items() if os.path.basename(file) == name
        ]
        same = [(distance, row) for distance, row in found if self.lines[row - 1].strip() == shown.strip()]
        return min(same or [entry for entry in found if entry[0] == 0], default=(0, 0))[1]

    def row_of_number(self, line: int, first: int) -> int:
        """Return the row of a line of the kernel's file when its `def` was line `first`, 0 for none."""
        starts = (number for number, text in zip(self.numbers, self.lines, strict=True) if text.startswith("def "))
        now = next(starts, first)
        return self.rows.get((self.file, line - first + now), 0)

    def text(self) -> Text:
        """Return the pane."""
        rows = tuple(row + 1 if number else 0 for row, number in enumerate(self.numbers))
        text = "\n".join(self.lines)
        return Text("Python", "python", text, rows, tuple(self.numbers), os.path.basename(self.file))

    def _add(self, file: str, line: int) -> None:
        first, lines = enclosing_function(file, line)
        heading = [""] if file == self.last_file else ["", f"# {short_path(file, self.file)}"]
        self.last_file = file
        self.lines += heading
        self.numbers += [0] * len(heading)
        for offset, text in enumerate(lines):
            self.lines.append(text)
            self.numbers.append(first + offset)
            self.rows.setdefault((file, first + offset), len(self.lines))


def enclosing_function(file: str, line: int) -> tuple[int, list[str]]:
    """Return the first line and the lines of the innermost function around a line, the line alone outside of all."""
    lines = [text.rstrip("\n") for text in linecache.getlines(file)]
    if not 0 < line <= len(lines):
        return line, ["(the text is not there)"]
    first, last = line, line
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return line, [lines[line - 1]]
    for node in ast.walk(tree):  # outer functions come first
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if start <= line <= (node.end_lineno or start):
                first, last = start, node.end_lineno or start
    return first, lines[first - 1 : last]


def short_path(file: str, program_file: str) -> str:
    """Return a path as the page shows it: no folder of this machine, so that equal programs give equal pages."""
    if file.startswith(PACKAGE_FOLDER + os.sep):
        return "shadesmith" + file[len(PACKAGE_FOLDER) :].replace(os.sep, "/")
    folder = os.path.dirname(program_file)
    if folder and file.startswith(folder + os.sep):
        return file[len(folder) + 1 :].replace(os.sep, "/")
    return os.path.basename(file)


@dataclass(slots=True)
class Forms:
    """A kernel for one target. problem: why there is none, else "". extra: further texts by key of their pane."""

    arch: Arch
    key: str
    title: str
    inspection: Inspection | None = None
    problem: str = ""


def describe_kernel(
    kernel: Kernel,
    arguments: Sequence[Any],
    name: str,
    only: Arch | None = None,
    gpu: str | None = None,
    is_timed: bool = False,
) -> KernelReport:
    """Return all about one specialization of a kernel, for all targets that it compiles for, or for one of them.

    name: as its file knows it, `Class.method` for methods. gpu: what PTX and SASS are for, as NVRTC names it; None: the
    GPU that is open, or a common one. is_timed: measure on the session's device; no two pages are equal then.
    Raises: TaichiCompilationError, TaichiRuntimeError if it compiles for none.
    """
    targets = [target for target in TARGETS if only is None or target[0].target == only.target]
    found = [_forms(kernel, arguments, *target) for target in targets]
    compiled = [forms for forms in found if forms.inspection is not None]
    if not compiled:
        kernel.inspect(*arguments, arch=only or cpu)  # raises what is wrong
    inspections = [forms.inspection for forms in compiled if forms.inspection is not None]
    first = inspections[0]
    python = PythonPane(first.specialization.definition, _all_places(inspections))
    panes = [
        Pane("python", "Python", python.text()),
        Pane("ir", "IR", _form_text(first, "final", "final", python)),
        *(_source_pane(forms, python) for forms in found),
        *_listing_panes(compiled, python, gpu),
    ]
    source = first.specialization.definition.source
    times = [stored_times(inspections, sessions.current_config().edits_dir)]
    charts: tuple[str, ...] = ()
    if is_timed:
        (launches, of_launches), (compiler, of_compiler) = measured_times(kernel, arguments), compile_times(inspections)
        times, charts = [launches, compiler], (*of_launches, *of_compiler)
    edits = tuple(_edits(compiled, python))
    return KernelReport(
        name=name,
        signature="(" + ", ".join(_signature(first)) + ")",
        place=f"{os.path.basename(source.file)}:{source.first_line}",
        panes=tuple(panes),
        histories=tuple(_histories(compiled, python)),
        tables=(*_tables(compiled, gpu), *times),
        edits=edits,
        charts=charts,
        facts=_facts(inspections, edits, times[0] if is_timed else None),
        calls=tuple((python.row(place), python.row(call)) for place, call in first.calls),
    )


def _facts(inspections: Sequence[Inspection], edits: Sequence[Text], times: Table | None) -> tuple[str, ...]:
    """Return what the index shows of a kernel: tasks, lines of its sources, edits, and the time of a launch."""
    lines = [
        f"{sum(file.text.count(chr(10)) for file in inspection.module.files)} {inspection.module.target}"
        for inspection in inspections
    ]
    median = times.rows[0][1] if times is not None and times.rows else ""
    return str(len(inspections[0].module.tasks)), ", ".join(lines), str(len(edits) or ""), median


def _edits(compiled: Sequence[Forms], python: PythonPane) -> Iterator[Text]:
    for forms in compiled:
        assert forms.inspection is not None
        folder = sessions.current_config().edits_dir
        yield from describe_edits(forms.inspection, folder, lambda file: _rows_of_source(file, python))


def targets_in_words(kernels: Sequence[KernelReport]) -> str:
    """Return one line on what a page holds: `3 kernels as GLSL, CUDA and C`."""
    titles = list(dict.fromkeys(p.title for k in kernels for p in k.panes if p.content and p.key in SOURCE_KEYS))
    listed = " and ".join([", ".join(titles[:-1]), titles[-1]] if len(titles) > 1 else titles)
    return f"{len(kernels)} kernel{'s' if len(kernels) != 1 else ''} as {listed}"


def _forms(kernel: Kernel, arguments: Sequence[Any], arch: Arch, key: str, title: str) -> Forms:
    try:
        return Forms(arch, key, title, kernel.inspect(*arguments, arch=arch))
    except (TaichiCompilationError, TaichiRuntimeError) as error:
        return Forms(arch, key, title, problem=str(error).strip())


def _signature(inspection: Inspection) -> list[str]:
    definition, arguments = inspection.specialization.definition, inspection.specialization.arguments
    return [f"{leaf.name}: {shown(argument)}" for leaf, argument in zip(definition.flat_parameters, arguments)]


# --- the source and what is below it


def _source_pane(forms: Forms, python: PythonPane) -> Pane:
    if forms.inspection is None:
        return Pane(forms.key, forms.title, None, forms.problem)
    module = forms.inspection.module
    texts = [(file.name, file.text, _rows_of_source(file, python)) for file in module.files]
    return Pane(forms.key, forms.title, _joined(forms.title, "c", "//", texts))


def _rows_of_source(file: SourceFile, python: PythonPane) -> list[int]:
    """Return the row of each line of an emitted file.

    A Python line's part of the text begins with the comment that shows it, and what closes a block belongs to what
    opened it. Lines outside of bodies have no Python line.
    """
    opened: dict[int, int] = {}
    origin = next((int(found[1]) for found in map(_ORIGIN.match, _lines(file.text)) if found), 0)
    rows = []
    shown_row = 0
    for number, text in enumerate(_lines(file.text), 1):
        row = python.row(file.python_location(number)) or shown_row
        shown, numbered = _SHOWN_LINE.match(text), _SHOWN_NUMBER.match(text)
        indentation = len(text) - len(text.lstrip())
        if text.lstrip().startswith("}"):
            row = opened.get(indentation, row)
        elif shown:
            row = shown_row = python.row_of_comment(shown[1], int(shown[2]), shown[3])
        elif numbered and not file.lines:
            row = python.row_of_number(int(numbered[1]), origin)
        opened[indentation] = row
        rows.append(row)
        if not text or text.startswith("}") or (file.lines and not shown):
            shown_row = 0
    return rows


def _listing_panes(compiled: Sequence[Forms], python: PythonPane, gpu: str | None) -> Iterator[Pane]:
    """Yield what compilers make of the texts; a note where a tool is missing."""
    for forms in compiled:
        assert forms.inspection is not None
        inspection = forms.inspection
        has_gpu = bool(tools_of(inspection.module.target).gpus)
        for form, facts in forms_of(inspection.module.target).items():
            title = facts.title
            try:
                found = listings(inspection.module, form, gpu or inspection.gpu)
            except (TaichiCompilationError, TaichiRuntimeError) as error:
                yield Pane(form, title, None, str(error).strip())
                continue
            sources = {file.name: file for file in inspection.module.files}
            texts = [(one.file, _narrow(one.text), _rows_of_listing(one, sources[one.file], python)) for one in found]
            text = _joined(title, form, facts.comment, texts)
            yield Pane(form, title, replace(text, subtitle=gpu or inspection.gpu) if has_gpu else text)


def _rows_of_listing(listing: Listing, source: SourceFile, python: PythonPane) -> list[int]:
    rows = [0] * len(_lines(listing.text))
    for line, locations in listing.locations.items():
        rows[line - 1] = python.row(python_of(source, locations))
    return rows


def _narrow(text: str) -> str:
    """Return a listing without what sets its columns: a third of its bytes. The script sets them again."""
    return re.sub(r"(?m)^ +(?=%|Op)| +(?= (?://|;) \S+:\d+$)", "", text)


def _joined(title: str, language: str, comment: str, texts: Sequence[tuple[str, str, list[int]]]) -> Text:
    """Return the texts of files, (name, text, rows), as one; a line names each where there are several."""
    lines: list[str] = []
    rows: list[int] = []
    for name, text, rows_of_text in texts:
        if len(texts) > 1:
            lines += ["", f"{comment} ===== {name}"] if lines else [f"{comment} ===== {name}"]
            rows += [0] * (len(lines) - len(rows))
        lines += _lines(text)
        rows += rows_of_text
    return Text(title, language, "\n".join(lines), tuple(rows), subtitle=", ".join(name for name, _, _ in texts))


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n")


def _all_places(inspections: Sequence[Inspection]) -> set[Place]:
    """Return all lines of Python that any line of any form came from."""
    found: set[Place] = set()
    for inspection in inspections:
        for file in inspection.module.files:
            found |= {(name, line) for _, name, line in file.lines if (name, line) != END_OF_BODY}
        for places in inspection.locations.values():
            found |= {(name, line) for _, name, line in places}
        found |= {call for _, call in inspection.calls}
    return found


# --- the IR


def _form_text(inspection: Inspection, form: str, title: str, python: PythonPane) -> Text:
    text = inspection.ir(form).rstrip("\n")
    return Text(title, "ir", text, _rows_of_form(inspection, form, python))


def _rows_of_form(inspection: Inspection, form: str, python: PythonPane) -> tuple[int, ...]:
    lines = inspection.ir(form).rstrip("\n").count("\n") + 1
    places = {number: python.row((file, line)) for number, file, line in inspection.locations[form]}
    return tuple(places.get(number, 0) for number in range(1, lines + 1))


def _histories(compiled: Sequence[Forms], python: PythonPane) -> list[History]:
    """Return the ways of the IR, one for all targets that share it."""
    found: dict[tuple[tuple[str, str], ...], list[Forms]] = {}
    for forms in compiled:
        assert forms.inspection is not None
        found.setdefault(tuple(forms.inspection.forms.items()), []).append(forms)
    histories = []
    for sharing in found.values():
        assert sharing[0].inspection is not None
        title = ", ".join(forms.title for forms in sharing) if len(found) > 1 else "the same for all targets"
        histories.append(History(title if len(compiled) > 1 else "", _stages(sharing[0].inspection, python)))
    return histories


def _stages(inspection: Inspection, python: PythonPane) -> tuple[Text, ...]:
    """Return the first two forms whole, which have no lines in common, then what each later pass changed."""
    names = [name for name in inspection.forms if name.startswith("pass:")]
    stages = [_form_text(inspection, "frontend", "frontend", python)]
    if names:
        stages.append(_form_text(inspection, names[0], _pass_title(names[0]), python))
    for before, after in zip(names, names[1:]):
        change = changes(inspection.ir(before).rstrip("\n"), inspection.ir(after).rstrip("\n"))
        if not change.is_empty:
            rows = [_rows_of_form(inspection, form, python) for form in (before, after)]
            stages.append(_change_text(_pass_title(after), change, *rows))
    return tuple(stages)


def _pass_title(form: str) -> str:
    """`pass:03:dead_code` is "03 dead_code"."""
    _, number, name = form.split(":")
    return f"{number} {name}"


def _change_text(title: str, change: Change, before: Sequence[int], after: Sequence[int]) -> Text:
    rows_before = _rows_before(change, before)

    def row(line: ChangedLine) -> int:
        return (before if line.sign == GONE else after)[line.line - 1]

    def has_other_row(line: ChangedLine) -> bool:
        return rows_before[line.line] != after[line.line - 1]

    lines = hunks(change, has_other_row)
    counts = Counter(line.sign for line in change.lines)
    return Text(
        title,
        "ir",
        "\n".join(line.sign + line.text for line in lines),
        tuple(0 if line.sign == SKIPPED else row(line) for line in lines),
        subtitle=f"+{counts[NEW]} −{counts[GONE]}",
        is_changes=True,
        values=tuple(change.numbers.items()),
    )


def _rows_before(change: Change, before: Sequence[int]) -> dict[int, int]:
    """Return the row that each unchanged line had, by its line after the pass."""
    found, number = {}, 0
    for line in change.lines:
        if line.sign == UNCHANGED:
            found[line.line] = before[number]
        number += line.sign != NEW
    return found


# --- tables


def _tables(compiled: Sequence[Forms], gpu: str | None) -> Iterator[Table]:
    yield _resources(compiled, gpu)
    yield from _binary_sizes(compiled)
    yield _launches(compiled)
    yield from _members(compiled)


def _resources(compiled: Sequence[Forms], gpu: str | None) -> Table:
    """What the tasks take of the hardware, where it is known here."""
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    for forms in compiled:
        assert forms.inspection is not None
        module = forms.inspection.module
        try:
            found = resources(module, gpu or forms.inspection.gpu, sessions.active())
        except (TaichiCompilationError, TaichiRuntimeError) as error:
            notes.append(f"{forms.title}: {str(error).strip()}")
            continue
        if found.reason:
            notes.append(f"{forms.title}: {found.reason}.")
        for row in found.rows():
            rows.append((f"{forms.title}, {found.device}", *("" if cell is None else str(cell) for cell in row)))
        statistics = [f"{name} {value}" for task in found.tasks for name, value in task.statistics.items()]
        notes += [f"{forms.title}, {found.device}: {', '.join(statistics)}."] if statistics else []
    return Table("Resources", ("target", *COLUMNS), tuple(rows), "\n".join(notes))


def _binary_sizes(compiled: Sequence[Forms]) -> Iterator[Table]:
    """Yield the sizes of binaries that an optimizer may shorten, which are those of Vulkan."""
    for forms in compiled:
        assert forms.inspection is not None
        module = forms.inspection.module
        try:
            sizes = tools_of(module.target).binary_sizes(module)
        except (TaichiCompilationError, TaichiRuntimeError) as error:
            yield Table("SPIR-V", (), (), str(error).strip())
            continue
        if sizes:
            rows = tuple(
                (name, f"{size:,}", "" if best is None else f"{best:,}") for name, (size, best) in sizes.items()
            )
            note = "`ti.init(spirv_opt=True)` runs spirv-opt." if any(row[2] for row in rows) else NO_OPTIMIZER
            yield Table("SPIR-V", ("file", "from glslang [bytes]", "after spirv-opt [bytes]"), rows, note)


def _launches(compiled: Sequence[Forms]) -> Table:
    """The tasks in order; targets that launch them alike share a row."""
    found: dict[tuple[str, ...], list[str]] = {}
    for forms in compiled:
        assert forms.inspection is not None
        module = forms.inspection.module
        for number, task in enumerate(module.tasks):
            iterations = "one" if task.kind == "serial" else _iterations_of(task.extents, module)
            key = (str(number), task.name, task.kind, str(task.block_dim), iterations)
            found.setdefault(key, []).append(f"{task.entry} in {module.files[task.file].name}")
    header = ("task", "kind", "threads a block", "iterations", "entry points")
    rows = sorted(found.items(), key=lambda entry: int(entry[0][0]))
    return Table("Launches", header, tuple((*key[1:], ", ".join(entries)) for key, entries in rows))


def _iterations_of(extents: Sequence[Expression] | None, module: BackendModule) -> str:
    return "known on the device" if extents is None else " × ".join(_in_words(extent, module) for extent in extents)


SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}


def _in_words(expression: Expression, module: BackendModule) -> str:
    match expression:
        case ("const", number):
            return str(number)
        case ("member", number):
            return module.interface.members[number].name
        case (op, left, right) if op in SYMBOLS:
            return f"({_in_words(left, module)} {SYMBOLS[op]} {_in_words(right, module)})"
    return f"{expression[0]}({', '.join(_in_words(operand, module) for operand in expression[1:])})"


def _members(compiled: Sequence[Forms]) -> Iterator[Table]:
    """Yield the argument block of each target, once where they are equal."""
    found: dict[Rows, list[str]] = {}
    for forms in compiled:
        assert forms.inspection is not None
        module = forms.inspection.module
        rows: Rows = tuple(
            (member.name, member.type, str(member.offset_bytes), str(member.size_bytes), _source(member.source, module))
            for member in module.interface.members
        )
        found.setdefault(rows, []).append(forms.title)
    for rows, titles in found.items():
        title = "Arguments" if len(found) == 1 else f"Arguments, {', '.join(titles)}"
        header = ("member of Args", "type", "offset [bytes]", "size [bytes]", "is")
        yield Table(title, header, rows, "" if rows else "The kernel takes none.")


def _source(source: tuple[Any, ...], module: BackendModule) -> str:
    """Return in words what the launcher packs into a member."""
    slots = module.interface.textures if source[0].startswith("tex") else module.interface.arrays
    array = slots[source[1]].name if source[0] in ARRAY_WORDS else ""
    match source:
        case ("argument", position, component):
            return f"argument {position}" + (f", component {component}" if component else "")
        case (kind, _, axis):
            return ARRAY_WORDS[kind].format(array=array, axis=axis)
        case (kind, _) if kind in ARRAY_WORDS:
            return ARRAY_WORDS[kind].format(array=array)
    return OTHER_WORDS.get(source[0], str(source[0]))


ARRAY_WORDS = {
    "pointer": "address of {array}",
    "gradient": "address of the gradient of {array}",
    "shape": "extent {axis} of {array}",
    "capacity": "cells in the pool of {array}",
    "stride": "stride {axis} of {array} [elements]",
    "begin": "first element of {array}",
    "texture": "handle of {array}",
    "texels": "handle of {array} for single texels",
    "texture_shape": "extent {axis} of {array}",
    "texture_channels": "channels of {array}",
}
OTHER_WORDS = {
    "temporaries": "address of the kernel's temporaries",
    "result": "address of the results",
    "seed": "seed of random numbers",
    "report": "address of what is printed and checked",
    "divisor": "multiplier and shift of a division",
}
