"""The interface of devices. A device owns memory and turns a `BackendModule` into a program that can be launched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.lazy_dataclasses import dataclass
from ...transpiler.options import Capabilities
from .hazards import AccessSet
from .textures import TextureMemory, TextureSpec
from .timer import Timer

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import BackendModule, TaskSource


class OutOfMemory(TaichiRuntimeError):
    """A device has less memory than was requested. where: its name; sizes in bytes."""

    REMEDY = "use smaller or narrower arrays, or `del` those no longer needed"

    def __init__(self, where: str, requested: int, used: int, available: int | None, reason: str = "") -> None:
        self.where, self.requested, self.used, self.available, self.reason = where, requested, used, available, reason
        super().__init__(self.describe("an allocation"), self.REMEDY)

    def describe(self, owner: str, largest: Sequence[tuple[str, int]] = ()) -> str:
        """Return the message. owner: what the memory is for. largest: owners of memory in use, with their bytes."""
        left = "" if self.available is None else f" and {format_size(self.available)} available"
        because = f"; {self.reason}" if self.reason else ""
        most = f" (most by {', '.join(f'{name}: {format_size(size)}' for name, size in largest)})" if largest else ""
        return (
            f"out of memory on {self.where}: {owner} needs {format_size(self.requested)} ({self.requested:,} bytes), "
            f"{format_size(self.used)} are in use{most}{left}{because}"
        )


WATCHDOG_HINT = "look for a loop that does not end; `ti.init(watchdog=...)` is the time that a launch may take [s]"


def too_long(kernel: str, task: TaskSource, seconds: float, end: str = "") -> str:
    """Return the message for a task that took too long. end: what became of it; else the watchdog stopped it."""
    what = f"kernel `{kernel}`" if task.name == kernel else f"task `{task.name}` of kernel `{kernel}`"
    loop = f", the loop of line {task.loop.line}," if task.loop is not None else ""
    return f"{what}{loop} ran longer than {seconds:g} s and {end or 'was stopped; what it computes is incomplete'}"


def format_size(size_bytes: int) -> str:
    """Return a size in readable units."""
    for unit, bytes_of_unit in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= bytes_of_unit:
            return f"{size_bytes / bytes_of_unit:.1f} {unit}"
    return f"{size_bytes} bytes"


class Allocation(Protocol):
    """A block of device memory, zeroed when allocated. address: as passed in `Args`; size_bytes: as requested."""

    address: int
    size_bytes: int


class Program(Protocol):
    """A module ready to run.

    arguments: writable buffer of `Interface.args_size_bytes` [bytes]; the launcher packs into it, and `submit` reads it
      before it returns.
    submit: starts all tasks in order and does not wait. counts: trip count of each task, -1 if only the device knows.
    lock: held by a thread while it packs and submits, by `submit_held` if there is one; None if `submit` takes the
      packed arguments of each launch as a second argument.
    use_textures: called with the textures' memories before `submit`, with the lock held; only programs that do not find
      their textures by `Args` have it.
    """

    arguments: Any
    lock: Any

    def submit(self, counts: Sequence[int]) -> None:
        """Start the tasks in order with the packed arguments."""

    def instantiate(self) -> Program:
        """Return the same code with its own argument block."""


class MeasuredProgram(Program, Protocol):
    """A program whose tasks can be timed. is_whole: they cannot be started one by one: `submit_task` starts all."""

    is_whole: bool

    def submit_task(self, index: int, counts: Sequence[int]) -> None:
        """Start one of the tasks; the trip counts are those of all. It takes what `submit` takes."""


def only(index: int, counts: Sequence[int]) -> tuple[int, ...]:
    """Return the trip counts with which `submit` starts one task alone."""
    return tuple(count if task == index else 0 for task, count in enumerate(counts))


@dataclass(frozen=True, slots=True)
class Launch:
    """The input of `Program.submit`: a program of the device, the trip count of each task, and the packed arguments.

    textures: memory for `Program.use_textures`, () for programs without it.
    access_set: the memory that it reads and writes; launches without common memory may run concurrently.
    """

    program: Any
    counts: Sequence[int]
    arguments: bytes
    textures: tuple[Any, ...] = ()
    access_set: AccessSet = None


class Recording(Protocol):
    """Launches in order, prepared once and started any number of times."""

    def update(self, number: int, launch: Launch) -> None:
        """Replace launch number `number` by one of the same program, from the next `run` on.

        Earlier runs, which may not have ended, are unaffected.
        """

    def run(self) -> None:
        """Start all launches in order, after all work before; it does not wait."""


class Device(Protocol):
    """One device. All operations are ordered as on one stream: reads see all earlier launches."""

    name: str
    """"c", "vulkan", "cuda" or "python": the target whose modules it builds."""
    capabilities: Capabilities
    lazy_memory: bool
    """Whether memory is committed only when it is touched, and launches end before `submit` returns."""
    index_limit: int | None
    """The largest index of an element, None if memory is the only limit."""
    cuda_memory: bool
    """Whether it uses memory of a CUDA device, as torch and CuPy do."""
    host_memory: bool
    """Whether `Allocation.address` is an address of this process that NumPy may read after `synchronize`."""
    survives_fork: bool
    """Whether a child of this process can use it, and its memory, after `os.fork`."""
    copies_to_host: int
    copies_to_device: int
    """How often `read` and `write` were called."""

    @property
    def title(self) -> str:
        """The hardware's name; measured times are valid for devices with this title."""

    @property
    def driver(self) -> str:
        """Name and version of its driver, "" for the host."""

    @property
    def used_bytes(self) -> int:
        """Total size of all live allocations, as requested [bytes]."""

    def allocate(self, size_bytes: int, lazily: bool = False) -> Allocation:
        """Return zeroed memory. Raises: OutOfMemory naming the bytes requested, used and available.

        lazily: only part of it will ever be touched; a device with `lazy_memory` then grants more than it has.
        """

    def lazy_bytes(self) -> int:
        """Return how much memory may be requested lazily, 0 on devices without `lazy_memory`."""

    def free(self, allocation: Allocation) -> None:
        """Free memory once the launches that use it have ended. Finalizers may call it at any moment."""

    def read(self, allocation: Allocation, destination: memoryview, offset_bytes: int = 0) -> None:
        """Copy device memory to the host after all earlier launches; `destination` is contiguous bytes."""

    def write(self, allocation: Allocation, source: memoryview, offset_bytes: int = 0) -> None:
        """Copy host bytes to the device after all earlier launches; `source` may be reused on return."""

    def copy(self, source: Allocation, destination: Allocation, size_bytes: int) -> None:
        """Copy within the device, in order with launches."""

    def fill(self, allocation: Allocation, pattern: bytes) -> None:
        """Repeat `pattern` (1, 2, 4 or 8 bytes) over the memory, in order with launches."""

    def make_texture(self, spec: TextureSpec) -> TextureMemory:
        """Make a texture of zeros. Raises: UnsupportedError naming an unsupported format or extent; OutOfMemory."""

    def free_texture(self, texture: TextureMemory) -> None:
        """Free a texture once the launches that use it have ended. Finalizers may call it at any moment."""

    def copy_to_texture(self, source: Allocation, texture: TextureMemory) -> None:
        """Set all texels from an allocation of packed texels, in order with launches."""

    def copy_from_texture(self, texture: TextureMemory, destination: Allocation) -> None:
        """Copy all texels into an allocation, packed, in order with launches."""

    def share(self, allocation: Allocation) -> object:
        """Return an object that keeps an allocation's bytes valid while it lives, also after `free` and `close`."""

    def build(self, module: BackendModule, keep: bool = True) -> Program:
        """Compile the module's files, or load their binaries from the cache.

        keep: whether the cache is used.
        Raises: TaichiCompilationError with the emitted line and the Python line.
        """

    def load(self, module: BackendModule, codes: Sequence[bytes]) -> Program:
        """Make a program from binaries of the module's files for this device. Raises: TaichiRuntimeError."""

    def record(self, launches: Sequence[Launch]) -> Recording:
        """Prepare launches of programs of this device to be started together."""

    def synchronize(self) -> None:
        """Wait for all launches. Raises: TaichiRuntimeError if one failed."""

    def timer(self) -> Timer:
        """Return a timer of launches, by the device's own clock if it has one; the caller closes it."""

    def close(self) -> None:
        """Free everything; the device cannot be used afterwards."""


class GpuDevice(Device, Protocol):
    """A device that other libraries use too.

    index: its CUDA number. stream: handle of the last stream used. current_stream: returns CuPy's, which has a `ptr`.
    failure: classes of the errors of CuPy and the driver.
    """

    index: int
    stream: int
    current_stream: Callable[[], Any]
    failure: tuple[type[Exception], ...]

    def describe(self, error: Exception) -> TaichiRuntimeError:
        """Return the error that names the kernels launched last."""

    def make_stream(self) -> Any:
        """Return a new stream, which does not wait for the default stream."""

    def make_event(self) -> Any:
        """Return a new event with a time."""

    def record_event(self, event: Any, stream: int) -> None:
        """Place an event after the work on a stream so far."""

    def wait_event(self, stream: int, event: Any) -> None:
        """Let later work on a stream wait for an event."""

    def let_wait(self, stream: int, other: int) -> None:
        """Let later work on `stream` wait for the work on `other`, on the GPU."""

    def elapsed_ms(self, begin: Any, end: Any) -> float:
        """Return the time between two events that have occurred [ms]."""

    def on_stream(self, handle: int, owner: Any) -> AbstractContextManager[None]:
        """Make a stream the current one in this thread. owner: what keeps it valid."""

    def view(
        self, allocation: Any, offset_bytes: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any
    ) -> Any:
        """Return a CuPy array over part of an allocation, which it keeps alive. strides: [bytes]."""

    def torch_stream(self) -> Callable[[], int]:
        """Return a function that returns torch's current stream on this device."""

    def join_stream(self, other: int, stream: int | None) -> Callable[[], None]:
        """Let later launches wait for the work on the stream `other`, without waiting on the host.

        stream: the stream of these launches, None for the current one. Returns a function that lets `other` wait for
        them.
        """
