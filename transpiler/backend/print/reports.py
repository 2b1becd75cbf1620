"""Prints `print` and checks as records in the report buffer; `Interface.reports` says what a record means.

In: the statement and the printer of its function. Out: lines that call the helpers of `templates/*/lib/reports.*`.

    print(i, x)    ->    uint record = report_print(args.report, 0u, index, 2u);
                         record = report_i32(args.report, record, i);
                         report_f32(args.report, record, x);
    a[i, j]        ->    if (outside_2(args.report, 1u, index, i, j, args.n, args.m)) return;

If a check fails, the iteration ends, and later tasks end at once (`stop_after_failure`). A thread for which others of
its block may wait continues; the pass `clamp_indices` has made its accesses harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.functions import Call
from ...ir.nodes import Statement
from ...ir.statements import CHECKS, Assert, Const, IndexCheck, MatrixInit, Notice, Print, Record, scalar_type
from ...ir.types import Scalar, Tensor, Type, f16, f32, i32, u32
from ..languages.common.literals import literal
from ..languages.common.syntax import element_syntax
from ..languages.common.syntax_forms import SHIFT
from ..module.record_sites import WORD_TYPES
from .expressions import Expressions
from .statements import Statements

MAX_AXES = 4
"""The most indices that one of the helpers `outside_1`, `outside_2`, ... checks."""


def print_record(p: Statements, statement: Record, location: Any) -> None:
    """Print the lines that write one record."""
    p.e.uses_args = True
    scalars = [scalar for value in statement.values for scalar in _scalars(p.e, value)]
    size = sum(2 if kind in ("i64", "u64", "f64") else 1 for kind, _ in scalars)
    site = p.e.layout.usage.sites[statement]
    start_helper = "report_failure" if isinstance(statement, CHECKS) else "report_print"
    p.e.need(start_helper, *(f"report_{kind}" for kind, _ in scalars))
    start = f"{start_helper}({p.e.layout.report}, {site}u, {p.e.index}, {size}u)"
    if not scalars:
        p.emit(f"{start};", location)
        return
    if p.record and p.names.is_taken(p.record):
        p.emit(f"{p.record} = {start};", location)
    else:
        p.record = p.names.derive("record", p.placement.names)
        p.emit(f"{p.e.name_of_type(u32)} {p.record} = {start};", location)
    for number, (kind, text) in enumerate(scalars):
        target = "" if number == len(scalars) - 1 else f"{p.record} = "
        p.emit(f"{target}report_{kind}({p.e.layout.report}, {p.record}, {text});")


def write_print(p: Statements, statement: Print) -> None:
    """Print a `print`; several of a block share a cursor."""
    print_record(p, statement, statement.location)


def write_notice(p: Statements, statement: Notice) -> None:
    """Print a notice: the iteration goes on."""
    p.emit(f"if ({p.e.of(statement.condition).source}) {{", statement.location)
    with p.indented():
        print_record(p, statement, statement.location)
    p.emit("}")


def write_assert(p: Statements, statement: Assert) -> None:
    """Print an `assert`: if it fails, the iteration ends."""
    p.emit(f"if ({p.e.negated(statement.condition)}) {{", statement.location)
    with p.indented():
        print_record(p, statement, statement.location)
    _leave(p)


def write_index_check(p: Statements, check: IndexCheck) -> None:
    """Print the check of an access: one call, or conditions if an index is wider than i32 or an axis has an offset."""
    site = p.e.layout.usage.sites[check]
    axes = len(check.indices)
    if axes <= MAX_AXES and not check.lower_bounds and all(index.type == i32 for index in check.indices):
        p.e.uses_args = True
        p.e.need(f"outside_{axes}")
        values = ", ".join(p.e.of(value).source for value in check.values)
        text = f"outside_{axes}({p.e.layout.report}, {site}u, {p.e.index}, {values})"
        if p.e.block is not None:
            p.emit(f"{text};", check.location)
            return
        if len(p.exit_lines) == 1:
            p.exit_count += 1
            p.emit(f"if ({text}) {p.exit_lines[0]}", check.location)
            return
        p.emit(f"if ({text}) {{", check.location)
        _leave(p)
        return
    conditions = [
        condition
        for index, extent, start in zip(check.indices, check.extents, check.lower_bounds or (0,) * axes, strict=True)
        for condition in (_outside(p.e, index, extent) if not start else _outside_from(p.e, index, extent, start))
    ]
    p.emit(f"if ({' || '.join(conditions)}) {{", check.location)
    with p.indented():
        print_record(p, check, check.location)
    _leave(p)


def _leave(p: Statements) -> None:
    """Print the exit of the function if a check fails, and the end of the enclosing block.

    A thread of a synchronizing block continues: the others wait for it at barriers.
    """
    with p.indented():
        for line in p.exit_lines if p.e.block is None else ():
            p.emit(line)
    p.exit_count += p.e.block is None
    p.emit("}")


def _outside(e: Expressions, index: Statement, extent: Statement) -> list[str]:
    """Return the conditions under which an index is out of bounds; unsigned indices need an unsigned extent."""
    text, limit = e.operand(index, SHIFT), e.of(extent).source
    if scalar_type(index).kind == "int":
        below = [] if isinstance(index, Const) and index.value >= 0 else [f"{text} < 0"]
        return [*below, f"{text} >= {limit}"]
    return [f"{text} >= {f'{limit}u' if limit.isdigit() else e.language.as_unsigned(limit)}"]


def _outside_from(e: Expressions, index: Statement, extent: Statement, start: int) -> list[str]:
    """Return the same for an axis whose indices start at `start`; that of a field, so its extent is constant."""
    assert isinstance(extent, Const)
    text, end = e.operand(index, SHIFT), start + int(extent.value)
    if scalar_type(index).kind == "int":
        return [f"{text} < {start}", f"{text} >= {end}"]
    low = [f"{text} < {start}u"] if start > 0 else []
    return [*low, f"{text} >= {max(end, 0)}u"]


def stop_after_failure(p: Statements, task: int) -> None:
    """Print the line that ends a task if a check failed in an earlier one, whose results may be incomplete."""
    use = p.e.layout.usage
    own = [(number, use.task_of[site], site) for site, number in use.sites.items() if number < use.task_sites]
    if not any(isinstance(site, (*CHECKS, Call)) and at < task for _, at, site in own):
        return
    first = next((number for number, at, _ in own if at >= task), use.task_sites)
    p.e.uses_args = True
    p.e.need("report_stopped")
    p.emit(f"if (report_stopped({p.e.layout.report}, {first}u)) return;")


def _scalars(e: Expressions, value: Any) -> list[tuple[str, str]]:
    """Return the type and the source of each scalar of a value."""
    kind: Type = value.type
    if _is_short_float(value):
        return [("f32", literal(e.language, f32, value.value).template)]
    rendered = e.of(value)
    if isinstance(kind, Scalar):
        return [_scalar(e, kind, rendered.source)]
    assert isinstance(kind, Tensor), "the frontend prints structs by their members"
    scalars = []
    elements = value.elements if isinstance(value, MatrixInit) else [None] * kind.size
    for indices, element in zip(_all_indices(kind.shape), elements, strict=True):
        if element is not None and _is_short_float(element):
            scalars += _scalars(e, element)
            continue
        syntax = element_syntax(e.language, kind, indices)
        e.use(syntax)
        owner = rendered.source if rendered.precedence == 16 else f"({rendered.source})"
        scalars.append(_scalar(e, kind.element, syntax.format(owner)))
    return scalars


def _is_short_float(value: Statement) -> bool:
    """Return whether `value` is a number of f16, which is printed as f32: glslang makes .1 of `float(0.1hf)`."""
    return isinstance(value, Const) and value.type is f16


def _all_indices(shape: tuple[int, ...]) -> list[list[int]]:
    if len(shape) == 1:
        return [[i] for i in range(shape[0])]
    return [[i, j] for i in range(shape[0]) for j in range(shape[1])]


def _scalar(e: Expressions, kind: Scalar, text: str) -> tuple[str, str]:
    name = WORD_TYPES.get(kind.name, kind.name)
    if name == kind.name or e.language.converts_to_parameter:
        return name, text
    wide = {"i32": e.name_of_type(i32), "u32": e.name_of_type(u32), "f32": "float"}[name]
    return name, f"{wide}({text})"


WRITERS: dict[type, Callable[..., None]] = {
    Print: write_print, Notice: write_notice, Assert: write_assert, IndexCheck: write_index_check,
}  # fmt: skip
"""What `statements.WRITERS` has for the other effects."""
