"""Comments at the top of files and tasks: signature, Python location, digest of the interface, remarks, titles."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256

from ...errors import NOWHERE, SourceLocation
from ...ir.tasks import Kernel, Task
from ...ir.textures import describe_texture
from ..layout.declarations import array_type
from ..module.interface import Interface
from ..print.line_comments import basename, python_comment
from ..print.lines import MAX_WIDTH, wrapped_comment, wrapped_text
from ..print.remarks import inert
from ..print.sparse import purpose_of
from .context import EmitContext
from .tasks import PrintedTask


def banner(context: EmitContext, printed: list[PrintedTask]) -> list[str]:
    """Return the comment lines at the top of a file."""
    kernel = context.kernel
    signature = ", ".join(entry for _, entry in sorted(_signature(kernel), key=lambda item: item[0]))
    location = kernel.location
    first = f"{context.name}({signature})"
    first += f", {task_title(context, printed[0])}" if len(printed) == 1 else f", {len(kernel.tasks)} tasks"
    origin = "" if location is NOWHERE else f"from {basename(location.file)}:{location.line}, "
    remarks = kernel.remarks if printed and printed[0].number == 0 else []
    ordered = sorted({(r.location.file, r.location.line, inert(r.message)) for r in remarks})
    return [
        *wrapped_text(first, MAX_WIDTH - 3),
        f"{origin}interface {digest(context.layout.interface)}",
        *(line for *_, message in ordered for line in wrapped_text(message, MAX_WIDTH - 3)),
    ]


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


def digest(interface: Interface) -> str:
    """Return a short hash of the contract between source and launcher; the path of the user's file is no part of it."""
    data = asdict(interface)
    for site in data["reports"]:
        site.update(frames=[])
    if not data["textures"]:
        del data["textures"]
    for array in data["arrays"]:
        for key in ("offset", "place"):
            if not array[key]:
                del array[key]  # most arrays have none
    return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8]


def _signature(kernel: Kernel) -> list[tuple[int, str]]:
    """Return position, name and type of all parameters, in no order."""
    entries = [(p.position, f"{p.name}: {p.type}") for p in kernel.parameters]
    arrays = [a for a in kernel.arrays if a.parameter is not None and not a.is_gradient]
    entries += [(t.parameter, f"{t.name}: {describe_texture(t)}") for t in kernel.textures]
    return entries + [(a.parameter, f"{a.name}: {array_type(a)}") for a in arrays if a.parameter is not None]
