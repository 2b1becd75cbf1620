"""Names for RenderDoc and Nsight: pipelines have the names of their tasks, and each dispatch is inside a label.

In: a device whose instance has VK_EXT_debug_utils. Out: functions that replace the plain ones for recording commands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .instance import Api


class Labels:
    """Names of one device's pipelines. bind, dispatch: `vkCmdBindPipeline` and `vkCmdDispatch`, with labels."""

    def __init__(self, api: Api, instance: Any, device: Any) -> None:
        self._api, self._device = api, device
        self._name = api.function(instance, "vkSetDebugUtilsObjectNameEXT")
        self._labels: dict[int, Any] = {}
        begin = api.function(instance, "vkCmdBeginDebugUtilsLabelEXT")
        end = api.function(instance, "vkCmdEndDebugUtilsLabelEXT")
        plain_bind, plain_dispatch = api.lib.vkCmdBindPipeline, api.lib.vkCmdDispatch
        labels = self._labels

        def bind(commands: Any, point: int, pipeline: Any) -> None:
            begin(commands, labels[self._number(pipeline)])
            plain_bind(commands, point, pipeline)

        def dispatch(commands: Any, x: int, y: int, z: int) -> None:
            plain_dispatch(commands, x, y, z)
            end(commands)

        self.bind: Callable[..., None] = bind
        self.dispatch: Callable[..., None] = dispatch

    def name(self, pipeline: Any, name: str) -> None:
        """Set the name that tools show for a pipeline and its dispatches."""
        api, number = self._api, self._number(pipeline)
        label = api.string(name)
        kind = api.constants.VK_OBJECT_TYPE_PIPELINE
        info = api.new(
            "VkDebugUtilsObjectNameInfoEXT",
            "DEBUG_UTILS_OBJECT_NAME_INFO_EXT",
            objectType=kind,
            objectHandle=number,
            pObjectName=label,
        )
        api.check(self._name(self._device, info), f"naming {name}")
        self._labels[number] = api.new("VkDebugUtilsLabelEXT", "DEBUG_UTILS_LABEL_EXT", pLabelName=label)

    def _number(self, pipeline: Any) -> int:
        return int(self._api.ffi.cast("uint64_t", pipeline))
