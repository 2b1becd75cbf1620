"""How much memory the pools of a sparse tree take."""

import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

ROOM = 1 << 20


@pytest.fixture
def one_mebibyte(target: str, monkeypatch: pytest.MonkeyPatch) -> str:
    device = sessions.CURRENT.device
    monkeypatch.setattr(type(device), "lazy_bytes", lambda self: ROOM, raising=False)
    sessions.CURRENT.config.device_memory_GB = ROOM / 2**30
    return target


def test_numbers_of_inner_cells_count_too(one_mebibyte: str) -> None:
    x = ti.field(ti.f32)
    inner = ti.root.pointer(ti.ijk, 16).pointer(ti.ijk, 8)
    inner.dense(ti.ijk, 4).place(x)
    x[5, 6, 7] = 1.0
    used = sessions.CURRENT.device.used_bytes
    assert x[5, 6, 7] == 1.0 and x[500, 6, 7] == 0.0
    assert ROOM // 2 < used < ROOM + 4 * 16**3 + 16384  # and the outer node, outside all pools


def test_lists_and_bits_of_a_cell_count_too(one_mebibyte: str) -> None:
    x, y = ti.field(ti.i32), ti.field(ti.i8)
    block = ti.root.pointer(ti.i, 4096)
    block.dynamic(ti.j, 1024, chunk_size=16).place(x)
    block.bitmasked(ti.j, 1000).place(y)
    y[7, 3] = 1
    x[7, 40] = 2
    used = sessions.CURRENT.device.used_bytes
    assert y[7, 3] == 1 and x[7, 40] == 2 and x[7, 41] == 0
    assert ROOM // 4 < used < ROOM * 2
