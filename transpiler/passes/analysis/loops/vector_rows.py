"""Serial loops over neighbouring elements, whose iterations gcc makes vectors of: what they compute, access and add."""

from __future__ import annotations

from ....ir.nodes import Statement
from ....ir.statements import (
    Alloca,
    ArgLoad,
    ArrayShape,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixPtr,
    Operation,
    RangeFor,
    base_pointer,
)
from ....ir.types import Scalar
from ...context import PassContext
from ..queries import computed_from, is_dense, is_index_of

FEWEST = 8
"""The fewest iterations of a loop that stays: they are a vector of f32."""
PLAIN = (Const, LoopIndex, ArgLoad, ArrayShape, GlobalPtr, MatrixPtr, Alloca, GlobalLoad, LocalLoad, LocalStore, Cast)
OPERATIONS = frozenset({
    "add", "sub", "mul", "div", "neg", "abs", "sqrt", "bit_and", "bit_or", "bit_xor", "shl", "sar", "shr", "popcnt",
    "wrapping_add", "wrapping_sub", "wrapping_mul",
})  # fmt: skip
"""Operations that processors have for vectors; counts of bits with AVX-512."""


def is_plain(statement: Statement) -> bool:
    """Return whether a statement is one of numbers that processors have for vectors."""
    if isinstance(statement, (GlobalPtr, MatrixPtr)):
        base = base_pointer(statement)
        return isinstance(base, Alloca) or (isinstance(base, GlobalPtr) and is_dense(base.array))
    if not isinstance(statement, LocalStore) and not (isinstance(statement.type, Scalar) and statement.type.bits > 1):
        return False
    if isinstance(statement, Operation):
        return statement.op in OPERATIONS
    if isinstance(statement, Cast):
        return isinstance(statement.value.type, Scalar)
    return isinstance(statement, (*PLAIN, MatrixElement))


def is_along(indices: list[Statement], loop: RangeFor, varying: set[Statement]) -> bool:
    """Return whether the last index alone is one of a loop, or one of it and what does not vary in it."""
    *outer, last = indices
    if any(index in varying for index in outer):
        return False
    if isinstance(last, Operation) and last.op in ("add", "sub", "wrapping_add", "wrapping_sub"):
        fixed = [operand for operand in last.operands if operand not in varying]
        last = last.operands[0] if fixed != last.operands[:1] or last.op.endswith("sub") else last.operands[1]
        return len(fixed) == 1 and is_index_of(last, loop)
    return is_index_of(last, loop)


def is_combined(
    store: LocalStore, statements: list[Statement], loop: RangeFor, varying: set[Statement], context: PassContext
) -> bool:
    """Return whether iterations store in places of their own, or in a sum that may be one of several sums."""
    variable = base_pointer(store.pointer)
    if variable in statements:
        return isinstance(store.pointer, Alloca)
    if isinstance(store.pointer, MatrixPtr):  # the only place in this array, so nothing comes from other iterations
        places = [s for s in statements if isinstance(s, MatrixPtr) and base_pointer(s) is variable]
        return places == [store.pointer] and store.pointer in varying
    accesses = [s for s in statements if isinstance(s, (LocalLoad, LocalStore)) and base_pointer(s.pointer) is variable]
    others = [access for access in accesses if access is not store]
    value, kind = store.value, store.value.type
    if len(others) != 1 or not isinstance(value, Operation) or value.op not in ("add", "sub"):
        return False
    position = value.operands.index(others[0]) if others[0] in value.operands else None
    is_first = position == 0 or (position == 1 and value.op == "add")
    assert isinstance(kind, Scalar)
    uses = sum(others[0] in computed_from(s) for s in statements if isinstance(s, LocalStore))
    return is_first and uses == 1 and (context.options.fast_math or kind.kind != "float")
