"""Unroll and jam: runs four rows of a loop over several axes together on GPUs, where they load the same elements.

    for i, j in c {                          for i step 4, j {
        s = 0.0                                  if i + 3 < n {
        for k in range(m) {                          s = vec4(0.0)
            s += a[i, k] * b[k, j]     ->            for k in range(m) { s += vec4(a[i, k] .. a[i + 3, k]) * b[k, j] }
        }                                            c[i, j] .. c[i + 3, j] = s
        c[i, j] = s                              } else {
    }                                                for ii in i .. n { s = 0.0 ... c[ii, j] = s }
                                                 }
                                             }

Such a loop waits for its loads: with one row it has two for each multiplication, so five for four. A product of
fields of 4096 x 4096 numbers took an H200 26.9 ms before, 12.4 ms after (Vulkan 29.3 and 14.2). Neighbouring threads
have neighbouring `j`, as before.

The body is a sequence of statements and serial loops that run as often in all four rows. It loads, combines and stores
numbers of 4 bytes, at `i` plus a constant or at places that do not depend on it. In its loops some loads depend on the
last axis and not on the rows: these are shared. Others depend on the rows and not on the last axis, so that all threads
of a warp load one element. Iterations of a parallel loop are independent, so overlapping arrays are no obstacle.

Few iterations keep a thread each. How many there are over ndarrays only the launch knows, so their loops have the step
`rows = many ? 4 : 1`, by which the host counts threads, too.
"""

from __future__ import annotations

from dataclasses import field
from functools import reduce

from ...ir.builder import Builder
from ...ir.nodes import Block, Effect, Remark, Statement, blocks, clone, clone_block, operands, reads, walk
from ...ir.statements import (
    Alloca,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
    RangeFor,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Tensor, i32, u32
from ...lazy_dataclasses import dataclass
from ..analysis.loops.vector_loops import ELEMENTWISE, INTEGER, varying_values
from ..analysis.queries import is_given, shift_of, trip_count
from ..context import PassContext
from ..tiles.parts.tiled_loops import counts_of

ROWS = 4
FEW = 1 << 20
"""The number of iterations below which a GPU runs each in a thread of its own: with a quarter of the threads a product
of 511 x 511 numbers takes an H200 2.3 times as long, one of 1024 x 1024 .6 of the time."""


@dataclass(eq=False, slots=True)
class Plan:
    """How rows run together.

    axis: of the rows. is_certain: there are many iterations at each launch. shifts: the index of the row, and sums of
    it with a number: that number. wide: values that differ between rows, local variables among them. along: values
    that differ along the last axis.
    """

    loop: RangeFor
    axis: int
    is_certain: bool
    along: set[Statement]
    shifts: dict[Statement, int] = field(default_factory=dict)
    wide: set[Statement] = field(default_factory=set)


def row_lanes(kernel: Kernel, context: PassContext) -> bool:
    """Run several rows of the loops of GPUs together where they share what they load."""
    if not context.capabilities.has_warps:
        return False
    changed = False
    for task in kernel.tasks:
        plan = _plan_of(task)
        if plan is not None:
            _join_rows(task, plan)
            changed = True
    return changed


# --- which loops ------------------------------------------------------------------------------------------------------


def _plan_of(task: Task) -> Plan | None:
    """Return how the rows of a task run together, None if each runs by itself."""
    loop = task.loop
    if loop is None or task.lanes > 1 or not task.is_plain:
        return None
    axis = len(loop.starts) - 2
    if axis < 0 or loop.cells is not None or loop.order or task.tile or not _is_usual(loop, axis):
        return None
    count = trip_count(loop)
    if count is not None and count < FEW:
        return None
    if not any(isinstance(statement, RangeFor) for statement in task.body):
        return None
    plan = Plan(loop, axis, count is not None, varying_values(task, loop))
    plan.wide |= _variables(task, axis)
    if not all(_is_joined(statement, plan) for statement in task.body) or not _pays(task, plan):
        return None
    return plan


def _is_usual(loop: RangeFor, axis: int) -> bool:
    """Return whether iterations are one apart, and the launch knows how many there are."""
    if not is_const(loop.starts[axis], 0) or not all(is_const(step, 1) for step in loop.steps):
        return False
    return all(isinstance(start, Const) for start in loop.starts) and all(map(is_given, loop.ends))


def _variables(task: Task, axis: int) -> set[Statement]:
    """Return the local variables that differ between rows."""
    assert task.loop is not None
    statements, size = list(walk(task.body)), -1
    found: set[Statement] = {
        s for s in statements if isinstance(s, LoopIndex) and s.loop is task.loop and s.axis == axis
    }
    while len(found) > size:  # a loop may store at its end what it reads at its start
        size = len(found)
        for statement in statements:
            if any(value in found for value in reads(statement)):
                found.add(statement.pointer if isinstance(statement, LocalStore) else statement)
    return {statement for statement in found if isinstance(statement, Alloca)}


def _is_joined(statement: Statement, plan: Plan) -> bool:
    """Return whether a statement can run for several rows at once; record it if its value differs between them."""
    used = operands(statement)
    if _is_shift(statement, plan):
        return True
    if any(operand in plan.shifts for operand in used) and not isinstance(statement, GlobalPtr):
        return False
    is_wide = any(operand in plan.wide for operand in used)
    match statement:
        case GlobalPtr():
            if is_wide or not _is_plain(statement):
                return False
            is_wide = any(index in plan.shifts for index in statement.indices)
        case GlobalLoad(pointer=pointer):
            is_wide = pointer in plan.wide
        case GlobalStore(pointer=pointer):
            return pointer in plan.wide
        case Alloca():
            return statement not in plan.wide or _has_four_bytes(statement)
        case LocalStore(pointer=Alloca()):
            return True
        case RangeFor():
            is_plain = not is_wide and repeats(statement) and len(statement.starts) == 1 and statement.cells is None
            return is_plain and all(_is_joined(inner, plan) for inner in statement.body)
        case Operation(op=op, type=Scalar() as kind):
            if is_wide and op not in (ELEMENTWISE if kind.is_float else INTEGER):
                return False
        case Cast(bits=False) | LocalLoad():
            pass
        case _:
            return not (is_wide or statement.EFFECT & ~Effect.READ or blocks(statement))
    if is_wide:
        plan.wide.add(statement)
    return not is_wide or _has_four_bytes(statement)


def _is_shift(statement: Statement, plan: Plan) -> bool:
    """Return whether a value is the index of the row, or a sum of it with a number; record it."""
    shift = shift_of(statement, plan.loop, plan.axis, plan.shifts)
    if shift is not None:
        plan.shifts[statement] = shift
    return shift is not None


def _has_four_bytes(statement: Statement) -> bool:
    return isinstance(statement.type, Scalar) and statement.type.size_bytes == 4


def _is_plain(pointer: GlobalPtr) -> bool:
    """Return whether a pointer is to an element of its own in memory."""
    array = pointer.array
    return not (array.is_shared or array.node is not None or array.clamped or pointer.cell is not None or array.place)


def _pays(task: Task, plan: Plan) -> bool:
    """Return whether rows share loads in loops, and what they load by themselves is the same for a warp."""
    inner = [s for each in task.body if isinstance(each, RangeFor) for s in walk(each.body)]
    loads = [s for s in inner if isinstance(s, GlobalLoad)]
    shared = [load for load in loads if load not in plan.wide and load.pointer in plan.along]
    own = [load for load in loads if load in plan.wide]
    stores = any(isinstance(s, GlobalStore) for s in inner)
    return bool(shared and own) and not stores and not any(load.pointer in plan.along for load in own)


# --- the rows together ------------------------------------------------------------------------------------------------


def _join_rows(task: Task, plan: Plan) -> None:
    """Make the loop of a task take several rows as one."""
    loop, end = plan.loop, plan.loop.ends[plan.axis]
    before = Builder(task.prologue, loop.location)
    rows: Statement = before.const(ROWS)
    if not plan.is_certain:
        count = reduce(lambda a, b: before.op("mul", a, b), counts_of(before, loop))
        rows = before.op("select", before.op("ge", count, before.const(FEW, u32)), rows, before.const(1))
        rows.hint = "rows"
    loop.steps[plan.axis] = rows
    task.lanes = ROWS
    single = Block(list(task.body))
    task.body.statements = []  # in place: the block is the loop's too
    builder = Builder(task.body, loop.location)
    joined = _JoinedBody(plan).block(single)
    first = next(s for s in joined if isinstance(s, (RangeFor, LocalStore, GlobalStore)))
    when = "" if plan.is_certain else ", if there are many"
    first.remarks = (Remark(f"four rows share what they load{when} (row_lanes)", "above"), *first.remarks)
    if plan.is_certain and isinstance(end, Const) and int(end.value) % ROWS == 0:
        task.body.statements += joined.statements
        return
    rest = Block()
    limit = builder.op("sub", builder.again(end), builder.const(ROWS))
    is_whole = builder.op("le", _row(builder, plan, 0), limit)
    if not plan.is_certain:
        is_whole = builder.op("logical_and", builder.op("eq", rows, builder.const(ROWS)), is_whole)
    builder.add(If(is_whole, joined, rest))
    with builder.into(rest):
        _add_rest(builder, plan, single, rows)


def _row(builder: Builder, plan: Plan, by: int) -> Statement:
    """Return the index of a row, and `by`."""
    own: Statement = builder.add(LoopIndex(plan.loop, plan.axis, type=i32))
    return builder.shifted(own, by)


class _JoinedBody:
    """Copies the statements of a body for several rows at once. mapping: the copies."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.mapping: dict[Statement, Statement] = {}

    def block(self, body: Block) -> Block:
        """Return the copy of a body."""
        builder = Builder(Block())
        for statement in body:
            self.statement(builder, statement)
        return builder.block

    def statement(self, builder: Builder, statement: Statement) -> None:
        """Copy one statement."""
        plan = self.plan
        builder.location = statement.location
        match statement:
            case GlobalPtr() if statement in plan.wide:
                return
            case _ if statement in plan.shifts:
                self.mapping[statement] = _row(builder, plan, plan.shifts[statement])
            case GlobalLoad(pointer=GlobalPtr() as pointer, type=Scalar() as kind) if statement in plan.wide:
                elements = [builder.load(self.pointer(builder, pointer, row)) for row in range(ROWS)]
                self.mapping[statement] = builder.tensor(elements, (ROWS,), kind)
            case GlobalStore(pointer=GlobalPtr() as pointer, value=value):
                self.store(builder, statement, pointer, self.mapping.get(value, value))
            case RangeFor():
                self.loop(builder, statement)
            case _:
                self.copy(builder, statement)

    def copy(self, builder: Builder, statement: Statement) -> None:
        """Copy a statement whose value may be a vector."""
        copied = clone(statement, self.mapping)
        if isinstance(copied, LoopIndex) and isinstance(loop := self.mapping.get(copied.loop), RangeFor):
            copied.loop = loop
        if statement in self.plan.wide:
            assert isinstance(statement.type, Scalar)
            copied.type = Tensor((ROWS,), statement.type)
        if isinstance(copied, LocalStore):
            assert copied.pointer.type is not None
            copied.value = builder.fit(copied.value, copied.pointer.type)
        builder.add(copied)

    def pointer(self, builder: Builder, pointer: GlobalPtr, row: int) -> Statement:
        """Return the place of a row's element."""
        shifts = self.plan.shifts
        indices = [
            _row(builder, self.plan, shifts[index] + row) if index in shifts else self.mapping.get(index, index)
            for index in pointer.indices
        ]
        return builder.add(GlobalPtr(pointer.array, indices, type=pointer.type))

    def store(self, builder: Builder, store: GlobalStore, pointer: GlobalPtr, value: Statement) -> None:
        """Store an element of each row."""
        for row in range(ROWS):
            own = builder.element(value, [builder.const(row)]) if isinstance(value.type, Tensor) else value
            added = builder.add(GlobalStore(self.pointer(builder, pointer, row), own))
            added.remarks = store.remarks if row == 0 else ()

    def loop(self, builder: Builder, loop: RangeFor) -> None:
        """Copy a serial loop."""
        body, loop.body = loop.body, Block()
        copied = clone(loop, self.mapping)
        loop.body = body
        assert isinstance(copied, RangeFor)
        builder.add(copied)
        with builder.into(copied.body):
            for statement in body:
                self.statement(builder, statement)


def _add_rest(builder: Builder, plan: Plan, single: Block, rows: Statement) -> None:
    """Add a loop over the rows that are too few to run together: one, unless there are many iterations."""
    name = plan.loop.names[plan.axis] if len(plan.loop.names) == len(plan.loop.starts) else "i"
    own = name * 2 if len(name) == 1 else f"each_{name}"
    if own in {statement.name for statement in walk(single)}:
        own = f"each_{name}"
    end = builder.again(plan.loop.ends[plan.axis])
    if not plan.is_certain:
        end = builder.op("select", builder.op("eq", rows, builder.const(ROWS)), end, _row(builder, plan, 1))
    rest = RangeFor([_row(builder, plan, 0)], [end], [builder.const(1)], [own], location=plan.loop.location)
    rest.unroll_count = 1
    builder.add(rest)
    with builder.into(rest.body):
        index = builder.add(LoopIndex(rest, 0, type=i32))
    replaced = [s for s in walk(single) if isinstance(s, LoopIndex) and s.loop is plan.loop and s.axis == plan.axis]
    mapping: dict[Statement, Statement] = dict.fromkeys(replaced, index)
    copied = clone_block(Block([statement for statement in single if statement not in replaced]), mapping)
    for statement in walk(copied):
        if isinstance(statement, LoopIndex) and isinstance(loop := mapping.get(statement.loop), RangeFor):
            statement.loop = loop
    rest.body.statements += copied.statements
