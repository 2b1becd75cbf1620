"""Staging of arguments that a launcher cannot use directly: checks, copies to the device, and copies back.

In: arguments of one launch with their array bindings. Out: a `StagedArgument` each. Memory that the device can access
is used in place; other host memory is packed, copied in once before the launch and back once after it, in device memory
that later launches reuse. Arguments that share memory share the copy too, so that they overlap as they would in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...transpiler.errors import TaichiRuntimeTypeError
from ...transpiler.lazy_dataclasses import dataclass
from ..devices.device import Allocation, Device, GpuDevice
from ..devices.host_arrays import reach_below, view_address
from ..session.session import Session
from .foreign import GpuArray, dense_strides, find_memory, is_tensor
from .interop import check_gpu, check_writable, element_strides, is_contiguous
from .memory import MIN_BYTES, Array, bytes_of

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import ArrayBinding

MAX_WORK = 100_000
"""Limit of NumPy's search for an element that two strided arrays share; beyond it they count as sharing."""


@dataclass(slots=True)
class StagedArgument:
    """An argument ready for one launch.

    Attributes:
        address: of its first element.
        shape: of the foreign array.
        strides: [elements], if the kernel takes them.
        element_bytes: size of an element.
    """

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
        """Lowest address of an element."""
        return self.address - self.begin * self.element_bytes


@dataclass(slots=True)
class StagedArguments:
    """The staged arguments of one launch.

    after: actions to run once the launch was submitted. memory: what the arguments' addresses point into, which may be
    a copy that nothing else keeps alive.
    """

    arguments: list[StagedArgument] = field(default_factory=list)
    memory: list[Any] = field(default_factory=list)
    after: list[Callable[[], None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Request:
    """The requirements of a launch for one argument."""

    binding: ArrayBinding
    strided: bool
    where: str
    stream: int | None


@dataclass(slots=True)
class _Copy:
    """Host arrays with one common copy on the device: one packed array, or the bytes that several share.

    start, end: addresses. arrays: each with its staged argument, and whether the kernel writes it.
    """

    start: int
    end: int
    arrays: list[tuple[Array, StagedArgument, bool]]
    is_packed: bool = True

    @property
    def is_written(self) -> bool:
        return any(written for _, _, written in self.arrays)


def stage_arguments(
    session: Session, arguments: Sequence[tuple[Any, ArrayBinding, bool]], stream: int | None = None
) -> StagedArguments:
    """Make arguments ready for a launch.

    arguments: with their bindings, and whether the kernel takes their strides. stream: of the launch, None for the
    device's own.
    Raises: TaichiRuntimeTypeError for a read-only array that is written, and one on another device.
    """
    result = StagedArguments()
    copies: list[_Copy] = []
    for argument, binding, strided in arguments:
        where = f"argument `{binding.name}`"
        memory = find_memory(argument, where)
        result.memory.append(memory)
        if binding.written:
            check_writable(argument if is_tensor(argument) else memory, where)
        request = _Request(binding, strided, where, stream)
        staged = _in_place(session, memory, request, result)
        if staged is None:
            assert isinstance(memory, np.ndarray)
            strides = _packed_strides(memory, request) if strided else ()
            staged = StagedArgument(0, memory.shape, strides)  # its first element is the lowest
            copies.append(_Copy(*host_range(memory), [(memory, staged, binding.written)]))
        result.arguments.append(staged)
    for copy in _merged(copies):
        _copy_in(session, copy, result)
    return result


def _in_place(
    session: Session, memory: Array | GpuArray, request: _Request, result: StagedArguments
) -> StagedArgument | None:
    """Return an argument whose memory the device can access, None if it has to be copied."""
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
            result.after.append(cast(GpuDevice, session.device).join_stream(memory.stream, request.stream))
    elif not session.device.host_memory:
        return None
    elif not session.device.lazy_memory and session.wait not in result.after:
        result.after.append(
            session.wait
        )  # such a device computes in any memory of this process (lavapipe), but asynchronously
    strides = element_strides(memory, len(request.binding.element_shape), session) if request.strided else ()
    if strides is None or (not request.strided and not is_contiguous(memory)):
        if isinstance(memory, GpuArray):
            raise _unusable(where, memory)
        return None
    address = memory.address if isinstance(memory, GpuArray) else memory.ctypes.data
    return StagedArgument(address, shape, strides, prod(request.binding.element_shape) * memory.dtype.itemsize)


def _unusable(where: str, memory: GpuArray) -> TaichiRuntimeTypeError:
    return TaichiRuntimeTypeError(
        f"{where} has strides {memory.strides} [bytes], which are not multiples of its element size",
        "pass `cupy.ascontiguousarray(x)` or `tensor.contiguous()`; the results are in that copy",
    )


def _packed_strides(array: Array, request: _Request) -> tuple[int, ...]:
    """Return the strides [elements] of a copy without gaps, for a kernel that was compiled for arrays with gaps."""
    axes = array.ndim - len(request.binding.element_shape)
    return dense_strides(array.shape[:axes], 1)


# --- copies


def address_range(address: int, shape: Sequence[int], strides: Sequence[int], element_bytes: int) -> tuple[int, int]:
    """Return the first address of the elements of an array, and the end address of the last. strides: [bytes]."""
    start = end = address
    if 0 not in shape:
        for extent, stride in zip(shape, strides, strict=True):
            start, end = start + min(0, (extent - 1) * stride), end + max(0, (extent - 1) * stride)
        end += element_bytes
    return start, end


def host_range(array: Array) -> tuple[int, int]:
    """Return the addresses of a NumPy array, as `address_range`."""
    return address_range(array.ctypes.data, array.shape, array.strides, array.itemsize)


def _merged(copies: list[_Copy]) -> list[_Copy]:
    """Merge copies of the same array, and of arrays that share memory that the kernel writes.

    Raises: TaichiRuntimeTypeError if such arrays have gaps: packed copies cannot overlap in the same way.
    """
    merged: list[_Copy] = []
    for copy in copies:
        same = next((other for other in merged if _is_same(other.arrays[0][0], copy.arrays[0][0])), None)
        if same is None:
            merged.append(copy)
        else:
            same.arrays += copy.arrays
    while (pair := _conflict(merged)) is not None:
        a, b = pair
        merged = [copy for copy in merged if copy is not a and copy is not b]
        merged.append(_Copy(min(a.start, b.start), max(a.end, b.end), a.arrays + b.arrays, is_packed=False))
    return merged


def _is_same(a: Array, b: Array) -> bool:
    return (a.ctypes.data, a.shape, a.strides, a.dtype) == (b.ctypes.data, b.shape, b.strides, b.dtype)


def _conflict(copies: list[_Copy]) -> tuple[_Copy, _Copy] | None:
    """Return two copies that must become one. Raises: TaichiRuntimeTypeError if they cannot."""
    for a, b in combinations(copies, 2):
        if a.start < b.end and b.start < a.end and (a.is_written or b.is_written) and _share(a, b):
            arrays = [array for array, _, _ in (*a.arrays, *b.arrays)]
            if all(array.flags.c_contiguous for array in arrays):
                return a, b
            raise TaichiRuntimeTypeError(
                f"arguments of shapes {' and '.join(str(array.shape) for array in arrays)} overlap in part, and the "
                "kernel writes one of them; on this device it computes in copies of them",
                "pass the whole array once and use its parts in the kernel, or pass `x.copy()`",
            )
    return None


def _share(a: _Copy, b: _Copy) -> bool:
    try:
        limit: Any = MAX_WORK  # NumPy's annotation allows only its two special values
        return any(np.shares_memory(x, y, limit) for x, _, _ in a.arrays for y, _, _ in b.arrays)
    except RuntimeError:  # TooHardError: NumPy gave up
        return True


def _copy_in(session: Session, copy: _Copy, result: StagedArguments) -> None:
    """Copy to memory of the device, and add the action that copies it back."""
    device = session.device
    first = copy.arrays[0][0]
    if copy.is_packed:
        data = bytes_of(np.ascontiguousarray(first))
    else:
        data = view_address(copy.start, np.dtype(np.uint8), (copy.end - copy.start,)).data
    handle = session.staging.acquire(max(MIN_BYTES, data.nbytes))
    allocation = handle.allocation
    if data.nbytes:
        device.write(allocation, data)
    for array, staged, written in copy.arrays:
        offset_bytes = 0 if copy.is_packed else array.ctypes.data - copy.start
        staged.address = allocation.address + offset_bytes
        if written and array.size:
            result.after.append(partial(_copy_back, device, allocation, array, offset_bytes))
    result.after.append(partial(session.staging.release, handle))


def _copy_back(device: Device, allocation: Allocation, array: Array, offset_bytes: int) -> None:
    if array.flags.c_contiguous:
        device.read(allocation, bytes_of(array), offset_bytes)
        return
    packed = np.empty(array.shape, array.dtype)
    device.read(allocation, bytes_of(packed), offset_bytes)
    array[...] = packed
