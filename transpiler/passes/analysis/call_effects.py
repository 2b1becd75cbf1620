"""Finds what each real function does besides giving results, so that calls of pure ones are values like any other.

    function f: loads a           ->    reads {a}
    function g: calls f, random   ->    reads {a}, ordered

What a function calls counts as done by it; recursion ends when nothing new is found. Functions that are called no more
are dropped.
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
"""Effects that are not on memory of arrays: their order and number is seen."""

Doing = tuple[frozenset[Array], frozenset[Array], bool]
"""Arrays read, arrays written, whether something ordered is done."""


def call_effects(kernel: Kernel, context: PassContext) -> bool:
    """Set `reads`, `writes` and `is_ordered` of all functions that the kernel calls."""
    if not kernel.functions:
        return False
    count = len(kernel.functions)
    needed = set(called(*kernel.roots()[:-count]))
    kernel.functions = [function for function in kernel.functions if function in needed]
    found = {function: _own(function) for function in kernel.functions}
    callees = {f: {s.function for s in walk(f.body) if isinstance(s, Call)} for f in kernel.functions}
    changed = True
    while changed:
        changed = False
        for function in kernel.functions:
            together = found[function]
            for callee in callees[function]:
                together = _joined(together, found[callee])
            if together != found[function]:
                found[function], changed = together, True
    changed = len(kernel.functions) < count
    for function, doing in found.items():
        changed |= doing != (function.reads, function.writes, function.is_ordered)
        function.reads, function.writes, function.is_ordered = doing
    return changed


def _joined(a: Doing, b: Doing) -> Doing:
    return a[0] | b[0], a[1] | b[1], a[2] or b[2]


def _own(function: Function) -> Doing:
    """Return what the body does itself."""
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
