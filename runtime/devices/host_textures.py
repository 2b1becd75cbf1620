"""Textures of devices that use host memory: one allocation of a `DESCRIPTOR` followed by the texels.

Kernels of the C target and the interpreter get the descriptor's address, and read from it the address of the texels,
their format and how they are sampled.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Protocol, cast

from ...transpiler.ir.textures import DESCRIPTOR, descriptor
from .device import Allocation
from .textures import TextureMemory, TextureSpec, choose_filter

DESCRIPTOR_BYTES = -(-DESCRIPTOR.itemsize // 64) * 64
"""Offset of the texels, which start at a cache line."""


class TextureInMemory:
    """A descriptor and texels in host memory. allocation: of both."""

    __slots__ = ("address", "allocation", "filter", "sampled", "spec", "storage", "texels")

    def __init__(self, spec: TextureSpec, allocate: Callable[[int], Any]) -> None:
        self.spec = spec
        self.filter = choose_filter(spec, True, "this device")
        self.allocation = allocate(DESCRIPTOR_BYTES + spec.size_bytes)
        address: int = self.allocation.address
        record = descriptor(
            address + DESCRIPTOR_BYTES, spec.shape, spec.format, self.filter == "linear", spec.address_modes
        )
        ctypes.memmove(address, record.tobytes(), record.nbytes)
        self.sampled = self.texels = self.storage = self.address = address


class MemoryDevice(Protocol):
    """The part of a device that its textures need."""

    def allocate(self, size_bytes: int) -> Any:
        """Return zeroed memory."""

    def free(self, allocation: Any) -> None:
        """Free memory."""


class HoldsTextures:
    """The part of such a device that makes textures."""

    def make_texture(self: MemoryDevice, spec: TextureSpec) -> TextureInMemory:
        """Make a texture of zeros, of any format. Raises: OutOfMemory."""
        return TextureInMemory(spec, self.allocate)

    def free_texture(self: MemoryDevice, texture: TextureMemory) -> None:
        """Free a texture."""
        self.free(cast(TextureInMemory, texture).allocation)

    def copy_to_texture(self, source: Allocation, texture: TextureMemory) -> None:
        """Set all texels from an allocation of packed texels."""
        ctypes.memmove(_texels_of(texture), source.address, texture.spec.size_bytes)

    def copy_from_texture(self, texture: TextureMemory, destination: Allocation) -> None:
        """Copy all texels into an allocation, packed."""
        ctypes.memmove(destination.address, _texels_of(texture), texture.spec.size_bytes)


def _texels_of(texture: TextureMemory) -> int:
    return int(cast(TextureInMemory, texture).allocation.address) + DESCRIPTOR_BYTES
