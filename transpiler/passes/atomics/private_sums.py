"""Privatization: lets each thread of a host add to its own copy of an array, where all iterations scatter additions.

    for i in x { atomic add counts[x[i]], 1 }    ->    for i in x { counts[x[i]] = counts[x[i]] + 1 }
                                                       each thread has its own `counts`; they are added after the loop

An atomic addition takes ten times as long as a plain one, even if no other thread comes near. The copies cost time,
too: each has to be cleared and added. So the array must be small for the number of additions; the more threads, the
smaller.
The copies are temporaries of the kernel, which have the guards of all memory (docs/memory.md).
An array qualifies if it is a field of its own that the loop accesses by such additions only, and no result is used.
The loop may have reductions, too: their results go elsewhere.
So does an ndarray, whose size only the launch knows, and whether others share its memory. Its additions stay atomic
operations of the IR. The launch decides whether each thread has a copy: threads that add to one array wait for each
other's cache lines, so that two take longer than one where it is small.
Floats are added in another order, which atomic additions leave open, too; integers are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...ir.functions import calls
from ...ir.nodes import Block, Remark, Statement, blocks, walk
from ...ir.ops import ATOMIC_OPS
from ...ir.statements import Array, AtomicOp, GlobalPtr, RangeFor, Temporary
from ...ir.tasks import SUMS_PADDING, Kernel, PrivateSums, Task
from ...ir.types import Scalar, Tensor, count_scalars, element_of, f32, f64, i32, i64, u32, u64
from ..analysis.loops.scattered_sums import is_summed_field, scattered
from ..analysis.queries import has_few_iterations, is_dense, trip_count
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter

GAIN = 4
"""Numbers of a copy that are cleared and added in the time that one atomic addition costs more than a plain one."""
FEWEST_THREADS, MOST_THREADS = 4, 32
"""An array for whose copies fewer threads would be best keeps atomic additions, which any number of threads may do."""
FEWEST_ITERATIONS, FEWEST_ADDITIONS = 1 << 13, 1 << 13
"""The fewest iterations of a loop that is worth copies, and the fewest additions; the backend gives so many iterations
more than one thread."""
LEAST_SHARE = 4 / 3
"""Additions for each number of an array that is worth copies: 2^20 to 2^20 numbers took two threads 14.1 ms without
copies and 16.1 with, to 2^19 numbers 13.0 and 9.7, to 2^18 8.5 and 5.2 (Intel Xeon)."""
SMALL, LARGE = 1 << 13, 1 << 24
"""Numbers in an array that is worth copies if only the launch knows how many iterations there are; in all copies.

64 x 64 bins (two cores, Zen 4): 2^20 iterations take .31 ms in place of 5.1, 1000 take 7 us in place of 6, 10 take 3.4
in place of 1.6. 128 x 128: .39 in place of 5.2 ms, 11 us in place of 6, 8 in place of 1.6.
"""
CAPACITY = 1 << 21
"""Numbers for the copies of an ndarray. Memory that no launch uses is not committed."""


def private_sums(kernel: Kernel, context: PassContext) -> bool:
    """Replace atomic additions to copies of the threads by plain ones, where threads run loops (C)."""
    capabilities = context.capabilities
    if not capabilities.has_few_threads or not context.options.make_thread_local:
        return False
    plain: set[Statement] = set()
    chosen = False
    for task in kernel.tasks:
        if has_few_iterations(task, FEWEST_ITERATIONS):
            continue
        sums = scattered(task, lambda array: is_summed_field(array) or _is_ndarray(array), reduces=True)
        found = {array: atomics for array, atomics in sums.items() if array.shape is not None}
        numbers = sum(map(_numbers, found))
        threads = _most_threads(task, numbers, found)
        if found and threads:
            task.private = [_copies(kernel, array, threads) for array in found]
            plain |= {atomic for atomics in found.values() for atomic in atomics}
        else:
            of_launch = {array: atomics for array, atomics in sums.items() if array.shape is None}
            task.private = _copies_of_launch(kernel, task, of_launch)
            chosen |= bool(task.private)
    if plain:
        _make_plain(kernel, plain)
    return bool(plain) or chosen


def _copies(kernel: Kernel, array: Array, threads: int) -> PrivateSums:
    memory = Temporary(f"{array.name}_copies", element_of(array.element), threads * (_numbers(array) + SUMS_PADDING))
    kernel.temporaries.append(memory)
    return PrivateSums(array, memory, threads)


def _copies_of_launch(kernel: Kernel, task: Task, found: dict[Array, list[AtomicOp]]) -> list[PrivateSums]:
    """Return copies of the ndarrays of a task, which a launch may use. found: its additions to them."""
    used = {s.array: None for s in walk(task.body) if isinstance(s, GlobalPtr) and s.array.may_alias}
    if not found or any(calls(task.body)) or any(not _has_known_memory(array) for array in used):
        return []
    additions = sum(_repeated(task.body, {atomic for atomics in found.values() for atomic in atomics}))
    result: list[PrivateSums] = []
    for array in found:
        memory = Temporary(f"{array.name}_copies", element_of(array.element), CAPACITY)
        kernel.temporaries.append(memory)
        others = tuple(other for other in used if other is not array and other not in [one.array for one in result])
        result.append(PrivateSums(array, memory, MOST_THREADS, additions, others))
    return result


def _is_ndarray(array: Array) -> bool:
    """Return whether an array is an ndarray of numbers that the launcher can copy."""
    is_plain = isinstance(array.element, (Scalar, Tensor))
    return is_plain and element_of(array.element) in (f32, f64, i32, u32, i64, u64) and _has_known_memory(array)


def _has_known_memory(array: Array) -> bool:
    """Return whether an array is an ndarray without gaps, whose extents tell which memory it has."""
    return array.shape is None and is_dense(array) and not (array.is_gradient or array.strided or array.ndim == 0)


def _numbers(array: Array) -> int:
    assert array.shape is not None
    return prod(array.shape) * count_scalars(array.element)


def _most_threads(task: Task, numbers: int, found: dict[Array, list[AtomicOp]]) -> int:
    """Return how many threads are best, 0 if atomic additions are better.

    With n threads the additions take 1/n of their time, and n copies are cleared and added.
    """
    loop = task.loop
    if loop is None or not 0 < numbers <= LARGE:
        return 0
    iterations = trip_count(loop)
    if iterations is None:
        return MOST_THREADS if numbers <= SMALL else 0
    wanted = {atomic for atomics in found.values() for atomic in atomics}
    additions = iterations * sum(_repeated(task.body, wanted))
    if iterations < FEWEST_ITERATIONS or additions < max(FEWEST_ADDITIONS, LEAST_SHARE * numbers):
        return 0
    threads = min(GAIN * additions // numbers, LARGE // numbers, MOST_THREADS)
    return threads if threads >= FEWEST_THREADS else 0


def _repeated(block: Block, wanted: set[AtomicOp]) -> Iterator[int]:
    """Yield how many numbers each of the operations adds in an iteration, loops of unknown length counted once."""
    for statement in block.statements:
        if isinstance(statement, AtomicOp) and statement in wanted and statement.type is not None:
            yield count_scalars(statement.type)
        times = (trip_count(statement) or 1) if isinstance(statement, RangeFor) else 1
        for inner in blocks(statement):
            yield from (times * count for count in _repeated(inner, wanted))


def _make_plain(kernel: Kernel, plain: set[Statement]) -> None:
    remark = Remark("not atomic: each thread has a copy (private_sums)")

    def rule(rewriter: Rewriter, atomic: Statement) -> Statement | None:
        if atomic not in plain:
            return None
        assert isinstance(atomic, AtomicOp)
        builder = rewriter.builder(atomic)
        total = builder.op(ATOMIC_OPS[atomic.op], builder.load(atomic.pointer), atomic.value)
        store = builder.store(atomic.pointer, total)
        store.remarks = (*atomic.remarks, remark)
        return DROPPED

    Rewriter({AtomicOp: rule}).run(kernel)
