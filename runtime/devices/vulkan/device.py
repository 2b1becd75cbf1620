"""The Vulkan device: opens a driver and implements the protocol of `device.py` by instance, memory, programs and queue.

`open_device` loads the Vulkan loader and the driver; the import does not. A device whose driver is still at work in
another thread (`opening`) waits for it at its first use: an H200's needs 70 ms after its name and features are known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import TaichiRuntimeError
from ...loading import loader
from ...locks import new_lock
from ...store.compiler_files import find_program
from ...store.store import Store
from ..device import Allocation, Launch
from ..forks import HINT, REASON, inherited, note_use
from ..textures import TextureMemory, TextureSpec
from ..timer import Timer
from .capabilities import read_capabilities
from .glslang import INSTALL_HINT, LINES_AND_SOURCE, WHOLE_SOURCE, Glslang, find_tool, run_tool
from .images import Images, VulkanTexture
from .instance import (
    NON_SEMANTIC,
    STATISTICS,
    Adapter,
    Api,
    Instance,
    choose_adapter,
    layer_names,
    load_api,
    resident_instance,
    version_text,
)
from .labels import Labels
from .memory import Memory, VulkanAllocation, local_bytes
from .opening import destroy, forget, is_being_opened, logical_device
from .program import Builder, VulkanProgram
from .queue import CLOSED, Queue
from .recording import VulkanRecording
from .timer import make_timer

if TYPE_CHECKING:
    from typing import Protocol

    from .lavapipe.faults import ShaderFaults
    from .lavapipe.limits import LoopLimits

    class _FaultsModule(Protocol):
        def ShaderFaults(self, store: Store | None) -> ShaderFaults: ...  # noqa: N802

    class _LimitsModule(Protocol):
        def LoopLimits(self, api: Api, device: Any, prepare: Callable[[], None]) -> LoopLimits: ...  # noqa: N802


_faults: Callable[[], _FaultsModule] = loader(".lavapipe.faults", __package__)
_limits: Callable[[], _LimitsModule] = loader(".lavapipe.limits", __package__)

DRIVER_FOLDERS = ("/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d")


class _Parts(NamedTuple):
    """What a device works with. handle: the logical device."""

    handle: Any
    queue: Queue
    memory: Memory
    images: Images
    builder: Builder


class VulkanDevice:
    """A Vulkan device for a session.

    is_software: whether the processor does the work, so that `ti.gpu` can prefer hardware.
    messages: of the validation layer, also those during `close`.
    """

    name = "vulkan"
    index_limit = 2**31 - 1
    cuda_memory = False
    survives_fork = False
    lazy_memory = False

    def __init__(
        self,
        api: Api,
        instance: Instance,
        adapter: Adapter,
        force_staging: bool,
        sources: Path | None = None,
        store: Store | None = None,
        optimize: bool = False,
        task_graphs: bool = True,
        opens_later: bool = False,
    ) -> None:
        """opens_later: at the first use, since a thread is opening it; see `opening`."""
        self._api, self._instance = api, instance
        self.store = store
        self.adapter = adapter
        self.is_software = adapter.is_software
        self.messages = instance.messages
        self.capabilities = read_capabilities(adapter)
        self._is_closed = False
        self.copies_to_host = self.copies_to_device = 0
        self._force_staging, self._sources, self._task_graphs = force_staging, sources, task_graphs
        self._process, self._opening = os.getpid(), new_lock()
        self._made: _Parts | None = None
        self._closing = ExitStack()
        self._closing.callback(instance.close)
        flags = _debug_flags(adapter) if sources else ()
        self._glslang = Glslang(validate=instance.validation, flags=flags, optimize=optimize)
        self._closing.callback(self._glslang.close)
        if not opens_later:
            try:
                self._open()
            except BaseException:
                self._closing.close()
                raise

    def _open(self) -> _Parts:
        """Return the parts, made now if this is the first use. Raises: TaichiRuntimeError if the driver refuses."""
        with self._opening:
            if self._made is None:
                if self._is_closed:
                    raise TaichiRuntimeError(CLOSED)
                if os.getpid() != self._process:
                    raise TaichiRuntimeError(REASON.format(api="Vulkan"), HINT)
                self._made = self._make()
            return self._made

    def _make(self) -> _Parts:
        """Make the parts, and register how to destroy each, in reverse order."""
        api, adapter, closing = self._api, self.adapter, self._closing
        made = logical_device(api, adapter)
        closing.callback(destroy, api, adapter, made)
        handle, raw_queue = made
        queue = Queue(api, adapter, handle, raw_queue)
        closing.callback(queue.close)
        queue.repeats = self._task_graphs and not self._instance.names  # which are for each command
        memory = Memory(api, adapter, handle, queue, self._force_staging)
        closing.callback(memory.close)
        images = Images(api, adapter, handle, queue, memory)
        closing.callback(images.close)
        labels = Labels(api, self._instance.handle, handle) if self._instance.names else None
        limits = self._loop_limits(handle, queue, memory) if adapter.is_llvmpipe else None
        builder = Builder(
            api, adapter, handle, queue, memory, self._glslang, images.sets, labels, self._sources, limits
        )
        closing.callback(builder.close)
        return _Parts(handle, queue, memory, images, builder)

    @cached_property
    def _handle(self) -> Any:
        return self._open().handle

    @cached_property
    def _queue(self) -> Queue:
        return self._open().queue

    @cached_property
    def _memory(self) -> Memory:
        return self._open().memory

    @cached_property
    def _images(self) -> Images:
        return self._open().images

    @cached_property
    def _builder(self) -> Builder:
        return self._open().builder

    @cached_property
    def host_memory(self) -> bool:
        """Whether the host reads and writes the memory directly."""
        return self._memory.addresses_are_host_pointers()

    def prepare_compiler(self) -> None:
        """Start the compiler while Python makes a source for it."""
        self._glslang.prepare()

    def _loop_limits(self, handle: Any, queue: Queue, memory: Memory) -> LoopLimits:
        faults = _faults().ShaderFaults(self.store)
        limits = _limits().LoopLimits(self._api, handle, faults.prepare)
        self._closing.callback(limits.close)
        limits.open(memory)

        def check() -> None:
            faults.check(tuple(reversed(queue.recent)))
            limits.check()

        queue.check = check
        return limits

    def allocate(self, size_bytes: int, lazily: bool = False) -> VulkanAllocation:
        """Return zeroed memory. Raises: OutOfMemory naming the bytes requested, used and available."""
        return self._memory.allocate(size_bytes)

    def allocate_result(self, size_bytes: int) -> VulkanAllocation:
        """Return zeroed memory of the host, in which kernels store what `read_result` returns. Raises: OutOfMemory."""
        return self._memory.allocate_result(size_bytes)

    def read_result(self, allocation: Allocation, size_bytes: int) -> bytes:
        """Return what all launches so far have stored, once they have ended."""
        return self._memory.read_result(_vulkan_allocation(allocation), size_bytes)

    def lazy_bytes(self) -> int:
        """Return 0: memory is committed when it is allocated."""
        return 0

    @property
    def index(self) -> int:
        """Its number in the driver's list."""
        return self.adapter.number

    @property
    def title(self) -> str:
        """Its name."""
        return self.adapter.name

    @property
    def driver(self) -> str:
        """Name and version of its driver."""
        return self.adapter.driver

    @property
    def used_bytes(self) -> int:
        """Total size of all live allocations, as requested [bytes]."""
        return self._memory.lent_bytes

    def free(self, allocation: Allocation) -> None:
        """Free memory once the launches that use it have ended. Any thread and any finalizer may call it."""
        self._memory.free(_vulkan_allocation(allocation))

    def read(self, allocation: Allocation, destination: memoryview, offset_bytes: int = 0) -> None:
        """Copy device memory to the host after all earlier launches; `destination` is contiguous bytes."""
        self.copies_to_host += 1
        self._memory.read(_vulkan_allocation(allocation), destination, offset_bytes)

    def write(self, allocation: Allocation, source: memoryview, offset_bytes: int = 0) -> None:
        """Copy host bytes to the device after all earlier launches; `source` may be reused on return."""
        self.copies_to_device += 1
        self._memory.write(_vulkan_allocation(allocation), source, offset_bytes)

    def copy(self, source: Allocation, destination: Allocation, size_bytes: int) -> None:
        """Copy within the device, in order with launches."""
        self._memory.copy(_vulkan_allocation(source), _vulkan_allocation(destination), size_bytes)

    def fill(self, allocation: Allocation, pattern: bytes) -> None:
        """Repeat `pattern` (1, 2, 4 or 8 bytes) over the memory, in order with launches."""
        self._memory.fill(_vulkan_allocation(allocation), pattern)

    def make_texture(self, spec: TextureSpec) -> VulkanTexture:
        """Make a texture of zeros. Raises: UnsupportedError naming format or extent; OutOfMemory."""
        return self._images.make(spec)

    def free_texture(self, texture: TextureMemory) -> None:
        """Free a texture once the launches that use it have ended. Any thread and any finalizer may call it."""
        self._images.free(_vulkan_texture(texture))

    def copy_to_texture(self, source: Allocation, texture: TextureMemory) -> None:
        """Set all texels from an allocation of packed texels, in order with launches."""
        self._images.copy_in(_vulkan_allocation(source), _vulkan_texture(texture))

    def copy_from_texture(self, texture: TextureMemory, destination: Allocation) -> None:
        """Copy all texels into an allocation, packed, in order with launches."""
        self._images.copy_out(_vulkan_texture(texture), _vulkan_allocation(destination))

    def share(self, allocation: Allocation) -> object:
        """Return an object that keeps the bytes valid; it also keeps a closed device from being destroyed."""
        return self._memory.lend(_vulkan_allocation(allocation))

    def build(self, module: BackendModule, keep: bool = True) -> VulkanProgram:
        """Compile the module's files. Raises: TaichiCompilationError with the emitted line and the Python line."""
        self._queue.require()
        self._queue.collect()
        return self._builder.build(module, self.store if keep else None)

    def load(self, module: BackendModule, codes: Sequence[bytes]) -> VulkanProgram:
        """Make a program from SPIR-V. The caller has validated it, since damaged SPIR-V crashes drivers."""
        self._queue.require()
        self._queue.collect()
        return self._builder.build(module, binaries=codes)

    def statistics(self, module: BackendModule) -> dict[str, Any]:
        """Return the driver's statistics of the tasks of a module: "device", "tasks", and a "reason" if there are none.

        Raises: TaichiCompilationError for a source with errors.
        """
        title = f"{self.adapter.name} ({self.adapter.driver})"
        if "pipelineExecutableInfo" not in self.adapter.features:
            return {"device": title, "tasks": {}, "reason": f"its driver does not report them (it lacks {STATISTICS})"}
        self._queue.require()
        return {"device": title, "tasks": self._builder.statistics(module), "reason": ""}

    def record(self, launches: Sequence[Launch]) -> VulkanRecording:
        """Prepare launches to be submitted together."""
        return VulkanRecording(self._queue, self._memory, launches)

    def synchronize(self) -> None:
        """Wait for all launches. Raises: TaichiRuntimeError if one failed."""
        self._queue.synchronize()

    def timer(self) -> Timer:
        """Return a timer of launches by the device's clock."""
        return make_timer(self._api, self.adapter, self._handle, self._queue)

    @property
    def ends_loops(self) -> bool:
        """Whether the driver ends all loops, so that each launch ends."""
        return bool(self.adapter.is_llvmpipe)

    def finish_within(self, seconds: float, stream: int | None = None) -> bool:
        """Wait for all launches, at most for some seconds; return whether they have ended."""
        return self._queue.finish_within(seconds)

    def refuse(self, reason: str) -> None:
        """Refuse later use, for a reason, without waiting for launches."""
        self._queue.refuse(reason)

    def close(self) -> None:
        """Free everything; the device cannot be used afterwards. A forked child leaves its parent's device alone."""
        if self._is_closed or os.getpid() != self._process:
            return
        with self._opening:
            self._is_closed = is_unused = self._made is None
        if is_unused:
            forget()
            self._closing.close()
            return
        if self._memory.leases:
            self._queue.synchronize()
            self._memory.when_unused = self.close
            return
        self._is_closed = True
        with self._closing:
            self._queue.finish()


def _debug_flags(adapter: Adapter) -> tuple[str, ...]:
    """Return glslang's flags for debug information that the device supports."""
    return (WHOLE_SOURCE,) if NON_SEMANTIC in adapter.extensions else LINES_AND_SOURCE


def _vulkan_allocation(allocation: Allocation) -> VulkanAllocation:
    assert isinstance(allocation, VulkanAllocation)
    return allocation


def _vulkan_texture(texture: TextureMemory) -> VulkanTexture:
    assert isinstance(texture, VulkanTexture)
    return texture


def open_device(
    preference: int | str | None = None,
    validation: bool | None = None,
    allow_software: bool = True,
    force_staging: bool = False,
    api: Api | None = None,
    sources: Path | None = None,
    store: Store | None = None,
    optimize: bool = False,
    task_graphs: bool = True,
    opens_later: bool = False,
) -> VulkanDevice:
    """Open a Vulkan device: discrete before integrated before software, unless one is named.

    preference: number or part of the name; also set by SHADESMITH_DEVICE or TI_VISIBLE_DEVICE.
    validation: use the validation layer; also set by SHADESMITH_VALIDATION=1.
    force_staging: treat memory as if the host could not access it.
    api: functions that replace the installed ones.
    sources: folder of the sources; then SPIR-V includes its source, and pipelines and dispatches have names.
    store: caches compiled kernels.
    optimize: run spirv-opt.
    task_graphs: whether launches that repeat are recorded for later ones (`repeats.py`).
    opens_later: if a thread is opening the device, do not wait for it; see `VulkanDevice`.
    Raises: TaichiRuntimeError naming what is missing and how to install it.
    """
    resident = None
    if api is None:
        api = load_api()
        resident = resident_instance(api)
    if validation is None:
        validation = os.environ.get("SHADESMITH_VALIDATION", "0") not in ("", "0")
    if resident is None or validation or sources is not None:
        instance = Instance(api, validation, names=sources is not None)
    else:
        instance = resident.borrowed()
    try:
        adapter = choose_adapter(instance.adapters(), preference, allow_software)
    except BaseException:
        instance.close()
        raise
    opens_later = opens_later and instance.is_borrowed and is_being_opened(adapter)
    try:
        device = VulkanDevice(api, instance, adapter, force_staging, sources, store, optimize, task_graphs, opens_later)
    except TaichiRuntimeError as error:
        reason = inherited("Vulkan")
        if reason is None:
            raise
        raise TaichiRuntimeError(f"{error}: {reason}", HINT) from error
    note_use("Vulkan")
    return device


def list_devices() -> list[tuple[str, int | None]]:
    """Return the names of the devices that run kernels, at their numbers, with their memory [bytes]; () without Vulkan.

    A device that is too old or lacks a feature has the name "".
    """
    try:
        api = load_api()
        resident = resident_instance(api)
        instance = resident or Instance(api, validation=False)
    except TaichiRuntimeError:
        return []
    adapters = {adapter.number: adapter for adapter in instance.adapters() if not adapter.lacks()}
    found: list[tuple[str, int | None]] = [("", None)] * (max(adapters, default=-1) + 1)
    for index, adapter in adapters.items():
        found[index] = adapter.name, local_bytes(api, adapter.handle)
    if resident is None:
        instance.close()
    return found


def diagnose() -> list[str]:
    """Return lines about loader, layers, drivers, devices and tools: what is installed, and how to install the rest."""
    lines = []
    try:
        api = load_api()
        lines += _diagnose_loader(api)
        instance = Instance(api, validation=False)
    except TaichiRuntimeError as error:
        lines.append(f"Vulkan: {error}")
    else:
        adapters = instance.adapters()
        lines += [f"device {adapter.describe()}" for adapter in adapters]
        lines += [
            f"device {adapter.number} lacks {', '.join(adapter.lacks())}" for adapter in adapters if adapter.lacks()
        ]
        if not adapters:
            lines.append("no Vulkan 1.2 device: apt-get install mesa-vulkan-drivers")
        instance.close()
    lines.append(_diagnose_tool("glslangValidator", find_tool(), INSTALL_HINT))
    lines.append(_diagnose_tool("spirv-val", find_program("spirv-val"), "apt-get install spirv-tools"))
    return lines


def _diagnose_loader(api: Api) -> list[str]:
    version = api.ffi.new("uint32_t*")
    api.lib.vkEnumerateInstanceVersion(version)
    named = os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES")
    files = (
        named.split(os.pathsep) if named else [str(p) for f in DRIVER_FOLDERS for p in sorted(Path(f).glob("*.json"))]
    )
    return [
        f"Vulkan loader {version_text(version[0])}",
        "driver files: " + (", ".join(files) or "none"),
        "layers: " + (", ".join(layer_names(api)) or "none"),
    ]


def _diagnose_tool(name: str, path: str | None, hint: str) -> str:
    if path is None:
        return f"{name}: not found; {hint}"
    try:
        _, output, _ = run_tool([path, "--version"], b"", 10.0)
    except (OSError, TimeoutError, OverflowError) as error:
        return f"{name}: {path} does not run ({type(error).__name__})"
    first = output.decode(errors="replace").splitlines()
    return f"{name}: {path} ({first[0] if first else 'no version'})"
