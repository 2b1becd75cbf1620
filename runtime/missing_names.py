"""Taichi's names that this version lacks: reading one gives a full message, not only Python's "has no attribute".

In: the name of a module and of an attribute. Out: the AttributeError to raise from a module's `__getattr__`.
"""

from __future__ import annotations

import sys
from opcode import opmap
from types import FrameType

from ..transpiler.errors import NotYetError, as_seen_by_user

Later = tuple[str, int | None] | tuple[str, int | None, str]
"""The missing feature, its issue, and what to use instead, if there is something."""

TAICHI_ARCHIVES: Later = (
    "the reader of archives in Taichi's own format",
    None,
    "docs/archive.md describes shadesmith's; `Module.save` writes a `metadata.json` that Taichi's reader takes",
)

LATER: dict[str, dict[str, Later]] = {
    "ti": {},
    "ti.aot": dict.fromkeys(("GfxRuntime140", "conventions"), TAICHI_ARCHIVES),
    "ti.types": {},
}  # fmt: skip
"""Names by module; a name is removed when its feature is added."""


def missing(module: str, name: str) -> Exception:
    """Return the error for attribute `name` of `module` ("ti", "ti.types"), to be raised by its `__getattr__`."""
    if name in LATER[module]:
        error = as_seen_by_user(NotYetError(f"{module}.{name}", *LATER[module][name]))
        return for_reader(error, sys._getframe(2))
    return AttributeError(f"module '{module.replace('ti', 'shadesmith', 1)}' has no attribute '{name}'", name=name)


def for_reader(error: Exception, reader: FrameType) -> Exception:
    """Return an AttributeError of a module as what its reader, a frame, has to get.

    That is an ImportError in `from module import name`, where Python replaces the message of an AttributeError.
    """
    code, at = reader.f_code.co_code, reader.f_lasti
    if at >= 0 and code[at] == opmap["IMPORT_FROM"]:
        return ImportError(str(error))
    return error
