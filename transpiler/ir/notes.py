"""Remarks on why a source differs from its Python: what a pass dropped, printed where a reader would look for it.

A `Note` belongs to a statement and is printed at its line, above or below; one of a whole kernel is in `Kernel.notes`.
A dropped statement leaves a `Remark` in its place, until `attach_remarks` moves its note to the nearest statement that
stays.
"""

from __future__ import annotations

from ..errors import NOWHERE, SourceLocation
from .nodes import LINE, Block, Effect, Note, Statement, walk, walk_blocks
from .statements import LocalStore, RangeFor, Remark, StructFor
from .tasks import Kernel

MAX_HEAD = 60
"""Characters of a Python line within a comment."""


def constant_condition(location: SourceLocation, value: object, step: str) -> Remark:
    """Return the remark on an `if` or `while` of which `step` found that its condition is always `value`."""
    said = "is always true" if value else "left out: always false"
    return Remark(said, step, location=location)


def note_dropped_task(kernel: Kernel, loop: Statement, step: str) -> None:
    """Note that a loop that would be a task was dropped; the compiler's own loops (without a line) are no news."""
    own = isinstance(loop, RangeFor) and loop.purpose
    if isinstance(loop, (RangeFor, StructFor)) and not loop.serialize and loop.location is not NOWHERE and not own:
        text = f"no task for the loop in line {LINE}: it does nothing ({step})"
        kernel.notes.append(Note(text, "above", loop.location))


def attach_remarks(kernel: Kernel) -> None:
    """Replace all remarks by notes."""
    for root in kernel.roots():
        for block in walk_blocks(root):
            if any(isinstance(statement, Remark) for statement in block.statements):
                _attach_remarks(kernel, block)


def notes_of(kernel: Kernel) -> list[str]:
    """Return all notes of a kernel as text, for a key."""
    return [f"{note.where} {note.said}" for note in kernel.notes] + [
        f"{note.where} {note.said}" for root in kernel.roots() for statement in walk(root) for note in statement.notes
    ]


def _attach_remarks(kernel: Kernel, block: Block) -> None:
    statements, block.statements = block.statements, [s for s in block.statements if not isinstance(s, Remark)]
    for position, remark in enumerate(statements):
        if not isinstance(remark, Remark):
            continue
        below = _lasting(statements[position + 1 :])
        target = below or _lasting(statements[position - 1 :: -1] if position else [])
        if target is None or remark.location is NOWHERE:
            continue
        head = _head(remark.location.python_line)
        parallel = isinstance(target, (RangeFor, StructFor)) and not target.serialize and block is kernel.body
        place = f" in line {LINE}" if parallel else ""
        text = f"`{head}`{place} {remark.said} ({remark.step})"
        note = Note(text, "above" if below else "below", remark.location)
        if parallel:
            kernel.notes.append(note)
        else:
            target.notes = (*target.notes, note)


def _head(line: str) -> str:
    """Return as much of a Python line as fits in a comment; dots say that it goes on."""
    opened = sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
    if len(line) > MAX_HEAD:
        return f"{line[: MAX_HEAD - 4]} ..."
    return f"{line} ..." if opened > 0 else line


def _lasting(statements: list[Statement]) -> Statement | None:
    """Return the first statement with a text of its own that other passes rarely drop, else any with an effect."""
    found = [s for s in statements if s.EFFECT & (Effect.WRITE | Effect.CONTROL)]
    return next((s for s in found if not isinstance(s, LocalStore)), found[0] if found else None)
