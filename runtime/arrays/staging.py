"""Arguments that a launcher cannot use as they are: their memory is checked, copied to the device and copied back.

In: arguments of one launch with their slots. Out: a `Staged` each. Memory that the device reaches is used in place;
other host memory is packed, copied in once before the launch and back once after it, in device memory that later
launches use again. Arguments that share memory share the copy too, so that they overlap as they would in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...transpiler.errors import TaichiRuntimeTypeError
from ..devices.device import Allocation, Device, GpuDevice
from ..devices.host_arrays import reach_below, view_address
from ..session.session import Session
from .foreign import GpuArray, dense_strides, find_memory, is_tensor
from .interop import check_gpu, check_writable, element_strides, is_contiguous
from .memory import MIN_BYTES, Array, bytes_of

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import ArrayBinding

MAX_WORK = 100_000
"""Steps in which NumPy shall find out whether two strided arrays share an element; beyond, they count as sharing."""


@dataclass(slots=True)
class Staged:
    """An argument ready for one launch. address: of its first element; shape: of the foreign array; strides: [elements]
    where the kernel takes them; begin: as of `Interface.takes_begin`. element_bytes: size of one."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] = ()
    element_bytes: int = 0

    @property
    def begin(self) -> int:
        """The first element, counted from the one at the lowest address [elements]."""
        return reach_below(self.shape[: len(self.strides)], self.strides)

    @property
    def lowest(self) -> int:
        """Address of the element that lies lowest."""
        return self.address - self.begin * self.element_bytes


@dataclass(slots=True)
class Stage:
    """The arguments of one launch. after: what is left to do once the launch was submitted."""

    arguments: list[Staged] = field(default_factory=list)
    after: list[Callable[[], None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Request:
    """What a launch asks of one argument."""

    slot: ArrayBinding
    strided: bool
    where: str
    stream: int | None


@dataclass(slots=True)
class _Copy:
    """Host arrays that one copy on the device stands for: one packed array, or the bytes that several share.

    begin, end: addresses. arrays: each with its place in the launch, and whether the kernel writes it.
    """

    begin: int
    end: int
    arrays: list[tuple[Array, Staged, bool]]
    is_packed: bool = True

    @property
    def is_written(self) -> bool:
        return any(written for _, _, written in self.arrays)


def stage_arguments(
    session: Session, arguments: Sequence[tuple[Any, ArrayBinding, bool]], stream: int | None = None
) -> Stage:
    """Make arguments ready for a launch.

    arguments: with their slots, and whether the kernel takes their strides. stream: on which it will be launched, None
    for the device's own.
    Raises: TaichiRuntimeTypeError for a read-only array that is written, and one on another device.
    """
    stage = Stage()
    copies: list[_Copy] = []
    for argument, slot, strided in arguments:
        where = f"argument `{slot.name}`"
        memory = find_memory(argument, where)
        if slot.written:
            check_writable(argument if is_tensor(argument) else memory, where)
        request = _Request(slot, strided, where, stream)
        staged = _in_place(session, memory, request, stage)
        if staged is None:
            assert isinstance(memory, np.ndarray)
            staged = Staged(0, memory.shape, _packed_strides(memory, request) if strided else ())  # begins lowest
            copies.append(_Copy(*extent_of(memory), [(memory, staged, slot.written)]))
        stage.arguments.append(staged)
    for copy in _merged(copies):
        _copy_in(session, copy, stage)
    return stage


def _in_place(session: Session, memory: Array | GpuArray, request: _Request, stage: Stage) -> Staged | None:
    """Return an argument whose memory the device reaches, None if it has to be copied."""
    where, shape = request.where, tuple(memory.shape)
    limit = session.device.index_limit
    if limit is not None and prod(shape) > limit:
        raise TaichiRuntimeTypeError(
            f"{where} has {prod(shape):,} elements; GLSL indexes at most {limit:,}",
            "pass it in parts, or use ti.cpu",
        )
    if isinstance(memory, GpuArray):
        check_gpu(session, memory, where)
        if memory.stream is not None:
            stage.after.append(cast(GpuDevice, session.device).join_stream(memory.stream, request.stream))
    elif not session.device.host_memory:
        return None
    elif not session.device.lazy_memory and session.wait not in stage.after:
        stage.after.append(session.wait)  # such a device computes in any memory of this process (lavapipe), but later
    strides = element_strides(memory, len(request.slot.element_shape), session) if request.strided else ()
    if strides is None or (not request.strided and not is_contiguous(memory)):
        if isinstance(memory, GpuArray):
            raise _unusable(where, memory)
        return None
    address = memory.address if isinstance(memory, GpuArray) else memory.ctypes.data
    return Staged(address, shape, strides, prod(request.slot.element_shape) * memory.dtype.itemsize)


def _unusable(where: str, memory: GpuArray) -> TaichiRuntimeTypeError:
    return TaichiRuntimeTypeError(
        f"{where} has strides {memory.strides} [bytes], which are no multiples of its elements",
        "pass `cupy.ascontiguousarray(x)` or `tensor.contiguous()`; results then stand in that copy",
    )


def _packed_strides(array: Array, request: _Request) -> tuple[int, ...]:
    """Return the strides [elements] of a copy without gaps, for a kernel that was compiled for arrays with gaps."""
    axes = array.ndim - len(request.slot.element_shape)
    return dense_strides(array.shape[:axes], 1)


# --- copies


def extent_of(array: Array) -> tuple[int, int]:
    """Return the first address of an array's elements, and the one behind the last."""
    begin = end = array.ctypes.data
    if array.size:
        for extent, stride in zip(array.shape, array.strides, strict=True):
            begin, end = begin + min(0, (extent - 1) * stride), end + max(0, (extent - 1) * stride)
        end += array.itemsize
    return begin, end


def _merged(copies: list[_Copy]) -> list[_Copy]:
    """Put arrays together that are the same, and those that share memory of which the kernel writes some.

    Raises: TaichiRuntimeTypeError if such arrays have gaps: packed, they cannot overlap as they do.
    """
    found: list[_Copy] = []
    for copy in copies:
        same = next((other for other in found if _is_same(other.arrays[0][0], copy.arrays[0][0])), None)
        if same is None:
            found.append(copy)
        else:
            same.arrays += copy.arrays
    while (pair := _conflict(found)) is not None:
        a, b = pair
        found = [copy for copy in found if copy is not a and copy is not b]
        found.append(_Copy(min(a.begin, b.begin), max(a.end, b.end), a.arrays + b.arrays, is_packed=False))
    return found


def _is_same(a: Array, b: Array) -> bool:
    return (a.ctypes.data, a.shape, a.strides, a.dtype) == (b.ctypes.data, b.shape, b.strides, b.dtype)


def _conflict(copies: list[_Copy]) -> tuple[_Copy, _Copy] | None:
    """Return two copies that must become one. Raises: TaichiRuntimeTypeError if they cannot."""
    for a, b in combinations(copies, 2):
        if a.begin < b.end and b.begin < a.end and (a.is_written or b.is_written) and _share(a, b):
            arrays = [array for array, _, _ in (*a.arrays, *b.arrays)]
            if all(array.flags.c_contiguous for array in arrays):
                return a, b
            raise TaichiRuntimeTypeError(
                f"arguments of shapes {' and '.join(str(array.shape) for array in arrays)} overlap in part, and the "
                "kernel writes one of them; here it computes in copies of them",
                "pass the whole array once and use its parts in the kernel, or pass `x.copy()`",
            )
    return None


def _share(a: _Copy, b: _Copy) -> bool:
    try:
        limit: Any = MAX_WORK  # NumPy's annotation knows its two special values only
        return any(np.shares_memory(x, y, limit) for x, _, _ in a.arrays for y, _, _ in b.arrays)
    except RuntimeError:  # TooHardError: NumPy gave up
        return True


def _copy_in(session: Session, copy: _Copy, stage: Stage) -> None:
    """Copy to where the device reaches it, and note how it comes back."""
    device = session.device
    first = copy.arrays[0][0]
    if copy.is_packed:
        data = bytes_of(np.ascontiguousarray(first))
    else:
        data = view_address(copy.begin, np.dtype(np.uint8), (copy.end - copy.begin,)).data
    handle = session.staging.acquire(max(MIN_BYTES, data.nbytes))
    allocation = handle.allocation
    if data.nbytes:
        device.write(allocation, data)
    for array, staged, written in copy.arrays:
        offset_bytes = 0 if copy.is_packed else array.ctypes.data - copy.begin
        staged.address = allocation.address + offset_bytes
        if written and array.size:
            stage.after.append(partial(_copy_back, device, allocation, array, offset_bytes))
    stage.after.append(partial(session.staging.release, handle))


def _copy_back(device: Device, allocation: Allocation, array: Array, offset_bytes: int) -> None:
    if array.flags.c_contiguous:
        device.read(allocation, bytes_of(array), offset_bytes)
        return
    packed = np.empty(array.shape, array.dtype)
    device.read(allocation, bytes_of(packed), offset_bytes)
    array[...] = packed
