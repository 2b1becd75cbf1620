"""Names the tasks of a kernel by their numbers."""

from __future__ import annotations

from ....ir.tasks import Kernel, Task


def set_tasks(kernel: Kernel, tasks: list[Task]) -> None:
    """Replace the tasks of a kernel, and name them by their new numbers."""
    kernel.tasks = tasks
    for number, task in enumerate(tasks):
        task.name = f"{kernel.name}_{number}" if len(tasks) > 1 else kernel.name
