"""`import shadesmith` alone imports little; the first name, `ti.init` or a module below the package imports the rest."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import shadesmith as ti

pytestmark = pytest.mark.one_target

COPIES = """
import collections, gc, types
found = (m.__name__ for m in gc.get_objects() if isinstance(m, types.ModuleType) and m.__name__.startswith("shadesmith"))
assert [name for name, count in collections.Counter(found).items() if count > 1] == []
import sys
for name, module in list(sys.modules.items()):
    if name.startswith("shadesmith.runtime."):
        assert module.__spec__.name == name and "_AfterPublicNames" not in repr(module.__spec__.loader), name
"""


def run(source: str, *arguments: str) -> str:
    root = str(Path(ti.__file__).parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("SHADESMITH_ARCH", None)
    done = subprocess.run(
        [sys.executable, "-c", source, *arguments], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_alone_needs_neither_numpy_nor_the_rest() -> None:
    source = """
import sys
import shadesmith as ti
own = [name for name in sys.modules if name.startswith("shadesmith")]
assert len(own) < 24 and "numpy" not in sys.modules, own
ti.cuda, ti.cpu, ti.gpu, ti.init
assert not hasattr(ti, "__wrapped__") and "numpy" not in sys.modules
ti.f32
assert "numpy" in sys.modules and ti.math.pi and "Vector" in dir(ti) and ti.__version__ and ti.cfg is None
try:
    ti.no_such_name
except AttributeError as error:
    assert str(error) == "module 'shadesmith' has no attribute 'no_such_name'", error
"""
    run(source + COPIES)


def test_a_driver_begins_before_slow_modules_are_imported() -> None:
    """`dataclasses` and what it needs take half of the time of `import shadesmith`, and `ctypes` a tenth."""
    source = """
import sys
before = set(sys.modules)
import shadesmith as ti
import shadesmith.runtime.devices.vulkan.instance, shadesmith.runtime.devices.vulkan.declarations
slow = {"ctypes", "dataclasses", "inspect", "platform", "dis", "logging", "shadesmith.runtime.public"}
assert not slow & (set(sys.modules) - before), slow & set(sys.modules)
"""
    run(source)


NOT_AT_START = (
    "concurrent.futures", "difflib", "fractions", "jinja2", "shlex", "vulkan",
    "shadesmith.runtime.devices.vulkan.rounding", "shadesmith.runtime.fields.sparse_tree",
    "shadesmith.runtime.launch.printing", "shadesmith.transpiler.ir.statements",
)  # fmt: skip
"""Modules that a start without a kernel does not need."""


@pytest.mark.parametrize("arch", ["cpu", "vulkan"])
def test_a_session_imports_nothing_that_only_kernels_need(arch: str) -> None:
    source = """
import sys
before = set(sys.modules)
import shadesmith as ti
from shadesmith.runtime.targets import preloading
preloading._threads.append(None)  # it is another thread that loads what kernels need
ti.init(arch=sys.argv[1], log_level="error")
print(*set(sys.modules) - before)
"""
    found = run(source, arch).split()
    assert "shadesmith.runtime.session.session" in found
    assert not {name for name in found if name in NOT_AT_START}


def test_constants_are_the_same_objects_in_copies() -> None:
    constants = [*ti.gpu, ti.cpu, ti.cc, ti.python, ti.extension.sparse]
    for same in (
        copy.deepcopy(constants),
        pickle.loads(pickle.dumps(constants)),
        pickle.loads(pickle.dumps(constants, 2)),
    ):
        assert all(one is other for one, other in zip(constants, same, strict=True))
    with pytest.raises(AttributeError, match="cannot assign to field 'name'"):
        ti.cuda.name = "x"  # type: ignore[misc]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "first",
    [
        "import shadesmith.math as tm",
        "from shadesmith import *",
        "from shadesmith import field, kernel",
        "from shadesmith.lang.matrix import Matrix",
        "import shadesmith.tools.image",
        "import shadesmith.runtime.session.session",
        "from shadesmith.runtime.launch.kernel import kernel",
        "import shadesmith.transpiler.passes.tasks.offload",
        "import shadesmith.runtime.public",
        "import shadesmith.ad; import shadesmith.graph",
        "import shadesmith.examples.edits",
    ],
)
def test_whatever_comes_first_there_is_one_copy_of_each_module(first: str) -> None:
    program = """
import shadesmith as ti
ti.init(ti.python)
x = ti.field(ti.i32, 3)
x.fill(2)
assert (x.to_numpy() == 2).all() and ti.cfg.arch is ti.python
"""
    run(first + program + COPIES)


def test_threads_may_load_it_together() -> None:
    source = """
import sys, threading
sys.setswitchinterval(1e-5)
import shadesmith as ti
names = ["f32", "math", "kernel", "init", "Vector", "tools", "GUI", "sync"]
imports = ["shadesmith.math", "shadesmith.runtime.launch.kernel", "shadesmith.lang.impl", "shadesmith.tools.image"]
failures = []
barrier = threading.Barrier(len(names) + len(imports))
def read(name):
    barrier.wait()
    try:
        assert getattr(ti, name) is not None
    except BaseException as error:
        failures.append((name, error))
def load(name):
    barrier.wait()
    try:
        __import__(name)
    except BaseException as error:
        failures.append((name, error))
threads = [threading.Thread(target=read, args=(n,)) for n in names]
threads += [threading.Thread(target=load, args=(n,)) for n in imports]
[t.start() for t in threads]
[t.join() for t in threads]
assert failures == [], failures
"""
    for _ in range(3):
        run(source + COPIES)


def test_a_thread_that_imports_the_package_imports_all_of_it() -> None:
    source = """
import sys, threading
def load():
    import shadesmith
thread = threading.Thread(target=load)
thread.start()
thread.join()
assert "shadesmith.runtime.public" in sys.modules
import shadesmith as ti
ti.init(ti.python)
"""
    run(source + COPIES)


def test_a_pickle_may_come_first() -> None:
    data = pickle.dumps([ti.f32, ti.types.vector(3, ti.i32), ti.TaichiRuntimeError("x")])
    source = "import pickle, sys\nfound = pickle.loads(bytes.fromhex(sys.argv[1]))\nprint(found[0], found[2])"
    assert run(source, data.hex()) == "f32 x\n"


def test_the_gpu_that_is_opened_early_is_the_one_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    from shadesmith.runtime.devices.cuda import opening
    from shadesmith.runtime.session import starting

    begun: list[int] = []
    vulkan: list[int | None] = []
    monkeypatch.setattr(opening, "begin", lambda number: begun.append(number) or SimpleNamespace(wait=None))
    monkeypatch.setattr(starting.on_vulkan, "begin", vulkan.append)
    monkeypatch.setattr(starting.importlib.util, "find_spec", lambda name: name)
    for name in (
        "SHADESMITH_ARCH",
        "TI_ARCH",
        "TI_ENABLE_CUDA",
        "TI_ENABLE_VULKAN",
        "SHADESMITH_DEVICE",
        "TI_VISIBLE_DEVICE",
    ):
        monkeypatch.delenv(name, raising=False)
    for arch in (None, ti.cpu, "cpu", ti.vulkan, [ti.vulkan, ti.cuda], [], "vulkan"):
        starting._begin(arch, None)
    starting._begin(ti.cuda, "H200")
    starting._begin(ti.vulkan, "H200")
    assert begun == [] and vulkan == [None, None]
    for arch, device in ((ti.cuda, None), ("cuda", 2), (ti.gpu, None), ("gpu", 0), ([ti.cuda, ti.cpu], 1)):
        starting._begin(arch, device)
    assert begun == [0, 2, 0, 0, 1]
    monkeypatch.setenv("TI_ARCH", "cpu")
    starting._begin(ti.cuda, None)
    monkeypatch.setenv("TI_ARCH", "cuda")
    monkeypatch.setenv("SHADESMITH_DEVICE", "3")
    starting._begin(ti.cpu, None)
    monkeypatch.setenv("TI_ENABLE_CUDA", "0")
    starting._begin(ti.cuda, None)
    assert begun == [0, 2, 0, 0, 1, 3]
