"""Gradients of kernels against finite differences in f64, for each kind of statement; each kernel reads `x` and `y`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fuzz import derivatives

import shadesmith as ti

N = 5

KERNELS = {
    "branches": """
        s = 0.0
        if x[i] > 0.7: s = x[i] * y[i]
        else: s = y[i] ** 3
        z[i] = s * s""",
    "variable": """
        s = x[i]
        s = s * s
        s += y[i] * s
        z[i] = ti.sin(s) * x[i]""",
    "sum": """
        s = 0.0
        for j in range(5): s += x[j] * y[i] * y[j]
        z[i] = s * s""",
    "value_from_before": """
        s = x[i]
        if x[i] > 0.7: s = x[i] * 2.0
        old = s
        s = y[i] * 3.0
        if i % 2 == 0: s = old + y[i]
        z[i] = s * s""",
    "last_value": """
        s = x[i]
        if x[i] > 0.7: s = x[i] * 2.0
        first = s
        for j in range(5):
            if j % 2 == 0: s = first - x[j] * y[j]
            else: s = s + y[j]
        z[i] = s * s""",
    "constant_trip_count": """
        s = x[i]
        for j in range(7): s = ti.sin(s) + y[i] * s
        z[i] = s""",
    "nest": """
        s = x[i]
        for j in range(n):
            for k in range(j, n): s = ti.sin(s) + y[k % 5] * 0.1
            s *= 1.1
        z[i] = s""",
    "while": """
        s = x[i]
        count = 0
        while s < 20.0:
            s = s * 1.1 + y[i] * s * s * 0.01
            count += 1
        z[i] = s * count""",
    "jumps": """
        s = x[i]
        for j in range(9):
            if j == 2: continue
            s = s * 1.2 + 0.1 * s * s * y[i]
            if s > 3.0: break
            s += x[j % 5]
        z[i] = s""",
    "lazy": """
        a = x[i] * 2 if x[i] > 0.6 else y[i] * x[i]
        b = ti.select(y[i] > 0.5, x[i] ** 2, ti.exp(x[i]))
        z[i] = a * b + ti.max(x[i], y[i]) * ti.min(a, b)""",
    "vectors": """
        v = ti.Vector([x[i], y[i], x[(i + 1) % 5]])
        v[1] += v[0] * x[i]
        m = v.outer_product(ti.Vector([y[i], 1.0, x[i]])) + ti.Matrix.identity(float, 3)
        m[0, 1] = v[2] ** 2
        w = m.transpose() @ v.normalized()
        z[i] = w.cross(v).dot(w) + w.norm() + m.determinant() + (m.inverse() @ v).sum()""",
    "functions": """
        a = x[i] * 0.5 + 0.1
        b = y[i]
        z[i] = ti.tan(a) + ti.asin(a * 0.5) + ti.acos(a * 0.5) + ti.tanh(a) + ti.log(a) + ti.sqrt(a) + ti.rsqrt(b)
        z[i] += ti.atan2(a, b) + a ** b + abs(a - b) + a % b + ti.exp(-a) + ti.cos(b) + ti.floor(a)""",
    "lists": """
        fx = ti.Vector([x[i], y[i]])
        w = [0.5 * fx**2, 0.75 - (fx - 1.0)**2, fx * x[i]]
        c = [x[i], y[i] * 2, x[i] * y[i]]
        for a, b in ti.static(ti.ndrange(3, 3)):
            z[(i + a) % 5] += w[a][0] * w[b][1] * c[(a + b) % 3] * (a + 1)
        for k in range(n % 4): z[i] += (w[1] * c[0]).sum() * k""",
    "gather_and_scatter": """
        for j in range(-1, 2): z[i] += x[(i + j + 5) % 5] * y[i]
        z[(i * 3) % 5] += x[i] * x[i]""",
}  # fmt: skip


def compared(kernel: Any, fields: dict[str, Any], results: tuple[str, ...], *args: Any) -> None:
    """Compare the gradient along random directions with finite differences; `x` and `y` are the inputs."""
    numbers = np.random.default_rng(1)
    start = {name: numbers.uniform(0.3, 1.3, np.shape(field.to_numpy())) for name, field in fields.items()}
    weights = {name: numbers.uniform(-1, 1, np.shape(start[name])) for name in results}
    inputs = [name for name in fields if name not in results]

    def outcome(direction: dict[str, Any], step: float) -> float:
        for name, field in fields.items():
            field.from_numpy(np.asarray(start[name] + step * direction.get(name, 0.0)))
        kernel(*args)
        return sum(float(np.sum(fields[name].to_numpy() * weights[name])) for name in results)

    outcome({}, 0.0)
    for name, field in fields.items():
        field.grad.from_numpy(np.asarray(weights.get(name, np.zeros_like(start[name]))))
    kernel.grad(*args)
    gradients = {name: np.array(fields[name].grad.to_numpy()) for name in inputs}
    direction = {name: numbers.uniform(-1, 1, np.shape(start[name])) for name in inputs}
    expected = (outcome(direction, 1e-6) - outcome(direction, -1e-6)) / 2e-6
    found = sum(float(np.sum(gradients[name] * direction[name])) for name in inputs)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-8)


def three_fields(shape: Any = N) -> dict[str, Any]:
    return {name: ti.field(ti.f64, shape, needs_grad=True) for name in "xyz"}


@pytest.fixture
def in_f64(target: str) -> str:
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)
    return target


@pytest.mark.parametrize("name", KERNELS)
def test_a_gradient_equals_finite_differences(name: str, in_f64: str, define_kernel: Any) -> None:
    fields = three_fields()
    kernel = define_kernel(f"def kernel(n: int):\n    for i in x:{KERNELS[name]}\n", **fields)
    compared(kernel, fields, ("z",), 4)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [0, 1, 64, 65, 200])
def test_a_loop_of_any_trip_count_has_a_gradient(n: int, in_f64: str) -> None:
    fields = three_fields()
    x, y, z = fields.values()

    @ti.kernel
    def kernel(n: int):
        for i in x:
            s = x[i]
            t = y[i]
            for _ in range(n):
                s = ti.sin(s) + t * 0.1
                t = t * 0.99 + s * 0.01
            z[i] = s * t

    compared(kernel, fields, ("z",), n)


def test_a_sum_whose_term_depends_on_the_sum_is_differentiated_last_iteration_first(in_f64: str) -> None:
    """`s = s + f(s)` has one load of `s`, where `f` is a `ti.func` that also returns the sum."""
    fields = three_fields()
    x, y, z = fields.values()

    @ti.func
    def advanced(s, k):
        return s + k * s * s

    @ti.kernel
    def kernel():
        for i in x:
            s = x[i]
            v = ti.Vector([x[i], y[i]])
            for j in range(5):
                s = advanced(s, y[j] * 0.3)
                v = advanced(v, 0.2 * y[j])
            z[i] = s * v[0] * v[1]

    compared(kernel, fields, ("z",))


def test_a_variable_of_several_loops_has_an_adjoint(in_f64: str) -> None:
    fields = three_fields()
    x, y, z = fields.values()

    @ti.kernel
    def kernel():
        total = 0.0
        for i in x:
            total += x[i] * y[i]
        z[0] = total * total
        for i in range(1, N):
            z[i] = total * x[i]

    compared(kernel, fields, ("z",))


def test_a_serial_loop_that_writes_ahead_of_its_reads_has_its_gradient_from_the_last_iteration(in_f64: str) -> None:
    fields = three_fields()
    x, y, z = fields.values()

    @ti.kernel
    def kernel():
        ti.loop_config(serialize=True)
        for i in range(1, N):
            z[i] = z[i - 1] * x[i] + y[i] * z[i - 1] ** 2

    compared(kernel, fields, ("z",))


def test_an_ndarray_that_all_iterations_read_has_the_sum_of_their_gradients(in_f64: str) -> None:
    """Taichi 1.7.4 returns 1 (its issue 8356)."""

    @ti.kernel
    def kernel(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            for j in y:
                x[i] += y[j]

    x, y = ti.ndarray(ti.f64, 5, needs_grad=True), ti.ndarray(ti.f64, 3, needs_grad=True)
    x.grad.fill(1)
    kernel.grad(x, y)
    assert y.grad.to_numpy().tolist() == [5, 5, 5]
    kernel.grad(x, ti.ndarray(ti.f64, 3))  # without a gradient


def test_fields_of_all_layouts_have_gradients(in_f64: str) -> None:
    parts = ti.Struct.field({"a": ti.f64, "b": ti.types.vector(3, ti.f64)}, shape=3, needs_grad=True)
    apart = ti.Vector.field(2, ti.f64, 3, needs_grad=True, layout=ti.Layout.SOA)
    placed, lazy = ti.field(ti.f64), ti.field(ti.f64)
    ti.root.dense(ti.i, 3).place(placed, placed.grad)
    ti.root.dense(ti.i, 2).dense(ti.i, 2).place(lazy)
    ti.root.lazy_grad()
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def kernel():
        for i in parts:
            loss[None] += parts[i].a * parts[i].b.norm_sqr() + apart[i].dot(apart[i]) * placed[i] * lazy[i + 1]

    for field, value in ((parts.a, 2.0), (parts.b, 1.0), (apart, 3.0), (placed, 5.0), (lazy, 7.0)):
        field.fill(value)
    with ti.ad.Tape(loss):
        kernel()
    assert parts.grad.a.to_numpy().tolist() == [3.0] * 3
    assert parts.grad.b.to_numpy().tolist() == [[4.0] * 3] * 3
    assert apart.grad.to_numpy().tolist() == [[210.0] * 2] * 3
    assert placed.grad.to_numpy().tolist() == [126.0] * 3
    assert lazy.grad.to_numpy().tolist() == [0.0] + [90.0] * 3


FIRST_SEED = {"cpu": 0, "vulkan": 1000, "cuda": 2000, "python": 3000}


def test_random_kernels_have_right_gradients(in_f64: str, full: bool) -> None:
    first = FIRST_SEED[in_f64]
    for seed in range(first, first + (60 if full else 2)):
        assert derivatives.run(ti, seed) < derivatives.TOLERANCE, seed
