"""Generates the functions with which C and CUDA read and write texels; GLSL has built-in ones.

Keys: "texel load rgba8 2", "texel store rgba8 2" (a format and the number of axes), "texel sample f32 2", "texel fetch
f32 2" (the type of a component). CUDA reads raw texels through surfaces, so the function converts them according to the
format; C does so in memory that `templates/c/lib/texture.h` describes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from ....ir.textures import FORMATS, TexelFormat
from ....ir.types import SCALARS, Scalar, Tensor, Type, f32, i32
from .helpers import called
from .language import Language
from .syntax_forms import Generated
from .tensors import init_source, type_keys


def key_of(what: str, kind: str, ndim: int) -> str:
    """Return the key of a function. what: "load", "store", "sample" or "fetch". kind: a format, or a component."""
    return f"texel {what} {kind} {ndim}"


def name_in(key: str) -> str:
    """Return the name of the function of `key`: load_rgba8_2d, sample_2d, fetch_3d_u32."""
    _, what, kind, ndim = key.split(" ")
    if what in ("load", "store"):
        return f"{what}_{kind}_{ndim}d"
    return f"{what}_{ndim}d" if kind == "f32" else f"{what}_{ndim}d_{kind}"


@lru_cache(maxsize=512)
def generate(language: Language, key: str) -> Generated:
    """Return the function of `key`."""
    _, what, kind, axes = key.split(" ")
    ndim = int(axes)
    result, parameters, lines = language.texel_helper(language, what, kind, ndim)
    head = f"{language.helper_qualifier}{result} {name_in(key)}({', '.join(parameters)}) {{"
    comment = _comment(what, kind, ndim)
    source = "\n".join([comment, head, *(f"    {line}" for line in lines), "}"])
    body = "\n".join([head, *lines])
    return Generated(name_in(key), source, (*_types(language, what, kind, ndim), *called(language, body)))


def _comment(what: str, kind: str, ndim: int) -> str:
    if what == "load":
        return f"// A texel of format {kind}; 0 outside the texture."
    if what == "store":
        return f"// Store a texel in format {kind}; outside the texture this does nothing."
    if what == "fetch":
        return "// A texel; 0 outside the texture."
    return "// The texture at a position, 0 to 1 along each axis, with its filter and address modes."


def _types(language: Language, what: str, kind: str, ndim: int) -> tuple[str, ...]:
    element = SCALARS[kind] if kind in SCALARS else FORMATS[kind].element
    position = position_type(f32 if what == "sample" else i32, ndim)
    types: list[Type] = [Tensor((4,), element), position, element]
    return tuple(dict.fromkeys(key for type in types for key in type_keys(language, type)))


def position_type(element: Scalar, ndim: int) -> Type:
    """Return the type of a position in a texture."""
    return element if ndim == 1 else Tensor((ndim,), element)


def axes_of(name: str, ndim: int) -> list[str]:
    """Return the source of the coordinates of a position."""
    return [name] if ndim == 1 else [f"{name}.{letter}" for letter in "xyz"[:ndim]]


def texel_of(language: Language, element: Scalar, channels: Sequence[str]) -> str:
    """Return a texel made of the channels that a format has: 0 for missing ones, 1 for missing alpha."""
    missing = {"f32": ("0.0f", "1.0f"), "u32": ("0u", "1u"), "i32": ("0", "1")}[element.name]
    channels = [*channels, *[missing[0]] * 3][:3] + [channels[3] if len(channels) == 4 else missing[1]]
    return init_source(language, Tensor((4,), element), channels)


def greatest_of(channel: Scalar) -> str:
    """Return the number that represents 1.0 in a channel."""
    return f"{(1 << channel.bits) - 1}.0f"


def channels_of(format: TexelFormat, read: Callable[[TexelFormat, str], str], channels: Iterable[str]) -> list[str]:
    """Return the components of a texel, converted from its channels in memory."""
    return [
        f"{source} / {greatest_of(format.channel)}" if format.kind == "unorm" else read(format, source)
        for source in channels
    ]
