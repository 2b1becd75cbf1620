"""`fast_math=False`: subnormal numbers, -0.0, infinities, NaN and roundings, which SPIR-V leaves to drivers.

In: the types of a kernel's values and the execution modes of a device. Out: lines of GLSL that enable them.

GLSL has no switch for the rounding of all operations. `precise` reaches those that lead to a variable, not what becomes
an integer, a comparison or an argument. So a source says it by a pragma, and shadesmith decorates its SPIR-V.
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

NO_CONTRACTION = "#pragma shadesmith no_contraction"
"""A line of a source all of whose operations of floats get `NoContraction` in SPIR-V."""


def rounding(types: Iterable[Type]) -> list[str]:
    """Return the line by which each operation is rounded as it is written, if there are floats in `types`."""
    if not any(scalar.is_float for type in types for scalar in scalars_of(type)):
        return []
    return ["// each operation of floats is rounded as it is written, by NoContraction in SPIR-V", NO_CONTRACTION]


def execution_modes(types: Iterable[Type], offered: frozenset[str]) -> list[str]:
    """Return the lines that enable the modes in `offered` ("DenormPreserve 32") for the widths of floats in `types`."""
    widths = sorted({scalar.bits for type in types for scalar in scalars_of(type) if scalar.is_float})
    return [
        f"spirv_execution_mode(capabilities = [{capability}], {mode}, {bits});  // {name}: {meaning}"
        for name, (capability, mode, meaning) in MODES.items()
        for bits in widths
        if f"{name} {bits}" in offered
    ]
