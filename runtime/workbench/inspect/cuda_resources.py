"""What tasks in CUDA C take. No GPU is needed: the cubin and ptxas tell everything but the limits of a multiprocessor,
which are a table here.

Source: CUDA C++ Programming Guide, technical specifications per compute capability; the rules of allocation are those
of NVIDIA's occupancy calculator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ....transpiler.backend.module.interface import BackendModule, TaskSource
from ...devices.cuda.cubin import Cubin, Usage, read_cubin, read_usage
from .cuda_listings import compiled
from .resources import Resources, TaskResources

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


def cuda_resources(module: BackendModule, gpu: str, session: object = None) -> Resources:
    """Compile a module for a GPU and read what its tasks take."""
    found: list[TaskResources] = []
    for number, file in enumerate(module.files):
        made = compiled(module, file, gpu)
        cubin, usage = read_cubin(made.cubin), read_usage(made.log)
        tasks = [task for task in module.tasks if task.file == number]
        found += [_of_task(task, cubin, usage.get(task.entry), gpu) for task in tasks]
    return Resources(gpu, tuple(found))


def _of_task(task: TaskSource, cubin: Cubin, usage: Usage | None, gpu: str) -> TaskResources:
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
        usage.spill_store_bytes if usage else None,
        usage.spill_load_bytes if usage else None,
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
