"""Outer-loop vectorization: finds loops of C of which gcc shall take several iterations, though each has a loop inside.

    for i, j in c {                                            for i {
        s = 0.0                                                    for j, as lanes of a vector {
        for k in range(n) { s += a[i, k] * b[k, j] }    ->             s = 0.0
        c[i, j] = s                                                    for k in range(n) { s += a[i, k] * b[k, j] }
    }                                                                  c[i, j] = s
                                                                   }
                                                               }

A compiler alone looks at the innermost loop only. Here that is a sum over `k`, which it takes in another order or not
at all, and whose elements `b[k, j]` are a row apart. The same sums of neighbouring `j` need neighbouring elements, in
the order of the source: a vector times a field of 512 x 512 numbers took one core .49 ms before, .029 ms after (gcc
12).

The inner loops have constant bounds, and what they load from fields is at `j` along the last axis, a fixed distance
from it, or does not depend on `j`, or on no index but that of the lane (`x[j]`, which a compiler loads before the
loop); or they compute with local variables only (chains of multiply-adds: 15 times as fast). gcc 12 leaves loops whose
bounds or strides it does not know; those are for the pass `lane_loops`. Statements that no compiler takes several at a
time leave a loop as it is. Iterations of a parallel loop are independent, so overlapping arrays are no obstacle.

Nor does gcc 12 take a loop that stores what it carries from one iteration to the next, or carries it on unchanged:

    s = .9 * s + x[t, c]; y[t, c] = s
    before = last; last = x[t, c]

Those are for `lane_loops` as well: 512 filters of 256 numbers took one core .71 ms before, .042 ms after.

Nor does it take a choice or a call outside of the innermost loops, as a maximum of 0 and a sum: `lane_loops` again,
whose parts are loops of their own. Products of 12,544 rows of 96 numbers and 96 x 128 ones, bounded by 0, took one core
168 ms before, 10 ms after (Intel Xeon).

Branches that only change variables are selections in each lane:

    if d < best { best = d; where = k }

The nearest of 4,096 points to each of 32,768 took one core 104 ms before, 6.3 ms after, since no compiler takes
several `k` at a time. The greatest number of each column of 1024 x 4096 took 12.9 ms before, .5 ms after (Zen 5, gcc
12).
"""

from __future__ import annotations

from ...ir.functions import Call
from ...ir.nodes import Block, Statement, blocks, operands, walk
from ...ir.statements import GlobalPtr, If, IfExp, LocalStore, Operation, RangeFor, base_pointer
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, element_of
from ..analysis.loops.vector_loops import (
    FOR_VECTORS,
    accesses_in_loops,
    guards_of,
    has_carried_stores,
    in_serial_loops,
    innermost_loops,
    is_along,
    is_before_loops,
    may_have_lanes,
    varying_values,
)
from ..analysis.queries import trip_count
from ..context import PassContext

STRAIGHT = FOR_VECTORS - {"select", "logical_and", "logical_or"} | {"shl", "sar", "shr", "floor", "ceil"}
"""Operations without a jump in C, but for minima and maxima of floats."""
UNROLLED = 25
"""Iterations of serial loops that gcc unrolls, so that no loop is left inside. Windows of 3 x 3, bounded by a number,
take a core .46 ms as lanes of these, and 1.3 by `lane_loops`; of 5 x 5 1.5 and 1.8; of 9 x 9, which stay loops, 45 and
4.3 (1024 x 1024 floats)."""


def vector_lanes(kernel: Kernel, context: PassContext) -> bool:
    """Mark the loops of C whose iterations become lanes of vectors."""
    if not context.capabilities.vectorizes_loops:
        return False
    for task in kernel.tasks:
        task.as_lanes = _has_lanes(task, context)
    return any(task.as_lanes for task in kernel.tasks)


def _has_lanes(task: Task, context: PassContext) -> bool:
    loop = task.loop
    if loop is None or not context.fact(may_have_lanes, task, loop):
        return False
    if any(len(s.starts) > 1 or not trip_count(s) for s in walk(task.body) if isinstance(s, RangeFor)):
        return False
    accesses = accesses_in_loops(task)
    if not accesses and not all(s.op in FOR_VECTORS for s in in_serial_loops(task) if isinstance(s, Operation)):
        return False
    bases = [base_pointer(s.pointer) for s in accesses]
    if any(isinstance(base, GlobalPtr) and base.array.shape is None for base in bases):
        return False
    if any(isinstance(s, Call) for s in walk(task.body)) or has_carried_stores(task):
        return False
    branches = [s for s in walk(task.body) if isinstance(s, If)]
    if guards_of(task.body):  # of which gcc makes jumps
        return False
    if not _are_in_innermost_loops(branches, task) or any(_is_wide(s) for each in branches for s in _chosen(each)):
        return False
    varying = context.fact(varying_values, task, loop)
    inside = {s for each in innermost_loops(task) for s in walk(each.body)}
    has_jumps = any(_is_jump(s) for s in walk(task.body) if s in varying and s not in inside)
    if has_jumps and _iterations(task.body) > UNROLLED:
        return False
    return all(is_along(s, loop, varying) or is_before_loops(s, task, loop) for s in accesses)


def _are_in_innermost_loops(branches: list[If], task: Task) -> bool:
    """Return whether branches are in loops without others inside: a compiler makes selections of them only there."""
    inside = {s for loop in innermost_loops(task) for s in walk(loop.body)}
    return inside.issuperset(branches)


def _iterations(block: Block) -> int:
    """Return how often the innermost of the serial loops in a block run, at most. All have known trip counts."""
    inner = [(trip_count(s) or 1 if isinstance(s, RangeFor) else 1, body) for s in block for body in blocks(s)]
    return max((count * _iterations(body) for count, body in inner), default=1)


def _is_jump(value: Statement) -> bool:
    """Return whether gcc makes a jump or a call of a value: a choice too, unless it is in an innermost loop."""
    if not isinstance(value, Operation):
        return isinstance(value, IfExp)
    is_choice = value.op in ("min", "max") and value.type is not None and element_of(value.type).is_float
    return is_choice or value.op not in STRAIGHT


def _chosen(branch: If) -> list[Statement]:
    """Return the condition of a branch, what it compares, and what the branch stores in variables."""
    compared = operands(branch.condition)
    stores = [s.value for block in blocks(branch) for s in block if isinstance(s, LocalStore)]
    return [branch.condition, *compared, *stores]


def _is_wide(value: Statement) -> bool:
    """Return whether a value has 8 bytes: gcc 12 selects no numbers of 4 bytes by comparing such ones."""
    return isinstance(value.type, Scalar) and value.type.size_bytes == 8
