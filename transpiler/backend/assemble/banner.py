"""Comments at the top of files and tasks: what a file is, remarks, titles."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from ...errors import NOWHERE, SourceLocation, basename
from ...ir.tasks import Kernel, Task
from ...ir.textures import describe_texture
from ...options import VERSION
from ..languages.common.one_line import COLUMNS
from ..layout.declarations import array_type
from ..print.line_comments import inert, python_comment, without_comments
from ..print.lines import wrapped_comment, wrapped_text
from ..print.sparse import purpose_of
from .context import EmitContext
from .tasks import PrintedTask

WIDEST_VERSION = "shadesmith 00.00.00, "
"""A longer version than any, so that no version decides where a line is wrapped."""


class Origin(NamedTuple):
    """What a kernel's files say of where it comes from.

    behind: its Python line and signature, as they are behind the key in the first line. below: the signature in the
    lines below, if it does not fit there.
    """

    behind: str
    below: list[str]


def origin_of(context: EmitContext) -> Origin:
    """Return where a kernel comes from."""
    location = context.kernel.location
    line = "" if location is NOWHERE else f", {basename(location.file)}:{location.line}"
    entries = sorted(_parameters(context.kernel), key=lambda item: item[0])
    signature = f"{context.name}({', '.join(entry for _, entry in entries)})"
    if len(f"// {WIDEST_VERSION}{context.language.target} 01234567{line}: {signature}") <= COLUMNS:
        return Origin(f"{line}: {signature}", [])
    return Origin(f"{line}:", wrapped_text(signature, COLUMNS - 3))


def banner(context: EmitContext, origin: Origin, printed: list[PrintedTask]) -> list[str]:
    """Return the comment lines below the first line of a file: the kernel's signature if it is long, remarks."""
    is_first = bool(printed) and printed[0].number == 0
    remarks = context.kernel.remarks if is_first and context.options.why_comments else []
    ordered = sorted({(r.location.file, r.location.line, inert(r.message)) for r in remarks})
    return [*origin.below, *(line for *_, message in ordered for line in wrapped_text(message, COLUMNS - 3))]


def first_line(context: EmitContext, origin: Origin, source: str) -> str:
    """Return the first line of a file, which says what it is: version, target, key, Python line, signature.

    // shadesmith 0.1.0, cuda 3fa1c2d4, wither.py:9: wither(dt: f32)

    The key is a digest of the code, whatever the comments say: equal keys mean equal programs. source: all other lines.
    """
    key = sha256(without_comments(source).encode()).hexdigest()[:8]
    return f"// shadesmith {VERSION}, {context.language.target} {key}{origin.behind}"


def task_title(context: EmitContext, printed: PrintedTask) -> str:
    """Return the title of a task: its number, its kind, and what it loops over or does."""
    task, count = printed.task, len(context.kernel.tasks)
    title = f"task {printed.number} of {count}: {task.kind.value}" if count > 1 else task.kind.value
    if task.loop is None:
        return f"{title}{purpose_of(task, context.kernel)}"
    if task.loop.purpose:
        return f"{title}, {task.loop.purpose}"
    array = task.loop.cells or task.loop.over
    over = task.over or (", ".join(printed.names) if array is None else array.name)
    return f"{title} over {over}{f'; {task.launches}' if task.launches else ''}"


def python_line(context: EmitContext, task: Task) -> str:
    """Return the comment above the function of a parallel loop's iterations: the loop in Python."""
    location = loop_location(task)
    if context.options.line_comments == "none" or location is NOWHERE:
        return ""
    return "\n".join(wrapped_comment(python_comment(location), COLUMNS)).removeprefix("// ")


def loop_location(task: Task) -> SourceLocation:
    """Return the location of the parallel loop that a task is made from."""
    return NOWHERE if task.loop is None else task.loop.location


def _parameters(kernel: Kernel) -> list[tuple[int, str]]:
    """Return position, name and type of all parameters, in no order."""
    entries = [(p.position, f"{p.name}: {p.type}") for p in kernel.parameters]
    arrays = [a for a in kernel.arrays if a.parameter is not None and not a.is_gradient]
    entries += [(t.parameter, f"{t.name}: {describe_texture(t)}") for t in kernel.textures]
    return entries + [(a.parameter, f"{a.name}: {array_type(a)}") for a in arrays if a.parameter is not None]
