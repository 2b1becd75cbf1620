"""Asking for more memory than there is: one clear error, soon, and everything made before stays as it was."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices import host_memory
from shadesmith.runtime.devices.device import OutOfMemory, format_size
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.session.session import current

HUGE = 1 << 31 - 1
"""Elements; of 512 bytes they are 1 TiB, which no device has."""


def block() -> Any:
    return ti.types.matrix(8, 8, ti.f64)


@pytest.fixture
def others_garbage() -> None:
    """Keep what other tests have left out of the garbage collections that a refusal begins with: they take long.

    It stays frozen: `gc.unfreeze` would let collections of all later tests visit what tests/conftest.py has frozen.
    """
    gc.freeze()


def used() -> int:
    ti.sync()
    return int(current().device.used_bytes)


REQUESTS: dict[str, tuple[Callable[[], Any], str]] = {
    "field": (lambda: ti.Matrix.field(8, 8, ti.f64, shape=HUGE, name="huge"), "field `huge`"),
    "nameless": (lambda: ti.Matrix.field(8, 8, ti.f64, shape=HUGE), "a field of"),
    "ndarray": (lambda: ti.ndarray(block(), HUGE), "an ndarray of"),
    "gradient": (lambda: ti.Matrix.field(8, 8, ti.f64, shape=HUGE, needs_grad=True), "a field of"),
    "structs": (lambda: ti.types.struct(a=block(), b=ti.i32).field(shape=HUGE, name="all"), "field `all`"),
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_too_much_is_one_clear_error_and_nothing_else_changes(target: str, others_garbage: None, kind: str) -> None:
    kept = ti.field(ti.i32, shape=1000, name="kept")
    kept.from_numpy(np.arange(1000, dtype=np.int32))
    before, start = used(), time.process_time()
    make, owner = REQUESTS[kind]
    with pytest.raises(ti.TaichiRuntimeError) as caught:
        make()
    assert time.process_time() - start < 2  # nothing was filled; the clock of a busy machine says nothing
    text = str(caught.value)
    assert owner in text and re.search(r"needs \d+\.\d [GT]iB \([\d,]+ bytes\)", text), text
    assert re.search(r"[\d.]+ \w+ are in use", text) and "field `kept`: 3.9 KiB" in text
    assert "available" in text or "its driver addresses" in text  # NVIDIA's Vulkan: 4 GiB of an array
    assert used() == before  # also while the error, and with it its traceback, still lives
    np.testing.assert_array_equal(kept.to_numpy(), np.arange(1000))
    other = ti.field(ti.i32, shape=10)
    other.fill(3)
    assert other[9] == 3


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_a_derivative_that_fails_takes_its_field_along(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device = current().device
    real, before, asked = device.allocate, used(), []

    def allocate(size_bytes: int, lazily: bool = False) -> Any:
        asked.append(size_bytes)
        if len(asked) > 1:
            raise OutOfMemory("a test", size_bytes, 0, 0)
        return real(size_bytes, lazily)

    monkeypatch.setattr(device, "allocate", allocate)
    for make in (ti.field, ti.ndarray):
        asked.clear()
        with pytest.raises(ti.TaichiRuntimeError, match="out of memory on a test: .* needs 3.9 KiB") as caught:
            make(ti.f32, shape=1000, needs_grad=True)
        assert used() == before, caught
    monkeypatch.undo()
    x = ti.field(ti.f32, shape=1000, needs_grad=True)
    assert x.grad[999] == 0


@pytest.mark.one_target
def test_a_tree_that_does_not_fit_stays_without_memory(target: str) -> None:
    x, y = ti.Matrix.field(8, 8, ti.f64), ti.field(ti.i32)
    ti.root.dense(ti.i, HUGE).place(x, y)
    before = used()
    for _ in range(2):
        with pytest.raises(ti.TaichiRuntimeError, match="out of memory on"):
            y[0] = 1
    assert used() == before
    z = ti.field(ti.i32)
    ti.root.dense(ti.i, 4).place(z)
    z[3] = 5
    assert z[3] == 5


@pytest.mark.parametrize("shape", [(1 << 40,), (1 << 20, 1 << 20), (1 << 16, 1 << 16, 1 << 16, 1 << 16), (10**30,)])
@pytest.mark.parametrize("make", [ti.field, ti.ndarray])
def test_shapes_beyond_indices_are_refused(target: str, make: Callable[..., Any], shape: tuple[int, ...]) -> None:
    before = used()
    with pytest.raises(ti.TaichiRuntimeError, match="at most 2147483647 can be indexed|out of memory"):
        make(ti.u8, shape=shape)
    assert used() == before


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_memory_that_can_be_collected_is_collected_first(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device = current().device
    real, limit = device.allocate, device.used_bytes + (1 << 20)

    def allocate(size_bytes: int, lazily: bool = False) -> Any:
        if device.used_bytes + size_bytes > limit:
            raise OutOfMemory("a test", size_bytes, device.used_bytes, limit - device.used_bytes)
        return real(size_bytes, lazily)

    monkeypatch.setattr(device, "allocate", allocate)

    class Loop:
        def __init__(self) -> None:
            self.me, self.x = self, ti.field(ti.u8, shape=700 << 10)

    for _ in range(5):
        Loop().x.fill(1)
    assert ti.ndarray(ti.u8, 700 << 10).to_numpy().max() == 0


def test_promised_memory_that_was_not_touched_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    monkeypatch.setattr(host_memory, "available_bytes", lambda: 1 << 30)
    monkeypatch.setattr(host_memory, "TRUST_SECONDS", -1)
    held = []
    with pytest.raises(ti.TaichiRuntimeError, match="needs 256.0 MiB .* 1.0 GiB are in use .* and .* available"):
        for _ in range(5):
            held.append(ti.field(ti.u8, shape=256 << 20))
    assert len(held) == 4
    held.clear()
    assert ti.field(ti.u8, shape=512 << 20)[0] == 0
    ti.reset()


def test_lazy_memory_may_be_more_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    monkeypatch.setattr(host_memory, "available_bytes", lambda: 1 << 30)
    monkeypatch.setattr(host_memory, "TRUST_SECONDS", -1)
    session = current()
    lazy = session.allocate(2 << 30, "a pool", lazily=True)
    assert ti.field(ti.u8, shape=512 << 20)[0] == 0
    session.release(lazy)
    assert session.device.used_bytes == 0
    ti.reset()


@pytest.mark.parametrize("version", [1, 2])
def test_the_limit_of_a_container_counts(version: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "memory" / "job" if version == 1 else tmp_path / "job"
    folder.mkdir(parents=True)
    limit, usage = (
        ("memory.limit_in_bytes", "memory.usage_in_bytes") if version == 1 else ("memory.max", "memory.current")
    )
    for name, text in ((limit, "500000"), (usage, "300000"), ("memory.stat", "file 9\ninactive_file 100000\n")):
        (folder / name).write_text(text)
    monkeypatch.setattr(host_memory, "GROUPS", tmp_path)
    monkeypatch.setattr(host_memory, "_groups", lambda: [folder, folder.parent])
    assert host_memory.available_bytes() == 300_000
    (folder / limit).write_text("max")
    assert (host_memory.available_bytes() or 0) > 1 << 20


def test_fresh_memory_is_cleared_where_it_was_touched() -> None:
    data = np.zeros(1 << 24, np.uint8)
    data[5], data[1 << 20 : 1 << 22], data[-1] = 1, 2, 3
    host_memory.clear_fresh(data.ctypes.data + 1, data.size - 2)
    assert data[-1] == 3 and not data[:-1].any()


def test_sizes_in_words() -> None:
    assert [format_size(n) for n in (0, 1023, 1024, 68 << 20, 64 << 30, 5 << 40)] == [
        "0 bytes", "1023 bytes", "1.0 KiB", "68.0 MiB", "64.0 GiB", "5.0 TiB",
    ]  # fmt: skip


def test_the_owner_of_most_is_named(target: str) -> None:
    fields = [ti.field(ti.u8, shape=size << 10, name=f"f{size}") for size in (1, 5, 3, 4, 2)]
    largest = sessions.current().largest_owners()
    assert [owner for owner, _ in largest] == ["field `f5`", "field `f4`", "field `f3`"]
    assert len(fields) == 5 and largest[0][1] == 5 << 10
