"""Members of arrays of structs that have the name of an attribute of the array: `particles.type`, `nodes.parent`.

In: a class of arrays and a struct type. Out: the class itself, or one whose arrays give such a member to programs, as
Taichi does, and the attribute to shadesmith's modules.
"""

from __future__ import annotations

import copyreg
from functools import cache
from sys import _getframe
from types import new_class
from typing import Any

from ...transpiler.errors import is_internal
from ...transpiler.ir.types import Struct

RESERVED = frozenset({"dtype", "keys", "shape", "snode"})
"""Taichi refuses a field of structs with such a member."""


def class_for(kind: type[Any], element: Struct) -> type[Any]:
    """Return the class of arrays of `element`: `kind`, or a class of it for members with names of its attributes."""
    hidden = frozenset(name for name in element.names if hasattr(kind, name)) - RESERVED
    return _with_members_first(kind, hidden) if hidden else kind  # type: ignore[arg-type]  # classes are hashable


def plain_class(kind: type[Any]) -> type[Any]:
    """Return the class from which `class_for` made `kind`; any other class itself."""
    found: type[Any] = kind.__dict__.get("PLAIN", kind)
    return found


@cache
def _with_members_first(kind: type[Any], hidden: frozenset[str]) -> type[Any]:
    find: Any = kind.__getattribute__

    def __getattribute__(self: Any, name: str) -> Any:
        if name in hidden and not is_internal(_getframe(1)):
            return find(self, "get_member_field")(name)
        return find(self, name)

    members = {"__slots__": (), "__getattribute__": __getattribute__, "__module__": kind.__module__, "PLAIN": kind}
    made = new_class(kind.__name__, (kind,), exec_body=lambda namespace: namespace.update(members))
    if kind in copyreg.dispatch_table:
        copyreg.pickle(made, copyreg.dispatch_table[kind])
    return made
