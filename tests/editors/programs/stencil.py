"""A stencil on arrays: annotations of arrays, keyword arguments, the tools of a kernel."""

from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

import shadesmith as ti

Image: TypeAlias = ti.types.NDArray[ti.f32, Literal[2]]


@ti.kernel
def smooth(a: Image, b: Image, weight: ti.f32) -> None:
    for i, j in a:
        n, m = a.shape
        if 0 < i < n - 1 and 0 < j < m - 1:
            mean = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25
            b[i, j] = a[i, j] + weight * (mean - a[i, j])


@ti.kernel
def total(x: Image) -> ti.f32:
    s = 0.0
    for I in ti.grouped(x):
        s += x[I]
    return s


def main() -> None:
    ti.init(arch=ti.cpu)
    a = ti.ndarray(ti.f32, shape=(32, 32))
    b = ti.ndarray(ti.f32, shape=(32, 32))
    a.from_numpy(np.random.default_rng(0).random((32, 32), dtype=np.float32))
    smooth(a, b, 0.5)
    smooth(np.ones((4, 4), np.float32), b=np.ones((4, 4), np.float32), weight=1)
    result: float = total(b)
    path: Path = smooth.edit(a, b, 0.5)
    key: str = smooth.key(a, b, 0.5)
    forms: str = smooth.ir("final", a, b, 0.5)
    print(result, path.exists(), len(key), len(forms))


def measure(a: Image, b: Image) -> tuple[bool, float]:
    """Compare and time an edit."""
    same: bool = smooth.compare(a, b, 0.5).passed
    median: float = smooth.bench(a, b, 0.5)["generated"].median
    return same, median


if __name__ == "__main__":
    main()
