"""Replaces `x << 31` of 64-bit integers, for drivers that multiply by -2^31 there.

    $2 = cast i64 $1               $2 = cast i64 $1
    $3 = shl $2, 31         ->     $3 = wide_shl $2, 31      (GLSL: a function that shifts two words)

NVIDIA's driver 580.159 multiplies where x was a 32-bit number, as in `int64_t(i) << 31`, and takes 0x80000000 for
negative: of 2 it makes 0xFFFFFFFF00000000. It finds the 31 in products by powers of two, in several shifts one after
another, and in unrolled loops; so shifts of such an x by a number that a compiler may find out are replaced, too.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.nodes import Statement
from ...ir.statements import ArgLoad, Cast, Const, GlobalLoad, MatrixInit, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, element_of, i64, u64
from ..context import PassContext
from ..rewrite import surround

COUNT = 31


def wide_shifts(kernel: Kernel, context: PassContext) -> bool:
    """Rename the left shifts of 64-bit integers that are, or may become, shifts by 31 bits."""
    if not context.capabilities.miscompiles_integers or context.scalars(kernel).isdisjoint((i64, u64)):
        return False
    found = False

    def replace(builder: Builder, statement: Statement) -> None:
        nonlocal found
        if isinstance(statement, Operation) and _is_wide(statement):
            found |= _replace(builder, statement)

    for root in kernel.roots():
        surround(root, before=replace)
    return found


def _replace(builder: Builder, statement: Operation) -> bool:
    """Make a shift one of words, in place; return whether it is one now."""
    value = _by_31(statement)
    if value is not None:
        assert statement.type is not None
        count = builder.const(COUNT, element_of(statement.type))
        statement.op, statement.operands = "wide_shl", [value, count]
    elif _is_by_any(statement):
        statement.op = "wide_shl"
    return statement.op == "wide_shl"


def _is_wide(operation: Operation) -> bool:
    """Return whether a value is an integer of 64 bits, or a tensor of these."""
    if operation.type is None:
        return False
    scalar = element_of(operation.type)
    return scalar.kind in ("int", "uint") and scalar.bits == 64


def _by_31(operation: Operation) -> Statement | None:
    """Return x of x * 2**31 by one shift or product, or by several; None for others."""
    value: Statement = operation
    bits = 0
    while isinstance(value, Operation) and (step := _step(value)) is not None and bits < COUNT:
        value, bits = step[0], bits + step[1]
    return value if bits == COUNT and value.type == operation.type else None


def _step(operation: Operation) -> tuple[Statement, int] | None:
    """Return x and n of `x << n` and of `x * 2**n`, None for all other operations."""
    if operation.op == "wide_shl" or operation.op == "shl":
        value, count = operation.operands
        bits = _number(count)
        return None if bits is None else (value, bits % 64)
    if operation.op == "mul":
        for value, factor in (operation.operands, operation.operands[::-1]):
            number = _number(factor)
            if number is not None and number > 0 and number & (number - 1) == 0:
                return value, number.bit_length() - 1
    return None


def _number(value: Statement) -> int | None:
    """Return the number that a value is, or that all elements of a tensor are; None for others."""
    parts = value.elements if isinstance(value, MatrixInit) else [value]
    numbers = {int(part.value) if isinstance(part, Const) else None for part in parts}
    return numbers.pop() if len(numbers) == 1 else None


def _is_by_any(operation: Operation) -> bool:
    """Return whether a value is a shift by a variable number, and a compiler may find out that it is by 31."""
    if operation.op != "shl":
        return False
    value, count = operation.operands
    return _number(count) is None and _may_be_found(count) and _may_be_narrow(value)


def _may_be_found(count: Statement) -> bool:
    """Return whether a number may be a constant to a compiler, as an index of an unrolled loop; not what is read."""
    if isinstance(count, (ArgLoad, GlobalLoad)):
        return False
    if isinstance(count, Cast):
        return _may_be_found(count.value)
    if isinstance(count, Operation):
        return all(_may_be_found(operand) for operand in count.operands)
    return True


def _may_be_narrow(value: Statement) -> bool:
    """Return whether a number of 64 bits may have been a signed one of fewer, as far as a compiler sees."""
    if isinstance(value, (ArgLoad, GlobalLoad, Const)):
        return False
    if isinstance(value, Cast):
        kind = value.value.type
        if not isinstance(kind, Scalar) or kind.kind != "int":
            return False
        return kind.bits < 64 or _may_be_narrow(value.value)
    if isinstance(value, Operation):
        return any(_may_be_narrow(operand) for operand in value.operands)
    return True
