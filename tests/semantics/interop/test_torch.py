"""torch tensors of the CPU as kernel arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

torch = pytest.importorskip("torch")


@ti.kernel
def double(x: ti.types.ndarray()):
    for I in ti.grouped(x):
        x[I] = x[I] * 2


@ti.kernel
def total(x: ti.types.ndarray(dtype=ti.f32)) -> ti.f32:
    s = 0.0
    for I in ti.grouped(x):
        s += x[I]
    return s


LAYOUTS = {
    "plain": lambda x: x,
    "columns": lambda x: x[:, ::2],
    "transposed": lambda x: x.T,
    "permuted": lambda x: x.reshape(2, 3, 8).permute(2, 0, 1),
    "one": lambda x: x[3, 4],
    "empty": lambda x: x[3:3],
    "offset": lambda x: x[2:],
    "parameter": lambda x: torch.nn.Parameter(x, requires_grad=False),
}


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
def test_a_tensor_is_changed_in_place_however_it_lies(target: str, make: Any) -> None:
    whole = torch.arange(48, dtype=torch.float32).reshape(6, 8)
    expected = whole.clone()
    double(make(whole))
    make(expected).mul_(2)
    assert torch.equal(whole, expected)
    double(make(whole))
    make(expected).mul_(2)
    assert torch.equal(whole, expected)


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_every_type_of_number(target: str, name: str) -> None:
    @ti.kernel
    def copy(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            y[i] = x[i]

    values = torch.arange(7).to(getattr(torch, name))
    result = torch.zeros_like(values)
    copy(values, result)
    assert torch.equal(result, values)


def test_a_tensor_and_its_numpy_array_are_one_argument(target: str) -> None:
    @ti.kernel
    def both(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            x[i] += 1
        for i in y:
            y[i] += 1

    values = torch.zeros(5)
    both(values, values.numpy())
    assert values.tolist() == [2] * 5


def test_a_tensor_that_requires_grad_may_be_read(target: str) -> None:
    assert total(torch.ones(5, requires_grad=True)) == 5
    assert total(torch.ones(5, requires_grad=True)[::2]) == 3


def test_a_tensor_that_requires_grad_is_written_where_torch_would_let_it_be(target: str) -> None:
    values = torch.ones(3, requires_grad=True)
    for _ in range(2):
        with pytest.raises(
            ti.TaichiRuntimeTypeError, match=r"\(`x` of kernel `double`\) is a tensor that requires grad"
        ):
            double(values)
    with torch.no_grad():
        double(values)
    double(values.detach())
    assert values.tolist() == [4, 4, 4]


def test_a_kernel_inside_an_autograd_function(target: str) -> None:
    @ti.kernel
    def cube(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            y[i] = x[i] ** 3

    @ti.kernel
    def derive(x: ti.types.ndarray(), dy: ti.types.ndarray(), dx: ti.types.ndarray()):
        for i in x:
            dx[i] = 3 * x[i] ** 2 * dy[i]

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            y = torch.empty_like(x)
            cube(x, y)
            context.save_for_backward(x)
            return y

        @staticmethod
        def backward(context, dy):
            (x,) = context.saved_tensors
            dx = torch.empty_like(x)
            derive(x, dy, dx)
            return dx

    x = torch.tensor([1.0, 2.0, -3.0], requires_grad=True)
    Cube.apply(x).sum().backward()
    assert x.grad.tolist() == [3, 12, 27]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: torch.zeros(3, 3).to_sparse(), r"sparse tensor .*to_dense"),
        (lambda: torch.zeros(3, 3).to_sparse_csr(), r"sparse tensor .*to_dense"),
        (lambda: torch.zeros(3, dtype=torch.complex64).conj(), r"lazy view.*resolve_conj"),
        (lambda: torch.zeros(3, dtype=torch.complex64).conj().imag, r"lazy view.*resolve_neg"),
        (lambda: torch.zeros(3, device="meta"), r"on device `meta`.*tensor.cpu\(\)"),
        (lambda: torch.zeros(3, dtype=torch.bfloat16), r"dtype bfloat16, which kernels cannot hold.*tensor.float\(\)"),
        (lambda: torch.zeros(3, dtype=torch.complex64), r"dtype complex64, which kernels cannot hold"),
        (lambda: torch.zeros(1).expand(4), r"is expanded: several elements share one address"),
    ],
)
def test_a_tensor_that_does_not_hold_its_numbers_is_refused(target: str, make: Any, text: str) -> None:
    double(torch.zeros(3))
    for _ in range(2):
        with pytest.raises(ti.TaichiRuntimeTypeError, match=r"\(`x` of kernel `double`\).*" + text):
            double(make())


def test_shapes_of_tensors_do_not_recompile(target: str) -> None:
    double(torch.zeros(3))
    compiled = sessions.current().compiled_functions
    double(torch.zeros(10))
    double(torch.zeros(0))
    double(torch.nn.Parameter(torch.zeros(4), requires_grad=False).detach())
    assert sessions.current().compiled_functions == compiled
    double(torch.zeros(10)[::2])
    assert sessions.current().compiled_functions == compiled + sessions.current().device.host_memory
    np.testing.assert_array_equal(torch.zeros(3).numpy(), 0)
