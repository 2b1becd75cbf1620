"""Block reductions of GLSL: subgroup operations if the device has them, then shared memory.

Floats have no `subgroupMin` and `subgroupMax` here: SPIR-V leaves open what these return if an operand is NaN, from
which accumulators start.
"""

from __future__ import annotations

from ....ir.types import Scalar, Tensor, element_of
from ..common.collectives import MEMORY, each_number, joined, reduction_comment, reduction_key, reduction_name
from ..common.language import Language
from ..common.one_line import indented
from ..common.tensors import name_of
from .collectives import FOLDS

SUBGROUPS = "subgroups"
"""Option of a key: the device has subgroup arithmetic on the type."""


def block_reduction(
    language: Language, op: str, type: Scalar | Tensor, options: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """Return the source of the helper, and the keys that it uses. Tensors need subgroup arithmetic."""
    name, element = name_of(language, type), element_of(type)
    memory = f"of_block_{type if isinstance(type, Scalar) else name}"
    if op == MEMORY:
        return f"shared {name} {memory}[BLOCK];", ()
    head = f"// {reduction_comment(op)}\n{name} {reduction_name(op)}({name} value) {{\n"
    uses = (reduction_key(MEMORY, type),)
    with_other = joined(language, op, type, lambda number: number(f"{memory}[other]"))
    if SUBGROUPS in options and not (element.is_float and op in ("min", "max")):
        extensions = ["GL_KHR_shader_subgroup_basic", "GL_KHR_shader_subgroup_arithmetic"]
        if element.is_integral and element.bits == 64:
            extensions.append("GL_EXT_shader_subgroup_extended_types_int64")
        keys = [f"extension {extension}" for extension in extensions]
        keys += language.unroll_helpers if isinstance(type, Tensor) else ()
        folded = each_number(
            language, type, lambda number: [f"{number('value')} = subgroup{FOLDS[op]}({number('value')});"]
        )
        return (
            f"{head}"
            f"{indented(folded, 1)}"
            "    if (subgroupElect()) {\n"
            f"        {memory}[gl_SubgroupID] = value;\n"
            "    }\n"
            "    barrier();\n"
            "    for (uint other = 1; gl_LocalInvocationIndex == 0 && other < gl_NumSubgroups; other++) {\n"
            f"{indented(with_other, 2)}"
            "    }\n"
            "    barrier();  // the next call overwrites the array\n"
            "    return value;\n}"
        ), (*uses, *keys)
    return (
        f"{head}"
        "    uint thread = gl_LocalInvocationIndex;\n"
        f"    {memory}[thread] = value;\n"
        "    barrier();\n"
        "    for (uint left = BLOCK; left > 1; left = (left + 1) / 2) {\n"
        "        uint other = thread + (left + 1) / 2;\n"
        "        if (other < left) {\n"
        f"{indented(with_other, 3)}"
        f"            {memory}[thread] = value;\n"
        "        }\n"
        "        barrier();\n"
        "    }\n"
        "    return value;\n}"
    ), uses
