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

The arrays are changed by such operations alone, so one branch performs those of a block of statements together. Sums
of floats need `fast_math`, since their order changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ...ir.builder import Builder
from ...ir.functions import reachable
from ...ir.nodes import Block, Effect, Remark, blocks, walk
from ...ir.statements import RECORDS, Array, AtomicOp, If, IfExp, Return
from ...ir.tasks import Kernel, Task, TaskKind
from ...ir.threads import FOLDS, Collective, depends_on_block
from ...ir.types import Tensor, element_of, f32, f64, i32, u1, u32
from ..analysis.loops.scattered_sums import is_summed_field, scattered
from ..analysis.queries import base_array, count_along, ends_iteration, leaves_block
from ..analysis.uniformity import Uniformity
from ..context import PassContext

WARP = 32
"""Threads of a warp; blocks have full ones."""
JOINS = {op: op for op in FOLDS} | {"sub": "add"}
"""Atomic operation -> what joins the operands of several."""
LETTERS = "xyzw"
NOTE = "one thread adds what all of its warp have (warp_sums)"


def warp_sums(kernel: Kernel, context: PassContext) -> bool:
    """Join what threads of a warp add to one element of an array."""
    capabilities = context.capabilities
    if not capabilities.has_warps or not {"basic", "arithmetic"} <= capabilities.subgroup_features:
        return False
    changed = False
    for task in kernel.tasks:
        if _is_plain(task):
            changed |= _join(task, context)
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


def _join(task: Task, context: PassContext) -> bool:
    """Join the operations of a task; return whether there are some."""
    is_ordered = context.options.deterministic or not context.options.fast_math
    suitable = {
        atomic
        for atomics in scattered(task, _is_suitable, JOINS, reduces=True).values()
        for atomic in atomics
        if not _is_float(atomic) or (JOINS[atomic.op] == "add" and not is_ordered)
    }
    if not suitable:
        return False
    uniformity = Uniformity(task, _axes_between_warps(task, context.capabilities.subgroup_size or 0))
    suitable = {atomic for atomic in suitable if atomic.mask is None and atomic.pointer not in uniformity.varying}
    groups = [group for block in _converged(task.body, uniformity) for group in _groups(block, suitable)]
    for block, group in groups:
        _replace(block, group, context.options.why_comments)
    return bool(groups)


def _is_suitable(array: Array) -> bool:
    return is_summed_field(array) and element_of(array.element) in (f32, f64, i32, u32)


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


def _groups(block: Block, suitable: set[AtomicOp]) -> Iterator[tuple[Block, list[AtomicOp]]]:
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


def _replace(block: Block, group: list[AtomicOp], explains: bool) -> None:
    """Join the operands of some operations, which one thread performs behind the last one."""
    joined = Builder(Block())
    branch = If(Collective("elect", [], type=u1, location=group[-1].location), location=group[-1].location)
    branch.remarks = (Remark(NOTE, "above", branch.location),) if explains else ()
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
        letter = LETTERS[place[0]] if kind.size <= len(LETTERS) == len(place) + 3 else "_".join(map(str, place))
        own = joined.element(atomic.value, [joined.const(number) for number in place])
        sum = joined.add(Collective(collective, [own], type=kind.element, hint=f"{name}{letter}_{suffix}"))
        pointer = performed.element_ptr(atomic.pointer, [performed.const(number) for number in place])
        last = performed.atomic(atomic.op, pointer, sum)
    last.remarks = atomic.remarks
