"""Which loops can run several iterations as one (`wide_accesses`): a query that changes nothing.

In: a task in final form. Out: a `Plan`, None for a loop that stays as it is. The body is a sequence of statements, or
ends with an `if` around what it does, whose condition compares indices with bounds:

    if 0 < i and i < n - 1 and 0 < j and j < n - 1 { w[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] }

The iterations j to j + 3 may be one where the condition holds for all of them: each comparison with the last index
holds for the others, too, if it holds for the first of them (`0 < j`) or for the last (`j + 3 < n - 1`).
"""

from __future__ import annotations

from dataclasses import field
from math import prod

from ...ir.nodes import Effect, Statement, blocks, operands
from ...ir.snodes import Node
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
    LoopIndex,
    Operation,
    RangeFor,
    is_const,
)
from ...ir.tasks import Task
from ...ir.types import Scalar, Tensor, Type, i32, u1
from ...lazy_dataclasses import dataclass
from ..threads.vector_lanes import ELEMENTWISE, INTEGER

WIDTH = 16
"""Bytes of the widest load."""
FEW = 1 << 16
"""Iterations of which a GPU runs each in a thread of its own."""
AXES = 3
"""Stencils of ndarrays in fewer dimensions stay as they are: two conditions and both bodies are more to read than they
win. In three, threads that take one element wait for their divisions: 1024^3 take an H200 5.7 ms, and 2.6 so."""
COMPARISONS = frozenset({"lt", "le", "gt", "ge"})
COUNTS = {4: "four", 2: "two"}


@dataclass(eq=False, slots=True)
class Plan:
    """How the iterations of a task become one.

    lanes: how many. branch: the `if` at the end of the body. tests: the comparisons and conjunctions of its condition.
    shifts: the last index, and sums of it with a number: that number. wide: values and pointers that become vectors.
    apart: of these pointers and loads those that start between vectors. arrays: whose elements are vectors.
    mask: the node whose bits tell which iterations are run, None if all are.
    """

    loop: RangeFor
    lanes: int = 0
    branch: If | None = None
    tests: set[Statement] = field(default_factory=set)
    shifts: dict[Statement, int] = field(default_factory=dict)
    wide: set[Statement] = field(default_factory=set)
    apart: set[Statement] = field(default_factory=set)
    arrays: list[Array] = field(default_factory=list)
    mask: Node | None = None

    def is_uniform(self, statement: Statement) -> bool:
        """Return whether a statement gives the same in all iterations that are one, and may be computed anywhere."""
        own = (self.wide, self.shifts, self.tests)
        is_own = statement is self.branch or any(s in group for s in (statement, *operands(statement)) for group in own)
        return not (is_own or statement.EFFECT)


def plan_of(task: Task, stored: set[Type]) -> Plan | None:
    """Return how a task is widened, None if it stays as it is. stored: vectors that its kernel has in memory."""
    loop = task.loop
    if loop is None or task.reductions or task.block_sums or task.private or task.synchronizes:
        return None
    start, end, step = loop.starts[-1], loop.ends[-1], loop.steps[-1]
    is_usual = loop.cells is None and not loop.order and is_const(start, 0) and is_const(step, 1) and end.type == i32
    if not is_usual or not _is_repeatable(end) or _is_small(loop):
        return None
    plan, body = Plan(loop), list(task.body)
    if body and isinstance(branch := body[-1], If):
        plan.branch = branch
        if branch.otherwise or not _take_condition(branch.condition, plan):
            return None
        if any(statement.EFFECT & Effect.WRITE for statement in body):
            return None
        body[-1:] = branch.then.statements
    if not all(_is_widened(statement, plan) for statement in body) or not _has_lanes(body, plan):
        return None
    if not _has_order(body, plan) or stored & _vectors(plan):
        return None
    is_long = plan.branch is not None and any(array.shape is None for array in plan.arrays)
    return None if is_long and len(loop.starts) < AXES else plan


def _is_repeatable(end: Statement) -> bool:
    """Return whether a task can compute the end of its loop again."""
    if isinstance(end, (Operation, Cast)):
        return all(map(_is_repeatable, operands(end)))
    return isinstance(end, (Const, ArgLoad, ArrayShape))


def _is_small(loop: RangeFor) -> bool:
    """Return whether a loop certainly has few iterations."""
    bounds = [b.value for b in (*loop.starts, *loop.ends) if isinstance(b, Const)]
    if len(bounds) < 2 * len(loop.starts):
        return False
    axes = len(loop.starts)
    return prod(int(end) - int(start) for start, end in zip(bounds[:axes], bounds[axes:])) < FEW


def _vectors(plan: Plan) -> set[Type]:
    return {Tensor((plan.lanes,), value.type) for value in plan.wide if isinstance(value.type, Scalar)}


# --- conditions -------------------------------------------------------------------------------------------------------


def _take_condition(condition: Statement, plan: Plan) -> bool:
    """Record the comparisons of a condition; return whether it is only those."""
    plan.tests.add(condition)
    if not isinstance(condition, Operation):
        return False
    if condition.op == "logical_and":
        return all(_take_condition(operand, plan) for operand in condition.operands)
    return condition.op in COMPARISONS


def comparisons(condition: Statement) -> list[Operation]:
    """Return the comparisons of a condition, in order."""
    assert isinstance(condition, Operation)
    if condition.op != "logical_and":
        return [condition]
    return [leaf for operand in condition.operands for leaf in comparisons(operand)]


def _is_test(statement: Statement, plan: Plan) -> bool:
    """Return whether a part of the condition can be asked for several iterations at once."""
    assert isinstance(statement, Operation)
    along = [operand for operand in statement.operands if operand in plan.shifts]
    return len(along) < 2 and not any(operand in plan.wide for operand in statement.operands)


# --- statements -------------------------------------------------------------------------------------------------------


def _is_widened(statement: Statement, plan: Plan) -> bool:
    """Return whether a statement of the body can run for several iterations at once; record it if it is wide."""
    used = operands(statement)
    if statement in plan.tests:
        return _is_test(statement, plan)
    if any(operand in plan.tests for operand in used):
        return False
    if _is_shift(statement, plan):
        return True
    if any(operand in plan.shifts for operand in used) and not isinstance(statement, GlobalPtr):
        return False
    is_wide = any(operand in plan.wide for operand in used)
    match statement:
        case GlobalPtr():
            return not is_wide and _is_row(statement, plan)
        case GlobalLoad(pointer=pointer):
            is_wide = pointer in plan.wide
        case GlobalStore(pointer=pointer):
            return pointer in plan.wide
        case Operation(op=op, type=Scalar() as kind):
            if is_wide and op not in (ELEMENTWISE if kind.is_float else INTEGER):
                return False
        case Cast(bits=False):
            pass
        case _:
            return not (is_wide or statement.EFFECT & ~Effect.READ or blocks(statement))
    if is_wide:
        plan.wide.add(statement)
    return not is_wide or isinstance(statement.type, Scalar)


def _is_shift(statement: Statement, plan: Plan) -> bool:
    """Return whether a value is the last index of the loop, or a sum of it with a number; record it."""
    match statement:
        case LoopIndex(loop=loop, axis=axis) if loop is plan.loop and axis == len(plan.loop.starts) - 1:
            plan.shifts[statement] = 0
        case Operation(op="add" | "sub" as op, operands=[index, Const(value=number)]) if index in plan.shifts:
            plan.shifts[statement] = plan.shifts[index] + (int(number) if op == "add" else -int(number))
        case Operation(op="add", operands=[Const(value=number), index]) if index in plan.shifts:
            plan.shifts[statement] = plan.shifts[index] + int(number)
        case _:
            return False
    return True


def _is_row(pointer: GlobalPtr, plan: Plan) -> bool:
    """Return whether a pointer is the same for all iterations, or one after another; record it then."""
    if any(index in plan.shifts for index in pointer.indices[:-1]):
        return False
    if pointer.indices and pointer.indices[-1] in plan.shifts:
        plan.wide.add(pointer)
        return _is_plain(pointer)
    return True


def _is_plain(pointer: GlobalPtr) -> bool:
    """Return whether the elements of an array are numbers, one after another along the last axis."""
    array = pointer.array
    is_number = isinstance(array.element, Scalar) and array.element != u1
    if pointer.is_flat:
        return is_number
    if array.place is not None or array.node is not None or array.is_shared or array.strided or array.clamped:
        return False
    return is_number and pointer.cell is None and not any(array.offset)


def _has_lanes(body: list[Statement], plan: Plan) -> bool:
    """Return whether all numbers have one size that fits vectors, of which rows have a whole number; record them."""
    sizes = {statement.type.size_bytes for statement in plan.wide if statement.type is not None}
    if len(sizes) != 1 or not any(isinstance(statement, GlobalStore) for statement in body):
        return False
    plan.lanes = WIDTH // sizes.pop()
    pointers = [statement for statement in body if isinstance(statement, GlobalPtr) and statement in plan.wide]
    plan.arrays = list(dict.fromkeys(pointer.array for pointer in pointers))
    return plan.lanes in COUNTS and all(_has_whole_rows(array, plan.lanes) for array in plan.arrays)


def _has_whole_rows(array: Array, lanes: int) -> bool:
    """Return whether the rows of an array may have a length that is a multiple of `lanes`."""
    return array.ndim == 1 or array.shape is None or array.shape[-1] % lanes == 0


def _has_order(body: list[Statement], plan: Plan) -> bool:
    """Return whether neighbours are only read, and before anything is stored: each is loaded once then."""
    lanes = plan.lanes
    pointers = {s for s in plan.wide if isinstance(s, GlobalPtr) and plan.shifts[s.indices[-1]] % lanes}
    if not pointers:
        return True
    plan.apart |= pointers | {s for s in body if isinstance(s, GlobalLoad) and s.pointer in pointers}
    stores = [position for position, s in enumerate(body) if isinstance(s, GlobalStore)]
    loads = [position for position, s in enumerate(body) if isinstance(s, GlobalLoad)]
    is_read = not any(isinstance(s, GlobalStore) and s.pointer in pointers for s in body)
    is_near = all(abs(plan.shifts[pointer.indices[-1]]) < lanes for pointer in pointers)
    return is_read and is_near and bool(stores) and max(loads) < min(stores)
