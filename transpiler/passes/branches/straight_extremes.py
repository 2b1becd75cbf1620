"""Forbids jump threading in loops of C whose bounds shall stay selections, as `clamp(dot(n, light), 0, 1) * 255`.

    void draw_0(...)    ->    STRAIGHT void draw_0(...)

gcc 12 makes a jump of such a bound, computes what follows from a constant at compile time, and copies the rest for it.
Which way a number takes is any, so that every second jump is guessed wrongly. In lanes of vectors gcc selects, but it
makes no vectors of loops over structs, or with indices that are loaded or converted. The macro stops both ways to copy,
which leaves `maxss` and `minss`: colours of 200,000 structs took one core 1.67 ms before, .65 ms after, smooth steps
1.83 and .60 (LLVM, which selects: .66 and .52).

Only for loops without others inside. In those that search or march, a bound is mostly guessed rightly, and what follows
does not wait for it: fields of distances would take up to 1.9 times as long.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.functions import reachable
from ...ir.nodes import Statement
from ...ir.statements import Const, GlobalLoad, GlobalPtr, GlobalStore, LoopIndex, Operation, base_pointer, repeats
from ...ir.tasks import Kernel, Task
from ...ir.types import Struct, element_of, f32, f64
from ..analysis.queries import computed_from
from ..context import PassContext

FEWEST = 2
"""Bounds of which a second one follows from the first."""
OF_VECTORS = frozenset({"add", "sub", "mul"})
"""Operations by which an index goes through neighbours."""


def straight_extremes(kernel: Kernel, context: PassContext) -> bool:
    """Mark such loops."""
    if not context.capabilities.predicts_branches:
        return False
    for task in kernel.tasks:
        task.is_straight = _is_straight(task)
    return any(task.is_straight for task in kernel.tasks)


def _is_straight(task: Task) -> bool:
    if task.loop is None or task.is_split or task.synchronizes or task.reductions:
        return False
    statements = list(reachable(task.body))
    if any(repeats(s) for s in statements if s.BLOCKS):
        return False
    bounds = sum(_is_bound(s) for s in statements if isinstance(s, Operation) and s.op in ("min", "max"))
    return bounds >= FEWEST and _is_scalar(statements)


def _is_bound(extreme: Operation) -> bool:
    """Return whether a float is bounded by a constant."""
    is_float = extreme.type is not None and element_of(extreme.type) in (f32, f64)
    return is_float and any(isinstance(operand, Const) for operand in extreme.operands)


def _is_scalar(statements: Iterable[Statement]) -> bool:
    """Return whether a compiler makes no vectors of a loop with these statements."""
    accesses = [s for s in statements if isinstance(s, (GlobalLoad, GlobalStore))]
    bases = [base for access in accesses if isinstance(base := base_pointer(access.pointer), GlobalPtr)]
    return any(isinstance(base.array.element, Struct) or not all(map(_is_along, base.indices)) for base in bases)


def _is_along(index: Statement) -> bool:
    """Return whether an index is a sum of multiples of those of loops."""
    parts = computed_from(index)
    return all(isinstance(s, (Const, LoopIndex)) or (isinstance(s, Operation) and s.op in OF_VECTORS) for s in parts)
