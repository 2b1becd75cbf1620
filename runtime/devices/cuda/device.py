"""The CUDA target: kernels compiled by NVRTC, launched by CuPy's bindings on CuPy's current stream.

In: modules of target "cuda". Out: programs whose `submit` starts the tasks and does not wait. Each call uses the stream
that is current in CuPy then, so that kernels are ordered with CuPy's own operations; once a second stream has been
used, reads and writes wait for all streams.

Opening a device imports CuPy's bindings of CUDA, and not `cupy` (`driver_objects.py` says why). Memory is from CuPy's
pool once something has imported that.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...locks import new_lock
from ...store.store import Store
from ..device import Launch, OutOfMemory, format_size
from ..forks import HINT, inherited, note_use
from ..stored_sources import store_sources
from ..textures import TextureMemory, TextureSpec
from .capabilities import PORTABLE
from .driver_objects import MANY_RETURNED, Block, CudaEvent, LoadedCode, blocks_of, current_stream_of, load_bindings
from .fills import WORDS, fill_words
from .graph import CudaGraph
from .limited_waits import finish_within, refuse
from .nvrtc import LINES, compile_cubin, warm_up
from .opening import DRIVER, Gpu, begin
from .program import CudaProgram
from .several_gpus import OPENED, activate, all_on_own_gpu, copy_between, enter_gpu, list_devices
from .streams import Backlog, elapsed_ms, make_event, make_stream, on_stream, record_event, wait_event
from .textures import CudaTexture, copy_in, copy_out, make_texture
from .timer import CudaTimer

PATTERN_BYTES = 1 << 20
"""Size that `fill` copies from the host; the rest is doubled on the device."""

RECENT_KERNELS = 8
"""Number of kernels that an error lists: CUDA reports faults late, and without the kernel."""

FAULTS = ("IllegalAddress", "ILLEGAL_ADDRESS", "Misaligned", "MISALIGNED", "LaunchFailure", "LAUNCH_FAILED")
"""Parts of the runtime's and the driver's names of errors by invalid accesses."""

INSTALL_HINT = (
    "Install CuPy with `pip install 'shadesmith[cuda]'`; the driver comes from NVIDIA. `python -m shadesmith diagnose` "
    "shows what is there."
)

OUT_OF_MEMORY = 2
"""`cudaErrorMemoryAllocation`."""

INVALID_CONTEXT = 201
"""`CUDA_ERROR_INVALID_CONTEXT`: a new thread has no context until it calls the runtime's API."""

STACK_SIZE = 0
"""`cudaLimitStackSize`, a limit of a device."""

RECURSION_STACK_BYTES = 16 << 10
"""Stack of a thread if a loaded kernel is recursive, for some hundred calls; CUDA's default of 1 KiB allows a dozen.
The driver reserves it for all threads that the GPU runs at once: 4 GiB on an H200, 0.7 GiB on a small GPU."""


def available() -> bool:
    """Return whether a CUDA device can be opened: a driver with a GPU, and CuPy. Fast if there is no driver."""
    try:
        driver = ctypes.CDLL(DRIVER)
    except OSError:
        return False
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return False
    return count.value > 0 and importlib.util.find_spec("cupy_backends") is not None


class CudaAllocation:
    """Zeroed memory of CuPy's pool. pointer: CuPy's owner of the memory; None after `free`."""

    __slots__ = ("address", "pointer", "size_bytes")

    def __init__(self, pointer: Any, size_bytes: int) -> None:
        self.pointer = pointer
        self.address: int = pointer.ptr
        self.size_bytes = size_bytes


@all_on_own_gpu(
    (
        "allocate",
        "allocate_pinned",
        "allocate_result",
        "build",
        "close",
        "copy",
        "copy_from_texture",
        "copy_to_texture",
        "fill",
        "let_wait",
        "load",
        "make_event",
        "make_stream",
        "make_texture",
        "read",
        "read_result",
        "record",
        "share",
        "synchronize",
        "timer",
        "view",
        "write",
    )
)
class CudaDevice:
    """One GPU, by CuPy. sources: folder of the sources that debug information refers to."""

    name = "cuda"
    host_memory = False
    index_limit = None
    cuda_memory = True
    finish_within, refuse = finish_within, refuse
    elapsed_ms, make_event, make_stream, on_stream, record_event, wait_event = (
        elapsed_ms, make_event, make_stream, on_stream, record_event, wait_event,
    )  # fmt: skip
    survives_fork = False
    lazy_memory = False

    def __init__(
        self,
        runtime: Any,
        driver: Any,
        index: int,
        gpu: Gpu,
        sources: Path | None = None,
        store: Store | None = None,
        task_graphs: bool = True,
    ) -> None:
        self.sources, self.store = sources, store
        self.runtime, self._driver = runtime, driver
        self.launch_kernel = driver.launchKernel
        self.launch_graph: Callable[[int, int], None] | None = getattr(self.runtime, "graphLaunch", None)
        self.task_graphs = task_graphs and self.launch_graph is not None
        self.is_capturing: Callable[[int], bool] = self.runtime.streamIsCapturing
        self.driver_error: Callable[[int], Exception] = driver.CUDADriverError
        self.current_stream: Callable[[], Any] = current_stream_of(index)
        self._blocks, self._host_blocks = blocks_of(index), blocks_of("host")
        self.failure: tuple[type[Exception], ...] = (driver.CUDADriverError, self.runtime.CUDARuntimeError)
        self.index = index
        OPENED.add(index)
        self.lock = new_lock()
        self.recent: deque[str] = deque(maxlen=RECENT_KERNELS)
        self.graphs: WeakSet[Any] = WeakSet()
        self.backlog = Backlog(self.runtime, self.failure)
        self.stream: int = self.current_stream().ptr
        self.several_streams = False
        self.is_given = False
        self._last_stream = self.current_stream()
        self.used_bytes = 0
        self._waiting: list[Any] = []
        self._pinned: set[int] = set()
        self._thread = threading.local()
        self._context: Callable[[], int] = driver.ctxGetCurrent
        self.copies_to_host = self.copies_to_device = 0
        self.title, self.arch, self.resident_threads, self.driver = gpu
        extra = (("device", self.title), ("arch", self.arch))
        self.capabilities = replace(PORTABLE, extra=extra)

    @property
    def cupy(self) -> Any:
        """The package, imported now if it has not been."""
        import cupy

        return cupy

    def activate(self) -> Callable[[], None]:
        """Make this GPU the current one of the thread; return what makes the one before current again."""
        return activate(self)

    def receive(
        self, other: Any, source: CudaAllocation, start: int, destination: CudaAllocation, to: int, size_bytes: int
    ) -> bool:
        """Copy from another device's memory without the host, if it is a GPU too; return whether it is.

        start, to: offsets of the bytes in their allocations.
        """
        if not isinstance(other, CudaDevice):
            return False
        copy_between(other, source.address + start, self, destination.address + to, size_bytes)
        return True

    def enter_thread(self, error: Exception) -> bool:
        """Set this thread's context to the GPU's, if the error is that it has none; then no task has started."""
        if getattr(error, "status", None) != INVALID_CONTEXT:
            return False
        self.runtime.setDevice(self.index)
        self.runtime.free(0)
        return True

    def enter(self) -> None:
        """Set this thread's context to the GPU's, if it has none; checked once per thread."""
        if not getattr(self._thread, "has_context", False):
            if not self._context():
                self.runtime.setDevice(self.index)
                self.runtime.free(0)
            self._thread.has_context = True

    def note_stream(self, stream: int, is_given: bool = False) -> None:
        """Record that work is on more than one stream.

        is_given: it is an argument's stream (torch's), not CuPy's current one. A program that changes CuPy's stream
        orders the work on both; a change to torch's stream or back is not visible in a program, so it is ordered here.
        """
        if is_given or self.is_given:
            self.let_wait(stream, self.stream)
        self.stream, self.several_streams, self.is_given = stream, True, is_given
        self._last_stream = self.current_stream()  # keeps the handle valid for later waits

    def let_wait(self, stream: int, other: int) -> None:
        """Let later work on `stream` wait for the work on `other`, on the GPU."""
        if stream == other:
            return
        try:
            if self.runtime.streamIsCapturing(stream):  # a captured graph must not wait for work outside it
                return
            event = CudaEvent(self.runtime)
            self.runtime.eventRecord(event.ptr, other)
            self.runtime.streamWaitEvent(stream, event.ptr)
        except self.failure as error:
            raise self.describe(error) from error

    def join_stream(self, other: int, stream: int | None) -> Callable[[], None]:
        """Let later launches wait for the work on the stream `other`; see `GpuDevice`."""
        own: int = self.current_stream().ptr if stream is None else stream
        self.let_wait(own, other)
        return lambda: self.let_wait(other, own)

    def torch_stream(self) -> Callable[[], int]:
        """Return a function that returns torch's current stream on this GPU; every launch calls it."""
        torch: Any = sys.modules["torch"]  # loaded, since a tensor was given
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # ten times as fast as the documented function
        if raw is not None:
            return functools.partial(raw, self.index)
        return lambda: torch.cuda.current_stream(self.index).cuda_stream

    def _order(self) -> int:
        """Return the current stream, after all work on other streams has ended."""
        stream: int = self.current_stream().ptr
        if stream != self.stream:
            self.note_stream(stream)
        if self.several_streams:
            self.synchronize()
        return stream

    def allocate(self, size_bytes: int, lazily: bool = False) -> CudaAllocation:
        """Return zeroed memory. Raises: OutOfMemory naming the bytes requested, used and available."""
        if self._waiting:
            self.synchronize()
        try:
            pointer = self._take(max(1, size_bytes))
            self.runtime.memsetAsync(pointer.ptr, 0, max(1, size_bytes), self._order())
        except self.failure as error:
            raise self.describe(error) from error
        self.used_bytes += size_bytes
        return CudaAllocation(pointer, size_bytes)

    def allocate_pinned(self, size_bytes: int) -> CudaAllocation:
        """Return zeroed, page-locked memory of the host, which kernels use in place. Raises: OutOfMemory."""
        runtime = self.runtime
        try:
            pointer = self._host_blocks.take(size_bytes, lambda size: runtime.hostAlloc(size, 0), runtime.freeHost)
        except self.failure as error:
            raise OutOfMemory("the host (page-locked)", size_bytes, self.used_bytes, None, str(error)) from error
        ctypes.memset(pointer.ptr, 0, max(1, size_bytes))
        self.used_bytes += size_bytes
        self._pinned.add(pointer.ptr)
        return CudaAllocation(pointer, size_bytes)

    def allocate_result(self, size_bytes: int) -> CudaAllocation:
        """Return zeroed memory of the host, in which kernels store what `read_result` returns. Raises: OutOfMemory."""
        return self.allocate_pinned(size_bytes)

    def read_result(self, allocation: CudaAllocation, size_bytes: int) -> bytes:
        """Return what kernels have stored on the current stream. Raises: TaichiRuntimeError if a launch failed."""
        try:
            self.runtime.streamSynchronize(self._order())
        except self.failure as error:
            raise self.describe(error) from error
        return ctypes.string_at(allocation.address, size_bytes)

    def lazy_bytes(self) -> int:
        """Return 0: memory is committed when it is allocated."""
        return 0

    def _take(self, size_bytes: int) -> Any:
        """Allocate memory; if that fails, free what is idle and try again."""
        uses_pool = "cupy" in sys.modules or self._blocks.returned >= MANY_RETURNED
        take = self._take_of_pool if uses_pool else self._take_block
        if uses_pool:
            self._blocks.release(self.runtime.free)  # the pool cannot use them
        try:
            return take(size_bytes)
        except MemoryError:
            self.synchronize()
            self._blocks.release(self.runtime.free)
            if uses_pool:
                self.cupy.get_default_memory_pool().free_all_blocks()
        try:
            return take(size_bytes)
        except MemoryError as error:
            free, total = self.runtime.memGetInfo()
            reason = f"the GPU has {format_size(total)}, shared with all that use it"
            raise OutOfMemory(f"GPU {self.index}", size_bytes, self.used_bytes, free, reason) from error

    def _take_of_pool(self, size_bytes: int) -> Any:
        return self.cupy.cuda.alloc(size_bytes)

    def _take_block(self, size_bytes: int) -> Block:
        self.enter()
        try:
            return self._blocks.take(size_bytes, self.runtime.malloc, self.runtime.free)
        except self.runtime.CUDARuntimeError as error:
            if error.status == OUT_OF_MEMORY:
                raise MemoryError from error
            raise

    def free(self, allocation: CudaAllocation) -> None:
        """Let memory be reused: its next use on the stream is ordered after all launches so far.

        After work on several streams, it is returned by the next allocation or `synchronize`.
        """
        is_pinned = allocation.address in self._pinned
        if self.several_streams or is_pinned:  # the pool does not order launches on other streams, or of the host
            self._waiting.append(allocation.pointer)
        self._pinned.discard(allocation.address)
        self.used_bytes -= allocation.size_bytes
        allocation.pointer = None
        allocation.address = allocation.size_bytes = 0

    def read(self, allocation: CudaAllocation, destination: memoryview, offset_bytes: int = 0) -> None:
        """Copy to the host and wait. Raises: TaichiRuntimeError if an earlier launch failed."""
        self.copies_to_host += 1
        address = _host_address(destination)
        self._copy(address, allocation.address + offset_bytes, destination.nbytes, self.runtime.memcpyDeviceToHost)

    def write(self, allocation: CudaAllocation, source: memoryview, offset_bytes: int = 0) -> None:
        """Copy from the host and wait, since otherwise a pinned source would be read later."""
        self.copies_to_device += 1
        address = _host_address(source)
        self._copy(allocation.address + offset_bytes, address, source.nbytes, self.runtime.memcpyHostToDevice)

    def _copy(self, destination: int, source: int, size_bytes: int, kind: int, wait: bool = True) -> None:
        if size_bytes == 0:
            return
        try:
            stream = self._order()
            self.runtime.memcpyAsync(destination, source, size_bytes, kind, stream)
            if wait:
                self.runtime.streamSynchronize(stream)
        except self.failure as error:
            raise self.describe(error) from error

    def copy(self, source: CudaAllocation, destination: CudaAllocation, size_bytes: int) -> None:
        """Copy within the GPU, without waiting."""
        self._copy(destination.address, source.address, size_bytes, self.runtime.memcpyDeviceToDevice, wait=False)

    def fill(self, allocation: CudaAllocation, pattern: bytes) -> None:
        """Repeat `pattern`: one memset of bytes or words, else a copied piece that is doubled in place."""
        size_bytes = allocation.size_bytes
        if len(set(pattern)) == 1:
            try:
                self.runtime.memsetAsync(allocation.address, pattern[0], size_bytes, self._order())
            except self.failure as error:
                raise self.describe(error) from error
            return
        if len(pattern) in WORDS and size_bytes % len(pattern) == 0:  # a copy would wait for all work so far
            stream = self._order()
            self.enter()
            code = fill_words(allocation.address, pattern, size_bytes, stream)
            if code:
                refused = self.driver_error(code)
                raise self.describe(refused) from refused
            return
        done = min(size_bytes, PATTERN_BYTES)
        self.write(allocation, memoryview(pattern * (done // len(pattern))))
        while done < size_bytes:
            piece = min(done, size_bytes - done)
            self._copy(
                allocation.address + done, allocation.address, piece, self.runtime.memcpyDeviceToDevice, wait=False
            )
            done += piece

    def make_texture(self, spec: TextureSpec) -> CudaTexture:
        """Make a texture of zeros. Raises: UnsupportedError naming the format or extent; OutOfMemory."""
        if self._waiting:
            self.synchronize()
        texture = make_texture(self, spec)
        self.used_bytes += spec.size_bytes
        return texture

    def free_texture(self, texture: TextureMemory) -> None:
        """Free a texture at the next allocation or `synchronize`, when launches that use it have ended."""
        assert isinstance(texture, CudaTexture)
        self.used_bytes -= texture.spec.size_bytes
        self._waiting.append(texture.release())

    def copy_to_texture(self, source: CudaAllocation, texture: TextureMemory) -> None:
        """Set all texels from an allocation of packed texels, in order with launches."""
        assert isinstance(texture, CudaTexture)
        copy_in(self, source, texture)

    def copy_from_texture(self, texture: TextureMemory, destination: CudaAllocation) -> None:
        """Copy all texels into an allocation, packed, in order with launches."""
        assert isinstance(texture, CudaTexture)
        copy_out(self, texture, destination)

    def ordered_stream(self) -> int:
        """Return CuPy's current stream, after all work on other streams has ended."""
        return self._order()

    def share(self, allocation: CudaAllocation) -> Any:
        """Return an object that keeps the bytes valid: they are reused after the last reference."""
        if self.several_streams:  # external users order at most one stream
            self.synchronize()
        return allocation.pointer

    def view(
        self,
        allocation: CudaAllocation,
        offset_bytes: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: Any,
    ) -> Any:
        """Return a CuPy array over part of an allocation; see `GpuDevice`."""
        pointer = self.share(allocation)
        if isinstance(pointer, Block):  # CuPy's arrays take memory of its pool, or memory that they do not own
            owner = self.cupy.cuda.UnownedMemory(allocation.address, allocation.size_bytes, pointer, self.index)
            pointer = self.cupy.cuda.MemoryPointer(owner, 0)
        return self.cupy.ndarray(shape, dtype, memptr=pointer + offset_bytes, strides=strides)

    def build(self, module: BackendModule, keep: bool = True) -> CudaProgram:
        """Compile the module's one file for this GPU and load it.

        Raises: TaichiCompilationError if NVRTC refuses it, TaichiRuntimeError if the GPU does.
        """
        if not module.files:  # a kernel without effect
            return CudaProgram(self, module, None, "")
        file = module.files[0]
        stored = None if self.sources is None else store_sources(module, self.sources)[file.name]
        fast_math = bool(module.options.get("fast_math", True))
        name, options = (file.name, ()) if stored is None else (str(stored), LINES)
        cubin, log = compile_cubin(
            file.text, self.arch, fast_math, name, file.lines, options, self.store if keep else None
        )
        return self._program(module, cubin, log)

    def prepare_compiler(self) -> None:
        """Start the compiler while Python makes a source for it."""
        warm_up(self.arch)

    def load(self, module: BackendModule, codes: Sequence[bytes]) -> CudaProgram:
        """Make a program from a cubin, or from PTX, which the driver compiles. Raises: as `build`."""
        if not codes:
            return CudaProgram(self, module, None, "")
        return self._program(module, codes[0] + b"\0", "")  # PTX is a null-terminated string

    def _program(self, module: BackendModule, code: bytes, log: str) -> CudaProgram:
        """Load code for the GPU. Raises: TaichiRuntimeError if the GPU refuses it, TaichiCompilationError."""
        try:
            if module.options.get("recursive") and self.runtime.deviceGetLimit(STACK_SIZE) < RECURSION_STACK_BYTES:
                self.runtime.deviceSetLimit(STACK_SIZE, RECURSION_STACK_BYTES)
            loaded = self.load_code(code)
        except self.failure as error:
            raise self.describe(error) from error
        try:
            return CudaProgram(self, module, loaded, log)
        except self.failure as error:  # an entry point is missing, which only an edited source can cause
            raise TaichiCompilationError(
                f"{module.files[0].name} lacks a kernel the launcher starts: {error}."
            ) from error

    def load_code(self, code: bytes) -> LoadedCode:
        """Load a cubin, or PTX that ends with a zero. Raises: the driver's error if the GPU refuses it."""
        return LoadedCode(self._driver, code, self.enter)

    def record(self, launches: Sequence[Launch]) -> CudaGraph:
        """Prepare launches as one CUDA graph."""
        return CudaGraph(self, launches)

    def timer(self) -> CudaTimer:
        """Return a timer of launches on CuPy's current stream, by the GPU's clock."""
        return CudaTimer(self)

    def synchronize(self) -> None:
        """Wait for all streams. Raises: TaichiRuntimeError if a launch failed."""
        try:
            self.runtime.deviceSynchronize()
        except self.failure as error:
            raise self.describe(error) from error
        self.stream, self.several_streams, self.is_given = self.current_stream().ptr, False, False
        self._waiting = []
        self.backlog.end()

    def describe(self, error: Exception) -> TaichiRuntimeError:
        """Return the error that names the kernels launched last; CUDA does not report which of them failed."""
        reason = inherited("CUDA")
        if reason is not None:
            return TaichiRuntimeError(f"{reason} (CUDA reports {error})", HINT)
        kernels = ", ".join(f"`{name}`" for name in dict.fromkeys(reversed(self.recent))) or "none yet"
        message = f"CUDA reports {error} on GPU {self.index}. Kernels launched last, newest first: {kernels}."
        hint = None
        if any(name in str(error) for name in FAULTS):
            hint = (
                "a kernel read or wrote outside an array, most likely; ti.init(arch=ti.cuda, debug=True) finds "
                "the line. The GPU's context is lost: start the program again."
            )
        return TaichiRuntimeError(message, hint)

    def close(self) -> None:
        """Wait for all work; memory is freed with the objects that own it. Faults are not reported any more."""
        try:
            self.runtime.deviceSynchronize()
            self._blocks.release(self.runtime.free)
        except self.failure:
            self.recent.clear()


__all__ = ["CudaDevice", "available", "list_devices", "open_device"]


def _require_driver() -> None:
    """Report a missing driver before its consequences, such as an error of CuPy. Raises: TaichiRuntimeError."""
    try:
        ctypes.CDLL(DRIVER)
    except OSError as error:
        raise TaichiRuntimeError(f"arch=ti.cuda: no NVIDIA driver was found ({error}). {INSTALL_HINT}") from error


def _host_address(data: memoryview) -> int:
    """Return the address of contiguous host bytes, which may be read-only."""
    return int(np.frombuffer(data, np.uint8).ctypes.data) if data.nbytes else 0


def open_device(
    index: int | str = 0,
    sources: Path | None = None,
    store: Store | None = None,
    prepares: bool = False,
    task_graphs: bool = True,
) -> CudaDevice:
    """Open GPU number `index`, or the first whose name has it. Raises: TaichiRuntimeError for a missing driver or GPU.

    It is the current GPU of this thread from now on, unless another one is open already.
    sources: folder of the sources; then cubins have line information, and launches are inside NVTX ranges.
    store: caches compiled kernels. prepares: start the compiler too, since a kernel will be compiled.
    task_graphs: whether repeated launches of several tasks become graphs (`task_graphs.py`).
    """
    opening = begin(index if isinstance(index, int) else 0)
    if prepares:
        opening.then(warm_up)
    try:
        driver, runtime = load_bindings()
    except ImportError as error:
        _require_driver()
        raise TaichiRuntimeError(
            f"arch=ti.cuda needs CuPy, which cannot be imported: {error}. {INSTALL_HINT}"
        ) from error
    try:
        number, before, gpu = 0, 0, opening.gpu()
        has_context = opening.wait()
        if gpu is None or index != 0 or OPENED or not has_context:  # else threads enter the context at their first use
            number, before, gpu = enter_gpu(runtime, index)
        is_second = bool(OPENED - {number})
        device = CudaDevice(runtime, driver, number, gpu, sources, store, task_graphs)
        note_use("CUDA")
        if is_second:
            runtime.setDevice(before)
        return device
    except runtime.CUDARuntimeError as error:
        _require_driver()
        reason = inherited("CUDA")
        hint = INSTALL_HINT if reason is None else f"{reason}: {HINT}"
        raise TaichiRuntimeError(f"No CUDA device can be opened: {error}. {hint}") from error
