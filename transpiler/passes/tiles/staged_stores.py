"""Coalesced stores: the threads of a block store structs and matrices number by number, in the order of addresses.

    for i in n {                      for i in n {
        F[i] = a * F[i]      ->           value = a * F[i]
    }                                     F_staged[thread, k] = value[k]            for each k
                                          barrier
                                          for k in 0 .. 9 {
                                              word = k * threads + thread
                                              numbers of F[9 * (i - thread) + word] = F_staged[word / 9, word % 9]
                                          }
                                      }

Threads that store an element of 36 bytes each store 4 bytes to 32 different places at a time, of which memory takes
32 bytes each: such parts of lines leave the cache before the others come. Copies of 2^23 numbers as 3 x 3 matrices
took an H200 .39 ms before, .115 ms after, which is what memory allows; of structs of 7 numbers .29 and .115, of 16
.65 and .17. Elements of up to 5 numbers take the same time either way. Loads may stay: what neighbours leave of a
line is in the cache.

Where an iteration stores a part of its element, it loads the others and stores them again, as does nobody else: all
accesses of the loop to the array are at its own index. A part of less than a third is not worth it. Nor is it where
iterations differ in length, since a block waits for its longest: singular values of 2^21 matrices took .089 ms with
staged stores (Vulkan: .091), and take .083 ms without (.073).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from ...ir.builder import Builder, flat_index
from ...ir.elements.own_memory import is_alone
from ...ir.functions import Call, reachable
from ...ir.nodes import Block, Remark, Statement, walk
from ...ir.origins import block_size
from ...ir.statements import (
    Alloca,
    Array,
    ArrayShape,
    AtomicOp,
    Break,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixPtr,
    RangeFor,
    StructPtr,
    While,
    base_pointer,
    is_const,
)
from ...ir.tasks import Kernel, Task
from ...ir.threads import Barrier, ThreadIndex, has_full_blocks
from ...ir.types import Scalar, Struct, Tensor, Type, count_scalars, i32, i64, member_offset, scalars_of, u32
from ..analysis.loops.synchronizable import may_synchronize
from ..analysis.queries import are_indices_of, count_along, names_of, trip_count
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter
from .parts.bank_conflicts import MOST_BYTES
from .parts.tiled_loops import is_in_order, new_shared

FEWEST, MOST = 24, 256
"""The fewest and the most bytes of an element that is worth it. Larger elements take so much shared memory that fewer
threads run at once: 6 x 6 floats take 18 KiB of a block, and an H200 has 228 KiB for its 2,048 threads on an SM."""
MOST_PLACES = 96
"""The most numbers of an element that loops around a store may reach."""
PART = 3
"""The whole of an element, as a multiple of what each iteration stores at least."""
FEW = 1 << 15
"""The number of iterations below which stores stay in a cache anyway; a guess."""
MOST_NAMED = 4
"""Numbers of a vector that have names: `v.x`."""
MOST_WORDS = 1 << 31


def staged_stores(kernel: Kernel, context: PassContext) -> bool:
    """Stage what loops of GPUs store to arrays of such elements."""
    capabilities = context.capabilities
    if not capabilities.has_shared_memory:
        return False
    changed = False
    for task in kernel.tasks:
        arrays = [array for array in _arrays_of(task) if capabilities.has_pointers or not _is_far(array)]
        most = min(MOST, min(capabilities.max_shared_bytes, MOST_BYTES) // task.block_dim)
        while arrays and sum(array.element.size_bytes for array in arrays) > most:
            arrays.pop()
        if arrays:
            _stage(kernel, task, arrays, context)
            changed = True
    return changed


# --- which arrays -----------------------------------------------------------------------------------------------------


def _arrays_of(task: Task) -> list[Array]:
    """Return the arrays to which each iteration of a task stores much of its own, large element."""
    loop = task.loop
    if loop is None or task.private or task.tile or task.synchronizes or task.overlaps:
        return []
    bases = [base_pointer(store.pointer) for store in _certain_stores(task.body)]
    stored = dict.fromkeys(base.array for base in bases if isinstance(base, GlobalPtr))
    found = [array for array in stored if _is_large(array) and _is_numbered_by(array, loop)]
    if not found or not _is_usual(loop) or not may_synchronize(task):
        return []
    inside = list(reachable(task.body))
    if any(map(_may_be_uneven, inside)):
        return []
    pointers = [s for s in (*inside, *walk(task.prologue)) if isinstance(s, GlobalPtr)]
    atomics = {base_pointer(s.pointer) for s in walk(task.body) if isinstance(s, AtomicOp)}
    others = {p.array for p in pointers if p in atomics or p.is_flat or not are_indices_of(p.indices, loop)}
    found = [array for array in found if array not in others]
    return [array for array in found if _is_much(array, task) and not _may_be_seen(array, task)]


def _may_be_uneven(statement: Statement) -> bool:
    """Return whether a statement is a loop that may run longer in one thread of a block than in others."""
    return isinstance(statement, While) or (isinstance(statement, RangeFor) and trip_count(statement) is None)


def _is_usual(loop: RangeFor) -> bool:
    """Return whether a loop runs over all elements from the first one, in their order, and over many of them."""
    count = trip_count(loop)
    return is_in_order(loop) and not loop.grid_stride and (count is None or count >= FEW)


def _is_large(array: Array) -> bool:
    """Return whether an array has elements of such a size, of numbers of one size, one after another in memory."""
    element = array.element
    is_plain = is_alone(array) or (array.shape is None and array.place is None and not array.strided)
    if not is_plain or array.offset or array.clamped or array.role or array.is_shared:
        return False
    if isinstance(element, Scalar) or not FEWEST <= element.size_bytes <= MOST:
        return False
    return _word(element) is not None


def _is_far(array: Array) -> bool:
    """Return whether more numbers are in a field than numbers of 32 bits count; Vulkan has no such ndarray."""
    return array.shape is not None and prod(array.shape) * count_scalars(array.element) >= MOST_WORDS


def _word(element: Type) -> Scalar | None:
    """Return the type of numbers by which an element is stored; None if it has no such."""
    scalars = list(dict.fromkeys(scalars_of(element)))
    sizes = {scalar.size_bytes for scalar in scalars}
    if len(sizes) > 1 or not sizes <= {4, 8} or element.size_bytes != count_scalars(element) * min(sizes):
        return None
    if len(scalars) == 1:
        return scalars[0]
    return u32 if sizes == {4} else None


def _is_numbered_by(array: Array, loop: RangeFor) -> bool:
    """Return whether the number of an iteration is that of the element at its indices."""
    if array.ndim != len(loop.starts) or not all(is_const(start, 0) for start in loop.starts):
        return False
    ends = list(enumerate(loop.ends))[1:]
    if array.shape is None:
        return all(isinstance(end, ArrayShape) and (end.array, end.axis) == (array, axis) for axis, end in ends)
    return all(is_const(end, array.shape[axis]) for axis, end in ends)


def _is_much(array: Array, task: Task) -> bool:
    """Return whether an iteration certainly stores enough of its element."""
    stores = [store for store in _certain_stores(task.body) if _is_of(store.pointer, array)]
    words = {word for store in stores for word in _words(store.pointer, task)}
    return len(words) * PART >= count_scalars(array.element)


def _certain_stores(block: Block) -> Iterator[GlobalStore]:
    """Yield the stores that each iteration runs, also those in loops of constant length."""
    for statement in block:
        if isinstance(statement, GlobalStore):
            yield statement
        elif isinstance(statement, RangeFor) and trip_count(statement):
            if not any(isinstance(s, (Break, Continue)) for s in walk(statement.body)):
                yield from _certain_stores(statement.body)


def _is_of(pointer: Statement, array: Array) -> bool:
    base = base_pointer(pointer)
    return isinstance(base, GlobalPtr) and base.array is array


def _words(pointer: Statement, task: Task) -> set[int]:
    """Return the numbers of an element that a pointer is of, in all iterations of loops of constant length inside the
    task; none if that is not known.
    """
    loops = {s: None for s in _indices_in_element(pointer) if not isinstance(s, Const)}
    ranges = []
    for index in loops:
        serial = index.loop if isinstance(index, LoopIndex) else None
        if not isinstance(index, LoopIndex) or not isinstance(serial, RangeFor) or serial is task.loop:
            return set()
        if not count_along(serial, index.axis):
            return set()
        bounds = serial.starts[index.axis], serial.ends[index.axis], serial.steps[index.axis]
        ranges.append(range(*(int(bound.value) for bound in bounds if isinstance(bound, Const))))
    if prod(map(len, ranges)) > MOST_PLACES:
        return set()
    found = set[int]()
    for values in product(*ranges):
        found.update(_words_for(pointer, dict(zip(loops, values, strict=True))))
    return found


def _indices_in_element(pointer: Statement) -> Iterator[Statement]:
    while isinstance(pointer, (MatrixPtr, StructPtr)):
        yield from pointer.indices if isinstance(pointer, MatrixPtr) else ()
        pointer = pointer.origin


def _words_for(pointer: Statement, values: dict[Statement, int]) -> range:
    """Return the numbers of an element that a pointer is of. values: of the indices that are no constants."""
    assert pointer.type is not None
    match pointer:
        case StructPtr(origin=origin, member=member):
            struct = origin.type
            assert isinstance(struct, Struct)
            first = member_offset(struct, member) * count_scalars(struct) // struct.size_bytes  # of one size
        case MatrixPtr(origin=origin, indices=indices):
            tensor = origin.type
            assert isinstance(tensor, Tensor)
            numbers = [int(i.value) if isinstance(i, Const) else values[i] for i in indices]
            if not all(0 <= number < extent for number, extent in zip(numbers, tensor.shape, strict=True)):
                return range(0)
            first = flat_index(tensor.shape, numbers)
        case _:
            return range(count_scalars(pointer.type))
    return _words_for(origin, values)[first : first + count_scalars(pointer.type)]


def _may_be_seen(array: Array, task: Task) -> bool:
    """Return whether an iteration may find in another array what it stores to one, or store there what it loads."""
    if not array.may_alias:
        return False
    is_stored = False
    for access in walk(task.body):
        if isinstance(access, (RangeFor, While)):  # what its first iteration stores is there in the second
            is_stored = is_stored or any(_stores_to(inner, array) for inner in walk(access.body))
        elif isinstance(access, Call):
            reads, writes = access.function.reads, access.function.writes
            if any(a.may_alias for a in (writes | reads if is_stored else writes)):
                return True
        elif isinstance(access, (GlobalLoad, GlobalStore, AtomicOp)):
            base, is_load = base_pointer(access.pointer), isinstance(access, GlobalLoad)
            if not isinstance(base, GlobalPtr):
                continue
            if base.array is array:
                is_stored = is_stored or not is_load
            elif base.array.may_alias and (is_stored or not is_load):
                return True
    return False


def _stores_to(statement: Statement, array: Array) -> bool:
    return isinstance(statement, GlobalStore) and _is_of(statement.pointer, array)


# --- staging ----------------------------------------------------------------------------------------------------------


def _stage(kernel: Kernel, task: Task, arrays: list[Array], context: PassContext) -> None:
    """Let a task store elements of some arrays at its end, together with the other threads of a block."""
    loop = task.loop
    assert loop is not None
    loop.grid_stride = False if loop.grid_stride is None else loop.grid_stride
    own = {array: Alloca(type=array.element, hint=_name(array, loop), location=loop.location) for array in arrays}
    loads = [array for array in arrays if _needs_load(array, task)]
    _use_variables(task.body, own)
    before = Block()
    builder = Builder(before, loop.location)
    for array in arrays:
        builder.add(own[array])
        if array in loads:
            indices: list[Statement] = [builder.add(LoopIndex(loop, axis, type=i32)) for axis in range(array.ndim)]
            builder.store(own[array], builder.load(builder.add(GlobalPtr(array, indices, type=array.element))))
    task.body.statements[:0] = before.statements
    builder = Builder(task.body, loop.location)
    thread = builder.add(ThreadIndex("thread", type=i32, hint="thread"))
    staged = {array: _staged(kernel, task, array) for array in arrays}
    for array in arrays:
        word = _word(array.element)
        assert word is not None
        if context.capabilities.has_pointers and isinstance(array.element, Tensor) and array.element.size > MOST_NAMED:
            _stage_tensor(builder, staged[array], thread, builder.load(own[array]))
            continue
        for k, value in enumerate(_scalars(builder, builder.load(own[array]))):
            value = value if value.type == word else builder.bit_cast(value, word)
            builder.store(builder.add(GlobalPtr(staged[array], [thread, builder.const(k)], type=value.type)), value)
    builder.add(Barrier("block"))
    _store_words(builder, task, staged, thread, context)


def _stage_tensor(builder: Builder, staged: Array, thread: Statement, value: Statement) -> None:
    """Stage the numbers of a vector or matrix by loops, which NVRTC unrolls; drivers of Vulkan may leave some."""
    assert isinstance(value.type, Tensor)
    indices, inner = list[Statement](), builder.block
    names = ("row", "column") if len(value.type.shape) > 1 else ("k",)
    for name, extent in zip(names, value.type.shape, strict=True):
        with builder.into(inner):
            zero, end, one = (builder.const(number) for number in (0, extent, 1))
            loop = builder.add(RangeFor([zero], [end], [one], [name], unroll=True))
        inner = loop.body
        indices.append(LoopIndex(loop, type=i32))
    with builder.into(inner):
        number, *others = [builder.add(index) for index in indices]
        for other, extent in zip(others, value.type.shape[1:], strict=True):
            number = builder.op("add", builder.op("mul", number, builder.const(extent)), other)
        place = GlobalPtr(staged, [thread, number], type=staged.element)
        builder.store(builder.add(place), builder.element(value, indices))


def _name(array: Array, loop: RangeFor) -> str:
    """Return the name of the variable of an element: `F_i` of `F[i]`."""
    names = names_of(loop)
    return f"{array.name}_{('' if all(len(name) == 1 for name in names) else '_').join(names)}"


def _needs_load(array: Array, task: Task) -> bool:
    """Return whether an iteration may read of its element what it has not stored, or leave a part of it."""
    stored = set[int]()
    for statement in task.body:
        inside = [s for s in walk(Block([statement])) if isinstance(s, GlobalLoad) and _is_of(s.pointer, array)]
        if not all(stored.issuperset(_words(load.pointer, task) or {-1}) for load in inside):
            return True
        for store in _certain_stores(Block([statement])):
            stored |= _words(store.pointer, task) if _is_of(store.pointer, array) else set()
    return len(stored) < count_scalars(array.element)


def _use_variables(body: Block, own: dict[Array, Alloca]) -> None:
    """Let all accesses to arrays be of variables."""
    variables = set(own.values())

    def pointer(rewriter: Rewriter, statement: GlobalPtr) -> Statement | None:
        return own.get(statement.array)

    def load(rewriter: Rewriter, statement: GlobalLoad) -> Statement | None:
        if base_pointer(statement.pointer) not in variables:
            return None
        own_load = LocalLoad(statement.pointer, type=statement.type, name=statement.name, hint=statement.hint)
        return rewriter.builder(statement).add(own_load)

    def store(rewriter: Rewriter, statement: GlobalStore) -> Statement | None:
        if base_pointer(statement.pointer) not in variables:
            return None
        rewriter.builder(statement).add(LocalStore(statement.pointer, statement.value))
        return DROPPED

    Rewriter({GlobalPtr: pointer, GlobalLoad: load, GlobalStore: store}).block(body)


def _staged(kernel: Kernel, task: Task, array: Array) -> Array:
    """Add the array in shared memory that has the elements of a block number by number."""
    word, count = _word(array.element), count_scalars(array.element)
    staged = new_shared(kernel, f"{array.name}_staged", word, (task.block_dim, count))
    staged.extents = (block_size(task.block_dim), None)
    return staged


def _scalars(builder: Builder, value: Statement) -> list[Statement]:
    """Return the numbers of a value, in the order of memory."""
    if isinstance(value.type, Struct):
        members = [builder.member(value, name) for name in value.type.names]
        return [scalar for member in members for scalar in _scalars(builder, member)]
    if not isinstance(value.type, Tensor):
        return [value]
    indices = list(product(*map(range, value.type.shape)))
    return [builder.element(value, [builder.const(k) for k in index]) for index in indices]


def _store_words(
    builder: Builder, task: Task, staged: dict[Array, Array], thread: Statement, context: PassContext
) -> None:
    """Store the numbers that the threads of a block have staged, those with an iteration."""
    loop = task.loop
    assert loop is not None
    is_single = len(loop.starts) == 1
    index = builder.add(LoopIndex(loop, type=i32) if is_single else ThreadIndex("global", type=i32, hint="number"))
    first = builder.op("sub", index, thread)
    first.hint = "first"
    threads = _threads_with_iterations(builder, task, thread, index)
    for array, words in staged.items():
        size = count_scalars(array.element)
        each = RangeFor([builder.const(0)], [builder.const(size)], [builder.const(1)], ["k"])
        if array is next(iter(staged)):
            text = "neighbouring threads store neighbouring numbers (staged_stores)"
            each.remarks = (Remark(text, "above", loop.location),)
        builder.add(each)
        with builder.into(each.body):
            word = builder.op("add", builder.op("mul", builder.add(LoopIndex(each, type=i32)), threads), thread)
            word.hint = "word"
            kind = i64 if context.capabilities.has_pointers and (array.shape is None or _is_far(array)) else i32
            start = builder.op("mul", builder.cast(first, kind), builder.const(size, kind))
            number = builder.op("add", start, builder.cast(word, kind))
            place = [builder.op(op, word, builder.const(size)) for op in ("plain_div", "plain_mod")]
            value = builder.load(builder.add(GlobalPtr(words, place, type=words.element)))
            pointer = GlobalPtr(array, [number], is_flat=True, by_word=True, type=words.element)
            builder.store(builder.add(pointer), value)


def _threads_with_iterations(builder: Builder, task: Task, thread: Statement, index: Statement) -> Statement:
    """Return how many threads of a block have an iteration; `index` is that of this thread."""
    assert task.loop is not None
    size = builder.add(Const(task.block_dim, block_size(task.block_dim), type=i32))
    if has_full_blocks(task):
        return size
    count = builder.again(task.loop.ends[0])
    for end in task.loop.ends[1:]:
        count = builder.op("mul", count, builder.again(end))
    after = builder.op("min", builder.op("sub", size, thread), builder.op("sub", count, index))
    threads = builder.op("add", thread, after)  # not `count - (index - thread)`, of which it is not known that it fits
    threads.hint = "threads"
    return threads
