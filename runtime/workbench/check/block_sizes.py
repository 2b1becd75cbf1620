"""Refuse an edit that launches blocks of another size, where the kernel computes something else in them.

Most kernels do not know how many threads a block has, and the grid follows an edited `BLOCK`. Where the iterations of
a block share memory, wait for each other or read their thread's index, `block_dim` is part of what the Python says; and
where the threads of a subgroup exchange values, each subgroup must be full. Neither is in a module: the kernel's final
form is asked for it, but only for an edit that changes the number of threads.

Where the threads of a block store together, since each has an iteration, a source says so itself (`static_assert`, in
place of which an edit may have a condition), and edited IR cannot.

In: a specialization, the generated and the edited module. Out: nothing, or an `EditError` at the line of the number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ....transpiler.backend.module.interface import BackendModule, TaskSource
from ....transpiler.frontend.builders.build import build
from ....transpiler.frontend.source.specialization import Specialization
from ....transpiler.ir.nodes import walk
from ....transpiler.ir.statements import GlobalPtr
from ....transpiler.ir.tasks import Kernel, Task
from ....transpiler.ir.threads import (
    COLLECTIVES,
    SUBGROUP_SIZE,
    Barrier,
    Collective,
    ThreadIndex,
    constant_iterations,
    has_full_blocks,
)
from ....transpiler.passes import PassContext, run
from .check_input import block_location
from .diagnostics import DiagnosticList, block_not_full, block_of_subgroups, block_relied_on, refuse
from .parsed_source import Location, ParsedSource

OWN_TILES = frozenset({"block_tiles", "block_local", "staged_stores"})
"""Passes after which the threads of a block share memory, in arrays that have the size of any `BLOCK`."""


def check_block_sizes(
    specialization: Specialization, generated: BackendModule, edited: BackendModule, sources: Mapping[Path, str]
) -> None:
    """Check the tasks of an edit whose blocks have another number of threads than the generated ones.

    sources: those of the edit by their files. Raises: EditError for a task that computes something else then.
    """
    pairs = list(zip(generated.tasks, edited.tasks, strict=True))
    if all(old.block_dim == new.block_dim for old, new in pairs):
        return
    options = specialization.options
    plain = replace(options, disabled_passes=options.disabled_passes | OWN_TILES)
    written, final = (final_kernel(replace(specialization, options=given)).tasks for given in (plain, options))
    lists = [DiagnosticList(path, ParsedSource(source), []) for path, source in sources.items()]
    for own, task, (old, new) in zip(written, final, pairs, strict=True):
        if old.block_dim == new.block_dim:
            continue
        if _relies_on_block(own):
            message = block_relied_on(generated.kernel, old.block_dim, new.block_dim)
        elif _has_full_subgroups(task) and old.block_dim % SUBGROUP_SIZE == 0 and new.block_dim % SUBGROUP_SIZE:
            message = block_of_subgroups(new.block_dim, SUBGROUP_SIZE)
        elif _has_full_blocks(task, new.block_dim) is False and any(_in_ir(each, old, new) for each in lists):
            message = block_not_full(new.block_dim, constant_iterations(task) or 0)
        else:
            continue
        found = [(diagnostics, _location(diagnostics, old, new)) for diagnostics in lists]
        diagnostics, location = next((one for one in found if one[1] is not None), found[0])
        diagnostics.add(location, *message)
    refuse(lists)


def final_kernel(specialization: Specialization) -> Kernel:
    """Return the kernel after all passes. Raises: TaichiCompilationError."""
    kernel = build(specialization).kernel
    run(kernel, PassContext(specialization.options, specialization.capabilities))
    return kernel


def _relies_on_block(task: Task) -> bool:
    """Return whether the Python of a task says what the threads of a block do together."""
    return task.synchronizes and any(
        (isinstance(s, Barrier) and s.scope == "block" and not s.memory_only)
        or (isinstance(s, Collective) and COLLECTIVES[s.op].scope == "block")
        or (isinstance(s, ThreadIndex) and s.kind in ("thread", "first"))
        or (isinstance(s, GlobalPtr) and s.array.is_shared)
        for s in walk(task.body)
    )


def _has_full_subgroups(task: Task) -> bool:
    """Return whether the threads of subgroups exchange values, for the Python or for a faster sum."""
    return bool(task.reductions) or any(
        isinstance(s, Collective)
        or (isinstance(s, Barrier) and s.scope == "subgroup")
        or (isinstance(s, ThreadIndex) and s.kind in ("lane", "size"))
        for s in walk(task.body)
    )


def _has_full_blocks(task: Task, block_dim: int) -> bool | None:
    """Return whether blocks of another size are full, too, None if the task does not need that."""
    iterations = constant_iterations(task)
    if not task.synchronizes or iterations is None or not has_full_blocks(task):
        return None
    return iterations % block_dim == 0


def _in_ir(diagnostics: DiagnosticList, old: TaskSource, new: TaskSource) -> Location | None:
    """Return where edited IR says how many threads the blocks of a task have."""
    return diagnostics.source.find(rf"^[ \t]*task {re.escape(old.name)} .*\b(block_dim={new.block_dim})\b")


def _location(diagnostics: DiagnosticList, old: TaskSource, new: TaskSource) -> Location | None:
    """Return where a file says how many threads the blocks of a task have."""
    source = diagnostics.source
    return _in_ir(diagnostics, old, new) or block_location(source, old) or source.find(r"\blocal_size_[xyz]\b")
