"""Atomic operations of C: GNU's built-in functions, behind helpers that take an address."""

from __future__ import annotations

from ....ir.types import Scalar
from ..common.atomics import by_address, combined
from ..common.language import Language
from ..common.literals import scalar_name
from ..common.syntax_forms import Syntax

FETCH = frozenset({"add", "sub", "and", "or", "xor"})
"""What `__atomic_fetch_*` does on integers."""


def atomic_syntax(op: str, type: Scalar, native: bool) -> Syntax:
    """Return how an atomic operation is written: {0} place, {1} value."""
    return by_address(op, type)


def helper(language: Language, op: str, type: Scalar) -> str:
    """Return the helper for `op` on `type`."""
    name = scalar_name(language, type)
    head = f"{language.helper_qualifier}{name} atomic_{op}_{type}({name} *place, {name} value) {{\n"
    if op in FETCH and type.kind in ("int", "uint"):
        return f"{head}    return __atomic_fetch_{op}(place, value, __ATOMIC_RELAXED);\n}}"
    return (
        f"{head}    {name} old, new;\n"
        "    __atomic_load(place, &old, __ATOMIC_RELAXED);\n"
        "    do {\n"
        f"        new = {combined(language, op, type, 'old')};\n"
        "    } while (!__atomic_compare_exchange(place, &old, &new, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));\n"
        "    return old;\n}"
    )
