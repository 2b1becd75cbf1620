"""Scalars in GLSL 460 with explicit arithmetic types: names of types, syntax of operations, casts, extensions.

In: the name of an operation and the scalar type of its operands. Out: `Syntax` objects whose helpers are in
`templates/glsl/lib`. GLSL computes in every type natively; it lacks the transcendental functions of double,
bit counts of widths other than 32, and definite results for division by zero, NaN tests and pow of negative numbers.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir.ops import EXTREMES, MATH_H, OPS
from ....ir.types import Scalar, f32, i32
from ..c_family.tables import ANY as ANY_C
from ..c_family.tables import BOOLEANS, COMPARISONS
from ..common.helpers import chunks_of
from ..common.syntax_forms import (
    ADD,
    ASSIGN,
    EQUAL,
    EXACT,
    MULTIPLY,
    PRIMARY,
    SHIFT,
    Syntax,
    call,
    constructor,
    custom,
    infix,
    prefix,
    same,
    with_operands,
)

TYPES: dict[str, str] = {
    "i8": "int8_t", "i16": "int16_t", "i32": "int", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint", "u64": "uint64_t",
    "u1": "bool", "f16": "float16_t", "f32": "float", "f64": "double",
}  # fmt: skip

EXTENSIONS: dict[str, str] = {
    "i8": "GL_EXT_shader_explicit_arithmetic_types_int8",
    "u8": "GL_EXT_shader_explicit_arithmetic_types_int8",
    "i16": "GL_EXT_shader_explicit_arithmetic_types_int16",
    "u16": "GL_EXT_shader_explicit_arithmetic_types_int16",
    "i64": "GL_EXT_shader_explicit_arithmetic_types_int64",
    "u64": "GL_EXT_shader_explicit_arithmetic_types_int64",
    "f16": "GL_EXT_shader_explicit_arithmetic_types_float16",
}
"""Type -> extension for values of that type."""

EXTENSION_OF_NAME: dict[str, str] = {
    "unroll": "GL_EXT_control_flow_attributes",
    **{TYPES[name]: extension for name, extension in EXTENSIONS.items()},
    **{f"{name}vec{n}": extension for name, extension in EXTENSIONS.items() for n in (2, 3, 4)},
    "buffer_reference": "GL_EXT_buffer_reference",
    "scalar": "GL_EXT_scalar_block_layout",
    "gl_SubgroupSize": "GL_KHR_shader_subgroup_basic",
    "gl_SubgroupInvocationID": "GL_KHR_shader_subgroup_basic",
    "subgroupBallot": "GL_KHR_shader_subgroup_ballot",
    "subgroupShuffle": "GL_KHR_shader_subgroup_shuffle",
    "subgroupShuffleXor": "GL_KHR_shader_subgroup_shuffle",
    "subgroupShuffleUp": "GL_KHR_shader_subgroup_shuffle_relative",
    "subgroupShuffleDown": "GL_KHR_shader_subgroup_shuffle_relative",
}
"""Identifier -> the extension that it requires."""

FLOATS: dict[str, Syntax] = {
    "div": infix("/"),
    "raw_div": infix("/"),
    "floordiv": custom("floor({0} / {1})", PRIMARY, MULTIPLY, 15),
    "mod": call("mod", 2),
    "raw_mod": call("rem_$t", 2),
    "pow": call("pow_$t", 2),
    "min": call("min", 2),
    "max": call("max", 2),
    **{name: call(general, 2) for name, general in EXTREMES.items()},
    "atan2": call("atan", 2),
    "round": call("roundEven"),
    "exp2": call("exp2"),
    "exp10": custom("pow(10.0, {0})", PRIMARY, ASSIGN),
    "rsqrt": call("inversesqrt"),
    "normal_rsqrt": call("inversesqrt"),
    "normal_sqrt": call("sqrt"),
    "normal_reciprocal": custom("$1 / {0}", MULTIPLY, 15),
    "isnan": call("is_nan_$t"),
    "isinf": call("is_inf_$t"),
    **{name: call(name) for name in ("abs", "sign", *MATH_H)},
    "rounded_half": same(),
    "flushed": same(),
    "root_square": custom("({0} * {0})", PRIMARY, MULTIPLY),
}

PLAIN = {"short_sin": "sin", "short_cos": "cos", "paired_sin": "sin", "paired_cos": "cos", "short_atan2": "atan2"}
"""Operations that are short elsewhere, and what they are here."""

MATH_FILES = frozenset({"math_f32", "math_f64", "hyperbolic"})
"""Libraries of the functions that GLSL lacks (those of double), or that drivers compute badly (`asin` of float)."""

COARSE: dict[str, dict[str, Syntax]] = {
    "f32": {
        **{name: call(f"{name}_f32") for name in ("sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "rsqrt")},
        "normal_rsqrt": call("rsqrt_f32"),
        "normal_sqrt": call("sqrt_f32"),
        "normal_reciprocal": custom("div_f32(1.0, {0})", PRIMARY, ASSIGN),
        **{name: call(f"exact_{name}_f32") for name in ("abs", "sign")},
        **{name: call(f"exact_{name}_f32", 2) for name in ("min", "max", "atan2")},
        **{name: call(f"exact_{general}_f32", 2) for name, general in EXTREMES.items()},
        "asin": call("exact_asin_f32"),
        **{name: call("div_f32", 2) for name in ("div", "raw_div")},
        "floordiv": call("floor_div_f32", 2),
        "mod": call("mod_f32", 2),
        "raw_mod": call("fmod_f32", 2),
        "pow": call("accurate_pow_f32", 2),
    },
    "f64": {
        **{name: call(f"accurate_{name}_f64") for name in ("sin", "cos", "tan")},
        "sign": call("sign_f64"),
        "rsqrt": custom("1.0lf / sqrt({0})", MULTIPLY, ASSIGN),
        "normal_rsqrt": custom("1.0lf / sqrt({0})", MULTIPLY, ASSIGN),
        "mod": call("exact_mod_f64", 2),
        "raw_mod": call("fmod_f64", 2),
    },
}
"""Replacements for fast_math=False of operations that Vulkan allows to be coarse or undefined for some arguments."""

FUSED = frozenset({"dot", "cross", "norm", "normalized", "matmul"})
"""Operations on vectors and matrices in which drivers take one rounding for a product and a sum, and coarse roots.

`NoContraction` does not reach into GLSL's own functions: with fast_math=False they are sums of products of ours.
"""

INTEGERS: dict[str, Syntax] = {
    "floordiv": call("floor_div_$t", 2),
    "mod": call("mod_$t", 2),
    "raw_div": call("div_$t", 2),
    "raw_mod": call("rem_$t", 2),
    "plain_div": infix("/"),
    "plain_mod": infix("%"),
    "near_mod": call("mod_near_$t", 2),
    "close_mod": call("mod_close_$t", 2),
    "pow": call("pow_$t", 2),
    "min": call("min", 2),
    "max": call("max", 2),
    "biased_min": call("biased_min_$t", 2),
    "biased_max": call("biased_max_$t", 2),
    "lowest_bit": call("lowest_bit_$t"),
    "shifted": call("shifted_$t", 2),
    "shifted_bits": call("shifted_bits_$t", 2),
    "wide_shl": custom("{0} << ({1} & $m)", SHIFT, MULTIPLY, MULTIPLY),
    "abs": call("abs"),
    "sign": call("sign"),
    "floor": same(),
    "ceil": same(),
    "round": same(),
    "bit_and": infix("&"),
    "bit_or": infix("|"),
    "bit_xor": infix("^"),
    "bit_not": prefix("~"),
    "shl": custom("{0} << ({1} & $m)", SHIFT, MULTIPLY, MULTIPLY),
    "sar": custom("{0} >> ({1} & $m)", SHIFT, MULTIPLY, MULTIPLY),
    "shr": custom("$T($U({0}) >> ({1} & $m))", PRIMARY, ASSIGN, MULTIPLY),
    "popcnt": call("popcnt_u64"),
    "clz": call("clz_u64"),
    **{f"{op}_overflows": call(f"{op}_overflows_$t", 2) for op in ("add", "sub", "mul", "shl", "pow")},
}

UNSIGNED: dict[str, Syntax] = {
    "floordiv": call("div_$t", 2),
    "mod": call("rem_$t", 2),
    "near_mod": call("rem_$t", 2),
    "close_mod": call("rem_$t", 2),
    "abs": same(),
    "sign": custom("$T({0} != $0)", PRIMARY, SHIFT),
    "shr": INTEGERS["sar"],
}

ZERO = {"u8": "uint8_t(0)", "u16": "uint16_t(0)", "u32": "0u", "u64": "0ul"}
ONE = {"f16": "float16_t(1)"}

VIA_I32 = frozenset(
    {
        "floordiv", "mod", "raw_div", "raw_mod", "plain_div", "plain_mod", "near_mod", "close_mod",
        "pow",
        "biased_min", "biased_max", "lowest_bit",
    }
)  # fmt: skip
"""Of 8 and 16 bit integers these are computed as i32."""

NEGATIONS = {"neg": call("negative_$t"), "abs": call("magnitude_$t")}
"""Of signed 8 and 16 bit integers: NVIDIA's driver does not wrap them otherwise, see `negative_i8`."""


WIDE = {
    "plain_div": "raw_div", "plain_mod": "raw_mod", "near_mod": "mod", "close_mod": "mod",
    "biased_min": "min", "biased_max": "max",
}  # fmt: skip
"""Operations of 64 bits in place of those that have no syntax of their own; `div_u64` says why."""


def operation(op: str, type: Scalar) -> Syntax:
    """Return the syntax of `op` on scalars of `type` (of the values, for `select`); `EXACT` selects `COARSE`."""
    if op.startswith(EXACT):
        return _exact(op.removeprefix(EXACT), type)
    if op in NEGATIONS and type.is_narrow_int:
        return _fill(NEGATIONS[op], type)
    if op in ANY_C and op not in ("lt", "le", "gt", "ge"):
        return ANY_C[op]
    if type.kind == "bool":
        return _boolean(op)
    if op in COMPARISONS:
        return ANY_C[op]
    if type.kind == "float":
        return _float(op, type)
    if type.bits < 32 and op in VIA_I32:
        return constructor(with_operands(operation(op, i32), "int({0})", PRIMARY, ASSIGN), TYPES[type.name])
    if op in ("popcnt", "clz"):
        return _count_bits(op, type)
    table = UNSIGNED if type.kind == "uint" and op in UNSIGNED else INTEGERS
    if type.bits == 64 and op == "wide_shl":
        return call(f"shl_{type.name}", 2)
    if type.bits == 64 and op in WIDE:
        op = WIDE[op]
    return _fill(table[op], type)


def _fill(syntax: Syntax, type: Scalar) -> Syntax:
    template = syntax.template
    if "$" not in template:
        return syntax
    template = template.replace("$t", type.name).replace("$T", TYPES[type.name]).replace("$0", ZERO.get(type.name, "0"))
    template = template.replace("$1", ONE.get(type.name, "1"))
    mask = f"{type.bits - 1}"
    if type.bits < 32:
        mask = f"{TYPES[type.name]}({mask})"
    elif type.bits == 64:
        mask += "l" if type.kind == "int" else "ul"
    elif type.kind == "uint":
        mask += "u"
    return replace(syntax, template=template.replace("$m", mask).replace("$U", TYPES["u" + type.name[1:]]))


def _boolean(op: str) -> Syntax:
    if op == "popcnt":
        return call("int")
    return custom("8 - int({0})", ADD, ASSIGN) if op == "clz" else BOOLEANS[op]


def has_helper(op: str, type: Scalar) -> bool:
    """Return whether a function of floats is always a helper, which `MATH_FILES` define under its name and type."""
    op = PLAIN.get(op, op)
    _, file = chunks_of("glsl", "glsl").get(f"{op}_{type.name}", ("", ""))
    return file in MATH_FILES and op in FLOATS


def is_coarse(op: str, type: Scalar) -> bool:
    """Return whether an operation has a different syntax for fast_math=False."""
    return op in COARSE.get("f32" if type.name == "f16" else type.name, ()) or (op in FUSED and type.is_float)


def _exact(op: str, type: Scalar) -> Syntax:
    if type.name != "f16":
        return COARSE[type.name][op]
    return constructor(with_operands(COARSE["f32"][op], "float({0})", PRIMARY, ASSIGN), TYPES["f16"])


def _float(op: str, type: Scalar) -> Syntax:
    op = PLAIN.get(op, op)
    if has_helper(op, type):
        return call(f"{op}_{type.name}", OPS[op].arity)
    if type.name == "f16" and op == "rounded_half":
        return call(op)
    if type.name == "f32" and op == "root_square":
        return call("square_of_root")
    if type.name == "f64" and op in ("exp2", "exp10"):
        return custom(f"pow_f64({op.removeprefix('exp')}.0lf, {{0}})", PRIMARY, ASSIGN)
    if type.name == "f16" and op in ("pow", "exp10", "raw_mod", "isnan", "isinf"):
        inner = with_operands(operation(op, f32), "float({0})", PRIMARY, ASSIGN)
        return inner if op in ("isnan", "isinf") else constructor(inner, TYPES["f16"])
    return _fill(FLOATS[op], type)


def _count_bits(op: str, type: Scalar) -> Syntax:
    """bitCount and findMSB take 32 bits; narrower numbers must not be sign-extended."""
    if type.bits == 64:
        inner = INTEGERS[op]
        return inner if type.kind == "uint" else with_operands(inner, "uint64_t({0})", PRIMARY, ASSIGN)
    bits = "{0}" if type.name == "u32" else "uint({0})"
    if type.is_narrow_int:
        bits = f"uint({TYPES['u' + type.name[1:]]}({{0}}))"
    if op == "popcnt":
        return custom("bitCount({0})" if type.bits == 32 else f"bitCount({bits})", PRIMARY, ASSIGN)
    return custom(f"{type.bits - 1} - findMSB({bits})", ADD, ASSIGN)


def cast(old: Scalar, new: Scalar) -> Syntax:
    """Return the syntax of a conversion: toward zero to integers, `!= 0` to u1; out of range is undefined."""
    if new.kind == "bool" and old.is_float:
        return custom(f"{{0}} != {TYPES[old.name]}(0)" if old.bits != 32 else "{0} != 0.0", EQUAL, SHIFT)
    return call(TYPES[new.name])


BIT_CASTS: dict[tuple[str, str], str] = {
    ("f32", "i32"): "floatBitsToInt", ("f32", "u32"): "floatBitsToUint",
    ("i32", "f32"): "intBitsToFloat", ("u32", "f32"): "uintBitsToFloat",
    ("f64", "i64"): "doubleBitsToInt64", ("f64", "u64"): "doubleBitsToUint64",
    ("i64", "f64"): "int64BitsToDouble", ("u64", "f64"): "uint64BitsToDouble",
    ("f16", "i16"): "float16BitsToInt16", ("f16", "u16"): "float16BitsToUint16",
    ("i16", "f16"): "int16BitsToFloat16", ("u16", "f16"): "uint16BitsToFloat16",
}  # fmt: skip


def bit_cast(old: Scalar, new: Scalar) -> Syntax:
    """Return the syntax of a bit cast to a type of equal width."""
    return call(TYPES[new.name]) if old.is_float == new.is_float else call(BIT_CASTS[old.name, new.name])
