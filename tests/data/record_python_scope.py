"""Records what operations give in Python scope, with Taichi 1.7.4, for `tests/api/test_python_scope.py`.

    python tests/data/record_python_scope.py > tests/data/python_scope.json      # with a Python that has Taichi

The keys are expressions with `ti`, `tm` (`ti.math`), `V` (`ti.Vector`), `M` (`ti.Matrix`) and `np`; the values are what
`shown` makes of the results. What Taichi refuses, and what gives an expression of its compiler, is left out.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

ROUNDING = "ceil floor round"
UNARY = "abs acos asin cos exp log max min rsqrt sin sqrt static tan tanh"
BINARY = "atan2 max min pow raw_div raw_mod cast"
OF_MATH = "inverse isinf isnan length log2 normalize determinant eye sign fract degrees radians log2 rotation2d"
BINARY_OF_MATH = "dot cross distance mod step reflect"
TERNARY_OF_MATH = "clamp mix smoothstep"
ONE = ("3", "-3", "2.5", "-2.5", "0", "0.0", "True", "np.float32(1.5)", "np.int32(-7)", "V([1, 2, 3])", "V([1.5, -2.5])",
       "M([[2.0, 1.0], [1.0, 3.0]])", "[1, 2]", "np.array([1.0, 2.0])")  # fmt: skip
TWO = ("7, 2", "-7, 2", "7, -2", "7.5, 2", "-7.5, 2", "2, 0.5", "np.float32(7.5), 2", "V([1, 2, 3]), V([3, 2, 1])",
       "V([1.5, -2.5]), 2", "2, V([1.5, -2.5])", "M([[1, 2], [3, 4]]), M([[4, 3], [2, 1]])", "V([1.5, 2.5]), ti.i32",
       "V([1.0, 2.0, 3.0]), V([4.0, 5.0, 6.0])", "1 << 40, 3")  # fmt: skip
THREE = (
    "0, 1, 2",
    "1, 0.5, 2",
    "V([1, 0]), V([1, 2]), V([3, 4])",
    "V([0.5, 1.5]), 0.0, 1.0",
    "1, V([1, 2]), V([3, 4])",
)


def expressions() -> list[str]:
    """Return all calls."""
    rows = [
        ("ti", f"{UNARY} {ROUNDING}", ONE),
        ("ti", BINARY, TWO),
        ("ti", "select max min", THREE),
    ]
    rows += [("tm", f"{UNARY} {ROUNDING} {OF_MATH}".replace("rsqrt", "").replace("static", "").replace("abs", ""), ONE)]
    rows += [("tm", BINARY_OF_MATH, TWO), ("tm", TERNARY_OF_MATH, THREE)]
    return [
        f"{module}.{name}({arguments})" for module, names, all_ in rows for name in names.split() for arguments in all_
    ]


def shown(result: Any) -> Any:
    """Return the kind of a result and its value as text."""
    if isinstance(result, np.ndarray):
        return ["array", repr(result.tolist())]
    return ["matrix", repr(result.to_list())] if hasattr(result, "to_list") else [
        type(result).__name__, repr(result.item() if isinstance(result, np.generic) else result)
    ]  # fmt: skip


def evaluated(expression: str, ti: Any) -> Any:
    """Return what an expression gives, None where it is refused or no value of Python."""
    scope = {"ti": ti, "tm": ti.math, "V": ti.Vector, "M": ti.Matrix, "np": np}
    try:
        found = shown(eval(expression, scope))
    except Exception:
        return None
    return None if found[0] == "Expr" else found


def main() -> None:
    """Print the table."""
    import taichi as ti

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    found = {expression: evaluated(expression, ti) for expression in expressions()}
    print("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items() if v is not None) + "\n}")


if __name__ == "__main__":
    main()
