"""A Vulkan driver's statistics of a pipeline: registers, shared memory, instructions, by the driver's names.

In: a pipeline made with `CAPTURE_STATISTICS`. Out: numbers by name. Source: VK_KHR_pipeline_executable_properties.
"""

from __future__ import annotations

from typing import Any

from .instance import Api

FORMATS = ("b32", "i64", "u64", "f64")
"""Members of VkPipelineExecutableStatisticValueKHR by VkPipelineExecutableStatisticFormatKHR."""


def read_statistics(api: Api, device: Any, pipeline: Any) -> dict[str, Any]:
    """Return the statistics of a compute pipeline; if the driver made several executables, of the first."""
    info = api.new("VkPipelineInfoKHR", "PIPELINE_INFO_KHR", pipeline=pipeline)
    list_executables = _function(api, device, "vkGetPipelineExecutablePropertiesKHR")
    count = api.ffi.new("uint32_t*")
    api.check(list_executables(device, info, count, api.ffi.NULL), "querying a pipeline's executables")
    if not count[0]:
        return {}
    wanted = api.new(
        "VkPipelineExecutableInfoKHR", "PIPELINE_EXECUTABLE_INFO_KHR", pipeline=pipeline, executableIndex=0
    )
    read = _function(api, device, "vkGetPipelineExecutableStatisticsKHR")
    api.check(read(device, wanted, count, api.ffi.NULL), "querying a pipeline's statistics")
    items = api.ffi.new("VkPipelineExecutableStatisticKHR[]", count[0])
    for item in items:
        item.sType = api.constants.VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR
    api.check(read(device, wanted, count, items), "querying a pipeline's statistics")
    return {api.ffi.string(item.name).decode(errors="replace"): _value(item) for item in items[0 : count[0]]}


def _value(item: Any) -> Any:
    value = getattr(item.value, FORMATS[item.format])
    return bool(value) if item.format == 0 else value


def _function(api: Api, device: Any, name: str) -> Any:
    return api.ffi.cast("PFN_" + name, api.lib.vkGetDeviceProcAddr(device, name.encode()))
