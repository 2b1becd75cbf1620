"""The workbench as kernels see it: loaded when the first of them has an `edits` folder, or is asked for one.

In: a session and an emitted kernel. Out: what runs in its place. Without edits a kernel pays one look for a folder when
it is compiled, and nothing when it is launched.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ...transpiler.frontend.source.specialization import Specialization
from ..config import EDITS_FOLDER, UNNAMED_FILE, Config, plain_name

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.backend.module.interface import BackendModule
    from ..session.session import Session
    from ..workbench.edits import Choice


def workbench(name: str) -> Any:
    """Return a module of the workbench."""
    return importlib.import_module(f"..workbench.{name}", __package__)


def edited_key(config: Config, specialization: Specialization, target: str, key: str) -> str:
    """Return the key of what runs: `key`, that of the generated text, unless an edit takes its place."""
    if config.edits == "off" or not _has_folder(config, specialization):
        return key
    digest: str = workbench("edits").digest_of_edit(specialization, target, config.edits_dir)
    return sha256(f"{key} {digest}".encode()).hexdigest()[: len(key)] if digest else key


def _has_folder(config: Config, specialization: Specialization) -> bool:
    """Tell whether there are slots of kernels of this kernel's file."""
    file = specialization.definition.function.__code__.co_filename
    stem, beside = UNNAMED_FILE, os.getcwd()
    if os.path.isfile(file):
        stem, beside = plain_name(os.path.splitext(os.path.basename(file))[0]), os.path.dirname(os.path.abspath(file))
    try:
        slots = os.listdir(os.path.expanduser(config.edits_dir) or os.path.join(beside, EDITS_FOLDER))
    except OSError:
        return False
    return any(slot.startswith(f"{stem}.") for slot in slots)


def archived_edit(config: Config, specialization: Specialization, module: BackendModule) -> tuple[BackendModule, str]:
    """Return what an archive for another device than the session's holds, and the digest of the edit in it, or ""."""
    if config.edits == "off" or not _has_folder(config, specialization):
        return module, ""
    found: tuple[BackendModule, str] = workbench("edits").archived(specialization, module, config.edits_dir)
    return found


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
    policy = session.config.edits
    if policy == "off" or not (policy == "watch" or wanted is not None or _has_folder(session.config, specialization)):
        return compilation, None
    choice: Choice = workbench("edits").choose(session, specialization, compilation.module, args, wanted)
    return replace(compilation, module=choice.module), choice
