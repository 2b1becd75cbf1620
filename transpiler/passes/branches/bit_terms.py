"""If-conversion by a table: adds what a bit selects without a branch, in the `while` loops of C.

    while k > 0 {                               while k > 0 {
        if k & 1 != 0 { r = r + f }                 terms = [-0.0, f]
        f = f * .5                      ->          r = r + terms[k & 1]
        k = k >> 1                                  f = f * .5
    }                                               k = k >> 1
                                                }

Bits of a number are guessed wrongly half of the time. gcc 12 makes no selection of floats by a condition of integers,
also not of `k & 1 ? f : 0`: LLVM does. 500,000 points that descend an octree by the bits of the child took one core
33 ms before, 15 ms after; inverses of 400,000 numbers by their bits 27 and 7 ms. Bits of an index that comes again
and again are guessed rightly: 25,600 sums over the same 128 numbers took 54 ms before, 57 ms after.

What is added otherwise changes no number, nor the sign of a zero: `-0.0 + -0.0` is -0.0. A product takes 1.0. Only in
`while` loops, which gcc takes one iteration of at a time: where it makes vectors, it selects.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.constants import constant_range
from ...ir.nodes import Block, Remark, Statement, operands, walk
from ...ir.statements import (
    Alloca,
    Cast,
    Const,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixInit,
    MatrixPtr,
    Operation,
    RangeFor,
    While,
    is_const,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, i32
from ..analysis.queries import has_else, index_key
from ..context import PassContext
from .parts.comparisons import straight_blocks

NEUTRAL = {"add": -0.0, "sub": 0.0, "mul": 1.0}
NAMES = {"add": "terms", "sub": "terms", "mul": "factors"}
CHEAP = frozenset({"add", "sub", "mul", "neg", "abs"})
"""Operations of terms and factors that may be computed although they are not needed."""
MOST = 8
"""The most statements of a branch that is computed for both values of its bit."""
REMARK = Remark("by the bit, without a branch (bit_terms)")


def bit_terms(kernel: Kernel, context: PassContext) -> bool:
    """Replace such branches."""
    if not context.capabilities.predicts_branches:
        return False
    in_lanes = {block for task in kernel.tasks if task.is_in_lanes for block in task.roots()}
    changed = False
    for root in [root for root in kernel.roots() if root not in in_lanes]:
        for loop in [s for s in walk(root) if isinstance(s, While)]:
            for block in straight_blocks([loop.body]):
                for branch in [s for s in block.statements if isinstance(s, If)]:
                    changed |= _replace(block, branch)
    return changed


def _replace(block: Block, branch: If) -> bool:
    """Replace a branch on a bit that does no more than add to floats, or multiply them; return whether it is one."""
    condition, inside = branch.condition, branch.then.statements
    if has_else(branch) or len(inside) > MOST or not isinstance(condition, Operation):
        return False
    stores = [s for s in inside if isinstance(s, LocalStore)]
    if not stores or not _is_of_bits(condition) or not all(s in stores or _is_harmless(s) for s in inside):
        return False
    if not all(store.value in inside and _old_values(store) <= set(inside) and _term(store) for store in stores):
        return False
    builder = Builder(Block(), branch.location)
    bit, is_set = _bit(builder, condition)
    remarks: tuple[Remark, ...] = (REMARK,)
    for statement in inside:
        if isinstance(statement, LocalStore):
            _choose(builder, statement, bit, is_set)
            statement.remarks = (*statement.remarks, *remarks)
            remarks = ()
        builder.block.statements.append(statement)
    block.replace(branch, builder.block)
    return True


def _choose(builder: Builder, store: LocalStore, bit: Statement, is_set: bool) -> None:
    """Let a store add one of two numbers: a term, or what changes nothing. is_set: the bit is set for the term."""
    value, term = store.value, _term(store)
    assert isinstance(value, Operation) and term is not None and isinstance(term.type, Scalar)
    number = builder.const(NEUTRAL[value.op], term.type)
    both = Tensor((2,), term.type)
    either = builder.add(Alloca(type=both, name=NAMES[value.op]))
    pair = builder.add(MatrixInit([number, term] if is_set else [term, number], type=both))
    builder.add(LocalStore(either, pair))
    place = builder.add(MatrixPtr(either, [bit], type=term.type))
    chosen = builder.add(LocalLoad(place, type=term.type))
    value.operands = [chosen if operand is term else operand for operand in value.operands]
    builder.block.statements.remove(value)
    builder.block.statements.append(value)  # after what it adds


def _is_of_bits(condition: Operation) -> bool:
    """Return whether a condition compares bits of an integer with a number."""
    if condition.op not in ("ne", "eq"):
        return False
    bits, number = condition.operands
    is_masked = isinstance(bits, Operation) and bits.op == "bit_and" and isinstance(bits.type, Scalar)
    return is_masked and (is_const(number, 0) or (is_const(number, 1) and _is_one_bit(bits)))


def _is_one_bit(bits: Statement) -> bool:
    """Return whether bits of an integer are its last one."""
    return isinstance(bits, Operation) and bits.type == i32 and any(is_const(o, 1) for o in bits.operands)


def _bit(builder: Builder, condition: Operation) -> tuple[Statement, bool]:
    """Return 0 or 1 as an index, and whether the condition holds for 1."""
    bits, number = condition.operands
    if _is_one_bit(bits):
        return bits, (condition.op == "ne") == is_const(number, 0)
    return builder.add(Cast(condition, type=i32)), True


def _is_harmless(statement: Statement) -> bool:
    """Return whether a value may be computed although it is not needed."""
    if isinstance(statement, Operation):
        return statement.op in CHEAP and isinstance(statement.type, Scalar)
    if isinstance(statement, LocalLoad):
        return _is_place(statement.pointer)
    return isinstance(statement, (Const, LoopIndex)) or (isinstance(statement, MatrixPtr) and _is_place(statement))


def _term(store: LocalStore) -> Statement | None:
    """Return what a store adds to a float, or what it multiplies it by; None if it does something else."""
    value, type = store.value, store.pointer.type
    if not isinstance(value, Operation) or value.op not in NEUTRAL or not _is_place(store.pointer):
        return None
    if not isinstance(type, Scalar) or not type.is_float or type.bits < 32:
        return None
    loads = _old_values(store)
    terms = [o for o in value.operands if o not in loads]
    if len(loads) != 1 or len(terms) != 1 or (value.op == "sub" and value.operands[0] not in loads):
        return None
    return terms[0] if terms[0].type == type else None


def _old_values(store: LocalStore) -> set[Statement]:
    """Return the operands of a stored value that are loaded from where it is stored."""
    loads = [value for value in operands(store.value) if isinstance(value, LocalLoad)]
    return {load for load in loads if _key(load.pointer) == _key(store.pointer)}


def _is_place(pointer: Statement) -> bool:
    """Return whether a pointer is a variable, or an element that every variable of its type has."""
    if isinstance(pointer, Alloca):
        return True
    if not isinstance(pointer, MatrixPtr) or not isinstance(pointer.origin, Alloca):
        return False
    type = pointer.origin.type
    return isinstance(type, Tensor) and all(map(_is_below, pointer.indices, type.shape))


def _is_below(index: Statement, count: int) -> bool:
    """Return whether an index is a number below a count, or that of an unrolled loop up to it."""
    match index:
        case Const(value=value):
            return 0 <= int(value) < count
        case LoopIndex(loop=RangeFor(unroll=True) as loop, axis=axis):
            indices = constant_range(loop, axis)
            return indices is not None and indices.step == 1 and indices.start >= 0 and indices.stop <= count
    return False


def _key(pointer: Statement) -> object:
    """Return what pointers to the same place have in common."""
    return (pointer.origin, *map(index_key, pointer.indices)) if isinstance(pointer, MatrixPtr) else pointer
