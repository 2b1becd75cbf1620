"""Occupancy: gives a loop of few long iterations small blocks, so that more multiprocessors of a GPU have a part.

    #define BLOCK 128        ->        #define BLOCK 32  // 4,096 iterations, for more multiprocessors

An H200 has 132 of them: 4,096 iterations in blocks of 128 are 32 blocks. The multiprocessors that have one run four
warps, which wait for one cache and one memory unit. Constraints between the parts of 4,096 ropes took .250 ms, with
blocks of a warp .131; alignments of 2,048 pairs of sequences 1.54 and .62.

Where only the launch knows how many iterations there are, as of ndarrays, CUDA C reads the size of a block:

    index = blockIdx.x * BLOCK + threadIdx.x        ->        index = blockIdx.x * blockDim.x + threadIdx.x

In CUDA each of the threads may have all registers that it can use. ptxas gives as few as let many blocks run
together, which these loops do not have, so that a thread has few loads and roots under way: attention with a query a
thread took .427 ms before, .205 ms after. Loops whose block the program has chosen have them too: 16,384 bodies in
tiles of a `SharedArray` took .345 ms before, .226 ms after. That is for numbers of iterations that are known: more
threads need more blocks. Between 32,768 and 262,144 iterations, bounds of 512 to 2,048 threads changed nothing in 59
programs.
"""

from __future__ import annotations

from ...ir.functions import Call, Function
from ...ir.nodes import Block, blocks
from ...ir.statements import RangeFor, repeats
from ...ir.tasks import Kernel
from ...ir.threads import WARP
from ..analysis.queries import FEW_THREADS, trip_count
from ..context import PassContext
from .parts.free_blocks import has_free_block

LONG = 16
"""The fewest iterations of a serial loop that counts as long."""
THREADS = 256
"""The threads of a multiprocessor, which has 65,536 registers; a thread uses up to 255."""


def few_threads(kernel: Kernel, context: PassContext) -> bool:
    """Choose `Task.block_dim` or `Task.few_block` of such tasks on GPUs, and `Task.threads_of_sm` in CUDA."""
    capabilities, options = context.capabilities, context.options
    if capabilities.subgroup_size is None or not capabilities.has_warps:
        return False
    changed, block = False, max(WARP, capabilities.subgroup_size)
    for task in kernel.tasks:
        if task.loop is None or _iterations(task.body) < LONG:
            continue
        count, is_free = trip_count(task.loop), has_free_block(task, options)
        if is_free and count is None and capabilities.has_blocks_of_launch and not task.reductions:  # they need `BLOCK`
            task.few_block, changed = block, True
        if count is None or count not in FEW_THREADS:
            continue
        if is_free:
            task.block_dim, changed = block, True
            task.block_note = f"{count:,} iterations, for more multiprocessors (few_threads)"
        if capabilities.has_launch_bounds and not task.threads_of_sm:
            task.threads_of_sm, task.bounded_by, changed = max(THREADS, task.block_dim), "few_threads", True
    return changed


def _iterations(block: Block, callers: frozenset[Function] = frozenset()) -> int:
    """Return how many iterations of serial loops a thread runs in a block; `LONG` if nobody knows."""
    most = 0
    for statement in block:
        inside = max([_iterations(inner, callers) for inner in blocks(statement)], default=0)
        if isinstance(statement, Call):
            function = statement.function
            inside = LONG if function in callers else _iterations(function.body, callers | {function})
        elif repeats(statement):
            count = trip_count(statement) if isinstance(statement, RangeFor) else None
            inside = LONG if count is None else count * max(1, inside)
        most = max(most, inside)
    return most
