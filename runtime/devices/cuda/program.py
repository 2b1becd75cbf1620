"""A loaded CUDA kernel, which launchers start.

In: a device, a module and the loaded code. Out: `CudaProgram`, whose `submit` starts the tasks and does
not wait.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from ....transpiler.backend.module.interface import BackendModule
from ..device import only
from .submitting import OwnMemory, Start, Submit, Submitter
from .task_graphs import MIN_TASKS, TaskGraphs, Tasks


class CudaProgram:
    """A loaded kernel. arguments: buffer of the `Args` struct; log: NVRTC's output.

    submit(counts, stream): start all tasks, on CuPy's current stream if none is given.
    inlined: lines of `submit`, by which a kernel that starts one task is started without the lock: its arguments never
    change, or each launch has a block of its own. None if `submit` does more.
    """

    is_whole = False

    __slots__ = ("_device", "_loaded", "_module", "_tasks", "arguments", "inlined", "lock", "log", "submit")

    def __init__(self, device: Any, module: BackendModule, loaded: Any, log: str) -> None:
        self.log = log
        self.lock = device.lock
        self._device, self._module = device, module
        self._loaded = loaded  # unloaded with this object
        self.arguments = (ctypes.c_ubyte * max(1, module.interface.args_size_bytes))()
        functions = [loaded.function(task.entry) for task in module.tasks]
        self._tasks = Tasks(module.kernel, module.tasks, functions, device.resident_threads, loaded)
        memory = OwnMemory(device) if module.interface.temporaries_size_bytes else None
        starting = Submitter(device, module.kernel, module.tasks, functions, self.arguments, loaded, memory)
        self.submit: Submit = starting.submit
        self.inlined: Submitter | None = starting
        is_profiled = device.sources is not None
        if device.task_graphs and not is_profiled and module.tasks:
            least = 1 if module.starts_one_task else MIN_TASKS
            graphs = TaskGraphs(device, self._tasks, self.arguments, starting.submit, memory, least)
            if least < MIN_TASKS:
                starting.repeat(graphs, device.launch_graph, device.backlog)
            else:
                self.submit = graphs.submit
        if is_profiled and device.cupy.cuda.nvtx.available:
            self.submit = _in_range(self.submit, device.cupy.cuda.nvtx, module.kernel)
            self.inlined = None

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._module.kernel

    def starts(self, launch: Callable[..., None], arguments: Any) -> list[Start]:
        """Return a function of count and stream for each task, which calls `launch`, the driver's or a substitute."""
        return self._tasks.starts(launch, arguments)

    def grids(self, counts: Sequence[int]) -> list[tuple[int, int]]:
        """Return blocks a row and rows of each task, as `submit` would start it; (0, 0) for no iterations."""
        found: list[tuple[int, int]] = []
        starts = self.starts(lambda *args: found.append((args[1], args[2])), self.arguments)
        for start, count in zip(starts, counts, strict=True):
            before = len(found)
            start(count, 0)
            found += [(0, 0)] * (before + 1 - len(found))
        return found

    def submit_task(self, index: int, counts: Sequence[int], *given: Any) -> None:
        """Start one task; see `MeasuredProgram`."""
        self.submit(only(index, counts), *given)

    def instantiate(self) -> CudaProgram:
        """Return the same code with its own argument block."""
        return CudaProgram(self._device, self._module, self._loaded, self.log)


def _in_range(submit: Submit, nvtx: Any, kernel: str) -> Submit:
    """Return `submit` inside a range that Nsight shows by the kernel's name."""
    push, pop = nvtx.RangePush, nvtx.RangePop

    def submit_in_range(counts: Sequence[int], given: int | None = None) -> None:
        push(kernel)
        try:
            submit(counts, given)
        finally:
            pop()

    return submit_in_range
