"""Values that a serial task computes once, since each thread would take long to do it again."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


def moved(n: int):
    points, out = ti.Vector.field(4, ti.f32, n), ti.Vector.field(4, ti.f32, n)
    points.from_numpy(np.random.default_rng(0).random((n, 4), dtype=np.float32))

    @ti.kernel
    def move(pose: ti.types.matrix(4, 4, ti.f32)):
        back = pose.inverse()
        for i in points:
            out[i] = back @ points[i]

    return move, points, out


POSE = [[2.0, 0.5, 0.0, 1.0], [0.0, 1.0, 0.25, 0.0], [0.5, 0.0, 4.0, 2.0], [0.0, 0.0, 0.0, 1.0]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [1, 8192, 8193, 20000])
def test_results_are_those_of_numpy(target: str, n: int) -> None:
    move, points, out = moved(n)
    move(ti.Matrix(POSE))
    assert np.allclose(out.to_numpy(), points.to_numpy() @ np.linalg.inv(np.array(POSE, np.float32)).T, atol=1e-5)


@pytest.mark.parametrize("arch", [ti.cpu, ti.cuda, ti.vulkan])
def test_an_inverse_is_computed_once_for_many_iterations(arch) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "temporaries" in moved(8193)[0].source(ti.Matrix(POSE), arch=arch)
    assert "temporaries" not in moved(8192)[0].source(ti.Matrix(POSE), arch=arch)


def test_work_adds_up() -> None:
    """Of two angles the sines are copied, of three they are not; what reads a temporary is computed in its task."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.field(ti.f32, 1 << 20)

    @ti.kernel
    def two(a: ti.f32, b: ti.f32):
        turn = ti.sin(a) * ti.cos(a) + ti.sin(b)
        for i in x:
            x[i] += turn

    @ti.kernel
    def three(a: ti.f32, b: ti.f32, c: ti.f32):
        turn = ti.sin(a) * ti.cos(a) + ti.sin(b) * ti.cos(b) + ti.sin(c) * ti.cos(c)
        half = turn * 0.5
        for i in x:
            x[i] += half

    assert "temporaries" not in two.source(1.0, 2.0, arch=ti.cuda)
    source = three.source(1.0, 2.0, 3.0, arch=ti.cuda)
    assert "args.temporaries->half = " in source and "task 1 of 2" in source


def test_products_with_vectors_are_short() -> None:
    """A product of 16 numbers by four counts 16: three are copied, five are not."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.Vector.field(4, ti.f32, 1 << 20)

    @ti.kernel
    def three(pose: ti.types.matrix(4, 4, ti.f32), v: ti.math.vec4):
        w = pose @ (pose @ (pose @ v))
        for i in x:
            x[i] += w

    @ti.kernel
    def five(pose: ti.types.matrix(4, 4, ti.f32), v: ti.math.vec4):
        w = pose @ (pose @ (pose @ (pose @ (pose @ v))))
        for i in x:
            x[i] += w

    arguments = ti.Matrix(POSE), ti.math.vec4(1, 2, 3, 4)
    assert "temporaries" not in three.source(*arguments, arch=ti.cuda)
    assert "temporaries" in five.source(*arguments, arch=ti.cuda)


def test_an_ndarray_may_have_many_elements() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.ndarray(ti.math.vec4, 8)

    @ti.kernel
    def move(x: ti.types.ndarray(ti.math.vec4, 1), pose: ti.types.matrix(4, 4, ti.f32)):
        back = pose.inverse()
        for i in x:
            x[i] = back @ x[i]

    assert "temporaries" in move.source(x, ti.Matrix(POSE), arch=ti.cuda)
