"""Variables that a serial loop only adds to, or takes the least or greatest of, so that threads may share the loop.

In `shared_rows` and `shared_columns` each of these threads has some of the iterations, and a variable of its own.
"""

from __future__ import annotations

from collections.abc import Collection

from ....ir.builder import Builder
from ....ir.functions import Call, Reference
from ....ir.nodes import Block, Effect, Statement, reads, walk
from ....ir.statements import (
    Alloca,
    Break,
    Const,
    Continue,
    GlobalStore,
    If,
    LocalLoad,
    LocalStore,
    MatrixInit,
    Operation,
    RangeFor,
    base_pointer,
)
from ....ir.types import Scalar, Tensor, element_of

JOINED = {"add": "add", "sub": "add", "min": "min", "max": "max"}
"""Operations of accumulators, and what joins those of the threads."""
MOST_ELEMENTS = 4
"""The most elements of vectors that threads join."""


def accumulators(
    row: RangeFor,
    fast_math: bool,
    known: Collection[Statement] = frozenset(),
    vectors: bool = False,
    may_leave: bool = False,
) -> dict[Alloca, str] | None:
    """Return the variables that a loop only adds to or takes the least or greatest of; None if it does anything else
    than that and storing elements.

    known: stores and changes of other kinds that threads may share. vectors: variables may be short vectors.
    may_leave: iterations may end early, and loops inside.
    """
    inside = {s for s in walk(row.body) if isinstance(s, Alloca)}
    found: dict[Alloca, str] = {}
    own_loads: set[Statement] = set()
    for statement in walk(row.body):
        if isinstance(statement, LocalStore):
            variable = statement.pointer
            if base_pointer(variable) in inside or statement in known or isinstance(base_pointer(variable), Reference):
                continue  # what a thread adds to a reduction is joined with that of all others in any case
            op = _joining(statement, fast_math, vectors)
            if not isinstance(variable, Alloca) or op is None or found.setdefault(variable, op) != op:
                return None
            own_loads.add(statement.value.operands[0])  # type: ignore[attr-defined]
        elif (
            (isinstance(statement, (Break, Continue)) and not may_leave)
            or (isinstance(statement, Call) and statement.EFFECT)
            or (
                statement.EFFECT & (Effect.WRITE | Effect.FENCE)
                and not isinstance(statement, (Alloca, GlobalStore))
                and statement not in known
            )
        ):
            return None
    loads = [s for s in walk(row.body) if isinstance(s, LocalLoad)]
    is_read = any(base_pointer(load.pointer) in found for load in loads if load not in own_loads)
    uses = [value for s in walk(row.body) for value in reads(s) if value in own_loads]
    is_sum = own_loads <= set(loads)  # not of what a variable was before the loop: `s = s0 + a[k]` keeps the last
    return found if is_sum and not is_read and len(uses) == len(own_loads) else None


def _joining(store: LocalStore, fast_math: bool, vectors: bool) -> str | None:
    """Return the operation that joins the values of a variable, None if a store is no accumulation."""
    value = store.value
    if not isinstance(value, Operation) or value.op not in JOINED or not isinstance(value.type, Scalar | Tensor):
        return None
    if isinstance(value.type, Tensor) and not (vectors and value.type.size <= MOST_ELEMENTS):
        return None
    number = element_of(value.type)
    if number.bits not in (32, 64) or (number.is_float and value.op in ("add", "sub") and not fast_math):
        return None
    first = value.operands[0]
    return JOINED[value.op] if isinstance(first, LocalLoad) and first.pointer is store.pointer else None


def start_with_zeros(builder: Builder, before: list[Statement], joined: dict[Alloca, str], lane: Statement) -> None:
    """Let sums that start with another number start with it in the first of the threads only."""
    for variable, op in joined.items():
        if op == "add" and not _starts_with_zero(before, variable):
            assert variable.type is not None
            first = builder.add(If(builder.op("gt", lane, builder.const(0))))
            with builder.into(first.then):
                builder.add(LocalStore(variable, builder.zero(variable.type)))


def _starts_with_zero(before: list[Statement], variable: Alloca) -> bool:
    """Return whether the last value of a variable before a loop is 0."""
    if variable not in before:
        return False
    stores = [
        s for first in before for s in walk(Block([first])) if isinstance(s, LocalStore) and s.pointer is variable
    ]
    if not stores:
        return True
    last = stores[-1].value
    parts = last.elements if isinstance(last, MatrixInit) else [last]
    return stores[-1] in before and all(isinstance(part, Const) and part.value == 0 for part in parts)
