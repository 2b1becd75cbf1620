"""`shadesmith bisect`, `kernel.bisect(*args)`: the first pass after which a result differs from the interpreter's.

In: the `Variants` of a call. Out: a `Bisection`. The reference is the interpreter on the kernel with all passes left
out that can be. The kernel is then compiled with ever fewer changes by passes, on the session's target, on copies of
the arguments: with the first N changes the results agree, with one more they differ. If they differ without any such
change, the forms after the passes that every kernel needs are interpreted one after another; if all of them agree, the
passes are right, and the printed source, its compiler or the driver is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ....transpiler.backend.assemble.emit import emit
from ....transpiler.errors import InternalError, ReportedError, TaichiRuntimeError
from ....transpiler.frontend.builders.build import build
from ....transpiler.frontend.source.specialization import Specialization
from ....transpiler.ir.serialize.serialize import parse, serialize
from ....transpiler.ir.tasks import Kernel
from ....transpiler.ir.text import print_kernel
from ....transpiler.passes import REQUIRED, PassContext, Stage, names_of_passes, run
from ...arrays.memory import Array
from ...cache.compiler import compile_source
from ...devices.capabilities import portable
from ...devices.target_tools import tools_of
from ..edits.variants import Variants
from ..measure.differences import Tolerance, judge
from ..measure.outputs import Outputs
from ..measure.process.runners import Runner, runner_for
from ..measure.replicas import PATTERNS, Region, packed_call, record
from ..measure.values import Values
from .interpreted import interpreted

if TYPE_CHECKING:
    from ....transpiler.backend.module.compilation import Compilation

RELATIVE = 1e-4
"""Relative tolerance of floats: compilers and reductions round otherwise than the interpreter."""
AGREES, PASS, BACKEND = "agrees", "pass", "backend"
Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bisection:
    """The result. verdict: "agrees", "pass" or "backend".

    pass_name: of the pass that is wrong, "" for none. change: the number of its change among `changes` by passes that
    can be left out, 0 for a pass that every kernel needs. difference: the first number that differs, or the error.
    before, after: the forms of the IR around it. probes: number of changes and whether the results agree, in order.
    """

    kernel: str
    target: str
    verdict: str
    pass_name: str = ""
    change: int = 0
    changes: int = 0
    difference: str = ""
    before: str = ""
    after: str = ""
    probes: tuple[tuple[int, bool], ...] = ()

    @property
    def summary(self) -> str:
        """The answer in a sentence."""
        if self.verdict == AGREES:
            return f"{self.kernel} on {self.target}: the results agree with the interpreter's"
        if self.verdict == BACKEND:
            what = "every pass is right: the emitted source, its compiler or the driver is wrong, or iterations race"
        elif self.change:
            what = f"`{self.pass_name}` is the first wrong pass, by change {self.change} of {self.changes}"
        else:
            what = f"`{self.pass_name}` is the first wrong pass, which every kernel needs"
        return f"{self.kernel} on {self.target}: {what}"

    def __str__(self) -> str:
        lines = [self.summary, *([f"    {self.difference}"] if self.difference else [])]
        known = {name for names in names_of_passes().values() for name in names}
        if self.verdict == PASS and self.change and self.pass_name in known:
            lines.append(f"    `passes=['-{self.pass_name}']` leaves it out")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return asdict(self)


def bisect(variants: Variants, runner: Runner, step: Step = lambda name: None) -> Bisection:
    """Return the first pass after which a result of the call differs from the interpreter's.

    runner: where the probes run. step: called with what is about to run.
    Raises: TaichiRuntimeError if the interpreter cannot run the call.
    """
    return _Bisector(variants, runner, step).result()


class _Bisector:
    """One search. plain: the call without changes by passes that can be left out."""

    def __init__(self, variants: Variants, runner: Runner, step: Step) -> None:
        self.variants, self.runner, self.step = variants, runner, step
        self.probes: list[tuple[int, bool]] = []
        self.plain = self._limited(0)
        self.recording = record(self.plain)
        self.outputs = Outputs(self.recording)
        step("the interpreter")
        self.reference = self._reference()

    def result(self) -> Bisection:
        compilation = compile_source(self.variants.specialization)
        names = [run.name for run in compilation.runs if run.has_changed and run.name not in REQUIRED]
        difference = self._difference(len(names))
        if not difference:
            return self._found(AGREES, changes=len(names))
        if plain := self._difference(0):
            return self._required(plain, len(names))
        good, bad = 0, len(names)
        while bad - good > 1:
            middle = (good + bad) // 2
            found = self._difference(middle)
            if found:
                bad, difference = middle, found
            else:
                good = middle
        before, after = (print_kernel(self._passed(count)[0]) for count in (good, bad))
        return self._found(PASS, names[bad - 1], bad, len(names), difference, before, after)

    def _found(self, verdict: str, name: str = "", change: int = 0, changes: int = 0, difference: str = "",
               before: str = "", after: str = "") -> Bisection:  # fmt: skip
        module = self.variants.generated
        probes = tuple(self.probes)
        return Bisection(
            module.kernel, module.target, verdict, name, change, changes, difference, before, after, probes
        )

    # --- what runs

    def _specialization(self, limit: int | None) -> Specialization:
        given = self.variants.specialization
        return replace(given, options=replace(given.options, pass_limit=limit))

    def _limited(self, limit: int) -> Variants:
        """Return the call with at most so many changes by passes that can be left out."""
        specialization = self._specialization(limit)
        compilation: Compilation = compile_source(specialization)
        return replace(
            self.variants, specialization=specialization, compilation=compilation, generated=compilation.module
        )

    def _reference(self) -> dict[str, Values]:
        given = self.variants.specialization
        names = frozenset(name for names in names_of_passes().values() for name in names)
        options = replace(given.options, disabled_passes=names - REQUIRED, own_passes=(), fast_math=False)
        module = compile_source(replace(given, capabilities=portable("python"), options=options)).module
        return self._values(interpreted(module, self.recording))

    def _values(self, contents: dict[Region, Array]) -> dict[str, Values]:
        return self.outputs.values(contents)

    def _difference(self, limit: int) -> str:
        """Return the first difference from the reference with so many changes, "" for none."""
        self.step(f"{limit} changes")
        try:
            found = self._run(limit)
        except (TaichiRuntimeError, InternalError) as error:
            if self.variants.session.stuck:  # all later probes would fail, too
                raise
            difference = str(error.message if isinstance(error, ReportedError) else error).splitlines()[0]
        else:
            difference = self._compared(found)
        self.probes.append((limit, not difference))
        return difference

    def _run(self, limit: int) -> dict[str, Values]:
        call = self.plain if limit == 0 else self._limited(limit)
        recording = self.recording if limit == 0 else record(call)
        if tools_of(call.session.device.name).is_interpreter:
            return Outputs(recording).values(interpreted(call.generated, recording))
        self.runner.take(recording)
        _, counts = packed_call(call, call.generated)
        outcome = self.runner.run(f"{limit} changes", call.generated, counts, PATTERNS[0], None, True)
        return Outputs(recording).values(outcome.contents)

    def _compared(self, found: dict[str, Values]) -> str:
        """Return the first number that differs from the reference; an array that is not reached keeps its own."""
        unchanged: dict[str, Values] | None = None
        for label, expected in self.reference.items():
            other = found.get(label)
            if other is None:
                unchanged = unchanged or self._values({r: r.contents for r in self.recording.regions})
                other = unchanged[label]
            output = judge([expected], expected, other, Tolerance(RELATIVE))
            if not output.passed:
                return f"{output.first} (and {output.count - 1:,} more)" if output.count > 1 else str(output.first)
        return ""

    # --- passes that every kernel needs

    def _required(self, difference: str, changes: int) -> Bisection:
        before = ""
        for name, text, form in self._passed(0)[1]:
            self.step(f"the form after {name}")
            try:
                found = self._compared(self._values(interpreted(self._module(text), self.recording)))
            except (ReportedError, InternalError, AssertionError, KeyError, TypeError, AttributeError):
                continue  # the interpreter does not know this form
            if found:
                return self._found(PASS, name, 0, changes, found, before, form)
            before = form
        return self._found(BACKEND, changes=changes, difference=difference)

    def _module(self, text: str) -> Any:
        given = self.variants.specialization
        return emit(parse(text), "python", given.options, portable("python"))

    def _passed(self, limit: int) -> tuple[Kernel, Sequence[tuple[str, str, str]]]:
        """Return the kernel after the passes, with name, content and form after each that changed the tasks."""
        specialization = self._specialization(limit)
        kernel = build(specialization).kernel
        states: list[tuple[str, str, str]] = []

        def note(stage: Stage, name: str, kernel: Kernel) -> None:
            if kernel.tasks and limit == 0:
                states.append((name, serialize(kernel), print_kernel(kernel)))

        run(kernel, PassContext(specialization.options, specialization.capabilities, note))
        return kernel, states


def bisect_here(variants: Variants, in_process: bool = False, time_limit: float | None = None) -> Bisection:
    """Return `bisect` of a call, in a process of its own unless `in_process`. time_limit: of a probe [s]."""
    with closing(runner_for(variants.session, in_process, time_limit)) as runner:
        return bisect(variants, runner)
