"""Refuses threads that wait for others who may never come, and more shared memory than a block has.

    if tile[t] > 0: ti.simt.block.sync()    (refused: threads of a block may disagree about the condition)
    for k in range(n): ti.simt.block.sync() (accepted: `n` is the same for all)

Drops what is stored in shared memory and never read. Notes of each task whether its threads work together, and of each
barrier and question whether all threads that still run come to it together (`converged`), which CUDA's masks of lanes
follow.
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
from ...ir.threads import Barrier, Collective, waits, works_together
from ..context import PassContext
from ..rewrite import GONE, Rewriter
from .uniformity import Uniformity


def check_threads(kernel: Kernel, context: PassContext) -> bool:
    """Find tasks whose threads work together, and check that they can.

    Raises: TaichiSyntaxError at a barrier that some threads of a block may not reach; UnsupportedError where the shared
    arrays of a task are too large, or where a target that runs threads in turn cannot let them meet.
    """
    found = _drop_unread(kernel)
    for task in kernel.tasks:
        task.cooperates = any(
            works_together(statement) or (isinstance(statement, GlobalPtr) and statement.array.is_shared)
            for statement in walk(task.body)
        )
        if task.cooperates:
            found = True
            _check_room(task, context)
            _Check(task, context).block(task.body, None)
    return found


def _drop_unread(kernel: Kernel) -> bool:
    """Drop stores to shared arrays that nothing reads; with the block they are gone, and compilers warn of them."""
    bodies = [task.body for task in kernel.tasks]
    read = {
        base for body in bodies for s in walk(body) if isinstance(s, (GlobalLoad, AtomicOp)) and (base := _shared(s))
    }

    def drop(rewriter: Rewriter, store: Statement) -> Statement | None:
        assert isinstance(store, GlobalStore)
        array = _shared(store)
        return GONE if array is not None and array not in read else None

    return bool(kernel.shared) and Rewriter({GlobalStore: drop}).run(kernel)


def _shared(access: GlobalLoad | GlobalStore | AtomicOp) -> Array | None:
    """Return the shared array that is accessed, if one is."""
    base = base_pointer(access.pointer)
    return base.array if isinstance(base, GlobalPtr) and base.array.is_shared else None


def _check_room(task: Task, context: PassContext) -> None:
    arrays = {s.array: s.location for s in walk(task.body) if isinstance(s, GlobalPtr) and s.array.is_shared}
    sizes = {array.name: array.element.size_bytes for array in sorted(arrays, key=lambda a: a.slot)}
    for array in arrays:
        for extent in array.shape or ():
            sizes[array.name] *= extent
    total, limit = sum(sizes.values()), context.capabilities.max_shared_bytes
    if total > limit:
        listed = ", ".join(f"`{name}` {size:,}" for name, size in sizes.items())
        raise next(iter(arrays.values())).error(
            UnsupportedError,
            f"The shared arrays of this loop take {total:,} bytes ({listed}); a block of this device has {limit:,}",
            "use smaller tiles, or one array for two purposes with a barrier between",
        )


class _Check:
    """cause: the statement at which threads may have parted. left: where some may have ended their turn already."""

    def __init__(self, task: Task, context: PassContext) -> None:
        self.task = task
        self.in_turn = context.capabilities.blocks_in_turn
        self.uniformity = Uniformity(task)
        self.loops: list[Statement] = []
        self.left: SourceLocation | None = None

    def block(self, block: Block, cause: Statement | None) -> None:
        for statement in block.statements:
            if isinstance(statement, (Barrier, Collective)):
                self.meeting(statement, cause)
            elif isinstance(statement, Continue) and not self.loops and cause is not None:
                self.left = statement.location
            elif isinstance(statement, IfExp):
                _refuse_in_expression(statement)
            if statement.BLOCKS:
                self.holder(statement, cause)

    def holder(self, statement: Statement, cause: Statement | None) -> None:
        parts = statement in self.uniformity.divergent
        if isinstance(statement, (RangeFor, While)):
            self.loops.append(statement)
        for inner in blocks(statement):
            self.block(inner, statement if parts and cause is None else cause)
        if isinstance(statement, (RangeFor, While)):
            self.loops.pop()

    def meeting(self, statement: Barrier | Collective, cause: Statement | None) -> None:
        """Check one barrier or question."""
        statement.converged = cause is None and self.left is None
        if waits(statement, "block") and not statement.converged:
            assert cause is not None or self.left is not None
            raise statement.location.error(
                TaichiSyntaxError,
                f"Barrier in divergent flow: {_reason(cause, self.left)}, and all threads of a block must come here",
                "let all threads meet here, and put only their other work under the condition",
            )
        if self.in_turn and waits(statement, "subgroup"):
            parted = [loop for loop in self.loops if loop in self.uniformity.divergent]
            reason = _reason(parted[0] if parted else None, self.left) if parted or self.left is not None else ""
            if reason:
                raise statement.location.error(
                    UnsupportedError,
                    f"Threads of a subgroup cannot meet here on this target: {reason}",
                    "give the loop bounds that are the same for all threads, and test inside it; GPUs take it as it is",
                )


def _reason(cause: Statement | None, left: SourceLocation | None) -> str:
    if cause is None:
        assert left is not None
        return f"some threads may have ended their turn in line {left.line}"
    kind = {If: "if", While: "while"}.get(type(cause), "for")
    return f"threads may part at the `{kind}` in line {cause.location.line}"


def _refuse_in_expression(choice: IfExp) -> None:
    """Raise where threads would meet in a part of an expression that some of them leave out."""
    for inner in blocks(choice):
        for statement in walk(inner):
            if isinstance(statement, (Barrier, Collective)):
                raise statement.location.error(
                    TaichiSyntaxError,
                    "Threads cannot meet in a part of `and`, `or` or `... if ... else ...`, which some may leave out",
                    "give the result a name in a line before",
                )
