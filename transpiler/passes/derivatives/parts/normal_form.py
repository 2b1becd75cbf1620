"""The form of statements that the sweeps expect: serial loops of one axis, and nothing after a jump.

    if c { a; continue }          if c { a }
    rest                    ->    else { rest }

A `break` stays as the last statement of its branch. So a sweep that runs one iteration again takes the branches that
the iteration took, and no other statement.
"""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, blocks
from ....ir.statements import Alloca, Break, Continue, If, RangeFor, StructFor, While
from ....ir.types import u1
from ...loops.parts.nests import nest_of
from ...sparse.parts.dense_loops import as_range_for, rebind_indices

LOOPS = (RangeFor, StructFor, While)
JUMPS = (Break, Continue)


def normalize(body: Block) -> None:
    """Bring the statements of a kernel into this form; its parallel loops keep their axes."""
    result: list[Statement] = []
    for statement in body.statements:
        if isinstance(statement, (RangeFor, StructFor)) and not statement.serialize:
            _split_axes(statement.body)
            statement.body.statements = _structured(statement.body.statements)
            result.append(statement)
        else:
            block = Block([statement])
            _split_axes(block)
            result += _structured(block.statements)
    body.statements = result


def _split_axes(block: Block) -> None:
    """Replace serial loops of several axes by nests of 1-D loops, and loops over cells by loops over a range."""
    result: list[Statement] = []
    for statement in block.statements:
        for inner in blocks(statement):
            _split_axes(inner)
        if isinstance(statement, StructFor):
            before, loop = as_range_for(statement)
            rebind_indices(statement.body, {statement: loop})
            result += before
            statement = loop
        if isinstance(statement, RangeFor) and len(statement.starts) > 1:
            statement.serialize = True
            statement = nest_of(statement)[0]  # a `break` left all axes, and `lower` has split such loops already
        result.append(statement)
    block.statements = result


def _structured(statements: list[Statement]) -> list[Statement]:
    """Return the statements of one block such that none follows a jump."""
    result: list[Statement] = []
    for position, statement in enumerate(statements):
        rest = statements[position + 1 :]
        if isinstance(statement, If) and _jumps(statement):
            _guard_rest(result, statement, rest)
            return result
        for inner in blocks(statement):
            inner.statements = _structured(inner.statements)
        if not isinstance(statement, Continue):
            result.append(statement)
        if isinstance(statement, JUMPS):
            return result
    return result


def _guard_rest(result: list[Statement], branch: If, rest: list[Statement]) -> None:
    """Append a branch that may jump, and `rest` where no jump was executed."""
    otherwise = branch.otherwise.statements if branch.otherwise is not None else []
    if _always_jumps(branch.then.statements):
        otherwise = [*otherwise, *rest]
    elif _always_jumps(otherwise):
        branch.then.statements = [*branch.then.statements, *rest]
    elif rest:
        flag = Alloca(type=u1, name="left", location=branch.location)
        _record_jumps(branch, flag)
        builder = Builder(Block(result), branch.location)
        builder.add(flag)
        builder.store(flag, builder.const(False, u1))
        _finish(builder, branch, otherwise)
        not_left = builder.op("logical_not", builder.load(flag))
        builder.add(If(not_left, Block(_structured(rest))))
        return
    builder = Builder(Block(result))
    _finish(builder, branch, otherwise)


def _finish(builder: Builder, branch: If, otherwise: list[Statement]) -> None:
    """Append a branch with structured blocks."""
    branch.then.statements = _structured(branch.then.statements)
    inner = _structured(otherwise)
    branch.otherwise = Block(inner) if inner else None
    builder.add(branch)


def _record_jumps(statement: Statement, flag: Alloca) -> None:
    """Set the flag before each jump out of the iteration."""
    for block in blocks(statement):
        builder = Builder(Block())
        for inner in block.statements:
            if isinstance(inner, JUMPS):
                builder.location = inner.location
                builder.store(flag, builder.const(True, u1))
            elif not isinstance(inner, LOOPS):
                _record_jumps(inner, flag)
            builder.add(inner)
        block.statements = builder.block.statements


def _jumps(statement: Statement) -> bool:
    """Return whether a statement may end the iteration of the loop around it."""
    return isinstance(statement, JUMPS) or (
        not isinstance(statement, LOOPS) and any(_jumps(inner) for block in blocks(statement) for inner in block)
    )


def _always_jumps(statements: list[Statement]) -> bool:
    """Return whether the end of these statements is never reached."""
    return any(
        isinstance(s, JUMPS)
        or (
            isinstance(s, If)
            and s.otherwise is not None
            and _always_jumps(s.then.statements)
            and _always_jumps(s.otherwise.statements)
        )
        for s in statements
    )
