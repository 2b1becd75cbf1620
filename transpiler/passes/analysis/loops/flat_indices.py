"""Indices of loops that are one loop now, as quotients and remainders of its index: a query.

    n_i_j // (H * W), n_i_j // W % H, n_i_j % W

An element that has all of them among its indices is one of a single iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import field

from ....ir.nodes import Statement, walk
from ....ir.statements import ArgLoad, ArrayShape, Const, GlobalPtr, LoopIndex, Operation, RangeFor
from ....lazy_dataclasses import dataclass
from ..queries import axes_in, is_index_of

Product = tuple[int, Counter[Hashable]]
"""A number, and how often it is multiplied by what the launch knows."""
ONE: Product = 1, Counter()


@dataclass(frozen=True, slots=True)
class Component:
    """`index // divisor % modulus + rest`; modulus: None for the outermost loop. rest: which no comparison sees."""

    divisor: Product
    modulus: Product | None
    rest: Statement | None = field(default=None, compare=False)


def is_fastest(index: Statement, row: RangeFor) -> bool:
    """Return whether an index is that of the innermost of loops that are one."""
    return isinstance(index, Operation) and index.op == "plain_mod" and is_index_of(index.operands[0], row)


def components_of(pointer: GlobalPtr, row: RangeFor) -> dict[int, Component] | None:
    """Return which index of an element has which part of that of a loop, by axis.

    None if another iteration may have the same element.
    """
    found: dict[int, Component] = {}
    for axis, index in enumerate(pointer.indices):
        if axes_in(index, row):
            component = _component(index, row)
            if component is None:
                return None
            found[axis] = component
    rest, reached = list(found.values()), ONE
    while rest:
        following = [component for component in rest if component.divisor == reached]
        if len(following) != 1:
            return None
        rest.remove(following[0])
        modulus = following[0].modulus
        if modulus is None:
            return None if rest else found
        reached = _times(reached, modulus)
    return None


def _component(index: Statement, row: RangeFor) -> Component | None:
    """Return what part of the index of a loop an index is, None if it is something else."""
    rest, by, divided = None, list[Statement](), list[Statement]()
    match index:
        case Operation(op="add", operands=[one, other]):
            index, rest = (one, other) if axes_in(one, row) else (other, one)
    if rest is not None and not _is_the_same(rest, row):
        return None
    match index:
        case Operation(op="plain_mod", operands=[inner, *by]):
            index = inner
    match index:
        case Operation(op="plain_div", operands=[inner, *divided]):
            index = inner
    modulus, divisor = _product(by[0]) if by else None, _product(divided[0]) if divided else ONE
    if divisor is None or (by and modulus is None) or not is_index_of(index, row):
        return None
    return Component(divisor, modulus, rest)


def _is_the_same(value: Statement, row: RangeFor) -> bool:
    """Return whether a number is the same in all iterations of a loop, and of loops inside, as far as can be seen."""
    if isinstance(value, Operation):
        return all(_is_the_same(operand, row) for operand in value.operands)
    if isinstance(value, LoopIndex):
        return value.loop is not row and value.loop not in set(walk(row.body))
    return isinstance(value, (Const, ArgLoad, ArrayShape))


def _product(value: Statement) -> Product | None:
    """Return the factors of a number, None if there are others than what the launch knows."""
    match value:
        case Const(value=number):
            return int(number), Counter()
        case ArrayShape(array=array, axis=axis):
            return 1, Counter([(array, axis)])
        case ArgLoad(parameter=parameter):
            return 1, Counter([parameter])
        case Operation(op="mul", operands=[one, other]):
            first, second = _product(one), _product(other)
            return None if first is None or second is None else _times(first, second)
        case Operation(op="sub", operands=[ArrayShape(array=array, axis=axis), Const(value=number)]):
            return 1, Counter([(array, axis, number)])
    return None


def _times(one: Product, other: Product) -> Product:
    return one[0] * other[0], one[1] + other[1]
