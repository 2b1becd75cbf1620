"""Time stamps of a Vulkan queue: two queries per span, recorded between the commands of the open command buffer.

In: spans between launches. Out: seconds by the device's clock. A delayed span is in one command buffer, which starts
when all earlier work has ended: the span includes neither that work nor the time of the submit.
"""

from __future__ import annotations

from typing import Any
from weakref import finalize

from ....transpiler.errors import TaichiRuntimeError
from ..timer import HostTimer, Timer
from .instance import Adapter, Api
from .queue import Queue

SPANS = 256
"""Capacity of the query pool before a read."""


def make_timer(api: Api, adapter: Adapter, device: Any, queue: Queue) -> Timer:
    """Return a timer by the device's clock, or by the host's if the queue has no time stamps."""
    families = api.enumerate(
        "VkQueueFamilyProperties", api.lib.vkGetPhysicalDeviceQueueFamilyProperties, adapter.handle
    )
    bits = families[adapter.queue_family].timestampValidBits
    if not bits:
        return HostTimer(queue.synchronize)
    return VulkanTimer(api, adapter, device, queue, bits)


class VulkanTimer:
    """A timer of queries. bits: number of valid bits of a time stamp."""

    clock = "the device's time stamps"

    def __init__(self, api: Api, adapter: Adapter, device: Any, queue: Queue, bits: int) -> None:
        self._api, self._device, self._queue = api, device, queue
        properties = api.ffi.new("VkPhysicalDeviceProperties*")
        api.lib.vkGetPhysicalDeviceProperties(adapter.handle, properties)
        self._period = properties.limits.timestampPeriod * 1e-9
        self._mask = (1 << bits) - 1
        self.resolution = max(self._period, 5e-7)  # drivers report a finer period than they achieve
        self._stage = api.constants.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
        self._pool = api.ffi.new("VkQueryPool*")
        info = api.new(
            "VkQueryPoolCreateInfo",
            "QUERY_POOL_CREATE_INFO",
            queryType=api.constants.VK_QUERY_TYPE_TIMESTAMP,
            queryCount=2 * SPANS,
        )
        api.check(api.lib.vkCreateQueryPool(device, info, api.ffi.NULL, self._pool), "making time stamps")
        self._stamps = api.ffi.new("uint64_t[]", 2 * SPANS)
        self._used = 0
        self._spans: list[float] = []
        self._destroy = finalize(self, _destroy, api, queue, self._pool[0])
        self._destroy.atexit = False

    def delay(self, seconds: float) -> None:
        """Wait for all earlier work, and record the following work without submitting it, up to `stop`.

        On an H200 (580.159) a kernel after a copy of 64 MiB took 231 us by time stamps around it, with the copy in the
        same command buffer, and 69 us by wall-clock time, as if the first stamp did not wait for the copy.
        """
        self._queue.synchronize()
        self._queue.is_held = True

    def start(self) -> None:
        """Write the first time stamp of a span."""
        if self._used == SPANS:
            self._fetch()
        queue = self._queue
        with queue.lock:
            commands = queue.open_commands()
            self._api.lib.vkCmdResetQueryPool(commands, self._pool[0], 2 * self._used, 2)
            self._api.lib.vkCmdWriteTimestamp(commands, self._stage, self._pool[0], 2 * self._used)

    def stop(self) -> None:
        """Write the second time stamp, and submit the span if it was delayed."""
        queue = self._queue
        with queue.lock:
            commands = queue.open_commands()
            self._api.lib.vkCmdWriteTimestamp(commands, self._stage, self._pool[0], 2 * self._used + 1)
            self._used += 1
            if queue.is_held:
                queue.is_held = False
                queue.flush()

    def read(self) -> list[float]:
        """Wait, and return the lengths of all spans since the last `read` [s]."""
        self._fetch()
        spans, self._spans = self._spans, []
        return spans

    def close(self) -> None:
        """Free the queries when the device has written them."""
        self._queue.is_held = False
        self._destroy()

    def _fetch(self) -> None:
        """Read the written queries, and free them for reuse."""
        if not self._used:
            return
        api, vk = self._api, self._api.constants
        held, self._queue.is_held = self._queue.is_held, False
        self._queue.synchronize()
        self._queue.is_held = held
        count = 2 * self._used
        flags = vk.VK_QUERY_RESULT_64_BIT | vk.VK_QUERY_RESULT_WAIT_BIT
        code = api.lib.vkGetQueryPoolResults(self._device, self._pool[0], 0, count, 8 * count, self._stamps, 8, flags)
        if code:
            raise TaichiRuntimeError(f"Vulkan gives no time stamps: {api.code_name(code)}")
        stamps = list(self._stamps[0:count])
        pairs = zip(stamps[::2], stamps[1::2], strict=True)
        self._spans += [(end - begin & self._mask) * self._period for begin, end in pairs]
        self._used = 0


def _destroy(api: Api, queue: Queue, pool: Any) -> None:
    queue.defer(lambda: api.lib.vkDestroyQueryPool(queue.device, pool, api.ffi.NULL))
