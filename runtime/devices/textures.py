"""What a texture is to a device: texels in an order the hardware chooses, read through a filter.

In: `TextureSpec`. Out: `TextureMemory`, whose numbers a launcher packs. Texels come and go by allocations, in which
they lie packed, x fastest: texel (x, y, z) is number (z * height + y) * width + x.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Protocol

from ...transpiler.errors import UnsupportedError

if TYPE_CHECKING:
    from ...transpiler.ir.textures import TexelFormat

FILTERS = ("linear", "nearest")


@dataclass(frozen=True, slots=True)
class TextureSpec:
    """What is asked for.

    shape: (width,), (width, height) or (width, height, depth). filter: of `FILTERS`; None: linear where the device can,
    nearest for integers and where it cannot. address_modes: one an axis, of `ADDRESS_MODES`.
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
        """Width, height, depth; 1 where there is no axis."""
        width, height, depth = (*self.shape, 1, 1)[:3]
        return width, height, depth

    @property
    def is_integer(self) -> bool:
        """Whether kernels see integers, between which nothing can be interpolated."""
        return self.format.kind in ("int", "uint")


class TextureMemory(Protocol):
    """A texture of a device, zeroed when made.

    filter: the one it is sampled with. sampled, texels, storage: what goes into `Args` where a kernel samples it,
    fetches from it, loads and stores: 0 where the device takes no number. address: of its memory, 0 where that is the
    device's own affair.
    """

    spec: TextureSpec
    filter: str
    sampled: int
    texels: int
    storage: int
    address: int


def lacks_format(spec: TextureSpec, where: str) -> UnsupportedError:
    """Return the error for a device, `where`, that has no textures of a format."""
    name = spec.format.name
    if spec.format.channels == 3:
        hint = f"use ti.Format.{name.replace('rgb', 'rgba')}, as GPUs store three channels in the room of four"
    elif spec.format.is_swapped:
        hint = f"use ti.Format.{name.replace('bgra', 'rgba')}"
    else:
        hint = "use ti.Format.rgba8 or ti.Format.rgba32f, which every device has"
    return UnsupportedError(f"{where} has no textures of ti.Format.{name}.", hint)


def choose_filter(spec: TextureSpec, can_interpolate: bool, where: str) -> str:
    """Return the filter of a texture. Raises: UnsupportedError where linear was asked for and cannot be."""
    if can_interpolate and not spec.is_integer:
        return spec.filter or "linear"
    if spec.filter == "linear":
        why = "integers are not interpolated" if spec.is_integer else f"{where} does not interpolate it"
        raise UnsupportedError(
            f'a texture of ti.Format.{spec.format.name} has no filter="linear": {why}.', 'filter="nearest"'
        )
    return "nearest"
