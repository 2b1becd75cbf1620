"""Tells of integer arithmetic whose result does not fit its type, under `debug`; the kernel goes on, as Taichi's do.

    $3 = add $1, $2    ->    notice if add_overflows($1, $2), "Addition overflow detected"
                             $3 = add $1, $2

It covers what Taichi looks at: + - * ** <<, sums and products of tensors, and updates of local variables, but neither
atomic updates of memory nor negation, `abs` and casts. Under `check_overflow` the pass `overflow` stops the kernel
instead. Kernels of our own library wrap on purpose and are left alone.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import SourceLocation
from ...ir.builder import Builder
from ...ir.nodes import Block, Statement, blocks
from ...ir.statements import Alloca, AtomicOp, Notice, Operation, base_pointer
from ...ir.tasks import Kernel
from ..context import PassContext
from .overflow import SHAPED, TITLES, integers_of, overflows

ROOT = Path(__file__).parents[3]
OWN = (str(ROOT / "transpiler"), str(ROOT / "runtime"))
"""Folders of our own kernels."""


def overflow_notices(kernel: Kernel, context: PassContext) -> bool:
    """Insert a Notice at each operation that may overflow, under `debug` without `check_overflow`."""
    if not context.options.debug or context.options.check_overflow:
        return False
    changed = [_insert_notices(root) for root in kernel.roots()]
    return any(changed)


def _insert_notices(block: Block) -> bool:
    builder = Builder(Block())
    changed = False
    for statement in block.statements:
        for inner in blocks(statement):
            changed |= _insert_notices(inner)
        count = len(builder.block.statements)
        builder.location = statement.location
        if isinstance(statement, AtomicOp):
            builder.add(statement)
            if isinstance(base_pointer(statement.pointer), Alloca):
                _notice(builder, statement, statement.op, [statement, statement.value])
        else:
            if isinstance(statement, Operation):
                _notice(builder, statement, statement.op, statement.operands)
            builder.add(statement)
        changed |= len(builder.block.statements) > count + 1
    block.statements = builder.block.statements
    return changed


def _notice(builder: Builder, statement: Statement, name: str, values: list[Statement]) -> None:
    """Add the Notice for an operation on integers."""
    kind = integers_of(statement.type)
    title = TITLES.get(name) or SHAPED.get(name, ("",))[0]
    if kind is not None and title and not _is_own(statement.location):
        builder.add(Notice(overflows(builder, name, values, kind), f"{title} overflow detected"))


def _is_own(location: SourceLocation | None) -> bool:
    """Return whether a location is in a kernel of ours; a function of ours that a user's kernel calls is not."""
    while location is not None and location.call_site is not None:
        location = location.call_site
    return location is not None and location.file.startswith(OWN)
