"""Comments at the top of files and tasks: what a file is, remarks, titles."""

from __future__ import annotations

import re
from hashlib import sha256

from ...errors import NOWHERE, SourceLocation
from ...ir.tasks import Kernel, Task
from ...ir.textures import describe_texture
from ...options import VERSION
from ..layout.declarations import array_type
from ..print.line_comments import basename, python_comment
from ..print.lines import MAX_WIDTH, wrapped_comment, wrapped_text
from ..print.remarks import inert
from ..print.sparse import purpose_of
from .context import EmitContext
from .tasks import PrintedTask

KEY = "KEY" + "." * 5
"""Stands for the key of a file until that is computed from its content."""
WIDEST_VERSION = "shadesmith 00.00.00, "
"""A longer version than any, so that no version decides where a line is wrapped."""

_COMMENT = re.compile(r"[ \t]*//[^\n]*")


def banner(context: EmitContext, printed: list[PrintedTask]) -> list[str]:
    """Return the comment lines at the top of a file: what it is, in one line, and what passes say about the kernel.

    shadesmith 0.1.0, cuda 3fa1c2d4, jacobi.py:4: jacobi(a: ndarray[f32, 2], w: f32)

    Only a signature that does not fit is on a line of its own.
    """
    kernel, target = context.kernel, context.language.target
    signature = ", ".join(entry for _, entry in sorted(_signature(kernel), key=lambda item: item[0]))
    location = kernel.location
    origin = "" if location is NOWHERE else f", {basename(location.file)}:{location.line}"
    own, shown = f"{target} {KEY}{origin}:", f"{context.name}({signature})"
    fits = len(f"// {WIDEST_VERSION}{own} {shown}") <= MAX_WIDTH
    first = [f"shadesmith {VERSION}, {own}", *wrapped_text(shown, MAX_WIDTH - 3)]
    remarks = kernel.remarks if printed and printed[0].number == 0 else []
    ordered = sorted({(r.location.file, r.location.line, inert(r.message)) for r in remarks})
    messages = (line for *_, message in ordered for line in wrapped_text(message, MAX_WIDTH - 3))
    return [*([" ".join(first)] if fits else first), *messages]


def with_key(source: str) -> str:
    """Return a source with its key: the digest of its code, whatever its comments say, so that equal keys mean equal
    programs.
    """
    return source.replace(KEY, sha256(_COMMENT.sub("", source).encode()).hexdigest()[:8], 1)


def task_title(context: EmitContext, printed: PrintedTask) -> str:
    """Return the title of a task: its number, its kind, and what it loops over or does."""
    task, count = printed.task, len(context.kernel.tasks)
    title = f"task {printed.number} of {count}: {task.kind.value}" if count > 1 else task.kind.value
    if task.loop is None:
        return f"{title}{purpose_of(task, context.kernel)}"
    if task.loop.purpose:
        return f"{title}, {task.loop.purpose}"
    over = task.loop.cells or task.loop.over
    return f"{title} over {over.name if over is not None else ', '.join(printed.names)}"


def python_line(context: EmitContext, task: Task) -> str:
    """Return the comment above the function of a parallel loop's iterations: the loop in Python."""
    location = loop_location(task)
    if context.options.line_comments == "none" or location is NOWHERE:
        return ""
    return "\n".join(wrapped_comment(python_comment(location), MAX_WIDTH)).removeprefix("// ")


def loop_location(task: Task) -> SourceLocation:
    """Return the location of the parallel loop that a task is made from."""
    return NOWHERE if task.loop is None else task.loop.location


def _signature(kernel: Kernel) -> list[tuple[int, str]]:
    """Return position, name and type of all parameters, in no order."""
    entries = [(p.position, f"{p.name}: {p.type}") for p in kernel.parameters]
    arrays = [a for a in kernel.arrays if a.parameter is not None and not a.is_gradient]
    entries += [(t.parameter, f"{t.name}: {describe_texture(t)}") for t in kernel.textures]
    return entries + [(a.parameter, f"{a.name}: {array_type(a)}") for a in arrays if a.parameter is not None]
