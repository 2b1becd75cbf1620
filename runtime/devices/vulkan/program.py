"""Build compute pipelines from a `BackendModule` and launch them, by functions that `submitting` makes.

Arguments up to the push-constant limit are passed in push constants; longer ones are copied into a host-visible block
that belongs to the open command buffer, and the push constants contain its address.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, finalize, proxy, ref

from ....transpiler.backend.module.interface import BackendModule, TaskSource
from ....transpiler.backend.module.one_file import task_sources
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError, UnsupportedError
from ...loading import loader
from ...store.store import Store
from ..device import only
from ..stored_sources import store_sources
from .capabilities import MAX_PUSH_BYTES
from .glslang import Glslang
from .images import DescriptorSets, VulkanTexture
from .instance import Adapter, Api
from .labels import Labels
from .memory import Memory
from .queue import Queue
from .repeats import Page, Repeats
from .statistics import read_statistics
from .submitting import STRIDED_GROUPS, PushedArguments, Submit, TaskPipeline, make_submitter

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor
    from typing import Protocol

    from .lavapipe.limits import LoopLimits

    class _Futures(Protocol):
        def ThreadPoolExecutor(self, max_workers: int) -> ThreadPoolExecutor: ...  # noqa: N802


_futures: Callable[[], _Futures] = loader("concurrent.futures", None)

STRIDED_THREADS = 1 << 20
"""Threads of a grid-stride loop on a GPU: a few times the number that a large GPU runs at once."""
GROUPS_X = 65535
"""Groups along one axis that every device allows; 2^31 - 1 groups of one thread are 32,769 rows."""
ARGUMENT_ALIGNMENT = 64
ARGUMENT_BLOCK_BYTES = 64 << 10
POINTER_BYTES = 8


class PipelineLayouts:
    """The pipeline layouts of a device, one per size of the push constants [bytes] and kinds of textures."""

    def __init__(self, api: Api, device: Any, sets: DescriptorSets, limits: LoopLimits | None) -> None:
        self._api, self._device, self._sets, self._limits = api, device, sets, limits
        self._layouts: dict[tuple[int, tuple[bool, ...]], Any] = {}

    def get(self, size_bytes: int, kinds: tuple[bool, ...]) -> Any:
        """Return the layout, created on first use. kinds: whether each texture is a storage image."""
        key = size_bytes, kinds
        if key not in self._layouts:
            self._layouts[key] = self._make(size_bytes, kinds)
        return self._layouts[key]

    def _make(self, size_bytes: int, kinds: tuple[bool, ...]) -> Any:
        api = self._api
        members: dict[str, Any] = {}
        layouts = [self._sets.layout(kinds)] if kinds else []
        if self._limits is not None:
            layouts = [*(layouts or [self._limits.empty]), self._limits.layout]
        if layouts:
            members["pSetLayouts"] = api.array("VkDescriptorSetLayout", layouts)
            members["setLayoutCount"] = len(layouts)
        if size_bytes:
            stage = api.constants.VK_SHADER_STAGE_COMPUTE_BIT
            members["pPushConstantRanges"] = api.new("VkPushConstantRange", stageFlags=stage, size=size_bytes)
            members["pushConstantRangeCount"] = 1
        out = api.ffi.new("VkPipelineLayout*")
        info = api.new("VkPipelineLayoutCreateInfo", "PIPELINE_LAYOUT_CREATE_INFO", **members)
        code = api.lib.vkCreatePipelineLayout(self._device, info, api.ffi.NULL, out)
        api.check(code, "making a pipeline layout")
        return out[0]

    def close(self) -> None:
        """Destroy the layouts."""
        for layout in self._layouts.values():
            self._api.lib.vkDestroyPipelineLayout(self._device, layout, self._api.ffi.NULL)
        self._layouts.clear()


class Builder:
    """Builds programs from modules on one device.

    labels: names for tools. sources: folder of the sources that debug information refers to. limits: of lavapipe.
    """

    def __init__(
        self,
        api: Api,
        adapter: Adapter,
        device: Any,
        queue: Queue,
        memory: Memory,
        glslang: Glslang,
        sets: DescriptorSets,
        labels: Labels | None = None,
        sources: Path | None = None,
        limits: LoopLimits | None = None,
    ) -> None:
        self._sets, self._limits = sets, limits
        self._api, self._adapter, self._device = api, adapter, device
        self._labels, self._sources = labels, sources
        self._queue, self._memory, self._glslang = queue, memory, glslang
        self._layouts = PipelineLayouts(api, device, sets, limits)
        self._programs: WeakSet[VulkanProgram] = WeakSet()

    def build(
        self, module: BackendModule, store: Store | None = None, binaries: Sequence[bytes] | None = None
    ) -> VulkanProgram:
        """Compile all files concurrently, since the tool's time is mostly its start, and make a pipeline per task.

        store: caches SPIR-V. binaries: SPIR-V of each file, if it exists.
        """
        module = self._split(module)
        for task in module.tasks:
            if task.block_dim > self._adapter.max_block_dim:
                raise UnsupportedError(
                    f"task {task.name} wants {task.block_dim} threads a block; {self._adapter.name} has at most"
                    f" {self._adapter.max_block_dim}",
                    "give `ti.loop_config(block_dim=...)` a smaller number",
                )
        layout = self._layout(module)
        codes = self._compile(module, store) if binaries is None else binaries
        program = VulkanProgram(self._api, self._queue, self._memory, module, layout, self._adapter.is_software)
        if module.interface.textures:
            program.take_textures(self._sets, _kinds_of(module))
        if self._labels is not None:
            program.show(self._labels)
        if self._limits is not None:
            program.watch(self._limits)
        self._programs.add(program)
        for task in module.tasks:  # the program owns each pipeline at once, so a later failure leaks none
            pipeline = self._pipeline(codes[task.file], task, module, layout)
            program.add(task, pipeline)
            if self._labels is not None:
                self._labels.name(pipeline, task.name)
        return program

    def statistics(self, module: BackendModule) -> dict[str, dict[str, Any]]:
        """Return the driver's statistics of each task by name; the device must support the extension."""
        module = self._split(module)
        layout, codes = self._layout(module), self._compile(module)
        found: dict[str, dict[str, Any]] = {}
        for task in module.tasks:
            capture = self._api.constants.VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR
            pipeline = self._pipeline(codes[task.file], task, module, layout, capture)
            try:
                found[task.name] = read_statistics(self._api, self._device, pipeline)
            finally:
                self._api.lib.vkDestroyPipeline(self._device, pipeline, self._api.ffi.NULL)
        return found

    def _split(self, module: BackendModule) -> BackendModule:
        """Return the module with a file for each task. Stored sources have different names."""
        return task_sources(module, numbered=self._sources is not None)

    def _layout(self, module: BackendModule) -> Any:
        size = module.interface.args_size_bytes
        pushed = -(-size // 4) * 4 if size <= MAX_PUSH_BYTES else POINTER_BYTES
        return self._layouts.get(pushed, _kinds_of(module))

    def _compile(self, module: BackendModule, store: Store | None = None) -> list[bytes]:
        """Return the SPIR-V of each file."""
        paths = {} if self._sources is None else store_sources(module, self._sources)
        workers = min(len(module.files), (os.cpu_count() or 1))
        if workers <= 1:
            return [self._glslang.compile(file, module.kernel, paths.get(file.name), store) for file in module.files]
        with _futures().ThreadPoolExecutor(workers) as pool:
            compile = self._glslang.compile
            return list(pool.map(lambda file: compile(file, module.kernel, paths.get(file.name), store), module.files))

    def _pipeline(self, code: bytes, task: TaskSource, module: BackendModule, layout: Any, flags: int = 0) -> Any:
        api, null = self._api, self._api.ffi.NULL
        if self._limits is not None:
            code = self._limits.changed(code, module.kernel, task.name)
        words = api.ffi.new("uint32_t[]", len(code) // 4)
        api.ffi.memmove(words, code, len(code))
        shader = api.ffi.new("VkShaderModule*")
        info = api.new("VkShaderModuleCreateInfo", "SHADER_MODULE_CREATE_INFO", codeSize=len(code), pCode=words)
        api.check(api.lib.vkCreateShaderModule(self._device, info, null, shader), f"loading {task.name}")
        stage = api.new(
            "VkPipelineShaderStageCreateInfo",
            "PIPELINE_SHADER_STAGE_CREATE_INFO",
            stage=api.constants.VK_SHADER_STAGE_COMPUTE_BIT,
            module=shader[0],
            pName=api.string(task.entry),
        )
        info = api.new(
            "VkComputePipelineCreateInfo",
            "COMPUTE_PIPELINE_CREATE_INFO",
            flags=flags,
            stage=stage[0],
            layout=layout,
        )
        out = api.ffi.new("VkPipeline*")
        result = api.lib.vkCreateComputePipelines(self._device, null, 1, info, null, out)
        api.lib.vkDestroyShaderModule(self._device, shader[0], null)
        if result < 0:
            raise TaichiCompilationError(
                f"the Vulkan driver ({self._adapter.driver}) refused task {task.name} of kernel `{module.kernel}`:"
                f" {api.code_name(result)}"
            )
        return out[0]

    def close(self) -> None:
        """Destroy the pipelines of all live programs, and the layouts."""
        for program in self._programs:
            for pipeline in program.pipelines:
                self._api.lib.vkDestroyPipeline(self._device, pipeline, self._api.ffi.NULL)
            program.pipelines.clear()
        self._layouts.close()


def _kinds_of(module: BackendModule) -> tuple[bool, ...]:
    """Return for each texture of a module, by binding, whether it is a storage image."""
    return tuple(texture.storage for texture in module.interface.textures)


def _destroy(api: Api, queue: Queue, pipelines: list[Any]) -> None:
    def destroy() -> None:
        for pipeline in pipelines:
            api.lib.vkDestroyPipeline(queue.device, pipeline, api.ffi.NULL)
        pipelines.clear()

    queue.defer(destroy)


def fold(groups: int) -> tuple[int, int]:
    """Return groups per row, and rows, of a grid for `groups` groups, with fewer than `rows` excess groups."""
    rows = -(-groups // GROUPS_X)
    return -(-groups // rows), rows


class VulkanProgram:
    """A kernel's pipelines, which it owns. arguments: writable buffer that the launcher packs into."""

    is_whole = False

    def __init__(
        self, api: Api, queue: Queue, memory: Memory, module: BackendModule, layout: Any, is_software: bool
    ) -> None:
        self._is_software = is_software
        self.pipelines: list[Any] = []
        self._tasks: list[tuple[Any, int, TaskSource]] = []
        self._submit: Submit | None = None
        self._queue, self._memory, self._name = queue, memory, module.kernel
        self._is_read = bool(module.interface.results)
        self.lock = queue.lock
        self._layout = layout
        self._origin: VulkanProgram | None = None
        self._find_set: Callable[[Sequence[VulkanTexture]], Any] | None = None
        self._set: Any = None
        self._textures: Sequence[VulkanTexture] = ()
        self._make_arguments(api, module.interface.args_size_bytes)
        self._functions = (
            api.lib.vkCmdPipelineBarrier,
            api.lib.vkCmdPushConstants,
            api.lib.vkCmdBindPipeline,
            api.lib.vkCmdDispatch,
        )
        self._null = api.ffi.NULL
        self._compute = api.constants.VK_SHADER_STAGE_COMPUTE_BIT
        finalize(self, _destroy, api, queue, self.pipelines).atexit = False

    def show(self, labels: Labels) -> None:
        """Record launches with labels."""
        barrier, push, _, _ = self._functions
        self._functions = (barrier, push, labels.bind, labels.dispatch)

    def watch(self, limits: LoopLimits) -> None:
        """Bind the buffer in which shaders report that the driver ended their loops."""
        barrier, push, bind, dispatch = self._functions
        self._functions = (barrier, push, bind, limits.dispatching(self._layout, dispatch))

    def take_textures(self, sets: DescriptorSets, kinds: tuple[bool, ...]) -> None:
        """Make this a program with textures, which needs `use_textures` before each `submit`."""
        self._find_set = partial(sets.get, kinds)
        self._bind_sets = self._queue.api.lib.vkCmdBindDescriptorSets

    def use_textures(self, textures: Sequence[VulkanTexture]) -> None:
        """Set the textures of the next `submit`, by binding; the caller holds `lock` until then.

        Raises: UnsupportedError if the kernel stores into a texture that does not support it.
        """
        if textures != self._textures:  # usually the same objects as in the last launch
            assert self._find_set is not None
            self._set, self._textures = self._find_set(textures), textures

    def _make_arguments(self, api: Api, size: int) -> None:
        self._block = api.ffi.new("char[]", max(size, 4) + 3)
        self.arguments = api.ffi.buffer(self._block, size)
        self._address = int(api.ffi.cast("uintptr_t", self._block))
        self._pushed: Any = self._block
        self._push_bytes = -(-size // 4) * 4
        self._indirect_bytes = 0
        if size > MAX_PUSH_BYTES:
            self._pushed = api.ffi.new("uint64_t*")
            self._push_bytes, self._indirect_bytes = POINTER_BYTES, size

    def submit_task(self, index: int, counts: Sequence[int]) -> None:
        """Start one task; see `MeasuredProgram`."""
        self.submit(only(index, counts))

    def instantiate(self) -> VulkanProgram:
        """Return the same code with its own argument block."""
        program = copy(self)
        program._origin = self  # which owns the pipelines
        program._submit = None
        program._make_arguments(self._queue.api, len(self.arguments))
        return program

    def onto(self, tape: Any) -> VulkanProgram:
        """Return the same code, recording into `tape` instead of the queue's open command buffer."""
        program = self.instantiate()
        program._queue = tape  # before the first use of `submit_held`
        return program

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._name

    @property
    def indirect_bytes(self) -> int:
        """Size of arguments that exceed the push constants, else 0."""
        return self._indirect_bytes

    def add(self, task: TaskSource, pipeline: Any) -> None:
        """Add the pipeline of the next task."""
        self.pipelines.append(pipeline)
        self._tasks.append((pipeline, self._most_groups(task), task))

    def _most_groups(self, task: TaskSource) -> int:
        """Return how many groups a row may have.

        On a GPU a grid-stride loop needs only enough groups to keep it busy. On a processor more groups cost little,
        and lavapipe ends a loop after 65,535 iterations.
        """
        if not task.strided or self._is_software:
            return GROUPS_X
        return min(GROUPS_X, STRIDED_THREADS // task.block_dim)

    def _fewer(self, task: TaskSource, most: int, groups: int) -> tuple[int, int]:
        """Return groups per row, and rows, for more than `most` groups.

        Raises: TaichiRuntimeError for an edited source that supports only one row and has no grid-stride loop.
        """
        if task.strided:
            return most, 1
        if not task.folded:
            raise TaichiRuntimeError(
                f"task {task.name} of kernel `{self._name}` needs {groups} groups; its edited source supports one row "
                f"of {GROUPS_X}",
                "number groups by gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, or let "
                "a thread run more iterations (#define ITEMS)",
            )
        return fold(groups)

    def grids(self, counts: Sequence[int]) -> list[tuple[int, int]]:
        """Return groups a row and rows of each task, as `submit` would start it; (0, 0) for no iterations."""
        found = []
        for (_, most, task), count in zip(self._tasks, counts, strict=True):
            groups = min(most, STRIDED_GROUPS) if count == -1 else -(-count // task.iterations_per_block)
            found.append(self._fewer(task, most, groups) if groups > most else (groups, 1 if groups > 0 else 0))
        return found

    def submit(self, counts: Sequence[int]) -> None:
        """Start the tasks in order with the packed arguments."""
        with self.lock:
            self.submit_held(counts)

    @property
    def submit_held(self) -> Submit:
        """The function that starts the tasks in order; its caller has held `lock` since before it packed arguments."""
        if self._submit is None:
            own = proxy(self)  # the function belongs to the program: no cycle keeps the program's memory
            store = partial(VulkanProgram._store_arguments, own) if self._indirect_bytes else None
            arguments = PushedArguments(self._layout, self._push_bytes, self._pushed, store)
            tasks = [
                TaskPipeline(task, pipeline, most, partial(VulkanProgram._fewer, own, task, most))
                for pipeline, most, task in self._tasks
            ]
            bind = partial(VulkanProgram._bind_textures, own) if self._find_set is not None else None
            self._submit = make_submitter(
                self._queue,
                self._name,
                self._functions,
                arguments,
                tasks,
                bind,
                self._null,
                self._is_read,
                self._repeats(),
            )
        return self._submit

    def _repeats(self) -> Repeats | None:
        """Return what starts launches that repeat; None where they depend on more than their key."""
        queue = self._queue
        if not isinstance(queue, Queue) or not queue.repeats or self._indirect_bytes or self._find_set is not None:
            return None
        own = ref(self)  # which lives as long as its submitter is called

        def onto(page: Page) -> VulkanProgram:
            program = own()
            assert program is not None
            return program.onto(page)

        return Repeats(queue, self._name, self.arguments, onto)

    def _bind_textures(self, commands: Any) -> None:
        if self._set is not None:
            self._bind_sets(commands, 1, self._layout, 0, 1, self._set, 0, self._null)

    def _store_arguments(self) -> None:
        """Append the arguments to those of earlier launches in the open batch, and push their address."""
        queue, size = self._queue, self._indirect_bytes
        slot = queue.slot
        assert slot is not None
        if slot.arguments_used and slot.arguments_used + size > slot.arguments.size_bytes:
            queue.flush()
            queue.begin()
            slot = queue.slot
            assert slot is not None
        if slot.arguments is None or size > slot.arguments.size_bytes:
            if slot.arguments is not None:
                self._memory.destroy_block(slot.arguments)
            slot.arguments = None
            slot.arguments = self._memory.make_argument_block(max(ARGUMENT_BLOCK_BYTES, size))
        offset = slot.arguments_used
        ctypes.memmove(slot.arguments.pointer + offset, self._address, size)
        slot.arguments_used = -(-(offset + size) // ARGUMENT_ALIGNMENT) * ARGUMENT_ALIGNMENT
        self._pushed[0] = slot.arguments.address + offset
