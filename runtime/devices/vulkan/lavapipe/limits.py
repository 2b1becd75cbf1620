"""Reports loops that lavapipe ended: it stops all loops of a thread after 65,535 iterations together, and says nothing.

Shaders are changed as `code.py` describes; they write to one buffer, which the host looks at after each wait. So
no launch pays for a count, and sources, edits and archives are the same as on other devices, which have none of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

from .....transpiler.errors import TaichiRuntimeError
from ..capabilities import LLVMPIPE_LOOP_LIMIT
from ..instance import Api
from ..memory import Memory
from .code import LIMIT_SET, for_lavapipe

ITERATIONS = 2
"""How often shaders try to loop in the end."""
WORDS = 2


class LoopLimits:
    """The buffer that tells of ended loops, its descriptor set, and the tasks by the number that they write.

    layout, empty: of the set with the buffer, and of one with nothing. `close` destroys what `open` has made so far.
    """

    def __init__(self, api: Api, device: Any, prepare: Callable[[], None]) -> None:
        """prepare: is called before each shader is loaded."""
        self._api, self._device, self._prepare = api, device, prepare
        self._tasks: dict[int, tuple[str, str]] = {}
        self.empty = self.layout = self._pool = api.ffi.NULL

    def open(self, memory: Memory) -> None:
        """Make the buffer and its descriptor set."""
        self.empty = self._layout(0)
        self.layout = self._layout(1)
        block = memory.make_staging_block(4 * WORDS)
        self._words = self._api.ffi.cast("uint32_t*", block.pointer)
        self._words[0], self._words[1] = ITERATIONS, 0
        self._set = self._make_set(block.buffer)

    def _layout(self, bindings: int) -> Any:
        """Return a layout of a set with the buffer, or with nothing: sets before the last need one too."""
        api, vk = self._api, self._api.constants
        members: dict[str, Any] = {}
        if bindings:
            members["bindingCount"] = 1
            members["pBindings"] = api.new(
                "VkDescriptorSetLayoutBinding",
                descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                descriptorCount=1,
                stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            )
        info = api.new("VkDescriptorSetLayoutCreateInfo", "DESCRIPTOR_SET_LAYOUT_CREATE_INFO", **members)
        out = api.ffi.new("VkDescriptorSetLayout*")
        code = api.lib.vkCreateDescriptorSetLayout(self._device, info, api.ffi.NULL, out)
        api.check(code, "making a layout for loop limits")
        return out[0]

    def _make_set(self, buffer: Any) -> Any:
        api, kind = self._api, self._api.constants.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        size = api.ffi.new("VkDescriptorPoolSize*", {"type": kind, "descriptorCount": 1})
        info = api.new(
            "VkDescriptorPoolCreateInfo", "DESCRIPTOR_POOL_CREATE_INFO", maxSets=1, poolSizeCount=1, pPoolSizes=size
        )
        pool = api.ffi.new("VkDescriptorPool*")
        code = api.lib.vkCreateDescriptorPool(self._device, info, api.ffi.NULL, pool)
        api.check(code, "making a pool for loop limits")
        self._pool = pool[0]
        info = api.new(
            "VkDescriptorSetAllocateInfo",
            "DESCRIPTOR_SET_ALLOCATE_INFO",
            descriptorPool=self._pool,
            descriptorSetCount=1,
            pSetLayouts=api.array("VkDescriptorSetLayout", [self.layout]),
        )
        found = api.ffi.new("VkDescriptorSet[1]")
        api.check(api.lib.vkAllocateDescriptorSets(self._device, info, found), "making a set for loop limits")
        whole = api.new("VkDescriptorBufferInfo", buffer=buffer, range=4 * WORDS)
        write = api.new(
            "VkWriteDescriptorSet",
            "WRITE_DESCRIPTOR_SET",
            dstSet=found[0],
            descriptorCount=1,
            descriptorType=kind,
            pBufferInfo=whole,
        )
        api.lib.vkUpdateDescriptorSets(self._device, 1, write, 0, api.ffi.NULL)
        return found

    def changed(self, code: bytes, kernel: str, task: str) -> bytes:
        """Return the SPIR-V of a task as lavapipe gets it. The number of a task is that of its code in every process,
        since Mesa caches what it compiles."""
        self._prepare()
        number = crc32(task.encode(), crc32(kernel.encode(), crc32(code))) or 1
        self._tasks[number] = kernel, task
        return for_lavapipe(code, number)

    def dispatching(self, layout: Any, dispatch: Callable[..., None]) -> Callable[..., None]:
        """Return a function that dispatches as `dispatch` does, with the buffer bound. layout: of the pipeline."""
        bind, null, found = self._api.lib.vkCmdBindDescriptorSets, self._api.ffi.NULL, self._set

        def dispatch_bound(commands: Any, x: int, y: int, z: int) -> None:
            bind(commands, 1, layout, LIMIT_SET, 1, found, 0, null)
            dispatch(commands, x, y, z)

        return dispatch_bound

    def check(self) -> None:
        """Raise TaichiRuntimeError if loops of a launch that has ended were ended by the driver."""
        number = self._words[1]
        if number:
            self._words[1] = 0
            kernel, task = self._tasks.get(number, ("?", "?"))
            where = f"task `{task}` of kernel `{kernel}`" if task != kernel else f"kernel `{kernel}`"
            raise TaichiRuntimeError(
                f"The serial loops of {where} reached {LLVMPIPE_LOOP_LIMIT:,} iterations, after which this driver "
                "(lavapipe) ends all loops of a thread and of its neighbours: the results are wrong.",
                "use ti.cpu or a GPU, or make the outer loop parallel; `ti.init(debug=True)` shows the loop",
            )

    def close(self) -> None:
        """Destroy the set and its layouts; the memory is freed with all other."""
        lib, null = self._api.lib, self._api.ffi.NULL
        lib.vkDestroyDescriptorPool(self._device, self._pool, null)
        for layout in (self.layout, self.empty):
            lib.vkDestroyDescriptorSetLayout(self._device, layout, null)
