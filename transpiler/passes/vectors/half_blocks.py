"""Strip mining of loops of C over halves: converts 64 neighbours at a time, by instructions that do so.

    for p in range(n) {                                for block in range(0, n & -64, 64) {
        s += f32_from_f16(&a[i, p]) * w[p]                 floats_from_f16(a_floats, &a(i, block), 64)
    }                                           ->         for p in range(64): s += a_floats[p] * w[block + p]
                                                       }
                                                       for p in range(n & -64, n): s += f32_from_f16(&a[i, p]) * w[p]

gcc 12 makes vectors of conversions by integers (`lane_halves`), some ten operations for each half, but not of F16C's
instruction. Products of 1024 x 512 halves with as many took one core 191 ms before, 115 ms after (Taichi: 122),
attention over 1,024 keys of 64 halves 197 and 97 ms (112).

A loop qualifies that stores to no array, since it may be one that it loads from. Rows of up to 64 halves are one block.
Neighbours of an ndarray with distances of its own (`Array.strided`) need not follow each other in memory.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, clone, replace_uses, walk, walk_blocks
from ...ir.statements import (
    Alloca,
    ArrayShape,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LoopIndex,
    Operation,
    RangeFor,
    is_const,
)
from ...ir.tasks import Kernel
from ...ir.types import Tensor, f32, i32
from ..analysis.loops.vector_rows import is_along
from ..analysis.queries import computed_from, is_index_of, trip_count
from ..context import PassContext
from ..loops.parts.unrolled import iteration_at

SIZE = 64
"""The halves of a block."""
FEWEST, AT_ONCE = 16, 8
"""The fewest halves of a row that is one block, and how many an instruction converts."""
REMARK = Remark("converted together (half_blocks)")


def half_blocks(kernel: Kernel, context: PassContext) -> bool:
    """Convert blocks of halves in such loops."""
    if not context.capabilities.vectorizes_loops:
        return False
    changed = False
    for task in kernel.tasks:
        if task.loop is None or task.is_in_lanes or task.is_split:
            continue
        for block in walk_blocks(task.body):
            for loop in [s for s in block.statements if isinstance(s, RangeFor)]:
                casts = _conversions(loop)
                if casts:
                    _Blocks(task.body, block, loop, casts).run()
                    changed = True
    return changed


def _conversions(loop: RangeFor) -> list[Cast]:
    """Return the conversions of neighbouring halves in a loop of which blocks can be made; [] for others."""
    count = trip_count(loop)
    if len(loop.starts) > 1 or loop.unroll or loop.ends[0].type != i32:
        return []
    if not is_const(loop.starts[0], 0) or not is_const(loop.steps[0], 1):
        return []
    if count is not None and (count < FEWEST or (count < SIZE and count % AT_ONCE)):
        return []
    statements = list(walk(loop.body))
    if any(isinstance(s, (GlobalStore, RangeFor)) for s in statements):
        return []
    varying = {s for s in statements if any(is_index_of(value, loop) for value in computed_from(s))}
    casts = [s for s in statements if isinstance(s, Cast) and s.in_lanes]
    return casts if all(_is_neighbour(cast, loop, varying, set(statements)) for cast in casts) else []


def _is_neighbour(cast: Cast, loop: RangeFor, varying: set[Statement], inside: set[Statement]) -> bool:
    """Return whether a cast converts a half at the index of a loop, or at a distance that is known before it."""
    if not isinstance(cast.value, GlobalLoad) or cast.type != f32 or not isinstance(cast.value.pointer, GlobalPtr):
        return False
    pointer = cast.value.pointer
    if pointer.is_flat or pointer.array.strided or not is_along(pointer.indices, loop, varying):
        return False
    last = pointer.indices[-1]
    parts = [*pointer.indices[:-1], *(last.operands if isinstance(last, Operation) else [last])]
    return all(isinstance(part, (Const, LoopIndex)) or part not in inside for part in parts)


class _Blocks:
    """Makes blocks of a loop in `block`, which is a part of `root`. floats: local arrays for what `casts` convert."""

    def __init__(self, root: Block, block: Block, loop: RangeFor, casts: list[Cast]) -> None:
        self.root, self.block, self.loop, self.casts = root, block, loop, casts
        self.builder = Builder(Block(), loop.location)
        self.floats = [self._array(cast) for cast in casts]

    def _array(self, cast: Cast) -> Alloca:
        """Declare the floats of a block, once for all iterations: their first values are never read."""
        assert isinstance(cast.value, GlobalLoad) and isinstance(cast.value.pointer, GlobalPtr)
        size = min(trip_count(self.loop) or SIZE, SIZE)
        name = f"{cast.value.pointer.array.name}_floats"
        array = Alloca(type=Tensor((size,), f32), name=name, location=self.loop.location)
        self.root.statements.insert(0, array)
        return array

    def run(self) -> None:
        """Replace the loop."""
        count = trip_count(self.loop)
        if count is not None and count <= SIZE:
            converted = self._converted(self.builder.const(0), count)
            self._use(self.loop, {cast: cast for cast in self.casts})
            self.block.insert_before(self.loop, [*self.builder.block, *converted])
            return
        whole = self._whole()
        outer = RangeFor([self.builder.const(0)], [whole], [self.builder.const(SIZE)], ["block"])
        outer.location = self.loop.location
        self.builder.add(outer)
        with self.builder.into(outer.body):
            index = self.builder.add(LoopIndex(outer, type=i32))
            outer.body.statements += self._converted(index, SIZE)
            self._inner(index)
        new = list(self.builder.block)
        if count is None or count % SIZE:
            self.loop.starts, self.loop.exact_ends = [whole], ()
            new.append(self.loop)
        self.block.replace(self.loop, new)

    def _whole(self) -> Statement:
        """Return the number of halves in whole blocks."""
        count = trip_count(self.loop)
        if count is not None:
            return self.builder.const(count // SIZE * SIZE)
        end = self.loop.ends[0]
        if not isinstance(end, ArrayShape):
            end = self.builder.op("max", end, self.builder.const(0))
        return self.builder.op("bit_and", end, self.builder.const(-SIZE))

    def _converted(self, first: Statement, count: int) -> list[Statement]:
        """Return loops that convert the halves of a block."""
        return [
            self._conversion(cast, array, first, count) for cast, array in zip(self.casts, self.floats, strict=True)
        ]

    def _conversion(self, cast: Cast, array: Alloca, first: Statement, count: int) -> RangeFor:
        builder, start = self.builder, first
        end = builder.const(count) if is_const(first) else builder.op("add", first, builder.const(count))
        loop = RangeFor([start], [end], [builder.const(1)], list(self.loop.names), halves=count)
        loop.remarks = (REMARK,)
        assert isinstance(cast.value, GlobalLoad) and isinstance(cast.value.pointer, GlobalPtr)
        with builder.into(loop.body):
            index = builder.add(LoopIndex(loop, type=i32))
            pointer = cast.value.pointer
            mapping: dict[Statement, Statement] = {}
            for part in self._own_parts(pointer):
                builder.add(clone(part, mapping))
            for old, new in mapping.items():
                if isinstance(old, LoopIndex) and isinstance(new, LoopIndex) and old.loop is self.loop:
                    new.loop = loop
            half = builder.load(builder.add(clone(pointer, mapping)))
            place = index if is_const(first) else builder.op("sub", index, first)
            builder.store(builder.element_ptr(array, [place]), builder.cast(half, f32))
        return loop

    def _own_parts(self, pointer: GlobalPtr) -> list[Statement]:
        """Return what is computed in the loop for a pointer, in order."""
        parts = {part for index in pointer.indices for part in computed_from(index)}
        return [s for s in walk(self.loop.body) if s in parts]

    def _inner(self, index: Statement) -> None:
        """Add the loop over a block."""
        builder, copies = self.builder, dict[Statement, Statement]()
        inner = RangeFor([builder.const(0)], [builder.const(SIZE)], [builder.const(1)], list(self.loop.names))
        inner.location = self.loop.location
        builder.add(inner)
        with builder.into(inner.body) as body:
            place = builder.op("add", index, builder.add(LoopIndex(inner, type=i32)))
            body.statements += iteration_at(self.loop, place, copies)
        self._use(inner, {cast: copies[cast] for cast in self.casts})

    def _use(self, loop: RangeFor, casts: dict[Cast, Statement]) -> None:
        """Load floats in place of the conversions in a loop over a block."""
        for array, cast in zip(self.floats, casts.values(), strict=True):
            block = next(block for block in walk_blocks(loop.body) if cast in block.statements)
            with self.builder.into(Block()):
                index = self.builder.add(LoopIndex(loop, type=i32))
                number = self.builder.load(self.builder.element_ptr(array, [index]))
                block.replace(cast, list(self.builder.block))
            replace_uses(loop.body, {cast: number})
