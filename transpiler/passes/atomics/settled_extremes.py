"""Test before an atomic operation: leaves out the atomic minima and maxima of GPUs that change nothing.

                                           $2 = load h[k]
    atomic min h[k], $1             ->     if $1 < $2 { atomic min h[k], $1 }

Where many threads come to few elements, they wait for each other, and most come with a number that is not the least
so far. The element only falls while the kernel runs, so that what the load finds, also in a cache, is never less than
what it holds. Sums, counts, minima and maxima of 2^21 numbers in eight groups took an H200 4.9 ms before, 3.0 ms
after.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.functions import reachable
from ...ir.nodes import Block, Remark, count_uses_in, walk, walk_blocks
from ...ir.statements import Array, AtomicOp, GlobalLoad, GlobalPtr, GlobalStore, If, MatrixPtr, StructPtr, base_pointer
from ...ir.tasks import Kernel
from ...ir.types import Scalar
from ..context import PassContext

COMPARISONS = {"min": "lt", "max": "gt"}
REMARK = Remark("where it changes something (settled_extremes)")


def settled_extremes(kernel: Kernel, context: PassContext) -> bool:
    """Compare before such operations on integers whose result is not used."""
    capabilities = context.capabilities
    if not capabilities.has_warps:
        return False
    uses = count_uses_in(kernel.roots())
    changed = False
    for task in kernel.tasks:
        found = [s for s in walk(task.body) if isinstance(s, AtomicOp) and not uses[s] and _is_native(s, context)]
        if found and task.loop is not None:
            changes = [s for s in reachable(task.body) if isinstance(s, (AtomicOp, GlobalStore))]
            settled = {s for s in found if all(_is_apart(s, change) for change in changes)}
            for block in list(walk_blocks(task.body)):
                for atomic in [s for s in block if s in settled]:
                    _guard(block, atomic)
            changed |= bool(settled)
    return changed


def _is_native(atomic: AtomicOp, context: PassContext) -> bool:
    """Return whether an operation is a minimum or maximum of integers; those of floats read the element anyway."""
    type = atomic.value.type
    if atomic.op not in COMPARISONS:
        return False
    is_integer = isinstance(type, Scalar) and type.is_integral and type.bits >= 32
    is_in_array = isinstance(base_pointer(atomic.pointer), GlobalPtr)
    return is_integer and is_in_array and (str(type), atomic.op) in context.capabilities.atomics


def _is_apart(atomic: AtomicOp, change: AtomicOp | GlobalStore) -> bool:
    """Return whether a change is the same operation, or one of another array or member."""
    if isinstance(change, AtomicOp) and change.op == atomic.op:
        return True
    own, other = _place_of(atomic), _place_of(change)
    if all(isinstance(place[0], Array) and place[0].may_alias for place in (own, other)):
        return False  # two names of one ndarray, perhaps
    return own[:1] != other[:1] or any(x != y for x, y in zip(own, other, strict=False))


def _place_of(change: AtomicOp | GlobalStore) -> tuple[object, ...]:
    """Return the array that an operation changes, and the members of its elements, from the outermost."""
    members: list[object] = []
    pointer = change.pointer
    while isinstance(pointer, (MatrixPtr, StructPtr)):
        members.append(pointer.member if isinstance(pointer, StructPtr) else None)
        pointer = pointer.origin
    return (pointer.array if isinstance(pointer, GlobalPtr) else pointer, *reversed(members))


def _guard(block: Block, atomic: AtomicOp) -> None:
    builder = Builder(Block(), atomic.location)
    found = builder.add(GlobalLoad(atomic.pointer, type=atomic.value.type))
    condition = builder.op(COMPARISONS[atomic.op], atomic.value, found)
    builder.add(If(condition, Block([atomic])))
    atomic.remarks += (REMARK,)
    block.replace(atomic, builder.block)
