"""What a tape says where gradients would end unnoticed, and the line that `ti.ad.gradcheck` names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

PROGRAM = """
@ti.kernel
def square():
    for i in x: y[i] = x[i] ** 2

@ti.kernel
def pass_on(w: ti.types.ndarray()):
    for i in x: w[i] = y[i] * 2

@ti.kernel
def measure(w: ti.types.ndarray()):
    for i in x: loss[None] += w[i] * x[i]

@ti.kernel
def measure_constant(w: ti.types.ndarray()):
    ti.stop_grad(w)
    for i in x: loss[None] += w[i] * x[i]

@ti.kernel
def show():
    for i in x: image[i] = x[i] * int(y[i]) + y[i] * x.grad[i]
"""


@pytest.fixture
def program(define_program: Any) -> Any:
    ti.init(arch=ti.python, default_fp=ti.f64, log_level=ti.ERROR)
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    y, image = ti.field(ti.f64, 3), ti.field(ti.f64, 3)
    x.fill(2.0)
    w = ti.ndarray(ti.f64, 3)
    yield {**define_program(PROGRAM, x=x, y=y, image=image, loss=loss), "w": w, "x": x, "loss": loss}
    ti.reset()


def test_an_array_without_a_gradient_between_two_launches_is_named(program: dict[str, Any]) -> None:
    w, loss = program["w"], program["loss"]
    message = r"(?s)line 12, .*in measure:.*`w` has no gradient.*line 4 of square stores values.*ti.stop_grad\(w\)"
    with pytest.warns(UserWarning, match=message) as warned, ti.ad.Tape(loss):
        program["square"]()
        program["pass_on"](w)
        program["measure"](w)
        program["measure"](w)
    assert len(warned) == 1
    with pytest.raises(ti.TaichiRuntimeError, match=message), ti.ad.Tape(loss, validation=True):
        program["square"]()
        program["pass_on"](w)
        program["measure"](w)
    with pytest.raises(ti.TaichiRuntimeError, match=message), ti.ad.Tape(loss, validation=True):
        for _ in ti.ad.checkpoint(3, memory=2):
            program["square"]()
            program["pass_on"](w)
            program["measure"](w)


def test_what_passes_nothing_on_is_not_named(program: dict[str, Any]) -> None:
    """Constants, arrays that are overwritten from Python, arrays that are shown only, indices and truncated numbers."""
    w, loss = program["w"], program["loss"]
    with ti.ad.Tape(loss, validation=True):
        program["measure"](w)
        program["square"]()
        program["show"]()
        program["pass_on"](w)
        w.fill(1.0)
        program["measure"](w)
        program["pass_on"](w)
        program["measure_constant"](w)


def test_a_tape_without_a_launch_that_writes_the_loss_says_so(program: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match="No launch of this tape wrote the loss"), ti.ad.Tape(program["loss"]):
        program["square"]()


@pytest.mark.parametrize(("needs", "member"), [("needs_grad", "grad"), ("needs_dual", "dual")])
def test_derivatives_that_are_asked_for_are_placed(program: dict[str, Any], needs: str, member: str) -> None:
    loss = ti.field(ti.f64, (), needs_grad=True, needs_dual=True)
    z = ti.field(ti.f64, **{needs: True}, name="z")
    enter = ti.ad.Tape(loss).__enter__ if member == "grad" else ti.ad.FwdMode(loss, loss).__enter__
    node = ti.root.dense(ti.i, 3)
    node.place(z)
    with pytest.raises(RuntimeError, match=f"need `{needs}=True`, however their {member} field.*`z`(.|\n)*x.{member}"):
        enter()
    node.place(getattr(z, member))
    with ti.ad.Tape() if member == "grad" else ti.ad.FwdMode(loss, loss):
        pass


CHECKED = {
    "a step": ("a = x[i] * 2\n        y[i] = x[i] + ti.floor(a)", 5, "not smooth at this value: look at this line, or"),
    "a branch": ("a = x[i] * 2\n        y[i] = a\n        if a > 4.0: y[i] += 1.0", 6, "not smooth"),
    "two kinks": ("a = abs(x[i])\n        y[i] = a + ti.max(a, 2.0)", 4, "look at this line, or line 5"),
}


@pytest.mark.parametrize("name", CHECKED)
def test_gradcheck_names_the_line(name: str, program: dict[str, Any], define_program: Any) -> None:
    lines, line, hint = CHECKED[name]
    y = ti.field(ti.f64, 3, needs_grad=True)
    text = f"@ti.kernel\ndef check():\n    for i in x:\n        {lines}\n"
    kernel = define_program(text, x=program["x"], y=y)["check"]
    with pytest.raises(ti.TaichiAssertionError, match=rf"(?s)line {line}, column .*by `x\[0\]` is .*{hint}"):
        ti.ad.gradcheck(kernel)


def test_gradcheck_names_the_line_that_reads_the_element(program: dict[str, Any], define_program: Any) -> None:
    """A gradient that is wrong where the kernel is smooth: here because the tolerances are."""
    y = ti.field(ti.f64, 3, needs_grad=True)
    text = "@ti.kernel\ndef check():\n    for i in x:\n        a = x[i] * 1e3\n        y[i] = a * a * a\n"
    kernel = define_program(text, x=program["x"], y=y)["check"]
    with pytest.raises(ti.TaichiAssertionError, match=r"(?s)line 4, .*`x\[0\]` is read here"):
        ti.ad.gradcheck(kernel, relative=0.0, absolute=0.0)


@pytest.mark.one_target
def test_elements_of_a_list_have_gradients(target: str) -> None:
    """`ti.append` takes no value for the gradient that `lazy_grad` placed in the list; it is 0."""
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)
    values, x, loss = ti.field(ti.f64), ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    numbers = ti.root.dynamic(ti.i, 16, chunk_size=4)
    numbers.place(values)
    ti.root.lazy_grad()

    @ti.kernel
    def collect():
        for i in x:
            ti.append(numbers, [], 1.5)

    @ti.kernel
    def measure():
        for i in values:
            loss[None] += values[i] ** 2 * x[0]

    x.from_numpy(np.arange(2.0, 6.0))
    collect()
    with ti.ad.Tape(loss):
        measure()
    assert x.grad.to_numpy().tolist() == [9.0, 0.0, 0.0, 0.0]
    assert [values.grad[i] for i in range(4)] == [6.0] * 4
