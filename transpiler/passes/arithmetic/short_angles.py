"""Takes sines and cosines in loops by functions without code for large angles, where that code costs time (CUDA).

    for o in 0 .. 6 { s += sin(x) }    ->    for o in 0 .. 6 { s += short_sin(x) }

`sinf` reduces large angles by a long product, for which it needs registers and a branch in any case. `short_sin` is
within 2 ulp below 8,192. Above, where neighbouring numbers are .001 apart and more, it is one instruction, whose
result is the sine of a number within 2 ulp of x. Noise of six octaves, whose hash takes the sine of up to 480,000,
took an H200 .343 ms before, .077 ms after, and .099 ms with a reduction of large angles. Only with `fast_math`, and
in loops and in functions that they call: nothing else waits for arithmetic.
"""

from __future__ import annotations

from ...ir.functions import in_loops
from ...ir.nodes import walk
from ...ir.statements import Operation, RangeFor, While
from ...ir.tasks import Kernel
from ...ir.types import f32
from ..context import PassContext

SHORT = {"sin": "short_sin", "cos": "short_cos"}


def short_angles(kernel: Kernel, context: PassContext) -> bool:
    """Replace sines and cosines of f32 in loops."""
    if not context.capabilities.slow_angles or not context.options.fast_math:
        return False
    changed = False
    for body in in_loops(kernel.roots(), lambda statement: isinstance(statement, (RangeFor, While))):
        for statement in walk(body):
            if isinstance(statement, Operation) and statement.op in SHORT and statement.type == f32:
                statement.op = SHORT[statement.op]
                changed = True
    return changed
