"""Vulkan calls that fail, one after the other: the right exception, no leak, and the next device works."""

from __future__ import annotations

import shutil
import struct
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest

from shadesmith.runtime.devices.vulkan import declarations as vulkan_declarations
from shadesmith.runtime.devices.vulkan.device import open_device
from shadesmith.runtime.devices.vulkan.instance import Api, load_api
from shadesmith.transpiler.backend.module.interface import BackendModule, Interface, SourceFile, TaskSource
from shadesmith.transpiler.errors import TaichiCompilationError, TaichiRuntimeError


def vulkan_is_here() -> bool:
    try:
        open_device().close()
    except TaichiRuntimeError:
        return False
    return shutil.which("glslangValidator") is not None


needs_vulkan = pytest.mark.skipif(not vulkan_is_here(), reason="no Vulkan device or no glslangValidator")

OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST = -1, -2, -4
WAITS = ("vkWaitSemaphores", "vkGetSemaphoreCounterValue")
"""Calls that find out that work is done: NVIDIA's devices are polled before the wait."""
SOURCE = """#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 64) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args { I32 a; int n; } args;
void main() { if (gl_GlobalInvocationID.x < uint(args.n)) args.a.v[gl_GlobalInvocationID.x] += 1; }
"""
MODULE = BackendModule(
    "grow",
    "vulkan",
    (SourceFile("grow.comp", SOURCE),),
    (TaskSource("grow", "range_for", "main", 0, 64, ()),),
    Interface((), 12, (), (), 0, 0),
)


class FaultyLibrary:
    """The raw functions, of which call number `fail_at` (from 0, those that can fail) answers `code` instead of acting.

    live: how many objects of each kind were made and not destroyed.
    """

    def __init__(self, lib: Any, ffi: Any, fail_at: int, code: int, only: str | tuple[str, ...] = "vk") -> None:
        self._lib, self._ffi, self._fail_at, self._code, self._only = lib, ffi, fail_at, code, only
        self.calls = 0
        self.failed = ""
        self.live: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._lib, name)
        can_fail = self._ffi.typeof(function).result.cname.endswith("VkResult") and name.startswith(self._only)

        def call(*arguments: Any) -> Any:
            if can_fail:
                self.calls += 1
                if self.calls - 1 == self._fail_at:
                    self.failed = name
                    return self._code
            answer = function(*arguments)
            if not name.startswith(("vkDestroy", "vkFree")) or arguments[-2] != self._ffi.NULL:
                self._count(name, answer)
            return answer

        return call

    def _count(self, name: str, answer: Any) -> None:
        for prefix, change in (("vkCreate", 1), ("vkAllocateM", 1), ("vkDestroy", -1), ("vkFreeM", -1)):
            if name.startswith(prefix) and not (change == 1 and answer):
                kind = name.removeprefix("vkCreate").removeprefix("vkDestroy").removeprefix("vkAllocate")
                self.live[kind.removeprefix("vkFree").removeprefix("Compute").rstrip("s")] += change


def scenario(api: Api, force_staging: bool) -> None:
    """Open, build, launch, read, free, close."""
    device = open_device(force_staging=force_staging, api=api)
    try:
        program = device.build(MODULE)
        a = device.allocate(400)
        b = device.allocate(5 << 20)
        struct.pack_into("Qi", program.arguments, 0, a.address, 100)
        program.submit((100,))
        result = np.empty(100, "i4")
        device.read(a, memoryview(result).cast("B"))
        device.free(b)
        device.synchronize()
        assert (result == 1).all()
    finally:
        device.close()


@pytest.mark.sampled(2, each="code")
@needs_vulkan
@pytest.mark.parametrize("force_staging", [False, True])
@pytest.mark.parametrize("code", [OUT_OF_DEVICE_MEMORY, DEVICE_LOST])
def test_any_call_may_fail_without_leak_and_the_next_device_works(code: int, force_staging: bool) -> None:
    real = load_api()
    failures = []
    for fail_at in range(200):
        api = Api(real.constants)
        library = api.lib = FaultyLibrary(real.lib, real.ffi, fail_at, code)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                scenario(api, force_staging)
            except (TaichiRuntimeError, TaichiCompilationError) as error:
                failures.append(str(error))
        left = {kind: count for kind, count in library.live.items() if count}
        assert left == {}, (library.failed, left)
        if not library.failed:
            break
    assert fail_at < 199 and len(failures) > 15
    scenario(real, force_staging)


@needs_vulkan
def test_a_lost_device_names_the_last_kernels_and_stays_lost() -> None:
    real = load_api()
    api = Api(real.constants)
    api.lib = FaultyLibrary(real.lib, real.ffi, 0, DEVICE_LOST, only=WAITS)
    device = open_device(api=api)
    program = device.build(MODULE)
    a = device.allocate(400)
    struct.pack_into("Qi", program.arguments, 0, a.address, 100)
    program.submit((100,))
    for _ in range(2):
        with pytest.raises(TaichiRuntimeError, match="device was lost while waiting; kernels submitted last.*: grow"):
            device.synchronize()
    with pytest.raises(TaichiRuntimeError, match="was lost"):
        program.submit((100,))
    device.close()


@needs_vulkan
def test_handles_do_not_pile_up_over_builds_and_launches() -> None:
    real = load_api()
    api = Api(real.constants)
    library = api.lib = FaultyLibrary(real.lib, real.ffi, -1, 0)
    device = open_device(api=api)
    seen = []
    for _ in range(4):
        for _ in range(5):
            program = device.build(MODULE)
            a = device.allocate(5 << 20)
            struct.pack_into("Qi", program.arguments, 0, a.address, 100)
            for _ in range(300):
                program.submit((100,))
            device.free(a)
            del program
        device.synchronize()
        seen.append(sum(library.live.values()))
    device.close()
    assert seen[0] == seen[-1] and not any(library.live.values())


def test_a_missing_loader_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vulkan_declarations, "LIBRARIES", ("libno_such_loader.so",))
    with pytest.raises(TaichiRuntimeError, match="apt-get install libvulkan1 mesa-vulkan-drivers glslang-tools"):
        load_api.__wrapped__()
