"""Rejects barriers in divergent control flow, and tasks that need more shared memory than a block has.

    if tile[t] > 0: ti.simt.block.sync()    (rejected: the condition may differ between threads of a block)
    for k in range(n): ti.simt.block.sync() (accepted: `n` is the same for all)

It drops stores to shared arrays that are never read. It records whether the threads of a task communicate
(`Task.synchronizes`), and whether all running threads reach a barrier or collective together (`converged`), from which
the lane masks of CUDA are derived.
"""

from __future__ import annotations

from ...errors import SourceLocation, TaichiSyntaxError, UnsupportedError
from ...ir.nodes import Block, Statement, blocks, walk
from ...ir.statements import (
    Array,
    AtomicOp,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    RangeFor,
    While,
    base_pointer,
)
from ...ir.tasks import Kernel, Task
from ...ir.threads import Barrier, Collective, ThreadIndex, depends_on_block, shared_size_bytes, waits
from ..analysis.uniformity import Uniformity
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter


def check_threads(kernel: Kernel, context: PassContext) -> bool:
    """Find tasks whose threads communicate, and check their barriers and shared arrays.

    Raises:
        TaichiSyntaxError: at a barrier that some threads of a block may not reach.
        UnsupportedError: if the shared arrays of a task are too large, or if the target runs the threads of a block
            in a loop and cannot synchronize them at a statement.
    """
    if not kernel.shared and not context.may_have(kernel, (Barrier, Collective, ThreadIndex)):
        return False
    changed = _drop_unread(kernel)
    for task in kernel.tasks:
        task.synchronizes = any(
            depends_on_block(statement) or (isinstance(statement, GlobalPtr) and statement.array.is_shared)
            for statement in walk(task.body)
        )
        if task.synchronizes:
            changed = True
            _check_shared_size(task, context)
            _Check(task, context).block(task.body, None)
    return changed


def _drop_unread(kernel: Kernel) -> bool:
    """Drop stores to shared arrays that are never read, since compilers warn of them."""
    if not kernel.shared:
        return False
    bodies = [task.body for task in kernel.tasks]
    read = {
        base for body in bodies for s in walk(body) if isinstance(s, (GlobalLoad, AtomicOp)) and (base := _shared(s))
    }

    def drop(rewriter: Rewriter, store: Statement) -> Statement | None:
        assert isinstance(store, GlobalStore)
        array = _shared(store)
        return DROPPED if array is not None and array not in read else None

    return Rewriter({GlobalStore: drop}).run(kernel)


def _shared(access: GlobalLoad | GlobalStore | AtomicOp) -> Array | None:
    """Return the shared array of an access, None for other memory."""
    base = base_pointer(access.pointer)
    return base.array if isinstance(base, GlobalPtr) and base.array.is_shared else None


def _check_shared_size(task: Task, context: PassContext) -> None:
    arrays = {s.array: s.location for s in walk(task.body) if isinstance(s, GlobalPtr) and s.array.is_shared}
    ordered = sorted(arrays, key=lambda a: a.binding)
    sizes = [(array.name, shared_size_bytes(array)) for array in ordered]
    total, limit = sum(size for _, size in sizes), context.capabilities.max_shared_bytes
    if total > limit:
        listed = ", ".join(f"`{name}` {size:,}" for name, size in sizes)
        raise next(iter(arrays.values())).error(
            UnsupportedError,
            f"The shared arrays of this loop take {total:,} bytes ({listed}); a block of this device has {limit:,}",
            "use smaller tiles, or reuse one array with a barrier between the uses",
        )


class _Check:
    """Checks one task. `cause`: the statement at which threads may diverge; `left`: a `continue` of some threads."""

    def __init__(self, task: Task, context: PassContext) -> None:
        self.task = task
        self.as_loops = context.capabilities.blocks_as_loops
        self.uniformity = Uniformity(task)
        self.loops: list[Statement] = []
        self.left: SourceLocation | None = None

    def block(self, block: Block, cause: Statement | None) -> None:
        for statement in block.statements:
            if isinstance(statement, (Barrier, Collective)):
                self.synchronization(statement, cause)
            elif isinstance(statement, Continue) and not self.loops and cause is not None:
                self.left = statement.location
            elif isinstance(statement, IfExp):
                _refuse_in_expression(statement)
            if statement.BLOCKS:
                self.compound(statement, cause)

    def compound(self, statement: Statement, cause: Statement | None) -> None:
        is_divergent = statement in self.uniformity.divergent
        if isinstance(statement, (RangeFor, While)):
            self.loops.append(statement)
        for inner in blocks(statement):
            self.block(inner, statement if is_divergent and cause is None else cause)
        if isinstance(statement, (RangeFor, While)):
            self.loops.pop()

    def synchronization(self, statement: Barrier | Collective, cause: Statement | None) -> None:
        """Check one barrier or collective."""
        is_together = isinstance(statement, Barrier) and statement.together
        statement.converged = is_together or (cause is None and self.left is None)
        if waits(statement, "block") and not statement.converged:
            assert cause is not None or self.left is not None
            raise statement.location.error(
                TaichiSyntaxError,
                f"Barrier in divergent control flow: {_reason(cause, self.left)}, but all threads must reach a barrier",
                "move the barrier out of the condition, so that all threads of a block reach it",
            )
        if self.as_loops and waits(statement, "subgroup"):
            divergent_loops = [loop for loop in self.loops if loop in self.uniformity.divergent]
            reason = (
                _reason(divergent_loops[0] if divergent_loops else None, self.left)
                if divergent_loops or self.left is not None
                else ""
            )
            if reason:
                raise statement.location.error(
                    UnsupportedError,
                    f"Threads of a subgroup cannot synchronize here on this target: {reason}",
                    "use loop bounds that are the same for all threads, and test inside the loop; or use a GPU",
                )


def _reason(cause: Statement | None, left: SourceLocation | None) -> str:
    if cause is None:
        assert left is not None
        return f"some threads may have ended their iteration in line {left.line}"
    kind = {If: "if", While: "while"}.get(type(cause), "for")
    return f"threads may diverge at the `{kind}` in line {cause.location.line}"


def _refuse_in_expression(choice: IfExp) -> None:
    """Raise an error if threads synchronize in an operand that some of them skip."""
    for inner in blocks(choice):
        for statement in walk(inner):
            if isinstance(statement, (Barrier, Collective)):
                raise statement.location.error(
                    TaichiSyntaxError,
                    "Threads cannot synchronize in a part of `and`, `or` or `... if ... else ...` that some may skip",
                    "assign the result to a variable in a line before",
                )
