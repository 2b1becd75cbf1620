"""Texts of kernels that another process, or an earlier session, has compiled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import written_programs
from cache_checks import compare_compilations

import shadesmith as ti
from shadesmith.runtime.cache import compiler
from shadesmith.runtime.session import session as sessions
from shadesmith.transpiler.backend.module.compilation import Compilation

ARCHES = {"cpu": "cpu", "vulkan": "vulkan", "cuda": "cuda", "python": "python"}


@pytest.fixture
def begin(target: str, own_cache: None, tmp_path: Path) -> Callable[..., None]:
    """A function that starts a session with a cache in a folder of the test's own."""

    def start(**options: object) -> None:
        folder = {"offline_cache": True, "offline_cache_file_path": str(tmp_path / "cache")}
        ti.init(**{"arch": getattr(ti, ARCHES[target]), "log_level": ti.ERROR, **folder, **options})

    if target == "python":
        pytest.skip("the interpreter keeps nothing")
    start()
    return start


def compilations(kernel: ti.kernel, *args: object) -> tuple[Compilation, Compilation]:
    """Return what the cache gives for a call, if it does, and what the compiler gives."""
    session = sessions.current()
    specialization = kernel.specialize(args).specialization
    stored = compiler.find_or_compile(specialization, session.config)
    return stored, compiler.compile_source(specialization)


def counted(run: Callable[[], object]) -> tuple[int, str]:
    """Return how often the frontend ran, and the last reason that the text stage gives."""
    before = ti.cache.stats()
    run()
    after = ti.cache.stats()
    reasons = [event.reason for event in after.events if event.stage == "text"]
    return after.frontend_runs - before.frontend_runs, reasons[-1]


ADD = """
x = ti.field(ti.f32, shape=5)
SCALE = 2.0


@ti.func
def scaled(a):
    return a * SCALE


@ti.kernel
def add(n: ti.i32) -> ti.f32:
    total = 0.0
    for i in x:
        x[i] += scaled(n)
        total += x[i]
    return total
"""


def test_a_second_session_compiles_nothing(begin: Callable[..., None], tmp_path: Path) -> None:
    first = written_programs.write(tmp_path / "p.py", ADD)
    assert counted(lambda: first.add(3))[0] == 1
    begin()
    second = written_programs.load(tmp_path / "p.py")
    assert counted(lambda: second.add(3)) == (0, "disk")
    assert second.add(1) == 5 * (6 + 2) and np.all(second.x.to_numpy() == 8)
    assert second.add.captured() == {"SCALE": 2.0}


def test_a_change_is_seen(begin: Callable[..., None], tmp_path: Path) -> None:
    assert written_programs.write(tmp_path / "p.py", ADD).add(1) == 10
    begin()
    assert written_programs.write(tmp_path / "p.py", ADD.replace("2.0", "3.0")).add(1) == 15
    begin()
    program = written_programs.load(tmp_path / "p.py")
    program.SCALE = 4.0
    assert program.add(1) == 20


PLACES = """
{before}
import numpy as np

tree = ti.field(ti.f32)
first, second = ti.field(ti.i32), ti.field(ti.i32)
cells = ti.root.{kind}(ti.i, 8)
cells.dense(ti.i, 4).place(first, second)
parts = ti.Vector.field(2, ti.f32)
for part in range(2):
    ti.root.dense(ti.i, 4).place(parts.get_scalar_field(part))
shift = ti.Vector([1.0, 2.0])


@ti.func
def never_ends(a):
    if a > 2:
        return a


@ti.kernel
def run(n: ti.i32, given: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
    for i in range(0):
        given[i] = 1.0
    total = 0.0
    for i in range(n):
        first[i] += i
        parts[i % 4] += shift * never_ends(i)
        assert second[i] < 100, "too large"
        given[i % 4] = 300 * ti.cast(300, ti.u8)
        print(i, first[i])
    for i in parts:
        if ti.static(True):
            total += parts[i].x
    return total
"""


@pytest.mark.parametrize("kind", ["dense", "pointer", "bitmasked"])
@pytest.mark.parametrize("debug", [False, True])
def test_a_text_moves_with_its_functions(
    kind: str, debug: bool, begin: Callable[..., None], target: str, tmp_path: Path
) -> None:
    for folder, lines in (("one", 0), ("one", 0), ("another/place", 5), ("one", 96), ("one", 3)):
        begin(debug=debug)
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        text = PLACES.format(kind=kind, before="\n" * lines)
        program = written_programs.write(tmp_path / folder / "p.py", text)
        stored, made = compilations(program.run, 8)
        assert (stored.dependencies is None) == (folder != "one" or lines > 0 or (tmp_path / "seen").exists())
        compare_compilations(stored, made)
        (tmp_path / "seen").touch()


def test_a_failed_check_names_the_line_where_it_stands_now(begin: Callable[..., None], tmp_path: Path) -> None:
    text = "@ti.kernel\ndef run(n: ti.i32):\n    for i in range(4):\n        assert i < n, 'far'\n"
    for lines in (0, 20):
        begin(debug=True)
        program = written_programs.write(tmp_path / "p.py", text, lines_before=lines)
        with pytest.raises(ti.TaichiAssertionError, match=f"line {lines + 6}, column 9"):
            program.run(2)
            ti.sync()
    assert ti.cache.stats().events[-1].stage in ("text", "binary")


def test_warnings_come_again(begin: Callable[..., None], tmp_path: Path) -> None:
    text = "@ti.kernel\ndef run() -> ti.u8:\n    return ti.u8(1) + ti.cast(300, ti.u8)\n\n\n"
    text = "@ti.func\ndef may_end(a):\n    if a > 2:\n        return a\n\n\n@ti.kernel\ndef run(n: ti.i32) -> ti.i32:\n    return may_end(n)\n"
    for lines in (0, 3):
        begin()
        program = written_programs.write(tmp_path / "p.py", text, lines_before=lines)
        with pytest.warns(ti.ShadesmithWarning, match=f"line {lines + 11}"):
            program.run(3)


WITHOUT_A_DESCRIPTION = {
    "a clock": ("import time", "time.time() * 0 + 1"),
    "random numbers": ("import random", "ti.static(random.randint(1, 1))"),
    "NumPy's random numbers": ("import numpy as np", "np.random.randint(1, 2)"),
    "the environment": ("import os", "ti.static(len(os.environ.get('NOTHING', 'a')))"),
    "a file": ("import io", "ti.static(len(open(__file__).read(1)))"),
    "what changes with each call": (
        "def count(seen=[]):\n    seen.append(1)\n    return len(seen)",
        "ti.static(count())",
    ),
    "a global that it changes": (
        "calls = 0\ndef count():\n    global calls\n    calls += 1\n    return calls",
        "ti.static(count())",
    ),
    "a computed name": ("class A:\n    b1 = 1\nk = 1", "ti.static(getattr(A, f'b{k}'))"),
    "a name of two literals": ("class A:\n    b1 = 1", "ti.static(getattr(A, 'b' '1'))"),
    "a name that is put together": ("class A:\n    b1 = 1\nk = 1", "ti.static(getattr(A, 'b' + str(k)))"),
    "another name for getattr": ("class A:\n    b1 = 1\nread = getattr", "ti.static(read(A, 'b' + '1'))"),
    "getattr with an object": (
        "import functools\nclass A:\n    b1 = 1\nread = functools.partial(getattr, A)",
        "ti.static(read('b' + '1'))",
    ),
    "getattr in a class": ("class A:\n    b1 = 1\n    read = getattr", "ti.static(A.read(A, 'b' + '1'))"),
    "a format that is put together": (
        "class A:\n    b1 = 1\nk = 1",
        "ti.static(int(('{0.b' + str(k) + '}').format(A)))",
    ),
    "a format that stands elsewhere": ("class A:\n    b1 = 1\nform = '{0.b1}'", "ti.static(int(form.format(A)))"),
    "a format that is bound": ("class A:\n    b1 = 1\nshow = '{0.b1}'.format", "ti.static(int(show(A)))"),
    "a format that is put together in a function": (
        "class A:\n    b1 = 1\nk = 1\ndef read():\n    return int(('{0.b' + str(k) + '}').format(A))",
        "ti.static(read())",
    ),
    "a format that is not the function's own": (
        "class A:\n    b1 = 1\nform = '{0.b1}'\ndef read():\n    return int(form.format(A))",
        "ti.static(read())",
    ),
    "a format by another name": (
        "class A:\n    b1 = 1\nshow = str.format\nk = 1",
        "ti.static(int(show('{0.b' + str(k) + '}', A)))",
    ),
    "a function for each type": (
        "import functools\n@functools.singledispatch\ndef read(x):\n    return 0\n"
        "@read.register\ndef _(x: int):\n    return 1",
        "ti.static(read(1))",
    ),
    "a computed name in a function": (
        "class A:\n    b1 = 1\ndef read(k):\n    return getattr(A, f'b{k}')",
        "ti.static(read(1))",
    ),
    "a getter of a computed name": (
        "import operator\nclass A:\n    b1 = 1\ndef read(k):\n    return operator.attrgetter(f'b{k}')(A)",
        "ti.static(read(1))",
    ),
    "all globals": ("b = 1\ndef read():\n    return globals()['b']", "ti.static(read())"),
    "an iterator": ("import itertools\nnumbers = itertools.count(1)", "ti.static(next(numbers))"),
    "an import": ("def read():\n    import time\n    return int(time.time()) * 0 + 1", "ti.static(read())"),
    "a clock behind a function": ("import time\ndef read():\n    return int(time.time() * 0) + 1", "ti.static(read())"),
    "a clock behind a property": (
        "import time\nclass A:\n    @property\n    def now(self):\n        return int(time.time() * 0) + 1\na = A()",
        "ti.static(a.now)",
    ),
    "a clock behind an operator": (
        "import time\nclass A:\n    def __add__(self, other):\n        return int(time.time() * 0) + 1\na = A()",
        "ti.static(a + 1)",
    ),
    "a clock in a list": ("import time\nclocks = [time.time]", "clocks[0]() * 0 + 1"),
    "a clock that is bound": (
        "import functools, time\nclock = functools.partial(time.time)",
        "clock() * 0 + 1",
    ),
    "what a field holds": ("x = ti.field(ti.i32, 1)\ndef read():\n    return x[0]", "read()"),
    "what a field in a list holds": ("xs = [ti.field(ti.i32, 1)]\ndef read():\n    return xs[0][0]", "read()"),
    "what a field of an object holds": (
        "class A:\n    def __init__(self):\n        self.x = ti.field(ti.i32, 1)\n    def read(self):\n"
        "        return self.x[0]\na = A()",
        "a.read()",
    ),
    "what a field holds, behind a function of both scopes": (
        "x = ti.field(ti.i32, 1)\n@ti.pyfunc\ndef both():\n    return x[0]\ndef read():\n    return both()",
        "read()",
    ),
    "what a bound field holds": (
        "import functools\nx = ti.field(ti.i32, 1)\ndef first(f):\n    return f[0]\nread = functools.partial(first, x)",
        "read()",
    ),
    "what a field in a member holds": (
        "class A:\n    def __init__(self):\n        self.all = {'x': [ti.field(ti.i32, 1)]}\n    def read(self):\n"
        "        return self.all['x'][0][0]\na = A()",
        "a.read()",
    ),
    "what a method of a field in a member gives": (
        "class A:\n    def __init__(self):\n        self.get = ti.field(ti.i32, 1).to_numpy\n    def read(self):\n"
        "        return int(self.get()[0])\na = A()",
        "a.read()",
    ),
    "a clock of a bound method in a list": (
        "import time\nclass A:\n    def read(self):\n        return int(time.time() * 0) + 1\nreaders = [A().read]",
        "ti.static(readers[0]())",
    ),
    "results that are older than what they were made of": (
        "import functools\nk = 1\n@functools.cache\ndef read():\n    return k\nread()\nk = 2",
        "ti.static(read())",
    ),
    "a function of NumPy's": (
        "import numpy as np\ndef one(k):\n    return 1\nread = np.vectorize(one)",
        "ti.static(read(1).item())",
    ),
    "a polynomial": ("import numpy as np\nread = np.poly1d([1, 2])", "ti.static(read(1).item())"),
    "a matrix of NumPy": ("import numpy as np\nread = np.matrix([[1, 2]])", "ti.static(read[0, 1].item())"),
    "a kind of property": (
        "class mine(property):\n    pass\nclass A:\n    @mine\n    def k(self):\n        return 1\na = A()",
        "a.k",
    ),
    "a kind of class method": (
        "class mine(classmethod):\n    pass\nclass A:\n    @mine\n    def k(cls):\n        return 1",
        "A.k()",
    ),
    "a kind of dict that hides its data": (
        "import collections\nclass D(collections.UserDict):\n    pass\nd = D(a=1)",
        "ti.static(d['a'])",
    ),
    "a metaclass": (
        "class ABCMeta(type):\n    @property\n    def k(cls):\n        return 1\nclass A(metaclass=ABCMeta):\n    pass",
        "A.k",
    ),
    "a class with which others are registered": (
        "import abc\nclass A(abc.ABC):\n    pass\n@A.register\nclass B:\n    pass\nb = B()",
        "ti.static(1 if isinstance(b, A) else 2)",
    ),
    "the state of an object": (
        "class A:\n    def __init__(self):\n        self.b1 = 1\na = A()\ndef read():\n"
        "    return a.__reduce_ex__(2)[2]['b' + '1']",
        "ti.static(read())",
    ),
    "a formatter": (
        "import string\nclass A:\n    b1 = 1\ndef read(k):\n    return string.Formatter().get_field(f'0.b{k}', (A,), {})[0]",
        "ti.static(read(1))",
    ),
    "a fraction of an object": (
        "import fractions, numbers\n@numbers.Rational.register\nclass A:\n    numerator = denominator = 1\na = A()\n"
        "def read():\n    return int(fractions.Fraction(a))",
        "ti.static(read())",
    ),
    "the line of a function": ("def read():\n    return 1", "ti.static(read.__code__.co_firstlineno)"),
    "the order of a set of texts": ("names = {'a', 'b'}", "ti.static(len(list(names)))"),
    "a loop over a set of texts": (
        "def read():\n    for name in {'a', 'b'}:\n        return len(name)",
        "ti.static(read())",
    ),
    "how many kernels were compiled": ("", "ti.lang.impl.get_runtime().get_num_compiled_functions()"),
    "a function that prints": ("def read():\n    print('seen')\n    return 1", "ti.static(read())"),
}


@pytest.mark.one_target
@pytest.mark.sampled(6)
@pytest.mark.parametrize("head, value", WITHOUT_A_DESCRIPTION.values(), ids=WITHOUT_A_DESCRIPTION)
def test_what_cannot_be_described_is_not_kept(
    head: str, value: str, begin: Callable[..., None], target: str, tmp_path: Path
) -> None:
    if target != "cpu":
        pytest.skip("the same on every target")
    text = f"{head}\n\n\n@ti.kernel\ndef run() -> ti.i32:\n    return {value}\n"
    for _ in range(2):
        begin()
        program = written_programs.write(tmp_path / "p.py", text)
        runs, reason = counted(program.run)
        assert runs == 1 and reason not in ("disk", "no entry")


HARMLESS = {
    "a clock that is named in a comment": ("import time", "1  # time.time"),
    "a window that has the name of a variable": ("import io\nn = io.StringIO()", "1 + ti.static(len('n'))"),
    "a function that is never called": ("import time\ndef read():\n    return time.time()", "1  # not read()"),
    "the shape of a field": (
        "x = ti.field(ti.i32, 2)\ndef read():\n    return x.shape[0] + len(x.shape)",
        "read()",
    ),
    "a function of both scopes": ("x = ti.field(ti.i32, 2)\n@ti.pyfunc\ndef read():\n    return x[0] + 1", "read()"),
    "NumPy's functions": ("import numpy as np", "np.sqrt(1.0) + np.pi * 0"),
    "Python's functions": ("import math", "max(1, math.floor(1.5), len([1]))"),
    "a function of Python": ("def read(n):\n    return n + sum(k for k in range(2))", "ti.static(read(0))"),
    "an object of the standard library": ("import datetime\nn = datetime.date.today()", "1 + ti.static(len('n'))"),
    "members of an enumeration": (
        "import enum\nclass Mode(enum.Enum):\n    A = 1\n    @property\n    def twice(self):\n        return 2",
        "ti.static(Mode.A.twice)",
    ),
    "an enumeration of numbers": ("import enum\nclass Mode(enum.IntEnum):\n    A = 1", "Mode.A + 1 - Mode.A.value"),
    "a class that takes a method of Python's": (
        "class P:\n    x = 1\n    __hash__ = object.__hash__\np = P()",
        "p.x",
    ),
    "a named tuple": ("from collections import namedtuple\np = namedtuple('P', 'x y')(1, 2)", "ti.static(p.x)"),
    "a frozen dataclass": (
        "import dataclasses\n@dataclasses.dataclass(frozen=True, order=True)\nclass P:\n    x: int = 1\np = P()",
        "ti.static(p.x + (p > P(0)))",
    ),
    "methods of a named tuple": (
        "from collections import namedtuple\np = namedtuple('P', 'x y')(1, 2)",
        "ti.static(p._replace(y=3)._asdict()['y'])",
    ),
    "what is in a set of texts": (
        "names = {'a', 'b'}\nname = 'a'\ndef read(k):\n    return 1 if k in names or k in {'c', 'd'} else 2",
        "ti.static(read('b')) if ti.static(name in names) else 3",
    ),
    "results of a function of its arguments": (
        "import functools\n@functools.cache\ndef twice(k):\n    return sum([k, k])\ntwice(1)",
        "ti.static(twice(1))",
    ),
    "a class of an interface": (
        "import collections.abc\nclass M(collections.abc.Mapping):\n    def __getitem__(self, k):\n        return 1\n"
        "    def __iter__(self):\n        return iter('a')\n    def __len__(self):\n        return 1\nm = M()",
        "ti.static(m.get('a') + len(m))",
    ),
    "names of the standard library": (
        "import argparse, types\nn = argparse.Namespace(k=types.SimpleNamespace(j=1))",
        "n.k.j",
    ),
    "functions of NumPy": (
        "import numpy as np\ndef read():\n    return int(np.linalg.norm(np.ones(4)) + np.interp(1, [0, 1], [0, 1]))",
        "ti.static(read())",
    ),
    "a dataclass": ("import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int = 1\np = P()", "ti.static(p.x)"),
}


@pytest.mark.one_target
@pytest.mark.sampled(3)
@pytest.mark.parametrize("head, value", HARMLESS.values(), ids=HARMLESS)
def test_what_is_not_read_does_no_harm(
    head: str, value: str, begin: Callable[..., None], target: str, tmp_path: Path
) -> None:
    if target != "cpu":
        pytest.skip("the same on every target")
    for wanted in (1, 0):
        begin()
        program = written_programs.write(
            tmp_path / "p.py", f"{head}\n\n\n@ti.kernel\ndef run() -> ti.i32:\n    return {value}\n"
        )
        assert counted(program.run)[0] == wanted
        assert program.run() >= 1


def test_static_print_prints_each_time(
    begin: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    text = "@ti.kernel\ndef run() -> ti.i32:\n    ti.static_print('compiling')\n    return 1\n"
    for _ in range(2):
        begin()
        assert counted(written_programs.write(tmp_path / "p.py", text).run)[0] == 1
        assert "compiling" in capsys.readouterr().out


def test_a_kernel_may_refuse(begin: Callable[..., None], tmp_path: Path) -> None:
    text = ADD.replace("@ti.kernel\n", "@ti.kernel(offline_cache=False)\n")
    for _ in range(2):
        begin()
        program = written_programs.write(tmp_path / "p.py", text)
        assert counted(lambda: program.add(1)) == (1, "@ti.kernel(offline_cache=False)")
    assert not list((tmp_path / "cache").glob("*.text"))


def test_a_session_may_refuse(begin: Callable[..., None], tmp_path: Path) -> None:
    begin(offline_cache=False)
    program = written_programs.write(tmp_path / "p.py", ADD)
    assert counted(lambda: program.add(1))[0] == 1
    assert not (tmp_path / "cache").exists()


def test_a_damaged_entry_is_made_again(begin: Callable[..., None], tmp_path: Path) -> None:
    written_programs.write(tmp_path / "p.py", ADD).add(1)
    (entry,) = (tmp_path / "cache").glob("*.text")
    data = bytearray(entry.read_bytes())
    data[len(data) // 2] ^= 1
    entry.write_bytes(data)
    for other in (tmp_path / "cache").glob("*.ir"):
        other.unlink()
    begin()
    program = written_programs.load(tmp_path / "p.py")
    with pytest.warns(ti.ShadesmithWarning, match="made again and replaced"):
        assert counted(lambda: program.add(1))[0] == 1
    assert program.x[0] == 2
    begin()
    program = written_programs.load(tmp_path / "p.py")
    assert counted(lambda: program.add(1))[0] == 0 and program.x[0] == 2


PROCESS = """
import sys
import shadesmith as ti
ti.init(arch=ti.{arch}, log_level=ti.ERROR, offline_cache_file_path={cache!r})
sys.path.insert(0, {folder!r})
import p
print(p.add(2))
stats = ti.cache.stats()
loaded = [name for name in ("transpiler.pipeline", "transpiler.frontend.builders.build", "transpiler.passes") if f"shadesmith.{{name}}" in sys.modules]
print(stats.frontend_runs, sum(stats.compiler_runs.values()), loaded, "jinja2" in sys.modules, flush=True)
"""


@pytest.mark.one_target
def test_a_second_process_loads_no_compiler(begin: Callable[..., None], target: str, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(written_programs.HEAD + ADD)
    code = PROCESS.format(arch=ARCHES[target], cache=str(tmp_path / "cache"), folder=str(tmp_path))
    environment = {k: v for k, v in os.environ.items() if k != "SHADESMITH_OFFLINE_CACHE"}
    killed = code + f"import os, signal\nos.kill(os.getpid(), {int(signal.SIGKILL)})\n"
    first = subprocess.run([sys.executable, "-c", killed], env=environment, capture_output=True, text=True, check=False)
    assert first.returncode == -signal.SIGKILL and first.stdout.startswith("20.0\n1 "), first.stderr
    second = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert second.stdout == "20.0\n0 0 [] False\n"


def test_edits_take_the_place_of_kept_texts(begin: Callable[..., None], tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", ADD)
    assert program.add(1) == 10
    begin(edits_dir=str(tmp_path / "edits"))
    program = written_programs.load(tmp_path / "p.py")
    path = program.add.edit(1)
    folder = path if path.is_dir() else path.parent
    changed = [file for file in folder.iterdir() if file.is_file() and "* 2.0" in file.read_text()]
    assert program.add(1) == 10
    assert program.add.last_launch.variant == "generated" and (changed or folder)


def launched(program: ModuleType) -> float:
    """Launch the kernel of `ADD`."""
    return float(program.add(1))


def test_observers_see_every_form(begin: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    written_programs.write(tmp_path / "p.py", ADD).add(1)
    begin(print_ir="add")
    launched(written_programs.load(tmp_path / "p.py"))
    assert "==== add: frontend" in capsys.readouterr().out
