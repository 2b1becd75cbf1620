"""The serial loops of an iteration that threads may share, also those inside of another serial loop: a query.

    for g in G {                                     for g in G {
        p = 0                                            p = 0
        for j in 64 { p += w[i, g * 64 + j] }    ->      for j in lane .. 64 step 16 { p += w[i, g * 64 + j] }
        acc += p * s[i, g]                               acc += p * s[i, g]
    }                                                }
                                                     acc += acc of lane ^ 8, ...

All threads of a row run the outer loop. What it only adds to is joined behind it, once; and so is what its inner loops
add to, if that is only added to such a variable, times a number. Where threads have to exchange something in each
iteration, the outer loop has the same bounds in all iterations of the parallel one, and no other end: threads of a
warp that are in other rows take part.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ....ir.nodes import Block, Statement, walk
from ....ir.statements import (
    Alloca,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    base_pointer,
    is_const,
    repeats,
)
from ....ir.tasks import Task
from ....ir.types import Scalar, i32
from ...analysis.linear import Reader
from ...analysis.loops.synchronizable import may_synchronize
from ...analysis.queries import computed_from, is_given, is_index_of, leaves_block, trip_count
from .first_lane import Users, is_for_one, may_be_for_one, users_in

MOST_PARTS = 32
"""The most iterations of a loop over the parts of an element, as over the bits of a word."""

Joined = Mapping[RangeFor, Mapping[Alloca, str]]
"""The accumulators of each row, with the operations that join those of the threads."""


@dataclass(slots=True)
class RowLoops:
    """The loops over rows of an iteration, in order. around: the serial loop that one of them is in.

    outer_are_rows: loops inside of them are over the parts of an element.
    """

    rows: list[RangeFor] = field(default_factory=list)
    around: dict[RangeFor, RangeFor] = field(default_factory=dict)
    outer_are_rows: bool = False

    @property
    def outermost(self) -> list[RangeFor]:
        """The loops that are no part of another serial one."""
        return list(dict.fromkeys(self.around.get(row, row) for row in self.rows))


def rows_of(task: Task) -> list[RangeFor]:
    """Return the loops in the iterations of a task, if several threads may run them, one loop after another, and
    nothing between them has an effect."""
    loops = RowLoops() if task.reductions or task.block_sums else loops_over_rows(task)
    if not loops.rows or loops.around:
        return []
    before = task.body.statements[: task.body.statements.index(loops.rows[-1])]
    between = [s for first in before if first not in loops.rows for s in walk(Block([first]))]
    return [] if any(map(is_for_one, between)) else loops.rows


def loops_over_rows(task: Task, outer_are_rows: bool = False) -> RowLoops:
    """Return the loops in the iterations of a task, if several threads may run them, one loop after another, and one
    thread alone what is between them; else none.

    outer_are_rows: of loops with short loops inside, over the parts of an element, the outer ones are the rows.
    """
    loop, found = task.loop, RowLoops(outer_are_rows=outer_are_rows)
    if loop is None or loop.order or loop.cells is not None or task.private or task.tile or task.block_dim % 32:
        return found
    outermost = [s for s in task.body if isinstance(s, RangeFor)]
    outside, parts = list(task.body), set[RangeFor]()
    for outer in outermost:
        inner = [s for s in outer.body if isinstance(s, RangeFor)]
        if outer_are_rows:
            if not all(is_over_parts(each, outer) for each in inner):
                return RowLoops()
            parts |= {each for each in inner if repeats(each)}
            inner = []
        found.rows += inner or [outer]
        found.around |= dict.fromkeys(inner, outer)
        outside += outer.body.statements if inner else []
    loops = [s for s in walk(task.body) if repeats(s)]
    if not loops or set(loops) != {*outermost, *found.rows, *parts} or not may_synchronize(task, reduces=True):
        return RowLoops()
    before = outside[: outside.index(outermost[-1])] + outside[len(task.body) :]
    between = [statement for statement in before if statement not in loops]
    is_right = all(map(_is_row, found.rows)) and all(_has_own_elements(*pair) for pair in found.around.items())
    return found if is_right and may_be_for_one(between, users_in(task.body)) else RowLoops()


def _is_row(row: RangeFor) -> bool:
    """Return whether a loop has one axis, in steps of 1, and no author who unrolls it."""
    is_plain = len(row.starts) == 1 and is_const(row.steps[0], 1) and not row.unroll_count
    return is_plain and row.starts[0].type == i32


def is_over_parts(inner: RangeFor, row: RangeFor) -> bool:
    """Return whether a loop is over the parts of an element of a row, as over the bits of a word: it is short, and what
    it loads is the same for all elements, or next to what it loads for the next one. It stores nothing."""
    if any(isinstance(s, (GlobalStore, AtomicOp)) for s in walk(inner.body)):
        return False  # `y[i, w + b]` is one element for several elements of a row
    reader = Reader({inner, row, *walk(row.body)}, {}, scales=True)
    pointers = [base_pointer(s.pointer) for s in walk(inner.body) if isinstance(s, GlobalLoad)]
    elements = [pointer for pointer in pointers if isinstance(pointer, GlobalPtr)]
    return (trip_count(inner) or MOST_PARTS + 1) <= MOST_PARTS and all(_is_near(p, row, reader) for p in elements)


def _is_near(pointer: GlobalPtr, row: RangeFor, reader: Reader) -> bool:
    """Return whether an element is at most `MOST_PARTS` elements from that for the next element of a row."""
    if not pointer.indices:
        return True
    *outer, last = pointer.indices
    if any(is_index_of(value, row) for index in outer for value in computed_from(index)):
        return False
    place = reader.read(last)
    return place is not None and abs(place.indices.get((row, 0), 0)) <= MOST_PARTS


def exchange_together(loops: RowLoops, joined: Joined, finding: Collection[RangeFor]) -> bool:
    """Return whether all threads of a block come together to what they exchange in loops around rows.

    finding: the rows that find extremes, which threads exchange in each iteration.
    """
    for outer in set(loops.around.values()):
        rows = [row for row, around in loops.around.items() if around is outer]
        late = joined_late(outer, {row: joined[row] for row in rows})
        is_late = all(variable in late.joined or variable in late.parts for row in rows for variable in joined[row])
        if not _is_the_same_for_all(outer) and (not is_late or any(row in finding for row in rows)):
            return False
    return True


def _is_the_same_for_all(outer: RangeFor) -> bool:
    """Return whether all threads of a block run all iterations of a loop."""
    bounds = (*outer.starts, *outer.ends, *outer.steps)
    return all(map(is_counted, bounds)) and not any(leaves_block(s) for s in outer.body)


def is_counted(bound: Statement) -> bool:
    """Return whether a bound is the same for all threads, and the host could compute it: also a number of blocks."""
    if isinstance(bound, Operation) and bound.op == "floordiv" and bound.type == i32:
        first, by = bound.operands
        return is_given(first) and isinstance(by, Const) and by.value > 0
    return is_given(bound)


def _has_own_elements(row: RangeFor, outer: RangeFor) -> bool:
    """Return whether a thread has the same elements of a row in all iterations of a loop around it, if it stores."""
    stores = [s.pointer for s in walk(row.body) if isinstance(s, GlobalStore)]
    is_own = all(any(is_index_of(index, row) for index in getattr(pointer, "indices", ())) for pointer in stores)
    return not stores or (is_own and (isinstance(row.starts[0], Const) or row.starts[0] not in set(walk(outer.body))))


# --- what is joined behind a loop -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Late:
    """What is joined behind a serial loop, with the operations. parts: what its rows add to, which is not joined."""

    joined: dict[Alloca, str]
    parts: set[Alloca]


def joined_late(outer: RangeFor, joined: Joined) -> Late:
    """Return what the loops inside of another one add to, and that need not be joined in it. joined: of all of them."""
    users, own = users_in(outer.body), {s for s in walk(outer.body) if isinstance(s, Alloca)}
    accesses, ops = _accesses(outer, joined), dict[Alloca, set[str]]()
    for accumulators in joined.values():
        for variable, op in accumulators.items():
            ops.setdefault(variable, set()).add(op)
    parts = {v for v, found in ops.items() if v in own and found == {"add"}}
    while True:
        late, adding = dict[Alloca, str](), dict[Alloca, set[Statement]]()
        targets = {part: _targets(part, accesses.get(part, []), parts, users) for part in parts}
        for found in targets.values():
            for variable, statements in (found or {}).items():
                adding.setdefault(variable, set()).update(statements)
        for variable in dict.fromkeys((*ops, *adding)):
            found_ops = ops.get(variable, set()) | ({"add"} if variable in adding else set())
            is_added = adding.get(variable, set()) == set(accesses.get(variable, ()))  # not to what it was before
            if variable not in own and is_added and len(found_ops) == 1:
                late[variable] = next(iter(found_ops))
        rest = {part for part in parts if (found := targets[part]) is not None and found.keys() <= late.keys()}
        if rest == parts:
            return Late(late, parts)
        parts = rest


def _accesses(outer: RangeFor, joined: Joined) -> dict[Statement, list[Statement]]:
    """Return the loads and stores of variables in a loop, but those by which rows add to their accumulators."""
    row_of = {statement: row for row in joined for statement in walk(row.body)}
    found: dict[Statement, list[Statement]] = {}
    for statement in walk(outer.body):
        if isinstance(statement, (LocalLoad, LocalStore)):
            variable, row = base_pointer(statement.pointer), row_of.get(statement)
            if row is None:
                found.setdefault(variable, []).append(statement)
            elif variable not in joined[row]:
                found.setdefault(variable, []).append(row)  # which all threads need to know
    return found


def _targets(
    part: Alloca, accesses: list[Statement], parts: set[Alloca], users: Users
) -> dict[Alloca, set[Statement]] | None:
    """Return the variables that a sum is added to, with their loads and stores, None if it is used otherwise.

    accesses: to the sum, outside of rows.
    """
    found: dict[Alloca, set[Statement]] = {}
    for access in accesses:
        if isinstance(access, LocalStore):
            if access.pointer is not part or not isinstance(access.value, Const) or access.value.value != 0:
                return None
            continue
        target = None if isinstance(access, RangeFor) else _added_to(access, parts, users)
        if target is None:
            return None
        store, load = target
        found.setdefault(store.pointer, set()).update((store, load))  # type: ignore[arg-type]
    return found


def _added_to(value: Statement, parts: set[Alloca], users: Users) -> tuple[LocalStore, LocalLoad] | None:
    """Return where a multiple of a value is added to a variable: the store, and the load of what it was."""
    while len(users.get(value, ())) == 1:
        user = users[value][0]
        match user:
            case Operation(op="add" | "sub", operands=[LocalLoad(pointer=Alloca() as variable) as load, added]):
                stores = users.get(user, [])
                is_sum = added is value and len(stores) == 1 and len(users[load]) == 1
                if is_sum and isinstance(stores[0], LocalStore) and stores[0].pointer is variable:
                    return stores[0], load
                return None
            case Operation(op="mul" | "div" | "neg", operands=[first, *rest]) if isinstance(user.type, Scalar):
                other = [o for o in (first, *rest) if o is not value]
                is_multiple = user.op != "div" or (first is value and user.type.is_float)
                if len(other) != len(rest) or not is_multiple or any(_is_part(o, parts) for o in other):
                    return None
            case Cast(bits=False, type=Scalar(is_float=True) as wide) if _is_narrower(value, wide):
                pass
            case _:
                return None
        value = user
    return None


def _is_part(value: Statement, parts: set[Alloca]) -> bool:
    """Return whether a value is computed from sums that threads have parts of."""
    return any(isinstance(s, LocalLoad) and base_pointer(s.pointer) in parts for s in computed_from(value))


def _is_narrower(value: Statement, wide: Scalar) -> bool:
    return isinstance(value.type, Scalar) and value.type.is_float and value.type.bits <= wide.bits
