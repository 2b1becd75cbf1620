"""Prints `print` and `assert` as records in the report buffer; what a record means stands in `Interface.reports`.

In: the statement and the printer of its function. Out: lines that call the helpers of `templates/*/lib/reports.*`.

    print(i, x)    ->    uint record = report_print(args.report, 0u, index, 2u);
                         record = report_i32(args.report, record, i);
                         report_f32(args.report, record, x);
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.statements import Assert, Print
from ..ir.types import Scalar, Tensor, Type, i32, u32
from .print_expressions import Expressions
from .print_statements import Statements
from .sites import WORD_TYPES
from .spelling import spell_element


def print_record(p: Statements, statement: Print | Assert, location: Any) -> None:
    """Print the lines that write one record."""
    p.e.uses_args = True
    words = [word for value in statement.values for word in _words(p.e, value)]
    size = sum(2 if kind in ("i64", "u64", "f64") else 1 for kind, _ in words)
    site = p.e.layout.use.sites[statement]
    begin = "report_print" if isinstance(statement, Print) else "report_failure"
    p.e.need(begin, *(f"report_{kind}" for kind, _ in words))
    start = f"{begin}(args.report, {site}u, {p.linear_index}, {size}u)"
    if not words:
        p.emit(f"{start};", location)
        return
    with p.names.scope():
        record = p.names.declare("record")
        p.emit(f"{p.e.type_text(u32)} {record} = {start};", location)
        for number, (kind, text) in enumerate(words):
            target = "" if number == len(words) - 1 else f"{record} = "
            p.emit(f"{target}report_{kind}(args.report, {record}, {text});")


def write_print(p: Statements, statement: Print) -> None:
    """Print a `print`; braces keep its cursor from the names of the block."""
    if not statement.values:
        print_record(p, statement, statement.location)
        return
    p.emit("{", statement.location)
    with p.indented():
        print_record(p, statement, statement.location)
    p.emit("}")


def write_assert(p: Statements, statement: Assert) -> None:
    """Print an `assert`: where it fails, this turn of the loop ends."""
    p.emit(f"if ({p.e.negated(statement.condition)}) {{", statement.location)
    with p.indented():
        print_record(p, statement, statement.location)
        p.emit("return;")
    p.emit("}")


def _words(e: Expressions, value: Any) -> list[tuple[str, str]]:
    """Return the kind and the text of each scalar of a value."""
    kind: Type = value.type
    written = e.of(value)
    if isinstance(kind, Scalar):
        return [_word(e, kind, written.text)]
    assert isinstance(kind, Tensor), "the frontend prints structs by their members"
    words = []
    for indices in _all_indices(kind.shape):
        spelling = spell_element(e.target.name, kind, indices)
        e.need(*spelling.helpers)
        owner = written.text if written.precedence == 16 else f"({written.text})"
        words.append(_word(e, kind.element, spelling.format(owner)))
    return words


def _all_indices(shape: tuple[int, ...]) -> list[list[int]]:
    if len(shape) == 1:
        return [[i] for i in range(shape[0])]
    return [[i, j] for i in range(shape[0]) for j in range(shape[1])]


def _word(e: Expressions, kind: Scalar, text: str) -> tuple[str, str]:
    name = WORD_TYPES.get(kind.name, kind.name)
    if name == kind.name or e.target.name == "c":
        return name, text
    wide = {"i32": e.type_text(i32), "u32": e.type_text(u32), "f32": "float"}[name]
    return name, f"{wide}({text})"


WRITERS: dict[type, Callable[..., None]] = {Print: write_print, Assert: write_assert}
"""What `print_statements.WRITERS` has for the other effects."""
