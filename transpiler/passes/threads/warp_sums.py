"""Warp aggregation: threads of a warp that add to one element join what they have, and one of them adds it.

    for i in x {                          for i in x {
        for g in 0 .. 64 {                    for g in 0 .. 64 {
            ...                                   ...
            atomic add h[g], $1       ->          $2 = reduce_add $1             of all threads of a warp
        }                                         if elect { atomic add h[g], $2 }
    }                                         }
                                          }

So are gradients of parameters, to which all iterations add: an atomic operation on an element for which 32 threads wait
takes as long as 32. An index counts if it is the same in all iterations of a warp: constants, arguments, indices of
serial loops that all threads run in step, those of axes of the parallel loop along which a warp does not move, and
what is computed or loaded from these. All threads of a warp come there together: not in branches that some may take.

The arrays are changed by such operations alone, so one branch performs those of a block of statements together. If an
ndarray may overlap another one that the task accesses, a launch starts a task with single operations. Sums of floats
need `fast_math`, since their order changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

from ...ir.builder import AXES, Builder
from ...ir.functions import calls, reachable
from ...ir.nodes import Block, Effect, Remark, blocks, walk
from ...ir.statements import RECORDS, Array, AtomicOp, GlobalPtr, If, IfExp, Return
from ...ir.tasks import Apart, Condition, Kernel, Task, TaskKind
from ...ir.threads import WARP, Collective, depends_on_block
from ...ir.types import Scalar, Tensor, element_of, f32, f64, i32, i64, u1, u32, u64
from ..analysis.loops.reducible import JOINS
from ..analysis.loops.scattered_sums import is_summed_field, scattered
from ..analysis.queries import base_array, count_along, ends_iteration, is_given, leaves_block
from ..analysis.uniformity import Uniformity
from ..context import PassContext
from ..tasks.parts.copies import put_in_place, say_when, split

Group = tuple[Block, list[AtomicOp]]
"""Operations that one branch performs, and their block."""
NOTE = "one thread adds what all of its warp have (warp_sums)"


def warp_sums(kernel: Kernel, context: PassContext) -> bool:
    """Join what threads of a warp add to one element of an array."""
    capabilities = context.capabilities
    if not capabilities.has_warps or not {"basic", "arithmetic"} <= capabilities.subgroup_features:
        return False
    changed = False
    for task in list(kernel.tasks):
        groups = _found(task, context) if _is_plain(task) else []
        if groups and (conditions := _apart(task, groups)):
            other = split(task, *conditions)
            say_when(task, other, conditions)
            put_in_place(kernel, task, [task, other])
        for block, group in groups:
            _replace(block, group)
        changed |= bool(groups)
    return changed


def _is_plain(task: Task) -> bool:
    """Return whether all threads of a full warp run an iteration each, and run it to its end."""
    loop = task.loop
    if task.kind is not TaskKind.RANGE_FOR or loop is None or loop.cells is not None or loop.order:
        return False
    if task.private or task.tile or task.overlaps or task.lanes > 1 or task.block_dim % WARP:
        return False
    if any(isinstance(s, RECORDS) or depends_on_block(s) or s.EFFECT & Effect.FENCE for s in reachable(task.body)):
        return False
    return not any(isinstance(s, Return) for s in walk(task.body)) and not any(map(ends_iteration, task.body))


def _found(task: Task, context: PassContext) -> list[Group]:
    """Return the operations of a task that threads of a warp join."""
    is_ordered = context.options.deterministic or not context.options.fast_math
    assert task.loop is not None
    may_split = all(map(is_given, (*task.loop.starts, *task.loop.ends)))  # a launch chooses if ndarrays overlap
    elements = (f32, f64, i32, u32) + ((i64, u64) if "extended_types" in context.capabilities.subgroup_features else ())
    suitable = {
        atomic
        for array, atomics in scattered(task, partial(_is_suitable, elements=elements), JOINS, reduces=True).items()
        for atomic in atomics
        if not _is_float(atomic) or (JOINS[atomic.op] == "add" and not is_ordered)
        if not (others := _others(task, array)) or (may_split and not any(other.strided for other in others))
    }
    if not suitable:
        return []
    uniformity = Uniformity(task, _axes_between_warps(task, context.capabilities.subgroup_size or 0))
    suitable = {atomic for atomic in suitable if atomic.mask is None and atomic.pointer not in uniformity.varying}
    return [group for block in _converged(task.body, uniformity) for group in _groups(block, suitable)]


def _is_suitable(array: Array, elements: tuple[Scalar, ...]) -> bool:
    is_ndarray = array.shape is None and not (array.is_shared or array.clamped or array.strided)
    is_plain = isinstance(array.element, (Scalar, Tensor)) and (is_ndarray or is_summed_field(array))
    return is_plain and element_of(array.element) in elements


def _others(task: Task, array: Array) -> list[Array]:
    """Return the arrays that a task accesses and that may have memory in common with an array."""
    reached = [s.array for s in walk(task.body) if isinstance(s, GlobalPtr)]
    reached += [other for call in calls(task.body) for other in call.function.reads | call.function.writes]
    found = sorted(set(reached), key=lambda other: other.binding)
    return [other for other in found if other is not array and task.may_share(array, other)]


def _apart(task: Task, groups: list[Group]) -> list[Condition]:
    """Return which ndarrays must be apart: no thread sees when another one adds what it has."""
    arrays = [base_array(atomic.pointer) for _, group in groups for atomic in group]
    pairs: dict[frozenset[Array], Condition] = {}
    for array in dict.fromkeys(array for array in arrays if array is not None):
        for other in _others(task, array):
            pairs.setdefault(frozenset((array, other)), Apart(array, other))
    return list(pairs.values())


def _is_float(atomic: AtomicOp) -> bool:
    return atomic.value.type is not None and element_of(atomic.value.type).is_float


def _axes_between_warps(task: Task, size: int) -> frozenset[int]:
    """Return the axes of a loop whose indices all threads of a warp have in common."""
    assert task.loop is not None
    found, inner = set[int](), 1
    for axis in reversed(range(len(task.loop.starts))):
        if size and inner % size == 0 and inner:
            found.add(axis)
        count = count_along(task.loop, axis)
        if count is None:
            break
        inner *= count
    return frozenset(found)


def _converged(block: Block, uniformity: Uniformity) -> Iterator[Block]:
    """Yield the blocks of statements to which all threads of a warp come together."""
    yield block
    for statement in block:
        if statement not in uniformity.divergent and not isinstance(statement, IfExp):
            for inner in blocks(statement):
                yield from _converged(inner, uniformity)


def _groups(block: Block, suitable: set[AtomicOp]) -> Iterator[Group]:
    """Yield the operations of a block that one branch performs: none leaves the block between them."""
    group: list[AtomicOp] = []
    for statement in block:
        if isinstance(statement, AtomicOp) and statement in suitable:
            group.append(statement)
        elif group and leaves_block(statement):
            yield block, group
            group = []
    if group:
        yield block, group


def _replace(block: Block, group: list[AtomicOp]) -> None:
    """Join the operands of some operations, which one thread performs behind the last one."""
    joined = Builder(Block())
    branch = If(Collective("elect", [], type=u1, location=group[-1].location), location=group[-1].location)
    branch.remarks = (Remark(NOTE, "above", branch.location),)
    performed = Builder(branch.then)
    for statement in block:
        if statement not in group:
            joined.add(statement)
            continue
        assert isinstance(statement, AtomicOp)
        joined.location = performed.location = statement.location
        _add(joined, performed, statement)
        if statement is group[-1]:
            joined.add(branch.condition)
            joined.add(branch)
    block.statements = joined.block.statements


def _add(joined: Builder, performed: Builder, atomic: AtomicOp) -> None:
    """Add what joins the operands of an operation, and the operation of one thread; of vectors for each component."""
    collective, array = f"reduce_{JOINS[atomic.op]}", base_array(atomic.pointer)
    suffix = "sum" if JOINS[atomic.op] == "add" else JOINS[atomic.op]
    name = f"{array.name if array is not None else 'value'}_"
    kind = atomic.value.type
    if not isinstance(kind, Tensor):
        atomic.value = joined.add(Collective(collective, [atomic.value], type=kind, hint=f"{name}{suffix}"))
        performed.add(atomic)
        return
    for place in product(*map(range, kind.shape)):
        letter = AXES[place[0]] if len(place) == 1 and kind.size <= len(AXES) else "_".join(map(str, place))
        own = joined.element(atomic.value, [joined.const(number) for number in place])
        sum = joined.add(Collective(collective, [own], type=kind.element, hint=f"{name}{letter}_{suffix}"))
        pointer = performed.element_ptr(atomic.pointer, [performed.const(number) for number in place])
        performed.atomic(atomic.op, pointer, sum).remarks = atomic.remarks
