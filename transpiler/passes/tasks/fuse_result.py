"""Fusion of a result: the last block of a loop with reductions runs the serial task that follows it.

    task 0: store temp s, 0                     task: for i in x { s += x[i] }
    task 1: for i in x { s += x[i] }      ->    epilogue, in the last block: mean[] = (0 + s) / n
    task 2: mean[] = load temp s / n

So a sum, and what a few statements make of it, cost no launch but that of the loop. The task must not read what the
loop writes otherwise, since other blocks wrote it. If all that precedes the loop are start values that nothing else
reads, these are no variables in memory either.

    task 0: s[] = 0                             task: for i in x { t += x[i] }
    task 1: for i in x { t += x[i] }      ->    epilogue, in the last block: s[] = 0 + t
            epilogue: atomic add s[], t

Likewise a launch is not needed for the start value of an element to which a loop adds a sum in the end.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.functions import Call, Reference
from ...ir.nodes import Block, Effect, Statement, operands, walk, walk_blocks
from ...ir.ops import ATOMIC_OPS
from ...ir.statements import (
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    MatrixInit,
    Return,
    Temporary,
    base_pointer,
    is_const,
)
from ...ir.tasks import Kernel, Reduction, Task
from ...ir.types import element_of
from ..analysis.aliasing import underlying_object
from ..analysis.existence import exists_by_numbers
from ..analysis.loops.reducible import is_invariant
from ..analysis.task_order import draws_numbers, is_movable, may_be_crossed, memory_of, overlap
from ..atomics.parts.joins import join_in_order
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter
from .parts.task_names import set_tasks


def fuse_result(kernel: Kernel, context: PassContext) -> bool:
    """Fuse loops with reductions with the serial tasks behind them, and with start values before them."""
    tasks = list(kernel.tasks)
    number = 1
    while number < len(tasks):
        loop, last = tasks[number - 1], tasks[number]
        if _may_end(kernel, loop, last, context):
            join_in_order(kernel, loop, context)
            starts = _private_starts(tasks, number - 1)
            if starts:
                reductions = _reductions(loop)
                _drop_pointers(loop.body, starts)
                loop.epilogue = last.body
                _replace_variables(loop.epilogue, starts, reductions, context)
                kernel.temporaries = [temporary for temporary in kernel.temporaries if temporary not in starts]
                tasks.remove(tasks[number - 2])
            else:
                _update_plainly(loop.epilogue)
                loop.epilogue.statements += last.body.statements
            loop.ends_alone = True
            tasks.remove(last)
        else:
            number += 1
    for number, loop in enumerate(tasks):
        is_joined = loop.blocks_done is not None or context.capabilities.joins_in_order
        if loop.reductions and is_joined and not loop.choices:
            _take_starts(kernel, tasks, number, context)
    tasks = [task for task in tasks if task.loop is not None or any(s.EFFECT & Effect.WRITE for s in walk(task.body))]
    if len(tasks) == len(kernel.tasks):
        return False
    set_tasks(kernel, tasks)
    return True


def _may_end(kernel: Kernel, loop: Task, last: Task, context: PassContext) -> bool:
    """Return whether one thread of the last block of a loop may run a serial task."""
    if not loop.reductions or last.loop is not None or loop.block_sums or loop.private or loop.choices:
        return False  # another task may run in place of a loop with choices
    statements = list(walk(last.body))
    if not all(is_movable(s) and not isinstance(s, Call) or isinstance(s, Return) for s in statements):
        return False
    is_result = all(not s.EFFECT & Effect.WRITE or isinstance(s, Return) for s in statements)
    if not is_result and (draws_numbers(kernel) or not may_be_crossed(loop)):
        return False
    return _places_exist(loop, context) and not overlap(
        memory_of(last.body).reads, memory_of(loop.prologue, loop.body).writes
    )


def _places_exist(loop: Task, context: PassContext) -> bool:
    """Return whether what the loop reduces to may be accessed without an iteration too, and is updated in one step.

    Where a device compares and swaps instead, it sees the place as an integer: the task might read an earlier value.
    """
    for statement in walk(loop.epilogue):
        if isinstance(statement, AtomicOp) and isinstance(base_pointer(statement.pointer), GlobalPtr):
            assert statement.type is not None
            key = element_of(statement.type).name, statement.op
            if not context.capabilities.joins_in_order and key not in context.capabilities.atomics:
                return False
        elif isinstance(statement, GlobalPtr) and not exists_by_numbers(statement):
            return False
    return True


def _update_plainly(epilogue: Block) -> None:
    """Update temporaries without atomic operations: one thread does it now."""

    def rule(rewriter: Rewriter, atomic: Statement) -> Statement | None:
        assert isinstance(atomic, AtomicOp)
        if not isinstance(base_pointer(atomic.pointer), GlobalTemporary):
            return None
        builder = rewriter.builder(atomic)
        builder.store(atomic.pointer, builder.op(ATOMIC_OPS[atomic.op], builder.load(atomic.pointer), atomic.value))
        return DROPPED

    Rewriter({AtomicOp: rule}).block(epilogue)


def _private_starts(tasks: list[Task], number: int) -> dict[Temporary, Statement]:
    """Return the start values of a loop's reductions, if the task before stores these alone, for this loop alone."""
    if number == 0 or tasks[number - 1].loop is not None:
        return {}
    loop, starts = tasks[number], _start_values(tasks[number - 1])
    if not starts or set(_reductions(loop)) != set(starts) or _uses(loop, starts):
        return {}
    own = (tasks[number - 1], loop, tasks[number + 1])
    others = [root for task in tasks if task not in own for root in task.roots()]
    used = {s.temporary for root in others for s in walk(root) if isinstance(s, GlobalTemporary)}
    for statement in walk(tasks[number + 1].body):  # a load of the whole variable is replaced, nothing else
        if not isinstance(statement, GlobalLoad):
            used |= {pointer.temporary for pointer in operands(statement) if isinstance(pointer, GlobalTemporary)}
    return {} if used & set(starts) else starts


def _start_values(task: Task) -> dict[Temporary, Statement] | None:
    """Return what a serial task stores in each temporary, None if it does anything else."""
    starts: dict[Temporary, Statement] = {}
    for statement in task.body.statements:
        if isinstance(statement, GlobalStore):
            pointer = statement.pointer
            if not isinstance(pointer, GlobalTemporary) or not all(map(is_invariant, _numbers_of(statement.value))):
                return None
            starts[pointer.temporary] = statement.value
        elif statement.EFFECT or statement.BLOCKS:
            return None
    return starts


def _numbers_of(value: Statement) -> list[Statement]:
    """Return the numbers that a vector is made of, or a number itself."""
    return value.elements if isinstance(value, MatrixInit) else [value]


def _reductions(task: Task) -> dict[Temporary, Reduction]:
    """Return the reductions of a loop by the temporaries that they are for, if all of them are for whole ones."""
    found: dict[Temporary, Reduction] = {}
    by_accumulator = {reduction.accumulator: reduction for reduction in task.reductions}
    reduction: Reduction | None = None
    for statement in task.epilogue.statements:
        if isinstance(statement, Reference):
            reduction = by_accumulator[statement.parameter]
        elif statement.EFFECT & Effect.WRITE:
            pointer = getattr(statement, "pointer", None)
            if not isinstance(pointer, GlobalTemporary) or reduction is None:
                return {}
            found[pointer.temporary] = reduction
    return found if len(found) == len(task.reductions) else {}


def _uses(task: Task, starts: dict[Temporary, Statement]) -> bool:
    """Return whether the loop itself reads one of the variables."""
    return any(
        isinstance(statement, GlobalLoad)
        and isinstance(statement.pointer, GlobalTemporary)
        and statement.pointer.temporary in starts
        for block in (task.prologue, task.body)
        for statement in walk(block)
    )


def _replace_variables(
    body: Block, starts: dict[Temporary, Statement], reductions: dict[Temporary, Reduction], context: PassContext
) -> None:
    """Replace each load of a variable by its start value, joined with what the loop has computed."""

    def rule(rewriter: Rewriter, load: Statement) -> Statement | None:
        assert isinstance(load, GlobalLoad)
        if not isinstance(load.pointer, GlobalTemporary) or load.pointer.temporary not in starts:
            return None
        temporary = load.pointer.temporary
        reduction, start = reductions[temporary], starts[temporary]
        builder = rewriter.builder(load)
        pointer = builder.add(Reference(reduction.accumulator, type=reduction.accumulator.type))
        total = builder.cast(builder.load(pointer), element_of(temporary.type))
        if _is_neutral(start, reduction.op, context):
            return total
        return builder.op(ATOMIC_OPS[reduction.op], builder.again(start), total)

    Rewriter({GlobalLoad: rule}).block(body)
    _drop_pointers(body, starts)


def _drop_pointers(body: Block, starts: dict[Temporary, Statement]) -> None:
    """Drop the pointers to the variables, which nothing uses now."""
    for block in walk_blocks(body):
        block.statements = [
            s for s in block.statements if not (isinstance(s, GlobalTemporary) and s.temporary in starts)
        ]


def _is_neutral(start: Statement, op: str, context: PassContext) -> bool:
    """Return whether a start value changes nothing; with exact floats, 0.0 changes -0.0."""
    if op != "add" or not all(is_const(number, 0) for number in _numbers_of(start)):
        return False
    return context.options.fast_math or not element_of(start.type).is_float if start.type is not None else False


# --- start values in elements -----------------------------------------------------------------------------------------


def _take_starts(kernel: Kernel, tasks: list[Task], number: int, context: PassContext) -> None:
    """Let the last block of a loop store an element, with the start value that a serial task before stores in it."""
    loop = tasks[number]
    if draws_numbers(kernel) or not may_be_crossed(loop):
        return
    inside = memory_of(loop.prologue, loop.body)
    totals = [s for s in loop.epilogue if isinstance(s, AtomicOp) and isinstance(s.pointer, GlobalPtr)]
    for atomic in totals:
        pointer = atomic.pointer
        assert isinstance(pointer, GlobalPtr)
        others = memory_of(Block([s for s in loop.epilogue if s is not atomic]))
        accessed = inside.reads | inside.writes | others.reads | others.writes
        if pointer.array in accessed or not exists_by_numbers(pointer):
            continue
        found = _start_before(tasks[:number], atomic)
        if found is None:
            continue
        task, store = found
        task.body.statements.remove(store)
        builder = Builder(Block(), atomic.location)
        value = atomic.value
        if not _is_neutral(store.value, atomic.op, context):
            value = builder.op(ATOMIC_OPS[atomic.op], builder.again(store.value), value)
        builder.add(GlobalStore(atomic.pointer, value))
        loop.epilogue.replace(atomic, builder.block)
        loop.ends_alone = True


def _start_before(tasks: list[Task], atomic: AtomicOp) -> tuple[Task, GlobalStore] | None:
    """Return the serial task before that alone stores a constant in an element, and the store, if nothing reads it."""
    pointer = atomic.pointer
    assert isinstance(pointer, GlobalPtr)
    for task in reversed(tasks):
        memory = memory_of(*task.roots())
        if pointer.array not in memory.reads | memory.writes:
            continue
        stores = [s for s in task.body if isinstance(s, GlobalStore) and underlying_object(s.pointer) is pointer.array]
        if task.loop is not None or pointer.array in memory.reads or len(stores) != 1 or task.choices:
            return None
        (store,) = stores
        stored = store.pointer
        is_same = isinstance(stored, GlobalPtr) and [_number(i) for i in stored.indices] == [
            _number(i) for i in pointer.indices
        ]
        is_only = sum(
            isinstance(s, GlobalStore) and underlying_object(s.pointer) is pointer.array for s in walk(task.body)
        )
        is_known = all(isinstance(number, Const) for number in _numbers_of(store.value))
        return (task, store) if is_same and is_only == 1 and is_known else None
    return None


def _number(index: Statement) -> object:
    return index.value if isinstance(index, Const) else index
