"""Kernels, functions, types and arrays in other processes, and copies of them in this one."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pickled_kernels as module
import pytest

import shadesmith as ti

ROOT = Path(__file__).resolve().parents[3]
EXPECTED = {name: expected for name, (_, _, expected) in module.KINDS.items()}
WORKERS = 8


def kernels():
    return {name: kernel for name, (kernel, *_) in module.KINDS.items()}


def test_twenty_kinds_return_as_themselves():
    assert len(module.KINDS) >= 20
    for kernel, _, _ in module.KINDS.values():
        back = pickle.loads(pickle.dumps(kernel))
        assert back is kernel or back.kernel is kernel.kernel
    for name in ("square", "cube", "fib", "Ball", "pair"):
        assert pickle.loads(pickle.dumps(getattr(module, name))) is getattr(module, name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_twenty_kinds_run_in_other_processes(method):
    """After a fork of a process with a session the child goes on in it."""
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        if method == "fork":
            assert pool.submit(module.run_here, kernels()).result() == EXPECTED
        assert pool.submit(module.run_all, "cpu", kernels()).result() == EXPECTED
    ti.reset()


def test_values_and_types_keep_what_they_are():
    ti.init(arch=ti.python, log_level=ti.WARN)
    ball = module.Ball(position=[1, 2], mass=4)
    back = pickle.loads(pickle.dumps(ball))
    assert back.to_dict() == ball.to_dict()
    assert module.dataclass(back) == 8.0, "it has its type"
    for kind in (ti.f32, ti.math.vec3, ti.types.matrix(2, 3, ti.i32), ti.types.ndarray(ti.f32, 2), ti.template()):
        assert pickle.loads(pickle.dumps(kind)) == kind
    ti.reset()


ARRAYS = {
    "numbers": lambda: ti.ndarray(ti.f32, (2, 3)),
    "none": lambda: ti.ndarray(ti.i64, 0),
    "vectors": lambda: ti.Vector.ndarray(3, ti.f64, 4),
    "matrices": lambda: ti.Matrix.ndarray(2, 2, ti.i32, (2, 1)),
    "field": lambda: ti.field(ti.i32, (3, 2), name="heat"),
    "one element": lambda: ti.field(ti.f64, ()),
    "offset": lambda: ti.field(ti.i32, 3, offset=-2),
    "split": lambda: ti.Vector.field(2, ti.f32, 3, layout=ti.Layout.SOA),
    "gradient": lambda: ti.field(ti.f32, 3, needs_grad=True),
    "ndarray with gradient": lambda: ti.ndarray(ti.f32, 3, needs_grad=True),
    "order": lambda: ti.field(ti.i32, (2, 3), order="ji"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_pickled_by_value(target, name):
    array = ARRAYS[name]()
    empty = array.to_numpy()
    values = np.arange(empty.size).reshape(empty.shape).astype(empty.dtype)
    array.from_numpy(values)
    if array.grad is not None:
        array.grad.fill(2)
    back = pickle.loads(pickle.dumps(array))
    assert type(back) is type(array) and (back.shape, back.dtype, back.name) == (array.shape, array.dtype, array.name)
    assert np.array_equal(back.to_numpy(), values) and back.session is array.session
    if array.grad is not None:
        assert back.grad.to_numpy().tolist() == [2, 2, 2]
    array.fill(7)
    assert np.array_equal(back.to_numpy(), values), "a copy"


def test_struct_fields_and_trees_are_pickled_and_what_cannot_be_says_so(target):
    x = module.pair.field(shape=3)
    x[1] = module.pair(a=1.5, v=[3, 4])
    back = pickle.loads(pickle.dumps(x))
    assert back[1].to_dict() == x[1].to_dict()
    y = ti.field(ti.i32)
    ti.root.dense(ti.i, 2).dense(ti.j, 3).place(y)
    y[1, 2] = 5
    assert pickle.loads(pickle.dumps(y)).to_numpy().tolist() == [[0, 0, 0], [0, 0, 5]]
    z = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).place(z)
    for thing, message in [(z, "is sparse and cannot be pickled"), (x.a, "is a part of another array")]:
        with pytest.raises(TypeError, match=message):
            pickle.dumps(thing)

    @ti.kernel
    def local():
        pass

    @ti.func
    def function():
        pass

    for thing, what in [(local, "kernel"), (function, "function")]:
        with pytest.raises(pickle.PicklingError, match=rf"{what} `.*{thing.__name__}` cannot be pickled.*cloudpickle"):
            pickle.dumps(thing)


def test_the_session_where_it_arrives_is_the_current_one():
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    x = ti.field(ti.i32, 2)
    data = pickle.dumps(x)
    with ti.Session(ti.python) as session:
        assert pickle.loads(data).session is session
    ti.reset()
    with pytest.raises(ti.TaichiRuntimeError, match="maybe you forgot to call `ti.init"):
        pickle.loads(data)


# --- by value


BY_VALUE = """
import sys
import cloudpickle
import shadesmith as ti
ti.init(arch=ti.cpu, log_level=ti.WARN)
x = ti.field(ti.i32, 2)
x.fill(4)
FACTOR = 3

@ti.dataclass
class Cell:
    n: ti.i32

    @ti.func
    def more(self):
        return self.n + FACTOR

@ti.func
def times(a):
    return a * FACTOR

@ti.real_func
def down(n: ti.i32) -> ti.i32:
    return 0 if n == 0 else 1 + down(n - 1)

@ti.kernel
def work(a: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
    s = 0
    for i in a:
        a[i] = times(a[i]) + x[0] + down(2)
        s += a[i]
    return s

@ti.kernel
def of_cells(c: Cell) -> ti.i32:
    return c.more()

def make(n):
    @ti.kernel
    def inner(k: ti.i32) -> ti.i32:
        return k + n
    return inner

@ti.kernel
def wrong(k: ti.i32):
    # a comment that moves the line
    k = undefined_name
"""

SENDER = """
import linecache
text = open(sys.argv[1]).read()
name = "<ipython-input-7-0123456789ab>"
linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
exec(compile(text, name, "exec"), globals())
with open(sys.argv[2], "wb") as file:
    cloudpickle.dump((work, x, of_cells, Cell(n=5), make(10), work.grad, wrong, times), file)
"""

RECEIVER = """
import pickle
import shadesmith as ti
ti.init(arch=ti.cpu, log_level=ti.WARN)
with open(sys.argv[1], "rb") as file:
    work, x, of_cells, cell, inner, gradient, wrong, times = pickle.load(file)
a = ti.ndarray(ti.i32, 2)
a.fill(1)
print(work(a), of_cells(cell), inner(1), gradient, x.to_numpy().tolist())
x[0] = 100
a.fill(1)
print(work(a), "the kernel and the field are still one another's")
try:
    wrong(1)
except ti.TaichiCompilationError as error:
    print(str(error).strip().splitlines()[0:2])
"""


@pytest.mark.exhaustive
def test_cloudpickle_takes_what_is_in_a_notebook_by_value(tmp_path):
    pytest.importorskip("cloudpickle")
    (tmp_path / "cell.py").write_text(BY_VALUE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT.parent), os.environ.get("PYTHONPATH", "")])}
    for script, *arguments in (
        (SENDER, tmp_path / "cell.py", tmp_path / "sent"),
        (RECEIVER, tmp_path / "sent"),
    ):
        command = [sys.executable, "-c", "import sys\n" + script, *map(str, arguments)]
        found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=300)
        assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert lines[0] == "18 8 11 <kernel work> [4, 4]"
    assert lines[1].startswith("210 the kernel")
    assert "of another process" in lines[2] and "line 47" in lines[2]


# --- one compile for many processes

COLD = """
import sys, time, os
import shadesmith as ti
from shadesmith.runtime.store.stats import COUNTS
ti.init(arch=getattr(ti, sys.argv[1]), log_level=ti.WARN, offline_cache=True)

@ti.kernel
def work(x: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        x[i] = ti.sin(x[i]) * 2 + i

open(sys.argv[2], "w").close()
while len(os.listdir(os.path.dirname(sys.argv[2]))) < int(sys.argv[3]):
    time.sleep(0.01)
x = ti.ndarray(ti.f32, 4)
work(x)
stats = ti.cache.stats()
print(stats.frontend_runs, sum(stats.compiler_runs.values()), x.to_numpy().tolist())
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("arch", ["cpu", "vulkan"])
def test_cold_workers_compile_one_kernel_once(tmp_path, arch):
    (tmp_path / "work.py").write_text(COLD)
    (tmp_path / "here").mkdir()
    cache = {"SHADESMITH_CACHE_DIR": str(tmp_path / "cache"), "SHADESMITH_OFFLINE_CACHE": "1"}
    path = os.pathsep.join([str(ROOT.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, **cache, "PYTHONPATH": path, "SHADESMITH_BINARIES_DIR": ""}
    workers = [
        subprocess.Popen(
            [sys.executable, tmp_path / "work.py", arch, tmp_path / "here" / str(number), str(WORKERS)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )
        for number in range(WORKERS)
    ]  # fmt: skip
    found = [worker.communicate(timeout=300) for worker in workers]
    assert all(worker.returncode == 0 for worker in workers), found
    rows = [out.split(maxsplit=2) for out, _ in found]
    assert len({row[2] for row in rows}) == 1
    assert sum(int(row[0]) for row in rows) == 1, "the frontend ran in one of them"
    assert sum(int(row[1]) for row in rows) == 1, "one kernel was compiled once"
