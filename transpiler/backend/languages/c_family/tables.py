"""Scalars in C11: type names, syntax of operations by type, casts. CUDA extends this table (`cuda/tables`).

In: the name of an operation and the scalar type of its operands. Out: `Syntax` objects whose helpers are in
`templates/c/lib`. 8 and 16 bit integers are computed as i32 and cast back, f16 as f32: both have exact results.
In templates, `$f` is the suffix of the math functions (sinf), `$t` the IR name of the type, `$T` the language's.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir.ops import EXTREMES, MATH_H
from ....ir.types import Scalar, f32, i32
from ..common.syntax_forms import (
    ADD,
    AND,
    ASSIGN,
    EQUAL,
    MULTIPLY,
    OR,
    PRIMARY,
    SHIFT,
    TERNARY,
    UNARY,
    Syntax,
    c_cast,
    call,
    custom,
    infix,
    prefix,
    same,
)

TYPES: dict[str, str] = {
    "i8": "int8_t", "i16": "int16_t", "i32": "int", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "u1": "bool", "f16": "_Float16", "f32": "float", "f64": "double",
}  # fmt: skip

MATH = ("fmod", "pow", "fmin", "fmax", "atan2", "fabs", "rint", "exp2", *MATH_H)

HEADERS: dict[str, frozenset[str]] = {
    "math.h": frozenset(["INFINITY", "NAN", *(name + suffix for name in MATH for suffix in ("", "f"))]),
    "stdbool.h": frozenset({"bool", "true", "false"}),
    "stdint.h": frozenset(name for name in TYPES.values() if name.endswith("_t")),
}
"""Header -> names that it declares and emitted sources use."""

COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}

ANY: dict[str, Syntax] = {
    "add": infix("+"),
    "sub": infix("-"),
    "mul": infix("*"),
    "neg": prefix("-"),
    "wrapping_add": infix("+"),
    "wrapping_sub": infix("-"),
    "wrapping_mul": infix("*"),
    "wrapping_neg": prefix("-"),
    "select": custom("{0} ? {1} : {2}", TERNARY, OR, OR, TERNARY),
    **{op: infix(symbol) for op, symbol in COMPARISONS.items()},
}
"""The same syntax for all numbers."""

FLOATS: dict[str, Syntax] = {
    "div": infix("/"),
    "raw_div": infix("/"),
    "floordiv": custom("floor$f({0} / {1})", PRIMARY, MULTIPLY, UNARY),
    "mod": call("mod_$t", 2),
    "raw_mod": call("fmod$f", 2),
    "pow": call("pow$f", 2),
    "min": call("fmin$f", 2),
    "max": call("fmax$f", 2),
    **{name: call(f"f{general}$f", 2) for name, general in EXTREMES.items()},
    "atan2": call("atan2$f", 2),
    "abs": call("fabs$f"),
    "sign": call("sign_$t"),
    "round": call("rint$f"),
    "rsqrt": call("rsqrt_$t"),
    "normal_rsqrt": call("rsqrt_$t"),
    "normal_sqrt": call("sqrt$f"),
    **{f"{kind}_{name}": call(f"{name}$f") for kind in ("short", "paired") for name in ("sin", "cos")},
    "short_atan2": call("atan2$f", 2),
    "exp2": call("exp2$f"),
    "exp10": custom("pow$f(10, {0})", PRIMARY, ASSIGN),
    "normal_reciprocal": custom("1 / {0}", MULTIPLY, UNARY),
    "rounded_half": same(),
    "root_square": custom("({0} * {0})", PRIMARY, MULTIPLY),
    "flushed": call("flushed_$t"),
    "isnan": call("is_nan_$t"),
    "isinf": call("is_inf_$t"),
    **{name: call(f"{name}$f") for name in MATH_H},
}

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
    "min": call("min_$t", 2),
    "max": call("max_$t", 2),
    "biased_min": call("min_$t", 2),
    "biased_max": call("max_$t", 2),
    "lowest_bit": custom("({0} & 1)", PRIMARY, MULTIPLY),
    "shifted": custom("({0} >> ({1} & $m))", PRIMARY, MULTIPLY, MULTIPLY),
    "shifted_bits": custom("($T)(($U){0} >> ({1} & $m))", UNARY, UNARY, MULTIPLY),
    "wide_shl": custom("({0} << ({1} & $m))", PRIMARY, MULTIPLY, MULTIPLY),
    "abs": call("abs_$t"),
    "sign": call("sign_$t"),
    "floor": same(),
    "ceil": same(),
    "round": same(),
    "bit_and": infix("&"),
    "bit_or": infix("|"),
    "bit_xor": infix("^"),
    "bit_not": prefix("~"),
    "shl": custom("{0} << ({1} & $m)", SHIFT, MULTIPLY, MULTIPLY),
    "sar": custom("{0} >> ({1} & $m)", SHIFT, MULTIPLY, MULTIPLY),
    "shr": custom("($T)(($U){0} >> ({1} & $m))", UNARY, UNARY, MULTIPLY),
    "popcnt": call("__builtin_popcount"),
    "clz": call("clz_$t"),
    **{f"{op}_overflows": call(f"{op}_overflows_$t", 2) for op in ("add", "sub", "mul", "shl", "pow")},
}
"""For i32, u32, i64, u64; `$m` is the mask of a shift, `$U` the unsigned type."""

UNSIGNED: dict[str, Syntax] = {
    "floordiv": call("div_$t", 2),
    "mod": call("rem_$t", 2),
    "near_mod": call("rem_$t", 2),
    "close_mod": call("rem_$t", 2),
    "abs": same(),
    "sign": custom("($T)({0} != 0)", UNARY, SHIFT),
    "shr": INTEGERS["sar"],
}

BOOLEANS: dict[str, Syntax] = {
    "lt": custom("!{0} && {1}", AND, PRIMARY, SHIFT),
    "le": custom("!{0} || {1}", OR, PRIMARY, SHIFT),
    "gt": custom("{0} && !{1}", AND, SHIFT, PRIMARY),
    "ge": custom("{0} || !{1}", OR, SHIFT, PRIMARY),
    "min": infix("&&"), "bit_and": infix("&"), "logical_and": infix("&&"),
    "max": infix("||"), "bit_or": infix("|"), "logical_or": infix("||"),
    "bit_xor": infix("!="), "bit_not": prefix("!"), "logical_not": prefix("!"),
    **{name: same() for name in ("abs", "sign", "floor", "ceil", "round", "popcnt", "rejoined")},
    "clz": custom("8 - {0}", ADD, MULTIPLY),
}  # fmt: skip
"""u1: for `clz` it is 8 bits wide."""

EXACT_IN_I32 = frozenset(
    {
        "lt", "le", "gt", "ge", "eq", "ne", "bit_and", "bit_or", "bit_xor", "select", "min", "max", "sar", "plain_div",
        "plain_mod",
    }
)  # fmt: skip
"""On 8 and 16 bit integers these have results in range, so no cast back is printed."""


def entry(op: str, type: Scalar) -> Syntax:
    """Return the table's entry for `op` on operands of `type`, with the placeholders of the type replaced."""
    table = {"float": FLOATS, "bool": BOOLEANS}.get(type.kind, INTEGERS)
    if type.kind == "uint" and op in UNSIGNED:
        table = UNSIGNED
    return fill(table[op] if op in table else ANY[op], type, TYPES)


def fill(syntax: Syntax, type: Scalar, names: dict[str, str]) -> Syntax:
    """Replace `$f $t $T $U $m` by their values for `type`."""
    template = syntax.template
    if "$" not in template:
        return syntax
    template = (
        template.replace("$f", "f" if type.bits == 32 else "").replace("$t", type.name).replace("$T", names[type.name])
    )
    template = template.replace("$m", str(type.bits - 1)).replace("$U", names["u" + type.name[1:]])
    return replace(syntax, template=template)


def operation(op: str, type: Scalar) -> Syntax:
    """Return the syntax of `op` on scalars of `type` (of the values, for `select`)."""
    if type.name == "f16":
        inner = entry(op, f32)
        return inner if op in COMPARISONS or op in ("select", "isnan", "isinf") else c_cast(inner, TYPES["f16"])
    if type.kind in ("int", "uint") and type.bits < 32:
        return _narrow(op, type)
    if op == "popcnt" and type.bits == 64:
        return call("popcount_u64")
    if op == "clz" and type.kind == "int":
        return call(f"clz_u{type.bits}")
    return entry(op, type)


def _narrow(op: str, type: Scalar) -> Syntax:
    """8 and 16 bit integers: C computes as int; only results that can leave the range are wrapped."""
    if op.endswith("_overflows"):
        return entry(op, type)
    if op in ("shl", "sar", "shr"):
        return entry(op, type) if op != "shl" else c_cast(entry(op, type), TYPES[type.name])
    if op == "popcnt":
        return custom(f"__builtin_popcount(({TYPES['u' + type.name[1:]]}){{0}})", PRIMARY, UNARY)
    if op == "clz":
        return custom(f"clz_u32(({TYPES['u' + type.name[1:]]}){{0}}) - {32 - type.bits}", ADD, UNARY)
    if type.kind == "uint" and op in ("abs", "sign"):
        return fill(UNSIGNED[op], type, TYPES)
    inner = entry(op, i32)
    return inner if op in EXACT_IN_I32 or inner.template == "{0}" else c_cast(inner, TYPES[type.name])


def cast(old: Scalar, new: Scalar) -> Syntax:
    """Return the syntax of a conversion: toward zero to integers, `!= 0` to u1; out of range as the machine does."""
    if new.kind == "bool":
        return custom("{0} != 0", EQUAL, SHIFT)
    return custom(f"({TYPES[new.name]}){{0}}", UNARY, UNARY)


def bit_cast(old: Scalar, new: Scalar) -> Syntax:
    """Return the syntax of a bit cast to a type of equal width."""
    if old.is_float == new.is_float:
        return cast(old, new)
    return call(f"{old.name}_bits_to_{new.name}")
