"""Constants that captured fields give a kernel once they have memory: addresses, strides, capacities.

In: a kernel's interface and its fields by array index. Out: numbers by the source of the member of `Args` they fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....transpiler.backend.module.interface import Interface
from ....transpiler.errors import TaichiRuntimeError
from ...fields.auxiliary_array import AuxiliaryArray

Constants = dict[tuple[Any, ...], int]


class TreePart:
    """A captured part of a loaded module's memory: an address, and the other constants of its array.

    memory: the memory that the module owns. numbers: constants by the member's source without the array's index:
    ("stride", axis).
    """

    def __init__(self, memory: Any, offset_bytes: int, numbers: Constants) -> None:
        self.memory, self.numbers, self._offset_bytes = memory, numbers, offset_bytes

    @property
    def allocation(self) -> TreePart:
        """The part itself, which has an address."""
        return self

    @property
    def address(self) -> int:
        """Start address on the device. Raises: TaichiRuntimeError if the memory was freed."""
        address: int = self.memory.allocation.address
        return address + self._offset_bytes


def captured_constants(interface: Interface, fields: Sequence[Any], kernel: str) -> Constants:
    """Return the constants that the captured fields of a kernel give. fields: by array index, None for parameters.

    Raises: TaichiRuntimeError if the memory of a field was freed.
    """
    constants: Constants = {}
    for index, field in enumerate(fields):
        if field is not None:
            try:
                constants["pointer", index] = field.allocation.address
            except TaichiRuntimeError as error:
                name = interface.arrays[index].name
                raise TaichiRuntimeError(f"`{name}` of kernel `{kernel}`: {error.message}", error.hint) from None
            if isinstance(field, TreePart):
                constants.update(((kind, index, *more), number) for (kind, *more), number in field.numbers.items())
                continue
            if interface.takes_strides(index):
                constants.update((("stride", index, axis), step) for axis, step in enumerate(field.strides))
            if interface.takes_begin(index):
                constants["pointer", index], constants["begin", index] = field.allocation.lowest, field.begin
        if isinstance(field, AuxiliaryArray):
            constants["capacity", index] = field.capacity
            constants.update({("shape", index, axis): extent for axis, extent in enumerate(field.shape)})
    return constants
