"""Index set narrowing: takes what a condition on the indices excludes out of the range of a parallel loop on C.

    for i in (0)..(shape a 0) {                    for i in (1)..(shape a 0 - 1) {
        if 0 < i and i < shape a 0 - 1 {    ->         ...
            ...                                    }
        }
    }

The iterations outside do nothing. A compiler vectorizes the loop with masked stores otherwise, so that a relaxation of
2048 x 2048 floats takes 1.1 times as long. A thread of a GPU tests its index anyway, and its first element is aligned.

Short rows stay whole. Bounds are numbers, extents, arguments, and sums of these: what each task can compute.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.builder import Builder
from ...ir.nodes import Block, Effect, Statement, has_effect, replace_uses
from ...ir.ops import MIRRORED, ORDERINGS
from ...ir.origins import literal, operation
from ...ir.remarks import OmittedStatement, attach_remarks
from ...ir.statements import ArgLoad, ArrayShape, Const, If, Operation, RangeFor
from ...ir.tasks import Kernel
from ...ir.threads import Barrier, Collective, ThreadIndex
from ...ir.types import i32, u1
from ...lazy_dataclasses import dataclass
from ..analysis.queries import becomes_task, conjuncts, has_else, is_index_of
from ..context import PassContext

LARGEST = i32.limits[1]
SHORT = 256
"""Fewer iterations are a row that stays whole: one of 126 floats takes 1.15 times as long as one of 128 with masked
stores, one of 248 floats .9 times as long as one of 250."""


@dataclass(slots=True)
class _Bound:
    """A comparison of an index of a loop: `value + more` is its first index, or the end if `is_end`."""

    comparison: Statement
    axis: int
    is_end: bool
    value: Statement
    more: int


def narrow_loops(kernel: Kernel, context: PassContext) -> bool:
    """Narrow the parallel loops whose iterations are one condition on their indices."""
    if not context.capabilities.vectorizes_loops or _numbers_threads(kernel):
        return False
    loops = [s for s in kernel.body.statements if isinstance(s, RangeFor) and becomes_task(s) and _has_plain_range(s)]
    changed = [_narrow(kernel.body, loop) for loop in loops]
    if any(changed):
        attach_remarks(kernel)
    return any(changed)


def _numbers_threads(kernel: Kernel) -> bool:
    """Return whether it matters which thread of a block runs an iteration."""
    kinds = (ThreadIndex, Barrier, Collective)
    return any(isinstance(statement, kinds) for statement in kernel.statements())


def _has_plain_range(loop: RangeFor) -> bool:
    """Return whether a loop runs over all i32 of a box of indices, one after the other."""
    steps = [step.value for step in loop.steps if isinstance(step, Const)]
    is_plain = loop.cells is None and not loop.order and steps == [1] * len(loop.ends)
    return is_plain and all(end.type == i32 for end in loop.ends)


def _narrow(block: Block, loop: RangeFor) -> bool:
    """Move comparisons of the only statement of a loop into its bounds, before the loop in `block`."""
    branches = [statement for statement in loop.body if has_effect(statement, ~Effect.READ)]
    if len(branches) != 1 or not isinstance(branches[0], If) or has_else(branches[0]):
        return False
    branch = branches[0]
    builder = Builder(Block(), loop.location)
    known: dict[Statement, Statement] = {}
    keeps_rows = _has_short_rows(loop)
    for bound in _bounds(branch.condition, loop):
        value = _uniform(builder, bound.value)
        if value is None or (keeps_rows and bound.axis == len(loop.ends) - 1):
            continue
        _tighten(builder, loop, bound, value)
        known[bound.comparison] = Const(True, type=u1, location=branch.location)
    if not known:
        return False
    block.insert_before(loop, builder.block)
    loop.over = None
    if known.keys() >= set(conjuncts(branch.condition)):
        omitted = OmittedStatement("is the range of the loop", "narrow_loops", location=branch.location)
        loop.body.replace(branch, [omitted, *branch.then])
    replace_uses(loop.body, known)
    loop.body.statements[:0] = known.values()
    return True


def _has_short_rows(loop: RangeFor) -> bool:
    """Return whether the innermost of several loops is so short that what does not fill a vector matters."""
    start, end = loop.starts[-1], loop.ends[-1]
    if len(loop.ends) == 1 or not isinstance(start, Const) or not isinstance(end, Const):
        return False
    return end.value - start.value < SHORT


def _bounds(condition: Statement, loop: RangeFor) -> Iterator[_Bound]:
    """Yield the comparisons that all have to hold for `condition`, as far as they bound an index."""
    for comparison in conjuncts(condition):
        if not isinstance(comparison, Operation) or comparison.op not in ORDERINGS:
            continue
        left, right = comparison.operands
        for op, index, value in ((comparison.op, left, right), (MIRRORED[comparison.op], right, left)):
            found = _shifted_index(index, loop)
            if found is None:
                continue
            axis, shift = found
            more = (op in ("gt", "le")) - shift
            if more == 0 or _may_add(value, more):
                yield _Bound(comparison, axis, op in ("lt", "le"), value, more)


def _shifted_index(value: Statement, loop: RangeFor) -> tuple[int, int] | None:
    """Return the axis of an index and what is added to it, None for other values and where the sum may wrap."""
    shift = 0
    if isinstance(value, Operation) and value.op in ("add", "sub") and isinstance(value.operands[1], Const):
        shift = int(value.operands[1].value) * (1 if value.op == "add" else -1)
        value = value.operands[0]
    if not is_index_of(value, loop) or value.type != i32:
        return None
    start, end = loop.starts[value.axis], loop.ends[value.axis]
    if shift > 1 and not (isinstance(end, Const) and end.value + shift <= LARGEST):
        return None
    if shift < 0 and not (isinstance(start, Const) and start.value >= 0):
        return None
    return value.axis, shift


def _may_add(value: Statement, more: int) -> bool:
    """Return whether `value + more` wraps in no case: numbers, extents, and extents minus as much."""
    if isinstance(value, Const):
        return -LARGEST <= value.value + more <= LARGEST
    if isinstance(value, Operation) and value.op == "sub" and isinstance(value.operands[0], ArrayShape):
        less = value.operands[1]
        return isinstance(less, Const) and 0 <= more <= less.value
    return isinstance(value, ArrayShape) and more < 0


def _uniform(builder: Builder, value: Statement) -> Statement | None:
    """Compute a value before the loop; return None if iterations or memory matter for it."""
    if isinstance(value, (Const, ArrayShape, ArgLoad)):
        return builder.again(value)
    if isinstance(value, Operation) and value.op in ("add", "sub"):
        parts = [_uniform(builder, operand) for operand in value.operands]
        if all(part is not None and part.type == i32 for part in parts):
            return builder.op(value.op, *[part for part in parts if part is not None])
    return None


def _tighten(builder: Builder, loop: RangeFor, bound: _Bound, value: Statement) -> None:
    """Replace one bound of a loop by the narrower of the two."""
    bounds = loop.ends if bound.is_end else loop.starts
    old = bounds[bound.axis]
    if bound.more:
        value = _sum(builder, value, bound.more)
    if isinstance(old, Const) and isinstance(value, Const):
        is_narrower = value.value < old.value if bound.is_end else value.value > old.value
        bounds[bound.axis] = value if is_narrower else old
    elif bound.is_end and _is_less(value, old):
        bounds[bound.axis] = value
    else:
        bounds[bound.axis] = builder.op("min" if bound.is_end else "max", old, value)


def _sum(builder: Builder, value: Statement, more: int) -> Statement:
    """Compute `value + more`, `shape a 0 - 2 + 1` as `shape a 0 - 1`."""
    if isinstance(value, Const):
        number = int(value.value) + more
        parts = value.origin and (value.origin, literal(abs(more), i32))
        origin = operation("add" if more > 0 else "sub", parts, number, i32) if parts else None
        return builder.add(Const(number, origin, type=i32))
    if isinstance(value, Operation) and isinstance(value.operands[1], Const):
        less = int(value.operands[1].value) - more
        return value.operands[0] if less == 0 else builder.op("sub", value.operands[0], builder.const(less, i32))
    return builder.op("sub", value, builder.const(-more, i32))


def _is_less(value: Statement, extent: Statement) -> bool:
    """Return whether a value is an extent, or one minus a number, and the other the same extent."""
    if isinstance(value, Operation) and value.op == "sub" and isinstance(value.operands[1], Const):
        value = value.operands[0] if value.operands[1].value >= 0 else value
    if not isinstance(value, ArrayShape) or not isinstance(extent, ArrayShape):
        return False
    return (value.array, value.axis) == (extent.array, extent.axis)
