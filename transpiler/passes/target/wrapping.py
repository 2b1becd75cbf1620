"""Marks integer operations that may wrap, for languages in which signed overflow is undefined.

    $3 = add $1, 1     ->    $3 = wrapping_add $1, 1    ($1: any i32; CUDA C then adds as unsigned)
    $4 = add $i, 1     ->    (unchanged: $i is the index of a loop up to n, so the sum is at most n)

Integers wrap in Python's kernels, and LLVM, on which NVRTC is built, uses that signed sums do not: `x + 1 > x` is then
true for all x. A value that serves only as an index keeps the plain operation: a wrapped index is out of bounds, which
is undefined anyway.
"""

from __future__ import annotations

from ...ir.nodes import Statement, operands, walk, walk_blocks
from ...ir.ops import WRAPPING
from ...ir.statements import GlobalPtr, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, i32
from ..analysis.intervals import Interval, contains, exact_interval, whole
from ..analysis.value_ranges import ValueRanges, stored_ranges
from ..context import PassContext


def wrapping(kernel: Kernel, context: PassContext) -> bool:
    """Rename the operations that may leave the range of the type in which C computes them."""
    if not context.capabilities.undefined_overflow:
        return False
    if not any(map(_is_candidate, (statement for root in kernel.roots() for statement in walk(root)))):
        return False
    search = _Search(stored_ranges(kernel), _only_indices(kernel))
    search.run(kernel)
    for operation in search.found:
        operation.op = WRAPPING[operation.op]
    return bool(search.found)


class _Search(ValueRanges):
    """Collects the operations that may wrap."""

    def __init__(self, variables: dict[Statement, Interval], only_indices: set[Statement]) -> None:
        super().__init__({}, variables)
        self.only_indices = only_indices
        self.found: list[Operation] = []

    def record(self, statement: Statement) -> None:
        if isinstance(statement, Operation) and statement not in self.only_indices and self._may_wrap(statement):
            self.found.append(statement)
        super().record(statement)

    def _may_wrap(self, operation: Operation) -> bool:
        computed = _computed_type(operation)
        if operation.op not in WRAPPING or computed is None:
            return False
        intervals = [self.of(operand) for operand in operation.operands]
        known = [interval for interval in intervals if interval is not None]
        exact = exact_interval(operation.op, computed, known) if len(known) == len(intervals) else None
        limits = whole(computed)
        return exact is None or limits is None or not contains(limits, exact)


def _computed_type(operation: Operation) -> Scalar | None:
    """Return the signed type in which C computes an operation; None if that is unsigned, a float or a tensor."""
    kind = operation.type
    if not isinstance(kind, Scalar) or kind.kind not in ("int", "uint"):
        return None
    if kind.bits < 32:
        return i32  # C promotes narrow integers
    return kind if kind.is_signed else None


def _is_candidate(statement: Statement) -> bool:
    return isinstance(statement, Operation) and statement.op in WRAPPING and _computed_type(statement) is not None


def _only_indices(kernel: Kernel) -> set[Statement]:
    """Return the values that are used for nothing but indices of arrays, which must be in bounds."""
    values = [statement for root in kernel.roots() for statement in walk(root)]
    others = {block.result for root in kernel.roots() for block in walk_blocks(root) if block.result is not None}
    for value in reversed(values):  # the users of a value come after it
        if isinstance(value, GlobalPtr) and value.cell is None and not value.array.clamped and not value.array.offset:
            continue
        if not _computes_index(value) or value in others:
            others.update(operands(value))
            others.add(value)
    for task in kernel.tasks:
        if task.loop is not None:
            others.update(operands(task.loop))
    return {value for value in values if value not in others}


def _computes_index(value: Statement) -> bool:
    return isinstance(value, Operation) and value.op in WRAPPING and value.type == i32
