"""What every device offers. A device owns memory and turns a `BackendModule` into a program that can be launched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.options import Capabilities
from .hazards import AccessSet
from .textures import TextureMemory, TextureSpec
from .timer import Timer

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import BackendModule


class OutOfMemory(TaichiRuntimeError):
    """A device has not as much memory as was asked for. where: its name; sizes in bytes."""

    REMEDY = "use smaller or narrower arrays, or `del` those no longer needed"

    def __init__(self, where: str, asked: int, used: int, available: int | None, reason: str = "") -> None:
        self.where, self.asked, self.used, self.available, self.reason = where, asked, used, available, reason
        super().__init__(self.text("an allocation"), self.REMEDY)

    def text(self, owner: str, largest: Sequence[tuple[str, int]] = ()) -> str:
        """Return the message. owner: what the memory is for. largest: owners of memory in use, with their bytes."""
        left = "" if self.available is None else f" and {in_words(self.available)} available"
        because = f"; {self.reason}" if self.reason else ""
        most = f" (most by {', '.join(f'{name}: {in_words(size)}' for name, size in largest)})" if largest else ""
        return (
            f"out of memory on {self.where}: {owner} needs {in_words(self.asked)} ({self.asked:,} bytes), "
            f"{in_words(self.used)} are in use{most}{left}{because}"
        )


def in_words(size_bytes: int) -> str:
    """Return a size as a person says it."""
    for unit, bytes_of_unit in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= bytes_of_unit:
            return f"{size_bytes / bytes_of_unit:.1f} {unit}"
    return f"{size_bytes} bytes"


class Allocation(Protocol):
    """A piece of device memory, zeroed when made. address: what goes into `Args`; size_bytes: as asked for."""

    address: int
    size_bytes: int


class Program(Protocol):
    """A module ready to run.

    arguments: writable buffer of `Interface.args_size_bytes` [bytes]; the launcher packs into it, `submit` reads it
    before returning. `submit` starts all tasks in order; counts: iterations of each task, -1 where only the device
    knows. It does not wait. lock: a thread holds it while it packs and submits, by `submit_held` if there is one; None
    where `submit` takes the packed arguments as a second argument, of each launch its own. Programs that find their
    textures otherwise than by `Args` have `use_textures(memories)`, called before `submit` with the lock held.
    """

    arguments: Any
    lock: Any

    def submit(self, counts: Sequence[int]) -> None:
        """Start the tasks in order with the packed arguments."""

    def again(self) -> Program:
        """Return the same code with an argument block of its own."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What `Program.submit` would start: a program of the device, the count of each task, and the packed arguments.

    textures: memory for `Program.use_textures`, () of programs without it. touched: what memory it reads and writes;
    launches that touch none in common may run side by side.
    """

    program: Any
    counts: Sequence[int]
    arguments: bytes
    textures: tuple[Any, ...] = ()
    access_set: AccessSet = None


class Recording(Protocol):
    """Launches in order, prepared once and started any number of times."""

    def update(self, number: int, launch: Launch) -> None:
        """Replace launch number `number`, by one of the same program, from the next `run` on.

        Runs before it, which may be under way, keep theirs.
        """

    def run(self) -> None:
        """Start all launches in order, after all work before; it does not wait."""


class Device(Protocol):
    """One device. Everything is ordered as on one stream: reads see all launches before them."""

    name: str
    """"c", "vulkan", "cuda" or "python": the target whose modules it builds."""
    capabilities: Capabilities
    lazy_memory: bool
    """Whether memory costs nothing before it is touched, and launches end before `submit` does."""
    index_limit: int | None
    """The largest index of an element, None where memory ends before."""
    cuda_memory: bool
    """Whether its memory is that of a CUDA device, which torch and CuPy use too."""
    host_memory: bool
    """Whether `Allocation.address` is an address of this process that NumPy may read after `synchronize`."""
    copies_to_host: int
    copies_to_device: int
    """How often `read` and `write` were called."""

    @property
    def title(self) -> str:
        """What the hardware calls itself; times hold for devices of this title."""

    @property
    def driver(self) -> str:
        """Name and version of what drives it, "" for the host."""

    @property
    def used_bytes(self) -> int:
        """What all allocations that live have asked for [bytes]."""

    def allocate(self, size_bytes: int, lazily: bool = False) -> Allocation:
        """Give zeroed memory. Raises: OutOfMemory naming the bytes asked, used and available.

        lazily: only part of it will ever be touched. Where memory costs nothing before (`lazy_memory`), more of it may
        be asked for than there is.
        """

    def lazy_bytes(self) -> int:
        """Return how much memory that costs nothing before it is touched may be asked for, 0 where there is none."""

    def free(self, allocation: Allocation) -> None:
        """Give memory back, once launches that use it have ended. Finalizers call it, at any moment."""

    def read(self, allocation: Allocation, destination: memoryview, offset_bytes: int = 0) -> None:
        """Copy device memory to the host after all launches before; `destination` is contiguous bytes."""

    def write(self, allocation: Allocation, source: memoryview, offset_bytes: int = 0) -> None:
        """Copy host bytes to the device after all launches before; `source` may be reused on return."""

    def copy(self, source: Allocation, destination: Allocation, size_bytes: int) -> None:
        """Copy within the device, in order with launches."""

    def fill(self, allocation: Allocation, pattern: bytes) -> None:
        """Repeat `pattern` (1, 2, 4 or 8 bytes) over the memory, in order with launches."""

    def make_texture(self, spec: TextureSpec) -> TextureMemory:
        """Make a texture of zeros. Raises: UnsupportedError naming the format or extent it lacks; OutOfMemory."""

    def free_texture(self, texture: TextureMemory) -> None:
        """Give a texture back, once launches that use it have ended. Finalizers call it, at any moment."""

    def copy_to_texture(self, source: Allocation, texture: TextureMemory) -> None:
        """Set all texels from an allocation, where they lie packed, in order with launches."""

    def copy_from_texture(self, texture: TextureMemory, destination: Allocation) -> None:
        """Copy all texels likewise into an allocation."""

    def share(self, allocation: Allocation) -> object:
        """Return what keeps an allocation's bytes valid as long as it lives, also after `free` and `close`."""

    def build(self, module: BackendModule, keep: bool = True) -> Program:
        """Compile the module's files, or find in the cache what a process before has made of them.

        keep: whether the cache is asked, and keeps what is made.
        Raises: TaichiCompilationError with the emitted line and the Python line.
        """

    def load(self, module: BackendModule, codes: Sequence[bytes]) -> Program:
        """Make a program of what compilers made of the module's files, for this device. Raises: TaichiRuntimeError."""

    def record(self, launches: Sequence[Launch]) -> Recording:
        """Prepare launches of programs of this device to be started together."""

    def synchronize(self) -> None:
        """Wait for all launches. Raises: TaichiRuntimeError if one failed."""

    def timer(self) -> Timer:
        """Return what takes the time of launches, by the device's own clock if it has one; the caller closes it."""

    def close(self) -> None:
        """Free everything; the device cannot be used afterwards."""


class GpuDevice(Device, Protocol):
    """A device that other libraries use too. index: its number among them. stream: handle of the last one used."""

    index: int
    stream: int

    def view(
        self, allocation: Any, offset_bytes: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any
    ) -> Any:
        """Return CuPy's array over a part of an allocation, which it keeps alive. strides: [bytes]."""

    def torch_stream(self) -> Callable[[], int]:
        """Return the function that gives torch's current stream on this device."""

    def join_stream(self, other: int, stream: int | None) -> Callable[[], None]:
        """Let launches to come wait for what is on the stream `other`, without waiting on the host.

        stream: on which they will be, None for the current one. Returns what lets `other` wait for them in turn.
        """
