"""Events of a window: type, position, key and modifier keys; and filters of events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

MODIFIERS = ("Shift", "Alt", "Control")
"""Keys on both sides of the space bar: events name the side (`Control_L`), filters need not."""


class EType(Enum):
    """Type of an event; numbers and names are those of Taichi."""

    Move = 0
    Press = 1
    Release = 2

    def __int__(self) -> int:
        return int(self.value)

    def __repr__(self) -> str:
        return f"<EType.{self.name}: {self.value}>"


class Delta(NamedTuple):
    """How far the wheel turned, 120 per notch: x to the right, y away from the user."""

    x: int = 0
    y: int = 0


@dataclass(slots=True)
class Event:
    """type: `GUI.PRESS`, `GUI.RELEASE` or `GUI.MOTION`; modifier: keys held before; pos: cursor in the unit square."""

    type: EType | None = None
    modifier: list[str] = field(default_factory=list)
    pos: tuple[float, float] = (0.0, 0.0)
    key: str | None = None
    delta: Delta = Delta()


class EventFilter:
    """Matches events of any of some types, keys, or pairs (type, key)."""

    def __init__(self, *e_filter: Any) -> None:
        self.filter = {tuple(wanted) if isinstance(wanted, list | tuple) else wanted for wanted in e_filter}
        for wanted in self.filter:
            if not isinstance(wanted, tuple):
                continue
            if len(wanted) != 2 or not isinstance(wanted[0], EType):
                raise ValueError(f"an event is chosen by a type, a key or a pair `(ti.GUI.PRESS, key)`; found {wanted}")

    def match(self, e: Event) -> bool:
        """Return whether one of the filters describes `e`."""
        keys = {e.key, without_side(e.key)}
        return any(
            wanted[0] == e.type and wanted[1] in keys
            if isinstance(wanted, tuple)
            else wanted == e.type or wanted in keys
            for wanted in self.filter
        )


def is_held(key: str, pressed: Iterable[str]) -> bool:
    """Return whether `key` is among the pressed ones; `Control` matches both of them."""
    return any(key in (one, without_side(one)) for one in pressed)


def without_side(key: str | None) -> str | None:
    """Return the name of a key without its side: `Control` for `Control_L`."""
    if key is not None and key[-2:] in ("_L", "_R") and key[:-2] in MODIFIERS:
        return key[:-2]
    return key
