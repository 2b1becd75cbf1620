"""Textures of devices whose memory is this process's: one allocation, a `DESCRIPTOR` and behind it the texels.

Kernels of the C target and the interpreter get the descriptor's address, and read from it where the texels lie, how
they are stored and how they are sampled.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...transpiler.ir.textures import DESCRIPTOR, descriptor
from .device import Allocation
from .textures import TextureSpec, choose_filter

DESCRIPTOR_BYTES = -(-DESCRIPTOR.itemsize // 64) * 64
"""Where texels begin: at a cache line of their own."""


class TextureInMemory:
    """A descriptor and texels in host memory. allocation: of both."""

    __slots__ = ("address", "allocation", "filter", "sampled", "spec", "storage", "texels")

    def __init__(self, spec: TextureSpec, allocate: Callable[[int], Any]) -> None:
        self.spec = spec
        self.filter = choose_filter(spec, True, "this device")
        self.allocation = allocate(DESCRIPTOR_BYTES + spec.size_bytes)
        address: int = self.allocation.address
        made = descriptor(
            address + DESCRIPTOR_BYTES, spec.shape, spec.format, self.filter == "linear", spec.address_modes
        )
        ctypes.memmove(address, made.tobytes(), made.nbytes)
        self.sampled = self.texels = self.storage = self.address = address


def copy_in(source: Allocation, texture: TextureInMemory) -> None:
    """Set all texels from an allocation, where they lie packed."""
    ctypes.memmove(texture.allocation.address + DESCRIPTOR_BYTES, source.address, texture.spec.size_bytes)


def copy_out(texture: TextureInMemory, destination: Allocation) -> None:
    """Copy all texels likewise into an allocation."""
    ctypes.memmove(destination.address, texture.allocation.address + DESCRIPTOR_BYTES, texture.spec.size_bytes)
