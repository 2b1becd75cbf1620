"""Scalar promotion of atomic additions: those to one element become one, of their sum.

    for k in 0 .. 3 {                         s = 0
        $1 = ...                              for k in 0 .. 3 {
        atomic add f[i], $1           ->          $1 = ...
    }                                             s = s + $1
                                              }
                                              atomic add f[i], s

    atomic add f[i], $1
    atomic sub f[i], $2               ->      atomic add f[i], $1 - $2

An element of a loop has indices from outside of it, and each iteration adds to it. In between, the array has no other
access but additions whose result is not used. A loop that may have no iteration counts if the element exists in any
case. Sums of floats need `fast_math`, since their order changes. What all iterations of a task add to one place is for
`reduce_atomics`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

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
from ...ir.types import Scalar, Tensor, element_of
from ..analysis.aliasing import written_objects
from ..analysis.loops.reducible import is_invariant
from ..analysis.queries import index_key, leaves_block, surely_exists, trip_count
from ..context import PassContext

COMPUTED = (GlobalPtr, MatrixPtr, StructPtr, Const, ArgLoad, ArrayShape, Operation, Cast, MatrixElement, GlobalLoad)
"""What an index may be computed by, again behind the loop."""
SUMS = ("add", "sub")
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
        return bool(found)

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

    def _is_outside(self, value: Statement, inside: set[Statement], loop: RangeFor) -> bool:
        """Return whether a pointer, or an index of one, is the same in all iterations of a loop."""
        if value not in inside:
            return True
        if isinstance(value, LoopIndex):
            return value.loop is not loop and value.loop not in inside
        if isinstance(value, GlobalLoad) and self._is_written(value):
            return False
        return isinstance(value, COMPUTED) and all(self._is_outside(o, inside, loop) for o in operands(value))

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


def _outside(builder: Builder, value: Statement, inside: set[Statement]) -> Statement:
    """Return a pointer behind a loop that is the same in all of its iterations."""
    if value not in inside:
        return value
    copies = {operand: _outside(builder, operand, inside) for operand in operands(value)}
    return builder.add(clone(value, copies))


def _exists(pointer: Statement) -> bool:
    base = base_pointer(pointer)
    return isinstance(base, GlobalPtr) and surely_exists(base)
