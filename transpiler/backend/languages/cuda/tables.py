"""Scalars in CUDA C for NVRTC, which gets no headers: the table of C with CUDA's functions.

In: the name of an operation and the scalar type of its operands. Out: `Syntax` objects whose helpers are in
`templates/cuda/lib`. f16 is the struct `half` of that library, which converts
to float implicitly (cuda_fp16.h costs 100 ms a compile).
"""

from __future__ import annotations

from ....ir.types import Scalar, f32, i32
from ..c_family import tables as tables_c
from ..common.syntax_forms import ADD, PRIMARY, UNARY, Syntax, c_cast, call, constructor, custom, same

TYPES: dict[str, str] = {**tables_c.TYPES, "f16": "half"}

VECTORS = {
    (name, size): f"{built_in}{size}"
    for name, built_in, largest in (("f32", "float", 4), ("i32", "int", 4), ("u32", "uint", 4), ("f64", "double", 3))
    for size in range(2, largest + 1)
}
"""CUDA's own structs, which have no operators."""

INTEGERS: dict[str, Syntax] = {
    **{f"{prefix}{name}": call(name, 2) for name in ("min", "max") for prefix in ("", "biased_")},
    "abs": call("abs"),
    "popcnt": call("__popc"),
    "clz": call("__clz"),
}
"""Entries that differ from C for i32 and u32 (min, max and abs for 64 bits too)."""

LONG: dict[str, Syntax] = {"abs": call("llabs"), "popcnt": call("__popcll"), "clz": call("__clzll")}

FLOATS: dict[str, Syntax] = {
    "rsqrt": call("rsqrt$f"),
    "normal_rsqrt": call("rsqrt$f"),
    "exp10": call("exp10$f"),
    "flushed": same(),
}
F32: dict[str, Syntax] = {
    "normal_rsqrt": call("normal_rsqrt_f32"),
    "normal_sqrt": call("normal_sqrt_f32"),
    "short_sin": call("short_sin_f32"),
    "short_cos": call("short_cos_f32"),
    "paired_sin": call("paired_sin_f32"),
    "paired_cos": call("paired_cos_f32"),
    "short_atan2": call("short_atan2_f32", 2),
    "normal_reciprocal": call("normal_reciprocal_f32"),
    "floordiv": custom("floorf(__fdiv_rn({0}, {1}))", PRIMARY, 1, 1),
}
"""Entries of f32 alone. The quotient is rounded correctly: with `fast_math` 49 / 49 may be less than 1."""

BIT_CASTS: dict[tuple[str, str], Syntax] = {
    ("f32", "i32"): call("__float_as_int"),
    ("f32", "u32"): call("__float_as_uint"),
    ("i32", "f32"): call("__int_as_float"),
    ("u32", "f32"): call("__uint_as_float"),
    ("f64", "i64"): call("__double_as_longlong"),
    ("f64", "u64"): custom("(uint64_t)__double_as_longlong({0})", UNARY, 1),
    ("i64", "f64"): call("__longlong_as_double"),
    ("u64", "f64"): custom("__longlong_as_double((int64_t){0})", PRIMARY, UNARY),
    ("f16", "u16"): call("bits_of_half"),
    ("f16", "i16"): custom("(int16_t)bits_of_half({0})", UNARY, 1),
    ("u16", "f16"): call("half_from_bits"),
    ("i16", "f16"): custom("half_from_bits((uint16_t){0})", PRIMARY, UNARY),
}


def operation(op: str, type: Scalar) -> Syntax:
    """Return the syntax of `op` on scalars of `type` (of the values, for `select`)."""
    if type.name == "f16":
        return _half(op)
    if op == "rejoined":
        return call("rejoined")
    if type.name == "f32" and op in F32:
        return F32[op]
    if type.is_float and op in FLOATS:
        return tables_c.fill(FLOATS[op], type, TYPES)
    if type.kind not in ("int", "uint") or (type.kind == "uint" and op == "abs"):
        return tables_c.operation(op, type)
    if type.bits == 64 and op in LONG:
        return LONG[op]
    if op == "neg" and type.name == "i16":
        return call("negative_i16")
    if op in INTEGERS:
        return INTEGERS[op] if type.bits >= 32 else _narrow(op, type)
    return tables_c.operation(op, type)


def is_coarse(op: str, type: Scalar) -> bool:
    """Return whether `op` is less exact with `fast_math`: directions, by one over a root in place of divisions."""
    return op == "normalized" and type.name == "f32"


def _half(op: str) -> Syntax:
    """Return an operation on f16, computed as float, which rounds to the same result for + - * / and sqrt.

    With `fast_math` quotients and roots next to a tie may differ by one unit.
    """
    inner = operation(op, f32)
    if op in tables_c.COMPARISONS or op in ("isnan", "isinf", "select"):
        return inner
    return constructor(inner, TYPES["f16"])


def _narrow(op: str, type: Scalar) -> Syntax:
    unsigned = TYPES["u" + type.name[1:]]
    if op == "popcnt":
        return custom(f"__popc(({unsigned}){{0}})", PRIMARY, UNARY)
    if op == "clz":
        return custom(f"__clz(({unsigned}){{0}}) - {32 - type.bits}", ADD, UNARY)
    return c_cast(operation(op, i32), TYPES[type.name])


def cast(old: Scalar, new: Scalar) -> Syntax:
    """Return the syntax of a conversion: as in C, but floats out of an integer's range convert to its nearest bound."""
    if new.name == "f16":
        return call("half") if old.name == "f32" else custom("half((float){0})", PRIMARY, UNARY)
    if old.name == "f16" and new.name != "f32":
        return (
            custom("(float){0} != 0", 10, UNARY)
            if new.kind == "bool"
            else custom(f"({TYPES[new.name]})(float){{0}}", UNARY, UNARY)
        )
    return tables_c.cast(old, new)


def bit_cast(old: Scalar, new: Scalar) -> Syntax:
    """Return the syntax of a bit cast to a type of equal width."""
    return cast(old, new) if old.is_float == new.is_float else BIT_CASTS[old.name, new.name]
