"""Strength reduction: two numbers of a block that are divided by the same one are multiplied by its reciprocal, in C.

    $3 = div $x, $s              $2 = div 1.0, $s
    $4 = div $y, $s     ->       $3 = mul $x, $2
                                 $4 = mul $y, $2

gcc 12 does so with three divisions and more, LLVM from two on: a quotient takes a processor as long as five products.
With `fast_math` only, as in `reciprocals`. What a program rounds or compares then, as the number of a cell, stays a
quotient, since the product may be the next lower number.
"""

from __future__ import annotations

from collections import defaultdict

from ...ir.builder import Builder
from ...ir.nodes import Block, Statement, users_of
from ...ir.statements import Cast, Const, MatrixElement, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, f32, f64
from ..context import PassContext

PAIR = 2
"""The divisions by one number that gcc leaves as they are."""
EXACT = frozenset({"floor", "ceil", "round", "mod", "raw_mod", "floordiv", "eq", "ne", "lt", "le", "gt", "ge"})
"""Operations whose result may change a lot if an operand changes by its last digit."""


def paired_divisors(kernel: Kernel, context: PassContext) -> bool:
    """Replace pairs of quotients by products."""
    if not context.options.fast_math or not context.capabilities.vectorizes_loops:
        return False
    changed = False
    for block in context.blocks(kernel):
        quotients = [s for s in block.statements if isinstance(s, Operation) and _is_quotient(s)]
        if sum(map(_numbers, quotients)) >= PAIR:
            changed |= _in_block(block, quotients, context.fact(_rounded, kernel))
    return changed


def _in_block(block: Block, quotients: list[Operation], rounded: set[Statement]) -> bool:
    """Replace the pairs of a block."""
    by_divisor: dict[Statement, list[Operation]] = defaultdict(list)
    for quotient in quotients:
        by_divisor[quotient.operands[1]].append(quotient)
    found = [g for g in by_divisor.values() if sum(map(_numbers, g)) == PAIR and rounded.isdisjoint(g)]
    for first, *others in found:
        divisor = first.operands[1]
        if _is_one(first.operands[0]):
            reciprocal: Statement = first
        else:
            builder = Builder(Block(), first.location)
            assert isinstance(divisor.type, Scalar)
            reciprocal = builder.op("div", builder.const(1.0, divisor.type), divisor)
            if others:
                reciprocal.name = f"inverse_{divisor.name}" if divisor.name else "inverse"
            block.insert_before(first, builder.block)
            others = [first, *others]
        for quotient in others:
            quotient.op, quotient.operands = "mul", [quotient.operands[0], reciprocal]
    return bool(found)


def _is_quotient(operation: Operation) -> bool:
    """Return whether an operation divides one or two floats by one that the compiler does not know."""
    if operation.op != "div" or isinstance(operation.operands[1], Const):
        return False
    return operation.operands[1].type in (f32, f64) and _numbers(operation) <= PAIR


def _numbers(quotient: Operation) -> int:
    """Return how many numbers are divided."""
    return quotient.type.size if isinstance(quotient.type, Tensor) else 1


def _is_one(value: Statement) -> bool:
    """Return whether a value is the number 1."""
    return isinstance(value, Const) and isinstance(value.type, Scalar) and value.value == 1


def _rounded(kernel: Kernel) -> set[Statement]:
    """Return the values that some statement rounds or compares, as a whole or by elements."""
    users = users_of(kernel.statements())
    found = {value for value, using in users.items() if any(map(_rounds, using))}
    return found | {s.value for s in found if isinstance(s, MatrixElement)}


def _rounds(statement: Statement) -> bool:
    """Return whether a small difference may change the result of a statement much."""
    if isinstance(statement, Cast):
        kind = statement.type.element if isinstance(statement.type, Tensor) else statement.type
        return isinstance(kind, Scalar) and kind.kind != "float"
    return isinstance(statement, Operation) and statement.op in EXACT
