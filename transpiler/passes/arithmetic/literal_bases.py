"""Takes powers of 2, 10 and some powers of 2 by functions for these bases, on GPUs.

    $1 = pow 10, $x     ->    $1 = exp10 $x         (CUDA C: `exp10f`; GLSL: `pow` without tests of its base)
    $1 = pow 2, $x      ->    $1 = exp2 $x
    $1 = pow 0.5, $x    ->    $2 = mul $x, -1
                              $1 = exp2 $2

`powf` takes 65 instructions, `exp10f` 23 and `exp2f` 17, with smaller errors. The bases are 2 to a power of 2, as 4,
16, 0.5 and 0.25, for which the product is exact; 3 * x for a base of 8 is not, and its error would grow with x. Only
with `fast_math`. 2^23 sums of two such powers took an H200 .024 ms before; .018 ms is what two exponentials take.
"""

from __future__ import annotations

import math

from ...ir.nodes import Statement
from ...ir.statements import Const, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar
from ..context import PassContext
from ..rewrite import Rewriter


def literal_bases(kernel: Kernel, context: PassContext) -> bool:
    """Replace powers of floats with such bases."""
    if not context.capabilities.slow_powers or not context.options.fast_math:
        return False
    return Rewriter({Operation: _exponential}).run(kernel)


def _exponential(rewriter: Rewriter, power: Statement) -> Statement | None:
    assert isinstance(power, Operation)
    if power.op != "pow" or not isinstance(power.type, Scalar) or not power.type.is_float:
        return None
    base, exponent = power.operands
    if not isinstance(base, Const) or exponent.type != power.type:
        return None
    if base.value == 10:
        return rewriter.emit(Operation("exp10", [exponent], type=power.type), power)
    factor = exact_factor(float(base.value))
    if factor is None:
        return None
    builder = rewriter.builder(power)
    if factor == -1:
        exponent = builder.op("neg", exponent)
    elif factor != 1:
        exponent = builder.op("mul", exponent, builder.const(factor, power.type))
    return rewriter.emit(Operation("exp2", [exponent], type=power.type), power)


def exact_factor(base: float) -> int | None:
    """Return by what power of 2 an exponent is multiplied if it becomes one of 2; None if there is none."""
    if not base > 0 or math.isinf(base):
        return None
    mantissa, exponent = math.frexp(base)
    factor = exponent - 1
    return factor if mantissa == 0.5 and factor and abs(factor) & (abs(factor) - 1) == 0 else None
