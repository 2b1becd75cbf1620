"""Access sets: the memory that launches of a kernel read and write; launches with disjoint sets may run concurrently.

In: the interface, and the handles of the memory of the captured fields. Out: a function of a launch's arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..arrays.memory import handle_of
from ..devices.hazards import AccessSet
from ..session.allocation_handle import AllocationHandle

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import Interface

FindAccessSet = Callable[[Sequence[Any]], AccessSet]


def access_set_function(
    interface: Interface,
    captured: Sequence[AllocationHandle | None],
    temporaries: AllocationHandle | None,
    is_sparse: bool,
) -> FindAccessSet:
    """Return the function that gives a launch's access set: whole allocations, by the identity of their handles.

    Args:
        captured: a handle for each array, in order; None for parameters, and for arrays of which an archived kernel
            needs no address.
        is_sparse: whether cells are activated, or their lists made; the access set of such kernels, and of those that
            use gradients, is all memory.
    """
    if is_sparse or any(member.source[0] == "gradient" for member in interface.members):
        return lambda args: None
    pairs = zip(captured, interface.arrays, strict=True)
    known = [(id(handle), array.written) for handle, array in pairs if handle is not None]
    if temporaries is not None:
        known.append((id(temporaries), True))
    given = [(array.parameter, array.written) for array in interface.arrays if array.parameter is not None]
    textures = [(texture.parameter, texture.written) for texture in interface.textures]

    def find_access_set(args: Sequence[Any]) -> AccessSet:
        return (
            *known,
            *[(id(handle_of(args[position])), written) for position, written in given],
            *[(id(args[position].memory), written) for position, written in textures],
        )

    return find_access_set
