"""Annotations of texture parameters, `ti.types.texture` and `ti.types.rw_texture`, and the formats of texels."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ..errors import TaichiCompilationError, as_seen_by_user
from ..ir.textures import FORMATS, TexelFormat, format_of
from ..ir.types import Scalar, f32
from ..lazy_dataclasses import dataclass
from .hooks import scalar_of

VALUES = {"unknown": 0} | {row.name: row.number for row in FORMATS.values()}
Format: Any = IntEnum("Format", VALUES, module=__name__)  # type: ignore[misc]  # members are those of the table
Format.__doc__ = "Formats of texels, `ti.Format.rgba8` and others; names and values are Taichi's."

STORED = ", ".join(row.name for row in FORMATS.values() if row.is_storage)


def _error(message: str, hint: str) -> Exception:
    return as_seen_by_user(TaichiCompilationError(message, hint))


def format_row(format: Any) -> TexelFormat:
    """Return the table entry of a `ti.Format`. Raises: TaichiCompilationError for other objects."""
    entry = FORMATS.get(getattr(format, "name", ""))
    if entry is None:
        raise _error(f"{format!r} is not a texture format", "write `ti.Format.rgba8`")
    return entry


def legacy_format(num_channels: int | None, channel_format: Any) -> TexelFormat:
    """Return the format of Taichi 1.2's notation. Raises: TaichiCompilationError if there is none."""
    channel = f32 if channel_format is None else scalar_of(channel_format)
    entry = format_of(channel, 4 if num_channels is None else num_channels)
    if entry is None:
        message = f"There is no format with {num_channels} channels of {channel}"
        raise _error(message, "write `fmt=ti.Format.rgba8` or another of `ti.Format`")
    return entry


def _check_axes(num_dimensions: Any) -> None:
    if not isinstance(num_dimensions, int) or not 1 <= num_dimensions <= 3:
        raise _error(
            f"A texture has 1, 2 or 3 axes, found num_dimensions={num_dimensions!r}", "write `num_dimensions=2`"
        )


@dataclass(frozen=True, slots=True)
class TextureType:
    """Annotation of a texture that is sampled or fetched from.

    num_dimensions: 1, 2 or 3.

    Example:
        >>> @ti.kernel
        ... def sample(image: ti.types.texture(num_dimensions=2)) -> ti.f32:
        ...     return image.sample_lod(ti.math.vec2(0.5, 0.5), 0.0).x
        >>> sample(ti.Texture(ti.Format.r32f, (4, 4)))
        0.0
    """

    num_dimensions: int

    def __init__(self, num_dimensions: int) -> None:  # here, since `inspect.signature` is to find the parameters
        _check_axes(num_dimensions)
        object.__setattr__(self, "num_dimensions", num_dimensions)


@dataclass(frozen=True, slots=True)
class RWTextureType:
    """Annotation of a texture whose texels are loaded and stored, in the format `fmt`.

    num_channels, channel_format: Taichi 1.2's notation of the format, `num_channels=4, channel_format=ti.u8`.
    num_dimensions: 1, 2 or 3. lod: level of detail, 0.
    Raises: TaichiSyntaxError for a format that is not known.

    Example:
        >>> @ti.kernel
        ... def fill(image: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f)):
        ...     for i, j in ti.ndrange(4, 4):
        ...         image.store(ti.Vector([i, j]), ti.Vector([1.0, 0.0, 0.0, 0.0]))
        >>> fill(ti.Texture(ti.Format.r32f, (4, 4)))
    """

    num_dimensions: int
    fmt: IntEnum
    lod: int

    def __init__(
        self,
        num_dimensions: int,
        lod: int = 0,
        fmt: Any = None,
        num_channels: int | None = None,
        channel_format: Any = None,
    ) -> None:
        _check_axes(num_dimensions)
        if isinstance(fmt, Scalar):  # (num_dimensions, num_channels, channel_format, lod), by position in Taichi 1.2
            lod, num_channels, channel_format, fmt = num_channels or 0, lod, fmt, None
        if fmt is None and num_channels is None and channel_format is None:
            raise _error(
                "fmt is required for rw_texture type",
                "write `ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8)`",
            )
        entry = legacy_format(num_channels, channel_format) if fmt is None else format_row(fmt)
        if not entry.is_storage:
            raise _error(f"No kernel can store to a texture of format `{entry.name}`", f"there are {STORED}")
        if lod != 0:
            raise _error(f"A texture has one level, found lod={lod!r}", "leave `lod` out")
        object.__setattr__(self, "num_dimensions", num_dimensions)
        object.__setattr__(self, "fmt", Format[entry.name])
        object.__setattr__(self, "lod", lod)

    @property
    def row(self) -> TexelFormat:
        """The table entry of the format."""
        return FORMATS[self.fmt.name]


TextureAnnotation = TextureType | RWTextureType
texture = TextureType
rw_texture = RWTextureType
