"""Indices of neighbours in a row, whatever is taken beyond its ends: a query of `widenable`.

    (j + 1) % n, min(j + 1, n - 1), j + 1 if j < n - 1 else 0    in a loop over j from 0 to n:    1

In: an index, and the sums of the loop's own index with a number. Out: the number that is added to the loop's index
wherever the sum is an index of the row, from 0 to the end of the loop; None for any other index.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....ir.nodes import Statement
from ....ir.ops import MIRRORED, NEGATED
from ....ir.statements import Const, IfExp, Operation
from ....lazy_dataclasses import dataclass
from ...analysis.value_ranges import same_value

REMAINDERS = frozenset({"near_mod", "close_mod", "mod", "plain_mod", "raw_mod"})


@dataclass(slots=True)
class Bound:
    """A number, or the end of a loop and a number."""

    number: int
    is_end: bool

    def plus(self, number: int) -> Bound:
        """Return the sum with a number."""
        return Bound(self.number + number, self.is_end)

    def is_at_most(self, other: Bound) -> bool:
        """Return whether this bound is certainly not more than another one."""
        return self.is_end == other.is_end and self.number <= other.number


class Row:
    """The indices of a loop along its last axis, from 0 to `end`. shifts: what values add to the loop's index."""

    def __init__(self, end: Statement, shifts: Mapping[Statement, int]) -> None:
        self.shifts, self.stop = shifts, end
        self.end = Bound(int(end.value), False) if isinstance(end, Const) else Bound(0, True)

    def neighbour(self, index: Statement | None) -> int | None:
        """Return what an index adds to the loop's own one wherever the sum is in the row, None if that is not known."""
        match index:
            case Operation(op="min" | "max" as op, operands=[first, second]):
                for value, limit in ((first, second), (second, first)):
                    shift, bound = self.neighbour(value), self._bound(limit)
                    if shift is not None and bound is not None and self._is_beyond(bound, op):
                        return shift
            case Operation(op=op, operands=[value, divisor]) if op in REMAINDERS:
                bound = self._bound(divisor)
                return self.neighbour(value) if bound is not None and self.end.is_at_most(bound) else None
            case Operation(op="bit_and", operands=[value, Const(value=mask)]):
                extent = int(mask) + 1  # a power of two: a remainder
                is_inside = extent.bit_count() == 1 and self.end.is_at_most(Bound(extent, False))
                return self.neighbour(value) if is_inside else None
            case Operation(op="select", operands=[condition, then, otherwise]):
                return self._chosen(condition, then, otherwise)
            case IfExp(condition=condition, then=then, otherwise=otherwise):
                return self._chosen(condition, then.result, otherwise.result)
        return None if index is None else self.shifts.get(index)

    def _bound(self, value: Statement) -> Bound | None:
        """Return a value as a number, or as the end of the loop less a number: more than the end may wrap."""
        match value:
            case Const(value=number):
                return Bound(int(number), False)
            case Operation(op="sub", operands=[first, Const(value=number)]) if number >= 0:
                return Bound(-int(number), True) if same_value(first, self.stop) else None
        return self.end if same_value(value, self.stop) else None

    def _is_beyond(self, bound: Bound, op: str) -> bool:
        """Return whether no index of the row is above the bound of a minimum, or below that of a maximum."""
        return self.end.plus(-1).is_at_most(bound) if op == "min" else bound.is_at_most(Bound(0, False))

    def _chosen(self, condition: Statement, then: Statement | None, otherwise: Statement | None) -> int | None:
        """Return what an index adds that is one of two by a comparison with the loop's index."""
        for index, holds in ((then, True), (otherwise, False)):
            shift = self.neighbour(index)
            if shift is not None and self._is_always(condition, holds, shift):
                return shift
        return None

    def _is_always(self, condition: Statement, holds: bool, shift: int) -> bool:
        """Return whether a comparison has one outcome wherever the loop's index and `shift` are an index of the row."""
        if not isinstance(condition, Operation) or condition.op not in MIRRORED:
            return False
        op, (first, second) = condition.op, condition.operands
        if first not in self.shifts:
            op, first, second = MIRRORED[op], second, first
        by, bound = self.shifts.get(first), self._bound(second)
        if by is None or bound is None or by > max(shift, 0):  # it may wrap
            return False
        low, high = Bound(max(-shift, 0) + by, False), self.end.plus(by - 1 - max(shift, 0))
        is_below, is_above = high.plus(1).is_at_most(bound), bound.plus(1).is_at_most(low)
        return {
            "lt": is_below,
            "le": high.is_at_most(bound),
            "gt": is_above,
            "ge": bound.is_at_most(low),
            "ne": is_below or is_above,
            "eq": False,
        }[op if holds else NEGATED[op]]
