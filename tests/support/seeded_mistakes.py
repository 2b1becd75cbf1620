"""Mistakes that tests seed in passes: each changes a kernel as a wrong pass might, and says whether it could."""

from __future__ import annotations

from collections.abc import Iterator

from shadesmith.transpiler.ir.nodes import Statement, walk
from shadesmith.transpiler.ir.statements import AtomicOp, Const, GlobalPtr, GlobalStore, LocalStore, Operation
from shadesmith.transpiler.ir.tasks import Kernel

SWAPS = {"add": "sub", "mul": "add", "floordiv": "add", "mod": "add", "plain_div": "add", "plain_mod": "add"}


def values_of_stores(kernel: Kernel) -> Iterator[Statement]:
    """Yield what is stored or added, and the operations that it is computed by, the last first.

    Those that join two partial results are the very last: a target with a function for that does not print them.
    """
    joins = [task.join for task in kernel.tasks]
    found = [s for root in sorted(kernel.roots(), key=lambda root: root not in joins) for s in walk(root)]
    for statement in reversed(found):
        if isinstance(statement, (GlobalStore, LocalStore, AtomicOp)):
            waiting = [statement.value]
            while waiting:
                value = waiting.pop()
                yield value
                waiting += value.operands if isinstance(value, Operation) else []


def wrong_operation(kernel: Kernel) -> bool:
    """Compute something else somewhere."""
    for value in values_of_stores(kernel):
        if isinstance(value, Operation) and value.op in SWAPS:
            value.op = SWAPS[value.op]
            return True
    return False


def wrong_constant(kernel: Kernel) -> bool:
    for value in values_of_stores(kernel):
        if isinstance(value, Const) and not isinstance(value.value, bool):
            value.value, value.origin = value.value + 3, None
            return True
    return False


def wrong_address(kernel: Kernel) -> bool:
    """Take rows for shorter than they are, so that addresses stay in bounds."""
    for root in kernel.roots():
        numbers = [s.indices[0] for s in walk(root) if isinstance(s, GlobalPtr) and s.is_flat]
        while numbers:
            value = numbers.pop()
            numbers += value.operands if isinstance(value, Operation) else []
            if isinstance(value, Const) and value.value > 1:
                value.value, value.origin = value.value - 1, None
                return True
    return False


def lost_store(kernel: Kernel) -> bool:
    for root in reversed(kernel.roots()):
        for statement in walk(root):
            for name in statement.BLOCKS:
                block = getattr(statement, name)
                stores = [s for s in block.statements if isinstance(s, GlobalStore)] if block is not None else []
                if stores:
                    block.statements.remove(stores[-1])
                    return True
        stores = [s for s in root.statements if isinstance(s, GlobalStore)]
        if stores:
            root.statements.remove(stores[-1])
            return True
    return False


def swapped_operands(kernel: Kernel) -> bool:
    for value in values_of_stores(kernel):
        if isinstance(value, Operation) and value.op in ("sub", "floordiv", "mod", "truediv", "plain_div", "plain_mod"):
            value.operands.reverse()
            return True
    return wrong_operation(kernel)
