"""What a task takes of the hardware: registers, spills, shared memory, and how many of its threads run at once.

`InspectionTools.resources` finds it out for a target; here is what all of them return, printable.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


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


def _sum(*numbers: int | None) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
