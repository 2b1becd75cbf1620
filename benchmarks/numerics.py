"""Errors of the mathematical functions on each target, in units in the last place (ulp), as a Markdown table.

    python benchmarks/numerics.py [--targets cpu,vulkan,python] [--exact]

Each function runs over 4,000 values; the reference is NumPy in the next wider type (f64 for f32, the 80-bit long double
of x86 for f64). `--exact` compiles with `fast_math=False`. A cell holds the greatest error in ulp of the true result
and, where that is over 8, the greatest absolute error too: near a zero of a function few ulp are a small number.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable
from typing import Any

import numpy as np

import shadesmith as ti

COUNT = 4_000
NUMPY = {"f32": np.float32, "f64": np.float64}
WIDER = {"f32": np.float64, "f64": np.longdouble}
Reference = Callable[..., Any]
Grid = Callable[[], tuple[np.ndarray, ...]]


def linear(begin: float, end: float) -> Grid:
    """Values at equal distances; no argument is a zero of a function by accident."""
    return lambda: (np.linspace(begin, end, COUNT),)


def geometric(begin: float, end: float) -> Grid:
    """Values at equal ratios."""
    return lambda: (np.geomspace(begin, end, COUNT),)


def pairs(first: Grid, second: Grid) -> Grid:
    """Values of the first with values of the second in another order."""
    return lambda: (first()[0], np.roll(second()[0][::-1], COUNT // 3))


FUNCTIONS: dict[str, tuple[Reference, Grid]] = {
    "sin": (np.sin, linear(-100, 100)),
    "cos": (np.cos, linear(-100, 100)),
    "tan": (np.tan, linear(-10, 10)),
    "asin": (np.arcsin, linear(-1, 1)),
    "acos": (np.arccos, linear(-1, 1)),
    "atan2": (np.arctan2, pairs(linear(-10, 10), linear(-10, 10))),
    "tanh": (np.tanh, linear(-10, 10)),
    "exp": (np.exp, linear(-80, 80)),
    "log": (np.log, geometric(1e-30, 1e30)),
    "pow": (np.power, pairs(geometric(1e-3, 1e3), linear(-8, 8))),
    "sqrt": (np.sqrt, geometric(1e-30, 1e30)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), geometric(1e-30, 1e30)),
    "division": (np.divide, pairs(linear(-10, 10), geometric(1e-3, 1e3))),
}


@ti.kernel
def evaluate(x: ti.types.ndarray(), y: ti.types.ndarray(), out: ti.types.ndarray(), name: ti.template()):
    for i in range(x.shape[0]):
        if ti.static(name == "sin"):
            out[i] = ti.sin(x[i])
        elif ti.static(name == "cos"):
            out[i] = ti.cos(x[i])
        elif ti.static(name == "tan"):
            out[i] = ti.tan(x[i])
        elif ti.static(name == "asin"):
            out[i] = ti.asin(x[i])
        elif ti.static(name == "acos"):
            out[i] = ti.acos(x[i])
        elif ti.static(name == "atan2"):
            out[i] = ti.atan2(x[i], y[i])
        elif ti.static(name == "tanh"):
            out[i] = ti.tanh(x[i])
        elif ti.static(name == "exp"):
            out[i] = ti.exp(x[i])
        elif ti.static(name == "log"):
            out[i] = ti.log(x[i])
        elif ti.static(name == "pow"):
            out[i] = x[i] ** y[i]
        elif ti.static(name == "sqrt"):
            out[i] = ti.sqrt(x[i])
        elif ti.static(name == "rsqrt"):
            out[i] = ti.rsqrt(x[i])
        else:
            out[i] = x[i] / y[i]


def measure(name: str, dtype: str) -> tuple[float, float]:
    """Return the greatest error of one function on the current device: [ulp], absolute."""
    reference, grid = FUNCTIONS[name]
    inputs = [values.astype(NUMPY[dtype]) for values in grid()]
    out = np.zeros(COUNT, NUMPY[dtype])
    evaluate(inputs[0], inputs[-1], out, name)
    ti.sync()
    true = reference(*(values.astype(WIDER[dtype]) for values in inputs))
    error = np.abs(out.astype(WIDER[dtype]) - true)
    ulp = np.spacing(np.abs(true).astype(NUMPY[dtype]))
    return float((error / ulp).max()), float(error.max())


def cell(ulp: float, absolute: float) -> str:
    """Return one error as text."""
    return f"{ulp:.2f}" if ulp <= 8 else f"{ulp:.3g} (abs. {absolute:.1e})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default="cpu,vulkan,python")
    parser.add_argument("--exact", action="store_true")
    options = parser.parse_args()
    targets = options.targets.split(",")
    columns = [(target, dtype) for target in targets for dtype in NUMPY]
    results: dict[tuple[str, str, str], str] = {}
    for target in targets:
        ti.init(arch=getattr(ti, target), enable_fallback=False, fast_math=not options.exact, log_level=ti.ERROR)
        for dtype in NUMPY:
            for name in FUNCTIONS:
                results[name, target, dtype] = cell(*measure(name, dtype))
    print(f"{platform.machine()}, {COUNT} values, fast_math={not options.exact}\n")
    print("| function | " + " | ".join(f"{target} {dtype}" for target, dtype in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name in FUNCTIONS:
        print(f"| {name} | " + " | ".join(results[name, target, dtype] for target, dtype in columns) + " |")


if __name__ == "__main__":
    main()
