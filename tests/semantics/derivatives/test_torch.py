"""Gradients of tensors: `x.grad` is filled, tapes take tensors, and kernels are functions that torch differentiates."""

from __future__ import annotations

from typing import Any

import pytest

import shadesmith as ti

torch = pytest.importorskip("torch")

SUMS = {"nondet_tol": 1e-10}
"""Threads add to the gradient of a weight in any order."""


@ti.kernel
def square(x: ti.types.ndarray(), y: ti.types.ndarray()):
    for i in x:
        y[i] = x[i] * x[i] * 3.0


@ti.kernel
def add_up(y: ti.types.ndarray(), loss: ti.types.ndarray()):
    for i in y:
        loss[0] += y[i] * y[i]


@ti.ad.torch_function(y=lambda x, w, b: x.new_empty(x.shape[0], w.shape[1]))
@ti.kernel
def layer(x: ti.types.ndarray(), w: ti.types.ndarray(), b: ti.types.ndarray(), y: ti.types.ndarray()):
    for i, j in y:
        s = b[j]
        for k in range(w.shape[0]):
            s += x[i, k] * w[k, j]
        y[i, j] = ti.tanh(s)


@ti.ad.torch_function(low=lambda x, a: torch.empty_like(x), high=lambda x, a: torch.empty_like(x))
@ti.kernel
def two(x: ti.types.ndarray(), low: ti.types.ndarray(), a: float, high: ti.types.ndarray()):
    for i in x:
        low[i] = ti.sin(x[i]) * a
        high[i] = x[i] * x[i] * x[i]


@pytest.fixture
def device(target: str) -> str:
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)
    return "cuda" if target == "cuda" and torch.cuda.is_available() else "cpu"


def numbers(*shape: int, device: str, requires_grad: bool = True) -> Any:
    torch.manual_seed(0)
    return torch.randn(*shape, dtype=torch.float64).to(device).requires_grad_(requires_grad)


def test_the_gradients_of_tensors_are_filled(device: str) -> None:
    x, y = numbers(5, device=device), numbers(5, device=device)
    y.grad = torch.ones_like(y)
    with torch.no_grad():
        square(x, y)
        square.grad(x, y)
    assert torch.allclose(x.grad, 6 * x.detach())
    assert y.grad.tolist() == [0.0] * 5


def test_a_tape_of_tensors(device: str) -> None:
    x, y = numbers(5, device=device), torch.zeros(5, dtype=torch.float64, device=device, requires_grad=True)
    loss = torch.zeros(1, dtype=torch.float64, device=device, requires_grad=True)
    with torch.no_grad(), ti.ad.Tape(loss):
        square(x, y)
        add_up(y, loss)
    assert torch.allclose(x.grad, 4 * 9 * x.detach() ** 3)


def test_torch_checks_the_gradient_of_a_kernel(device: str) -> None:
    x, w, b = (numbers(*shape, device=device) for shape in ((3, 2), (2, 4), (4,)))
    assert torch.autograd.gradcheck(layer, (x, w, b), **SUMS)
    assert torch.autograd.gradcheck(layer, (x.detach(), w, b.detach()), **SUMS)
    assert torch.autograd.gradcheck(lambda x: layer(x.T, w, b), (numbers(2, 3, device=device),), **SUMS)
    assert torch.allclose(layer(x, w, b), torch.tanh(x @ w + b))


def test_a_kernel_with_two_results_and_a_number(device: str) -> None:
    x = numbers(4, device=device)
    assert torch.autograd.gradcheck(lambda x: two(x, 2.0), (x,), **SUMS)
    low, high = two(x, a=3.0)
    high.sum().backward()
    assert torch.allclose(x.grad, 3 * x.detach() ** 2)
    assert torch.allclose(low, 3.0 * torch.sin(x))


def test_a_model_with_a_kernel_layer_is_trained(device: str) -> None:
    torch.manual_seed(1)

    class Layer(torch.nn.Module):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(inputs, outputs, dtype=torch.float64) / inputs**0.5)
            self.bias = torch.nn.Parameter(torch.zeros(outputs, dtype=torch.float64))

        def forward(self, x: Any) -> Any:
            return layer(x, self.weight, self.bias)

    model = torch.nn.Sequential(Layer(1, 16), Layer(16, 16), torch.nn.Linear(16, 1).double()).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    x = torch.linspace(-1, 1, 64, dtype=torch.float64, device=device)[:, None]
    wanted = torch.sin(3 * x)
    losses = []
    for _ in range(150):
        optimizer.zero_grad()
        loss = ((model(x) - wanted) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < 0.02 * losses[0]


def test_mistakes_are_named(device: str) -> None:
    with pytest.raises(ti.TaichiRuntimeError, match="has no parameter `z`"):
        ti.ad.torch_function(z=torch.empty_like)(square)
    with pytest.raises(ti.TaichiRuntimeError, match="above `@ti.kernel`"):
        ti.ad.torch_function(y=torch.empty_like)(len)
    with pytest.raises(TypeError, match=r"layer takes \(x, w, b\)"):
        layer(numbers(2, device=device))
