"""Memory on a device that the host cannot see: how often it is copied, and when."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.arrays import memory
from shadesmith.runtime.arrays.staging import stage_arguments
from shadesmith.runtime.session import session as sessions
from shadesmith.transpiler.backend.module.interface import ArrayBinding
from shadesmith.transpiler.options import Capabilities


class Piece:
    """Device memory: bytes whose address says nothing to the host."""

    def __init__(self, size_bytes: int) -> None:
        self.data = np.zeros(size_bytes, np.uint8)
        self.address = id(self)
        self.size_bytes = size_bytes


class FarDevice:
    """A device with memory of its own, which counts copies."""

    name = "c"
    capabilities = Capabilities("c")
    host_memory = cuda_memory = False
    lazy_memory = True
    index_limit = None

    def __init__(self) -> None:
        self.reads = self.writes = self.bytes_read = self.pieces = 0

    def allocate(self, size_bytes: int, lazily: bool = False) -> Piece:
        self.pieces += 1
        self.last = Piece(size_bytes)
        return self.last

    def free(self, allocation: Piece) -> None:
        self.pieces -= 1

    def read(self, allocation: Piece, destination: memoryview, offset_bytes: int = 0) -> None:
        self.reads += 1
        self.bytes_read += len(destination)
        destination[:] = allocation.data[offset_bytes : offset_bytes + len(destination)].data

    def write(self, allocation: Piece, source: memoryview, offset_bytes: int = 0) -> None:
        self.writes += 1
        allocation.data[offset_bytes : offset_bytes + len(source)] = np.frombuffer(source, np.uint8)

    def copy(self, source: Piece, destination: Piece, size_bytes: int) -> None:
        destination.data[:size_bytes] = source.data[:size_bytes]

    def fill(self, allocation: Piece, pattern: bytes) -> None:
        allocation.data.reshape(-1, len(pattern))[...] = np.frombuffer(pattern, np.uint8)

    def synchronize(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch):
    device = FarDevice()
    monkeypatch.setitem(sessions.OPENERS, "c", lambda config, software: device)
    ti.init(arch=ti.cpu)
    yield device
    ti.reset()


def launch(x: object = None) -> None:
    """Do what a launcher does around a launch; the kernel doubles the bytes of `x`."""
    session = sessions.current()
    if session.pending:
        session.flush_pending()
    if x is not None:
        x.allocation.data *= 2
    session.epoch += 1


def test_reading_elements_one_by_one_copies_once_between_launches(device: FarDevice) -> None:
    x = ti.field(ti.f32, shape=1000)
    launch()
    for _ in range(2):
        assert sum(x[i] for i in range(1000)) == 0
    assert device.reads == 1
    launch()
    assert x[0] == 0
    assert device.reads == 2


def test_writes_are_brought_over_in_one_go_before_the_launch(device: FarDevice) -> None:
    x = ti.field(ti.u8, shape=1000)
    for i in range(1000):
        x[i] = i % 100
    assert device.writes == 0
    launch(x)
    assert device.writes == 1
    np.testing.assert_array_equal(x.to_numpy(), np.arange(1000) % 100 * 2)
    assert x[3] == 6


def test_vectors_write_through_a_mirror(device: FarDevice) -> None:
    x = ti.Vector.field(3, ti.u8, shape=4)
    x[1].y = 5
    launch(x)
    assert x[1][1] == 10


def test_writes_are_seen_without_a_launch(device: FarDevice) -> None:
    x, y = ti.field(ti.i32, shape=4), ti.field(ti.i32, shape=4)
    x[1] = 3
    np.testing.assert_array_equal(x.to_numpy(), [0, 3, 0, 0])
    y.copy_from(x)
    assert y[1] == 3
    x.fill(7)
    assert x[1] == 7
    x[0] = 1
    x.from_numpy(np.arange(4))
    launch()
    np.testing.assert_array_equal(x.to_numpy(), np.arange(4))


def test_a_large_array_is_mirrored_in_blocks(device: FarDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "BLOCK_BYTES", 1000)
    x = ti.Vector.field(3, ti.f32, shape=1000)  # 12 bytes an element: some lie in two blocks
    values = np.arange(3000, dtype=np.float32).reshape(1000, 3)
    x.from_numpy(values)
    assert list(x[83]) == [249, 250, 251]
    assert device.bytes_read == 2000
    x[83] = [1, 2, 3]
    values[83] = [1, 2, 3]
    x[999] = [4, 5, 6]
    values[999] = [4, 5, 6]
    writes = device.writes
    launch()
    assert device.writes == writes + 2  # two blocks that are neighbours, and one
    np.testing.assert_array_equal(x.to_numpy(), values)


def test_many_blocks_become_the_whole(device: FarDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads many blocks reads the rest at once, with what was written before; after a launch it is by blocks."""
    monkeypatch.setattr(memory, "BLOCK_BYTES", 100)
    monkeypatch.setattr(memory, "MOST_BLOCKS", 3)
    x = ti.field(ti.i32, shape=1000)
    x.from_numpy(np.arange(1000, dtype=np.int32))
    x[30] = -1
    for i in (0, 30, 60):
        assert x[i] == (-1 if i == 30 else i)
    assert device.bytes_read == 300
    x[60] = -2
    assert x[990] == 990 and device.bytes_read == 4300
    x[991] = -3
    assert [x[i] for i in (30, 60, 500, 991)] == [-1, -2, 500, -3] and device.bytes_read == 4300
    launch()
    assert x[991] == -3 and device.bytes_read == 4400
    monkeypatch.setattr(memory, "WHOLE_BYTES", 3000)
    assert [x[i] for i in range(0, 1000, 100)] == list(range(0, 1000, 100)) and device.bytes_read == 5400


def test_parts_that_lie_apart_are_copied_each_once(device: FarDevice) -> None:
    x = ti.Vector.field(3, ti.f32, shape=100, layout=ti.Layout.SOA)
    values = np.arange(300, dtype=np.float32).reshape(100, 3)
    x.from_numpy(values)
    np.testing.assert_array_equal(x.to_numpy(), values)
    assert device.pieces == 1 and device.writes == 3 and device.bytes_read == values.nbytes
    x[7].y = -1
    x.get_scalar_field(2)[8] = -2
    values[7, 1], values[8, 2] = -1, -2
    x.get_scalar_field(0).fill(5)
    values[:, 0] = 5
    np.testing.assert_array_equal(x.to_numpy(), values)
    launch()
    assert list(x[8]) == list(values[8])
    s = ti.types.struct(v=ti.types.vector(2, ti.i32), n=ti.u8).field(shape=5, layout=ti.Layout.SOA)
    s.fill(3)
    s[1].v = [1, 2]
    assert s.to_numpy()["v"].tolist() == [[3, 3], [1, 2], [3, 3], [3, 3], [3, 3]] and s[4].n == 3


def test_arrays_are_freed_at_once_whatever_was_written_to_them(device: FarDevice) -> None:
    x = ti.ndarray(ti.f32, 10)
    x[0] = 1
    del x
    assert device.pieces == 0
    launch()
    assert device.writes == 0


@pytest.mark.parametrize("written", [True, False])
def test_arguments_are_staged_in_memory_that_is_kept(device: FarDevice, written: bool) -> None:
    session, values = sessions.current(), np.arange(4, dtype=np.uint8)
    slot = ArrayBinding("a", "u8", (), 1, None, 0, True, written)
    first = stage_arguments(session, [(values, slot, False)])
    device.last.data[:4] *= 2
    for action in first.after:
        action()
    np.testing.assert_array_equal(values, np.arange(4) * (2 if written else 1))
    again = stage_arguments(session, [(values[:2].copy(), slot, False)])
    assert again.arguments[0].address == first.arguments[0].address
    assert device.pieces == 1 and len(session.staging) == 0
    other = stage_arguments(session, [(np.zeros(9, np.uint8), slot, False)])
    assert device.pieces == 2 and other.arguments[0].address != again.arguments[0].address
    del first, again, action  # as where a launch fails
    assert device.pieces == 1


def test_a_device_in_host_memory_takes_an_array_in_place_and_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FarDevice()
    device.name, device.host_memory, device.lazy_memory, waits = "vulkan", True, False, []
    device.synchronize = lambda: waits.append(1)
    monkeypatch.setitem(sessions.OPENERS, "vulkan", lambda config, software: device)
    ti.init(arch=ti.vulkan)
    values = np.zeros(4, np.float32)
    slot = ArrayBinding("a", "f32", (), 1, None, 0, True, True)
    stage = stage_arguments(sessions.current(), [(values, slot, False)])
    assert stage.arguments[0].address == values.ctypes.data
    launch()
    stage.after[0]()
    assert waits == [1]
    ti.reset()


@pytest.mark.parametrize("step", [1, 2, -1])
def test_structured_arrays_are_copied_there_and_back(device: FarDevice, step: int) -> None:
    dtype = np.dtype([("v", "f4", 3), ("n", "i8")], align=True)
    values = np.zeros(6, dtype)
    values["n"] = np.arange(6)
    slot = ArrayBinding("a", "P{v: f32[3], n: i64}", (), 1, None, 0, True, True)
    stage = stage_arguments(sessions.current(), [(values[::step], slot, False)])
    copy = device.last.data
    count = len(values[::step])
    seen = copy[: count * dtype.itemsize].view(dtype)
    np.testing.assert_array_equal(seen["n"], values["n"][::step])
    seen["v"] = 1
    for action in stage.after:
        action()
    assert values["v"].sum() == 3 * count and values["n"].tolist() == list(range(6))


def place_pair(n: int) -> tuple[ti.ScalarField, ti.MatrixField]:
    """Return a number and a vector that share cells in blocks of 5."""
    count, pair = ti.field(ti.u8), ti.Vector.field(2, ti.i32)
    ti.root.dense(ti.i, n // 5).dense(ti.i, 5).place(count, pair, offset=-3)
    return count, pair


def test_fields_of_a_tree_share_a_mirror(device: FarDevice) -> None:
    count, pair = place_pair(1000)
    launch()
    assert sum(count[i] + pair[i].y for i in range(-3, 997)) == 0
    assert device.reads == 1
    count[-3] = 200
    pair[5].y = 7
    assert device.writes == 0
    launch()
    assert device.writes == 1
    assert count[-3] == 200 and pair[5].y == 7 and device.reads == 2


def test_whole_fields_of_a_tree_leave_the_others_alone(device: FarDevice) -> None:
    count, pair = place_pair(20)
    count[0] = 9
    pair.from_numpy(np.arange(40).reshape(20, 2))
    pair[1].x = 100
    count.fill(3)
    count[2] = 4
    values = np.arange(40).reshape(20, 2)
    values[4, 0] = 100
    for _ in range(2):
        np.testing.assert_array_equal(pair.to_numpy(), values)
        np.testing.assert_array_equal(count.to_numpy(), [3] * 5 + [4] + [3] * 14)
        launch()


def test_a_large_tree_is_mirrored_in_blocks(device: FarDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "BLOCK_BYTES", 100)  # 12 bytes a cell: some lie in two blocks
    count, pair = place_pair(1000)
    values = np.arange(2000).reshape(1000, 2)
    pair.from_numpy(values)
    launch()
    device.bytes_read = 0
    for i in (0, 8, 500, 999):
        assert list(pair[i - 3]) == list(values[i])
    assert device.bytes_read <= 800
    pair[500] = [1, 2]
    count[501] = 5
    launch()
    values[503] = [1, 2]
    np.testing.assert_array_equal(pair.to_numpy(), values)
    assert count.to_numpy()[504] == 5 and count.to_numpy().sum() == 5


def test_a_destroyed_tree_has_no_mirror(device: FarDevice) -> None:
    count, other = ti.field(ti.u8), ti.field(ti.u8)
    builder = ti.FieldsBuilder()
    builder.dense(ti.i, 10).place(count, other)
    tree = builder.finalize()
    count[1] = 3
    pieces = device.pieces
    tree.destroy()
    assert device.pieces == pieces - 1
    for use in (lambda: count[1], lambda: other.to_numpy(), lambda: other.fill(1), lambda: count.__setitem__(1, 1)):
        with pytest.raises(ti.TaichiRuntimeError, match="freed"):
            use()
