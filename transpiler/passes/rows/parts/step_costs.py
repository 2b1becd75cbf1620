"""Which serial loops are worth sharing, and by how many threads (for `shared_steps`): estimates of work.

In: a task, and the loops that threads may share. Out: whether they should, and the threads of an iteration.
"""

from __future__ import annotations

from ....ir.nodes import Statement, blocks, walk
from ....ir.statements import Alloca, Const, GlobalPtr, GlobalStore, RangeFor, base_pointer, repeats
from ....ir.tasks import Task
from ....ir.threads import WARP
from ....options import BLOCK_DIM
from ...analysis.linear import Reader
from ...analysis.queries import axes_in, is_index_of, trip_count
from ...context import PassContext
from .strided_rows import interval_in_loops

SHORTEST = 8
"""The fewest iterations of a loop that is worth sharing."""
LONG = 32
"""The fewest of one that only adds up, or finds the least or greatest, in a serial loop."""
USUAL = 64
"""Iterations of a loop of which the number is not known."""
FEW_WARPS = 1 << 12
"""The threads of a block where there are few; an H200 runs 32 blocks on each of 132 multiprocessors."""
MOST_THREADS, STATES, BUSY = 512, 2, 1 << 18
"""The most threads of a block that shares an iteration, the fewest states of each, and the most threads of all."""
MOST_STATES = 1 << 20
"""More are none that a reader of bounds can count."""

Shared = dict[RangeFor, dict[Alloca, str]]
"""The loops that threads share, in order, with the variables that they join and how."""


def is_better_inside(loop: RangeFor) -> bool:
    """Return whether threads of a warp would store elements far apart, and those of a loop inside would store
    neighbours: in `for r in range(k + 1, n): for c in range(n): a[i, r, c] -= ...`."""
    inner = [s for s in walk(loop.body) if isinstance(s, RangeFor) and (trip_count(s) or USUAL) >= SHORTEST]
    stores = [s.pointer for s in walk(loop.body) if isinstance(s, GlobalStore)]
    last = [pointer.indices[-1] for pointer in map(base_pointer, stores) if isinstance(pointer, GlobalPtr)]
    has_next = any(axes_in(index, loop) for index in last)
    return not has_next and any(axes_in(index, each) for index in last for each in inner)


def is_worth_sharing(task: Task, found: Shared) -> bool:
    """Return whether a shared loop is inside of a serial one, and such loops are most of an iteration."""
    assert task.loop is not None
    inside = in_serial_loops(task, found)
    if not any(loop in inside and _has_states(loop) for loop in found):
        return False
    if any(_is_in_columns(loop, task.loop) for loop in found):
        return False
    shared, total = _work(task.body.statements, found)
    return 2 * shared >= total


def in_serial_loops(task: Task, found: Shared) -> set[Statement]:
    """Return what is inside of serial loops that are not shared."""
    serial = [loop for loop in walk(task.body) if repeats(loop) and loop not in found]
    return {s for loop in serial for block in blocks(loop) for s in walk(block)}


def _has_states(loop: RangeFor) -> bool:
    """Return whether a loop stores elements, or is over a row of an array, of which the threads load neighbours."""
    if any(isinstance(s, GlobalStore) for s in walk(loop.body)):
        return True
    if not isinstance(loop.starts[0], Const) or (trip_count(loop) or USUAL) < LONG:
        return False
    pointers = [s for s in walk(loop.body) if isinstance(s, GlobalPtr) and s.indices]
    return any(is_index_of(pointer.indices[-1], loop) for pointer in pointers)


def _is_in_columns(shared: RangeFor, loop: RangeFor) -> bool:
    """Return whether neighbouring iterations of the parallel loop access neighbours, `p[d, i]`, which threads of a warp
    would access far apart."""
    reader = Reader({loop, shared, *walk(shared.body)}, {}, scales=True)
    for pointer in walk(shared.body):
        if isinstance(pointer, GlobalPtr) and pointer.indices:
            *outer, last = pointer.indices
            place = reader.read(last)
            is_next = place is not None and abs(place.indices.get((loop, len(loop.starts) - 1), 0)) == 1
            if is_next and any(axes_in(index, shared) for index in outer) and not axes_in(last, shared):
                return True
    return False


def _work(statements: list[Statement], found: Shared) -> tuple[int, int]:
    """Return about how many operations of some statements are in shared loops, and how many there are."""
    shared = total = 0
    for statement in statements:
        inside = [_work(block.statements, found) for block in blocks(statement)]
        own, all_of = sum(pair[0] for pair in inside), 1 + sum(pair[1] for pair in inside)
        count = trip_count(statement) if isinstance(statement, RangeFor) else None
        times = (USUAL if count is None else count) if repeats(statement) else 1
        shared += times * (all_of if statement in found else own)
        total += times * all_of
    return shared, total


def choose_block(task: Task, lanes: int) -> None:
    """Let a block have one warp where there are few, so that more multiprocessors have one."""
    assert task.loop is not None
    count, block = trip_count(task.loop), max(lanes, WARP)
    if count is not None and count <= FEW_WARPS and task.loop.block_dim is None and task.block_dim == BLOCK_DIM:
        task.block_dim = block
        task.block_note = f"{count:,} warps, for more multiprocessors (shared_steps)"


def threads_for(task: Task, found: Shared, lanes: int, context: PassContext) -> int:
    """Return how many threads should share an iteration: those of a warp, or of a block where states are many."""
    loop, capabilities, options = task.loop, context.capabilities, context.options
    assert loop is not None
    count = trip_count(loop)
    is_chosen = loop.block_dim is not None or options.has_own_block_dim
    if count is None or is_chosen or task.reductions or not capabilities.has_shared_memory:
        return lanes
    threads, fewest = min(MOST_THREADS, capabilities.max_block_dim), max(lanes, 2 * WARP)
    while threads >= fewest and (threads * count > BUSY or threads > max(map(_threads_of, found))):
        threads //= 2
    joined = sum(variable.type.size_bytes for each in found.values() for variable in each if variable.type is not None)
    is_small = joined * threads // lanes <= capabilities.max_shared_bytes
    return threads if threads >= fewest and is_small else lanes


def _threads_of(loop: RangeFor) -> int:
    """Return how many threads are enough for a loop: with one state each, if that is a loop itself, or with two."""
    states = trip_count(loop)
    if states is None:
        low, high = interval_in_loops(loop.starts[0])[0], interval_in_loops(loop.ends[0])[1]
        pointers = [base_pointer(s.pointer) for s in walk(loop.body) if isinstance(s, GlobalStore)]
        places = [pointer for pointer in pointers if isinstance(pointer, GlobalPtr) and pointer.array.shape is not None]
        pairs = [pair for place in places for pair in zip(place.indices, place.array.shape or (), strict=True)]
        states = min([high - low, *(extent for index, extent in pairs if is_index_of(index, loop))])
        states = states // 2 if states <= MOST_STATES else 0
    is_long = any(map(repeats, walk(loop.body)))
    return 2 * states - 1 if is_long else states // STATES
