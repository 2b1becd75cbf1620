"""Objects of programs that answer to any name, or refuse it by an error of their own: never a fault of shadesmith."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

import shadesmith as ti


class Answers:
    k = 3

    def __getattr__(self, name: str) -> Any:
        return Answers()

    def __repr__(self) -> str:
        return "answers"


class AnswersOne(Answers):
    def __getattr__(self, name: str) -> int:
        return 1


class Refuses(Answers):
    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)


class Full(Refuses):
    def __call__(self, *arguments: Any) -> int:
        return 5

    def __iter__(self) -> Any:
        return iter((1, 2))

    def __getitem__(self, index: Any) -> Any:
        return 1


class AnswersFully(Full):
    __getattr__ = Answers.__getattr__


class Map(dict):
    __getattr__ = dict.__getitem__


class OfClass(type):
    def __getattr__(cls, name: str) -> Any:
        raise KeyError(name)


class Strange(metaclass=OfClass):
    k = 3


OBJECTS = {
    "answers": Answers(),
    "answers a number": AnswersOne(),
    "refuses": Refuses(),
    "full and refuses": Full(),
    "full and answers": AnswersFully(),
    "a map": Map(k=3),
    "a class": Strange,
}

EXPRESSIONS = """
o.k; o; o + 1; o[0]; o(); o(1); o(f[0]); ti.static(o.k); ti.static(o); ti.sin(o); ti.Vector([o, 1])[0]; ti.Vector(o)[0]
f[o]; o[f[0]]; max(o, 1); ti.cast(o, ti.f32); ti.f32(o); [o, 1][1]; o if f[0] else 1; f[0] if o else 1; o == 1; not o
-o; abs(o); o.fill(1); o.parent(); o.append(1); o.x.y.k; o in (1, 2); 1 in [o]; f'{o}'; o.shape[0]; o.grad[0]; int(o)
ti.rescale_index(o, f, [1]); ti.length(o, 0); ti.is_active(o, 0); inner(o); ti.select(o, 1, 2); ti.atomic_add(o, 1)
ti.atomic_add(f[0], o); ti.math.vec2(o)[0]; isinstance(o, int); hasattr(o, 'zz'); getattr(o, 'k'); o and 1; o.sum()
ti.simt.warp.shfl_i32(o, 1, 1); ti.grouped(o); ti.ndrange(o); range(o); o.load(1); o.dtype; o.cast(ti.f32); sum(o)
len(o); tuple(o)[0]; o.T; '{}'.format(o); '{} {}'.format(o, f[0]); [*o]; {**o}; inner(*o); inner(**o)
"""

STATEMENTS = """
for i in o: f[0] += 1
for i in ti.static(o): f[0] += 1
for i in range(o): f[0] += 1
for i in ti.grouped(o): f[0] += 1
for i in ti.ndrange(o, 2): f[0] += 1
assert f[0] == 0, o
f[0] = o
f[0] += o
o.x = 1
o[0] = 1
o[0] += 1
a, b = o
return o
if o: f[0] = 1
while o: break
a: o = 1
ti.static_assert(o)
ti.activate(o, 0)
ti.append(o, 0, 1)
ti.loop_config(block_dim=o)
a = f[0]; a = o
b = ti.Vector([1, 2]); b[0] = o
b = ti.Vector([1, 2]); b[o] = 1
b = ti.Vector([1, 2]); b.fill(o)
"""

BODIES = [f"a = {text.strip()}" for text in EXPRESSIONS.replace("\n", ";").split(";") if text.strip()]
BODIES += STATEMENTS.strip().splitlines()


@pytest.fixture(scope="module", autouse=True)
def session() -> Any:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    yield
    ti.reset()


def define(body: str, parameter: str, **names: Any) -> ti.kernel:
    """Return a kernel of one statement."""
    file = f"<foreign object {parameter} {body}>"
    text = f"@ti.func\ndef inner(x):\n    return 1\n@ti.kernel\ndef run({parameter}):\n    {body}\n"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"ti": ti, **names}
    exec(compile(text, file, "exec"), space)
    return space["run"]


@pytest.mark.sampled(2, each="found")
@pytest.mark.parametrize("parameter", ["", "o: ti.template()"])
@pytest.mark.parametrize("found", OBJECTS.values(), ids=OBJECTS)
def test_a_kernel_works_or_says_what_is_wrong(found: Any, parameter: str) -> None:
    f = ti.field(ti.i32, 4)
    for body in BODIES:
        kernel = define(body, parameter, f=f, o=found)
        try:
            kernel(*[found] * bool(parameter))
        except (ti.TaichiCompilationError, ti.TaichiRuntimeError) as error:
            assert "fault of shadesmith" not in str(error), str(error)
    assert define("f[0] = o.k", parameter, f=f, o=found)(*[found] * bool(parameter)) is None
    assert isinstance(found, AnswersOne | Strange.__class__ | dict) or f[0] == 3


@pytest.mark.parametrize(
    "annotation", ["ti.i32", "ti.types.ndarray()", "ti.types.vector(3, ti.f32)", "ti.types.texture(2)"]
)
@pytest.mark.parametrize("found", OBJECTS.values(), ids=OBJECTS)
def test_as_an_argument_it_is_refused(found: Any, annotation: str) -> None:
    kernel = define("pass", f"o: {annotation}")
    with pytest.raises((ti.TaichiRuntimeError, ti.TaichiRuntimeTypeError), match="`?o`?"):
        kernel(found)


class Labelled:
    """An object with a member of the name that arrays have for what tells them apart."""

    def __init__(self, k: int) -> None:
        self.signature, self.k = "same", k


class Delegates:
    """An object whose members are another's, a field's too."""

    def __init__(self, other: Any, k: int) -> None:
        self.other, self.k = other, k

    def __getattr__(self, name: str) -> Any:
        return getattr(self.other, name)


def test_objects_are_told_apart_whatever_their_members_are_called() -> None:
    f = ti.field(ti.i32, 4)
    kernel = define("f[0] = o.k", "o: ti.template()", f=f)
    for found in (Labelled(1), Labelled(2), Delegates(f, 3), Delegates(f, 4), AnswersOne(), Labelled(5)):
        kernel(found)
        assert f[0] == found.k
