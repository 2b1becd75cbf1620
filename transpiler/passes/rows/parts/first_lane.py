"""What the first of the threads that share a row does alone, between the loops over the row (for `shared_rows`).

    s = ...                         s = ...
    mean[i] = s / n          ->     if lane == 0 { mean[i] = s / n, total_sum += s }
    total_sum += s                  for j in lane .. m step 32 { y[i, j] = x[i, j] - s }
    for j in 0 .. m { ... }

Outside of the loops over a row, all of its threads compute the same values. Stores to arrays, atomic operations and
what an iteration adds to a reduction (`Task.reductions`) are for one of them, and so is what nothing else needs. No
other thread may load what the first one stores, since they do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ....ir.builder import Builder
from ....ir.functions import Call, Reference
from ....ir.nodes import Block, Effect, Statement, blocks, has_effect, users_of, walk
from ....ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    GlobalLoad,
    GlobalStore,
    If,
    IfExp,
    LocalStore,
    RangeFor,
    base_pointer,
    repeats,
)
from ....ir.tasks import Apart
from ...analysis.aliasing import underlying_object
from ...analysis.queries import leaves_block

Users = dict[Statement, list[Statement]]
"""The statements that use a value; an expression with blocks uses their results."""


@dataclass(slots=True)
class Part:
    """Statements in order. is_alone: the first of the threads runs them."""

    statements: list[Statement]
    is_alone: bool


def users_in(body: Block) -> Users:
    """Return the users of all values of a task."""
    return dict(users_of(walk(body)))


def parts_of(statements: Sequence[Statement], users: Users) -> list[Part]:
    """Return what all threads run and what one does; values that only a part of one needs are computed in it."""
    parts, pending = list[Part](), list[Statement]()

    def flush() -> None:
        alone = _alone(pending, users)
        together = [statement for statement in pending if statement not in alone]
        if together:
            parts.append(Part(together, is_alone=False))
        if alone:
            parts.append(Part([statement for statement in pending if statement in alone], is_alone=True))
        pending.clear()

    for statement in statements:
        is_fixed = has_effect(statement, Effect.WRITE | Effect.FENCE) or repeats(statement) or leaves_block(statement)
        if is_fixed and not isinstance(statement, Alloca) and not is_for_one(statement):
            flush()
            parts.append(Part([statement], is_alone=False))
        else:
            pending.append(statement)
    flush()
    return parts


def is_for_one(statement: Statement) -> bool:
    """Return whether one thread has to run a statement, and the others may leave it out."""
    if isinstance(statement, (GlobalStore, AtomicOp)):
        return True
    if isinstance(statement, LocalStore):
        return isinstance(base_pointer(statement.pointer), Reference)
    if not isinstance(statement, If):
        return False
    inside = [inner for block in blocks(statement) for inner in walk(block)]
    own = {inner for inner in inside if isinstance(inner, Alloca)}
    writes = [inner for inner in inside if inner.EFFECT & (Effect.WRITE | Effect.FENCE) and inner not in own]
    others = [inner for inner in writes if not (isinstance(inner, LocalStore) and base_pointer(inner.pointer) in own)]
    is_plain = not any(map(repeats, inside)) and not leaves_block(statement)
    return is_plain and bool(others) and all(map(is_for_one, others))


def _alone(pending: list[Statement], users: Users) -> set[Statement]:
    """Return the statements that one thread runs, of some without another effect that others would see."""
    found: set[Statement] = set()
    inside: set[Statement] = set()
    for statement in reversed(pending):
        used = users.get(statement)
        if is_for_one(statement) or (used and not isinstance(statement, Alloca) and inside.issuperset(used)):
            found.add(statement)
            inside.add(statement)
            inside.update(inner for block in blocks(statement) for inner in walk(block))
    return found


def may_be_for_one(statements: Sequence[Statement], users: Users) -> bool:
    """Return whether one thread may run what has an effect outside of the loops over rows: no result of it is used."""
    for statement in walk(Block(list(statements))):
        is_result = isinstance(statement, AtomicOp) and (statement in users or statement.mask is not None)
        is_local = isinstance(statement, AtomicOp) and isinstance(base_pointer(statement.pointer), Alloca)
        is_nested = isinstance(statement, IfExp) and has_effect(statement, Effect.WRITE)
        if is_result or is_local or is_nested or isinstance(statement, Call):
            return False
    return True


def seen_by_all(body: Sequence[Statement], users: Users) -> tuple[list[Statement], list[Statement]]:
    """Return what one thread stores or changes atomically outside of rows, and the loads of all threads of a row."""
    stores, loads = list[Statement](), list[Statement]()
    for part in parts_of(body, users):
        for statement in part.statements:
            inside = [inner for block in blocks(statement) for inner in walk(block)]
            if part.is_alone:
                stores += [s for s in (statement, *inside) if isinstance(s, (GlobalStore, AtomicOp))]
            elif isinstance(statement, RangeFor) and not any(map(repeats, inside)):
                loads += [s for s in inside if isinstance(s, GlobalLoad)]
            else:
                loads += [statement] if isinstance(statement, GlobalLoad) else []
                for block in blocks(statement):
                    found = seen_by_all(block.statements, users)
                    stores += found[0]
                    loads += found[1]
    return stores, loads


def must_be_apart(stores: Collection[Statement], loads: Collection[Statement]) -> list[Apart] | None:
    """Return which ndarrays must be apart for no thread to load what another one stores; None if one would."""
    pairs: dict[tuple[Array, Array], None] = {}
    read = dict.fromkeys(underlying_object(load.pointer) for load in loads)  # type: ignore[attr-defined]
    for target in dict.fromkeys(underlying_object(store.pointer) for store in stores):  # type: ignore[attr-defined]
        if target in read:
            return None
        for other in read:
            if isinstance(target, Array) and isinstance(other, Array) and target.may_alias and other.may_alias:
                pairs[target, other] = None
    if any(array.strided for pair in pairs for array in pair):
        return None
    return [Apart(*pair) for pair in pairs]


def add_parts(builder: Builder, statements: Sequence[Statement], lane: Statement, users: Users) -> None:
    """Add statements for all threads of a row, of which the first runs some alone."""
    for part in parts_of(statements, users):
        if part.is_alone:
            add_alone(builder, part.statements, lane)
            continue
        for statement in part.statements:
            if any(is_for_one(inner) for block in blocks(statement) for inner in walk(block)):
                for block in blocks(statement):  # all threads assign variables in it
                    inside = Builder(Block(), statement.location)
                    add_parts(inside, block.statements, lane, users)
                    block.statements = inside.block.statements
            builder.add(statement)


def add_alone(builder: Builder, statements: Sequence[Statement], lane: Statement) -> None:
    """Add statements that the first of some threads runs. lane: the number of a thread."""
    is_first = builder.op("eq", lane, builder.const(0))
    builder.add(If(is_first)).then.statements += statements
