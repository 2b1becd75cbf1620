"""Makes one task of a loop that computes a result, its start value, and the return.

    task 0: store temp s, 0                     task: for i in x { s += x[i] }
    task 1: for i in x { s += x[i] }      ->    epilogue, in the last block: return 0 + s
    task 2: return global load s

So a returned sum costs no launch but that of its loop, and no variable in memory. It applies if the first task only
stores values that every task can compute, and the last one reads only these variables.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.functions import Reference
from ...ir.nodes import Block, Effect, Statement, walk, walk_blocks
from ...ir.ops import ATOMIC_OPS
from ...ir.statements import Const, GlobalLoad, GlobalStore, GlobalTemporary, Return, Temporary
from ...ir.tasks import Kernel, Reduction, Task
from ...ir.types import element_of
from ..context import PassContext
from ..rewrite import Rewriter
from .reduce_atomics import join_in_order
from .reducible import is_invariant


def fuse_result(kernel: Kernel, context: PassContext) -> bool:
    """Fuse the tasks of a kernel that are a start value, a loop with reductions, and a return."""
    if len(kernel.tasks) != 3:
        return False
    first, loop, last = kernel.tasks
    starts = _start_values(first)
    if starts is None or not loop.reductions or first.loop is not None or last.loop is not None:
        return False
    reductions = _reductions(loop)
    if set(reductions) != set(starts) or not _only_returns(last.body, starts) or _uses(loop, starts):
        return False
    join_in_order(kernel, loop, context)
    _drop_pointers(loop.body, starts)
    loop.epilogue = last.body
    _replace_variables(loop.epilogue, starts, reductions, context)
    loop.name = kernel.name
    kernel.tasks = [loop]
    kernel.temporaries = [temporary for temporary in kernel.temporaries if temporary not in starts]
    return True


def _start_values(task: Task) -> dict[Temporary, Statement] | None:
    """Return what a serial task stores in each temporary, None if it does anything else."""
    starts: dict[Temporary, Statement] = {}
    for statement in task.body.statements:
        if isinstance(statement, GlobalStore):
            pointer = statement.pointer
            if not isinstance(pointer, GlobalTemporary) or not is_invariant(statement.value):
                return None
            starts[pointer.temporary] = statement.value
        elif statement.EFFECT or statement.BLOCKS:
            return None
    return starts


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


def _only_returns(body: Block, starts: dict[Temporary, Statement]) -> bool:
    """Return whether a serial task reads only these variables, and has no effect but its return."""
    if not body.statements or not isinstance(body.statements[-1], Return):
        return False
    for statement in walk(body):
        if isinstance(statement, GlobalLoad):
            if not (isinstance(statement.pointer, GlobalTemporary) and statement.pointer.temporary in starts):
                return False
        elif isinstance(statement, GlobalTemporary):
            if statement.temporary not in starts:
                return False
        elif statement.EFFECT and not isinstance(statement, Return):
            return False
    return True


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
        assert isinstance(load, GlobalLoad) and isinstance(load.pointer, GlobalTemporary)
        temporary = load.pointer.temporary
        reduction, start = reductions[temporary], starts[temporary]
        builder = Builder(Block(rewriter.out))
        builder.location = load.location
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
    if not isinstance(start, Const) or op != "add" or start.value != 0:
        return False
    return context.options.fast_math or not element_of(start.type).is_float if start.type is not None else False
