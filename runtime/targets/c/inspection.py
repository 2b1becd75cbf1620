"""Inspection of kernels in C, which have no lower form."""

from __future__ import annotations

from ....transpiler.backend.module.interface import BackendModule
from ...workbench.inspect.inspection_tools import InspectionTools
from ...workbench.inspect.resources import Resources


def _none(module: BackendModule, gpu: str, session: object) -> Resources:
    return Resources(module.target, reason="C compilers do not report them")


TOOLS = InspectionTools(resources=_none)
