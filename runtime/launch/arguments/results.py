"""What a kernel returns: memory that it stores its results in, and the Python values made of them.

In: a session, the interface of a module and the declared types. Out: an address for the argument block; after a launch,
numbers, `ti.Vector`, `ti.Matrix` and `ti.Struct`. Where a device can write the host's memory, results are stored there,
so that reading them is no copy of its own: on an H200 such a copy costs 8 us by CUDA and 20 by Vulkan, in C .6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from struct import Struct
from typing import TYPE_CHECKING, Any, get_args, get_origin

import numpy as np

from ....transpiler.backend.module.interface import PACK_CODES
from ....transpiler.ir.types import NUMPY, SCALARS
from ....transpiler.lang.matrix import Matrix
from ....transpiler.lang.struct import StructType, make_struct
from ...devices.device import Allocation
from ...session.allocation_handle import AllocationHandle

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import Interface, ResultField
    from ...session.session import Session

MIN_RESULT_BYTES = 16


class _ResultLender:
    """Lends memory of the host that a device writes in place, instead of a session's own."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.release, self.register_handle = session.release, session.register_handle

    def allocate(self, size_bytes: int, owner: str, lazily: bool = False) -> Allocation:
        """Return zeroed memory. Raises: TaichiRuntimeError if there is not that much."""
        device: Any = self._session.device
        allocation: Allocation = self._session.obtain(lambda: device.allocate_result(size_bytes), owner)
        return allocation


class Results:
    """The results of one kernel.

    address: where it stores them. read: returns those of the last launch, once it has ended: one value, or a tuple.
    """

    __slots__ = ("_handle", "_read", "_readers", "_size_bytes", "address", "read")

    def __init__(self, session: Session, interface: Interface, declared: Any, kernel: str) -> None:
        """declared: the return annotation, as the author wrote it."""
        self._size_bytes = interface.result_size_bytes
        in_place = hasattr(session.device, "allocate_result")
        lender: Any = _ResultLender(session) if in_place else session
        size_bytes = max(MIN_RESULT_BYTES, self._size_bytes)
        self._handle = AllocationHandle(lender, size_bytes, f"results of kernel `{kernel}`")
        self.address = self._handle.allocation.address
        device: Any = session.device
        self._read: Callable[[Allocation, int], bytes | memoryview] = (
            device.read_result if in_place else _copying(device)
        )
        types = return_types(declared)
        self._readers = [_reader(field, type) for field, type in zip(interface.results, types, strict=True)]

        self.read: Callable[[], Any] = self._read_one if len(self._readers) == 1 else self._read_all

    def _read_one(self) -> Any:
        return self._readers[0](self._read(self._handle.allocation, self._size_bytes))

    def _read_all(self) -> Any:
        data = self._read(self._handle.allocation, self._size_bytes)
        return tuple([read(data) for read in self._readers])


def _copying(device: Any) -> Callable[[Allocation, int], bytes]:
    """Return the function that copies results from a device's memory."""

    def read(allocation: Allocation, size_bytes: int) -> bytes:
        data = bytearray(size_bytes)
        device.read(allocation, memoryview(data))
        return bytes(data)

    return read


def _reader(field: ResultField, declared: Any) -> Callable[[bytes | memoryview], Any]:
    """Return the function that makes one result of the bytes of all."""
    if isinstance(declared, StructType) or field.shape:
        return lambda data: result_value(field, data, declared)
    number, offset = Struct(f"={PACK_CODES[field.type]}").unpack_from, field.offset_bytes
    return lambda data: number(data, offset)[0]


def return_types(annotation: Any) -> list[Any]:
    """Return the declared type of each result in a kernel's return annotation."""
    if annotation is None:
        return []
    if get_origin(annotation) is tuple:
        annotation = get_args(annotation)
    return list(annotation) if isinstance(annotation, (tuple, list)) else [annotation]


def result_value(field: ResultField, data: Sequence[int], declared: Any) -> Any:
    """Return one result of a kernel from its result buffer. declared: its type as the author wrote it."""
    if isinstance(declared, StructType):
        types = declared.members
        return make_struct({name: result_value(part, data, types[name]) for name, part in field.members}, declared)
    array = np.frombuffer(data, NUMPY[field.type], prod(field.shape), field.offset_bytes)  # type: ignore[call-overload]
    return Matrix(array.reshape(field.shape).tolist(), dt=SCALARS[field.type]) if field.shape else array[0].item()
