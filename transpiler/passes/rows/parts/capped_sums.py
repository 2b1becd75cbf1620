"""Counts up to a limit as counts of all, which have scans, and the smaller of both behind the loop.

    for i in 0 .. n {                        for i in 0 .. n {
        if s < limit and near(i) {               if near(i) {
            list[s] = i                  ->          if s < limit { list[s] = i }
            s += 1                                   s += 1
        }                                        }
    }                                        }
                                             s = max(start, min(s, limit))

A list of neighbours with a capacity is written so.
"""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Block, Effect, Statement, operands, walk
from ....ir.statements import (
    Alloca,
    Const,
    GlobalLoad,
    GlobalPtr,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    base_pointer,
    is_const,
    repeats,
)
from ....ir.tasks import Task
from ....ir.types import i32
from ...analysis.queries import surely_exists


def count_all(task: Task) -> bool:
    """Let the loops of a task count all; return whether one does."""
    loops = [s for s in task.body if isinstance(s, RangeFor) and repeats(s)]
    changed = [_count_all(task.body, loop) for loop in loops]  # each of them
    return any(changed)


def _count_all(body: Block, loop: RangeFor) -> bool:
    """Let a loop count all where it counts up to a limit; return whether it does."""
    for branch in [s for s in loop.body if isinstance(s, If)]:
        inner = branch.then.statements[-1] if branch.then.statements else branch
        for test in dict.fromkeys((branch, inner)):
            if isinstance(test, If) and (found := _limited(test)) is not None and _is_alone(loop, test, *found):
                start = _start(body, loop, found[0])
                if start is not None and (test is not branch or _hoist(loop.body, test)):
                    _count_behind(test, branch)
                    builder = Builder(Block(), loop.location)
                    count, limit = builder.load(found[0]), _outside(builder, found[1])
                    least = builder.op("min", count, limit)
                    if not isinstance(found[1], Const) or int(found[1].value) < start:
                        least = builder.op("max", least, builder.const(start))
                    builder.store(found[0], least)
                    place = body.statements.index(loop) + 1
                    body.statements[place:place] = builder.block.statements
                    return True
    return False


def _limited(test: If) -> tuple[Alloca, Statement] | None:
    """Return a variable that a branch counts up, and up to what, if its condition says so."""
    condition, statements = test.condition, test.then.statements
    if isinstance(condition, IfExp) and _is_false(condition.otherwise.result):
        condition = condition.condition
    elif isinstance(condition, Operation) and condition.op == "logical_and":
        condition = condition.operands[0]
    store = statements[-1] if statements else None
    if test.otherwise is not None and test.otherwise.statements:
        return None
    if not isinstance(condition, Operation) or condition.op != "lt" or not isinstance(store, LocalStore):
        return None
    count, limit = condition.operands
    value = store.value
    is_count = isinstance(count, LocalLoad) and count.pointer is store.pointer and count.type == i32
    if not is_count or not isinstance(store.pointer, Alloca) or not isinstance(value, Operation) or value.op != "add":
        return None
    old, one = value.operands
    adds_one = isinstance(old, LocalLoad) and old.pointer is store.pointer and is_const(one, 1)
    return (store.pointer, limit) if adds_one and statements[-3:-1] == [old, value] else None


def _is_false(value: Statement | None) -> bool:
    return value is not None and is_const(value, False)


def _is_alone(loop: RangeFor, test: If, variable: Alloca, limit: Statement) -> bool:
    """Return whether a loop has nothing else to do with a variable than a branch, and the limit is the same for all."""
    inside = list(walk(loop.body))
    uses = [s for s in inside if variable in operands(s)]
    own = set(walk(test.then))
    before = [s for s in uses if s not in own]
    is_counted_once = sum(isinstance(s, LocalStore) for s in uses) == 1 and len(before) == 1
    is_plain = all(isinstance(s, (LocalLoad, LocalStore)) for s in uses)
    return is_counted_once and is_plain and (isinstance(limit, Const) or limit not in inside)


def _start(body: Block, loop: RangeFor, variable: Alloca) -> int | None:
    """Return the number with which a variable starts before a loop; None if that is another value."""
    before = body.statements[: body.statements.index(loop)]
    stores = [s for s in before if any(variable in operands(inner) for inner in walk(Block([s])))]
    last = stores[-1] if stores else None
    return int(last.value.value) if isinstance(last, LocalStore) and isinstance(last.value, Const) else None


def _hoist(body: Block, test: If) -> bool:
    """Compute the other part of a condition for all; return whether that is possible."""
    condition = test.condition
    if isinstance(condition, IfExp):
        computed = condition.then
        if not all(map(_may_be_early, computed)) or computed.result is None:
            return False
        body.insert_before(condition, computed.statements)
        test.condition, first = computed.result, condition.condition
        body.drop([condition])
    else:
        assert isinstance(condition, Operation)
        first, test.condition = condition.operands
    builder = Builder(Block(), test.location)
    count, limit = first.operands  # type: ignore[attr-defined]
    now = builder.load(count.pointer)
    inner = If(builder.op("lt", now, _outside(builder, limit)), location=test.location)
    inner.then.statements += test.then.statements
    test.then.statements = [*builder.block.statements, inner]
    return True


def _may_be_early(statement: Statement) -> bool:
    """Return whether a statement may run although a program does not reach it."""
    if isinstance(statement, GlobalLoad):
        pointer = base_pointer(statement.pointer)
        return isinstance(pointer, GlobalPtr) and surely_exists(pointer)
    return statement.EFFECT & ~Effect.READ == Effect.NONE and not statement.BLOCKS


def _count_behind(test: If, branch: If) -> None:
    """Count behind the branch with the limit, in the one around it."""
    inner = test if test is not branch else branch.then.statements[-1]
    assert isinstance(inner, If)
    counting = inner.then.statements[-3:]
    del inner.then.statements[-3:]
    branch.then.statements += counting


def _outside(builder: Builder, limit: Statement) -> Statement:
    return builder.const(int(limit.value)) if isinstance(limit, Const) else limit
