"""What `CudaDevice` takes of CUDA and of CuPy, for CUDA C on the host: `install` makes `ti.init(arch=ti.cuda)` use it.

In: what `emulated/compiler.py` makes of a source, in place of a cubin. Out: launches, one after another; streams are all
one. A kernel that does what CUDA C leaves undefined raises an error with the line of its source.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from shadesmith.runtime.devices.cuda import device as cuda
from shadesmith.runtime.devices.cuda import task_graphs as cuda_task_graphs
from shadesmith.runtime.devices.cuda.opening import Gpu
from shadesmith.transpiler.errors import TaichiCompilationError, TaichiRuntimeError

from . import sparse
from .compiler import CHECKS, OPTIMISED, Refused, compile_source, line_of, runtime


class Stream:
    """A stream: what is launched on it has ended."""

    def __init__(self, ptr: int | None = None, device: int = 0, **options: Any) -> None:
        self.ptr = next(HANDLES) if ptr is None else ptr

    def __enter__(self) -> None:
        CURRENT.append(self)

    def __exit__(self, *error: object) -> None:
        CURRENT.pop()


HANDLES = itertools.count(1)
STREAM = Stream(0)
CURRENT = [STREAM]
LAUNCHES = itertools.count(1)
"""Each launch has another order of its threads."""
ONE_AT_A_TIME = threading.Lock()
MULTIPROCESSORS, RESIDENT_THREADS = 1, 256


class EmulatedError(Exception):
    """What the emulated driver reports."""

    status = 0


class Memory:
    """An allocation, freed with the object. It ends with a word, as all of a GPU do: atomic bytes are in words."""

    def __init__(self, size_bytes: int) -> None:
        self.ptr: int = runtime().emulator_allocate(-(-size_bytes // 4) * 4)
        self._free = runtime().emulator_free
        if not self.ptr:
            raise MemoryError

    def __add__(self, offset_bytes: int) -> int:
        return self.ptr + offset_bytes

    def __del__(self) -> None:
        if getattr(self, "ptr", 0):
            self._free(self.ptr)


class View(np.ndarray):
    """CuPy's arrays, as NumPy's. Sorts are stable."""

    def sort(self, *args: Any) -> None:  # type: ignore[override]
        """Sort in place."""
        super().sort(kind="stable")

    def argsort(self, *args: Any) -> Any:  # type: ignore[override]
        """Return where each element is in their order."""
        return super().argsort(kind="stable")


def view_of_memory(shape: Any, dtype: Any, memptr: int, strides: Any) -> View:
    """Return an array over memory of the emulated GPU, without negative strides."""
    reach = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    size = 0 if 0 in shape else reach - 1 + np.dtype(dtype).itemsize
    return View(shape, dtype, (ctypes.c_char * size).from_address(memptr), strides=strides)


class Loaded:
    """`LoadedCode`: a library in place of a cubin."""

    def __init__(self, driver: Any, code: bytes, enter: Any) -> None:
        """Take what `compile_for_host` returned. Raises: TaichiRuntimeError for the machine code of an archive."""
        if code.startswith(b"\x7fELF"):
            raise TaichiRuntimeError(f"{LACKS} instructions of NVIDIA")
        runtime()  # whose names the library needs
        self._path = Path(code.rstrip(b"\0").decode())
        self._library = ctypes.CDLL(str(self._path))

    def function(self, name: str) -> int:
        """Return the start of a kernel."""
        try:
            start = self._library[f"start_{name}"]
        except AttributeError as error:
            raise EmulatedError(f"there is no kernel {name}") from error
        address = ctypes.cast(start, ctypes.c_void_p).value
        assert address is not None
        PATHS[address] = self._path
        return address


PATHS: dict[int, Path] = {}
"""Libraries by the address of a kernel."""


def launch(function: int, x: int, y: int, z: int, size: int, *rest: Any) -> None:
    """Run a kernel, as `cuLaunchKernel` starts one; the runtime has one GPU, which threads take in turns."""
    with ONE_AT_A_TIME:
        problem = runtime().emulator_launch(function, rest[4], x, y, size, next(LAUNCHES))
    if problem is not None:
        raise EmulatedError(_located(problem.decode(errors="replace"), PATHS[function]))


def _located(problem: str, path: Path) -> str:
    """Return a message whose last line is an address with the source lines in its place."""
    text, _, address = problem.partition("\n")
    if not address:
        return text
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(str(path)):
            return f"{text}: {line_of(path, int(address, 16), int(line.partition('-')[0], 16))}"
    return text


def compile_for_host(
    text: str,
    arch: str,
    fast_math: bool = True,
    name: str = "",
    lines: Any = (),
    options: Sequence[str] = (),
    store: Any = None,
) -> tuple[bytes, str]:
    """Compile a source in place of `compile_cubin`: what is returned is the path of a library."""
    try:
        return str(compile_source(text, name, FLAGS[0])).encode(), ""
    except Refused as error:
        raise TaichiCompilationError(f"g++ refused {name}:\n{error.log}") from error


FLAGS = [CHECKS]


def _copy(destination: int, source: int, size: int, *rest: Any) -> None:
    ctypes.memmove(destination, source, size)


def _fill(address: int, value: int, size: int, *rest: Any) -> None:
    ctypes.memset(address, value, size)


def _fill_words(address: int, pattern: bytes, size_bytes: int, stream: int) -> int:
    ctypes.memmove(address, pattern * (size_bytes // len(pattern)), size_bytes)
    return 0


def _nothing(*arguments: Any) -> int:
    return 0


def _allocate(size_bytes: int, *flags: int) -> int:
    memory = Memory(size_bytes)
    MEMORY[memory.ptr] = memory
    return memory.ptr


def _free(address: int) -> None:
    MEMORY.pop(address, None)


MEMORY: dict[int, Memory] = {}
"""What the driver has allocated, by address."""


def cuda_runtime() -> SimpleNamespace:
    """Return what `CudaDevice` uses of CUDA's runtime."""
    functions = (
        "setDevice streamIsCapturing eventDestroy eventRecord eventSynchronize "
        "streamWaitEvent streamSynchronize deviceSynchronize deviceSetLimit"
    )
    return SimpleNamespace(
        **dict.fromkeys(functions.split(), _nothing),
        CUDARuntimeError=EmulatedError,
        getDevice=lambda: 0,
        deviceGetLimit=lambda limit: 1 << 30,
        memsetAsync=_fill,
        memcpyAsync=_copy,
        memcpyDeviceToHost=0,
        memcpyHostToDevice=0,
        memcpyDeviceToDevice=0,
        graphLaunch=launch_graph,
        memGetInfo=lambda: (1 << 34, 1 << 34),
        malloc=_allocate,
        hostAlloc=_allocate,
        free=_free,
        freeHost=_free,
        eventDisableTiming=2,
        eventCreateWithFlags=lambda flags: next(HANDLES),
        eventQuery=lambda event: 0,
        eventElapsedTime=lambda begin, end: 0.0,
    )


def cupy() -> SimpleNamespace:
    """Return what `CudaDevice` uses of CuPy."""
    of_cuda = SimpleNamespace(
        get_current_stream=lambda index: CURRENT[-1],
        alloc=Memory,
        memory=SimpleNamespace(OutOfMemoryError=MemoryError),
        nvtx=SimpleNamespace(available=False),
        Stream=Stream,
        ExternalStream=Stream,
        Device=lambda: SimpleNamespace(id=0),
    )
    pool = SimpleNamespace(free_all_blocks=_nothing)
    functions_of_arrays = {
        name: getattr(np, name) for name in ("cumsum", "cumprod", "sum", "prod", "amax", "amin", "argsort")
    }
    return SimpleNamespace(
        cuda=of_cuda, get_default_memory_pool=lambda: pool, ndarray=view_of_memory, zeros=_zeros, **functions_of_arrays
    )


def _zeros(shape: Any, dtype: Any) -> View:
    return np.zeros(shape, dtype).view(View)


class EmulatedDevice(cuda.CudaDevice):
    """A GPU for launches. What else `CudaDevice` does needs more of CuPy and of the driver.

    Sums whose overflow nobody sees are unsigned for it: sources leave them signed, and the checks would report them.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.current_stream = lambda: CURRENT[-1]
        self._cupy = cupy()
        self.capabilities = replace(self.capabilities, reports_overflow=FLAGS[0] == CHECKS)

    @property
    def cupy(self) -> Any:
        """What is used of CuPy."""
        return self._cupy

    def record(self, launches: Any) -> Any:
        """Refuse a graph."""
        raise TaichiRuntimeError(f"{LACKS} graphs")

    def prepare_compiler(self) -> None:
        """Do nothing: NVRTC is not used."""

    def make_texture(self, spec: Any) -> Any:
        """Refuse a texture."""
        raise TaichiRuntimeError(f"{LACKS} textures")

    def timer(self) -> Any:
        """Refuse to measure."""
        raise TaichiRuntimeError(f"{LACKS} clock")


class Graph:
    """An instantiated graph of a kernel whose launches repeat: the launches of its tasks, in order."""

    def __init__(self, device: Any, launches: Sequence[Any], edges: Sequence[Sequence[int]]) -> None:
        self.handle = next(HANDLES)
        GRAPHS[self.handle] = self
        self.update(dict(enumerate(launches)))

    def update(self, launches: Mapping[int, Any]) -> None:
        """Replace all launches."""
        self.launches: list[tuple[int, ...]] = []
        self._blocks: list[Any] = []
        for one in launches.values():
            block = (ctypes.c_ubyte * max(1, len(one.arguments))).from_buffer_copy(one.arguments or bytes(1))
            self._blocks.append(block)
            starts = one.program.starts(lambda *launched: self.launches.append(launched), block)
            self._blocks.append(starts)
            for start, count in zip(starts, one.counts, strict=True):
                start(count, 0)


GRAPHS: WeakValueDictionary[int, Graph] = WeakValueDictionary()


def launch_graph(handle: int, stream: int) -> None:
    """Run the tasks of a graph."""
    for launched in GRAPHS[handle].launches:
        launch(*launched)


LACKS = "The emulated GPU has no"


def open_device(
    index: int = 0,
    sources: Path | None = None,
    store: Any = None,
    prepares: bool = False,
    task_graphs: bool = True,
) -> EmulatedDevice:
    """Open the emulated GPU."""
    driver = SimpleNamespace(launchKernel=launch, CUDADriverError=EmulatedError, ctxGetCurrent=lambda: 1)
    gpu = Gpu("emulated", "sm_90", MULTIPROCESSORS * RESIDENT_THREADS, "0")
    return EmulatedDevice(cuda_runtime(), driver, index, gpu, sources, store, task_graphs)


def install(optimised: bool = bool(os.environ.get("EMULATED_OPTIMISED"))) -> None:
    """Let sessions of `arch=ti.cuda` run on the host. optimised: without checks, as g++ -O3 compiles the source."""
    FLAGS[0] = OPTIMISED if optimised else CHECKS
    sparse.install()
    cuda_task_graphs.Built = Graph  # type: ignore[misc]
    cuda.open_device = open_device
    cuda.compile_cubin = compile_for_host
    cuda.fill_words = _fill_words
    cuda.LoadedCode = Loaded
