"""The memory of one field or ndarray: its allocation, its view on the host, and whether either is stale.

In: a session with a device, an element type and a shape. Out: `Memory`, whose `view` is a NumPy array of shape
(*shape, *element shape). On a device with host memory the view is the allocation itself; elsewhere it is a mirror,
filled in blocks when read and written back at once before the next launch.

A session counts launches (`epoch`). A view is valid as long as its own epoch equals the session's; a closed session has
the epoch -1, so the one comparison of every access also detects objects of a session that ended.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from math import prod
from typing import Any, Protocol

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.types import Struct, Tensor, Type, element_of
from ...transpiler.lang.describe import Step
from ..devices.device import Allocation, Device
from ..devices.host_arrays import view_address
from ..session.allocation_handle import CLOSED, AllocationHandle

Array = np.ndarray[Any, Any]

BLOCK_BYTES = 1 << 16
"""A mirror is filled in pieces of this size, so that reading one element of a large array does not copy all of it. With
pieces of 16 MB `x[n - 1] = 0` took .84 ms on an H200 for a field of 4 MB."""
WHOLE_BYTES, MOST_BLOCKS = 1 << 24, 8
"""A mirror up to this size is filled whole after so many pieces: who reads so many reads all, and without `load` an
element takes a third of the time."""
MAX_ITEMS, MAX_WIDE_ITEMS = 2**31 - 1, 2**46
"""Indices in emitted source are 32-bit; more items than this could not be addressed."""
MIN_BYTES = 16
"""Allocated for empty arrays, since devices need not support empty buffers."""

STALE = -2


class Owner(Protocol):
    """The part of the session that memory needs."""

    device: Device
    epoch: int
    pending: list[Callable[[], None]]
    lock: Any

    def allocate(self, size_bytes: int, owner: str, lazily: bool = False) -> Allocation:
        """Allocate zeroed memory."""

    def release(self, allocation: Allocation) -> None:
        """Free memory."""

    def register_handle(self, handle: AllocationHandle) -> None:
        """Register a handle for reports of memory."""

    def wait(self) -> None:
        """Wait until host memory has the results of all launches so far."""


class Ended:
    """Replaces an allocation that was freed. error: returns the error that gives the reason."""

    size_bytes = 0

    def __init__(self, error: Callable[[], TaichiRuntimeError]) -> None:
        self.error = error

    @property
    def address(self) -> int:
        """Raise, since the memory was freed. Raises: TaichiRuntimeError."""
        raise self.error()


def ended_error(session: Any = None) -> TaichiRuntimeError:
    """Return the error for an object of a session that has ended."""
    if session is not None and not session.is_default:
        return TaichiRuntimeError(
            f"this field or ndarray belongs to {session.name}, which is closed, and its memory is gone",
            "read what is needed of it before `session.close()`",
        )
    return TaichiRuntimeError(
        "this field or ndarray was made before the last `ti.init()` or `ti.reset()` and its memory is gone",
        "create fields and ndarrays again after `ti.init()`",
    )


def check_count(shape: tuple[int, ...], is_row_major: bool = False, limit: int | None = MAX_ITEMS) -> None:
    """Check that the elements of a shape can be indexed. Raises: TaichiRuntimeError if there are too many.

    limit: the device's `index_limit`. Row-major elements are addressed with 64 bits where it is None.
    """
    is_wide, count = is_row_major and limit is None, prod(shape)
    if max(shape, default=0) > MAX_ITEMS or count > (MAX_WIDE_ITEMS if is_wide else MAX_ITEMS):
        found = f"shape {shape} has {count} elements, and at most {MAX_ITEMS} can be indexed"
        hint = "split the data into several fields or ndarrays"
        raise TaichiRuntimeError(*((f"{found} along an axis", "use several axes") if is_wide else (found, hint)))


def _blocks_between(start: int, end: int) -> range:
    return range(start // BLOCK_BYTES, (end - 1) // BLOCK_BYTES + 1)


def bytes_of(array: Array) -> memoryview:
    """Return the memory of a contiguous array as bytes."""
    return array.reshape(-1).view(np.uint8).data


class PinnedLender:
    """Lends page-locked memory of the host, which a GPU reads and writes in place, instead of a session's own."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def allocate(self, size_bytes: int, owner: str, lazily: bool = False) -> Allocation:
        """Return zeroed memory. Raises: TaichiRuntimeError if there is not that much."""
        device = self._session.device
        allocation: Allocation = self._session.obtain(lambda: device.allocate_pinned(size_bytes), owner)
        return allocation

    def release(self, allocation: Allocation) -> None:
        """Free memory; may be called at any moment."""
        self._session.release(allocation)

    def register_handle(self, handle: AllocationHandle) -> None:
        """Remember a handle for reports."""
        self._session.register_handle(handle)


PATTERNS = (1, 2, 4, 8)
"""Lengths of patterns in bytes with which devices fill memory."""


class Memory:
    """Owns an allocation, which is freed when this object is garbage collected or the session ends.

    Attributes:
        view: the array on the host; an access uses it as in `ScalarArray.__getitem__`.
        epoch: the session's epoch for which the view is valid.
        mirrored: the view is a copy.
        partial: the view is a mirror of which only some pieces are filled.
        is_shared: other libraries use the allocation too, so each access to a mirror reads from the device again.
    """

    is_scattered = False
    """Whether Python fills and copies it by way of the host, with the elements of others between its own."""

    __slots__ = (
        "__weakref__",
        "_blocks",
        "_dirty",
        "allocation",
        "element",
        "epoch",
        "is_shared",
        "freed_error",
        "handle",
        "mirrored",
        "partial",
        "session",
        "shape",
        "size_bytes",
        "view",
    )

    locate = None
    """The function from an index to a position in the view, if these differ."""
    locate_to_store = None
    """The same for a store to sparse memory, which it activates first."""

    def __init__(
        self,
        session: Owner,
        element: Type,
        shape: tuple[int, ...],
        owner: str = "an array",
        lazily: bool = False,
        pinned: bool = False,
    ) -> None:
        check_count(shape, is_row_major=True, limit=session.device.index_limit)
        self.freed_error: Callable[[], TaichiRuntimeError] = partial(ended_error, session)
        scalar = element.numpy if isinstance(element, Struct) else element_of(element).numpy
        full_shape = shape + (element.shape if isinstance(element, Tensor) else ())
        self.session, self.element, self.shape = session, element, shape
        self.size_bytes = prod(full_shape) * scalar.itemsize
        is_pinned = pinned and hasattr(session.device, "allocate_pinned")
        lender: Any = PinnedLender(session) if is_pinned else session
        self.handle = AllocationHandle(lender, max(MIN_BYTES, self.size_bytes), owner, lazily)
        self.handle.item_bytes = self.size_bytes // max(1, prod(shape))
        self.allocation: Allocation = self.handle.allocation
        self.mirrored = not session.device.host_memory and not is_pinned
        self.partial = self.mirrored and self.size_bytes > BLOCK_BYTES
        if self.mirrored:
            self.view: Array = _mirror(full_shape, scalar, owner)
        else:
            self.view = view_address(self.allocation.address, scalar, full_shape)
        self.epoch = STALE
        self.is_shared = False
        self._blocks: set[int] = set()
        self._dirty: dict[int, tuple[int, int]] = {}  # by block, the bytes that were written

    @property
    def is_freed(self) -> bool:
        """Whether its allocation was freed; `freed_error` returns the error that gives the reason."""
        return self.handle.is_released

    def refresh(self) -> None:
        """Bring the view up to date with the launches so far; a partial one is filled by `load`.

        Raises: TaichiRuntimeError if the session has ended.
        """
        session = self.session
        epoch = session.epoch
        if epoch == CLOSED or self.is_freed:
            raise self.freed_error()
        if not self.mirrored:
            session.wait()
            self.epoch = epoch
            return
        with session.lock:
            if self.epoch == epoch:  # another thread has refreshed it
                return
            self.flush()  # what one thread wrote while another launched
            self._blocks.clear()
            self.partial = self.is_shared or self.size_bytes > BLOCK_BYTES
            if not self.partial:
                self._read(range(1))
            self.epoch = epoch

    def load(self, index: Sequence[int]) -> None:
        """Fill the block of a partial mirror that holds the item at `index`."""
        self.load_bytes(*self._bytes_at(index))

    def load_bytes(self, start: int, end: int) -> None:
        """Fill the blocks of a partial mirror that hold the bytes from `start` to `end`."""
        if self.is_shared:
            self.session.device.read(self.allocation, bytes_of(self.view)[start:end], start)
            return
        for block in _blocks_between(start, end):
            if block not in self._blocks:
                with self.session.lock:
                    if block not in self._blocks:
                        self._load_block(block)

    def mark(self, index: Sequence[int]) -> None:
        """Record that the item at `index` of a mirror was written."""
        self.mark_bytes(*self._bytes_at(index))

    def mark_bytes(self, start: int, end: int) -> None:
        """Record that the bytes from `start` to `end` of a mirror were written; the caller holds the session's lock."""
        if self.is_shared:
            self.session.device.write(self.allocation, bytes_of(self.view)[start:end], start)
            return
        if not self._dirty:
            self.session.pending.append(partial(_flush, weakref.ref(self)))
        for block in _blocks_between(start, end):
            first, last = max(start, block * BLOCK_BYTES), min(end, (block + 1) * BLOCK_BYTES)
            found = self._dirty.get(block)
            self._dirty[block] = (first, last) if found is None else (min(first, found[0]), max(last, found[1]))

    def flush(self) -> None:
        """Write what has changed in the mirror to the device: in each block from the first to the last such byte."""
        with self.session.lock:
            dirty, self._dirty = sorted(self._dirty.values()), {}
            for start, end in _joined(dirty):
                self.session.device.write(self.allocation, bytes_of(self.view)[start:end], start)

    def read_all(self) -> Array:
        """Return the whole as a new array."""
        if self.epoch != self.session.epoch:
            self.refresh_lazily()
        if not self.mirrored or (not self.partial and self.epoch == self.session.epoch):
            return np.array(self.view)
        self.flush()
        result = np.empty_like(self.view)
        if result.size:
            self.session.device.read(self.allocation, bytes_of(result))
        return result

    def all_memory(self) -> list[Memory]:
        """Return the memory it consists of: itself."""
        return [self]

    def share(self) -> object:
        """Let other libraries use the allocation; returns an object that keeps its bytes valid."""
        if self.mirrored and not self.is_shared:
            self.flush()
            self.is_shared = self.partial = True
        return self.session.device.share(self.allocation)

    def read_bytes(self, start: int, target: memoryview) -> None:
        """Copy a range of a mirrored memory from the device into `target`."""
        self.refresh_lazily()
        if not self.partial and self.epoch == self.session.epoch:
            target[:] = bytes_of(self.view)[start : start + target.nbytes]
            return
        self.flush()
        if target.nbytes:
            self.session.device.read(self.allocation, target, start)

    def write_bytes(self, start: int, data: memoryview) -> None:
        """Set a range of a mirrored memory on the device."""
        self.refresh_lazily()
        self.flush()
        self.forget()
        if data.nbytes:
            self.session.device.write(self.allocation, data, start)

    def refresh_lazily(self) -> None:
        """Wait if the view is the memory itself, check that the session is open, and leave a mirror as it is."""
        if self.session.epoch == CLOSED or not self.mirrored or self.is_freed:
            self.refresh()

    def write_all(self, values: Array) -> None:
        """Set the whole from an array of equal shape, converting its number type."""
        self.refresh_lazily()
        if not self.mirrored:
            np.copyto(self.view, values, casting="unsafe")
            return
        self.forget()
        contiguous = np.ascontiguousarray(values, self.view.dtype).reshape(self.view.shape)
        if contiguous.size:
            self.session.device.write(self.allocation, bytes_of(contiguous))

    def fill(self, value: Array) -> None:
        """Set every item to `value`, an array of the element's type and shape."""
        self.refresh_lazily()
        if not self.size_bytes:
            return
        if not self.mirrored:
            self.view[...] = value
            return
        pattern = _pattern(value)
        if len(pattern) in PATTERNS:
            self.forget()
            self.session.device.fill(self.allocation, pattern)
        else:
            self.write_all(np.broadcast_to(value, self.view.shape))

    def is_filled_by_host(self, value: Array) -> bool:
        """Return whether `fill` sends all bytes from the host, since the device has no command for it."""
        return self.mirrored and value.nbytes not in PATTERNS and len(_pattern(value)) not in PATTERNS

    def copy_from(self, other: Memory) -> None:
        """Copy another memory of equal shape, converting its number type."""
        self.refresh_lazily()
        other.refresh_lazily()
        whole = isinstance(other, Memory) and other.session is self.session
        if self.mirrored and whole and self.view.dtype == other.view.dtype:
            other.flush()
            self.forget()
            self.session.device.copy(other.allocation, self.allocation, self.size_bytes)
        elif not received(self, other):
            self.write_all(other.view if isinstance(other, Memory) and not other.mirrored else other.read_all())

    @property
    def byte_range(self) -> tuple[Memory, int, int] | None:
        """The memory that owns the bytes, and their start and number; None if there are gaps between them."""
        return self, 0, self.size_bytes

    def end(self) -> None:
        """Free the allocation because the session ends; any later use raises."""
        self.handle.release()
        self.allocation = Ended(self.freed_error)  # type: ignore[assignment]  # whose address raises
        self.epoch = STALE
        self.view = np.empty((0,), self.view.dtype)

    def forget(self) -> None:
        """Invalidate a mirror, since the device's memory changed."""
        self._dirty.clear()
        self._blocks.clear()
        self.epoch = STALE

    def _bytes_at(self, index: Sequence[int]) -> tuple[int, int]:
        item = 0
        for position, extent in zip(index, self.shape, strict=True):
            item = item * extent + position
        size = self.element.size_bytes
        return item * size, item * size + size

    def _bytes_of(self, blocks: range) -> memoryview:
        return bytes_of(self.view)[blocks.start * BLOCK_BYTES : blocks.stop * BLOCK_BYTES]

    def _load_block(self, block: int) -> None:
        """Fill a block of a partial mirror, or all if many are filled already."""
        if len(self._blocks) < MOST_BLOCKS or self.size_bytes > WHOLE_BYTES:
            self._read(range(block, block + 1))
            return
        self.flush()
        self._read(range(-(-self.size_bytes // BLOCK_BYTES)))
        self.partial = False

    def _read(self, blocks: range) -> None:
        if self.size_bytes:
            self.session.device.read(self.allocation, self._bytes_of(blocks), blocks.start * BLOCK_BYTES)
        self._blocks.update(blocks)


def _joined(ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Return ascending ranges, those as one of which the next begins where one ends."""
    start = 0
    for position, (_, end) in enumerate(ranges, 1):
        if position == len(ranges) or ranges[position][0] != end:
            yield ranges[start][0], end
            start = position


def received(target: Any, source: Any) -> bool:
    """Copy between two memories without the host, also of different sessions, if the devices can; return whether.

    They are dense and have one number type, and both devices are GPUs.
    """
    receive = getattr(target.session.device, "receive", None)
    to, start = target.byte_range, source.byte_range
    if receive is None or to is None or start is None or not source.mirrored:
        return False
    if to[2] != start[2] or target.view.dtype != source.view.dtype:
        return False
    start[0].refresh_lazily()
    start[0].flush()
    to[0].refresh_lazily()
    to[0].flush()
    to[0].forget()
    giver, allocations = start[0].session.device, (start[0].allocation, to[0].allocation)
    return bool(receive(giver, allocations[0], start[1], allocations[1], to[1], to[2]))


def _mirror(shape: tuple[int, ...], dtype: np.dtype[Any], owner: str) -> Array:
    try:
        return np.empty(shape, dtype)  # takes no memory before something is written into it
    except MemoryError as error:
        raise TaichiRuntimeError(
            f"the host has not enough memory for a mirror of {owner}: {error}", "split it into smaller arrays"
        ) from None


def _flush(memory: weakref.ref[Memory]) -> None:
    """Write a mirror back, if its array is still alive; pending actions do not keep it alive.

    A store of another thread may come after the last write-back of a session or tree that ends: it is lost with the
    memory, and whoever runs the pending actions next has nothing to do with it.
    """
    found = memory()
    if found is not None and not found.is_freed:
        found.flush()


def _pattern(value: Array) -> bytes:
    """Return the bytes of an element, of one of its numbers if all are equal."""
    pattern = value.tobytes()
    first = pattern[: value.itemsize]
    return first if pattern == first * value.size else pattern


class MemberMemory:
    """The memory of one member of every element, with the interface of `Memory`; `whole` owns it. path: to it."""

    __slots__ = ("element", "path", "whole")
    byte_range = None
    """As `Memory.byte_range`; other members are between those of the elements."""

    def __init__(self, whole: Memory, path: tuple[Step, ...], element: Type) -> None:
        self.whole, self.path, self.element = whole, path, element

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the whole: `session`, `epoch`, `shape`, `mirrored`, `partial`, `mark`, ..."""
        return getattr(self.whole, name)

    @property
    def is_scattered(self) -> bool:
        """As `Memory.is_scattered`."""
        return self.whole.mirrored

    @property
    def view(self) -> Array:
        """The member in the view of the whole."""
        return self._part(self.whole.view)

    def read_all(self) -> Array:
        """Return a copy of the member in all elements."""
        return np.array(self._part(self.whole.read_all()))

    def write_all(self, values: Array) -> None:
        """Set the member in all elements."""
        whole = self.whole.read_all()
        np.copyto(self._part(whole), values, casting="unsafe")
        self.whole.write_all(whole)

    def fill(self, value: Array) -> None:
        """Set the member in all elements to one value."""
        self.write_all(np.broadcast_to(value, self.shape + np.shape(value)))

    def copy_from(self, other: Any) -> None:
        """Copy another array of equal shape."""
        self.write_all(other.read_all())

    def end(self) -> None:
        """Do nothing: the whole owns the memory."""

    def _part(self, view: Array) -> Array:
        return reduce(part_of, self.path, view)


def handle_of(array: Any) -> AllocationHandle:
    """Return the handle of the memory of a field or ndarray, which may share it with others."""
    memory = array.memory
    while not isinstance(memory, Memory):
        memory = memory.whole
    return memory.handle


def part_of(values: Array, step: Step) -> Array:
    """Return a part of each element of an array, as a view of it."""
    index: Any = step if isinstance(step, str) else (..., *step)
    part: Array = values[index]
    return part
