"""Scans and selections for GPUs: the threads of a block work on a tile, neighbouring threads on neighbouring elements.

All arrays are ndarrays with one axis. The order of the operations is the same in each run, so sums of floats have the
same bits. nothing: an array whose one element changes no other one by the operation.
"""

from ...transpiler.ir.types import i32
from ...transpiler.lang.annotations import ndarray, template
from ...transpiler.lang.decorators import func
from ...transpiler.lang.functions import loop_config, static
from ...transpiler.lang.simt import block
from ..launch.kernel import kernel
from .kernels import add, is_marked

THREADS = 256
STEPS = 8
"""Two to this power are the threads of a block."""


@func
def padded(i: i32):
    """Return where an element of a tile is: after 16 of them one is left out, so that threads use different banks."""
    return i + i // 16


@kernel
def total_of_tiles(
    x: ndarray(), nothing: ndarray(), totals: ndarray(), op: template(), dtype: template(), each: template()
):
    """Combine the elements of each tile, `each` of them by one thread."""
    loop_config(block_dim=THREADS)
    for i in range(totals.shape[0] * THREADS):
        shared = block.SharedArray(THREADS, dtype)
        thread = i % THREADS
        first = i // THREADS * (THREADS * each) + thread
        total = nothing[0]
        for k in range(each):
            if first + k * THREADS < x.shape[0]:
                total = op(total, x[first + k * THREADS])
        shared[thread] = total
        block.sync()
        for step in static(range(STEPS)):
            half = static(THREADS >> step + 1)
            if thread < half:
                shared[thread] = op(shared[thread], shared[thread + half])
            block.sync()
        if thread == 0:
            totals[i // THREADS] = shared[0]


@func
def scan_of_threads(totals: template(), thread: i32, op: template()):
    """Scan the shared array of one element for each thread; all threads of the block call it."""
    for step in static(range(STEPS)):
        distance = static(1 << step)
        total = totals[thread]
        if thread >= distance:
            total = op(totals[thread - distance], total)
        block.sync()
        totals[thread] = total
        block.sync()


@kernel
def scan_tiles(
    x: ndarray(), before: ndarray(), nothing: ndarray(), out: ndarray(),
    op: template(), inclusive: template(), dtype: template(), each: template(),
):  # fmt: skip
    """Scan each tile, beginning at what comes before it. `out` may be `x`. each: elements of one thread."""
    loop_config(block_dim=THREADS)
    for i in range(before.shape[0] * THREADS):
        tile = block.SharedArray(static(THREADS * each // 16 * 17), dtype)
        totals = block.SharedArray(THREADS, dtype)
        thread = i % THREADS
        start = i // THREADS * (THREADS * each)
        for k in range(each):
            j = k * THREADS + thread
            value = nothing[0]
            if start + j < x.shape[0]:
                value = x[start + j]
            tile[padded(j)] = value
        block.sync()
        own = tile[padded(thread * each)]
        for k in range(1, each):
            own = op(own, tile[padded(thread * each + k)])
        totals[thread] = own
        block.sync()
        scan_of_threads(totals, thread, op)
        total = before[i // THREADS]
        if thread > 0:
            total = op(total, totals[thread - 1])
        for k in range(each):
            value = tile[padded(thread * each + k)]
            if static(inclusive):
                total = op(total, value)
                tile[padded(thread * each + k)] = total
            else:
                tile[padded(thread * each + k)] = total
                total = op(total, value)
        block.sync()
        for k in range(each):
            j = k * THREADS + thread
            if start + j < x.shape[0]:
                out[start + j] = tile[padded(j)]


@kernel
def count_marked_of_tiles(
    mask: ndarray(), counts: ndarray(i32, 1), kind: template(), bits: template(), each: template()
):
    """Count the marked elements of each tile, `each` of them by one thread."""
    loop_config(block_dim=THREADS)
    for i in range(counts.shape[0] * THREADS):
        shared = block.SharedArray(THREADS, i32)
        thread = i % THREADS
        first = i // THREADS * (THREADS * each) + thread
        found = 0
        for k in range(each):
            if first + k * THREADS < mask.shape[0]:
                found += is_marked(mask[first + k * THREADS], kind, bits)
        shared[thread] = found
        block.sync()
        for step in static(range(STEPS)):
            half = static(THREADS >> step + 1)
            if thread < half:
                shared[thread] = shared[thread] + shared[thread + half]
            block.sync()
        if thread == 0:
            counts[i // THREADS] = shared[0]


@kernel
def select_of_tiles(
    x: ndarray(), mask: ndarray(), ends: ndarray(i32, 1), out: ndarray(),
    kind: template(), bits: template(), positions: template(), each: template(),
):  # fmt: skip
    """Store marked elements of `x`, or their positions, one after the other. ends: the inclusive scan of the counts."""
    loop_config(block_dim=THREADS)
    for i in range(ends.shape[0] * THREADS):
        places = block.SharedArray(static(THREADS * each // 16 * 17), i32)
        totals = block.SharedArray(THREADS, i32)
        tile, thread = i // THREADS, i % THREADS
        start = tile * (THREADS * each)
        for k in range(each):
            j = k * THREADS + thread
            marked = 0
            if start + j < mask.shape[0]:
                marked = is_marked(mask[start + j], kind, bits)
            places[padded(j)] = marked
        block.sync()
        own = 0
        for k in range(each):
            own += places[padded(thread * each + k)]
        totals[thread] = own
        block.sync()
        scan_of_threads(totals, thread, add)
        place = totals[thread] - own
        if tile > 0:
            place += ends[tile - 1]
        for k in range(each):
            marked = places[padded(thread * each + k)]
            places[padded(thread * each + k)] = place if marked != 0 else -1
            place += marked
        block.sync()
        for k in range(each):
            j = k * THREADS + thread
            to = places[padded(j)]
            if to >= 0:
                if static(positions):
                    out[to] = start + j
                else:
                    out[to] = x[start + j]
