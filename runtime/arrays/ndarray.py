"""`ti.ndarray`: dense arrays passed to kernels as arguments, whose shape is no part of the compiled code.

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
from ..session.session import Session, current
from ..session.tracebacks import hides_own_frames_of
from .dense_array import DenseArray, MatrixArray, ScalarArray, check_gradient, make_all, to_shape
from .memory import MemberMemory, Memory
from .struct_array import StructArray, stored_type
from .views import SliceMemory, slice_of_view


class SliceableArray(DenseArray):
    """What ndarrays have beside fields: parts that share their memory, and no share in what is compiled."""

    __slots__ = ()
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
        """Whether there are gaps between the elements, or they are in another order than row by row."""
        return isinstance(self.memory, SliceMemory) and not self.memory.view.flags.c_contiguous

    def describe_array(self) -> ArrayDescription:
        """Return what a kernel must know of this array."""
        found = super().describe_array()
        return replace(found, strided=True) if self.is_strided else found

    def get_type(self) -> Any:
        """Return its (element type, shape, number of axes), what a specialization depends on."""
        return self.element, self.shape, len(self.shape)

    def part(self, key: Any) -> DenseArray:
        """Return the part of this array that an index with slices means to NumPy; it shares the memory.

        Raises: TaichiIndexError, ValueError as NumPy does.
        """
        memory: Any = self.memory
        if memory.is_gone:
            raise memory.gone()
        try:
            view = slice_of_view(memory.view, key, len(self.shape))
        except IndexError as error:
            raise self._index_error(str(error), "write as in NumPy, `x[2:5]`, `x[:, 3]`") from None
        owned = SliceMemory(
            memory.whole if isinstance(memory, SliceMemory | MemberMemory) else memory, view, self.element
        )
        part: DenseArray = type(self).in_memory(owned, self.element, owned.shape, self.name)
        part.owner, part.path = self.owner, self.path
        part.grad = None if self.grad is None else self.grad.part(key)
        return part


class ScalarNdarray(SliceableArray, ScalarArray):
    """An ndarray of numbers."""

    __slots__ = ()

    def _signature(self) -> object:
        return signature_of(self.element, len(self.shape), self.is_strided)


class MatrixNdarray(SliceableArray, MatrixArray):
    """An ndarray of vectors or matrices, stored row by row."""

    __slots__ = ()

    def _signature(self) -> object:
        return signature_of(self.element, len(self.shape), self.is_strided)


class StructNdarray(SliceableArray, StructArray):
    """An ndarray of structs, one after the other in memory."""

    __slots__ = ()

    def _signature(self) -> object:
        # Types that look alike may still have other methods.
        return self.element.origin, len(self.shape), self.is_strided

    def _member_array(self, name: str, element: Type) -> DenseArray:
        kind = _class_of(element)
        member = kind.__new__(kind)
        member.as_member(self, name, element)
        member.grad = None if self.grad is None else self.grad.get_member_field(name)
        return member


def _class_of(element: Type) -> type[ScalarNdarray] | type[MatrixNdarray] | type[StructNdarray]:
    if isinstance(element, Struct):
        return StructNdarray
    return MatrixNdarray if isinstance(element, Tensor) else ScalarNdarray


@hides_own_frames_of(TypeError, ValueError)
def ndarray(dtype: Any, shape: Any, needs_grad: bool = False) -> DenseArray:
    """Make a zeroed ndarray of `shape` (an integer or a tuple; extents may be 0).

    dtype: a number type, Python's `int` or `float`, or a vector, matrix or struct type. needs_grad: make `.grad` beside
    it.
    Raises: TaichiRuntimeError before `ti.init()`, for a shape that is none, and if memory does not suffice.
    """
    session = current("ndarray")
    element = stored_type(dtype)
    extents = to_shape(shape, _refused)
    if any(extent < 0 for extent in extents):
        raise _refused(extents)
    if not needs_grad:
        return _make(session, element, extents)
    for scalar in scalars_of(element):
        check_gradient(scalar)
    result, result.grad = make_all([partial(_make, session, element, extents)] * 2)
    return result  # type: ignore[no-any-return]


class _NoMemory:
    """Stands for memory where only the type of an array matters."""

    allocation = None
    is_gone = False


def make_placeholder(element: Type, ndim: int, name: str) -> Any:
    """Return what is to compilers an ndarray of this element and number of axes; it has no memory."""
    return _class_of(element).in_memory(_NoMemory(), element, (0,) * ndim, name)


@cache
def signature_of(element: Type, ndim: int, is_strided: bool = False) -> str:
    """Return the one text that stands for all ndarrays of this element and number of axes; comparing it is cheap."""
    return f"ndarray({element}, {ndim}{', strided' if is_strided else ''})"


def array_in_memory(whole: Memory, view: Any, element: Type, name: str) -> DenseArray:
    """Return an ndarray over a part of some memory. view: of the part, a NumPy array over the bytes of `whole.view`."""
    memory = SliceMemory(whole, view, element)
    result: DenseArray = _class_of(element).in_memory(memory, element, memory.shape, name)
    return result


def _make(session: Session, element: Type, shape: tuple[int, ...]) -> DenseArray:
    return _class_of(element)(session, element, shape)


def _refused(shape: Any) -> Exception:
    return TaichiRuntimeError(f"{shape} is not a valid shape for ndarray")
