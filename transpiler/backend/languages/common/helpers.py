"""Helper functions and types of emitted sources: read from `templates/*/lib`, selected by use, in a fixed order.

A library file of C or CUDA C compiles on its own; these two languages share most of them (`library_source.py`).
Chunks are separated by blank lines; each starts with its own comment and defines one name. A helper is one chunk; it
depends on the chunks whose names are in its source. In addition, `tensors` generates helpers for types and operations.
In: keys, which are the names of chunks or generated keys ("add(f32[3], f32) -> f32[3]"). Out: one source, dependencies
before their users.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from ....lazy_dataclasses import dataclass
from .language import Language
from .library_source import instances, read_library

TEMPLATES = Path(__file__).resolve().parents[4] / "templates"
FILES = (
    "types",
    "numbers",
    "reduction",
    "math_f32",
    "exact_f32",
    "math_f64",
    "exact_f64",
    "hyperbolic",
    "overflow",
    "random",
    "atomics",
    "threads",
    "sparse",
    "texture",
    "reports",
)
"""Libraries in the order their chunks are emitted."""

IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
DEFINED = re.compile(
    r"(?:\bstruct|\bbuffer|\bshared int|#define)\s+(\w+)|\btypedef\b[^;{]*?(\w+);|\}\s*(\w+);|(\w+)\s*(?:\(|\[|=)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Helper:
    """One chunk. uses: names of the chunks that it needs. identifiers: all of its identifiers."""

    name: str
    source: str
    uses: tuple[str, ...]
    identifiers: frozenset[str]


@cache
def chunks_of(folder: str, suffix: str) -> dict[str, tuple[str, str]]:
    """Return all chunks of the libraries in a folder of templates by name, each with the name of its file, in order."""
    chunks: dict[str, tuple[str, str]] = {}
    for name in FILES:
        path = TEMPLATES / folder / "lib" / f"{name}.{suffix}"
        if path.exists():
            chunks.update((_defined_name(chunk), (chunk, name)) for chunk in _chunks(read_library(path)))
    return chunks


@cache
def library(language: Language) -> dict[str, Helper]:
    """Return all chunks of a language's libraries by name, in the order of the files."""
    shared = chunks_of(*language.libraries)
    chunks = {name: source for name, (source, _) in shared.items()}
    chunks.update((_defined_name(chunk), chunk) for chunk in _chunks(language.own_library))
    for name in language.built_in:
        chunks.pop(name, None)
    places = {name: place for place, name in enumerate(chunks)}
    helpers = {}
    for name, source in chunks.items():
        identifiers = identifiers_of(source)
        uses = sorted(identifiers & places.keys() - {name}, key=places.__getitem__)
        helpers[name] = Helper(name, source, tuple(uses), identifiers)
    return helpers


@cache
def constants(language: Language) -> frozenset[str]:
    """Return the chunks that are macros without parameters."""
    return frozenset(name for name, helper in library(language).items() if f"#define {name} " in helper.source)


def _chunks(source: str) -> list[str]:
    """Split at blank lines, without parts that are only comments or preprocessor set-up (`#ifndef`, `#include`)."""
    chunks = [chunk.strip("\n") for chunk in re.split(r"\n\s*\n", source)]
    chunks = [chunk for chunk in chunks if _code(chunk).strip() and not re.match(r"#(?!define)", _code(chunk).lstrip())]
    return [instance for chunk in chunks for instance in instances(chunk)]


@lru_cache(maxsize=1024)
def _code(chunk: str) -> str:
    """Return a chunk without its comments."""
    return "\n".join(line.split("//")[0] for line in chunk.splitlines())


def _defined_name(chunk: str) -> str:
    match = DEFINED.search(re.sub(r"layout\([^)]*\)", "", _code(chunk)))
    assert match is not None, chunk
    return next(name for name in match.groups() if name)


@lru_cache(maxsize=4096)
def identifiers_of(chunk: str) -> frozenset[str]:
    """Return the identifiers in a helper."""
    return frozenset(IDENTIFIER.findall(_code(chunk)))


@lru_cache(maxsize=4096)
def called(language: Language, chunk: str) -> tuple[str, ...]:
    """Return the helpers of the libraries that a generated helper names, in order of appearance."""
    return known(language, IDENTIFIER.findall(chunk))


def known(language: Language, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of `names` that are helpers of the libraries, each once."""
    chunks = library(language)
    return tuple(dict.fromkeys(name for name in names if name in chunks))


def order(language: Language, keys: Iterable[str]) -> list[Helper]:
    """Return the chunks that `keys` need, dependencies included, in library order; other keys are ignored."""
    chunks = library(language)
    needed: set[str] = set()
    waiting = [key for key in keys if key in chunks]
    while waiting:
        key = waiting.pop()
        if key not in needed:
            needed.add(key)
            waiting.extend(chunks[key].uses)
    return [helper for name, helper in chunks.items() if name in needed] if needed else []
