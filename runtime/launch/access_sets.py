"""What memory launches of a kernel read and write, so that launches without any in common may run side by side.

In: the interface, and what holds the memory of the fields it captured. Out: a function of a launch's arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..arrays.memory import hold_of
from ..devices.hazards import Touched
from ..session.allocation_handle import Hold

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import Interface

Touches = Callable[[Sequence[Any]], Touched]


def make_touches(interface: Interface, captured: Sequence[Hold], temporaries: Hold | None, is_sparse: bool) -> Touches:
    """Return what gives the pieces of memory that a launch touches, whole allocations by the identity of their holds.

    captured: one for each array that is no parameter, in order. is_sparse: cells are activated, or their lists made;
    such kernels, and those that use gradients, are said to touch everything.
    """
    if is_sparse or any(member.source[0] == "gradient" for member in interface.members):
        return lambda args: None
    fixed = [array.written for array in interface.arrays if array.parameter is None]
    known = [(id(hold), written) for hold, written in zip(captured, fixed, strict=True)]
    if temporaries is not None:
        known.append((id(temporaries), True))
    given = [(array.parameter, array.written) for array in interface.arrays if array.parameter is not None]
    textures = [(texture.parameter, texture.written) for texture in interface.textures]

    def touches(args: Sequence[Any]) -> Touched:
        return (
            *known,
            *[(id(hold_of(args[position])), written) for position, written in given],
            *[(id(args[position].memory), written) for position, written in textures],
        )

    return touches
