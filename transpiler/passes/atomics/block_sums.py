"""Privatization: lets each block of threads add to its own copy of a small array, in shared memory.

    for i in x { atomic add h[x[i]], 1 }    ->    each block: h_copy = 0; for its i { atomic add h_copy[x[i]], 1 }
                                                              atomic add h[k], h_copy[k]   (for all k)

Where all threads of a GPU add to few addresses, they wait for each other: a histogram of 2^27 numbers in 256 bins took
an H200 17 to 35 ms. The statements stay, and have another memory. An array qualifies as for `private_sums`. Of a copy
only what is not 0 is added, so that there are never more additions to the array than before.
"""

from __future__ import annotations

from math import prod

from ...ir.functions import reachable
from ...ir.nodes import Block, Remark, Statement, blocks
from ...ir.statements import RECORDS, Array, AtomicOp, RangeFor, While
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Tensor, element_of, f32, i32, u32
from ..analysis.loops.scattered_sums import is_scattered, scattered
from ..analysis.queries import has_few_iterations, trip_count
from ..context import PassContext

FEWEST_ITERATIONS, MANY_ITERATIONS = 1 << 14, 1 << 18
"""The fewest iterations of a loop that is worth copies, and of one that is worth larger copies, if their number is
known: fewer keep no GPU busy. Copies of vectors are worth as many additions."""
FEW_BYTES, MOST_BYTES = 8192, 32768
"""The most bytes of the copies of a block: all threads of an SM still run at once. The second number is for loops that
are known to have many iterations. 2^24 floats in 4,096 bins, with their number in each: .91 -> .07 ms."""
CROWD = 1 << 12
"""Additions to each element from which on it does not matter how an iteration finds its index: means of 16 groups of
channels in each of two images, 2^25 pairs of floats, took an H200 6.2 ms."""
INTEGERS = (i32, u32)
BLOCK, FLOAT_BLOCK, LARGE_BLOCK = 1024, 256, 512
"""Threads of a block that has copies, if the user names no number. Each block adds its own to the array in the end, and
of larger ones there are fewer: a histogram of 2^27 integers in 256 bins took an H200 .180 ms in blocks of 128 threads,
.152 of 256, .128 of 1024. Floats wait for each other within a block: .352, .342, .412. With large copies, and vectors,
512 threads take up to a fifth longer than 1024 or less, and have twice the registers."""
LEAST_BLOCK, BLOCKS = 128, 512
"""The fewest threads of such a block, and the blocks that keep a GPU of 132 multiprocessors busy: 16,384 long searches
in blocks of 1,024 would be for 16 of these."""
LONG = 32
"""Iterations of a serial loop that is long: a block of many threads would wait for the last one."""
LENGTHS = range(2, 17)
"""The lengths of vectors in copies, whose numbers are added one by one."""
SMALL = 1024
"""The bytes of a copy that is worth it for vectors where nobody knows how many iterations there are."""


def block_sums(kernel: Kernel, context: PassContext) -> bool:
    """Find the arrays of which each block of a GPU has a copy."""
    capabilities, options = context.capabilities, context.options
    if not capabilities.has_shared_memory or not options.make_block_local:
        return False
    if any(isinstance(s, RECORDS) for root in kernel.roots() for s in reachable(root)):
        return False  # a failed check ends a thread before it comes to the barrier
    for task in kernel.tasks:
        if task.tile or has_few_iterations(task, FEWEST_ITERATIONS):
            continue
        found, is_large = _copied(task, context)
        if found:
            task.block_sums = list(found)
            has_floats = any(array.element == f32 for array in found)
            block = LARGE_BLOCK if is_large else _threads_for(task, FLOAT_BLOCK if has_floats else BLOCK)
            context.choose_block_dim(task, block)
            remark = Remark("to the block's copy (block_sums)")
            for atomic in (atomic for atomics in found.values() for atomic in atomics):
                atomic.remarks = (*atomic.remarks, remark)
    return any(task.block_sums for task in kernel.tasks)


def _copied(task: Task, context: PassContext) -> tuple[dict[Array, list[AtomicOp]], bool]:
    """Return the arrays of which a task has copies, with the additions; and whether they are large, or of vectors."""
    suitable = {
        array: atomics for array, atomics in scattered(task, reduces=True).items() if _is_suitable(array, context)
    }
    known = 0 if task.loop is None else trip_count(task.loop)
    is_unknown, count = known is None, known or 0
    repeated = {array: count * _repetitions(task.body, set(suitable[array])) for array in suitable}
    most = min(MOST_BYTES if count >= MANY_ITERATIONS else FEW_BYTES, context.capabilities.max_shared_bytes)
    size, found = 0, {}
    for array in sorted(suitable, key=_size):  # stable: arrays of one size stay in order
        is_plain = isinstance(array.element, Scalar) and _size(array) <= FEW_BYTES
        is_long = repeated[array] >= MANY_ITERATIONS
        is_crowded = is_long and repeated[array] >= CROWD * prod(array.shape or ())
        may_be_long = is_long or (is_unknown and _size(array) <= SMALL)
        is_worth = is_plain or is_crowded or (may_be_long and is_scattered(task, suitable[array]))
        if size + _size(array) <= most and is_worth:
            size, found[array] = size + _size(array), suitable[array]
    is_many = count >= MANY_ITERATIONS or is_unknown
    has_vectors = is_many and any(isinstance(array.element, Tensor) for array in found)
    return found, size > FEW_BYTES or has_vectors


def _repetitions(block: Block, additions: set[AtomicOp]) -> int:
    """Return how often an iteration performs an addition at most, as far as that is known."""
    most = 0
    for statement in block:
        if statement in additions:
            most = max(most, 1)
        inner = max((_repetitions(each, additions) for each in blocks(statement)), default=0)
        most = max(most, inner * ((trip_count(statement) or 1) if isinstance(statement, RangeFor) else 1))
    return most


def _threads_for(task: Task, most: int) -> int:
    """Return how many threads a block should have: fewer where there are not many blocks, or each runs long."""
    assert task.loop is not None
    count = trip_count(task.loop)
    if count is None:
        return LEAST_BLOCK if any(map(_is_long, task.body)) else most
    while most > LEAST_BLOCK and count < most * BLOCKS:
        most //= 2
    return most


def _is_long(statement: Statement) -> bool:
    """Return whether a statement contains a serial loop that is not known to be short."""
    if isinstance(statement, While):
        return True
    if isinstance(statement, RangeFor) and (trip_count(statement) or LONG) >= LONG:
        return True
    return any(_is_long(inner) for block in blocks(statement) for inner in block)


def _is_suitable(array: Array, context: PassContext) -> bool:
    """Return whether shared memory has additions of an array's numbers, or of its vectors' components."""
    kind = array.element
    if isinstance(kind, Tensor) and not (len(kind.shape) == 1 and kind.size in LENGTHS):
        return False
    element = element_of(kind)
    is_native = element in INTEGERS or (element == f32 and _adds_floats(context))
    return is_native and array.ndim > 0 and not array.offset


def _size(array: Array) -> int:
    """Return the size of a copy [bytes]."""
    return prod(array.shape or ()) * array.element.size_bytes


def _adds_floats(context: PassContext) -> bool:
    add = ("f32", "add")
    return add in context.capabilities.shared_atomics and add in context.capabilities.atomics
