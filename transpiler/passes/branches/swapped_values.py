"""If-conversion of swaps: selects the lesser and the greater of two variables in place of a branch, in C.

    if a > b {                          is_greater = a > b
        t = a                           lesser = b if is_greater else a
        a = b                   ->      greater = a if is_greater else b
        b = t                           a = lesser
    }                                   b = greater

In a sorting network each second branch is guessed wrongly, and gcc 12 makes no selections of such a branch where it
takes none of the iterations around together. Medians of 9 of 40,000 neighbours took one core .84 ms before (.39 if
only the index has 64 bits, `wide_counters`), .029 ms after; medians of 3 that are gathered .15 and .12 ms.

Both are selected by the comparison of the program, so that NaN and zeros are where its branch puts them. Other swaps
under the same comparison, as of what belongs to the numbers, are selected likewise. Only of variables and of elements
that are known when the loops over them are unrolled: elements elsewhere are in memory, and there a branch that is
seldom taken waits for no store.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, operands, walk_blocks
from ...ir.ops import ORDERINGS
from ...ir.statements import Alloca, Const, If, LocalLoad, LocalStore, LoopIndex, MatrixPtr, Operation, RangeFor
from ...ir.tasks import Kernel
from ...ir.types import Scalar, i32, u1
from ..analysis.queries import has_else, index_key
from ..context import PassContext
from .parts.comparisons import are_current

SUMS = frozenset({"add", "sub", "mul"})
"""Operations that may compute the index of an element."""
MOST = 3
"""Pairs that are swapped together."""
REMARK = Remark("swapped without a branch (swapped_values)")

Place = tuple[Hashable, ...]
"""A variable, or a variable and the indices of an element."""


def swapped_values(kernel: Kernel, context: PassContext) -> bool:
    """Replace such branches."""
    if not context.capabilities.predicts_branches:
        return False
    changed = False
    for root in kernel.roots():
        for block in walk_blocks(root):
            for branch in [s for s in block.statements if isinstance(s, If)]:
                changed |= _replace(block, branch)
    return changed


def _replace(block: Block, branch: If) -> bool:
    """Replace a branch that swaps two numbers which it compares, and nothing else; return whether it is one."""
    condition = branch.condition
    if has_else(branch) or not isinstance(condition, Operation) or condition.op not in ORDERINGS:
        return False
    swapped = _swapped(branch.then)
    if not swapped or condition.type != u1 or not any(_compared(o) in swapped for o in condition.operands):
        return False
    builder = Builder(Block(), branch.location)
    builder.block.statements += [s for s in branch.then if not isinstance(s, (LocalLoad, LocalStore))]
    old = {place: builder.load(pointer) for place, (pointer, _) in swapped.items()}
    if are_current([s for s in condition.operands if isinstance(s, LocalLoad)], block, branch):
        again = [old.get(_compared(operand), operand) for operand in condition.operands]
        condition = builder.op(condition.op, *again)
    chosen = {place: builder.op("select", condition, old[other], old[place]) for place, (_, other) in swapped.items()}
    remarks: tuple[Remark, ...] = (REMARK,)
    for place, (pointer, _) in swapped.items():
        builder.add(LocalStore(pointer, chosen[place], remarks=remarks))
        remarks = ()
    block.replace(branch, builder.block)
    return True


def _swapped(block: Block) -> dict[Place, tuple[Statement, Place]]:
    """Return the places that a block swaps: a pointer to each, and which place's value it gets; {} if it does more."""
    values: dict[Statement, Place] = {}  # by load, the place where its value was first
    now: dict[Place, Place] = {}  # by place, where its value was first
    pointers: dict[Place, Statement] = {}
    for statement in block:
        if isinstance(statement, (LocalLoad, LocalStore)):
            place = _place(statement.pointer)
            pointers.setdefault(place, statement.pointer)
            if isinstance(statement, LocalLoad):
                values[statement] = now.get(place, place)
            else:
                now[place] = values.get(statement.value, ())
        elif not isinstance(statement, (MatrixPtr, Const, LoopIndex)) and not _is_index(statement):
            return {}
    is_exchange = all(place and other != place and now.get(other) == place for place, other in now.items())
    return {place: (pointers[place], other) for place, other in now.items()} if is_exchange and _are_apart(now) else {}


def _are_apart(now: dict[Place, Place]) -> bool:
    """Return whether no place of a pair may be one of another pair: two elements of a vector may be the same."""
    pairs = {frozenset(pair) for pair in now.items()}
    bases = [base for pair in pairs for base in {place[0] for place in pair}]
    return len(pairs) <= MOST and len(bases) == len(set(bases))


def _place(pointer: Statement) -> Place:
    """Return a variable, or an element that is known when loops are unrolled; () for another place."""
    if not isinstance(pointer.type, Scalar) or pointer.type == u1:
        return ()
    if isinstance(pointer, Alloca):
        return (pointer,)
    if isinstance(pointer, MatrixPtr) and isinstance(pointer.origin, Alloca) and all(map(_is_index, pointer.indices)):
        return (pointer.origin, *map(_key, pointer.indices))
    return ()


def _is_index(value: Statement) -> bool:
    """Return whether a value is a number as soon as loops are unrolled."""
    if isinstance(value, LoopIndex):
        return isinstance(value.loop, RangeFor) and value.loop.unroll
    is_sum = isinstance(value, Operation) and value.op in SUMS and value.type == i32
    return isinstance(value, Const) or (is_sum and all(map(_is_index, operands(value))))


def _key(index: Statement) -> Hashable:
    """Return what equal indices have in common, also sums of them."""
    return (index.op, *map(_key, operands(index))) if isinstance(index, Operation) else index_key(index)


def _compared(operand: Statement) -> Place:
    """Return where an operand of a comparison was loaded from; () if from nowhere."""
    return _place(operand.pointer) if isinstance(operand, LocalLoad) else ()
