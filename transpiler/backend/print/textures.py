"""Prints texture accesses: functions of GLSL, or calls of functions that `texture_functions` generates.

vec4 in_num = imageLoad(in_ten, i);               vec4 in_num = load_rgba8_1d(args.in_ten, i);
imageStore(out_ten, i, in_num + 0.5);             store_rgba8_1d(args.out_ten, i, in_num + 0.5f);
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...ir.nodes import Statement
from ...ir.textures import (
    ImageLoad,
    ImageStore,
    Texture,
    TextureFetch,
    TextureSample,
    TextureStatement,
)
from ..languages.common.syntax_forms import Rendered, call
from ..languages.common.texture_functions import key_of, name_in
from ..layout.usage import Usage
from .expressions import WRITERS as VALUES
from .expressions import Expressions
from .statements import Statements

__all__ = ["WRITERS", "declarations"]

GLSL = {
    TextureSample: call("textureLod", 3),
    TextureFetch: call("texelFetch", 3),
    ImageLoad: call("imageLoad", 2),
    ImageStore: call("imageStore", 3),
}
PREFIXES = {"f32": "", "i32": "i", "u32": "u"}
WHAT: dict[type[Statement], str] = {
    TextureSample: "sample",
    TextureFetch: "fetch",
    ImageLoad: "load",
    ImageStore: "store",
}


def declarations(textures: Iterable[Texture], usage: Usage, names: dict[object, str]) -> list[str]:
    """Return the declarations of textures in GLSL. usage: the accesses in all tasks of the kernel."""
    lines = []
    for texture in sorted(textures, key=lambda t: t.binding):
        prefix, name = PREFIXES[texture.element.name], names[texture]
        if texture.format is None:
            lines.append(f"layout(set = 0, binding = {texture.binding}) uniform {prefix}sampler{texture.ndim}D {name};")
            continue
        format = texture.format
        qualifier = f"{format.name}i" if format.kind == "uint" else format.name  # rgba8ui in GLSL
        kinds = {kind for kind, other in usage.texels if other is texture}
        access = "readonly " if kinds == {ImageLoad} else "writeonly " if kinds == {ImageStore} else ""
        layout = f"layout(set = 0, binding = {texture.binding}, {qualifier})"
        lines.append(f"{layout} uniform {access}{prefix}image{texture.ndim}D {name};")
    return lines


def _key(statement: TextureStatement) -> str:
    """Return the key of the function for a statement."""
    texture = statement.texture
    kind = texture.element.name if texture.format is None else texture.format.name
    return key_of(WHAT[type(statement)], kind, texture.ndim)


def _called(e: Expressions, statement: TextureStatement, *operands: Statement) -> str:
    """Return the call for a statement."""
    texture = statement.texture
    e.used.textures[texture] = None
    texts = [e.of(operand).source for operand in operands]
    if not e.language.has_pointers:
        e.symbols.use(GLSL[type(statement)])
        return GLSL[type(statement)].format(e.layout.textures[texture], *texts)
    e.uses_args = True
    key = _key(statement)
    e.need(key)
    by_texels = isinstance(statement, TextureFetch) and ("texels", texture) in e.layout.textures
    handle = e.layout.textures["texels", texture] if by_texels else e.layout.textures[texture]
    channels = e.layout.textures.get(("channels", texture))
    return f"{name_in(key)}({', '.join([handle, *([channels] if channels else []), *texts])})"


def _sample(e: Expressions, value: TextureSample | TextureFetch) -> Rendered:
    """Render a read: a texture has one level, so that C and CUDA need no level."""
    levels = [] if e.language.has_pointers else [value.lod]
    return Rendered(_called(e, value, value.coordinate, *levels))


def _load(e: Expressions, value: ImageLoad) -> Rendered:
    return Rendered(_called(e, value, value.coordinate))


def _store(p: Statements, statement: ImageStore) -> None:
    p.emit(f"{_called(p.e, statement, statement.coordinate, statement.value)};", statement.location)


WRITERS: dict[type, Callable[..., None]] = {ImageStore: _store}
"""How each of these effects is printed."""

VALUES[TextureSample] = _sample
VALUES[TextureFetch] = _sample
VALUES[ImageLoad] = _load
