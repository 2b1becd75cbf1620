"""A graph in one session: its launches compiled, packed, and recorded on the device.

In: dispatches and values. Out: `Plan`, whose `run` packs again only launches whose arguments changed or that draw
random numbers, and then replays. Launches that must be looked after one by one (they print, check, return a result, or
run an edited text that is watched) are launched as plain calls between the recordings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol
from weakref import ref

from ..devices.device import Launch, Recording
from ..launch.instance import Instance, Packer
from ..session import session as sessions
from ..session.session import Session
from .argument import WITH_MEMORY, Arg, ArgKind
from .dispatch import Dispatch


@dataclass(slots=True)
class Compiled:
    """A dispatch, compiled. way: how it is packed and what it touches; None where it is launched as a plain call."""

    dispatch: Dispatch
    instance: Instance
    way: Packer | None

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
        self.dispatch.kernel.launcher(leaves)[1].launch(*leaves)


class RecordedPart:
    """Launches that the device replays.

    Launches that are packed alike, of one kernel with the same arguments, are twins: programs that iterate have many.
    They are known by the number of the first of them.
    """

    def __init__(self, session: Session, steps: Sequence[Compiled]) -> None:
        self._session, self._steps = session, steps
        self._recording: Recording | None = None
        self._twins: dict[int, list[int]] = {}
        self._launches: dict[int, Launch] = {}
        self._users: dict[str, set[int]] = {}
        """The first of the twins that take an argument, by its name."""
        self._seeded: set[int] = set()
        firsts: dict[Any, int] = {}
        for number, step in enumerate(steps):
            first = firsts.setdefault(number if step.is_seeded else step.dispatch.shape, number)
            self._twins.setdefault(first, []).append(number)
            for leaf in step.dispatch.leaves:
                if isinstance(leaf, Arg):
                    self._users.setdefault(leaf.name, set()).add(first)
            if step.is_seeded:
                self._seeded.add(number)

    def run(self, values: Mapping[str, Any], changed: set[str]) -> None:
        """Replay, with what changed packed anew, in the order in which plain calls would draw random numbers."""
        if self._recording is None:
            self._launches = {first: self._pack(first, values) for first in self._twins}
            first_of = {number: first for first, numbers in self._twins.items() for number in numbers}
            launches = [self._launches[first_of[number]] for number in range(len(self._steps))]
            self._recording = self._session.device.record(launches)
        elif changed or self._seeded:
            found = self._seeded.union(*[self._users.get(name, ()) for name in changed])
            for first in sorted(found):
                launch = self._pack(first, values)
                if launch != self._launches[first]:
                    for number in self._twins[first]:
                        self._recording.update(number, launch)
                    self._launches[first] = launch
        self._recording.run()

    def _pack(self, number: int, values: Mapping[str, Any]) -> Launch:
        step = self._steps[number]
        assert step.way is not None
        pack, find_access_set = step.way
        leaves = step.dispatch.values(values)
        return Launch(step.instance.program, *pack(*leaves), find_access_set(leaves))


class Plan:
    """A graph compiled for arrays of some signatures in one session.

    signatures: of the arguments that are arrays, by name. steps: its dispatches, compiled.
    """

    def __init__(self, dispatches: Sequence[Dispatch], arguments: Mapping[str, Arg], values: Mapping[str, Any]) -> None:
        self.session = sessions.current()
        self.signatures = signatures_of(arguments, values)
        self._kinds = {name: arg.tag for name, arg in arguments.items()}
        self._seen: dict[str, Any] = {}
        ways: dict[Instance, Packer | None] = {}
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
            session.flush_pending()
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


def _compile(dispatch: Dispatch, values: Mapping[str, Any], ways: dict[Instance, Packer | None]) -> Compiled:
    """Compile a dispatch, unless a plain call or another dispatch has done so. ways: those made already."""
    instance, launcher = dispatch.kernel.launcher(dispatch.values(values))
    if instance not in ways:
        ways[instance] = None if launcher.make_packer is None else launcher.make_packer()
    return Compiled(dispatch, instance, ways[instance])
