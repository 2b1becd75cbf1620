"""Block reductions of GLSL: subgroup operations if the device has them, then shared memory.

Floats have no `subgroupMin` and `subgroupMax` here: SPIR-V leaves open what these return if an operand is NaN, from
which accumulators start.
"""

from __future__ import annotations

from ....ir.types import Scalar
from ..common.collectives import MEMORY, joined, reduction_comment, reduction_key, reduction_name
from ..common.language import Language
from ..common.literals import scalar_name
from .collectives import FOLDS

SUBGROUPS = "subgroups"
"""Option of a key: the device has subgroup arithmetic on the type."""


def block_reduction(language: Language, op: str, type: Scalar, options: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the source of the helper, and the keys that it uses."""
    name, memory = scalar_name(language, type), f"of_block_{type}"
    if op == MEMORY:
        return f"shared {name} {memory}[BLOCK];", ()
    head = f"// {reduction_comment(op)}\n{name} {reduction_name(op)}({name} value) {{\n"
    uses = (reduction_key(MEMORY, type),)
    if SUBGROUPS in options and not (type.is_float and op in ("min", "max")):
        extensions = ["GL_KHR_shader_subgroup_basic", "GL_KHR_shader_subgroup_arithmetic"]
        if type.is_integral and type.bits == 64:
            extensions.append("GL_EXT_shader_subgroup_extended_types_int64")
        return (
            f"{head}"
            f"    value = subgroup{FOLDS[op]}(value);\n"
            "    if (subgroupElect()) {\n"
            f"        {memory}[gl_SubgroupID] = value;\n"
            "    }\n"
            "    barrier();\n"
            "    for (uint other = 1; gl_LocalInvocationIndex == 0 && other < gl_NumSubgroups; other++) {\n"
            f"        {joined(language, op, type, f'{memory}[other]')}\n"
            "    }\n"
            "    barrier();  // the next call overwrites the array\n"
            "    return value;\n}"
        ), (*uses, *(f"extension {extension}" for extension in extensions))
    return (
        f"{head}"
        "    uint thread = gl_LocalInvocationIndex;\n"
        f"    {memory}[thread] = value;\n"
        "    barrier();\n"
        "    for (uint left = BLOCK; left > 1; left = (left + 1) / 2) {\n"
        "        uint other = thread + (left + 1) / 2;\n"
        "        if (other < left) {\n"
        f"            {joined(language, op, type, f'{memory}[other]')}\n"
        f"            {memory}[thread] = value;\n"
        "        }\n"
        "        barrier();\n"
        "    }\n"
        "    return value;\n}"
    ), uses
