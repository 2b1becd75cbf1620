"""Forms of annotating array parameters, what they accept, gradients of arguments, and indices that are clamped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

F32 = np.float32
vec2, vec3, mat23 = ti.math.vec2, ti.math.vec3, ti.types.matrix(2, 3, ti.f32)


@ti.kernel
def by_names(x: ti.types.ndarray(dtype=ti.f32, ndim=2)):
    x[1, 2] = 5.0


@ti.kernel
def by_position(x: ti.types.ndarray(ti.f32, 2)):
    x[1, 2] = 5.0


@ti.kernel
def bare(x: ti.types.ndarray):
    x[1, 2] = 5.0


@ti.kernel
def called(x: ti.types.ndarray()):
    x[1, 2] = 5.0


@ti.kernel
def subscripted(x: ti.types.NDArray[ti.f32, 2]):
    x[1, 2] = 5.0


@ti.kernel
def without_axes(x: ti.types.NDArray[ti.f32]):
    x[1, 2] = 5.0


@ti.kernel
def only_axes(x: ti.types.ndarray(ndim=2)):
    x[1, 2] = 5.0


@ti.kernel
def python_float(x: ti.types.ndarray(dtype=float, ndim=2)):
    x[1, 2] = 5.0


@ti.kernel
def numpy_type(x: ti.types.ndarray(dtype=np.float32, ndim=2)):
    x[1, 2] = 5.0


SCALARS = [by_names, by_position, bare, called, subscripted, without_axes, only_axes, python_float, numpy_type]


@pytest.mark.parametrize("kernel", SCALARS, ids=lambda kernel: kernel.__name__)
def test_forms_for_numbers(target: str, kernel: Any) -> None:
    x = ti.ndarray(ti.f32, (3, 4))
    kernel(x)
    values = np.zeros((2, 6), F32)
    kernel(values)
    assert (x[1, 2], x.to_numpy().sum(), values[1, 2], values.sum()) == (5, 5, 5, 5)


@ti.kernel
def vector_type(x: ti.types.ndarray(dtype=vec3, ndim=1)):
    for i in x:
        x[i] = x[i].yzx + i


@ti.kernel
def vector_of_any_ndim(x: ti.types.ndarray(vec3)):
    for I in ti.grouped(x):
        x[I] = x[I].yzx + I.x


@ti.kernel
def element_shape(x: ti.types.ndarray(dtype=ti.f32, element_shape=(3,), ndim=1)):
    for i in x:
        x[i] = ti.Vector([x[i][1], x[i][2], x[i][0]]) + i


@ti.kernel
def element_dim(x: ti.types.ndarray(element_dim=1, ndim=1)):
    for i in x:
        x[i] = ti.Vector([x[i][1], x[i][2], x[i][0]]) + i


@ti.kernel
def element_dim_and_type(x: ti.types.ndarray(dtype=ti.f32, element_dim=1)):
    for i in x:
        x[i] = ti.Vector([x[i][1], x[i][2], x[i][0]]) + i


@ti.kernel
def element_shape_alone(x: ti.types.ndarray(element_shape=(3,))):
    for i in x:
        x[i] = ti.Vector([x[i][1], x[i][2], x[i][0]]) + i


VECTORS = [vector_type, vector_of_any_ndim, element_shape, element_dim, element_dim_and_type, element_shape_alone]


@pytest.mark.parametrize("kernel", VECTORS, ids=lambda kernel: kernel.__name__)
def test_forms_for_vectors(target: str, kernel: Any) -> None:
    values = np.arange(12, dtype=F32).reshape(4, 3)
    expected = values[:, [1, 2, 0]] + np.arange(4)[:, None]
    x = ti.Vector.ndarray(3, ti.f32, 4)
    x.from_numpy(values)
    kernel(x)
    kernel(values)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(x.to_numpy(), expected)


def test_elements_whose_shape_is_open_are_those_of_each_argument(target: str) -> None:
    @ti.kernel
    def count(x: ti.types.ndarray(element_dim=1)) -> ti.i32:
        return x[0].n

    @ti.kernel
    def columns(x: ti.types.ndarray(element_dim=2)) -> ti.i32:
        return x[0].m

    assert [count(np.zeros((5, n), F32)) for n in (3, 4, 2)] == [3, 4, 2]
    assert count(np.zeros((5, 3))) == 3
    assert count(ti.Vector.ndarray(6, ti.i32, 2)) == 6
    assert columns(np.zeros((2, 3, 4))) == 4
    assert columns(ti.Matrix.ndarray(2, 3, ti.f32, 2)) == 3


def test_matrices_and_vectors_of_axes(target: str) -> None:
    @ti.kernel
    def scale(x: ti.types.ndarray(dtype=mat23, ndim=2), factor: ti.f32):
        for i, j in x:
            x[i, j] = x[i, j] * factor + i

    values = np.arange(24, dtype=F32).reshape(2, 2, 2, 3)
    expected = values * 2 + np.arange(2).reshape(2, 1, 1, 1)
    x = ti.Matrix.ndarray(2, 3, ti.f32, (2, 2))
    x.from_numpy(values)
    scale(x, 2)
    scale(values, 2)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(x.to_numpy(), expected)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"field_dim": 1}, ValueError, "field_dim argument for ndarray type is already deprecated"),
        ({"boundary": "wrap"}, ValueError, "Invalid boundary argument: wrap"),
        ({"element_dim": 3}, ValueError, "Only scalars, vectors, and matrices"),
        ({"element_shape": (1, 2, 3)}, ValueError, "Only scalars, vectors, and matrices"),
        ({"element_dim": 2, "element_shape": (3,)}, ValueError, "shape doesn't match specified dim: 1!=2"),
        ({"dtype": vec3, "element_dim": 1}, TypeError, "Cannot specifiy matrix dtype"),
        ({"layout": ti.Layout.AOS}, TypeError, "unexpected keyword argument 'layout'"),
    ],
)
def test_forms_that_taichi_refuses(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ti.types.ndarray(**options)


@pytest.mark.parametrize(
    ("kernel", "argument", "text"),
    [
        (element_dim, lambda: np.zeros(3, F32), r"needs ndim=1, found ndim=0"),
        (element_dim, lambda: ti.ndarray(ti.f32, 3), r"needs elements of shape vectors, found f32 of shape \(3,\)"),
        (element_dim, lambda: ti.Matrix.ndarray(2, 2, ti.f32, 3), r"needs elements of shape vectors, found matrix"),
        (element_dim_and_type, lambda: np.zeros((3, 3)), r"needs elements vector\(3, f32\), found f64"),
        (element_shape_alone, lambda: np.zeros((3, 4), F32), r"needs elements of shape \(3,\), found f32 of shape"),
        (vector_type, lambda: np.zeros((3, 2), F32), r"found f32 of shape \(3, 2\)"),
        (vector_type, lambda: ti.Vector.ndarray(2, ti.f32, 3), r"needs dtype=vector\(3, f32\), found dtype=vector\(2"),
    ],
)
def test_elements_that_do_not_fit_are_refused(target: str, kernel: Any, argument: Any, text: str) -> None:
    with pytest.raises(ti.TaichiRuntimeTypeError, match=text):
        kernel(argument())


def test_a_shape_never_recompiles_and_a_type_does(target: str) -> None:
    counts = []
    for argument in (
        ti.ndarray(ti.f32, (3, 4)), ti.ndarray(ti.f32, (9, 9)), ti.ndarray(ti.i32, (3, 4)), ti.ndarray(ti.i32, (5, 5)),
        ti.ndarray(ti.f64, (2, 3)),
    ):  # fmt: skip
        only_axes(argument)
        counts.append(sessions.current().compiled_functions)
    assert counts == [1, 1, 2, 2, 3]


# --- gradients of arguments


@ti.kernel
def derive_square(x: ti.types.ndarray(dtype=ti.f32, ndim=1, needs_grad=True)):
    for i in x:
        x.grad[i] = 2 * x[i]


@ti.kernel
def add_to_gradient(x: ti.types.ndarray()):
    for i in x.grad:
        x.grad[i] += x[i] * x.grad.shape[0]


def test_a_kernel_reaches_the_gradient_of_an_ndarray(target: str) -> None:
    x = ti.ndarray(ti.f32, 4, needs_grad=True)
    x.from_numpy(np.arange(4, dtype=F32))
    derive_square(x)
    add_to_gradient(x)
    add_to_gradient(x[::2])
    assert x.grad.to_numpy().tolist() == [0, 6, 16, 18]
    assert x.to_numpy().tolist() == [0, 1, 2, 3]


def test_an_ndarray_without_a_gradient_is_refused(target: str) -> None:
    with_gradient, without = ti.ndarray(ti.f32, 4, needs_grad=True), ti.ndarray(ti.f32, 4)
    for _ in range(2):
        with pytest.raises(ti.TaichiRuntimeTypeError, match="needs an array with a gradient.*needs_grad=True"):
            derive_square(without)
        with pytest.raises(ti.TaichiRuntimeTypeError, match="`x` has no gradient, which the kernel uses"):
            add_to_gradient(without)
        with pytest.raises(ti.TaichiRuntimeTypeError, match="`x` has no gradient, which the kernel uses"):
            add_to_gradient(np.zeros(3, F32))
        derive_square(with_gradient)
        add_to_gradient(with_gradient)


def test_integers_have_no_gradient(target: str) -> None:
    with pytest.raises(ti.TaichiTypeError, match="`x` has no gradient: its elements are i32"):
        add_to_gradient(ti.ndarray(ti.i32, 3))


def test_a_tensor_of_torch_gets_its_gradient(target: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    derive_square(x)
    assert x.grad.tolist() == [2, 4, 6]
    add_to_gradient(x)
    assert x.grad.tolist() == [5, 10, 15]


# --- boundary="clamp"


@ti.kernel
def read_clamped(x: ti.types.ndarray(dtype=ti.i32, ndim=1, boundary="clamp"), i: ti.i32) -> ti.i32:
    return x[i]


@ti.kernel
def write_clamped(x: ti.types.ndarray(dtype=ti.i32, ndim=1, boundary="clamp"), i: ti.i32):
    x[i] = 99


@ti.kernel
def neighbours(x: ti.types.ndarray(dtype=ti.f32, ndim=2, boundary="clamp"), y: ti.types.ndarray(dtype=ti.f32, ndim=2)):
    for i, j in y:
        y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]


def test_a_read_outside_gives_the_nearest_element(target: str) -> None:
    values = np.arange(10, 15, dtype=np.int32)
    found = [read_clamped(values, i) for i in (-(2**31), -3, 0, 3, 4, 5, 100, 2**31 - 1)]
    assert found == [10, 10, 10, 13, 14, 14, 14, 14]
    assert [read_clamped(values[::-2], i) for i in (-3, 1, 3)] == [14, 12, 10]


def test_a_write_outside_changes_the_nearest_element(target: str) -> None:
    values = np.arange(5, dtype=np.int32)
    write_clamped(values, -3)
    write_clamped(values, 9)
    assert values.tolist() == [99, 1, 2, 3, 99]


@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (1, 9), (3, 1)])
def test_a_stencil_over_a_clamped_array(target: str, shape: tuple[int, int]) -> None:
    values = np.random.default_rng(0).random(shape).astype(F32)
    padded = np.pad(values, 1, mode="edge")
    expected = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    result, x, y = np.zeros(shape, F32), ti.ndarray(ti.f32, shape), ti.ndarray(ti.f32, shape)
    x.from_numpy(values)
    neighbours(values, result)
    neighbours(x, y)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=1e-6)


def test_elements_that_clamping_makes_one_are_not_taken_apart(target: str) -> None:
    @ti.kernel
    def around(x: ti.types.ndarray(dtype=ti.i32, ndim=1, boundary="clamp"), n: ti.i32) -> ti.i32:
        x[n] = 1
        x[n + 1] = 2
        first = x[n]
        x[5] = 3
        x[6] = 4
        return first * 10 + x[5]

    assert around(np.zeros(3, np.int32), 2) == 24
    assert around(np.zeros(9, np.int32), 2) == 13


def test_turns_that_meet_at_the_border_add_up(target: str) -> None:
    @ti.kernel
    def count(x: ti.types.ndarray(dtype=ti.i32, ndim=1, boundary="clamp"), n: ti.i32):
        for i in range(n):
            x[i - 100] += 1

    values = np.zeros(4, np.int32)
    count(values, 1000)
    assert values.tolist() == [101, 1, 1, 897]


def test_an_atomic_maximum_at_the_border(target: str) -> None:
    @ti.kernel
    def largest(x: ti.types.ndarray(dtype=ti.f32, ndim=1, boundary="clamp"), n: ti.i32):
        for i in range(n):
            ti.atomic_max(x[i - 3], i * 1.5)

    values = np.zeros(8, F32)
    largest(values[1::2], 20)
    assert values.tolist() == [0, 4.5, 0, 6, 0, 7.5, 0, 28.5]


def test_clamping_is_for_its_parameter_alone_and_checks_leave_it_alone() -> None:
    ti.init(arch=ti.cpu, debug=True, log_level=ti.WARN)

    @ti.kernel
    def both(
        x: ti.types.ndarray(dtype=ti.i32, ndim=1, boundary="clamp"),
        y: ti.types.ndarray(dtype=ti.i32, ndim=1, boundary="unsafe"),
        i: ti.i32,
        j: ti.i32,
    ) -> ti.i32:
        return x[i] + y[j]

    values = np.arange(5, dtype=np.int32)
    assert both(values, values, -7, 4) == 4
    with pytest.raises(ti.TaichiAssertionError, match="`y` has shape"):
        both(values, values, 7, 7)
    assert "clamp_index(i, args.x_n)" in both.source(values, values, 0, 0)
    assert "args.y_data[i]" in both.source(values, values, 0, 0)


def test_a_constant_index_may_lie_outside_too(target: str) -> None:
    @ti.kernel
    def ends(x: ti.types.ndarray(dtype=ti.i32, ndim=1, boundary="clamp")) -> ti.i32:
        return x[-1] * 100 + x[1000]

    assert ends(np.arange(1, 4, dtype=np.int32)) == 103


def test_vectors_and_functions_of_clamped_arrays(target: str) -> None:
    @ti.func
    def difference(x, i):
        return x[i + 1] - x[i - 1]

    @ti.kernel
    def slopes(x: ti.types.ndarray(dtype=vec2, ndim=1, boundary="clamp"), y: ti.types.ndarray(dtype=vec2, ndim=1)):
        for i in y:
            y[i] = difference(x, i)
            x[i + 1].x = 0.0

    values, result = np.array([[1, 2], [3, 5], [7, 9]], F32), np.zeros((1, 2), F32)
    slopes(values, result)
    assert result.tolist() == [[2, 3]] and values.tolist() == [[1, 2], [0, 5], [7, 9]]
