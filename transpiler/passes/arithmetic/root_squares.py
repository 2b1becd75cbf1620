"""Multiplies a square root by itself in a function, for a driver that takes the number under the root for the product.

    $2 = sqrt $1                    $2 = sqrt $1
    $3 = mul $2, $2        ->       $3 = root_square $2        (GLSL: `precise float square = x * x;`)

With `fast_math` a quotient of two equal numbers may be 1.0000001. Its root is 1, but NVIDIA's Vulkan driver 580 makes
`1 - c * c` of it, with the root in `c`, a negative number, whose root is none: a sine from a cosine, as sampling a
lobe of reflected light has it, was not a number for 83 of 128 samples.
"""

from __future__ import annotations

from ...ir.nodes import Statement
from ...ir.statements import MatrixInit, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, element_of, f32
from ..context import PassContext

ROOTS = frozenset({"sqrt", "norm"})


def root_squares(kernel: Kernel, context: PassContext) -> bool:
    """Replace such products for that driver."""
    if not context.capabilities.skips_roundings or not context.options.fast_math:
        return False
    found = [s for s in kernel.statements() if isinstance(s, Operation) and _is_square(s)]
    for product in found:
        product.op, product.operands = "root_square", product.operands[:1]
    return bool(found)


def _is_square(product: Operation) -> bool:
    if product.op != "mul" or product.operands[0] is not product.operands[1]:
        return False
    if not isinstance(product.type, (Scalar, Tensor)) or element_of(product.type) != f32:
        return False
    return _is_root(product.operands[0])


def _is_root(value: Statement) -> bool:
    """Return whether a value is a square root, or a vector with one."""
    if isinstance(value, MatrixInit):
        return any(map(_is_root, value.elements))
    return isinstance(value, Operation) and value.op in ROOTS
