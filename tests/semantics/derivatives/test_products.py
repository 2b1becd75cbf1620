"""`ti.ad.jacobian` and `ti.ad.hessian_vector`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.one_target  # the rest in `make test-all`

N = 4
PROGRAM = """
@ti.func
def bend(a):
    r = a * a
    if a > 0.5: r = ti.sin(a) * a
    return r

@ti.kernel
def couple():
    for i in x:
        s = x[i]
        for j in range(3): s = s * x[(i + j) % 4] + bend(s)
        y[i] = s * ti.exp(-x[(i + 1) % 4])

@ti.kernel
def in_place(n: int):
    for i in y:
        k, s = 0, y[i]
        while k < n:
            s = ti.tanh(s) * s + 0.1
            k += 1
        y[i] = s + 0.1 * ti.sin(y[i]) ** 2

@ti.kernel
def vectors():
    for i in y:
        v = ti.Vector([y[i], x[i], 1.0])
        w[i] = v.normalized() * v.cross(ti.Vector([x[i], 2.0, y[i]])).norm()

@ti.kernel
def measure():
    for i in y: loss[None] += y[i] ** 3 * x[i] + w[i].dot(w[i])
"""


@pytest.fixture
def fields(target: str) -> dict[str, Any]:
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)
    both = {"needs_grad": True, "needs_dual": True}
    found = {name: ti.field(ti.f64, N, **both) for name in "xy"}
    w = ti.Vector.field(3, ti.f64, N, **both)
    return {**found, "w": w, "loss": ti.field(ti.f64, (), **both)}


def numeric(run: Any, x: Any, output: Any, start: Any) -> Any:
    """Return the Jacobian by differences of order 4."""
    columns = []
    for k in range(start.size):
        values = []
        for step in (-2, -1, 1, 2):
            moved = start.copy()
            moved.reshape(-1)[k] += step * 1e-3
            x.from_numpy(moved)
            run()
            values.append(output.to_numpy())
        columns.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / 12e-3)
    return np.moveaxis(np.array(columns), 0, -1)


@pytest.mark.one_target
def test_a_jacobian_of_both_modes(fields: dict[str, Any], define_program: Any) -> None:
    space, x, y = define_program(PROGRAM, **fields), fields["x"], fields["y"]
    narrow = ti.field(ti.f64, (), needs_grad=True)

    def run() -> None:
        space["couple"]()
        space["in_place"](2)

    @ti.kernel
    def total():
        narrow[None] = 0
        for i in y:
            narrow[None] += y[i] ** 2

    def run_total() -> None:
        space["couple"]()
        total()

    start = np.array([0.3, 0.9, 0.6, 0.4])
    expected = numeric(run, x, y, start)
    x.from_numpy(start)
    assert ti.ad.jacobian(run, y, x) == pytest.approx(expected, abs=1e-7)
    assert ti.ad.jacobian(run, fields["y"], x).shape == (N, N)
    expected = numeric(run_total, x, narrow, start)
    x.from_numpy(start)
    assert ti.ad.jacobian(run_total, narrow, x) == pytest.approx(expected, abs=1e-7)
    with pytest.raises(ti.TaichiRuntimeError, match="both have gradients or both have duals"):
        ti.ad.jacobian(run, y, ti.field(ti.f64, N))


@pytest.mark.one_target
def test_a_jacobian_of_what_is_changed_in_place(fields: dict[str, Any], define_program: Any) -> None:
    space, y = define_program(PROGRAM, **fields), fields["y"]
    start = np.array([0.3, 0.9, 0.6, 0.4])
    expected = numeric(lambda: space["in_place"](2), y, y, start)
    y.from_numpy(start)
    assert ti.ad.jacobian(lambda: space["in_place"](2), y, y) == pytest.approx(expected, abs=1e-7)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("memory", [0, 3])
def test_a_product_of_the_hessian(memory: int, fields: dict[str, Any], define_program: Any) -> None:
    space, x, loss = define_program(PROGRAM, **fields), fields["x"], fields["loss"]

    def run() -> None:
        space["couple"]()
        for n in ti.ad.checkpoint(5, memory=memory) if memory else range(5):
            space["in_place"](n % 3)
        space["vectors"]()
        space["measure"]()

    def gradient(values: Any) -> Any:
        x.from_numpy(values)
        with ti.ad.Tape(loss):
            run()
        return x.grad.to_numpy()

    start, direction = np.array([0.3, 0.9, 0.6, 0.4]), np.array([1.0, -0.5, 2.0, 0.3])
    near = gradient(start + 1e-4 * direction) - gradient(start - 1e-4 * direction)
    far = gradient(start + 2e-4 * direction) - gradient(start - 2e-4 * direction)
    expected = (8 * near - far) / 12e-4
    at_start = gradient(start)
    x.from_numpy(start)
    assert ti.ad.hessian_vector(run, loss, x, direction) == pytest.approx(expected, rel=1e-7)
    assert x.grad.to_numpy() == pytest.approx(at_start)
    assert x.to_numpy().tolist() == start.tolist()
    with pytest.raises(ti.TaichiRuntimeError, match="`param` of `hessian_vector` needs a gradient and a dual"):
        ti.ad.hessian_vector(run, loss, ti.field(ti.f64, N, needs_grad=True), direction)


@pytest.mark.one_target
def test_the_duals_of_a_gradient_are_a_kernel(fields: dict[str, Any], define_program: Any) -> None:
    couple = define_program(PROGRAM, **fields)["couple"]
    assert "couple_grad_dual" in couple.grad.dual.source()
    with pytest.raises(ti.TaichiRuntimeError, match="`couple_grad_dual` is a derivative already"):
        couple.grad.dual.dual  # noqa: B018
