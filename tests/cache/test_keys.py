"""Which changes of a program change the key of a kernel (S2-04), and which do not (S2-05, S2-18)."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.devices.vulkan import glslang

HELPERS = """
import shadesmith as ti
import numpy as np

FAR = 7
TABLE = np.array([1.0, 2.0])


@ti.func
def scaled(a):
    return a * FAR


class Settings:
    depth = 2
    unused = 1


class Nested:
    settings = Settings()
"""

PROGRAM = """
import enum
import functools
import math
import numpy as np
import helpers
import helpers as aliased
from helpers import Nested

DEEP = 1.5
CALLED = 3
SCALE = 2.0
LIST = [1, 2, [3, 4]]
TABLE = {"low": 1, "high": 4}
PAIR = (5, 6)
WEIGHTS = np.array([1.0, 2.0], np.float32)
AXIS = ti.Vector([0.0, 1.0])
TYPE = ti.f32
Particle = ti.types.struct(mass=ti.f32)
UNNAMED = 11


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


MODE = Mode.FAST


@ti.func
def innermost(a):
    return a * DEEP  # a remark


@ti.func
def middle(a: "TYPE"):
    return innermost(a) + 1


@ti.func
def with_default(a, b=CALLED):
    return a + b


@ti.pyfunc
def both(a):
    return a + 1


def helped():
    return 2 + LATE


def plain(n):
    return n * helped()


LATE = 1
curried = functools.partial(with_default, b=9)


def closure():
    captured = 8

    @ti.func
    def inner(a):
        return a + captured

    return inner


enclosed = closure()


class Base:
    gain = 3.0

    @ti.func
    def inherited(self, a):
        return a * self.gain

    def python_method(self):
        return 12


class Part:
    def __init__(self):
        self.n = 1

    def __len__(self):
        return 5


@ti.data_oriented
class Solver(Base):
    def __init__(self, k):
        self.k = k
        self.part = Part()
        self.x = ti.field(ti.f32, shape=4)
        self.__private = 14

    @property
    def half(self):
        return self.k / 2

    @staticmethod
    @ti.func
    def fixed(a):
        return a + 15

    @ti.func
    def weight(self, a):
        return self.inherited(a) + self.half + self.python_method() + self.part.n + self.__private + self.fixed(a)

    @ti.kernel
    def run(self):
        for i in self.x:
            self.x[i] += self.weight(1.0) + len(self.part)


x = ti.field(ti.f32, shape=8)
tree = ti.field(ti.f32)
block = ti.root.dense(ti.i, 4)
block.dense(ti.i, 2).place(tree)
solver = Solver(4)


@ti.kernel
def run(n: ti.i32, given: ti.template()) -> TYPE:
    total = ti.cast(given, TYPE)
    ti.loop_config(block_dim=64)
    for i in x:
        x[i] += middle(1.0) + with_default(2.0) + both(1) + ti.static(plain(2)) + curried(1.0) + enclosed(1.0)
        x[i] += LIST[0] + LIST[2][1] + TABLE["high"] + PAIR[1] + WEIGHTS[1] + AXIS[1] * SCALE + math.pi
        x[i] += aliased.scaled(1.0) + helpers.FAR + helpers.TABLE[0] + Nested.settings.depth
        if ti.static(MODE == Mode.FAST and not hasattr(MODE, "speed")):
            tree[i] += Particle(mass=n).mass
        total += x[i]
    return total
"""

CHANGES = [
    ("a captured global", "SCALE = 2.0", "SCALE = 2.5"),
    ("the kind of a number", "SCALE = 2.0", "SCALE = 2"),
    ("a global of a function that a called function calls", "DEEP = 1.5", "DEEP = 1.25"),
    ("the body of such a function", "return a * DEEP", "return a + DEEP"),
    ("a comment", "# a remark", "# another"),
    ("a default argument", "CALLED = 3", "CALLED = 4"),
    ("a bound argument", "b=9", "b=10"),
    ("a function of both scopes", "    return a + 1\n\n\ndef helped", "    return a + 2\n\n\ndef helped"),
    ("a Python function", "return n * helped()", "return n + helped()"),
    ("a Python function that it calls", "return 2 + LATE", "return 3 + LATE"),
    ("a global that this one reads", "LATE = 1", "LATE = 2"),
    ("a captured variable", "captured = 8", "captured = 9"),
    ("an item of a list", "LIST = [1, 2", "LIST = [9, 2"),
    ("an item of a list in a list", "[3, 4]", "[3, 5]"),
    ("a value of a dict", '"high": 4', '"high": 5'),
    ("an item of a tuple", "PAIR = (5, 6)", "PAIR = (5, 7)"),
    ("an element of an array", "np.array([1.0, 2.0], np.float32)", "np.array([1.0, 2.5], np.float32)"),
    ("the type of an array", "np.array([1.0, 2.0], np.float32)", "np.array([1.0, 2.0], np.float64)"),
    ("a component of a vector", "ti.Vector([0.0, 1.0])", "ti.Vector([0.0, 1.5])"),
    ("a type", "TYPE = ti.f32", "TYPE = ti.f64"),
    ("a member of a struct type", "struct(mass=ti.f32)", "struct(mass=ti.f32, charge=ti.f32)"),
    ("the type of a member", "struct(mass=ti.f32)", "struct(mass=ti.f64)"),
    ("which member of an enumeration", "MODE = Mode.FAST", "MODE = Mode.SLOW"),
    ("the value of such a member", "FAST = 1", "FAST = 3"),
    ("a member that was put on such a member", "MODE = Mode.FAST", "MODE = Mode.FAST\nMODE.speed = 2"),
    ("an annotation as a text", "def with_default(a, b=CALLED)", "def with_default(a: 'ti.f64', b=CALLED)"),
    ("what an annotation as a text means", "TYPE = ti.f32", "TYPE = ti.f16"),
    ("the shape of a field", "x = ti.field(ti.f32, shape=8)", "x = ti.field(ti.f32, shape=9)"),
    ("its type", "x = ti.field(ti.f32, shape=8)", "x = ti.field(ti.f64, shape=8)"),
    ("its offset", "x = ti.field(ti.f32, shape=8)", "x = ti.field(ti.f32, shape=8, offset=1)"),
    ("its layout", "dense(ti.i, 2).place(tree)", "dense(ti.i, 2).place(tree, ti.field(ti.f32))"),
    ("the kind of its node", "block.dense(ti.i, 2)", "block.bitmasked(ti.i, 2)"),
    ("the name of a node", "block = ti.root", "blocks = block = ti.root"),
    ("a function that takes another's place", "tree[i] +=", "tree[i] = "),
    ("the block", "block_dim=64", "block_dim=32"),
    ("the kernel's name for an argument", "given", "gave"),
    ("an annotation", "n: ti.i32", "n: ti.i64"),
]

IN_HELPERS = [
    ("a global of another module", "FAR = 7", "FAR = 8"),
    ("a function of another module", "return a * FAR", "return a - FAR"),
    ("an array of another module", "np.array([1.0, 2.0])", "np.array([3.0, 2.0])"),
    ("a member of an object that a class holds", "depth = 2", "depth = 3"),
]

IN_CLASSES = [
    ("a member of the object", "Solver(4)", "Solver(5)"),
    ("a member of its class", "return self.k / 2", "return self.k / 4"),
    ("an inherited member", "gain = 3.0", "gain = 4.0"),
    ("an inherited function", "return a * self.gain", "return a / self.gain"),
    ("a Python method", "return 12", "return 13"),
    ("a member of a member", "self.n = 1", "self.n = 2"),
    ("a method that Python calls by itself", "return 5", "return 6"),
    ("a private member", "self.__private = 14", "self.__private = 15"),
    ("a static method", "return a + 15", "return a + 16"),
    ("a field of the object", "self.x = ti.field(ti.f32, shape=4)", "self.x = ti.field(ti.f32, shape=5)"),
]


@pytest.fixture(autouse=True)
def session():
    start()


def start(**options: object) -> None:
    ti.init(**{"arch": ti.cpu, "log_level": ti.ERROR, "debug": False, **options})


def load(folder: Path, program: str = PROGRAM, helpers: str = HELPERS, lines_before: int = 0) -> ModuleType:
    """Write both files into a folder and import them anew."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "helpers.py").write_text("\n" * lines_before + helpers)
    sys.path.insert(0, str(folder))
    try:
        sys.modules.pop("helpers", None)
        return written_programs.write(folder / "program.py", program, lines_before)
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("helpers", None)


def keys(folder: Path, *texts: str, **options: int) -> tuple[str, str]:
    """Return the keys of a function's kernel and of a method's."""
    program = load(folder, *texts, **options)
    return program.run.key(1, 2), program.solver.run.key()


@pytest.mark.parametrize(("old", "new"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_changes_the_key(old: str, new: str, tmp_path: Path) -> None:
    assert old in PROGRAM
    assert keys(tmp_path / "a")[0] != keys(tmp_path / "b", PROGRAM.replace(old, new))[0]


@pytest.mark.parametrize(("old", "new"), [row[1:] for row in IN_HELPERS], ids=[row[0] for row in IN_HELPERS])
def test_changes_in_another_module_change_the_key(old: str, new: str, tmp_path: Path) -> None:
    assert old in HELPERS
    assert keys(tmp_path / "a")[0] != keys(tmp_path / "b", PROGRAM, HELPERS.replace(old, new))[0]


@pytest.mark.parametrize(("old", "new"), [row[1:] for row in IN_CLASSES], ids=[row[0] for row in IN_CLASSES])
def test_changes_in_classes_change_the_key(old: str, new: str, tmp_path: Path) -> None:
    assert old in PROGRAM
    assert keys(tmp_path / "a")[1] != keys(tmp_path / "b", PROGRAM.replace(old, new))[1]


def test_arguments_change_the_key(tmp_path: Path) -> None:
    program = load(tmp_path)
    found = [program.run.key(1, given) for given in (2, 3, 2.0, True, ti.Vector([1, 2]), program.x, program.tree)]
    assert len({*found}) == len(found)
    assert program.run.key(5, 2) == found[0], "the value of a number that comes with each launch is no part of it"


OPTIONS = {
    "default_fp": {"default_fp": ti.f64},
    "default_ip": {"default_ip": ti.i64},
    "fast_math": {"fast_math": False},
    "debug": {"debug": True},
    "check_out_of_bound": {"check_out_of_bound": True},
    "check_overflow": {"check_overflow": True},
    "trap_nan": {"trap_nan": True},
    "short_circuit": {"short_circuit_operators": False},
    "block size": {"default_gpu_block_dim": 64},
    "optimization": {"advanced_optimization": False},
    "why_comments": {"why_comments": False},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options_change_the_key(options: dict, tmp_path: Path) -> None:
    plain = keys(tmp_path / "a")
    start(**options)
    changed = keys(tmp_path / "b")
    assert plain[0] != changed[0] and plain[1] != changed[1]


@pytest.mark.parametrize("asked", ["ti.cfg", "ti.lang.impl.current_cfg()", "ti.lang.impl.get_runtime().prog.config()"])
def test_options_that_a_kernel_asks_for_change_its_key(asked: str, tmp_path: Path) -> None:
    text = f"@ti.kernel\ndef run() -> ti.i32:\n    return {asked}.random_seed\n"
    found = []
    for seed in (1, 2, 1):
        start(random_seed=seed)
        found.append(written_programs.write(tmp_path / "p.py", text).run.key())
    assert found[0] == found[2] != found[1]


def test_the_target_its_capabilities_and_its_gpu_change_the_key(tmp_path: Path) -> None:
    program = load(tmp_path)
    plain = [program.run.key(1, 2, arch=arch) for arch in (ti.cpu, ti.vulkan, ti.cuda, "cuda:sm_80")]
    assert len({*plain}) == len(plain)
    device = ti._session.CURRENT.device
    device.capabilities = dataclasses.replace(device.capabilities, atomic_bits=frozenset({32}))
    assert program.run.key(1, 2, arch=ti.cpu) != plain[0]


def test_the_compiler_changes_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = load(tmp_path)
    tool = tmp_path / "glslangValidator"
    tool.write_text("one")
    monkeypatch.setattr(glslang, "find_tool", lambda: str(tool))
    before = program.run.key(1, 2, arch=ti.vulkan)
    assert program.run.key(1, 2, arch=ti.vulkan) == before
    os.utime(tool, ns=(1, 1))
    assert program.run.key(1, 2, arch=ti.vulkan) != before


def test_the_device_and_its_driver_change_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = load(tmp_path)
    kind = type(ti._session.CURRENT.device)
    found = {program.run.key(1, 2)}
    for member in ("title", "driver"):
        with monkeypatch.context() as patch:
            patch.setattr(kind, member, "another")
            found.add(program.run.key(1, 2))
    assert len(found) == 3


def test_the_version_of_python_changes_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = load(tmp_path)
    before = program.run.key(1, 2)
    monkeypatch.setattr(sys, "version_info", (3, 99, 0))
    assert program.run.key(1, 2) != before


# --- what does not


def test_folder_and_lines_do_not_change_the_key(tmp_path: Path) -> None:
    assert keys(tmp_path / "a") == keys(tmp_path / "far" / "away", lines_before=7)


@pytest.mark.parametrize(
    "options",
    [
        {"random_seed": 9},
        {"offline_cache_file_path": "elsewhere"},
        {"offline_cache": False},
        {"verbose": False},
        {"log_level": ti.CRITICAL},
        {"kernel_profiler": True},
        {"print_full_traceback": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_without_an_effect_on_texts_do_not_change_the_key(options: dict, tmp_path: Path) -> None:
    plain = keys(tmp_path / "a")
    start(**options)
    assert keys(tmp_path / "b") == plain


def test_the_order_in_which_things_are_made_does_not_change_the_key(tmp_path: Path) -> None:
    early = "x = ti.field(ti.f32, shape=8)\n"
    assert early in PROGRAM
    moved = PROGRAM.replace(early, "").replace(
        "solver = Solver(4)\n", f"solver = Solver(4)\nother = ti.field(ti.i32, 3)\n{early}"
    )
    assert keys(tmp_path / "a") == keys(tmp_path / "b", moved)


def test_other_kernels_and_globals_do_not_change_the_key(tmp_path: Path) -> None:
    more = "\n\n@ti.kernel\ndef another(k: ti.i32):\n    for j in x:\n        x[j] += k\n\n\nanother(3)\n"
    changed = PROGRAM.replace("UNNAMED = 11", "UNNAMED = 12") + more
    assert keys(tmp_path / "a") == keys(tmp_path / "b", changed)
    assert keys(tmp_path / "c", PROGRAM, HELPERS.replace("unused = 1", "unused = 2")) == keys(tmp_path / "a")


def test_launches_do_not_change_the_key(tmp_path: Path) -> None:
    program = load(tmp_path)
    before = program.run.key(1, 2), program.solver.run.key()
    program.run(1, 2)
    program.solver.run()
    assert (program.run.key(1, 2), program.solver.run.key()) == before


def test_a_key_runs_no_frontend(tmp_path: Path) -> None:
    program = load(tmp_path)
    runs = ti.cache.stats().frontend_runs
    program.run.key(1, 2)
    assert ti.cache.stats().frontend_runs == runs and "_shadesmith_parsed" not in vars(program.run.definition.function)
