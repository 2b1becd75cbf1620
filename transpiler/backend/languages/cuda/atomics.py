"""Atomic operations of CUDA: built-in functions, or loops of compare-and-swap."""

from __future__ import annotations

from ....ir.ops import MASKED_OPS
from ....ir.types import SCALARS, Scalar
from ..common.atomics import FUNCTIONS, SETTLING, by_address, combined, more_parameters
from ..common.language import Language
from ..common.literals import scalar_name
from ..common.syntax_forms import ASSIGN, PRIMARY, Syntax


def atomic_syntax(op: str, type: Scalar, native: bool) -> Syntax:
    """Return the syntax of an atomic operation: {0} target, {1} value."""
    return _direct(op, type) or by_address(op, type)


def _direct(op: str, type: Scalar) -> Syntax | None:
    """atomicAdd and its relatives take int, unsigned int, unsigned long long, and some long long, float and double."""
    all_take = {"i32", "u32", "u64"}
    more = {"add": {"f32", "f64"}, "sub": {"f32", "f64"}, "min": {"i64"}, "max": {"i64"}}
    if op == "mul" or op in MASKED_OPS or type.name not in all_take | more.get(op, set()):
        return None
    if op == "sub" and type.name == "i32":
        return Syntax("atomicSub(&{0}, {1})", PRIMARY, (PRIMARY, ASSIGN))  # of all numbers: -x may overflow
    name, value = ("atomicAdd", "-{1}") if op == "sub" else (f"atomic{FUNCTIONS[op]}", "{1}")
    return Syntax(f"{name}(&{{0}}, {value})", PRIMARY, (PRIMARY, PRIMARY if op == "sub" else ASSIGN))


WORDS = {16: "unsigned short", 32: "unsigned int", 64: "unsigned long long"}


MODULAR = frozenset({"add", "sub", "and", "or", "xor"})
"""Operations on 64 bits that are functions of `unsigned long long` only."""


def helper(language: Language, op: str, type: Scalar) -> str:
    """Return the helper for `op` on `type`."""
    if type.bits < 16:
        return _in_word(language, op, type)
    name, word = scalar_name(language, type), WORDS[type.bits]
    if type.name == "i64" and op in MODULAR:  # two's complement: the same function for both signs
        function, sign = ("atomicAdd", "-") if op == "sub" else (f"atomic{FUNCTIONS[op]}", "")
        return (
            f"{language.helper_qualifier}{name} atomic_{op}_{type}({name} *address, {name} value) {{\n"
            f"    return ({name}){function}(({word} *)address, {sign}({word})value);\n}}"
        )
    unsigned = SCALARS[f"u{type.bits}"]
    read = language.bit_cast(unsigned, type).format("assumed") if type != unsigned else "assumed"
    is_primary = read.isidentifier() or (read.endswith(")") and not read.startswith("("))
    new = combined(language, op, type, read if is_primary else f"({read})")
    write = language.bit_cast(type, unsigned).format("next") if type != unsigned else "next"
    result = read.replace("assumed", "old")
    leave = f"        if ({write} == assumed) {{\n            break;\n        }}\n" if op in SETTLING else ""
    parameters = f"{name} *address, {name} value{more_parameters(op, name)}"
    return (
        f"{language.helper_qualifier}{name} atomic_{op}_{type}({parameters}) {{\n"
        f"    {word} *bits = ({word} *)address;\n"
        f"    {word} old = *bits, assumed;\n"
        "    do {\n"
        "        assumed = old;\n"
        f"        {name} next = {new};\n"
        f"{leave}"
        f"        old = atomicCAS(bits, assumed, {write});\n"
        "    } while (old != assumed);\n"
        f"    return {result};\n}}"
    )


def _in_word(language: Language, op: str, type: Scalar) -> str:
    """Return the helper for a byte: a loop on the word that contains it, since no byte is compared and swapped.

    A word crosses no page, and allocations end at one; what others store to its other bytes makes the loop try again.
    """
    name, is_truth = scalar_name(language, type), type.kind == "bool"
    read = "(assumed >> shift & 0xffu) != 0u" if is_truth else f"({name})(assumed >> shift)"
    bits = "next" if is_truth else f"({scalar_name(language, SCALARS['u8'])})next"
    leave = "        if (next == before) {\n            break;\n        }\n" if op in SETTLING else ""
    return (
        "// A loop on the word that contains the byte: CUDA swaps no single bytes.\n"
        f"{language.helper_qualifier}{name} atomic_{op}_{type}({name} *address, {name} value) {{\n"
        "    unsigned offset = (unsigned)((unsigned long long)address & 3u), shift = offset * 8;\n"
        "    unsigned int *word = (unsigned int *)((char *)address - offset);\n"
        f"    unsigned int old = *word, assumed;\n    {name} before;\n"
        "    do {\n"
        f"        assumed = old;\n        before = {read};\n"
        f"        {name} next = {combined(language, op, type, 'before')};\n"
        f"{leave}"
        f"        old = atomicCAS(word, assumed, (assumed & ~(0xffu << shift)) | (unsigned int){bits} << shift);\n"
        "    } while (old != assumed);\n"
        "    return before;\n}"
    )
