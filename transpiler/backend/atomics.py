"""Atomic operations: the target's own functions where it has them, loops of compare-and-swap elsewhere.

Helpers are generated from keys like "atomic min f32". C and CUDA take the address of the place. GLSL has no addresses:
its loops take the memory as words and the place's number among elements of its size,
`atomic_min_f32(AtomicU32(data), index, value)`, where `data` is any buffer reference. All give the old value; the order
of memory is relaxed.
"""

from __future__ import annotations

from functools import lru_cache

from ..errors import UnsupportedError
from ..ir.ops import ATOMIC_OPS
from ..ir.types import SCALARS, Scalar
from .helpers import called
from .literals import scalar_name
from .spelling_forms import ASSIGN, PRIMARY, Spelling
from .tensor_functions import QUALIFIERS, TABLES, Generated

C_FETCH = frozenset({"add", "sub", "and", "or", "xor"})
FUNCTIONS = {"add": "Add", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor"}
GLSL_EXTENSIONS: dict[tuple[str, str], str] = {
    **{(name, op): "GL_EXT_shader_atomic_int64" for name in ("i64", "u64") for op in FUNCTIONS},
    **{(name, "add"): "GL_EXT_shader_atomic_float" for name in ("f32", "f64")},
    **{(name, op): "GL_EXT_shader_atomic_float2" for name in ("f32", "f64") for op in ("min", "max")},
}


def is_native(atomics: frozenset[tuple[str, str]], op: str, type: Scalar) -> bool:
    """Return whether the capability `atomics` covers `op` on `type`; subtraction is addition of the negative."""
    return (type.name, "add" if op == "sub" else op) in atomics


def key_of(op: str, type: Scalar) -> str:
    """Return the key of the helper for `op` on `type`."""
    return f"atomic {op} {type}"


def spell(target: str, op: str, type: Scalar, native: bool) -> Spelling:
    """Return how an atomic operation is written: {0} place, {1} value, and for GLSL's loops {2} data, {3} index.

    Raises: UnsupportedError where the target has no compare-and-swap of that width.
    """
    if type.kind == "bool" and op in ("add", "sub", "mul"):
        raise UnsupportedError(f"u1 has no atomic {op}: use i32.")
    if target == "vulkan":
        return _glsl(op, type, native)
    direct = _cuda(op, type) if target == "cuda" else None
    if direct is not None:
        return direct
    if target == "cuda" and type.bits < 16:
        raise UnsupportedError(f"CUDA has no atomic operations on {type}: use i32 or u32.")
    return Spelling(f"atomic_{op}_{type}(&{{0}}, {{1}})", PRIMARY, (PRIMARY, ASSIGN), (key_of(op, type),))


def _cuda(op: str, type: Scalar) -> Spelling | None:
    """atomicAdd and its like take int, unsigned int, unsigned long long and some take long long, float and double."""
    all_take = {"i32", "u32", "u64"}
    more = {"add": {"f32", "f64"}, "sub": {"f32", "f64"}, "min": {"i64"}, "max": {"i64"}}
    if op == "mul" or type.name not in all_take | more.get(op, set()):
        return None
    name, value = ("atomicAdd", "-{1}") if op == "sub" else (f"atomic{FUNCTIONS[op]}", "{1}")
    return Spelling(f"{name}(&{{0}}, {value})", PRIMARY, (PRIMARY, PRIMARY if op == "sub" else ASSIGN))


def _glsl(op: str, type: Scalar, native: bool) -> Spelling:
    if type.bits < 32:
        raise UnsupportedError(f"Vulkan has no atomic operations on {type}: use i32 or u32.")
    if op != "mul" and (native or type.name in ("i32", "u32")):
        base = "add" if op == "sub" else op
        extension = GLSL_EXTENSIONS.get((type.name, base))
        keys = (f"extension {extension}",) if extension else ()
        value = "-{1}" if op == "sub" else "{1}"
        needs = (ASSIGN, PRIMARY if op == "sub" else ASSIGN)
        return Spelling(f"atomic{FUNCTIONS[base]}({{0}}, {value})", PRIMARY, needs, keys)
    words = f"AtomicU{type.bits}"
    keys = (key_of(op, type), *(("extension GL_EXT_shader_atomic_int64",) if type.bits == 64 else ()))
    return Spelling(f"atomic_{op}_{type}({words}({{2}}), {{3}}, {{1}})", PRIMARY, (ASSIGN,) * 4, keys)


@lru_cache(maxsize=256)
def generate(target: str, key: str) -> Generated:
    """Return the helper of `key`."""
    _, op, name = key.split(" ")
    type = SCALARS[name]
    make = {"c": _c_function, "cuda": _cuda_function, "vulkan": _glsl_function}[target]
    text = make(op, type)
    return Generated(f"atomic_{op}_{type}", text, called(target, text))


def _combined(target: str, op: str, type: Scalar, old: str) -> str:
    """The new value, from the text of the old one (a primary expression) and `value`."""
    return TABLES[target].operation(ATOMIC_OPS[op], type).format(old, "value")


def _c_function(op: str, type: Scalar) -> str:
    name = scalar_name("c", type)
    head = f"{QUALIFIERS['c']}{name} atomic_{op}_{type}({name} *place, {name} value) {{\n"
    if op in C_FETCH and type.kind in ("int", "uint"):
        return f"{head}    return __atomic_fetch_{op}(place, value, __ATOMIC_RELAXED);\n}}"
    return (
        f"{head}    {name} old, new;\n"
        "    __atomic_load(place, &old, __ATOMIC_RELAXED);\n"
        "    do {\n"
        f"        new = {_combined('c', op, type, 'old')};\n"
        "    } while (!__atomic_compare_exchange(place, &old, &new, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));\n"
        "    return old;\n}"
    )


CUDA_WORDS = {16: "unsigned short", 32: "unsigned int", 64: "unsigned long long"}


def _cuda_function(op: str, type: Scalar) -> str:
    name, word = scalar_name("cuda", type), CUDA_WORDS[type.bits]
    unsigned = SCALARS[f"u{type.bits}"]
    read = TABLES["cuda"].bit_cast(unsigned, type).format("assumed") if type != unsigned else "assumed"
    new = _combined("cuda", op, type, read if read.endswith(")") and not read.startswith("(") else f"({read})")
    write = TABLES["cuda"].bit_cast(type, unsigned).format("next") if type != unsigned else "next"
    result = read.replace("assumed", "old")
    return (
        f"{QUALIFIERS['cuda']}{name} atomic_{op}_{type}({name} *place, {name} value) {{\n"
        f"    {word} *bits = ({word} *)place;\n"
        f"    {word} old = *bits, assumed;\n"
        "    do {\n"
        "        assumed = old;\n"
        f"        {name} next = {new};\n"
        f"        old = atomicCAS(bits, assumed, {write});\n"
        "    } while (old != assumed);\n"
        f"    return {result};\n}}"
    )


def _glsl_function(op: str, type: Scalar) -> str:
    name, unsigned = scalar_name("vulkan", type), SCALARS[f"u{type.bits}"]
    word = scalar_name("vulkan", unsigned)
    read = TABLES["vulkan"].bit_cast(unsigned, type).format("assumed") if type != unsigned else "assumed"
    write = TABLES["vulkan"].bit_cast(type, unsigned).format("next") if type != unsigned else "next"
    return (
        f"{name} atomic_{op}_{type}(AtomicU{type.bits} data, uint index, {name} value) {{\n"
        f"    {word} old = data.v[index];\n"
        f"    {word} assumed;\n"
        "    do {\n"
        "        assumed = old;\n"
        f"        {name} next = {_combined('vulkan', op, type, read)};\n"
        f"        old = atomicCompSwap(data.v[index], assumed, {write});\n"
        "    } while (old != assumed);\n"
        f"    return {read.replace('assumed', 'old')};\n}}"
    )
