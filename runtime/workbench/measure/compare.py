"""`kernel.compare(*args)`: whether two sources of a kernel compute the same, output by output, on copies of arguments.

In: the `Variants` of a call. Out: a `Comparison`, which prints as a table. Both sources run several times from the same
contents. Runs with an odd number begin with arrays that are only written filled with a pattern, and with other guards:
so a value from before is not taken for one that was computed, and what is read outside of arrays shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....transpiler.errors import TaichiRuntimeError
from ...arrays.foreign import dense_strides
from ...devices.target_tools import tools_of
from ...viewed import Viewed, table_lines
from ..edits import selection as edits
from ..edits.variants import GENERATED, Variants
from .differences import AGAINST, Mismatch, Output, Tolerance, different, judge, merged
from .outputs import Located, Outputs
from .process.runners import Runner
from .reference import Reference
from .replicas import PATTERNS, Launchable, Outcome, Recording, Region, Trespass, counts_of, record
from .sweep import counts_in
from .values import Values

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule

PASSED, DIFFERS, SKIPPED = "passed", "DIFFERS", "skipped"
ROUNDS = 3
ATOMIC_RESULT = re.compile(r"=\s*atomic\w*\((?!&?report[.\[])")
"""The result of an atomic is used, which depends on the order of threads; that of a report is not used elsewhere."""
APPENDS = re.compile(r"\bint append_(?!item\()\w+\(")
"""The kernel appends to lists of a sparse tree, whose items have no order."""
MORE_ROUNDS = 5
"""Further runs of the generated source if another differs from it: perhaps it differs from itself."""
CHAOTIC_ROUNDS = 40
"""The same if it has differed from itself elsewhere: a race may have the same result many times (a kernel on an H200
differed in one of 8 runs)."""
NO_VALUES: Mapping[str, Values] = {}
CHAOTIC_BYTES = 1 << 26
"""Memory for all these runs together."""


@dataclass(frozen=True, slots=True)
class Size:
    """The result with other sizes. shapes: of the arrays; verdict: passed, DIFFERS or skipped; text: why."""

    name: str
    shapes: str
    verdict: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Comparison(Viewed):
    """The result of `kernel.compare`. outputs: by name, `x`, `p.mass`, `return value`.

    passed: no output differs by more than rounding explains, and nothing was written out of bounds, with the call's
    sizes and with the others. sizes: the results with other sizes of arrays.
    out_of_bounds: such writes, as messages. nondeterministic: outputs that differ from run to run of the generated
    source. notes: further remarks.
    """

    kernel: str
    target: str
    variant: str
    rounds: int
    outputs: dict[str, Output]
    out_of_bounds: tuple[str, ...] = ()
    nondeterministic: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    sizes: tuple[Size, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the two sources compute the same."""
        outputs = all(output.passed for output in self.outputs.values())
        return not self.out_of_bounds and outputs and not any(size.verdict == DIFFERS for size in self.sizes)

    @property
    def title(self) -> str:
        """What was compared."""
        rounds = f"{self.rounds} rounds" if self.rounds > 1 else "1 round"
        return f"compare {self.kernel} on {self.target}: generated and {self.variant}, {rounds}"

    def __bool__(self) -> bool:
        return self.passed

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table: name, type, verdict, largest differences, first mismatch."""
        return [("output", "type", "result", "max abs", "max ulp", "first difference: generated, found"),
                *(_row(output) for output in self.outputs.values())]  # fmt: skip

    def remarks(self) -> list[str]:
        """Return the lines below the table."""
        found = [f"out of bounds: {message}" for message in self.out_of_bounds]
        found += [f"{output.name} {output.note}" for output in self.outputs.values() if AGAINST in output.note]
        if self.nondeterministic:
            names = ", ".join(self.nondeterministic)
            found.append(f"not deterministic: runs of the generated source differ in {names}")
        return [*found, *_shown_sizes(self.sizes), *self.notes]

    def __str__(self) -> str:
        result = "passed" if self.passed else "FAILED"
        return "\n".join([self.title, *table_lines(self.rows()), *self.remarks(), result])

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {**asdict(self), "passed": self.passed}


def _shown_sizes(sizes: Sequence[Size]) -> list[str]:
    """Return lines on the results with other sizes: failures each, the rest together."""
    lines = [f"with {size.shapes} ({size.name}): {size.text}" for size in sizes if size.verdict == DIFFERS]
    passed = [size.shapes for size in sizes if size.verdict == PASSED]
    if passed:
        lines.append(f"also compared with {'; '.join(passed)}")
    skipped = [f"{size.shapes}, {size.text}" for size in sizes if size.verdict == SKIPPED]
    return [*lines, *(f"not compared with {line}" for line in skipped)]


def _row(output: Output) -> tuple[str, ...]:
    changed = "" if output.is_written else ", read"
    if output.equal:
        return output.name, f"{output.type}{changed}", output.verdict, "0", "" if output.max_ulp is None else "0", ""
    ulps = "" if output.max_ulp is None else f"{output.max_ulp:,}"
    size = f"{output.max_abs:.3g}" if output.max_ulp is not None else f"{output.max_abs:,.0f}"
    more = f" (and {output.count - 1:,} more)" if output.count > 1 else ""
    return (output.name, f"{output.type}{changed}", output.verdict, size, ulps,
            f"{output.first}{more}")  # fmt: skip


class Comparer:
    """The runs of the generated source of one call, with which any number of sources can be compared.

    rounds: runs of each source, at least 2 to see whether they agree. relative, absolute: tolerances instead of those
    by type (`differences`). runner: where sources run; None: in this process. recording: a call
    that was never made, with other sizes (`sweep.py`).
    """

    def __init__(
        self,
        launchable: Launchable,
        rounds: int = ROUNDS,
        relative: float | None = None,
        absolute: float | None = None,
        runner: Runner | None = None,
        recording: Recording | None = None,
    ) -> None:
        if tools_of(launchable.session.device.name).is_interpreter:
            raise TaichiRuntimeError("the interpreter has no source to compare", "use ti.cpu, ti.vulkan or ti.cuda")
        if rounds < 1:
            raise ValueError(f"rounds={rounds}: each source has to run at least once")
        self.launchable, self.rounds = launchable, rounds
        self.tolerance = Tolerance(relative, absolute)
        self._is_call = recording is None
        self.recording = record(launchable) if recording is None else recording
        self.outputs = Outputs(self.recording)
        self.runner = Runner(launchable.session) if runner is None else runner
        arrays = [located for region in self.recording.regions for located in self.outputs.only_written(region)]
        self._poisoned = {located.slot.name for located in arrays}
        self._base = [self._run(launchable.generated, self.recording.counts, k, GENERATED) for k in range(rounds)]
        self._more = [MORE_ROUNDS, CHAOTIC_ROUNDS]
        self.reference = Reference(launchable.specialization, self.outputs)
        slots = launchable.generated.interface.arrays if ATOMIC_RESULT.search(launchable.generated.source()) else ()
        self._appends = bool(APPENDS.search(launchable.generated.source()))
        self._unordered = {slot.name for slot in slots if slot.written and not slot.read}

    def against(self, name: str, module: BackendModule) -> Comparison:
        """Compare a module with the generated one. Raises: TaichiRuntimeError if the device reports a fault."""
        counts = counts_of(self.launchable, module) if self._is_call else counts_in(self.recording, module)
        runs = [self._run(module, counts, k, name) for k in range(self.rounds)]
        outputs = self._judged(runs)
        exact: Mapping[str, Values] = NO_VALUES
        if _is_of_rounding(outputs.values()) and self.reference.values():
            exact = self.reference.values()
            outputs = self._judged(runs, exact)
        while not all(output.passed for output in outputs.values()) and self._run_more():
            outputs = self._judged(runs, exact)
        unstable = self._different(self._alike())
        return Comparison(
            self.launchable.generated.kernel, module.target, name, self.rounds, outputs,
            tuple(self._out_of_bounds(runs)), tuple(unstable), tuple(self._notes(name, runs, unstable)),
        )  # fmt: skip

    def faults(self) -> str:
        """Return what the generated source does wrong in this call, "" for nothing.

        A value that depends on what is outside of arrays differs from one pattern of it to the other.
        """
        for run in self._base:
            if run.trespasses:
                return f"the generated source writes outside of {self._message(run.trespasses[0])}"
        if self.rounds < 2 or not (labels := self._depending(self._base[0], self._base[1])):
            return ""
        again = self._run(self.launchable.generated, self.recording.counts, 0, GENERATED)
        varying = self._different([self._base[0], again])
        labels = [label for label in labels if label not in varying]
        return f"the generated source reads outside of arrays: {', '.join(labels)} depend on it" if labels else ""

    def _depending(self, one: Outcome, other: Outcome) -> list[str]:
        """Return the outputs whose written numbers differ by more than rounding between two patterns."""
        first, second = self._values(one), self._values(other)
        found = []
        for label, values in first.items():
            if values.keys is not None or values.name in self._unordered:
                continue
            written = np.ascontiguousarray(second[label].array)
            pattern = bytes([PATTERNS[1]]) * written.itemsize
            blank = np.frombuffer(pattern, written.dtype)[0]
            output = judge([values], values, second[label], self.tolerance)
            differs = different(values.array, second[label].array) & different(written, blank)
            if not output.passed and differs.any():
                found.append(label)
        return found

    # --- runs

    def _run(self, module: BackendModule, counts: Sequence[int], number: int, name: str) -> Outcome:
        pattern = PATTERNS[number % 2]
        prepare = partial(self._poison, pattern) if number % 2 else None
        self.runner.take(self.recording)
        return self.runner.run(name, module, counts, pattern, prepare, is_edit=name != GENERATED)

    def _poison(self, pattern: int, region: Region, contents: Any) -> Any:
        return self.outputs.poisoned(region, contents, pattern)

    def _run_more(self) -> bool:
        """Run the generated source again, to see whether it agrees with itself; return False if that is known."""
        count = self._more.pop(0) if self._more else 0
        if count == CHAOTIC_ROUNDS:
            size = sum(region.size_bytes for region in self.recording.regions)
            count = min(count, CHAOTIC_BYTES // max(1, size)) if self._different(self._alike()) else 0
        self._base += [self._run(self.launchable.generated, self.recording.counts, 0, GENERATED) for _ in range(count)]
        return count > 0

    def _alike(self) -> list[Outcome]:
        """Return the runs of the generated source that started from the same contents as the first."""
        return [*self._base[: self.rounds : 2], *self._base[self.rounds :]]

    # --- results

    def _judged(self, runs: Sequence[Outcome], reference: Mapping[str, Values] = NO_VALUES) -> dict[str, Output]:
        alike = [self._values(outcome) for outcome in self._alike()]
        rounds: dict[str, list[Output]] = {}
        for number, run in enumerate(runs):
            expected, found = self._values(self._base[number]), self._values(run)
            for label, values in expected.items():
                base = [outcome[label] for outcome in alike]
                pattern = PATTERNS[number % 2] if number % 2 and values.name in self._poisoned else None
                exact = reference[label].array if label in reference else None
                is_unordered = self._is_unordered(values)
                output = judge(base, values, found[label], self.tolerance, pattern, is_unordered, exact)
                rounds.setdefault(label, []).append(output)
            for label, output in self._judged_texts(self._base[number], run).items():
                rounds.setdefault(label, []).append(output)
        return {label: merged(found) for label, found in rounds.items()}

    def _values(self, outcome: Outcome) -> dict[str, Values]:
        """Return all numbers after a run, by label."""
        return self.outputs.values(outcome.contents) | {values.label: values for values in outcome.textures}

    def _judged_texts(self, base: Outcome, run: Outcome) -> dict[str, Output]:
        found: dict[str, Output] = {}
        one, other = self.outputs.texts(base.contents), self.outputs.texts(run.contents)
        for name, text in one.items():
            same = text == other[name]
            lines = zip([*text.splitlines(), ""], [*other[name].splitlines(), ""], strict=False)
            number, pair = next(((k, pair) for k, pair in enumerate(lines) if pair[0] != pair[1]), (0, (text, "")))
            first = None if same else Mismatch(f"{name}, line {number + 1}", (number,), repr(pair[0]), repr(pair[1]))
            found[name] = Output(name, "text", (), True, same, same, count=int(not same), first=first)
        return found

    def _varying(self, runs: Sequence[Outcome]) -> list[str]:
        """Return the outputs that differ between runs from equal contents, which are every other one.

        A list whose items come in another order does not count.
        """
        first, *others = [self._values(outcome) for outcome in runs[::2]]
        found = []
        for label, values in first.items():
            pairs = [(values, other[label]) for other in others]
            if self._is_unordered(values):
                pairs = [(_in_order(one), _in_order(other)) for one, other in pairs]
            if any(_differ(one, other) for one, other in pairs):
                found.append(label)
        return found

    def _is_unordered(self, values: Values) -> bool:
        """Return whether the order of numbers may change from run to run: places in lists are given by atomics."""
        return self._appends if values.keys is not None else values.name in self._unordered

    def _different(self, alike: Sequence[Outcome]) -> list[str]:
        first, *others = [self._values(outcome) for outcome in alike]
        return [label for label, values in first.items() if any(_differ(values, other[label]) for other in others)]

    def _notes(self, name: str, runs: Sequence[Outcome], unstable: Sequence[str]) -> list[str]:
        notes = []
        changing = [label for label in self._varying(runs) if label not in unstable]
        if changing:
            notes.append(f"`{name}` differs from run to run in {', '.join(changing)}: a race, or a missing barrier?")
        base = self._base[0].trespasses
        if base:
            messages = ", ".join(self._message(trespass) for trespass in base)
            notes.append(f"the generated source writes out of bounds too: {messages}; `ti.init(debug=True)` says where")
        return notes

    # --- writes outside of arrays

    def _out_of_bounds(self, runs: Sequence[Outcome]) -> list[str]:
        """Return the writes outside of arrays that the generated source does not make."""
        found: dict[Any, str] = {}
        for number, run in enumerate(runs):
            known = {(trespass.region, trespass.is_after): trespass for trespass in self._base[number].trespasses}
            for trespass in run.trespasses:
                if known.get((trespass.region, trespass.is_after)) != trespass:
                    found.setdefault((trespass.region, trespass.is_after), self._message(trespass))
            for region in self.recording.regions:
                message = self._stray(region, self._base[number], run)
                if message:
                    found.setdefault(region, message)
        return list(found.values())

    def _stray(self, region: Region, base: Outcome, run: Outcome) -> str:
        """Return a message on bytes that differ though no array of the kernel is there; "" for none."""
        if region.role != "data" or region in self.outputs.sparse_regions:
            return ""
        one, other = base.contents[region], run.contents[region]
        if np.array_equal(one, other):
            return ""
        found = np.flatnonzero((one != other) & ~self.outputs.covered(region))
        if not found.size:
            return ""
        first = int(found[0])
        owner = region.handle.owner if region.handle is not None else region.name
        size = f"{found.size} bytes of {owner} that are in no array of the kernel, the first at byte {first}"
        return self._place(region, first, size) or size

    def _message(self, trespass: Trespass) -> str:
        """Return a message on bytes changed outside of a region."""
        region, offset = trespass.region, trespass.offset_bytes
        where = f"{offset} bytes after its end" if trespass.is_after else f"{-offset} bytes before its start"
        size = f"{trespass.count_bytes} bytes changed, the first {where}"
        found = self._place(region, offset + (region.size_bytes if trespass.is_after else 0), size)
        return found or f"{region.name if region.role == 'data' else f'the {region.role}'} ({size})"

    def _place(self, region: Region, offset_bytes: int, size: str) -> str:
        """Return the index of a position outside of the only array of a region: `b[128, 0] of shape (128, 64)`."""
        here = [located for located in self.outputs.located if located.region is region]
        index = _index_outside(here[0], offset_bytes) if len(here) == 1 else None
        if index is None:
            return ""
        return f"{here[0].slot.name}[{', '.join(map(str, index))}] of shape {here[0].shape} ({size})"


def _is_of_rounding(outputs: Iterable[Output]) -> bool:
    """Return whether the outputs that failed are all floats, which a reference can excuse."""
    failed = [output for output in outputs if not output.passed]
    return bool(failed) and all(output.max_ulp is not None and output.is_written for output in failed)


def _index_outside(located: Located, offset_bytes: int) -> tuple[int, ...] | None:
    """Return the index of a position, out of range along the first axis; None for arrays with gaps."""
    extents, item_bytes = located.extents, located.item_bytes
    if not extents or 0 in extents[1:] or not item_bytes or located.slot.place is not None:
        return None
    if located.strides != dense_strides(extents, item_bytes):
        return None
    item, index = (offset_bytes - located.begin_bytes) // item_bytes, []
    for extent in reversed(extents[1:]):
        item, part = divmod(item, extent)
        index.append(part)
    offsets = located.slot.offset or (0,) * len(extents)
    return tuple(part + begin for part, begin in zip((item, *reversed(index)), offsets, strict=True))


def _in_order(values: Values) -> Values:
    """Return numbers in ascending order."""
    return replace(values, array=np.sort(values.array, axis=0 if values.keys is not None else None))


def _differ(one: Values, other: Values) -> bool:
    if one.keys is not None and other.keys is not None and not np.array_equal(one.keys, other.keys):
        return True
    return bool(different(one.array, other.array).any())


def checked_module(variants: Variants, name: str, runner: Runner | None = None) -> BackendModule:
    """Return the module of a variant, checked and compiled by what will run it; only such a module may run.

    Raises: the edit's own error where it cannot run; TaichiRuntimeError where there is no such variant.
    """
    module = variants.module(name)
    if name != GENERATED:
        build_with(runner, variants, name, module)
    return module


def build_with(runner: Runner | None, variants: Variants, name: str, module: BackendModule) -> None:
    """Check a module and compile it where it will run. Raises: TaichiCompilationError for a bad edit."""
    paths: Sequence[Path] = variants.paths.get(name, ())
    load = None if runner is None else partial(runner.load, name, paths=paths)
    edits.build(variants.session, variants.generated, module, paths, load)
