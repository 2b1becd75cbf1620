"""Reading and writing texels in C, in memory that `templates/c/lib/texture.h` describes."""

from __future__ import annotations

from ....ir.textures import FORMATS, TexelFormat
from ....ir.types import SCALARS, Scalar, Tensor, f32, i32, u32
from ..common.language import Language
from ..common.tensors import COMPONENTS, init_source, name_of
from ..common.texture_functions import axes_of, channels_of, greatest_of, position_type, texel_of

Function = tuple[str, list[str], list[str]]
"""Result type, parameters, and the lines of the body."""


def helper(language: Language, what: str, kind: str, ndim: int) -> Function:
    """Return a function on texels. what: "load", "store", "sample" or "fetch". kind: a format, or a component."""
    if what in ("load", "store"):
        return (_load if what == "load" else _store)(language, FORMATS[kind], ndim)
    return _sampled(language, what, SCALARS[kind], ndim)


def _read(format: TexelFormat, value: str) -> str:
    """Return the component of a texel, converted from a channel in memory."""
    return f"(float){value}" if format.channel.name == "f16" else value


def _stored(language: Language, format: TexelFormat, value: str) -> str:
    """Return the channel value that a component is stored as: the nearest that the format can represent."""
    channel, type = format.channel, name_of(language, format.channel)
    if format.kind == "unorm":
        return f"({type})rintf(fminf(fmaxf({value}, 0.0f), 1.0f) * {greatest_of(channel)})"
    if channel.name == "f16":
        return f"(_Float16){value}"
    if channel.bits == 32:
        return value
    if format.kind == "uint":
        most = f"{(1 << channel.bits) - 1}u"
        return f"({type})({value} < {most} ? {value} : {most})"
    least, most = str(-(1 << channel.bits - 1)), str((1 << channel.bits - 1) - 1)
    return f"({type})({value} < {least} ? {least} : {value} < {most} ? {value} : {most})"


def _position(ndim: int) -> str:
    return ", ".join([*axes_of("at", ndim), "0", "0"][:3])


def _load(language: Language, format: TexelFormat, ndim: int) -> Function:
    type, texel = name_of(language, format.channel), name_of(language, Tensor((4,), format.element))
    channels = channels_of(format, _read, [f"texel[{k}]" for k in range(format.channels)])
    return (
        texel,
        ["const Texture *image", f"{name_of(language, position_type(i32, ndim))} at"],
        [
            f"const {type} *texel = texel_at(image, {_position(ndim)}, {format.texel_bytes});",
            "if (!texel) {",
            f"    return ({texel}){{0}};",
            "}",
            f"return {texel_of(language, format.element, channels)};",
        ],
    )


def _store(language: Language, format: TexelFormat, ndim: int) -> Function:
    type = name_of(language, format.channel)
    values = [_stored(language, format, f"value.{letter}") for letter in COMPONENTS[: format.channels]]
    return (
        "void",
        [
            "const Texture *image",
            f"{name_of(language, position_type(i32, ndim))} at",
            f"{name_of(language, Tensor((4,), format.element))} value",
        ],
        [
            f"{type} *texel = texel_at(image, {_position(ndim)}, {format.texel_bytes});",
            "if (!texel) {",
            "    return;",
            "}",
            *(f"texel[{k}] = {value};" for k, value in enumerate(values)),
        ],
    )


def _sampled(language: Language, what: str, element: Scalar, ndim: int) -> Function:
    texel = name_of(language, Tensor((4,), element))
    position, names = position_type(f32 if what == "sample" else i32, ndim), list(COMPONENTS)
    if what == "fetch":
        call = f"{FETCHES[element]}(texture, {_position(ndim)}, texel);"
    else:
        axes = ", ".join([*axes_of("at", ndim), "0.5f", "0.5f"][:3])
        call = f"{SAMPLES[element]}(texture, {axes}, texel);"
    return (
        texel,
        ["const Texture *texture", f"{name_of(language, position)} at"],
        [
            f"{name_of(language, element)} texel[4];",
            call,
            f"return {init_source(language, Tensor((4,), element), [f'texel[{k}]' for k in range(len(names))])};",
        ],
    )


FETCHES = {f32: "fetch_floats", i32: "fetch_ints", u32: "fetch_uints"}
SAMPLES = {f32: "sample_floats", i32: "sample_ints", u32: "sample_uints"}
"""Functions of `templates/c/lib/texture.h` that fill four components."""
