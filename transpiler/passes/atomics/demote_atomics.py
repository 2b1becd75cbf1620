"""Replaces atomic operations by plain ones if no other thread writes the same element.

    $old = atomic add a[$i], $v    ->    $old = load a[$i]
                                         $1 = add $old, $v
                                         store a[$i], $1

This is always so in serial tasks, and for local variables: `local_atomics` replaces those, which no language has, in
every kernel. In a parallel loop it is so for an array of which every iteration writes its own elements: some axes of
all writes are the loop's indices, each plus a constant that is the same everywhere. Of `x[t + 1, i]` and `x[t, i - 1]`
each is looked at alone: they are never one element. Reads do not matter: with one writer, others read the old or the
new value, atomic or not. In shared memory the number of a thread is used like the loop's indices, and if blocks are
loops (C) one core has all of that memory.

In a loop of one iteration, `for _ in range(1)`, what is added to an array that the loop loads is plain:
`s[b + 1] += s[b]` is a sum of those before, which `block_scans` takes.

Several ndarrays that are written, `v[i] += a[i]; x[i] += dt * v[i]`, may be one array with several names: each
iteration has elements of its own then, too. If they were parts of one array that overlap, iterations would load what
others change, and nothing is promised of the result; where all accesses are atomic operations, it is, and they stay.
"""

from __future__ import annotations

from typing import TypeGuard

from ...ir.builder import Builder
from ...ir.functions import Reference
from ...ir.nodes import Block, Remark, Statement, walk
from ...ir.ops import ATOMIC_OPS
from ...ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    RangeFor,
    StructFor,
    base_pointer,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar
from ..analysis.loops.exclusive import exclusive_pointers
from ..context import PassContext
from ..rewrite import Rewriter


def local_atomics(kernel: Kernel, context: PassContext) -> bool:
    """Replace atomic operations on local variables, before `offload`."""
    plain = _exclusive_in_body(kernel.body)
    plain.update(atomic for function in kernel.functions for atomic in walk(function.body) if _is_local(atomic))

    def rule(rewriter: Rewriter, atomic: Statement) -> Statement | None:
        return make_plain(rewriter, atomic) if isinstance(atomic, AtomicOp) and atomic in plain else None

    return bool(plain) and Rewriter({AtomicOp: rule}).run(kernel)


def demote_atomics(kernel: Kernel, context: PassContext) -> bool:
    """Replace atomic operations of tasks by load, operation, store if the result is the same."""
    plain = _exclusive_in_tasks(kernel, context)
    if not plain:
        return False

    def rule(rewriter: Rewriter, atomic: Statement) -> Statement | None:
        if not isinstance(atomic, AtomicOp) or atomic not in plain:
            return None
        if plain[atomic]:
            atomic.remarks += (Remark(f"not atomic: {plain[atomic]} (demote_atomics)"),)
        return make_plain(rewriter, atomic)

    return Rewriter({AtomicOp: rule}).run(kernel)


def _is_local(statement: Statement) -> TypeGuard[AtomicOp]:
    """Return whether `statement` is an atomic on a variable of a function or of its caller."""
    return isinstance(statement, AtomicOp) and isinstance(base_pointer(statement.pointer), (Alloca, Reference))


def make_plain(rewriter: Rewriter, atomic: AtomicOp) -> Statement:
    """Emit load, operation and store; return the old value."""
    builder = rewriter.builder(atomic)
    old = builder.load(atomic.pointer)
    if atomic.mask is not None:
        store_masked(builder, atomic, old)
        return old
    builder.store(atomic.pointer, builder.op(ATOMIC_OPS[atomic.op], old, atomic.value)).remarks = atomic.remarks
    return old


def store_masked(builder: Builder, atomic: AtomicOp, old: Statement) -> None:
    """Store what an operation of `MASKED_OPS` makes of `old`."""
    mask, value = atomic.mask, atomic.value
    assert mask is not None and isinstance(mask.type, Scalar)
    new = builder.op("bit_and", builder.op("add", old, value), mask) if atomic.op == "add_bits" else value
    if isinstance(mask, Const):
        unmasked = int(mask.type(~int(mask.value)))
        others: Statement = builder.add(Const(unmasked, notation=hex(unmasked), type=mask.type))
    else:
        others = builder.op("bit_not", mask)
    builder.store(
        atomic.pointer, builder.op("bit_or", builder.op("bit_and", old, others), new)
    ).remarks = atomic.remarks


def _exclusive_in_body(body: Block) -> set[AtomicOp]:
    """Return, before `offload`, the atomics on variables that no parallel loop shares."""
    outside = {statement for statement in body.statements if isinstance(statement, Alloca)}
    result: set[AtomicOp] = set()
    for statement in body.statements:
        if not statement.BLOCKS and statement.__class__ is not AtomicOp:
            continue
        parallel = isinstance(statement, (RangeFor, StructFor)) and not statement.serialize
        for inner in [one for one in walk(Block([statement])) if one.__class__ is AtomicOp]:
            if isinstance(inner, AtomicOp) and isinstance(base := base_pointer(inner.pointer), Alloca):
                if not (parallel and base in outside):
                    result.add(inner)
    return result


def _exclusive_in_tasks(kernel: Kernel, context: PassContext) -> dict[AtomicOp, str]:
    """Return the atomics whose element no other thread of the task writes, with a reason if it is not obvious."""
    result: dict[AtomicOp, str] = {}
    for task in kernel.tasks:
        atomics: list[AtomicOp] = [s for s in walk(task.body) if s.__class__ is AtomicOp]
        if not atomics:
            continue
        exclusive = exclusive_pointers(task)
        as_loops = set(kernel.shared) if context.capabilities.blocks_as_loops else set()
        carried = _loaded_arrays(task) if _has_one_iteration(task.loop) else set[Array]()
        for atomic in atomics:
            base = base_pointer(atomic.pointer)
            if task.loop is None or isinstance(base, Alloca):
                result[atomic] = ""
            elif isinstance(base, GlobalPtr) and base.array in carried:
                result[atomic] = "there is one iteration"
            elif isinstance(base, GlobalPtr) and base in exclusive:
                reason = "no other thread writes it" if base.array.is_shared else "no other iteration writes it"
                result[atomic] = "" if atomic.location.is_derivative else reason  # Python has no atomic operation there
            elif isinstance(base, GlobalPtr) and base.array in as_loops:
                result[atomic] = "one core runs the whole block"
    return result


def _has_one_iteration(loop: Statement | None) -> bool:
    """Return whether a loop is a `for _ in range(1)`, which makes the loops inside serial."""
    return isinstance(loop, RangeFor) and all(
        isinstance(start, Const) and isinstance(end, Const) and end.value - start.value == 1
        for start, end in zip(loop.starts, loop.ends, strict=True)
    )


def _loaded_arrays(task: Task) -> set[Array]:
    """Return the arrays that a task loads: to others, an atomic addition waits for nothing, a plain one for a load."""
    loads = (base_pointer(one.pointer) for one in walk(task.body) if isinstance(one, GlobalLoad))
    return {base.array for base in loads if isinstance(base, GlobalPtr)}
