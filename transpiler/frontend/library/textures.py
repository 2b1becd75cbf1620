"""Textures in a kernel: `t.sample_lod(uv, lod)`, `t.fetch(i, lod)`, `t.load(i)`, `t.store(i, texel)`, `t.shape`.

Input: a texture parameter, coordinates and values. Output: statements of `ir.textures`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ...errors import TaichiIndexError, TaichiNameError, TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Statement
from ...ir.statements import ArrayShape
from ...ir.textures import ImageLoad, ImageStore, Texture, TextureFetch, TextureSample
from ...ir.types import Scalar, Tensor, describe_type, element_of, f32, i32
from ...lang.describe import safe_attribute
from ...lang.textures import Format
from ..context.context import Context
from ..context.handler_calls import ArgumentsError, call_handler
from ..context.values import Method, NdrangeValue, describe_kind
from ..source.specialization import TextureArgument

AXES = ("x", "ti.Vector([x, y])", "ti.Vector([x, y, z])")
"""Syntax of a coordinate in hints, by the number of axes less one."""


def new_texture(context: Context, name: str, position: int, argument: TextureArgument) -> Texture:
    """Add a texture parameter to the kernel."""
    slot = len(context.kernel.textures)
    texture = Texture(
        context.arrays.unique(name), argument.ndim, slot, position, argument.element, argument.format, argument.lod
    )
    context.kernel.textures.append(texture)
    return texture


def texture_attribute(context: Context, texture: Texture, node: ast.Attribute) -> Any:
    """Return an attribute of a texture. Raises: TaichiNameError if it is missing."""
    name = node.attr
    if name == "shape":
        return tuple(_extents(context, texture))
    known = STORED if texture.is_storage else SAMPLED
    if name in known:
        return Method(texture, name)
    if name in STORED or name in SAMPLED:
        is_kind, needs = ("stored to", "texture") if texture.is_storage else ("sampled", "rw_texture")
        more = f"num_dimensions={texture.ndim}" + ("" if texture.is_storage else ", fmt=ti.Format.rgba8")
        message = f"`{texture.name}` is a texture that is {is_kind}, which has no `{name}`"
        raise context.error(TaichiNameError, message, f"annotate it as `ti.types.{needs}({more})`")
    hint = f"there are {', '.join([*known, 'shape'])}"
    raise context.error(TaichiNameError, f"the texture `{texture.name}` has no attribute `{name}`", hint)


def check_texture(context: Context, base: Any, node: ast.Attribute) -> None:
    """Raise if a method is called on a texture that is not an argument of the kernel."""
    if (node.attr in STORED or node.attr in SAMPLED) and safe_attribute(base, "fmt", Format, None) is not None:
        source = ast.unparse(node.value)
        kind = "rw_texture" if node.attr in STORED else "texture"
        more = f"num_dimensions={len(base.shape)}" + (f", fmt=ti.Format.{base.fmt.name}" if kind != "texture" else "")
        hint = f"pass it as an argument annotated `ti.types.{kind}({more})`"
        raise context.error(
            TaichiNameError, f"`{source}` is a texture of Python scope, which kernels cannot reach", hint
        )


def call_texture_method(context: Context, texture: Texture, name: str, arguments: list[Any], named: Any) -> Any:
    """Call a method of a texture; arguments come loaded."""
    meaning = (STORED if texture.is_storage else SAMPLED)[name]
    try:
        return call_handler(meaning, (context, texture), arguments, named)
    except ArgumentsError as error:
        raise context.error(TaichiSyntaxError, f"`.{name}()` {error}", f"write `{_shown(texture, name)}`") from None


def texels(context: Context, texture: Texture) -> NdrangeValue:
    """Return the range of a loop over a texture."""
    return NdrangeValue(tuple((0, extent) for extent in _extents(context, texture)))


def _extents(context: Context, texture: Texture) -> list[Statement]:
    return [context.builder.add(ArrayShape(texture, axis, type=i32)) for axis in range(texture.ndim)]


def _shown(texture: Texture, name: str) -> str:
    """Return the syntax of a method call for hints."""
    more = {"sample_lod": ", 0.0", "fetch": ", 0", "store": ", ti.Vector([r, g, b, a])"}.get(name, "")
    return f"{texture.name}.{name}({AXES[texture.ndim - 1]}{more})"


def _sample(context: Context, texture: Texture, uv: Any, lod: Any) -> Statement:
    level = context.values.lift(lod)
    if not isinstance(level.type, Scalar):
        raise _not_a_number(context, level, "sample_lod", texture)
    position = _coordinate(context, texture, uv, f32, "sample_lod")
    return context.builder.add(TextureSample(texture, position, context.builder.cast(level, f32), type=texture.texel))


def _fetch(context: Context, texture: Texture, index: Any, lod: Any) -> Statement:
    level = context.values.lift(lod)
    if not isinstance(level.type, Scalar):
        raise _not_a_number(context, level, "fetch", texture)
    position = _coordinate(context, texture, index, i32, "fetch")
    return context.builder.add(TextureFetch(texture, position, context.builder.cast(level, i32), type=texture.texel))


def _load(context: Context, texture: Texture, index: Any) -> Statement:
    coordinate = _coordinate(context, texture, index, i32, "load")
    return context.builder.add(ImageLoad(texture, coordinate, type=texture.texel))


def _store(context: Context, texture: Texture, index: Any, value: Any) -> None:
    position = _coordinate(context, texture, index, i32, "store")
    texel = context.values.lift(value)
    if not isinstance(texel.type, Tensor) or texel.type.shape != (4,):
        raise context.error(
            TaichiTypeError,
            f"A texel is a vector of 4 numbers, found {describe_kind(texel)}",
            f"write `{_shown(texture, 'store')}`; channels that the format lacks are left out",
        )
    context.builder.add(ImageStore(texture, position, context.builder.cast(texel, texture.element)))


def _not_a_number(context: Context, level: Statement, name: str, texture: Texture) -> TaichiTypeError:
    error = context.error(
        TaichiTypeError,
        f"The level of detail is a number, found `{describe_type(level.type)}`",
        f"write `{_shown(texture, name)}`",
    )
    assert isinstance(error, TaichiTypeError)
    return error


def _coordinate(context: Context, texture: Texture, given: Any, element: Scalar, name: str) -> Statement:
    """Return a coordinate: a scalar, or a vector for 2 and more axes. Raises: TaichiTypeError, TaichiIndexError."""
    value = context.values.lift(given)
    axes = value.type.shape if isinstance(value.type, Tensor) else (1,)
    hint = f"write `{_shown(texture, name)}`"
    if axes != (texture.ndim,):
        shape = "a matrix" if len(axes) > 1 else f"{axes[0]} number{'s' if axes[0] > 1 else ''}"
        message = f"The index of a texel of `{texture.name}` takes {texture.ndim}, found {shape}"
        raise context.error(TaichiIndexError, message, hint)
    assert value.type is not None
    if element == i32 and element_of(value.type).is_float:
        message = f"indices must be integers, however '{element_of(value.type)}' is provided"
        raise context.error(TaichiTypeError, message, "write `ti.cast(p, ti.i32)`")
    if texture.ndim == 1 and isinstance(value.type, Tensor):
        value = context.values.elements(value)[0]
    return context.builder.cast(value, element)


Meaning = Callable[..., Any]
SAMPLED: dict[str, Meaning] = {"sample_lod": _sample, "fetch": _fetch}
STORED: dict[str, Meaning] = {"load": _load, "store": _store}
"""Methods by kind of texture."""
