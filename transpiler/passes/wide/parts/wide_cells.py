"""Loops over the cells of a tree as loops over the numbers of its elements, which `wide_accesses` takes four at a time.

    for i, j in x, where x is below dense(ij, 128).bitmasked(ij, 8) { x[i, j] = x[i, j] * 0.5 + 1.0 }    ->

    for cell in 128 * 128 * 64, step 4 {
        bits = bits of cell .. cell + 3
        if bits != 0 { x at cell .. cell + 3 = for each of the four: its bit ? x * 0.5 + 1.0 : x }
    }

In memory the elements of such a tree are one array, in the order of the loop, and a word has the bits of 32 neighbours.
A thread with one element waits for its bit and then for its number. An inactive element is stored as it was loaded:
nothing else in the loop may write it, since an iteration accesses its own elements alone, and none is activated.
"""

from __future__ import annotations

from math import prod

from ....ir.builder import Builder
from ....ir.elements.tree_arrays import cells_in, steps_to
from ....ir.nodes import Block, Statement, blocks, clone, operands
from ....ir.origins import Origin, extent_of, operation
from ....ir.snodes import Node, memory_order, pool_above, shape_of, sparse_above
from ....ir.sparse import IsActive, sparse_array
from ....ir.statements import Array, Const, GlobalPtr, If, LoopIndex, RangeFor, is_const
from ....ir.tasks import Kernel, Task
from ....ir.types import Tensor, Type, i32, u32
from ...analysis.queries import are_indices_of, has_else, is_index_of
from .widenable import Plan, plan_of

BITS = 32
"""Bits of a word of a mask."""


def plan_of_cells(task: Task, stored: set[Type]) -> Plan | None:
    """Let the loop of a task run over numbers of elements and return how it is widened; None if it cannot be, and then
    the task stays as it is. stored: vectors that its kernel has in memory.
    """
    loop = task.loop
    if loop is None or loop.over is None or loop.cells is not None or loop.block_local or not _is_one_array(loop.over):
        return None
    if not all(is_const(step, 1) for step in loop.steps):
        return None
    test = next((statement for statement in task.body if isinstance(statement, IsActive)), None)
    body = _by_number(task, loop, test)
    if body is None:
        return None
    before = task.loop, task.body
    task.loop, task.body = body
    plan = plan_of(task, stored)
    if plan is None:
        task.loop, task.body = before
        return None
    new = plan.loop
    task.prologue.statements += [*new.starts, *new.ends, *new.steps]
    plan.mask = None if test is None else test.node
    return plan


def _is_one_array(array: Array) -> bool:
    """Return whether the elements of an array are one after another in memory, each with its own bit if any has one."""
    place = array.place
    if place is None or place.kind != "place":  # a loop over the cells of a node
        return False
    if pool_above(place) is not None or array.packing is not None or array.words is not None:
        return False
    sparse = sparse_above(place)
    has_bits = [node.kind == "bitmasked" and node is place.parent for node in sparse]
    steps = steps_to(place)
    return (
        len(sparse) < 2
        and all(has_bits)
        and len(steps) == 1
        and steps[0][1] is None
        and cells_in(steps[0][0]) == prod(shape_of(place)) < 1 << 31
    )


def _by_number(task: Task, loop: RangeFor, test: IsActive | None) -> tuple[RangeFor, Block] | None:
    """Return a loop over the numbers of elements, and its body; None if the body needs indices."""
    array = loop.over
    assert array is not None and array.place is not None and array.shape is not None
    statements = list(task.body)
    if test is not None:
        branch = statements[-1]
        if not isinstance(branch, If) or branch.condition is not test or has_else(branch) or not _is_own(test, loop):
            return None
        statements[-1:] = branch.then.statements
    elif not loop.order:
        return None  # row-major: its indices are good enough
    body = Block()
    new = RangeFor(
        [Const(0, type=i32, location=loop.location)],
        [Const(prod(array.shape), _count(array), type=i32, location=loop.location)],
        [Const(1, type=i32, location=loop.location)],
        ["cell"],
        body,
        block_dim=loop.block_dim,
        location=loop.location,
        grid_stride=loop.grid_stride,
    )
    builder = Builder(body, loop.location)
    mapping: dict[Statement, Statement] = {}
    number = builder.add(LoopIndex(new, 0, type=i32))
    for statement in statements:
        if statement is test or is_index_of(statement, loop):
            continue
        if isinstance(statement, GlobalPtr) and _has_same_number(statement, loop):
            flat = GlobalPtr(statement.array, [number], is_flat=True, type=statement.type, location=statement.location)
            mapping[statement] = builder.add(flat)
            continue
        used = operands(statement)
        if blocks(statement) or test in used or any(is_index_of(operand, loop) for operand in used):
            return None
        mapping[statement] = builder.add(clone(statement, mapping))
    return new, body


def _is_own(test: IsActive, loop: RangeFor) -> bool:
    """Return whether a test asks for the element of its iteration."""
    assert loop.over is not None and loop.over.place is not None
    return test.node is loop.over.place.parent and not loop.over.offset and are_indices_of(test.indices, loop)


def _has_same_number(pointer: GlobalPtr, loop: RangeFor) -> bool:
    """Return whether the number of an element is that of the iteration."""
    array, over = pointer.array, loop.over
    assert over is not None and over.place is not None
    if array.place is None or not _is_one_array(array) or array.shape != over.shape or array.offset != over.offset:
        return False
    return memory_order(array.place) == memory_order(over.place) and are_indices_of(pointer.indices, loop)


def _count(array: Array) -> Origin | None:
    """Return the number of elements as a product of extents."""
    count: Origin | None = extent_of(array, 0)
    for axis in range(1, array.ndim):
        if count is not None:
            extent = extent_of(array, axis)
            count = operation("mul", (count, extent), int(count.value) * int(extent.value), i32)
    return count


def bits_of(builder: Builder, kernel: Kernel, node: Node, cell: Statement, lanes: int) -> Statement:
    """Return the bits of `lanes` neighbouring cells of a node. cell: the number of the first, a multiple of `lanes`."""
    word = builder.op("plain_div", cell, builder.const(BITS))
    mask = builder.load(builder.add(GlobalPtr(sparse_array(kernel, node, "mask"), [word], type=u32)))
    shift = builder.op("bit_and", builder.cast(cell, u32), builder.const(BITS - 1, u32))
    bits = builder.op("bit_and", builder.op("sar", mask, shift), builder.const((1 << lanes) - 1, u32))
    bits.hint = "bits"
    return bits


def only_active(builder: Builder, bits: Statement, new: Statement, old: Statement, lanes: int) -> Statement:
    """Return a vector with the numbers of `new` whose bit is set, and the others of `old`."""
    chosen = []
    for lane in range(lanes):
        bit = builder.op("bit_and", bits, builder.const(1 << lane, u32))
        is_active = builder.op("ne", bit, builder.const(0, u32))
        at = [builder.const(lane)]
        chosen.append(builder.op("select", is_active, builder.element(new, at), builder.element(old, at)))
    assert isinstance(new.type, Tensor)
    return builder.tensor(chosen, (lanes,), new.type.element)
