"""The hardware resources of a task: registers, spills, shared memory, and how many of its threads run at once.

`InspectionTools.resources` returns them for a target, as the printable data defined here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TaskResources:
    """The resources of one task; None if unknown.

    Attributes:
        registers: Of a thread.
        spill_store_bytes, spill_load_bytes: Of a thread, as the instructions are written, not as often as they run.
        local_bytes: Of a thread's stack, with spills.
        shared_bytes: Of a block.
        occupancy: Threads that run at once on a multiprocessor, divided by its capacity.
        limit: What prevents a higher occupancy.
        statistics: What a driver reports in addition.
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
        """Return a row for each task, as in `COLUMNS`; sizes in bytes."""
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


def _sum(*numbers: int | None) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
