"""The language C."""

from __future__ import annotations

from ..c_family import tables
from ..c_family.tensors import never, no_cast, selection
from ..common.language import Language, Literals
from ..common.syntax_forms import UNARY, Syntax
from . import atomics, collectives, operations, reserved, textures

C = Language(
    name="C",
    target="c",
    suffix="c",
    templates=("c", "c"),
    libraries=("c", "h"),
    headers=tables.HEADERS,
    reserved=reserved.RESERVED,
    functions=reserved.FUNCTIONS,
    types=tables.TYPES,
    literals=Literals(
        float_suffixes={"f32": "f", "f64": "", "f16": "f"},
        integer_suffixes={"i32": "", "u32": "u", "i64": "ll", "u64": "ull"},
        infinities={
            "f32": Syntax("INFINITY"),
            "f64": Syntax("(double)INFINITY", UNARY),
            "f16": Syntax("(_Float16)INFINITY", UNARY),
        },
        nans={
            "f32": Syntax("NAN"),
            "f64": Syntax("(double)NAN", UNARY),
            "f16": Syntax("(_Float16)NAN", UNARY),
        },
        half=Syntax("(_Float16){0}", UNARY),
    ),
    operation=operations.operation,
    cast=tables.cast,
    bit_cast=tables.bit_cast,
    lane_cast=operations.lane_cast,
    coarse=never,
    converts_by_constructor=False,
    converts_to_parameter=True,
    unsigned="unsigned",
    constant="static const {type} {values};",
    integer_constant="enum {{ {values} }};",
    tensor_operation=selection(operations.operation),
    tensor_cast=no_cast,
    struct_declaration="typedef struct {{\n{body}\n}} {name};",
    struct_literal="({type}){{{values}}}",
    zero_values="0",
    size_check="_Static_assert",
    struct_tag="struct ",
    restrict="restrict",
    texture_handles=("const Texture *", "const Texture *"),
    texture_helpers=("Texture",),
    helper_qualifier="static inline ",
    function_qualifier="static inline ",
    args_parameter="const struct Args args",
    reference="{type} *{name}",
    reference_is_pointer=True,
    no_parameters="void",
    warns_of_unused=True,
    unroll="#pragma GCC unroll {count}\n",
    unroll_some="#pragma GCC unroll {count}\n",
    unrolled=16,
    nested_loops=True,
    shared_start=" = {0}",
    thread_numbers=collectives.THREAD_NUMBERS,
    barrier=collectives.barrier,
    collective=collectives.collective_syntax,
    collective_helper=collectives.helper,
    atomic=atomics.atomic_syntax,
    atomic_helper=atomics.helper,
    texel_helper=textures.helper,
)
