"""Ndarrays from Python, and NumPy arrays as kernel arguments."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


def test_a_new_ndarray_is_all_zeros(target: str) -> None:
    np.testing.assert_array_equal(ti.ndarray(shape=(3, 4), dtype=ti.f64).to_numpy(), np.zeros((3, 4)))


def test_vector_and_matrix_elements_have_their_shapes(target: str) -> None:
    x, y = ti.Vector.ndarray(3, ti.f32, 2), ti.ndarray(ti.types.matrix(2, 3, ti.i32), (4, 5))
    assert (x.shape, x.element_shape, x.n, x.to_numpy().shape) == ((2,), (3,), 3, (2, 3))
    assert (y.shape, y.element_shape, y.n, y.m, y.to_numpy().shape) == ((4, 5), (2, 3), 2, 3, (4, 5, 2, 3))
    y[3, 4] = [[1, 2, 3], [4, 5, 6]]
    assert y[3, 4][1, 0] == 4


@pytest.mark.parametrize("shape", [0, (0,), (3, 0), (0, 3)])
def test_an_ndarray_may_be_empty(target: str, shape: object) -> None:
    x = ti.ndarray(ti.f32, shape)
    x.fill(1)
    x.from_numpy(np.zeros(x.shape, np.float32))
    assert x.to_numpy().size == 0
    with pytest.raises(IndexError):
        x[(0,) * len(x.shape)]


def test_numpy_sees_an_ndarray(target: str) -> None:
    x = ti.ndarray(ti.i32, 3)
    x.from_numpy(np.arange(3, dtype=np.int32))
    np.testing.assert_array_equal(np.asarray(x), [0, 1, 2])


def test_copies_are_independent_of_memory_order(target: str) -> None:
    values = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    x = ti.ndarray(ti.f32, (3, 4))
    x.from_numpy(values)
    np.testing.assert_array_equal(x.to_numpy(), values)
    x.from_numpy(values.astype(">f8")[::-1])
    np.testing.assert_array_equal(x.to_numpy(), values[::-1])


@pytest.mark.parametrize("shape", [-1, (2, 3.5), "ab", None])
def test_a_wrong_shape_is_refused(shape: object) -> None:
    ti.init(arch=ti.cpu)
    with pytest.raises(RuntimeError, match="is not a valid shape for ndarray"):
        ti.ndarray(ti.f32, shape)


def test_more_memory_than_there_is_is_refused(target: str) -> None:
    with pytest.raises(RuntimeError, match="15,?461,?882,?258,?400"):
        ti.Matrix.ndarray(30, 30, ti.f64, 2**31 - 1)


@pytest.fixture
def add_one():
    @ti.kernel
    def add_one(values: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in values:
            values[i, j] += 1

    return add_one


def test_a_numpy_array_is_changed_in_place(target: str, add_one) -> None:
    values = np.zeros((3, 4), np.float32)
    add_one(values)
    add_one(values)
    np.testing.assert_array_equal(values, np.full((3, 4), 2))


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_to_numpy_waits_for_the_launch(target: str, add_one) -> None:
    shape = (30, 40) if target == "python" else (300, 400)
    x = ti.ndarray(ti.f32, shape)
    x[2, 3] = 5
    add_one(x)
    assert x[2, 3] == 6
    x[2, 3] = 10
    add_one(x)
    assert x.to_numpy().sum() == shape[0] * shape[1] * 2 + 9


def test_an_empty_numpy_array_is_no_launch(target: str, add_one) -> None:
    empty = np.zeros((0, 4), np.float32)
    add_one(empty)
    assert [task.iterations for task in add_one.launch_plan(empty).tasks] == [0]


def _read_only() -> np.ndarray:
    values = np.zeros((2, 2), np.float32)
    values.flags.writeable = False
    return values


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        (np.zeros((2, 2)), "dtype=f32, found dtype=f64"),
        (np.zeros(2, np.float32), "ndim=2, found ndim=1"),
        (np.zeros((2, 2), ">f4"), "bytes in the other order"),
        (np.zeros((2, 2), object), "dtype object"),
        (np.zeros((2, 2), complex), "dtype complex128"),
        (_read_only(), "read-only"),
        ([[1.0]], "a list was given"),
        (None, "a NoneType was given"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_array_that_does_not_fit_is_refused(target: str, add_one, argument: object, text: str) -> None:
    add_one(np.zeros((2, 2), np.float32))  # the second call takes the fast path
    with pytest.raises(ti.TaichiRuntimeTypeError, match=text):
        add_one(argument)
