"""CUDA graphs: launches that the driver starts by one call.

In: launches. Out: `CudaGraph`: kernel nodes, ordered if they access the same memory, instantiated once. A launch with
changed arguments sets the parameters of its nodes; a task without iterations is a disabled node. The graph is rebuilt
only if other arrays change the order of launches. The driver's own functions are called through ctypes, since CuPy
captures graphs but does not change their nodes (14.2).
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol
from weakref import finalize

from ....transpiler.errors import TaichiRuntimeError
from ..device import Launch
from ..hazards import Hazards

Start = Callable[[int, int], None]


class NodeParameters(ctypes.Structure):
    """`CUDA_KERNEL_NODE_PARAMS_v2`; the first version ends before `kernel`."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        *((f"grid_{axis}", ctypes.c_uint) for axis in "xyz"),
        *((f"block_{axis}", ctypes.c_uint) for axis in "xyz"),
        ("shared_bytes", ctypes.c_uint),
        ("parameters", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    )


HANDLE = ctypes.c_void_p
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuGraphCreate": (ctypes.POINTER(HANDLE), ctypes.c_uint),
    "cuGraphAddKernelNode": (
        ctypes.POINTER(HANDLE), HANDLE, ctypes.POINTER(HANDLE), ctypes.c_size_t, ctypes.POINTER(NodeParameters),
    ),
    "cuGraphInstantiateWithFlags": (ctypes.POINTER(HANDLE), HANDLE, ctypes.c_ulonglong),
    "cuGraphExecKernelNodeSetParams": (HANDLE, HANDLE, ctypes.POINTER(NodeParameters)),
    "cuGraphNodeSetEnabled": (HANDLE, HANDLE, ctypes.c_uint),
    "cuGraphLaunch": (HANDLE, HANDLE),
    "cuGraphExecDestroy": (HANDLE,),
    "cuGraphDestroy": (HANDLE,),
    "cuThreadExchangeStreamCaptureMode": (ctypes.POINTER(ctypes.c_int),),
}  # fmt: skip
"""Functions of the driver by their documented names; all return a CUresult."""

CAPTURE_MODE_RELAXED = 2
"""`CU_STREAM_CAPTURE_MODE_RELAXED`."""

SECOND_VERSIONS = ("cuGraphAddKernelNode", "cuGraphExecKernelNodeSetParams")
"""Functions with a second version since driver 12.0, which takes the longer struct."""


@cache
def functions() -> dict[str, Callable[..., int]]:
    """Return the driver's functions by name."""
    library = ctypes.CDLL("libcuda.so.1")
    found: dict[str, Callable[..., int]] = {}
    for name, types in SIGNATURES.items():
        newer = getattr(library, f"{name}_v2", None) if name in SECOND_VERSIONS else None
        function = getattr(library, name) if newer is None else newer
        function.argtypes, function.restype = types, ctypes.c_int
        found[name] = function
    return found


@contextmanager
def relaxed_captures(driver: Mapping[str, Callable[..., int]]) -> Iterator[None]:
    """Let this thread allocate although a stream is being captured, which the driver refuses else."""
    mode = ctypes.c_int(CAPTURE_MODE_RELAXED)
    exchange = driver["cuThreadExchangeStreamCaptureMode"]
    exchange(ctypes.byref(mode))
    try:
        yield
    finally:
        exchange(ctypes.byref(mode))


class Owner(Protocol):
    """The part of the device that a graph needs."""

    current_stream: Callable[[], Any]
    driver_error: Callable[[int], Exception]
    recent: deque[str]
    stream: int

    def note_stream(self, stream: int, is_given: bool = False) -> None:
        """Record that work is on more than one stream."""

    def enter(self) -> None:
        """Set this thread's context to the GPU's, if it has none."""

    def describe(self, error: Exception) -> TaichiRuntimeError:
        """Return the error that names the kernels launched last."""


class LaunchRecorder:
    """Replaces the driver's `launchKernel`. last: the arguments of the last call, None if there was none."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last: tuple[int, ...] | None = None

    def launch(self, *launched: int) -> None:
        """Record a launch."""
        self.last = launched


class Node:
    """One task in the graph."""

    __slots__ = ("count", "handle", "has_iterations", "is_enabled", "parameters", "reference", "start")

    def __init__(self, start: Start) -> None:
        self.start = start
        self.parameters = NodeParameters(grid_x=1, grid_y=1, grid_z=1, block_x=1, block_y=1, block_z=1)
        self.reference = ctypes.byref(self.parameters)
        self.handle = HANDLE()
        self.is_enabled = self.has_iterations = True
        self.count = -2
        """Trip count of the launch, for which the parameters are set."""


class CudaGraph:
    """Launches as one CUDA graph."""

    def __init__(self, device: Owner, launches: Sequence[Launch]) -> None:
        device.enter()  # 580.159 crashes if a thread without a context adds nodes
        self._device = device
        self._launches = list(launches)
        self._names = list(dict.fromkeys(launch.program.name for launch in launches))
        self._edges = _edges_of(launches)
        self._built = Built(device, launches, self._edges)
        self._changed: dict[int, Launch] = {}
        self._has_moved = False

    def update(self, number: int, launch: Launch) -> None:
        """Replace a launch from the next run on."""
        old = self._launches[number]
        if launch.access_set is not old.access_set and launch.access_set != old.access_set:
            self._has_moved = True
        self._launches[number] = self._changed[number] = launch

    def run(self) -> None:
        """Launch the graph on CuPy's current stream."""
        device = self._device
        device.enter()
        if self._changed:
            self._update()
        if self._built.is_empty:
            return
        stream = device.current_stream().ptr
        if stream != device.stream:
            device.note_stream(stream)
        device.recent.extend(self._names)
        self._built.launch(stream)

    def _update(self) -> None:
        """Apply changes; rebuild the graph if the order of launches changes."""
        edges = _edges_of(self._launches) if self._has_moved else self._edges
        if edges != self._edges:
            self._edges, self._built = edges, Built(self._device, self._launches, edges)
        else:
            self._built.update(self._changed)
        self._changed, self._has_moved = {}, False


def _edges_of(launches: Sequence[Launch]) -> list[list[int]]:
    """Return for each launch the launches that it must wait for; launches without tasks are ignored."""
    hazards = Hazards()
    return [
        sorted(hazards.add(number, launch.access_set)) if launch.counts else []
        for number, launch in enumerate(launches)
    ]


class Built:
    """An instantiated graph: tasks of a launch are ordered, and launches are ordered by their dependencies."""

    def __init__(self, device: Owner, launches: Sequence[Launch], edges: Sequence[Sequence[int]]) -> None:
        self._device = device
        self._driver = functions()
        self._recorded = LaunchRecorder()
        self._blocks: list[Any] = []
        self._nodes: list[list[Node]] = []
        for launch in launches:
            block = (ctypes.c_ubyte * max(1, len(launch.arguments)))()
            ctypes.memmove(block, launch.arguments, len(launch.arguments))
            self._blocks.append(block)
            self._nodes.append([Node(start) for start in launch.program.starts(self._recorded.launch, block)])
        self._graph, self._exec = HANDLE(), HANDLE()
        programs = [launch.program for launch in launches]
        finalize(self, _destroy, device.enter, self._driver, (self._exec, self._graph), programs).atexit = False
        with relaxed_captures(self._driver):
            self._build(launches, edges)

    @property
    def is_empty(self) -> bool:
        """Whether the graph has no nodes."""
        return not any(self._nodes)

    @property
    def handle(self) -> int:
        """The instantiated graph, as the runtime and the driver both take it."""
        return self._exec.value or 0

    def launch(self, stream: int) -> None:
        """Launch the graph."""
        self._call("cuGraphLaunch", self._exec, stream)

    def update(self, launches: Mapping[int, Launch]) -> None:
        """Set the parameters of the nodes of some launches, by number; runs in progress are unaffected."""
        set_parameters, move, graph = self._driver["cuGraphExecKernelNodeSetParams"], ctypes.memmove, self._exec
        for number, launch in launches.items():
            move(self._blocks[number], launch.arguments, len(launch.arguments))
            for node, count in zip(self._nodes[number], launch.counts, strict=True):
                if count != node.count:
                    node.has_iterations = self._fill(node, count)
                if node.has_iterations:
                    self._check(set_parameters(graph, node.handle, node.reference))
                if node.is_enabled != node.has_iterations:
                    self._enable(node)

    def _build(self, launches: Sequence[Launch], edges: Sequence[Sequence[int]]) -> None:
        self._call("cuGraphCreate", ctypes.byref(self._graph), 0)
        for launch, nodes, before in zip(launches, self._nodes, edges, strict=True):
            ends = [self._nodes[other][-1].handle.value for other in before]
            for node, count in zip(nodes, launch.counts, strict=True):
                node.has_iterations = self._fill(node, count)
                if not node.has_iterations:
                    self._fill(node, 1)  # a disabled node needs a grid too
                    node.count = count
                self._add(node, ends)
                ends = [node.handle.value]
        self._call("cuGraphInstantiateWithFlags", ctypes.byref(self._exec), self._graph, 0)
        for node in (node for nodes in self._nodes for node in nodes if not node.has_iterations):
            self._enable(node)

    def _add(self, node: Node, before: Sequence[int | None]) -> None:
        handles = (HANDLE * len(before))(*before) if before else None
        handle, count = ctypes.byref(node.handle), len(before)
        self._call("cuGraphAddKernelNode", handle, self._graph, handles, count, node.reference)

    def _fill(self, node: Node, count: int) -> bool:
        """Set the parameters of a node for a trip count. Return False if there is nothing to start."""
        self._recorded.last, node.count = None, count
        node.start(count, 0)
        if self._recorded.last is None:
            return False
        function, grid_x, _, _, block_x, _, _, _, _, arguments, _ = self._recorded.last
        parameters = node.parameters
        parameters.function, parameters.grid_x, parameters.block_x, parameters.parameters = (
            function, grid_x, block_x, arguments
        )  # fmt: skip
        return True

    def _enable(self, node: Node) -> None:
        """Enable a node if it has iterations, else disable it."""
        self._call("cuGraphNodeSetEnabled", self._exec, node.handle, int(node.has_iterations))
        node.is_enabled = node.has_iterations

    def _call(self, name: str, *args: Any) -> None:
        """Call the driver. Raises: TaichiRuntimeError with its message."""
        self._check(self._driver[name](*args))

    def _check(self, code: int) -> None:
        if code:
            error = self._device.driver_error(code)
            raise self._device.describe(error) from error


def _destroy(
    enter: Callable[[], None], driver: dict[str, Callable[..., int]], handles: Sequence[HANDLE], programs: object
) -> None:
    """Destroy a graph; the driver lets runs in progress end. programs: kept alive until then."""
    enter()  # a finalizer may run in any thread
    for name, handle in zip(("cuGraphExecDestroy", "cuGraphDestroy"), handles, strict=True):
        if handle.value:
            driver[name](handle)
