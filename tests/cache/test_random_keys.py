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
import functools
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


@pytest.mark.parametrize("seed", range(40))
def test_chains(seed: int) -> None:
    chosen = random.Random(seed)
    ways = [chosen.choice(list(WAYS)) for _ in range(chosen.randint(2, 5))]
    first, second = (define(program(ways, value)) for value in (1.25, 2.5))
    if first.source() != second.source():
        assert first.key() != second.key(), ways
    assert define(program(ways, 1.25)).key() == first.key(), ways
