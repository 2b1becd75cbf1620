"""Builds a `Compilation` from the results of the stages.

In: the emitted module, the kernel after all passes and the frontend's result. Out: `Compilation`, in which the arrays
that passes added to a kernel on sparse trees are bound to their memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...ir.forms import FrontendResult
from ...ir.snodes import top_of
from ...ir.tasks import Kernel
from .compilation import Compilation
from .interface import BackendModule


def compilation_of(
    module: BackendModule,
    kernel: Kernel,
    result: FrontendResult,
    warnings: tuple[str, ...],
    passes: Mapping[str, float],
    runs: Sequence[Any] = (),
) -> Compilation:
    """Return the compilation. warnings: of the passes. passes: [s] by pass. runs: of passes."""
    count = len(result.fields)
    added = [(array.node, array.role) for array in kernel.arrays[count:] if array.node is not None]
    fields = (*result.fields, *(result.trees[top_of(node)].sparse_memory(node, role) for node, role in added))
    locations = [None if task.loop is None else task.loop.location for task in kernel.tasks]
    loops = tuple(None if location is None else (location.file, location.line) for location in locations)
    return Compilation(
        module,
        fields,
        result.captured,
        (*result.warnings, *warnings),
        {},
        dict(enumerate(added, count)),
        loops,
        result.dependencies,
        passes,
        tuple(runs),
    )
