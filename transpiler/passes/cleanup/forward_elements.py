"""Store-to-load forwarding for arrays: in one block, reads of an element use the value last stored to it.

    store a[$i], $2                 store a[$i], $2
    $3 = load a[$i]            ->
    ... $3 ...                      ... $2 ...

A statement between that may write the element prevents it. A store of the value that the element has already goes.
"""

from __future__ import annotations

from ...ir.nodes import Statement
from ...ir.statements import Alloca, AtomicOp, GlobalLoad, GlobalStore
from ...ir.tasks import Kernel
from ..analysis.memory_walk import MemoryWalk
from ..context import PassContext
from ..rewrite import DROPPED


def forward_elements(kernel: Kernel, context: PassContext) -> bool:
    """Replace loads of elements by the values stored to them, in one walk, which finds all that it may find."""
    if not _may_forward(kernel) or not _Forwarding().run(kernel):
        return False
    if not context.may_have(kernel, (Alloca,)):
        context.left = frozenset({"fold", "simplify", "common_subexpressions", "dead_code"})
    return True


ACCESSES = frozenset({GlobalLoad, GlobalStore})


def _may_forward(kernel: Kernel) -> bool:
    """Return whether a statement loads through a pointer through which one before it has stored, or stores the same."""
    stored: dict[Statement, set[Statement]] = {}
    for statement in [s for s in kernel.statements() if s.__class__ in ACCESSES]:
        values = stored.get(statement.pointer)  # type: ignore[attr-defined]
        if isinstance(statement, GlobalStore):
            if values is None:
                stored[statement.pointer] = {statement.value}
            elif statement.value in values:
                return True
            else:
                values.add(statement.value)
        elif values is not None:
            return True
    return False


class _Forwarding(MemoryWalk):
    """Within one block, a load of an element gives the value last stored to it."""

    def __init__(self) -> None:
        super().__init__({GlobalLoad: _read, GlobalStore: _write, AtomicOp: _write})


def _read(rewriter: _Forwarding, load: GlobalLoad) -> Statement | None:
    return rewriter.known.get(load.pointer)


def _write(rewriter: _Forwarding, write: GlobalStore | AtomicOp) -> Statement | None:
    if isinstance(write, GlobalStore) and rewriter.known.get(write.pointer) is write.value:
        return DROPPED  # the element has this value already
    rewriter.known.forget(write.pointer)
    if isinstance(write, GlobalStore):
        rewriter.known.remember(write.pointer, write.value)
    return None
