"""Fields from Python: shapes, elements, copies, and errors that name the field."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import numpy as np
import pytest

import shadesmith as ti


@pytest.mark.parametrize("axes", range(9))
def test_a_field_of_any_number_of_axes_starts_at_zero(target: str, axes: int) -> None:
    shape = tuple(range(1, axes + 1)) if axes < 5 else (2,) * axes
    x = ti.field(ti.f32, shape=shape)
    assert x.shape == shape
    np.testing.assert_array_equal(x.to_numpy(), np.zeros(shape, np.float32))


def test_a_field_without_axes_is_read_by_none_and_empty_tuple(target: str) -> None:
    x = ti.field(ti.i32, shape=())
    x[None] = 3
    assert (x[None], x[()]) == (3, 3)


def test_an_element_written_is_read_back(target: str) -> None:
    x = ti.field(ti.f32, shape=(4, 5))
    x[3, 4] = 1
    assert x[3, 4] == 1.0
    assert x[np.int64(3), np.int32(4)] == 1.0
    assert x.to_numpy().sum() == 1


def test_an_integer_shape_is_one_axis(target: str) -> None:
    assert ti.field(int, 3).shape == (3,)


@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "u1", "f16", "f32", "f64"])
def test_every_number_type_survives_fill_and_numpy(target: str, name: str) -> None:
    x = ti.field(getattr(ti, name), shape=5)
    x.fill(1)
    values = x.to_numpy()
    assert values.dtype == {"f16": np.float16, "u1": np.bool_}.get(name, x.dtype.numpy)
    x.from_numpy(values)
    assert all(x[i] == 1 for i in range(5))


def test_integers_wrap_as_taichi_stores_them(target: str) -> None:
    x = ti.field(ti.u8, shape=2)
    x[0], x[1] = 300, -1
    assert (x[0], x[1]) == (44, 255)


def test_vectors_write_through(target: str) -> None:
    x = ti.Vector.field(3, ti.f32, shape=2)
    x[0] = [1, 2, 3]
    x[0][1] = 7
    x[0].x = 9
    x[1] += 1
    np.testing.assert_array_equal(x.to_numpy(), [[9, 7, 3], [1, 1, 1]])
    assert (x.n, x.m, x.to_numpy(keep_dims=True).shape) == (3, 1, (2, 3, 1))


def test_matrices_write_through(target: str) -> None:
    x = ti.Matrix.field(2, 3, ti.i32, shape=())
    x[None] = [[1, 2, 3], [4, 5, 6]]
    x[None][1, 2] = 10
    np.testing.assert_array_equal(x.to_numpy(), [[1, 2, 3], [4, 5, 10]])
    assert x.get_scalar_field(1, 2)[None] == 10


def test_a_scalar_field_of_a_vector_field_shares_its_memory(target: str) -> None:
    x = ti.Vector.field(2, ti.f32, shape=3)
    x.get_scalar_field(1)[2] = 5
    assert x[2][1] == 5
    np.testing.assert_array_equal(x.get_scalar_field(1).to_numpy(), [0, 0, 5])


def test_fill_takes_a_vector(target: str) -> None:
    x = ti.Vector.field(3, ti.f32, shape=2)
    x.fill([1, 2, 3])
    np.testing.assert_array_equal(x.to_numpy(), [[1, 2, 3]] * 2)
    x.fill(4)
    np.testing.assert_array_equal(x.to_numpy(), np.full((2, 3), 4))


MAKERS = [ti.field, ti.ndarray]


@pytest.mark.parametrize("make", MAKERS)
def test_a_fill_that_does_not_fit_is_refused(target: str, make: Any) -> None:
    refused = [(ti.i32, 2**40), (ti.u32, -(2**31) - 1), (ti.u8, 2**31), (ti.i64, 2**63), (ti.i32, float("nan"))]
    vector, struct = ti.types.vector(2, ti.i32), ti.types.struct(a=ti.f32, b=ti.i32)
    refused += [(ti.u64, 2**64), (ti.f32, 10**39), (ti.i16, 1e10), (vector, 2**40), (vector, [1, 2**33])]
    refused += [(struct, 2**40), (struct, {"a": 1, "b": 2**40})]
    for dtype, value in refused:
        x = make(dtype, shape=3)
        with pytest.raises(ti.TaichiTypeError, match=r"^<.*> is filled with \w+, and [\d.e+nan-]+ does not fit"):
            x.fill(value)
    for dtype, value in ((ti.u32, 2**32 - 1), (ti.i64, -(2**63)), (ti.u64, 2**64 - 1), (ti.f32, 2**100)):
        x = make(dtype, shape=3)
        x.fill(value)
        assert x[1] == value


@pytest.mark.parametrize("make", MAKERS)
def test_a_fill_that_wraps_as_in_taichi_says_so(target: str, make: Any) -> None:
    x, y = make(ti.u8, shape=3), make(ti.f32, shape=2)
    with pytest.warns(ti.ShadesmithWarning, match="300 does not fit and wraps to 44") as caught:
        x.fill(300)
    assert caught[0].filename == __file__
    with pytest.warns(ti.ShadesmithWarning, match=r"1e\+300 becomes infinite"):
        y.fill(1e300)
    assert (x[2], y[1]) == (44, float("inf"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.fill(-1)
        y.fill(float("-inf"))
    assert (x[2], y[1]) == (255, float("-inf"))


@pytest.mark.parametrize("make", MAKERS)
def test_numbers_of_64_bits_keep_their_digits(target: str, make: Any) -> None:
    x, large = make(ti.types.vector(2, ti.u64), shape=2), 2**64 - 1
    x[0] = [large, 2]
    x[1][0] = 2**63 + 1
    struct = ti.types.struct(v=ti.types.vector(2, ti.u64))
    s = make(struct, shape=2)
    s[0] = {"v": [large, 3]}
    s[1].v[1] = large
    assert x.to_numpy().tolist() == [[large, 2], [2**63 + 1, 0]]
    assert ti.types.vector(2, ti.u64)(large, 2).to_list() == [large, 2]
    assert (x[0][0], x[1][0], s[0].v.to_list(), s[1].v[1]) == (large, 2**63 + 1, [large, 3], large)


@pytest.mark.parametrize("make", MAKERS)
def test_elements_that_taichi_refuses_are_refused(target: str, make: Any) -> None:
    x, v = make(ti.i32, shape=2), make(ti.types.vector(2, ti.i32), shape=2)
    for value in (2**64, -(2**63) - 1, 2.5, float("nan")):
        with pytest.raises(TypeError, match="holds i32"):
            x[0] = value
        with pytest.raises(TypeError, match="holds i32"):
            v[0] = [1, value]
    with pytest.raises(TypeError, match="does not fit a component"):
        v[0][1] = 2**64
    x[0], v[0] = np.float32(2.5), np.array([1.5, 3], np.float32)
    assert (x[0], v[0].to_list()) == (2, [1, 3])


def test_copy_from_converts_the_number_type(target: str) -> None:
    x, y = ti.field(ti.f32, shape=(2, 2)), ti.field(ti.i32, shape=(2, 2))
    x.from_numpy(np.array([[1.5, 2.5], [-1.5, 4]]))
    y.copy_from(x)
    np.testing.assert_array_equal(y.to_numpy(), [[1, 2], [-1, 4]])


@pytest.mark.parametrize("key", [(3, 0), (0, -1), (1,), (1, 1, 1), (1.5, 0), (slice(0, 2), 0), None])
def test_a_wrong_index_raises_and_names_the_field(target: str, key: object) -> None:
    x = ti.field(ti.f32, shape=(3, 4), name="heat")
    with pytest.raises(IndexError, match="heat"):
        x[key]
    with pytest.raises(IndexError, match="heat"):
        x[key] = 1


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"shape": 0}, RuntimeError, "positive, got 0 in dimension 0"),
        ({"shape": (2, -1)}, RuntimeError, "positive, got -1 in dimension 1"),
        ({"offset": 1}, SyntaxError, "shape cannot be None when offset is set"),
        ({"shape": 3, "offset": (1, 2)}, SyntaxError, r"\(1 != 2\)"),
        ({"shape": (3, 2), "order": "k"}, SyntaxError, r"\(2 != 1\)"),
        ({"shape": (3, 2), "order": "ii"}, SyntaxError, "must be different"),
        ({"shape": 2.5}, RuntimeError, "2.5 is not a shape"),
        ({"shape": (1,) * 13}, RuntimeError, "at most 12"),
        ({"shape": 2**31}, RuntimeError, "can be indexed"),
    ],
)
def test_a_field_that_cannot_be_is_refused(arguments: dict, error: type, text: str) -> None:
    ti.init(arch=ti.cpu)
    with pytest.raises(error, match=text):
        ti.field(ti.f32, **arguments)


def test_wrong_values_are_refused(target: str) -> None:
    x, v = ti.field(ti.i32, shape=3), ti.Vector.field(2, ti.f32, shape=3)
    for action, error in (
        (lambda: x.__setitem__(0, 1.5), TypeError),
        (lambda: x.__setitem__(0, "a"), TypeError),
        (lambda: v.__setitem__(0, [1, 2, 3]), ValueError),
        (lambda: x.from_numpy(np.zeros(4)), ValueError),
        (lambda: x.from_numpy([1, 2, 3]), TypeError),
        (lambda: x.from_numpy(np.zeros(3, object)), TypeError),
        (lambda: x.copy_from(np.zeros(3)), TypeError),
        (lambda: x.copy_from(ti.field(ti.i32, shape=4)), ValueError),
        (lambda: iter(x), TypeError),
    ):
        with pytest.raises(error):
            action()


def test_gradients_are_fields_beside() -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, shape=3, needs_grad=True)
    assert x.grad.shape == (3,)
    with pytest.raises(RuntimeError, match="i32 is not supported"):
        ti.field(ti.i32, shape=3, needs_grad=True)


def test_a_collected_field_gives_its_memory_back() -> None:
    ti.init(arch=ti.cpu)
    from shadesmith.runtime.session.session import current

    device = current().device
    before = device.used_bytes
    for _ in range(20):
        x = ti.field(ti.f32, shape=1 << 20)
        x[0] = 1
    del x
    gc.collect()
    ti.sync()
    assert device.used_bytes == before


def test_an_element_read_outlives_its_field() -> None:
    ti.init(arch=ti.cpu)
    x = ti.Vector.field(2, ti.f32, shape=1)
    x[0] = [1, 2]
    element = x[0]
    del x
    ti.reset()
    assert (element[0], element[1]) == (1, 2)
