"""`ti.ndarray`: dense arrays passed to kernels as arguments; their shape is not part of the compiled code.

In: an element type (a number type, a vector or matrix type) and a shape. Out: `ScalarNdarray`, `MatrixNdarray` or
`StructNdarray`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.types import Struct, Tensor, Type, scalars_of
from ...transpiler.lang.describe import ArrayDescription
from ..devices.host_arrays import reach_below
from ..loading import loader
from ..session.session import Session, current
from ..session.tracebacks import hides_own_frames_of
from .dense_array import DenseArray, MatrixArray, ScalarArray, check_gradient, make_all, to_shape
from .member_names import class_for
from .memory import MemberMemory, Memory
from .struct_array import StructArray, stored_type
from .views import SliceMemory, slice_of_view

_devices = loader("..session.devices", __package__)


class SliceableArray(DenseArray):
    """The base of ndarrays: unlike fields they can be sliced, and compiled code does not depend on their memory."""

    __slots__ = ()

    def _signature(self) -> object:
        return signature_of(self.element, len(self.shape), self.is_strided)

    def __copy__(self) -> Any:
        return copy_of(self)

    def __deepcopy__(self, memo: Any) -> Any:
        made = memo[id(self)] = copy_of(self)
        return made

    @hides_own_frames_of(TypeError)
    def to(self, place: Any) -> Any:
        """Return a copy in another session, with a gradient if there is one; the array itself if it is there already.

        place: a session, or the name of a device, "cuda:1". Between GPUs the copy does not pass through the host.

        Example:
            >>> x = ti.ndarray(ti.f32, 3)
            >>> y = x.to("python")
            >>> y.session
            <session 2 (ti.python) on the interpreter>
        """
        session = _devices().session_at(place)
        if session is self.session:
            return self
        with session:
            return copy_of(self)

    KIND = "ndarray"
    supports_slices = True

    @property
    def strides(self) -> tuple[int, ...]:
        """Distance from one element to the next along each axis [elements]."""
        return tuple(step // self.element.size_bytes for step in self.memory.view.strides[: len(self.shape)])

    @property
    def begin(self) -> int:
        """The first element, counted from the one at the lowest address [elements]."""
        return reach_below(self.shape, self.strides)

    @property
    def is_strided(self) -> bool:
        """Whether there are gaps between the elements, or their order is not row-major."""
        return isinstance(self.memory, SliceMemory) and not self.memory.view.flags.c_contiguous

    def describe_array(self) -> ArrayDescription:
        """Return the description of this array for the compiler."""
        found = super().describe_array()
        return replace(found, strided=True) if self.is_strided else found

    def get_type(self) -> Any:
        """Return (element type, shape, number of axes), which a specialization depends on."""
        return self.element, self.shape, len(self.shape)

    def sliced(self, key: Any) -> DenseArray:
        """Return the view that an index with slices selects, as in NumPy; it shares the memory.

        Raises: TaichiIndexError, ValueError as NumPy does.
        """
        memory: Any = self.memory
        if memory.is_freed:
            raise memory.freed_error()
        try:
            view = slice_of_view(memory.view, key, len(self.shape))
        except IndexError as error:
            raise self._index_error(str(error), "write as in NumPy, `x[2:5]`, `x[:, 3]`") from None
        whole = memory.whole if isinstance(memory, SliceMemory | MemberMemory) else memory
        owned = SliceMemory(whole, view, self.element)
        result: DenseArray = type(self).in_memory(owned, self.element, owned.shape, self.name)
        result.owner, result.path = self.owner, self.path
        result.grad = None if self.grad is None else self.grad.sliced(key)
        return result


class ScalarNdarray(SliceableArray, ScalarArray):
    """An ndarray of numbers.

    Made by `ti.ndarray`, from element type, shape and name in the current session.

    Example:
        >>> x = ti.ndarray(ti.f32, shape=(2, 3))
        >>> x
        <ti.ndarray of f32, shape (2, 3)>
    """

    __slots__ = ()


class MatrixNdarray(SliceableArray, MatrixArray):
    """An ndarray of vectors or matrices, stored row-major.

    Made by `ti.Vector.ndarray` and `ti.Matrix.ndarray`, from element type, shape and name in the current session.

    Example:
        >>> x = ti.Vector.ndarray(2, ti.f32, shape=3)
        >>> x.to_numpy().shape
        (3, 2)
    """

    __slots__ = ()


class StructNdarray(SliceableArray, StructArray):
    """An ndarray of structs, one after the other in memory."""

    __slots__ = ()

    def _signature(self) -> object:
        # Types with equal members may have different methods.
        return self.element.origin, len(self.shape), self.is_strided

    def _member_array(self, name: str, element: Type) -> DenseArray:
        kind = _class_of(element)
        member = kind.__new__(kind)
        member.as_member(self, name, element)
        member.grad = None if self.grad is None else self.grad.get_member_field(name)
        return member


def _class_of(element: Type) -> type[ScalarNdarray] | type[MatrixNdarray] | type[StructNdarray]:
    if isinstance(element, Struct):
        return class_for(StructNdarray, element)
    return MatrixNdarray if isinstance(element, Tensor) else ScalarNdarray


@hides_own_frames_of(TypeError, ValueError)
def ndarray(dtype: Any, shape: Any, needs_grad: bool = False, pinned: bool = False) -> DenseArray:
    """Make a zeroed ndarray of `shape` (an integer or a tuple; extents may be 0).

    dtype: a number type, Python's `int` or `float`, or a vector, matrix or struct type. needs_grad: make `.grad` as
    well. pinned: in page-locked memory of the host if there is a CUDA driver: copies to GPUs are faster, and kernels of
    a CUDA session use it in place. Other sessions ignore it.
    Raises: TaichiRuntimeError before `ti.init()`, for an invalid shape, and if there is not enough memory.

    Example:
        >>> x = ti.ndarray(ti.f32, shape=(2, 3))
        >>> x.fill(1.0)
        >>> x.to_numpy().sum()
        6.0
    """
    session = current("ndarray")
    element = stored_type(dtype)
    extents = to_shape(shape, _refused)
    if any(extent < 0 for extent in extents):
        raise _refused(extents)
    if not needs_grad:
        return _make(session, element, extents, pinned)
    for scalar in scalars_of(element):
        check_gradient(scalar)
    result, result.grad = make_all([partial(_make, session, element, extents, pinned)] * 2)
    return result  # type: ignore[no-any-return]


def copy_of(array: DenseArray) -> DenseArray:
    """Return a new ndarray with the elements of `array`, and with its gradient if it has one."""
    made = ndarray(array.element, array.shape, needs_grad=array.grad is not None)
    made.copy_from(array)
    if array.grad is not None:
        assert made.grad is not None
        made.grad.copy_from(array.grad)
    return made


class _NoMemory:
    """The memory of a placeholder, of which only the type matters."""

    allocation = None
    is_freed = False


def make_placeholder(element: Type, ndim: int, name: str) -> Any:
    """Return an ndarray of this element and number of axes for the compiler; it has no memory."""
    return _class_of(element).in_memory(_NoMemory(), element, (0,) * ndim, name)


@cache
def signature_of(element: Type, ndim: int, is_strided: bool = False) -> str:
    """Return the signature of all ndarrays of this element and number of axes; one string, so comparing is cheap."""
    return f"ndarray({element}, {ndim}{', strided' if is_strided else ''})"


def array_in_memory(whole: Memory, view: Any, element: Type, name: str) -> DenseArray:
    """Return an ndarray over a part of `whole`. view: of that part, a NumPy array over the bytes of `whole.view`."""
    memory = SliceMemory(whole, view, element)
    result: DenseArray = _class_of(element).in_memory(memory, element, memory.shape, name)
    return result


def _make(session: Session, element: Type, shape: tuple[int, ...], pinned: bool = False) -> DenseArray:
    return _class_of(element)(session, element, shape, pinned=pinned)


def _refused(shape: Any) -> Exception:
    return TaichiRuntimeError(
        f"{shape} is not a valid shape for ndarray", "write an integer, or a tuple of them, from 0"
    )
