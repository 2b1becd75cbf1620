"""Choices between tasks: of those that were one, each launch starts exactly one, whatever its sizes are."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations
from typing import Any

import golden_kernels
import pytest

import shadesmith as ti
from shadesmith.transpiler.backend.assemble.emit import emit
from shadesmith.transpiler.backend.module.interface import BackendModule, Member
from shadesmith.transpiler.frontend.builders.build import build
from shadesmith.transpiler.frontend.source.definition import define
from shadesmith.transpiler.frontend.source.specialization import ArrayArgument, ScalarArgument, Specialization
from shadesmith.transpiler.ir.ops import OPS
from shadesmith.transpiler.ir.tasks import Kernel
from shadesmith.transpiler.ir.types import f32, i32
from shadesmith.transpiler.options import CompileOptions
from shadesmith.transpiler.passes import PassContext, run

Plane, Line = ti.types.ndarray(ti.f32, 2), ti.types.ndarray(ti.f32, 1)
NEAR = (0, 1, 15, 16, 32, 33, 128, 256, 300, 2048, 2**16, 2**21, 2**31 - 32)
"""Lengths at which conditions change."""


def product(a: Plane, b: Plane, c: Plane):
    for i, j in c:
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


def product_up_to(a: Plane, b: Plane, c: Plane, n: ti.i32):
    for i, j in ti.ndrange(c.shape[0], n):
        s = 0.0
        for k in range(n):
            s += a[i, k] * b[k, j]
        c[i, j] = s


def product_of_rows(a: Plane, b: Plane, c: Plane):
    for i, j in c:
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * b[j, k]
        c[i, j] = s


def transposition(a: Plane, b: Plane):
    for i, j in a:
        b[j, i] = a[i, j]


def column_sums(a: Plane, y: Line, n: ti.i32):
    for j in y:
        s = 0.0
        for i in range(n):
            s += a[i, j]
        y[j] = s


def row_sums(a: Plane, y: Line):
    for i in y:
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        y[i] = s


def normalized(a: Plane, b: Plane):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        for j in range(a.shape[1]):
            b[i, j] = a[i, j] / s


def products_in_rows(a: Plane, b: Plane, c: Plane):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def several(a: Plane, b: Plane, c: Plane, y: Line):
    for i in y:
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        y[i] = s
    for i, j in a:
        b[j, i] = a[i, j]
    for i, j in c:
        s = 0.0
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        c[i, j] = s


TASKS: dict[Callable[..., None], list[int]] = {
    product: [4],
    product_up_to: [4],
    product_of_rows: [5],
    transposition: [2],
    column_sums: [2],
    row_sums: [3],
    normalized: [3],
    several: [3, 2, 4],
}
"""Kernels, and how many tasks their loops have on CUDA."""
KINDS = {"a": 2, "b": 2, "c": 2, "y": 1}


def compiled(function: Callable[..., None], target: str, with_gaps: str = "") -> tuple[Kernel, BackendModule]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    arguments = tuple(
        ArrayArgument(f32, KINDS[name], strided=name in with_gaps) if name in KINDS else ScalarArgument(i32)
        for name in names
    )
    options, able = CompileOptions(), golden_kernels.able(target)
    kernel = build(Specialization(define(function), arguments, options, able)).kernel
    run(kernel, PassContext(options, able))
    return kernel, emit(kernel, target, options, able)


def evaluator(expression: Any) -> Callable[[list[int]], int]:
    """Return what a host computes, as a function of the members."""
    return eval(f"lambda members: {_text(expression)}")


def _text(expression: Any) -> str:
    name, *operands = expression
    if name == "const":
        return f"({int(operands[0])})"
    if name == "member":
        return f"members[{operands[0]}]"
    return f"int({OPS[name].host.format(*map(_text, operands))})"


def drawn(choices: random.Random, member: Member) -> int:
    """Return an address or a length; lengths are short, long, or such that conditions change next to them."""
    if member.source[0] == "pointer":
        return choices.choice((0, choices.randrange(1 << 30)))
    return choices.choice((choices.choice(NEAR), choices.choice(NEAR) + 1, choices.randrange(1, 5000)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("language", ["cuda", "vulkan"])
@pytest.mark.parametrize("function", TASKS, ids=lambda function: function.__name__)
def test_a_launch_starts_one_task_of_each_loop(function: Callable[..., None], language: str) -> None:
    _, module = compiled(function, language)
    choices, started = random.Random(7), set[int]()
    firsts = [task.extents[0] if task.extents else ("const", 1) for task in module.tasks]
    counters = [evaluator(_with_iterations(first)) for first in firsts]
    for _ in range(2000):
        members = [drawn(choices, member) for member in module.interface.members]
        counts = {n: count(members) for n, count in enumerate(counters)}
        now = {n for n, count in counts.items() if count}
        assert len(now) == len(TASKS[function]), (members, counts)
        started |= now
    assert module.starts_one_task == (len(TASKS[function]) == 1)
    assert started == set(range(len(module.tasks)))


@pytest.mark.parametrize("with_gaps", ["", "c", "b"])
def test_arrays_with_gaps_are_never_apart(with_gaps: str) -> None:
    """Every second element of an array ends further on than its extents say, as where the other array is."""
    _, module = compiled(products_in_rows, "cuda", with_gaps)
    overlapping, *others = [evaluator(_with_iterations(task.extents[0])) for task in module.tasks]
    members = [{"pointer": n << 30}.get(member.source[0], 1) for n, member in enumerate(module.interface.members)]
    assert overlapping(members) == bool(with_gaps)
    assert sum(count(members) for count in others) == (not with_gaps)


def _with_iterations(first: Any) -> Any:
    """Return the choices of a first extent, with one iteration where the loop may have none."""
    if first[0] != "select":
        return ("const", 1)
    return ("select", first[1], *(part if part == ("const", 0) else _with_iterations(part) for part in first[2:]))


@pytest.mark.parametrize("function", TASKS, ids=lambda function: function.__name__)
def test_the_tasks_of_a_loop_are_the_leaves_of_a_binary_tree(function: Callable[..., None]) -> None:
    """Two of them differ in the outcome of a choice, and there are as many as outcomes."""
    kernel, _ = compiled(function, "cuda")
    tasks = kernel.tasks
    for count in TASKS[function]:
        alternatives, tasks = tasks[:count], tasks[count:]
        for one, other in combinations(alternatives, 2):
            assert not {*one.when}.isdisjoint(other.unless) or not {*one.unless}.isdisjoint(other.when)
        assert sum(2.0 ** -len(task.choices) for task in alternatives) == 1
    assert tasks == []


@pytest.mark.parametrize(("function", "over"), [(product, "c"), (column_sums, "y"), (normalized, "i")])
def test_all_titles_name_the_loop_of_the_user(function: Callable[..., None], over: str) -> None:
    _, module = compiled(function, "cuda")
    titles = [line for line in module.files[0].text.splitlines() if ": range_for over " in line]
    assert len(titles) == len(module.tasks)
    assert all(f": range_for over {over}; for " in line or f": range_for over {over}; if " in line for line in titles)
