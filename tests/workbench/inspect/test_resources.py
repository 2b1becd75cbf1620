"""Registers, spills, shared memory and occupancy: from the cubin for CUDA, from the driver for Vulkan."""

from __future__ import annotations

import json

import kernels_to_list as kernels
import pytest

import shadesmith as ti
from shadesmith.runtime.workbench.inspect.cuda_resources import LIMITS, occupancy
from shadesmith.runtime.workbench.inspect.inspection_tools import resources


@pytest.mark.parametrize(
    ("gpu", "block", "registers", "shared", "expected"),
    [  # by the rules of NVIDIA's occupancy calculator, worked out by hand
        ("sm_90", 128, 32, 0, (1.0, "threads")),
        ("sm_90", 128, 33, 0, (0.75, "registers")),
        ("sm_90", 256, 64, 0, (0.5, "registers")),
        ("sm_90", 1024, 64, 0, (0.5, "registers")),
        ("sm_90", 256, 255, 0, (0.125, "registers")),
        ("sm_90", 32, 16, 0, (0.5, "blocks")),
        ("sm_90", 128, 16, 48 << 10, (0.25, "shared memory")),
        ("sm_80", 128, 16, 48 << 10, (0.1875, "shared memory")),
        ("sm_86", 128, 40, 0, (1.0, "threads")),
        ("sm_75", 128, 16, 32 << 10, (0.25, "shared memory")),
        ("sm_75", 1, 16, 0, (0.5, "blocks")),
        ("sm_90a", 128, 32, 0, (1.0, "threads")),
        ("sm_999", 128, 32, 0, (None, "")),
        ("gfx90a", 128, 32, 0, (None, "")),
    ],
)
def test_occupancy(gpu, block, registers, shared, expected) -> None:
    assert occupancy(gpu, block, registers, shared) == expected


def test_every_architecture_of_the_compiler_has_limits() -> None:
    for name in LIMITS:
        assert occupancy(f"sm_{name}", 128, 32, 1024)[0] is not None


def test_a_cuda_kernel_without_a_gpu() -> None:
    found = kernels.two.inspect(arch=ti.cuda).resources
    assert found.device == "sm_90"
    for task in found.tasks:
        assert 4 <= task.registers <= 64 and task.spill_store_bytes == 0
        assert (task.occupancy is None) == (task.block_dim == 1)
    assert "no spills" in str(found) and "registers" in str(found)
    assert json.loads(json.dumps(found.data()))["tasks"][0]["registers"] == found.tasks[0].registers


def test_spills_are_seen() -> None:
    from shadesmith.runtime.workbench.edits.edited_module import edited_module

    module = kernels.smooth.inspect(arch=ti.cuda).module
    name, text = module.files[0].name, module.files[0].text
    greedy = text.replace("__launch_bounds__(BLOCK)", "__launch_bounds__(BLOCK) __maxnreg__(24)", 1).replace(
        "(const Args args) {",
        "(const Args args) {\n    float r[64];\n    for (int k = 0; k < 64; k++) r[k] = args.a_data[k * 7];\n"
        "    for (int n = 0; n < 9; n++)\n#pragma unroll\n        for (int k = 0; k < 64; k++) r[k] = r[k] * r[(k * 5 + 1) % 64] + n;\n"
        "#pragma unroll\n    for (int k = 0; k < 64; k++) args.b_data[k] = r[k];",
        1,
    )
    greedy = greedy.replace("__launch_bounds__(BLOCK) __maxnreg__(24)", "__maxnreg__(24)")
    (task,) = resources(edited_module(module, {name: greedy}), "sm_90").tasks
    assert task.spill_store_bytes > 0 and task.local_bytes > 0 and task.registers == 24


def test_spills_are_unknown_where_ptxas_said_nothing(monkeypatch) -> None:
    from dataclasses import replace

    from shadesmith.runtime.workbench.inspect import cuda_resources

    compiled = cuda_resources.compiled
    monkeypatch.setattr(cuda_resources, "compiled", lambda *given: replace(compiled(*given), log=""))
    found = kernels.smooth.inspect(arch=ti.cuda).resources
    assert found.tasks[0].registers and found.tasks[0].spill_store_bytes is None and "spill" not in str(found)


def test_shared_memory_is_counted() -> None:
    @ti.kernel
    def tiles(a: ti.types.ndarray(ti.f32, 1)):
        ti.loop_config(block_dim=128)
        for i in range(a.shape[0]):
            tile = ti.simt.block.SharedArray((128,), ti.f32)
            tile[i % 128] = a[i]
            ti.simt.block.sync()
            a[i] = tile[127 - i % 128]

    (task,) = tiles.inspect(arch=ti.cuda).resources.tasks
    assert task.shared_bytes == 512 and task.block_dim == 128


def test_targets_that_tell_nothing_say_so() -> None:
    assert "C compilers do not report them" in str(kernels.smooth.inspect(arch=ti.cpu).resources)


def test_a_vulkan_device_is_opened_where_no_session_has_one(monkeypatch) -> None:
    ti.reset()
    monkeypatch.setenv("SHADESMITH_DEVICE", "no such device")
    assert "no device opens" in str(kernels.smooth.inspect(arch=ti.vulkan).resources)
    monkeypatch.delenv("SHADESMITH_DEVICE")
    found = kernels.smooth.inspect(arch=ti.vulkan).resources
    assert found.tasks or found.reason


@pytest.mark.targets("vulkan")
def test_a_vulkan_driver_is_asked(target: str) -> None:
    if target != "vulkan":
        pytest.skip("other targets tell by their compilers")
    found = kernels.two.inspect(arch=ti.vulkan).resources
    if not found.tasks:
        assert "does not report" in found.reason
        return
    assert [task.task for task in found.tasks] == [task.name for task in kernels.two.inspect().module.tasks]
    assert all(task.registers is not None or task.statistics for task in found.tasks)
    assert json.loads(json.dumps(found.data()))


@pytest.mark.gpu
def test_occupancy_is_what_the_driver_says(target: str) -> None:
    if target != "cuda":
        pytest.skip("of NVIDIA's multiprocessors")
    from cupy_backends.cuda.api import driver

    from shadesmith.runtime.session import session as sessions

    device = sessions.CURRENT.device
    for kernel in (kernels.two, kernels.smooth, kernels.cubes):
        inspection = kernel.inspect(arch=ti.cuda)
        loaded = device.build(inspection.module)._loaded
        per_sm = device.runtime.getDeviceProperties(device.index)["maxThreadsPerMultiProcessor"]
        for task, found in zip(inspection.module.tasks, inspection.resources.tasks, strict=True):
            if task.kind == "serial":
                continue
            function = loaded.function(task.entry)
            blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(function, task.block_dim, 0)
            assert found.occupancy == blocks * task.block_dim / per_sm
            shared, local, registers = (driver.funcGetAttribute(number, function) for number in (1, 3, 4))
            assert (found.shared_bytes, found.local_bytes, found.registers) == (shared, local, registers)


def test_statistics_of_a_driver_are_read_by_name() -> None:
    from shadesmith.runtime.devices.vulkan.instance import Api, load_api
    from shadesmith.runtime.devices.vulkan.statistics import read_statistics

    real = load_api()
    ffi = real.ffi
    said = [
        ("Register Count", 2, "u64", 40),
        ("Uses Scratch", 0, "b32", 1),
        ("Balance", 1, "i64", -3),
        ("Load", 3, "f64", 0.5),
    ]

    @ffi.callback("VkResult(VkDevice, const VkPipelineInfoKHR*, uint32_t*, VkPipelineExecutablePropertiesKHR*)")
    def list_programs(device, info, count, programs) -> int:
        count[0] = 1
        return 0

    @ffi.callback(
        "VkResult(VkDevice, const VkPipelineExecutableInfoKHR*, uint32_t*, VkPipelineExecutableStatisticKHR*)"
    )
    def list_statistics(device, info, count, items) -> int:
        count[0] = len(said)
        for k, (name, form, member, value) in enumerate(said if items != ffi.NULL else ()):
            assert items[k].sType == real.constants.VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR
            ffi.memmove(items[k].name, name.encode(), len(name))
            items[k].format = form
            setattr(items[k].value, member, value)
        return 0

    class Driver:
        def vkGetDeviceProcAddr(self, device, name):
            return {b"Prop": list_programs, b"Stat": list_statistics}[name[len("vkGetPipelineExecutable") :][:4]]

    api = Api(real.constants)
    api.lib = Driver()
    found = read_statistics(api, ffi.NULL, ffi.NULL)
    assert found == {"Register Count": 40, "Uses Scratch": True, "Balance": -3, "Load": 0.5}
