"""Arrays of other libraries as kernel arguments: NumPy in place or through device memory, others by protocol.

In: an argument and the session. Out: what it is (`describe_argument`), and its address for one launch: `host_address`
where the device computes in this process's memory, `stage_argument` elsewhere. Objects with `__cuda_array_interface__`
(CuPy, torch on CUDA) are used in place by a CUDA device; anything NumPy can see without a copy counts as NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..transpiler.errors import TaichiRuntimeTypeError
from ..transpiler.ir.types import SCALAR_OF_NUMPY, Scalar, Type
from . import session as sessions
from .dense_array import DenseArray
from .devices.device import Allocation
from .memory import MAX_ITEMS, MIN_BYTES, Array, bytes_of
from .session import Session

if TYPE_CHECKING:
    from ..transpiler.backend.interface import ArraySlot

SYNCHRONOUS = ("c", "python")
"""Targets whose launches have ended when they return, so that a caller may touch an array used in place at once."""


@dataclass(frozen=True, slots=True)
class ArgumentDescription:
    """An array argument. access: how a launch finds its memory: "ndarray" (has `.allocation`), "numpy" (memory of this
    process, used in place) or "other" (address by `stage_argument`)."""

    element: Type
    shape: tuple[int, ...]
    access: str


@dataclass(frozen=True, slots=True)
class Staged:
    """An argument ready for one launch. finish: to be called after it, brings results back; None: nothing to do."""

    address: int
    finish: Callable[[], None] | None = None


def describe_argument(value: Any, where: str) -> ArgumentDescription:
    """Return what an array argument is; foreign arrays have scalar elements and all their axes.

    where: names the argument in errors. Raises: TaichiRuntimeTypeError where a kernel cannot take it.
    """
    if isinstance(value, DenseArray):
        if value.KIND != "ndarray":
            raise TaichiRuntimeTypeError(
                f"{where} takes an ndarray, and {value!r} was given. "
                "Hint: annotate the parameter with `ti.template()`, or pass `ti.ndarray(...)`"
            )
        if value.path:
            raise TaichiRuntimeTypeError(
                f"{where} takes an ndarray, and {value!r} is a member of one, with gaps between its elements. "
                "Hint: pass the ndarray of structs, and name the member in the kernel"
            )
        return ArgumentDescription(value.element, value.shape, "ndarray")
    if getattr(value, "requires_grad", False):  # torch raises an error of its own for every way in
        raise TaichiRuntimeTypeError(f"{where} is a tensor that requires grad. Hint: pass `tensor.detach()`")
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        check_strides(interface["shape"], interface["strides"], np.dtype(interface["typestr"]).itemsize, where)
        return ArgumentDescription(_scalar(np.dtype(interface["typestr"]), where), tuple(interface["shape"]), "other")
    array = as_numpy(value, where)
    check_contiguous(array, where)
    session = sessions.CURRENT
    in_place = isinstance(value, np.ndarray) and (session is None or session.device.name in SYNCHRONOUS)
    return ArgumentDescription(_scalar(array.dtype, where), array.shape, "numpy" if in_place else "other")


def as_numpy(value: Any, where: str) -> Array:
    """Return the array behind a NumPy array or an object that shows its memory to NumPy without a copy.

    Raises: TaichiRuntimeTypeError for anything else.
    """
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
        try:
            return np.asarray(value) if hasattr(value, "__array_interface__") else np.from_dlpack(value)
        except (TypeError, ValueError, RuntimeError, BufferError) as error:
            text = f"{where} cannot be shared with NumPy: {error}. Hint: pass `numpy.array(x)`, a copy on the host"
            raise TaichiRuntimeTypeError(text) from None
    raise TaichiRuntimeTypeError(
        f"{where} takes an array, and a {type(value).__name__} was given. "
        "Hint: pass `ti.ndarray(...)` or a NumPy array (`numpy.array(x, dtype=...)`)"
    )


def check_contiguous(array: Array, where: str) -> None:
    """Check that memory is row by row without gaps. Raises: TaichiRuntimeTypeError where it is not."""
    if not array.flags.c_contiguous:
        raise non_contiguous(where)


def check_strides(shape: Sequence[int], strides: Sequence[int] | None, item_bytes: int, where: str) -> None:
    """Check strides [bytes] of an array interface likewise; None stands for contiguous."""
    if strides is None:
        return
    expected = item_bytes
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent > 1 and stride != expected:
            raise non_contiguous(where)
        expected *= extent


def non_contiguous(where: str) -> TaichiRuntimeTypeError:
    """Return the error for an array with gaps, or in Fortran's order."""
    return TaichiRuntimeTypeError(
        f"{where} is not contiguous: its memory is not row by row without gaps. "
        "Hint: pass `numpy.ascontiguousarray(x)`; results then stand in that copy"
    )


def host_address(array: Array, written: bool) -> int:
    """Return where a contiguous NumPy array stands in memory. Part of every launch.

    written: the kernel changes it. Arrays of one compiled kernel may still differ in what is checked here.
    Raises: TaichiRuntimeTypeError for a read-only array that is written, and for one that is not contiguous.
    """
    try:
        return addressof(c_char.from_buffer(array.data))  # faster than `array.ctypes.data`, and checks both
    except (TypeError, ValueError, BufferError):
        return _checked_address(array, written)


def _checked_address(array: Array, written: bool) -> int:
    """Return the address where the fast way does not answer: empty, read-only, not contiguous, f16 in old NumPy."""
    flags = array.flags
    if written and not flags.writeable:
        raise read_only(array)
    if not flags.c_contiguous:
        raise non_contiguous(f"an argument of shape {array.shape}")
    return array.ctypes.data


def is_read_only(value: Any) -> bool:
    """Tell whether NumPy must not write into `value`."""
    return isinstance(value, np.ndarray) and not value.flags.writeable


def read_only(array: Any, name: str = "an argument") -> TaichiRuntimeTypeError:
    """Return the error for a read-only array that a kernel writes."""
    return TaichiRuntimeTypeError(
        f"{name} of shape {np.shape(array)} is read-only, and the kernel writes it. Hint: pass `x.copy()`"
    )


def stage_argument(session: Session, argument: Any, slot: ArraySlot, key: object) -> Staged:
    """Bring an array to the device for one launch, in memory that is kept for the next one.

    key: names the place of the argument among all kernels, hashable; its memory grows as needed.
    Raises: TaichiRuntimeTypeError for a read-only array that is written, or one on another device.
    """
    where = f"argument `{slot.name}`"
    interface = getattr(argument, "__cuda_array_interface__", None)
    if interface is not None:
        return _in_place(session, interface, slot, where)
    array = as_numpy(argument, where)
    check_contiguous(array, where)
    if slot.written and not array.flags.writeable:
        raise read_only(array, where)
    if session.device.name == "vulkan" and array.size > MAX_ITEMS:
        raise TaichiRuntimeTypeError(
            f"{where} has {array.size:,} elements; GLSL indexes at most {MAX_ITEMS:,}. "
            "Hint: pass it in parts, or use ti.cpu"
        )
    if session.device.host_memory:  # such a device computes in any memory of this process (lavapipe), but later
        return Staged(array.ctypes.data, None if session.device.name in SYNCHRONOUS else session.wait)
    allocation = _stage_for(session, key, array.nbytes)
    if array.nbytes:
        session.device.write(allocation, bytes_of(array))
    if not slot.written or not array.nbytes:
        return Staged(allocation.address)
    return Staged(allocation.address, lambda: session.device.read(allocation, bytes_of(array)))


def _in_place(session: Session, interface: dict[str, Any], slot: ArraySlot, where: str) -> Staged:
    if session.device.name != "cuda":
        raise TaichiRuntimeTypeError(
            f"{where} is memory of a CUDA device, and kernels run on ti.{session.arch.name}. "
            "Hint: `ti.init(arch=ti.cuda)`, or copy it to the host: `tensor.cpu()`, `cupy.asnumpy(x)`"
        )
    address, is_read_only = interface["data"]
    check_strides(interface["shape"], interface.get("strides"), np.dtype(interface["typestr"]).itemsize, where)
    if slot.written and is_read_only:
        raise TaichiRuntimeTypeError(f"{where} is read-only, and the kernel writes it. Hint: pass `x.copy()`")
    return Staged(address or 0)


def _stage_for(session: Session, key: object, size_bytes: int) -> Allocation:
    stages = session.stages
    allocation = stages.get(key)
    if allocation is None or allocation.size_bytes < size_bytes:
        if allocation is not None:
            session.release(stages.pop(key))
        allocation = stages[key] = session.allocate(max(MIN_BYTES, size_bytes))
    return allocation


def _scalar(dtype: np.dtype[Any], where: str) -> Scalar:
    scalar = SCALAR_OF_NUMPY.get(dtype)
    if scalar is not None and dtype.isnative:
        return scalar
    if dtype.kind in "biuf" and not dtype.isnative:
        raise TaichiRuntimeTypeError(
            f"{where} has bytes in the other order ({dtype}). Hint: pass `x.astype(x.dtype.newbyteorder('='))`"
        )
    raise TaichiRuntimeTypeError(
        f"{where} has dtype {dtype}, which kernels cannot hold. Hint: convert it with `x.astype(...)` to a number type"
    )
