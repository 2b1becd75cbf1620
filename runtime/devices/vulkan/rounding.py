"""Lets a driver round each operation of floats in a shader as it is written, for `fast_math=False`.

In: SPIR-V of a source with `#pragma shadesmith no_contraction`. Out: the same with `NoContraction` on each operation of
floats. Without that Vulkan lets a driver join operations and change their order: NVIDIA's makes `-x` of
`0.1 - (0.1 + x)`. GLSL's `precise` has this effect where a number leads to a variable, not where it becomes an integer,
a condition or an argument of a function.

Source: SPIR-V Specification 1.6, sections 2.4 (logical layout), 3.20 (decorations); Vulkan, "Precision and Operation of
SPIR-V Instructions".
"""

from __future__ import annotations

from array import array

from .spirv import HEADER_WORDS
from .spirv_words import Decoration, Op

OPERATIONS = frozenset(
    (Op.F_NEGATE, Op.F_ADD, Op.F_SUB, Op.F_MUL, Op.F_DIV, Op.F_REM, Op.F_MOD)
    + tuple(range(Op.VECTOR_TIMES_SCALAR, Op.DOT + 1))
)
ANNOTATIONS = frozenset({Op.DECORATE, Op.MEMBER_DECORATE})


def rounded_as_written(code: bytes) -> bytes:
    """Return a module whose operations of floats all have the decoration."""
    words = array("I", code)
    position, place, decorated, results = HEADER_WORDS, 0, set[int](), list[int]()
    while position < len(words):
        word = words[position]
        opcode = word & 0xFFFF
        if opcode in OPERATIONS:
            results.append(words[position + 2])
        elif opcode in ANNOTATIONS or Op.TYPE_VOID <= opcode <= Op.TYPE_FORWARD_POINTER:
            place = place or position
            if opcode == Op.DECORATE and words[position + 2] == Decoration.NO_CONTRACTION:
                decorated.add(words[position + 1])
        position += word >> 16
    added = array("I")
    for result in results:
        if result not in decorated:
            added.extend((3 << 16 | Op.DECORATE, result, Decoration.NO_CONTRACTION))
    return (words[:place] + added + words[place:]).tobytes() if added else code
