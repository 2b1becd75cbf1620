"""Turns atomic operations of all iterations on one place into a reduction.

    for i in x { atomic add s, x[i] }    ->    for i in x { s_sum += x[i] }    a private accumulator for each thread
                                               join: s_sum += other            subgroup, then block
                                               epilogue: atomic add s, s_sum   once a block

`reducible.py` says which operations. Sums are taken in another order, so that floats may differ by rounding; their
error shrinks with the number of accumulators. Sums of floats are joined in a fixed order: the last block that is done
joins the results of all blocks, and only it has an epilogue. Integers are exact, since they wrap. Each accumulator
starts with the neutral element, so that an iteration may also perform no operation: for `min` and `max` of floats it is
NaN, of which these functions return the other operand.

Integers below 32 bits and f16 are combined in 32 bits. Where threads are iterations of loops (C), floats are added in
f64, since one accumulator may get all values. With `fast_math` and without inner loops, runs of a few iterations are
added in f32 first: converting each number takes longer than reading it.
Source: behaviour of Taichi's `make_thread_local`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...ir.builder import AXES, Builder
from ...ir.functions import Call, Reference, reachable
from ...ir.nodes import Block, Remark, Statement, walk
from ...ir.ops import ATOMIC_OPS
from ...ir.statements import (
    ArgLoad,
    Array,
    ArrayShape,
    AtomicOp,
    Const,
    GlobalPtr,
    GlobalTemporary,
    If,
    MatrixPtr,
    Parameter,
    Rand,
    RangeFor,
    StructPtr,
    While,
    base_pointer,
    is_const,
)
from ...ir.tasks import Kernel, Reduction, Task
from ...ir.threads import WARP
from ...ir.types import Scalar, Tensor, Type, count_scalars, element_of, f16, f32, f64, i32, u32, with_element
from ..analysis.loops.reducible import Place, is_invariant, reducible_places
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter
from .parts.joins import join_in_order

MAX_ACCUMULATORS = 64
"""The most numbers that a thread accumulates; more would not fit in registers."""
NOT_VECTORIZED = (AtomicOp, Call, RangeFor, Rand, While)
"""Statements with which a loop is not vectorized, and runs would gain nothing."""
MANY = 5
"""Elements of arrays with the same kind of reduction, from which on these are one: of a vector, which a block joins at
once. Apart, each waits for the others: 27 sums of normal equations wait 108 times."""
MAX_TERMS = 4
"""Terms that an iteration of a run adds: each adds a rounding."""
SUFFIXES = {"add": "sum", "mul": "product"}
"""Join -> suffix of the accumulator's name, if it is not the join itself."""
PLURALS = {
    "add": "sums",
    "mul": "products",
    "min": "minima",
    "max": "maxima",
    "and": "ands",
    "or": "ors",
    "xor": "xors",
}
"""Join -> name of an accumulator of many elements."""


def reduce_atomics(kernel: Kernel, context: PassContext) -> bool:
    """Give each thread its own accumulator for places that all iterations of a task combine values into."""
    options = context.options
    if context.capabilities.is_reference or not options.make_thread_local:
        return False  # the interpreter is the reference: it performs each operation
    changed = False
    for task in kernel.tasks:
        places = _accepted(task, context)
        if places:
            _reduce(kernel, task, places, context)
            changed = True
    if options.deterministic:
        _warn(kernel, context)
    return changed


def _warn(kernel: Kernel, context: PassContext) -> None:
    """Warn of sums of floats that remain atomic, since they are added in any order."""
    for task in kernel.tasks:
        for statement in reachable(task.body) if task.loop is not None else ():
            if isinstance(statement, AtomicOp) and statement.op in ("add", "sub", "mul"):
                if statement.type is not None and element_of(statement.type).is_float:
                    message = "With `deterministic=True`: these floats are added atomically, in any order"
                    hint = "add to one place in all iterations, or in integers"
                    context.warnings.append(statement.location.explained(message, hint))


def _accepted(task: Task, context: PassContext) -> list[Place]:
    """Return the places of a task that are worth a reduction."""
    places = [place for place in reducible_places(task) if place.certain or _has_plain_bounds(task.loop)]
    if sum(count_scalars(place.type) for place in places) > MAX_ACCUMULATORS:
        return []
    return places


def _has_plain_bounds(loop: RangeFor | None) -> bool:
    return loop is not None and loop.cells is None and all(map(is_invariant, (*loop.starts, *loop.ends)))


def _reduce(kernel: Kernel, task: Task, places: list[Place], context: PassContext) -> None:
    full = -(-task.block_dim // WARP) * WARP  # all lanes of each warp take part in joining
    task.block_dim = min(full, context.capabilities.max_block_dim)
    taken: set[str] = set()
    accumulators: dict[Statement, Statement] = {}
    head = Block()
    parts: list[tuple[Place, Reduction, int | None]] = []
    has_runs = _has_runs(task, places, context)
    elements = Counter(array for array, _ in set(map(_element, places)))
    for together in _together(places, context):
        place, is_one = together[0], len(together) == 1
        if is_one:
            array, element = _element(place)
            name = _name(place, element if elements[array] > 1 else "", taken)
            reduction = _new_reduction(place, place.type, name, has_runs, context)
        else:
            name, type = _distinct(PLURALS[place.join], taken), Tensor((len(together),), element_of(place.type))
            reduction = _new_reduction(place, type, name, has_runs, context)
        task.reductions.append(reduction)
        builder = Builder(head, reduction.location)
        whole = builder.add(Reference(reduction.innermost, type=reduction.innermost.type))
        for number, one in enumerate(together):
            pointer = whole if is_one else builder.element_ptr(whole, [builder.const(number)])
            accumulators.update((atomic, pointer) for atomic in one.atomics)
            parts.append((one, reduction, None if is_one else number))
        _join(task.join, reduction)
    if any(_depends_on_order(place) for place in places):
        join_in_order(kernel, task, context)
    for place, reduction, part in parts:
        _store(task, place, reduction, part, context)
    _accumulate(task.body, accumulators)
    task.body.statements[:0] = head.statements


def _together(places: list[Place], context: PassContext) -> list[list[Place]]:
    """Return the places in lists that are one reduction each: `MANY` numbers of one kind, or one place."""
    if context.capabilities.blocks_as_loops:
        return [[place] for place in places]
    found: dict[tuple[object, ...], list[Place]] = {}
    for number, place in enumerate(places):
        is_element = isinstance(place.type, Scalar) and isinstance(base_pointer(place.pointer), GlobalPtr)
        found.setdefault((place.join, place.type) if is_element else (number,), []).append(place)
    return [part for many in found.values() for part in ([many] if len(many) >= MANY else [[one] for one in many])]


def _has_runs(task: Task, places: list[Place], context: PassContext) -> bool:
    """Return whether the loop of a task is worth runs: it can be vectorized, and an iteration adds few terms."""
    loop = task.loop
    if loop is None or loop.order or loop.cells is not None or not context.options.fast_math:
        return False
    if not is_const(loop.steps[-1], 1) or loop.starts[-1].type != i32 or task.synchronizes:
        return False
    if not all(isinstance(place.type, Scalar) and len(place.atomics) <= MAX_TERMS for place in places):
        return False
    summed = {atomic for place in places for atomic in place.atomics}
    return not any(isinstance(one, NOT_VECTORIZED) and one not in summed for one in walk(task.body))


def _new_reduction(place: Place, of: Type, name: str, has_runs: bool, context: PassContext) -> Reduction:
    """Return the reduction of a place, or of places like it. of: the type of what is combined."""
    type = _accumulator_type(of, place.join, context)
    location = place.atomics[0].location
    run = Parameter(f"{name}_run", f32, 0, by_reference=True) if has_runs and (place.type, type) == (f32, f64) else None
    return Reduction(
        place.join,
        Parameter(name, type, 0, by_reference=True),
        Parameter(f"{name}_other", type, 0, by_reference=True),
        element_of(place.type),
        location=location,
        run=run,
    )


def _element(place: Place) -> tuple[Array | None, str]:
    """Return the array of a place and the word for the element, None and "" for a variable."""
    base = base_pointer(place.pointer)
    return (base.array, _component(base.indices, "")) if isinstance(base, GlobalPtr) else (None, "")


def _name(place: Place, element: str, taken: set[str]) -> str:
    """Return the name of an accumulator: of the variable, or of the array and member with the kind of reduction.

    element: the word for it, if several elements of the array have accumulators.
    """
    base = base_pointer(place.pointer)
    path: list[str] = []
    pointer = place.pointer
    while isinstance(pointer, (MatrixPtr, StructPtr)):
        path.append(pointer.member if isinstance(pointer, StructPtr) else _component(pointer.indices, AXES))
        pointer = pointer.origin
    path = [word for word in (*path, element) if word]
    if isinstance(base, GlobalTemporary):
        name = "_".join([base.temporary.name, *reversed(path)])
    else:
        assert isinstance(base, GlobalPtr)
        name = "_".join([base.array.name, *reversed(path), SUFFIXES.get(place.join, place.join)])
    return _distinct(name, taken)


def _distinct(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, which then is."""
    result, number = name, 1
    while result in taken:
        result, number = f"{name}_{number}", number + 1
    taken.add(result)
    return result


def _component(indices: Sequence[Statement], letters: str) -> str:
    """Return the word for an element in a name, "x" by a letter or "0_1" by numbers; "" if an index is no constant."""
    numbers = [int(index.value) for index in indices if isinstance(index, Const)]
    if len(numbers) < len(indices) or any(number < 0 for number in numbers):
        return ""
    return letters[numbers[0]] if len(numbers) == 1 and numbers[0] < len(letters) else "_".join(map(str, numbers))


def _accumulator_type(type: Type, join: str, context: PassContext) -> Type:
    element = element_of(type)
    wide = element
    if element.is_integral and element.bits < 32:
        wide = i32 if element.is_signed else u32
    elif element in (f16, f32) and join == "add" and _adds_in_f64(context):
        wide = f64
    elif element == f16:
        wide = f32
    return type if wide == element else with_element(type, wide)


def _adds_in_f64(context: PassContext) -> bool:
    return context.capabilities.has_fast_f64 and f64.name in context.capabilities.types


def _depends_on_order(place: Place) -> bool:
    """Return whether a reduction rounds. Thousands of atomic additions to one f32 would have errors above 1e-6."""
    return element_of(place.type).is_float and place.join in ("add", "mul")


def _join(block: Block, reduction: Reduction) -> None:
    """Add `accumulator = accumulator op other` to a block."""
    builder = Builder(block, reduction.location)
    own, other = (builder.add(Reference(p, type=p.type)) for p in (reduction.accumulator, reduction.other))
    builder.store(own, builder.op(ATOMIC_OPS[reduction.op], builder.load(own), builder.load(other)))


def _store(task: Task, place: Place, reduction: Reduction, part: int | None, context: PassContext) -> None:
    """Add to the epilogue of a task what combines the place with the joined value. part: of a vector of these."""
    builder = Builder(task.epilogue, reduction.location)
    if not place.certain and task.loop is not None and not _has_blocks_only_for_iterations(task.loop, context):
        branch = If(_has_iterations(builder, task.loop))
        builder.add(branch)
        builder.block = branch.then
    pointer = builder.again(place.pointer)
    joined = builder.add(Reference(reduction.accumulator, type=reduction.accumulator.type))
    total = builder.load(joined if part is None else builder.element_ptr(joined, [builder.const(part)]))
    total = builder.cast(total, element_of(place.type))
    is_alone = context.capabilities.joins_in_order or task.blocks_done is not None
    if is_alone and isinstance(base_pointer(pointer), GlobalTemporary):  # other launches may write arrays
        builder.store(pointer, builder.op(ATOMIC_OPS[place.join], builder.load(pointer), total))
    else:
        builder.atomic(place.join, pointer, total)


def _has_blocks_only_for_iterations(loop: RangeFor, context: PassContext) -> bool:
    """Return whether the entry does not run without an iteration: the host counts them and launches no block."""
    bounds = (*loop.starts, *loop.ends)
    is_simple = all(isinstance(value, (Const, ArrayShape, ArgLoad)) for value in bounds)
    return is_simple and not context.capabilities.blocks_as_loops


def _has_iterations(builder: Builder, loop: RangeFor) -> Statement:
    """Return whether a loop has an iteration, computed from its bounds."""
    result: Statement | None = None
    for start, end, step in zip(loop.starts, loop.ends, loop.steps, strict=True):
        assert isinstance(step, Const)
        pair = (builder.again(start), builder.again(end))
        below = builder.op("lt", *(pair if step.value > 0 else pair[::-1]))
        result = below if result is None else builder.op("logical_and", result, below)
    assert result is not None
    return result


def _accumulate(body: Block, accumulators: dict[Statement, Statement]) -> None:
    """Replace the atomic operations by operations on accumulators."""
    remark = Remark("not atomic: joined below (reduce_atomics)")

    def rule(rewriter: Rewriter, atomic: Statement) -> Statement | None:
        if atomic not in accumulators:
            return None
        assert isinstance(atomic, AtomicOp)
        pointer = accumulators[atomic]
        assert pointer.type is not None
        builder = rewriter.builder(atomic)
        value = builder.cast(atomic.value, element_of(pointer.type))
        new = builder.op(ATOMIC_OPS[atomic.op], builder.load(pointer), value)
        store = builder.store(pointer, new)
        store.remarks = (*atomic.remarks, remark)
        return DROPPED

    Rewriter({AtomicOp: rule}).block(body)
