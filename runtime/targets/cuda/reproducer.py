"""How a standalone reproducer compiles CUDA C."""

from __future__ import annotations

from ....transpiler.backend.module.interface import BackendModule
from ...workbench.reproducer_tools import ReproducerTools


def _flags(module: BackendModule) -> list[str]:
    return ["--std=c++17", f"-fmad={'true' if module.options.get('fast_math', True) else 'false'}"]


TOOLS = ReproducerTools(flags=_flags)
