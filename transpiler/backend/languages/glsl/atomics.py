"""Atomic operations of GLSL: built-in functions if the device supports them, else loops of compare-and-swap."""

from __future__ import annotations

from ....errors import UnsupportedError
from ....ir.ops import MASKED_OPS
from ....ir.types import SCALARS, Scalar
from ..common.atomics import FUNCTIONS, SETTLING, combined, key_of, more_parameters
from ..common.language import Language
from ..common.literals import scalar_name
from ..common.syntax_forms import ASSIGN, PRIMARY, Syntax

EXTENSIONS: dict[tuple[str, str], str] = {
    **{(name, op): "GL_EXT_shader_atomic_int64" for name in ("i64", "u64") for op in FUNCTIONS},
    **{(name, "add"): "GL_EXT_shader_atomic_float" for name in ("f32", "f64")},
    **{(name, op): "GL_EXT_shader_atomic_float2" for name in ("f32", "f64") for op in ("min", "max")},
}


def atomic_syntax(op: str, type: Scalar, native: bool) -> Syntax:
    """Return the syntax of an atomic operation: {0} target, {1} value, and for loops {2} data, {3} index.

    Those on some bits have {2} mask, {3} data, {4} index.

    Raises: UnsupportedError for 8 and 16 bits.
    """
    if type.bits < 32:
        raise UnsupportedError(f"Vulkan has no atomic operations on {type}: use i32 or u32.")
    if op not in ("mul", *MASKED_OPS) and (native or type.name in ("i32", "u32")):
        base = "add" if op == "sub" else op
        extension = EXTENSIONS.get((type.name, base))
        keys = (f"extension {extension}",) if extension else ()
        value = "-{1}" if op == "sub" else "{1}"
        needs = (ASSIGN, PRIMARY if op == "sub" else ASSIGN)
        return Syntax(f"atomic{FUNCTIONS[base]}({{0}}, {value})", PRIMARY, needs, keys)
    reference = f"AtomicU{type.bits}"
    keys = (key_of(op, type), *(("extension GL_EXT_shader_atomic_int64",) if type.bits == 64 else ()))
    if op in MASKED_OPS:
        return Syntax(f"atomic_{op}_{type}({reference}({{3}}), {{4}}, {{1}}, {{2}})", PRIMARY, (ASSIGN,) * 5, keys)
    return Syntax(f"atomic_{op}_{type}({reference}({{2}}), {{3}}, {{1}})", PRIMARY, (ASSIGN,) * 4, keys)


def helper(language: Language, op: str, type: Scalar) -> str:
    """Return the helper for `op` on `type`."""
    name, unsigned = scalar_name(language, type), SCALARS[f"u{type.bits}"]
    word = scalar_name(language, unsigned)
    read = language.bit_cast(unsigned, type).format("assumed") if type != unsigned else "assumed"
    write = language.bit_cast(type, unsigned).format("next") if type != unsigned else "next"
    leave = f"        if ({write} == assumed) {{\n            break;\n        }}\n" if op in SETTLING else ""
    return (
        f"{name} atomic_{op}_{type}(AtomicU{type.bits} data, uint index, {name} value{more_parameters(op, name)}) {{\n"
        f"    {word} old = data.v[index];\n"
        f"    {word} assumed;\n"
        "    do {\n"
        "        assumed = old;\n"
        f"        {name} next = {combined(language, op, type, read)};\n"
        f"{leave}"
        f"        old = atomicCompSwap(data.v[index], assumed, {write});\n"
        "    } while (old != assumed);\n"
        f"    return {read.replace('assumed', 'old')};\n}}"
    )
