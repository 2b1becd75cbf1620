"""Errors of `ti.svd` and related functions against NumPy, as a Markdown table: the largest of 10,000 random and
150 degenerate matrices.

    python benchmarks/decompositions.py [--targets cpu,vulkan,python] [--exact] [--count 10000]

tests/support/small_matrices.py defines what each error is relative to. `--exact` compiles with `fast_math=False`. The
interpreter takes a hundredth of the matrices.
"""

import argparse
import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import small_matrices

import shadesmith as ti


def rows(target: str, count: int) -> dict[tuple[str, int, str], dict[str, float]]:
    """Return the errors on the current device by function, size and kind of error, one number a type."""
    found: dict[tuple[str, int, str], dict[str, float]] = {}
    share = 100 if target == "python" else 1
    for n in (2, 3):
        for dtype in small_matrices.NUMPY:
            kernels = small_matrices.make_kernels(n, dtype)
            sets = (
                (small_matrices.random_matrices(n, count // share, dtype), False),
                (small_matrices.degenerate_matrices(n, dtype)[:: 3 if share > 1 else 1].copy(), True),
            )
            for name, kernel in kernels.items():
                for matrices, is_degenerate in sets if name != "eig" or n == 2 else ():
                    errors = small_matrices.measure(name, kernel, matrices, is_degenerate)
                    for kind, error in errors.items():
                        row = found.setdefault((name, n, kind), {})
                        row[str(dtype)] = max(error, row.get(str(dtype), 0.0))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default="cpu,vulkan,python")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    results = {}
    for target in options.targets.split(","):
        ti.init(arch=getattr(ti, target), enable_fallback=False, fast_math=not options.exact, log_level=ti.ERROR)
        results[target] = rows(target, options.count)
    columns = [(target, dtype) for target in results for dtype in ("f32", "f64")]
    print(f"{platform.machine()}, fast_math={not options.exact}\n")
    print("| function | error of | " + " | ".join(f"{target} {dtype}" for target, dtype in columns) + " |")
    print("|---" * (len(columns) + 2) + "|")
    for name, n, kind in next(iter(results.values())):
        cells = " | ".join(f"{results[target][name, n, kind][dtype]:.1e}" for target, dtype in columns)
        print(f"| {name} {n}x{n} | {kind} | {cells} |")


if __name__ == "__main__":
    main()
