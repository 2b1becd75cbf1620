"""Scatter to gather: turns atomic additions to gradients of neighbours into sums over the iterations that add.

    for i in 1..n-1 {                            for k in 0..n {
        g = y_grad[i]                                if k < n - 2 { x_adj += y_grad[k + 1] * 0.5 }
        atomic add x_grad[i - 1], g * 0.5    ->      if k > 1 { x_adj += y_grad[k - 1] * 0.5 }
        atomic add x_grad[i + 1], g * 0.5            x_grad[k] += x_adj
        y_grad[i] = 0                            }
    }                                            for i in 1..n-1 { y_grad[i] = 0 }

The indices are solved for those of the loops (`inverted_indices.py`). The sum computes again what an iteration adds: so
a loop that adds at many places is left alone if its iterations are long. One that adds the adjoint of a sum over a
serial loop, as of a convolution under a ReLU, becomes two, of which the first one stores that adjoint
(`stored_adjoints.py`). The gradient has the same bits in each run.

A launch in which two ndarrays are one would add before an iteration clears what it has read. `PassContext.summed` says
which have to be different ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from ...ir.functions import Call, reachable
from ...ir.nodes import Block, Effect, Remark, Statement, blocks, count_uses, walk, walk_inside
from ...ir.snodes import is_sparse
from ...ir.statements import (
    Array,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalStore,
    LocalStore,
    RangeFor,
    StructFor,
    While,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel
from ..analysis.linear import Reader
from ..analysis.queries import is_parallel_loop, trip_count
from ..context import PassContext, SummedGradient
from ..derivatives.parts.prune import prune
from .parts.gathering_loop import Bounds, Built, GatheringLoop
from .parts.inverted_indices import Access, Gathering, accesses_in, axes_of, find_gatherings
from .parts.stored_adjoints import with_stored_adjoint

Loop = RangeFor | StructFor
FEW = 8
"""The most iterations of serial loops that a sum computes again for each addition. Each of the 16 * 9 additions to an
element of a convolution of 16 channels would take as many, 4.9 ms of an H200 in place of 1.3."""
STORED = "for the sums below (gather_adjoints)"
MAX_STATEMENTS = 400
"""The most statements of all sums of a loop that computes more than once what an iteration adds."""


def gather_adjoints(kernel: Kernel, context: PassContext) -> bool:
    """Replace atomic additions to gradients by sums, in the kernel of a gradient."""
    if not any(isinstance(s, AtomicOp) and s.location.is_derivative for s in walk(kernel.body)):
        return False
    primal = {array.derivative: array for array in kernel.arrays if array.derivative is not None}
    primal |= {array: array for array in kernel.arrays if array.tangent is not None}
    result: list[Statement] = []
    for statement in kernel.body.statements:
        if is_parallel_loop(statement):
            assert isinstance(statement, (RangeFor, StructFor))
            result += _replaced(statement, primal, context)
        else:
            result.append(statement)
    if result == kernel.body.statements:
        return False
    kernel.body.statements = result
    prune(kernel.body)
    return True


def _replaced(loop: Loop, primal: dict[Array, Array], context: PassContext) -> list[Statement]:
    """Return the loops that gather what a loop adds to gradients, and the loop without these additions."""
    found = _gatherings(loop, primal)
    if not found.is_light:
        for first, second in with_stored_adjoint(loop):
            others = _gatherings(second, primal)
            if others.built and others.is_light:
                first.body.statements[-1].remarks = (Remark(STORED),)
                context.summed += others.summed
                return [first, *_without(second, others)]
    context.summed += found.summed
    return _without(loop, found)


def _without(loop: Loop, found: _Found) -> list[Statement]:
    """Return the loops that gather, and the other one without its additions."""
    _drop(loop.body, {access.statement for gathering, _ in found.built for access in gathering.additions()})
    return [*(statement for _, built in found.built for statement in built.statements), loop]


@dataclass(slots=True)
class _Found:
    """What can be gathered of a loop. is_light: no sum is left out because it would be computed again and again.

    summed: which ndarrays have to be different ones for it.
    """

    built: list[tuple[Gathering, Built]] = field(default_factory=list)
    is_light: bool = True
    summed: list[SummedGradient] = field(default_factory=list)


def _gatherings(loop: Loop, primal: dict[Array, Array]) -> _Found:
    """Return the loops that gather what a loop adds to gradients."""
    inside, found = set(walk(loop.body)) | {loop}, _Found()
    if not _is_plain(loop) or any(_has_other_effect(statement) for statement in inside - {loop}):
        return found
    reader = Reader(inside, primal)
    accesses = accesses_in(loop, reader)
    for gathering in find_gatherings(loop, accesses, reader, count_uses(loop.body)):
        if not _is_parallel_enough(gathering, loop):
            continue
        built = GatheringLoop(loop, gathering, Bounds(loop, reader), primal).build()
        if built is None or not _sees_old_values(built.loads, accesses, loop) or built.is_longer_than(MAX_STATEMENTS):
            continue
        if _is_short(built.repeated):
            found.built.append((gathering, built))
            found.summed += _must_differ(gathering, accesses, primal)
        else:
            found.is_light = False
    return found


def _is_short(repeated: set[Statement]) -> bool:
    """Return whether loops and calls have few iterations together, so that they may run once for each addition."""
    if any(isinstance(s, Call) and any(map(repeats, reachable(s.function.body))) for s in repeated):
        return False
    inside = {inner for loop in repeated for inner in walk_inside(loop)}
    return sum(_iterations(statement) for statement in repeated if statement not in inside) <= FEW


def _iterations(statement: Statement) -> int:
    """Return how often the innermost loops of a statement run, `FEW` times and more if that is not known."""
    inner = max(1, sum(_iterations(s) for block in blocks(statement) for s in block))
    if isinstance(statement, RangeFor):
        count = trip_count(statement)
        return inner * (FEW + 1 if count is None else count)
    return FEW + 1 if isinstance(statement, While) else inner if statement.BLOCKS and inner > 1 else 0


def _is_plain(loop: Loop) -> bool:
    """Return whether the iterations of a loop are all index tuples between its bounds."""
    if isinstance(loop, StructFor):
        return not loop.array.ndim or loop.array.place is None or not is_sparse(loop.array.place)
    return loop.cells is None and all(is_const(step, 1) for step in loop.steps)


def _has_other_effect(statement: Statement) -> bool:
    known = (GlobalStore, AtomicOp, LocalStore)
    return bool(statement.EFFECT & (Effect.WRITE | Effect.FENCE)) and not isinstance(statement, known)


def _is_parallel_enough(gathering: Gathering, loop: Loop) -> bool:
    """Return whether the loop over elements has no less iterations than the loop has that it replaces, or many."""
    sources = gathering.sources.values()
    if all(outer is not loop for source in sources for outer, _ in source.free):
        return True
    extents = [_extent(loop, axis) for axis in range(axes_of(loop))]
    shape = gathering.array.shape
    if shape is None or None in extents:
        return False
    elements = prod(shape[axis] for axis in gathering.axes)
    return elements >= min(ENOUGH, prod(extent for extent in extents if extent is not None) // 4)


ENOUGH = 1 << 14
"""The iterations that keep a GPU busy."""


def _extent(loop: Loop, axis: int) -> int | None:
    if isinstance(loop, StructFor):
        return None if loop.array.shape is None else (*loop.array.shape, 1)[axis]
    start, end = loop.starts[axis], loop.ends[axis]
    return int(end.value) - int(start.value) if isinstance(start, Const) and isinstance(end, Const) else None


def _sees_old_values(loads: set[Statement], accesses: list[Access], loop: Loop) -> bool:
    """Return whether loads give the same before the loop: an iteration loads its elements before it stores them."""
    for store in accesses:
        if isinstance(store.statement, GlobalLoad):
            continue
        for load in accesses:
            if load.statement in loads and load.pointer.array is store.pointer.array and not _are_apart(load, store):
                if not isinstance(store.statement, GlobalStore) or not _comes_before(load, store, loop):
                    return False
    return True


def _must_differ(gathering: Gathering, accesses: list[Access], primal: dict[Array, Array]) -> Iterator[SummedGradient]:
    """Yield the gradients of which an iteration may load or store an element that it adds to, if both are one array."""
    summed, seen = gathering.array, set[Array]()
    for access in accesses:
        other = access.pointer.array
        may_be_one = other is not summed and other.may_alias and summed.may_alias and other.ndim == summed.ndim
        if other in seen or other not in primal or not may_be_one or isinstance(access.statement, AtomicOp):
            continue
        near = [addition for addition in gathering.additions() if not _differ(addition, access)]
        if near:
            seen.add(other)
            location = near[0].statement.location
            yield SummedGradient(primal[summed].binding, primal[other].binding, location)


def _differ(one: Access, other: Access) -> bool:
    """Return whether an iteration certainly accesses two elements: an index is more than the other by a number."""
    pairs = zip(one.sums, other.sums, strict=True)
    return any(a is not None and b is not None and a.plus(b, -1).number not in (None, 0) for a, b in pairs)


def _are_apart(load: Access, store: Access) -> bool:
    """Return whether an index differs by a constant in all iterations."""
    for one, other in zip(load.sums, store.sums, strict=True):
        if one is not None and other is not None and not one.indices and not other.indices:
            if one.plus(other, -1).number not in (None, 0):
                return True
    return False


def _comes_before(load: Access, store: Access, loop: Loop) -> bool:
    """Return whether a load and a later store are to an element that no other iteration accesses."""
    if load.position > store.position:
        return False
    keys = [[None if s is None else s.key for s in access.sums] for access in (load, store)]
    if keys[0] != keys[1] or None in keys[0]:
        return False
    alone = {next(iter(s.indices)) for s in load.sums if s is not None and len(s.indices) == 1}
    if not {(loop, axis) for axis in range(axes_of(loop))} <= alone:
        return False
    common = {outer for outer, _ in store.path if outer.EFFECT & Effect.CONTROL} & {outer for outer, _ in load.path}
    return all((outer, 0) in alone for outer in common if isinstance(outer, (RangeFor, StructFor, While)))


def _drop(block: Block, dropped: set[Statement]) -> None:
    block.drop(dropped)
    for statement in block.statements:
        for inner in blocks(statement):
            _drop(inner, dropped)
