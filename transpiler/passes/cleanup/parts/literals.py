"""Simplification of vectors and matrices that are made of elements: rules of the pass `simplify`.

cast [i, j] to f32[2]             ->    [cast i, cast j]
[i, j] + 0.5                      ->    [i + 0.5, j + 0.5]
[[1, 0], [0, 1]] * stress         ->    [[stress, 0], [0, stress]]    with fast math: 0 * NaN is NaN
"""

from __future__ import annotations

from ....ir.nodes import Statement
from ....ir.statements import ArgLoad, Cast, Const, ListItem, LoopIndex, MatrixInit, Operation
from ....ir.types import Scalar, Tensor
from ...analysis.queries import uncast
from ...rewrite import Rewriter


def cast_of_elements(rewriter: Rewriter, cast: Cast) -> Statement | None:
    """Return a literal of converted elements in place of a converted literal, if each element costs nothing."""
    value, kind = cast.value, cast.type
    if not isinstance(value, MatrixInit) or not isinstance(kind, Tensor) or cast.bits:
        return None
    if not all(_is_leaf(element) for element in value.elements):
        return None
    elements = [rewriter.emit(Cast(element, type=kind.element), cast) for element in value.elements]
    return rewriter.emit(MatrixInit(elements, type=kind), cast)


def with_number(rewriter: Rewriter, operation: Operation) -> Statement | None:
    """Return a literal in place of an operation on a short one and a number, where each element costs nothing."""
    kind = operation.type
    if operation.op not in ("add", "sub", "mul") or not isinstance(kind, Tensor) or len(kind.shape) != 1:
        return None
    vector, number = sorted(operation.operands, key=lambda operand: isinstance(operand.type, Scalar))
    if not isinstance(vector, MatrixInit) or vector.name is not None or number.type != kind.element:
        return None
    if not _is_leaf(number) or not all(_is_leaf(uncast(e)) for e in vector.elements):
        return None
    elements = []
    for element in vector.elements:
        pair = [element if operand is vector else operand for operand in operation.operands]
        elements.append(rewriter.emit(Operation(operation.op, pair, type=kind.element), operation))
    return rewriter.emit(MatrixInit(elements, type=kind), operation)


def _is_leaf(value: Statement) -> bool:
    """Return whether a value is printed as a name or a number at each use."""
    if isinstance(value, ListItem):
        return _is_leaf(value.index)
    return isinstance(value, (Const, LoopIndex, ArgLoad)) or (isinstance(value.type, Scalar) and value.name is not None)


def scaled_diagonal(rewriter: Rewriter, operation: Operation) -> Statement | None:
    """Return the matrix with a number on its diagonal in place of a product of such a matrix and a number."""
    kind = operation.type
    if operation.op != "mul" or not isinstance(kind, Tensor) or not kind.element.is_float:
        return None
    matrix, number = sorted(operation.operands, key=lambda operand: isinstance(operand.type, Scalar))
    factor = _diagonal(matrix)
    if factor is None or number.type != kind.element:
        return None
    assert isinstance(matrix, MatrixInit)
    product = number
    if not (isinstance(factor, Const) and factor.value == 1):
        product = rewriter.emit(Operation("mul", [factor, number], type=kind.element), operation)
    elements = [product if element is factor or _is_one(element) else element for element in matrix.elements]
    return rewriter.emit(MatrixInit(elements, type=kind), operation)


def _diagonal(matrix: Statement) -> Statement | None:
    """Return the number on the diagonal of a square matrix of zeros, None if there is no such number."""
    if not isinstance(matrix, MatrixInit) or not isinstance(matrix.type, Tensor) or len(matrix.type.shape) != 2:
        return None
    rows, columns = matrix.type.shape
    numbers = [matrix.elements[k * columns + k] for k in range(min(rows, columns))]
    others = [element for k, element in enumerate(matrix.elements) if k % (columns + 1)]
    if rows != columns or rows == 1 or not all(isinstance(e, Const) and e.value == 0 for e in others):
        return None
    same = all(number is numbers[0] or (_is_one(number) and _is_one(numbers[0])) for number in numbers)
    return numbers[0] if same and not (isinstance(numbers[0], Const) and not _is_one(numbers[0])) else None


def _is_one(value: Statement) -> bool:
    return isinstance(value, Const) and value.value == 1
