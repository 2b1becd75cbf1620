"""What a call of a kernel is compiled for, as text: `(x, i32)`.

In: the kinds of its arguments. Out: types for what is passed at run time; for template arguments what tells them apart,
which of a field is the field itself: it is called as Python calls it.
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
    """Return the signature of a call from the user's program, whose names are those of the nearest frame."""
    namespaces = [*_namespaces_of_user(), definition.function.__globals__]
    return f"({', '.join(_text(argument, namespaces) for argument in arguments)})"


def _text(argument: Argument, namespaces: Sequence[Mapping[str, Any]]) -> str:
    if not isinstance(argument, TemplateArgument):
        return str(argument)
    value = argument.value
    if not is_described(value):
        return str(argument)
    own = getattr(value, "name", "")
    names = (name for space in namespaces for name, item in list(space.items()) if item is value)
    return own or next(names, f"{value!r} {id(value):#x}")


def _namespaces_of_user() -> Iterator[Mapping[str, Any]]:
    """Yield the names of the first frame that is not ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == PACKAGE:
        frame = frame.f_back
    yield frame.f_locals
    yield frame.f_globals
