"""How many turns of serial loops a thread runs, as the host computes it at launch: for drivers that end loops early."""

from __future__ import annotations

from ...ir.functions import Call, Function
from ...ir.nodes import Block, blocks
from ...ir.statements import RangeFor
from ..layout.layout import Layout
from ..module.interface import Expression
from ..print.threads import extent_on_host

NONE: Expression = ("const", 0)


def serial_turns(layout: Layout, block: Block, known: dict[Function, Expression] | None = None) -> Expression:
    """Return a lower bound of the turns of all loops in `block`; loops whose bounds only the device knows count 0.

    known: turns of a call of a function, filled by the way.
    """
    known = {} if known is None else known
    total = NONE
    for statement in block.statements:
        inner = NONE
        for part in blocks(statement):
            inner = _larger(inner, serial_turns(layout, part, known))
        if isinstance(statement, Call):
            if statement.function not in known:
                known[statement.function] = serial_turns(layout, statement.function.body, known)
            inner = known[statement.function]
        if isinstance(statement, RangeFor):
            inner = _product(_trips(layout, statement), _sum(("const", 1), inner))
        total = _sum(total, inner)
    return total


def _trips(layout: Layout, loop: RangeFor) -> Expression:
    trips: Expression = ("const", 1)
    for axis in range(len(loop.starts)):
        extent = extent_on_host(layout, loop, axis)
        trips = NONE if extent is None else _product(trips, extent)
    return trips


def _sum(a: Expression, b: Expression) -> Expression:
    if a[0] == "const" == b[0]:
        return ("const", a[1] + b[1])
    return b if a == NONE else a if b == NONE else ("add", a, b)


def _product(a: Expression, b: Expression) -> Expression:
    if a == NONE or b == NONE:
        return NONE
    if a[0] == "const" == b[0]:
        return ("const", a[1] * b[1])
    return b if a == ("const", 1) else a if b == ("const", 1) else ("mul", a, b)


def _larger(a: Expression, b: Expression) -> Expression:
    if a[0] == "const" == b[0]:
        return a if a[1] >= b[1] else b
    return b if a == NONE else a if b == NONE else ("max", a, b)
