"""Textures: the formats of texels as a table, texture parameters, and the statements that read and write texels.

A texture has 1 to 3 axes and one level. A kernel sees a texel as a vector of 4: of f32 if the format consists of floats
or numbers scaled to [0, 1], of u32 or i32 if it consists of integers. Missing channels read as 0, a missing alpha as 1.
`backend/interpret/texels.py` defines the semantics of the statements; `backend/print/textures.py` prints them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from ..lazy_dataclasses import dataclass
from .nodes import Effect, Statement, operands
from .types import SCALARS, Scalar, Tensor, f32, i32, u32

ELEMENTS: dict[str, Scalar] = {"unorm": f32, "srgb": f32, "float": f32, "depth": f32, "uint": u32, "int": i32}
"""Type of a component in a kernel, by kind of format."""

CHANNELS = ("unorm8", "unorm16", "srgb8", "u8", "u16", "u32", "i8", "i16", "i32", "f16", "f32")
"""Representation of a channel in memory; the index is its number in the descriptor of the C target."""

ADDRESS_MODES = ("repeat", "mirrored_repeat", "clamp_to_edge", "clamp_to_border")
"""What a sample outside [0, 1] reads; the border is 0. The index is the number in the descriptor."""

DESCRIPTOR = np.dtype(
    [
        ("data", np.uint64),
        ("extents", np.int32, 3),
        ("channels", np.int32),
        ("channel", np.int32),
        ("swapped", np.int32),
        ("linear", np.int32),
        ("address", np.int32, 3),
    ],
)
"""Target of a texture argument of C and the interpreter: `struct Texture` of `templates/c/lib/texture.h`."""


@dataclass(frozen=True, slots=True)
class TexelFormat:
    """An entry of `FORMATS`.

    Attributes:
        name: Taichi's name.
        number: Taichi's value of `ti.Format`.
        kind: "unorm", "srgb", "uint", "int", "float" or "depth".
        channel: the number type in memory.
        channels: how many there are.
        is_swapped: blue is the first channel.
    """

    name: str
    number: int
    kind: str
    channel: Scalar
    channels: int
    is_swapped: bool = False

    @property
    def element(self) -> Scalar:
        """Type of a component in a kernel."""
        return ELEMENTS[self.kind]

    @property
    def texel_bytes(self) -> int:
        """Size of a texel in memory."""
        return self.channels * self.channel.size_bytes

    @property
    def channel_code(self) -> int:
        """Index of the channel in `CHANNELS`. Raises: ValueError for depth with a stencil."""
        prefix = self.kind if self.kind in ("unorm", "srgb") else self.channel.name[0]
        return CHANNELS.index(f"{prefix}{self.channel.bits}")

    @property
    def is_storage(self) -> bool:
        """Whether kernels may store to it: GLSL has no images of three channels, of sRGB, of BGRA or of depth."""
        return self.kind in ("unorm", "uint", "int", "float") and self.channels != 3 and not self.is_swapped


def _color(first: int, suffix: str, kind: str, channel: Scalar, counts: tuple[int, ...]) -> list[TexelFormat]:
    """Return the formats of one number type: r8, rg8, rgba8."""
    return [
        TexelFormat(f"{'rgba'[:count]}{channel.bits}{suffix}", first + k, kind, channel, count)
        for k, count in enumerate(counts)
    ]


_u8, _u16, _f16 = SCALARS["u8"], SCALARS["u16"], SCALARS["f16"]
FORMATS: dict[str, TexelFormat] = {
    entry.name: entry
    for entry in (
        *_color(1, "", "unorm", _u8, (1, 2, 4)),
        TexelFormat("rgba8srgb", 4, "srgb", _u8, 4),
        TexelFormat("bgra8", 5, "unorm", _u8, 4, True),
        TexelFormat("bgra8srgb", 6, "srgb", _u8, 4, True),
        *_color(7, "u", "uint", _u8, (1, 2, 4)),
        *_color(10, "i", "int", SCALARS["i8"], (1, 2, 4)),
        *_color(13, "", "unorm", _u16, (1, 2, 3, 4)),
        *_color(17, "u", "uint", _u16, (1, 2, 3, 4)),
        *_color(21, "i", "int", SCALARS["i16"], (1, 2, 3, 4)),
        *_color(25, "f", "float", _f16, (1, 2, 3, 4)),
        *_color(29, "u", "uint", u32, (1, 2, 3, 4)),
        *_color(33, "i", "int", i32, (1, 2, 3, 4)),
        *_color(37, "f", "float", f32, (1, 2, 3, 4)),
        TexelFormat("depth16", 41, "depth", _u16, 1),
        TexelFormat("depth24stencil8", 42, "depth", u32, 1),
        TexelFormat("depth32f", 43, "depth", f32, 1),
    )
}
"""The formats of `ti.Format` except `unknown`. Source: names and values of Taichi 1.7.4."""


def format_of(channel: Scalar, channels: int) -> TexelFormat | None:
    """Return the format that Taichi 1.2 denoted by its channels: integers of 8 and 16 bits are scaled to [0, 1]."""
    kinds = ("unorm", "uint", "int", "float")
    entries = (entry for kind in kinds for entry in FORMATS.values() if entry.kind == kind and not entry.is_swapped)
    return next((entry for entry in entries if (entry.channel, entry.channels) == (channel, channels)), None)


def descriptor(
    address: int, shape: tuple[int, ...], format: TexelFormat, linear: bool, modes: tuple[str, ...]
) -> np.ndarray[tuple[()], np.dtype[np.void]]:
    """Return a `DESCRIPTOR` of texels at `address`. modes: address modes, one per axis."""
    record = np.zeros((), DESCRIPTOR)
    record["data"] = address
    record["extents"] = (*shape, 1, 1)[:3]
    record["channels"], record["channel"] = format.channels, format.channel_code
    record["swapped"], record["linear"] = format.is_swapped, linear
    record["address"] = [ADDRESS_MODES.index(mode) for mode in (*modes, "clamp_to_edge", "clamp_to_edge")[:3]]
    return record


@dataclass(eq=False, slots=True)
class Texture:
    """A texture parameter.

    Attributes:
        name: identifier in the emitted source.
        ndim: number of axes.
        binding: index among the kernel's textures.
        parameter: position in the signature.
        element: component type of its texels in the kernel.
        format: of a storage texture, a name in `FORMATS`; None for a sampled one, whose format comes with each launch.
        lod: the mip level of loads and stores.
    """

    name: str
    ndim: int
    binding: int
    parameter: int
    element: Scalar
    format: TexelFormat | None = None
    lod: int = 0

    @property
    def shape(self) -> None:
        """None: the extents come with each launch, as for an ndarray."""
        return None

    @property
    def texel(self) -> Tensor:
        """Type of a texel in the kernel."""
        return Tensor((4,), self.element)

    @property
    def is_storage(self) -> bool:
        """Whether the kernel loads and stores texels, instead of sampling."""
        return self.format is not None


@dataclass(eq=False, slots=True)
class TextureSample(Statement):
    """The texture at a coordinate, 0 to 1 along each axis, with its own filter and address modes (Taichi: TextureOp).

    coordinate: f32, or a vector of f32 for 2 and more axes. lod: f32.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("coordinate", "lod")
    EFFECT: ClassVar[int] = Effect.READ
    texture: Texture
    coordinate: Statement
    lod: Statement


@dataclass(eq=False, slots=True)
class TextureFetch(Statement):
    """One texel of a sampled texture. coordinate: i32, or a vector of i32 for 2 and more axes. lod: i32."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("coordinate", "lod")
    EFFECT: ClassVar[int] = Effect.READ
    texture: Texture
    coordinate: Statement
    lod: Statement


@dataclass(eq=False, slots=True)
class ImageLoad(Statement):
    """One texel of a storage texture; 0 outside. coordinate: as for TextureFetch."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("coordinate",)
    EFFECT: ClassVar[int] = Effect.READ
    texture: Texture
    coordinate: Statement


@dataclass(eq=False, slots=True)
class ImageStore(Statement):
    """Stores a texel, rounded to the format; no effect out of bounds. coordinate: as for TextureFetch."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("coordinate", "value")
    EFFECT: ClassVar[int] = Effect.WRITE
    texture: Texture
    coordinate: Statement
    value: Statement


TextureStatement = TextureSample | TextureFetch | ImageLoad | ImageStore
TEXTURE_STATEMENTS = (TextureSample, TextureFetch, ImageLoad, ImageStore)
TEXEL_READS = (TextureSample, TextureFetch, ImageLoad)
"""Statements that read; a store to any texture may change their result, since one texture may be passed twice."""
STATEMENT_NAMES: dict[type[Statement], str] = {
    TextureSample: "sample",
    TextureFetch: "fetch",
    ImageLoad: "image load",
    ImageStore: "image store",
}
"""Names of the statements in the text form of the IR."""


def format_texture(statement: Statement, refs: Callable[[list[Statement]], str]) -> str | None:
    """Return the text form of a statement of this module, None for others. refs: the text of operands."""
    if isinstance(statement, TEXTURE_STATEMENTS):
        return f"{STATEMENT_NAMES[type(statement)]} {statement.texture.name} ({refs(operands(statement))})"
    return None


def describe_texture(texture: Texture) -> str:
    """Return a texture's type as the IR shows it: `texture[f32, 2]`, `rw_texture[rgba8, 2]`."""
    kind = f"texture[{texture.element}" if texture.format is None else f"rw_texture[{texture.format.name}"
    return f"{kind}, {texture.ndim}]"
