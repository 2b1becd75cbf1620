"""How a standalone reproducer compiles C."""

from __future__ import annotations

from ....transpiler.backend.module.interface import BackendModule
from ...devices.host.compiler import EXACT_MATH_FLAGS, FAST_MATH_FLAGS, FLAGS, LARGE_FRAMES, MATH_FLAGS, NATIVE, NO_SLP
from ...workbench.reproducer_tools import ReproducerTools


def _flags(module: BackendModule) -> list[str]:
    is_fast = bool(module.options.get("fast_math", True))
    precision = FAST_MATH_FLAGS if is_fast else EXACT_MATH_FLAGS
    return [*FLAGS, NO_SLP, LARGE_FRAMES, NATIVE, *MATH_FLAGS, *precision, "-fopenmp"]


TOOLS = ReproducerTools(flags=_flags)
