"""Which loops stride on a GPU, seen in the text: those of long or unknown length whose turns do little."""

from __future__ import annotations

import pytest

import shadesmith as ti

LONG = 1 << 24


@ti.kernel
def light(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        y[i] = 2.0 * x[i] + x[i]


@ti.kernel
def heavy(x: ti.types.ndarray(ti.math.vec3, 1), y: ti.types.ndarray(ti.math.vec3, 1)):
    for i in x:
        y[i] = y[i] + 2.0 * x[i]


@ti.kernel
def long_turns(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in x:
        for _ in range(n):
            x[i] = x[i] * 3 + 1


@pytest.mark.parametrize(("kernel", "strides"), [(light, True), (heavy, False), (long_turns, False)])
def test_cuda_strides_where_turns_are_light(kernel, strides: bool) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN, debug=False)
    arguments = [1] * (kernel is long_turns)
    arrays = [parameter.annotation for parameter in kernel.definition.parameters if parameter.name != "n"]
    assert ("gridDim" in kernel.source(*arrays, *arguments, arch=ti.cuda)) == strides
    assert "gl_NumWorkGroups" in kernel.source(*arrays, *arguments, arch=ti.vulkan)  # no more than 65,535 groups


@pytest.mark.parametrize(("extent", "strides"), [(1 << 20, False), (LONG, True)])
def test_short_loops_never_stride(extent: int, strides: bool) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN, debug=False)

    @ti.kernel
    def clear(x: ti.types.ndarray(ti.f32, 1)):
        for i in range(extent):
            x[i] = 0.0

    array = clear.definition.parameters[0].annotation
    assert ("gridDim" in clear.source(array, arch=ti.cuda)) == strides
