"""What the workbench provides to kernels and sessions: its source of modules, and its tools by name.

In: a session and an emitted kernel. Out: the module that runs. The modules of the workbench are loaded when the first
kernel has an `edits` folder, or a tool is used: without edits a kernel pays one look for a folder when it is compiled,
and nothing when it is launched.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, ref

from ...transpiler.backend.module.compilation import Compilation
from ...transpiler.backend.module.interface import BackendModule
from ...transpiler.errors import warn_user
from ...transpiler.frontend.source.specialization import Specialization
from ..config import EDITS_FOLDER, UNNAMED_FILE, Config, plain_name
from ..launch.tool_registry import register
from ..session.module_source import FASTEST, Choice, Launch, Recompiled
from ..session.program_file import program_file, stem_of
from ..session.session import Session, install_sources

TOOLS = {
    "start_edit": ("edits.start", "start_edit"),
    "start_ir_edit": ("edits.start", "start_ir_edit"),
    "bisect": ("bisect.bisection", "bisect_here"),
    "blame": ("inspect.blame", "blame"),
    "bench": ("measure.bench", "bench"),
    "cache_info": ("inspect.kernel_list", "cache_info"),
    "compare": ("measure.swept", "compare"),
    "compile_report": ("measure.compile_times", "compile_report"),
    "export_repro": ("repro", "export_repro"),
    "forms_below": ("inspect.inspection_tools", "forms_of"),
    "gather": ("edits.selection", "gather"),
    "listing": ("inspect.inspection_tools", "listing_text"),
    "launch_plan": ("inspect.launch_plan", "launch_plan"),
    "line_map": ("inspect.maps", "line_map"),
    "pass_diff": ("inspect.blame", "pass_diff"),
    "statistics": ("inspect.statistics", "statistics"),
    "roofline": ("measure.roofline", "roofline"),
    "resources": ("inspect.inspection_tools", "resources"),
    "tune": ("measure.tune", "tune"),
}
"""Tools by name: the module of the workbench, and the function in it."""


def workbench(name: str) -> Any:
    """Return a module of the workbench."""
    return importlib.import_module(f".{name}", __package__)


class EditedModules:
    """The source of modules of a session in which people edit (`session.ModuleSource`)."""

    def __init__(self) -> None:
        self._warned: WeakKeyDictionary[Session, set[tuple[int, str]]] = WeakKeyDictionary()
        """By session, the kernels of which a warning said that an edit of them is not used."""
        self._awaited: WeakKeyDictionary[Session, set[tuple[int, str]]] = WeakKeyDictionary()
        """By session, the kernels that had a slot: one that is moved away, or that git replaces, may come back."""

    def choose(
        self,
        session: Session,
        specialization: Specialization,
        argument_kinds: Sequence[str],
        compilation: Compilation,
        args: Sequence[Any],
        wanted: str | None = None,
    ) -> Choice:
        """Return what runs: the generated module, unless an edit or a variant replaces it."""
        if wanted == FASTEST:
            gather = workbench("edits.selection").gather
            variants = gather(session, specialization, compilation, argument_kinds, tuple(args))
            wanted = workbench("measure.fastest_variant").fastest(variants)
        policy, awaited = session.config.edits, self._awaited.setdefault(session, set())
        kernel = _identity(specialization, compilation.module)
        is_awaited = policy == "watch" or kernel in awaited
        may_be_edited = is_awaited or wanted is not None or _has_folder(session.config, specialization)
        if policy == "off" or not may_be_edited:
            return Choice(compilation.module)

        def compared(variant: str) -> str:
            gather = workbench("edits.selection").gather
            variants = gather(session, specialization, compilation, argument_kinds, tuple(args))
            workbench("edits.selection").add_carried_over(variants)
            difference: str = workbench("measure.swept").difference(variants, variant)
            return difference

        choose, is_call = workbench("edits.selection").choose, len(args) == len(specialization.arguments)
        choice: Choice = choose(
            session, specialization, compilation.module, args, wanted, compared if is_call else None, is_awaited
        )
        if choice.watched:
            awaited.add(kernel)
        if wanted is None:
            is_generated = choice.module is compilation.module and choice.dispatch is None
            self._warn_of_unused(session, specialization, compilation.module, is_generated)
        return choice

    def _warn_of_unused(
        self, session: Session, specialization: Specialization, module: BackendModule, is_generated: bool
    ) -> None:
        """Warn of an edit that is for something else, once for each kernel in a session.

        is_generated: no edit is used.
        """
        warned = self._warned.setdefault(session, set())
        kernel = _identity(specialization, module)
        if kernel not in warned:
            unused, edits_dir = workbench("edits.unused"), session.config.edits_dir
            message = unused.misnamed_edit(specialization, module, edits_dir)
            if is_generated:
                message = message or unused.unused_edit(specialization, module, edits_dir)
            if message:
                warned.add(kernel)
                warn_user(message)

    def follow(
        self, launch: Launch, choice: Choice, kernel: ref[Recompiled], key: Any, config: Config
    ) -> Launch | None:
        """Return a launcher that checks the files of an edit, or lets a rule choose, before it launches."""
        if choice.dispatch is None and not choice.watched:
            return None
        if choice.dispatch is not None:
            launch = workbench("edits.watching").dispatch(choice, kernel, key)
        if choice.watched:
            launch = workbench("edits.watching").follow(launch, choice, kernel, key, config.edits)
        return launch

    def digest(self, config: Config, specialization: Specialization, generated: Callable[[], BackendModule]) -> str:
        """Return the digest of the edit that runs, "" if there is none; `generated` is called if there may be one."""
        if config.edits == "off" or not _has_folder(config, specialization):
            return ""
        digest: str = workbench("edits.selection").digest_of_edit(specialization, generated, config.edits_dir)
        return digest

    def archived(
        self, config: Config, specialization: Specialization, module: BackendModule
    ) -> tuple[BackendModule, str]:
        """Return the module for an archive for another device, and the digest of the edit in it, or ""."""
        if config.edits == "off" or not _has_folder(config, specialization):
            return module, ""
        found: tuple[BackendModule, str] = workbench("edits.selection").archived(
            specialization, module, config.edits_dir
        )
        return found


def _identity(specialization: Specialization, module: BackendModule) -> tuple[int, str]:
    return id(specialization.definition.function.__code__), module.target


def _has_folder(config: Config, specialization: Specialization) -> bool:
    """Return whether any kernel of this kernel's file has a slot."""
    function = specialization.definition.function
    file = program_file(function.__code__.co_filename, function.__globals__)
    stem = plain_name(stem_of(file)) if file else UNNAMED_FILE
    folder = os.path.dirname(file) if file else os.getcwd()
    try:
        slots = os.listdir(os.path.expanduser(config.edits_dir) or os.path.join(folder, EDITS_FOLDER))
    except OSError:
        return False
    return any(slot.startswith(f"{stem}.") for slot in slots)


def _call(module: str, function: str, *args: Any, **options: Any) -> Any:
    return getattr(workbench(module), function)(*args, **options)


def _edited_as_stored(
    specialization: Specialization, module: BackendModule, edits_dir: str, variant: str
) -> BackendModule:
    """Return a module with the source of an edit as it is stored. Raises: TaichiRuntimeError if there is none."""
    slot = workbench("edits.slots").slot_of(specialization, edits_dir)
    edited: BackendModule = workbench("inspect.overview").edited_as_stored(slot, module, variant)
    return edited


def install() -> None:
    """Let sessions choose among edits, and kernels find the tools."""
    install_sources(EditedModules())
    register({name: partial(_call, module, function) for name, (module, function) in TOOLS.items()})
    register({"edited_as_stored": _edited_as_stored})
