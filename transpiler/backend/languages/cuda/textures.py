"""Reading and writing texels in CUDA: raw, through surfaces, so functions convert them according to the format."""

from __future__ import annotations

from ....ir.textures import FORMATS, TexelFormat
from ....ir.types import SCALARS, Scalar, Tensor, f32, i32
from ..common.language import Language
from ..common.tensors import COMPONENTS, name_of, return_source
from ..common.texture_functions import axes_of, channels_of, greatest_of, position_type, texel_of

Function = tuple[str, list[str], list[str]]
"""Result type, parameters, and the lines of the body."""
VECTORS = {
    "u8": "uchar", "u16": "ushort", "u32": "uint", "i8": "char", "i16": "short", "i32": "int", "f16": "ushort",
    "f32": "float",
}  # fmt: skip
"""CUDA's own vectors of 2 and 4 by the type of a channel."""
CHANNELS = {"u8": "unsigned char", "i8": "signed char", "u16": "unsigned short", "f16": "unsigned short",
                "i16": "short", "u32": "unsigned", "i32": "int", "f32": "float"}  # fmt: skip


READ = "{vector} texel = surf{ndim}Dread<{vector}>(image, {at});"
"""Lines that read a texel from a surface."""


def helper(
    language: Language, what: str, kind: str, ndim: int, read: str = READ, border: str = "cudaBoundaryModeZero"
) -> Function:
    """Return a function on texels.

    what: "load", "store", "sample" or "fetch". kind: a format, or a component. read: the lines that read a texel from
    a surface. border: the boundary mode that reads 0 outside.
    """
    if what == "load":
        return _load(language, FORMATS[kind], ndim, read, border)
    if what == "store":
        return _store(language, FORMATS[kind], ndim, border)
    return _sampled(language, what, SCALARS[kind], ndim)


def _read(format: TexelFormat, value: str) -> str:
    """Return the component of a texel, converted from a channel in memory."""
    return f"half_from_bits({value})" if format.channel.name == "f16" else value


def _stored(language: Language, format: TexelFormat, value: str) -> str:
    """Return the channel value that a component is stored as: the nearest that the format can represent."""
    channel, type = format.channel, name_of(language, format.channel)
    if format.kind == "unorm":
        return f"({type})rintf(__saturatef({value}) * {greatest_of(channel)})"
    if channel.name == "f16":
        return f"half({value}).bits"
    if channel.bits == 32:
        return value
    if format.kind == "uint":
        return f"({type})min({value}, {(1 << channel.bits) - 1}u)"
    least, most = str(-(1 << channel.bits - 1)), str((1 << channel.bits - 1) - 1)
    return f"({type})max({least}, min({value}, {most}))"


def _vector(format: TexelFormat) -> str:
    name = format.channel.name
    return CHANNELS[name] if format.channels == 1 else f"{VECTORS[name]}{format.channels}"


def _position(format: TexelFormat, ndim: int, border: str) -> str:
    """Return the arguments for a position in a surface, which counts bytes along its first axis."""
    first, *others = axes_of("at", ndim)
    size = f" * {format.texel_bytes}" if format.texel_bytes > 1 else ""
    return ", ".join([f"{first}{size}", *others, border])


def _load(language: Language, format: TexelFormat, ndim: int, read: str, border: str) -> Function:
    names = ["texel"] if format.channels == 1 else [f"texel.{letter}" for letter in COMPONENTS[: format.channels]]
    vector = _vector(format)
    channels = channels_of(format, _read, names)
    return (
        name_of(language, Tensor((4,), format.element)),
        [f"{language.texture_handles[1]} image", f"{name_of(language, position_type(i32, ndim))} at"],
        [
            *read.format(vector=vector, ndim=ndim, at=_position(format, ndim, border)).split("\n"),
            f"return {texel_of(language, format.element, channels)};",
        ],
    )


def _store(language: Language, format: TexelFormat, ndim: int, border: str) -> Function:
    values = [_stored(language, format, f"value.{letter}") for letter in COMPONENTS[: format.channels]]
    vector = _vector(format)
    lines = [f"{vector} texel = {values[0]};"]
    if format.channels > 1:
        lines = [f"{vector} texel;"]
        lines += [f"texel.{letter} = {value};" for letter, value in zip(COMPONENTS, values, strict=False)]
    return (
        "void",
        [
            f"{language.texture_handles[1]} image",
            f"{name_of(language, position_type(i32, ndim))} at",
            f"{name_of(language, Tensor((4,), format.element))} value",
        ],
        [*lines, f"surf{ndim}Dwrite(texel, image, {_position(format, ndim, border)});"],
    )


def _sampled(language: Language, what: str, element: Scalar, ndim: int) -> Function:
    vector = {"f32": "float4", "i32": "int4", "u32": "uint4"}[element.name]
    position, tensor = axes_of("at", ndim), Tensor((4,), element)
    one = {"f32": "1.0f", "i32": "1", "u32": "1u"}[element.name]
    channels = ["texel.x", "texel.y", "texel.z", f"channels < 4 ? {one} : texel.w"]
    if what == "fetch":  # an object with coordinates in texels, whose centres are at 0.5
        position = [f"{axis} + 0.5f" for axis in position]
    return (
        name_of(language, tensor),
        [
            f"{language.texture_handles[0]} texture",
            "int channels",
            f"{name_of(language, position_type(f32 if what == 'sample' else i32, ndim))} at",
        ],
        [
            f"{vector} texel = tex{ndim}D<{vector}>(texture, {', '.join(position)});",
            return_source(language, tensor, channels),
        ],
    )
