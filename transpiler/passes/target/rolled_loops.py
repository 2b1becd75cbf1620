"""Marks long serial loops as loops that stay loops, for compilers that unroll what they can count.

    for k in 0 to 256 { ... }        ->    [[dont_unroll]] for (int k = 0; k < 256; k++) { ... }
    while z < 4 and it < 256 { ... } ->    [[dont_unroll]] while (z < 4.0 && it < 256) { ... }

NVIDIA's Vulkan driver (580) unrolls loops up to a limit that it knows, also one that is only part of a condition. The
copies leave the instruction cache: a Julia set of 256 steps took 1.44 ms for .31 on an H200. Short loops of constant
length are left to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.nodes import Block, walk
from ...ir.statements import Const, RangeFor, While
from ...ir.tasks import Kernel
from ..context import PassContext

LONGEST_UNROLLED = 32
"""Iterations of a loop that a compiler may unroll: as many as for one that Python unrolls without a warning."""


def rolled_loops(kernel: Kernel, context: PassContext) -> bool:
    """Mark the serial loops that have many iterations, or an unknown number of them."""
    if not context.capabilities.unrolls_long_loops:
        return False
    found = [loop for root in kernel.roots() for loop in _long_loops(root)]
    for loop in found:
        loop.stays_rolled = True
    return bool(found)


def _long_loops(root: Block) -> Iterator[RangeFor | While]:
    for statement in walk(root):
        is_long = isinstance(statement, RangeFor) and not statement.unroll and _may_be_long(statement)
        if isinstance(statement, (RangeFor, While)) and (is_long or isinstance(statement, While)):
            yield statement


def _may_be_long(loop: RangeFor) -> bool:
    count = 1
    for start, end, step in zip(loop.starts, loop.ends, loop.steps, strict=True):
        if not (isinstance(start, Const) and isinstance(end, Const) and isinstance(step, Const)):
            return True
        count *= len(range(int(start.value), int(end.value), int(step.value)))
    return count > LONGEST_UNROLLED
