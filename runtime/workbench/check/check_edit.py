"""Refuse an edited source whose interface is not that of the generated one, before any of it runs.

In: two modules, the generated and the edited one, and what the device can do. Out: nothing, or an `EditError` with
every mistake, each at its line of the user's file. Compilers decide: GLSL is compiled and its SPIR-V reflected, CUDA C
and C are compiled with assertions appended, and the binary is inspected.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.options import Capabilities
from ...devices.target_tools import part_of
from .check_input import EditedFile
from .diagnostics import DiagnosticList, refuse
from .edit_tools import EditTools
from .includes import note_includes
from .parsed_source import ParsedSource


def check_edit(
    generated: BackendModule,
    edited: BackendModule,
    capabilities: Capabilities,
    paths: Mapping[str, Path],
    written: BackendModule | None = None,
) -> None:
    """Check the files of `edited` that differ from the generated ones.

    capabilities: of the device that will run it. paths: the users' files by the names of the module's files. written:
    the module with the users' sources, which messages show, if those of `edited` have code in place of macros.
    Raises: EditError with all mistakes; TaichiRuntimeError if a compiler is missing.
    """
    edits = [
        EditedFile(
            generated,
            edited,
            number,
            capabilities,
            DiagnosticList(paths.get(new.name, Path(new.name)), ParsedSource(shown.text), []),
        )
        for number, (old, new, shown) in enumerate(
            zip(generated.files, edited.files, (written or edited).files, strict=True)
        )
        if old.text != new.text
    ]
    if not edits:
        return
    for edit in edits:
        note_includes(edit.diagnostics)
    refuse(edit.diagnostics for edit in edits)  # before a compiler looks for the files
    part_of(generated.target, EditTools).check(edits)
    refuse(edit.diagnostics for edit in edits)
