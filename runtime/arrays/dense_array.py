"""The base of fields and ndarrays: indexing from Python, copies to and from NumPy, fill, and life with a session.

In: an element type, a shape and a session. Out: the abstract bases `ScalarArray` (of `ScalarField` and `ScalarNdarray`)
and `MatrixArray` (of `MatrixField` and `MatrixNdarray`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import index as as_index
from typing import Any, ClassVar, NoReturn

import numpy as np

from ...transpiler.errors import TaichiIndexError, TaichiRuntimeError
from ...transpiler.ir.types import Scalar, Tensor, Type, count_scalars, describe_type, scalars_of
from ...transpiler.lang.describe import ArrayDescription, Step, name_step
from ...transpiler.lang.matrix import wrap
from ..session.session import Session
from ..session.tracebacks import hides_own_frames, hides_own_frames_of, user_error
from ..viewed import Viewed
from .by_kernel import is_copied, is_filled
from .exchange import Exchange
from .memory import Array, Ended, MemberMemory, Memory, check_count
from .split_memory import SplitMemory
from .stored_numbers import check_fill, is_plain, to_components, to_scalar
from .views import has_slice


class SliceRequested(Exception):
    """An index has slices, so it selects a view and not an element."""


WRITE_OBSERVERS: list[Callable[[Any, Any, Callable[[], None]], None]] = []
"""Called before a whole array is written from Python, with the array, the array that is copied, None for values, and
what writes the same again."""


class DenseArray(Exchange, Viewed):
    """A dense array on a device, as Python uses it.

    Attributes:
        memory: its memory, shared with its member views.
        allocation: that of the memory, stored here because launches read it.
        element: scalar, tensor or struct; dtype: its scalar.
        KIND: as in `ArrayDescription`.
        _is_mapped: an index differs from the position in the view.
        _extent: of an array of one axis that is not mapped, else -1.
    """

    KIND: ClassVar[str]
    __slots__ = (
        "__weakref__",
        "_extent",
        "_is_mapped",
        "allocation",
        "dtype",
        "element",
        "grad",
        "lease",
        "memory",
        "name",
        "offset",
        "owner",
        "path",
        "shape",
        "signature",
    )

    def __init__(
        self, session: Session, element: Type, shape: tuple[int, ...], name: str = "", pinned: bool = False
    ) -> None:
        memory = Memory(session, element, shape, owner_name(self.KIND, name, element, shape), pinned=pinned)
        limit = session.device.index_limit
        if limit is not None and self.KIND == "ndarray":  # a kernel may store the numbers of elements (`staged_stores`)
            check_count((*shape, count_scalars(element)), is_row_major=True, limit=limit)
        self._set_up(memory, element, shape, name)
        self.signature: object = self._signature()
        session.register(self)

    @classmethod
    def in_memory(cls, memory: Any, element: Type, shape: tuple[int, ...], name: str) -> Any:
        """Return an array over memory that another object owns."""
        array = cls.__new__(cls)
        array._set_up(memory, element, shape, name)
        array.signature = array._signature()
        return array

    def _set_up(self, memory: Any, element: Type, shape: tuple[int, ...], name: str) -> None:
        self.memory: Memory = memory
        self.allocation = memory.allocation
        self.element: Type = element
        self.dtype: Scalar = next(scalars_of(element))  # of structs the first one, as in Taichi
        self.shape = shape
        self.offset: tuple[int, ...] = ()
        self.name = name
        self.grad: Any = None
        self.owner: DenseArray | None = None
        self.path: tuple[Step, ...] = ()
        self._extent = shape[0] if len(shape) == 1 else -1
        self._is_mapped = False

    def as_member(self, owner: DenseArray, step: Step, element: Type) -> None:
        """Initialize this array as a member of the elements of `owner`; it shares the memory."""
        root, path = owner if owner.owner is None else owner.owner, (*owner.path, step)
        name = name_step(owner.name, owner.element, step)
        self._set_up(MemberMemory(root.memory, path, element), element, owner.shape, name)
        self.owner, self.path = root, path
        self.offset, self._extent, self._is_mapped = owner.offset, owner._extent, owner._is_mapped
        self.signature = (root.signature, path)

    supports_slices: ClassVar[bool] = False
    """Whether `x[2:5]` is a view, which `sliced` returns."""

    def sliced(self, key: Any) -> DenseArray:
        """Return the view that an index with slices selects."""
        raise self._index_error("cannot be sliced")

    # --- for the compiler and the launcher

    def describe_array(self) -> ArrayDescription:
        """Return the description of this array for the compiler."""
        return ArrayDescription(self.element, self.shape, self.KIND, self.name or None, self.owner, self.path)

    def end(self) -> None:
        """Free the memory because the session ends; any later use raises."""
        self.memory.end()
        self.allocation = Ended(self.memory.freed_error)  # as in `Memory.end`

    @abstractmethod
    def _signature(self) -> object:
        """Return what a compiled kernel depends on: arrays with equal signatures share one."""

    # --- sessions

    @property
    def session(self) -> Session:
        """The session that it belongs to. Raises: TaichiRuntimeError for a field that is not placed."""
        return self.memory.session  # type: ignore[return-value]  # a session to all users of arrays

    # --- whole-array operations

    @property
    def element_shape(self) -> tuple[int, ...]:
        """Shape of one element: () for scalars, (n,) for vectors, (n, m) for matrices."""
        return self.element.shape if isinstance(self.element, Tensor) else ()

    @hides_own_frames
    def to_numpy(self, dtype: Any = None) -> Array:
        """Return a copy, shape (*shape, *element shape), after all launches so far. dtype: type to convert to."""
        values = self.memory.read_all()
        return values if dtype is None else values.astype(dtype, copy=False)

    @hides_own_frames_of(TypeError, ValueError)
    def from_numpy(self, array: Array) -> None:
        """Set all elements from `array`, shape (*shape, *element shape), converting its number type.

        Raises: TypeError if it is not a NumPy array of numbers; ValueError if the shape differs.
        """
        values = self._checked(array)
        for observer in WRITE_OBSERVERS:
            observer(self, None, partial(self.memory.write_all, values.copy()))
        self.memory.write_all(values)

    @hides_own_frames_of(TypeError, ValueError)
    def fill(self, val: Any) -> None:
        """Set every element to `val`: a number, or for vectors and matrices a list or Matrix of their shape."""
        if not is_plain(self.dtype, val):
            check_fill(self.element, val, self)
        value = self.pack(val)
        for observer in WRITE_OBSERVERS:
            observer(self, None, partial(self.memory.fill, value))
        if not is_filled(self, value):
            self.memory.fill(value)

    @hides_own_frames_of(TypeError, ValueError)
    def copy_from(self, other: Any) -> None:
        """Copy another array of the same kind and shape. Raises: TypeError, ValueError if it is not."""
        if not isinstance(other, DenseArray) or other.KIND != self.KIND:
            raise TypeError(f"Cannot copy from a non-{self.KIND} object: {self!r} takes another {self.KIND}")
        if other.shape != self.shape or other.element_shape != self.element_shape:
            raise ValueError(
                f"cannot copy {other!r} into {self!r}: shapes are {_full(other)} and {_full(self)}, and must be equal"
            )
        for observer in WRITE_OBSERVERS:
            observer(self, other, partial(self.memory.copy_from, other.memory))
        if not is_copied(self, other):
            self.memory.copy_from(other.memory)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self!r} has no axes and therefore no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        # Without this Python would call __getitem__ with 0, 1, ... and never reach the end of a 2-D array.
        raise TypeError(
            f"{self!r} cannot be iterated in Python; `for i in x` belongs in a kernel. Hint: use `x.to_numpy()`"
        )

    # --- elements

    @abstractmethod
    def __getitem__(self, key: Any) -> Any: ...

    @abstractmethod
    def __setitem__(self, key: Any, value: Any) -> None: ...

    @abstractmethod
    def pack(self, value: Any) -> Array:
        """Return `value` as an array of the element's type and shape. Raises: TypeError, ValueError."""

    def index_of(self, key: Any, takes_slices: bool = True) -> tuple[int, ...]:
        """Return an index as a tuple of integers within the shape.

        Raises: TaichiIndexError naming the array for a wrong count, a slice or float, or a position out of range.
        SliceRequested for slices, if the caller takes them.
        """
        if type(key) is not tuple:
            key = _tuple_of(key)
        try:
            shape = self.shape
        except TaichiRuntimeError as error:  # a field that is not placed
            raise user_error(error) from None
        if len(key) != len(shape):
            message = f"takes {len(shape)} indices, and {len(key)} were given: {_shown(key)}"
            self._refuse(key, takes_slices, message, "write one index for each axis, `x[None]` without axes")
        if self.offset:
            return self._index_from_offset(key)
        for position, extent in zip(key, shape, strict=True):
            if type(position) is not int:
                return self.index_of(self._integers(key, takes_slices))
            if not 0 <= position < extent:
                message = f"has shape {shape}, and {_shown(key)} lies outside"
                self._refuse(key, takes_slices, message, "indices of an axis run from 0 to its extent - 1")
        return key  # type: ignore[no-any-return]

    def _index_from_offset(self, key: tuple[Any, ...]) -> tuple[int, ...]:
        index = self._integers(key)
        for position, start, extent in zip(index, self.offset, self.shape, strict=True):
            if not start <= position < start + extent:
                message = f"has shape {self.shape} from offset {self.offset}, and {_shown(key)} lies outside"
                raise self._index_error(message, "indices of an axis run from its offset to offset + extent - 1")
        return index

    def position_of(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """Return the position in the view of the element at an index that `index_of` returned."""
        if self.offset:
            index = tuple([position - start for position, start in zip(index, self.offset, strict=True)])
        locate = self.memory.locate
        return index if locate is None else locate(index)

    def position_to_store(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """Return the position in the view of the element at an index, after allocating memory for it."""
        locate = self.memory.locate_to_store
        if locate is None:
            return self.position_of(index)
        if self.offset:
            index = tuple([position - start for position, start in zip(index, self.offset, strict=True)])
        return locate(index)

    def ready(self, position: tuple[int, ...]) -> Array:
        """Return the view after making sure that it is up to date at `position`."""
        memory = self.memory
        if memory.epoch != memory.session.epoch:
            self._refresh()
        if memory.partial:
            memory.load(position)
        return memory.view

    def _refresh(self) -> None:
        try:
            self.memory.refresh()
        except TaichiRuntimeError as error:  # the memory was freed
            raise user_error(error) from None

    def read_item(self, index: tuple[int, ...]) -> Array:
        """Return a copy of the element at an index that `index_of` returned: an array or a structured scalar."""
        memory: Any = self.memory
        if type(memory) is SplitMemory:
            return memory.read_item(index)
        position = self.position_of(index)
        item: Array = self.ready(position)[position].copy()
        return item

    def write_item(self, index: tuple[int, ...], packed: Array) -> None:
        """Set the element at an index that `index_of` returned."""
        memory: Any = self.memory
        if type(memory) is SplitMemory:
            memory.write_item(index, packed)
            return
        self.write_at(self.position_to_store(index), packed)

    def write_at(self, position: tuple[int, ...], value: Any) -> None:
        """Set the element at a position of the view."""
        memory = self.memory
        if not memory.mirrored:
            self.ready(position)[position] = value
            return
        with memory.session.lock:
            self.ready(position)[position] = value
            memory.mark(position)

    def _integers(self, key: tuple[Any, ...], takes_slices: bool = False) -> tuple[int, ...]:
        try:
            return tuple(as_index(position) for position in key)
        except TypeError:
            found = next(p for p in key if not hasattr(p, "__index__"))
            message = f"is indexed by integers, and `{found!r}` is a {type(found).__name__}"
            self._refuse(key, takes_slices, message, "slices are not supported; use `x.to_numpy()` for parts")

    def _refuse(self, key: tuple[Any, ...], takes_slices: bool, message: str, hint: str) -> NoReturn:
        """Raise SliceRequested for an index with slices, if the caller takes slices, else TaichiIndexError."""
        if not self.supports_slices or not has_slice(key):
            raise self._index_error(message, hint) from None
        if takes_slices:
            raise SliceRequested
        shown = ", ".join(_shown_item(item) for item in key)
        raise self._index_error(
            f"is assigned to element by element, and [{shown}] is a part of it",
            f"`x[{shown}].fill(value)` or `x[{shown}].from_numpy(array)`",
        ) from None

    def _index_error(self, message: str, hint: str | None = None) -> Exception:
        return user_error(TaichiIndexError(f"{self!r} {message}", hint))

    def _checked(self, array: Any) -> Array:
        if not isinstance(array, np.ndarray):
            raise TypeError(
                f"{np.ndarray} expected, but {type(array)} provided. Hint: pass `numpy.array(x)`, shape {_full(self)}"
            )
        if array.dtype.kind not in "biuf":
            raise TypeError(
                f"{self!r} holds {self.dtype}, and a NumPy array of {array.dtype} cannot be converted to it"
            )
        self._check_shape(array.shape)
        return array.reshape(_full(self))

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        expected = _full(self)
        as_vectors = expected[:-1] if len(self.element_shape) == 2 and expected[-1] == 1 else (*expected, 1)
        if shape != expected and not (self.element_shape and shape == as_vectors):
            if shape == expected[::-1]:
                remedy = "pass `x.T`"
            elif math.prod(shape) == math.prod(expected):
                remedy = f"pass `x.reshape{expected}`"
            else:
                remedy = f"pass an array of shape {expected}"
            message = f"{self!r} shape {expected} does not match the numpy array shape {shape}"
            raise ValueError(f"{message}. Hint: {remedy}")

    def __repr__(self) -> str:
        name = f" `{self.name}`" if self.name else ""
        return f"<{_title(self.element)}{self.KIND}{name} of {self.dtype}, shape {self.shape}>"

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise TypeError(f"{self!r} cannot be copied by `copy.deepcopy`. Hint: make a new one and use `copy_from`")

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} cannot be pickled. Hint: pickle `x.to_numpy()`")


class ScalarArray(DenseArray):
    """An array of numbers; elements read are Python numbers."""

    __slots__ = ()

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __getitem__(self, key: Any) -> Any:
        # The fast path takes below 1 us: one comparison detects stale views and ended sessions alike.
        memory = self.memory
        if memory.epoch == memory.session.epoch and not memory.partial:
            if type(key) is int:
                if 0 <= key < self._extent:
                    return memory.view.item(key)
            elif type(key) is tuple and len(key) == 2 == len(self.shape) and not self._is_mapped:
                (i, j), (rows, columns) = key, self.shape
                if type(i) is int and type(j) is int and 0 <= i < rows and 0 <= j < columns:
                    return memory.view.item(key)
        try:
            index = self.index_of(key)
        except SliceRequested:
            return self.sliced(key)
        position = self.position_of(index) if self._is_mapped else index
        return self.ready(position).item(position)

    def __setitem__(self, key: Any, value: Any) -> None:
        index = self.index_of(key, False)
        if type(value) is not float or not self.dtype.is_float:
            value = to_scalar(self.dtype, value, self)
        self.write_at(self.position_to_store(index) if self._is_mapped else index, value)

    def pack(self, value: Any) -> Array:
        """Return a number as an array without axes. Raises: TypeError if it is not a number."""
        if is_plain(self.dtype, value):
            return np.array(value, self.dtype.numpy)
        if self.dtype.is_integral and isinstance(value, float | np.floating):
            value = int(value)
        with np.errstate(over="ignore"):
            return np.array(to_scalar(self.dtype, value, self), self.dtype.numpy)


class MatrixArray(DenseArray):
    """An array of vectors or matrices; elements read are `ti.Vector` or `ti.Matrix` that write through."""

    element: Tensor
    __slots__ = ()

    @property
    def n(self) -> int:
        """Rows of an element, or components of a vector."""
        return self.element.shape[0]

    @property
    def m(self) -> int:
        """Columns of an element; 1 for vectors."""
        return self.element.shape[1] if len(self.element.shape) == 2 else 1

    @property
    def size(self) -> int:
        """The number of elements, each a vector or matrix."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """1 if elements are vectors, 2 if they are matrices."""
        return len(self.element.shape)

    def __getitem__(self, key: Any) -> Any:
        try:
            index = self.index_of(key)
        except SliceRequested:
            return self.sliced(key)
        return wrap(Entries.of(self.read_item(index), (self, index)))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.write_item(self.index_of(key, False), self._packed_element(value, False))

    def to_numpy(self, keep_dims: bool = False, dtype: Any = None) -> Array:  # type: ignore[override]
        """Return a copy, shape (*shape, *element shape); with `keep_dims` vectors count as (n, 1) matrices."""
        values = super().to_numpy(dtype)
        return values[..., None] if keep_dims and len(self.element.shape) == 1 else values

    def to_torch(self, device: Any = None, keep_dims: bool = False) -> Any:
        """Return a copy as a torch tensor; with `keep_dims` vectors count as (n, 1) matrices."""
        tensor = super().to_torch(device)
        return tensor[..., None] if keep_dims and len(self.element.shape) == 1 else tensor

    def pack(self, value: Any) -> Array:
        """Return an element as an array; a number is the value of all components. Raises: TypeError, ValueError."""
        if isinstance(value, int | float | np.number):
            value = np.full(self.element.shape, value, object).tolist()
        return self._packed_element(value)

    def component_of(self, indices: Sequence[int]) -> tuple[int, ...]:
        """Return the position of a component. Raises: TaichiIndexError if an element has no such component."""
        shape = self.element.shape
        position = tuple(indices[: len(shape)])
        if not all(0 <= i < extent for i, extent in zip(position, shape, strict=False)) or len(position) != len(shape):
            raise self._index_error(f"has elements of shape {shape}, and component {tuple(indices)} lies outside")
        return position

    def _packed_element(self, value: Any, truncates: bool = True) -> Array:
        values, shape = to_components(self.dtype, value, self, truncates), self.element.shape
        if values.shape != shape and values.shape != (*shape, 1):
            raise ValueError(f"{self!r} has elements of shape {shape}, and one of shape {values.shape} was given")
        return values.reshape(shape)


class Entries(np.ndarray[Any, Any]):
    """The components of one element read from an array: a copy, whose changes are written to the array too.

    They are Python's numbers, as in Taichi, so what a program computes with them is not rounded to the array's type.
    owner: the array, or the struct of an array, and the index or name. Results of arithmetic are plain arrays.
    """

    owner: tuple[Any, Any] | None = None
    is_of_u64 = False

    @classmethod
    def of(cls, components: Array, owner: tuple[Any, Any]) -> Entries:
        """Return a copy of `components` that writes its changes to `owner`."""
        number: type[np.number[Any]] = np.float64 if components.dtype.kind == "f" else np.int64
        if components.dtype == np.uint64 and components.max() > np.iinfo(np.int64).max:
            number = np.uint64
        entries = components.astype(number).view(cls)
        entries.owner, entries.is_of_u64 = owner, components.dtype == np.uint64
        return entries

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        return value.item() if isinstance(value, np.generic) else value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist()) if self.ndim == 1 else super().__iter__()

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            super().__setitem__(key, value)
        except OverflowError:
            self._set_unsigned(key, value)
        if self.owner is not None:
            array, index = self.owner
            array[index] = np.asarray(self)

    def _set_unsigned(self, key: Any, value: Any) -> None:
        """Set a component of u64 that i64 does not hold. Raises: TypeError if it is not of u64, or larger still."""
        try:
            if not self.is_of_u64:
                raise OverflowError
            self.dtype = np.dtype(np.uint64)  # type: ignore[misc, unused-ignore]
            super().__setitem__(key, value)
        except OverflowError:
            raise user_error(TypeError(f"{value} does not fit a component of this vector or matrix")) from None

    def fill(self, val: Any) -> None:
        """Set all components."""
        self[...] = val

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)


def to_shape(shape: Any, refused: Callable[[Any], Exception]) -> tuple[int, ...]:
    """Return a shape, given as an integer or a sequence, as a tuple of integers.

    Raises: the error that `refused` returns for the value, if it is neither.
    """
    try:
        return tuple(as_index(extent) for extent in (shape if isinstance(shape, Sequence | np.ndarray) else (shape,)))
    except TypeError:
        raise refused(shape) from None


def make_all(makers: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make arrays that belong together: all, or none if there is not enough memory for one."""
    arrays: list[Any] = []
    try:
        for make in makers:
            arrays.append(make())
    except TaichiRuntimeError:
        while arrays:  # now, since the error's traceback keeps them alive
            arrays.pop().end()
        raise
    return arrays


def check_gradient(dtype: Scalar) -> None:
    """Check that a gradient of `dtype` makes sense. Raises: TaichiRuntimeError if it is not a float."""
    if not dtype.is_float:
        raise TaichiRuntimeError(f"{dtype} is not supported for field with `needs_grad=True` or `needs_dual=True`.")


def _tuple_of(key: Any) -> tuple[Any, ...]:
    if key is None:
        return ()
    if hasattr(key, "to_list"):  # a Vector of indices, as from `ti.grouped`
        return tuple(key.to_list())
    if isinstance(key, list | np.ndarray):
        return tuple(key)
    return (key,)


def _full(array: DenseArray) -> tuple[int, ...]:
    return array.shape + array.element_shape


def _shown(index: Sequence[Any]) -> str:
    return f"index [{', '.join(map(str, index))}]"


def owner_name(kind: str, name: str, element: Type, shape: tuple[int, ...]) -> str:
    """Return the name of an array's memory in errors and reports."""
    article = "an" if kind == "ndarray" else "a"
    return f"{kind} `{name}`" if name else f"{article} {kind} of {describe_type(element)}, shape {shape}"


def _shown_item(item: Any) -> str:
    if not isinstance(item, slice):
        return "..." if item is Ellipsis else str(item)
    start, end, step = ("" if bound is None else str(bound) for bound in (item.start, item.stop, item.step))
    return f"{start}:{end}" + (f":{step}" if step else "")


def _title(element: Type) -> str:
    if not isinstance(element, Tensor):
        return "ti."
    return f"{'x'.join(map(str, element.shape))} ti.{'Vector' if len(element.shape) == 1 else 'Matrix'}."
