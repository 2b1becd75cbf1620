"""How CUDA reads and writes texels: raw, through surfaces, so that functions convert them as a format says."""

from __future__ import annotations

from ....ir.textures import FORMATS, TexelFormat
from ....ir.types import SCALARS, Scalar, Tensor, f32, i32
from ..common.language import Language
from ..common.tensors import COMPONENTS, init_source, name_of
from ..common.texture_functions import axes_of, channels_of, most_of, place_type, texel_of

Function = tuple[str, list[str], list[str]]
"""Type of the result, parameters, and the lines of the body."""
VECTORS = {
    "u8": "uchar", "u16": "ushort", "u32": "uint", "i8": "char", "i16": "short", "i32": "int", "f16": "ushort",
    "f32": "float",
}  # fmt: skip
"""CUDA's own vectors of 2 and 4 by the type of a channel."""
CHANNELS = {"u8": "unsigned char", "i8": "signed char", "u16": "unsigned short", "f16": "unsigned short",
                "i16": "short", "u32": "unsigned", "i32": "int", "f32": "float"}  # fmt: skip


READ = "{vector} texel = surf{ndim}Dread<{vector}>(image, {at});"
"""How a texel is read from a surface."""


def helper(
    language: Language, what: str, kind: str, ndim: int, read: str = READ, border: str = "cudaBoundaryModeZero"
) -> Function:
    """Return a function on texels.

    what: "load", "store", "sample" or "fetch". kind: a format, or a component. read: how a texel is read from a
    surface. border: what asks for 0 outside.
    """
    if what == "load":
        return _load(language, FORMATS[kind], ndim, read, border)
    if what == "store":
        return _store(language, FORMATS[kind], ndim, border)
    return _sampled(language, what, SCALARS[kind], ndim)


def _read(row: TexelFormat, text: str) -> str:
    """Return the component of a texel that a channel in memory stands for."""
    return f"half_from_bits({text})" if row.channel.name == "f16" else text


def _written(language: Language, row: TexelFormat, text: str) -> str:
    """Return the channel that a component is stored as: the nearest that the format has."""
    channel, type = row.channel, name_of(language, row.channel)
    if row.kind == "unorm":
        return f"({type})rintf(__saturatef({text}) * {most_of(channel)})"
    if channel.name == "f16":
        return f"half({text}).bits"
    if channel.bits == 32:
        return text
    if row.kind == "uint":
        return f"({type})min({text}, {(1 << channel.bits) - 1}u)"
    least, most = str(-(1 << channel.bits - 1)), str((1 << channel.bits - 1) - 1)
    return f"({type})max({least}, min({text}, {most}))"


def _vector(row: TexelFormat) -> str:
    name = row.channel.name
    return CHANNELS[name] if row.channels == 1 else f"{VECTORS[name]}{row.channels}"


def _place(row: TexelFormat, ndim: int, border: str) -> str:
    """Return the arguments for a place in a surface, which counts bytes along its first axis."""
    first, *others = axes_of("at", ndim)
    size = f" * {row.texel_bytes}" if row.texel_bytes > 1 else ""
    return ", ".join([f"{first}{size}", *others, border])


def _load(language: Language, row: TexelFormat, ndim: int, read: str, border: str) -> Function:
    names = ["texel"] if row.channels == 1 else [f"texel.{letter}" for letter in COMPONENTS[: row.channels]]
    vector = _vector(row)
    channels = channels_of(row, _read, names)
    return (
        name_of(language, Tensor((4,), row.element)),
        [f"{language.texture_handles[1]} image", f"{name_of(language, place_type(i32, ndim))} at"],
        [
            *read.format(vector=vector, ndim=ndim, at=_place(row, ndim, border)).split("\n"),
            f"return {texel_of(language, row.element, channels)};",
        ],
    )


def _store(language: Language, row: TexelFormat, ndim: int, border: str) -> Function:
    values = [_written(language, row, f"value.{letter}") for letter in COMPONENTS[: row.channels]]
    vector = _vector(row)
    lines = [f"{vector} texel = {values[0]};"]
    if row.channels > 1:
        lines = [f"{vector} texel;"]
        lines += [f"texel.{letter} = {value};" for letter, value in zip(COMPONENTS, values, strict=False)]
    return (
        "void",
        [
            f"{language.texture_handles[1]} image",
            f"{name_of(language, place_type(i32, ndim))} at",
            f"{name_of(language, Tensor((4,), row.element))} value",
        ],
        [*lines, f"surf{ndim}Dwrite(texel, image, {_place(row, ndim, border)});"],
    )


def _sampled(language: Language, what: str, element: Scalar, ndim: int) -> Function:
    vector = {"f32": "float4", "i32": "int4", "u32": "uint4"}[element.name]
    place, tensor = axes_of("at", ndim), Tensor((4,), element)
    one = {"f32": "1.0f", "i32": "1", "u32": "1u"}[element.name]
    channels = ["texel.x", "texel.y", "texel.z", f"channels < 4 ? {one} : texel.w"]
    if what == "fetch":  # an object with coordinates in texels, whose centres are halves
        place = [f"{axis} + 0.5f" for axis in place]
    return (
        name_of(language, tensor),
        [
            f"{language.texture_handles[0]} texture",
            "int channels",
            f"{name_of(language, place_type(f32 if what == 'sample' else i32, ndim))} at",
        ],
        [
            f"{vector} texel = tex{ndim}D<{vector}>(texture, {', '.join(place)});",
            f"return {init_source(language, tensor, channels)};",
        ],
    )
