"""Long rows of which there are few: a task for equal chunks of them, and one that joins what these have found.

    for c in 64 {                                for chunk, c in 4, 64 {
        s = 1                                        s = 0
        for k in 100352 { s += x[c, k] }    ->       for q in 25088 { k = chunk * 25088 + q, s += x[c, k] }
        y[c] = s                                     s_of_chunks[chunk, c] = s
    }                                            }
                                                 for c in 64 {
                                                     s = 1
                                                     for chunk in 4 { s += s_of_chunks[chunk, c] }
                                                     y[c] = s
                                                 }

With a block for each row most multiprocessors would be idle. Chunks are joined in their order, so that results do not
change from run to run.

In: a task with one serial loop, whose accumulators are known. Out: both tasks, and the memory for what chunks
have found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ....ir.builder import Builder
from ....ir.functions import Reference
from ....ir.nodes import Block, Remark, Statement, walk
from ....ir.statements import (
    Alloca,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    LocalStore,
    LoopIndex,
    RangeFor,
    Temporary,
    is_const,
    repeats,
)
from ....ir.tasks import Task
from ....ir.types import Scalar, Tensor, i32
from ...analysis.queries import count_along, is_index_of, names_of
from ...tasks.parts.copies import copy_of
from ...tiles.parts.arranged_loops import VALUES
from ...tiles.parts.tasks_behind import place_of_iteration
from ...tiles.parts.tiled_loops import add_bound, replace_indices, take_names
from .strided_rows import has_exits

FEW, BLOCKS = 66, 264
"""Blocks that keep at most half of the multiprocessors of an H200 busy, and all of them."""
LONG, SHORTEST = 1 << 16, 4096
"""The fewest elements of rows that are worth a launch more, and the fewest of a chunk."""
MOST_CHUNKS = 128
"""The most chunks of a row, which a thread joins."""
LOADS = 16
"""Chunks that a thread loads at once."""
BEFORE = (*VALUES, Alloca, LocalStore, LocalLoad, GlobalPtr, GlobalLoad, Reference)
"""What both tasks may do before the row."""


def chunks_of(blocks: int, length: int, width: int = 1) -> int:
    """Return in how many equal chunks to divide rows. blocks: that they have without chunks. width: rows of a block."""
    if not 0 < blocks <= FEW or length * width < LONG:
        return 1
    most = min(BLOCKS // blocks, length * width // SHORTEST, MOST_CHUNKS)
    return next((chunks for chunks in range(most, 1, -1) if length % chunks == 0), 1)


def divided(
    task: Task, row: RangeFor, joined: Mapping[Alloca, str], chunks: int, name: str
) -> tuple[Task, Task, list[Temporary]] | None:
    """Return the two tasks in place of one, and what they share; None if one does more before the row than to load.

    joined: the accumulators, with the operations. name: of the pass.
    """
    counts, position = _counts(task), task.body.statements.index(row)
    before, kinds = task.body.statements[:position], [variable.type for variable in joined]
    if counts is None or not joined or has_exits(row) or any(isinstance(s, GlobalStore) for s in walk(row.body)):
        return None
    if not all(isinstance(s, BEFORE) for s in before) or any(map(repeats, task.body.statements[position + 1 :])):
        return None
    if not all(isinstance(kind, Scalar) for kind in kinds) or not all(variable in before for variable in joined):
        return None
    memory = [
        Temporary(f"{variable.name or variable.hint or 'value'}_of_chunks", Tensor((chunks * prod(counts),), kind))
        for variable, kind in zip(joined, kinds, strict=True)
        if isinstance(kind, Scalar)
    ]
    first, second = copy_of(task), copy_of(task)
    first.reductions, first.join, first.epilogue, first.blocks_done = [], Block(), Block(), None
    first.ends_alone = False
    found = [(before.index(v), op, place) for (v, op), place in zip(joined.items(), memory, strict=True)]
    _keep_chunk(first, position, found, counts, chunks)
    rows = "column" if name == "shared_columns" else "row"
    first.launches = f"{chunks} chunks of each {rows} ({name})"
    _join_chunks(second, position, found, counts, chunks, name)
    return first, second, memory


def _counts(task: Task) -> list[int] | None:
    """Return the lengths of the axes of a loop from 0 on, None if they are not known, or a task is one of several."""
    loop = task.loop
    if loop is None or loop.cells is not None or task.choices or task.private or task.block_sums:
        return None
    if not all(is_const(start, 0) for start in loop.starts) or not all(is_const(step, 1) for step in loop.steps):
        return None
    counts = [count_along(loop, axis) for axis in range(len(loop.starts))]
    return None if None in counts else [count or 0 for count in counts]


Found = Sequence[tuple[int, str, Temporary]]
"""The positions of the accumulators in the body of a task, the operations that join them, and the memory of chunks."""


def _keep_chunk(task: Task, position: int, found: Found, counts: Sequence[int], chunks: int) -> None:
    """Let a task compute the chunks alone, and store what it has found. position: of the row in the body."""
    loop, names = task.loop, take_names(task)
    assert loop is not None
    for statement in walk(task.body):
        if is_index_of(statement, loop):
            statement.axis += 1
    for values, bound in zip((loop.starts, loop.ends, loop.steps), (0, chunks, 1), strict=True):
        values.insert(0, add_bound(task, bound))
    loop.names = ["chunk" if "chunk" not in names else "chunk_", *names]
    own, row = task.body.statements[:position], task.body.statements[position]
    assert isinstance(row, RangeFor)
    builder = Builder(Block(), row.location)
    builder.block.statements += [s for s in own if not isinstance(s, Reference)]
    chunk = builder.add(LoopIndex(loop, 0, type=i32))
    for place, op, _ in found:
        if op == "add":
            builder.store(own[place], builder.zero(_type_of(own[place])))
    _take_chunk(builder, row, chunk, chunks)
    builder.add(row)
    for place, _, memory in found:
        value = builder.load(own[place])
        builder.store(place_of_iteration(builder, loop, memory, counts, chunk), value)
    task.body.statements[:] = builder.block.statements


def _take_chunk(builder: Builder, row: RangeFor, chunk: Statement, chunks: int) -> None:
    """Let a serial loop from a number on run over one of equal chunks."""
    start, length = row.starts[0], count_along(row, 0)
    assert isinstance(start, Const) and length is not None
    first = builder.op("mul", chunk, builder.const(length // chunks))
    first = builder.shifted(first, int(start.value))
    row.starts, row.ends = [builder.const(0)], [builder.const(length // chunks)]
    inside = Builder(Block(), row.location)
    index = inside.op("add", first, inside.add(LoopIndex(row, type=i32)))
    index.name = first.hint = names_of(row)[0]
    first.hint += "_from"
    replace_indices(row.body, row, {0: index})
    row.body.statements[:0] = inside.block.statements
    row.names = [f"{names_of(row)[0]}_in_chunk"]


def _join_chunks(task: Task, position: int, found: Found, counts: Sequence[int], chunks: int, name: str) -> None:
    """Let a task join chunks in place of its serial loop."""
    body, row = task.body.statements, task.body.statements[position]
    builder = Builder(Block(), row.location)
    loop = builder.add(RangeFor([builder.const(0)], [builder.const(chunks)], [builder.const(1)], ["chunk"]))
    loop.unroll_count = min(chunks, LOADS)
    loop.remarks = (Remark(f"{chunks} chunks, each by blocks of its own ({name})", "above", row.location),)
    with builder.into(loop.body):
        chunk = builder.add(LoopIndex(loop, type=i32))
        for place, op, memory in found:
            value = builder.load(place_of_iteration(builder, task.loop, memory, counts, chunk))
            builder.store(body[place], builder.op(op, builder.load(body[place]), value))
    task.body.replace(row, builder.block)


def _type_of(variable: Statement) -> Scalar:
    assert isinstance(variable.type, Scalar)
    return variable.type
