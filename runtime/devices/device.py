"""What every device offers. A device owns memory and turns a `BackendModule` into a program that can be launched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...transpiler.options import Capabilities

if TYPE_CHECKING:
    from ...transpiler.backend.interface import BackendModule


class Allocation(Protocol):
    """A piece of device memory, zeroed when made. address: what goes into `Args`; size_bytes: as asked for."""

    address: int
    size_bytes: int


class Program(Protocol):
    """A module ready to run.

    arguments: writable buffer of `Interface.args_size_bytes` [bytes]; the launcher packs into it, `submit` reads it
    before returning. `submit` starts all tasks in order; counts: iterations of each task, -1 where only the device
    knows. It does not wait.
    """

    arguments: Any

    def submit(self, counts: Sequence[int]) -> None:
        """Start the tasks in order with the packed arguments."""


class Device(Protocol):
    """One device. Everything is ordered as on one stream: reads see all launches before them."""

    name: str
    """"c", "vulkan", "cuda" or "python": the target whose modules it builds."""
    capabilities: Capabilities
    lazy_memory: bool
    """Whether memory costs nothing before it is touched, and launches end before `submit` does."""
    host_memory: bool
    """Whether `Allocation.address` is an address of this process that NumPy may read after `synchronize`."""

    def allocate(self, size_bytes: int) -> Allocation:
        """Give zeroed memory. Raises: TaichiRuntimeError naming the bytes asked, used and available."""

    def lazy_bytes(self) -> int:
        """Return how much memory that costs nothing before it is touched may be asked for, 0 where there is none."""

    def free(self, allocation: Allocation) -> None:
        """Give memory back, once launches that use it have ended."""

    def read(self, allocation: Allocation, destination: memoryview, offset_bytes: int = 0) -> None:
        """Copy device memory to the host after all launches before; `destination` is contiguous bytes."""

    def write(self, allocation: Allocation, source: memoryview, offset_bytes: int = 0) -> None:
        """Copy host bytes to the device after all launches before; `source` may be reused on return."""

    def copy(self, source: Allocation, destination: Allocation, size_bytes: int) -> None:
        """Copy within the device, in order with launches."""

    def fill(self, allocation: Allocation, pattern: bytes) -> None:
        """Repeat `pattern` (1, 2, 4 or 8 bytes) over the memory, in order with launches."""

    def build(self, module: BackendModule) -> Program:
        """Compile the module's files. Raises: TaichiCompilationError with the emitted line and the Python line."""

    def synchronize(self) -> None:
        """Wait for all launches. Raises: TaichiRuntimeError if one failed."""

    def close(self) -> None:
        """Free everything; the device cannot be used afterwards."""


class GpuDevice(Device, Protocol):
    """A device whose work stands on streams that other libraries know too. index: its number among them."""

    index: int

    def torch_stream(self) -> Callable[[], int]:
        """Return the function that gives torch's current stream on this device."""

    def join_stream(self, other: int, stream: int | None) -> Callable[[], None]:
        """Let launches to come wait for what is on the stream `other`, without waiting on the host.

        stream: on which they will be, None for the current one. Returns what lets `other` wait for them in turn.
        """
