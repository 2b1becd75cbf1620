"""How C reads and writes texels, in memory that `templates/c/lib/texture.h` describes."""

from __future__ import annotations

from ....ir.textures import FORMATS, TexelFormat
from ....ir.types import SCALARS, Scalar, Tensor, f32, i32, u32
from ..common.language import Language
from ..common.tensors import COMPONENTS, init_source, name_of
from ..common.texture_functions import axes_of, channels_of, most_of, place_type, texel_of

Function = tuple[str, list[str], list[str]]
"""Type of the result, parameters, and the lines of the body."""


def helper(language: Language, what: str, kind: str, ndim: int) -> Function:
    """Return a function on texels. what: "load", "store", "sample" or "fetch". kind: a format, or a component."""
    if what in ("load", "store"):
        return (_load if what == "load" else _store)(language, FORMATS[kind], ndim)
    return _sampled(language, what, SCALARS[kind], ndim)


def _read(row: TexelFormat, text: str) -> str:
    """Return the component of a texel that a channel in memory stands for."""
    return f"(float){text}" if row.channel.name == "f16" else text


def _written(language: Language, row: TexelFormat, text: str) -> str:
    """Return the channel that a component is stored as: the nearest that the format has."""
    channel, type = row.channel, name_of(language, row.channel)
    if row.kind == "unorm":
        return f"({type})rintf(fminf(fmaxf({text}, 0.0f), 1.0f) * {most_of(channel)})"
    if channel.name == "f16":
        return f"(_Float16){text}"
    if channel.bits == 32:
        return text
    if row.kind == "uint":
        most = f"{(1 << channel.bits) - 1}u"
        return f"({type})({text} < {most} ? {text} : {most})"
    least, most = str(-(1 << channel.bits - 1)), str((1 << channel.bits - 1) - 1)
    return f"({type})({text} < {least} ? {least} : {text} < {most} ? {text} : {most})"


def _place(ndim: int) -> str:
    return ", ".join([*axes_of("at", ndim), "0", "0"][:3])


def _load(language: Language, row: TexelFormat, ndim: int) -> Function:
    type, texel = name_of(language, row.channel), name_of(language, Tensor((4,), row.element))
    channels = channels_of(row, _read, [f"texel[{k}]" for k in range(row.channels)])
    return (
        texel,
        ["const Texture *image", f"{name_of(language, place_type(i32, ndim))} at"],
        [
            f"const {type} *texel = texel_at(image, {_place(ndim)}, {row.texel_bytes});",
            "if (!texel) {",
            f"    return ({texel}){{0}};",
            "}",
            f"return {texel_of(language, row.element, channels)};",
        ],
    )


def _store(language: Language, row: TexelFormat, ndim: int) -> Function:
    type = name_of(language, row.channel)
    values = [_written(language, row, f"value.{letter}") for letter in COMPONENTS[: row.channels]]
    return (
        "void",
        [
            "const Texture *image",
            f"{name_of(language, place_type(i32, ndim))} at",
            f"{name_of(language, Tensor((4,), row.element))} value",
        ],
        [
            f"{type} *texel = texel_at(image, {_place(ndim)}, {row.texel_bytes});",
            "if (!texel) {",
            "    return;",
            "}",
            *(f"texel[{k}] = {value};" for k, value in enumerate(values)),
        ],
    )


def _sampled(language: Language, what: str, element: Scalar, ndim: int) -> Function:
    texel = name_of(language, Tensor((4,), element))
    place, names = place_type(f32 if what == "sample" else i32, ndim), list(COMPONENTS)
    if what == "fetch":
        call = f"{FETCHES[element]}(texture, {_place(ndim)}, texel);"
    else:
        axes = ", ".join([*axes_of("at", ndim), "0.5f", "0.5f"][:3])
        call = f"{SAMPLES[element]}(texture, {axes}, texel);"
    return (
        texel,
        ["const Texture *texture", f"{name_of(language, place)} at"],
        [
            f"{name_of(language, element)} texel[4];",
            call,
            f"return {init_source(language, Tensor((4,), element), [f'texel[{k}]' for k in range(len(names))])};",
        ],
    )


FETCHES = {f32: "fetch_floats", i32: "fetch_integers", u32: "fetch_naturals"}
SAMPLES = {f32: "sample_floats", i32: "sample_integers", u32: "sample_naturals"}
"""Functions of `templates/c/lib/texture.h` that fill four components."""
