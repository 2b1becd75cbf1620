"""The cells of a picture that discs, lines and triangles cover, and the fraction covered.

In: many shapes of a kind at once, in cells (the lower left corner is (0, 0)). Out: `Coverage`, piece by piece in the
order of the shapes. A disc covers a cell by `radius - distance` to the cell's lower left corner, a line by the same to
the cell's centre, a triangle covers the cells with their centres inside it.

Source: measured on the canvas of Taichi 1.7.4, which draws so; tests/data/record_gui.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Size = tuple[int, int]

MAX_CELLS = 1 << 20
"""Cells processed together, which limits the memory of a call to about 50 MiB; a single shape may exceed it."""
RUN = 4
"""Cells of a line's longer axis in one box: short runs keep boxes close to a slanting line."""
FAR = 1e9
"""Shapes at this distance [cells] are never visible; smaller coordinates fit into integers."""
HALF = np.float32(0.5)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Cells covered by shapes; a shape has each cell only once.

    cells: (n,) `x * height + y`. shapes: (n,) number of the shape. alpha: (n,) part covered, above 0 and up to 1.
    """

    cells: Array
    shapes: Array
    alpha: Array


def cover_discs(centers: Array, radii: Array, size: Size) -> Iterator[Coverage]:
    """Yield the coverage of discs; centers (n, 2), radii (n,)."""

    def alpha(discs: Array, x: Array, y: Array) -> Array:
        dx, dy = np.square(x - centers[discs, :1]), np.square(y - centers[discs, 1:])
        part: Array = np.minimum(radii[discs, None, None] - np.sqrt(dx[:, :, None] + dy[:, None, :]), 1)
        return part

    low = np.ceil(centers - radii[:, None])
    return _cover_boxes(np.arange(len(radii)), low, low + np.floor(2 * radii[:, None]), size, alpha)


def cover_triangles(corners: Array, size: Size) -> Iterator[Coverage]:
    """Yield the coverage of triangles; corners (n, 3, 2), either way round."""

    def alpha(triangles: Array, x: Array, y: Array) -> Array:
        sides = []
        for k in range(3):
            begin, along = corners[triangles, k], corners[triangles, (k + 1) % 3] - corners[triangles, k]
            left = along[:, :1] * (y + HALF - begin[:, 1:])
            sides.append(left[:, None, :] - (along[:, 1:] * (x + HALF - begin[:, :1]))[:, :, None])
        inside = (np.minimum.reduce(sides) >= 0) | (np.maximum.reduce(sides) <= 0)
        part: Array = inside.astype(np.float32)
        return part

    low, high = np.floor(corners.min(1)), np.floor(corners.max(1))
    return _cover_boxes(np.arange(len(corners)), low, high, size, alpha)


def cover_lines(begin: Array, end: Array, radii: Array, size: Size) -> Iterator[Coverage]:
    """Yield the coverage of lines with round ends; begin and end (n, 2), radii (n,)."""
    along = end - begin
    longer = (np.abs(along[:, 1]) > np.abs(along[:, 0])).astype(np.int64)
    lines = np.arange(len(radii))
    low, high = (limit(begin[lines, longer], end[lines, longer]) for limit in (np.minimum, np.maximum))
    slope = along[lines, 1 - longer] / np.where(along[lines, longer] == 0, 1, along[lines, longer])
    first = np.maximum(np.ceil(low - radii - HALF), 0)
    last = np.minimum(np.floor(high + radii - HALF), np.array(size)[longer] - 1)
    runs = np.nan_to_num(np.maximum(np.ceil((last - first + 1) / RUN), 0)).astype(np.int64)

    def middle(line: Array, cell: Array) -> Array:
        """Return the coordinate of a line on the shorter axis, at a cell of the longer one."""
        position = np.clip(cell + HALF, low[line], high[line]) - begin[line, longer[line]]
        at: Array = begin[line, 1 - longer[line]] + slope[line] * position
        return at

    def alpha(line: Array, x: Array, y: Array) -> Array:
        direction, p = along[line], begin[line]
        x, y = (x + HALF - p[:, :1])[:, :, None], (y + HALF - p[:, 1:])[:, None, :]
        dx, dy = direction[:, 0, None, None], direction[:, 1, None, None]
        along_line = np.clip((x * dx + y * dy) / np.maximum(dx * dx + dy * dy, np.float32(1e-30)), 0, 1)
        part: Array = np.minimum(radii[line, None, None] - np.hypot(x - along_line * dx, y - along_line * dy), 1)
        return part

    for chunk in _chunks(runs):
        line = np.repeat(lines[chunk], runs[chunk])
        number = np.arange(len(line)) - np.repeat(np.cumsum(runs[chunk]) - runs[chunk], runs[chunk])
        run = first[line] + number * RUN, np.minimum(first[line] + number * RUN + RUN - 1, last[line])
        ends = np.stack([middle(line, run[0]), middle(line, run[1])])
        reach = radii[line] * np.sqrt(1 + slope[line] ** 2) + HALF
        rows = np.ceil(ends.min(0) - reach), np.floor(ends.max(0) + reach)
        steep = longer[line, None] == 1
        least, most = (np.where(steep, np.stack([b, a], 1), np.stack([a, b], 1)) for a, b in zip(run, rows))
        yield from _cover_boxes(line, least, most, size, alpha)


def _cover_boxes(
    shapes: Array, low: Array, high: Array, size: Size, alpha: Callable[[Array, Array, Array], Array]
) -> Iterator[Coverage]:
    """Yield the coverage of shapes (n,) in boxes, cells `low` to `high` inclusive, (n, 2); boxes of one do not overlap.

    alpha: of shapes (k,), columns (k, w) and rows (k, h), the part covered (k, w, h).
    """
    seen = ((high >= 0) & (low < size) & (high >= low) & (np.abs(low) < FAR) & (np.abs(high) < FAR)).all(1)
    shapes, low = shapes[seen], np.maximum(low[seen], 0).astype(np.int64)
    extents = _rounded(np.minimum(high[seen], np.array(size) - 1).astype(np.int64) - low + 1)
    kinds = extents[:, 0] << 32 | extents[:, 1]
    for chunk in _chunks(extents.prod(1)):
        parts = []
        for kind in np.unique(kinds[chunk]).tolist():
            chosen = np.flatnonzero(kinds[chunk] == kind) + chunk.start
            parts.append(_cover_equal_boxes(shapes[chosen], low[chosen], (kind >> 32, kind & 0xFFFFFFFF), size, alpha))
        yield (
            parts[0]
            if len(parts) == 1
            else Coverage(
                *(np.concatenate([getattr(part, name) for part in parts]) for name in ("cells", "shapes", "alpha"))
            )
        )


def _cover_equal_boxes(
    shapes: Array, low: Array, extent: Size, size: Size, alpha: Callable[[Array, Array, Array], Array]
) -> Coverage:
    """Return the coverage of shapes in boxes of one extent."""
    x, y = low[:, :1] + np.arange(extent[0]), low[:, 1:] + np.arange(extent[1])
    part = alpha(shapes, x.astype(np.float32), y.astype(np.float32))
    if (x[:, -1] >= size[0]).any() or (y[:, -1] >= size[1]).any():
        part *= (x < size[0])[:, :, None] & (y < size[1])[:, None, :]
    found = np.flatnonzero(part > 0)
    cells = (x[:, :, None] * size[1] + y[:, None, :]).reshape(-1)
    return Coverage(cells[found], shapes[found // (extent[0] * extent[1])], part.reshape(-1)[found])


def _rounded(extents: Array) -> Array:
    """Return extents rounded up by a quarter at most, so that boxes have few different sizes."""
    if extents.max(initial=0) <= 8:
        return extents
    step = np.maximum(np.exp2(np.floor(np.log2(extents)) - 2), 1)
    rounded: Array = (np.ceil(extents / step) * step).astype(np.int64)
    return rounded


def _chunks(counts: Array) -> Iterator[slice]:
    """Yield slices of consecutive items whose counts add up to about `MAX_CELLS`."""
    part = np.cumsum(counts) // MAX_CELLS
    bounds = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(counts)]
    for begin, end in zip(bounds, bounds[1:]):
        if begin < end:
            yield slice(begin, end)
