"""Macros of edited sources as statements in GLSL, and the functions that they call, one for each type.

GLSL has neither `sizeof` nor templates: the functions are made here, for the types whose extensions the source has.
Numbers with less than 32 bits are written as 32-bit ones.
"""

from __future__ import annotations

import re

from .macro_tools import Statement
from .operands import is_repeatable
from .scopes import without_directives
from .uses import ASSERT, PRINT

_LARGEST = 33
"""Words of a matrix of 4 x 4 doubles, the largest value: an expression with effects is evaluated only once."""
_TYPES = "GL_EXT_shader_explicit_arithmetic_types"
_SCALARS = (
    # type, vectors, extension, number of the type, bytes, words of v
    ("float", "vec", "", 11, 4, ("floatBitsToUint(v)",)),
    ("int", "ivec", "", 6, 4, ("uint(v)",)),
    ("uint", "uvec", "", 7, 4, ("v",)),
    ("bool", "bvec", "", 7, 4, ("uint(v)",)),
    ("double", "dvec", "", 12, 8, ("unpackDouble2x32(v).x", "unpackDouble2x32(v).y")),
    ("int64_t", "i64vec", f"{_TYPES}_int64", 8, 8, ("unpackUint2x32(uint64_t(v)).x", "unpackUint2x32(uint64_t(v)).y")),
    ("uint64_t", "u64vec", f"{_TYPES}_int64", 9, 8, ("unpackUint2x32(v).x", "unpackUint2x32(v).y")),
    ("float16_t", "f16vec", f"{_TYPES}_float16", 11, 4, ("floatBitsToUint(float(v))",)),
    ("int8_t", "i8vec", f"{_TYPES}_int8", 6, 4, ("uint(int(v))",)),
    ("uint8_t", "u8vec", f"{_TYPES}_int8", 7, 4, ("uint(v)",)),
    ("int16_t", "i16vec", f"{_TYPES}_int16", 6, 4, ("uint(int(v))",)),
    ("uint16_t", "u16vec", f"{_TYPES}_int16", 7, 4, ("uint(v)",)),
)
_MATRICES = {"float": "mat", "double": "dmat"}
_EXTENSION = re.compile(r"^[ \t]*#[ \t]*extension[ \t]+(\w+)", re.MULTILINE)
_STRUCT = re.compile(r"\bstruct\s+(\w+)\s*\{\s*(\w+)\s+(\w+)\s*\[\s*(\d+)\s*\](?:\s*\[\s*(\d+)\s*\])?\s*;\s*\}\s*;")
_CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(if|endif)")

_HEADER = """
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer SmReport { uint words[]; };
#define SM_REPORT SmReport(uvec2(@LOW@u, @HIGH@u))
uint sm_start(uint section, uint site, uint thread, uint size) {
    SmReport report = SM_REPORT;
    uint end = report.words[section + 1u];
    if (report.words[section] < end) {
        uint start = atomicAdd(report.words[section], 3u + size);
        if (start + 3u + size <= end) {
            report.words[start] = site;
            report.words[start + 1u] = thread;
            report.words[start + 2u] = size;
            return start + 3u;
        }
        if (start < end) report.words[start] = 0xffffffffu;
    }
    atomicAdd(report.words[section + 2u], 1u);
    return 0u;
}
uint sm_fail(uint site, uint thread, uint size) {
    SmReport report = SM_REPORT;
    atomicAdd(report.words[6], 1u);
    return thread < atomicMin(report.words[7], thread) ? sm_start(3u, site, thread, size) : 0u;
}
void sm_word(inout uint at, uint word) {
    if (at != 0u) {
        SmReport report = SM_REPORT;
        report.words[at] = word;
        at++;
    }
}
"""


def place(code: str) -> int:
    """Return where the header goes: after the extensions, before all code, and outside of `#if`."""
    bare = without_directives(code)
    first = re.search(r"\S", bare)
    end = len(code) if first is None else first.start()
    depth, outside, position = 0, 0, 0
    for line in code[:end].splitlines(keepends=True):
        if depth == 0:
            outside = position
        match = _CONDITIONAL.match(line)
        depth += 0 if match is None else 1 if match[1] == "if" else -1
        position += len(line)
    return end if depth == 0 else outside


def header(source: str, address: int) -> str:
    """Return the functions that statements call."""
    text = _HEADER.replace("@LOW@", hex(address & 0xFFFFFFFF)).replace("@HIGH@", hex(address >> 32))
    lines = [text.strip()]
    for scalar, vector, _, number, size, words in _known_scalars(source):
        lines += _functions(scalar, ["v"], number, size, words)
        for count in (2, 3, 4):
            lines += _functions(f"{vector}{count}", [f"v.{c}" for c in "xyzw"[:count]], number, size, words)
        if scalar in _MATRICES:
            for columns in (2, 3, 4):
                for rows in (2, 3, 4):
                    parts = [f"v[{c}][{r}]" for r in range(rows) for c in range(columns)]
                    name = f"{_MATRICES[scalar]}{columns}x{rows}"
                    lines += _functions(name, parts, number | rows << 8, size, words)
    return "\n".join(lines)


def additions(code: str) -> dict[int, str]:
    """Return the functions for structs of one array, which are vectors and matrices that GLSL lacks."""
    scalars = {scalar: (number, size, words) for scalar, _, _, number, size, words in _SCALARS}
    found = {}
    for match in _STRUCT.finditer(code):
        name, scalar, member, one, other = match.groups()
        if scalar not in scalars:
            continue
        number, size, words = scalars[scalar]
        parts = [f"v.{member}[{k}]" for k in range(int(one))]
        if other is not None:
            parts = [f"{part}[{k}]" for part in parts for k in range(int(other))]
            number |= int(one) << 8
        found[match.end()] = " " + " ".join(_functions(name, parts, number, size, words))
    return found


def statement(use: Statement) -> str:
    """Return the code of a macro. The `else` takes the semicolon, so that the use may be a branch without braces."""
    block = use.task.block_dim if use.task is not None else 1
    group = "(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x)"
    thread = f"{group} * {block}u + gl_LocalInvocationIndex"
    sizes = [f"sm_size({value})" if is_repeatable(value) else f"{_LARGEST}u" for value in use.all_values]
    puts = "".join(f" sm_put(sm_at, {value});" for value in use.all_values)
    if not all(map(is_repeatable, use.all_values)):  # the record may be longer than its values
        sizes, puts = [*sizes, "1u"], f"{puts} sm_word(sm_at, 0u);"
    start = f"{'sm_start(0u, ' if use.name == PRINT else 'sm_fail('}{use.site}u, {thread}, {' + '.join(sizes) or '0u'})"
    tests = {PRINT: "true", ASSERT: f"!({use.condition})"}
    test = tests.get(use.name) or " || ".join(f"sm_has_nan({value})" for value in use.values)
    return f"if ({test}) {{ uint sm_at = {start};{puts} }} else"


def _known_scalars(source: str) -> list[tuple[str, str, str, int, int, tuple[str, ...]]]:
    extensions = set(_EXTENSION.findall(source))
    return [row for row in _SCALARS if not row[2] or row[2] in extensions or _TYPES in extensions]


def _functions(type: str, parts: list[str], number: int, size: int, words: tuple[str, ...]) -> list[str]:
    """Return the functions for one type. parts: its numbers. words: those of a number `v`."""
    head = f"{number | size * len(parts) << 16:#x}u"
    puts = [f"sm_word(at, {_of(word, part)});" for part in parts for word in words]
    tests = {4: "(floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u", 8: "isnan(v)"}
    is_float = number & 255 in (11, 12)
    value = "float(v)" if type.startswith("f16") or type == "float16_t" else "v"
    test = tests[size].replace("(v)", f"({value})")
    found = " || ".join(_of(test, part) for part in parts) if is_float else "false"
    return [
        f"uint sm_size({type} v) {{ return {1 + len(puts)}u; }}",
        f"void sm_put(inout uint at, {type} v) {{ sm_word(at, {head}); {' '.join(puts)} }}",
        f"bool sm_has_nan({type} v) {{ return {found}; }}",
    ]


def _of(code: str, part: str) -> str:
    return re.sub(r"\bv\b", part, code)
