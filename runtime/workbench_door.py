"""The workbench as kernels see it: loaded when the first of them has an `edits` folder, or is asked for one.

In: a session and an emitted kernel. Out: what runs in its place. Without edits a kernel pays one look for a folder when
it is compiled, and nothing when it is launched.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..transpiler.frontend.specialization import Specialization
from .config import EDITS_FOLDER

if TYPE_CHECKING:
    from ..transpiler.pipeline import Compilation
    from .session import Session
    from .workbench.edits import Choice


def workbench(name: str) -> Any:
    """Return a module of the workbench."""
    return importlib.import_module(f"{__package__}.workbench.{name}")


def edits_of(
    session: Session,
    specialization: Specialization,
    compilation: Compilation,
    args: Sequence[Any],
    wanted: str | None = None,
) -> tuple[Compilation, Choice | None]:
    """Return the compilation with the text that runs, and what was chosen; None: the generated text, nobody edits.

    wanted: the variant that the program asks for.
    """
    if session.config.edits == "off":
        return compilation, None
    file = specialization.definition.function.__code__.co_filename
    beside = os.path.dirname(os.path.abspath(file)) if os.path.isfile(file) else os.getcwd()
    folder = os.path.expanduser(session.config.edits_dir) or os.path.join(beside, EDITS_FOLDER)
    if session.config.edits != "watch" and wanted is None and not os.path.isdir(folder):
        return compilation, None
    choice: Choice = workbench("edits").choose(session, specialization, compilation.module, args, wanted)
    return replace(compilation, module=choice.module), choice
