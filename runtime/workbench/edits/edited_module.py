"""A module whose texts a person has changed: what the launcher must know is read from the text again.

In: a generated module and texts. Out: a module that launches as the changed text asks: `BLOCK` threads a block, `ITEMS`
turns a thread. Everything else of the interface stays the generated one; `check.py` sees to it that the text agrees.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ....transpiler.backend.interface import BackendModule, SourceFile, TaskSource
from ..check.constants import ITEMS, constant, constants, evaluate, without_comments
from .merge import carried_lines

_LOCAL_SIZE = re.compile(r"\blocal_size_([xyz])\s*=\s*([^,)]+)")
_STRIDES = re.compile(r"\b(?:gridDim\s*\.\s*x|gl_NumWorkGroups)\b")
_ROWS = re.compile(r"\bgl_(?:WorkGroup|GlobalInvocation)ID\b(?!\s*\.\s*x\b)")


def edited_module(generated: BackendModule, texts: Mapping[str, str]) -> BackendModule:
    """Return the module with other texts. texts: by name of the file; those of files not named stay."""
    files = tuple(_edited_file(file, texts.get(file.name, file.text)) for file in generated.files)
    changed = {k for k, (old, new) in enumerate(zip(generated.files, files)) if old.text != new.text}
    tasks = tuple(
        _edited_task(generated, task, files[task.file].text) if task.file in changed else task
        for task in generated.tasks
    )
    return replace(generated, files=files, tasks=tasks)


def _edited_file(file: SourceFile, text: str) -> SourceFile:
    if text == file.text:
        return file
    return replace(file, text=text, lines=carried_lines(file.text, file.lines, text))


def _edited_task(module: BackendModule, task: TaskSource, text: str) -> TaskSource:
    if task.kind == "serial" or module.target == "c":
        return task
    bare = without_comments(text)
    folded = module.target != "vulkan" or bool(_ROWS.search(bare))
    strided = task.strided and bool(_STRIDES.search(bare)) and not (folded and module.target == "vulkan")
    items = max(1, constant(text, ITEMS) or 1)
    return replace(task, block_dim=block_of(module, task, text), items=items, strided=strided, folded=folded)


def block_of(module: BackendModule, task: TaskSource, text: str) -> int:
    """Return how many threads of a block a text is written for; the generated number where it does not say."""
    if module.target == "vulkan":
        sizes = [evaluate(size, constants(text)) for _, size in _LOCAL_SIZE.findall(without_comments(text))]
        known = [size for size in sizes if size]
        return prod(known) if known else task.block_dim
    names = (f"BLOCK_{task.block_dim}", "BLOCK")
    return next((n for name in names if (n := constant(text, name)) is not None and n > 0), task.block_dim)
