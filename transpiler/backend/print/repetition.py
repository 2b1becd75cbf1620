"""Which values are printed again at each use, since a name would say no more than the expression itself.

In: a value without a variable of the user, and how often it is used. Out: whether its expression is repeated; then the
compiler computes it once. Also: whether two pointers lead to the same memory, so that what is stored need not be read.

    t0 = -b; r = t0 - s; q = t0 + s       ->    r = -b - s; q = -b + s
    t0 = x(i) / dx; a = t0 - h; b = t0    ->    a = x(i) / dx - h; b = x(i) / dx      (if Python has it twice, too)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.functions import CallResult
from ...ir.nodes import Statement
from ...ir.ops import COMPARISONS
from ...ir.statements import (
    Alloca,
    ArgLoad,
    ArrayShape,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalTemporary,
    ListItem,
    LocalLoad,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    StructElement,
    StructPtr,
    base_pointer,
)
from ...ir.types import Scalar, Tensor, Type

ATOMS = (Const, ArgLoad, ArrayShape, LoopIndex)
ALIASED = "arrays that may share memory"
INDEX_OPERATIONS = frozenset({"add", "sub", "mul", "neg"})
ARITHMETIC = frozenset({"add", "sub", "mul", "div", "neg"})
SUMS = frozenset({"add", "sub"})
MAX_READS = 2
"""Uses up to which a load is repeated instead of declared: compilers merge loads, and a name costs the reader more."""
MAX_UNCHANGED_READS = 4
"""The same if nothing is stored between the uses, so that every compiler sees that the loads are equal."""
MAX_USES = 3
"""Uses up to which an expression is repeated that Python has as often."""
MAX_SIZE = 4
"""Size of such an expression."""
FUNCTION_SIZE = 3
"""Size of a call: compilers merge calls of mathematical functions, but a reader does not see that they are equal."""


def is_named(value: Statement) -> bool:
    """Return whether a value is printed as a name or a number wherever it is used."""
    return isinstance(value, ATOMS) or value.name is not None


def _is_word(value: Statement) -> bool:
    """Return whether a value is named, or an element or member of what is named: `base.x`, `offset[k]`."""
    match value:
        case ListItem(index=index):
            return is_named(index)
        case MatrixElement(value=ListItem(index=index), indices=indices):
            return is_named(index) and all(isinstance(i, Const) for i in indices)
        case MatrixElement(value=inner, indices=indices):
            return is_named(inner) and all(isinstance(i, Const) for i in indices)
        case StructElement(value=inner):
            return is_named(inner)
    return is_named(value)


def is_small(kind: Type | None) -> bool:
    """Return whether a value is a scalar or a short vector."""
    return isinstance(kind, Scalar) or (isinstance(kind, Tensor) and len(kind.shape) == 1 and kind.size <= 4)


def is_zero(value: MatrixInit) -> bool:
    """Return whether all elements of a vector or matrix are the constant 0, not -0."""
    return all(isinstance(e, Const) and str(e.value) in ("0", "0.0") for e in value.elements)


def has_short_zero(kind: Type | None) -> bool:
    """Return whether each language has a short word for the zero of a type: `vec3(0.0)`, `{}`."""
    if not isinstance(kind, Tensor) or len(kind.shape) == 1:
        return is_small(kind)
    return kind.element.is_float and max(kind.shape) <= 4


def may_repeat(value: Statement, uses: int, is_infix: Callable[[Operation], bool]) -> bool:
    """Return whether `value` is printed at each of its uses: it is short, or Python has it as often."""
    if uses <= min(value.copies, MAX_USES):
        return _remaining(value, is_infix, MAX_SIZE) >= 0
    return uses <= MAX_READS and _remaining(value, is_infix, 1) >= 0


def _remaining(value: Statement, is_infix: Callable[[Operation], bool], limit: int) -> int:
    """Return `limit` less the size of the expression of a value: its operations, calls several times.

    Stops below 0, so that the time does not depend on the size of the expression.
    """
    if limit < 0 or is_named(value):
        return limit
    parts: Sequence[Statement] = ()
    match value:
        case LocalLoad():
            pass
        case GlobalLoad(pointer=GlobalPtr(indices=indices, cell=None)) if is_small(value.type):
            parts = indices
        case StructElement(value=inner):
            parts = (inner,)
        case MatrixElement(value=inner, indices=indices) if all(isinstance(i, Const) for i in indices):
            parts = (inner,)
        case MatrixElement(value=inner, indices=[index]) if is_named(index):  # `v[k]`, where no `v.x` is
            parts, limit = (inner,), limit - 1
        case Cast(value=inner):
            parts, limit = (inner,), limit - (0 if isinstance(value.type, Scalar) else 1)
        case MatrixInit(elements=elements, type=Tensor(shape=(_,))):
            parts, limit = elements, limit - 1
        case Operation(operands=inner):
            parts, limit = inner, limit - (1 if is_infix(value) or value.op in ARITHMETIC else FUNCTION_SIZE)
        case _:
            return -1
    for part in parts:
        limit = _remaining(part, is_infix, limit)
    return limit


def is_cheap(value: Statement) -> bool:
    """Return whether `value` can be repeated anywhere: it costs nothing and is as readable as a name."""
    if is_named(value):
        return True
    match value:
        case CallResult():
            return True
        case Cast(value=inner, type=Scalar()):
            return is_named(inner)
        case Cast(value=inner):
            return isinstance(inner, ATOMS)
        case Operation(op=op, operands=inner) if op in COMPARISONS:
            return all(isinstance(o, Const) or (isinstance(o.type, Scalar) and is_named(o)) for o in inner)
        case Operation(op=op, operands=inner, type=Scalar(kind="int" | "uint")) if op in INDEX_OPERATIONS:
            return all(_is_word(o) for o in inner)
        case Operation(op="neg", operands=[inner], type=Scalar()):
            return is_named(inner)
        case Operation(op=op, operands=[a, b], type=Scalar()) if op in SUMS and (
            isinstance(a, Const) or isinstance(b, Const)
        ):
            return is_named(a) and is_named(b)
        case ListItem(index=index):
            return is_named(index)
        case StructElement(value=inner):
            return inner.name is not None or not isinstance(inner, GlobalLoad)
        case MatrixElement(value=inner, indices=indices):
            return all(isinstance(i, Const) for i in indices) and (
                inner.name is not None or not isinstance(inner, GlobalLoad)
            )
    return False


def memory_behind(pointer: Statement) -> object:
    """Return a key of the memory behind `pointer`, which is equal for two pointers that may alias."""
    base = base_pointer(pointer)
    if isinstance(base, GlobalPtr):
        return ALIASED if base.array.may_alias else base.array
    return base.temporary if isinstance(base, GlobalTemporary) else base


def is_same(a: Statement, b: Statement) -> bool:
    """Return whether two values are one statement, or the same number."""
    if isinstance(a, Const) and isinstance(b, Const):
        return a.type == b.type and repr(a.value) == repr(b.value)
    return a is b


def is_same_address(a: Statement, b: Statement) -> bool:
    """Return whether two pointers certainly have the same address: both are made from the same values."""
    if a is b:
        return True
    match a, b:
        case GlobalPtr(), GlobalPtr():
            if a.array is not b.array or (a.is_flat, a.by_word) != (b.is_flat, b.by_word):
                return False
            return all(_is_same_index(i, j) for i, j in zip(a.indices, b.indices, strict=True))
        case MatrixPtr(), MatrixPtr():
            if not is_same_address(a.origin, b.origin):  # first: vectors and matrices have other numbers of indices
                return False
            return all(_is_same_index(i, j) for i, j in zip(a.indices, b.indices, strict=True))
        case StructPtr(), StructPtr():
            return a.member == b.member and is_same_address(a.origin, b.origin)
        case GlobalTemporary(), GlobalTemporary():
            return a.temporary is b.temporary
    return False


def _is_same_index(a: Statement, b: Statement) -> bool:
    return a is b or (isinstance(a, Const) and isinstance(b, Const) and a.value == b.value)


def is_settled(end: Statement) -> bool:
    """Return whether a loop's head may choose its end anew in each iteration: what it chooses from cannot change."""
    return isinstance(end, Operation) and end.op == "select" and _cannot_change(end)


def _cannot_change(value: Statement) -> bool:
    if isinstance(value, Cast):
        return _cannot_change(value.value)
    return isinstance(value, ATOMS) or (isinstance(value, Operation) and all(map(_cannot_change, value.operands)))


def is_of_neighbours(pointer: Statement) -> bool:
    """Return whether a pointer is of several neighbours."""
    return isinstance(pointer, GlobalPtr) and pointer.lanes > 1


def is_simple(pointer: Statement) -> bool:
    """Return whether an element of an array, or a member of a local variable, can be printed twice: no index needs a
    computation."""
    while isinstance(pointer, StructPtr):
        pointer = pointer.origin
    return (
        isinstance(pointer, Alloca)
        or isinstance(pointer, GlobalPtr)
        and all(isinstance(i, ATOMS) or i.name is not None for i in pointer.indices)
    )
