"""Scalar evolution: replaces loops that only scale and shift local variables by what they leave, with `fast_math`.

    for _ in range(256) {
        a = a * 0.999 + 0.5                    a = a * 0.774 + 113.0
        b = b + 0.25                   ->      b = b + 64.0
    }

`v = A v + B` after itself is such a step again, so n of them are one, which rounds once. Variables may not grow
(|A| <= 1): else errors of the constants would, too, where each step is exact (2 v - 2 of 2). Nor may A come near the
smallest numbers. A loop that does anything else stays: it would run all iterations in any case.
"""

from __future__ import annotations

import numpy as np

from ...errors import SourceLocation
from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, blocks
from ...ir.statements import Alloca, Const, LocalLoad, LocalStore, Operation, RangeFor, repeats
from ...ir.tasks import Kernel
from ...ir.types import Scalar, f32, f64
from ..analysis.queries import trip_count
from ..context import PassContext

LEAST, MOST = 2.0**-60, 2.0**60
"""Bounds of the factors and terms of all iterations together."""

Step = tuple[float, float, SourceLocation]
"""Factor and term of a variable, and where it is stored."""
Affine = tuple[Alloca | None, float, float]
"""`factor * variable + term`; no variable: a number."""


def fold_recurrences(kernel: Kernel, context: PassContext) -> bool:
    """Replace these loops in all blocks."""
    if not context.options.fast_math or context.capabilities.is_reference:  # the interpreter rounds as Python
        return False
    changed = [_in_block(root) for root in kernel.roots()]
    return any(changed)


def _in_block(block: Block) -> bool:
    if not [statement for statement in block.statements if statement.BLOCKS]:
        return False  # most
    changed = False
    result: list[Statement] = []
    for statement in block.statements:
        for inner in blocks(statement) if statement.BLOCKS else ():
            changed |= _in_block(inner)
        steps = _steps(statement) if isinstance(statement, RangeFor) and repeats(statement) else None
        if isinstance(statement, RangeFor) and steps:
            result += _folded(statement, steps)
            changed = True
        else:
            result.append(statement)
    block.statements = result
    return changed


def _folded(loop: RangeFor, steps: dict[Alloca, Step]) -> list[Statement]:
    """Return the statements that do what all iterations do."""
    out = Builder(Block(), loop.location)
    for variable, (factor, term, out.location) in steps.items():
        assert isinstance(variable.type, Scalar)
        value: Statement = out.load(variable)
        if factor != 1.0:
            value = out.op("mul", value, out.const(factor, variable.type))
        if term != 0.0:
            value = out.op("add", value, out.const(term, variable.type))
        out.store(variable, value)
        out.block.statements[-1].remarks = (Remark(f"{_count(loop)} iterations at once (fold_recurrences)"),)
    return out.block.statements


def _count(loop: RangeFor) -> int:
    """Return the trip count of a loop over one axis with constant bounds, 0 for others."""
    return (trip_count(loop) or 0) if len(loop.starts) == 1 else 0


def _steps(loop: RangeFor) -> dict[Alloca, Step] | None:
    """Return factor and term of each variable after all iterations; None if the loop is of another kind."""
    count = _count(loop)
    if count < 2:
        return None
    known: dict[Statement, Affine] = {}
    steps: dict[Alloca, Step] = {}
    for statement in loop.body.statements:
        match statement:
            case Const() if not isinstance(statement.value, bool):
                continue
            case LocalLoad(pointer=Alloca(type=type) as variable) if type in (f32, f64) and variable not in steps:
                known[statement] = (variable, 1.0, 0.0)
            case Operation(op=op, operands=values) if statement.type in (f32, f64):
                parts = [part for value in values if (part := _part(value, known, statement.type)) is not None]
                combined = _combine(op, parts) if len(parts) == len(values) else None
                if combined is None:
                    return None
                known[statement] = combined
            case LocalStore(pointer=Alloca() as variable, value=value) if variable not in steps:
                own, factor, term = known.get(value, (None, 0.0, 0.0))
                if own is not variable or abs(factor) > 1.0 or variable.type != value.type:
                    return None
                steps[variable] = (*_repeated(factor, term, count), statement.location)
            case _:
                return None
    is_normal = all(abs(factor) >= LEAST and abs(term) <= MOST for factor, term, _ in steps.values())
    return steps if is_normal else None


def _part(value: Statement, known: dict[Statement, Affine], type: object) -> Affine | None:
    if isinstance(value, Const) and value.type == type and not isinstance(value.value, bool):
        return None, 0.0, float(np.float32(value.value) if type == f32 else value.value)
    return known.get(value)


def _combine(op: str, parts: list[Affine]) -> Affine | None:
    """Return a result of an operation on such values, None if it is none."""
    match op, parts:
        case "neg", [(variable, factor, term)]:
            return variable, -factor, -term
        case "add" | "sub", [(first, a, b), (second, c, d)] if first is second or None in (first, second):
            sign = -1.0 if op == "sub" else 1.0
            return first or second, a + sign * c, b + sign * d
        case "mul", [(first, a, b), (None, _, number)]:
            return first, a * number, b * number
        case "mul", [(None, _, number), (second, c, d)]:
            return second, c * number, d * number
        case _:
            return None


def _repeated(factor: float, term: float, count: int) -> tuple[float, float]:
    """Return factor and term of a step that is done `count` times."""
    all_factor, all_term = 1.0, 0.0
    while count:
        if count & 1:
            all_factor, all_term = factor * all_factor, factor * all_term + term
        factor, term = factor * factor, factor * term + term
        count >>= 1
    return all_factor, all_term
