"""Replaces minima and maxima in kernels that negate integers, for drivers that lose the negations.

    $3 = neg $1                    $3 = neg $1
    $4 = max $3, $2         ->     $4 = biased_max $3, $2    (GLSL: a function that inverts the sign bits)

NVIDIA's driver 580.159 makes one instruction of `max(max(a, -b), c)`, which is given b; of comparisons that mean the
same, too. It finds the three operands through variables and loops, so all minima of such a kernel are replaced.
"""

from __future__ import annotations

from ...ir.statements import Operation
from ...ir.tasks import Kernel
from ...ir.types import element_of
from ..context import PassContext

REPLACED = {"min": "biased_min", "max": "biased_max"}


def minima(kernel: Kernel, context: PassContext) -> bool:
    """Rename the minima and maxima of integers in a kernel that negates integers."""
    if not context.capabilities.miscompiles_integers:
        return False
    operations = [s for s in kernel.statements() if isinstance(s, Operation) and _is_integer(s)]
    if not any(operation.op == "neg" for operation in operations):
        return False
    found = [s for s in operations if s.op in REPLACED]
    for operation in found:
        operation.op = REPLACED[operation.op]
    return bool(found)


def _is_integer(operation: Operation) -> bool:
    """Return whether a value is an integer of up to 32 bits, or a tensor of these."""
    if operation.type is None:
        return False
    scalar = element_of(operation.type)
    return scalar.kind in ("int", "uint") and scalar.bits <= 32
