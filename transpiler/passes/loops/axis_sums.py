"""Loop interchange of reductions: an iteration of a parallel loop does what several did one by one along an axis.

    for i, j in a { atomic add s[i], a[i, j] }    ->    for i in n { t = 0
                                                            for j in m { t = t + a[i, j] }
                                                            atomic add s[i], t }

    for i, j in a { atomic add s[j], a[i, j] }    ->    for i_chunk, j in (0 .. n step 64, 0 .. m) { t = 0
                                                            for i in i_chunk .. min(i_chunk + 64, n) { t = t + a[i, j] }
                                                            atomic add s[j], t }

Threads that add to one place wait for each other: sums of the rows and columns of 4,096 x 4,096 floats took an H200
1.55 ms by atomic additions alone.

If the element does not depend on the last axis, the whole axis becomes a serial loop, as if Python had one: threads
share it (`shared_rows`), or it is a product of matrices, `c[i, j] += a[i, k] * b[k, j]`, which has tiles
(`register_tiles`). So there must be many rows, and the loads must be along rows, or along columns of the axis before.
Of ndarrays a launch chooses. Of few rows, if their lengths are known, each has some threads, which take iterations that
are as many apart and add what they have; else 32 threads have up to `PIECE` iterations of a row.

If the element depends on the last axis, that stays parallel, since neighbouring threads read neighbours, and a thread
takes up to `CHUNK` iterations along another axis, or all if there are threads enough.

A loop that adds to several elements which depend on different axes becomes one loop for each.

A sum under a condition, `if i > 0: s[i - 1] += a[i, j]`, may be one of no terms, whose element need not exist. So it is
added only if it is not 0, unless the element exists in any case: threads of a warp join what they have without a
branch (`warp_sums`). An iteration that loads after it has added might load what it has added, if an ndarray has
two names: a launch that finds this starts the loop as it was.

The order of a sum differs from Python's, so sums of floats need `fast_math`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import prod

from ...ir.builder import Builder
from ...ir.functions import Call, reachable
from ...ir.nodes import Block, Effect, Remark, Statement, operands, walk
from ...ir.ops import ATOMIC_OPS
from ...ir.statements import (
    RECORDS,
    Alloca,
    ArgLoad,
    Array,
    ArrayShape,
    AtomicOp,
    Break,
    Cast,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LoopIndex,
    Operation,
    Rand,
    RangeFor,
    Return,
    base_pointer,
    is_const,
    repeats,
)
from ...ir.tasks import Apart, AtLeast, AtMost, Kernel, Length, Task
from ...ir.threads import neutral
from ...ir.types import Scalar, Tensor, element_of, i32
from ...lazy_dataclasses import dataclass
from ...options import MAX_ITERATIONS
from ..analysis.existence import is_existing
from ..analysis.loops.reducible import always_performed
from ..analysis.loops.scattered_sums import scattered
from ..analysis.queries import (
    axes_in,
    base_array,
    count_along,
    is_dense,
    is_field_in_order,
    is_given,
    is_index_of,
    product_of,
    trip_count,
)
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter
from ..tasks.parts.copies import copy_of, put_in_place, say_when, split
from ..tiles.parts.tiled_loops import add_bound, take_names

FEWEST_ROWS, SHORTEST = 1 << 10, 64
"""The fewest rows that keep a GPU busy, and the fewest iterations of a row that are worth a loop."""
LEAST_PARTS = 32
"""The fewest threads that share a row where there are fewer rows than `FEWEST_ROWS`."""
CHUNK = 64
"""The most iterations of a thread along an axis that is not the last one."""
PIECE = 1 << 10
"""The most iterations of a piece of a row, where a launch has few rows; threads share a piece."""
FEWEST = 1 << 16
"""The fewest iterations of a loop that is worth chunks."""
BUSY, MANY = 1 << 14, 1 << 17
"""The threads that are enough for a product of matrices, and for all other loops."""
JOINED = {"sub": "add"}
"""What adds the result of the serial loop to an element, if not the operation of an iteration."""
MOST_SUMS = 4
MOST_STATEMENTS = 64
"""The most statements of a body that several loops may repeat, or that few threads may run one after another."""


def axis_sums(kernel: Kernel, context: PassContext) -> bool:
    """Add along axes in serial loops on GPUs."""
    capabilities, options = context.capabilities, context.options
    if not capabilities.has_warps or options.deterministic:
        return False
    longest = capabilities.loop_iteration_limit or MAX_ITERATIONS
    changed = False
    for task in list(kernel.tasks):
        groups = _groups(task, options.fast_math)
        plans = [_plan(task, axes, longest) if axes else WHOLE for axes in groups]
        if not any(groups) or None in plans:
            continue
        if len(groups) > 1 and not _is_short(task):
            continue
        _leave_if_overlapping(kernel, task, len(groups) > 1)
        for own, axes, plan in zip(_one_for_each(kernel, task, list(groups)), groups, plans, strict=True):
            if axes and plan is not None:
                _give_loop(kernel, own, plan, longest)
        changed = True
    return changed


# --- which loops ------------------------------------------------------------------------------------------------------


def _groups(task: Task, fast_math: bool) -> dict[frozenset[int], None]:
    """Return the sets of axes on which the elements depend that a task only adds to; {} if it does anything else."""
    loop = task.loop
    if loop is None or loop.order or loop.cells is not None or loop.block_local or not _is_plain(loop):
        return {}
    atomics = _added(task)
    if not 0 < len(atomics) <= MOST_SUMS:
        return {}
    allowed, excluded = set(atomics), (*RECORDS, Rand, GlobalStore, AtomicOp, Break, Continue, Return)
    if any(isinstance(s, excluded) and s not in allowed or _may_write(s) for s in walk(task.body)):
        return {}
    axes = [_axes_of(atomic, loop, fast_math) for atomic in atomics]
    if None in axes or _are_unlike(atomics):
        return {}
    always = set(always_performed(task.body))
    if any(atomic not in always and not _has_neutral(atomic) for atomic in atomics):
        return {}
    return dict.fromkeys(found for found in axes if found is not None)


def _may_write(statement: Statement) -> bool:
    """Return whether a statement calls a function that writes memory or draws random numbers."""
    return isinstance(statement, Call) and bool(statement.EFFECT & Effect.WRITE)


def _are_unlike(atomics: Sequence[AtomicOp]) -> bool:
    """Return whether an element may be changed by operations whose order is seen."""
    kinds = [(base_array(atomic.pointer), JOINED.get(atomic.op, atomic.op)) for atomic in atomics]
    return any(
        op != other and (array is another or (array is not None and another and array.may_alias and another.may_alias))
        for array, op in kinds
        for another, other in kinds
    )


def _has_neutral(atomic: AtomicOp) -> bool:
    """Return whether it can be seen that a sum, a minimum or a maximum is one of no terms."""
    return isinstance(atomic.type, Scalar) and (atomic.op in ("add", "sub") or not atomic.type.is_float)


def _added(task: Task) -> list[AtomicOp]:
    """Return the atomic operations on memory of a loop that accesses it by nothing else."""
    found = scattered(task, _is_plain_memory, ("add", "sub", "min", "max"))
    return [atomic for of_array in found.values() for atomic in of_array]


def _is_plain_memory(array: Array) -> bool:
    """Return whether an array is an ndarray, or a field in memory of its own."""
    if not is_dense(array):
        return False
    return isinstance(array.element, (Scalar, Tensor)) and element_of(array.element).bits >= 32


def _is_plain(loop: RangeFor) -> bool:
    """Return whether a loop has several axes in steps of 1, and its bounds are known before it is launched."""
    is_by_one = all(is_const(step, 1) for step in loop.steps) and all(start.type == i32 for start in loop.starts)
    return is_by_one and len(loop.starts) > 1 and all(map(is_given, (*loop.starts, *loop.ends)))


def _axes_of(atomic: AtomicOp, loop: RangeFor, fast_math: bool) -> frozenset[int] | None:
    """Return the axes on which the element depends, None if it is computed from something else, or has to be exact."""
    pointer = atomic.pointer
    if not isinstance(pointer, GlobalPtr) or not isinstance(pointer.type, (Scalar, Tensor)) or pointer.cell is not None:
        return None
    if atomic.op in ("add", "sub") and element_of(pointer.type).is_float and not fast_math:
        return None
    if not all(_is_computed(index, loop) for index in pointer.indices):
        return None
    return frozenset[int]().union(*(axes_in(index, loop) for index in pointer.indices))


def _is_computed(value: Statement, loop: RangeFor) -> bool:
    """Return whether an index is made of numbers, arguments and the indices of the loop."""
    if isinstance(value, (Const, ArgLoad, ArrayShape)) or is_index_of(value, loop):
        return True
    return isinstance(value, (Cast, Operation)) and all(_is_computed(inner, loop) for inner in operands(value))


@dataclass(frozen=True, slots=True)
class Plan:
    """What a thread does one by one: the iterations along an axis, or chunks of `step`, or every `parts`th of them.

    fewest_rows: of which a launch that alone knows their number has to have so many.
    """

    axis: int
    step: int = 0
    parts: int = 0
    fewest_rows: int = 0


WHOLE = Plan(0)


def _plan(task: Task, axes: frozenset[int], longest: int) -> Plan | None:
    """Return what the threads of a task should do, None if it stays. axes: those of the element.

    longest: how many iterations a serial loop may have.
    """
    loop = task.loop
    assert loop is not None
    counts = [count_along(loop, axis) for axis in range(len(loop.starts))]
    others = [axis for axis in range(len(counts)) if axis not in axes]
    total = trip_count(loop)
    if not others or (total is not None and total < FEWEST) or (total is None and not _is_short(task)):
        return None
    if others[-1] == len(counts) - 1:
        return _plan_of_rows(task, counts[:-1], counts[-1], longest)
    length, axis = counts.pop(others[-1]), others[-1]
    threads = product_of(counts)
    step = CHUNK if total is None else min(CHUNK, total // MANY)
    is_busy = threads is not None and threads >= (BUSY if _is_short(task) else MANY)
    if length is not None and 1 < length <= (longest if is_busy else step):
        return Plan(axis)
    return Plan(axis, step=step) if step > 1 and (length is None or length > 1) else None


def _plan_of_rows(task: Task, counts: list[int | None], length: int | None, longest: int) -> Plan | None:
    """Return the same for elements that do not depend on the last axis. counts: along the other ones."""
    loop, axis, rows = task.loop, len(counts), product_of(counts)
    assert loop is not None
    if length is not None and length < SHORTEST:
        return None
    fewest = _fewest_rows(task, loop) if _is_short(task) and (length is None or length <= longest) else 0
    if fewest and rows is None and _most_rows(task, loop) < fewest:
        return Plan(axis, step=PIECE)
    if rows is None or length is None:
        return Plan(axis, fewest_rows=fewest) if fewest else None
    if fewest and rows >= fewest:
        return Plan(axis)
    parts, end = LEAST_PARTS, loop.ends[axis]
    while parts * rows < MANY and parts * 2 * LEAST_PARTS <= length:
        parts *= 2
    is_near = isinstance(end, Const) and int(end.value) > MAX_ITERATIONS - parts  # the next index would wrap
    return None if is_near or length > longest * parts else Plan(axis, parts=parts)


def _most_rows(task: Task, loop: RangeFor) -> int:
    """Return how many rows there are at most: as many as the fields have elements along the axes."""
    most = [count_along(loop, axis) or MAX_ITERATIONS for axis in range(len(loop.starts) - 1)]
    for atomic in _added(task):
        pointer = base_pointer(atomic.pointer)
        if not isinstance(pointer, GlobalPtr) or pointer.array.shape is None:
            continue
        for index, extent in zip(pointer.indices, pointer.array.shape, strict=True):
            if is_index_of(index, loop) and index.axis < len(most):
                most[index.axis] = min(most[index.axis], extent)
    return prod(most)


def _is_short(task: Task) -> bool:
    """Return whether an iteration has few statements and no loop."""
    statements = list(islice(reachable(task.body), MOST_STATEMENTS + 1))
    return len(statements) <= MOST_STATEMENTS and not any(map(repeats, statements))


def _fewest_rows(task: Task, loop: RangeFor) -> int:
    """Return how many rows are worth a serial loop over the last axis, 0 if none are: it would load something else than
    rows, or columns of the axis before, which threads do not share."""
    last, found, fewest = len(loop.starts) - 1, False, FEWEST_ROWS
    for statement in walk(task.body):
        pointer = base_pointer(statement.pointer) if isinstance(statement, GlobalLoad) else None
        if not isinstance(pointer, GlobalPtr) or not any(_has(index, loop, last) for index in pointer.indices):
            continue
        *before, final = pointer.indices
        is_column = is_index_of(final, loop) and final.axis == last - 1 and any(_has(i, loop, last) for i in before)
        is_row = is_index_of(final, loop) and final.axis == last and not any(_has(i, loop, last) for i in before)
        if not is_row and not is_column:
            return 0
        is_plain = pointer.array.shape is None or is_field_in_order(pointer.array)
        found |= is_plain and (is_column or any(not isinstance(index, Const) for index in before))
        fewest = BUSY if is_column else fewest
    return fewest if found else 0


def _has(value: Statement, loop: RangeFor, axis: int) -> bool:
    """Return whether the index along an axis is in a value, without what it loads."""
    return axis in axes_in(value, loop)


# --- one loop for each set of axes ------------------------------------------------------------------------------------


def _leave_if_overlapping(kernel: Kernel, task: Task, becomes_several: bool) -> None:
    """Keep the task for launches in which an iteration might load what it has added to an array of another name."""
    pairs = _added_before(task, becomes_several)
    if pairs:
        conditions = [Apart(first, second) for first, second in pairs]
        other = split(task, *conditions)
        say_when(task, other, conditions)
        put_in_place(kernel, task, [other, task])


def _added_before(task: Task, becomes_several: bool) -> list[tuple[Array, Array]]:
    """Return the pairs of arrays that may share memory, to the first of which an iteration adds before it loads from
    the second, or one of several tasks in place of one does."""
    every = [base_array(atomic.pointer) for atomic in _added(task) if becomes_several]
    added = {array: None for array in every if array is not None and array.may_alias}
    pairs: dict[tuple[Array, Array], None] = {}
    for statement in walk(task.body):
        if isinstance(statement, AtomicOp):
            array = base_array(statement.pointer)
            added |= {array: None} if array is not None and array.may_alias else {}
            continue
        for array in _loaded(statement):
            if array.may_alias:
                pairs |= dict.fromkeys((first, array) for first in added)
    return list(pairs)


def _loaded(statement: Statement) -> Sequence[Array]:
    """Return the arrays from which a statement, or a function that it calls, loads."""
    if isinstance(statement, Call):
        return sorted(statement.function.reads, key=lambda array: array.binding)
    array = base_array(statement.pointer) if isinstance(statement, GlobalLoad) else None
    return [] if array is None else [array]


def _one_for_each(kernel: Kernel, task: Task, groups: Sequence[frozenset[int]]) -> list[Task]:
    """Return a task for each set of axes, which adds to the elements that depend on these alone."""
    if len(groups) == 1:
        return [task]
    tasks = [task, *(copy_of(task) for _ in groups[1:])]
    put_in_place(kernel, task, tasks)
    dropped: set[Statement] = set()
    for own, axes in zip(tasks, groups, strict=True):
        assert own.loop is not None
        dropped.update(atomic for atomic in _added(own) if _axes_of(atomic, own.loop, True) != axes)

    def rule(rewriter: Rewriter, atomic: Statement) -> Statement | None:
        return DROPPED if atomic in dropped else None

    Rewriter({AtomicOp: rule}).run(kernel)
    return tasks


def _give_loop(kernel: Kernel, task: Task, plan: Plan, longest: int) -> None:
    """Give a task a serial loop along an axis; three tasks if only the launch knows how many rows there are."""
    loop, axis = task.loop, plan.axis
    assert loop is not None
    if axis == len(loop.starts) - 1 and not (plan.parts or plan.step) and trip_count(loop) is None:
        rows, length = tuple(map(Length, range(axis))), Length(axis)
        most = [AtMost((length,), longest)] if longest < MAX_ITERATIONS else []
        before = f"{task.launches}; " if task.launches else ""
        few = split(task, AtLeast(rows, plan.fewest_rows))
        task.launches = f"{before}for {plan.fewest_rows:,} rows and more"
        few.launches = f"{before}for fewer than {plan.fewest_rows:,} rows"
        tasks = [few, task]
        if count_along(loop, axis) is None:
            short = split(task, AtLeast((length,), SHORTEST), *most)
            short.launches = f"{task.launches} of fewer than {SHORTEST}"
            short.launches += f", or of more than {longest:,}" if most else ""
            task.launches += f" of {SHORTEST} and more"
            tasks.insert(1, short)
        put_in_place(kernel, task, tasks)
        _Sums(kernel, few, Plan(axis, step=PIECE)).run()
    _Sums(kernel, task, plan).run()


# --- the serial loop --------------------------------------------------------------------------------------------------


class _Sums:
    """Moves iterations of a task along an axis into a serial loop."""

    def __init__(self, kernel: Kernel, task: Task, plan: Plan) -> None:
        assert task.loop is not None
        self.kernel, self.task, self.loop, self.axis, self.plan = kernel, task, task.loop, plan.axis, plan
        self.variables: dict[AtomicOp, Alloca] = {}

    def run(self) -> None:
        """Change the task."""
        loop, task = self.loop, self.task
        atomics = _added(task)
        always = set(always_performed(task.body))
        names = take_names(task)
        loop.names = list(names)
        body = Block(task.body.statements)
        builder = Builder(Block(), loop.location)
        for atomic in atomics:
            self.variables[atomic] = self._variable(builder, atomic)
        indices = [s for s in walk(body) if isinstance(s, LoopIndex) and s.loop is loop]
        row = builder.add(RangeFor(*self._bounds(builder), [names[self.axis]], body))
        is_gone = len(loop.names) < len(names)
        for index in indices:
            if index.axis == self.axis:
                index.loop, index.axis = row, 0
            elif is_gone and index.axis > self.axis:
                index.axis -= 1
        if not is_gone:
            note = f"{self.plan.parts:,} threads add along a row, each to a sum of its own (axis_sums)"
            if not self.plan.parts:
                note = f"{self.plan.step:,} iterations that add to one element are one (axis_sums)"
            row.remarks = (Remark(note, "above", row.location),)
        task.body.statements = builder.block.statements
        self._replace_atomics()
        for atomic, variable in self.variables.items():
            self._add_result(atomic, variable, atomic in always)

    def _variable(self, builder: Builder, atomic: AtomicOp) -> Alloca:
        """Add the variable for one of the elements, which starts with the neutral number."""
        pointer, op = atomic.pointer, ATOMIC_OPS[atomic.op]
        assert isinstance(pointer, GlobalPtr) and isinstance(pointer.type, (Scalar, Tensor))
        kind = {"min": "least", "max": "greatest"}.get(op, "sum")
        variable = builder.add(Alloca(type=pointer.type, name=f"{pointer.array.name}_{kind}"))
        element = element_of(pointer.type)
        builder.store(variable, builder.const(neutral(JOINED.get(atomic.op, atomic.op), element), element))
        return variable

    def _bounds(self, builder: Builder) -> tuple[list[Statement], list[Statement], list[Statement]]:
        """Return start, end and step of the serial loop, and change the parallel one along the axis."""
        loop, axis = self.loop, self.axis
        start, end, step = loop.starts[axis], loop.ends[axis], loop.steps[axis]
        if self.plan.parts:
            loop.names[axis] = "part"
            loop.starts[axis], loop.ends[axis] = add_bound(self.task, 0), add_bound(self.task, self.plan.parts)
            part = builder.add(LoopIndex(loop, axis, type=i32))
            first = part if is_const(start, 0) else builder.op("add", builder.again(start), part)
            return [first], [builder.again(end)], [builder.const(self.plan.parts)]
        if not self.plan.step:
            loop.names.pop(axis)
            for values in (loop.starts, loop.ends, loop.steps):
                values.pop(axis)
            return [builder.again(start)], [builder.again(end)], [builder.again(step)]
        length = count_along(loop, axis)
        loop.steps[axis] = add_bound(self.task, self.plan.step)
        chunk = builder.add(LoopIndex(loop, axis, type=i32))
        count: Statement = builder.const(self.plan.step)
        loop.names[axis] += "_chunk"
        if length is None or length % self.plan.step:
            count = builder.op("min", builder.op("sub", builder.again(end), chunk), count)
        return [chunk], [builder.op("add", chunk, count)], [builder.const(1)]

    def _replace_atomics(self) -> None:
        """Let each iteration change a variable in place of an element."""
        variables = self.variables

        def rule(rewriter: Rewriter, atomic: Statement) -> Statement | None:
            if not isinstance(atomic, AtomicOp) or atomic not in variables:
                return None
            builder, variable = rewriter.builder(atomic), variables[atomic]
            builder.store(variable, builder.op(ATOMIC_OPS[atomic.op], builder.load(variable), atomic.value))
            return DROPPED

        Rewriter({AtomicOp: rule}).run(self.kernel)

    def _add_result(self, atomic: AtomicOp, variable: Alloca, is_certain: bool) -> None:
        """Add what the iterations have found to the element. is_certain: whether each of them has found something."""
        builder = Builder(self.task.body, atomic.location)
        total = builder.load(variable)
        op = JOINED.get(atomic.op, atomic.op)
        if is_certain or is_existing(atomic.pointer):
            builder.atomic(op, builder.again(atomic.pointer), total)
            return
        assert isinstance(variable.type, Scalar)
        is_any = builder.op("ne", total, builder.const(neutral(op, variable.type), variable.type))
        with builder.into(builder.add(If(is_any)).then):
            builder.atomic(op, builder.again(atomic.pointer), total)
