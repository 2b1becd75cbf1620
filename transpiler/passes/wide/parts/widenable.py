"""Which loops can run several iterations as one (`wide_accesses`): a query that changes nothing.

In: a task in final form. Out: a `Plan`, None for a loop that stays as it is. The body is a sequence of statements, or
ends with an `if` around what it does, whose condition compares indices with bounds:

    if 0 < i and i < n - 1 and 0 < j and j < n - 1 { w[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] }

The iterations j to j + 3 may be one where the condition holds for all of them: each comparison with the last index
holds for the others, too, if it holds for the first of them (`0 < j`) or for the last (`j + 3 < n - 1`).

A branch that all of them take or none, as of a test of a row, stays a branch. What is no operation on vectors, as a
comparison or a sine, is computed for each of the iterations:

    w[j] = u[(j + 1) % n] if u[j] > 0.5 else 0.0
"""

from __future__ import annotations

from dataclasses import field
from itertools import product

from ....ir.nodes import Block, Effect, Statement, blocks, operands, walk, walk_inside
from ....ir.ops import ORDERINGS
from ....ir.snodes import Node
from ....ir.statements import (
    Alloca,
    Array,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    is_const,
)
from ....ir.tasks import Task
from ....ir.types import Scalar, Tensor, Type, i32, u1
from ....lazy_dataclasses import dataclass
from ...analysis.loops.reducible import is_invariant
from ...analysis.loops.vector_loops import ELEMENTWISE, INTEGER
from ...analysis.queries import (
    are_indices_of,
    base_array,
    has_else,
    has_few_iterations,
    is_dense,
    is_index_of,
    shift_of,
    trip_count,
)
from ...analysis.value_ranges import same_value
from .neighbours import Row

WIDTH = 16
"""Bytes of the widest load."""
MOST_LANES = 4
"""Numbers of a vector that all languages have: of 16 bits it has 8 bytes, of 8 bits 4."""
LEAST_BYTES = 4
"""Bytes of the narrowest load: two numbers of 8 bits next to those of 64 are less than a thread loads by itself."""
IN_WORDS = 4
"""Bytes of numbers that one vector operation converts to each other, or of fewer."""
FEW = 1 << 16
"""The number of iterations below which a GPU runs each in a thread of its own."""
MOST_INSIDE = 32
"""The most iterations of a loop inside."""
MOST_BY_LANE = 16
"""The most operations that are written for each of the iterations."""
AWAY = 2
"""Vectors between the one at an index and the farthest neighbour's."""
SIGNED = INTEGER | {"neg"}
"""Operations on vectors of integers."""
COUNTS = {4: "four", 2: "two"}
"""How many iterations are one."""


@dataclass(eq=False, slots=True)
class Plan:
    """How the iterations of a task become one.

    lanes: how many. branch: the `if` at the end of the body. tests: the comparisons and conjunctions of its condition.
    shifts: the last index, and sums of it with a number: that number. near: indices that are such sums inside a row.
    wide: values, variables and pointers that become vectors. by_lane: values that each iteration computes by itself.
    by_index: those of them that depend on the last index alone. arrays: whose elements are vectors.
    same: variables that hold the same in all iterations that are one.
    apart: of the wide pointers and loads those that start between vectors. chosen: loads that iterations may not need.
    mask: the node whose bits tell which iterations are run, None if all are.
    single: the body of a single iteration, if it is not the one that is widened. is_inside: that one tests columns.
    """

    loop: RangeFor
    lanes: int = 0
    branch: If | None = None
    tests: set[Statement] = field(default_factory=set)
    shifts: dict[Statement, int] = field(default_factory=dict)
    near: dict[Statement, int] = field(default_factory=dict)
    wide: set[Statement] = field(default_factory=set)
    by_lane: set[Statement] = field(default_factory=set)
    by_index: set[Statement] = field(default_factory=set)
    same: set[Statement] = field(default_factory=set)
    apart: set[Statement] = field(default_factory=set)
    chosen: list[GlobalLoad] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    mask: Node | None = None
    single: Block | None = None
    is_inside: bool = False

    def is_uniform(self, statement: Statement) -> bool:
        """Return whether a statement gives the same in all iterations that are one."""
        is_own = statement is self.branch or any(self.varies(s) for s in (statement, *operands(statement)))
        return not (is_own or isinstance(statement, (Alloca, GlobalStore, If, RangeFor)))

    def varies(self, value: Statement) -> bool:
        """Return whether a value, or what stores to it, differs between iterations that are one."""
        return any(value in group for group in (self.wide, self.shifts, self.tests, self.by_lane, self.by_index))

    def is_by_index(self, statement: Statement) -> bool:
        """Return whether what a statement uses differs by the last index alone."""
        varying = [operand for operand in operands(statement) if self.varies(operand)]
        return all(operand in self.shifts or operand in self.by_index for operand in varying)

    def bytes_of(self, array: Array) -> int:
        """Return how many bytes of an array are accessed together."""
        return self.lanes * array.element.size_bytes

    def shift(self, pointer: GlobalPtr) -> int:
        """Return what the last index of a pointer adds to that of the loop."""
        index = pointer.indices[-1]
        return self.shifts[index] if index in self.shifts else self.near[index]


def plan_of(task: Task, stored: set[Type]) -> Plan | None:
    """Return how a task is widened, None if it stays as it is. stored: vectors that its kernel has in memory."""
    loop = task.loop
    if loop is None or not is_usual(task):
        return None
    plan, body = Plan(loop), list(task.body)
    if body and isinstance(branch := body[-1], If):
        plan.branch = branch
        if has_else(branch) or not _take_condition(branch.condition, plan):
            return None
        if any(statement.EFFECT & Effect.WRITE for statement in body):
            return None
        body[-1:] = branch.then.statements
    plan.same = _same_variables(Block(body), loop)
    if not all(_is_widened(statement, plan) for statement in body) or not _has_lanes(body, plan):
        return None
    if not _has_order(body, plan) or stored & _vectors(plan) or _count_by_lane(plan) > MOST_BY_LANE:
        return None
    return plan


def is_usual(task: Task) -> bool:
    """Return whether a task is a loop over whole rows, of which it may run several iterations as one."""
    loop = task.loop
    if loop is None or not task.is_plain:
        return False
    start, end, step = loop.starts[-1], loop.ends[-1], loop.steps[-1]
    is_whole = loop.cells is None and not loop.order and is_const(start, 0) and is_const(step, 1) and end.type == i32
    return is_whole and is_invariant(end) and not has_few_iterations(task, FEW)


def _vectors(plan: Plan) -> set[Type]:
    return {Tensor((plan.lanes,), value.type) for value in plan.wide if isinstance(value.type, Scalar)}


def _same_variables(body: Block, loop: RangeFor) -> set[Statement]:
    """Return the variables of numbers to which all iterations along the last axis store the same."""
    every = list(walk(body))
    if not any(isinstance(s, Alloca) for s in every):
        return set()
    own = {s for s in every if is_index_of(s, loop) and s.axis == len(loop.starts) - 1}
    varying, count = set[Statement](own), 0
    while count != len(varying):  # a variable may be stored to after it is loaded
        count = len(varying)
        for statement in every:
            inside = [s for block in blocks(statement) for s in (*walk(block), block.result)]
            if any(value in varying for value in (*operands(statement), *inside)):
                varying.add(statement)
                if isinstance(statement, LocalStore):
                    varying.add(statement.pointer)
                elif isinstance(statement, If) and statement.condition in varying:
                    varying.update(s.pointer for s in inside if isinstance(s, LocalStore))
    return {s for s in every if isinstance(s, Alloca) and isinstance(s.type, Scalar) and s not in varying}


# --- conditions -------------------------------------------------------------------------------------------------------


def _take_condition(condition: Statement, plan: Plan) -> bool:
    """Record the comparisons of a condition; return whether it is only those."""
    plan.tests.add(condition)
    if not isinstance(condition, Operation):
        return False
    if condition.op == "logical_and":
        return all(_take_condition(operand, plan) for operand in condition.operands)
    if condition.op == "logical_or" and all(is_unequal(operand) for operand in condition.operands):
        plan.tests.update(condition.operands)  # that no iteration is at a point (`points`)
        return True
    return condition.op in ORDERINGS or is_unequal(condition)


def is_unequal(test: Statement) -> bool:
    """Return whether a test is that two integers are unequal."""
    return isinstance(test, Operation) and test.op == "ne" and all(operand.type == i32 for operand in test.operands)


def comparisons(condition: Statement) -> list[Operation]:
    """Return the comparisons of a condition, in order."""
    assert isinstance(condition, Operation)
    if condition.op != "logical_and":
        return [condition]
    return [leaf for operand in condition.operands for leaf in comparisons(operand)]


def _is_test(statement: Statement, plan: Plan) -> bool:
    """Return whether a part of the condition can be asked for several iterations at once."""
    assert isinstance(statement, Operation)
    varying = [operand for operand in statement.operands if plan.varies(operand) and operand not in plan.tests]
    return len(varying) < 2 and all(operand in plan.shifts for operand in varying)


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
    match statement:
        case GlobalPtr():
            return _is_element(statement, plan)
        case GlobalLoad(pointer=pointer) | LocalLoad(pointer=pointer) if pointer in plan.wide:
            plan.wide.add(statement)
            return isinstance(statement.type, Scalar)
        case LocalStore(pointer=pointer, value=value) if pointer in plan.same:
            return not plan.varies(value)
        case GlobalStore(pointer=pointer) | LocalStore(pointer=pointer):
            return pointer in plan.wide
        case If():
            return _is_branch(statement, plan)
        case Alloca() if statement not in plan.same:
            plan.wide.add(statement)
            return isinstance(statement.type, Scalar) and statement.type != u1 and not statement.per_thread
        case Operation() | Cast():
            return _is_value(statement, plan)
        case IfExp():
            return _is_choice(statement, plan)
        case RangeFor():
            return _is_inner_loop(statement, plan)
    varies = any(map(plan.varies, used))
    return not (varies or statement.EFFECT & ~Effect.READ or blocks(statement))


def _is_inner_loop(loop: RangeFor, plan: Plan) -> bool:
    """Return whether a loop inside runs the same few times in all iterations, loads rows and stores to variables."""
    if any(map(plan.varies, operands(loop))) or (_most_iterations(loop) or MOST_INSIDE + 1) > MOST_INSIDE:
        return False
    if not all(_is_widened(s, plan) and not isinstance(s, GlobalStore) for s in loop.body):
        return False
    rows = [s.pointer for s in walk(loop.body) if isinstance(s, GlobalLoad) and s in plan.wide]
    is_product = any(is_index_of(i, loop) for row in rows for i in operands(row)) and trip_count(loop) is not None
    return bool(rows) and not is_product  # which `row_lanes` takes


def _most_iterations(loop: RangeFor) -> int | None:
    """Return how many iterations a loop has at most, also over a window, `range(max(i - 7, 0), min(i + 8, n))`."""
    if len(loop.starts) > 1 or not is_const(loop.steps[0], 1) or trip_count(loop) is not None:
        return trip_count(loop)
    pairs = product(_sums_in(loop.starts[0], "max"), _sums_in(loop.ends[0], "min"))
    return min((high - low for (start, low), (end, high) in pairs if same_value(start, end)), default=None)


def _sums_in(bound: Statement, op: str) -> list[tuple[Statement, int]]:
    """Return the operands of minima or maxima as values to which a number is added."""
    match bound:
        case Operation(op=name, operands=[a, b]) if name == op:
            return _sums_in(a, op) + _sums_in(b, op)
        case Operation(op="add" | "sub" as name, operands=[value, Const(value=number)]) if bound.type == i32:
            return [(value, int(number) if name == "add" else -int(number))]
    return [(bound, 0)]


def _is_branch(branch: If, plan: Plan) -> bool:
    """Return whether a branch is taken by all iterations or by none, and only loads and stores to variables."""
    inside = [statement for block in blocks(branch) for statement in block]
    return not plan.varies(branch.condition) and all(
        _is_widened(statement, plan) and not isinstance(statement, GlobalStore) for statement in inside
    )


def _is_value(value: Statement, plan: Plan) -> bool:
    """Return whether a value can be computed for several iterations; record how."""
    if any(map(plan.varies, operands(value))):
        if not isinstance(value.type, Scalar):
            return False
        (plan.wide if _is_elementwise(value, plan) else _by_lane(value, plan)).add(value)
    return True


def _is_elementwise(value: Statement, plan: Plan) -> bool:
    """Return whether a value is computed by an operation on vectors."""
    assert isinstance(value.type, Scalar)
    if isinstance(value, Cast):
        kind = value.value.type
        if value.bits or value.value not in plan.wide or not isinstance(kind, Scalar) or u1 in (kind, value.type):
            return False
        return kind.size_bytes == value.type.size_bytes or max(kind.size_bytes, value.type.size_bytes) <= IN_WORDS
    assert isinstance(value, Operation)
    if value.type.is_float:
        return value.op in ELEMENTWISE
    return value.op in (INTEGER if value.type.bits < 32 else SIGNED) and not plan.is_by_index(value)


def _by_lane(value: Statement, plan: Plan) -> set[Statement]:
    """Return the set of the plan that a value belongs to which each iteration computes by itself."""
    return plan.by_index if plan.is_by_index(value) else plan.by_lane


def _is_choice(choice: IfExp, plan: Plan) -> bool:
    """Return whether each iteration can choose between two values by itself; record what differs between them."""
    inside = [statement for block in blocks(choice) for statement in block]
    if not all(_is_inside(statement, plan) for statement in inside):
        return False
    own = {choice.condition, *inside, choice.then.result, choice.otherwise.result}
    if own & plan.tests:
        return False
    if own & plan.by_lane or own & plan.wide:
        plan.by_lane.add(choice)
    elif own & plan.shifts.keys() or own & plan.by_index:
        plan.by_index.add(choice)
    return isinstance(choice.type, Scalar)


def _is_inside(statement: Statement, plan: Plan) -> bool:
    """Return whether a statement of a choice can run for one iteration; record what differs between them."""
    used = operands(statement)
    if any(operand in plan.tests for operand in used):
        return False
    if _is_shift(statement, plan):
        return True
    match statement:
        case GlobalPtr():
            return _is_element(statement, plan) and (statement not in plan.wide or plan.shift(statement) == 0)
        case GlobalLoad(pointer=pointer):
            plan.by_lane.add(statement)
            if pointer in plan.wide:
                plan.chosen.append(statement)
        case LocalLoad(pointer=pointer) if pointer in plan.wide:
            plan.by_lane.add(statement)
        case LocalLoad(pointer=pointer) if pointer in plan.same:
            return True
        case IfExp():
            return _is_choice(statement, plan)
        case Operation() | Cast():
            if any(map(plan.varies, used)):
                _by_lane(statement, plan).add(statement)
        case _:
            return not (any(map(plan.varies, used)) or statement.EFFECT or blocks(statement))
    return isinstance(statement.type, Scalar)


def _count_by_lane(plan: Plan) -> int:
    """Return how many operations each of the iterations has for itself, without those of neighbours' indices."""
    counted = [s for s in (*plan.by_lane, *plan.by_index) if isinstance(s, (Operation, Cast, IfExp))]
    pending, of_indices = list(plan.near), set[Statement]()
    while pending:
        index = pending.pop()
        of_indices.add(index)
        inside = list(walk_inside(index))
        pending += [
            value for value in (*operands(index), *inside) if value in plan.by_index and value not in of_indices
        ]
    return sum(statement not in of_indices for statement in counted)


def _is_shift(statement: Statement, plan: Plan) -> bool:
    """Return whether a value is the last index of the loop, or a sum of it with a number; record it."""
    shift = shift_of(statement, plan.loop, len(plan.loop.starts) - 1, plan.shifts)
    if shift is not None:
        plan.shifts[statement] = shift
    return shift is not None


def _is_element(pointer: GlobalPtr, plan: Plan) -> bool:
    """Return whether a pointer is the same for all iterations, or one after another; record it then."""
    if any(map(plan.varies, pointer.indices[:-1])):
        return False
    if not pointer.indices or not plan.varies(last := pointer.indices[-1]):
        return True
    if last in plan.by_index:
        neighbour = Row(plan.loop.ends[-1], plan.shifts).neighbour(last)
        if neighbour is None:
            return False
        plan.near[last] = neighbour
    elif last not in plan.shifts:
        return False
    plan.wide.add(pointer)
    return _is_plain(pointer)


def _is_plain(pointer: GlobalPtr) -> bool:
    """Return whether the elements of an array are numbers, one after another along the last axis."""
    array = pointer.array
    is_number = isinstance(array.element, Scalar) and array.element != u1
    if pointer.is_flat:
        return is_number
    if not is_dense(array) or array.strided:
        return False
    return is_number and pointer.cell is None and not any(array.offset)


def _has_lanes(body: list[Statement], plan: Plan) -> bool:
    """Return whether all numbers fit vectors of one length, of which rows have a whole number; record them."""
    if not any(isinstance(statement, GlobalStore) for statement in body):
        return False
    sizes = {statement.type.size_bytes for statement in plan.wide if statement.type is not None}
    plan.lanes = min(WIDTH // max(sizes), MOST_LANES)
    pointers = [s for s in walk(Block(body)) if isinstance(s, GlobalPtr) and s in plan.wide]
    plan.arrays = list(dict.fromkeys(pointer.array for pointer in pointers))
    is_worth_it = min(map(plan.bytes_of, plan.arrays)) >= LEAST_BYTES
    return is_worth_it and all(_has_whole_rows(array, plan.lanes) for array in plan.arrays)


def _has_whole_rows(array: Array, lanes: int) -> bool:
    """Return whether the rows of an array may have a length that is a multiple of `lanes`. Bytes of three axes count as
    images with three channels.
    """
    if array.shape is None:
        return array.ndim < 3 or array.element.size_bytes > 1
    return array.ndim == 1 or array.shape[-1] % lanes == 0


def _has_order(body: list[Statement], plan: Plan) -> bool:
    """Return whether neighbours are only read, and before anything is stored: each is loaded once then."""
    flat, lanes = list(walk(Block(body))), plan.lanes
    own = {s: plan.shift(s) for s in plan.wide if isinstance(s, GlobalPtr)}
    pointers = {s for s, shift in own.items() if shift % lanes or s.indices[-1] in plan.near}
    plan.apart |= pointers | {s for s in flat if isinstance(s, GlobalLoad) and s.pointer in pointers}
    if pointers:
        stores = [position for position, s in enumerate(flat) if isinstance(s, GlobalStore)]
        loads = [position for position, s in enumerate(flat) if isinstance(s, GlobalLoad)]
        is_read = not any(isinstance(s, GlobalStore) and s.pointer in pointers for s in flat)
        is_near = all(abs(own[s]) < (lanes if s.indices[-1] in plan.near else AWAY * lanes + 1) for s in pointers)
        if not (is_read and is_near and max(loads) < min(stores)):
            return False
    return _are_loaded(flat, plan)


def _are_loaded(flat: list[Statement], plan: Plan) -> bool:
    """Return whether all iterations load what some may not need, or its row, or may and load the array anyway."""
    optional = {s for branch in flat if isinstance(branch, If) for s in walk_inside(branch)}
    loads = [s for s in flat if isinstance(s, GlobalLoad) and s not in optional]
    always = [s for s in loads if s in plan.wide | plan.apart and s not in plan.by_lane]
    pointers, rows = {load.pointer for load in always}, {_row_of(load, plan) for load in always}
    arrays = {row[0] for row in rows if row is not None}
    others = [load for load in plan.chosen if load.pointer not in pointers]
    if any(load.pointer in plan.apart for load in others):
        return False
    others = [load for load in others if _row_of(load, plan) not in rows]
    return all(base_array(load.pointer) in arrays and _is_own(load, plan) for load in others)


def _is_own(load: GlobalLoad, plan: Plan) -> bool:
    """Return whether a load is of the iteration's own element of an array that has one for each iteration."""
    pointer, loop = load.pointer, plan.loop
    assert isinstance(pointer, GlobalPtr)
    shape = pointer.array.shape
    if not are_indices_of(pointer.indices, loop):
        return False
    if loop.over is not None:
        return loop.over is pointer.array or (shape is not None and shape == loop.over.shape)
    return shape is not None and all(
        isinstance(end, Const) and end.value <= extent for end, extent in zip(loop.ends, shape)
    )


def _row_of(load: GlobalLoad, plan: Plan) -> tuple[Array, tuple[Statement, ...]] | None:
    """Return the array and the row of a load that contains elements at the loop's own indices."""
    pointer = load.pointer
    assert isinstance(pointer, GlobalPtr)
    return (pointer.array, tuple(pointer.indices[:-1])) if abs(plan.shift(pointer)) < plan.lanes else None
