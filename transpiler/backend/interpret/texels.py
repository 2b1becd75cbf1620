"""Semantics of reading and writing texels, on NumPy arrays: for the interpreter, and for Python scope on host memory.

In: a texture as its descriptor (`ir.textures.DESCRIPTOR`) and memory. Out: texels as vectors of 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ...ir.textures import ADDRESS_MODES, CHANNELS, TexelFormat
from ...ir.types import Scalar, f32

Texel = np.ndarray[tuple[int], np.dtype[Any]]
MEMORY = {"unorm8": "u1", "unorm16": "u2", "srgb8": "u1", "u8": "u1", "u16": "u2", "u32": "u4", "i8": "i1", "i16": "i2",
          "i32": "i4", "f16": "f2", "f32": "f4"}  # fmt: skip
"""Channel -> NumPy's name of its type in memory."""


class TexelArray:
    """Texels in host memory. texels: (depth, height, width, channels); extents: width, height, depth."""

    def __init__(
        self, descriptor: Any, view: Callable[[int, np.dtype[Any], tuple[int, ...]], np.ndarray[Any, Any]]
    ) -> None:
        """Read a descriptor. view: returns the array of a type and shape at an address."""
        self.extents = [int(extent) for extent in descriptor["extents"]]
        self.channel = CHANNELS[descriptor["channel"]]
        self.channels, self.is_swapped = int(descriptor["channels"]), bool(descriptor["swapped"])
        self.is_linear = bool(descriptor["linear"])
        self.modes = [ADDRESS_MODES[mode] for mode in descriptor["address"]]
        dtype = np.dtype(MEMORY[self.channel])
        shape = (*reversed(self.extents), self.channels)
        self.texels = view(int(descriptor["data"]), dtype, shape)

    def fetch(self, position: Sequence[int], element: Scalar) -> Texel:
        """Return the texel at (x, y, z), 0 outside the texture."""
        texel = np.zeros(4, element.numpy)
        if not self._is_inside(position):
            return texel
        stored = self.texels[tuple(reversed(_three(position, 0)))]
        texel[3] = 1
        texel[: self.channels] = [self._decoded(value, k) for k, value in enumerate(stored)]
        if self.is_swapped:
            texel[[0, 2]] = texel[[2, 0]]
        return texel

    def sample(self, position: Sequence[float], element: Scalar) -> Texel:
        """Return the texture at a position, 0 to 1 along each axis: the nearest texel, or interpolated."""
        along = [np.float32(p) * np.float32(n) for p, n in zip(_three(position, 0.5), self.extents, strict=True)]
        if not self.is_linear or element != f32:
            return self.fetch(self._addressed([_floor(x) for x in along]), element)
        along = [x - np.float32(0.5) for x in along]
        low, part = [_floor(x) for x in along], [x - np.floor(x) for x in along]
        total = np.zeros(4, np.float32)
        for corner in product((0, 1), repeat=3):
            bits = tuple(reversed(corner))
            weight = prod((p if bit else 1 - p for p, bit in zip(part, bits, strict=True)), start=np.float32(1))
            if weight != 0:
                total += weight * self.fetch(self._addressed([i + bit for i, bit in zip(low, bits, strict=True)]), f32)
        return total

    def store(self, position: Sequence[int], texel: Texel, format: TexelFormat) -> None:
        """Store a texel, rounded to the format; outside the texture this does nothing."""
        if self._is_inside(position):
            self.texels[tuple(reversed(_three(position, 0)))] = encoded(texel, format)

    def _is_inside(self, position: Sequence[int]) -> bool:
        return all(0 <= i < n for i, n in zip(position, self.extents, strict=False))

    def _decoded(self, value: Any, k: int) -> Any:
        if self.channel == "unorm8":
            return np.float32(value) / np.float32(255)
        if self.channel == "unorm16":
            return np.float32(value) / np.float32(65535)
        if self.channel == "srgb8":
            x = np.float32(value) / np.float32(255)
            linear = x / np.float32(12.92) if x <= 0.04045 else ((x + np.float32(0.055)) / np.float32(1.055)) ** 2.4
            return np.float32(linear) if k < 3 else x
        return value

    def _addressed(self, position: Sequence[int]) -> list[int]:
        """Return the texel that each index addresses; -1 for the border."""
        return [_wrapped(i, n, mode) for i, n, mode in zip(position, self.extents, self.modes, strict=True)]


def encoded(texel: Texel, format: TexelFormat) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the channels of a texel as a format stores them: the nearest values that it can represent."""
    values = texel[: format.channels]
    dtype = format.channel.numpy
    if format.kind == "unorm":
        inside = np.clip(np.nan_to_num(values, nan=0.0), np.float32(0), np.float32(1))
        values = np.rint(inside * np.float32(np.iinfo(dtype).max))
    elif format.kind != "float":
        values = np.clip(values, np.iinfo(dtype).min, np.iinfo(dtype).max)
    channels: np.ndarray[Any, np.dtype[Any]] = values.astype(dtype)
    return channels


def _three(position: Sequence[Any], missing: Any) -> list[Any]:
    return [*position, missing, missing][:3]


def _floor(x: Any) -> int:
    return int(np.floor(min(max(x, -1e9), 1e9))) if x == x else -(10**9)


def _wrapped(i: int, n: int, mode: str) -> int:
    if mode == "repeat":
        return i % n
    if mode == "mirrored_repeat":
        rest = i % (2 * n)
        return rest if rest < n else 2 * n - 1 - rest
    if mode == "clamp_to_edge":
        return min(max(i, 0), n - 1)
    return i if 0 <= i < n else -1
