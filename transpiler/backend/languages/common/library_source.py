"""The source of a library file: shared C-family sources included, macros expanded, chunks instantiated for each type.

In: a file of `templates/*/lib`. Out: its source, in which

- `#include "../../c_family/lib/x.h"` is replaced by that file, the one source for C and CUDA C;
- the macros of `dialect.*` in the same folder are expanded: `FUNCTION int f(` -> `static inline int f(`;
- a chunk whose first line is `// types: i32, i64`, written for the first type, is repeated for the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

SHARED = re.compile(r'^#include "(\.\./\.\./c_family/lib/\w+\.h)"$', re.MULTILINE)
MACRO = re.compile(r"^#define (\w+)(?:\(([\w, ]*)\))? (.+)$", re.MULTILINE)
TYPES = re.compile(r"// types: (.+)\n")
NAMES = (
    {"i8": "int8_t", "i16": "int16_t", "i32": "int", "i64": "int64_t"}
    | {f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)}
    | {"f32": "float", "f64": "double"}
)
"""Types that chunks are written for -> their names in the C family."""

Macros = Mapping[str, tuple[Sequence[str] | None, str]]
"""Name -> parameters, None for a macro without, and replacement."""


def read_library(path: Path) -> str:
    """Return the source of a library file."""
    dialect = path.with_stem("dialect")
    macros = _macros(dialect.read_text("utf-8")) if dialect.exists() else {}
    return SHARED.sub(
        lambda include: expand((path.parent / include[1]).read_text("utf-8"), macros), path.read_text("utf-8")
    )


def instances(chunk: str) -> list[str]:
    """Return a chunk once for each of the types that its first line lists."""
    types = TYPES.match(chunk)
    if types is None:
        return [chunk]
    first, *others = types[1].split(", ")
    chunk = chunk[types.end() :]
    return [chunk, *(_instance(chunk, first, other) for other in others)]


def _instance(chunk: str, first: str, other: str) -> str:
    """Return a chunk written for the type `first` for another: its name, its suffix and its number of bits."""
    bits, others = first[1:], other[1:]
    replacements = {NAMES[first]: NAMES[other], f"uint{bits}_t": f"uint{others}_t", bits: others}
    replacements[f"{first}_bits_to_u{bits}"] = f"{other}_bits_to_u{others}"
    return _replace(re.sub(rf"_{first}\b", f"_{other}", chunk), replacements)


def _replace(source: str, replacements: Mapping[str, str]) -> str:
    """Return `source` with some of its identifiers and numbers replaced."""
    return re.sub(r"\w+", lambda match: replacements.get(match[0], match[0]), source)


def _macros(source: str) -> Macros:
    return {name: (names.split(", ") if names else None, body) for name, names, body in MACRO.findall(source)}


def expand(source: str, macros: Macros) -> str:
    """Expand macros as C does, but in comments and strings too. The body of a macro uses no other macro."""
    if not macros:
        return source
    name = re.compile(r"\b(" + "|".join(macros) + r")\b")
    done, rest = "", source
    while match := name.search(rest):
        parameters, body = macros[match[1]]
        done, rest = done + rest[: match.start()], rest[match.end() :]
        if parameters is not None:
            arguments, rest = _arguments(rest)
            arguments = [expand(argument, macros) for argument in arguments]
            body = _replace(body, dict(zip(parameters, arguments, strict=True)))
        done += body
    return done + rest


def _arguments(source: str) -> tuple[list[str], str]:
    """Split `(a, f(b, c)) rest` into its arguments and what comes after them."""
    depth, start, arguments = 0, 1, []
    for i, letter in enumerate(source):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 or (depth == 1 and letter == ","):
            arguments.append(source[start:i].strip())
            start = i + 1
        if depth == 0:
            return arguments, source[start:]
    raise ValueError(f"no `)` closes the arguments of a macro: {source[:40]}")
