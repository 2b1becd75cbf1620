"""Arrays of other libraries as kernel arguments, through NumPy and through each protocol, however they lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan import device as vulkan
from shadesmith.runtime.session import session as sessions

F32 = np.float32


@ti.kernel
def double(x: ti.types.ndarray()):
    for I in ti.grouped(x):
        x[I] = x[I] * 2


@ti.kernel
def enumerate_cells(x: ti.types.ndarray(ndim=2)):
    for i, j in x:
        x[i, j] = i * 100 + j


@ti.kernel
def total(x: ti.types.ndarray(dtype=ti.f32)) -> ti.f32:
    s = 0.0
    for I in ti.grouped(x):
        s += x[I]
    return s


@ti.kernel
def increment_both(x: ti.types.ndarray(), y: ti.types.ndarray()):
    for I in ti.grouped(x):
        x[I] += 1
    for I in ti.grouped(y):
        y[I] += 1


@ti.kernel
def copy_over(x: ti.types.ndarray(), y: ti.types.ndarray()):
    for I in ti.grouped(x):
        y[I] = x[I]


class ArrayInterface:
    """Shows its memory by `__array_interface__` alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.array.__array_interface__


class DLPack:
    """Shows its memory by DLPack alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class OldDLPack(DLPack):
    """Shows its memory by the protocol before version 1, which does not say whether it may be written."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self.array.__dlpack__()


LAYOUTS = {
    "columns": lambda x: x[:, ::2],
    "rows": lambda x: x[1::3],
    "block": lambda x: x[2:5, 1:7],
    "transposed": lambda x: x.T,
    "backwards": lambda x: x[::-1],
    "backwards_in_columns": lambda x: x[:, ::-2],
    "transposed_backwards": lambda x: x[::-1, ::-1].T,
    "one_row": lambda x: x[3:4],
    "one_column": lambda x: x[:, 3:4],
    "fortran": np.asfortranarray,
    "axes_of_a_larger_one": lambda x: np.lib.stride_tricks.as_strided(
        x.ravel()[3:], (4, 3), (x.itemsize * 7, x.itemsize * 2)
    ),
    "empty": lambda x: x[:, 3:3],
    "empty_with_gaps": lambda x: x[::2, 4:4],
}


@pytest.mark.sampled(3, each="make")
@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64])
def test_an_array_is_read_and_written_however_it_lies(target: str, make: Any, dtype: Any) -> None:
    whole = np.arange(48, dtype=dtype).reshape(6, 8)
    expected = whole.copy()
    values, wanted = make(whole), make(expected)
    double(values)
    wanted *= 2
    np.testing.assert_array_equal(values, wanted)
    np.testing.assert_array_equal(whole, expected)  # nothing beside it was written
    enumerate_cells(values)
    wanted[...] = np.arange(values.shape[0])[:, None] * 100 + np.arange(values.shape[1])
    np.testing.assert_array_equal(values, wanted)


@pytest.mark.parametrize("dtype", [bool, np.float16, np.uint8, np.int64, np.uint32])
def test_strided_arrays_of_every_size_of_number(target: str, dtype: Any) -> None:
    @ti.kernel
    def copy(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in y:
            y[i] = x[i]

    values = np.random.default_rng(0).integers(0, 100, 30).astype(dtype)
    result = np.zeros(20, dtype)
    copy(values[::-3], result[1::2])
    np.testing.assert_array_equal(result[1::2], values[::-3])
    assert not result[::2].any()


def test_an_array_without_axes(target: str) -> None:
    @ti.kernel
    def add(x: ti.types.ndarray(dtype=ti.f32, ndim=0), n: ti.f32):
        x[None] += n

    values = np.array(3, F32)
    add(values, 4)
    assert values == 7
    whole = np.arange(6, dtype=F32)
    add(whole[3:4].reshape(()), 10)
    assert whole.tolist() == [0, 1, 2, 13, 4, 5]


def test_vectors_of_a_numpy_array_may_have_gaps_between_them(target: str) -> None:
    @ti.kernel
    def fill(x: ti.types.ndarray(dtype=ti.math.vec3, ndim=1)):
        for i in x:
            x[i] += ti.math.vec3(i, 10 * i, 100 * i)

    rows, columns, mirrored = np.zeros((6, 3), F32), np.zeros((4, 5), F32), np.zeros((3, 4), F32)
    fill(rows[::2])
    np.testing.assert_array_equal(rows[::2], np.outer(range(3), [1, 10, 100]))
    assert not rows[1::2].any()
    fill(columns[:, 1:4])  # a row is no multiple of a vector here
    np.testing.assert_array_equal(columns[:, 1:4], np.outer(range(4), [1, 10, 100]))
    assert not columns[:, [0, 4]].any()
    fill(mirrored.T)
    np.testing.assert_array_equal(mirrored.T, np.outer(range(4), [1, 10, 100]))


def test_members_of_a_structured_array_whose_strides_are_no_multiples(target: str) -> None:
    records = np.zeros(5, np.dtype([("mark", "u1"), ("value", "f4")]))
    records["value"] = range(5)
    double(records["value"])
    assert records["value"].tolist() == [0, 2, 4, 6, 8]
    assert not records["mark"].any()


def test_an_array_at_an_odd_address(target: str) -> None:
    values = np.frombuffer(bytearray(4 * 5 + 1), F32, 5, 1)
    values[:] = range(5)
    double(values)
    assert values.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("kind", [ArrayInterface, DLPack, OldDLPack])
def test_any_object_that_shows_its_memory_is_used(target: str, kind: Any) -> None:
    values = np.arange(12, dtype=F32).reshape(3, 4)
    assert total(kind(values)) == 66
    double(kind(values))
    double(kind(values[:, ::2]))
    np.testing.assert_array_equal(values, np.arange(12).reshape(3, 4) * [4, 2, 4, 2])


@pytest.mark.parametrize("kind", [ArrayInterface, DLPack])
def test_objects_of_one_class_may_hold_other_numbers(target: str, kind: Any) -> None:
    for values in (np.arange(3, dtype=F32), np.arange(3), np.ones((2, 2))):
        expected = values * 2
        double(kind(values))
        np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("kind", [lambda x: x, ArrayInterface, DLPack], ids=["numpy", "interface", "dlpack"])
def test_a_read_only_array_may_be_read_and_not_written(target: str, kind: Any) -> None:
    values = np.arange(4, dtype=F32)
    values.flags.writeable = False
    assert total(kind(values)) == 6
    assert total(kind(values[::-2])) == 4
    for part in (values, values[::2]):
        with pytest.raises(
            ti.TaichiRuntimeTypeError, match=r"\(`x` of kernel `double`\) .*is read-only, and the kernel"
        ):
            double(kind(part))
    assert values.tolist() == [0, 1, 2, 3]


def test_elements_that_share_a_place_are_not_written(target: str) -> None:
    expanded = np.lib.stride_tricks.as_strided(np.ones(1, F32), (4,), (0,))
    assert total(expanded) == 4
    with pytest.raises(ti.TaichiRuntimeTypeError, match="is expanded: several elements share one address"):
        double(expanded)


def test_a_number_of_numpy_is_no_array(target: str) -> None:
    with pytest.raises(ti.TaichiRuntimeTypeError, match="takes an array, and a float32 was given"):
        double(np.float32(1))


OVERLAPS = {
    "the same": lambda x: (x, x),
    "the same with gaps": lambda x: (x[::2], x[::2]),
    "two of the same": lambda x: (x[1:5], x[1:5]),
    "shifted": lambda x: (x[1:], x[:-1]),
    "inside": lambda x: (x, x[2:4]),
    "interleaved": lambda x: (x[::2], x[1::2]),
    "another shape": lambda x: (x[:6].reshape(2, 3), x[2:6].reshape(2, 2)),
    "apart": lambda x: (x[:3], x[3:]),
}


@pytest.mark.parametrize("make", OVERLAPS.values(), ids=OVERLAPS)
def test_arguments_may_overlap(target: str, make: Any) -> None:
    values, expected = np.arange(8), np.arange(8)
    increment_both(*make(values))
    for part in make(expected):
        part += 1
    np.testing.assert_array_equal(values, expected)


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch):
    """A session on a device that does not reach the host's memory, so that arguments are copied."""
    monkeypatch.setitem(sessions.OPENERS, "vulkan", lambda config, software: vulkan.open_device(force_staging=True))
    ti.init(arch=ti.vulkan, log_level=ti.WARN)
    yield
    ti.reset()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
def test_copies_keep_layouts(staged: None, make: Any) -> None:
    test_an_array_is_read_and_written_however_it_lies("vulkan", make, np.float32)


@pytest.mark.parametrize("make", OVERLAPS.values(), ids=OVERLAPS)
def test_copies_overlap_as_arrays_do(staged: None, make: Any) -> None:
    test_arguments_may_overlap("vulkan", make)


def test_copies_that_cannot_overlap_are_refused(staged: None) -> None:
    values = np.arange(12)
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"shapes \(6,\) and \(4,\) overlap in part"):
        increment_both(values[::2], values[::3])
    copy_over(values[::2], np.zeros(6, np.int64))
    assert values.tolist() == list(range(12))


def test_copies_of_what_is_only_read_are_not_written_back(staged: None) -> None:
    values, result = np.arange(4, dtype=F32), np.zeros(4, F32)
    values.flags.writeable = False
    copy_over(values, result)
    copy_over(values[::-1], result)
    assert result.tolist() == [3, 2, 1, 0]


def test_memory_of_copies_is_kept_for_the_next_launch(staged: None) -> None:
    session = sessions.current()
    for _ in range(3):
        double(np.arange(100, dtype=F32))
    assert len(session.staging) == 1
    in_use = session.device.used_bytes
    double(np.arange(5, dtype=F32))
    double(np.arange(200, dtype=F32))
    double(np.arange(100, dtype=F32))
    assert len(session.staging) == 1 and session.device.used_bytes == in_use + 400


def test_shapes_and_strides_do_not_recompile(target: str) -> None:
    whole = np.zeros((20, 30), F32)
    for part in (whole, whole[:3], np.zeros((1, 1), F32), np.zeros((0, 7), F32)):
        enumerate_cells(part)
    compiled = sessions.current().compiled_functions
    for part in (whole[:, ::2], whole[::3, ::4], whole.T, whole[::-1]):
        enumerate_cells(part)
    assert sessions.current().compiled_functions - compiled == sessions.current().device.host_memory
    compiled = sessions.current().compiled_functions
    enumerate_cells(np.zeros((2, 2), np.int32))
    assert sessions.current().compiled_functions == compiled + 1


def test_gaps_do_not_recompile_where_arrays_are_copied(staged: None) -> None:
    values = np.zeros((4, 4), F32)
    for part in (values, values[::2], values.T, np.frombuffer(bytearray(65), F32, 16, 1).reshape(4, 4)):
        enumerate_cells(part)
    assert sessions.current().compiled_functions == 1


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_contiguous_arrays_have_the_text_without_strides(target: str) -> None:
    values = np.zeros((4, 4), F32)
    assert "_stride" not in enumerate_cells.source(values)
    is_in_place = sessions.current().device.host_memory  # elsewhere it is packed on its way
    assert ("_stride" in enumerate_cells.source(values[:, ::2]) or target == "python") == is_in_place
