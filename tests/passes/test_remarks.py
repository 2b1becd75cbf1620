"""Passes record what they drop in remarks near the source of it."""

from typing import Any

import pytest

from shadesmith.transpiler.errors import SourceLocation, SourceText
from shadesmith.transpiler.ir.nodes import Block, walk
from shadesmith.transpiler.ir.remarks import OmittedStatement, attach_remarks
from shadesmith.transpiler.ir.statements import AtomicOp, GlobalStore, If
from shadesmith.transpiler.ir.types import f32, u1
from shadesmith.transpiler.passes.atomics.demote_atomics import demote_atomics
from shadesmith.transpiler.passes.cleanup.common_subexpressions import common_subexpressions
from shadesmith.transpiler.passes.cleanup.dead_code import dead_code
from shadesmith.transpiler.passes.cleanup.fold import fold
from shadesmith.transpiler.passes.cleanup.simplify import simplify
from shadesmith.transpiler.passes.tasks.offload import offload

SOURCE = SourceText("k.py", 1, tuple(f"if line_{number}:" for number in range(1, 9)))


def line(number: int) -> SourceLocation:
    return SourceLocation(SOURCE, number, 1, number, 10)


def remark_messages(kernel: Any) -> list[str]:
    return [remark.message for root in kernel.roots() for statement in walk(root) for remark in statement.remarks]


def run(sketch: Any, *passes: Any) -> Any:
    kernel = sketch.kernel()
    for step in passes:
        step(kernel, sketch.context)
    return kernel


def add_to_own_cell(sketch: Any, array: Any, index: int | None = None) -> None:
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        cell = sketch.ptr(array, sketch.index(loop) if index is None else index)
        sketch.atomic("add", cell, sketch.const(1.0, f32))


def test_dropped_atomic_is_noted_at_its_store_and_stays_there(sketch):
    add_to_own_cell(sketch, sketch.a)
    kernel = run(sketch, offload, demote_atomics, fold, simplify, common_subexpressions, dead_code)
    assert remark_messages(kernel) == ["not atomic: no other iteration writes it (demote_atomics)"]
    assert [type(s) for s in walk(kernel.tasks[0].body) if s.remarks] == [GlobalStore]


def test_kept_atomic_and_local_one_have_no_note(sketch):
    add_to_own_cell(sketch, sketch.a, 0)
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        total = sketch.var("total", sketch.const(0.0, f32))
        sketch.atomic("add", total, sketch.const(1.0, f32))
        sketch.store(sketch.ptr(sketch.b, sketch.index(loop)), sketch.load(total))
    kernel = run(sketch, offload, demote_atomics)
    assert sum(isinstance(s, AtomicOp) for task in kernel.tasks for s in walk(task.body)) == 1
    assert remark_messages(kernel) == []


def test_atomic_of_a_serial_task_has_no_note(sketch):
    sketch.atomic("add", sketch.ptr(sketch.a, 0), sketch.const(1.0, f32))
    kernel = run(sketch, offload, demote_atomics)
    assert not any(isinstance(s, AtomicOp) for s in walk(kernel.tasks[0].body)) and remark_messages(kernel) == []


@pytest.mark.parametrize(
    ("value", "said"),
    [(False, "`if line_2:` left out: always false (simplify)"), (True, "`if line_2:` is always true (simplify)")],
)
def test_known_branch_is_noted_above_what_follows(sketch, value, said):
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        sketch.location = line(2)
        then = Block()
        sketch.add(If(sketch.const(value, u1), then, is_python=True))
        sketch.location = line(4)
        sketch.store(sketch.ptr(sketch.a, sketch.index(loop)), sketch.const(1.0, f32))
    kernel = run(sketch, simplify)
    assert remark_messages(kernel) == [said]
    assert not any(isinstance(s, (If, OmittedStatement)) for s in walk(kernel.body))


def test_branch_at_the_end_is_noted_below_what_comes_before(sketch):
    loop = sketch.loop(8)
    with sketch.into(loop.body):
        sketch.store(sketch.ptr(sketch.a, sketch.index(loop)), sketch.const(1.0, f32))
        sketch.location = line(3)
        sketch.add(If(sketch.const(False, u1), Block(), is_python=True))
    kernel = run(sketch, simplify)
    (remark,) = [remark for statement in walk(kernel.body) for remark in statement.remarks]
    assert remark.where == "below" and remark.message == "`if line_3:` left out: always false (simplify)"


def test_guard_of_a_pass_is_no_branch_of_the_user(sketch):
    sketch.location = line(2)
    sketch.add(If(sketch.const(False, u1), Block()))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.const(1.0, f32))
    assert remark_messages(run(sketch, simplify)) == []


def test_remark_before_a_task_is_one_of_the_kernel(sketch):
    sketch.location = line(1)
    sketch.add(OmittedStatement("left out: always false", "frontend"))
    add_to_own_cell(sketch, sketch.a)
    kernel = sketch.kernel()
    attach_remarks(kernel)
    assert [remark.message for remark in kernel.remarks] == ["`if line_1:` in line 1 left out: always false (frontend)"]


def test_remark_alone_in_its_block_goes(sketch):
    branch = sketch.add(If(sketch.arg("flag"), Block()))
    with sketch.into(branch.then):
        sketch.location = line(1)
        sketch.add(OmittedStatement("left out: always false", "frontend"))
    kernel = sketch.kernel()
    attach_remarks(kernel)
    assert branch.then.statements == [] and remark_messages(kernel) == []


@pytest.mark.parametrize(("extent", "step"), [(8, "dead_code"), (0, "simplify")])
def test_skipped_task_is_noted(sketch, extent, step):
    sketch.location = line(5)
    with sketch.into(sketch.loop(extent).body):
        sketch.read(sketch.a, 0)
        if extent == 0:
            sketch.store(sketch.ptr(sketch.a, 0), sketch.const(1.0, f32))
    kernel = run(sketch, simplify, dead_code)
    assert [remark.message for remark in kernel.remarks] == [
        f"no task for the loop in line 5: it does nothing ({step})"
    ]


def test_loops_within_a_task_and_of_the_compiler_are_no_tasks(sketch):
    sketch.loop(8)  # without a Python line
    sketch.location = line(5)
    sketch.loop(8, serialize=True)
    sketch.loop(8, purpose="gathers cells")
    assert run(sketch, dead_code).remarks == []
