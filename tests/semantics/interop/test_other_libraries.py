"""Arrays of libraries that never change them (JAX), and objects that only have `__array__` (pandas, xarray)."""

import numpy as np
import pytest

import shadesmith as ti


@ti.kernel
def total(x: ti.types.ndarray(dtype=ti.f32, ndim=1)) -> ti.f32:
    result = ti.f32(0)
    for i in range(x.shape[0]):
        result += x[i]
    return result


@ti.kernel
def increment(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in x:
        x[i] += 1


class Shared:
    """Only has `__array__`, which returns the array itself."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


class Copied(Shared):
    """Only has `__array__`, which returns a copy each time."""

    def __array__(self, dtype=None, copy=None):
        return self.array.copy()


class Immutable(Shared):
    """DLPack without versions, of a library whose arrays NumPy gets read-only, as JAX's are."""

    def __array__(self, dtype=None, copy=None):
        view = self.array.view()
        view.flags.writeable = False
        return view

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def start(target: str) -> None:
    ti.init(arch=getattr(ti, target), enable_fallback=False)


def test_memory_of_an_array_method_is_used_in_place(target: str) -> None:
    start(target)
    x = np.arange(5, dtype=np.float32)
    assert total(Shared(x)) == 10
    increment(Shared(x))
    ti.sync()
    assert x.tolist() == [1, 2, 3, 4, 5]


def test_a_gap_between_elements_of_an_array_method(target: str) -> None:
    start(target)
    x = np.arange(10, dtype=np.float32)
    increment(Shared(x[::2]))
    ti.sync()
    assert x.tolist() == [1, 1, 3, 3, 5, 5, 7, 7, 9, 9]


@pytest.mark.parametrize("kind", [Copied, Immutable])
def test_a_copy_and_an_immutable_array_are_read_only(target: str, kind: type) -> None:
    start(target)
    x = np.arange(5, dtype=np.float32)
    for _ in range(3):
        assert total(kind(x)) == 10
    with pytest.raises(ti.TaichiRuntimeTypeError, match="read-only.*numpy.array"):
        increment(kind(x))
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_a_list_and_a_matrix_are_no_arrays() -> None:
    start("python")
    for value in ([1.0, 2.0], ti.Vector([1.0, 2.0])):
        with pytest.raises(ti.TaichiRuntimeTypeError, match="takes an array"):
            total(value)


@pytest.mark.all_targets
def test_jax_arrays_do_not_change(target: str) -> None:
    jax = pytest.importorskip("jax")
    start(target)
    with jax.default_device(None if target == "cuda" else jax.devices("cpu")[0]):
        x = jax.numpy.arange(5, dtype="float32")
    alias = x
    assert total(x) == 10
    with pytest.raises(ti.TaichiRuntimeTypeError, match="read-only"):
        increment(x)
    assert alias.tolist() == [0, 1, 2, 3, 4]


def test_pandas_and_xarray(target: str) -> None:
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    start(target)
    x = np.arange(5, dtype=np.float32)
    assert total(pandas.Series(x)) == total(pandas.DataFrame({"a": x})["a"]) == total(xarray.DataArray(x)) == 10
    given = xarray.DataArray(x)
    increment(given)
    ti.sync()
    assert given.values.tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(ti.TaichiRuntimeTypeError, match="dtype object"):
        total(pandas.Series(["a", "b"], dtype=object))
