"""Finds the side effects of each real function, so that calls of pure functions are values like any other.

    function f: loads a           ->    reads {a}
    function g: calls f, random   ->    reads {a}, ordered

The effects of a callee are effects of its caller; the iteration ends at a fixed point, also with recursion. Functions
without a caller are dropped.
"""

from __future__ import annotations

from ...ir.functions import Call, Function, called
from ...ir.nodes import walk
from ...ir.sparse import CELL_STATEMENTS
from ...ir.statements import RECORDS, Array, AtomicOp, GlobalLoad, GlobalPtr, GlobalStore, Rand, base_pointer
from ...ir.tasks import Kernel
from ...ir.textures import TEXTURE_STATEMENTS
from ..context import PassContext

ORDERED = (*RECORDS, Rand, *CELL_STATEMENTS, *TEXTURE_STATEMENTS)
"""Statements with effects other than on arrays, whose order and number are observable."""

Effects = tuple[frozenset[Array], frozenset[Array], bool]
"""Arrays read, arrays written, whether there are ordered effects."""


def call_effects(kernel: Kernel, context: PassContext) -> bool:
    """Set `reads`, `writes` and `is_ordered` of all functions that the kernel calls."""
    if not kernel.functions:
        return False
    count = len(kernel.functions)
    needed = set(called(*kernel.roots()[:-count]))
    kernel.functions = [function for function in kernel.functions if function in needed]
    effects = {function: _own_effects(function) for function in kernel.functions}
    callees = {f: {s.function for s in walk(f.body) if isinstance(s, Call)} for f in kernel.functions}
    changed = True
    while changed:
        changed = False
        for function in kernel.functions:
            joined = effects[function]
            for callee in callees[function]:
                joined = _joined(joined, effects[callee])
            if joined != effects[function]:
                effects[function], changed = joined, True
    changed = len(kernel.functions) < count
    for function, effect in effects.items():
        changed |= effect != (function.reads, function.writes, function.is_ordered)
        function.reads, function.writes, function.is_ordered = effect
    return changed


def _joined(a: Effects, b: Effects) -> Effects:
    return a[0] | b[0], a[1] | b[1], a[2] or b[2]


def _own_effects(function: Function) -> Effects:
    """Return the effects of the body without those of callees."""
    reads: set[Array] = set()
    writes: set[Array] = set()
    is_ordered = False
    for statement in walk(function.body):
        is_ordered |= isinstance(statement, ORDERED)
        if isinstance(statement, (GlobalLoad, GlobalStore, AtomicOp)):
            base = base_pointer(statement.pointer)
            if isinstance(base, GlobalPtr):
                if not isinstance(statement, GlobalStore):
                    reads.add(base.array)
                if not isinstance(statement, GlobalLoad):
                    writes.add(base.array)
    return frozenset(reads), frozenset(writes), is_ordered
