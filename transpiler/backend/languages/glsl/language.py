"""The language GLSL."""

from __future__ import annotations

from ....errors import InternalError
from ..common.language import Language, Literals
from ..common.syntax_forms import Syntax
from . import atomics, block_reductions, collectives, reserved, tables, tensors


def _no_texel_helper(language: Language, what: str, kind: str, ndim: int) -> tuple[str, list[str], list[str]]:
    raise InternalError("GLSL has built-in functions for texels")


GLSL = Language(
    name="GLSL",
    target="vulkan",
    suffix="comp",
    templates=("glsl", "comp"),
    libraries=("glsl", "glsl"),
    file_per_task=True,
    reserved=reserved.RESERVED,
    functions=reserved.FUNCTIONS,
    reserved_members=reserved.MEMBERS,
    reserved_types=reserved.TYPES,
    types=tables.TYPES,
    literals=Literals(
        float_suffixes={"f32": "", "f64": "lf", "f16": "hf"},
        integer_suffixes={"i32": "", "u32": "u", "i64": "l", "u64": "ul"},
        infinities={
            "f32": Syntax("uintBitsToFloat(0x7f800000u)"),
            "f64": Syntax("packDouble2x32(uvec2(0u, 0x7ff00000u))"),
            "f16": Syntax("float16_t(uintBitsToFloat(0x7f800000u))"),
        },
        nans={
            "f32": Syntax("uintBitsToFloat(0x7fc00000u)"),
            "f64": Syntax("packDouble2x32(uvec2(0u, 0x7ff80000u))"),
            "f16": Syntax("float16_t(uintBitsToFloat(0x7fc00000u))"),
        },
        converts_small=True,
        has_binary=False,
    ),
    operation=tables.operation,
    cast=tables.cast,
    bit_cast=tables.bit_cast,
    coarse=tables.is_coarse,
    converts_explicitly=True,
    unsigned="uint",
    unsigned_argument="uint({})",
    computes_small_as_int=False,
    has_vectors=True,
    tensor_operation=tensors.operation,
    tensor_cast=tensors.cast,
    struct_literal="{type}({values})",
    has_braces=False,
    pads_structs=True,
    bool_in_memory=False,
    has_pointers=False,
    offset="layout(offset = {offset})",
    arrow=".",
    wide_access="{type}({data}).v[{factor} / {lanes}]",
    word_access="{type}({data}).v[{number}]",
    is_aligned="uvec2({data}).x % {bytes}u == 0u",
    alignment_helpers=("extension GL_EXT_buffer_reference_uvec2",),
    forwards_by_copy=True,
    precise="precise ",
    has_overloads=True,
    reference="inout {type} {name}",
    unroll="[[unroll]] ",
    unroll_some="",
    unroll_helpers=("extension GL_EXT_control_flow_attributes",),
    shared_qualifier="shared ",
    thread_numbers=collectives.THREAD_NUMBERS,
    linear_index="gl_GlobalInvocationID.x",
    folded_index="gl_WorkGroupID.y * gl_NumWorkGroups.x * {block} + gl_GlobalInvocationID.x",
    entry="void main() {{",
    serial_entry="void main() {{",
    barrier=collectives.barrier,
    collective=collectives.collective_syntax,
    collective_helper=collectives.helper,
    atomic=atomics.atomic_syntax,
    atomic_helper=atomics.helper,
    texel_helper=_no_texel_helper,
    block_reduction=block_reductions.block_reduction,
    extensions=tables.EXTENSION_OF_NAME,
    type_extensions=tables.EXTENSIONS,
)
