"""Memory of a CUDA device without CuPy: freed blocks serve requests for as many bytes, and go back to the driver."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from emulated import device as emulated

from shadesmith.runtime.devices.cuda import driver_objects
from shadesmith.runtime.devices.device import OutOfMemory

pytestmark = pytest.mark.one_target


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cupy"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(driver_objects, "BLOCKS", {})
    monkeypatch.setattr(emulated, "MEMORY", {})
    return emulated.open_device()


def test_blocks_are_used_again_and_returned(gpu: Any) -> None:
    first = gpu.allocate(4096)
    address = first.address
    gpu.fill(first, b"\x07")
    gpu.free(first)
    again = gpu.allocate(4000)
    assert again.address == address and gpu.used_bytes == 4000
    found = bytearray(4000)
    gpu.read(again, memoryview(found))
    assert not any(found), "memory is zeroed, also if it is used again"
    gpu.free(again)
    other = gpu.allocate(1 << 20)
    assert list(emulated.MEMORY) == [other.address]
    gpu.free(other)
    gpu.close()
    assert emulated.MEMORY == {}


def test_memory_is_cupys_once_it_is_imported(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, freed = gpu.allocate(512), gpu.allocate(1024)
    gpu.free(freed)
    monkeypatch.setitem(sys.modules, "cupy", gpu.cupy)
    of_pool = gpu.allocate(1024)
    assert isinstance(of_pool.pointer, emulated.Memory)
    assert list(emulated.MEMORY) == [kept.address], "what is idle has gone back"


def test_a_program_that_frees_much_gets_cupys_pool(gpu: Any) -> None:
    for number in range(driver_objects.MANY_RETURNED + 2):
        gpu.free(gpu.allocate(1 + 512 * number))
    assert isinstance(gpu.allocate(1).pointer, emulated.Memory)


def test_a_request_that_cannot_be_met_frees_what_is_idle(gpu: Any) -> None:
    class Refused(emulated.EmulatedError):
        status = 2

    def refuse(size_bytes: int) -> int:
        raise Refused("out of memory")

    gpu.free(gpu.allocate(2048))
    gpu.runtime.malloc, gpu.runtime.CUDARuntimeError = refuse, Refused
    with pytest.raises(OutOfMemory):
        gpu.allocate(1 << 20)
    assert emulated.MEMORY == {}
