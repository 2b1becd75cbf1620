"""How a standalone reproducer launches GLSL."""

from __future__ import annotations

from typing import Any

from ....transpiler.backend.module.interface import BackendModule, TaskSource
from ...devices.vulkan.instance import FEATURES
from ...workbench.reproducer_tools import ReproducerTools

GROUPS_X = 65535
"""Groups per row of Vulkan's grid."""


def _flags(module: BackendModule) -> list[str]:
    return []


def _grid(task: TaskSource, groups: int) -> tuple[int, int]:
    if groups <= GROUPS_X:
        return groups, 1
    rows = 1 if task.strided else -(-groups // GROUPS_X)
    return min(GROUPS_X, -(-groups // rows)), rows


def _facts() -> dict[str, Any]:
    return {"features": [(extension, kind, type) for kind, type, extension, _ in FEATURES]}


TOOLS = ReproducerTools(flags=_flags, grid=_grid, facts=_facts)
