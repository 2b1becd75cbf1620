"""Memory, events and the current stream of a GPU without CuPy's own classes, with a driver that counts."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from shadesmith.runtime.devices.cuda import driver_objects
from shadesmith.runtime.devices.cuda.driver_objects import ALIGNMENT, Blocks, CudaEvent, LoadedCode, current_stream_of

pytestmark = pytest.mark.one_target


class Driver:
    """Allocates at addresses that it never gives twice."""

    def __init__(self) -> None:
        self.live: dict[int, int] = {}
        self.calls: list[str] = []

    def allocate(self, size: int) -> int:
        if size > 1 << 20:
            raise MemoryError
        self.calls.append("allocate")
        address = 1 << 20 if not self.live else max(self.live) + (1 << 20)
        self.live[address] = size
        return address

    def free(self, address: int) -> None:
        self.calls.append("free")
        del self.live[address]


def test_a_block_of_the_same_size_is_used_again() -> None:
    blocks, driver = Blocks(), Driver()
    first = blocks.take(1000, driver.allocate, driver.free)
    address = first.ptr
    assert driver.live == {address: 2 * ALIGNMENT}
    del first
    again = blocks.take(1024, driver.allocate, driver.free)
    assert again.ptr == address and driver.calls == ["allocate"] and blocks.returned == 0


def test_idle_blocks_go_back_when_another_size_is_requested() -> None:
    blocks, driver = Blocks(), Driver()
    held = [blocks.take(size, driver.allocate, driver.free) for size in (1, 512, 513, 4096)]
    kept = held[3].ptr
    del held[:3]
    other = blocks.take(10_000, driver.allocate, driver.free)
    assert sorted(driver.live) == [kept, other.ptr] and blocks.returned == 3


def test_memory_of_no_bytes_has_an_address() -> None:
    blocks, driver = Blocks(), Driver()
    assert blocks.take(0, driver.allocate, driver.free).ptr


def test_a_request_that_fails_loses_nothing() -> None:
    blocks, driver = Blocks(), Driver()
    kept = blocks.take(512, driver.allocate, driver.free)
    with pytest.raises(MemoryError):
        blocks.take(1 << 30, driver.allocate, driver.free)
    assert list(driver.live) == [kept.ptr]
    del kept
    blocks.release(driver.free)
    assert driver.live == {}


def test_the_current_stream_is_cupys_as_soon_as_there_is_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cupy"]:
        monkeypatch.delitem(sys.modules, name)
    current = current_stream_of(3)
    assert current().ptr == 0
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace())  # begins to be imported
    assert current().ptr == 0
    stream = SimpleNamespace(get_current_stream=lambda index: SimpleNamespace(ptr=10 + index))
    monkeypatch.setitem(sys.modules, "cupy.cuda.stream", stream)
    assert current().ptr == 13 and current().ptr == 13


def test_code_and_events_end_with_their_objects() -> None:
    calls: list[Any] = []
    driver = SimpleNamespace(
        moduleLoadData=lambda code: 7,
        moduleGetFunction=lambda module, name: (module, name) == (7, "f") and 9,
        moduleUnload=lambda module: calls.append(module),
    )
    code = LoadedCode(driver, b"", lambda: calls.append("enter"))
    assert code.function("f") == 9 and calls == ["enter"]
    del code
    assert calls == ["enter", "enter", 7]
    runtime = SimpleNamespace(
        eventDisableTiming=2,
        eventCreateWithFlags=lambda flags: 20 + flags,
        eventDestroy=lambda event: calls.append(event),
        eventQuery=lambda event: 600 if event == 20 else 0,
        eventElapsedTime=lambda begin, end: end - begin,
    )
    timed, plain = CudaEvent(runtime, timed=True), CudaEvent(runtime)
    assert not timed.done and plain.done and timed.ms_until(plain) == 2.0
    del timed, plain
    assert calls[3:] == [20, 22]


def test_a_fault_while_something_ends_is_no_error() -> None:
    def fail(*arguments: int) -> None:
        raise OSError("the context is lost")

    runtime = SimpleNamespace(eventDisableTiming=2, eventCreateWithFlags=lambda flags: 1, eventDestroy=fail)
    event = CudaEvent(runtime)
    del event
    driver_objects._destroy(runtime, 1)
    driver_objects._unload(SimpleNamespace(moduleUnload=fail), 1, lambda: None)


@pytest.mark.parametrize("shows", [False, True])
def test_the_bindings_do_not_import_all_of_cupy_for_messages(monkeypatch: pytest.MonkeyPatch, shows: bool) -> None:
    def log(text: str) -> None:
        import cupy  # noqa: F401

    softlink = SimpleNamespace(_log=log)
    modules = {
        "cupy_backends": SimpleNamespace(__path__=[]),
        "cupy_backends.cuda": SimpleNamespace(__path__=[], _softlink=softlink),
        "cupy_backends.cuda.api": SimpleNamespace(driver="driver", runtime="runtime"),
        "cupy_backends.cuda._softlink": softlink,
        "cupy": None,
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("CUPY_DEBUG_LIBRARY_LOAD", str(int(shows)))
    assert driver_objects.load_bindings() == ("driver", "runtime")
    if shows:
        with pytest.raises(ImportError):
            softlink._log("found")
    else:
        softlink._log("found")
