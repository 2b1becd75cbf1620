"""Check and launch edited sources in C: OpenMP distributes the iterations, whatever the source declares."""

from __future__ import annotations

from collections.abc import Sequence

from ....transpiler.backend.module.interface import TaskSource
from ...workbench.check.c import check_c
from ...workbench.check.check_input import EditedFile
from ...workbench.check.edit_tools import EditTools


def _check(edits: Sequence[EditedFile]) -> None:
    for edit in edits:
        check_c(edit)


def _launch_shape(task: TaskSource, text: str) -> TaskSource:
    return task


TOOLS = EditTools(check=_check, launch_shape=_launch_shape)
