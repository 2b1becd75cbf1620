"""`ti.tools.halo`: what a person needs to split an array over ranks: extents, ghost layers, lists of exchanges.

In: the shape of the whole and the number of ranks along each axis. Out: a `Block` for each rank, in slices that index
any array. Nothing is sent here: MPI, Dask, torch.distributed or threads of one process do that; the examples show how.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

Slices = tuple[slice, ...]


@dataclass(frozen=True)
class Exchange:
    """What one rank exchanges with a neighbour.

    rank: of the neighbour. step: the way there, -1, 0 or 1 along each axis.
    send: the cells that the neighbour needs. receive: the ghost cells that it fills; both index the local array.
    send_tag, receive_tag: numbers that differ for all messages of one exchange between the same two ranks.
    """

    rank: int
    step: tuple[int, ...]
    send: Slices
    receive: Slices
    send_tag: int
    receive_tag: int


@dataclass(frozen=True)
class Block:
    """The part of one rank.

    rank, coordinates: of the rank, in the grid of ranks.
    begin, end: the cells of the whole that it owns, from `begin` to before `end` along each axis.
    shape: of the local array, with ghost layers at each side that has a neighbour.
    owned: the cells that it owns, in the local array.
    exchanges: one for each neighbour and side.
    """

    rank: int
    coordinates: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    shape: tuple[int, ...]
    owned: Slices
    exchanges: tuple[Exchange, ...]
    _indices: tuple[Any, ...]

    def scatter(self, whole: Any) -> Any:
        """Return a copy of this rank's part of an array, ghost cells included."""
        return np.ascontiguousarray(whole[np.ix_(*self._indices)])

    def gather(self, local: Any, whole: Any) -> None:
        """Copy what this rank owns from its local array into an array of all."""
        whole[tuple(map(slice, self.begin, self.end))] = local[self.owned]


class Decomposition:
    """A split of an array over ranks, numbered row-major in a grid.

    shape: of the whole. ranks: number along each axis, or of all: then the grid with the smallest surfaces is taken.
    ghost: layers of ghost cells. periodic: whether the last cells are neighbours of the first, for all axes or each.
    corners: exchange with diagonal neighbours too, for stencils that read them.
    Raises: ValueError if a rank would own fewer cells along an axis than there are ghost layers.

    Example:
        >>> split = ti.tools.halo.Decomposition((8, 6), (2, 1), ghost=1)
        >>> block = split.block(1)
        >>> block.begin, block.end, block.shape
        ((4, 0), (8, 6), (5, 6))
        >>> [(e.rank, e.send, e.receive) for e in block.exchanges]
        [(0, (slice(1, 2, None), slice(0, 6, None)), (slice(0, 1, None), slice(0, 6, None)))]
    """

    def __init__(
        self,
        shape: Sequence[int],
        ranks: int | Sequence[int],
        ghost: int = 1,
        periodic: bool | Sequence[bool] = False,
        corners: bool = False,
    ) -> None:
        self.shape = tuple(map(int, shape))
        self.grid = best_grid(self.shape, ranks) if isinstance(ranks, int) else tuple(map(int, ranks))
        self.ghost, self.corners = ghost, corners
        self.periodic = (periodic,) * len(self.shape) if isinstance(periodic, bool) else tuple(periodic)
        if not len(self.shape) == len(self.grid) == len(self.periodic):
            raise ValueError(f"shape {self.shape}, ranks {self.grid} and periodic {self.periodic} differ in length")
        if ghost < 0 or min(self.grid, default=1) < 1:
            raise ValueError(f"ranks {self.grid} are at least 1 along each axis, and ghost={ghost} at least 0")
        for extent, parts in zip(self.shape, self.grid, strict=True):
            if extent // parts < max(1, ghost):
                raise ValueError(
                    f"{parts} ranks along an axis of {extent} cells own {extent // parts} each, fewer than needed for "
                    f"ghost={ghost}. Hint: use fewer ranks along this axis"
                )

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return prod(self.grid)

    def blocks(self) -> list[Block]:
        """Return the blocks of all ranks."""
        return [self.block(rank) for rank in range(self.ranks)]

    def block(self, rank: int) -> Block:
        """Return the block of a rank. Raises: ValueError if there is no such rank."""
        if not 0 <= rank < self.ranks:
            raise ValueError(f"there is no rank {rank}: there are {self.ranks}, in a grid of {self.grid}")
        coordinates = tuple(int(n) for n in np.unravel_index(rank, self.grid)) if self.grid else ()
        axes = [self._axis(axis, position) for axis, position in enumerate(coordinates)]
        indices = tuple(
            np.arange(begin - low, end + high) % extent
            for (begin, end, low, high), extent in zip(axes, self.shape, strict=True)
        )
        owned = tuple(slice(low, low + end - begin) for begin, end, low, _ in axes)
        return Block(
            rank,
            coordinates,
            tuple(begin for begin, *_ in axes),
            tuple(end for _, end, *_ in axes),
            tuple(low + end - begin + high for begin, end, low, high in axes),
            owned,
            tuple(self._exchanges(coordinates, owned)),
            indices,
        )

    def _axis(self, axis: int, position: int) -> tuple[int, int, int, int]:
        """Return begin and end of a rank along an axis, and the ghost layers below and above."""
        extent, parts = self.shape[axis], self.grid[axis]
        begin, end = extent * position // parts, extent * (position + 1) // parts
        low = self.ghost if position > 0 or self.periodic[axis] else 0
        high = self.ghost if position < parts - 1 or self.periodic[axis] else 0
        return begin, end, low, high

    def _exchanges(self, coordinates: tuple[int, ...], owned: Slices) -> Iterator[Exchange]:
        steps = list(product((-1, 0, 1), repeat=len(self.shape)))
        for tag, step in enumerate(steps):
            moves = sum(map(abs, step))
            if not self.ghost or not moves or (moves > 1 and not self.corners):
                continue
            neighbour = self._neighbour(coordinates, step)
            if neighbour is None:
                continue
            ghost = self.ghost
            send = tuple(
                slice(s.start, s.start + ghost) if d < 0 else slice(s.stop - ghost, s.stop) if d > 0 else s
                for s, d in zip(owned, step, strict=True)
            )
            receive = tuple(
                slice(s.start - ghost, s.start) if d < 0 else slice(s.stop, s.stop + ghost) if d > 0 else s
                for s, d in zip(owned, step, strict=True)
            )
            yield Exchange(neighbour, step, send, receive, tag, len(steps) - 1 - tag)

    def _neighbour(self, coordinates: tuple[int, ...], step: tuple[int, ...]) -> int | None:
        place = []
        for axis, (position, move) in enumerate(zip(coordinates, step, strict=True)):
            there = position + move
            if not 0 <= there < self.grid[axis]:
                if not self.periodic[axis]:
                    return None
                there %= self.grid[axis]
            place.append(there)
        return int(np.ravel_multi_index(place, self.grid))


def best_grid(shape: Sequence[int], ranks: int) -> tuple[int, ...]:
    """Return the grid of `ranks` ranks whose blocks have the smallest surface.

    Raises: ValueError if the array has too few cells for every such grid.

    Example:
        >>> ti.tools.halo.best_grid((100, 100, 10), 4)
        (2, 2, 1)
    """
    grids = [
        grid for grid in _grids(ranks, len(shape)) if all(n <= extent for n, extent in zip(grid, shape, strict=True))
    ]
    if not grids:
        raise ValueError(f"{ranks} ranks cannot share an array of shape {tuple(shape)}")
    return min(
        grids,
        key=lambda grid: (
            sum((n - 1) * prod(shape) / extent for n, extent in zip(grid, shape, strict=True)),
            grid[::-1],
        ),
    )


def _grids(ranks: int, axes: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to write a number as a product along the axes."""
    if axes == 0:
        if ranks == 1:
            yield ()
        return
    for first in range(1, ranks + 1):
        if ranks % first == 0:
            for rest in _grids(ranks // first, axes - 1):
                yield (first, *rest)
