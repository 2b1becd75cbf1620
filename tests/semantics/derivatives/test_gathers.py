"""Gradients that gather (`gather_adjoints`) against those that add atomically, and which of them gather at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.sampled(2)  # the rest in `make test-all`

N, M = 7, 5

GATHERS = {
    "neighbours": """
    for i in x:
        if 0 < i < 6: z[i] = x[i - 1] * y[i] - 2 * x[i] ** 2 + x[i + 1] * x[i - 1]""",
    "a range with a border": """
    for i in range(2, 5): z[i] = x[i - 2] - x[i + 2] * y[i]""",
    "bounds of run time": """
    for i in range(n - 5, n - 1): z[i] = x[i + 1] * y[i] + x[i - 1]""",
    "two axes": """
    for i, j in c:
        if 0 < i < 6 and j > 0: c[i, j] = a[i - 1, j] + a[i + 1, j - 1] * a[i, j] - 4 * a[i, j]""",
    "edges of two axes": """
    for i, j in ti.ndrange(6, (1, 5)): c[i, j] = (a[i + 1, j] - a[i, j - 1]) ** 2""",
    "transposed": """
    for i, j in ti.ndrange(5, 5): c[i, j] = a[j, i] * y[i] + a[j, i + 0] + a[j + 2, i]""",
    "backwards": """
    for i in x: z[i] = x[6 - i] * y[i] + x[i]""",
    "an unrolled window": """
    for i in range(1, 6):
        for d in ti.static(range(-1, 2)): z[i] += x[i + d] * y[d + 1]""",
    "a window of run time": """
    for i in x:
        for d in range(-n // 3, n // 3 + 1):
            if 0 <= i + d and i + d < 7: z[i] += x[i + d] ** 2 * y[d + 3]""",
    "a window of two axes": """
    for i, j in c:
        for p, q in ti.ndrange((-1, 2), (-1, 2)):
            if 0 <= i + p < 7 and 0 <= j + q < 5: c[i, j] += a[i + p, j + q] * (p + 0.5 * q)""",
    "pairs": """
    for i in x:
        for j in range(7):
            if i != j: z[i] += ti.sin(x[i] - x[j]) * y[j]""",
    "a product of matrices": """
    for i, j in c:
        for k in range(5): c[i, j] += a[i, k] * b[k, j]""",
    "a product with a variable": """
    for i, j in c:
        s = 0.0
        for k in range(5): s += a[i, k] * b[k, j]
        c[i, j] = s * s""",
    "a long sum, whose adjoint is stored": """
    for i, j in c:
        s = 0.0
        for k in range(5):
            for d in range(2): s += a[i, k] * b[k, j] * (d + 0.5)
        c[i, j] = ti.max(s, 1.5) * s""",
    "vectors": """
    for i in range(1, 6): z[i] = v[i - 1].dot(v[i + 1]) + v[i].y""",
    "parts of vectors": """
    for i in range(1, 6): z[i] = v[i - 1].x * v[i + 1].y""",
    "time": """
    for i in range(1, 6): c[i, t + 1] = c[i - 1, t] + c[i + 1, t] * x[i] - c[i, t - 1]""",
    "a variable that changes": """
    for i in range(1, 6):
        s = x[i - 1]
        for k in range(3): s = ti.sin(s) + x[i + 1] * 0.1
        z[i] = s""",
    "a branch": """
    for i in range(1, 6):
        s = x[i - 1] * y[i]
        if i % 2 == 0: s = x[i + 1] ** 2
        else: s *= x[i]
        z[i] = s""",
    "an offset of the host": """
    for i in range(3): z[i] = x[i + n - 6] * x[i + n - 4]""",
    "a trip count of the iteration": """
    for i in x:
        for j in range(i): z[i] += x[i] * y[j]""",
    "a sum of all iterations": """
    total = 0.0
    for i in range(1, 6): total += x[i - 1] - 3 * x[i + 1]
    z[0] = total * total""",
    "two loops": """
    for i in range(6): z[i] = x[i] * x[i + 1]
    for i in range(6): c[i, 0] = z[i] - z[i + 1]""",
}  # fmt: skip
"""Bodies of kernels in whose gradient no addition is atomic."""
ATOMIC = {
    "an index from memory": """
    for i in x: z[i] = x[count[i]] * y[i]""",
    "a few elements of many iterations": """
    for i, j in c: c[i, j] = w[i % 2] * w[j % 2]""",
    "an index that is no sum": """
    for i in range(3): z[i] = x[i * i] * x[i + 1]""",
    "a long sum, whose adjoint has no place": """
    for i, j in c:
        s = 0.0
        for k in range(5):
            for d in range(2): s += a[i, k] * b[k, j] * (d + 1)
        c[i, j] += s * s""",
    "two long sums": """
    for i, j in c:
        s = 0.0
        p = 0.0
        for k in range(5):
            for d in range(2):
                s += a[i, k] * b[k, j] * (d + 1)
                p += a[i, k] * b[j, k]
        c[i, j] = s * p""",
    "elements on a diagonal": """
    for i in range(4): z[i] = a[i, i] * a[i + 1, i + 1]""",
}
"""Bodies of kernels whose gradient is the same with the pass and without."""


class Arrays:
    """The fields of a program; all but `count` have a gradient."""

    def __init__(self, target: str, disabled: str) -> None:
        ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR, passes=disabled)
        shapes = {"x": N, "y": N, "z": N, "a": (N, M), "b": (M, M), "c": (N, M), "w": 2}
        self.fields = {name: ti.field(ti.f64, shape, needs_grad=True) for name, shape in shapes.items()}
        self.fields["v"] = ti.Vector.field(2, ti.f64, N, needs_grad=True)
        numbers = np.random.default_rng(4)
        for array in self.fields.values():
            for each in (array, array.grad):
                each.from_numpy(numbers.uniform(0.3, 1.3, np.shape(each.to_numpy())))
        self.count = ti.field(ti.i32, N)
        self.count.from_numpy(np.array([0, 3, 3, 1, 6, 2, 0], np.int32))

    def gradients(self) -> dict[str, Any]:
        return {name: field.grad.to_numpy() for name, field in self.fields.items()}


def launched(target: str, disabled: str, body: str, define_kernel: Any) -> tuple[dict[str, Any], bool]:
    """Return all gradients after the gradient of a kernel was launched, and whether that has atomic operations."""
    arrays = Arrays(target, disabled)
    kernel = define_kernel(f"def kernel(n: int, t: int):\n{body[1:]}\n", count=arrays.count, **arrays.fields)
    kernel.grad(N, 1)
    return arrays.gradients(), "atomic" in kernel.grad.ir("final", N, 1)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", GATHERS)
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_gradient_gathers_what_others_add(name: str, target: str, define_kernel: Any) -> None:
    expected, was_atomic = launched(
        target, "-gather_adjoints, -private_sums, -block_sums", GATHERS[name], define_kernel
    )
    found, is_atomic = launched(target, "-private_sums, -block_sums", GATHERS[name], define_kernel)
    for array in expected:
        assert found[array] == pytest.approx(expected[array], rel=1e-13, abs=1e-14), array
    sums = target == "python" and name == "a sum of all iterations"  # the interpreter adds up in memory
    assert was_atomic and (not is_atomic or sums)


@pytest.mark.one_target
@pytest.mark.parametrize("name", ATOMIC)
def test_other_additions_stay_atomic(name: str, target: str, define_kernel: Any) -> None:
    expected, _ = launched(target, "-gather_adjoints, -private_sums, -block_sums", ATOMIC[name], define_kernel)
    found, is_atomic = launched(target, "-private_sums, -block_sums", ATOMIC[name], define_kernel)
    assert is_atomic
    for array in expected:
        assert found[array] == pytest.approx(expected[array], rel=1e-13, abs=1e-14), array
