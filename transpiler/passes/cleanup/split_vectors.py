"""Scalarization: splits short sums of vectors of which only elements are used, as indices are.

    $2 = add $base, $node                       $3 = add $base.x, $node.x
    ptr mass[$2.x, $2.y]                  ->    $4 = add $base.y, $node.y
                                                ptr mass[$3, $4]

An element of an elementwise operation is the operation on elements, bit for bit. So `mass(base.x + node.x, base.y +
node.y)` needs no variable for the vector.
"""

from __future__ import annotations

from ...ir.nodes import Statement, count_uses, operands, walk
from ...ir.statements import Const, MatrixElement, MatrixInit, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor
from ..context import PassContext
from ..rewrite import Rewriter

ELEMENTWISE = frozenset({"add", "sub", "mul", "neg", "floordiv", "mod", "bit_and", "shl", "sar"}) | {
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
}


def split_vectors(kernel: Kernel, context: PassContext) -> bool:
    """Replace elements of unnamed vector operations on named operands by operations on elements."""
    changed = False
    for root in kernel.roots():
        elements: dict[Statement, int] = {}
        candidates = False
        for statement in walk(root):
            if isinstance(statement, MatrixElement) and _is_split(statement.value) and _position(statement) is not None:
                elements[statement.value] = elements.get(statement.value, 0) + 1
                candidates = True
        if not candidates:
            continue
        uses = count_uses(root)
        splitter = _Splitter({value for value, count in elements.items() if uses[value] == count})
        splitter.block(root)
        changed |= splitter.changed
    return changed


class _Splitter(Rewriter):
    """split: operations of which only elements are used."""

    def __init__(self, split: set[Statement]) -> None:
        super().__init__({MatrixElement: _element})
        self.split = split


def _is_split(value: Statement) -> bool:
    """Return whether a value is an operation on whole vectors or numbers that are variables."""
    if not isinstance(value, Operation) or value.op not in ELEMENTWISE or value.name is not None:
        return False
    return (
        isinstance(value.type, Tensor)
        and len(value.type.shape) == 1
        and all(_is_simple(operand, value.type) for operand in operands(value))
    )


def _is_simple(operand: Statement, result: Tensor) -> bool:
    if isinstance(operand.type, Tensor):
        return operand.type.shape == result.shape and (operand.name is not None or isinstance(operand, MatrixInit))
    return operand.name is not None or isinstance(operand, Const)


def _position(element: MatrixElement) -> int | None:
    """Return which element it is, None if it is computed or out of range."""
    (index,) = element.indices if len(element.indices) == 1 else (None,)
    assert isinstance(element.value.type, Tensor)
    if not isinstance(index, Const) or not 0 <= index.value < element.value.type.shape[0]:
        return None
    return int(index.value)


def _element(rewriter: Rewriter, element: Statement) -> Statement | None:
    assert isinstance(rewriter, _Splitter) and isinstance(element, MatrixElement)
    operation = element.value
    if operation not in rewriter.split or not isinstance(operation, Operation) or not isinstance(element.type, Scalar):
        return None
    parts = [_part(rewriter, operand, element) for operand in operation.operands]
    new = Operation(operation.op, parts, type=element.type, hint=element.hint, copies=element.copies)
    return rewriter.emit(new, operation)


def _part(rewriter: Rewriter, operand: Statement, element: MatrixElement) -> Statement:
    """Return the element of an operand."""
    if not isinstance(operand.type, Tensor):
        return operand
    position = _position(element)
    if isinstance(operand, MatrixInit) and position is not None:
        return operand.elements[position]
    return rewriter.emit(MatrixElement(operand, element.indices[:], type=operand.type.element), element)
