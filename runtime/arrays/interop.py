"""Arrays as kernel arguments: their description for the compiler, and how a launch finds their memory.

In: an argument and the session. Out: `describe_argument`, and a key that is equal for arguments that one compiled
kernel takes in the same way. Memory is used in place if the device can access it; `staging` copies the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from ctypes import addressof, c_char
from math import prod
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeTypeError
from ...transpiler.ir.types import SCALAR_OF_NUMPY, Scalar, Struct, Type
from ...transpiler.lang.describe import is_described
from ...transpiler.lazy_dataclasses import dataclass
from ..session import session as sessions
from ..session.session import Session
from .dense_array import DenseArray
from .foreign import GpuArray, dense_strides, find_memory, is_strided_tensor, is_tensor
from .memory import Array, handle_of
from .structured import struct_of

ALIGNED = 0x100
PLAIN = 0x101
"""Flags of a NumPy array (`flags.num`): elements are aligned; and in C order without gaps."""


ARRAY_PROTOCOLS = ("__array_interface__", "__cuda_array_interface__", "__dlpack__")
"""Members by which arrays of other libraries are known."""
GRADIENT_HINT = "`ti.ndarray(dtype, shape, needs_grad=True)`, or a torch tensor that requires grad"


@dataclass(frozen=True, slots=True)
class ArgumentDescription:
    """An array argument.

    access: how a launch finds its memory: "ndarray" (has `.allocation`), "numpy", "torch", "cupy" (in place, the
    address given by the library) or "other" (by `staging`). strided: the kernel needs its strides.
    """

    element: Type
    shape: tuple[int, ...]
    access: str
    strided: bool = False


def describe_argument(
    value: Any, where: str, element_axes: int = 0, struct: Struct | None = None
) -> ArgumentDescription:
    """Return the description of an array argument; foreign arrays have scalar elements and all their axes, or structs.

    where: names the argument in errors. element_axes: how many of the last axes are those of a vector or matrix.
    struct: the type of elements that are structs, None to derive it from the array.
    Raises: TaichiRuntimeTypeError if a kernel cannot take it.
    """
    if isinstance(value, DenseArray):
        return _describe_ndarray(value, where)
    found = find_memory(value, where)
    session = sessions.active()
    if isinstance(found, GpuArray):
        check_gpu(session, found, where)
    element = struct_of(found.dtype, where, struct) if found.dtype.names else _scalar(found.dtype, where)
    strided = not is_contiguous(found) and element_strides(found, element_axes, session) is not None
    if is_packed_on_its_way() and isinstance(found, np.ndarray):
        return ArgumentDescription(element, found.shape, "other")
    return ArgumentDescription(element, tuple(found.shape), _access(session, value, found, strided), strided)


def _describe_ndarray(value: DenseArray, where: str) -> ArgumentDescription:
    if value.KIND != "ndarray":
        raise TaichiRuntimeTypeError(
            f"{where} takes an ndarray, and {value!r} was given",
            "annotate the parameter with `ti.template()`, or pass `ti.ndarray(...)`",
        )
    if value.path:
        raise TaichiRuntimeTypeError(
            f"{where} takes an ndarray, and {value!r} is a member of one, with gaps between its elements",
            "pass the ndarray of structs, and name the member in the kernel",
        )
    return ArgumentDescription(value.element, value.shape, "ndarray", value.describe_array().strided)


def _access(session: Session | None, value: Any, found: Array | GpuArray, strided: bool) -> str:
    """Return how launches find the memory of a foreign array that the device can access."""
    in_place = strided or is_contiguous(found)
    on_device = isinstance(found, GpuArray) or session is None or session.device.lazy_memory
    if not in_place or not on_device:
        return "other"
    if isinstance(value, np.ndarray):
        return "numpy"
    return "torch" if is_tensor(value) else "cupy" if is_cupy(value) else "other"


def is_cupy(value: Any) -> bool:
    """Return whether `value` is an array of CuPy, whose current stream launches follow in any case."""
    return type(value).__module__.partition(".")[0] == "cupy" and hasattr(value, "data")


def key_of_argument(value: Any, element_axes: int) -> Hashable:
    """Return a key that differs for arguments with different specializations, or different access to their memory.

    Equal keys mean equal descriptions except for the extents in front of the element axes: those of an element are
    part of the key, since only the first call with a key is classified, and a later array of shorter rows would be
    accessed behind its end. Part of every launch with foreign arrays, hence the table of functions by class.
    Raises: TaichiRuntimeTypeError as `describe_argument`.
    """
    kind = type(value)
    key_of = _KEYS.get(kind)
    if key_of is None:
        key_of = _KEYS[kind] = _key_function(value)
    return key_of(value, element_axes)


def _key_function(value: Any) -> Callable[[Any, int], Hashable]:
    """Return the function that makes the keys of all objects of a class."""
    if is_tensor(value):
        return _key_of_tensor
    return _key_of_cupy if is_cupy(value) else _key_of_object


def _key_of_numpy(value: Array, element_axes: int) -> Hashable:
    flags = value.flags.num
    if flags & PLAIN == PLAIN or is_packed_on_its_way():
        if element_axes:
            return np.ndarray, value.dtype, value.ndim, value.shape[-element_axes:]
        return np.ndarray, value.dtype, value.ndim
    if flags & ALIGNED and not element_axes:
        return np.ndarray, value.dtype, value.ndim, "strided"
    return _key_of_object(value, element_axes)


def _key_of_tensor(value: Any, element_axes: int) -> Hashable:
    if is_strided_tensor(value):
        is_dense = value.is_contiguous() or (not value.is_cuda and is_packed_on_its_way())
        if is_dense or not element_axes:
            inner = tuple(value.shape[-element_axes:]) if element_axes else ()
            kind = type(value), value.dtype, value.dim(), value.device
            return *kind, value.is_conj(), value.is_neg(), is_dense, inner
    return _key_of_object(value, element_axes)


def _key_of_cupy(value: Any, element_axes: int) -> Hashable:
    is_dense = value.flags.c_contiguous
    if is_dense or not element_axes:
        inner = value.shape[-element_axes:] if element_axes else ()
        return type(value), value.dtype, value.ndim, value.data.device_id, is_dense, inner
    return _key_of_object(value, element_axes)


def _key_of_object(value: Any, element_axes: int) -> Hashable:
    """Return the signature of a field or ndarray; of other arrays their description."""
    if is_described(value):
        return value.signature  # type: ignore[no-any-return]
    found = describe_argument(value, "an argument", element_axes)
    inner = found.shape[-element_axes:] if element_axes else ()
    return type(value), found.element, len(found.shape), found.access, found.strided, inner


_KEYS: dict[type, Callable[[Any, int], Hashable]] = {np.ndarray: _key_of_numpy}
"""Functions that make the key of an argument, by its class; determined once for each."""


# --- layout in memory


def is_packed_on_its_way() -> bool:
    """Return whether the device cannot access memory of the host: copies of arrays have no gaps."""
    session = sessions.active()
    return session is not None and not session.device.host_memory


def is_contiguous(array: Array | GpuArray) -> bool:
    """Return whether memory is row-major without gaps, with aligned elements."""
    if isinstance(array, np.ndarray):
        return array.flags.num & PLAIN == PLAIN
    if 0 in array.shape:
        return True
    dense = dense_strides(array.shape, array.dtype.itemsize)
    return array.address % array.dtype.itemsize == 0 and all(
        extent == 1 or stride == expected
        for extent, stride, expected in zip(array.shape, array.strides, dense, strict=True)
    )


def element_strides(array: Array | GpuArray, element_axes: int, session: Session | None) -> tuple[int, ...] | None:
    """Return the distance from one element to the next along each axis [elements], None if kernels cannot use it.

    element_axes: how many of the last axes are those of an element, which must be dense. The other strides must be
    multiples of it, and where indices have 32 bits (Vulkan), all of them together must fit.
    """
    item_bytes = array.dtype.itemsize
    axes = len(array.shape) - element_axes
    size_bytes = prod(array.shape[axes:]) * item_bytes
    if axes < 0 or not size_bytes or _address(array) % (array.dtype.alignment if array.dtype.names else item_bytes):
        return None
    dense = dense_strides(array.shape[axes:], item_bytes)
    inner = zip(array.shape[axes:], array.strides[axes:], dense, strict=True)
    outer = [
        stride if extent > 1 else 0 for extent, stride in zip(array.shape[:axes], array.strides[:axes], strict=True)
    ]
    if any(extent > 1 and stride != wanted for extent, stride, wanted in inner) or any(s % size_bytes for s in outer):
        return None
    strides = tuple(stride // size_bytes for stride in outer)
    reach = sum(abs(stride) * (extent - 1) for stride, extent in zip(strides, array.shape[:axes], strict=True))
    limit = None if session is None else session.device.index_limit
    return strides if limit is None or reach <= limit else None


def _address(array: Array | GpuArray) -> int:
    return array.address if isinstance(array, GpuArray) else array.ctypes.data


def host_address(array: Array, written: bool) -> int:
    """Return the address of a contiguous NumPy array. Part of every launch.

    written: the kernel writes to it, which only some of the arrays passed to one compiled kernel may allow.
    Raises: TaichiRuntimeTypeError for a read-only array that is written.
    """
    try:
        return addressof(c_char.from_buffer(array.data))  # faster than `array.ctypes.data`, and checks it too
    except (TypeError, ValueError, BufferError):
        return checked_address(array, written)


def checked_address(array: Array, written: bool) -> int:
    """Return the address if the fast path fails: empty, read-only, strided, f16 in old NumPy."""
    if written:
        check_writable(array, "an argument")
    return array.ctypes.data


def tensor_address(tensor: Any) -> int:
    """Return the address of a torch tensor that the kernel writes. Raises: TaichiRuntimeTypeError as torch would."""
    check_writable(tensor, "an argument")
    address: int = tensor.data_ptr()
    return address


def cupy_address(array: Any) -> int:
    """Return the address of a strided CuPy array that the kernel writes. Raises: TaichiRuntimeTypeError if expanded."""
    check_expanded(array.shape, array.strides, "an argument")
    address: int = array.data.ptr
    return address


def has_grad(value: Any) -> bool:
    """Return whether an argument has a gradient, or is a tensor that gets one."""
    return getattr(value, "grad", None) is not None or bool(getattr(value, "requires_grad", False))


def owns_gradients(values: Sequence[Any]) -> bool:
    """Return whether the gradient of each array among arguments has memory of its own; False if that is not known."""
    arrays: set[Any] = set()
    gradients: list[Any] = []
    kinds = set()
    for value in values:
        if isinstance(value, DenseArray):
            if value.KIND != "ndarray":
                continue
            kinds.add(DenseArray)
            arrays.add(_allocation_of(value))
            gradients += [] if value.grad is None else [_allocation_of(value.grad)]
        elif is_strided_tensor(value):
            kinds.add(type(value))
            memories = [tensor.untyped_storage().data_ptr() for tensor in (value, value.grad) if tensor is not None]
            arrays.add(memories[0])
            gradients += memories[1:]
        elif any(hasattr(value, name) for name in ARRAY_PROTOCOLS) and not isinstance(value, np.generic):
            return False
    return len(kinds) == 1 and None not in arrays and len({*gradients} - arrays) == len(gradients)


def _allocation_of(array: DenseArray) -> Any:
    """Return what arrays in one allocation have in common, None for a placeholder."""
    return None if array.allocation is None else handle_of(array)


def gradient_of(value: Any, name: str, is_dense: bool) -> Any:
    """Return the gradient of an argument; a tensor without one gets zeros, as in Taichi.

    name: of the argument, in errors. is_dense: the kernel takes no strides.
    Raises: TaichiRuntimeTypeError if there is none.
    """
    found = getattr(value, "grad", None)
    if found is None and is_tensor(value) and value.is_floating_point():
        found = value.grad = value.detach().new_zeros(value.shape)
    if found is None:
        raise TaichiRuntimeTypeError(f"argument `{name}` has no gradient, which the kernel uses", GRADIENT_HINT)
    if is_dense and is_tensor(found) and not found.is_contiguous():
        found = value.grad = found.contiguous()
    return found


# --- checks


def check_writable(array: Any, where: str) -> None:
    """Check that a kernel may write into an argument of another library.

    A tensor that requires grad may only be written under `torch.no_grad()`, as in torch itself: autograd cannot track
    kernels. Elements that share one address cannot be written separately.
    Raises: TaichiRuntimeTypeError.
    """
    if is_tensor(array):
        if array.requires_grad and _torch_records(array):
            raise TaichiRuntimeTypeError(
                f"{where} is a tensor that requires grad, and the kernel writes it, which autograd would not see",
                "pass `tensor.detach()`, which shares its memory, or call the kernel under `torch.no_grad()`",
            )
        check_expanded(array.shape, array.stride(), where)
        return
    if not (array.is_writable if isinstance(array, GpuArray) else array.flags.writeable):
        raise read_only(array, where)
    check_expanded(array.shape, array.strides, where)


def check_expanded(shape: Sequence[int], strides: Sequence[int], where: str) -> None:
    """Check that no two elements of an array that is written share one address. Raises: TaichiRuntimeTypeError."""
    if 0 not in strides or 0 in shape:
        return
    if any(extent > 1 and stride == 0 for extent, stride in zip(shape, strides, strict=True)):
        raise TaichiRuntimeTypeError(
            f"{where} of shape {tuple(shape)} is expanded: several elements share one address, and the kernel "
            "writes it",
            "pass a copy, `x.copy()` or `tensor.contiguous()`",
        )


def check_argument(value: Any, where: str) -> None:
    """Check the same for any argument; our own ndarrays may always be written. Raises: TaichiRuntimeTypeError."""
    if not isinstance(value, DenseArray):
        check_writable(value if is_tensor(value) else find_memory(value, where), where)


def _torch_records(tensor: Any) -> bool:
    import torch  # type: ignore[import-not-found, unused-ignore]  # a tensor was given, so it is loaded

    return bool(torch.is_grad_enabled())


def read_only(array: Any, where: str) -> TaichiRuntimeTypeError:
    """Return the error for a read-only array that a kernel writes."""
    return TaichiRuntimeTypeError(
        f"{where} of shape {tuple(array.shape)} is read-only, and the kernel writes it",
        "pass a copy: `x.copy()`, or `numpy.array(x)` of an array of a library that never changes its arrays",
    )


def check_gpu(session: Session | None, array: GpuArray, where: str) -> None:
    """Check that kernels run on the GPU that holds an array. Raises: TaichiRuntimeTypeError."""
    if session is None:
        return
    if not session.device.cuda_memory:
        raise TaichiRuntimeTypeError(
            f"{where} is memory of a CUDA device, and kernels run on ti.{session.arch.name}",
            "`ti.init(arch=ti.cuda)`, or copy it to the host: `tensor.cpu()`, `cupy.asnumpy(x)`",
        )
    number = getattr(session.device, "index", 0)
    if array.gpu is not None and array.gpu != number:
        raise TaichiRuntimeTypeError(
            f"{where} is memory of GPU {array.gpu}, and kernels run on GPU {number}",
            f"copy it, `tensor.to('cuda:{number}')`, or choose the GPU by SHADESMITH_DEVICE={array.gpu}",
        )


def _scalar(dtype: np.dtype[Any], where: str) -> Scalar:
    scalar = SCALAR_OF_NUMPY.get(dtype)
    if scalar is not None and dtype.isnative:
        return scalar
    if dtype.kind in "biuf" and not dtype.isnative:
        raise TaichiRuntimeTypeError(
            f"{where} has bytes in the other order ({dtype})", "pass `x.astype(x.dtype.newbyteorder('='))`"
        )
    raise TaichiRuntimeTypeError(
        f"{where} has dtype {dtype}, which kernels cannot hold", "convert it with `x.astype(...)` to a number type"
    )
