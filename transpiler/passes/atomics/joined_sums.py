"""Scalar promotion of atomic additions: those to one element become one, of their sum.

    for k in 0 .. 3 {                         s = 0
        $1 = ...                              for k in 0 .. 3 {
        atomic add f[i], $1           ->          $1 = ...
    }                                             s = s + $1
                                              }
                                              atomic add f[i], s

    atomic add f[i], $1
    atomic sub f[i], $2               ->      atomic add f[i], $1 - $2

    for t in 0 .. 100 {                           s: local array of 64
        for i, j in 8 x 8 {                       for t in 0 .. 100 {
            atomic add a[i, j], $1        ->          for i, j in 8 x 8 { s[i, j] = s[i, j] + $1 }
        }                                         }
    }                                             for i, j in 8 x 8 { atomic add a[i, j], s[i, j] }

An element of a loop has indices from outside of it, and each iteration adds to it. So have the elements of a local
array, but for indices of short loops inside; GPUs keep it in registers (`register_arrays`). In between, the array has
no other access but additions whose result is not used. A loop that may have no iteration counts if the element exists
in any case. Sums of floats need `fast_math`, since their order changes. What all iterations of a task add to one place
is for `reduce_atomics`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

from ...ir.builder import Builder
from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Remark, Statement, blocks, clone, count_uses, operands, walk
from ...ir.snodes import sparse_above
from ...ir.statements import (
    RECORDS,
    Alloca,
    ArgLoad,
    Array,
    ArrayShape,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LoopIndex,
    MatrixElement,
    MatrixPtr,
    Operation,
    RangeFor,
    Return,
    StructPtr,
    base_pointer,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Tensor, Type, element_of, i32
from ..analysis.aliasing import written_objects
from ..analysis.existence import axes_by_numbers, surely_exists
from ..analysis.linear import Index
from ..analysis.loops.reducible import is_invariant
from ..analysis.queries import base_array, index_key, leaves_block, trip_count
from ..context import PassContext
from .parts.short_loops import MOST_BYTES, array_of, axes_in, components, element_at, loops_over, short_loops

COMPUTED = (GlobalPtr, MatrixPtr, StructPtr, Const, ArgLoad, ArrayShape, Operation, Cast, MatrixElement, GlobalLoad)
"""What an index may be computed by, again behind the loop."""
SUMS = ("add", "sub")
FEWEST = 4
"""The fewest iterations of a loop that is worth a local array, if their number is constant."""
REMARK = Remark("one atomic addition for all (joined_sums)")


def joined_sums(kernel: Kernel, context: PassContext) -> bool:
    """Join atomic additions to one element, of a loop or of a block of statements."""
    if context.capabilities.is_reference:
        return False  # it performs each operation
    changed = False
    for task in kernel.tasks:
        if task.loop is not None and any(isinstance(s, AtomicOp) for s in walk(task.body)):
            changed |= _Joining(task, context).block(task.body)
    return changed


class _Joining:
    """Joins the additions of a task."""

    def __init__(self, task: Task, context: PassContext) -> None:
        self.has_arrays = context.capabilities.has_warps
        self.task, self.used = task, count_uses(task.body)
        self.adds_floats = context.options.fast_math and not context.options.deterministic
        self.written = written_objects(task.body)

    def block(self, block: Block) -> bool:
        """Join the additions of a block, and of the loops in it, outer ones first."""
        changed = False
        for statement in list(block):
            if isinstance(statement, RangeFor):
                changed |= self._loop(block, statement)
            for inner in blocks(statement):
                changed |= self.block(inner)
        return self._neighbours(block) or changed

    # --- loops

    def _loop(self, block: Block, loop: RangeFor) -> bool:
        """Let the additions of a loop to elements of others than its iterations go to variables."""
        inside = set(walk(loop.body))
        if any(isinstance(s, (*RECORDS, Return)) or s.EFFECT & Effect.FENCE for s in inside):
            return False
        found: dict[Hashable, list[tuple[AtomicOp, Block]]] = {}
        for atomic, own in _always_performed(loop):
            if self._is_suitable(atomic) and self._is_outside(atomic.pointer, inside, loop):
                if (trip_count(loop) or 0) > 0 or _exists(atomic.pointer):
                    found.setdefault(self._key(atomic.pointer), []).append((atomic, own))
        found = {key: atomics for key, atomics in found.items() if not self._is_seen(atomics[0][0], inside)}
        for atomics in found.values():
            self._accumulate(block, loop, atomics, inside)
        return (self.has_arrays and self._arrays(block, loop)) or bool(found)

    def _accumulate(
        self, block: Block, loop: RangeFor, atomics: list[tuple[AtomicOp, Block]], inside: set[Statement]
    ) -> None:
        """Add to a variable in a loop, and what it holds to the element behind the loop. atomics: with their blocks."""
        first, base = atomics[0][0], base_pointer(atomics[0][0].pointer)
        assert isinstance(base, GlobalPtr) and first.pointer.type is not None
        before = Builder(Block(), loop.location)
        variable = before.add(Alloca(type=first.pointer.type, hint=f"{base.array.name}_sum"))
        before.store(variable, before.zero(first.pointer.type))
        for atomic, around in atomics:
            own = Builder(Block(), atomic.location)
            own.store(variable, own.op(atomic.op, own.load(variable), atomic.value))
            around.replace(atomic, own.block)
        after = Builder(Block(), first.location)
        sum = after.atomic("add", _outside(after, first.pointer, inside), after.load(variable))
        sum.remarks = (*first.remarks, REMARK)
        block.replace(loop, [*before.block, loop, *after.block])

    def _is_outside(
        self, value: Statement, inside: set[Statement], loop: RangeFor, short: Collection[Statement] = ()
    ) -> bool:
        """Return whether a pointer, or an index of one, is the same in all iterations of a loop.

        short: loops inside whose indices it may have.
        """
        if value not in inside:
            return True
        if isinstance(value, LoopIndex):
            return value.loop in short or (value.loop is not loop and value.loop not in inside)
        if isinstance(value, GlobalLoad) and self._is_written(value):
            return False
        return isinstance(value, COMPUTED) and all(self._is_outside(o, inside, loop, short) for o in operands(value))

    def _is_written(self, load: GlobalLoad) -> bool:
        """Return whether the task may write what a load reads."""
        base = base_pointer(load.pointer)
        return not isinstance(base, GlobalPtr) or any(
            target is None or (isinstance(target, Array) and self.task.may_share(base.array, target))
            for target in self.written
        )

    def _key(self, value: Statement) -> Hashable:
        """Return what pointers to one place have in common, and values that are computed in one way."""
        parts: tuple[Hashable, ...]
        match value:
            case GlobalPtr(array=array):
                parts = (array,)
            case StructPtr(member=member):
                parts = (member,)
            case Operation(op=op):
                parts = (op, value.type)
            case MatrixPtr() | MatrixElement():
                parts = ()
            case GlobalLoad() if not self._is_written(value):
                parts = ("load",)
            case _:
                return index_key(value)
        return (*parts, *map(self._key, operands(value)))

    # --- local arrays

    def _arrays(self, block: Block, loop: RangeFor) -> bool:
        """Let the additions of a loop to elements at indices of short loops inside go to local arrays."""
        count = trip_count(loop)
        is_upward = len(loop.starts) == 1 and isinstance(loop.steps[0], Const) and loop.steps[0].value > 0
        if loop.unroll or not is_upward or (count is not None and count < FEWEST):
            return False
        inside, short = set(walk(loop.body)), short_loops(loop.body)
        if not short or any(isinstance(s, (*RECORDS, Return)) or s.EFFECT & Effect.FENCE for s in inside):
            return False
        found: dict[Hashable, list[tuple[AtomicOp, Block]]] = {}
        for atomic, around in _always_performed(loop):
            if self._is_suitable(atomic) and self._is_outside(atomic.pointer, inside, loop, short):
                if axes_in(atomic.pointer, short):
                    found.setdefault(self._key(atomic.pointer), []).append((atomic, around))
        found = {key: atomics for key, atomics in found.items() if not self._is_seen(atomics[0][0], inside)}
        kinds = [_array_for(atomics[0][0].pointer, short) for atomics in found.values()]
        if not found or sum(kind.size_bytes for kind in kinds) > MOST_BYTES:
            return False
        before, after = Builder(Block(), loop.location), Builder(Block(), loop.location)
        behind: dict[Hashable, tuple[Builder, list[Statement]]] = {}
        branch: Builder | None = None
        for kind, atomics in zip(kinds, found.values(), strict=True):
            first = atomics[0][0]
            array = before.add(Alloca(type=kind, hint=f"{_name(first.pointer)}_sum"))
            before.store(array, before.zero(kind))
            axes = axes_in(first.pointer, short)
            for atomic, around in atomics:
                _add_to(array, axes, atomic, around)
            always = bool(count) or _exists(first.pointer)
            if (axes, always) not in behind:
                if not always and branch is None:
                    branch = _if_it_runs(after, loop)
                behind[axes, always] = loops_over(branch if branch and not always else after, axes)
            own, indices = behind[axes, always]
            own.location = first.location
            value = _whole(own, array, axes, indices, first.pointer.type)
            known = dict(zip(axes, indices, strict=True))
            last = own.atomic("add", _outside(own, first.pointer, inside, known), value)
            last.remarks = (*first.remarks, REMARK)
        block.replace(loop, [*before.block, loop, *after.block])
        return True

    # --- neighbours

    def _neighbours(self, block: Block) -> bool:
        """Join additions of a block to one element."""
        open: dict[Hashable, AtomicOp] = {}
        changed = False
        for statement in list(block):
            inside = set(walk(Block([statement])))
            if leaves_block(statement) or any(isinstance(s, (*RECORDS, Return)) for s in inside):
                open.clear()
            open = {key: atomic for key, atomic in open.items() if not self._is_seen(atomic, inside)}
            if isinstance(statement, AtomicOp) and self._is_suitable(statement):
                key = self._key(statement.pointer)
                if key in open:
                    self._join(block, open[key], statement)
                    changed = True
                open[key] = statement
        return changed

    def _join(self, block: Block, first: AtomicOp, second: AtomicOp) -> None:
        """Add what an operation adds by a later one."""
        builder = Builder(Block(), second.location)
        one, other = first.value, second.value
        if first.op == "sub" != second.op:
            one, other = other, one
        second.value = builder.op("add" if first.op == second.op else "sub", one, other)
        second.op = first.op if first.op == second.op else "add"
        block.statements.remove(first)
        block.insert_before(second, builder.block)
        if REMARK not in second.remarks:
            second.remarks = (*second.remarks, REMARK)

    # --- conditions

    def _is_suitable(self, atomic: AtomicOp) -> bool:
        """Return whether an operation is an addition to memory whose result nobody uses."""
        base, kind = base_pointer(atomic.pointer), atomic.pointer.type
        if atomic in self.used or atomic.op not in SUMS or atomic.mask is not None or not isinstance(base, GlobalPtr):
            return False
        array = base.array
        if not isinstance(kind, (Scalar, Tensor)) or array.is_shared or array.clamped or base.cell is not None:
            return False
        if array.node is not None or (array.place is not None and sparse_above(array.place)):
            return False
        if atomic.value.type != kind or all(map(is_invariant, base.indices)):
            return False
        number = element_of(kind)
        return number.size_bytes >= 4 and (self.adds_floats if number.is_float else number.is_integral)

    def _is_seen(self, atomic: AtomicOp, statements: set[Statement]) -> bool:
        """Return whether one of some statements accesses the array other than by such additions."""
        base = base_pointer(atomic.pointer)
        assert isinstance(base, GlobalPtr)
        for statement in statements:
            if statement.EFFECT & Effect.FENCE:
                return True
            if isinstance(statement, Call):
                reached = statement.function.reads | statement.function.writes
                if any(self.task.may_share(base.array, other) for other in reached):
                    return True
            elif isinstance(statement, (GlobalLoad, GlobalStore, AtomicOp)):
                other = base_pointer(statement.pointer)
                is_addition = isinstance(statement, AtomicOp) and statement not in self.used and statement.op in SUMS
                if isinstance(other, GlobalPtr) and not is_addition and self.task.may_share(base.array, other.array):
                    return True
        return False


def _always_performed(loop: RangeFor) -> Iterator[tuple[AtomicOp, Block]]:
    """Yield the atomic operations that each iteration of a loop performs, with their blocks."""
    if any(map(leaves_block, loop.body)):
        return
    for statement in loop.body:
        if isinstance(statement, AtomicOp):
            yield statement, loop.body
        elif isinstance(statement, RangeFor) and (trip_count(statement) or 0) > 0:
            yield from _always_performed(statement)


def _add_to(array: Statement, axes: Sequence[Index], atomic: AtomicOp, around: Block) -> None:
    """Let an addition in a block go to a local array."""
    own, kind = Builder(Block(), atomic.location), atomic.pointer.type
    assert kind is not None
    indices = [own.add(LoopIndex(loop, axis, type=i32)) for loop, axis in axes]  # type: ignore[arg-type]
    for part in components(kind):
        value = own.element(atomic.value, [own.const(number) for number in part]) if part else atomic.value
        pointer = element_at(own, array, axes, indices, kind, part)
        own.store(pointer, own.op(atomic.op, own.load(pointer), value))
    position = around.statements.index(atomic)
    around.statements[position : position + 1] = own.block.statements


def _array_for(pointer: Statement, short: Iterable[RangeFor]) -> Tensor:
    """Return the type of a local array for the sums of the elements of a pointer."""
    assert pointer.type is not None
    return array_of(pointer.type, axes_in(pointer, short))


def _name(pointer: Statement) -> str:
    array = base_array(pointer)
    assert array is not None
    return array.name


def _whole(
    builder: Builder, array: Statement, axes: Sequence[Index], indices: Sequence[Statement], kind: Type | None
) -> Statement:
    """Return what a local array holds for some indices."""
    assert kind is not None
    parts = [builder.load(element_at(builder, array, axes, indices, kind, part)) for part in components(kind)]
    return builder.tensor(parts, kind.shape, kind.element) if isinstance(kind, Tensor) else parts[0]


def _if_it_runs(builder: Builder, loop: RangeFor) -> Builder:
    """Add a branch that is taken if a loop has an iteration; return a builder in it."""
    return Builder(builder.add(If(builder.op("lt", loop.starts[0], loop.ends[0]))).then, builder.location)


def _outside(
    builder: Builder, value: Statement, inside: set[Statement], known: Mapping[Index, Statement] | None = None
) -> Statement:
    """Return a pointer behind a loop that is the same in all of its iterations. known: of some indices, others."""
    if value not in inside:
        return value
    if isinstance(value, LoopIndex) and known and (value.loop, value.axis) in known:
        return known[value.loop, value.axis]
    copies = {operand: _outside(builder, operand, inside, known) for operand in operands(value)}
    return builder.add(clone(value, copies))


def _exists(pointer: Statement) -> bool:
    """Return whether an element exists by its indices alone: numbers, or those that `surely_exists` knows."""
    base = base_pointer(pointer)
    return isinstance(base, GlobalPtr) and surely_exists(base, axes_by_numbers(base))
