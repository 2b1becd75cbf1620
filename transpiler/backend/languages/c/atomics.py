"""Atomic operations of C: helpers that take an address and call GNU's built-in functions."""

from __future__ import annotations

from ....ir.types import Scalar
from ..common.atomics import SETTLING, by_address, combined, more_parameters
from ..common.language import Language
from ..common.literals import scalar_name
from ..common.syntax_forms import Syntax

FETCH = frozenset({"add", "sub", "and", "or", "xor"})
"""Operations of `__atomic_fetch_*` on integers."""


def atomic_syntax(op: str, type: Scalar, native: bool) -> Syntax:
    """Return the syntax of an atomic operation: {0} target, {1} value."""
    return by_address(op, type)


def helper(language: Language, op: str, type: Scalar) -> str:
    """Return the helper for `op` on `type`."""
    name = scalar_name(language, type)
    parameters = f"{name} *address, {name} value{more_parameters(op, name)}"
    head = f"{language.helper_qualifier}{name} atomic_{op}_{type}({parameters}) {{\n"
    if op in FETCH and type.kind in ("int", "uint"):
        return f"{head}    return __atomic_fetch_{op}(address, value, __ATOMIC_RELAXED);\n}}"
    changes = "new != old && " if op in SETTLING else ""
    return (
        f"{head}    {name} old, new;\n"
        "    const int relaxed = __ATOMIC_RELAXED;\n"
        "    __atomic_load(address, &old, relaxed);\n"
        "    do {\n"
        f"        new = {combined(language, op, type, 'old')};\n"
        f"    }} while ({changes}!__atomic_compare_exchange(address, &old, &new, true, relaxed, relaxed));\n"
        "    return old;\n}"
    )
