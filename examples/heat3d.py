"""The heat equation in a cube on ndarrays, explicit steps, walls kept at their temperature."""

from __future__ import annotations

import argparse

import numpy as np

import shadesmith as ti


@ti.kernel
def diffuse(old: ti.types.ndarray(ti.f32, 3), new: ti.types.ndarray(ti.f32, 3), rate: ti.f32):
    for i, j, k in old:
        n, m, l = old.shape
        if 0 < i < n - 1 and 0 < j < m - 1 and 0 < k < l - 1:
            around = old[i - 1, j, k] + old[i + 1, j, k] + old[i, j - 1, k] + old[i, j + 1, k]
            around += old[i, j, k - 1] + old[i, j, k + 1]
            new[i, j, k] = old[i, j, k] + rate * (around - 6.0 * old[i, j, k])
        else:
            new[i, j, k] = old[i, j, k]


def run(start: np.ndarray, steps: int, rate: float = 0.15) -> np.ndarray:
    """Return temperatures, shape (n, m, l), after some steps."""
    old = ti.ndarray(ti.f32, start.shape)
    new = ti.ndarray(ti.f32, start.shape)
    old.from_numpy(start.astype(np.float32))
    for _ in range(steps):
        diffuse(old, new, rate)
        old, new = new, old
    return old.to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="gpu")
    arguments = parser.parse_args()
    ti.init(arch=getattr(ti, arguments.arch))
    start = np.zeros((80, 80, 80), np.float32)
    start[32:48, 32:48, 32:48] = 1
    end = run(start, 100)
    print(f"heat before {start.sum():.1f}, after {end.sum():.1f}, hottest cell {end.max():.4f}")


if __name__ == "__main__":
    main()
