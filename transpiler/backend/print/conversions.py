"""Conversions that C makes by itself, so that they are not printed, and those that C++ asks for in braces.

In: values as they are printed. Out: their sources, for places that convert to a known type.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.nodes import Statement
from ...ir.statements import IfExp, Operation
from ...ir.types import Type
from ..languages.common.language import Language
from ..languages.common.syntax import promoted
from ..languages.common.syntax_forms import UNARY, Rendered
from ..languages.common.tensors import narrows

INTS = (Operation, IfExp)
"""Values that C++ computes as int where they have 8 or 16 bits; others have their own type."""


def assigned(language: Language, value: Statement, rendered: Rendered, of: Callable[[Statement], Rendered]) -> Rendered:
    """Return what is printed behind `name =`: `int x = y(i)` of an element of 8 bits. rendered: the value."""
    inner = promoted(language, value, lambda _: rendered.template)
    return rendered if inner is value else of(inner)


def in_braces(
    language: Language, value: Statement, of: Callable[[Statement], Rendered], name_of: Callable[[Type], str]
) -> str:
    """Return the source of a value in braces, which in C++ take no int for a number of 8 or 16 bits."""
    rendered = of(value)
    assert value.type is not None
    if not narrows(language, value.type) or not isinstance(value, INTS) or rendered.source.isidentifier():
        return rendered.source
    cast = f"({name_of(value.type)})"
    if rendered.precedence < UNARY:
        return f"{cast}({rendered.source})"
    return rendered.source if rendered.source.startswith(cast) else cast + rendered.source
