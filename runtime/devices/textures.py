"""Textures of devices: texels in an order that the hardware chooses, read through a filter.

In: `TextureSpec`. Out: `TextureMemory`, whose handles a launcher packs. Copies go through allocations, in which texels
are packed with x fastest: texel (x, y, z) is number (z * height + y) * width + x.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Protocol

from ...transpiler.errors import UnsupportedError
from ...transpiler.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from ...transpiler.ir.textures import TexelFormat

FILTERS = ("linear", "nearest")


@dataclass(frozen=True, slots=True)
class TextureSpec:
    """The properties of a requested texture.

    shape: (width,), (width, height) or (width, height, depth).
    filter: one of `FILTERS`; None: linear if the device supports it for the format, else nearest.
    address_modes: one of `ADDRESS_MODES` for each axis.
    """

    format: TexelFormat
    shape: tuple[int, ...]
    filter: str | None
    address_modes: tuple[str, ...]

    @property
    def size_bytes(self) -> int:
        """Size of all texels, packed."""
        return prod(self.shape) * self.format.texel_bytes

    @property
    def extents(self) -> tuple[int, int, int]:
        """Width, height, depth; 1 for a missing axis."""
        width, height, depth = (*self.shape, 1, 1)[:3]
        return width, height, depth

    @property
    def is_integer(self) -> bool:
        """Whether kernels read integers, which cannot be interpolated."""
        return self.format.kind in ("int", "uint")


class TextureMemory(Protocol):
    """A texture of a device, zeroed when made.

    filter: used for sampling.
    sampled, texels, storage: handles in `Args` for a kernel that samples it, fetches texels, or loads and stores; 0 if
      the device takes no handle.
    address: of its memory, 0 if the device does not expose it.
    """

    spec: TextureSpec
    filter: str
    sampled: int
    texels: int
    storage: int
    address: int


def lacks_format(spec: TextureSpec, where: str) -> UnsupportedError:
    """Return the error for a device, `where`, that does not support a texture format."""
    name = spec.format.name
    if spec.format.channels == 3:
        hint = f"use ti.Format.{name.replace('rgb', 'rgba')}, as GPUs store three channels in the space of four"
    elif spec.format.is_swapped:
        hint = f"use ti.Format.{name.replace('bgra', 'rgba')}"
    else:
        hint = "use ti.Format.rgba8 or ti.Format.rgba32f, which every device has"
    return UnsupportedError(f"{where} has no textures of ti.Format.{name}.", hint)


def choose_filter(spec: TextureSpec, can_interpolate: bool, where: str) -> str:
    """Return the filter of a texture. Raises: UnsupportedError if linear was requested and is not supported."""
    if can_interpolate and not spec.is_integer:
        return spec.filter or "linear"
    if spec.filter == "linear":
        why = "integers are not interpolated" if spec.is_integer else f"{where} does not interpolate it"
        raise UnsupportedError(
            f'a texture of ti.Format.{spec.format.name} has no filter="linear": {why}.', 'filter="nearest"'
        )
    return "nearest"
