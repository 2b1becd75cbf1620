"""Programs whose gradients Taichi 1.7.4 computes wrong, refuses or crashes at; the numbers of its issues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

N = 6


@pytest.fixture
def in_f64(target: str) -> str:
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)
    return target


def by_tape(kernel: Any, arrays: list[Any], loss: Any, *args: Any) -> None:
    """Compare the gradients of a tape along a direction with finite differences."""
    numbers = np.random.default_rng(2)
    start = [numbers.uniform(0.4, 1.2, np.shape(a.to_numpy())) for a in arrays]
    direction = [numbers.uniform(-1, 1, s.shape) for s in start]

    def outcome(step: float) -> float:
        for array, values, change in zip(arrays, start, direction, strict=True):
            array.from_numpy(values + step * change)
        loss[None] = 0
        kernel(*args)
        return float(loss[None])

    expected = (outcome(1e-6) - outcome(-1e-6)) / 2e-6
    for array, values in zip(arrays, start, strict=True):
        array.from_numpy(values)
    with ti.ad.Tape(loss):
        kernel(*args)
    found = sum(float(np.sum(a.grad.to_numpy() * d)) for a, d in zip(arrays, direction, strict=True))
    assert found == pytest.approx(expected, rel=1e-6)


def fields(*names: str) -> list[Any]:
    return [ti.field(ti.f64, () if name == "loss" else N, needs_grad=True) for name in names]


def test_8802_plasticity(in_f64: str) -> None:
    """A serial loop reads `e[i]` and writes `e[i + 1]`. Taichi 1.7.4 gives 4.8 times the gradient."""
    e, p, loss = (ti.field(ti.f64, s, needs_grad=True) for s in (61, 61, ()))
    theta = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def load():
        for _ in range(1):
            for i in range(60):
                strain = theta[None] * ti.sin(2 * ti.math.pi * i / 60)
                trial = 1000.0 * (strain - e[i])
                excess = ti.abs(trial) - 2.0
                e[i + 1] = e[i]
                p[i + 1] = p[i]
                if excess > 0.0:
                    e[i + 1] = e[i] + excess / 1000.0 * ti.math.sign(trial)
                    p[i + 1] = p[i] + excess / 1000.0
            loss[None] += p[60]

    theta[None] = 0.0045
    for _ in range(2):
        with ti.ad.Tape(loss, validation=True):
            load()
        assert theta.grad[None] == pytest.approx(4 - np.sin(2 * np.pi / 60), rel=1e-12)
    assert theta.grad[None] == pytest.approx(3.895472, abs=5e-7)


def test_2505_a_moving_average_in_place(in_f64: str) -> None:
    x, y, loss = fields("x", "y", "loss")

    @ti.kernel
    def average():
        for _ in range(1):
            for i in range(1, N):
                x[i] = 0.5 * (x[i] * x[i - 1] + y[i] * x[i])
            for i in range(N):
                loss[None] += x[i] ** 2

    by_tape(average, [x, y], loss)


def test_2425_an_element_read_overwritten_and_used(in_f64: str) -> None:
    x, y, loss = fields("x", "y", "loss")

    @ti.kernel
    def steps():
        for i in x:
            a = x[i]
            x[i] = a * a + y[i]
            if x[i] > 0.5:
                x[i] *= x[i] * a
            loss[None] += x[i] * a

    by_tape(steps, [x, y], loss)


def test_an_element_that_two_nested_loops_overwrite(in_f64: str) -> None:
    """Each iteration of both loops has a place of its own for what it read."""
    x, y, loss = fields("x", "y", "loss")

    @ti.kernel
    def sweeps():
        for _ in range(1):
            for _sweep in range(3):
                for i in range(1, N - 1):
                    x[i] = 0.25 * (x[i - 1] + x[i + 1] * y[i] * x[i])
            for i in range(N):
                loss[None] += x[i] ** 2

    by_tape(sweeps, [x, y], loss)


def test_3912_statements_around_two_loops(in_f64: str) -> None:
    x, y, loss = fields("x", "y", "loss")

    @ti.kernel
    def mixed():
        for i in x:
            a = x[i] * 2
            for j in range(3):
                a += y[j] * a
            b = ti.sin(a) + x[i]
            for j in range(3):
                b *= y[j] + a
            loss[None] += a * b

    by_tape(mixed, [x, y], loss)


def test_2387_a_loop_of_run_time_length_in_a_branch(in_f64: str) -> None:
    x, y, loss = fields("x", "y", "loss")

    @ti.kernel
    def branch(n: int):
        for i in x:
            if x[i] > 0.6:
                a = x[i]
                for j in range(n - i):
                    a = a * y[j % N] + ti.cos(a)
                loss[None] += a

    by_tape(branch, [x, y], loss, 8)


def test_571_a_running_minimum(in_f64: str) -> None:
    x, y, loss = fields("x", "y", "loss")

    @ti.kernel
    def least(n: int):
        for i in y:
            m = 10.0
            for j in range(n):
                m = ti.min(m, x[j] * y[i])
            loss[None] += m * m

    by_tape(least, [x, y], loss, N)


def test_an_atomic_maximum_over_several_launches(in_f64: str) -> None:
    """Taichi 1.7.4 passes the gradient to all values."""
    x, loss = fields("x", "loss")
    best = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def search(start: int, end: int):
        for i in range(start, end):
            ti.atomic_max(best[None], x[i] * x[i])

    @ti.kernel
    def measure():
        loss[None] += best[None] * 3

    x.from_numpy(np.array([1.0, 3.0, 2.0, 5.0, 4.0, 0.5]))
    with ti.ad.Tape(loss):
        for start in (0, 2, 4):
            search(start, start + 2)
        measure()
    assert x.grad.to_numpy().tolist() == [0.0, 0.0, 0.0, 30.0, 0.0, 0.0]
    assert best.grad[None] == 0.0


def test_a_load_that_is_overwritten_in_a_loop_of_run_time_length_is_named(in_f64: str) -> None:
    x, loss = fields("x", "loss")

    @ti.kernel
    def power(n: int):
        for i in x:
            for _ in range(n):
                x[i] = x[i] * x[i]

    with pytest.raises(ti.TaichiCompilationError, match="a loop whose trip count is known only at run time"):
        power.grad.compile(3)


def test_equal_maxima_share_no_gradient(in_f64: str) -> None:
    """One of equal candidates takes the gradient. Taichi 1.7.4 adds it to every candidate in each launch: [2, 2, 2]."""
    x, best, loss = (ti.field(ti.f64, s, needs_grad=True) for s in (3, (), ()))

    @ti.kernel
    def find():
        for i in x:
            ti.atomic_max(best[None], x[i])

    @ti.kernel
    def use():
        loss[None] += best[None]

    x.from_numpy(np.array([1.0, 2.0, 2.0]))
    with ti.ad.Tape(loss):
        find()
        find()
        use()
    assert sorted(x.grad.to_numpy().tolist()) == [0.0, 0.0, 1.0]
    assert x.grad[0] == 0.0


@pytest.mark.one_target
def test_a_minimum_that_is_rounded_otherwise_when_it_is_computed_again(target: str) -> None:
    """A compiler may contract products and sums in the gradient and not in the kernel, so that no candidate is equal."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, best = (ti.field(ti.f32, s, needs_grad=True) for s in (50, ()))

    @ti.kernel
    def find():
        for i in x:
            ti.atomic_min(best[None], ti.sqrt(x[i] * x[i] + 0.3 * x[i]))

    x.from_numpy(np.linspace(1, 2, 50, dtype=np.float32))
    best[None] = 9.0
    find()
    best[None] = np.nextafter(best[None], 0, dtype=np.float32)
    best.grad[None] = 1.0
    find.grad()
    assert x.grad[0] == pytest.approx(2.3 / 2 / 1.3**0.5)
    assert best.grad[None] == 0.0
