"""How an edited GLSL text spreads turns over a grid is read from the text, so that none is launched as another would be."""

from __future__ import annotations

import pytest

from shadesmith.runtime.workbench.edited import edited_module
from shadesmith.transpiler.backend.module.interface import BackendModule, Interface, SourceFile, TaskSource

ROW = "uint index = gl_GlobalInvocationID.x;"
ROWS = "uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;"
STRIDES = "for (uint i = gl_GlobalInvocationID.x; i < count; i += gl_NumWorkGroups.x * BLOCK)"


@pytest.mark.parametrize(
    ("before", "after", "strided", "folded"),
    [
        (STRIDES, STRIDES + ";", True, False),
        (STRIDES, ROW, False, False),
        (STRIDES, ROWS, False, True),
        (ROWS, ROW, False, False),
        (ROWS, ROWS + "  // mine", False, True),
        (ROWS, ROW + "  // without gl_WorkGroupID.y", False, False),
        (ROW, ROWS, False, True),
    ],
)
def test_grid_of_an_edited_text(before: str, after: str, strided: bool, folded: bool) -> None:
    task = TaskSource("k", "range_for", "main", 0, 128, (), strided=before == STRIDES, folded=before == ROWS)
    generated = BackendModule("k", "vulkan", (SourceFile("k.comp", before),), (task,), Interface((), 0, (), (), 0, 0))
    edited = edited_module(generated, {"k.comp": after}).tasks[0]
    assert (edited.strided, edited.folded) == (strided, folded)
