"""Memory placement: a local array at computed indices becomes a column of an array in shared memory for each thread.

    hist = [0] * 64                        thread = index of the thread in its block
    hist[$1] = hist[$1] + 1        ->      for k in 64 { hist[k, thread] = 0 }           hist: 64 x BLOCK
                                           hist[$1, thread] = hist[$1, thread] + 1

Registers have no computed index: a compiler for GPUs puts such an array into local memory, where the threads of a warp
that are at different elements access as many lines of a cache, one after another. In shared memory each thread has a
bank of its own, and those of a warp access their numbers at once. Medians of 15 x 15 by histograms of 64 bins took an
H200 1.36 ms before, and .53 ms after.

Arrays of all of whose indices `register_arrays` makes numbers stay, and so do those at which all threads of a block are
at one element: local memory has the elements of a warp next to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, blocks, operands, users_of, walk, walk_blocks
from ...ir.origins import block_size
from ...ir.statements import (
    Alloca,
    Array,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixInit,
    MatrixPtr,
    RangeFor,
    While,
    base_pointer,
    is_const,
)
from ...ir.tasks import Kernel, Task
from ...ir.threads import ThreadIndex
from ...ir.types import Scalar, Tensor, element_of, i32
from ..analysis.queries import trip_count
from ..analysis.uniformity import Uniformity
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter
from ..tiles.parts.tiled_loops import new_shared
from .parts.free_blocks import has_free_block
from .parts.shared_memory import free_shared_bytes

FEWEST_WORDS, MOST_WORDS = 5, 64
"""Numbers of an array that is worth it, and of all arrays of a thread: an SM still runs 896 threads."""
FEW_WORDS = 16
"""Numbers with which an SM runs all of its threads. Fewer threads wait longer for memory: of larger arrays there are as
many accesses as loads from memory, which there are not of most stacks."""
MOST_BYTES = 16384
"""The most bytes of a block whose size the compiler chooses: more blocks are more even."""
SMALL_BLOCK = 64
FEWEST_ACCESSES = 64
"""Accesses of a thread at indices that differ from thread to thread, and twice the numbers of the array."""
TRIPS = 32
"""Iterations of a loop of unknown length."""
REMARK = Remark("in shared memory a thread's elements have a bank of their own (banked_arrays)", "above")

Element = Callable[[Builder, Alloca, Sequence[Statement]], GlobalPtr]
"""Points to an element of the column of a thread."""


def banked_arrays(kernel: Kernel, context: PassContext) -> bool:
    """Place such arrays of tasks in shared memory, on GPUs."""
    capabilities, options = context.capabilities, context.options
    if not (capabilities.has_shared_memory and capabilities.has_warps) or options.debug:
        return False
    changed = False
    for task in kernel.tasks:
        if task.loop is None or task.is_split or task.lanes > 1:
            continue
        found = _worth_it(task)
        arrays = [a for number, a in enumerate(found) if sum(map(_words, found[: number + 1])) <= MOST_WORDS]
        words = sum(map(_words, arrays))
        is_large = words * 4 * task.block_dim > MOST_BYTES
        block_dim = SMALL_BLOCK if is_large and has_free_block(task, options) else task.block_dim
        if not arrays or words * 4 * block_dim > free_shared_bytes(task, capabilities):
            continue
        if block_dim < task.block_dim:
            task.block_dim = block_dim
            task.block_note = f"{words * 4 * block_dim:,} bytes of local arrays (banked_arrays)"
        _place(kernel, task, arrays)
        changed = True
    return changed


def _words(array: Alloca) -> int:
    assert isinstance(array.type, Tensor)
    return array.type.size


def _worth_it(task: Task) -> list[Alloca]:
    """Return the arrays of a task that threads access at different elements often, the one with most accesses first."""
    inside = list(walk(task.body))
    users = users_of(inside)
    arrays = [s for s in inside if isinstance(s, Alloca) and _may_be_placed(s, users[s], users)]
    computed = [a for a in arrays if any(not _is_number(p) for p in users[a] if isinstance(p, MatrixPtr))]
    if not computed:
        return []
    varying, counts, loads = Uniformity(task).varying, dict.fromkeys(computed, 0), 0
    for pointer, times in _accesses(task.body, 1):
        if not isinstance(pointer, MatrixPtr):
            loads += times
            continue
        array = base_pointer(pointer)
        if array in counts and any(index in varying for index in pointer.indices):
            counts[array] += times
    least = {a: max(FEWEST_ACCESSES, 2 * _words(a), loads if _words(a) > FEW_WORDS else 0) for a in computed}
    worth = [array for array in computed if counts[array] >= least[array]]
    return sorted(worth, key=lambda array: -counts[array])


def _is_number(pointer: MatrixPtr) -> bool:
    """Return whether the indices of an element are numbers, also once loops are unrolled."""
    return all(
        isinstance(i, Const) or (isinstance(i, LoopIndex) and isinstance(i.loop, RangeFor) and i.loop.unroll)
        for i in pointer.indices
    )


def _may_be_placed(array: Alloca, users: Sequence[Statement], users_of_all: dict[Statement, list[Statement]]) -> bool:
    """Return whether an array of words is stored as a whole, and else accessed element by element."""
    kind = array.type
    if not isinstance(kind, Tensor) or not isinstance(kind.element, Scalar) or array.per_thread:
        return False
    if kind.element.bits != 32 or not FEWEST_WORDS <= kind.size <= MOST_WORDS:
        return False
    for user in users:
        if isinstance(user, MatrixPtr) and user.origin is array and len(user.indices) == len(kind.shape):
            of_element = users_of_all[user]
            if not all(isinstance(s, (LocalLoad, LocalStore)) and s.pointer is user for s in of_element):
                return False
            if any(isinstance(s, LocalStore) and s.value is user for s in of_element):
                return False
        elif not (isinstance(user, LocalStore) and user.pointer is array and isinstance(user.value, MatrixInit)):
            return False
    return True


def _accesses(block: Block, times: int) -> Iterator[tuple[Statement, int]]:
    """Yield the pointers by which a block loads and stores elements of local arrays, or loads from memory, and how
    often about.
    """
    for statement in block:
        if isinstance(statement, (LocalLoad, LocalStore)) and isinstance(statement.pointer, MatrixPtr):
            yield statement.pointer, times
        elif isinstance(statement, GlobalLoad):
            yield base_pointer(statement.pointer), times
        around = times
        if isinstance(statement, (RangeFor, While)):
            count = trip_count(statement) if isinstance(statement, RangeFor) else None
            around *= TRIPS if count is None else count
        for inner in blocks(statement):
            yield from _accesses(inner, around)


# --- the columns ------------------------------------------------------------------------------------------------------


def _place(kernel: Kernel, task: Task, arrays: Sequence[Alloca]) -> None:
    """Give each thread a column of shared arrays in place of local ones."""
    thread = ThreadIndex("thread", type=i32, name="thread")
    columns = {array: _column(kernel, array, task.block_dim) for array in arrays}
    stored = _stored_first(task.body, arrays)

    def element(builder: Builder, array: Alloca, indices: Sequence[Statement]) -> GlobalPtr:
        shared = columns[array]
        return builder.add(GlobalPtr(shared, [*indices, thread], type=shared.element))

    def pointer(rewriter: Rewriter, value: Statement) -> Statement | None:
        assert isinstance(value, MatrixPtr)
        if not isinstance(value.origin, Alloca) or value.origin not in columns:
            return None
        return element(rewriter.builder(value), value.origin, value.indices)

    def load(rewriter: Rewriter, value: Statement) -> Statement | None:
        assert isinstance(value, LocalLoad)
        return rewriter.builder(value).load(value.pointer) if isinstance(value.pointer, GlobalPtr) else None

    def store(rewriter: Rewriter, statement: Statement) -> Statement | None:
        assert isinstance(statement, LocalStore)
        builder, target = rewriter.builder(statement), statement.pointer
        if isinstance(target, Alloca) and target in columns and isinstance(statement.value, MatrixInit):
            _fill(builder, target, statement.value.elements, element)
            return DROPPED
        if isinstance(target, GlobalPtr):
            builder.store(target, statement.value).remarks = statement.remarks
            return DROPPED
        return None

    def variable(rewriter: Rewriter, array: Statement) -> Statement | None:
        assert isinstance(array, Alloca)
        if array not in columns:
            return None
        if array not in stored:
            builder = rewriter.builder(array)
            zero = builder.const(0, element_of(columns[array].element))
            _fill(builder, array, [zero] * _words(array), element)
        return DROPPED

    Rewriter({MatrixPtr: pointer, LocalLoad: load, LocalStore: store, Alloca: variable}).block(task.body)
    task.body.statements.insert(0, thread)


def _column(kernel: Kernel, array: Alloca, threads: int) -> Array:
    """Return a new array in shared memory, with an element for each one of a local array and each thread."""
    kind = array.type
    assert isinstance(kind, Tensor)
    shared = new_shared(kernel, array.name or array.hint or "elements", kind.element, (*kind.shape, threads))
    shared.extents = (*(None for _ in kind.shape), block_size(threads))
    return shared


def _stored_first(body: Block, arrays: Sequence[Alloca]) -> set[Alloca]:
    """Return the arrays that are stored as a whole before anything else happens to them."""
    found: set[Alloca] = set()
    for block in walk_blocks(body):
        for number, statement in enumerate(block.statements):
            if isinstance(statement, Alloca) and statement in arrays:
                rest = block.statements[number + 1 :]
                uses = (s for s in rest if statement in operands(s) or any(statement in operands(i) for i in _in(s)))
                first = next(uses, None)
                if isinstance(first, LocalStore) and first.pointer is statement:
                    found.add(statement)
    return found


def _in(statement: Statement) -> Iterator[Statement]:
    return (inner for block in blocks(statement) for inner in walk(block))


def _fill(builder: Builder, array: Alloca, values: Sequence[Statement], element: Element) -> None:
    """Store numbers to all elements of an array."""
    kind = array.type
    assert isinstance(kind, Tensor)
    number, first_new = values[0], len(builder.block.statements)
    if isinstance(number, Const) and all(is_const(value, number.value) for value in values):
        indices: list[Statement] = []
        with ExitStack() as loops:
            for name, extent in zip("kl", kind.shape, strict=False):
                start, end, step = (builder.const(n) for n in (0, extent, 1))
                loop = builder.add(RangeFor([start], [end], [step], [name], serialize=True))
                loops.enter_context(builder.into(loop.body))
                indices.append(builder.add(LoopIndex(loop, 0, type=i32)))
            same = builder.add(Const(number.value, number.origin, type=kind.element))
            builder.store(element(builder, array, indices), same)
    else:
        for position, value in enumerate(values):
            numbers = [position] if len(kind.shape) == 1 else [*divmod(position, kind.shape[1])]
            builder.store(element(builder, array, [builder.const(n) for n in numbers]), value)
    first = next(s for s in builder.block.statements[first_new:] if isinstance(s, (GlobalStore, RangeFor)))
    first.remarks = (REMARK,)
