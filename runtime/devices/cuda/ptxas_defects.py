"""A defect of ptxas in CUDA 12.9 to 13.2 or later (13.5 is right): the minimum of three numbers loses negations.

For sm_90 and sm_100 `min(min(a, -b), c)` becomes one instruction, VIMNMX3, which is given b in place of -b; `max` too.
A cubin with that instruction whose PTX negates integers is made again, if the probes show that this version has the
defect: of PTX that does not negate, where nvJitLink is there, else without optimisation by ptxas, which is right but up
to ten times slower. The source stays as it is: compilers come and go.
"""

from __future__ import annotations

import re

from .cubin import CubinError, machine_code

REVISION = "ptxas_defects 2"
"""A part of the keys of cached cubins: to be counted up with each change of what this module does."""
REMEDY = "--ptxas-options=-O0"
ARCHITECTURES = range(90, 120)
"""Those with the instruction."""
INSTRUCTION_BYTES = 16
OPCODE_MASK, MINIMUM_OF_THREE = 0x1FF, 0x00F
"""The low bits of an instruction, less those that say what kinds its operands have."""

_PROBE = """extern "C" __global__ void probe(const int *a, int *o) {
    o[0] = min(min(a[0], %sa[1]), 0);
}
"""
PROBES = (_PROBE % "-", _PROBE % "")
"""Sources that differ in a negation."""

_NEGATION = re.compile(r"\bneg\.s(?P<width>16|32)\s+(?P<result>%\w+), (?P<operand>[^;]+);")


def is_suspect(cubin: bytes, arch: str) -> bool:
    """Return whether a cubin for `arch` ("sm_90") contains the instruction."""
    number = re.match(r"sm_(\d+)", arch)
    if number is None or int(number[1]) not in ARCHITECTURES or not cubin:
        return False
    try:
        functions = machine_code(cubin).values()
    except CubinError:
        return False
    return any(_has_instruction(code) for code in functions)


def _has_instruction(code: bytes) -> bool:
    words = (code[k] | code[k + 1] << 8 for k in range(0, len(code) - 1, INSTRUCTION_BYTES))
    return any(word & OPCODE_MASK == MINIMUM_OF_THREE for word in words)


def without_negations(ptx: str) -> str:
    """Return PTX in which `-x` is `~(x - 1)`. `0 - x`, `x * -1` and `~x + 1` become negations in ptxas again."""
    return _NEGATION.sub(_as_complement, ptx)


def _as_complement(negation: re.Match[str]) -> str:
    width, result, operand = negation["width"], negation["result"], negation["operand"]
    return f"add.s{width} {result}, {operand}, -1;\n\tnot.b{width} {result}, {result};"


def may_lose_negations(ptx: str) -> bool:
    """Return whether a program negates integers."""
    return _NEGATION.search(ptx) is not None
