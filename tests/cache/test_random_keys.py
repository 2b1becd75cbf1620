"""Random programs in which one number is changed somewhere: where the emitted text differs, the key differs.

A number reaches the kernel through a random chain of ways in which programs keep numbers: globals, members, closures,
defaults, containers, properties, Python functions, other modules.
"""

from __future__ import annotations

import itertools
import linecache
import random
import sys
import types

import pytest

import shadesmith as ti

NUMBERS = itertools.count()
HEAD = """
import builtins
import collections.abc
import enum
import functools
import types
import typing
import numpy as np
from dataclasses import dataclass
from collections import namedtuple
"""

WAYS = {
    "global": ("{n} = {value}", "{n}"),
    "list": ("{n} = [0, {value}]", "{n}[1]"),
    "nested": ("{n} = {{'a': ({value}, [0])}}", "{n}['a'][0]"),
    "array": ("{n} = np.array([0.0, {value}])", "{n}[1]"),
    "vector": ("{n} = ti.Vector([{value}, 0.0])", "{n}[0]"),
    "class": ("class {n}:\n    member = {value}", "{n}.member"),
    "inherited": ("class {n}_base:\n    member = {value}\nclass {n}({n}_base):\n    other = 1", "{n}.member"),
    "object": (
        "class {n}_type:\n    def __init__(self, k):\n        self.member = k\n{n} = {n}_type({value})",
        "{n}.member",
    ),
    "slots": (
        "class {n}_type:\n    __slots__ = ('member',)\n    def __init__(self, k):\n        self.member = k\n{n} = {n}_type({value})",
        "{n}.member",
    ),
    "property": (
        "class {n}_type:\n    @property\n    def member(self):\n        return {value}\n{n} = {n}_type()",
        "{n}.member",
    ),
    "operator": (
        "class {n}_type:\n    def __getitem__(self, k):\n        return k + {value}\n{n} = {n}_type()",
        "{n}[0]",
    ),
    "missing member": (
        "class {n}_type:\n    def __getattr__(self, name):\n        if name == 'member':\n            return {value}\n        raise AttributeError(name)\n{n} = {n}_type()",
        "{n}.member",
    ),
    "dataclass": ("@dataclass\nclass {n}_type:\n    member: float = {value}\n{n} = {n}_type()", "{n}.member"),
    "tuple": ("{n} = namedtuple('T', 'a member')(0, {value})", "{n}.member"),
    "function": ("def {n}_inner():\n    return {value}\ndef {n}():\n    return {n}_inner()", "{n}()"),
    "default": ("def {n}(a={value}):\n    return a", "{n}()"),
    "partial": ("def {n}_inner(a):\n    return a\n{n} = functools.partial({n}_inner, {value})", "{n}()"),
    "cached": ("@functools.lru_cache\ndef {n}():\n    return {value}", "{n}()"),
    "closure": (
        "def {n}_outer():\n    kept = {value}\n    def inner():\n        return kept\n    return inner\n{n} = {n}_outer()",
        "{n}()",
    ),
    "attribute of a function": ("def {n}():\n    return {n}.member\n{n}.member = {value}", "{n}()"),
    "attribute that a kernel reads": ("def {n}():\n    return 0\n{n}.member = {value}", "{n}.member"),
    "lambda": ("{n} = lambda: {value}", "{n}()"),
    "comprehension": ("{n}_k = {value}\ndef {n}():\n    return sum([{n}_k for _ in range(1)])", "{n}()"),
    "method": (
        "class {n}_type:\n    k = {value}\n    def member(self):\n        return self.k\n{n} = {n}_type()",
        "{n}.member()",
    ),
    "static method": ("class {n}:\n    @staticmethod\n    def member():\n        return {value}", "{n}.member()"),
    "class method": (
        "class {n}:\n    k = {value}\n    @classmethod\n    def member(cls):\n        return cls.k",
        "{n}.member()",
    ),
    "callable": (
        "class {n}_type:\n    def __call__(self):\n        return {value}\n{n} = {n}_type()",
        "{n}()",
    ),
    "func": ("@ti.func\ndef {n}():\n    return {value}", "{n}()"),
    "func of two": (
        "{n}_k = {value}\n@ti.func\ndef {n}_inner():\n    return {n}_k\n@ti.func\ndef {n}():\n    return {n}_inner()",
        "{n}()",
    ),
    "pyfunc": ("@ti.pyfunc\ndef {n}():\n    return {value}", "{n}()"),
    "real function": ("@ti.real_func\ndef {n}() -> ti.f32:\n    return {value}", "{n}()"),
    "func of a class": (
        "@ti.data_oriented\nclass {n}_type:\n    k = {value}\n    @ti.func\n    def member(self):\n        return self.k\n{n} = {n}_type()",
        "{n}.member()",
    ),
    "module": ("import {n}_module", "{n}_module.member"),
    "alias": ("import {n}_module\n{n} = {n}_module", "{n}.member"),
    "struct": ("{n} = ti.Struct(a={value})", "{n}.a"),
    "method of a struct": (
        "{n}_k = {value}\n@ti.dataclass\nclass {n}:\n    a: ti.f32\n    def member(self):\n        return self.a * {n}_k",
        "{n}(1.0).member()",
    ),
    "static method of a struct": (
        "{n}_k = {value}\n@ti.dataclass\nclass {n}:\n    a: ti.f32\n    @staticmethod\n    def member(b):\n"
        "        return b * {n}_k",
        "{n}(1.0).member(2.0)",
    ),
    "literal name": ("class {n}:\n    member = {value}", "getattr({n}, 'member')"),
    "pattern": (
        "class {n}_type:\n    __match_args__ = ('member',)\n{n}_k = {n}_type()\n{n}_k.member = {value}\n"
        "def {n}():\n    match {n}_k:\n        case {n}_type(k):\n            return k",
        "{n}()",
    ),
    "pattern of a dataclass": (
        "@dataclass\nclass {n}_type:\n    member: float\n{n}_k = {n}_type({value})\n"
        "def {n}():\n    match {n}_k:\n        case {n}_type(k):\n            return k",
        "{n}()",
    ),
    "asked of a module": (
        "{n}_k = types.ModuleType('k')\n{n}_k.__getattr__ = lambda name: {value}\ndef {n}():\n    return {n}_k.member",
        "{n}()",
    ),
    "asked of a module in a list": (
        "{n}_k = types.ModuleType('k')\n{n}_k.__getattr__ = lambda name: {value}\n{n} = [{n}_k]",
        "{n}[0].member",
    ),
    "builtins of its own": (
        "{n}_space = {{'__builtins__': {{**vars(builtins), 'K': {value}}}}}\n"
        "exec('def read():\\n    return K', {n}_space)\n{n}_space['read'].__module__ = 'k'\n{n} = {n}_space['read']",
        "{n}()",
    ),
    "attribute of a cached function": (
        "@functools.lru_cache\ndef {n}():\n    return 1\n{n}.member = {value}",
        "{n}.member",
    ),
    "attribute of a bound function": (
        "{n} = functools.partial(int, 1)\n{n}.member = {value}",
        "{n}.member",
    ),
    "private attribute of a func": ("@ti.func\ndef {n}():\n    return 1\n{n}._k = {value}", "ti.static({n}._k)"),
    "missing in an enumeration": (
        "{n}_k = {value}\nclass {n}(enum.Enum):\n    A = 1.25\n    B = 2.5\n    @classmethod\n"
        "    def _missing_(cls, value):\n        return cls({n}_k)",
        "{n}(99).value",
    ),
    "new of an enumeration": (
        "class {n}(enum.Enum):\n    A = (1, {value})\n    def __new__(cls, a, b):\n"
        "        made = object.__new__(cls)\n        made._value_, made.extra = a, b\n        return made",
        "{n}.A.extra",
    ),
    "documentation": ("def {n}():\n    return 0\n{n}.__doc__ = str({value})", "len({n}.__doc__)"),
    "name of a function": ("def {n}():\n    return 0\n{n}.__name__ = str({value})", "len({n}.__name__)"),
    "name of a class": ("class {n}:\n    pass\n{n}.__name__ = str({value})", "len({n}.__name__)"),
    "structured scalar": (
        "{n}_names = ['a', 'b'][:: 1 if {value} == 1.25 else -1]\n"
        "{n}_k = np.array([(1.25, 2.5)], [(name, 'f8') for name in {n}_names])[0]\n"
        "def {n}():\n    return float({n}_k['a'])",
        "{n}()",
    ),
    "strides": ("{n} = np.zeros((2, 3), order='C' if {value} == 1.25 else 'F')", "{n}.strides[0]"),
    "limits": ("{n} = np.finfo(np.float32 if {value} == 1.25 else np.float16)", "{n}.bits"),
    "metadata of a dtype": ("{n} = np.dtype('i4', metadata={{'k': {value}}})", "{n}.metadata['k']"),
    "functions that claim to be Python's": (
        "def {n}():\n    return {value}\n{n}.__module__, {n}.__qualname__ = 'math', 'floor'",
        "{n}()",
    ),
    "classes that claim to be ours": (
        "class {n}:\n    member = {value}\n{n}.__module__ = 'shadesmith.transpiler.lang.matrix'",
        "{n}.member",
    ),
    "objects that claim to be ours": (
        "class {n}_type:\n    pass\n{n}_type.__module__ = 'shadesmith.transpiler.lang.matrix'\n"
        "{n} = {n}_type()\n{n}.member, {n}.__qualname__ = {value}, 'x'",
        "{n}.member",
    ),
    "modules that claim to be NumPy": (
        "{n}_space = {{'__name__': 'numpy.k', 'k': {value}}}\nexec('def read():\\n    return k', {n}_space)\n{n} = {n}_space['read']",
        "{n}()",
    ),
    "settings of the session": ("def {n}():\n    return {value} + ti.cfg.random_seed", "{n}()"),
    "number that says another": (
        "class {n}_type(float):\n    def __repr__(self):\n        return 'x'\n    def __float__(self):\n        return 0.0\n"
        "{n} = {n}_type({value})",
        "{n} + 1",
    ),
    "text that says another": (
        "class {n}_type(str):\n    def __str__(self):\n        return 'x'\n    __repr__ = __str__\n{n} = {n}_type(str({value}))",
        "len({n})",
    ),
    "slice": (
        "class {n}_type:\n    def __repr__(self):\n        return 'x'\n"
        "{n} = slice({n}_type(), None)\n{n}.start.member = {value}",
        "{n}.start.member",
    ),
    "annotation": ("{n} = typing.Annotated[int, {value}]", "{n}.__metadata__[0]"),
    "literal": ("{n} = typing.Literal[{value}]", "{n}.__args__[0]"),
    "names": ("{n} = types.SimpleNamespace(member={value}, __args__=())", "{n}.member"),
    "order of numbers in a set": ("{n} = {{8 if {value} == 1.25 else 16, 0, 1}}", "list({n})[0] + list({n})[1]"),
    "registered class": (
        "class {n}_type:\n    pass\nif {value} == 1.25:\n    collections.abc.Sequence.register({n}_type)\n"
        "{n}_k = {n}_type()\ndef {n}():\n    return isinstance({n}_k, collections.abc.Sequence)",
        "{n}()",
    ),
    "frozen dataclass": (
        "@dataclass(frozen=True, order=True)\nclass {n}_type:\n    member: float\n{n} = {n}_type({value})",
        "{n}.member",
    ),
    "made anew by an operator": (
        "class {n}_type:\n    def __init__(self, k):\n        self.member = k * {value}\n    def __add__(self, k):\n"
        "        return type(self)(k)\n{n} = {n}_type(1)\n{n}.member = 1",
        "({n} + 2).member",
    ),
    "made anew by a class method": (
        "class {n}_type:\n    def __init__(self, k):\n        self.member = k * {value}\n    @classmethod\n"
        "    def make(cls):\n        return cls(2)\n{n} = {n}_type(1)\n{n}.member = 1",
        "{n}.make().member",
    ),
    "members that can be added": (
        "class {n}_type:\n    if {value} == 1.25:\n        __slots__ = ()\n{n}_k = {n}_type()\ndef {n}():\n"
        "    try:\n        {n}_k.member = 1\n    except AttributeError:\n        return 1\n    return 2",
        "{n}()",
    ),
    "private": (
        "class {n}_type:\n    def __init__(self):\n        self.__k = {value}\n    @property\n    def member(self):\n        return self.__k\n{n} = {n}_type()",
        "{n}.member",
    ),
}


def program(ways: list[str], value: float) -> str:
    """Return a program whose kernel uses `value` by each of some ways, chained: each holds what the one before gives."""
    parts, held = [HEAD], repr(value)
    for number, way in enumerate(ways):
        text, use = WAYS[way]
        name = f"n{number}"
        if "module" in text:
            sys.modules[f"{name}_module"] = module = types.ModuleType(f"{name}_module")
            module.member = value if number == 0 else 1.0
            held = repr(module.member)
        parts.append(text.format(n=name, value=held))
        runs_in_python = (
            way not in ("func", "func of two", "real function", "func of a class", "vector", "struct")
            and "struct" not in way
        )
        held = use.format(n=name) if runs_in_python else held
    lines = "".join(f"        x[i] += {WAYS[way][1].format(n=f'n{number}')}\n" for number, way in enumerate(ways))
    return "\n".join(parts) + f"\nx = ti.field(ti.f32, 4)\n@ti.kernel\ndef run():\n    for i in x:\n{lines}"


def define(text: str) -> ti.kernel:
    """Run a program and return its kernel."""
    file = f"<random program {next(NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"ti": ti, "__name__": "random_program"}
    sys.modules["random_program"] = types.ModuleType("random_program")
    exec(compile(text, file, "exec"), space)
    return space["run"]


@pytest.fixture(autouse=True)
def session():
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    yield
    for name in [name for name in sys.modules if name.endswith("_module") and name[:1] == "n"]:
        del sys.modules[name]


@pytest.mark.parametrize("way", WAYS)
def test_one_way(way: str) -> None:
    first, second = (define(program([way], value)) for value in (1.25, 2.5))
    assert first.key() == first.key()
    assert first.key() != second.key()
    assert define(program([way], 1.25)).key() == first.key()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(40))
def test_chains(seed: int) -> None:
    chosen = random.Random(seed)
    ways = [chosen.choice(list(WAYS)) for _ in range(chosen.randint(2, 5))]
    first, second = (define(program(ways, value)) for value in (1.25, 2.5))
    if first.source() != second.source():
        assert first.key() != second.key(), ways
    assert define(program(ways, 1.25)).key() == first.key(), ways
