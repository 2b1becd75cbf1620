"""Which directives give the source of an edit: the search.

In: a specialization, its generated module, and the sources of an edit of it. Out: an `Explanation`. A candidate counts
only if the compiler, given it, emits what lies between the generated source and the edit: every token that it changes
is changed so by the edit. So nothing is guessed, and what no candidate gives is listed line by line.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ....transpiler.backend.module.compilation import Compilation
from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ....transpiler.frontend.source.definition import KernelDefinition, parsed_from
from ....transpiler.frontend.source.specialization import Specialization
from ...cache.compiler import compile_source
from . import compiler_options, expressions, loops
from .candidate import Candidate, State, name_of_package
from .python_text import FunctionText, function_text
from .same_code import Difference, Unit, differences, same_code, size, units

FAMILIES: tuple[tuple[Callable[[State], Iterator[Candidate]], ...], ...] = (
    (loops.blocks, loops.cpu_threads, loops.grids, loops.unrolled, expressions.renamed, expressions.numbers,
     expressions.dropped_conditions, expressions.dropped_clamps, compiler_options.fast_math),
    (compiler_options.passes, compiler_options.session_options),
)  # fmt: skip
"""Sources of candidates; those of a row are tried if the rows before explain nothing more."""
MAX_TRIALS = 200
"""Compilations of one search."""
FEW_TRIALS = 40
"""The same where many edits are listed."""

Sources = Mapping[str, str]
"""By name of the file."""


@dataclass(frozen=True, slots=True)
class RemainingLine:
    """A line that no directive explains. is_added: it is of the edit, else of the generated source."""

    file: str
    number: int
    text: str
    is_added: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """directives: in the order in which they were found, with lines of the file as it is.

    before, text: of the function, as it is and with the directives; None: its source is not known. remaining: what no
    directive gives.
    """

    directives: tuple[Candidate, ...]
    before: FunctionText | None
    text: FunctionText | None
    remaining: tuple[RemainingLine, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the directives give the edit."""
        return bool(self.directives) and not self.remaining

    @property
    def options(self) -> list[Candidate]:
        """The directives that are options of the session."""
        return [directive for directive in self.directives if directive.is_option]

    def where(self, directive: Candidate) -> str:
        """Return the line of a directive, as the file is now: " in line 8"; "" for an option of the session."""
        return "" if directive.is_option else f" in line {directive.line}"

    def in_words(self) -> str:
        """Return which directives give the edit, in one sentence; "" if none does."""
        shown = " and ".join(dict.fromkeys(directive.title + self.where(directive) for directive in self.directives))
        if not shown:
            return ""
        verb = "give" if len(self.directives) > 1 else "gives"
        rest = len({(line.file, line.number, line.is_added) for line in self.remaining})
        return f"{shown} {verb} the same source" + (f", except {rest} lines" if rest else "")


class _Search:
    """Compiles candidates for one edit."""

    def __init__(self, specialization: Specialization, edited: Sources, trials: int) -> None:
        self.specialization, self.left = specialization, trials
        self.edited = {name: units(source) for name, source in edited.items()}

    def compiled(self, text: FunctionText, changes: Mapping[str, Any]) -> Compilation | None:
        """Return what the compiler makes of the kernel with a directive, None if it refuses it or the time is up."""
        if self.left <= 0:
            return None
        self.left -= 1
        given = self.specialization
        definition = _definition_with(given.definition, text)
        changed = replace(given, definition=definition, options=replace(given.options, **changes))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return compile_source(changed)
        except (TaichiCompilationError, TaichiRuntimeError):
            return None

    def found(self, module: BackendModule) -> tuple[Difference, ...]:
        """Return what differs between a module and the edit."""
        return tuple(_differences({file.name: units(file.text) for file in module.files}, self.edited))


def _differences(before: Mapping[str, Sequence[Unit]], after: Mapping[str, Sequence[Unit]]) -> Iterator[Difference]:
    for name in dict.fromkeys([*before, *after]):
        yield from differences(before.get(name, ()), after.get(name, ()))


def explain(
    specialization: Specialization, generated: BackendModule, edited: Sources, trials: int = MAX_TRIALS
) -> Explanation:
    """Return the directives that give the source of an edit. edited: its files; others are as generated.

    trials: compilations at most.
    """
    sources = {file.name: edited.get(file.name, file.text) for file in generated.files}
    lines = function_text(specialization.definition.source.lines, specialization.definition.source.first_line)
    search = _Search(specialization, sources, trials)
    here = {file.name: file.text for file in generated.files}
    if lines is None or all(same_code(here[name], source) for name, source in sources.items()):
        return Explanation((), lines, lines, tuple(_remaining(here, sources)))
    directives, text, module = _descend(search, lines, generated)
    now = {file.name: file.text for file in module.files}
    return Explanation(tuple(directives), lines, text, tuple(_remaining(now, sources)))


class _Step(NamedTuple):
    """Directives that are taken together, and what the compiler makes of the kernel with them."""

    directives: tuple[Candidate, ...]
    compilation: Compilation
    left: int

    def changed(self) -> tuple[str, ...]:
        """Return the passes that changed the kernel."""
        return _changed_by(self.compilation)


def _descend(
    search: _Search, text: FunctionText, module: BackendModule
) -> tuple[list[Candidate], FunctionText, BackendModule]:
    """Add one directive after another, as long as what differs becomes less."""
    given = search.specialization
    package = name_of_package(given.definition)
    compilation = search.compiled(text, {})
    changed = () if compilation is None else _changed_by(compilation)
    changes: dict[str, Any] = {}
    directives: list[Candidate] = []
    state = State(text, given.options, given.definition, search.found(module), changed, package)
    while state.found and search.left > 0:
        step = _best(search, state, module, changes)
        if step is None:
            break
        here = state.text
        for candidate in step.directives:
            line = 0 if candidate.is_option else here.line_in(text, candidate.line)
            directives.append(replace(candidate, line=line))
            here = candidate.text
            changes |= candidate.changes
        module = step.compilation.module
        options = replace(given.options, **changes)
        last = step.directives[-1].text
        state = State(last, options, state.definition, search.found(module), step.changed(), package)
    return directives, state.text, module


def _best(search: _Search, state: State, module: BackendModule, changes: Mapping[str, Any]) -> _Step | None:
    """Return the step after which least differs, of those whose changes are all in the edit."""
    here = {file.name: units(file.text) for file in module.files}
    apart = size(state.found)
    for families in FAMILIES:
        best: _Step | None = None
        for candidate in (candidate for family in families for candidate in family(state)):
            for step in _steps(search, state, candidate, changes):
                there = {file.name: units(file.text) for file in step.compilation.module.files}
                is_between = step.left == 0 or size(tuple(_differences(here, there))) + step.left <= apart
                if is_between and step.left < (apart if best is None else best.left):
                    best = step
                if step.left == 0:
                    return step
                if is_between:
                    break
        if best is not None:
            return best
    return None


def _steps(search: _Search, state: State, candidate: Candidate, changes: Mapping[str, Any]) -> Iterator[_Step]:
    """Yield a candidate alone, then without the passes that change the kernel only with it."""
    compilation = search.compiled(candidate.text, {**changes, **candidate.changes})
    if compilation is None:
        return
    yield _Step((candidate,), compilation, size(search.found(compilation.module)))
    further = compiler_options.without_passes(state, candidate.text, _changed_by(compilation))
    if further is None:
        return
    compilation = search.compiled(further.text, {**changes, **candidate.changes, **further.changes})
    if compilation is not None:
        yield _Step((candidate, further), compilation, size(search.found(compilation.module)))


def _changed_by(compilation: Compilation) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run.name for run in compilation.runs if run.has_changed))


def _definition_with(definition: KernelDefinition, text: FunctionText) -> KernelDefinition:
    """Return the definition of the same function with another source."""
    changed = copy.copy(definition)
    changed.__dict__["parsed"] = parsed_from(definition.function, text.lines, text.first_line)
    return changed


def _remaining(here: Sources, edited: Sources) -> Iterator[RemainingLine]:
    """Yield the lines that differ, each once."""
    for name, source in edited.items():
        shown = {False: here.get(name, "").splitlines(), True: source.splitlines()}
        seen = set()
        for before, after in differences(units(here.get(name, "")), units(source)):
            tokens = [(token.line, is_added) for is_added, side in ((False, before), (True, after)) for token in side]
            for line, is_added in tokens:
                if (line, is_added) not in seen:
                    seen.add((line, is_added))
                    yield RemainingLine(name, line, shown[is_added][line - 1].strip(), is_added)
