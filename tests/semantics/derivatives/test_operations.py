"""Every operation of the table of adjoints, in both modes, against finite differences in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.ir.ops import EXTREMES
from shadesmith.transpiler.passes.derivatives.parts.adjoints import ADJOINTS

N = 3
EXPRESSIONS = {
    "add": "a + b", "sub": "a - b", "mul": "a * b + a * a", "div": "a / b", "raw_div": "ti.raw_div(a, b)",
    "mod": "(a + 5.3) % b", "raw_mod": "ti.raw_mod(a + 5.3, b)", "pow": "a ** b", "min": "ti.min(a, b, a * b)",
    "max": "ti.max(a, b, a * b)", "atan2": "ti.atan2(a, b)", "neg": "-a * b", "abs": "abs(a - 0.5) * b",
    "sin": "ti.sin(a)", "cos": "ti.cos(a)", "tan": "ti.tan(a)", "asin": "ti.asin(a * 0.5)", "acos": "ti.acos(a * 0.5)",
    "tanh": "ti.tanh(a)", "asinh": "ti.asinh(a)", "acosh": "ti.acosh(a + 1.5)", "atanh": "ti.atanh(a * 0.5)",
    "exp": "ti.exp(a)", "log": "ti.log(a)", "sqrt": "ti.sqrt(a)", "rsqrt": "ti.rsqrt(a)",
    "select": "ti.select(a > 0.7, a * b, b)", "dot": "u.dot(v) + u.dot(u)", "cross": "u.cross(v)[1] * a",
    "matmul": "(m @ u)[0] + (m @ m)[1, 2]", "outer_product": "u.outer_product(v)[1, 0] * b",
    "transpose": "(m.transpose() @ u)[1]", "norm": "u.norm() * b", "normalized": "u.normalized()[1] * b",
    "determinant": "m.determinant() * a", "inverse": "(m.inverse() @ u)[0]", "sum": "(u * v).sum() + m.sum()",
}  # fmt: skip


def test_each_operation_is_here() -> None:
    later = {
        "lean_matmul",
        "normal_rsqrt",
        "normal_sqrt",
        "normal_norm",
        "normal_reciprocal",
        "short_sin",
        "short_cos",
        "short_atan2",
        "exp2",
        "exp10",
        "paired_sin",
        "paired_cos",
        "root_square",
        "rounded_half",
        "flushed",
    }
    later |= EXTREMES.keys()
    # which later passes write
    assert set(EXPRESSIONS) == set(ADJOINTS) - later


@pytest.mark.one_target
def test_both_modes_agree_with_finite_differences(target: str, define_kernel: Any) -> None:
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)
    x, y = (ti.field(ti.f64, N, needs_grad=True, needs_dual=True) for _ in range(2))
    z = ti.field(ti.f64, (len(EXPRESSIONS), N), needs_grad=True, needs_dual=True)
    rows = "".join(f"        z[{row}, i] = {text}\n" for row, text in enumerate(EXPRESSIONS.values()))
    kernel = define_kernel(
        "def kernel():\n    for i in x:\n        a, b = x[i], y[i]\n"
        "        u, v = ti.Vector([a, b, a * b]), ti.Vector([b, 1.0, a])\n"
        "        m = ti.Matrix([[a + 1.0, b, 0.1], [0.2, 2.0, a], [b, 0.0, 1.5]])\n" + rows,
        x=x, y=y, z=z,
    )  # fmt: skip
    start, direction = np.array([[0.35, 0.85, 0.6], [0.9, 0.65, 1.1]]), np.array([[1.0, -0.5, 0.7], [0.3, 0.8, -1.0]])

    def outcome(step: float) -> Any:
        for field, values, change in zip((x, y), start, direction, strict=True):
            field.from_numpy(values + step * change)
        kernel()
        return z.to_numpy()

    expected = (8 * (outcome(1e-4) - outcome(-1e-4)) - (outcome(2e-4) - outcome(-2e-4))) / 12e-4
    outcome(0.0)
    for field, change in zip((x, y), direction, strict=True):
        field.dual.from_numpy(change)
    kernel.dual()
    by_forward = z.dual.to_numpy()
    for row, name in enumerate(EXPRESSIONS):
        assert by_forward[row] == pytest.approx(expected[row], rel=1e-6, abs=1e-9), name
    for row, name in enumerate(EXPRESSIONS):
        ti.ad.clear_all_gradients()
        weights = np.zeros((len(EXPRESSIONS), N))
        weights[row] = 1.0
        z.grad.from_numpy(weights)
        kernel.grad()
        by_reverse = x.grad.to_numpy() * direction[0] + y.grad.to_numpy() * direction[1]
        assert by_reverse == pytest.approx(by_forward[row], rel=1e-10, abs=1e-12), name
