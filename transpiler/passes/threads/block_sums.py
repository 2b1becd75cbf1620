"""Lets each block of threads add to its own copy of a small array, in shared memory.

    for i in x { atomic add h[x[i]], 1 }    ->    each block: h_copy = 0; for its i { atomic add h_copy[x[i]], 1 }
                                                              atomic add h[k], h_copy[k]   (for all k)

Where all threads of a GPU add to few addresses, they wait for each other: a histogram of 2^27 numbers in 256 bins took
an H200 17 to 35 ms. The statements stay, and have another memory. An array qualifies as for `private_sums`. Of a copy
only what is not 0 is added, so that there are never more additions to the array than before.
"""

from __future__ import annotations

from math import prod

from ...ir.functions import reachable
from ...ir.nodes import Remark
from ...ir.statements import RECORDS, Array
from ...ir.tasks import Kernel
from ...ir.types import Scalar, f32, i32, u32
from ...options import CompileOptions
from ..context import PassContext
from .private_sums import is_short, scattered

MOST_BYTES = 8192
"""Of the copies of a block: so many of them that all threads of an SM still run at once."""
FEWEST_ITERATIONS = 1 << 14
"""Of a loop that is worth copies, if their number is known: fewer keep no GPU busy."""
INTEGERS = (i32, u32)
BLOCK, FLOAT_BLOCK = 1024, 256
"""Threads of a block that has copies, if the user names no number. Each block adds its own to the array in the end, and
of larger ones there are fewer: a histogram of 2^27 integers in 256 bins took an H200 .180 ms in blocks of 128 threads,
.152 of 256, .128 of 1024. Floats wait for each other within a block: .352, .342, .412."""


def block_sums(kernel: Kernel, context: PassContext) -> bool:
    """Find the arrays of which each block of a GPU has a copy."""
    capabilities, options = context.capabilities, context.options
    if capabilities.blocks_as_loops or capabilities.blocks_in_lockstep or not options.make_block_local:
        return False
    if any(isinstance(s, RECORDS) for root in kernel.roots() for s in reachable(root)):
        return False  # a failed check ends a thread before it comes to the barrier
    for task in kernel.tasks:
        if is_short(task, FEWEST_ITERATIONS):
            continue
        found = {array: atomics for array, atomics in scattered(task).items() if _is_suitable(array, context)}
        if found and sum(prod(array.shape or ()) * array.element.size_bytes for array in found) <= MOST_BYTES:
            task.block_sums = list(found)
            if task.loop and task.loop.block_dim is None and options.block_dim == CompileOptions().block_dim:
                has_floats = any(array.element == f32 for array in found)
                task.block_dim = min(FLOAT_BLOCK if has_floats else BLOCK, capabilities.max_block_dim)
            remark = Remark("to the block's copy (block_sums)")
            for atomic in (atomic for atomics in found.values() for atomic in atomics if options.why_comments):
                atomic.remarks = (*atomic.remarks, remark)
    return any(task.block_sums for task in kernel.tasks)


def _is_suitable(array: Array, context: PassContext) -> bool:
    """Return whether shared memory has additions of an array's numbers."""
    element = array.element
    is_native = element in INTEGERS or (isinstance(element, Scalar) and element == f32 and _adds_floats(context))
    return is_native and array.ndim > 0 and not array.offset


def _adds_floats(context: PassContext) -> bool:
    add = ("f32", "add")
    return add in context.capabilities.shared_atomics and add in context.capabilities.atomics
