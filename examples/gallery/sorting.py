"""Bitonic sorting of 256 columns, each of 256 hues; the picture has one step of the network in each row."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

N = 256


@ti.kernel
def compare_and_swap(x: ti.types.ndarray(ti.f32, 1), block: ti.i32, distance: ti.i32):
    for i in x:
        partner = i ^ distance
        if partner > i:
            ascending = (i & block) == 0
            if (x[i] > x[partner]) == ascending:
                x[i], x[partner] = x[partner], x[i]


@ti.kernel
def paint(rows: ti.types.ndarray(ti.f32, 2), image: ti.types.ndarray(ti.math.vec3, 2)):
    for i, j in image:
        hue = rows[rows.shape[0] - 1 - j * rows.shape[0] // image.shape[1], i * N // image.shape[0]]
        for k in ti.static(range(3)):
            image[i, j][k] = 0.55 + 0.45 * ti.cos(2 * ti.math.pi * (0.85 * hue + k / 3))


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    x = ti.ndarray(ti.f32, N)
    x.from_numpy(np.random.default_rng(3).permutation(N).astype(np.float32) / N)
    rows = [x.to_numpy()]
    block = 2
    while block <= N:
        distance = block // 2
        while distance > 0:
            compare_and_swap(x, block, distance)
            rows.append(x.to_numpy())
            distance //= 2
        block *= 2
    assert (np.diff(rows[-1]) > 0).all()
    image = ti.Vector.ndarray(3, ti.f32, (2 * N, 9 * len(rows)))
    paint(np.array(rows), image)
    return image.to_numpy()


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "sorting.png")
