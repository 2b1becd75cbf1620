"""Edits are of one kernel: of one object, closure, field size and option; a launch of another runs no such edit."""

from __future__ import annotations

import os
import random
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.edits.header import (
    Header,
    base_digest,
    header_of,
    inert,
    with_header,
    without_header,
)

pytestmark = pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter runs no text

PROGRAM = """
    @ti.data_oriented
    class Body:
        def __init__(self, mass, size, table=(1, 2), mode="a"):
            self.mass, self.table, self.mode, self.unread = mass, table, mode, object()
            self.x = ti.field(ti.f32, size)

        @ti.func
        def factor(self):
            return self.mass

        @ti.kernel
        def weigh(self):
            for i in self.x:
                if ti.static(self.mode == "a"):
                    self.x[i] = self.factor() * 1000 + self.table[1] * 100 + self.x.shape[0]
                else:
                    self.x[i] = self.factor()


    def make(factor):
        @ti.kernel
        def times(x: ti.types.ndarray(ti.f32, 1)):
            for i in x:
                x[i] = factor

        return times


    @ti.kernel
    def fill(x: ti.template(), value: ti.template()):
        for i in x:
            x[i] = value + x.shape[0] * 10
"""
ADDED = 1_000_000.0
"""Added by each edit, so that a launch shows whether an edit ran."""


@pytest.fixture
def program(target: str, tmp_path: Path) -> types.ModuleType:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    return written_programs.write(tmp_path / "p.py", PROGRAM)


def again(**options) -> None:
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN, **options)


def edited(path: Path) -> Path:
    """Let a source add a million to what it stores."""
    lines = path.read_text().splitlines()
    store = max(k for k, line in enumerate(lines) if "x(i) = " in line)
    lines[store] = lines[store].replace("x(i) = ", f"x(i) = {ADDED:.1f}f + ")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_an_edit_says_what_it_is_for(program, tmp_path: Path) -> None:
    path = program.Body(3.0, 4).weigh.edit()
    header = header_of(path.read_text())
    assert dict(header.values)["self.mass"] == "3.0" and dict(header.values)["self.mode"] == "'a'"
    assert dict(header.values)["self.x"] == "field[f32, 4]" and "unread" not in path.read_text()
    assert header.base == base_digest(without_header(path.read_text()))
    assert program.Body(3.0, 4).weigh.edit() == path, "an equal object has the same slot"
    assert program.Body(4.0, 4).weigh.edit() != path and program.Body(3.0, 5).weigh.edit() != path


class Call:
    """A kernel with an object or closure, what it stores without an edit, and its edit if it has one."""

    def __init__(self, program, chance: random.Random) -> None:
        kind = chance.randrange(3)
        mass, size = float(chance.randrange(1, 4)), chance.randrange(1, 4)
        if kind == 0:
            table, mode = (1, chance.randrange(2, 4)), chance.choice("ab")
            self.owner = program.Body(mass, size, table, mode)
            self.kernel, self.args, self.read = self.owner.weigh, (), self.owner.x.to_numpy
            self.value = mass * 1000 + table[1] * 100 + size if mode == "a" else mass
            self.identity = ("weigh", mass, size, mode, *(table if mode == "a" else ()))
        elif kind == 1:
            self.kernel, array = program.make(mass), np.zeros(size, np.float32)
            self.args, self.read, self.value = (array,), lambda: array, mass
            self.identity = ("times", mass)
        else:
            field = ti.field(ti.f32, size)
            self.kernel, self.args, self.read = program.fill, (field, mass), field.to_numpy
            self.value, self.identity = mass + size * 10, ("fill", mass, size)

    def run(self) -> float:
        self.kernel(*self.args)
        found = self.read()
        assert np.all(found == found[0])
        return float(found[0])


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore:kernel .* runs its generated source")
@pytest.mark.parametrize("seed", range(12))
def test_an_edit_never_runs_for_another_identity(program, target: str, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    calls = [Call(program, chance) for _ in range(8)]
    edits: dict[tuple, Path] = {}
    for call in chance.sample(calls, 4):
        if call.identity not in edits:
            edits[call.identity] = edited(call.kernel.edit(*call.args))
    assert len(set(edits.values())) == len(edits), "each identity has a file of its own"
    files = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in written_programs.below(tmp_path)}
    built = 0
    for turn in range(3):
        for call in chance.sample(calls, len(calls)):
            assert call.run() == call.value + (ADDED if call.identity in edits else 0)
        if turn == 0:
            built = sessions.CURRENT.compiled_functions
    assert sessions.CURRENT.compiled_functions == built, "alternate launches compile nothing"
    now = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in written_programs.below(tmp_path)}
    assert now == files, "a launch writes nothing"


def test_alternate_launches_cost_what_launches_of_one_cost(program) -> None:
    one, other = program.make(2.0), program.make(3.0)
    x = ti.ndarray(ti.f32, 4)
    for kernel in (one, other):
        edited(kernel.edit(x))

    def calls(first, second) -> int:
        """Return how many functions of Python and C these launches call.

        Unlike their time, it does not vary: each pair finds an idle device, so none is submitted or waited for.
        """
        count = 0

        def observe(frame, event, argument) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        for _ in range(20):
            ti.sync()
            sys.setprofile(observe)
            try:
                first(x)
                second(x)
            finally:
                sys.setprofile(None)
        return count

    for _ in range(3):  # until what repeats has been recorded, once
        calls(one, other)
    both, *alone = (calls(*pair) for pair in ((one, other), (one, one), (other, other)))
    assert both <= max(alone)


@pytest.mark.all_targets
@pytest.mark.parametrize("what", ["object", "closure", "strides", "fast_math", "type"])
def test_an_edit_that_is_not_used_says_so_once(program, target: str, what: str) -> None:
    x = np.ones(4, np.float32)
    body, times = program.Body(3.0, 4), program.make(2.0)
    edited(body.weigh.edit() if what == "object" else times.edit(x))
    if what == "fast_math":
        again(fast_math=False)
    if what == "strides" and target != "cpu":
        pytest.skip("arrays are copied without gaps")
    calls = {
        "object": (lambda: program.Body(4.0, 4).weigh(), r"self\.mass = 3\.0, here 4\.0"),
        "closure": (lambda: program.make(3.0)(x), r"factor = 2\.0, here 3\.0"),
        "strides": (lambda: times(np.ones(8, np.float32)[::2]), r"x: ndarray\[f32, 1\], here ndarray\[f32, 1, strided"),
        "fast_math": (lambda: times(x), "fast_math = True, here False"),
        "type": (lambda: program.fill(ti.field(ti.f32, 3), 1), None),
    }
    call, words = calls[what]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(3):
            call()
    said = [str(warning.message) for warning in found]
    if words is None:
        assert not said, "another kernel has no edit"
        return
    with pytest.warns(match=words):
        warnings.warn(said[0], stacklevel=1)
    assert len(said) == 1 and "\n" not in said[0]


def test_the_python_may_read_more_values_than_before(program, tmp_path: Path) -> None:
    """The slot has another name then; the edit is found by its values, and stale, instead of not used."""
    path = edited(program.make(2.0).edit(np.ones(4, np.float32)))
    text = PROGRAM.replace("make(factor):", "make(factor, shift=1):").replace("= factor\n", "= factor * shift\n")
    program = written_programs.write(tmp_path / "p.py", text)
    before = path.read_text()
    x = np.ones(4, np.float32)
    program.make(3.0)(x)
    assert x[0] == 3, "the edit is of another closure"
    (path.parent / ".base" / path.name).unlink()
    with pytest.raises(ti.TaichiCompilationError, match="made for another generated source of kernel `times`"):
        program.make(2.0)(x)
    assert path.read_text() == before


# --- what stands in the source


SOURCE = "// shadesmith 0.1.0, cuda 0123abcd, p.py:4: k(x: ndarray[f32, 1])\n#version 460\nvoid main() {}\n"


def test_a_header_is_read_as_it_was_written() -> None:
    header = Header(
        "0123456789abcdef", (("self.mass", "3.0"), ("options.fast_math", "False")), "volatile_vectors = True"
    )
    text = with_header(SOURCE, header)
    assert header_of(text) == header and without_header(text) == SOURCE
    assert with_header(with_header(SOURCE, Header("f" * 16)), header) == text
    assert text.splitlines()[:2] == [SOURCE.splitlines()[0], header.lines()[0]]
    assert header_of(SOURCE) == Header() and header_of("// @base 0123\n// @base\n// @for each one\n").base == ""
    assert without_header("// @for each cell\n") == "// @for each cell\n", "a comment of a person"
    assert (
        base_digest(SOURCE)
        == base_digest(SOURCE.replace("0.1.0, cuda 0123abcd, p.py:4", "0.2, cuda 76543210, p.py:99"))
        != base_digest(SOURCE + " ")
    )


def test_values_are_inert() -> None:
    for value in ("a\nb", "\\", "a*/b\r\n#define X", "\x00", "é\ud800", "x" * 10_000):
        shown = inert(repr(value)) + inert(value)
        assert shown.isprintable() and shown.isascii() and "\\" not in shown and len(shown) < 1000


def test_a_source_of_unknown_base_is_refused(program) -> None:
    x = np.ones(4, np.float32)
    times = program.make(2.0)
    path = edited(times.edit(x))
    bare = without_header(path.read_text())
    path.write_text(bare)
    times(x)
    assert x[0] == 2 + ADDED, "its `.base` proves what it is"
    base = path.parent / ".base" / path.name
    times.edit(x)
    assert header_of(path.read_text()).base == base_digest(base.read_text()), "starting it again adds what it lacks"
    path.write_text(bare)
    base.unlink()
    with pytest.raises(ti.TaichiCompilationError, match="does not say which generated source") as error:
        times(x)
    line = str(error.value).split("add the line `")[1].split("`")[0]
    path.write_text(f"{line}\n{bare}")
    x[:] = 0
    times(x)
    assert x[0] == 2 + ADDED


def test_python_that_has_not_changed_is_not_said_to_have(program) -> None:
    """Another version of shadesmith may generate another source of the same Python."""
    x = np.ones(4, np.float32)
    times = program.make(2.0)
    path = edited(times.edit(x))
    path.write_text(path.read_text().replace(header_of(path.read_text()).base, "0" * 16))
    (path.parent / ".base" / path.name).unlink()
    with pytest.raises(ti.TaichiCompilationError, match="made for another generated source of kernel `times`") as error:
        times(x)
    assert "kernel has changed" not in str(error.value) and "`times` has changed" not in str(error.value)


def test_an_edit_of_an_older_shadesmith_is_of_the_object_that_its_base_proves(program, tmp_path: Path) -> None:
    one, other = program.Body(3.0, 4), program.Body(4.0, 4)
    path = edited(one.weigh.edit())
    folder = path.parent
    old = folder.rename(folder.with_name(folder.name.rpartition("-")[0]))
    path = old / path.name
    path.write_text(without_header(path.read_text()))
    one.weigh()
    assert one.x[0] > ADDED
    with pytest.raises(
        ti.TaichiCompilationError, match="made for another|has changed where|does not say|nobody has accepted"
    ):
        other.weigh()
    one.weigh.edit()
    with pytest.warns(ti.ShadesmithWarning, match=r"self\.mass = 3\.0, here 4\.0"):
        other.weigh()
    assert other.x[0] < ADDED


# --- shells and notebooks

CELL = """
import shadesmith as ti

@ti.kernel
def cell(x: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        x[i] = {value}
"""


def typed(value: float, namespace: dict, name: str) -> types.SimpleNamespace:
    """Run a cell as a shell does, whose source has no file."""
    import linecache

    text = CELL.format(value=value)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), namespace)
    return namespace["cell"]


@pytest.fixture
def shell_folder(target: str, tmp_path: Path, monkeypatch) -> Path:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_notebooks_have_slots_of_their_own(shell_folder: Path, monkeypatch) -> None:
    x = np.ones(4, np.float32)
    kernels = {}
    for name in ("one", "two"):
        (shell_folder / f"{name}.ipynb").write_text("{}")
        spaces = {"__vsc_ipynb_file__": str(shell_folder / f"{name}.ipynb")}
        kernels[name] = typed(2.0, spaces, f"<ipython {name}>")
    path = edited(kernels["one"].edit(x))
    assert path.relative_to(shell_folder / "edits").parts[0] == "one_ipynb.cell"
    kernels["one"](x)
    assert x[0] == 2 + ADDED
    kernels["two"](x)
    assert x[0] == 2
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setenv("JPY_SESSION_NAME", "somewhere/one.ipynb")
    typed(2.0, {}, "<ipython jupyter>")(x)
    assert x[0] == 2 + ADDED
    monkeypatch.delitem(sys.modules, "ipykernel")
    typed(2.0, {}, "<a child process of it>")(x)
    assert x[0] == 2


def test_edits_of_a_shell_need_a_name(shell_folder: Path) -> None:
    x = np.ones(4, np.float32)
    cell = typed(2.0, {}, "<stdin-1>")
    with pytest.raises(ti.TaichiCompilationError, match=r"typed into a shell.*variant='mine'"):
        cell.edit(x)
    path = cell.edit(x, variant="mine")
    text = edited(path).read_text()
    path.write_text(text.replace("\n", "\n// @when x.shape[0] > 0\n", 1))
    cell(x)
    assert x[0] == 2, "a rule does not run it either"
    cell.use("mine")
    cell(x)
    assert x[0] == 2 + ADDED
    other = typed(3.0, {}, "<stdin-2>")
    other(x)
    assert x[0] == 3
    other.use("mine")
    with pytest.raises(ti.TaichiCompilationError):
        other(x)
    cell.use("edit")
    with pytest.raises(ti.TaichiCompilationError, match="typed into a shell"):
        cell(x)


# --- the driver is not in the edit

VECTORS = """
    @ti.kernel
    def turn(x: ti.types.ndarray(ti.math.vec3, 1)):
        for i in x:
            v = x[i]
            x[i] = v * 2.0
            x[i][0] = v[1] + 1.0
"""


def test_a_device_makes_no_edit_stale(target: str, tmp_path: Path) -> None:
    """The source for lavapipe declares memory volatile, the one for any GPU does not; one edit is for both."""
    if target == "python":
        pytest.skip("the interpreter runs no text")
    arch = sessions.CURRENT.arch
    ti.init(arch=ti.python, log_level=ti.WARN)
    turn = written_programs.write(tmp_path / "p.py", VECTORS).turn
    x = np.ones((4, 3), np.float32)
    path = turn.edit(x, arch=arch)
    before = written_programs.replaced(path, "+ 1.0", "+ 10.0")
    files = {file: file.read_bytes() for file in written_programs.below(tmp_path / "edits")}
    for _ in range(2):
        ti.init(arch=arch, log_level=ti.WARN)
        x[:] = 1
        turn(x)
        assert turn.last_launch.variant == "edit" and turn.last_launch.paths == (path,)
        assert x.tolist() == [[11, 2, 2]] * 4
        module = ti.aot.Module(arch)
        module.add_kernel(turn)
        assert any(b"+ 10.0" in data for data in module.members().values())
    assert {file: file.read_bytes() for file in written_programs.below(tmp_path / "edits")} == files
    assert path.read_text() == before


@pytest.mark.all_targets
def test_an_edit_for_lavapipe_says_so_and_is_an_edit_elsewhere(target: str, tmp_path: Path) -> None:
    turn = written_programs.write(tmp_path / "p.py", VECTORS).turn
    if target != "vulkan" or sessions.CURRENT.device.capabilities.volatile_vectors is False:
        pytest.skip("only the source for lavapipe differs")
    x = np.ones((4, 3), np.float32)
    path = turn.edit(x)
    assert header_of(path.read_text()).device == "volatile_vectors = True" and " volatile " in path.read_text()
    written_programs.replaced(path, "+ 1.0", "+ 10.0")
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    module = ti.aot.Module(ti.vulkan)
    module.add_kernel(turn)
    (text,) = [data.decode() for name, data in module.members().items() if name.endswith(".comp")]
    assert "+ 10.0" in text and " volatile " not in text
    path.write_text(path.read_text().replace("volatile_vectors = True", "volatile_vectors = [open('/etc/passwd')]"))
    ti.init(arch=ti.vulkan, log_level=ti.WARN)
    turn(x)  # its base is generated here: the line is not read
    digest = header_of(path.read_text()).base
    path.write_text(path.read_text().replace(digest, "0" * len(digest)))
    with pytest.raises(ti.TaichiCompilationError, match="no value of a capability"):
        turn(x)


# --- hostile folders and files


@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "mkfifo"), reason="modes and pipes of POSIX")
@pytest.mark.parametrize(
    "what",
    ["world folder", "group folder", "world file", "kernel folder", "fifo", "huge", "link", "folder", "no target"],
)
def test_what_others_can_write_is_not_run(program, tmp_path: Path, what: str) -> None:
    x = np.ones(4, np.float32)
    times = program.make(2.0)
    path = edited(times.edit(x))
    words = "may write to it"
    match what:
        case "world folder":
            path.parent.chmod(0o777)
        case "kernel folder":
            path.parent.parent.chmod(0o777)
        case "group folder":
            os.chown(path.parent, -1, 12345) if os.geteuid() == 0 else pytest.skip("only root changes groups")
            path.parent.chmod(0o775)
        case "world file":
            path.chmod(0o666)
        case "fifo":
            path.unlink()
            os.mkfifo(path)
            words = "no plain file"
        case "huge":
            path.write_bytes(b"\n" * (1 << 26))
            words = "more than any source"
        case "link":
            path.unlink()
            path.symlink_to("/dev/zero")
            words = "no plain file"
        case "folder":
            path.unlink()
            path.mkdir()
            words = "is a folder"
        case "no target":
            path.unlink()
            path.symlink_to("nothing")
            words = "is a link to nothing"
    with pytest.raises(ti.TaichiCompilationError, match=words):
        times(x)
    again(edits="fallback")
    with pytest.warns(ti.ShadesmithWarning, match=words):
        times(x)
    assert x[0] == 2


@pytest.mark.parametrize("text", ["[" * 100_000, '{"version": 1, "tunings": [{"device": 1}]}', '{"version": 1}', "[]",
                                  '{"version": 1, "tunings": [{"device": "d", "shapes": [], "variant": "", "text": ""}]}'])  # fmt: skip
def test_tuned_values_that_are_none(program, text: str) -> None:
    x = np.ones(4, np.float32)
    times = program.make(2.0)
    path = edited(times.edit(x))
    (path.parent / "tuned.json").write_text(text)
    (path.parent / ".base" / "slot.json").write_text("[" * 100_000)
    with pytest.raises(ti.TaichiCompilationError, match=r"tuned\.json:1"):
        times(x)
