"""Runs four iterations of a loop as one, by accesses of 16 bytes, where neighbours are independent and in order.

    for i { y[i] = a * x[i] + y[i] }    ->    for i, step 4 {
                                                  if x and y are aligned, and i <= n - 4 {
                                                      y[i .. i + 3] = a * x[i .. i + 3] + y[i .. i + 3]
                                                  } else {
                                                      for k in min(n - i, 4) { y[i + k] = a * x[i + k] + y[i + k] }
                                                  }
                                              }

A thread that loads 4 bytes waits most of the time; one that loads 16 uses all of a GPU's bandwidth. Fields start at
multiples of 16 bytes, and where their extents are multiples of 4 there is no condition. The addresses of ndarrays are
known when the kernel runs. Numbers of 8 bytes are taken in twos.

The loop's body only loads, combines and stores elements at the loop's own index along the last axis, in any order
that the statements have: so an iteration reads and writes nothing of the others, as far as a parallel loop may, and
arrays that overlap are no obstacle.
"""

from __future__ import annotations

from math import prod

from ...ir.builder import Builder
from ...ir.nodes import Block, Effect, Remark, Statement, blocks, clone, clone_block, operands
from ...ir.statements import (
    ArgLoad,
    Array,
    ArrayShape,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IsAligned,
    LoopIndex,
    Operation,
    RangeFor,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Tensor, Type, i32, parts_of, u1
from ...lazy_dataclasses import dataclass
from ..context import PassContext

WIDTH = 16
"""Bytes of the widest load."""
FEW = 1 << 16
"""Iterations of which a GPU runs each in a thread of its own."""
INTEGER = frozenset({"add", "sub", "mul"})
ELEMENTWISE = INTEGER | {"div", "neg", "min", "max", "abs"}
"""Operations on vectors that read like those on numbers: of integers, which some drivers get wrong, and of floats."""
COUNTS = {4: "four", 2: "two"}


def wide_accesses(kernel: Kernel, context: PassContext) -> bool:
    """Widen the loops of GPUs that only move and combine numbers."""
    if context.capabilities.blocks_as_loops or context.capabilities.blocks_in_lockstep:
        return False
    changed = False
    for task in kernel.tasks:
        plan = _plan(task, _vectors_in_memory(kernel))
        if plan is not None:
            _widen(task, plan, context.options.why_comments)
            changed = True
    return changed


def _vectors_in_memory(kernel: Kernel) -> set[Type]:
    """Return the vectors that a kernel stores: these may have another alignment."""
    stored = [array.element for array in kernel.arrays] + [parameter.type for parameter in kernel.parameters]
    stored += [*kernel.returns, *(temporary.type for temporary in kernel.temporaries)]
    return {part for type in stored for part in parts_of(type) if isinstance(part, Tensor)}


# --- which loops ------------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class _Plan:
    """How a task is widened.

    lanes: iterations in one. wide: values and pointers that become vectors. rows: arrays of several axes.
    """

    lanes: int
    wide: set[Statement]
    arrays: list[Array]


def _plan(task: Task, stored: set[Type]) -> _Plan | None:
    """Return how a task is widened, None if it stays as it is."""
    loop = task.loop
    if loop is None or task.reductions or task.block_sums or task.private or task.synchronizes:
        return None
    start, end, step = loop.starts[-1], loop.ends[-1], loop.steps[-1]
    is_usual = loop.cells is None and not loop.order and _is(start, 0) and _is(step, 1) and end.type == i32
    if not is_usual or not _is_repeatable(end) or _is_small(loop):
        return None
    wide: set[Statement] = set()
    found = all(_is_widened(statement, loop, wide) for statement in task.body)
    pointers = [statement for statement in task.body if isinstance(statement, GlobalPtr) and statement in wide]
    sizes = {statement.type.size_bytes for statement in wide if statement.type is not None}
    if not found or len(sizes) != 1 or not any(isinstance(statement, GlobalStore) for statement in task.body):
        return None
    lanes = WIDTH // sizes.pop()
    arrays = list(dict.fromkeys(pointer.array for pointer in pointers))
    if lanes not in COUNTS or not all(_has_whole_rows(array, lanes) for array in arrays):
        return None
    kinds = {Tensor((lanes,), s.type) for s in wide if isinstance(s.type, Scalar)}
    return None if kinds & stored else _Plan(lanes, wide, arrays)


def _is(value: Statement, number: int) -> bool:
    return isinstance(value, Const) and value.value == number


def _is_repeatable(end: Statement) -> bool:
    """Return whether a task can compute the end of its loop again."""
    if isinstance(end, (Operation, Cast)):
        return all(map(_is_repeatable, operands(end)))
    return isinstance(end, (Const, ArgLoad, ArrayShape))


def _repeated(builder: Builder, end: Statement) -> Statement:
    """Compute the end of a loop again."""
    return builder.add(clone(end, {operand: _repeated(builder, operand) for operand in operands(end)}))


def _is_small(loop: RangeFor) -> bool:
    """Return whether a loop certainly has few iterations."""
    bounds = [b.value for b in (*loop.starts, *loop.ends) if isinstance(b, Const)]
    if len(bounds) < 2 * len(loop.starts):
        return False
    axes = len(loop.starts)
    return prod(int(end) - int(start) for start, end in zip(bounds[:axes], bounds[axes:])) < FEW


def _is_widened(statement: Statement, loop: RangeFor, wide: set[Statement]) -> bool:
    """Return whether a statement of the body can run for several iterations at once; record it if it is wide."""
    if any(_is_along(operand, loop) for operand in operands(statement)) and not isinstance(statement, GlobalPtr):
        return False
    is_wide = any(operand in wide for operand in operands(statement))
    match statement:
        case GlobalPtr(indices=indices):
            if is_wide or any(_is_along(index, loop) for index in indices[:-1]):
                return False
            if indices and _is_along(indices[-1], loop):
                wide.add(statement)
                return _is_plain(statement)
            return True
        case GlobalLoad(pointer=pointer):
            is_wide = pointer in wide
        case GlobalStore(pointer=pointer):
            return pointer in wide
        case Operation(op=op, type=Scalar() as kind):
            if is_wide and op not in (ELEMENTWISE if kind.is_float else INTEGER):
                return False
        case Cast():
            pass
        case _:
            return not (is_wide or statement.EFFECT & ~Effect.READ or blocks(statement))
    if is_wide:
        wide.add(statement)
    return not is_wide or isinstance(statement.type, Scalar)


def _is_along(value: Statement, loop: RangeFor) -> bool:
    """Return whether a value is the loop's index along the last axis."""
    return isinstance(value, LoopIndex) and value.loop is loop and value.axis == len(loop.starts) - 1


def _is_plain(pointer: GlobalPtr) -> bool:
    """Return whether the elements of an array are numbers, one after another along the last axis."""
    array = pointer.array
    if array.place is not None or array.node is not None or array.is_shared or array.strided or array.clamped:
        return False
    is_number = isinstance(array.element, Scalar) and array.element != u1
    return is_number and pointer.cell is None and not any(array.offset)


def _has_whole_rows(array: Array, lanes: int) -> bool:
    """Return whether the rows of an array may have a length that is a multiple of `lanes`."""
    return array.ndim == 1 or array.shape is None or array.shape[-1] % lanes == 0


# --- what they become -------------------------------------------------------------------------------------------------


def _widen(task: Task, plan: _Plan, comments: bool) -> None:
    """Make the loop of a task take several iterations as one."""
    loop, lanes = task.loop, plan.lanes
    assert loop is not None
    step = Const(lanes, type=i32, location=loop.location)
    task.prologue.statements.append(step)
    loop.steps[-1] = step
    task.lanes, task.overlaps = lanes, False
    scalar, mapping = Block(task.body.statements), dict[Statement, Statement]()
    wide = clone_block(scalar, mapping)
    for old, new in mapping.items():
        if old in plan.wide:
            assert isinstance(old.type, Scalar)
            new.type = Tensor((lanes,), old.type)
            if isinstance(new, GlobalPtr):
                new.lanes = lanes
    wide.statements = [part for statement in wide.statements for part in _filled(statement, lanes)]
    task.body.statements = []  # in place: the block is the loop's too
    builder = Builder(task.body)
    builder.location = loop.location
    condition = _condition(builder, loop, plan)
    remark = Remark(f"{COUNTS[lanes]} iterations at a time, by accesses of {WIDTH} bytes (wide_accesses)", "above")
    first: Statement
    if condition is None:
        task.body.statements += wide.statements
        first = next(statement for statement in wide.statements if isinstance(statement, GlobalStore))
    else:
        rest = Block()
        first = builder.add(If(condition, wide, rest))
        with builder.into(rest):
            _add_rest(builder, loop, scalar, lanes)
    if comments:
        first.remarks = (remark, *first.remarks)


def _filled(statement: Statement, lanes: int) -> list[Statement]:
    """Return a statement of the wide body; a number that is stored there is a vector first."""
    if not isinstance(statement, GlobalStore) or isinstance(statement.value.type, Tensor):
        return [statement]
    block = Block()
    builder = Builder(block)
    builder.location = statement.location
    assert statement.pointer.type is not None
    statement.value = builder.fit(statement.value, statement.pointer.type)
    return [*block.statements, statement]


def _condition(builder: Builder, loop: RangeFor, plan: _Plan) -> Statement | None:
    """Return whether an iteration may be widened, None if all may."""
    parts: list[Statement] = []
    last = len(loop.starts) - 1
    given = [array for array in plan.arrays if array.shape is None]
    parts += [builder.add(IsAligned(array, WIDTH, type=u1)) for array in given]
    for array in given:
        if array.ndim > 1:
            extent = builder.add(ArrayShape(array, array.ndim - 1, type=i32))
            rest = builder.op("plain_mod", extent, builder.const(plan.lanes))
            parts.append(builder.op("eq", rest, builder.const(0)))
    end = loop.ends[last]
    if not (isinstance(end, Const) and int(end.value) % plan.lanes == 0) and not _ends_with_row(end, given):
        index = builder.add(LoopIndex(loop, last, type=i32))
        limit = builder.op("sub", _repeated(builder, end), builder.const(plan.lanes))
        parts.append(builder.op("le", index, limit))
    if not parts:
        return None
    condition = parts[0]
    for part in parts[1:]:
        condition = builder.op("logical_and", condition, part)
    return condition


def _ends_with_row(end: Statement, given: list[Array]) -> bool:
    """Return whether a loop ends where the rows of an array do, whose length is a multiple then."""
    return isinstance(end, ArrayShape) and end.axis > 0 and end.array in given and end.axis == end.array.ndim - 1


def _add_rest(builder: Builder, loop: RangeFor, scalar: Block, lanes: int) -> None:
    """Add a loop that runs the iterations of one wide iteration one by one."""
    last = len(loop.starts) - 1
    first = builder.add(LoopIndex(loop, last, type=i32))
    left = builder.op("sub", _repeated(builder, loop.ends[last]), first)
    count = builder.op("min", left, builder.const(lanes))
    one = RangeFor([builder.const(0)], [count], [builder.const(1)], ["k"], location=loop.location)
    builder.add(one)
    with builder.into(one.body):
        index = builder.op("add", first, builder.add(LoopIndex(one, 0, type=i32)))
    mapping: dict[Statement, Statement] = {}
    for statement in scalar:
        if _is_along(statement, loop):
            mapping[statement] = index
    body = Block([statement for statement in scalar if not _is_along(statement, loop)])
    one.body.statements += clone_block(body, mapping).statements
