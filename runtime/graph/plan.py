"""A graph in one session: its launches compiled, packed, and recorded on the device.

In: dispatches and values. Out: `Plan`, whose `run` packs again only launches whose arguments changed or that draw
random numbers, and then replays. Launches that need work of their own on the host (they print, check, return a result,
or run an edited source that is watched) are launched as plain calls between the recordings.
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
    """A compiled dispatch. packer: packs it and finds its access set; None if it is launched as a plain call."""

    dispatch: Dispatch
    instance: Instance
    packer: Packer | None

    @property
    def is_seeded(self) -> bool:
        """Whether each launch takes a new random seed."""
        return any(member.source == ("seed",) for member in self.instance.module.interface.members)


class Part(Protocol):
    """Consecutive launches."""

    def run(self, values: Mapping[str, Any], changed: set[str]) -> None:
        """Launch them. changed: names of arguments whose values differ from those of the previous run."""


@dataclass(slots=True)
class PlainPart:
    """A launch as a plain call."""

    dispatch: Dispatch

    def run(self, values: Mapping[str, Any], changed: set[str]) -> None:
        """Launch as the kernel itself does; a result is dropped, as in Taichi."""
        arguments = self.dispatch.values(values)
        self.dispatch.kernel.launcher(arguments)[1].launch(*arguments)


class RecordedPart:
    """Launches that the device replays.

    Duplicates are launches of one kernel with the same arguments, which are packed once; iterative programs have many.
    A group of duplicates is identified by the number of its first launch.
    """

    def __init__(self, session: Session, steps: Sequence[Compiled]) -> None:
        self._session, self._steps = session, steps
        self._recording: Recording | None = None
        self._duplicates: dict[int, list[int]] = {}
        self._launches: dict[int, Launch] = {}
        self._users: dict[str, set[int]] = {}
        """Groups of duplicates that take an argument, by its name."""
        self._seeded: set[int] = set()
        firsts: dict[Any, int] = {}
        for number, step in enumerate(steps):
            first = firsts.setdefault(number if step.is_seeded else step.dispatch.identity, number)
            self._duplicates.setdefault(first, []).append(number)
            for argument in step.dispatch.arguments:
                if isinstance(argument, Arg):
                    self._users.setdefault(argument.name, set()).add(first)
            if step.is_seeded:
                self._seeded.add(number)

    def run(self, values: Mapping[str, Any], changed: set[str]) -> None:
        """Pack what changed again, in the order in which plain calls would draw random numbers, and replay."""
        if self._recording is None:
            self._launches = {first: self._pack(first, values) for first in self._duplicates}
            first_of = {number: first for first, numbers in self._duplicates.items() for number in numbers}
            launches = [self._launches[first_of[number]] for number in range(len(self._steps))]
            self._recording = self._session.device.record(launches)
        elif changed or self._seeded:
            outdated = self._seeded.union(*[self._users.get(name, ()) for name in changed])
            for first in sorted(outdated):
                launch = self._pack(first, values)
                if launch != self._launches[first]:
                    for number in self._duplicates[first]:
                        self._recording.update(number, launch)
                    self._launches[first] = launch
        self._recording.run()

    def _pack(self, number: int, values: Mapping[str, Any]) -> Launch:
        step = self._steps[number]
        assert step.packer is not None
        pack, find_access_set = step.packer
        arguments = step.dispatch.values(values)
        return Launch(step.instance.program, *pack(*arguments), find_access_set(arguments))


class Plan:
    """A graph compiled for arrays of given signatures in one session.

    signatures: of the arguments that are arrays, in order. steps: the compiled dispatches.
    """

    def __init__(self, dispatches: Sequence[Dispatch], arguments: Mapping[str, Arg], values: Mapping[str, Any]) -> None:
        self.session = sessions.current()
        self.signatures = signatures_of(arguments, values)
        self._kinds = {name: arg.tag for name, arg in arguments.items()}
        self._previous: dict[str, Any] = {}
        packers: dict[Instance, Packer | None] = {}
        self.steps = [_compile(dispatch, values, packers) for dispatch in dispatches]
        self._parts: list[Part] = []
        for is_recorded, steps in groupby(self.steps, lambda step: step.packer is not None):
            if is_recorded:
                self._parts.append(RecordedPart(self.session, list(steps)))
            else:
                self._parts += [PlainPart(step.dispatch) for step in steps]

    def instances(self) -> list[Instance]:
        """Return the instances, each once."""
        return list(dict.fromkeys(step.instance for step in self.steps))

    def changed(self, values: Mapping[str, Any]) -> set[str]:
        """Return the names of arguments whose values differ from those of the previous run."""
        previous = self._previous
        if not previous:
            return set(self._kinds)
        changed = set()
        for name, kind in self._kinds.items():
            value = values[name]
            if kind is ArgKind.SCALAR:
                is_same = previous[name] is value
            elif kind is ArgKind.MATRIX:  # which the user may have modified
                is_same = False
            else:
                is_same = previous[name]() is value
            if not is_same:
                changed.add(name)
        return changed

    def run(self, values: Mapping[str, Any], changed: set[str]) -> None:
        """Launch everything in order, one thread at a time. changed: the result of `changed` for these values."""
        session = self.session
        if session.pending:
            session.flush_pending()
        self._previous = {}  # if something raises, the next run packs everything
        for part in self._parts:
            part.run(values, changed)
        session.epoch += 1
        self._previous = {
            name: ref(values[name]) if kind in WITH_MEMORY else values[name] for name, kind in self._kinds.items()
        }


def signatures_of(arguments: Mapping[str, Arg], values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what compiled kernels depend on: the signatures of arrays, and whether they have a gradient."""
    arrays = [values[name] for name, arg in arguments.items() if arg.tag in WITH_MEMORY]
    return tuple((array.signature, getattr(array, "grad", None) is not None) for array in arrays)


def _compile(dispatch: Dispatch, values: Mapping[str, Any], packers: dict[Instance, Packer | None]) -> Compiled:
    """Compile a dispatch, unless a plain call or another dispatch has done so. packers: those made already."""
    instance, launcher = dispatch.kernel.launcher(dispatch.values(values))
    if instance not in packers:
        packers[instance] = None if launcher.make_packer is None else launcher.make_packer()
    return Compiled(dispatch, instance, packers[instance])
