"""Lets the target's compiler unroll innermost serial loops in part, if the option `unroll` says so.

    for k in 0..n    ->    for k in 0..n unroll 4    (CUDA C: #pragma unroll 4)

Compilers guess how often a loop runs; `kernel.tune` measures what a guess costs.
"""

from __future__ import annotations

from ...ir.constants import constant_range
from ...ir.nodes import walk
from ...ir.statements import RangeFor, repeats
from ...ir.tasks import Kernel
from ..context import PassContext

FEW = 32
"""The most iterations of a loop of known length that compilers unroll by themselves."""


def unroll_loops(kernel: Kernel, context: PassContext) -> bool:
    """Mark innermost serial loops that have no hint, unless they have few iterations."""
    count = context.options.unroll
    changed = False
    for root in kernel.roots() if count else ():
        for loop in walk(root):
            if isinstance(loop, RangeFor) and not (loop.unroll or loop.unroll_count) and _is_long(loop):
                if not any(repeats(inner) for inner in walk(loop.body)):
                    loop.unroll_count, changed = count, True
    return changed


def _is_long(loop: RangeFor) -> bool:
    indices = constant_range(loop)
    return len(loop.starts) == 1 and (indices is None or len(indices) > FEW)
