"""Conway's game of life on a torus, two generations in two fields."""

from __future__ import annotations

import argparse

import numpy as np

import shadesmith as ti


@ti.func
def neighbours(cells: ti.template(), i, j):
    count = 0
    n, m = cells.shape
    for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
        if ti.static(di != 0 or dj != 0):
            count += cells[(i + di) % n, (j + dj) % m]
    return count


@ti.kernel
def step(now: ti.template(), after: ti.template()):
    for i, j in now:
        count = neighbours(now, i, j)
        after[i, j] = 1 if count == 3 or (count == 2 and now[i, j] == 1) else 0


@ti.kernel
def seed_cells(cells: ti.template(), density: ti.f32):
    for i, j in cells:
        cells[i, j] = 1 if ti.random() < density else 0


def run(start: np.ndarray, generations: int) -> np.ndarray:
    """Return the board of 0 and 1, shape (n, m), after some generations."""
    now = ti.field(ti.i32, start.shape)
    after = ti.field(ti.i32, start.shape)
    now.from_numpy(start.astype(np.int32))
    for _ in range(generations):
        step(now, after)
        now, after = after, now
    return now.to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="gpu")
    arguments = parser.parse_args()
    ti.init(arch=getattr(ti, arguments.arch))
    now, after = ti.field(ti.i32, (256, 256)), ti.field(ti.i32, (256, 256))
    seed_cells(now, 0.3)
    gui = ti.GUI("Game of Life", (256, 256))
    while gui.running:
        step(now, after)
        now, after = after, now
        gui.set_image(now.to_numpy().astype(np.float32))
        gui.show()


if __name__ == "__main__":
    main()
