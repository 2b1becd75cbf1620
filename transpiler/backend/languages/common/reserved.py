"""Words a user's name may not be: keywords, types and macros always, built-in functions where all of a file sees it.

A local variable may hide a function (`float length = ...`) that its text does not call (`hidden_names`), and a member
never meets one (`args.step`). Source: all words in the headers and the binary of gcc 12, in the binary of
glslang 12, and, for CUDA, in the headers of CUDA 13 and the list of C; each tried as a variable, a member, a type and a
function.
"""

from __future__ import annotations

from collections.abc import Iterable


def words(text: str) -> list[str]:
    """Return the names in a text, which are separated by white space."""
    return text.split()


_ROWS = range(2, 5)
_PREFIXES = ("", "i", "u", "b", "d", "i8", "u8", "i16", "u16", "i64", "u64", "f16")
_TENSORS = [f"{prefix}vec{n}" for prefix in _PREFIXES for n in _ROWS]
_TENSORS += [f"{prefix}mat{n}" for prefix in ("", "i", "u", "b", "d", "f16") for n in _ROWS]
_TENSORS += [f"{prefix}mat{n}x{m}" for prefix in ("", "i", "u", "b", "d", "f16") for n in _ROWS for m in _ROWS]
TENSORS = frozenset(_TENSORS)
"""What vectors and matrices are called in all languages."""

OURS = frozenset({"args", "arguments", "task", "rng", "Args", "Result", "Temporaries", "Report", "Push", "BLOCK"})
"""What the templates and printers call their own things around a value's name."""


def macros(block_dims: Iterable[int]) -> frozenset[str]:
    """Return the constants on top of a text, which replace members of their names too."""
    return frozenset({"BLOCK", *(f"BLOCK_{size}" for size in block_dims)})


def functions(kernel: str, tasks: int) -> frozenset[str]:
    """Return what a text calls the functions and entries of its tasks."""
    return frozenset(f"{name}_{number}" for name in ("task", kernel) for number in range(tasks))
