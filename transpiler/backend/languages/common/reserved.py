"""Reserved names: keywords, types and macros in all scopes, built-in functions at file scope.

A local variable may hide a function (`float length = ...`) that its source does not call (`assemble/names.py`), and a
member never conflicts with one (`args.step`). Source: all names in the headers and the binary of gcc 12, in the binary
of glslang 12, and, for CUDA, in the headers of CUDA 13 and the list of C; each was tried as a variable, a member, a
type and a function.
"""

from __future__ import annotations


def names(source: str) -> list[str]:
    """Return the names in a string, which are separated by white space."""
    return source.split()


_SIZES = range(2, 5)
_PREFIXES = ("", "i", "u", "b", "d", "i8", "u8", "i16", "u16", "i64", "u64", "f16")
_TENSORS = [f"{prefix}vec{n}" for prefix in _PREFIXES for n in _SIZES]
_TENSORS += [f"{prefix}mat{n}" for prefix in ("", "i", "u", "b", "d", "f16") for n in _SIZES]
_TENSORS += [f"{prefix}mat{n}x{m}" for prefix in ("", "i", "u", "b", "d", "f16") for n in _SIZES for m in _SIZES]
TENSORS = frozenset(_TENSORS)
"""Names of vectors and matrices in all languages."""

GENERATED_NAMES = frozenset(
    {"args", "arguments", "task", "rng", "Args", "Result", "Temporaries", "Report", "Push", "BLOCK"}
    | {"LANES", "LANES_32", "LANES_128", "LOADS", "MAX_BLOCKS"}
)
"""Names that the templates and printers declare themselves."""
NAMES_IN_BLOCKS = frozenset({"block", "count", "index", "thread", "threads"})
"""Those that they declare next to the shared arrays where the threads of a block are loops."""


def macros(tasks: int) -> frozenset[str]:
    """Return the constants at the top of a source, which as macros replace members of the same name too."""
    blocks = (f"BLOCK_{number}" for number in range(tasks))
    return frozenset({"BLOCK", "LANES", "LANES_32", "LANES_128", "LOADS", "MAX_BLOCKS", *blocks})


def functions(kernel: str, tasks: int) -> frozenset[str]:
    """Return the names of the functions and entries of the tasks of a kernel."""
    return frozenset(f"{name}_{number}" for name in ("task", kernel) for number in range(tasks))
