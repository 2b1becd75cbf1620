"""Renders values of several numbers, and their parts: vectors, matrices, lists, structs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...ir.statements import Const, ListInit, ListItem, MatrixElement, MatrixInit, StructElement, StructInit, is_same
from ...ir.types import Scalar, Struct, Tensor
from ..languages.common.syntax import constructor_operands, init_syntax, splat_syntax, stored_type, swizzle
from ..languages.common.syntax_forms import PRIMARY, UNARY, Rendered
from ..languages.common.tensors import is_native, is_short_vector, is_small

if TYPE_CHECKING:
    from .expressions import Expressions


def tensor(e: Expressions, value: MatrixInit) -> Rendered:
    """Render a vector or matrix of its elements: a splat, a swizzle, or a constructor."""
    assert isinstance(value.type, Tensor)
    first, kind, language = value.elements[0], value.type, e.language
    if len(value.elements) > 1 and all(is_same(first, other) for other in value.elements):
        if isinstance(first, Const) and repr(first.value) in ("0", "0.0", "False") and not is_short_vector(kind):
            name = e.name_of_type(kind)
            if language.zero_values is not None:
                return _literal(e, name, language.zero_values)
            if is_native(language, kind):  # a GLSL matrix of one number has that on its diagonal
                return Rendered(f"{name}({e.of(first).source})")
        is_short = is_short_vector(kind) and (isinstance(first, Const) or e.of(first).source.isidentifier())
        if not (language.has_pointers and is_short):
            return e.formatted(splat_syntax(language, kind), first)
    rendered = e.formatted(init_syntax(language, kind), *constructor_operands(language, value))
    return (swizzle(value, lambda element: e.of(element).source) if is_native(language, kind) else None) or rendered


def _matrix_element(e: Expressions, value: MatrixElement) -> Rendered:
    return e.element(e.operand(value.value, PRIMARY), value.value.type, value.indices, False)


def _list_init(e: Expressions, value: ListInit) -> Rendered:
    assert value.type is not None
    texts = [e.of(item).source for item in value.items]
    name = e.name_of_type(value.type)
    if e.language.braces_refuse_narrowing and isinstance(value.type, Scalar) and is_small(value.type):
        texts = [f"({name}){e.operand(item, UNARY)}" for item in value.items]
    values = ", ".join(texts)
    return Rendered(f"{{{values}}}" if e.language.has_braces else f"{name}[{len(texts)}]({values})")


def _list_item(e: Expressions, value: ListItem) -> Rendered:
    return Rendered(f"{e.of(value.origin).source}[{e.of(value.index).source}]")


def _struct_init(e: Expressions, value: StructInit) -> Rendered:
    assert isinstance(value.type, Struct)
    structs = e.layout.structs
    e.name_of_type(value.type)
    texts = []
    for member, (_, kind) in zip(value.values, value.type.members, strict=True):
        if structs.as_bytes(value.type, kind):
            texts.append(e.to_memory(member))
        elif e.language.braces_refuse_narrowing and isinstance(kind, Scalar) and is_small(kind):
            texts.append(f"({e.name_of_type(kind)}){e.operand(member, UNARY)}")  # braces do not narrow in C++
        else:
            texts.append(e.of(member).source)
    return _literal(e, *structs.init(value.type, texts))


def _literal(e: Expressions, name: str, values: str) -> Rendered:
    text, bare = e.language.literal(name, values)
    return Rendered(text, bare=bare)


def zero_struct(e: Expressions, kind: Struct) -> Rendered:
    """Render the struct of zeros: an empty initializer in C, all members in GLSL."""
    structs = e.layout.structs
    name = e.name_of_type(kind)
    if e.language.zero_values is not None:
        return _literal(e, name, e.language.zero_values)
    zeros = [e.zero(stored_type(e.language, t) if structs.as_bytes(kind, t) else t).source for _, t in kind.members]
    return _literal(e, *structs.init(kind, zeros))


def _struct_element(e: Expressions, value: StructElement) -> Rendered:
    struct = value.value.type
    assert isinstance(struct, Struct) and value.type is not None
    text = f"{e.operand(value.value, PRIMARY)}.{e.member_name(struct, value.member)}"
    return e.loaded(text, value.type) if struct in e.layout.structs.stored else Rendered(text)


WRITERS: dict[type, Callable[..., Rendered]] = {
    MatrixInit: tensor,
    MatrixElement: _matrix_element,
    ListInit: _list_init,
    ListItem: _list_item,
    StructInit: _struct_init,
    StructElement: _struct_element,
}
"""How each kind of these values is printed."""
