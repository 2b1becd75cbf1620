"""The functions that start the tasks of one CUDA kernel: generated Python, since every launch runs them.

In: a kernel's tasks, its functions on the device, its argument block. Out: for a launch, one function that starts all
tasks; for graphs, a function for each task. The generated source holds numbers and names made here, never a user's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, Protocol

from ....transpiler.backend.module.interface import TaskSource

MAX_GROUPS_X = 2**31 - 1
WAVES = 4
"""Threads of a grid-stride loop, as a multiple of those that the GPU runs at once: balances uneven iterations."""

Submit = Callable[..., None]
Start = Callable[[int, int], None]


class Owner(Protocol):
    """The part of the device that launches need."""

    current_stream: Callable[[], Any]
    failure: tuple[type[Exception], ...]
    launch_kernel: Callable[..., None]
    recent: Any
    resident_threads: int
    stream: int

    def note_stream(self, stream: int, is_given: bool = False) -> None:
        """Record that work is on more than one stream."""

    def enter_thread(self, error: Exception) -> bool:
        """Set this thread's context to the GPU's, if the error is that it has none."""

    def describe(self, error: Exception) -> Exception:
        """Return the error that names the kernels launched last."""


def most_groups(task: TaskSource, resident_threads: int) -> int:
    """Return how many groups of a task are started at most; a grid-stride loop does the rest."""
    return max(1, resident_threads * WAVES // task.block_dim) if task.strided else MAX_GROUPS_X


def make_starter(
    launch: Callable[..., None], resident_threads: int, task: TaskSource, function: int, arguments: Any
) -> Start:
    """Return the function that launches one task, given its count and a stream."""
    block_dim, iterations = task.block_dim, task.iterations_per_block
    most = most_groups(task, resident_threads)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(arguments))
    address = ctypes.addressof(parameters)

    def start(count: int, stream: int, keep: Any = (parameters, arguments)) -> None:
        groups = (count + iterations - 1) // iterations if count >= 0 else most
        if groups:
            launch(function, groups if groups < most else most, 1, 1, block_dim, 1, 1, 0, stream, address, 0)

    return start


def make_submitter(
    device: Owner, kernel: str, tasks: Sequence[TaskSource], functions: Sequence[int], arguments: Any, keep: Any
) -> Submit:
    """Return `submit(counts, stream)`, which starts all tasks, on CuPy's current stream if none is given.

    For a kernel of one parallel loop in blocks of 128:

        def submit(counts, given=None):
            stream = current().ptr if given is None else given
            if stream != device.stream: note_stream(stream, given is not None)
            remember(kernel)
            try:
                c0, = counts
                g0 = (c0 + 127) // 128 if c0 >= 0 else 2147483647
                if g0: launch(f0, g0 if g0 < 2147483647 else 2147483647, 1, 1, 128, 1, 1, 0, stream, arguments, 0)
            except failure as error:
                again(error, counts, stream)

    keep: what must live as long as the function.
    """
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(arguments))

    def again(error: Exception, counts: Sequence[int], stream: int) -> None:
        """Start the tasks in a thread that had no context, which the first launch reports."""
        if not device.enter_thread(error):
            raise device.describe(error) from error
        for task, function, count in zip(tasks, functions, counts, strict=True):
            make_starter(device.launch_kernel, device.resident_threads, task, function, arguments)(count, stream)

    namespace = {
        "device": device,
        "current": device.current_stream,
        "note_stream": device.note_stream,
        "remember": device.recent.append,
        "failure": device.failure,
        "launch": device.launch_kernel,
        "kernel": kernel,
        "again": again,
        "arguments": ctypes.addressof(parameters),
        "keep": (parameters, arguments, keep),
        **{f"f{index}": function for index, function in enumerate(functions)},
    }
    exec(_code_of(tuple(_shape(task, device.resident_threads) for task in tasks)), namespace)  # noqa: S102
    submit: Submit = namespace.pop("submit")  # else it would be in a reference cycle with its namespace
    return submit


Shape = tuple[int, int, int, bool]
"""Of a task: threads of a block, iterations of a block, most groups, whether it is serial."""


def _shape(task: TaskSource, resident_threads: int) -> Shape:
    return task.block_dim, task.iterations_per_block, most_groups(task, resident_threads), task.kind == "serial"


@lru_cache(256)
def _code_of(shapes: tuple[Shape, ...]) -> CodeType:
    """Return the code that defines `submit`; kernels whose tasks have the same shapes share it."""
    names = [f"c{index}" for index in range(len(shapes))]
    lines = [f"{', '.join(names)}{',' if len(names) == 1 else ''} = counts"] if names else ["pass"]
    for index, shape in enumerate(shapes):
        lines += _start_lines(index, *shape)
    source = [
        "def submit(counts, given=None):",
        "    stream = current().ptr if given is None else given",
        "    if stream != device.stream: note_stream(stream, given is not None)",
        "    remember(kernel)",
        "    try:",
        *(f"        {line}" for line in lines),
        "    except failure as error:",
        "        again(error, counts, stream)",
    ]
    return compile("\n".join(source), "<launcher of CUDA kernels>", "exec")


def _start_lines(index: int, block_dim: int, iterations: int, most: int, is_serial: bool) -> list[str]:
    """Return the lines that start one task."""
    count, groups = f"c{index}", f"g{index}"
    rounded = f"({count} + {iterations - 1}) // {iterations}" if iterations > 1 else count
    if not is_serial:
        rounded = f"{rounded} if {count} >= 0 else {most}"
    limited = f"{groups} if {groups} < {most} else {most}"
    return [
        f"{groups} = {rounded}",
        f"if {groups}: launch(f{index}, {limited}, 1, 1, {block_dim}, 1, 1, 0, stream, arguments, 0)",
    ]
