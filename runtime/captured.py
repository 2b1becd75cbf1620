"""What a host knows of a kernel's captured fields once they have memory: addresses, strides, capacities.

In: a kernel's interface and its fields by slot. Out: numbers by the source of the member of `Args` that they fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..transpiler.backend.interface import Interface
from ..transpiler.errors import TaichiRuntimeError
from .sparse_tree import Beside

Constants = dict[tuple[Any, ...], int]


def captured_constants(interface: Interface, fields: Sequence[Any], kernel: str) -> Constants:
    """Return what the captured fields of a kernel give. fields: by slot, None for parameters.

    Raises: TaichiRuntimeError where the memory of a field is gone.
    """
    constants: Constants = {}
    for slot, field in enumerate(fields):
        if field is not None:
            try:
                constants["pointer", slot] = field.allocation.address
            except TaichiRuntimeError as error:
                raise TaichiRuntimeError(f"`{interface.arrays[slot].name}` of kernel `{kernel}`: {error}") from None
            if interface.takes_strides(slot):
                constants.update((("stride", slot, axis), step) for axis, step in enumerate(field.strides))
            if interface.takes_begin(slot):
                constants["pointer", slot], constants["begin", slot] = field.allocation.lowest, field.begin
        if isinstance(field, Beside):
            constants["capacity", slot] = field.capacity
            constants.update({("shape", slot, axis): extent for axis, extent in enumerate(field.shape)})
    return constants
