"""Strength reduction: divides by what no iteration of a serial loop changes through a reciprocal before the loop.

    for j {                                $3 = div 1.0, $s
        $2 = div $x, $s        ->          for j {
    }                                          $2 = mul $x, $3
                                           }

A quotient of f32 takes eight instructions in CUDA, one of f64 thirty, and NVRTC moves neither out of a loop, since the
dividend changes. With `fast_math` only: the reciprocal is within one unit in the last place, and the product rounds
once more. Beyond 2^126 a divisor has a reciprocal of fewer digits, and below 2^-128 an infinite one.
"""

from __future__ import annotations

from collections.abc import Collection

from ...ir.builder import Builder
from ...ir.nodes import Block, Effect, Remark, Statement, clone, operands, walk_blocks, walk_inside
from ...ir.statements import ArgLoad, ArrayShape, Cast, Const, LoopIndex, MatrixElement, Operation, repeats
from ...ir.tasks import Kernel
from ...ir.threads import ThreadFor
from ...ir.types import Scalar, f32, f64
from ..context import PassContext

REMARK = Remark("the loop multiplies by it (loop_divisors)")
PURE = (ArgLoad, ArrayShape, Cast, Const, LoopIndex, MatrixElement, Operation)
"""Statements of a divisor that may be computed before the loop."""


def loop_divisors(kernel: Kernel, context: PassContext) -> bool:
    """Replace divisions of floats by numbers that a loop does not change."""
    capabilities = context.capabilities
    kinds = [f32] * capabilities.slow_divisions + [f64] * capabilities.slow_f64_divisions
    if not context.options.fast_math or not kinds:
        return False
    changed = False
    for root in kernel.roots():
        for block in list(walk_blocks(root)):
            changed |= _in_block(block, kinds)
    return changed


def _in_block(block: Block, kinds: Collection[Scalar]) -> bool:
    """Move the reciprocals of the loops of a block before these."""
    statements: list[Statement] = []
    for statement in block.statements:
        if repeats(statement):
            statements += _reciprocals(statement, kinds)
        statements.append(statement)
    changed = len(statements) > len(block.statements)
    block.statements = statements
    return changed


def _reciprocals(loop: Statement, kinds: Collection[Scalar]) -> list[Statement]:
    """Replace the divisions in a loop, and return what it needs before it."""
    inside = list(walk_inside(loop))
    own = set(inside)
    elsewhere = {s for each in inside if isinstance(each, ThreadFor) for s in walk_inside(each)}
    builder, mapping = Builder(Block(), loop.location), dict[Statement, Statement]()
    inverses: dict[Statement, Statement] = {}
    for division in inside:
        if not isinstance(division, Operation) or not _is_quotient(division, kinds) or division in elsewhere:
            continue
        dividend, divisor = division.operands
        assert isinstance(divisor.type, Scalar)
        if not _is_invariant(divisor, loop, own) or _is_invariant(dividend, loop, own):
            continue
        if divisor not in inverses:
            _copy(divisor, own, mapping, builder)
            value = mapping.get(divisor, divisor)
            inverses[divisor] = builder.op("div", builder.const(1.0, divisor.type), value)
            inverses[divisor].hint = "_".join(["inverse", *_name_of(divisor)])
            inverses[divisor].remarks = (REMARK,)
        division.op, division.operands = "mul", [dividend, inverses[divisor]]
    return builder.block.statements


def _is_quotient(operation: Operation, kinds: Collection[Scalar]) -> bool:
    """Return whether an operation divides a number by one that no compiler knows."""
    if operation.op != "div" or operation.type not in kinds or isinstance(operation.operands[1], Const):
        return False
    return all(operand.type == operation.type for operand in operation.operands)


def _is_invariant(value: Statement, loop: Statement, own: Collection[Statement]) -> bool:
    """Return whether a value is the same in all iterations. own: the statements in the loop."""
    if isinstance(value, LoopIndex):
        return value.loop is not loop and value.loop not in own
    if value not in own:
        return True
    is_pure = isinstance(value, PURE) and value.EFFECT == Effect.NONE
    return is_pure and all(_is_invariant(operand, loop, own) for operand in operands(value))


def _name_of(divisor: Statement) -> list[str]:
    """Return the name of a divisor, or of the only argument that it is made of."""
    if divisor.name:
        return [divisor.name]
    values, found = [divisor], dict[str, None]()
    while values:
        value = values.pop()
        if isinstance(value, ArgLoad):
            found[value.parameter.name] = None
        elif value.name:
            found[value.name] = None
        elif isinstance(value, PURE):
            values += operands(value)
    return [name for name in found if len(found) == 1 and name.isidentifier()]


def _copy(value: Statement, own: Collection[Statement], mapping: dict[Statement, Statement], builder: Builder) -> None:
    """Compute a value of a loop before it."""
    if value in own and value not in mapping:
        for operand in operands(value):
            _copy(operand, own, mapping, builder)
        builder.block.statements.append(clone(value, mapping))
