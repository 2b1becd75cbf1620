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
from ...ir.nodes import Statement
from ...ir.statements import Alloca, AtomicOp, Notice, Operation, base_pointer
from ...ir.tasks import Kernel
from ..context import PassContext
from ..rewrite import surround
from .parts.overflows import SHAPED, TITLES, integers_of, overflows

ROOT = Path(__file__).parents[3]
OWN = (str(ROOT / "transpiler"), str(ROOT / "runtime"))
"""Folders of our own kernels."""


def overflow_notices(kernel: Kernel, context: PassContext) -> bool:
    """Insert a Notice at each operation that may overflow, under `debug` without `check_overflow`."""
    if not context.options.debug or context.options.check_overflow:
        return False
    changed = [surround(root, before=_tell_before, after=_tell_after) for root in kernel.roots()]
    return any(changed)


def _tell_before(builder: Builder, operation: Statement) -> None:
    if isinstance(operation, Operation):
        _notice(builder, operation, operation.op, operation.operands)


def _tell_after(builder: Builder, update: Statement) -> None:
    """Look at the update of a local variable, whose value is the old one."""
    if isinstance(update, AtomicOp) and isinstance(base_pointer(update.pointer), Alloca):
        _notice(builder, update, update.op, [update, update.value])


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
