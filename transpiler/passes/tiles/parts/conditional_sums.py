"""Sums under a condition, or of rows of different lengths, as sums of whole rows, which have tiles.

    if j <= i {                                   for k in n { s += q[i, k] * p[j, k] }
        for k in n { s += q[i, k] * p[j, k] }     if j <= i { c[i, j] = s } else { c[i, j] = 0 }
        c[i, j] = s                        ->
    } else { c[i, j] = 0 }

    for k in i + 1 { s += a[i, k] * b[k, j] }         ->    for k in n { s += (a[i, k] if k < i + 1 else 0) * b[k, j] }

    for k in n { if k <= i { s += a[i, k] * b[k, j] } }     ->    the same

A block computes the whole sum of all its elements anyway. All elements that it loads so exist: their indices are those
of loops over axes of their arrays. A term of 0 changes no sum that is finite, so for floats this needs `fast_math`.
"""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, operands, walk
from ....ir.statements import (
    Alloca,
    Const,
    GlobalLoad,
    If,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    is_const,
    repeats,
)
from ....ir.tasks import Task
from ....ir.types import Scalar, i32
from ...analysis.existence import is_existing
from ...analysis.queries import computed_from, count_along, has_else, is_index_of
from .arranged_loops import VALUES
from .sided_factors import factors_of


def with_whole_sums(task: Task, is_fast: bool) -> bool:
    """Let a task compute whole sums where it computes parts of them, or some; return whether it does."""
    changed = _leave_condition(task)
    return _sum_whole_rows(task, is_fast) or changed


# --- a condition around a sum -----------------------------------------------------------------------------------------


def _leave_condition(task: Task) -> bool:
    """Move the loop that sums up out of a condition."""
    body = task.body.statements
    inside = [s for s in body if isinstance(s, If) and any(map(repeats, walk(s.then)))]
    if len(inside) != 1 or any(map(repeats, body)):
        return False
    branch = inside[0]
    loops = [s for s in walk(Block([branch])) if repeats(s)]
    if len(loops) != 1 or loops[0] not in branch.then.statements or not _is_made_of_values(branch.condition):
        return False
    serial, before = loops[0], body[: body.index(branch)]
    if not isinstance(serial, RangeFor):
        return False
    first = branch.then.statements[: branch.then.statements.index(serial)]
    last = branch.then.statements[len(first) + 1 :]
    own = [s for s in first if isinstance(s, Alloca)]
    if not all(isinstance(s, (*VALUES, Alloca)) or (isinstance(s, LocalStore) and s.pointer in own) for s in first):
        return False
    outer = {s.pointer for s in walk(serial.body) if isinstance(s, LocalStore) and s.pointer not in own}
    outer -= {s for s in walk(serial.body) if isinstance(s, Alloca)}
    starts = _starts(before, outer)
    if not all(map(_exists, walk(serial.body))) or starts is None or (outer and has_else(branch)):
        return False
    builder = Builder(Block(), branch.location)
    for variable, value in starts.items():
        builder.store(variable, value)
    if outer and not last:
        negated = Builder(Block(), branch.location)
        branch.condition = negated.op("logical_not", branch.condition)
        branch.then, first = builder.block, [*first]
        others = [*negated.block.statements, branch]
    else:
        branch.then = Block(last)
        branch.otherwise = builder.block if outer else branch.otherwise
        others = [branch]
    position = body.index(branch)
    body[position : position + 1] = [*first, serial, *others]
    return True


def _is_made_of_values(value: Statement) -> bool:
    return all(isinstance(s, VALUES) for s in computed_from(value))


def _starts(before: list[Statement], variables: set[Statement]) -> dict[Statement, Statement] | None:
    """Return the numbers with which variables start, None if one is something else, or used before."""
    found: dict[Statement, Statement] = {}
    for statement in before:
        for inner in walk(Block([statement])):
            if any(operand in variables for operand in operands(inner)):
                if not isinstance(inner, LocalStore) or inner is not statement or inner.pointer in found:
                    return None
                if not isinstance(inner.value, Const):
                    return None
                found[inner.pointer] = inner.value
    return found if variables <= set(found) else None


def _exists(statement: Statement) -> bool:
    """Return whether a statement loads nothing, or an element that certainly exists."""
    return not isinstance(statement, GlobalLoad) or is_existing(statement.pointer)


# --- terms under a condition ------------------------------------------------------------------------------------------


def _sum_whole_rows(task: Task, is_fast: bool) -> bool:
    """Let a serial loop add all terms of a row, 0 for those that it would not add."""
    loop, loops = task.loop, [s for s in walk(task.body) if repeats(s)]
    if loop is None or len(loops) != 1 or loops[0] not in task.body.statements or not isinstance(loops[0], RangeFor):
        return False
    serial = loops[0]
    if len(serial.starts) != 1 or not is_const(serial.starts[0], 0) or not is_const(serial.steps[0], 1):
        return False
    end = _whole_end(serial.ends[0], loop)
    branch = _only_branch(serial)
    if (end is None) == (branch is None):
        return False  # neither, or both
    inner = serial.body if branch is None else branch.then
    store = next((s for s in inner if isinstance(s, LocalStore)), None)
    if sum(isinstance(s, LocalStore) for s in inner) != 1 or store is None:
        return False
    builder = Builder(Block(), serial.location)
    if branch is not None:
        condition = branch.condition
        if not all(map(_exists, branch.then)) or not _is_made_of_values(condition):
            return False
    else:
        index = next((s for s in walk(serial.body) if is_index_of(s, serial)), None)
        if index is None or end is None:
            return False
        condition = builder.op("lt", index, serial.ends[0])
        ends, serial.ends = serial.ends, [Const(end, type=i32)]
        is_safe = all(map(_exists, serial.body))
        serial.ends = ends
        if not is_safe:
            return False
    if not _mask(builder, store, condition, loop, is_fast):
        return False
    if branch is not None:
        position = serial.body.statements.index(branch)
        serial.body.statements[position : position + 1] = branch.then.statements
    else:
        assert end is not None
        outer = Builder(Block(), serial.location)
        serial.ends = [outer.const(end)]
        position = task.body.statements.index(serial)
        task.body.statements[position:position] = outer.block.statements
    value = store.value
    position = serial.body.statements.index(value)
    serial.body.statements[position:position] = builder.block.statements
    return True


def _whole_end(end: Statement, loop: RangeFor) -> int | None:
    """Return the greatest end of a serial loop up to the index of a row, or to a number behind it."""
    behind = 0
    match end:
        case Operation(op="add", operands=[index, Const(value=number)]):
            end, behind = index, int(number)
    if not is_index_of(end, loop) or not is_const(loop.starts[end.axis], 0) or behind < 0:
        return None
    count = count_along(loop, end.axis)
    return None if count is None else count - 1 + behind


def _only_branch(serial: RangeFor) -> If | None:
    """Return the condition under which a loop does all that it does, if it has one."""
    found = [s for s in serial.body if not isinstance(s, VALUES)]
    branch = found[0] if len(found) == 1 else None
    return branch if isinstance(branch, If) and not has_else(branch) else None


def _mask(builder: Builder, store: LocalStore, condition: Statement, loop: RangeFor, is_fast: bool) -> bool:
    """Let what a store adds be 0 where a condition does not hold: a factor that depends on what the condition does."""
    value = store.value
    if not isinstance(value, Operation) or value.op not in ("add", "sub") or not isinstance(value.type, Scalar):
        return False
    if value.type.kind == "float" and not is_fast:
        return False
    term = next((o for o in value.operands if not isinstance(o, LocalLoad)), None)
    axes = {s.axis for s in computed_from(condition) if is_index_of(s, loop)}
    if term is None or len(axes) != 1 or sum(isinstance(o, LocalLoad) for o in value.operands) != 1:
        return False
    for factor, divides in factors_of(term):
        own = {s.axis for s in computed_from(factor) if is_index_of(s, loop)}
        has_load = any(isinstance(s, GlobalLoad) for s in computed_from(factor))
        if not divides and axes <= own and has_load and isinstance(factor.type, Scalar):
            zero = builder.const(0, factor.type)
            masked = builder.op("select", condition, factor, zero)
            position = value.operands.index(term)
            value.operands[position] = _without(builder, term, factor, masked)
            return True
    return False


def _without(builder: Builder, term: Statement, factor: Statement, masked: Statement) -> Statement:
    """Return a product with another factor in place of one."""
    if term is factor:
        return masked
    if not isinstance(term, Operation) or term.op not in ("mul", "div"):
        return term
    first, second = (_without(builder, operand, factor, masked) for operand in term.operands)
    return builder.op(term.op, first, second)
