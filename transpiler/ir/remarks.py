"""Remarks on why a source differs from its Python: what a pass dropped, printed at the nearest line.

A `Remark` belongs to a statement and is printed at its line, above or below; those on a whole kernel are in
`Kernel.remarks`. A pass replaces a statement that it drops by an `OmittedStatement`; `attach_remarks` then moves the
remark to the nearest statement that remains.
"""

from __future__ import annotations

from itertools import chain

from ..errors import NOWHERE, SourceLocation
from ..lazy_dataclasses import dataclass
from .nodes import LINE, Block, Effect, Remark, Statement, walk_blocks
from .statements import LocalStore, RangeFor, StructFor
from .tasks import Kernel

MAX_HEAD = 60
"""Maximum length of a Python line within a comment."""


@dataclass(eq=False, slots=True)
class OmittedStatement(Statement):
    """Marks where `step` left a Python statement out, until `attach_remarks` turns it into a remark."""

    message: str
    step: str


def constant_condition(location: SourceLocation, value: object, step: str) -> OmittedStatement:
    """Return what replaces an `if` or `while` whose condition is always `value`, as `step` found."""
    message = "is always true" if value else "left out: always false"
    return OmittedStatement(message, step, location=location)


def remark_dropped_task(kernel: Kernel, loop: Statement, step: str) -> None:
    """Add the remark that a loop that would be a task was dropped, unless the compiler made the loop itself."""
    own = isinstance(loop, RangeFor) and loop.purpose
    if isinstance(loop, (RangeFor, StructFor)) and not loop.serialize and loop.location is not NOWHERE and not own:
        template = f"no task for the loop in line {LINE}: it does nothing ({step})"
        kernel.remarks.append(Remark(template, "above", loop.location))


def attach_remarks(kernel: Kernel) -> None:
    """Replace every `OmittedStatement` by a remark on a neighbouring statement or on the kernel."""
    for root in kernel.roots():
        for block in walk_blocks(root):
            if OmittedStatement in set(map(type, block.statements)):
                _attach_remarks(kernel, block)


def remark_lines(kernel: Kernel) -> list[str]:
    """Return all remarks of a kernel as strings, for a content key."""
    statements = kernel.statements()
    remarks = chain(kernel.remarks, *(statement.remarks for statement in statements))
    return [f"{remark.where} {remark.message}" for remark in remarks]


def _attach_remarks(kernel: Kernel, block: Block) -> None:
    statements = block.statements
    block.statements = [s for s in statements if not isinstance(s, OmittedStatement)]
    for position, omitted in enumerate(statements):
        if not isinstance(omitted, OmittedStatement):
            continue
        below = _lasting(statements[position + 1 :])
        target = below or _lasting(statements[position - 1 :: -1] if position else [])
        if target is None or omitted.location is NOWHERE:
            continue
        head = _head(omitted.location.python_line)
        parallel = isinstance(target, (RangeFor, StructFor)) and not target.serialize and block is kernel.body
        line = f" in line {LINE}" if parallel else ""
        template = f"`{head}`{line} {omitted.message} ({omitted.step})"
        remark = Remark(template, "above" if below else "below", omitted.location)
        if parallel:
            kernel.remarks.append(remark)
        else:
            target.remarks = (*target.remarks, remark)


def _head(line: str) -> str:
    """Return as much of a Python line as fits in a comment; dots show that it continues."""
    opened = sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
    if len(line) > MAX_HEAD:
        return f"{line[: MAX_HEAD - 4]} ..."
    return f"{line} ..." if opened > 0 else line


def _lasting(statements: list[Statement]) -> Statement | None:
    """Return the first statement with its own source line that other passes rarely drop, else any with an effect."""
    effects = [s for s in statements if s.EFFECT & (Effect.WRITE | Effect.CONTROL)]
    return next((s for s in effects if not isinstance(s, LocalStore)), effects[0] if effects else None)
