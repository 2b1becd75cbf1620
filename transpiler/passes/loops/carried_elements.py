"""Scalar replacement across iterations: carries the element that an iteration stores to the next one, on GPUs.

    for j in 1 .. n {                                     x_before = x[0, s]
        x[j, s] = r[j, s] - l[j, s] * x[j - 1, s]    ->   for j in 1 .. n {
    }                                                         x_before = r[j, s] - l[j, s] * x_before
                                                              x[j, s] = x_before
                                                          }

Each iteration waits for the one before it, in a cache for what that has stored. So do tridiagonal systems, sums of the
elements so far, filters with feedback and rows of tables of dynamic programming. A compiler for the host does this by
itself.

The load must be sure to happen in the first iteration, so that none is added that the program does not do.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Remark, Statement, walk, walk_blocks
from ...ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LocalLoad,
    LocalStore,
    RangeFor,
    Return,
    base_pointer,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Tensor, count_scalars, i32
from ..analysis.linear import Linear, Reader
from ..analysis.queries import base_array, is_dense, leaves_block, trip_count
from ..context import PassContext
from ..rewrite import Rewriter

MOST = 4
"""The most numbers of an element that is carried in registers."""
REMARK = Remark("for the next iteration, too (carried_elements)")


def carried_elements(kernel: Kernel, context: PassContext) -> bool:
    """Carry elements from iteration to iteration in the serial loops of GPUs."""
    options, capabilities = context.options, context.capabilities
    if not capabilities.reloads_elements or options.debug or options.check_out_of_bound:
        return False
    changed = False
    for task in kernel.tasks:
        named: set[str] = set()
        for block in list(walk_blocks(task.body)):
            for loop in [s for s in block if isinstance(s, RangeFor)]:
                for store in _only_stores(task, loop):
                    changed |= _carry(block, loop, store, named)
    return changed


def _only_stores(task: Task, loop: RangeFor) -> list[GlobalStore]:
    """Return the stores of whole elements in each iteration, each of which alone changes its array in the loop."""
    is_usual = len(loop.starts) == 1 and not loop.unroll and isinstance(loop.steps[0], Const)
    if not is_usual or loop.starts[0].type != i32 or trip_count(loop) == 0:
        return []
    inside = list(walk(loop.body))
    if any(leaves_block(s) for s in loop.body) or any(map(_may_see_others, inside)):
        return []
    writes = [s for s in inside if isinstance(s, (GlobalStore, AtomicOp))]
    found = []
    for store in [s for s in loop.body if isinstance(s, GlobalStore) and isinstance(s.pointer, GlobalPtr)]:
        array = store.pointer.array  # type: ignore[attr-defined]
        others = [base_array(write.pointer) for write in writes if write is not store]
        if (
            _is_plain(array)
            and store.value.type == array.element
            and not any(o is None or task.may_share(array, o) for o in others)
        ):
            found.append(store)
    return found


def _may_see_others(statement: Statement) -> bool:
    """Return whether other threads may have changed memory at a statement, or it changes any."""
    return isinstance(statement, (Return, Call)) or bool(statement.EFFECT & Effect.FENCE)


def _is_plain(array: Array) -> bool:
    """Return whether the elements of an array are few numbers in memory of their own."""
    return is_dense(array) and isinstance(array.element, (Scalar, Tensor)) and count_scalars(array.element) <= MOST


def _carry(block: Block, loop: RangeFor, store: GlobalStore, named: set[str]) -> bool:
    """Carry what a store stores, if the next iteration loads it. named: names of such variables of the task."""
    reader = Reader({loop, *walk(loop.body)}, {}, scales=True)
    place = loop.body.statements.index(store)
    loads = [
        s
        for s in walk(Block(loop.body.statements[:place]))
        if isinstance(s, GlobalLoad) and _is_before(s.pointer, store.pointer, loop, reader)
    ]
    if not any(load in loop.body.statements for load in loads):
        return False
    builder = Builder(Block(), loop.location)
    variable = _start(builder, loop, loads[0], reader)
    name = f"{base_array(loads[0].pointer).name}_before"  # type: ignore[union-attr]
    variable.hint = f"{name}_{loop.names[0]}" if name in named else name
    named.add(name)
    block.insert_before(loop, builder.block)
    builder = Builder(Block(), store.location)
    builder.add(LocalStore(variable, store.value, remarks=(REMARK,)))
    store.value = builder.load(variable)
    loop.body.insert_before(store, builder.block)

    def rule(rewriter: Rewriter, load: Statement) -> Statement | None:
        if load not in loads:
            return None
        return rewriter.emit(LocalLoad(variable, type=variable.type), load)

    Rewriter({GlobalLoad: rule}).block(loop.body)
    return True


def _is_before(pointer: Statement, stored: Statement, loop: RangeFor, reader: Reader) -> bool:
    """Return whether a pointer is of the element that the iteration before has stored."""
    assert isinstance(stored, GlobalPtr)
    if not isinstance(pointer, GlobalPtr) or pointer.array is not stored.array:
        return False
    step, moves = int(loop.steps[0].value), False  # type: ignore[attr-defined]
    for own, other in zip(pointer.indices, stored.indices, strict=True):
        read, written = reader.read(own), reader.read(other)
        if read is None or written is None or any(index != (loop, 0) for index in written.indices):
            return False
        factor = written.indices.get((loop, 0), 0)
        if read.plus(written, -1).number != -factor * step:
            return False
        moves |= factor != 0
    return moves


def _start(builder: Builder, loop: RangeFor, load: GlobalLoad, reader: Reader) -> Alloca:
    """Add the variable, with the element that the first iteration loads, if there is one."""
    pointer = base_pointer(load.pointer)
    assert isinstance(pointer, GlobalPtr)
    start, end = loop.starts[0], loop.ends[0]
    variable = builder.add(Alloca(type=pointer.array.element))
    around = builder.block
    if trip_count(loop) is None:
        is_upward = int(loop.steps[0].value) > 0  # type: ignore[attr-defined]
        around = builder.add(If(builder.op("lt" if is_upward else "gt", start, end))).then
    with builder.into(around):
        indices = [_first(builder, reader.read(index), loop, start) for index in pointer.indices]
        element = builder.add(GlobalPtr(pointer.array, indices, type=pointer.type))
        builder.add(LocalStore(variable, builder.add(GlobalLoad(element, type=element.type))))
    return variable


def _first(builder: Builder, index: Linear | None, loop: RangeFor, start: Statement) -> Statement:
    assert index is not None
    return index.emit(builder, {(loop, 0): start})
