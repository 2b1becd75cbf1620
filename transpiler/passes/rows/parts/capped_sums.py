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
from ....ir.nodes import Block, Statement, operands, reads, walk
from ....ir.statements import (
    Alloca,
    Const,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    is_const,
    repeats,
)
from ....ir.tasks import Task
from ....ir.types import i32
from ...analysis.queries import has_else
from ...analysis.speculation import may_be_in_vain


def count_all(task: Task) -> bool:
    """Let the loops of a task count all; return whether one does."""
    loops = [s for s in task.body if isinstance(s, RangeFor) and repeats(s)]
    changed = [_count_all(task.body, loop) for loop in loops]  # each of them
    return any(changed)


def _count_all(body: Block, loop: RangeFor) -> bool:
    """Let a loop count all where it counts up to a limit; return whether it does."""
    for branch in [s for s in loop.body if isinstance(s, If) and s.then.statements]:
        inner = branch.then.statements[-1]
        for test in (branch, inner):
            if isinstance(test, If) and (found := _limited(test)) is not None and _is_alone(loop, test, *found):
                start, has_more = _start(body, loop, found[0]), not _is_less(test.condition)
                if start is not None and has_more is (test is branch) and (not has_more or _hoist(loop.body, test)):
                    _count_behind(test, branch)
                    _limit_behind(body, loop, start, *found)
                    return True
    return False


def _limit_behind(body: Block, loop: RangeFor, start: int, variable: Alloca, limit: Statement) -> None:
    """Let a variable have at most a limit behind a loop, or the number it starts with if that is greater."""
    builder = Builder(Block(), loop.location)
    count, most = builder.load(variable), _outside(builder, limit)
    least = builder.op("min", count, most)
    if not isinstance(limit, Const) or int(limit.value) < start:
        least = builder.op("max", least, builder.const(start))
    builder.store(variable, least)
    place = body.statements.index(loop) + 1
    body.statements[place:place] = builder.block.statements


def _is_less(condition: Statement) -> bool:
    return isinstance(condition, Operation) and condition.op == "lt"


def _limited(test: If) -> tuple[Alloca, Statement] | None:
    """Return a variable that a branch counts up, and up to what, if its condition says so."""
    condition, statements = test.condition, test.then.statements
    if isinstance(condition, IfExp) and _is_false(condition.otherwise.result):
        condition = condition.condition
    elif isinstance(condition, Operation) and condition.op == "logical_and":
        condition = condition.operands[0]
    store = statements[-1] if statements else None
    if has_else(test):
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
    """Return whether a loop has nothing else to do with a variable than a branch, and the limit is the same for all.

    What the condition compares may be used elsewhere, too: two equal loads are one.
    """
    inside = list(walk(loop.body))
    uses = [s for s in inside if variable in operands(s)]
    own = set(walk(test.then))
    before = [s for s in uses if s not in own]
    is_counted_once = sum(isinstance(s, LocalStore) for s in uses) == 1 and len(before) == 1
    is_plain = all(isinstance(s, (LocalLoad, LocalStore)) for s in uses)
    users = [s for s in inside if s not in own and any(value in reads(s) for value in before)]
    is_compared = all(map(_is_less, users)) and len(users) == 1
    return is_counted_once and is_plain and is_compared and (isinstance(limit, Const) or limit not in inside)


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
        is_own = condition in body.statements and sum(condition in reads(s) for s in walk(body)) == 1
        if not is_own or not all(map(may_be_in_vain, computed)) or computed.result is None:
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


def _count_behind(test: If, branch: If) -> None:
    """Count behind the branch with the limit, in the one around it."""
    inner = test if test is not branch else branch.then.statements[-1]
    assert isinstance(inner, If)
    counting = inner.then.statements[-3:]
    del inner.then.statements[-3:]
    branch.then.statements += counting


def _outside(builder: Builder, limit: Statement) -> Statement:
    return builder.again(limit) if isinstance(limit, Const) else limit
