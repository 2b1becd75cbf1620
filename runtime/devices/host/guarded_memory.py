"""Zeroed memory between padding and guards: a near miss is harmless, and one far outside is seen.

    guard | padding | data | padding | guard

Guards are address space without memory, where every access is a fault; `kernel_signals` makes an error of it that
names the kernel and the array. The padding is memory that nobody reads: indices that miss by an element, a row or a
plane of an array do no harm, as in programs that rely on it. Untouched padding costs no memory.

Arrays start in different cache lines of a page (`SHIFTS`).

Where the system gives no such memory (other systems, limits of address space, very many arrays), an allocation has
padding only.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import deque
from collections.abc import Callable
from functools import cache
from itertools import cycle
from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np

ALIGNMENT = 64
"""Size of a cache line and of the widest vector register [bytes]."""
PADDING = 1 << 16
"""Smallest padding [bytes]: more than a row of an image with 16,000 columns of f32."""
PADDING_SHARE = 64
"""Part of a large allocation that its padding has: a row or plane of a square or cube with at least 64 of them."""
SMALL_PADDING = 256
"""Padding of allocations without guards [bytes]."""
GUARD = 1 << 33
"""Size of a guard [bytes]: as far as a 32-bit index of f32 reaches."""
GUARDED = 2048
"""Number of allocations with guards; `GUARDS` of `kernel_signals.c`."""
HUGE_PAGE, HUGE_FROM, MADV_HUGEPAGE = 1 << 21, 1 << 22, 14
"""Allocations from `HUGE_FROM` on get large pages, as NumPy's have [bytes]."""
SHIFTS = (0, 6144, 9216, 15360, 16896, 23040, 26112, 32256)
"""Where allocations of more than a page start, one after the other: other pages, and other cache lines in them [bytes].

Caches and queues of stores select by the last bits of an address. If all arrays start at the begin of a page, then
elements of the same index are in one set of the first cache: a step of lattice Boltzmann over 18 fields of 1024 x 1024
numbers takes 7.0 ms in place of 3.8 (AMD Zen 4). On Intel a load of `u[i, j + 1]` waits for the store to `w[i, j]`
before it (4K aliasing in its optimization manual): a stencil takes 2.5 ms in place of .62. The second cache selects by
17 bits there: a sum of 19 arrays takes 5.6 ms with other lines, 3.8 with other pages too."""
PROT_NONE, PROT_READ_AND_WRITE = 0, 3
MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE, MAP_FAILED = 0x2, 0x20, 0x4000, ctypes.c_void_p(-1).value
PAGESIZE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


POOL_BYTES, POOL_COUNT = 1 << 25, 32
"""Limits of the mappings that are kept for the next allocation of their size: fresh pages are slower than zeroing."""

Region = tuple[int, int, int, int, int]
"""Number of the guards, address and size of the mapping, address and size of what may be accessed without padding."""


class Unmapper(Protocol):
    """Removes a mapping. guard: number of its guards."""

    def __call__(self, guard: int, base: int, size_bytes: int) -> object:
        """Remove it."""


class Guards:
    """The guards of this process. Finalizers call it at any moment, so it has no lock, only atomic operations.

    table: of (low, first, end, high) by number: the guards are [low, first) and [end, high). The fault handler
      reads it.
    mappings: what has the guards, by number.
    shifts: where in its page the next allocation starts.
    unmap: removes a mapping; the fault handler's own function once that is loaded.
    """

    def __init__(self, table: np.ndarray[Any, np.dtype[np.uint64]]) -> None:
        self.table = table
        self.free = list(range(len(table) - 1, -1, -1))
        self.mappings: WeakValueDictionary[int, Mapping] = WeakValueDictionary()
        self.shifts = cycle(SHIFTS)
        self.unmap: Unmapper = self._unmap
        self._pool: deque[Region] = deque()

    def _unmap(self, guard: int, base: int, size_bytes: int) -> None:
        self.table[guard] = 0
        system().munmap(base, size_bytes)

    def find(self, address: int) -> Mapping | None:
        """Return the mapping with a guard at this address."""
        low, _, _, high = self.table.T
        found = np.flatnonzero((low <= address) & (address < high))
        return self.mappings.get(int(found[0])) if len(found) else None

    def reuse(self, data_bytes: int) -> Region | None:
        """Return a kept region of this size, zeroed; None if there is none."""
        for region in tuple(self._pool):
            if region[4] == data_bytes:
                try:
                    self._pool.remove(region)
                except ValueError:  # another thread was faster
                    continue
                ctypes.memset(region[3], 0, data_bytes)
                return region
        return None

    def give_back(self, region: Region, most_bytes: int = POOL_BYTES, most: int = POOL_COUNT) -> None:
        """Keep a region for the next allocation of its size, or unmap it. Limits are bound early: modules vanish."""
        if region[4] > most_bytes:
            self._drop(region)
            return
        self._pool.append(region)
        while len(self._pool) > most or sum(each[4] for each in tuple(self._pool)) > most_bytes:
            self._drop(self._pool.popleft())

    def _drop(self, region: Region) -> None:
        guard, base, total, _, _ = region
        self.unmap(guard, base, total)
        self.free.append(guard)

    def trim(self) -> None:
        """Unmap all kept regions."""
        while self._pool:
            self._drop(self._pool.popleft())


class Mapping:
    """Memory between guards, given back with this object. start: address of the data. size_bytes: of the data."""

    __slots__ = ("__array_interface__", "__weakref__", "_guards", "_region", "size_bytes", "start")

    def __init__(self, guards: Guards, region: Region, size_bytes: int) -> None:
        self._guards, self._region = guards, region
        self.start, self.size_bytes = region[3], size_bytes
        self.__array_interface__ = {"data": (self.start, False), "shape": (size_bytes,), "typestr": "|u1", "version": 3}
        guards.mappings[region[0]] = self

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_finalizing():  # else the modules that it uses may be empty, and the system unmaps everything
            self._guards.give_back(self._region)


class _System(Protocol):
    mmap: Callable[..., int | None]
    mprotect: Callable[..., int]
    munmap: Callable[..., int]
    madvise: Callable[..., int]


@cache
def system() -> _System:
    """Return the C library's functions for memory."""
    library: Any = ctypes.CDLL(None)
    address, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.mmap.argtypes = (address, size, number, number, number, ctypes.c_long)
    library.mmap.restype = address
    library.mprotect.argtypes = library.madvise.argtypes = (address, size, number)
    library.munmap.argtypes = (address, size)
    found: _System = library
    return found


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def allocate(guards: Guards | None, size_bytes: int) -> tuple[np.ndarray[Any, Any], int]:
    """Return zeroed memory as an array of bytes, and its address. Raises: MemoryError, ValueError if there is none."""
    if guards is not None and size_bytes:
        mapping = _map(guards, size_bytes)
        if mapping is not None:
            return np.asarray(mapping), mapping.start
    block = np.zeros(size_bytes + ALIGNMENT + 2 * SMALL_PADDING, np.uint8)  # calloc: committed when touched
    offset = SMALL_PADDING + -block.ctypes.data % ALIGNMENT
    return block[offset : offset + size_bytes], block.ctypes.data + offset


def _map(guards: Guards, size_bytes: int) -> Mapping | None:
    """Return memory with guards, None if the system refuses; the caller then finds out whether there is any memory."""
    data_bytes = _up(size_bytes, PAGESIZE)
    region = guards.reuse(data_bytes)
    if region is None:
        try:
            guard = guards.free.pop()
        except IndexError:
            return None
        region = _map_region(guards, guard, data_bytes)
        if region is None:
            guards.free.append(guard)
            return None
    return Mapping(guards, region, size_bytes)


def _map_region(guards: Guards, guard: int, data_bytes: int) -> Region | None:
    unit = HUGE_PAGE if data_bytes >= HUGE_FROM else PAGESIZE
    padding = _up(max(PADDING, data_bytes // PADDING_SHARE), PAGESIZE)
    total = 2 * (GUARD + padding) + data_bytes + unit - PAGESIZE
    calls = system()
    base = calls.mmap(None, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    if base is None or base == MAP_FAILED:
        return None
    page = _up(base + GUARD + padding, unit)
    first, end = page - padding, page + data_bytes + padding + _up(SHIFTS[-1], PAGESIZE)
    if calls.mprotect(first, end - first, PROT_READ_AND_WRITE):
        calls.munmap(base, total)
        return None
    if unit == HUGE_PAGE:
        calls.madvise(page, data_bytes, MADV_HUGEPAGE)
    guards.table[guard] = (base, first, end, base + total)
    shift = next(guards.shifts) if data_bytes > PAGESIZE else 0
    return guard, base, total, page + shift, data_bytes


def lasting_memory(size_bytes: int) -> int:
    """Return the address of zeros that are never freed, since a finalizer or a signal may use them at any moment."""
    if has_guards():
        base = system().mmap(None, size_bytes, PROT_READ_AND_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        if base is not None and base != MAP_FAILED:
            return base
    _LASTING.append(ctypes.create_string_buffer(size_bytes))
    return ctypes.addressof(_LASTING[-1])


_LASTING: list[ctypes.Array[ctypes.c_char]] = []


def has_guards() -> bool:
    """Return whether this system gives address space without memory."""
    return sys.platform == "linux" and sys.maxsize > 2**32
