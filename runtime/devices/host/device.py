"""The C target: memory of this process, kernels compiled by the host's C compiler, all cores through OpenMP.

In: modules of target "c". Out: programs whose `submit` calls the tasks directly and returns when they have ended, so
there is nothing to wait for. If the compiler lacks OpenMP, loops run on one core.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import platform
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from ....transpiler.backend.module.interface import BackendModule, SourceFile
from ....transpiler.errors import ShadesmithWarning, TaichiCompilationError, TaichiRuntimeError
from ...store.store import Store
from ..calls import Calls
from ..compiler_messages import CompilerFailure
from ..device import Launch
from ..host_memory import LAZY_BYTES, Budget, available_bytes
from ..host_textures import HoldsTextures
from ..timer import HostTimer, Timer
from .capabilities import PORTABLE
from .compiler import HostCompiler, Library, find_compiler, lacks_openmp, load_library
from .guarded_memory import allocate
from .kernel_signals import OwnerOf, Starting, add_library, attention, guards, raise_errors
from .watched_launches import watched

CHARACTERS_PER_COMPILER = 4000
"""Length of a source that takes a compiler about 50 ms; a second compiler is started only for more."""


SPIN_COUNT = "5000"
"""Spin count of an idle OpenMP thread: about 150 us, longer than Python takes from one launch to the next.

After it a thread sleeps, and waking it costs 16 us instead of 1. Worse, Linux may wake it on the core of the thread
that it works with, for some hundred launches: two threads take .12 ms for a sum of 2^22 floats, and .4 after a pause
with counts up to 3,000. libgomp's default of 300,000 keeps cores busy for milliseconds after each kernel. Where other
programs use the cores, one that spins keeps the one that it waits for from running: with one busy program a step of
mpm99 takes 1.2 ms with 300, 1.4 with 1,000, 2.1 with 5,000 (and Taichi's), 2.3 with 10,000; alone 1.0, .64, .55, .55.
"""

CUDA_DRIVER = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"

Submit = Callable[..., None]


class HostAllocation:
    """Zeroed memory. array: a NumPy array of the same bytes, which keeps them alive even after `free`."""

    __slots__ = ("address", "array", "is_lazy", "size_bytes")

    def __init__(self, size_bytes: int, is_lazy: bool = False) -> None:
        self.is_lazy = is_lazy
        self.array, self.address = allocate(guards, size_bytes)
        self.size_bytes = size_bytes


class HostProgram:
    """A loaded kernel. arguments: buffer of the `Args` struct; submit(counts, packed): run all tasks.

    libraries: by task, the library with its function.
    """

    __slots__ = ("_device", "_finish", "_functions", "_libraries", "_module", "arguments", "submit")
    lock = None
    """None: each launch passes its own arguments."""
    is_whole = False

    def __init__(self, module: BackendModule, libraries: Sequence[Library], device: HostDevice) -> None:
        self._module, self._libraries, self._device = module, libraries, device
        self.arguments = (ctypes.c_ubyte * max(1, module.interface.args_size_bytes))()
        functions = [library.function(task.entry) for task, library in zip(module.tasks, libraries)]
        for task, library in zip(module.tasks, libraries):
            add_library(library, module.kernel, task.entry)
        finish = partial(raise_errors, module.kernel, libraries, device.owner_of)
        self.submit = _submitter(functions, ctypes.byref(self.arguments), libraries, finish)
        if device.watchdog_seconds:
            own = ctypes.byref(self.arguments)
            self.submit = watched(module, functions, own, libraries, device.watchdog_seconds, finish) or self.submit
        self._functions, self._finish = functions, finish

    def submit_task(self, index: int, counts: Sequence[int], arguments: object = None) -> None:
        """Run one task; see `MeasuredProgram`."""
        own = ctypes.byref(self.arguments) if arguments is None else arguments
        _submitter([self._functions[index]], own, None, self._finish)(counts)

    def instantiate(self) -> HostProgram:
        """Return the same code with its own argument block."""
        return HostProgram(self._module, self._libraries, self._device)


def _submitter(
    functions: Sequence[Callable[[object], None]], own: object, keep: object, finish: Callable[[], None]
) -> Submit:
    """Return the function that runs the tasks. It ignores the counts: compiled loops compute their own trip counts.

    It also takes the packed arguments as bytes; without them it passes the program's `own`, which threads must not
    share. ctypes passes a pointer to either; functions without declared argument types save it 25 ns of checks.
    keep: objects that the result keeps alive. finish: called at the end of a launch in which a signal was handled.
    """
    if len(functions) == 1:
        (only,) = functions

        def submit_one(counts: Sequence[int], arguments: object = own, keep: object = keep) -> None:
            try:
                only(arguments)
            finally:
                if attention:
                    finish()

        return submit_one

    def submit(counts: Sequence[int], arguments: object = own, keep: object = keep) -> None:
        try:
            for function in functions:
                function(arguments)
        finally:
            if attention:
                finish()

    return submit


class HostDevice(HoldsTextures):
    """This process as a device."""

    name = "c"
    host_memory = True
    index_limit = None
    cuda_memory = False
    survives_fork = True
    lazy_memory = True

    def __init__(self, compiler: HostCompiler, threads: int | None, store: Store | None = None) -> None:
        self.compiler = compiler
        self.store = store
        self.threads = threads
        self.openmp = True
        self._openmp_is_known = False
        self._limited: Library | None = None
        self.capabilities = PORTABLE
        self.used_bytes = self._lazy_bytes = 0
        self._budget = Budget("the host")
        self.copies_to_host = self.copies_to_device = 0
        self.owner_of: OwnerOf = _unknown_owner
        self.watchdog_seconds = 0.0

    def name_owners(self, owner_of: OwnerOf) -> None:
        """Let errors of launches name the owner of the memory at an address."""
        self.owner_of = owner_of

    def limit_launches(self, seconds: float) -> None:
        """Stop launches that take longer; 0: none. It concerns programs that are made from now on."""
        self.watchdog_seconds = seconds

    @property
    def title(self) -> str:
        """The processor's name, and the number of threads of a loop."""
        threads = self.threads or usable_cores()
        return f"{_processor()}, {threads} {'thread' if threads == 1 else 'threads'}"

    @property
    def driver(self) -> str:
        """ "": there is no driver."""
        return ""

    def allocate(self, size_bytes: int, lazily: bool = False) -> HostAllocation:
        """Return zeroed memory, aligned to a cache line. Raises: OutOfMemory if there is not that much."""
        if not lazily:
            self._budget.check(size_bytes, self.used_bytes - self._lazy_bytes)
        try:
            allocation = HostAllocation(size_bytes, lazily)
        except (MemoryError, ValueError) as error:  # ValueError: beyond the largest array
            raise self._budget.refusal(size_bytes, self.used_bytes - self._lazy_bytes) from error
        self.used_bytes += size_bytes
        self._lazy_bytes += size_bytes if lazily else 0
        return allocation

    def allocate_pinned(self, size_bytes: int) -> HostAllocation:
        """Return memory as `allocate`, page-locked if there is a CUDA driver and CuPy, without guards then."""
        array = pinned_array(size_bytes)
        if array is None:
            return self.allocate(size_bytes)
        allocation = HostAllocation.__new__(HostAllocation)
        allocation.is_lazy, allocation.array, allocation.size_bytes = False, array, size_bytes
        allocation.address = int(array.ctypes.data)
        self.used_bytes += size_bytes
        return allocation

    def allocate_result(self, size_bytes: int) -> HostAllocation:
        """Return zeroed memory, in which kernels store what `read_result` returns. Raises: OutOfMemory."""
        return self.allocate(size_bytes)

    def read_result(self, allocation: HostAllocation, size_bytes: int) -> memoryview:
        """Return memory made by `allocate_result`, not a copy of it."""
        return allocation.array.data

    def lazy_bytes(self) -> int:
        """Return how much memory may be requested lazily, of which only part will be touched."""
        return self._budget.available_bytes(self.used_bytes - self._lazy_bytes) or LAZY_BYTES

    def free(self, allocation: HostAllocation) -> None:
        """Free memory as soon as it has no NumPy views."""
        self.used_bytes -= allocation.size_bytes
        self._lazy_bytes -= allocation.size_bytes if allocation.is_lazy else 0
        allocation.array = allocation.array[:0].copy()
        allocation.address = allocation.size_bytes = 0

    def read(self, allocation: HostAllocation, destination: memoryview, offset_bytes: int = 0) -> None:
        """Copy to `destination`."""
        self.copies_to_host += 1
        target = np.frombuffer(destination, np.uint8)
        np.copyto(target, allocation.array[offset_bytes : offset_bytes + target.size])

    def write(self, allocation: HostAllocation, source: memoryview, offset_bytes: int = 0) -> None:
        """Copy from `source`."""
        self.copies_to_device += 1
        data = np.frombuffer(source, np.uint8)
        np.copyto(allocation.array[offset_bytes : offset_bytes + data.size], data)

    def copy(self, source: HostAllocation, destination: HostAllocation, size_bytes: int) -> None:
        """Copy within the process."""
        np.copyto(destination.array[:size_bytes], source.array[:size_bytes])

    def fill(self, allocation: HostAllocation, pattern: bytes) -> None:
        """Repeat `pattern` over the memory."""
        allocation.array.view(f"u{len(pattern)}")[:] = np.frombuffer(pattern, f"u{len(pattern)}")

    def share(self, allocation: HostAllocation) -> object:
        """Return an object that keeps the bytes valid."""
        return allocation.array

    def build(self, module: BackendModule, keep: bool = True) -> HostProgram:
        """Compile the module's one file and load it. Raises: TaichiCompilationError, TaichiRuntimeError."""
        if not module.files:  # a kernel without effect
            return HostProgram(module, [], self)
        signals = Starting(self.compiler, self.store if keep else None)
        entries = [task.entry for task in module.tasks]
        parts = _split(module.files[0], entries, self.threads or usable_cores())
        hidden = [[entry for entry in entries if entry not in part] for part in parts]
        libraries = self._load(module, hidden, self.store if keep else None)
        signals.finish()
        if self.threads is not None and self.openmp:
            self._limited = _limit_threads(libraries, self.threads) or self._limited
        owners = [next(library for part, library in zip(parts, libraries) if entry in part) for entry in entries]
        try:
            return HostProgram(module, owners, self)
        except OSError as error:  # an entry point is missing, which only an edited source can cause
            message = f"{module.files[0].name} lacks a function the launcher calls: {error}."
            raise TaichiCompilationError(message) from error

    def load(self, module: BackendModule, codes: Sequence[bytes]) -> HostProgram:
        """Load shared objects, which runs their initializers. Raises: TaichiRuntimeError if the system refuses."""
        signals = Starting(self.compiler, self.store)
        libraries = [load_library(code) for code in codes]
        signals.finish()
        if self.threads is not None and libraries:
            self._limited = _limit_threads(libraries, self.threads) or self._limited
        try:
            return HostProgram(module, [libraries[task.file] for task in module.tasks], self)
        except OSError as error:
            message = f"the shared object of kernel `{module.kernel}` lacks a function the launcher calls: {error}."
            raise TaichiRuntimeError(message) from error

    def _load(self, module: BackendModule, hidden: Sequence[Sequence[str]], store: Store | None) -> list[Library]:
        """Compile and load; a cached library that cannot be loaded, being of another system, is compiled again."""
        try:
            return [load_library(binary) for binary in self._compile(module, hidden, store)]
        except TaichiCompilationError:
            raise
        except TaichiRuntimeError:
            if store is None:
                raise
        return [load_library(binary) for binary in self._compile(module, hidden, store, anew=True)]

    def _compile(
        self, module: BackendModule, hidden: Sequence[Sequence[str]], store: Store | None, anew: bool = False
    ) -> list[bytes]:
        file, fast_math = module.files[0], bool(module.options.get("fast_math", True))
        if self.openmp and not self._openmp_is_known and self.compiler.is_known_without_openmp(store):
            self._leave_openmp()
        self._openmp_is_known = True
        try:
            return self.compiler.compile(file, fast_math, self.openmp, hidden, store, anew)
        except CompilerFailure as error:
            if not (self.openmp and lacks_openmp(error.log)):
                raise
        self._leave_openmp()
        objects = self.compiler.compile(file, fast_math, False, hidden, store, anew)
        self.compiler.note_without_openmp(store)
        return objects

    def _leave_openmp(self) -> None:
        self.openmp = False
        warnings.warn(
            f"`{self.compiler.command[0]}` has no OpenMP, so kernels run on one core. Install gcc or libomp.",
            ShadesmithWarning,
            stacklevel=2,
        )

    def record(self, launches: Sequence[Launch]) -> Calls:
        """Prepare launches to be started together."""
        return Calls(launches)

    def synchronize(self) -> None:
        """Return at once: a launch ends before `submit` does."""

    def timer(self) -> Timer:
        """Return a timer of launches."""
        return HostTimer(self.synchronize)

    def close(self) -> None:
        """Reset the number of threads; memory and libraries are freed with the objects that own them."""
        if guards is not None:
            guards.trim()
        if self._limited is not None:
            _limit_threads([self._limited], _default_threads())


def pinned_array(size_bytes: int) -> np.ndarray[Any, Any] | None:
    """Return zeroed, page-locked bytes, None if there is no CUDA driver, or CuPy is missing."""
    if _load_driver() is None:
        return None
    try:
        import cupy

        found = np.frombuffer(cupy.cuda.alloc_pinned_memory(max(1, size_bytes)), np.uint8, max(1, size_bytes))
    except Exception:  # any failure of a driver: then it is memory as any other
        return None
    found[:] = 0
    return found


@cache
def _load_driver() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(CUDA_DRIVER)
    except OSError:
        return None


def list_devices() -> list[tuple[str, int | None]]:
    """Return the processor's name, with the memory that is free [bytes]."""
    return [(f"{_processor()}, {usable_cores()} cores", available_bytes())]


def _unknown_owner(address: int) -> None:
    """Return that nobody knows."""


def _limit_threads(libraries: Sequence[Library], count: int) -> Library | None:
    """Set the number of threads of loops in launches from this thread; return the library through which it was set.

    A library without a parallel loop is not linked with OpenMP's runtime (`--as-needed`), and lacks its functions.
    """
    for library in libraries:
        with contextlib.suppress(OSError):
            library.function("omp_set_num_threads", ctypes.c_int)(count)
            return library
    return None


def _default_threads() -> int:
    """Return the default number of threads of loops."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(wanted) if wanted.isdigit() and int(wanted) else _core_limit() or usable_cores()


def open_device(threads: int | None = None, store: Store | None = None) -> HostDevice:
    """Open the host.

    threads: limit for a loop; None: OMP_NUM_THREADS, or the cores this process may use.
    store: caches compiled kernels.
    Raises: TaichiRuntimeError if there is no C compiler.
    """
    compiler = find_compiler()
    count = threads or (None if "OMP_NUM_THREADS" in os.environ else _core_limit())
    _start_openmp(count)
    return HostDevice(compiler, count, store)


def _start_openmp(threads: int | None) -> None:
    """Load libgomp with shadesmith's settings, which it reads once, and make it survive a fork.

    A child has none of the pool's threads, and its first loop would wait for them forever; so the pool is ended before
    a fork and starts again with the next loop, in parent and child.
    """
    settings = {"GOMP_SPINCOUNT": SPIN_COUNT} if "OMP_WAIT_POLICY" not in os.environ else {}
    if threads is not None:
        settings["OMP_NUM_THREADS"] = str(threads)
    added = {name: value for name, value in settings.items() if name not in os.environ}
    os.environ.update(added)
    try:
        _load_openmp()
    finally:
        for name in added:
            del os.environ[name]


@cache
def _load_openmp() -> None:
    """Load libgomp and register the fork handler, once per process: Python cannot unregister a handler."""
    try:
        library = ctypes.CDLL("libgomp.so.1")
    except OSError:  # another OpenMP, or none: loops still run
        return
    pause = getattr(library, "omp_pause_resource_all", None)
    if pause is not None and hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lambda: pause(2))  # omp_pause_hard


def _split(file: SourceFile, entries: Sequence[str], cores: int) -> list[list[str]]:
    """Distribute the tasks of a long source over concurrent compilers, with about equal numbers of characters.

    The first Python line starts the first task, and a task's source ends with its entry function. Short sources are not
    split: each compiler reads the whole source and needs 25 ms to start (0.2 s of mpm88 become 0.1 s on two cores).
    """
    count = min(cores, len(entries), len(file.text) // CHARACTERS_PER_COMPILER)
    if count < 2:
        return [list(entries)]
    head = file.text.splitlines(keepends=True)[: file.lines[0][0] - 1 if file.lines else 0]
    ends = [file.text.find(f" {entry}(") for entry in entries]
    sizes = {entry: end - begin for entry, begin, end in zip(entries, [len("".join(head)), *ends], ends)}
    parts: list[list[str]] = [[] for _ in range(count)]
    loads = [0] * len(parts)
    for entry in sorted(entries, key=lambda name: -sizes[name]):
        lightest = loads.index(min(loads))
        parts[lightest].append(entry)
        loads[lightest] += sizes[entry]
    return parts


@cache
def _processor() -> str:
    """Return the processor's name."""
    with contextlib.suppress(OSError):
        for line in _text_of("/proc/cpuinfo").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine() or "a processor"


def _text_of(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def usable_cores() -> int:
    """Return the number of cores on which this process may run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _core_limit() -> int | None:
    """Return the cores of a container's CPU quota, None without a quota: more threads would only be throttled."""
    try:
        quota, period = _text_of("/sys/fs/cgroup/cpu.max").split()
    except (OSError, ValueError):
        return None
    if quota == "max":
        return None
    return max(1, min(math.ceil(int(quota) / int(period)), usable_cores()))
