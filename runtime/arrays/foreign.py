"""Arrays of other libraries: the address and layout of their memory, and whether it may be written.

In: a NumPy array, a torch tensor, or any object with `__cuda_array_interface__`, `__array_interface__`, `__dlpack__` or
`__array__`. Out: a NumPy array that shares memory of this process, or a `GpuArray` for memory of a GPU. Nothing is
copied, unless `__array__` does, and only the library that the object comes from is used.
Source: NumPy's array interface 3; CUDA array interface 3 (Numba); DLPack 1.0.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeTypeError
from ...transpiler.ir.types import SCALAR_OF_NUMPY
from ...transpiler.lang.describe import safe_attribute
from ...transpiler.lang.matrix import Matrix
from ...transpiler.lazy_dataclasses import dataclass
from .memory import Array

CUDA = "cupy_backends.cuda.api.runtime"
"""Loaded by the first session on CUDA, and by CuPy."""

DLPACK_CUDA = (2, 13)
"""Kinds of devices in DLPack: CUDA device memory, and CUDA managed memory."""

DLPACK_VERSION = (1, 0)
VERSIONED_SINCE = "2.1.0"
"""First version of NumPy that reads versioned capsules, which say whether they are read-only."""

IMMUTABLE = frozenset({"jax", "jaxlib", "tensorflow"})
"""Libraries whose arrays never change, also where a protocol has no flag for that."""

NUMBER_TYPES = {dtype.name: dtype for dtype in SCALAR_OF_NUMPY}
"""Number types by their name in NumPy and torch."""

LEGACY_STREAM = 1
"""The default stream, whose handle is 0, in the CUDA array interface."""


@dataclass(frozen=True, slots=True)
class GpuArray:
    """Memory of a CUDA device.

    Attributes:
        address: of the first element.
        strides: [bytes], from one element to the next along each axis.
        gpu: number of the device, None if unknown.
        stream: handle of the stream whose work on the memory must finish first, None if there is none.
        owner: the object that keeps the memory alive.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    is_writable: bool
    gpu: int | None
    stream: int | None
    owner: Any


def find_memory(value: Any, where: str) -> Array | GpuArray:
    """Return the memory behind an array of any library.

    where: names the argument in errors. Raises: TaichiRuntimeTypeError if it is not an array, or its memory does not
    hold its numbers directly (sparse, lazily conjugated, on no device).
    """
    if isinstance(value, np.ndarray):
        return value
    if is_tensor(value):
        return _of_tensor(value, where)
    if safe_attribute(value, "requires_grad", bool, False):  # a tensor behind a wrapper; the protocols refuse it
        raise TaichiRuntimeTypeError(f"{where} is a tensor that requires grad", "pass `tensor.detach()`")
    try:
        found = _by_protocol(value, where)
    except TaichiRuntimeTypeError:
        raise
    except (AttributeError, TypeError, ValueError, RuntimeError, BufferError, KeyError) as error:
        message = f"{where} does not show its memory ({type(error).__name__}: {error})"
        raise TaichiRuntimeTypeError(message, "pass `numpy.array(x)`, a copy on the host") from None
    if found is None:
        raise TaichiRuntimeTypeError(
            f"{where} takes an array, and a {type(value).__name__} was given",
            "pass `ti.ndarray(...)` or a NumPy array (`numpy.array(x, dtype=...)`)",
        )
    return found


def _by_protocol(value: Any, where: str) -> Array | GpuArray | None:
    """Try one protocol after the other; return None if the object has none."""
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_interface(value, interface, where)
    if isinstance(value, np.generic):  # its interface gives a copy
        return None
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return _of_dlpack(value)
    if hasattr(type(value), "__array__") and not isinstance(value, Matrix):
        return _of_array_method(value)
    return None


def _of_array_method(value: Any) -> Array:
    """Return the array of an object that only has `__array__` (pandas, xarray): read-only if it is a copy.

    Two arrays that exist at once have different addresses if they are copies: what a kernel wrote there would be lost.
    """
    array, again = np.asarray(value), np.asarray(value)
    if array.flags.writeable and array.ctypes.data != again.ctypes.data:
        array.flags.writeable = False
    return array


# --- torch


def is_tensor(value: Any) -> bool:
    """Return whether `value` is a torch tensor; torch is not imported for it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def is_strided_tensor(value: Any) -> bool:
    """Return whether `value` is a torch tensor that has strides and is not sparse."""
    return is_tensor(value) and value.layout == sys.modules["torch"].strided


def _of_tensor(tensor: Any, where: str) -> Array | GpuArray:
    torch = sys.modules["torch"]
    if tensor.layout != torch.strided:
        raise TaichiRuntimeTypeError(
            f"{where} is a sparse tensor ({tensor.layout})", "pass `tensor.to_dense()`, or its indices and values"
        )
    for is_lazy, name in ((tensor.is_conj(), "conj"), (tensor.is_neg(), "neg")):
        if is_lazy:
            raise TaichiRuntimeTypeError(
                f"{where} is a lazy view: its memory holds the numbers before `{name}`",
                f"pass `tensor.resolve_{name}()`",
            )
    if tensor.device.type not in ("cpu", "cuda"):
        raise TaichiRuntimeTypeError(
            f"{where} is a tensor on device `{tensor.device}`",
            "pass `tensor.cpu()`" + (", once it holds numbers" if tensor.device.type == "meta" else ""),
        )
    dtype = _dtype_of_tensor(tensor, where)
    if tensor.device.type == "cpu":
        array: Array = tensor.detach().numpy()
        return array
    index: int = tensor.get_device()
    strides = tuple(stride * dtype.itemsize for stride in tensor.stride())
    return GpuArray(tensor.data_ptr(), tuple(tensor.shape), strides, dtype, True, index, None, tensor)


def _dtype_of_tensor(tensor: Any, where: str) -> np.dtype[Any]:
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in NUMBER_TYPES:
        raise TaichiRuntimeTypeError(
            f"{where} has dtype {name}, which kernels cannot hold", "pass `tensor.float()`, a copy"
        )
    return NUMBER_TYPES[name]


# --- protocols


def _of_interface(value: Any, interface: dict[str, Any], where: str) -> GpuArray:
    """Read `__cuda_array_interface__`, version 2 or 3; the stream was added in 3."""
    if interface.get("mask") is not None:
        raise TaichiRuntimeTypeError(f"{where} is a masked array", "pass its data and its mask as two arrays")
    dtype = np.dtype(interface["typestr"])
    shape = tuple(interface["shape"])
    address, is_read_only = interface["data"]
    strides = interface.get("strides")
    stream = interface.get("stream")
    return GpuArray(
        address or 0,
        shape,
        dense_strides(shape, dtype.itemsize) if strides is None else tuple(strides),
        dtype,
        not (is_read_only or library_of(value) in IMMUTABLE),
        getattr(getattr(value, "device", None), "id", None),
        0 if stream == LEGACY_STREAM else stream,
        value,
    )


def dense_strides(shape: tuple[int, ...], item_bytes: int) -> tuple[int, ...]:
    """Return the strides [bytes] of a row-major layout without gaps."""
    strides = []
    for extent in reversed(shape):
        strides.append(item_bytes)
        item_bytes *= extent
    return tuple(reversed(strides))


class _Capsule:
    """Passes an existing capsule to libraries that call `__dlpack__` themselves."""

    def __init__(self, capsule: Any, device: tuple[int, int]) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class _Writable:
    """Exposes memory as writable that NumPy assumes to be read-only; `owner` keeps it alive."""

    def __init__(self, array: Array) -> None:
        self.owner = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def _of_dlpack(value: Any) -> Array | GpuArray:
    """Read `__dlpack__` of either protocol; the older one has no read-only flag, so that the library decides."""
    kind, number = value.__dlpack_device__()
    device = int(kind), int(number)
    if device[0] in DLPACK_CUDA:
        if CUDA not in sys.modules:  # no session runs on CUDA, so none can use it
            return GpuArray(0, (), (), np.dtype(np.uint8), True, device[1], None, value)
        import cupy

        taken = cupy.from_dlpack(value)  # on CuPy's current stream: the producer orders its own work before
        found = _of_interface(taken, taken.__cuda_array_interface__, "")
        is_immutable = library_of(value) in IMMUTABLE
        return replace(found, is_writable=False) if is_immutable else found
    capsule = _take_capsule(value)
    array: Array = np.from_dlpack(_Capsule(capsule, device))
    is_versioned = "dltensor_versioned" in repr(capsule)
    is_known = is_versioned or array.flags.writeable or _is_immutable(value)
    return array if is_known else np.asarray(_Writable(array))


def library_of(value: Any) -> str:
    """Return the name of the package that the class of an object is from."""
    return type(value).__module__.partition(".")[0]


def _is_immutable(value: Any) -> bool:
    """Return whether the arrays of a library never change: it is known for that, or NumPy gets them read-only."""
    if library_of(value) in IMMUTABLE:
        return True
    return hasattr(type(value), "__array__") and not np.asarray(value).flags.writeable


def _take_capsule(value: Any) -> Any:
    if np.lib.NumpyVersion(np.__version__) < VERSIONED_SINCE:
        return value.__dlpack__()
    try:
        return value.__dlpack__(max_version=DLPACK_VERSION)
    except TypeError:  # a producer of the older protocol does not know the keyword
        return value.__dlpack__()
