"""What a host knows of a kernel's captured fields once they have memory: addresses, strides, capacities.

In: a kernel's interface and its fields by slot. Out: numbers by the source of the member of `Args` that they fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....transpiler.backend.module.interface import Interface
from ....transpiler.errors import TaichiRuntimeError
from ...fields.sparse_tree import AuxiliaryArray

Constants = dict[tuple[Any, ...], int]


class TreePart:
    """What a kernel of a loaded module captured: an address in memory that the module owns, and numbers.

    memory: that owns it. allocation: itself, which has an address. numbers: other constants of the slot, by what stands
    in a member's source: ("stride", axis).
    """

    def __init__(self, memory: Any, offset_bytes: int, numbers: Constants) -> None:
        self.memory, self.numbers, self._offset_bytes = memory, numbers, offset_bytes

    @property
    def allocation(self) -> TreePart:
        """What has an address."""
        return self

    @property
    def address(self) -> int:
        """Where it begins on the device. Raises: TaichiRuntimeError where the memory is gone."""
        address: int = self.memory.allocation.address
        return address + self._offset_bytes


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
                name = interface.arrays[slot].name
                raise TaichiRuntimeError(f"`{name}` of kernel `{kernel}`: {error.message}", error.hint) from None
            if isinstance(field, TreePart):
                constants.update(((kind, slot, *more), number) for (kind, *more), number in field.numbers.items())
                continue
            if interface.takes_strides(slot):
                constants.update((("stride", slot, axis), step) for axis, step in enumerate(field.strides))
            if interface.takes_begin(slot):
                constants["pointer", slot], constants["begin", slot] = field.allocation.lowest, field.begin
        if isinstance(field, AuxiliaryArray):
            constants["capacity", slot] = field.capacity
            constants.update({("shape", slot, axis): extent for axis, extent in enumerate(field.shape)})
    return constants
