"""Fields and ndarrays as other libraries see them, and copies to and from torch."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan import device as vulkan
from shadesmith.runtime.session import session as sessions

Ball = ti.types.struct(mass=ti.f32, place=ti.math.vec3)


@ti.kernel
def fill_ndarray(x: ti.types.ndarray(dtype=ti.i32, ndim=1), value: ti.i32):
    for i in x:
        x[i] = value + i


def is_shared() -> bool:
    return sessions.current().device.host_memory


MAKERS = {
    "ndarray": lambda: ti.ndarray(ti.i32, (4, 3)),
    "vectors": lambda: ti.Vector.ndarray(3, ti.f32, 4),
    "field": lambda: ti.field(ti.f64, (4, 3)),
    "matrices": lambda: ti.Matrix.field(2, 2, ti.f32, shape=3),
    "half": lambda: ti.ndarray(ti.f16, 5),
    "truth": lambda: ti.ndarray(ti.u1, 5),
    "empty": lambda: ti.ndarray(ti.f32, (3, 0)),
    "part": lambda: ti.ndarray(ti.i32, (6, 5))[1::2, 1:4],
    "column": lambda: ti.Vector.ndarray(2, ti.f32, (3, 4))[:, 2],
    "member": lambda: Ball.ndarray(4).place,
    "member_field": lambda: Ball.field(shape=4).mass,
    "of_a_tree": lambda: _of_a_tree(),
    "column_major": lambda: ti.field(ti.i32, (3, 4), order="ji"),
    "moved": lambda: ti.field(ti.i32, (3, 4), offset=(-5, 2)),
}


def _of_a_tree() -> Any:
    x, y = ti.field(ti.i32), ti.field(ti.f32)
    ti.root.dense(ti.ij, (3, 4)).place(x, y)
    return x


def numbers_for(x: Any) -> np.ndarray:
    shape = x.to_numpy().shape
    return (np.arange(np.prod(shape)) % 7).reshape(shape).astype(x.to_numpy().dtype)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_numpy_shares_the_memory(target: str, make: Any) -> None:
    x = make()
    values = numbers_for(x)
    seen = np.asarray(x)
    assert (seen.shape, seen.dtype) == (values.shape, values.dtype)
    x.from_numpy(values)
    ti.sync()
    np.testing.assert_array_equal(seen if is_shared() else np.asarray(x), values)
    if is_shared() and values.size:
        seen[...] = seen[::-1].copy()
        np.testing.assert_array_equal(x.to_numpy(), values[::-1])


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_dlpack_shares_the_memory(target: str, make: Any) -> None:
    x = make()
    if not is_shared():
        pytest.skip("memory of a GPU: test_cuda.py")
    values = numbers_for(x)
    assert x.__dlpack_device__() == (1, 0)
    seen = np.from_dlpack(x)
    x.from_numpy(values)
    ti.sync()
    np.testing.assert_array_equal(seen, values)


def test_structs_are_seen_as_structured_arrays(target: str) -> None:
    balls = Ball.ndarray(3)
    balls.mass.from_numpy(np.arange(3, dtype=np.float32))
    balls[1].place = [1, 2, 3]
    seen = np.asarray(balls)
    assert seen["mass"].tolist() == [0, 1, 2] and seen["place"][1].tolist() == [1, 2, 3]
    with pytest.raises(BufferError, match="holds structs, which DLPack does not know"):
        balls.__dlpack__()


def test_what_was_launched_is_seen_and_what_is_written_is_launched_with(target: str) -> None:
    x = ti.ndarray(ti.i32, 1000)
    fill_ndarray(x, 5)
    seen = np.asarray(x)
    np.testing.assert_array_equal(seen, np.arange(5, 1005))
    if is_shared():
        seen[:] = 0
        fill_ndarray(x[1::2], 1)
        ti.sync()
        assert seen[:4].tolist() == [0, 1, 0, 2]


def test_what_numpy_shares_may_be_an_argument(target: str) -> None:
    x = ti.ndarray(ti.i32, 10)
    seen = np.asarray(x)
    fill_ndarray(seen[::2], 7)
    assert seen.tolist() == [7, 0, 8, 0, 9, 0, 10, 0, 11, 0]
    if is_shared():
        np.testing.assert_array_equal(x.to_numpy(), seen)


def test_a_copy_is_made_where_it_is_asked_for(target: str) -> None:
    x = ti.field(ti.i32, 3)
    copy = np.array(x)
    as_float = np.asarray(x, dtype=np.float64)
    x.fill(5)
    assert copy.tolist() == [0, 0, 0] and as_float.tolist() == [0, 0, 0] and as_float.dtype == np.float64
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        if is_shared():
            assert np.asarray(x, copy=False).tolist() == [5, 5, 5]
        else:
            with pytest.raises(ValueError, match="makes a copy"):
                np.asarray(x, copy=False)
        with pytest.raises(ValueError, match="needs a copy|makes a copy"):
            np.asarray(x, dtype=np.float64, copy=False)


def test_memory_without_strides_is_copied(target: str) -> None:
    blocks = ti.field(ti.i32)
    ti.root.dense(ti.i, 3).dense(ti.i, 4).place(blocks)
    nested = ti.field(ti.i32)
    ti.root.dense(ti.ij, 2).dense(ti.ij, 2).place(nested)
    for x in (blocks, nested):
        values = np.arange(np.prod(x.shape)).reshape(x.shape)
        x.from_numpy(values)
        np.testing.assert_array_equal(np.asarray(x), values)
    apart = ti.Vector.field(2, ti.f32, shape=3, layout=ti.Layout.SOA)
    apart[1] = [1, 2]
    assert np.asarray(apart).tolist() == [[0, 0], [1, 2], [0, 0]]
    with pytest.raises(BufferError, match="no other library reaches"):
        nested.__dlpack__()


@pytest.mark.parametrize("see", [np.asarray, np.from_dlpack], ids=["array", "dlpack"])
def test_shared_memory_outlives_the_array_and_the_session(target: str, see: Any) -> None:
    if not is_shared():
        pytest.skip("memory of a GPU: test_cuda.py")
    x, y = ti.ndarray(ti.i32, 2000), ti.field(ti.i32, 3000)
    fill_ndarray(x, 1)
    y.fill(7)
    seen, other = see(x), see(y)
    del x
    gc.collect()
    ti.sync()
    for _ in range(5):
        ti.ndarray(ti.i32, 2000).fill(-1)
    np.testing.assert_array_equal(seen, np.arange(1, 2001))
    ti.reset()
    ti.init(arch=getattr(ti, target), log_level=ti.WARN)
    for _ in range(5):
        ti.ndarray(ti.i32, 3000).fill(-1)
    ti.sync()
    np.testing.assert_array_equal(seen, np.arange(1, 2001))
    assert (other == 7).all()
    seen[:] = 3
    assert seen.sum() == 6000
    with pytest.raises(ti.TaichiRuntimeError, match=r"made before the last `ti.init\(\)`"):
        see(y)


def test_a_device_whose_memory_is_lent_closes_with_the_last_loan() -> None:
    ti.init(arch=ti.vulkan, enable_fallback=False, log_level=ti.WARN)
    device = sessions.current().device
    if not device.host_memory:
        pytest.skip("memory of a GPU")
    seen = [np.asarray(ti.ndarray(ti.f32, 10)), np.asarray(ti.field(ti.f32, 1 << 21))]
    ti.reset()
    assert not device._is_closed
    del seen[0]
    gc.collect()
    assert not device._is_closed
    seen.clear()
    gc.collect()
    assert device._is_closed


def test_memory_that_the_host_does_not_reach_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sessions.OPENERS, "vulkan", lambda config, software: vulkan.open_device(force_staging=True))
    ti.init(arch=ti.vulkan, log_level=ti.WARN)
    x = ti.ndarray(ti.i32, 4)
    fill_ndarray(x, 3)
    seen = np.asarray(x)
    fill_ndarray(x, 0)
    assert seen.tolist() == [3, 4, 5, 6]
    for ask in (x.__dlpack__, x.__dlpack_device__):
        with pytest.raises(BufferError, match=r"no other library reaches.*to_numpy"):
            ask()
    assert not hasattr(x, "__cuda_array_interface__")
    ti.reset()


@pytest.mark.all_targets
def test_there_is_no_cuda_interface_elsewhere(target: str) -> None:
    assert hasattr(ti.ndarray(ti.f32, 3), "__cuda_array_interface__") == (target == "cuda")
    assert hasattr(Ball.ndarray(3), "__cuda_array_interface__") == (target == "cuda")


# --- torch


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_copies_to_and_from_torch(target: str, make: Any) -> None:
    torch = pytest.importorskip("torch")
    x = make()
    values = numbers_for(x)
    x.from_torch(torch.from_numpy(values.copy()))
    np.testing.assert_array_equal(x.to_numpy(), values)
    tensor = x.to_torch()
    np.testing.assert_array_equal(tensor.numpy(), values)
    tensor.zero_()
    np.testing.assert_array_equal(x.to_torch(device=tensor.device).numpy(), values)


def test_from_torch_takes_any_layout_and_type(target: str) -> None:
    torch = pytest.importorskip("torch")
    x = ti.field(ti.f32, (2, 3))
    x.from_torch(torch.arange(6).reshape(3, 2).T)
    np.testing.assert_array_equal(x.to_numpy(), np.arange(6).reshape(3, 2).T)
    x.from_torch(torch.full((2, 3), 1.5, dtype=torch.bfloat16, requires_grad=True))
    assert (x.to_numpy() == 1.5).all()
    with pytest.raises(ValueError, match=r"shape \(2, 3\) does not match"):
        x.from_torch(torch.zeros(3, 2))
    with pytest.raises(TypeError, match="takes a torch tensor, and a ndarray was given"):
        x.from_torch(np.zeros((2, 3)))


def test_torch_shares_by_dlpack(target: str) -> None:
    torch = pytest.importorskip("torch")
    if not is_shared():
        pytest.skip("memory of a GPU: test_cuda.py")
    x = ti.ndarray(ti.f32, (3, 4))
    tensor = torch.from_dlpack(x)
    tensor += 2
    ti.sync()
    assert x[2, 3] == 2
    part = torch.from_dlpack(x[::2, 1:])
    part[:] = 5
    assert x.to_numpy().tolist() == [[2, 5, 5, 5], [2, 2, 2, 2], [2, 5, 5, 5]]


@pytest.mark.parametrize("dtype", [None, np.float64, np.int32])
def test_to_numpy_converts(target: str, dtype: Any) -> None:
    x, v = ti.field(ti.f32, 3), ti.Vector.field(2, ti.f32, shape=3)
    x.fill(2.5)
    v.fill(1)
    assert x.to_numpy(dtype=dtype).dtype == (dtype or np.float32)
    assert v.to_numpy(dtype=dtype).dtype == (dtype or np.float32)
    assert v.to_numpy(True, dtype).shape == (3, 2, 1)
    assert x.to_numpy(dtype).tolist() == ([2] * 3 if dtype is np.int32 else [2.5] * 3)


@pytest.mark.parametrize(
    "make", [np.asfortranarray, lambda x: x[::-1][::-1], lambda x: x.astype(">f8"), lambda x: np.repeat(x, 2, 0)[::2]]
)
def test_from_numpy_takes_any_layout(target: str, make: Any) -> None:
    values = np.arange(12.0).reshape(4, 3)
    for x in (ti.field(ti.f32, (4, 3)), ti.ndarray(ti.i32, (4, 3)), ti.ndarray(ti.f64, (8, 3))[::2]):
        x.from_numpy(make(values))
        np.testing.assert_array_equal(x.to_numpy(), values)
