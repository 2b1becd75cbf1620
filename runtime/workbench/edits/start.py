"""Write the source that a person edits, with what it says about itself and the generated source, which goes to `.base`.

In: a specialization and its generated module. Out: files in its slot; an edited file is never overwritten.
"""

from __future__ import annotations

import re
from pathlib import Path

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.frontend.source.specialization import Specialization
from ...devices.target_tools import tools_of
from ...session.module_source import RESERVED
from ...store.atomic_files import write_text
from ..check.edit_error import EditError
from ..compiler_parameters import CompilerParameters, with_offers
from .bases import device_of
from .header import Header, base_digest, header_of, is_untouched, with_header, without_header
from .identity import recorded_values, shown
from .ir_edits import final_form, header_for, ir_name
from .slots import OTHER_NAME, Slot, exact_slot, python_file, read_text, slot_of


def start_edit(
    specialization: Specialization, module: BackendModule, edits_dir: str, variant: str = "", offers: bool = False
) -> Path:
    """Write the sources to edit, with their base, unless they exist. offers: with the parameters of the compiler.

    Returns the file, or the slot's folder if there are several. An unchanged copy is replaced if the generated source
    has changed. Raises: OSError; EditError for a variant's name that is no file name.
    """
    _check_variant(variant)
    if not variant and python_file(specialization.definition) is None:
        raise _shared_by_shells(module)
    if not module.files:
        reason, hint = "it does nothing", None
        if tools_of(module.target).is_interpreter:
            reason, hint = "the interpreter runs no source", "name a target, `kernel.edit(..., arch=ti.cuda)`"
        raise EditError(f"kernel `{module.kernel}` has no source to edit: {reason}", hint)
    slot = slot_of(specialization, edits_dir, may_be_new=True)
    values = recorded_values(specialization)
    if slot.folder.is_dir() and not _names_its_base(slot, module) and not _is_of(slot, module):
        slot = exact_slot(specialization, edits_dir)  # it may be of another object
    paths, device = [], device_of(specialization, module)
    offered = CompilerParameters(specialization, module).offered() if offers else ()
    for file in module.files:
        header = Header(base_digest(file.text), values, device)
        path, base = slot.path(file.name, variant), slot.base(file.name, variant)
        found = read_text(path)
        if found is None or is_untouched(found, read_text(base)):
            if found is None or without_header(found) != file.text or header_of(found) != header:
                write_text(base, file.text)
                write_text(path, with_offers(with_header(file.text, header), offered))
        elif not header_of(found).base and base_digest(read_text(base) or "") == header.base:
            write_text(path, with_header(found, header))  # of an older shadesmith; `.base` proves what it is
        paths.append(path)
    slot.write_facts(facts_of(specialization, module))
    return paths[0] if len(paths) == 1 else slot.folder


def start_ir_edit(specialization: Specialization, module: BackendModule, edits_dir: str, variant: str = "") -> Path:
    """Write the final IR to edit, with its base, unless it exists; return the file. It is an edit for all targets.

    Raises: as `start_edit`.
    """
    _check_variant(variant)
    if not variant and python_file(specialization.definition) is None:
        raise _shared_by_shells(module)
    slot = slot_of(specialization, edits_dir, may_be_new=True)
    name, text = ir_name(module), final_form(specialization)[1]
    header = header_for(specialization, text, recorded_values(specialization))
    path, base = slot.path(name, variant), slot.base(name, variant)
    found = read_text(path)
    if found is None or (is_untouched(found, read_text(base)) and without_header(found) != text):
        write_text(base, text)
        write_text(path, with_header(text, header))
    slot.write_facts(facts_of(specialization, module))
    return path


def _check_variant(variant: str) -> None:
    if variant and not re.fullmatch(r"[\w-]+", variant):
        raise EditError(f"`{variant}` cannot name a variant", "use letters, digits, `_` and `-`")
    if variant in RESERVED:
        raise EditError(
            f"`{variant}` cannot name a variant: `kernel.use('{variant}')` means something else", OTHER_NAME
        )


def _shared_by_shells(module: BackendModule) -> EditError:
    return EditError(
        f"kernel `{module.kernel}` was typed into a shell: all shells of this folder would share its edits",
        "give the edit a name, `kernel.edit(..., variant='mine')`, and run it by `kernel.use('mine')`",
    )


def _names_its_base(slot: Slot, module: BackendModule) -> bool:
    """Return whether the sources in a slot say what they are edits of, as all do but those of an older shadesmith."""
    names = ("", *slot.variants(tuple(file.name for file in module.files)))
    found = (read_text(slot.path(file.name, name)) for name in names for file in module.files)
    return all(text is None or header_of(text).base for text in found)


def _is_of(slot: Slot, module: BackendModule) -> bool:
    """Return whether `.base` has the sources generated now."""
    return all(base_digest(read_text(slot.base(file.name)) or "") == base_digest(file.text) for file in module.files)


def facts_of(specialization: Specialization, module: BackendModule) -> dict[str, object]:
    """Return what a slot says about itself: kernel, Python file, arguments."""
    definition = specialization.definition
    file = python_file(definition)
    arguments = zip(definition.flat_parameters, specialization.arguments)
    return {
        "kernel": definition.qualname,
        "file": file.name if file is not None else None,
        "arguments": {parameter.name: shown(argument) for parameter, argument in arguments},
    }
