"""Launches that repeat as CUDA graphs: each is one call of the driver, which costs less than starting a kernel.

In: the tasks of a kernel, and the function that starts them one by one. Out: for several tasks a function in its place,
for one task what its launcher asks for a graph. A launch with the trip counts and packed arguments of earlier ones is a
graph from the third on: the GPU waits less between its tasks than between launches, and Python makes one call. Other
launches of several tasks share one graph, whose nodes get the arguments of each. So do all while the GPU is far behind:
the driver runs a graph the later the more different ones wait (on an H200 two tasks take 6.4 us with one graph, 13.7
with 64 of them, 37 with 256). What another library captures is started task by task. `ti.init(task_graphs=False)`
switches it off.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol
from weakref import WeakSet

from ....transpiler.backend.module.interface import TaskSource
from ..device import Launch
from .graph import Built
from .graph import Owner as GraphOwner
from .streams import LAUNCHES, Backlog
from .submitting import OwnMemory, Start, Submit, make_block, make_starters

MIN_TASKS = 2
"""Tasks from which on `TaskGraphs.submit` pays: on an H200 three take 4.2 us, one by one 10.1."""
REPEATS, REPEATS_OF_ONE = 3, 16
"""The launch that makes the graph, which takes some 100 us: of several tasks, and of one, where it saves the least: on
an H200 the driver starts a kernel in 3.8 us and a graph in 1.5."""
MOST_GRAPHS = 64
"""Graphs of a kernel: one for each time step of a frame, say. Each takes 115 KB of the GPU's memory."""
FEW_GRAPHS = 4
"""Graphs of a kernel that are launched while the GPU is far behind."""
OTHERS = 8
"""Launches without a graph of their own, from which on they share one."""
MOST_OF_A_GPU = 512
"""Graphs of all kernels of a session, which then take 59 MB."""
MOST_SEEN = 256
"""Launches of which none repeats, after which none is looked at any more."""

Key = Hashable
"""What a graph depends on: trip counts and packed arguments. Those that never change may be missing."""


class Owner(GraphOwner, Protocol):
    """The part of the device that these graphs need. graphs: those of all kernels. launch_graph: CuPy's, of a handle
    and a stream."""

    backlog: Backlog
    failure: tuple[type[Exception], ...]
    graphs: WeakSet[Any]
    lock: Any
    is_capturing: Callable[[int], bool]
    launch_graph: Callable[[int, int], None]
    resident_threads: int


class Tasks:
    """The tasks of a kernel, as graphs take a program. keep: what must live as long as a graph."""

    __slots__ = ("_functions", "_keep", "_resident_threads", "_tasks", "name")

    def __init__(
        self, name: str, tasks: Sequence[TaskSource], functions: Sequence[int], resident_threads: int, keep: Any
    ) -> None:
        self.name = name
        self._tasks, self._functions, self._resident_threads, self._keep = tasks, functions, resident_threads, keep

    def starts(self, launch: Callable[..., None], arguments: Any) -> list[Start]:
        """Return a function of count and stream for each task, which calls `launch` with a block of arguments."""
        return make_starters(launch, self._resident_threads, self._tasks, self._functions, make_block(arguments))


class TaskGraphs:
    """The graphs of one kernel, by what its launches have in common.

    Launchers of kernels of one task use the attributes; the driver wants one thread at a time to use a graph.

    Attributes:
        handles: the instantiated graphs, as CuPy launches them, by key. Of kernels of one task those that nobody uses:
            a launcher takes the graph, and gives it back afterwards.
        is_on: False once so many launches have differed from each other that none gets a graph of its own any more.
    """

    __slots__ = (
        "_arguments",
        "_built",
        "_device",
        "_least",
        "_made",
        "_memory",
        "_others",
        "_seen",
        "_shared",
        "_submit",
        "_tasks",
        "handles",
        "is_on",
    )

    def __init__(
        self,
        device: Owner,
        tasks: Tasks,
        arguments: Any,
        submit: Submit,
        memory: OwnMemory | None = None,
        least: int = MIN_TASKS,
    ) -> None:
        """submit: starts the tasks one by one. arguments: the block that a launcher packs, with the device's lock held.

        least: tasks with iterations from which on a launch becomes a graph.
        """
        self._device, self._tasks, self._arguments, self._submit = device, tasks, arguments, submit
        self._memory, self._least = memory, least
        self.handles: dict[Key, int] = {}
        self._built: list[Built] = []
        self._made: set[Key] = set()
        self._seen: dict[Key, int] = {}
        self._shared: Built | None = None
        self._others = 0
        self.is_on = True

    def submit(self, counts: Sequence[int], given: int | None = None) -> None:
        """Start all tasks, on CuPy's current stream if none is given."""
        if sum(map(bool, counts)) < self._least:  # a single task is no sequence
            return self._submit(counts, given)
        device = self._device
        stream: int = device.current_stream().ptr if given is None else given
        if stream and device.is_capturing(stream):  # by another library, as single launches
            return self._submit(counts, given)
        packed = bytes(self._arguments)
        device.enter()
        if not next(device.backlog.launches) % LAUNCHES and not stream:
            device.backlog.look()
        graph = self._own(counts, packed) or self._share(counts, packed)
        if graph is None:
            return self._submit(counts, given)
        if stream != device.stream:
            device.note_stream(stream, given is not None)
        if self._memory is not None and stream != self._memory.stream:
            self._memory.order(stream)
        device.recent.append(self._tasks.name)
        try:
            device.launch_graph(graph, stream)
        except device.failure as error:
            raise device.describe(error) from error

    def _own(self, counts: Sequence[int], packed: bytes) -> int | None:
        """Return the graph of these launches, unless they do better to share one."""
        if self._device.backlog.is_long and len(self._built) > FEW_GRAPHS:
            return None
        key = (counts, packed)
        return self.handles.get(key) or (self.make(key, counts, packed) if self.is_on else None)

    def make(self, key: Key, counts: Sequence[int], packed: bytes | None = None) -> int | None:
        """Return the graph of a launch that was seen often enough, made now. packed: None for the own arguments."""
        with self._device.lock:
            if key in self._made:  # another thread was faster, or uses it
                return self.handles.get(key) if self._least >= MIN_TASKS else self.handles.pop(key, None)
            seen = self._seen.get(key, 0) + 1
            if seen < (REPEATS if self._least >= MIN_TASKS else REPEATS_OF_ONE):
                if len(self._seen) >= MOST_SEEN:
                    self._seen.clear()
                    self.is_on = False
                self._seen[key] = seen
                return None
            if sum(map(bool, counts)) < self._least:
                return None
            if len(self._built) >= MOST_GRAPHS or self._has_too_many():
                return None
            del self._seen[key]
            self._built.append(self._build(counts, bytes(self._arguments) if packed is None else packed))
            self._made.add(key)
            handle = self._built[-1].handle
            if self._least >= MIN_TASKS:
                self.handles[key] = handle
            return handle

    def _share(self, counts: Sequence[int], packed: bytes) -> int | None:
        """Return the graph of launches without one of their own, with these arguments; None for the first of them."""
        with self._device.lock:
            if self._shared is not None:
                self._shared.update({0: Launch(self._tasks, counts, packed)})
                return self._shared.handle
            self._others += 1
            if self._others < OTHERS or self._has_too_many():
                return None
            self._shared = self._build(counts, packed)
            return self._shared.handle

    def _has_too_many(self) -> bool:
        return len(self._device.graphs) >= MOST_OF_A_GPU

    def _build(self, counts: Sequence[int], packed: bytes) -> Built:
        self._device.enter()
        built = Built(self._device, [Launch(self._tasks, counts, packed)], [[]])
        self._device.graphs.add(built)
        return built
