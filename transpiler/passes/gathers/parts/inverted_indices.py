"""Which iteration adds to an element of a gradient: the indices of an addition, solved for the loops' indices.

    x_grad[i + 1, j] += v    ->    the iteration (a - 1, b) adds to the element (a, b)
    x_grad[i + d] += v       ->    for each d, the iteration a - d adds to the element a
    x_grad[j] += v           ->    for each i, the iteration (i, a) adds to the element a

In: the additions of a parallel loop. Out: `Gathering`s, each with the additions to elements along the same axes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import field

from ....ir.nodes import Block, Statement, blocks, walk
from ....ir.snodes import is_sparse
from ....ir.statements import (
    Array,
    AtomicOp,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    RangeFor,
    StructFor,
    base_pointer,
    is_const,
)
from ....ir.types import Struct, i32
from ....lazy_dataclasses import dataclass
from ...analysis.linear import Index, Linear, Reader
from ...analysis.queries import leaves_block

Path = tuple[tuple[Statement, Block], ...]
"""The statements around another one in a loop, outermost first, each with the block of it."""


@dataclass(eq=False, slots=True)
class Access:
    """A load, store or atomic operation of an array. position: in the loop. sums: its indices, None for others."""

    statement: Statement
    pointer: GlobalPtr
    path: Path
    position: int
    sums: tuple[Linear | None, ...]


@dataclass(eq=False, slots=True)
class Source:
    """Additions by the same indices.

    Attributes:
        sums: the indices.
        solved: by axis of the array, the index of a loop that its index is solved for.
        free: the other indices of loops that the sums contain, and those of the parallel loop.
        additions: the atomic operations.
    """

    sums: tuple[Linear, ...]
    solved: dict[int, Index]
    free: list[Index]
    additions: list[Access] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Gathering:
    """The additions of a loop to elements of an array along some axes; the indices of others are fixed."""

    array: Array
    axes: tuple[int, ...]
    fixed: dict[int, Linear]
    sources: dict[Hashable, Source] = field(default_factory=dict)

    def additions(self) -> list[Access]:
        """Return the additions of all sources."""
        return [access for source in self.sources.values() for access in source.additions]

    def is_apart(self, access: Access) -> bool:
        """Return whether an access is certainly to other elements."""
        for axis, own in self.fixed.items():
            other = access.sums[axis]
            if other is not None and not other.indices and other.plus(own, -1).number not in (None, 0):
                return True
        return False


def accesses_in(loop: RangeFor | StructFor, reader: Reader) -> list[Access]:
    """Return the accesses of arrays in an iteration, in order."""
    positions = {statement: number for number, statement in enumerate(walk(loop.body))}
    found: list[Access] = []

    def visit(block: Block, path: Path) -> None:
        for statement in block.statements:
            if isinstance(statement, (GlobalLoad, GlobalStore, AtomicOp)):
                base = base_pointer(statement.pointer)
                if isinstance(base, GlobalPtr):
                    sums = tuple(map(reader.read, base.indices))
                    found.append(Access(statement, base, path, positions[statement], sums))
            for inner in blocks(statement):
                visit(inner, (*path, (statement, inner)))

    visit(loop.body, ())
    return found


def find_gatherings(
    loop: RangeFor | StructFor, accesses: list[Access], reader: Reader, used: Mapping[Statement, int]
) -> list[Gathering]:
    """Return the additions that can be gathered, of those that need atomic operations. used: how often values are."""
    found: dict[Hashable, Gathering] = {}
    refused: list[Access] = []
    for access in accesses:
        if not _is_addition(access, used) or not _add(found, loop, access, reader):
            refused.append(access)
    gatherings = [gathering for gathering in found.values() if len(gathering.sources) <= MAX_SOURCES]
    refused += [a for g in found.values() if len(g.sources) > MAX_SOURCES for a in g.additions()]
    while True:
        safe = [g for g in gatherings if not any(a.pointer.array is g.array and not g.is_apart(a) for a in refused)]
        if len(safe) == len(gatherings):
            break
        refused += [a for g in gatherings if g not in safe for a in g.additions()]
        gatherings = safe
    return [g for g in gatherings if not _is_exclusive(g, gatherings, loop)]


MAX_SOURCES = 32
"""Different indices by which a loop adds to an array."""


def _is_addition(access: Access, used: Mapping[Statement, int]) -> bool:
    """Return whether an access adds to a gradient of numbers or vectors, without a use of the old value."""
    statement, array = access.statement, access.pointer.array
    if not isinstance(statement, AtomicOp) or statement.op not in ("add", "sub") or used.get(statement):
        return False
    plain = not array.is_shared and not array.clamped and access.pointer.cell is None and not array.role
    is_dense = array.place is None or not is_sparse(array.place)
    return plain and is_dense and statement.location.is_derivative and not isinstance(array.element, Struct)


def _add(found: dict[Hashable, Gathering], loop: RangeFor | StructFor, access: Access, reader: Reader) -> bool:
    """Add an addition to its gathering; return False if its indices cannot be solved."""
    sums = tuple(s for s in access.sums if s is not None)
    if len(sums) != len(access.sums):
        return False
    solved = _solved(sums, loop)
    if not solved:
        return False
    if any(not _is_plain_loop(outer) for outer, _ in solved.values() if outer is not loop):
        return False
    axes = tuple(solved)
    fixed = {axis: s for axis, s in enumerate(sums) if axis not in solved}
    array = access.pointer.array
    key = array, axes, tuple(s.key for s in fixed.values())
    gathering = found.setdefault(key, Gathering(array, axes, fixed))
    indices = dict.fromkeys(index for s in sums for index in s.indices)
    parallel = [(loop, axis) for axis in range(axes_of(loop))]
    free = [index for index in (*parallel, *(i for i in indices if i not in parallel)) if index not in solved.values()]
    if any(not (_is_plain_loop(outer) and _is_uniform(outer, reader)) for outer, _ in free if outer is not loop):
        return False
    source = gathering.sources.setdefault(tuple(s.key for s in sums), Source(sums, solved, free))
    source.additions.append(access)
    return True


def axes_of(loop: RangeFor | StructFor) -> int:
    """Return how many indices a loop has."""
    return len(loop.starts) if isinstance(loop, RangeFor) else max(1, loop.array.ndim)


def _solved(sums: tuple[Linear, ...], loop: Statement) -> dict[int, Index]:
    """Return the index that each sum is solved for, {} if one has none; the parallel loop's come first."""
    solved: dict[int, Index] = {}
    for axis, each in enumerate(sums):
        if each.indices:
            able = [index for index, count in each.indices.items() if abs(count) == 1 and index not in solved.values()]
            if not able:
                return {}
            solved[axis] = next((index for index in able if index[0] is loop), able[0])
    return solved


def _is_plain_loop(loop: Statement) -> bool:
    """Return whether a serial loop runs to its end, one by one."""
    if not isinstance(loop, RangeFor) or len(loop.starts) != 1 or loop.starts[0].type != i32:
        return False
    return is_const(loop.steps[0], 1) and not any(leaves_block(s) for s in loop.body)


def _is_uniform(loop: Statement, reader: Reader) -> bool:
    """Return whether the bounds of a serial loop are the same in all iterations of the parallel loop."""
    assert isinstance(loop, RangeFor)
    bounds = [reader.read(bound) for bound in (*loop.starts, *loop.ends)]
    return all(bound is not None and not bound.indices for bound in bounds)


def _is_exclusive(gathering: Gathering, others: list[Gathering], loop: RangeFor | StructFor) -> bool:
    """Return whether each iteration adds to elements of its own, so that nothing is atomic in any case."""
    for other in others:
        if other is not gathering and other.array is gathering.array:
            if not all(map(gathering.is_apart, other.additions())):
                return False
    sources = list(gathering.sources.values())
    covered: set[int] = set()
    for axis in gathering.axes:
        first = sources[0].sums[axis]
        own = [index for index in first.indices if index[0] is loop]
        if len(first.indices) == 1 and own and all(source.sums[axis].key == first.key for source in sources):
            covered.add(own[0][1])
    return len(covered) == axes_of(loop)
