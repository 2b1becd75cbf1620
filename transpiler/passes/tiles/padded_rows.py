"""Pads the rows of arrays in shared memory, so that the threads of a warp access different banks.

    __shared__ float sa[16][64]        ->    __shared__ float sa[16][64 + 4]
    sa[e % 16][e // 16] = ...                sa[e % 16][e // 16] = ...          e: the thread

Memory has 32 banks of 4 bytes, and an access takes as many cycles as there are different words in one bank: above, 16
rows of one column are in one bank, and with the padding 2. The indices of all accesses are computed for the threads of
some warps, and the padding is chosen that takes the fewest cycles; accesses whose indices depend on loaded elements are
not counted. With 4 elements more, rows still begin at multiples of 16 bytes, so that compilers make one load of four:
a product of matrices took an H200 6.27 ms, 4.81 with 1 element more in each row, and 4.60 with 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...ir.nodes import Block, Statement, blocks, walk
from ...ir.origins import BLOCK_SIZE, Origin
from ...ir.statements import Array, AtomicOp, GlobalLoad, GlobalPtr, GlobalStore, If, RangeFor, While, base_pointer
from ...ir.tasks import Kernel, Task
from ...ir.threads import shared_size_bytes
from ...ir.types import Scalar
from ...lazy_dataclasses import dataclass
from ..analysis.queries import computed_from, count_along, is_index_of, trip_count
from ..context import PassContext
from .parts.bank_conflicts import MOST_BYTES, cycles
from .parts.thread_values import ThreadValues

PADDINGS = (0, 1, 2, 4, 8)
"""The numbers of elements that are tried as padding of a row."""
WORTH = 0.8
"""The most cycles that a padding may take, as a part of those without."""
ALIGNED_BYTES, FOR_ALIGNMENT = 16, 1.1
"""What compilers load at once, and how many times the fewest cycles rows may take that begin at its multiples."""
ITERATIONS = 16
"""The iterations that are counted for a serial loop whose length is known at run time only."""


def padded_rows(kernel: Kernel, context: PassContext) -> bool:
    """Choose `Array.padding` for the shared arrays of GPUs."""
    capabilities = context.capabilities
    if not capabilities.has_shared_memory:
        return False
    candidates = {array for array in kernel.shared if _is_suitable(array)}
    changed = False
    for task in kernel.tasks if candidates else ():
        arrays = _shared_arrays(task)
        free = max(0, min(capabilities.max_shared_bytes, MOST_BYTES) - sum(map(shared_size_bytes, arrays)))
        accesses = _accesses_of(task, candidates) if candidates.intersection(arrays) else {}
        for array, own in accesses.items():
            rows = prod((array.shape or ())[:-1]) * array.element.size_bytes
            array.padding = _best(array, own, [padding for padding in PADDINGS if padding * rows <= free])
            free -= array.padding * rows
            changed |= array.padding > 0
    if changed:
        context.left = frozenset()
    return changed


def _is_suitable(array: Array) -> bool:
    """Return whether an array has rows of numbers of 2 to 8 bytes, whose length is no number of threads."""
    is_number = isinstance(array.element, Scalar) and array.element.size_bytes in (2, 4, 8)
    return is_number and array.ndim > 1 and not any(map(_has_block_size, array.extents[-1:]))


def _has_block_size(origin: Origin | None) -> bool:
    return origin is not None and (origin.op == BLOCK_SIZE or any(map(_has_block_size, origin.operands)))


# --- accesses ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Access:
    """The threads' accesses to one array by one statement.

    rows, columns: by thread, less those of the first one, which change no conflict. active: the threads that run the
    statement. weight: how often it runs.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    active: tuple[bool, ...]
    weight: float


def _shared_arrays(task: Task) -> list[Array]:
    found = {s.array: None for s in walk(task.body) if isinstance(s, GlobalPtr) and s.array.is_shared}
    return list(found)


def _accesses_of(task: Task, arrays: set[Array]) -> dict[Array, list[_Access]]:
    """Return the accesses to some arrays whose indices are known; those at a distance from each other are one."""
    values = ThreadValues(task)
    found: dict[Array, dict[object, _Access]] = {}
    everyone = (True,) * len(values.threads)
    for pointer, active, weight in _weighted(task.body, values, everyone, _Loops()):
        indices = [values.of(index) for index in pointer.indices] if pointer.array in arrays else [None]
        known = [index.values.tolist() for index in indices if index is not None]
        if len(known) < len(indices):
            continue
        *outer, columns = known
        rows = [0] * len(columns)
        for index, extent in zip(outer, (pointer.array.shape or ())[:-1], strict=True):
            rows = [row * extent + own for row, own in zip(rows, index, strict=True)]
        key = (_from_first(rows), _from_first(columns), active)
        own = found.setdefault(pointer.array, {})
        own[key] = _Access(*key, weight + (own[key].weight if key in own else 0))
    return {array: list(own.values()) for array, own in found.items()}


def _from_first(numbers: list[int]) -> tuple[int, ...]:
    return tuple(number - numbers[0] for number in numbers)


@dataclass(frozen=True, slots=True)
class _Loops:
    """The loops around a statement.

    iterations: of those that run as loops. unrolled: of each axis of a static loop, the loop, the axis and its extent.
    """

    iterations: float = 1.0
    unrolled: tuple[tuple[RangeFor, int, int], ...] = ()

    def times(self, access: Statement, pointer: GlobalPtr) -> float:
        """Return how often an access is done; of equal loads in an unrolled loop a compiler leaves one."""
        extents = [
            extent for loop, axis, extent in self.unrolled
            if not isinstance(access, GlobalLoad) or any(_depends(index, loop, axis) for index in pointer.indices)
        ]  # fmt: skip
        return self.iterations * prod(extents)


def _depends(value: Statement, loop: RangeFor, axis: int) -> bool:
    """Return whether a value may be another one for each index of a loop along an axis."""
    return any(is_index_of(one, loop) and one.axis == axis or one.EFFECT for one in computed_from(value))


def _weighted(
    block: Block, values: ThreadValues, active: tuple[bool, ...], loops: _Loops
) -> Iterator[tuple[GlobalPtr, tuple[bool, ...], float]]:
    """Yield what each access to a shared array points to, which threads run it, and how often."""
    for statement in block.statements:
        if isinstance(statement, (GlobalLoad, GlobalStore, AtomicOp)):
            base = base_pointer(statement.pointer)
            if isinstance(base, GlobalPtr) and base.array.is_shared:
                yield base, active, loops.times(statement, base)
        elif isinstance(statement, If):
            condition = values.of(statement.condition)
            is_known = condition is not None and condition.is_exact
            holds = condition.values if condition is not None and is_known else (True,) * len(active)
            then = tuple(one and bool(held) for one, held in zip(active, holds, strict=True))
            yield from _weighted(statement.then, values, then, loops)
            if statement.otherwise is not None:
                rest = tuple(one and not held for one, held in zip(active, holds, strict=True)) if is_known else active
                yield from _weighted(statement.otherwise, values, rest, loops)
        elif statement.BLOCKS:
            inside = _inside(statement, values, loops)
            for inner in blocks(statement):
                yield from _weighted(inner, values, active, inside)


def _inside(statement: Statement, values: ThreadValues, loops: _Loops) -> _Loops:
    """Return the loops around the statements in the blocks of another one."""
    if isinstance(statement, RangeFor) and statement.unroll and trip_count(statement) is not None:
        extents = [count_along(statement, axis) or 0 for axis in range(len(statement.starts))]
        axes = tuple((statement, axis, extent) for axis, extent in enumerate(extents))
        return _Loops(loops.iterations, (*loops.unrolled, *axes))
    return _Loops(loops.iterations * _iterations(statement, values), loops.unrolled)


def _iterations(statement: Statement, values: ThreadValues) -> float:
    """Return how often a thread runs the blocks of a statement."""
    if isinstance(statement, While):
        return ITERATIONS
    if not isinstance(statement, RangeFor):
        return 1
    count = trip_count(statement)
    bounds = [values.of(bound) for bound in (*statement.starts, *statement.ends, *statement.steps)]
    known = [bound.values.tolist() for bound in bounds if bound is not None and bound.is_exact]
    if count is not None or len(bounds) != 3 or len(known) != 3:
        return ITERATIONS if count is None else count
    counts = [len(range(*each)) for each in zip(*known, strict=True)]  # such as `range(thread, 340, 256)`
    return sum(counts) / len(counts)


# --- the choice -------------------------------------------------------------------------------------------------------


def _best(array: Array, accesses: list[_Access], paddings: list[int]) -> int:
    """Return the padding with the fewest cycles, 0 if none is worth it."""
    assert array.shape is not None
    size, extent = array.element.size_bytes, array.shape[-1]
    cost = {padding: _cycles(accesses, extent + padding, size) for padding in paddings}
    least = min(cost.values())
    near = [padding for padding in cost if cost[padding] <= least * FOR_ALIGNMENT]
    aligned = [padding for padding in near if (extent + padding) * size % ALIGNED_BYTES == 0]
    best = min(aligned or cost, key=lambda padding: cost[padding])
    return best if cost[best] <= cost[0] * WORTH else 0


def _cycles(accesses: list[_Access], row: int, size_bytes: int) -> float:
    """Return the cycles of all accesses of a thread's warp, if rows have so many elements."""
    return sum(
        access.weight * cycles([i * row + j for i, j in zip(access.rows, access.columns)], size_bytes, access.active)
        for access in accesses
    )
