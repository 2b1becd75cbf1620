"""Gradients of ndarrays whose memory other arguments have too, and the faster source of those that have their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shadesmith as ti

ARRAY = ti.types.ndarray(ti.f32, ndim=1)
N = 8


@ti.kernel
def double(x: ARRAY, y: ARRAY):
    for i in x:
        y[i] = 2 * x[i]


def array() -> Any:
    made = ti.ndarray(ti.f32, N, needs_grad=True)
    made.grad.fill(3)
    return made


@pytest.mark.one_target
def test_arguments_may_have_one_gradient(target: str) -> None:
    """What is assigned has no influence on what was there before, though it is one array: the gradient is 6, not 9."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, y = array(), array()
    double.grad(x, y)
    assert x.grad.to_numpy().tolist() == [9.0] * N
    assert y.grad.to_numpy().tolist() == [0.0] * N
    x.grad.fill(3)
    double.grad(x, x)
    assert x.grad.to_numpy().tolist() == [6.0] * N
    x.grad.fill(3)
    double.grad(x[2:6], x[2:6])
    assert x.grad.to_numpy().tolist() == [3.0] * 2 + [6.0] * 4 + [3.0] * 2
    double.grad(x[0:2], x[6:8])
    assert x.grad.to_numpy().tolist() == [9.0] * 2 + [6.0] * 4 + [0.0] * 2


def test_a_gradient_with_memory_of_its_own_is_cleared_last() -> None:
    """A store to an element whose load is under way costs an H200 4 to 6 times (docs/performance.md)."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR, passes="-wide_accesses")
    x, y = array(), array()
    for values, is_last in (((x, y), True), ((x, x), False), ((x[0:4], x[4:8]), False)):
        source = double.grad.source(*values, arch=ti.cuda)
        assert (source.index("y_grad(i) = 0.0f;") > source.index("x_grad(i) +=")) is is_last
        assert ("*__restrict__ x_grad_data" in source) is is_last


@pytest.mark.one_target
def test_an_archive_takes_arguments_with_one_gradient(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no source")
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    module = ti.aot.Module(getattr(ti, target))
    module.add_kernel(double.grad)
    module.archive(tmp_path / "module.tcm")
    x = array()
    ti.aot.load(tmp_path / "module.tcm").kernels["double_grad"](x, x)
    assert x.grad.to_numpy().tolist() == [6.0] * N
