"""Takes sines, cosines and `atan2` in loops by functions without code for large angles, and without calls (CUDA).

    for o in 0 .. 6 { s += sin(x) }       ->    for o in 0 .. 6 { s += short_sin(x) }
    for k in 0 .. 8 { c = cos(a)          ->    for k in 0 .. 8 { c = paired_cos(a)
                      s = sin(a) }                                s = paired_sin(a) }

`sinf` reduces large angles by a long product, for which it needs registers and a branch in any case. `short_sin` is
within 2 ulp below 8,192. Above, where neighbouring numbers are .001 apart and more, it is one instruction, whose
result is the sine of a number within 2 ulp of x. Noise of six octaves, whose hash takes the sine of up to 480,000,
took an H200 .343 ms before, .077 ms after, and .099 ms with a reduction of large angles. Only with `fast_math`, and
in loops and in functions that they call: nothing else waits for arithmetic.

A sine and a cosine of one angle in one block share the reduction and both polynomials: 25 instructions, in place of 31.
Arms of eight joints took an H200 .071 ms before and .056 after.

`atan2f` divides by a call, for which what is in registers goes to local memory; `short_atan2` is within 2 ulp. 16 of
them in each of 2^20 windows took .039 ms before, and .024 ms with a polynomial by hand.
"""

from __future__ import annotations

from collections import defaultdict

from ...ir.functions import in_loops
from ...ir.nodes import Block, Effect, Statement, has_effect, walk, walk_blocks
from ...ir.statements import Alloca, LocalLoad, Operation, RangeFor, While
from ...ir.tasks import Kernel
from ...ir.types import f32
from ..context import PassContext

FUNCTIONS = ("sin", "cos")


def short_angles(kernel: Kernel, context: PassContext) -> bool:
    """Replace sines, cosines and `atan2` of f32 in loops."""
    if not context.capabilities.slow_angles or not context.options.fast_math:
        return False
    changed = False
    for body in in_loops(kernel.roots(), lambda statement: isinstance(statement, (RangeFor, While))):
        for block in walk_blocks(body):
            for functions in _by_angle(block):
                kind = "paired" if len({function.op for function in functions}) > 1 else "short"
                for function in functions:
                    function.op = f"{kind}_{function.op}"
                changed = True
        for statement in walk(body):
            if isinstance(statement, Operation) and statement.op == "atan2" and statement.type == f32:
                statement.op = "short_atan2"
                changed = True
    return changed


def _by_angle(block: Block) -> list[list[Operation]]:
    """Return the sines and cosines of a block, those of one angle together: of two loads without a store between."""
    found: dict[object, list[Operation]] = defaultdict(list)
    loaded: dict[Statement, object] = {}
    stores = 0
    for statement in block:
        if isinstance(statement, LocalLoad) and isinstance(statement.pointer, Alloca):
            loaded[statement] = (statement.pointer, stores)
        elif isinstance(statement, Operation) and statement.op in FUNCTIONS and statement.type == f32:
            angle = statement.operands[0]
            found[loaded.get(angle, angle)].append(statement)
        elif has_effect(statement, Effect.WRITE):
            stores += 1
    return list(found.values())
