"""`ti.ad`: tapes and what they save, gradients written by hand, forward mode, checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti


@pytest.fixture
def fields(target: str) -> dict[str, Any]:
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)
    found = {name: ti.field(ti.f64, 3, needs_grad=True, needs_dual=True) for name in "xyz"}
    return {**found, "loss": ti.field(ti.f64, (), needs_grad=True, needs_dual=True)}


KERNELS = """
@ti.kernel
def square():
    for i in x: y[i] = x[i] ** 2

@ti.kernel
def in_place():
    for i in x: x[i] = x[i] * x[i]

@ti.kernel
def back(a: float):
    for i in x: x[i] = a * y[i] + 1

@ti.kernel
def sum_up():
    for i in y: loss[None] += y[i] ** 2
"""


def test_a_tape_computes_the_gradients_of_its_kernels(fields: dict[str, Any], define_program: Any) -> None:
    space, x, loss = define_program(KERNELS, **fields), fields["x"], fields["loss"]
    x.fill(1.1)
    for _ in range(2):  # gradients are cleared, and the loss is set to 0
        with ti.ad.Tape(loss):
            space["square"]()
            space["sum_up"]()
    assert loss[None] == pytest.approx(3 * 1.1**4)
    assert x.grad.to_numpy() == pytest.approx(np.full(3, 4 * 1.1**3))


def test_a_tape_saves_what_launches_overwrite(fields: dict[str, Any], define_program: Any) -> None:
    space, x, loss = define_program(KERNELS, **fields), fields["x"], fields["loss"]
    x.fill(1.1)
    with ti.ad.Tape(loss):
        space["in_place"]()
        space["square"]()
        space["back"](2.0)
        space["in_place"]()
        space["square"]()
        space["sum_up"]()

    def outcome(v: float) -> float:
        return ((2 * v**4 + 1) ** 4) ** 2

    expected = (outcome(1.1 + 1e-6) - outcome(1.1 - 1e-6)) / 2e-6
    assert x.grad.to_numpy() == pytest.approx(np.full(3, expected), rel=1e-7)
    assert x[0] == pytest.approx((2 * 1.1**4 + 1) ** 2)  # the latest value again


def test_a_gradient_that_needs_overwritten_values_asks_for_a_tape(fields: dict[str, Any], define_program: Any) -> None:
    space = define_program(KERNELS, **fields)
    space["in_place"]()
    with pytest.raises(ti.TaichiRuntimeError, match=r"line 8, column \d+, in in_place:(.*\n)+.*ti.ad.Tape"):
        space["in_place"].grad()


def test_steps_in_time_save_nothing(fields: dict[str, Any]) -> None:
    u, loss = ti.field(ti.f64, (10, 4), needs_grad=True), fields["loss"]

    @ti.kernel
    def step(t: int):
        for i in range(4):
            u[t + 1, i] = ti.sin(u[t, i]) + 0.5 * u[t, (i + 1) % 4] ** 2

    @ti.kernel
    def measure():
        for i in range(4):
            loss[None] += u[9, i] ** 2

    u.from_numpy(np.linspace(0.1, 1, 40).reshape(10, 4))
    with ti.ad.Tape(loss) as tape:
        for t in range(9):
            step(t)
        measure()
    assert not any(record.saved for record in tape.calls)
    states = [np.linspace(0.1, 1, 40).reshape(10, 4)[0]]
    for _ in range(9):
        states.append(np.sin(states[-1]) + 0.5 * np.roll(states[-1], -1) ** 2)
    adjoint = 2 * states[9]
    for state in reversed(states[:9]):
        adjoint = np.cos(state) * adjoint + state * np.roll(adjoint, 1)
    assert u.grad.to_numpy()[0] == pytest.approx(adjoint)


def test_values_written_from_python_are_found_by_validation(fields: dict[str, Any], define_program: Any) -> None:
    space, x, loss = define_program(KERNELS, **fields), fields["x"], fields["loss"]
    with pytest.raises(ti.TaichiRuntimeError, match=r"`x\[1\]` was read here, and written from Python"):
        with ti.ad.Tape(loss, validation=True):
            space["square"]()
            x[1] = 5.0
            space["sum_up"]()


def test_gradients_written_by_hand_replace_derived_ones(fields: dict[str, Any], define_program: Any) -> None:
    space, x, loss = define_program(KERNELS, **fields), fields["x"], fields["loss"]

    @ti.ad.grad_replaced
    def forward(factor: float) -> None:
        space["square"]()

    @ti.ad.grad_for(forward)
    def backward(factor: float) -> None:
        x.grad.fill(factor)

    @ti.ad.no_grad
    def ignored() -> None:
        space["back"](1.0)

    with ti.ad.Tape(loss):
        forward(7.0)
        space["sum_up"]()
        ignored()
    assert x.grad.to_numpy().tolist() == [7.0] * 3
    with pytest.raises(RuntimeError, match="must be decorated by ti.ad.grad_replaced"):
        ti.ad.grad_for(space["square"])(backward)


def test_forward_mode_computes_duals(fields: dict[str, Any], define_program: Any) -> None:
    space, x, y = define_program(KERNELS, **fields), fields["x"], fields["y"]
    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0, 2.0]):
        space["square"]()
    assert y.dual.to_numpy().tolist() == [2.0, 0.0, 12.0]
    assert y.to_numpy().tolist() == [1.0, 4.0, 9.0]
    assert x.dual.to_numpy().tolist() == [0.0] * 3
    with pytest.raises(ti.TaichiRuntimeError, match="`seed` is not set for non 0-D field"):
        ti.ad.FwdMode(loss=y, param=x).__enter__()


def test_checks_find_a_wrong_gradient(fields: dict[str, Any], define_program: Any) -> None:
    space, x, loss = define_program(KERNELS, **fields), fields["x"], fields["loss"]
    x.fill(0.5)
    assert ti.ad.gradcheck(space["square"])
    with ti.ad.Tape(loss, grad_check=[x]):
        space["square"]()
        space["sum_up"]()
    step = define_program("@ti.kernel\ndef step():\n    for i in x: y[i] = ti.floor(x[i])\n", **fields)["step"]
    x.fill(1.0)
    with pytest.raises(ti.TaichiAssertionError, match=r"by `x\[0\]` is 0, and differences give"):
        ti.ad.gradcheck(step)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ti.field(float, 3, needs_grad=True), "The loss of `Tape` must be a 0-D field, i.e. scalar"),
        (lambda: ti.field(float, ()), "Gradients of loss are not allocated, please use ti.field"),
        (lambda: ti.ndarray(float, 2, needs_grad=True), "must be an ndarray with only one element"),
        (lambda: 3.0, "must be a field, ndarray or tensor"),
    ],
)
def test_a_loss_is_one_number_with_a_gradient(fields: dict[str, Any], make: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message), ti.ad.Tape(make()):
        pass


def test_a_method_has_a_gradient(fields: dict[str, Any]) -> None:
    x, loss = fields["x"], fields["loss"]

    @ti.data_oriented
    class Owner:
        def __init__(self) -> None:
            self.factor = 2.0

        @ti.kernel
        def measure(self):
            for i in x:
                loss[None] += self.factor * x[i] ** 2

    x.fill(2.0)
    owner = Owner()
    with ti.ad.Tape(loss):
        owner.measure()
    assert x.grad.to_numpy().tolist() == [8.0] * 3
    owner.measure.grad()
    assert x.grad.to_numpy().tolist() == [16.0] * 3


@pytest.mark.one_target
def test_a_tape_that_keeps_nothing_names_what_is_overwritten(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, loss = ti.field(ti.f32, 3, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def square():
        for i in x:
            loss[None] += x[i] ** 2

    @ti.kernel
    def reset():
        for i in x:
            x[i] = 1.0

    @ti.kernel
    def power():
        for i in x:
            x[i] = x[i] * x[i]

    with pytest.raises(ti.TaichiRuntimeError, match=r"(?s)loss\[None\] \+= x\[i\].*value of `x`.*a later launch"):
        with ti.ad.Tape(loss, keep="never"):
            square()
            reset()
    with pytest.raises(ti.TaichiRuntimeError, match=r"(?s)x\[i\] = x\[i\] \* x\[i\].*its own kernel overwrites"):
        with ti.ad.Tape(loss, keep="never"):
            power()
    with pytest.raises(ti.TaichiRuntimeError, match='"auto" or "never"'):
        ti.ad.Tape(loss, keep="maybe")
    with ti.ad.Tape(loss, keep="auto"):
        square()
        reset()
