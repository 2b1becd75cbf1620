"""Which values are printed again at each use: the answer for a long expression takes no longer than for a short one."""

from __future__ import annotations

from shadesmith.transpiler.backend.print.repetition import may_repeat
from shadesmith.transpiler.ir.statements import Const, Operation
from shadesmith.transpiler.ir.types import f32


def sums(count: int) -> Operation:
    value = Operation("neg", [Const(1.0, type=f32)], type=f32)
    for _ in range(count):
        value = Operation("add", [value, Const(2.0, type=f32)], type=f32)
    value.copies = 2
    return value


def test_short_expressions_only() -> None:
    assert may_repeat(sums(0), 2, lambda operation: True)
    assert may_repeat(sums(3), 2, lambda operation: True)
    assert not may_repeat(sums(4), 2, lambda operation: True)
    assert not may_repeat(sums(1), 3, lambda operation: True), "used more often than Python has it"


def test_the_search_ends_early() -> None:
    asked = []
    assert not may_repeat(sums(500), 2, lambda operation: asked.append(operation) is None)
    assert len(asked) <= 6
