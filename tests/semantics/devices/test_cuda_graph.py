"""What CUDA graphs ask of the driver, seen by a library in its place; what they compute is in `test_graphs.py`."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
from collections import deque
from contextlib import nullcontext
from weakref import WeakSet

import pytest

from shadesmith.runtime.devices.cuda import graph as cuda_graph
from shadesmith.runtime.devices.cuda import task_graphs
from shadesmith.runtime.devices.cuda.graph import CudaGraph
from shadesmith.runtime.devices.cuda.streams import LAUNCHES, Backlog
from shadesmith.runtime.devices.cuda.submitting import make_block, make_starter
from shadesmith.runtime.devices.cuda.task_graphs import FEW_GRAPHS, MOST_SEEN, OTHERS, TaskGraphs, Tasks
from shadesmith.runtime.devices.device import Launch
from shadesmith.transpiler.backend.module.interface import TaskSource
from shadesmith.transpiler.errors import TaichiRuntimeError

DRIVER = r"""
#include <stdio.h>
#include <string.h>
/* CUDA_KERNEL_NODE_PARAMS_v2 as documented */
typedef struct { void *func; unsigned gx, gy, gz, bx, by, bz, shared; void **parameters; void **extra; void *kern, *ctx; } Node;
static char told[1 << 16];
static int nodes = 0;
int failure = 0;
static int tell(const char *text) { strcat(told, text); strcat(told, "\n"); return failure; }
const char *read_told(void) { static char copy[1 << 16]; strcpy(copy, told); told[0] = 0; return copy; }
static void show(char *out, const Node *n) {
    sprintf(out, "func %d grid %u,%u,%u block %u,%u,%u shared %u args %d extra %d", (int)(size_t)n->func, n->gx, n->gy, n->gz,
            n->bx, n->by, n->bz, n->shared, *(int *)n->parameters[0], n->extra != 0);
}
int cuGraphCreate(void **graph, unsigned flags) { *graph = (void *)7; return tell("create"); }
int cuGraphAddKernelNode_v2(void **node, void *graph, void *const *before, size_t count, const Node *n) {
    char text[300], all[500];
    show(text, n);
    *node = (void *)(size_t)(100 + nodes++);
    int at = sprintf(all, "add %d after", (int)(size_t)*node);
    for (size_t k = 0; k < count; k++) at += sprintf(all + at, " %d", (int)(size_t)before[k]);
    sprintf(all + at, ": %s", text);
    return tell(all);
}
int cuGraphAddKernelNode(void) { return 1; }
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
    *exec = (void *)9; return tell("instantiate");
}
int cuGraphExecKernelNodeSetParams_v2(void *exec, void *node, const Node *n) {
    char text[300], all[400];
    show(text, n);
    sprintf(all, "set %d: %s", (int)(size_t)node, text);
    return tell(all);
}
int cuGraphExecKernelNodeSetParams(void) { return 1; }
int cuGraphNodeSetEnabled(void *exec, void *node, unsigned on) {
    char all[100]; sprintf(all, "enable %d: %u", (int)(size_t)node, on); return tell(all);
}
int cuGraphLaunch(void *exec, void *stream) {
    char all[100]; sprintf(all, "launch %d on %d", (int)(size_t)exec, (int)(size_t)stream); return tell(all);
}
int cuGraphExecDestroy(void *exec) { return tell("destroy exec"); }
int cuGraphDestroy(void *graph) { return tell("destroy graph"); }
int cuThreadExchangeStreamCaptureMode(int *mode) { return 0; }
"""

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


class DriverError(RuntimeError):
    def __init__(self, status):
        super().__init__(f"error {status}")
        self.status = status


class Stream:
    ptr = 5


class Events:
    """A runtime whose events have occurred, or not."""

    eventDisableTiming = 2

    def __init__(self):
        self.recorded, self.status = [], 0

    def eventCreateWithFlags(self, flags):
        return 3

    def eventDestroy(self, event):
        pass

    def eventRecord(self, event, stream):
        self.recorded.append((event, stream))

    def eventQuery(self, event):
        if self.status < 0:
            raise DriverError(self.status)
        return self.status


class Device:
    """What a graph needs of a device."""

    driver_error = DriverError
    stream = 0

    def __init__(self):
        self.events = Events()
        self.backlog = Backlog(self.events, (DriverError,))
        self.recent = deque(maxlen=8)
        self.entered = 0
        self.lock = nullcontext()
        self.graphs = WeakSet()

    def current_stream(self):
        return Stream()

    def note_stream(self, stream, is_given=False):
        self.stream = stream

    def enter(self):
        self.entered += 1

    def describe(self, error):
        return TaichiRuntimeError(f"CUDA reports {error}")


class Program:
    """A program of two tasks: one of 128 threads a block, and one that always runs."""

    name = "two"
    tasks = (TaskSource("a", "range_for", "a", 0, 128, None), TaskSource("b", "serial", "b", 0, 1, None))

    def starts(self, launch, arguments):
        block = make_block(arguments)
        return [make_starter(launch, 1024, task, 40 + k, block) for k, task in enumerate(self.tasks)]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(folder / "libcuda.so.1")],
        input=DRIVER.encode(), check=True, timeout=300,
    )  # fmt: skip
    return ctypes.CDLL(str(folder / "libcuda.so.1"))


@pytest.fixture
def told(library, monkeypatch):
    monkeypatch.setattr(cuda_graph.ctypes, "CDLL", lambda name: library)
    monkeypatch.setattr(task_graphs, "Built", cuda_graph.Built)  # the emulated GPU has another
    cuda_graph.functions.cache_clear()
    library.read_told.restype = ctypes.c_char_p
    library.read_told()
    yield lambda: library.read_told().decode().splitlines()
    ctypes.c_int.in_dll(library, "failure").value = 0
    cuda_graph.functions.cache_clear()


def packed(number):
    return number.to_bytes(4, "little")


def test_nodes_form_a_chain_and_are_instantiated_once(told):
    graph = CudaGraph(Device(), [Launch(Program(), (300, 1), packed(1)), Launch(Program(), (128, 1), packed(2))])
    lines = told()
    first = int(lines[1].split()[1])
    shown = "func {} grid {},1,1 block {},1,1 shared 0 args {} extra 0"
    assert lines == [
        "create",
        f"add {first} after: " + shown.format(40, 3, 128, 1),
        f"add {first + 1} after {first}: " + shown.format(41, 1, 1, 1),
        f"add {first + 2} after {first + 1}: " + shown.format(40, 1, 128, 2),
        f"add {first + 3} after {first + 2}: " + shown.format(41, 1, 1, 2),
        "instantiate",
    ]
    graph.run()
    graph.run()
    assert told() == ["launch 9 on 5", "launch 9 on 5"]


def test_the_thread_has_a_context_whatever_is_done(told):
    device = Device()
    graph = CudaGraph(device, [Launch(Program(), (1, 1), packed(1))])
    graph.update(0, Launch(Program(), (1, 1), packed(2)))
    graph.run()
    assert device.entered == 2
    del graph
    gc.collect()
    assert device.entered == 3


def test_launches_follow_those_that_touch_the_same_memory(told):
    def launch(number, *touched):
        return Launch(Program(), (1, 1), packed(number), (), touched)

    x, y, z = 11, 12, 13
    launches = [launch(0, (x, True)), launch(1, (y, True)), launch(2, (x, False), (y, False)), launch(3, (x, False))]
    launches += [launch(4, (x, True)), Launch(Program(), (1, 1), packed(5)), launch(6, (z, True))]
    graph = CudaGraph(Device(), launches)

    def before():
        lines = [line for line in told() if line.startswith("add")]
        first = int(lines[0].split()[1])
        return [[int(n) - first for n in line.partition("after")[2].partition(":")[0].split()] for line in lines[::2]]

    assert before() == [[], [], [1, 3], [1], [5, 7], [1, 3, 5, 7, 9], [11]]
    graph.update(3, launch(3, (x, False)))
    graph.run()
    assert [line.split()[0] for line in told()] == ["set", "set", "launch"]
    graph.update(3, launch(3, (z, False)))
    graph.run()
    assert before() == [[], [], [1, 3], [], [5], [1, 3, 5, 7, 9], [11]]


def test_an_update_sets_the_nodes_of_its_launch(told):
    graph = CudaGraph(Device(), [Launch(Program(), (1, 1), packed(1)), Launch(Program(), (1, 1), packed(2))])
    node = int(told()[1].split()[1]) + 2
    graph.update(1, Launch(Program(), (1000, 1), packed(77)))
    graph.run()
    assert told()[:2] == [
        f"set {node}: func 40 grid 8,1,1 block 128,1,1 shared 0 args 77 extra 0",
        f"set {node + 1}: func 41 grid 1,1,1 block 1,1,1 shared 0 args 77 extra 0",
    ]


def test_a_task_without_turns_is_switched_off_and_on_again(told):
    graph = CudaGraph(Device(), [Launch(Program(), (0, 1), packed(1))])
    lines = told()
    node = int(lines[1].split()[1])
    assert lines[-2:] == ["instantiate", f"enable {node}: 0"]
    for counts, calls in [
        ((0, 1), [f"set {node + 1}"]),
        ((5, 1), [f"set {node}", f"enable {node}", f"set {node + 1}"]),
        ((5, 0), [f"set {node}", f"enable {node + 1}"]),
        ((5, 0), [f"set {node}"]),
        ((0, 1), [f"enable {node}", f"set {node + 1}", f"enable {node + 1}"]),
        ((1, 1), [f"set {node}", f"enable {node}", f"set {node + 1}"]),
    ]:
        graph.update(0, Launch(Program(), counts, packed(2)))
        graph.run()
        assert [line.split(":")[0] for line in told()] == [*calls, "launch 9 on 5"]


def test_what_the_driver_says_is_raised(told, library):
    graph = CudaGraph(Device(), [Launch(Program(), (1, 1), packed(1))])
    ctypes.c_int.in_dll(library, "failure").value = 700
    with pytest.raises(TaichiRuntimeError, match="CUDA reports error 700"):
        graph.run()


def test_a_graph_is_destroyed_with_its_last_reference(told):
    graph = CudaGraph(Device(), [Launch(Program(), (1, 1), packed(1))])
    told()
    gc.disable()
    try:
        del graph
        assert told() == ["destroy exec", "destroy graph"]
    finally:
        gc.enable()


def test_a_graph_of_nothing_launches_nothing(told):
    CudaGraph(Device(), []).run()
    assert "launch 9 on 5" not in told()


# --- kernels of several tasks


class Launches:
    """A kernel of three tasks on a device that notes what starts."""

    def __init__(self, launched):
        loop = TaskSource("a", "range_for", "a", 0, 128, (("const", 1),))
        device = self.device = Device()
        device.stream = Stream.ptr
        device.resident_threads, device.failure = 1024, (DriverError,)
        captured = self.captured = set()
        device.is_capturing = lambda stream: stream in captured
        device.launch_graph = lambda handle, stream: launched.append(f"graph {handle} on {stream}")
        self.arguments = (ctypes.c_ubyte * 4)()
        tasks = Tasks("three", (loop, loop, loop), (41, 42, 43), 1024, None)
        graphs = TaskGraphs(device, tasks, self.arguments, lambda counts, given=None: launched.append((counts, given)))
        self._submit = graphs.submit

    def __call__(self, number, counts=(1, 2, 3), given=None):
        self.arguments[:] = packed(number)
        self._submit(counts, given)


def test_the_third_launch_of_a_kind_is_a_graph(told):
    launched = []
    launch = Launches(launched)
    for _ in range(4):
        launch(7)
        launch(8)  # arrays that change places
    assert launched == [((1, 2, 3), None)] * 4 + ["graph 9 on 5"] * 4
    lines = told()
    assert [line.split()[0] for line in lines] == ["create", "add", "add", "add", "instantiate"] * 2
    assert "args 7" in lines[1] and "args 8" in lines[6] and "grid 1,1,1 block 128,1,1" in lines[3]
    launch(9)
    launch(7, counts=(1, 2, 4))
    launch(7, given=6)
    assert launched[8:] == [((1, 2, 3), None), ((1, 2, 4), None), "graph 9 on 6"]


def test_launches_that_differ_share_a_graph(told):
    launched = []
    launch = Launches(launched)
    for number in range(OTHERS + 2):
        launch(number)
    assert launched == [((1, 2, 3), None)] * (OTHERS - 1) + ["graph 9 on 5"] * 3
    lines = told()
    assert [line.split()[0] for line in lines] == ["create", "add", "add", "add", "instantiate", *["set"] * 6]
    assert [line.partition("args ")[2].split()[0] for line in lines[5:]] == [str(OTHERS)] * 3 + [str(OTHERS + 1)] * 3
    launch(99, (200, 0, 3))
    assert [line.split(": ")[-1].split(" block")[0] for line in told()] == [
        "func 41 grid 2,1,1", "0", "func 43 grid 1,1,1",
    ]  # fmt: skip


def test_a_gpu_that_lags_gets_few_graphs(told):
    launched = []
    launch = Launches(launched)
    for number in [*range(FEW_GRAPHS + 1)] * 3:
        launch(number)
    assert sum(line == "create" for line in told()) == FEW_GRAPHS + 2  # and the one that others share
    launch(0)
    assert told() == []
    launch.device.backlog.is_long = True
    launch(0)
    assert [line.split()[0] for line in told()] == ["set"] * 3 and launched[-1] == "graph 9 on 5"
    launch.device.backlog.end()
    launch(0)
    assert told() == []


def test_what_waits_for_the_gpu_is_looked_at_now_and_then(told):
    launch = Launches([])
    events, backlog = launch.device.events, launch.device.backlog
    for _ in range(LAUNCHES):
        launch(7, given=0)
    assert events.recorded == [(3, 0)] and not backlog.is_long
    events.status = 600
    for expected in (False, True):
        assert backlog.is_long is expected
        for _ in range(LAUNCHES):
            launch(7, given=0)
    events.status = 0
    backlog.look()
    assert not backlog.is_long and len(events.recorded) == 4
    events.status = -1
    backlog.look()  # the call that waits reports it
    for _ in range(LAUNCHES):
        launch(7, given=6)
    assert len(events.recorded) == 4  # other streams are not looked at


def test_what_another_library_captures_is_no_graph(told):
    launched = []
    launch = Launches(launched)
    for _ in range(3):
        launch(7)
    launch.captured.add(Stream.ptr)
    launch(7)
    assert launched[2:] == ["graph 9 on 5", ((1, 2, 3), None)]


@pytest.mark.parametrize("counts", [(0, 1, 0), (0, 0, 0)], ids=["one task", "none"])
def test_few_tasks_are_started_one_by_one(told, counts):
    launched = []
    launch = Launches(launched)
    for _ in range(5):
        launch(7, counts)
    assert launched == [(counts, None)] * 5 and told() == []


def test_launches_that_never_repeat_are_not_looked_at_for_ever(told):
    launch = Launches([])
    for number in range(MOST_SEEN + 1):
        launch(number)
    for _ in range(5):
        launch(7)
    assert sum(line == "create" for line in told()) == 1  # the graph that they share


def test_the_graphs_of_a_kernel_are_destroyed_with_it(told):
    launch = Launches([])
    for _ in range(3):
        launch(7)
    told()
    gc.disable()
    try:
        del launch
        assert told() == ["destroy exec", "destroy graph"]
    finally:
        gc.enable()


# --- kernels of one task


def of_one_task(device):
    """Return the graphs of a kernel of one task."""
    device.resident_threads = 1024
    loop = TaskSource("a", "range_for", "a", 0, 128, (("const", 1),))
    arguments = (ctypes.c_ubyte * 4).from_buffer_copy(packed(5))
    return TaskGraphs(device, Tasks("one", (loop,), (41,), 1024, None), arguments, lambda *given: None, None, 1)


def test_one_task_is_a_graph_too(told):
    graphs = of_one_task(Device())
    key = packed(7)
    made = [graphs.make(key, (9,), key) for _ in range(task_graphs.REPEATS_OF_ONE + 1)]
    assert made == [None] * (len(made) - 2) + [9, None]  # the driver lets one launch at a time use it
    graphs.handles[key] = 9  # its launch has ended
    assert graphs.make(key, (9,), key) == 9 and not graphs.handles
    assert [line.split()[0] for line in told()] == ["create", "add", "instantiate"]
    assert [graphs.make(packed(8), (0,), packed(8)) for _ in range(50)] == [None] * 50 and told() == []


def test_arguments_that_never_change_are_those_of_the_kernel(told):
    graphs = of_one_task(Device())
    assert [graphs.make(300, (300,)) for _ in range(task_graphs.REPEATS_OF_ONE)][-1] == 9
    assert "grid 3,1,1 block 128,1,1 shared 0 args 5" in told()[1]


def made_by(graphs, numbers):
    """Return how many graphs 50 launches with each of these arguments make."""
    made = [graphs.make(packed(number), (1,), packed(number)) for number in range(numbers) for _ in range(50)]
    return len(made) - made.count(None)


def test_a_kernel_has_a_limited_number_of_graphs(told):
    graphs = of_one_task(Device())
    assert made_by(graphs, task_graphs.MOST_GRAPHS + 5) == task_graphs.MOST_GRAPHS and graphs.is_on


def test_all_kernels_together_have_a_limited_number_of_graphs(told, monkeypatch):
    monkeypatch.setattr(task_graphs, "MOST_OF_A_GPU", 3)
    device = Device()
    first, second = of_one_task(device), of_one_task(device)
    assert (made_by(first, 2), made_by(second, 2)) == (2, 1)
    del first
    gc.collect()
    assert made_by(second, 2) == 1
