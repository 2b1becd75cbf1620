"""The functions of `ti.algorithms`: they check their arguments, make arrays and launch kernels.

In: fields or ndarrays of numbers with one axis. Out: changed arrays, or new ndarrays.
"""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...transpiler.errors import TaichiTypeError
from ...transpiler.ir.types import Scalar, f32, f64, i32, i64, u32, u64
from ..arrays.exchange import root_of
from ..arrays.ndarray import ScalarNdarray, array_in_memory, ndarray
from ..fields.field import ScalarField
from ..session import session as sessions
from ..session.session import Session
from ..session.tracebacks import hides_own_frames
from . import cub, kernels, tiles

CHUNK = 256
"""Elements of a chunk: one iteration of a kernel works on them."""

Array = Any
"""A field or an ndarray."""

OPERATIONS = {"add": kernels.add, "mul": kernels.multiply, "max": kernels.larger, "min": kernels.smaller}


@hides_own_frames
def reduce(x: Array, op: str = "add") -> int | float:
    """Return all elements of `x` combined by `op`, "add", "mul", "max" or "min", in the type of the elements.

    Raises: TaichiTypeError for other arrays and operations; ValueError for the largest of no elements.

    Example:
        >>> x = ti.ndarray(ti.i32, 3)
        >>> x.from_numpy(np.array([3, 1, 2], np.int32))
        >>> ti.algorithms.reduce(x), ti.algorithms.reduce(x, "max")
        (6, 3)
    """
    values, _ = _values(x, "reduce"), _operation(op)
    if values.shape[0] == 0:
        if op in ("max", "min"):
            raise ValueError(f"an array without elements has no {op}")
        return values.dtype.numpy.type(op == "mul").item()  # type: ignore[no-any-return]
    neutral = math.nan if op in ("max", "min") and values.dtype.is_float else _neutral(op, values.dtype)
    return kernels.reduction(op, values.dtype, neutral)(values)  # type: ignore[no-any-return]


@hides_own_frames
def scan(x: Array, out: Array | None = None, op: str = "add", inclusive: bool = True) -> Array:
    """Store in each element of `out` all elements of `x` up to it combined; without `inclusive`, those before it.

    out: an array like `x`, or `x` itself; without it a new ndarray is returned. The first element of a scan that is not
    inclusive is what changes nothing: 0, 1, or the smallest or largest number of the type.
    op: "add", "mul", "max" or "min".

    Example:
        >>> x = ti.ndarray(ti.i32, 3)
        >>> x.from_numpy(np.array([3, 1, 2], np.int32))
        >>> ti.algorithms.scan(x).to_numpy().tolist()
        [3, 4, 6]
    """
    values, _ = _values(x, "scan"), _operation(op)
    result = values if out is x else _result(values, out)
    if _is_in_place(values, result):
        values = result
    elif _overlap(values, result):
        values = _copy(values)  # parts of one array
    _scan(values, result, op, inclusive)
    return _delivered(result, out)


class PrefixSumExecutor:
    """Scans of arrays of one length: `run(x)` replaces x[i] by x[0] + ... + x[i].

    length: number of elements.

    Example:
        >>> x = ti.field(ti.i32, 4)
        >>> x.fill(1)
        >>> ti.algorithms.PrefixSumExecutor(4).run(x)
        >>> x.to_numpy().tolist()
        [1, 2, 3, 4]
    """

    def __init__(self, length: int) -> None:
        self.sorting_length = length

    @hides_own_frames
    def run(self, input_arr: Array) -> None:
        """Scan an array in place. Raises: TaichiTypeError for arrays of another length."""
        values = _values(input_arr, "PrefixSumExecutor.run")
        if values.shape[0] != self.sorting_length:
            message = f"this PrefixSumExecutor takes {self.sorting_length} elements, found {values.shape[0]}"
            raise TaichiTypeError(message, f"make another: `PrefixSumExecutor({values.shape[0]})`")
        scan(input_arr, out=input_arr)


@hides_own_frames
def parallel_sort(keys: Array, values: Array | None = None) -> None:
    """Sort `keys` in place, and move `values` alike. Equal keys keep their order, and NaNs come last.

    Raises: TaichiTypeError for arrays with more axes, and for other numbers of values than of keys.

    Example:
        >>> keys = ti.ndarray(ti.i32, 3)
        >>> keys.from_numpy(np.array([3, 1, 2], np.int32))
        >>> ti.algorithms.parallel_sort(keys)
        >>> keys.to_numpy().tolist()
        [1, 2, 3]
    """
    given = _values(keys, "parallel_sort")
    moved = None if values is None else _values(values, "parallel_sort")
    if moved is not None and moved.shape != given.shape:
        raise TaichiTypeError(f"{moved.shape[0]} values cannot be sorted by {given.shape[0]} keys", "make as many")
    if given.shape[0] < 2:
        return
    if moved is None:
        _sort(given)
    else:
        order = _order(given)
        _take(given, order)
        _take(moved, order)
        _put(moved, values)
    _put(given, keys)


def sort_by_key(keys: Array, values: Array) -> None:
    """Sort `keys` in place, and move `values` alike.

    Example:
        >>> keys = ti.ndarray(ti.i32, 3)
        >>> keys.from_numpy(np.array([3, 1, 2], np.int32))
        >>> values = ti.ndarray(ti.i32, 3)
        >>> values.from_numpy(np.array([30, 10, 20], np.int32))
        >>> ti.algorithms.sort_by_key(keys, values)
        >>> values.to_numpy().tolist()
        [10, 20, 30]
    """
    parallel_sort(keys, values)


@hides_own_frames
def argsort(keys: Array) -> Array:
    """Return the numbers of the elements of `keys` in their order, as an ndarray of i32; `keys` stays as it is.

    Example:
        >>> keys = ti.ndarray(ti.i32, 3)
        >>> keys.from_numpy(np.array([3, 1, 2], np.int32))
        >>> ti.algorithms.argsort(keys).to_numpy().tolist()
        [1, 2, 0]
    """
    given = _values(keys, "argsort")
    return _order(given) if given.shape[0] else ndarray(i32, 0)


@hides_own_frames
def select(x: Array, mask: Array) -> Array:
    """Return the elements of `x` where `mask` is not 0, in their order, as a new ndarray.

    Raises: TaichiTypeError for arrays with more axes, and for a mask of another length.

    Example:
        >>> x = ti.ndarray(ti.i32, 3)
        >>> x.from_numpy(np.array([3, 1, 2], np.int32))
        >>> mask = ti.ndarray(ti.i32, 3)
        >>> mask.from_numpy(np.array([1, 0, 1], np.int32))
        >>> ti.algorithms.select(x, mask).to_numpy().tolist()
        [3, 2]
    """
    values, chosen = _values(x, "select"), _values(mask, "select")
    if values.shape != chosen.shape:
        raise TaichiTypeError(f"the mask has {chosen.shape[0]} elements, and the array {values.shape[0]}", "as many")
    return _Selection(chosen).of(values)


@hides_own_frames
def unique(x: Array) -> tuple[Array, Array]:
    """Return the different elements of `x` in increasing order and how often each occurs, as new ndarrays.

    As in NumPy, -0.0 equals 0.0, and all NaNs are one element, which comes last.

    Example:
        >>> x = ti.ndarray(ti.i32, 3)
        >>> x.from_numpy(np.array([3, 1, 3], np.int32))
        >>> found, counts = ti.algorithms.unique(x)
        >>> found.to_numpy().tolist(), counts.to_numpy().tolist()
        ([1, 3], [1, 2])
    """
    values = _copy(_values(x, "unique"))
    n = values.shape[0]
    marks = ndarray(i32, n)
    if n:
        _sort(values)
        kernels.mark_first(values, marks, *_widened(values.dtype))
    first = _Selection(marks)
    found, counts = first.of(values), ndarray(i32, first.count)
    if n:
        kernels.lengths(first.positions(), n, counts)
    return found, counts


@hides_own_frames
def histogram(x: Array, bins: int, low: float, high: float) -> Array:
    """Return how many elements of `x` are in each of `bins` equal parts of [low, high], as an ndarray of i32.

    A part holds its lower edge; the last one holds `high`, too. Other elements and NaNs are not counted.
    Raises: ValueError unless there are bins, and `low` is below `high`.

    Example:
        >>> x = ti.ndarray(ti.i32, 4)
        >>> x.from_numpy(np.array([1, 2, 2, 9], np.int32))
        >>> ti.algorithms.histogram(x, bins=2, low=0, high=10).to_numpy().tolist()
        [3, 1]
    """
    if bins < 1 or not low < high:
        raise ValueError(f"a histogram needs one bin or more and low < high, found {bins} in [{low}, {high}]")
    values, counts, edges = _values(x, "histogram"), ndarray(i32, bins), ndarray(f64, bins + 1)
    edges.from_numpy(np.linspace(low, high, bins + 1))
    if values.shape[0]:
        kernels.count_in_bins(values, edges, counts)
    return counts


# --- arguments and results --------------------------------------------------------------------------------------------


def _values(x: Array, user: str) -> Any:
    """Return the ndarray itself, one over the memory of a field, or one with copies of a field's elements."""
    if not isinstance(x, ScalarField | ScalarNdarray) or len(x.shape) != 1:
        raise TaichiTypeError(
            f"ti.algorithms.{user} takes a field or an ndarray of numbers with one axis, found {x!r}",
            "write `ti.ndarray(ti.f32, n)` or `ti.field(ti.f32, n)`",
        )
    if isinstance(x, ScalarNdarray):
        return x
    memory: Any = x.memory
    whole = root_of(memory)
    if whole is not None and memory.locate is None and memory.view.flags.c_contiguous and not whole.is_freed:
        return array_in_memory(whole, memory.view, x.dtype, x.name)
    values = ndarray(x.dtype, x.shape)
    kernels.load(x, values)
    return values


def _is_in_place(values: Any, where: Array) -> bool:
    """Return whether `_values` made `values` of this array without a copy."""
    return values is where or (_overlap(values, where) and _begin(values) == _begin(where))


def _overlap(values: Any, where: Array) -> bool:
    """Return whether both may be parts of the same memory."""
    whole = root_of(values.memory)
    return whole is not None and whole is root_of(where.memory)


def _begin(array: Array) -> int:
    return int(array.memory.view.ctypes.data)


def _copy(values: Any) -> Any:
    made = ndarray(values.dtype, values.shape)
    kernels.copy(values, made)
    return made


def _result(values: Any, out: Array | None) -> Any:
    """Return the ndarray to write a scan to."""
    found = None if out is None else _values(out, "scan")
    return found if found is not None and found.shape == values.shape else ndarray(values.dtype, values.shape)


def _delivered(result: Any, out: Array | None) -> Any:
    if out is None:
        return result
    _put(result, out)
    return out


def _put(values: Any, where: Array) -> None:
    if _is_in_place(values, where):
        return
    if isinstance(where, ScalarField):
        kernels.store(values, where)
    else:
        kernels.copy(values, where)


def _operation(op: str) -> Any:
    if op not in OPERATIONS:
        raise TaichiTypeError(f"there is no operation {op!r}", f"write one of {', '.join(map(repr, OPERATIONS))}")
    return OPERATIONS[op]


def _neutral(op: str, dtype: Scalar) -> int | float:
    """Return the number that changes no other one by an operation."""
    if op in ("add", "mul"):
        return int(op == "mul")
    if dtype.is_float:
        return float("-inf") if op == "max" else float("inf")
    limits = np.iinfo(dtype.numpy)
    return int(limits.min if op == "max" else limits.max)


# --- scans and sorts --------------------------------------------------------------------------------------------------


def _runs_on_threads(values: Any) -> bool:
    """Return whether neighbouring elements are for neighbouring threads: on GPUs, not on lavapipe."""
    return not values.memory.session.device.host_memory


def _per_thread(dtype: Scalar) -> int:
    """Return how many elements of a tile a thread works on."""
    return 16 if dtype.bits < 64 else 8


def _nothing(dtype: Scalar, neutral: int | float) -> Any:
    """Return an ndarray of one number, which is made once for a session and only read."""
    known = _NOTHING.setdefault(sessions.current(), {})
    if (dtype, neutral) not in known:
        known[dtype, neutral] = ndarray(dtype, 1)
        known[dtype, neutral].fill(neutral)
    return known[dtype, neutral]


_NOTHING: WeakKeyDictionary[Session, dict[tuple[Scalar, int | float], Any]] = WeakKeyDictionary()


def _totals(values: Any, operation: Any, neutral: int | float) -> Any:
    """Combine the elements of each tile, or of each chunk."""
    n, dtype = values.shape[0], values.dtype
    if _runs_on_threads(values):
        each = _per_thread(dtype)
        totals = ndarray(dtype, -(-n // (tiles.THREADS * each)))
        tiles.total_of_tiles(values, _nothing(dtype, neutral), totals, operation, dtype, each)
    else:
        totals = ndarray(dtype, -(-n // CHUNK))
        kernels.total_of_chunks(values, totals, CHUNK, operation)
    return totals


def _scan(values: Any, out: Any, op: str, inclusive: bool) -> None:
    n, dtype, operation = values.shape[0], values.dtype, OPERATIONS[op]
    neutral, on_threads, each = _neutral(op, dtype), _runs_on_threads(values), _per_thread(dtype)
    is_short = n <= (tiles.THREADS * each if on_threads else CHUNK)  # one launch, and CUB's calls cost more
    if n == 0 or not is_short and cub.scan(values, out, op, inclusive):
        return
    if is_short:
        before = _nothing(dtype, neutral)
    else:
        before = _totals(values, operation, neutral)
        _scan(before, before, op, False)
    if on_threads:
        nothing = _nothing(dtype, neutral)
        tiles.scan_tiles(values, before, nothing, out, operation, inclusive, dtype, each)
    else:
        kernels.scan_chunks(values, before, out, CHUNK, operation, inclusive)


def _kind(dtype: Scalar) -> tuple[str, int]:
    """Return how keys of a type are encoded, and in how many bits."""
    return "float" if dtype.is_float else "signed" if dtype.is_signed else "unsigned", 64 if dtype.bits == 64 else 32


def _widened(dtype: Scalar) -> tuple[Scalar, str, int]:
    """Return the type from which keys are encoded, and what `_kind` returns."""
    kind, bits = _kind(dtype)
    return {"float": (f32, f64), "signed": (i32, i64), "unsigned": (u32, u64)}[kind][bits == 64], kind, bits


def _sort(keys: Any) -> None:
    """Sort an ndarray in place."""
    if not cub.sort(keys):
        _take(keys, _order(keys))


def _take(values: Any, order: Any) -> None:
    """Replace the elements by those at the positions `order`."""
    kernels.gather(_copy(values), order, values)


def _order(keys: Any) -> Any:
    """Return where each key is in the order, as an ndarray of i32; our own kernels sort by 4 bits after the other."""
    found = cub.order_of(keys) if cub.counts(keys.dtype) else None
    if found is not None:
        return found
    n, (full, kind, bits) = keys.shape[0], _widened(keys.dtype)
    code = u64 if bits == 64 else u32
    codes = [ndarray(code, n)]
    kernels.encode(keys, codes[0], full, kind, bits)
    found = cub.order_of(codes[0])
    if found is not None:
        return found
    codes.append(ndarray(code, n))
    order = [ndarray(i32, n) for _ in range(2)]
    kernels.number(order[0])
    counts = ndarray(i32, kernels.BUCKETS * -(-n // CHUNK))
    for shift in range(0, bits, 4):
        kernels.count_buckets(codes[0], counts, CHUNK, shift)
        _scan(counts, counts, "add", False)
        kernels.move_by_bucket(codes[0], order[0], counts, codes[1], order[1], CHUNK, shift)
        codes.reverse()
        order.reverse()
    return order[0]


class _Selection:
    """The elements where a mask is not 0: how many they are up to the end of each tile, or of each chunk."""

    def __init__(self, mask: Any) -> None:
        self.mask, self.kind = mask, _kind(mask.dtype)
        self.on_threads, self.count, n = _runs_on_threads(mask), 0, mask.shape[0]
        self.each = _per_thread(i32)
        if n == 0:
            return
        if self.on_threads:
            self.ends = ndarray(i32, -(-n // (tiles.THREADS * self.each)))
            tiles.count_marked_of_tiles(mask, self.ends, *self.kind, self.each)
        else:
            self.ends = ndarray(i32, -(-n // CHUNK))
            kernels.count_marked(mask, self.ends, CHUNK, *self.kind)
        _scan(self.ends, self.ends, "add", True)
        self.count = kernels.last(self.ends)

    def of(self, values: Any) -> Any:
        """Return the elements of an array that are marked."""
        return self._moved(values, ndarray(values.dtype, self.count), False)

    def positions(self) -> Any:
        """Return where the marked elements are."""
        return self._moved(self.mask, ndarray(i32, self.count), True)

    def _moved(self, values: Any, out: Any, positions: bool) -> Any:
        if self.count == 0:
            return out
        if self.on_threads:
            tiles.select_of_tiles(values, self.mask, self.ends, out, *self.kind, positions, self.each)
        else:
            kernels.select_marked(values, self.mask, self.ends, out, CHUNK, *self.kind, positions)
        return out
