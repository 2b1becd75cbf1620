"""Checks of the arguments of `ti.GUI`'s drawing calls: positions, radii, colours. `user`: the method, for errors."""

from __future__ import annotations

import os
from operator import index as as_index
from typing import Any

import numpy as np

from .images import look_at

Array = np.ndarray[Any, Any]


def to_size(res: Any) -> tuple[int, int]:
    """Return (width, height) of a number of pixels, or two. Raises: ValueError for other values."""
    try:
        width, height = (res, res) if np.ndim(res) == 0 else res
        size = as_index(width), as_index(height)
    except (TypeError, ValueError):
        size = (0, 0)
    if min(size) < 1:
        raise ValueError(f"`res` is a number of pixels, or (width, height) as integers above 0; found {res!r}")
    return size


def to_switch(name: str, value: bool) -> bool:
    """Return the value of SHADESMITH_<name>, or else of TI_<name> (0 or 1), or else `value`."""
    setting = os.environ.get(f"SHADESMITH_{name}") or os.environ.get(f"TI_{name}")
    return bool(int(setting)) if setting else bool(value)


def to_array(values: Any, user: str) -> Array:
    """Return an array of numbers. Raises: ValueError for other values."""
    found = look_at(values)
    array = np.asarray(values) if found is None else found
    if array.dtype.kind not in "biuf":
        raise ValueError(f"GUI.{user} takes an array of numbers, and a {type(values).__name__} was given")
    return array


def to_points(values: Any, user: str) -> Array:
    """Return positions, shape (n, 2). Raises: ValueError for other shapes."""
    points = to_array(values, user)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"GUI.{user} takes arrays of shape (n, 2); found {points.shape}")
    return points


def to_point(value: Any, user: str) -> Array:
    """Return one position, shape (1, 2); further components are ignored. Raises: ValueError for less than two."""
    point = np.array([float(component) for component in value])
    if len(point) < 2:
        raise ValueError(f"GUI.{user} takes positions of two numbers; found {value}")
    return point[None, :2]


def to_radii(radius: Any, count: int, user: str) -> Array:
    """Return radii, shape (count,). Raises: ValueError for a wrong number of them."""
    radii = to_array(radius, user).astype(np.float32)
    if radii.ndim and radii.size != count:
        raise ValueError(f"`radius` of GUI.{user} is a number, or one for each of {count}; found shape {radii.shape}")
    return np.broadcast_to(radii.reshape(-1), (count,))


def to_rgba(color: Any, count: int, user: str) -> Array:
    """Return colours, shape (1, 4) or (count, 4), from 0 to 1. Raises: ValueError for non-integers, a wrong number."""
    colors = to_array(color, user)
    if colors.dtype.kind not in "iu":
        raise ValueError(f"`color` of GUI.{user} is made of integers 0xRRGGBB; found {colors.dtype}")
    if colors.ndim and colors.size != count:
        raise ValueError(f"`color` of GUI.{user} is one colour, or one for each of {count}; found shape {colors.shape}")
    value = colors.reshape(-1, 1).astype(np.int64) >> np.array([16, 8, 0]) & 255
    rgba = np.ones((len(value), 4), np.float32)
    np.divide(value, 255, out=rgba[:, :3], casting="unsafe")
    return rgba


def to_palette_colors(palette: Any, indices: Any, count: int) -> Array:
    """Return the colours of `palette` at `indices`, (count,). Raises: ValueError if they do not match."""
    if indices is None:
        raise ValueError("palette must be used together with palette_indices")
    colors, chosen = to_array(palette, "circles"), to_array(indices, "circles")
    if chosen.shape != (count,) or chosen.dtype.kind not in "iu":
        raise ValueError(
            f"palette_indices must be integers, one for each of {count} circles; found {chosen.dtype}, {chosen.shape}"
        )
    if count and not (chosen.min() >= 0 and chosen.max() < len(colors)):
        raise ValueError(
            f"the max of palette_indices must not exceed the length of palette: "
            f"they go from {chosen.min()} to {chosen.max()}, and it has {len(colors)} colours"
        )
    return colors[chosen]


def check_lengths(user: str, *arrays: Array) -> None:
    """Check that all arrays have the same length. Raises: ValueError if not."""
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(f"GUI.{user} takes arrays of equal lengths; found {', '.join(map(str, lengths))}")


def rgb_to_hex(c: Any) -> Any:
    """Return 0xRRGGBB of `c`: red, green and blue between 0 and 1 (numbers or arrays).

    Example:
        >>> hex(ti.rgb_to_hex((1.0, 0.0, 0.0)))
        '0xff0000'
    """
    red, green, blue = (np.clip(np.asarray(part) * 255, 0, 255).astype(np.int64) for part in c)
    result = (red << 16) + (green << 8) + blue
    return int(result) if np.ndim(result) == 0 else result


def hex_to_rgb(color: int) -> tuple[float, float, float]:
    """Return red, green and blue between 0 and 1 of `color`, 0xRRGGBB.

    Example:
        >>> ti.hex_to_rgb(0xFF0000)
        (1.0, 0.0, 0.0)
    """
    return ((color >> 16 & 255) / 255, (color >> 8 & 255) / 255, (color & 255) / 255)
