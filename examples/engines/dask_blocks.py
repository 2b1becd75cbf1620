"""Dask: kernels as block functions of Dask arrays, on a local cluster of two worker processes.

    pip install "shadesmith[dask]"
    python -m shadesmith.examples.engines.dask_blocks [--size 512] [--workers 2]

Each worker process has a session of its own. Kernels are sent as Dask sends functions. `map_overlap` brings the ghost
cells of a stencil; `map_blocks` needs none. The result is compared with NumPy's.
"""

import argparse

import numpy as np

import shadesmith as ti


@ti.kernel
def blur(old: ti.types.ndarray(ti.f32, 2), new: ti.types.ndarray(ti.f32, 2)):
    for i, j in ti.ndrange((1, old.shape[0] - 1), (1, old.shape[1] - 1)):
        new[i, j] = 0.2 * (old[i, j] + old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])


@ti.kernel
def brighten(x: ti.types.ndarray(ti.f32, 2), factor: ti.f32):
    for i, j in x:
        x[i, j] = ti.min(x[i, j] * factor, 1.0)


def start(arch: str) -> None:
    """Start a worker's session, unless it has one."""
    if not ti.lang.impl.get_runtime().prog:
        ti.init(arch=getattr(ti, arch), log_level=ti.WARN)


def blurred(block: np.ndarray, arch: str) -> np.ndarray:
    """Return a block after one step of the stencil; its outermost cells stay."""
    start(arch)
    new = block.copy()
    blur(np.ascontiguousarray(block), new)
    return new


def brightened(block: np.ndarray, arch: str, factor: float) -> np.ndarray:
    """Return a brighter copy of a block."""
    start(arch)
    new = np.ascontiguousarray(block).copy()
    brighten(new, factor)
    return new


def expected(image: np.ndarray, steps: int, factor: float) -> np.ndarray:
    """Return what NumPy computes: around the image there are zeros."""
    for _ in range(steps):
        p = np.pad(image, 1)
        image = np.float32(0.2) * (p[1:-1, 1:-1] + p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
    return np.minimum(image * np.float32(factor), 1)


def compute(image: np.ndarray, workers: int, arch: str, steps: int, factor: float) -> np.ndarray:
    """Return the image after some steps of the stencil and the brightening, computed by worker processes."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, processes=True) as cluster,
        Client(cluster),
    ):
        blocks = da.from_array(image, chunks=(-(-image.shape[0] // (2 * workers)), image.shape[1]))
        for _ in range(steps):
            blocks = blocks.map_overlap(blurred, depth=1, boundary=0, arch=arch, dtype=np.float32, meta=image[:0])
        blocks = blocks.map_blocks(brightened, arch=arch, factor=factor, dtype=np.float32, meta=image[:0])
        result: np.ndarray = blocks.compute()
        return result


def main() -> None:
    """Compute with Dask and compare with NumPy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--arch", default="cpu")
    options = parser.parse_args()
    image = np.random.default_rng(1).random((options.size, options.size), np.float32)
    found = compute(image, options.workers, options.arch, 3, 1.5)
    error = np.max(np.abs(found - expected(image, 3, 1.5)))
    assert error < 1e-6, error
    print(f"dask: {options.workers} workers, {options.size} x {options.size}, largest difference {error:.1e}")


if __name__ == "__main__":
    main()
