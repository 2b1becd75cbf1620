"""Unrolls the loops that alone index a local array, so that compilers for GPUs keep the array in registers.

    w = [0] * 64                                    w = [0] * 64
    for t in 16 .. 64 {                             unroll all: for t in 16 .. 64 {
        w[t] = w[t - 16] + f(w[t - 2])     ->           w[t] = w[t - 16] + f(w[t - 2])
    }                                               }

An index that is no number after unrolling forces an array into memory. Compilers unroll short loops by themselves,
and guess about others: SHA-256 of 2^18 blocks took an H200 .081 ms before and .031 ms after, on Vulkan; with `w[t &
15]` .092 ms before and .022 ms after, on CUDA.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.nodes import Statement, blocks, operands, walk
from ...ir.statements import ALL, Alloca, Const, MatrixPtr, Operation, RangeFor, base_pointer
from ...ir.tasks import Kernel, Task
from ...ir.types import Tensor, i32
from ..analysis.linear import Reader
from ..analysis.queries import leaves_block, trip_count
from ..context import PassContext

FEWEST, MOST = 9, 80
"""The fewest numbers of an array, and the most of all arrays of a task: compilers do what is needed for less, and a
thread has up to 255 registers."""
LONGEST = 64
"""The most iterations of a loop that is unrolled."""
MOST_STATEMENTS = 8192
"""The most statements in all copies of the bodies of a task's loops."""


def register_arrays(kernel: Kernel, context: PassContext) -> bool:
    """Mark such loops of GPUs whose compilers leave them alone."""
    if not context.capabilities.leaves_arrays_in_memory or context.options.debug:
        return False
    changed = [_in_task(task) for task in kernel.tasks if task.loop is not None]
    return any(changed)


def _in_task(task: Task) -> bool:
    """Mark the loops of a task whose indices are those of its arrays."""
    inside = list(walk(task.body))
    loops = {s for s in inside if isinstance(s, RangeFor) and _may_be_unrolled(s)}
    unrolled = {s for s in inside if isinstance(s, RangeFor) and s.unroll}
    reader = Reader({*loops, *inside}, {}, scales=True)
    loops_of: dict[Alloca, set[Statement]] = {}
    refused: set[Alloca] = set()
    for pointer in [s for s in inside if isinstance(s, MatrixPtr)]:
        array = base_pointer(pointer)
        if not isinstance(array, Alloca) or pointer.origin is not array or not isinstance(array.type, Tensor):
            continue
        found = _loops_in(pointer.indices, reader)
        if found is None or not found <= loops | unrolled:
            refused.add(array)
        else:
            loops_of.setdefault(array, set()).update(found - unrolled)
    arrays = [array for array, found in loops_of.items() if found and array not in refused and _size(array) >= FEWEST]
    marked = {loop for array in arrays for loop in loops_of[array]}
    if not marked or sum(map(_size, arrays)) > MOST or _copies(task.body.statements, marked) > MOST_STATEMENTS:
        return False
    for loop in marked:
        assert isinstance(loop, RangeFor)
        loop.unroll_count = ALL
    return True


def _may_be_unrolled(loop: RangeFor) -> bool:
    """Return whether a loop has few iterations, all of which run, and no author who unrolls it."""
    if loop.unroll or loop.unroll_count or len(loop.starts) > 1 or loop.starts[0].type != i32:
        return False
    count = trip_count(loop)
    is_left = any(leaves_block(s) for s in loop.body)
    return count is not None and 0 < count <= LONGEST and not is_left


def _loops_in(indices: Iterable[Statement], reader: Reader) -> set[Statement] | None:
    """Return the loops whose indices are in those of an element, None if something else is that is no number."""
    found: set[Statement] = set()
    rest = list(indices)
    while rest:
        index = rest.pop()
        if isinstance(index, Const):
            continue
        linear = reader.read(index)
        if linear is not None and not linear.values:
            found.update(loop for loop, _ in linear.indices)
        elif isinstance(index, Operation) and index.type == i32:  # as `t & 15` of a buffer that is used again
            rest += operands(index)
        else:
            return None
    return found


def _size(array: Alloca) -> int:
    assert isinstance(array.type, Tensor)
    return array.type.size


def _copies(statements: Iterable[Statement], marked: set[Statement]) -> int:
    """Return how many operations statements have once the marked loops in them are unrolled."""
    total = 0
    for statement in statements:
        inner = sum(_copies(block.statements, marked) for block in blocks(statement))
        count = trip_count(statement) if isinstance(statement, RangeFor) and statement in marked else 1
        total += (count or 1) * inner + bool(operands(statement))
    return total
