"""Pools and lists that are full: one clear error, and nothing else is changed."""

import numpy as np
import pytest

import shadesmith as ti


@pytest.fixture
def small_pools(target: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every pool has room for 1 KiB: on hosts, whose pools hold all cells, too."""
    from shadesmith.runtime.session import session as sessions

    device = sessions.CURRENT.device
    monkeypatch.setattr(type(device), "lazy_bytes", lambda self: 1024, raising=False)
    sessions.CURRENT.config.device_memory_GB = 1024 / 2**30
    return target


def test_a_full_pool_is_one_error_and_leaves_other_cells_alone(small_pools: str) -> None:
    x, y = ti.field(ti.i32), ti.field(ti.f32)
    block = ti.root.pointer(ti.i, 64)
    block.dense(ti.i, 8).place(x, y)  # 64 bytes and 12 beside: room for 13

    @ti.kernel
    def fill(n: ti.i32):
        for i in range(n):
            x[i] = i + 1

    @ti.kernel
    def add():
        for i in x:
            y[i] += x[i]

    fill(10 * 8)
    ti.sync()
    before = x.to_numpy()
    with pytest.raises(
        ti.TaichiRuntimeError, match=r"pointer \[64\]. was full: it has room for 13 active cells of 64 bytes"
    ):
        fill(64 * 8)
        ti.sync()
    ti.sync()  # once
    after = x.to_numpy()
    np.testing.assert_array_equal(after[: 10 * 8], before[: 10 * 8])
    active = after.reshape(64, 8).any(axis=1)
    assert active.sum() == 13 and block.num_dynamically_allocated == 13
    assert all(
        (row == 0).all() or (row == np.arange(8 * k + 1, 8 * k + 9)).all() for k, row in enumerate(after.reshape(64, 8))
    )
    add()
    np.testing.assert_array_equal(y.to_numpy(), after)
    block.deactivate_all()
    assert not x.to_numpy().any()
    fill(13 * 8)
    ti.sync()
    np.testing.assert_array_equal(x.to_numpy()[: 13 * 8], np.arange(13 * 8) + 1)
    with pytest.raises(ti.TaichiRuntimeError, match="was full"):
        x[500] = 1
    assert x[500] == 0 and x[0] == 1


def test_a_full_inner_pool_leaves_the_outer_one_right(small_pools: str) -> None:
    x = ti.field(ti.i32)
    outer = ti.root.pointer(ti.i, 8)
    inner = outer.pointer(ti.i, 8)
    inner.dense(ti.i, 16).place(x)
    active = ti.field(ti.i32, shape=64)

    @ti.kernel
    def fill(n: ti.i32):
        for i in range(n):
            x[16 * i] += i

    @ti.kernel
    def look():
        for i in range(64):
            active[i] = ti.is_active(inner, i)

    with pytest.raises(ti.TaichiRuntimeError, match="was full"):
        fill(64)
        ti.sync()
    look()
    found = active.to_numpy()
    assert 0 < found.sum() < 64
    np.testing.assert_array_equal(x.to_numpy()[::16], np.arange(64) * found)
    outer.deactivate_all()
    for _ in range(5):
        fill(4)
        outer.deactivate_all()
    fill(4)
    ti.sync()
    np.testing.assert_array_equal(x.to_numpy()[::16], np.where(np.arange(64) < 4, np.arange(64), 0))


def test_a_full_list_is_an_error_that_loses_what_is_beyond(target: str) -> None:
    x, got = ti.field(ti.i32), ti.field(ti.i32, shape=20)
    items = ti.root.dynamic(ti.i, 12, chunk_size=5)
    items.place(x)

    @ti.kernel
    def append():
        for i in range(20):
            got[i] = ti.append(items, [], i + 1)

    @ti.kernel
    def length() -> ti.i32:
        return ti.length(items, [])

    with pytest.raises(ti.TaichiRuntimeError, match=r"dynamic \[12\]. was full: it takes 12 items"):
        append()
        ti.sync()
    assert length() == 12
    places = got.to_numpy()
    assert sorted(places) == [-1] * 8 + list(range(12))
    values = x.to_numpy()
    np.testing.assert_array_equal(values[places[places >= 0]], np.flatnonzero(places >= 0) + 1)
