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
from ....transpiler.options import FEW_ITERATIONS
from .streams import LAUNCHES, Backlog

MAX_GROUPS_X = 2**31 - 1
WAVES = 4
"""Threads of a grid-stride loop, as a multiple of those that the GPU runs at once: balances uneven iterations."""

Submit = Callable[..., None]
Start = Callable[[int, int], None]


class Graphs(Protocol):
    """The graphs of a kernel, by what its launches have in common; see `TaskGraphs`."""

    handles: dict[Any, int]
    is_on: bool

    def make(self, key: Any, counts: Sequence[int], packed: bytes | None = None) -> int | None:
        """Return the graph of a launch that was seen often enough, unless another thread uses it."""


class Owner(Protocol):
    """The part of the device that launches need."""

    index: int
    current_stream: Callable[[], Any]
    failure: tuple[type[Exception], ...]
    launch_kernel: Callable[..., None]
    recent: Any
    resident_threads: int
    stream: int

    def note_stream(self, stream: int, is_given: bool = False) -> None:
        """Record that work is on more than one stream."""

    def let_wait(self, stream: int, other: int) -> None:
        """Let later work on `stream` wait for the work on `other`, on the GPU."""

    def enter_thread(self, error: Exception) -> bool:
        """Set this thread's context to the GPU's, if the error is that it has none."""

    def describe(self, error: Exception) -> Exception:
        """Return the error that names the kernels launched last."""


Block = tuple[Any, int, Any, Any]
"""An argument block: the buffer, the address that launches take, what lives with them, and the buffer's bytes."""


def make_block(buffer: Any) -> Block:
    """Return a buffer as an argument block."""
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
    return buffer, ctypes.addressof(parameters), parameters, memoryview(buffer).cast("B")


def most_groups(task: TaskSource, resident_threads: int) -> int:
    """Return how many groups of a task are started at most; a grid-stride loop does the rest."""
    return max(1, resident_threads * WAVES // task.block_dim) if task.strided else MAX_GROUPS_X


def make_starter(
    launch: Callable[..., None], resident_threads: int, task: TaskSource, function: int, block: Block
) -> Start:
    """Return the function that launches one task, given its count and a stream."""
    few, items = task.few_block, task.items
    most, address = most_groups(task, resident_threads), block[1]

    def start(count: int, stream: int, keep: Block = block) -> None:
        block_dim = few if few and 0 <= count <= FEW_ITERATIONS else task.block_dim
        groups = -(-count // (block_dim * items)) if count >= 0 else most
        if groups:
            launch(function, groups if groups < most else most, 1, 1, block_dim, 1, 1, 0, stream, address, 0)

    return start


def make_starters(
    launch: Callable[..., None],
    resident_threads: int,
    tasks: Sequence[TaskSource],
    functions: Sequence[int],
    block: Block,
) -> list[Start]:
    """Return the functions that launch the tasks of a kernel, one each."""
    return [
        make_starter(launch, resident_threads, task, function, block)
        for task, function in zip(tasks, functions, strict=True)
    ]


class OwnMemory:
    """The stream on which a kernel with memory of its own was launched last: that memory is for one launch at a time.

    stream: its handle; -1 before the first launch.
    """

    __slots__ = ("_device", "stream")

    def __init__(self, device: Owner) -> None:
        self._device, self.stream = device, -1

    def order(self, stream: int) -> None:
        """Let a launch on a stream wait for those on the stream before."""
        before, self.stream = self.stream, stream
        if before >= 0:
            self._device.let_wait(stream, before)


class Submitter:
    """What starts the tasks of one kernel: a function, and its lines for a launcher that contains them.

    Attributes:
        submit: `submit(counts, stream, block)` starts all tasks, on CuPy's current stream if none is given. block:
            address of the argument block, that of `arguments` if none is given.
        before, lines: the body of `submit` for counts `c0`, `c1`, ... and a variable `block`, in terms of `names`, in
            two parts: what finds the stream, and what starts the tasks.
        counts: the tuple of these counts.
        names: also those of launches with argument blocks of their own: `take` and `give` unused ones, `new_block`.
        repeats: whether launches that repeat are graphs, by `names["graphs"]`.
    """

    def __init__(
        self,
        device: Owner,
        kernel: str,
        tasks: Sequence[TaskSource],
        functions: Sequence[int],
        arguments: Any,
        keep: Any,
        memory: OwnMemory | None = None,
    ) -> None:
        """keep: what must live as long as the function. memory: of a kernel that has some for itself."""
        own = make_block(arguments)

        def again(error: Exception, counts: Sequence[int], stream: int, address: int) -> None:
            """Start the tasks in a thread that had no context, which the first launch reports."""
            if not device.enter_thread(error):
                raise device.describe(error) from error
            block = None, address, None, None
            starts = make_starters(device.launch_kernel, device.resident_threads, tasks, functions, block)
            for start, count in zip(starts, counts, strict=True):
                start(count, stream)

        spare: list[Block] = []
        size_bytes = len(arguments)
        self.names: dict[str, Any] = {
            "device": device,
            "current": device.current_stream,
            "note_stream": device.note_stream,
            "memory": memory,
            "remember": device.recent.append,
            "failure": device.failure,
            "start_kernel": device.launch_kernel,
            "kernel": kernel,
            "again": again,
            "arguments": own[1],
            "take": spare.pop,
            "give": spare.append,
            "new_block": lambda: make_block((ctypes.c_ubyte * size_bytes)()),
            "keep": (own, keep),
            **{f"f{index}": function for index, function in enumerate(functions)},
        }
        shapes = tuple(_shape(task, device.resident_threads) for task in tasks)
        self.before = _before("current().ptr", "False", memory is not None)
        self.lines, self.counts = _starts(shapes), _counts(shapes)
        self.repeats = False
        exec(_code_of(shapes, memory is not None), self.names)  # noqa: S102
        self.submit: Submit = self.names.pop("submit")  # else it would be in a reference cycle with its namespace

    def repeat(self, graphs: Graphs, launch_graph: Callable[[int, int], None], backlog: Backlog) -> None:
        """Let launchers start graphs in place of launches that repeat."""
        self.repeats = True
        self.names |= {
            "backlog": backlog,
            "launches": backlog.launches,
            "graphs": graphs,
            "idle": graphs.handles,
            "pick": graphs.handles.pop,
            "launch_graph": launch_graph,
        }

    def repeated(self, packed: str, counted: Sequence[str], otherwise: Sequence[str]) -> list[str]:
        """Return lines that launch the graph of packed arguments, if there is one: these decide on the trip count too.

        counted: lines that compute and check that count; otherwise: those of a launch without a graph. Graphs run on
        the default stream only, which nobody captures. The driver lets one thread at a time use a graph, and CuPy lets
        other threads run meanwhile: so a launch takes it, and gives it back, which costs less than a lock.
        """
        device: Owner = self.names["device"]
        has_none = "stream or backlog.is_long or not graphs.is_on"
        return [
            "stream = current().ptr",
            f"if not next(launches) % {LAUNCHES} and not stream: backlog.look()",
            f"graph = None if {has_none} else pick({packed}, None)",
            "if graph is None:",
            *(f"    {line}" for line in counted),
            f"    graph = None if {has_none} else graphs.make({packed}, {self.counts}, {packed})",
            *self.before[1:],
            "if graph is None:",
            *(f"    {line}" for line in otherwise),
            "else:",
            *(["    device.enter()"] if device.index else []),  # else CuPy finds the only GPU by itself
            "    try: launch_graph(graph, 0)",
            "    except failure as error: raise device.describe(error) from error",
            f"    idle[{packed}] = graph",
        ]


Shape = tuple[int, int, int, bool, int]
"""Of a task: threads of a block, iterations of a block, most groups, whether it is a grid-stride loop, and how many
threads a block has for few iterations."""


def _shape(task: TaskSource, resident_threads: int) -> Shape:
    most = most_groups(task, resident_threads)
    return task.block_dim, task.iterations_per_block, most, task.strided, task.few_block


@lru_cache(256)
def _code_of(shapes: tuple[Shape, ...], has_memory: bool) -> CodeType:
    """Return the code that defines `submit`; kernels whose tasks have the same shapes share it.

    For a kernel of one parallel loop in blocks of 128:

        def submit(counts, given=None, block=arguments):
            c0, = counts
            stream = current().ptr if given is None else given
            if stream != device.stream: note_stream(stream, given is not None)
            remember(kernel)
            try:
                g0 = (c0 + 127) // 128
                if g0: start_kernel(f0, g0, 1, 1, 128, 1, 1, 0, stream, block, 0)
            except failure as error:
                again(error, (c0,), stream, block)
    """
    before = _before("current().ptr if given is None else given", "given is not None", has_memory)
    body = [*before, *_starts(shapes)]
    unpacked = [f"{_counts(shapes)} = counts"] if shapes else []
    source = ["def submit(counts, given=None, block=arguments):", *(f"    {line}" for line in (*unpacked, *body))]
    return compile("\n".join(source), "<launcher of CUDA kernels>", "exec")


def _counts(shapes: Sequence[Shape]) -> str:
    return f"({''.join(f'c{index}, ' for index in range(len(shapes)))})"


def _before(stream: str, is_given: str, has_memory: bool) -> list[str]:
    """Return the lines that find the stream, and order it. stream, is_given: expressions."""
    return [
        f"stream = {stream}",
        f"if stream != device.stream: note_stream(stream, {is_given})",
        *(["if stream != memory.stream: memory.order(stream)"] if has_memory else []),
        "remember(kernel)",
    ]


def _starts(shapes: Sequence[Shape]) -> list[str]:
    """Return the lines that start all tasks."""
    starts = [line for index, shape in enumerate(shapes) for line in _start_lines(index, *shape)]
    return [
        "try:",
        *(f"    {line}" for line in starts or ["pass"]),
        "except failure as error:",
        f"    again(error, {_counts(shapes)}, stream, block)",
    ]


def _start_lines(index: int, block_dim: int, iterations: int, most: int, is_strided: bool, few_block: int) -> list[str]:
    """Return the lines that start one task; only of a grid-stride loop may the count be unknown to the host, -1.

    few_block: threads of a block for up to `FEW_ITERATIONS`, one for each; 0: as for others.
    """
    count, groups, threads = f"c{index}", f"g{index}", str(block_dim)
    rounded = f"({count} + {iterations - 1}) // {iterations}" if iterations > 1 else count
    lines = [f"{groups} = {rounded}"]
    if few_block:
        threads = f"b{index}"
        lines = [
            f"{threads} = {few_block} if 0 <= {count} <= {FEW_ITERATIONS} else {block_dim}",
            f"{groups} = -(-{count} // ({threads} * {iterations // block_dim}))",
        ]
    if is_strided:
        lines.append(f"if {count} < 0 or {groups} > {most}: {groups} = {most}")
    return [*lines, f"if {groups}: start_kernel(f{index}, {groups}, 1, 1, {threads}, 1, 1, 0, stream, block, 0)"]
