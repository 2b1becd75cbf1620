"""Passes `tidy_adjoints` and `unroll_components`: what derivatives and loops over components look like, and their results."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


def body(kernel, *arguments, **options) -> str:
    """Return the last function, of an iteration or an entry, in CUDA C."""
    text = kernel.source(*arguments, arch=ti.cuda, **options)
    task = text.find(" task(")
    return text[task if task >= 0 else text.index("__global__") :].split("\n}\n")[0]


def test_signs_and_powers_of_two_are_in_front() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y, z = (ti.field(ti.f32, 8, needs_grad=True) for _ in range(3))
    v, w = (ti.Vector.field(2, ti.f32, 8, needs_grad=True) for _ in range(2))

    @ti.kernel
    def difference():
        for i in x:
            z[i] = y[i] - x[i] / y[i]

    @ti.kernel
    def square():
        for i in x:
            z[i] += y[i] * x[i] * x[i]

    @ti.kernel
    def half():
        for i in x:
            z[i] = 0.5 * (0.5 * x[i] - 1.0) ** 2

    @ti.kernel
    def scaled():
        for i in v:
            v[i] = x[i] * w[i]

    assert "x_grad(i) -= z_grad_i / y_i;" in body(difference.grad)
    assert "x_grad(i) += 2.0f * z_grad(i) * (y(i) * x_i);" in body(square.grad)
    assert "2.0f" not in body(half.grad)
    assert "x_grad(i) += dot(" in body(scaled.grad)


def test_values_that_others_need_stay(target: str) -> None:
    """A negated value with two users, and numbers near the ends of f64, with and without `fast_math`."""
    for fast_math in (True, False):
        ti.init(arch=getattr(ti, target), enable_fallback=False, fast_math=fast_math, log_level=ti.ERROR)
        x, y = (ti.field(ti.f32, 6, needs_grad=True) for _ in range(2))
        loss = ti.field(ti.f32, (), needs_grad=True)

        @ti.kernel
        def run():
            for i in x:
                loss[None] += -2.0 * x[i] * y[i] * x[i] / (-4.0 * y[i] - x[i]) - 0.25 * (-x[i]) * y[i]

        values = np.random.default_rng(0).uniform(0.5, 2, (2, 6)).astype(np.float32)
        x.from_numpy(values[0])
        y.from_numpy(values[1])
        loss.grad[None] = 1.0
        run.grad()
        a, b = values.astype(np.float64)
        below = -4 * b - a
        by_x = (-4 * a * b * below - 2 * a * a * b) / below**2 + 0.25 * b
        by_y = (-2 * a * a * below - 8 * a * a * b) / below**2 + 0.25 * a
        assert np.allclose(x.grad.to_numpy(), by_x, rtol=1e-5) and np.allclose(y.grad.to_numpy(), by_y, rtol=1e-5)


def test_loops_over_components_are_members(target: str) -> None:
    ti.init(arch=getattr(ti, target), enable_fallback=False, log_level=ti.ERROR)
    out = ti.Vector.field(3, ti.f32, 4)

    @ti.kernel
    def run(a: ti.types.vector(3, ti.f32)):
        for i in out:
            v = ti.Vector([0.0, 0.0, 0.0])
            for k in ti.static(range(3)):
                v[k] = a[2 - k] + i
            for k in ti.static(range(2)):
                v[k] += v[k + 1]
            for k in ti.static(range(3)):
                if k != 1:
                    v[k] *= 2.0
            out[i] = v

    run(ti.Vector([1.0, 2.0, 3.0]))
    expected = np.array([[3 + i, 2 + i, 1 + i] for i in range(4)], np.float32)
    expected[:, 0] += expected[:, 1]
    expected[:, 1] += expected[:, 2]
    expected[:, [0, 2]] *= 2
    assert np.array_equal(out.to_numpy(), expected)


@pytest.mark.parametrize(("components", "is_unrolled"), [(3, True), (9, False)])
def test_arrays_in_registers_stay_loops(components: int, is_unrolled: bool) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    out = ti.Vector.field(components, ti.f32, 4)

    @ti.kernel
    def run(a: ti.f32):
        for i in out:
            v = out[i]
            for k in ti.static(range(components)):
                v[k] = a * v[k] + k
            out[i] = v

    assert ("for (int k" not in body(run, 1.0)) == is_unrolled
