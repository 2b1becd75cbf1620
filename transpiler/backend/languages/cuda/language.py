"""The language CUDA C."""

from __future__ import annotations

from ..c_family.tensors import no_cast, selection
from ..common.language import Language, Literals
from ..common.syntax_forms import ASSIGN, PRIMARY, Syntax
from . import atomics, block_reductions, collectives, reserved, tables, textures

FROM_BITS = ("half_from_bits",)

CUDA = Language(
    name="CUDA C",
    target="cuda",
    suffix="cu",
    templates=("cuda", "cu"),
    libraries=("cuda", "cuh"),
    reserved=reserved.RESERVED,
    functions=reserved.FUNCTIONS,
    types=tables.TYPES,
    declared_types=frozenset(tables.TYPES) - {"i32", "f32", "f64", "u1"},
    literals=Literals(
        float_suffixes={"f32": "f", "f64": "", "f16": "f"},
        integer_suffixes={"i32": "", "u32": "u", "i64": "ll", "u64": "ull"},
        infinities={
            "f32": Syntax("__int_as_float(0x7f800000)"),
            "f64": Syntax("__longlong_as_double(0x7ff0000000000000ll)"),
            "f16": Syntax("half_from_bits(0x7c00)", helpers=FROM_BITS),
        },
        nans={
            "f32": Syntax("__int_as_float(0x7fc00000)"),
            "f64": Syntax("__longlong_as_double(0x7ff8000000000000ll)"),
            "f16": Syntax("half_from_bits(0x7e00)", helpers=FROM_BITS),
        },
        half=Syntax("half({0})", PRIMARY, (ASSIGN,), ("half",)),
    ),
    operation=tables.operation,
    cast=tables.cast,
    bit_cast=tables.bit_cast,
    coarse=tables.is_coarse,
    unsigned="unsigned",
    undefined_overflow=True,
    constant="constexpr {type} {values};",
    constant_types={"i64": "long long", "u32": "unsigned", "u64": "unsigned long long"},
    has_operators=True,
    tensor_operation=selection(tables.operation),
    tensor_cast=no_cast,
    aligned="alignas({bytes}) {name}",
    vectors=tables.VECTORS,
    struct_literal="{type}{{{values}}}",
    zero_values="",
    braces_refuse_narrowing=True,
    size_check="static_assert",
    read_only_load="__ldg(&{})",
    field_start="aligned({})",
    wide_access="(*({type} *)&{data}[{number}])",
    word_access="(({type} *){data})[{number}]",
    is_aligned="(size_t){data} % {bytes} == 0",
    volatile_load="__ldcg(&{})",
    restrict="__restrict__",
    texture_handles=("cudaTextureObject_t", "cudaSurfaceObject_t"),
    samples_by_object=True,
    helper_qualifier="__device__ inline ",
    function_qualifier="__device__ ",
    has_overloads=True,
    template="template <typename {name}> ",
    args_parameter="const Args &args",
    reference="{type} &{name}",
    shared_qualifier="__shared__ ",
    shared_alignment="__align__({}) ",
    thread_numbers=collectives.THREAD_NUMBERS,
    block_size="blockDim.x",
    linear_index="blockIdx.x * {block} + threadIdx.x",
    entry='extern "C" __global__ void __launch_bounds__({block}) {name}(const Args args) {{',
    serial_entry='extern "C" __global__ void {name}(const Args args) {{',
    warp=collectives.WARP,
    barrier=collectives.barrier,
    collective=collectives.collective_syntax,
    collective_helper=collectives.helper,
    atomic=atomics.atomic_syntax,
    atomic_helper=atomics.helper,
    texel_helper=textures.helper,
    block_reduction=block_reductions.block_reduction,
)
