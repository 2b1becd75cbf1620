"""A graph in one session: its launches compiled, packed, and recorded on the device.

In: dispatches and values. Out: `Plan`, whose `run` packs again only launches whose arguments changed or that draw
random numbers, and then replays. Launches that must be looked after one by one (they print, check, return a result, or
run an edited text that is watched) are launched as plain calls between the recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol
from weakref import ref

from .. import session as sessions
from ..devices.device import Launch, Recording
from ..devices.hazards import Touched
from ..instance import Instance
from ..launcher import Packed
from ..session import Session
from ..touched import Touches
from .argument import WITH_MEMORY, Arg, ArgKind
from .dispatch import Dispatch

Ready = tuple[Sequence[int], bytes, tuple[Any, ...], Touched]
"""What a launch is made of, but for its program."""
Way = tuple[Callable[..., Packed], Touches]


@dataclass(slots=True)
class Compiled:
    """A dispatch, compiled. way: how it is packed and what it touches; None where it is launched as a plain call."""

    dispatch: Dispatch
    instance: Instance
    way: Way | None

    @property
    def is_seeded(self) -> bool:
        """Whether each launch takes a number of its own."""
        return any(member.source == ("seed",) for member in self.instance.module.interface.members)


class Part(Protocol):
    """Some launches in a row."""

    def run(self, values: Mapping[str, Any], changed: set[str]) -> None:
        """Launch them. changed: names of arguments whose values differ from those of the run before."""


@dataclass(slots=True)
class PlainPart:
    """A launch as a plain call."""

    dispatch: Dispatch

    def run(self, values: Mapping[str, Any], changed: set[str]) -> None:
        """Launch as the kernel itself does; a result is dropped, as in Taichi."""
        leaves = self.dispatch.values(values)
        self.dispatch.kernel.launcher(leaves)[1](*leaves)


@dataclass(slots=True)
class RecordedPart:
    """Launches that the device replays.

    users: which of them take an argument, by its name; seeded: draw numbers. twins: for each the first that is packed
    alike: in programs that iterate most have one.
    """

    session: Session
    steps: Sequence[Compiled]
    users: dict[str, list[int]] = field(default_factory=dict)
    seeded: list[int] = field(default_factory=list)
    twins: list[int] = field(default_factory=list)
    recording: Recording | None = None
    packed: list[Ready] = field(default_factory=list)

    def __post_init__(self) -> None:
        first: dict[Any, int] = {}
        for number, step in enumerate(self.steps):
            key = number if step.is_seeded else step.dispatch.shape
            self.twins.append(first.setdefault(key, number))
            for name in {leaf.name for leaf in step.dispatch.leaves if isinstance(leaf, Arg)}:
                self.users.setdefault(name, []).append(number)
            if step.is_seeded:
                self.seeded.append(number)

    def run(self, values: Mapping[str, Any], changed: set[str]) -> None:
        """Replay, with what changed packed anew."""
        if self.recording is None:
            self.packed = list(self._pack(range(len(self.steps)), values).values())
            self.recording = self.session.device.record(list(map(self._launch, self.steps, self.packed)))
        elif changed or self.seeded:
            numbers = {number for name in changed for number in self.users.get(name, ())}.union(self.seeded)
            for number, found in self._pack(sorted(numbers), values).items():
                if found != self.packed[number]:
                    self.recording.update(number, self._launch(self.steps[number], found))
                    self.packed[number] = found
        self.recording.run()

    def _pack(self, numbers: Iterable[int], values: Mapping[str, Any]) -> dict[int, Ready]:
        """Pack some launches, in the order in which plain calls would draw random numbers."""
        found: dict[int, Ready] = {}
        for number in numbers:
            twin = self.twins[number]
            if twin in found:
                found[number] = found[twin]
            else:
                step = self.steps[number]
                assert step.way is not None
                pack, touches = step.way
                leaves = step.dispatch.values(values)
                found[number] = *pack(*leaves), touches(leaves)
        return found

    def _launch(self, step: Compiled, ready: Ready) -> Launch:
        return Launch(step.instance.program, *ready)


class Plan:
    """A graph compiled for arrays of some signatures in one session.

    signatures: of the arguments that are arrays, by name. steps: its dispatches, compiled.
    """

    def __init__(self, dispatches: Sequence[Dispatch], arguments: Mapping[str, Arg], values: Mapping[str, Any]) -> None:
        self.session = sessions.current()
        self.signatures = signatures_of(arguments, values)
        self._kinds = {name: arg.tag for name, arg in arguments.items()}
        self._seen: dict[str, Any] = {}
        ways: dict[Instance, Way | None] = {}
        self.steps = [_compile(dispatch, values, ways) for dispatch in dispatches]
        self._parts: list[Part] = []
        for is_recorded, steps in groupby(self.steps, lambda step: step.way is not None):
            if is_recorded:
                self._parts.append(RecordedPart(self.session, list(steps)))
            else:
                self._parts += [PlainPart(step.dispatch) for step in steps]

    def instances(self) -> list[Instance]:
        """Return what is compiled, each once."""
        return list(dict.fromkeys(step.instance for step in self.steps))

    def changed(self, values: Mapping[str, Any]) -> set[str]:
        """Return the names of arguments that are not those of the run before."""
        seen = self._seen
        if not seen:
            return set(self._kinds)
        found = set()
        for name, kind in self._kinds.items():
            value = values[name]
            if kind is ArgKind.SCALAR:
                is_same = seen[name] is value
            elif kind is ArgKind.MATRIX:  # which a program may have written into
                is_same = False
            else:
                is_same = seen[name]() is value
            if not is_same:
                found.add(name)
        return found

    def run(self, values: Mapping[str, Any], changed: set[str]) -> None:
        """Launch everything in order, one thread at a time. changed: what `changed` said of these values."""
        session = self.session
        if session.pending:
            session.settle()
        self._seen = {}  # should something raise, all is packed anew
        for part in self._parts:
            part.run(values, changed)
        session.epoch += 1
        self._seen = {
            name: ref(values[name]) if kind in WITH_MEMORY else values[name] for name, kind in self._kinds.items()
        }


def signatures_of(arguments: Mapping[str, Arg], values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what compiled kernels depend on of the arrays among some values."""
    return tuple(values[name].signature for name, arg in arguments.items() if arg.tag in WITH_MEMORY)


def _compile(dispatch: Dispatch, values: Mapping[str, Any], ways: dict[Instance, Way | None]) -> Compiled:
    """Compile a dispatch, unless a plain call or another dispatch has done so. ways: those made already."""
    instance, launch = dispatch.kernel.launcher(dispatch.values(values))
    if instance not in ways:
        make = getattr(launch, "make_packer", None)
        ways[instance] = None if make is None else make()
    return Compiled(dispatch, instance, ways[instance])
