"""Writes sums and products of derivatives as a person would: signs and powers of two in front, where they cancel.

    x_adj += -(2 * (0.5 * (g / r) / r) * d)        ->    x_adj -= g / r / r * d
    x_adj += g * 2 - (g * 0.1) * 4                 ->    (unchanged: 0.1 is no power of two)
    sum(g * v)                                     ->    dot(g, v)
    x_adj += g * (a * x) + g * x * a               ->    x_adj += 2 * (g * (a * x))

The rules of derivatives make such factors, one each; what the user has written stays as it is. A sign in front of a
product is exact. So is a power of two, unless a product comes near the largest or smallest number, and `fast_math`
allows that.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from ...ir.nodes import Statement, operands, walk_blocks
from ...ir.statements import Const, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, Type, element_of, f32, f64
from ..context import PassContext
from ..rewrite import Rewriter

PRODUCTS = frozenset({"mul", "div"})


class _Factored(NamedTuple):
    """A value as `sign * 2**exponent * core`; core: None for 1."""

    sign: int
    exponent: int
    core: Statement | None


def tidy_adjoints(kernel: Kernel, context: PassContext) -> bool:
    """Move signs and powers of two out of products in derivatives."""
    values = list(kernel.statements())
    if not any(isinstance(value, Operation) and value.location.is_derivative for value in values):
        return False
    uses = Counter(operand for value in values for operand in operands(value))
    uses.update(block.result for root in kernel.roots() for block in walk_blocks(root) if block.result is not None)
    return _Tidier(uses, context.options.fast_math).run(kernel)


class _Tidier(Rewriter):
    """uses: how often each value is an operand. factored: what is known of values with one user.

    own: operations that this pass has made.
    """

    def __init__(self, uses: Counter[Statement], fast_math: bool) -> None:
        super().__init__({Operation: _operation})
        self.uses, self.fast_math = uses, fast_math
        self.factored: dict[Statement, _Factored] = {}
        self.own: set[Statement] = set()

    def of(self, value: Statement) -> _Factored:
        """Return a value, as far as no other statement needs it as it is."""
        known = self.factored.get(value)
        if known is not None:
            return known
        if isinstance(value, Const) and self.fast_math and _is_plain(value):
            mantissa, exponent = math.frexp(value.value)
            if abs(mantissa) == 0.5:
                return _Factored(1 if mantissa > 0 else -1, exponent - 1, None)
        if isinstance(value, Operation) and value.op == "mul" and self.uses[value] == 1 and value.name is None:
            for number, other in (value.operands, value.operands[::-1]):  # `0.5 * k` of the user, computed again here
                scale = self.of(number) if isinstance(number, Const) else None
                if scale is not None and scale.core is None and scale.exponent and other.type == value.type:
                    return _Factored(scale.sign, scale.exponent, other)
        return _Factored(1, 0, value)

    def make(self, operation: Operation, sign: int, exponent: int, core: Statement) -> Statement:
        """Emit `sign * 2**exponent * core` in place of an operation."""
        result = self.scaled(sign, exponent, core, operation) if exponent or sign < 0 else core
        if self.uses[operation] == 1 and operation.name is None:
            self.factored[result] = _Factored(sign, exponent, core)
        return result

    def scaled(self, sign: int, exponent: int, value: Statement, operation: Operation) -> Statement:
        """Emit a value with a factor in front of its first one: `2 * a * b`, not `2 * (a * b)`."""
        assert value.type is not None
        is_free = value in self.own or (value.location.is_derivative and self.uses[value] <= 1)
        if isinstance(value, Operation) and value.op in PRODUCTS and value.name is None and is_free:
            first = self.scaled(sign, exponent, value.operands[0], operation)
            return self.emit(Operation(value.op, [first, value.operands[1]], type=value.type), operation)
        if not exponent:
            return self.emit(Operation("neg", [value], type=value.type), operation)
        scale = self.emit(Const(math.ldexp(float(sign), exponent), type=element_of(value.type)), operation)
        return self.emit(Operation("mul", [scale, value], type=value.type), operation)

    def emit_operation(self, name: str, parts: list[Statement], operation: Operation) -> Statement:
        """Emit an operation of the type of another in place of it."""
        made = self.emit(Operation(name, parts, type=operation.type), operation)
        self.own.add(made)
        return made


def _operation(rewriter: Rewriter, operation: Statement) -> Statement | None:
    assert isinstance(operation, Operation) and isinstance(rewriter, _Tidier)
    if not operation.location.is_derivative or not _is_float(operation.type):
        return None
    if operation.op == "neg":
        sign, exponent, core = rewriter.of(operation.operands[0])
        if core is None:
            return None
        if core is operation.operands[0]:
            _record(rewriter, operation, _Factored(-1, 0, core))
            return None
        return rewriter.make(operation, -sign, exponent, core)
    if operation.op in PRODUCTS:
        return _product(rewriter, operation)
    if operation.op in ("add", "sub"):
        return _sum(rewriter, operation)
    if operation.op == "sum":
        (value,) = operation.operands
        if isinstance(value, Operation) and value.op == "mul" and _are_vectors(value) and rewriter.uses[value] <= 1:
            return rewriter.emit_operation("dot", [*value.operands], operation)
    return None


def _record(rewriter: _Tidier, operation: Operation, factored: _Factored) -> None:
    if rewriter.uses[operation] == 1 and operation.name is None:
        rewriter.factored[operation] = factored


def _product(rewriter: _Tidier, operation: Operation) -> Statement | None:
    """Return a product or quotient of the cores, with one sign and one power of two in front."""
    a, b = map(rewriter.of, operation.operands)
    is_quotient = operation.op == "div"
    sign, exponent = a.sign * b.sign, a.exponent - b.exponent if is_quotient else a.exponent + b.exponent
    if is_quotient and a.core is None:
        return None
    core: Statement
    if b.core is None or a.core is None:
        found = a.core or b.core
        if found is None or found.type != operation.type:
            return None
        core = found
    elif [a.core, b.core] == operation.operands:
        return None
    else:
        core = rewriter.emit_operation(operation.op, [a.core, b.core], operation)
    if core in operation.operands and (sign < 0) + bool(exponent) == 1 and exponent >= 0:  # `2 * x` is that already
        _record(rewriter, operation, _Factored(sign, exponent, core))
        if operation.operands[0] is not core or is_quotient:
            return None
    return rewriter.make(operation, sign, exponent, core)


def _sum(rewriter: _Tidier, operation: Operation) -> Statement | None:
    """Return a sum in which signs are operators, and which is one product if both terms are."""
    first, second = operation.operands
    a, b = rewriter.of(first), rewriter.of(second)
    if a.core is None or b.core is None:
        return None
    sign = b.sign if operation.op == "add" else -b.sign
    if rewriter.fast_math and (a.sign, a.exponent) == (sign, b.exponent) and first is not second:
        factors = _factors(a.core)
        if len(factors) > 1 and Counter(factors) == Counter(_factors(b.core)):
            return rewriter.make(operation, sign, a.exponent + 1, a.core)
    if a.sign > 0 and b.sign > 0:
        return None
    plain_a = _without_sign(rewriter, operation, first, a)
    plain_b = _without_sign(rewriter, operation, second, b)
    if a.sign > 0:
        return rewriter.emit_operation("add" if sign > 0 else "sub", [plain_a, plain_b], operation)
    if sign > 0:
        return rewriter.emit_operation("sub", [plain_b, plain_a], operation)
    total = rewriter.emit_operation("add", [plain_a, plain_b], operation)
    return rewriter.make(operation, -1, 0, total)


def _without_sign(rewriter: _Tidier, operation: Operation, value: Statement, factored: _Factored) -> Statement:
    """Return the positive form of a term."""
    if factored.sign > 0:
        return value
    assert factored.core is not None
    return rewriter.scaled(1, factored.exponent, factored.core, operation) if factored.exponent else factored.core


def _factors(value: Statement) -> list[Statement]:
    """Return the factors of a product."""
    if isinstance(value, Operation) and value.op == "mul" and value.name is None:
        return [factor for operand in value.operands for factor in _factors(operand)]
    return [value]


def _is_plain(number: Const) -> bool:
    """Return whether a number has no name in Python, and has a logarithm."""
    is_named = number.origin is not None
    return isinstance(number.type, Scalar) and not is_named and bool(number.value) and math.isfinite(number.value)


def _is_float(kind: Type | None) -> bool:
    return isinstance(kind, (Scalar, Tensor)) and element_of(kind) in (f32, f64)


def _are_vectors(product: Operation) -> bool:
    kinds = [operand.type for operand in product.operands]
    return kinds[0] == kinds[1] and isinstance(kinds[0], Tensor) and len(kinds[0].shape) == 1
