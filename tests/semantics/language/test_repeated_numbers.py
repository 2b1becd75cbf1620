"""A number that a line repeats is one constant of its block, wherever the frontend builds or drops statements."""

from __future__ import annotations

import numpy as np

import shadesmith as ti
from shadesmith.runtime.cache import compiler
from shadesmith.runtime.devices.capabilities import portable
from shadesmith.transpiler.frontend.builders.build import build
from shadesmith.transpiler.ir.nodes import walk
from shadesmith.transpiler.ir.statements import Const
from shadesmith.transpiler.options import CompileOptions


@ti.func
def either(x, k: ti.template()):
    """It is inlined: the first try to build it as a function is dropped."""
    if ti.static(k > 3):
        return x * 7.5 + 3.0
    return ti.Vector([x, x + 7.5])[1]


def test_in_branches_loops_and_calls(target) -> None:
    x = ti.field(ti.f64, shape=16)

    @ti.kernel
    def kernel(n: ti.i32):
        for i in range(4):
            a = x[i + 7] + 7.5
            if i + 7 > n and x[i + 7] * 7.5 < 7.5 * n:
                a += either(a, 7) + 7.5
                for k in range(n):
                    a += x[i + 7] * 7.5 - k * 7
            else:
                a -= either(a + 7.5, 2) + either(a, 7)
            x[i] = a + 7.5 + (i + 7) - 0.0 * a + -0.0

    values = np.arange(16) * 0.25
    x.from_numpy(values)
    kernel(9)
    expected = values.copy()
    for i in range(4):
        a = values[i + 7] + 7.5
        if i + 7 > 9 and values[i + 7] * 7.5 < 7.5 * 9:
            a += a * 7.5 + 3.0 + 7.5
            for k in range(9):
                a += values[i + 7] * 7.5 - k * 7
        else:
            a -= (a + 7.5) + 7.5 + (a * 7.5 + 3.0)
        expected[i] = a + 7.5 + (i + 7)
    np.testing.assert_allclose(x.to_numpy(), expected, rtol=1e-12)


def test_truth_values_and_signs_of_zero_stay_apart(target) -> None:
    x = ti.field(ti.f32, shape=4)

    @ti.kernel(fast_math=False)
    def kernel():
        for i in x:
            a = x[i]
            x[i] = ti.select(a > 0, 1.0 / (a * 0.0), 1.0 / (a * -0.0)) + 1 * (a > 1) + 1.0 * (a > 2)

    x.from_numpy(np.array([1, -1, 3, -3], np.float32))
    kernel()
    assert x.to_numpy().tolist() == [np.inf] * 4


def test_equal_numbers_in_a_row_are_one_constant(target) -> None:
    x = ti.field(ti.f32, shape=16)

    @ti.kernel
    def kernel():
        for i in range(8):
            x[i + 5] = x[i + 5] * 2.5 + x[i + 6] * 2.5

    request = compiler.specialize(kernel.definition, (), CompileOptions(), portable("c"))
    statements = list(walk(build(request.specialization).kernel.body))
    numbers = [s.value for s in statements if isinstance(s, Const) and s.value in (2.5, 5, 6)]
    assert sorted(numbers) == [2.5, 5, 6]
