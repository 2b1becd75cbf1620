"""The signature of a call, as shown to the user: `(x, i32)`.

In: the descriptions of its arguments. Out: types of the arguments that are passed at run time; values of template
arguments. A field is shown by its name in the user's program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....transpiler.errors import PACKAGE
from ....transpiler.frontend.source.definition import KernelDefinition
from ....transpiler.frontend.source.specialization import Argument, TemplateArgument
from ....transpiler.lang.describe import is_described


def signature_of(definition: KernelDefinition, arguments: Sequence[Argument]) -> str:
    """Return the signature of a call; fields have their names in the nearest frame of the user's program."""
    namespaces = [*_namespaces_of_user(), definition.function.__globals__]
    return f"({', '.join(_shown(argument, namespaces) for argument in arguments)})"


def _shown(argument: Argument, namespaces: Sequence[Mapping[str, Any]]) -> str:
    if not isinstance(argument, TemplateArgument):
        return str(argument)
    value = argument.value
    if not is_described(value):
        return str(argument)
    name = getattr(value, "name", "")
    names = (key for space in namespaces for key, item in list(space.items()) if item is value)
    return name or next(names, f"{value!r} {id(value):#x}")


def _namespaces_of_user() -> Iterator[Mapping[str, Any]]:
    """Yield the namespaces of the first frame outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE:
        frame = frame.f_back
    yield frame.f_locals
    yield frame.f_globals
