"""Thread coarsening: runs four iterations of a loop as one, by accesses of 16 bytes, where neighbours are independent.

    for i { y[i] = a * x[i] + y[i] }    ->    for i, step 4 {
                                                  if x and y are aligned, and i <= n - 4 {
                                                      y[i .. i + 3] = a * x[i .. i + 3] + y[i .. i + 3]
                                                  } else {
                                                      for ii in i .. min(i + 4, n) { y[ii] = a * x[ii] + y[ii] }
                                                  }
                                              }

A thread that loads 4 bytes waits most of the time; one that loads 16 uses all of a GPU's bandwidth. Fields start at
multiples of 16 bytes, and where their extents are multiples of 4 there is no condition. The addresses of ndarrays are
known when the kernel runs, and the lengths of their rows. Numbers of 8 bytes are taken in twos, those of 1 and 2 bytes
in fours, by accesses of 4 and 8 bytes; so a loop may take four u8 and four f32.

The body only loads, combines and stores elements at the loop's own index along the last axis; in a stencil it also
loads neighbours along it, of which most are in the vector at the index itself. So an iteration reads and writes nothing
of the others, as far as a parallel loop may, and arrays that overlap are no obstacle: statements stay in order.

Windows test whether their columns are in the row. Four iterations are one where all these tests hold, which one test of
j decides (`inside_rows`), and their loops over columns are unrolled (`columns`); a single iteration keeps its loops:

    for c in 9 { if 0 <= j + c - 4 < m { s += w[c] * x[i, j + c - 4] } }    ->    if j >= 4 && j < m - 7 { ... }

Blocks of a loop that only stores start in order, each thread with one such access: in a grid-stride loop they drift
apart. 2^27 floats took an H200 .124 ms in a grid-stride loop, .119 with one access a thread and blocks of 256, .160
with blocks of 128.
"""

from __future__ import annotations

from copy import copy
from functools import partial

from ...ir.builder import Builder
from ...ir.nodes import (
    Block,
    Effect,
    Remark,
    Statement,
    blocks,
    clone,
    operands,
    replace_uses,
    walk,
    walk_blocks,
    walk_inside,
)
from ...ir.statements import (
    Alloca,
    ArgLoad,
    Array,
    ArrayShape,
    Const,
    Continue,
    GlobalLoad,
    GlobalStore,
    If,
    IsAligned,
    LocalStore,
    LoopIndex,
    Operation,
    RangeFor,
)
from ...ir.tasks import Kernel, SingleIteration, Task
from ...ir.types import Tensor, Type, i32, parts_of, u1, u32
from ...options import MAX_ITERATIONS
from ..analysis.queries import is_index_of
from ..cleanup.common_subexpressions import common_subexpressions
from ..cleanup.dead_code import dead_code
from ..cleanup.fold import fold
from ..cleanup.simplify import simplify
from ..context import PassContext
from ..tasks.parts.copies import copy_of_block
from .parts.columns import join_branches, unrolled_columns
from .parts.inside_rows import inside_rows
from .parts.whole_rows import length_less, plan_of_whole_rows
from .parts.wide_body import WideBody, last_index
from .parts.wide_cells import bits_of, plan_of_cells
from .parts.widenable import COUNTS, Plan, comparisons, is_usual, plan_of

BLOCK = 256
"""The threads of a block of a loop that only stores."""
PARTS = {4: "quarter", 2: "half"}
"""What a row has as many of as a vector has numbers."""
STATEMENTS = (Alloca, Continue, GlobalStore, If, LocalStore, RangeFor)
"""The statements, besides values and loads, that a body may consist of."""


def wide_accesses(kernel: Kernel, context: PassContext) -> bool:
    """Widen the loops of GPUs that only move and combine numbers."""
    if not context.capabilities.has_warps:
        return False
    changed = False
    stored = _vectors_in_memory(kernel)
    for task in kernel.tasks:
        plan = _plan_of(task, stored) or _plan_of_window(kernel, task, stored, context)
        if plan is not None:
            _widen(kernel, task, plan)
            if task.loop is not None and not any(isinstance(s, GlobalLoad) for s in walk(task.body)):
                _start_in_order(task, task.loop, context)
            changed = True
    return changed


def _plan_of(task: Task, stored: set[Type]) -> Plan | None:
    """Return how a task is widened, whose loop may be another one then; None if it stays as it is."""
    find = partial(plan_of, stored=stored)
    return find(task) or plan_of_whole_rows(task, find) or plan_of_cells(task, stored)


def _plan_of_window(kernel: Kernel, task: Task, stored: set[Type], context: PassContext) -> Plan | None:
    """Return how a task is widened whose body is another one inside rows; None if it cannot be, and then it stays."""
    if not all(isinstance(s, STATEMENTS) or s.EFFECT in (Effect.NONE, Effect.READ) for s in walk(task.body)):
        return None

    def find(task: Task) -> Plan | None:
        return _plan_inside_rows(kernel, task, stored, context) if is_usual(task) else None

    return find(task) or plan_of_whole_rows(task, find)


def _plan_inside_rows(kernel: Kernel, task: Task, stored: set[Type], context: PassContext) -> Plan | None:
    """Leave out tests of columns, unroll loops over columns, and return how a task is widened; None as above."""
    assert task.loop is not None
    inside = inside_rows(task.body, task.loop)
    unrolled = unrolled_columns(inside or task.body, task.loop)
    changed = unrolled or inside
    if changed is None:
        return None
    before = task.body.statements, list(task.prologue)
    task.body.statements = changed.statements  # in place: the block is the loop's too
    alone = copy(kernel)
    alone.tasks = [task]
    for step in (fold, simplify, fold, common_subexpressions, dead_code):
        if step is not simplify or not any(isinstance(s.type, Tensor) for s in walk(task.body)):  # it joins components
            step(alone, context)
    join_branches(task.body)
    common_subexpressions(alone, context)
    plan = plan_of(task, stored)
    if plan is None:
        task.body.statements, task.prologue.statements = before
    else:
        plan.single, plan.is_inside = Block(before[0]), inside is not None
    return plan


def _vectors_in_memory(kernel: Kernel) -> set[Type]:
    """Return the vectors that a kernel stores: these may have another alignment."""
    stored = [array.element for array in kernel.arrays] + [parameter.type for parameter in kernel.parameters]
    stored += [*kernel.returns, *(temporary.type for temporary in kernel.temporaries)]
    return {part for type in dict.fromkeys(stored) for part in parts_of(type) if isinstance(part, Tensor)}


def _widen(kernel: Kernel, task: Task, plan: Plan) -> None:
    """Make the loop of a task take several iterations as one."""
    loop, lanes = plan.loop, plan.lanes
    step = Const(lanes, type=i32, location=loop.location)
    task.prologue.statements.append(step)
    loop.steps[-1] = step
    task.lanes, task.overlaps = lanes, False
    outer = _uniform(task.body, plan)
    scalar = Block([statement for statement in task.body if statement not in outer])
    single = plan.single or scalar
    task.body.statements = outer  # in place: the block is the loop's too
    builder = Builder(task.body, loop.location)
    aligned = _aligned(builder, plan)
    bits = None if plan.mask is None else bits_of(builder, kernel, plan.mask, last_index(builder, plan), lanes)
    condition = _condition(builder, plan, aligned) if bits is None else builder.op("ne", bits, builder.const(0, u32))
    wide = WideBody(plan, bits).block(scalar)
    first: Statement
    if condition is None:
        task.body.statements += wide.statements
        first = next(statement for statement in wide.statements if isinstance(statement, GlobalStore))
    elif bits is not None:
        first = builder.add(If(condition, wide))
    else:
        rest = Block()
        first = builder.add(If(condition, wide, rest))
        with builder.into(rest):
            if aligned is not None and len(loop.starts) > 1:
                either = None if condition is aligned else aligned
                task.single = _add_rest_of_rows(builder, plan, single, either)
            else:
                task.single = _add_rest(builder, plan, single)
    where = ", all columns in the row" if plan.is_inside else ""
    text = f"{COUNTS[lanes]} iterations at a time, by accesses of {_bytes(plan)} bytes{where} (wide_accesses)"
    if bits is not None:
        text = f"{COUNTS[lanes]} cells at a time, of which inactive ones keep their numbers (wide_accesses)"
    first.remarks = (Remark(text, "above"), *first.remarks)


def _bytes(plan: Plan) -> str:
    """Return how many bytes accesses have: "4 and 16"."""
    sizes = sorted({plan.bytes_of(array) for array in plan.arrays})
    return " and ".join(filter(None, (", ".join(map(str, sizes[:-1])), str(sizes[-1]))))


def _uniform(body: Block, plan: Plan) -> list[Statement]:
    """Return the statements that are the same in all of the iterations, and may be computed first. Loads are among them
    if one of them or the condition needs these and nothing is stored before; those of inactive cells are not.
    """
    found: list[Statement] = []
    others = set[Statement]()
    is_read = plan.mask is None
    for statement in body:
        effects = {inner.EFFECT for inner in _inside(statement)} - {Effect.NONE}
        is_movable = effects <= ({Effect.READ} if is_read else set())
        if is_movable and plan.is_uniform(statement) and not _uses(statement) & others:
            found.append(statement)
        else:
            others.add(statement)
        is_read = is_read and not any(effect & Effect.WRITE for effect in effects)
    needed = {operand for test in plan.tests for operand in operands(test)}
    for statement in reversed(found):
        if not statement.EFFECT or statement in needed:
            needed |= _uses(statement)
    return [statement for statement in found if not statement.EFFECT or statement in needed]


def _inside(statement: Statement) -> list[Statement]:
    return [statement, *walk_inside(statement)]


def _uses(statement: Statement) -> set[Statement]:
    """Return what a statement uses, with those inside it."""
    every = _inside(statement)
    results = {block.result for inner in every for block in blocks(inner) if block.result is not None}
    return results.union(*map(operands, every))


def _start_in_order(task: Task, loop: RangeFor, context: PassContext) -> None:
    """Give a thread one iteration of a loop, unless its author decides on that."""
    if loop.grid_stride is None:
        loop.grid_stride = False
        context.choose_block_dim(task, BLOCK)
        store = next(s for s in walk(task.body) if isinstance(s, GlobalStore))
        store.remarks = (*store.remarks, Remark("no grid-stride loop: blocks store in order", "above"))


# --- the condition ----------------------------------------------------------------------------------------------------


def _aligned(builder: Builder, plan: Plan) -> Statement | None:
    """Return whether all rows start at multiples of what is accessed together, None if that is known."""
    given = _given(plan)
    parts: list[Statement] = [builder.add(IsAligned(array, plan.bytes_of(array), type=u1)) for array in given]
    for array in given:
        if array.ndim > 1:
            extent = builder.add(ArrayShape(array, array.ndim - 1, type=i32))
            rest = builder.op("plain_mod", extent, builder.const(plan.lanes))
            parts.append(builder.op("eq", rest, builder.const(0)))
    aligned = builder.all_of(parts)
    if aligned is not None:
        aligned.hint = "aligned"  # the name of a variable, if it is used twice
    return aligned


def _given(plan: Plan) -> list[Array]:
    """Return the ndarrays of a plan."""
    return [array for array in plan.arrays if array.shape is None]


def _condition(builder: Builder, plan: Plan, aligned: Statement | None) -> Statement | None:
    """Return whether an iteration may be widened, None if all may."""
    given, tests = _given(plan), [] if plan.branch is None else comparisons(plan.branch.condition)
    parts: list[Statement] = [] if aligned is None else [aligned]
    end = plan.loop.ends[-1]
    is_whole = isinstance(end, Const) and int(end.value) % plan.lanes == 0
    if not is_whole and not _ends_with_row(end, given) and not any(_is_below(test, end, plan) for test in tests):
        limit = builder.op("sub", builder.again(end), builder.const(plan.lanes))
        parts.append(builder.op("le", last_index(builder, plan), limit))
    return builder.all_of(parts + [_for_all(builder, test, plan) for test in tests])


def _is_below(test: Operation, end: Statement, plan: Plan) -> bool:
    """Return whether a comparison that holds for all iterations says that the last of them is before the end."""
    index, bound = test.operands
    length = length_less(bound)
    if test.op != "lt" or index not in plan.shifts or length is None or not isinstance(end, ArrayShape):
        return False
    extent, less = length
    return (extent.array, extent.axis) == (end.array, end.axis) and less + plan.shifts[index] >= 0


def _ends_with_row(end: Statement, given: list[Array]) -> bool:
    """Return whether a loop ends where the rows of an array do, whose length is a multiple then."""
    return isinstance(end, ArrayShape) and end.axis > 0 and end.array in given and end.axis == end.array.ndim - 1


def _for_all(builder: Builder, test: Operation, plan: Plan) -> Statement:
    """Return whether a comparison holds for all iterations that are one: of an upper bound the last decides."""
    if test.op == "logical_or":
        return builder.op("logical_or", *(_for_all(builder, part, plan) for part in test.operands))  # type: ignore[arg-type]
    if not any(operand in plan.shifts for operand in test.operands):
        return builder.add(clone(test, {}))
    first, second = test.operands
    if test.op == "ne":  # by one comparison: the number is none of those from the index on
        index, number = (first, second) if first in plan.shifts else (second, first)
        distance = builder.op("sub", builder.again(number), last_index(builder, plan, plan.shifts[index]))
        return builder.op("ge", builder.cast(distance, u32), builder.const(plan.lanes, u32))
    is_upper = (first in plan.shifts) == (test.op in ("lt", "le"))
    by = plan.lanes - 1 if is_upper else 0
    if is_upper and test.op == "lt" and (length := length_less(second)) and plan.shifts[first] >= -by:
        limit = builder.op("sub", builder.again(length[0]), builder.const(length[1] + by + plan.shifts[first]))
        return builder.op("lt", last_index(builder, plan), limit)
    if is_upper and test.op == "lt" and isinstance(second, ArgLoad) and plan.shifts[first] > 0:  # j + 4 may overflow
        less = builder.const(by + plan.shifts[first])
        limit = builder.op("sub", builder.op("max", builder.again(second), less), builder.again(less))
        return builder.op("lt", last_index(builder, plan), limit)
    shifts = [plan.shifts.get(operand) for operand in (first, second)]
    found = [
        operand if shift is None else last_index(builder, plan, shift + by)
        for operand, shift in zip((first, second), shifts)
    ]
    return builder.op(test.op, *found)


# --- the rest ----------------------------------------------------------------------------------------------------


def _add_rest(builder: Builder, plan: Plan, scalar: Block) -> SingleIteration:
    """Add a loop that runs the iterations of one wide iteration one by one; return where it runs one."""
    first, end = last_index(builder, plan), plan.loop.ends[-1]
    lanes = builder.const(plan.lanes)
    may_overflow = not isinstance(end, Const) or int(end.value) > MAX_ITERATIONS - plan.lanes
    if may_overflow:
        left = builder.op("sub", builder.again(end), first)
        bound = builder.op("add", first, builder.op("min", left, lanes))
    else:
        bound = builder.op("add", first, lanes)
        if isinstance(end, Const) and int(end.value) % plan.lanes:
            bound = builder.op("min", bound, builder.again(end))
    bound.hint = "end"
    one = RangeFor([first], [bound], [builder.const(1)], [_name_of_one(plan, scalar)], location=plan.loop.location)
    if may_overflow:
        one.remarks = (Remark(f"one by one; {_last_name(plan)} + {plan.lanes} might overflow", "above"),)
    one.unroll_count = _unroll_count(plan)
    builder.add(one)
    with builder.into(one.body):
        index = builder.add(LoopIndex(one, 0, type=i32))
    _add_one(one.body, plan, scalar, index)
    return SingleIteration(one.body, index)


def _add_rest_of_rows(builder: Builder, plan: Plan, scalar: Block, aligned: Statement | None) -> SingleIteration:
    """Add a loop over the iterations of one wide iteration; return where it runs one. If rows are not aligned,
    neighbouring threads take neighbours: seven points of 703^3 floats took an H200 1.97 ms with four neighbours a
    thread, 1.34 ms with neighbouring threads (on Vulkan 2.13 and 1.19). aligned: None if they are not.
    """
    first, end = last_index(builder, plan), plan.loop.ends[-1]
    lanes, one = builder.const(plan.lanes), builder.const(1)
    length = builder.op("add", builder.op("plain_div", builder.op("sub", builder.again(end), one), lanes), one)
    length.hint = PARTS[plan.lanes]
    loop = RangeFor([builder.const(0)], [lanes], [one], ["part"], location=plan.loop.location)
    known = "since" if aligned is None else "if"
    remark = f"one by one; {known} rows are not aligned, neighbouring threads take neighbours"
    loop.remarks = (Remark(remark, "above"),)
    loop.unroll_count = _unroll_count(plan)
    builder.add(loop)
    with builder.into(loop.body):
        part = builder.add(LoopIndex(loop, 0, type=i32))
        apart = builder.op("add", builder.op("plain_div", first, lanes), builder.op("mul", part, length))
        index = apart if aligned is None else builder.op("select", aligned, builder.op("add", first, part), apart)
        index.hint = _name_of_one(plan, scalar)
        inside = builder.add(If(builder.op("lt", index, builder.again(end))))
    _add_one(inside.then, plan, scalar, index)
    return SingleIteration(inside.then, index)


def _unroll_count(plan: Plan) -> int:
    """Return how often a loop over single iterations is unrolled, 0: as the compiler likes."""
    return int(plan.branch is not None)  # four copies of a stencil take half as many registers more


def _add_one(body: Block, plan: Plan, scalar: Block, index: Statement) -> None:
    """Add a single iteration."""
    builder = Builder(body, plan.loop.location)
    mapping: dict[Statement, Statement] = {}
    copied = copy_of_block(scalar, mapping)
    own: dict[Statement, Statement]
    if scalar is plan.single:
        last = len(plan.loop.starts) - 1
        own = {s: index for s in list(mapping.values()) if is_index_of(s, plan.loop) and s.axis == last}
    else:
        own = {mapping[value]: sum for value, sum in _sums(builder, plan, index).items()}
    for block in walk_blocks(copied):
        block.drop(own)
        for statement in block:
            statement.remarks = ()  # the wide iteration has them
    replace_uses(copied, own)
    body.statements += copied.statements


def _sums(builder: Builder, plan: Plan, index: Statement) -> dict[Statement, Statement]:
    """Return what the sums of the loop's last index with numbers are in a single iteration."""
    sums = {0: index}
    for shift in plan.shifts.values():
        if shift not in sums:
            sums[shift] = builder.shifted(index, shift)
    return {value: sums[shift] for value, shift in plan.shifts.items()}


def _name_of_one(plan: Plan, scalar: Block) -> str:
    """Return the name of the index of a single iteration: `ii` next to `i`, where the user has no such variable."""
    index = _last_name(plan)
    own = index * 2 if len(index) == 1 else f"each_{index}"
    return own if own not in {statement.name for statement in walk(scalar)} else f"each_{index}"


def _last_name(plan: Plan) -> str:
    """Return the name of the last index of the loop."""
    loop = plan.loop
    return loop.names[-1] if len(loop.names) == len(loop.starts) else "i"
