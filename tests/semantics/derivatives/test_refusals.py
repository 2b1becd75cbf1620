"""What has no derivative is 0 where mathematics says so, else an error with the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

REFUSED = {
    "random": ("y[i] = x[i] * ti.random()", "random number of this line"),
    "atomic_mul": ("ti.atomic_mul(loss[None], x[i])", "`ti.atomic_mul` has no derivative here"),
    "old value": ("y[i] = ti.atomic_add(loss[None], x[i])", "what an atomic operation returns"),
    "bits": ("y[i] = ti.bit_cast(ti.bit_cast(x[i], ti.i32) + 1, ti.f32)", "`ti.bit_cast` has no derivative"),
    "its own gradient": ("y[i] = x[i] * x.grad[i]", "The gradient needs this value of `x_grad`"),
    "real function": ("y[i] = real(x[i], 2)", "derivative of `real`, a `ti.real_func` that calls itself"),
    "threads": ("y[i] = x[i]; ti.simt.block.sync()", "its threads share memory or synchronize"),
}


@ti.real_func
def real(a: float, n: int) -> float:
    r = a
    if n > 0:
        r = a * real(a, n - 1)
    return r


@pytest.fixture
def fields() -> Any:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    found = {name: ti.field(float, 3, needs_grad=True) for name in "xy"}
    yield {**found, "loss": ti.field(float, (), needs_grad=True), "real": real}
    ti.reset()


@pytest.mark.parametrize("name", REFUSED)
def test_a_line_without_derivative_is_named(name: str, fields: dict[str, Any], define_kernel: Any) -> None:
    line, message = REFUSED[name]
    kernel = define_kernel(f"def kernel():\n    for i in x:\n        {line}\n", **fields)
    with pytest.raises(ti.TaichiCompilationError) as error:
        kernel.grad.compile()
    assert message in str(error.value)
    assert "line 4, column" in str(error.value)
    assert "in kernel:" in str(error.value)
    assert "Hint: " in str(error.value)


def test_steps_and_integers_have_the_derivative_0(fields: dict[str, Any], define_kernel: Any) -> None:
    line = "y[i] = float(int(x[i] * 3)) + ti.floor(x[i]) + ti.round(x[i]) + float(x[i] > 0.5)"
    kernel = define_kernel(f"def kernel():\n    for i in x: {line}\n", **fields)
    fields["y"].grad.fill(1)
    kernel.grad()
    assert fields["x"].grad.to_numpy().tolist() == [0.0] * 3


def test_what_no_gradient_needs_is_no_error(fields: dict[str, Any], define_kernel: Any) -> None:
    """Random numbers, bits and atomic maxima of integers in a kernel of a tape."""
    numbers = ti.field(int, 3)
    lines = "numbers[i] += ti.random(int); ti.atomic_max(numbers[0], i); y[i] = float(ti.bit_cast(x[i], ti.i32) & 1)"
    kernel = define_kernel(f"def kernel():\n    for i in x: {lines}\n", numbers=numbers, **fields)
    with ti.ad.Tape(fields["loss"]):
        kernel()
    assert fields["x"].grad.to_numpy().tolist() == [0.0] * 3


def test_decompositions_are_differentiated(fields: dict[str, Any]) -> None:
    a, loss = ti.Matrix.field(2, 2, ti.f64, (), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def kernel():
        rotation, stretch = ti.polar_decompose(a[None])
        loss[None] += (rotation @ ti.Vector([1.0, 2.0])).dot(stretch @ ti.Vector([3.0, 1.0]))

    a[None] = [[1.2, 0.3], [-0.1, 0.9]]
    assert ti.ad.gradcheck(kernel)


def test_an_element_overwritten_by_another_loop_is_named(fields: dict[str, Any], define_kernel: Any) -> None:
    text = "def kernel():\n    for i in x: y[i] = x[i] * x[i]\n    for i in x: x[i] = 2.0 * y[i]\n"
    with pytest.raises(ti.TaichiCompilationError, match="value of `x`, which line 4 overwrites in the same kernel"):
        define_kernel(text, **fields).grad.compile()


def test_an_argument_given_twice_is_an_error(fields: dict[str, Any]) -> None:
    @ti.kernel
    def kernel(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            b[i] = a[i] * a[i]

    a = ti.ndarray(float, 3, needs_grad=True)
    with pytest.raises(ti.TaichiRuntimeError, match="writes the same memory as `b`"):
        kernel.grad(a, a)


def test_stop_grad_makes_an_array_constant(fields: dict[str, Any], define_kernel: Any) -> None:
    kernel = define_kernel("def kernel():\n    ti.stop_grad(x)\n    for i in x: y[i] = x[i]\n", **fields)
    fields["y"].grad.fill(1)
    kernel.grad()
    assert fields["x"].grad.to_numpy().tolist() == [0.0] * 3


def test_a_gradient_has_no_gradient(fields: dict[str, Any], define_kernel: Any) -> None:
    kernel = define_kernel("def kernel():\n    for i in x: y[i] = x[i]\n", **fields)
    with pytest.raises(ti.TaichiRuntimeError, match="`kernel_grad` is a derivative already"):
        kernel.grad.grad  # noqa: B018


def test_a_gradient_reads_like_its_kernel(fields: dict[str, Any], define_kernel: Any) -> None:
    text = "def kernel(a: float):\n    for i in x:\n        v = x[i] * a\n        y[i] = v * v\n"
    kernel = define_kernel(text, **fields)
    source = kernel.grad.source(2.0)
    assert "kernel_grad_0(" in source
    assert "// adjoint of " in source
    assert "v_adj = 2.0f * v * y_grad(i);" in source
    assert source.index("y_grad(i) = 0.0f;") > source.index("x_grad(i) +=")
    assert "x_grad(i) += v_adj * args.a;" in source
    assert len(source) <= 2.2 * len(kernel.source(2.0))


def test_a_gradient_is_no_sum_of_what_is_in_itself(fields: dict[str, Any]) -> None:
    """In one loop an iteration clears what it has read before it adds; `gather_adjoints` adds in a loop before."""

    @ti.kernel
    def kernel(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(2):
            b[i] = a[i + 2] * 2 + a[i] * 5

    a, b = (ti.ndarray(float, 4, needs_grad=True) for _ in range(2))
    b.grad.from_numpy(np.array([1, 10, 0, 0], np.float32))
    kernel.grad(a, b)
    assert a.grad.to_numpy().tolist() == [5, 50, 2, 20] and not b.grad.to_numpy().any()
    with pytest.raises(ti.TaichiRuntimeError, match="gradients of `a` and `b` are the same memory"):
        kernel.grad(b, b)


def test_a_gradient_of_other_elements_may_be_in_the_same_array(fields: dict[str, Any]) -> None:
    @ti.kernel
    def kernel(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(2):
            b[i] = a[i + 2] * 2 + a[i + 3]

    a = ti.ndarray(float, 5, needs_grad=True)
    a.grad.from_numpy(np.array([1, 7, 3, 4, 5], np.float32))
    kernel.grad(a, a)
    assert a.grad.to_numpy().tolist() == [0, 0, 5, 19, 12]
