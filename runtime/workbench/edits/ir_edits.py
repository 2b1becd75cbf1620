"""Edits of the final IR, as text that every target prints: `kernel.edit(*args, form="ir")` writes it, `add.ssa`.

In: a slot with such a text, and the generated module. Out: the module that is printed from the text. It is stored,
merged and shipped as an edit of a source is. Values have names instead of numbers, so that a line more does not rename
all others. An edit that was begun for one target runs on the others: what they have otherwise is merged into it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ....transpiler.backend.assemble.emit import emit
from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import InternalError
from ....transpiler.frontend.source.specialization import Specialization
from ....transpiler.ir.edited.lines import DEFINITION, TextError
from ....transpiler.ir.edited.read_text import read_edited
from ....transpiler.ir.nodes import Statement
from ....transpiler.ir.tasks import Kernel
from ....transpiler.ir.text import print_kernel
from ....transpiler.ir.verify import Stage, verify
from ....transpiler.passes import PassContext
from ....transpiler.passes.analysis.call_effects import call_effects
from ...config import plain_name
from ...devices.capabilities import portable
from ...devices.target_tools import TARGETS
from ..check.block_sizes import final_kernel
from ..check.edit_error import EditError
from .header import Header, base_digest, header_of, with_header, without_header
from .merge import merge
from .slots import IR_SUFFIX, Slot, read_text

NUMBER = re.compile(r"\$(\d+)")
Current = Callable[[str, str], "str | None"]
"""Takes the name of a file and the text generated now; returns the edit of it, None if there is none."""


def ir_name(module: BackendModule) -> str:
    """Return the name of the file with the IR of a kernel."""
    return f"{plain_name(module.kernel)}{IR_SUFFIX}"


def is_ir(path: Path) -> bool:
    """Return whether a file of a slot is IR."""
    return path.suffix == IR_SUFFIX


def final_form(specialization: Specialization) -> tuple[Kernel, str]:
    """Return the kernel after all passes, and its text with names. Raises: TaichiCompilationError."""
    kernel = final_kernel(specialization)
    return kernel, named(print_kernel(kernel))


def header_for(specialization: Specialization, text: str, values: tuple[tuple[str, str], ...]) -> Header:
    """Return what an edit says about itself: the target that its text was generated for is its device."""
    return Header(base_digest(text), values, specialization.capabilities.target)


def load_edit(
    slot: Slot, module: BackendModule, variant: str, specialization: Specialization, current: Current
) -> tuple[BackendModule, Path] | None:
    """Return the module that an edited IR gives, and its file; None if there is no such edit.

    Raises: EditError for a text that cannot be read, is malformed, or is an edit of another kernel.
    """
    name = ir_name(module)
    path = slot.path(name, variant)
    if not os.path.lexists(path):
        return None
    kernel, generated = final_form(specialization)
    text = _for_this_target(path, generated, specialization)
    if text is None:
        text = current(name, generated)
    return None if text is None else (_printed(path, text, kernel, module, specialization), path)


def _for_this_target(path: Path, generated: str, specialization: Specialization) -> str | None:
    """Return an edit of the text for another target, with what this target has otherwise; None if it is none."""
    text = read_text(path) or ""
    header, bare = header_of(text), without_header(text)
    if header.device not in TARGETS or header.base in ("", base_digest(generated), base_digest(bare)):
        return None
    there = final_form(replace(specialization, capabilities=portable(header.device)))[1]
    if base_digest(there) != header.base:
        return None
    merged = merge(there, bare, generated)
    if merged.conflicts:
        raise EditError(
            f"{path}:1: this edit is of the IR for `{header.device}`, and that for "
            f"`{specialization.capabilities.target}` is another where it was edited",
            "begin a variant here, `kernel.edit(..., form='ir', variant=...)`",
        )
    return with_header(merged.text, header)


def _printed(
    path: Path, text: str, kernel: Kernel, module: BackendModule, specialization: Specialization
) -> BackendModule:
    """Return the module that is printed from a text. Raises: EditError."""
    options, capabilities = specialization.options, specialization.capabilities
    lines: dict[Statement, int] = {}
    try:
        lines = read_edited(text, kernel)
        call_effects(kernel, PassContext(options, capabilities))
        verify(kernel, Stage.FINAL)
        edited = emit(kernel, module.target, options, capabilities)
    except TextError as error:
        raise EditError(f"{path}:{error.line}: {error.message}", error.hint) from None
    except (InternalError, AssertionError, KeyError, IndexError, AttributeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        wrong: Statement | None = getattr(error, "statement", None)
        line = 0 if wrong is None else lines.get(wrong, 0)
        reason = reason.removeprefix("malformed final IR: ").partition(" (at ")[0] if line else reason
        raise EditError(f"{path}:{line or 1}: the edited kernel is malformed: {reason}") from None
    members = [(m.name, m.type, m.offset_bytes) for m in module.interface.members]
    if members != [(m.name, m.type, m.offset_bytes) for m in edited.interface.members]:
        now = {m.name for m in edited.interface.members}
        gone = ", ".join(f"`{name}`" for name, *_ in members if name not in now) or "an order of members"
        raise EditError(
            f"{path}:1: the edit changes what a launch passes: the kernel uses {gone} no longer, or something else",
            "an edit uses the arguments, fields and extents that the generated kernel uses",
        )
    return edited


# --- names of values


def named(text: str) -> str:
    """Return a flat form with names in place of numbers, which say what a value is: `$load_v`, `$mul_2`.

    A name depends on the operation and on those before it in the same task that would have the same name.
    """
    names: dict[str, str] = {}
    lines = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith(("task ", "function ")):
            names = {}
        match = DEFINITION.fullmatch(stripped)
        if match is not None:
            name = re.sub(r"\W", "_", _name_of(match[2], match[4], names))
            names[match[1]] = _unique(name, set(names.values()))
        lines.append(_renamed(line, names))
    return "\n".join(lines) + "\n"


def _renamed(line: str, names: dict[str, str]) -> str:
    return NUMBER.sub(lambda found: f"${names.get(found[1], found[1])}", line)


def _unique(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def _name_of(python: str | None, right: str, names: dict[str, str]) -> str:
    """Return what a value is called. python: its name in the program. right: how it is defined."""
    if python:
        return python
    words = right.split()
    loaded = NUMBER.search(right)
    if words[0] in ("ptr", "temporary"):
        return f"ptr_{words[1]}"
    if words[0] in ("arg", "reference", "shape"):
        return f"{words[0]}_{words[1]}"
    if "load" in words[:2] and loaded is not None:
        return f"load_{names.get(loaded[1], '').removeprefix('ptr_')}"
    if words[0] == "const":
        return "c" + words[1].replace("-", "m")
    return {"for": "loop", "if": "choice"}.get(words[0], words[0])
