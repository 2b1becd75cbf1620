"""Stores the adjoint of a long sum once, so that a loop that gathers need not compute the sum again for each element.

    for i in y {                              for i in y {
        s = ... (a loop)                          s = ... (a loop)
        s_adj = s > 0 ? y_grad[i] : 0             y_grad[i] = s > 0 ? y_grad[i] : 0
        for k { x_grad[i + k] += s_adj * w }  ->  }
        y_grad[i] = 0                             for i in y {
    }                                                 s_adj = y_grad[i]
                                                      for k { x_grad[i + k] += s_adj * w }
                                                      y_grad[i] = 0
                                                  }

The element of `y_grad` is free for it: the iteration alone accesses it, and sets it to 0 in the end. In: a loop. Out:
pairs of loops, of which the second one computes no more of this sum.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, operands, replace_uses, walk
from ....ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    Operation,
    RangeFor,
    StructFor,
    is_const,
)
from ...analysis.queries import base_array, is_index_of
from ...derivatives.parts.prune import prune
from ...tasks.parts.copies import copy_of_block
from .inverted_indices import axes_of

Loop = RangeFor | StructFor


def with_stored_adjoint(loop: Loop) -> Iterator[tuple[Loop, Loop]]:
    """Yield what may replace a loop: one that stores an adjoint, and one that loads it."""
    loop, _ = _copy(loop)
    _load_once(loop.body)
    written = {base_array(s.pointer) for s in walk(loop.body) if isinstance(s, (GlobalStore, AtomicOp))}
    for clearing in loop.body:
        if not _clears_own_element(clearing, loop):
            continue
        assert isinstance(clearing, GlobalStore) and isinstance(clearing.pointer, GlobalPtr)
        pointer = clearing.pointer
        loads = [s for s in walk(loop.body) if isinstance(s, GlobalLoad) and s.pointer is pointer]
        if not loads or not all(load in loop.body.statements for load in loads):
            continue
        start, end = max(map(loop.body.statements.index, loads)), loop.body.statements.index(clearing)
        for value in loop.body.statements[start + 1 : end]:
            if isinstance(value, (Operation, LocalLoad)) and value.type == pointer.type:
                if value.location.is_derivative:
                    yield from _split(loop, value, pointer, written - {pointer.array})


def _load_once(body: Block) -> None:
    """Load each variable behind the last statement that may change it, in place of all loads that follow."""
    for variable in [statement for statement in body if isinstance(statement, Alloca)]:
        users = [[s for s in walk(Block([top])) if variable in operands(s)] for top in body]
        changes = [k for k, found in enumerate(users) if not all(isinstance(s, LocalLoad) for s in found)]
        if changes and (later := [s for found in users[changes[-1] + 1 :] for s in found]):
            load = LocalLoad(variable, type=variable.type, location=later[0].location, hint=variable.name)
            body.statements.insert(changes[-1] + 1, load)
            replace_uses(body, dict.fromkeys(later, load))


def _clears_own_element(statement: Statement, loop: Loop) -> bool:
    """Return whether a statement sets an element to 0 that its iteration alone accesses."""
    if not isinstance(statement, GlobalStore) or not is_const(statement.value, 0):
        return False
    pointer = statement.pointer
    if not isinstance(pointer, GlobalPtr) or pointer.cell is not None or not statement.location.is_derivative:
        return False
    axes = {index.axis for index in pointer.indices if is_index_of(index, loop)}
    others = [s for s in walk(loop.body) if isinstance(s, GlobalPtr) and s.array is pointer.array and s is not pointer]
    return not others and axes == set(range(axes_of(loop)))


def _split(loop: Loop, value: Statement, pointer: GlobalPtr, written: set[Array | None]) -> Iterator[tuple[Loop, Loop]]:
    """Yield the loop up to a value, which it stores, and the loop that loads it, if these do what one does."""
    first, copies = _copy(loop)
    made = copies[value]
    position = first.body.statements.index(made)
    values = [s for s in first.body.statements[: position + 1] if not isinstance(s, (GlobalStore, AtomicOp))]
    store = GlobalStore(copies[pointer], made, location=value.location)
    first.body.statements = [*values, store]
    if any(isinstance(s, (GlobalStore, AtomicOp)) and s is not store for s in walk(first.body)):
        return
    prune(first.body)
    second, copies = _copy(loop)
    builder = Builder(Block(), value.location)
    load = builder.load(copies[pointer])
    load.name, load.hint = value.name, value.hint
    second.body.replace(copies[value], [load])
    replace_uses(second.body, {copies[value]: load})
    prune(second.body)
    loads = {base_array(s.pointer) for s in walk(first.body) if isinstance(s, GlobalLoad)}
    others = [s for s in walk(second.body) if isinstance(s, GlobalLoad) and s.pointer is load.pointer]  # type: ignore[attr-defined]
    if others == [load] and not loads & written:
        yield first, second


def _copy(loop: Loop) -> tuple[Loop, dict[Statement, Statement]]:
    """Return a copy of a loop, and those of its statements."""
    copies: dict[Statement, Statement] = {}
    copied = copy_of_block(Block([loop]), copies).statements[0]
    assert isinstance(copied, (RangeFor, StructFor))
    return copied, copies
