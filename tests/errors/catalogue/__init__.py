"""The bad inputs: the 168 of the reliability plan, group by group in its order, and what was found since.

ITEMS: the 168. EXTRAS: all others. Each is a program with the error or the value it must give.
"""

from __future__ import annotations

from . import (
    arguments,
    builtin_functions,
    environment,
    extras,
    fields,
    functions,
    interop,
    loops,
    names,
    real_functions,
    syntax,
    textures,
    threads,
    trees,
    type_rules,
)
from .case import Case

GROUPS: dict[str, tuple[int, list[Case]]] = {
    "syntax": (24, syntax.CASES),
    "names": (14, names.CASES),
    "types": (28, type_rules.CASES),
    "arguments": (22, arguments.CASES),
    "fields": (26, fields.CASES),
    "loops": (18, loops.CASES),
    "functions": (14, functions.CASES),
    "builtins": (10, builtin_functions.CASES),
    "environment": (12, environment.CASES),
}
"""By group: how many items the plan lists, and their cases."""

ITEMS: list[Case] = [case for _, cases in GROUPS.values() for case in cases]
EXTRAS: list[Case] = [
    *names.EXTRAS,
    *extras.CASES,
    *real_functions.CASES,
    *threads.CASES,
    *trees.CASES,
    *interop.CASES,
    *textures.CASES,
]
