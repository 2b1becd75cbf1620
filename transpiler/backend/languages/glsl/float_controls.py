"""Execution modes for `fast_math=False`: subnormal numbers, -0.0, infinities and NaN, which SPIR-V leaves to drivers.

In: the types of a kernel's values and the execution modes of a device. Out: lines of GLSL that enable them.
Source: SPIR-V specification, section 3.6 (execution modes); GL_EXT_spirv_intrinsics.
"""

from __future__ import annotations

from collections.abc import Iterable

from ....ir.types import Type, scalars_of

EXTENSION = "GL_EXT_spirv_intrinsics"

MODES: dict[str, tuple[int, int, str]] = {
    "DenormPreserve": (4464, 4459, "subnormal numbers are preserved"),
    "SignedZeroInfNanPreserve": (4466, 4461, "-0.0, infinity and NaN are preserved"),
}
"""Name in SPIR-V -> number of the capability, number of the mode, meaning."""


def execution_modes(types: Iterable[Type], offered: frozenset[str]) -> list[str]:
    """Return the lines that enable the modes in `offered` ("DenormPreserve 32") for the widths of floats in `types`."""
    widths = sorted({scalar.bits for type in types for scalar in scalars_of(type) if scalar.is_float})
    return [
        f"spirv_execution_mode(capabilities = [{capability}], {mode}, {bits});  // {name}: {meaning}"
        for name, (capability, mode, meaning) in MODES.items()
        for bits in widths
        if f"{name} {bits}" in offered
    ]
