"""Empties what is deactivated: cells of bitmasked nodes in place, cells of pools in tasks behind the loop.

    deactivate bits ($i)    ->    $was = deactivate bits ($i)
                                  if $was { x[$i] = 0; for ... { y[...] = 0 } }

    deactivate block ($i)   ->    deactivate block ($i)
                                  ... behind the loop that this is in, for the cells that were freed:
                                  deactivate what lies in them and has pools, zero their memory, give them back

So a cell that is not active holds zeros, and one that becomes active again begins with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...ir.builder import Builder
from ...ir.functions import called
from ...ir.nodes import Block, Statement, walk
from ...ir.snodes import Node, axes_of, pool_above, top_of
from ...ir.sparse import (
    Deactivate,
    DeactivateEntry,
    PoolCount,
    entries_per_cell,
    lists_per_cell,
    mask_words,
    node_name,
    place_array,
    pool_words,
    pools_below,
    sparse_array,
    sparse_below,
)
from ...ir.statements import Array, GlobalPtr, If, LoopIndex, RangeFor, Return
from ...ir.tasks import Kernel
from ...ir.types import i32, u1, u32
from ..context import PassContext
from ..rewrite import GONE, Rewriter
from .active_cells import more


def deactivate_cells(kernel: Kernel, context: PassContext) -> bool:
    """Add what empties the cells that the kernel deactivates."""
    if not any(isinstance(statement, Deactivate) for root in kernel.roots() for statement in walk(root)):
        return False

    def rule(rewriter: Rewriter, statement: Statement) -> Statement | None:
        assert isinstance(statement, Deactivate)
        builder = Builder(Block(rewriter.out))
        builder.location = statement.location
        _deactivate(kernel, builder, statement.node, statement.indices)
        return GONE

    Rewriter({Deactivate: rule}).run(kernel)
    builder = Builder(Block())
    freed: dict[Node, None] = {}
    for statement in kernel.body.statements:
        is_loop = isinstance(statement, RangeFor)
        if is_loop or isinstance(statement, Return):
            _collect_all(kernel, builder, freed)
        builder.add(statement)
        freed |= _freed_in(statement)
        if is_loop:
            _collect_all(kernel, builder, freed)
    _collect_all(kernel, builder, freed)
    kernel.body.statements = builder.block.statements
    return True


def _freed_in(statement: Statement) -> dict[Node, None]:
    """Return the pools of which a statement, or a function that it calls, frees cells."""
    around = Block([statement])
    blocks = [around, *(function.body for function in called(around))]
    return {s.node: None for block in blocks for s in walk(block) if isinstance(s, Deactivate) and s.node.has_pool}


def _collect_all(kernel: Kernel, builder: Builder, freed: dict[Node, None]) -> None:
    """Add the tasks that give back what was freed since the last ones."""
    for pool in _with_pools_inside(freed):
        _collect(kernel, builder, pool)
    freed.clear()


def _deactivate(kernel: Kernel, builder: Builder, node: Node, indices: list[Statement]) -> None:
    """Deactivate a cell of a node, and empty it where it does not wait for the end of the loop."""
    name = None if node.has_pool else "was_active"
    made = builder.add(Deactivate(node, indices, type=None if node.has_pool else u1, name=name))
    if node.has_pool:
        return
    then = Block()
    with builder.into(then):
        _empty(kernel, builder, node, indices)
    builder.add(If(made, then))


def _empty(kernel: Kernel, builder: Builder, node: Node, indices: list[Statement]) -> None:
    """Zero the cell of a node, and deactivate what lies in it."""
    for child in node.children:
        if child.kind == "place":
            array = place_array(kernel, child)
            begins = array.offset or (0,) * array.ndim
            moved = [more(builder, index, begin) for index, begin in zip(indices, begins, strict=True)]
            pointer = builder.add(GlobalPtr(array, moved, type=array.element))
            builder.store(pointer, builder.zero(array.element))
        elif child.kind == "dynamic":
            _deactivate(kernel, builder, child, indices)
        else:
            _each_cell(builder, child, indices, partial(_enter, kernel, builder, child))


def _enter(kernel: Kernel, builder: Builder, child: Node, indices: list[Statement]) -> None:
    if child.is_sparse:
        _deactivate(kernel, builder, child, indices)
    else:
        _empty(kernel, builder, child, indices)


def _each_cell(
    builder: Builder, child: Node, indices: list[Statement], body: Callable[[list[Statement]], None]
) -> None:
    """Add a loop over the cells that a node has in one cell of the node above it."""
    assert child.parent is not None
    above = dict(zip(axes_of(child.parent), indices, strict=True))
    loop = _loop(
        builder, [builder.const(extent) for extent in child.extents], [f"{'ijklmnop'[a % 8]}" for a in child.axes]
    )
    with builder.into(loop.body):
        for position, (axis, extent) in enumerate(zip(child.axes, child.extents, strict=True)):
            inside: Statement = builder.add(LoopIndex(loop, position, type=i32, name=loop.names[position]))
            if axis in above:
                first = builder.op("mul", above[axis], builder.const(extent))
                inside = builder.op("add", first, inside)
            above[axis] = inside
        body([above[axis] for axis in axes_of(child)])
    builder.add(loop)


def _loop(builder: Builder, ends: Sequence[Statement], names: list[str], purpose: str = "") -> RangeFor:
    zeros: list[Statement] = [builder.const(0) for _ in ends]
    ones: list[Statement] = [builder.const(1) for _ in ends]
    return RangeFor(zeros, list(ends), ones, names, location=builder.location, purpose=purpose)


# --- pools ------------------------------------------------------------------------------------------------------------


def _with_pools_inside(freed: dict[Node, None]) -> list[Node]:
    """Return pools of which cells may have been freed, and those inside their cells, outer ones first."""
    found: dict[Node, None] = {}
    for top in dict.fromkeys(top_of(node) for node in freed):
        for pool in pools_below(top):
            if pool in freed or pool_above(pool) in found:
                found[pool] = None
    return list(found)


def _collect(kernel: Kernel, builder: Builder, pool: Node) -> None:
    """Add the tasks that empty the freed cells of a pool and give them back."""
    for inner in sparse_below(pool):
        rows = {"bitmasked": ("mask", mask_words(inner)), "dynamic": ("lengths", lists_per_cell(inner))}.get(inner.kind)
        if rows is not None:
            _zero_rows(kernel, builder, pool, sparse_array(kernel, inner, rows[0]), rows[1])
        if inner.has_pool:
            _deactivate_inside(kernel, builder, pool, inner)
    words = pool_words(pool)
    if words:
        memory = sparse_array(kernel, pool, "words")
        loop, cell = _over_freed(kernel, builder, pool, words, "word", "zeroes the freed cells of")
        with builder.into(loop.body):
            pointer = builder.add(GlobalPtr(memory, [cell, _inside(builder, loop)], type=memory.element))
            builder.store(pointer, builder.zero(memory.element))
        builder.add(loop)
    _give_back(kernel, builder, pool)


def _over_freed(
    kernel: Kernel, builder: Builder, pool: Node, width: int, name: str, purpose: str
) -> tuple[RangeFor, Statement]:
    """Return a loop over `width` things in each freed cell of a pool, not yet added, and the number of the cell.

    It has one axis where there is one thing.
    """
    count = builder.add(PoolCount(pool, "freed", type=i32))
    ends, names = ([count, builder.const(width)], ["k", name]) if width > 1 else ([count], ["k"])
    loop = _loop(builder, ends, names, f"{purpose} {node_name(kernel, pool)}")
    with builder.into(loop.body):
        cell = builder.load(_freed(kernel, builder, pool, _index(builder, loop, 0)))
        cell.name = "cell"
        cell = builder.cast(cell, i32)
    return loop, cell


def _inside(builder: Builder, loop: RangeFor) -> Statement:
    """Return which of the things in a cell a turn of `_over_freed` is for."""
    return _index(builder, loop, 1) if len(loop.names) > 1 else builder.const(0)


def _freed(kernel: Kernel, builder: Builder, pool: Node, k: Statement) -> GlobalPtr:
    """Return the place of the number of the k-th freed cell."""
    place = builder.op("add", builder.add(PoolCount(pool, "capacity", type=i32)), k)
    return builder.add(GlobalPtr(sparse_array(kernel, pool, "cells"), [place], type=u32))


def _index(builder: Builder, loop: RangeFor, axis: int) -> Statement:
    return builder.add(LoopIndex(loop, axis, type=i32, name=loop.names[axis]))


def _zero_rows(kernel: Kernel, builder: Builder, pool: Node, array: Array, width: int) -> None:
    """Zero the words that an array has for each freed cell of a pool."""
    loop, cell = _over_freed(kernel, builder, pool, width, "word", f"zeroes {array.name} in freed cells of")
    with builder.into(loop.body):
        first = builder.op("mul", cell, builder.const(width))
        place = builder.op("add", first, _inside(builder, loop))
        builder.store(builder.add(GlobalPtr(array, [place], type=u32)), builder.const(0, u32))
    builder.add(loop)


def _deactivate_inside(kernel: Kernel, builder: Builder, pool: Node, inner: Node) -> None:
    """Deactivate the cells of an inner pool that lie in freed cells of a pool."""
    width = entries_per_cell(inner)
    purpose = f"deactivates cells of {node_name(kernel, inner)} in freed ones of"
    loop, cell = _over_freed(kernel, builder, pool, width, "entry", purpose)
    with builder.into(loop.body):
        first = builder.op("mul", cell, builder.const(width))
        builder.add(DeactivateEntry(inner, builder.op("add", first, _inside(builder, loop))))
    builder.add(loop)


def _give_back(kernel: Kernel, builder: Builder, pool: Node) -> None:
    """Put the numbers of the freed cells back on the stack, and count again."""
    count = builder.add(PoolCount(pool, "freed", type=i32))
    loop = _loop(builder, [count], ["k"], f"gives back the freed cells of {node_name(kernel, pool)}")
    with builder.into(loop.body):
        k = _index(builder, loop, 0)
        cell = builder.load(_freed(kernel, builder, pool, k))
        last = builder.op("sub", builder.add(PoolCount(pool, "taken", type=i32)), builder.const(1))
        place = builder.op("sub", last, k)
        builder.store(builder.add(GlobalPtr(sparse_array(kernel, pool, "cells"), [place], type=u32)), cell)
    builder.add(loop)
    places = {
        counter: builder.add(GlobalPtr(sparse_array(kernel, pool, counter), [], type=u32))
        for counter in ("taken", "freed", "highest")
    }
    taken, freed, highest = (builder.load(places[counter]) for counter in places)
    builder.store(places["highest"], builder.op("max", highest, taken))
    builder.store(places["taken"], builder.op("sub", taken, freed))
    builder.store(places["freed"], builder.const(0, u32))
