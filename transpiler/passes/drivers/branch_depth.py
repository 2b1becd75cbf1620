"""Rejects kernels with conditions nested too deeply for a driver: lavapipe (Mesa 22.3) then runs the wrong branch.

`elif` counts, since it is inside the `else` before it, and so does `continue` in a serial loop: Mesa puts the
statements after it into an `else`. Other exits are printed in a way that avoids this
(`leave_by_loop`). Source: LP_MAX_TGSI_NESTING of Mesa, 80; measured: 81 conditions are correct, 121
silently run the body of the 79th.
"""

from __future__ import annotations

from ...errors import UnsupportedError
from ...ir.functions import Call, Function
from ...ir.nodes import Block, Statement, blocks
from ...ir.statements import Continue, If, IfExp, RangeFor, While
from ...ir.tasks import Kernel
from ...ir.types import u1
from ..context import PassContext


def branch_depth(kernel: Kernel, context: PassContext) -> bool:
    """Raise UnsupportedError at the first condition that is nested too deeply for the target."""
    limit = context.capabilities.branch_depth_limit
    if limit is None:
        return False
    open_blocks: list[tuple[Block, int, bool]] = [(task.body, 0, False) for task in kernel.tasks]
    deepest: dict[Function, int] = {}  # drivers inline functions, so their conditions nest in those of the caller
    while open_blocks:
        block, depth, in_loop = open_blocks.pop()
        for statement in block.statements:
            is_ternary = (
                isinstance(statement, IfExp) and statement.type != u1
            )  # `and`, `or` are operators: measured to be correct
            inner = depth + (is_ternary or isinstance(statement, If))
            if inner > limit:
                raise statement.location.error(
                    UnsupportedError,
                    f"Conditions nest more than {limit} deep here; this driver (lavapipe) would run wrong branches",
                    "use ti.cpu or a GPU, or write separate `if`s in place of a long chain or many `continue`s",
                )
            is_loop = isinstance(statement, (RangeFor, While))
            open_blocks.extend((child, inner, in_loop or is_loop) for child in blocks(statement))
            if isinstance(statement, Call) and deepest.get(statement.function, -1) < depth:
                deepest[statement.function] = depth
                open_blocks.append((statement.function.body, depth, False))
            depth += in_loop and not is_loop and _continues(statement)
    return False


def _continues(statement: Statement) -> bool:
    """Return whether a statement may end an iteration of the enclosing loop."""
    if isinstance(statement, (RangeFor, While)):
        return False
    return isinstance(statement, Continue) or any(_continues(s) for b in blocks(statement) for s in b.statements)
