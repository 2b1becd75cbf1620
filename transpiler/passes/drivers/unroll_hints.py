"""Leaves out hints to unroll loops in kernels of which drivers would then miscount a loop.

    for k in static(0..6):              for k in 0..6:    (GLSL: no [[unroll]], here and at all other loops)
        if $1:                              if $1:
            if k != 3:             ->           if k != 3:
                t += $2 >> 4                        t += $2 >> 4

NVIDIA's driver 580.159 runs two iterations of such a loop if there is a hint, at whichever loop of the shader. It takes
constant bounds, a condition that is the same in all iterations, inside it one of the index and constants alone, and
inside that a sum of integers to which each iteration adds the same computed value. Right are shaders without hints.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.nodes import LINE, Block, Remark, Statement, operands, walk
from ...ir.statements import (
    ArgLoad,
    ArrayShape,
    Cast,
    Const,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
    RangeFor,
    base_pointer,
)
from ...ir.tasks import Kernel
from ...ir.types import element_of
from ..context import PassContext

REMARK = f"no hint to unroll: with one NVIDIA's driver 580 miscounts the loop of line {LINE} (unroll_hints)"


def unroll_hints(kernel: Kernel, context: PassContext) -> bool:
    """Take the hints from all loops if one loop of the kernel would be miscounted."""
    if not context.capabilities.miscompiles_integers:
        return False
    loops = [statement for root in kernel.roots() for statement in walk(root) if isinstance(statement, RangeFor)]
    hinted = [loop for loop in loops if loop.unroll or loop.unroll_count]
    miscounted = next(filter(_is_miscounted, loops), None) if hinted else None
    if miscounted is None:
        return False
    for loop in hinted:
        loop.unroll, loop.unroll_count = False, 0
        if context.options.why_comments:
            loop.remarks = (*loop.remarks, Remark(REMARK, "above", miscounted.location))
    return True


def _is_miscounted(loop: RangeFor) -> bool:
    if not any(map(_is_constant, loop.starts, loop.ends)):
        return False
    inside = set(walk(loop.body))
    stored = {base_pointer(s.pointer) for s in inside if isinstance(s, LocalStore)}
    return any(
        _adds_the_same(store, inside, stored)
        for outer in _branches(loop.body)
        if _is_same(outer.condition, inside, stored)
        for inner in _branches(*_blocks(outer))
        if _is_of_index(inner.condition, loop)
        for block in _blocks(inner)
        for store in walk(block)
        if isinstance(store, LocalStore)
    )


def _is_constant(start: Statement, end: Statement) -> bool:
    return isinstance(start, Const) and isinstance(end, Const)


def _blocks(branch: If) -> list[Block]:
    return [branch.then] if branch.otherwise is None else [branch.then, branch.otherwise]


def _branches(*blocks: Block) -> Iterator[If]:
    return (statement for block in blocks for statement in walk(block) if isinstance(statement, If))


def _is_same(value: Statement, inside: set[Statement], stored: set[Statement | None]) -> bool:
    """Return whether a value is the same in all iterations of the loop that has the statements `inside`."""
    if value not in inside or isinstance(value, Const | ArgLoad | ArrayShape):
        return True
    if isinstance(value, LocalLoad):
        return base_pointer(value.pointer) not in stored
    return isinstance(value, Operation | Cast) and all(_is_same(part, inside, stored) for part in operands(value))


def _is_of_index(value: Statement, loop: RangeFor) -> bool:
    """Return whether a value depends on the index of a loop and on constants alone."""
    if isinstance(value, LoopIndex | Const):
        return not isinstance(value, LoopIndex) or value.loop is loop
    return isinstance(value, Operation | Cast) and all(_is_of_index(part, loop) for part in operands(value))


def _adds_the_same(store: LocalStore, inside: set[Statement], stored: set[Statement | None]) -> bool:
    """Return whether a store computes its variable anew of itself and of the same computed integer each time."""
    if store.value.type is None or element_of(store.value.type).is_float:
        return False
    parts = list(_tree(store.value))
    loads = {base_pointer(part.pointer) for part in parts if isinstance(part, LocalLoad)}
    return base_pointer(store.pointer) in loads and any(
        isinstance(part, Operation) and _is_same(part, inside, stored) for part in parts
    )


def _tree(value: Statement) -> Iterator[Statement]:
    yield value
    for part in operands(value):
        yield from _tree(part)
