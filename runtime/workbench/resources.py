"""What a task takes of the hardware: registers, spills, shared memory, and how many of its threads run at once.

In: a module, and the GPU it is compiled for. Out: `Resources`, printable. For CUDA no GPU is needed: the cubin and
ptxas tell everything but the limits of a multiprocessor, which are a table here. For Vulkan a driver is asked
(VK_KHR_pipeline_executable_properties), in its own words.
Source: CUDA C++ Programming Guide, technical specifications per compute capability; the rules of allocation are those
of NVIDIA's occupancy calculator.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ...transpiler.backend.module.interface import BackendModule, TaskSource
from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ..devices.vulkan import open_device
from .cubin import Cubin, Usage, read_cubin, read_usage
from .disassembly import compiled

if TYPE_CHECKING:
    from ..session.session import Session

WARP = 32
REGISTERS_PER_SM = 65536
REGISTER_UNIT = 256
"""Registers are given to warps in such pieces."""
WARP_UNIT = 4
"""A multiprocessor has four parts, so that registers allow a multiple of four warps."""
SHARED_UNIT_BYTES = 128


@dataclass(frozen=True, slots=True)
class Limits:
    """What one multiprocessor holds at once. reserved_bytes: of shared memory, by CUDA in every block."""

    warps: int
    blocks: int
    shared_bytes: int
    reserved_bytes: int = 1024


LIMITS = {
    70: Limits(64, 32, 96 << 10, 0),
    72: Limits(64, 32, 96 << 10, 0),
    75: Limits(32, 16, 64 << 10, 0),
    80: Limits(64, 32, 164 << 10),
    86: Limits(48, 16, 100 << 10),
    87: Limits(48, 16, 164 << 10),
    89: Limits(48, 24, 100 << 10),
    90: Limits(64, 32, 228 << 10),
    100: Limits(64, 32, 228 << 10),
    103: Limits(64, 32, 228 << 10),
    110: Limits(48, 24, 228 << 10),
    120: Limits(48, 24, 100 << 10),
    121: Limits(48, 24, 100 << 10),
}
"""By compute capability times ten."""


@dataclass(frozen=True, slots=True)
class TaskResources:
    """What one task takes; None where nobody knows.

    registers: of a thread. spill bytes: written and read of a thread, in the text of the machine code. local_bytes: of
    a thread's stack, spills included. shared_bytes: of a block. occupancy: threads that run at once on a multiprocessor
    as part of what it can hold; limit: what keeps it from more. statistics: what a driver says beyond that.
    """

    task: str
    block_dim: int
    registers: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    local_bytes: int | None = None
    shared_bytes: int | None = None
    code_bytes: int | None = None
    occupancy: float | None = None
    limit: str = ""
    statistics: dict[str, Any] = field(default_factory=dict)


COLUMNS = ("task", "threads a block", "registers", "spills", "local", "shared", "code", "occupancy", "limited by")


@dataclass(frozen=True, slots=True)
class Resources:
    """The tasks of a module. device: what they are compiled for. reason: why there are none."""

    device: str
    tasks: tuple[TaskResources, ...] = ()
    reason: str = ""

    def rows(self) -> list[tuple[Any, ...]]:
        """Return a row a task below `COLUMNS`; sizes in bytes."""
        return [
            (
                task.task,
                task.block_dim,
                task.registers,
                _sum(task.spill_store_bytes, task.spill_load_bytes),
                task.local_bytes,
                task.shared_bytes,
                task.code_bytes,
                "" if task.occupancy is None else f"{task.occupancy:.0%}",
                task.limit,
            )
            for task in self.tasks
        ]

    def data(self) -> dict[str, Any]:
        """Return everything as JSON-able data."""
        return asdict(self)

    def __str__(self) -> str:
        if not self.tasks:
            return f"{self.device}: {self.reason}"
        lines = [f"{self.device}:"]
        for task in self.tasks:
            facts = [f"{task.block_dim} threads a block"]
            facts += [] if task.registers is None else [f"{task.registers} registers"]
            spills = _sum(task.spill_store_bytes, task.spill_load_bytes)
            facts += [] if spills is None else [f"{spills} bytes spilled" if spills else "no spills"]
            facts += [] if task.shared_bytes is None else [f"{task.shared_bytes} bytes shared"]
            facts += [] if task.occupancy is None else [f"occupancy {task.occupancy:.0%}, limited by {task.limit}"]
            facts += [f"{name} {value}" for name, value in task.statistics.items()]
            lines.append(f"  {task.task}: {', '.join(facts)}")
        return "\n".join(lines)


def resources(module: BackendModule, gpu: str, session: Session | None = None) -> Resources:
    """Return what the tasks of a module take. gpu: for CUDA, as NVRTC names it. session: its device is asked on Vulkan,
    else the first there is.

    Raises: TaichiCompilationError where a text is refused; TaichiRuntimeError where NVRTC is missing.
    """
    if module.target == "cuda":
        return _of_cuda(module, gpu)
    if module.target == "vulkan":
        return _of_vulkan(module, session)
    what = "C compilers do not tell" if module.target == "c" else "the interpreter takes none"
    return Resources(module.target, reason=what)


def _of_cuda(module: BackendModule, gpu: str) -> Resources:
    found: list[TaskResources] = []
    for number, file in enumerate(module.files):
        made = compiled(module, file, gpu)
        cubin, usage = read_cubin(made.cubin), read_usage(made.log)
        tasks = [task for task in module.tasks if task.file == number]
        found += [_of_task(task, cubin, usage.get(task.entry, Usage()), gpu) for task in tasks]
    return Resources(gpu, tuple(found))


def _of_task(task: TaskSource, cubin: Cubin, usage: Usage, gpu: str) -> TaskResources:
    kernel = cubin.kernels.get(task.entry)
    if kernel is None:
        return TaskResources(task.name, task.block_dim)
    part, limit = None, ""
    if task.kind != "serial":  # which is one thread
        part, limit = occupancy(gpu, task.block_dim, kernel.registers, kernel.shared_bytes)
    return TaskResources(
        task.name,
        task.block_dim,
        kernel.registers,
        usage.spill_store_bytes,
        usage.spill_load_bytes,
        kernel.frame_bytes,
        kernel.shared_bytes,
        kernel.code_bytes,
        part,
        limit,
    )


def occupancy(gpu: str, block_dim: int, registers: int, shared_bytes: int) -> tuple[float | None, str]:
    """Return which part of the warps of a multiprocessor can be this kernel's at once, and what the limit is.

    (None, "") for a GPU that is not in the table.
    """
    number = re.fullmatch(r"sm_(\d+)[a-z]?", gpu)
    limits = LIMITS.get(int(number[1])) if number is not None else None
    if limits is None or block_dim < 1:
        return None, ""
    warps = -(-block_dim // WARP)
    blocks = {"threads": limits.warps // warps, "blocks": limits.blocks}
    if registers:
        of_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
        blocks["registers"] = REGISTERS_PER_SM // of_warp // WARP_UNIT * WARP_UNIT // warps
    shared = -(-(shared_bytes + limits.reserved_bytes) // SHARED_UNIT_BYTES) * SHARED_UNIT_BYTES
    if shared_bytes:
        blocks["shared memory"] = limits.shared_bytes // shared
    limit = min(blocks, key=lambda name: blocks[name])
    return min(blocks[limit] * warps / limits.warps, 1.0), limit


def _of_vulkan(module: BackendModule, session: Session | None) -> Resources:
    """Ask the session's device, else one that is opened for it."""
    if session is not None and session.device.name == "vulkan":
        return _of_driver(module, session.device.statistics(module))  # type: ignore[attr-defined]
    try:
        device = open_device()
    except TaichiRuntimeError as error:
        return Resources("Vulkan", reason=f"only a driver knows, and no device opens: {error}")
    try:
        return _of_driver(module, device.statistics(module))
    except (TaichiCompilationError, TaichiRuntimeError) as error:  # the text may be for a larger device
        return Resources(device.adapter.name, reason=str(error).strip())
    finally:
        device.close()


def _of_driver(module: BackendModule, statistics: dict[str, Any]) -> Resources:
    """Read what a driver said: by task names and numbers in its own words, which differ from driver to driver."""
    if not statistics["tasks"]:
        return Resources(statistics["device"], reason=statistics["reason"])
    found: list[TaskResources] = []
    for task in module.tasks:
        said = dict(statistics["tasks"].get(task.name, {}))
        registers = next((said.pop(name) for name in ("Register Count", "VGPRs", "Registers") if name in said), None)
        found.append(TaskResources(task.name, task.block_dim, registers=registers, statistics=said))
    return Resources(statistics["device"], tuple(found))


def _sum(*numbers: int | None) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
