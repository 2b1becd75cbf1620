"""Products of several factors in a sum, as one of what depends on the row and one of what depends on the column.

    s += a[i, k] * b[k, j] * z[j]    ->    s += a[i, k] * (b[k, j] * z[j])

A tile has either, so that a block computes it once for each of its elements. Rounding differs, which is for floats
under `fast_math`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, reads, walk
from ....ir.statements import GlobalLoad, LocalLoad, LocalStore, Operation, RangeFor, repeats
from ....ir.tasks import Task
from ....ir.types import Scalar
from ...analysis.queries import computed_from, is_index_of
from ...tasks.parts.copies import copy_of
from .arranged_loops import PLACES, VALUES, Arrangement, arrange_axes, join_serial_loops

Factor = tuple[Statement, bool]
"""A factor, and whether it is a divisor."""


def prepare_serial(task: Task, is_fast: bool) -> None:
    """Let the serial loops of a task be one, whose products have a factor for a row and one for a column."""
    join_serial_loops(task)
    if is_fast:
        gather_factors(task)
    drop_unused(task)


def arranged_copy(task: Task, arrangement: Arrangement, is_fast: bool) -> Task:
    """Return a copy of a task with the axes of a product of matrices, and one serial loop."""
    made = copy_of(task)
    arrange_axes(made, arrangement)
    prepare_serial(made, is_fast)
    return made


def drop_unused(task: Task) -> None:
    """Drop the values of serial loops that nothing uses: those of earlier forms of a sum."""
    for serial in [s for s in task.body.statements if repeats(s) and isinstance(s, RangeFor)]:
        inside = set(serial.body.statements)
        used = {value for s in walk(task.body) if s not in inside for value in reads(s)}
        needed: list[Statement] = []
        for statement in reversed(serial.body.statements):
            is_value = isinstance(statement, (*VALUES, *PLACES, GlobalLoad, LocalLoad))
            if not is_value or statement in used:
                needed.append(statement)
                used.update(value for inner in walk(Block([statement])) for value in reads(inner))
        serial.body.statements[:] = needed[::-1]


def gather_factors(task: Task) -> None:
    """Gather the factors of what the only serial loop of a task adds; rows and columns are the last two axes."""
    loop, serial = task.loop, [s for s in task.body.statements if repeats(s)]
    if loop is None or len(serial) != 1 or not isinstance(serial[0], RangeFor):
        return
    body = serial[0].body.statements
    for store in [s for s in body if isinstance(s, LocalStore)]:
        value = store.value
        if isinstance(value, Operation) and value.op in ("add", "sub"):
            for position, term in enumerate(value.operands):
                builder = Builder(Block(), value.location)
                gathered = _gathered(builder, term, loop)
                if gathered is not None:
                    value.operands[position] = gathered
                    where = body.index(value)
                    body[where:where] = builder.block.statements


def _gathered(builder: Builder, term: Statement, loop: RangeFor) -> Statement | None:
    """Return a product of what depends on rows and what depends on columns, None if it is one, or cannot be."""
    if not isinstance(term, Operation) or not isinstance(term.type, Scalar) or term.type.kind != "float":
        return None
    factors = list(factors_of(term))
    sides = [_side(factor, loop) for factor, _ in factors]
    if len(factors) < 3 or {0, 1} - set(sides) or 2 in sides:
        return None
    rows = [factor for factor, side in zip(factors, sides, strict=True) if side != 1]
    columns = [factor for factor, side in zip(factors, sides, strict=True) if side == 1]
    return builder.op("mul", _product(builder, rows), _product(builder, columns))


def factors_of(value: Statement, divides: bool = False) -> Iterator[Factor]:
    """Yield what a product is made of."""
    if isinstance(value, Operation) and value.op in ("mul", "div"):
        first, second = value.operands
        yield from factors_of(first, divides)
        yield from factors_of(second, divides ^ (value.op == "div"))
    else:
        yield value, divides


def _side(value: Statement, loop: RangeFor) -> int | None:
    """Return whether a value depends on the row (0), on the column (1), on both (2), or on neither."""
    row = len(loop.starts) - 2
    axes = {s.axis for s in computed_from(value) if is_index_of(s, loop)} & {row, row + 1}
    return 2 if len(axes) == 2 else next((axis - row for axis in axes), None)


def _product(builder: Builder, factors: list[Factor]) -> Statement:
    """Return a product, whose first factor is no divisor if there is one."""
    (total, divides), *others = sorted(factors, key=lambda factor: factor[1])
    if divides:
        kind = total.type
        assert isinstance(kind, Scalar)
        total = builder.op("div", builder.const(1, kind), total)
    for factor, is_divisor in others:
        total = builder.op("div" if is_divisor else "mul", total, factor)
    return total
