"""A picture on which shapes are painted one after the other, each over the previous ones.

In: the coverage of shapes (`raster.Coverage`) and their colours. Out: floats, shape (width, height, 4): red, green,
blue and alpha, the origin at the bottom left.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .raster import Array, Coverage

FEW = 1 / 16
"""Below this fraction of the picture the covered cells are sorted; above it, processing all cells is faster."""


def paint(picture: Array, coverages: Iterable[Coverage], colors: Array) -> None:
    """Paint shapes on a picture in the order of their numbers; colors: (n, 4), one per shape, or (1, 4) for all."""
    cells = picture.reshape(-1, 4)
    for coverage in coverages:
        if len(colors) > 1 or len(coverage.cells) < FEW * len(cells):
            _paint_in_order(cells, coverage, colors)
        else:
            # With one colour the order does not matter: what remains of a cell is a product over its shapes.
            left = np.ones(len(cells), np.float32)
            np.multiply.at(left, coverage.cells, 1 - coverage.alpha)
            covered = np.flatnonzero(left < 1)
            cells[covered] = colors + left[covered, None] * (cells[covered] - colors)


def _paint_in_order(cells: Array, coverage: Coverage, colors: Array) -> None:
    """Paint shapes of several colours, or few cells.

    A colour's weight is the coverage of its shape times the fraction that the shapes above leave; these products are
    computed as sums of logarithms over the shapes of a cell, which end at an opaque shape.
    """
    if not len(coverage.cells):
        return
    order = np.argsort((coverage.cells << 32) | coverage.shapes)
    cell, shape, alpha = coverage.cells[order], coverage.shapes[order], coverage.alpha[order]
    is_first = np.append(True, cell[1:] != cell[:-1])
    chosen, run, number = cell[is_first], np.cumsum(is_first) - 1, np.arange(len(cell))
    highest = np.maximum.reduceat(np.where(alpha >= 1, number, -1), np.flatnonzero(is_first))

    seen = np.flatnonzero(number >= highest[run])
    run, shape, alpha = run[seen], shape[seen], alpha[seen]
    left = np.cumsum(np.log1p(np.where(alpha >= 1, 0, -alpha)), dtype=float)
    left_in_all = left[np.append(run[1:] != run[:-1], True)]
    weight = alpha * np.exp((left_in_all[run] - left).astype(np.float32))
    before = np.append(0, left_in_all[:-1])
    below = np.where(highest < 0, np.exp(left_in_all - before), 0)
    color = colors[shape] if len(colors) > 1 else np.broadcast_to(colors, (len(shape), 4))
    for channel in range(4):
        added = np.bincount(run, weight * color[:, channel], minlength=len(chosen))
        cells[chosen, channel] = below * cells[chosen, channel] + added
