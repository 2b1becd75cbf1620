"""The adjoints of values: operations, vectors and matrices, structs, lists, expressions with blocks."""

from __future__ import annotations

from collections.abc import Iterator

from ....errors import TaichiCompilationError
from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, blocks
from ....ir.statements import (
    Cast,
    Const,
    If,
    IfExp,
    ListInit,
    ListItem,
    MatrixElement,
    MatrixInit,
    Operation,
    StructElement,
    StructInit,
)
from ....ir.types import Struct, Tensor, Type
from .adjoints import ADJOINTS, ZERO
from .algebra import Value
from .reverse_sweep import ReverseSweep, Rule, drop_empty
from .scope import Scope


def _operation(sweep: ReverseSweep, statement: Operation, scope: Scope) -> None:
    if statement not in sweep.varied or statement.op in ZERO:
        return
    adjoint = sweep.take(statement, scope)
    if adjoint is None:
        return
    values = [Value(sweep.builder, scope.find(operand)) for operand in statement.operands]
    result = Value(sweep.builder, scope.find(statement))
    found = ADJOINTS[statement.op](Value(sweep.builder, adjoint), result, *values)
    for operand, contribution in zip(statement.operands, found):
        if contribution is not None:
            sweep.contribute(operand, contribution.statement, scope)


def _cast(sweep: ReverseSweep, statement: Cast, scope: Scope) -> None:
    adjoint = sweep.take(statement, scope) if statement in sweep.varied else None
    if adjoint is None or statement.value not in sweep.varied:
        return
    if statement.bits:
        raise statement.location.error(
            TaichiCompilationError,
            "`ti.bit_cast` has no derivative, and the gradient needs one",
            "convert the number with `ti.cast`",
        )
    sweep.contribute(statement.value, adjoint, scope)


def _matrix_init(sweep: ReverseSweep, statement: MatrixInit, scope: Scope) -> None:
    adjoint = sweep.take(statement, scope) if statement in sweep.varied else None
    if adjoint is None:
        return
    assert isinstance(statement.type, Tensor)
    shape = statement.type.shape
    for flat, element in enumerate(statement.elements):
        if element in sweep.varied:
            position = (flat,) if len(shape) == 1 else divmod(flat, shape[1])
            indices: list[Statement] = [sweep.builder.const(k) for k in position]
            sweep.contribute(element, sweep.builder.element(adjoint, indices), scope)


def _matrix_element(sweep: ReverseSweep, statement: MatrixElement, scope: Scope) -> None:
    adjoint = sweep.take(statement, scope) if statement in sweep.varied else None
    if adjoint is None:
        return
    value = statement.value
    number = _number_of_element(statement)
    if number is not None and isinstance(value, ListItem) and value in sweep.varied:
        indices = [scope.find(value.index), sweep.builder.const(number)]
        pointer = sweep.builder.element_ptr(sweep.adjoint_of(value.origin), indices)
        sweep.accumulate(pointer, adjoint, sweep.is_shared(value.origin))
    elif number is not None and value not in sweep.adjoints and value in sweep.varied:
        sweep.contribute_element(value, number, adjoint, scope)
    else:
        indices = [scope.find(index) for index in statement.indices]
        pointer = sweep.builder.element_ptr(_variable_of(sweep, value, scope), indices)
        sweep.accumulate(pointer, adjoint, sweep.is_shared(value))


def _number_of_element(statement: MatrixElement) -> int | None:
    """Return which element is read, row by row, None if an index is no constant."""
    number = 0
    assert isinstance(statement.value.type, Tensor)
    for index, extent in zip(statement.indices, statement.value.type.shape, strict=True):
        if not isinstance(index, Const):
            return None
        number = number * extent + int(index.value)
    return number


def _struct_element(sweep: ReverseSweep, statement: StructElement, scope: Scope) -> None:
    adjoint = sweep.take(statement, scope) if statement in sweep.varied else None
    if adjoint is not None:
        pointer = sweep.builder.member_ptr(_variable_of(sweep, statement.value, scope), statement.member)
        sweep.accumulate(pointer, adjoint, sweep.is_shared(statement.value))


def _variable_of(sweep: ReverseSweep, value: Statement, scope: Scope) -> Statement:
    """Return the variable of a value's adjoint, to which parts are added."""
    known = sweep.known(value, scope)
    variable = sweep.adjoint_of(value)
    if known is not None:
        sweep.accumulate(variable, known, sweep.is_shared(value))
    return variable


def _struct_init(sweep: ReverseSweep, statement: StructInit, scope: Scope) -> None:
    adjoint = sweep.take(statement, scope) if statement in sweep.varied else None
    if adjoint is None:
        return
    assert isinstance(statement.type, Struct)
    for name, value in zip(statement.type.names, statement.values, strict=True):
        if value in sweep.varied:
            sweep.contribute(value, sweep.builder.member(adjoint, name), scope)


def _choice(sweep: ReverseSweep, statement: IfExp, scope: Scope) -> None:
    if statement not in sweep.varied:
        return
    sweep.prepare(statement, scope)
    adjoint = sweep.take(statement, scope)
    if adjoint is None:
        return
    branch = If(scope.find(statement.condition), Block(), Block())
    sweep.builder.add(branch)
    for block, copied in zip(blocks(statement), (branch.then, branch.otherwise), strict=True):
        assert copied is not None and block.result is not None
        with sweep.builder.into(copied):
            inner = sweep.place(statement, scope, set())
            sweep.forward.block(block, inner, is_differentiated=True)
            sweep.contribute(block.result, adjoint, inner)
            sweep.block(block, inner)
    drop_empty(branch)


def _list_item(sweep: ReverseSweep, statement: ListItem, scope: Scope) -> None:
    adjoint = sweep.take(statement, scope) if statement in sweep.varied else None
    if adjoint is None:
        return
    variable, index = sweep.adjoint_of(statement.origin), scope.find(statement.index)
    for more, part in _numbers_of(sweep.builder, adjoint):
        pointer = sweep.builder.element_ptr(variable, [index, *more])
        sweep.accumulate(pointer, part, sweep.is_shared(statement.origin))


def _numbers_of(builder: Builder, value: Statement) -> Iterator[tuple[list[Statement], Statement]]:
    """Yield the numbers of a value, each with its index among them: none of a single number."""
    if not isinstance(value.type, Tensor):
        yield [], value
        return
    shape = value.type.shape
    for flat in range(value.type.size):
        position = (flat,) if len(shape) == 1 else divmod(flat, shape[1])
        yield [builder.const(flat)], builder.element(value, [builder.const(k) for k in position])


def _list_init(sweep: ReverseSweep, statement: ListInit, scope: Scope) -> None:
    variable, builder = sweep.adjoints.get(statement), sweep.builder
    if variable is None:
        return
    for number, item in enumerate(statement.items):
        if item in sweep.varied:
            sweep.contribute(item, _row(builder, variable, number, item.type), scope)


def _row(builder: Builder, variable: Statement, number: int, type: Type | None) -> Statement:
    """Return the value of this type whose numbers are a row of a local array."""
    if not isinstance(type, Tensor):
        return builder.load(builder.element_ptr(variable, [builder.const(number)]))
    indices = [[builder.const(number), builder.const(k)] for k in range(type.size)]
    parts = [builder.load(builder.element_ptr(variable, index)) for index in indices]
    return builder.tensor(parts, type.shape, type.element)


VALUE_RULES: dict[type[Statement], Rule] = {
    Operation: _operation,
    Cast: _cast,
    MatrixInit: _matrix_init,
    MatrixElement: _matrix_element,
    ListInit: _list_init,
    ListItem: _list_item,
    StructInit: _struct_init,
    StructElement: _struct_element,
    IfExp: _choice,
}
"""The rule of each kind of value."""
