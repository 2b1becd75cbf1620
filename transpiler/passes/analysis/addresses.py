"""Address arithmetic: the values that only compute where an element is.

In: a kernel after `lower_access`. Out: operations and conversions whose results reach only flat pointers.
"""

from __future__ import annotations

from ...ir.nodes import Statement, operands, walk_blocks
from ...ir.statements import Cast, GlobalPtr, Operation
from ...ir.tasks import Kernel


def is_flat_pointer(statement: Statement) -> bool:
    """Return whether a statement is a pointer by the number of an element."""
    return isinstance(statement, GlobalPtr) and statement.is_flat


def address_values(kernel: Kernel) -> set[Statement]:
    """Return the values that are used by flat pointers only, directly or through others of these."""
    values = list(kernel.statements())
    if not any(map(is_flat_pointer, values)):
        return set()
    used = {block.result for root in kernel.roots() for block in walk_blocks(root) if block.result is not None}
    used.update(operand for task in kernel.tasks if task.loop is not None for operand in operands(task.loop))
    for user in values:
        if not isinstance(user, (Operation, Cast)) and not is_flat_pointer(user):
            used.update(operands(user))
    for user in reversed(values):  # the users of a value come after it
        if isinstance(user, (Operation, Cast)) and user in used:
            used.update(operands(user))
    return {value for value in values if isinstance(value, (Operation, Cast)) and value not in used}
