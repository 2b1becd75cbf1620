"""Functions and kernels below `classmethod`, of which Python 3.13 and later make plain methods."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import shadesmith as ti


class Steps:
    step = 5

    @classmethod
    @ti.func
    def inlined(cls, a):
        return a + cls.step

    @classmethod
    @ti.pyfunc
    def in_both(cls, a):
        return a + cls.step

    @classmethod
    @ti.real_func
    def called(cls, a: ti.i32) -> ti.i32:
        return a + cls.step

    @classmethod
    @ti.kernel
    def launched(cls, x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] += cls.step


class Long(Steps):
    step = 50


WAYS = [Steps.inlined, Steps.in_both, Steps.called, partial(Steps.inlined), Long.inlined, Long().called]


@pytest.mark.parametrize("number", range(len(WAYS)))
def test_functions_of_classes(target: str, number: int) -> None:
    function, step = WAYS[number], 5 if number < 4 else 50

    @ti.kernel
    def run(a: ti.i32) -> ti.i32:
        return function(a) + function(2)

    assert run(4) == 6 + 2 * step


def test_functions_of_classes_as_templates(target: str) -> None:
    @ti.kernel
    def run(function: ti.template(), a: ti.i32) -> ti.i32:
        return function(a)

    assert [run(function, 4) for function in WAYS] == [9, 9, 9, 9, 54, 54]


def test_they_are_told_apart_from_the_functions_of_objects(target: str) -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="cannot be called from Python-scope; `Steps.inlined`"):
        Steps.inlined(4)
    assert Long.in_both(4) == 54


def test_kernels_of_classes_are_launched(target: str) -> None:
    x = np.zeros(3, np.int32)
    Steps.launched(x)
    Long().launched(x)
    assert x.tolist() == [55] * 3


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_kernels_of_classes_in_graphs_and_modules(target: str) -> None:
    if target == "python":
        pytest.skip("runs no graph of texts")
    builder = ti.graph.GraphBuilder()
    builder.dispatch(Long.launched, ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.i32, ndim=1))
    x = ti.ndarray(ti.i32, 3)
    builder.compile().run({"x": x})
    assert x.to_numpy().tolist() == [50] * 3
    module = ti.aot.Module(getattr(ti, target))
    module.add_kernel(Long.launched)
