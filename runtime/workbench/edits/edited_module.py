"""A module whose sources a person has changed: the facts that the launcher needs are read from the source again.

In: a generated module and sources. Out: a module with the launch shape of the changed source: `BLOCK` threads a block,
`ITEMS` iterations a thread. The rest of the interface stays the generated one; `check` ensures that the source agrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ....transpiler.backend.module.interface import BackendModule, SourceFile
from ....transpiler.backend.module.one_file import task_sources
from ...devices.target_tools import part_of
from ..check.edit_tools import EditTools
from .merge import carried_lines


def edited_module(generated: BackendModule, sources: Mapping[str, str]) -> BackendModule:
    """Return the module with other sources, by name of the file; files that are not named stay."""
    files = tuple(_edited_file(file, sources.get(file.name, file.text)) for file in generated.files)
    edited = replace(generated, files=files)
    of_tasks = task_sources(edited)
    changed = {k for k, (old, new) in enumerate(zip(generated.files, files)) if old.text != new.text}
    tasks = tuple(
        part_of(generated.target, EditTools).launch_shape(task, of_tasks.files[own.file].text)
        if task.file in changed and task.kind != "serial"
        else task
        for task, own in zip(generated.tasks, of_tasks.tasks, strict=True)
    )
    return replace(edited, tasks=tasks)


def _edited_file(file: SourceFile, source: str) -> SourceFile:
    if source == file.text:
        return file
    return replace(file, text=source, lines=carried_lines(file.text, file.lines, source))
