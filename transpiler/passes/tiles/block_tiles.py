"""Tiling: each block of threads loads the elements that all of them read in the same order once, into shared memory.

    for j in 0 to n {            for j_tile in 0 to n step BLOCK {
        $1 = pos[$j]       ->        threads { if j_tile + t < n: pos_tile[t] = pos[j_tile + t] }    t: the thread
        ...                          barrier
    }                                for k in 0 to min(BLOCK, n - j_tile) { $1 = pos_tile[$k] ... }
                                     barrier
                                 }

The loop is one that all threads of the block run with the same bounds, and it reads the array, which the task does not
write, at its index alone. Of an array of structs it is a member, as `bodies[j].pos`: then the task may write others. A
loop stays if the task has stored to an ndarray before, which may be one that is read under another name: another thread
would read the element for the tile.

Loads from shared memory are faster and take no address arithmetic: all pairs of 65,536 bodies took an H200 4.6 ms, 2.25
with a tile, and 2.57 where the inner loop counted from j_tile.
Each tile may be the last and shorter, also where sizes are known, since a person may change `BLOCK`; but no tile is
where the loop runs over all iterations of the task, or over a multiple, and these fill blocks, which the entry
asserts. A loop that reads other arrays at places that depend on its index stays, since it waits for these.
Constant bounds near 2^31 stay, since the index of a tile would wrap; those that a launch gives are not so large, since
the loop would take seconds.

NVIDIA's driver runs a loop of known length whose body has a branch one iteration after another, unless `[[unroll]]` is
before it: .22 ms in place of .87 for a sum over the neighbours of 16,384 bodies.

The iterations may add to totals: whole blocks run them then. Forces and energy of 16,384 bodies took an H200 .93 ms in
one loop without tiles, and .22 in two loops with them.

In GLSL a tile of vectors of three numbers has vectors of four, whose load is one instruction, not three: 2.30 ms in
place of 2.50. NVRTC makes such loads of neighbouring elements by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...ir.builder import Builder
from ...ir.functions import calls
from ...ir.nodes import Block, Remark, Statement, blocks, count_uses, operands, reads, walk
from ...ir.origins import block_size
from ...ir.statements import (
    ALL,
    Array,
    ArrayShape,
    AtomicOp,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LoopIndex,
    MatrixPtr,
    RangeFor,
    StructPtr,
    base_pointer,
)
from ...ir.tasks import Kernel, Task
from ...ir.textures import TEXEL_READS
from ...ir.threads import Barrier, ThreadFor, ThreadIndex, constant_iterations, has_full_blocks
from ...ir.types import Scalar, Tensor, Type, i32
from ...options import MAX_ITERATIONS, Capabilities
from ..analysis.aliasing import member_path, underlying_object, written_objects
from ..analysis.loops.reducible import is_invariant
from ..analysis.loops.synchronizable import may_synchronize
from ..analysis.queries import ends_loop, is_index_of
from ..context import PassContext
from ..rewrite import Rewriter
from .parts.tiled_loops import new_shared

FEWEST_TILES = 4
"""Tiles of a loop that is worth them, if its trip count is known."""
UNROLLED = 16
"""The iterations that a compiler may unroll where it gets a number: loads from shared memory then need no
addresses."""
LARGE_BLOCK = 512
"""Threads of a block of a loop with so many iterations: all pairs of 65,536 bodies took an H200 3.11 ms in blocks of
128 threads, and 2.73 ms in blocks of 512."""
MANY = 1 << 16
MOST_BYTES = 8192
"""The most bytes of the tiles of a block: all threads of an SM still run at once."""
LARGEST_END = MAX_ITERATIONS - 1024
"""The largest end of a loop whose index counts up by blocks of threads without wrapping."""
MOST_UNROLLED = 1 << 13
"""The most statements that a loop with a hint to unroll it may become."""


class Place(NamedTuple):
    """What is staged: the elements of an array, or a member of its structs. element: the type of one."""

    array: Array
    path: tuple[str, ...]
    element: Type

    @property
    def name(self) -> str:
        """As in Python: "b.pos"."""
        return ".".join((self.array.name, *self.path))


def block_tiles(kernel: Kernel, context: PassContext) -> bool:
    """Stage what all threads of a block read in the same order, where a block has shared memory."""
    capabilities, options = context.capabilities, context.options
    if not capabilities.has_shared_memory or not options.make_block_local:
        return False
    changed = False
    for task in kernel.tasks:
        if _has_long_loop(task) and may_synchronize(task, reduces=True):
            _enlarge(task, context)
            tiles: dict[Place, Array] = {}  # of all loops: one is read before the next writes it
            for loop in [s for s in task.body.statements if isinstance(s, RangeFor)]:
                places = _staged(task, loop)
                if places and _size(task, {*places, *tiles}) <= MOST_BYTES:
                    new = [place for place in places if place not in tiles]
                    tiles |= {place: _new_tile(kernel, place, task.block_dim, capabilities) for place in new}
                    _tile(task, loop, {place: tiles[place] for place in places}, context)
                    changed = True
    return changed


def _enlarge(task: Task, context: PassContext) -> None:
    """Give a long loop larger blocks if it has tiles, so that each element of these is loaded by fewer blocks."""
    loop, default = task.loop, task.block_dim
    if loop is None or loop.block_dim is not None or context.options.has_own_block_dim:
        return
    bounds = [int(bound.value) for bound in (*loop.starts, *loop.ends) if isinstance(bound, Const)]
    if len(loop.starts) == 1 and len(bounds) == 2 and bounds[1] - bounds[0] >= MANY:
        task.block_dim = max(default, min(LARGE_BLOCK, context.capabilities.max_block_dim))
        loops = [s for s in task.body.statements if isinstance(s, RangeFor)]
        places = {place for loop in loops for place in _staged(task, loop)}
        needs_unrolling = context.capabilities.leaves_known_counts and any(map(_has_branch, loops))
        if not places or _size(task, places) > MOST_BYTES or needs_unrolling:
            task.block_dim = default


# --- what is staged ---------------------------------------------------------------------------------------------------


def _staged(task: Task, loop: RangeFor) -> list[Place]:
    """Return what a loop reads in order of its index, [] if the loop is not worth tiles."""
    if not _is_long(loop, task.block_dim) or any(map(ends_loop, loop.body)):
        return []
    found: dict[Place, None] = {}
    varying, written = _varying(loop), _written(task.body)
    for statement in walk(loop.body):
        if isinstance(statement, TEXEL_READS) and any(operand in varying for operand in operands(statement)):
            return []
        if not isinstance(statement, GlobalLoad):
            continue
        place = _place(statement.pointer, loop)
        if place is not None and not _is_written(place, written):
            found[place] = None
        elif statement.pointer in varying:
            return []
    before = Block(task.body.statements[: task.body.statements.index(loop) + 1])
    aliases = any(isinstance(array, Array) and array.may_alias for array in written_objects(before))
    if any(place.array.may_alias for place in found) and aliases:
        return []
    if any(function.function.reads for function in calls(loop.body)):
        return []
    return list(found)


def _written(block: Block) -> dict[object, set[tuple[str, ...]]]:
    """Return the arrays that a block writes, each with the paths of the members: () for a whole element."""
    found: dict[object, set[tuple[str, ...]]] = {array: {()} for call in calls(block) for array in call.function.writes}
    for statement in walk(block):
        if isinstance(statement, (GlobalStore, AtomicOp)):
            path = tuple(member_path(statement.pointer))
            found.setdefault(underlying_object(statement.pointer), set()).add(path)
    return found


def _is_written(place: Place, written: Mapping[object, set[tuple[str, ...]]]) -> bool:
    """Return whether a task writes what is staged: the element, a member that holds it, or a part of it."""
    paths = written.get(place.array, ())
    return any(all(own == other for own, other in zip(path, place.path, strict=False)) for path in paths)


def _size(task: Task, places: set[Place]) -> int:
    """Return the bytes of the tiles of a block."""
    return sum(place.element.size_bytes for place in places) * task.block_dim


def _has_long_loop(task: Task) -> bool:
    """Return whether a loop in a task may be worth tiles; larger blocks need longer loops."""
    return any(isinstance(s, RangeFor) and _is_long(s, task.block_dim) for s in task.body.statements)


def _is_long(loop: RangeFor, block_dim: int) -> bool:
    """Return whether a loop counts up by 1 between bounds that all threads compute, far enough."""
    if loop.unroll or loop.order or loop.cells is not None or len(loop.starts) != 1:
        return False
    (start,), (end,), (step,) = loop.starts, loop.ends, loop.steps
    if not (is_invariant(start) and is_invariant(end) and isinstance(step, Const) and step.value == 1):
        return False
    if start.type != i32 or end.type != i32:
        return False
    if isinstance(start, Const) and isinstance(end, Const):
        is_countable = int(end.value) - int(start.value) <= MAX_ITERATIONS and int(end.value) <= LARGEST_END
        return is_countable and FEWEST_TILES * block_dim <= int(end.value) - int(start.value)
    return True


def _varying(loop: RangeFor) -> set[Statement]:
    """Return the values in a loop that depend on its index."""
    varying: set[Statement] = set()
    for statement in walk(loop.body):
        own = is_index_of(statement, loop)
        if own or any(value in varying for value in reads(statement)):
            varying.add(statement)
    return varying


def _place(pointer: Statement, loop: RangeFor) -> Place | None:
    """Return what can be staged of that into which a pointer points, None if it is not at the loop's index alone."""
    while isinstance(pointer, MatrixPtr):
        pointer = pointer.origin
    base, element = base_pointer(pointer), pointer.type
    if not isinstance(base, GlobalPtr) or not isinstance(element, (Scalar, Tensor)) or base.cell is not None:
        return None
    array = base.array
    if array.is_shared or array.node is not None or array.clamped or array.ndim != 1:
        return None
    return Place(array, tuple(member_path(pointer)), element) if is_index_of(base.indices[0], loop) else None


def _has_branch(loop: RangeFor) -> bool:
    return any(isinstance(statement, If) for statement in walk(loop.body))


# --- the tiles --------------------------------------------------------------------------------------------------------


def _tile(task: Task, loop: RangeFor, tiles: dict[Place, Array], context: PassContext) -> None:
    """Replace a loop by one over tiles, with the loop inside."""
    (start,), (end,) = loop.starts, loop.ends
    step = Const(task.block_dim, block_size(task.block_dim), type=i32, location=loop.location)
    outer = RangeFor([start], [end], [step], [f"{loop.names[0]}_tile"], location=loop.location)
    builder = Builder(outer.body, loop.location)
    first = builder.add(LoopIndex(outer, type=i32))
    is_whole = _has_whole_tiles(task, loop)
    outer.body.statements.append(_staging(tiles, first, end, is_whole, loop, context))
    builder.add(Barrier("block"))
    position = task.body.statements.index(loop)
    task.body.statements[position : position + 1] = [step, outer]
    count: Statement = step
    if not is_whole:
        count = builder.op("min", step, builder.op("sub", end, first))  # not `first + step`, which may overflow
    _read_tiles(loop, tiles, first)
    loop.starts, loop.ends = [builder.const(0)], [count]
    loop.unroll_count = loop.unroll_count or UNROLLED
    size = sum(1 for _ in walk(loop.body)) * task.block_dim
    if is_whole and context.capabilities.leaves_known_counts and _has_branch(loop) and size <= MOST_UNROLLED:
        loop.unroll_count = ALL
    outer.body.statements.append(loop)
    builder.add(Barrier("block"))


def _new_tile(kernel: Kernel, place: Place, size: int, capabilities: Capabilities) -> Array:
    element = place.element
    if capabilities.has_vectors and isinstance(element, Tensor) and element.shape == (3,) and element.size_bytes == 12:
        element = Tensor((4,), element.element)
    tile = new_shared(kernel, "_".join((place.array.name, *place.path, "tile")), element, (size,))
    tile.extents = (block_size(size),)
    return tile


def _has_whole_tiles(task: Task, loop: RangeFor) -> bool:
    """Return whether no tile is shorter, also with another `BLOCK`: the entry asserts that iterations fill blocks."""
    (start,), (end,) = loop.starts, loop.ends
    iterations = constant_iterations(task)
    if not iterations or not has_full_blocks(task) or not (isinstance(start, Const) and isinstance(end, Const)):
        return False
    return (int(end.value) - int(start.value)) % iterations == 0


def _staging(
    tiles: dict[Place, Array], first: Statement, end: Statement, is_whole: bool, loop: RangeFor, context: PassContext
) -> ThreadFor:
    """Return what each thread does to fill the tiles, also one without an iteration."""
    result = ThreadFor(all_threads=True, location=loop.location)
    builder = Builder(result.body, loop.location)
    thread = builder.add(ThreadIndex("thread", type=i32, name="thread"))
    element = builder.op("add", first, thread)
    if not is_whole:
        is_inside = (element, end) if isinstance(end, Const) else (thread, builder.op("sub", end, first))
        branch = If(builder.op("lt", *is_inside))
        builder.add(branch)
        builder.block = branch.then
    body, certain = builder.block, _certainly_read(loop)
    for place, tile in tiles.items():
        builder.block = body
        is_there = None if place.array in certain else _is_there(builder, place.array, loop, first, thread)
        if is_there is not None:
            builder.block = builder.add(If(is_there)).then
        value = builder.load(_pointer(builder, place, element))
        if isinstance(tile.element, Tensor) and tile.element != place.element:
            numbers = [builder.element(value, [builder.const(k)]) for k in range(3)]
            value = builder.tensor([*numbers, builder.const(0, tile.element.element)], (4,), tile.element.element)
        builder.store(builder.add(GlobalPtr(tile, [thread], type=tile.element)), value)
    names = ", ".join(place.name for place in tiles)
    remark = f"all threads read {names} in this order: each loads one element (block_tiles)"
    explained = next(s for s in body.statements if isinstance(s, (GlobalStore, If))) if is_whole else branch
    explained.remarks = (Remark(remark, "above", loop.location),)
    return result


def _pointer(builder: Builder, place: Place, index: Statement) -> Statement:
    """Return a pointer to what is staged of an element."""
    pointer: Statement = builder.add(GlobalPtr(place.array, [index], type=place.array.element))
    for name in place.path:
        pointer = builder.member_ptr(pointer, name)
    return pointer


def _certainly_read(loop: RangeFor) -> set[Array]:
    """Return the arrays of which each iteration reads its element, so that all of these exist."""
    found: set[Array] = set()
    for statement in loop.body.statements:
        if isinstance(statement, GlobalLoad):
            place = _place(statement.pointer, loop)
            found |= {place.array} if place is not None else set()
        if any(isinstance(inner, Continue) for block in blocks(statement) for inner in walk(block)):
            break
    return found


def _is_there(builder: Builder, array: Array, loop: RangeFor, first: Statement, thread: Statement) -> Statement | None:
    """Return whether an array has the element of a thread, None if it has those of all iterations."""
    (start,), (end,) = loop.starts, loop.ends
    low = array.offset[0] if array.offset else 0
    is_above = isinstance(start, Const) and int(start.value) >= low
    if array.shape is None:
        is_below = isinstance(end, ArrayShape) and end.array is array
    else:
        is_below = isinstance(end, Const) and int(end.value) <= low + array.shape[0]
    if is_above and is_below:
        return None
    extent: Statement = builder.add(ArrayShape(array, 0, type=i32))
    if low:
        extent = builder.op("add", extent, builder.const(low))
    if is_above:
        return builder.op("lt", thread, builder.op("sub", extent, first))
    element = builder.op("add", first, thread)
    is_in_array = builder.op("lt", element, extent)
    return builder.op("logical_and", builder.op("ge", element, builder.const(low)), is_in_array)


def _read_tiles(loop: RangeFor, tiles: dict[Place, Array], first: Statement) -> None:
    """Make the loads of a loop read the tiles, whose elements its index counts from now on.

    It keeps its name where nothing else needs the index of the element.
    """
    start = Builder(Block(), loop.location)
    position = start.add(LoopIndex(loop, type=i32))
    element = start.op("add", first, position)

    def index(rewriter: Rewriter, value: Statement) -> Statement | None:
        return element if is_index_of(value, loop) else None

    def pointer(rewriter: Rewriter, value: Statement) -> Statement | None:
        base = base_pointer(value)
        if not isinstance(base, GlobalPtr) or base.cell is not None or base.indices[:1] != [element]:
            return None
        assert value.type is not None
        tile = tiles.get(Place(base.array, tuple(member_path(value)), value.type))
        return None if tile is None else rewriter.builder(value).add(GlobalPtr(tile, [position], type=tile.element))

    def load(rewriter: Rewriter, value: Statement) -> Statement | None:
        assert isinstance(value, GlobalLoad)
        padded, kind = value.pointer.type, value.type
        if padded == kind or not isinstance(padded, Tensor) or not isinstance(kind, Tensor):
            return None
        builder = rewriter.builder(value)
        whole = builder.load(value.pointer)
        numbers = [builder.element(whole, [builder.const(k)]) for k in range(kind.size)]
        return builder.tensor(numbers, kind.shape, kind.element)

    Rewriter({LoopIndex: index, GlobalPtr: pointer, StructPtr: pointer, GlobalLoad: load}).block(loop.body)
    _remove_unused_pointers(loop.body)
    if count_uses(loop.body).get(element):
        element.name, loop.names = loop.names[0], [f"{loop.names[0]}_in_tile"]
        loop.body.statements[:0] = [position, element]
    else:
        loop.body.statements[:0] = [position]


def _remove_unused_pointers(block: Block) -> None:
    """Remove the pointers to elements of which only a member is read, from its tile."""
    uses = count_uses(block)
    for inner in (block, *(inner for s in walk(block) for inner in blocks(s))):
        inner.statements = [s for s in inner.statements if not isinstance(s, GlobalPtr) or uses.get(s)]
