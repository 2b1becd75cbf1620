"""`ti.algorithms` on CUDA against CUB: CuPy's sort, cumsum, sum, selection and unique, which call it.

    python benchmarks/algorithms.py [--sizes 65536 16777216] [--rows reduce select]

Prints milliseconds, the least of several rounds with the wait for the device, and how many times CUB's time ours is.
"""

import argparse
import os
import time

os.environ.setdefault("CUPY_ACCELERATORS", "cub")


def least(run, wait, rounds: int = 7) -> float:
    """Return the least time of several calls [ms]."""
    run()
    wait()
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        wait()
        found.append(time.perf_counter() - start)
    return 1e3 * min(found)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2**16, 2**20, 2**24])
    parser.add_argument("--rows", nargs="+")
    options = parser.parse_args()
    import cupy as cp
    import numpy as np

    import shadesmith as ti

    ti.init(arch=ti.cuda, log_level=ti.ERROR)
    wait = cp.cuda.Device().synchronize
    rng = np.random.default_rng(0)
    for n in options.sizes:
        for dtype in (ti.i32, ti.u32, ti.f32, ti.i64, ti.f64):
            whole = dtype.numpy in (np.int32, np.uint32, np.int64)
            values = rng.integers(0, 2**31 - 1, n).astype(dtype.numpy) if whole else rng.random(n).astype(dtype.numpy)
            mask = (rng.random(n) > 0.5).astype(np.int32)
            x, keys, chosen, out = (
                ti.ndarray(dtype, n),
                ti.ndarray(dtype, n),
                ti.ndarray(ti.i32, n),
                ti.ndarray(dtype, n),
            )
            x.from_numpy(values)
            chosen.from_numpy(mask)
            theirs, flags = cp.asarray(values), cp.asarray(mask).astype(bool)
            keys.copy_from(x)

            field, given_field = ti.field(dtype, n), ti.field(dtype, n)
            given_field.from_numpy(values)
            numbers, given = ti.ndarray(ti.i32, n), cp.arange(n, dtype=np.int32)

            def sort(keys=keys, x=x) -> None:
                keys.copy_from(x)
                ti.algorithms.parallel_sort(keys)

            def sort_field(field=field, given_field=given_field) -> None:
                field.copy_from(given_field)
                ti.algorithms.parallel_sort(field)

            def sort_by_key(keys=keys, x=x, numbers=numbers) -> None:
                keys.copy_from(x)
                ti.algorithms.sort_by_key(keys, numbers)

            def by_key(theirs=theirs, given=given) -> None:
                order = cp.argsort(theirs)
                theirs[order], given[order]

            rows = {
                "sort": (sort, lambda theirs=theirs: cp.sort(theirs)),
                "field": (sort_field, lambda theirs=theirs: cp.sort(theirs)),
                "argsort": (lambda x=x: ti.algorithms.argsort(x), lambda theirs=theirs: cp.argsort(theirs)),
                "by key": (sort_by_key, by_key),
                "scan": (lambda x=x, out=out: ti.algorithms.scan(x, out), lambda theirs=theirs: cp.cumsum(theirs)),
                "reduce": (lambda x=x: ti.algorithms.reduce(x), lambda theirs=theirs: theirs.sum().item()),
                "select": (lambda x=x, chosen=chosen: ti.algorithms.select(x, chosen),
                           lambda theirs=theirs, flags=flags: theirs[flags]),
                "unique": (lambda x=x: ti.algorithms.unique(x),
                           lambda theirs=theirs: cp.unique(theirs, return_counts=True)),
            }  # fmt: skip
            for name, (ours, cubs) in rows.items():
                if options.rows and name not in options.rows:
                    continue
                mine, other = least(ours, ti.sync), least(cubs, wait)
                print(
                    f"{n:9} {dtype!s:4} {name:7} {mine:9.3f} ms  CUB {other:9.3f} ms  {mine / other:6.2f}", flush=True
                )


if __name__ == "__main__":
    main()
