"""What differs between targets when a source is edited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....transpiler.backend.module.interface import TaskSource
from ...devices.target_tools import Part
from .check_input import EditedFile


@dataclass(frozen=True, kw_only=True)
class EditTools(Part):
    """How edited sources of a target are checked and launched.

    check: records all mistakes of the edited files of a module. launch_shape: takes a task and the edited source;
    returns the task with the launch shape of the source: threads of a block, iterations of a thread.
    """

    MODULE: ClassVar[str] = "editing"

    check: Callable[[Sequence[EditedFile]], None]
    launch_shape: Callable[[TaskSource, str], TaskSource]
