"""Clears deactivated cells: cells of bitmasked nodes in place, cells of pools in tasks after the loop.

    deactivate bits ($i)    ->    $was = deactivate bits ($i)
                                  if $was { x[$i] = 0; for ... { y[...] = 0 } }

    deactivate block ($i)   ->    deactivate block ($i)
                                  ... after the enclosing top-level loop, for the freed cells:
                                  deactivate the cells of inner pools, zero the memory, release the cells

Thus the memory of an inactive cell is zero, and a cell that is activated again starts with zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...ir.builder import Builder
from ...ir.functions import called
from ...ir.nodes import Block, Statement, walk
from ...ir.snodes import Node, axes_of, pool_above, top_of
from ...ir.sparse import Deactivate, DeactivateEntry, PoolCount, leaf_array, node_name, sparse_array
from ...ir.sparse_storage import (
    entries_per_cell,
    lists_per_cell,
    mask_words,
    pool_words,
    pools_below,
    sparse_below,
)
from ...ir.statements import Array, GlobalPtr, If, LoopIndex, RangeFor, Return
from ...ir.tasks import Kernel
from ...ir.types import i32, u1, u32
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter


def deactivate_cells(kernel: Kernel, context: PassContext) -> bool:
    """Add the statements and tasks that clear the cells that the kernel deactivates."""
    if not any(isinstance(statement, Deactivate) for statement in kernel.statements()):
        return False

    def rule(rewriter: Rewriter, statement: Statement) -> Statement | None:
        assert isinstance(statement, Deactivate)
        builder = rewriter.builder(statement)
        _deactivate(kernel, builder, statement.node, statement.indices)
        return DROPPED

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
    """Return the pools whose cells a statement, or a function that it calls, frees."""
    around = Block([statement])
    blocks = [around, *(function.body for function in called(around))]
    return {s.node: None for block in blocks for s in walk(block) if isinstance(s, Deactivate) and s.node.has_pool}


def _collect_all(kernel: Kernel, builder: Builder, freed: dict[Node, None]) -> None:
    """Add the tasks that release the cells that were freed since the last such tasks."""
    for pool in _with_inner_pools(freed):
        _collect(kernel, builder, pool)
    freed.clear()


def _deactivate(kernel: Kernel, builder: Builder, node: Node, indices: list[Statement]) -> None:
    """Deactivate a cell of a node, and clear it, unless that happens after the loop."""
    deactivation = builder.add(Deactivate(node, indices, type=None if node.has_pool else u1))
    deactivation.hint = "was_active"
    if node.has_pool:
        return
    then = Block()
    with builder.into(then):
        _clear(kernel, builder, node, indices)
    builder.add(If(deactivation, then))


def _clear(kernel: Kernel, builder: Builder, node: Node, indices: list[Statement]) -> None:
    """Zero the cell of a node, and deactivate the cells inside it."""
    for child in node.children:
        if child.kind == "place":
            array = leaf_array(kernel, child)
            lower_bounds = array.offset or (0,) * array.ndim
            user_indices = [
                builder.shifted(index, lower_bound) for index, lower_bound in zip(indices, lower_bounds, strict=True)
            ]
            pointer = builder.add(GlobalPtr(array, user_indices, type=array.element))
            builder.store(pointer, builder.zero(array.element))
        elif child.kind == "dynamic":
            _deactivate(kernel, builder, child, indices)
        else:
            _each_cell(builder, child, indices, partial(_clear_or_deactivate, kernel, builder, child))


def _clear_or_deactivate(kernel: Kernel, builder: Builder, child: Node, indices: list[Statement]) -> None:
    if child.is_sparse:
        _deactivate(kernel, builder, child, indices)
    else:
        _clear(kernel, builder, child, indices)


def _each_cell(
    builder: Builder, child: Node, indices: list[Statement], body: Callable[[list[Statement]], None]
) -> None:
    """Add a loop over the cells of a node inside one cell of its parent."""
    assert child.parent is not None
    above = dict(zip(axes_of(child.parent), indices, strict=True))
    loop = _loop(
        builder, [builder.const(extent) for extent in child.extents], [f"{'ijklmnop'[a % 8]}" for a in child.axes]
    )
    with builder.into(loop.body):
        for position, (axis, extent) in enumerate(zip(child.axes, child.extents, strict=True)):
            index: Statement = builder.add(LoopIndex(loop, position, type=i32, name=loop.names[position]))
            if axis in above:
                first = builder.op("mul", above[axis], builder.const(extent))
                index = builder.op("add", first, index)
            above[axis] = index
        body([above[axis] for axis in axes_of(child)])
    builder.add(loop)


def _loop(builder: Builder, ends: Sequence[Statement], names: list[str], purpose: str = "") -> RangeFor:
    zeros: list[Statement] = [builder.const(0) for _ in ends]
    ones: list[Statement] = [builder.const(1) for _ in ends]
    return RangeFor(zeros, list(ends), ones, names, location=builder.location, purpose=purpose)


# --- pools ------------------------------------------------------------------------------------------------------------


def _with_inner_pools(freed: dict[Node, None]) -> list[Node]:
    """Return the pools with freed cells and the pools inside their cells, outer ones first."""
    result: dict[Node, None] = {}
    for top in dict.fromkeys(top_of(node) for node in freed):
        for pool in pools_below(top):
            if pool in freed or pool_above(pool) in result:
                result[pool] = None
    return list(result)


def _collect(kernel: Kernel, builder: Builder, pool: Node) -> None:
    """Add the tasks that clear and release the freed cells of a pool."""
    for inner in sparse_below(pool):
        storages = {"bitmasked": ("mask", mask_words(inner)), "dynamic": ("lengths", lists_per_cell(inner))}
        if (storage := storages.get(inner.kind)) is not None:
            _zero_words(kernel, builder, pool, sparse_array(kernel, inner, storage[0]), storage[1])
        if inner.has_pool:
            _deactivate_inner(kernel, builder, pool, inner)
    words = pool_words(pool)
    if words:
        memory = sparse_array(kernel, pool, "words")
        loop, cell = _freed_cell_loop(kernel, builder, pool, words, "word", "zeroes the freed cells of")
        with builder.into(loop.body):
            pointer = builder.add(GlobalPtr(memory, [cell, _item_index(builder, loop)], type=memory.element))
            builder.store(pointer, builder.zero(memory.element))
        builder.add(loop)
    _release_cells(kernel, builder, pool)


def _freed_cell_loop(
    kernel: Kernel, builder: Builder, pool: Node, width: int, name: str, purpose: str
) -> tuple[RangeFor, Statement]:
    """Return a loop over `width` items of each freed cell of a pool, not yet added, and the number of the cell.

    The loop has one axis if `width` is 1.
    """
    count = builder.add(PoolCount(pool, "freed", type=i32))
    ends, names = ([count, builder.const(width)], ["k", name]) if width > 1 else ([count], ["k"])
    loop = _loop(builder, ends, names, f"{purpose} {node_name(kernel, pool)}")
    with builder.into(loop.body):
        cell = builder.load(_freed(kernel, builder, pool, _index(builder, loop, 0)))
        cell.name = "cell"
        cell = builder.cast(cell, i32)
    return loop, cell


def _item_index(builder: Builder, loop: RangeFor) -> Statement:
    """Return the index of the item inside the cell in a loop of `_freed_cell_loop`."""
    return _index(builder, loop, 1) if len(loop.names) > 1 else builder.const(0)


def _freed(kernel: Kernel, builder: Builder, pool: Node, k: Statement) -> GlobalPtr:
    """Return a pointer to the number of the k-th freed cell."""
    position = builder.op("add", builder.add(PoolCount(pool, "capacity", type=i32)), k)
    return builder.add(GlobalPtr(sparse_array(kernel, pool, "cells"), [position], type=u32))


def _index(builder: Builder, loop: RangeFor, axis: int) -> Statement:
    return builder.add(LoopIndex(loop, axis, type=i32, name=loop.names[axis]))


def _zero_words(kernel: Kernel, builder: Builder, pool: Node, array: Array, width: int) -> None:
    """Zero the words that an array has for each freed cell of a pool."""
    loop, cell = _freed_cell_loop(kernel, builder, pool, width, "word", f"zeroes {array.name} in freed cells of")
    with builder.into(loop.body):
        first = builder.op("mul", cell, builder.const(width))
        position = builder.op("add", first, _item_index(builder, loop))
        builder.store(builder.add(GlobalPtr(array, [position], type=u32)), builder.const(0, u32))
    builder.add(loop)


def _deactivate_inner(kernel: Kernel, builder: Builder, pool: Node, inner: Node) -> None:
    """Deactivate the cells of an inner pool inside freed cells of a pool."""
    width = entries_per_cell(inner)
    purpose = f"deactivates cells of {node_name(kernel, inner)} in freed cells of"
    loop, cell = _freed_cell_loop(kernel, builder, pool, width, "entry", purpose)
    with builder.into(loop.body):
        first = builder.op("mul", cell, builder.const(width))
        builder.add(DeactivateEntry(inner, builder.op("add", first, _item_index(builder, loop))))
    builder.add(loop)


def _release_cells(kernel: Kernel, builder: Builder, pool: Node) -> None:
    """Push the numbers of the freed cells to the free list, and update the counters."""
    count = builder.add(PoolCount(pool, "freed", type=i32))
    loop = _loop(builder, [count], ["k"], f"releases the freed cells of {node_name(kernel, pool)}")
    with builder.into(loop.body):
        k = _index(builder, loop, 0)
        cell = builder.load(_freed(kernel, builder, pool, k))
        last = builder.op("sub", builder.add(PoolCount(pool, "taken", type=i32)), builder.const(1))
        position = builder.op("sub", last, k)
        builder.store(builder.add(GlobalPtr(sparse_array(kernel, pool, "cells"), [position], type=u32)), cell)
    builder.add(loop)
    pointers = {
        counter: builder.add(GlobalPtr(sparse_array(kernel, pool, counter), [], type=u32))
        for counter in ("taken", "freed", "highest")
    }
    taken, freed, highest = (builder.load(pointers[counter]) for counter in pointers)
    builder.store(pointers["highest"], builder.op("max", highest, taken))
    builder.store(pointers["taken"], builder.op("sub", taken, freed))
    builder.store(pointers["freed"], builder.const(0, u32))
