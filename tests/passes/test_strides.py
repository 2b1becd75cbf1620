"""Loops that become grid-stride loops on a GPU: those of unknown length, and long ones with cheap iterations."""

from __future__ import annotations

import pytest

import shadesmith as ti

LONG = 1 << 24


@ti.kernel(passes="-wide_accesses")
def light(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        y[i] = 2.0 * x[i] + i


@ti.kernel
def heavy(x: ti.types.ndarray(ti.math.vec3, 1), y: ti.types.ndarray(ti.math.vec3, 1)):
    for i in x:
        y[i] = y[i] + 2.0 * x[i]


@ti.kernel
def long_iterations(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in x:
        for _ in range(n):
            x[i] = x[i] * 3 + 1


ROW = " = int(gl_GlobalInvocationID.x);"
ROWS = "gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x"


@pytest.mark.parametrize(("kernel", "strides"), [(light, True), (heavy, False), (long_iterations, False)])
def test_loops_with_cheap_iterations_are_grid_stride_loops(kernel, strides: bool) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN, debug=False)
    arguments = [1] * (kernel is long_iterations)
    arrays = [parameter.annotation for parameter in kernel.definition.parameters if parameter.name != "n"]
    assert ("gridDim" in kernel.source(*arrays, *arguments, arch=ti.cuda)) == strides
    text = kernel.source(*arrays, *arguments, arch=ti.vulkan)
    assert ("index += gl_NumWorkGroups.x * BLOCK" in text) == strides
    assert (ROWS in text) != strides


@pytest.mark.parametrize(("extent", "line"), [(65_535 * 256, ROW), (65_535 * 256 + 1, ROWS)])
def test_groups_stand_in_rows_where_one_has_too_few(extent: int, line: str) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN, debug=False)

    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for i in range(extent):
            for _ in range(n):
                x[i] = x[i] * 3 + 1

    array = run.definition.parameters[0].annotation
    assert line in run.source(array, 1, arch=ti.vulkan)
    assert "    int i = blockIdx.x * BLOCK + threadIdx.x;\n" in run.source(array, 1, arch=ti.cuda)


def test_loops_whose_trip_count_only_the_device_knows_are_grid_stride_loops() -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN, debug=False)

    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 1), counts: ti.types.ndarray(ti.i32, 1)):
        for i in range(counts[0]):
            for _ in range(counts[1]):
                x[i] = x[i] * 3 + 1

    arrays = [parameter.annotation for parameter in run.definition.parameters]
    assert "index += gl_NumWorkGroups.x * BLOCK" in run.source(*arrays, arch=ti.vulkan)


@pytest.mark.parametrize(("extent", "strides"), [(1 << 20, False), (LONG, True)])
def test_short_loops_never_stride(extent: int, strides: bool) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN, debug=False)

    @ti.kernel
    def reverse(x: ti.types.ndarray(ti.f32, 1)):
        for i in range(extent):
            x[i] = x[2 * extent - i]

    array = reverse.definition.parameters[0].annotation
    assert ("gridDim" in reverse.source(array, arch=ti.cuda)) == strides
