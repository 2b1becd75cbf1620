"""A module whose texts a person has changed: what the launcher must know is read from the text again.

In: a generated module and texts. Out: a module that launches as the changed text asks: `BLOCK` threads a block, `ITEMS`
turns a thread. Everything else of the interface stays the generated one; `check` sees to it that the text agrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ....transpiler.backend.module.interface import BackendModule, SourceFile
from ...devices.target_tools import part_of
from ..check.edit_tools import EditTools
from .merge import carried_lines


def edited_module(generated: BackendModule, texts: Mapping[str, str]) -> BackendModule:
    """Return the module with other texts. texts: by name of the file; those of files not named stay."""
    files = tuple(_edited_file(file, texts.get(file.name, file.text)) for file in generated.files)
    changed = {k for k, (old, new) in enumerate(zip(generated.files, files)) if old.text != new.text}
    tasks = tuple(
        part_of(generated.target, EditTools).launch_shape(task, files[task.file].text)
        if task.file in changed and task.kind != "serial"
        else task
        for task in generated.tasks
    )
    return replace(generated, files=files, tasks=tasks)


def _edited_file(file: SourceFile, text: str) -> SourceFile:
    if text == file.text:
        return file
    return replace(file, text=text, lines=carried_lines(file.text, file.lines, text))
