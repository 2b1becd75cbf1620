"""Statements except loops and assignments: `if`, `return`, `assert`, and the code after a possible exit.

Handlers return None, or a `Completion` if the statement may not continue with the next one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ...errors import TaichiSyntaxError
from ...ir.nodes import Block, Effect, Statement, has_effect
from ...ir.remarks import constant_condition
from ...ir.statements import Alloca, Array, Assert, Break, Const, LocalStore
from ...ir.types import Type, u1
from ...lang.matrix import Matrix
from ...lazy_dataclasses import dataclass
from ..context.context import STATEMENTS, Context, statement
from ..context.nesting import LoopRecord
from ..context.per_iteration import PerIteration
from ..context.scope import Exit, Result
from ..library.format_strings import message_parts
from .assignment import display, static_argument
from .returns import declared_return, inferred_return


@dataclass(frozen=True, slots=True)
class Completion:
    """How a statement may end.

    Attributes:
        falls: it can continue with the next statement.
        exits: exits that may have been taken.
        tail: the block whose end is reached only if no exit was taken; the next statements can be appended there.
    """

    falls: bool = True
    exits: tuple[Exit, ...] = ()
    tail: Block | None = None


Branch = Callable[[], Completion]
EFFECTS = Effect.WRITE | Effect.CONTROL | Effect.FENCE
NORMAL = Completion()
NEVER = Completion(falls=False)


def execute(context: Context, statements: list[ast.stmt]) -> Completion:
    """Build statements into the current block, up to one after which the block is always left.

    After a statement that may take an exit, the rest is built under `if not taken`, or in the branch that does not.
    """
    exits: tuple[Exit, ...] = ()
    for position, node in enumerate(statements):
        completion = _if(context, node) if type(node) is ast.If else execute_one(context, node)
        if completion.exits or not completion.falls:
            done = after(context, completion, statements[position + 1 :])
            return Completion(done.falls, _merge(exits, done.exits), done.tail)
    return Completion(True, exits)


def execute_one(context: Context, node: ast.stmt) -> Completion:
    """Build one statement (not an `if`)."""
    handler = STATEMENTS.get(type(node))
    if handler is None:
        context.unsupported(node)
    context.builder.location = context.frame.location(node)
    return handler(context, node) or NORMAL


def after(context: Context, completion: Completion, rest: list[ast.stmt]) -> Completion:
    """Build the statements after a possible exit; exits out of the current loop have left it."""
    inner = [leave for leave in completion.exits if leave.loops >= context.nesting.depth]
    if not completion.falls or not rest:
        return completion
    if not inner:
        done = execute(context, rest)
        return Completion(done.falls, _merge(completion.exits, done.exits), done.tail)
    if completion.tail is not None:
        with context.builder.into(completion.tail):
            done = execute(context, rest)
        tail = done.tail if done.exits else completion.tail
        return Completion(done.falls, _merge(completion.exits, done.exits), tail)
    condition = context.builder.op("logical_not", context.exits.any_taken(inner))
    guarded = Block()
    with context.builder.into(guarded):
        done = execute(context, rest)
    context.add_if(condition, guarded)
    return Completion(done.falls, _merge(completion.exits, done.exits), done.tail if done.exits else guarded)


def leave_loop(context: Context, exits: tuple[Exit, ...]) -> None:
    """After an inner loop: break the current one too, if an exit outside of it was taken."""
    crossing = [leave for leave in exits if leave.loops < context.nesting.depth]
    if not crossing:
        return
    breaking = Block()
    condition = context.exits.any_taken(crossing)
    with context.builder.into(breaking):
        context.builder.add(Break())
    context.add_if(condition, breaking)
    serialize_enclosing(context)


def serialize_enclosing(context: Context) -> None:
    """Make loops with an exit serial: iterations after it must not run."""
    for record in context.nesting.loops:
        if record.loop is not None and record.is_parallel:
            record.loop.serialize = True  # type: ignore[union-attr]


def _merge(first: tuple[Exit, ...], second: tuple[Exit, ...]) -> tuple[Exit, ...]:
    return first + tuple(leave for leave in second if leave not in first)


def scoped(context: Context, statements: list[ast.stmt]) -> Completion:
    """Build statements in a new scope."""
    context.frame.scopes.append({})
    done = execute(context, statements)
    context.frame.scopes.pop()
    return done


def build_body(context: Context, statements: list[ast.stmt], record: LoopRecord) -> Completion:
    """Build the body of a loop in the current block."""
    home, context.nesting.home = context.nesting.home, context.builder.block
    context.nesting.loops.append(record)
    context.nesting.depth += 1
    context.frame.scopes.append({})
    done = execute(context, statements)
    context.frame.scopes.pop()
    context.nesting.depth -= 1
    context.nesting.loops.pop()
    context.nesting.home = home
    return done


# --- if -------------------------------------------------------------------------------------------------------------


def _if(context: Context, node: ast.If) -> Completion:
    """Build an `if`: one branch where the condition is known at compile time, else both."""
    location = context.builder.location = context.frame.location(node)
    value = context.truth(node.test)
    context.builder.location = location
    if isinstance(value, PerIteration):
        value = value.common
    if isinstance(value, PerIteration):
        return _if_number(context, node, value)
    if not isinstance(value, (Statement, Array, Matrix, list, tuple)):
        if not says_static(context, node.test):
            context.builder.add(constant_condition(location, context.python(bool, value), "frontend"))
        outer, context.nesting.is_conditional = context.nesting.is_conditional, _guards(context, node.test)
        done = scoped(context, node.body if context.python(bool, value) else node.orelse)
        context.nesting.is_conditional = outer
        return done
    condition = context.values.condition(value, "if", node.test)
    otherwise = (lambda: scoped(context, node.orelse)) if node.orelse else None
    return branch(context, condition, lambda: scoped(context, node.body), otherwise, is_python=True)


def _if_number(context: Context, node: ast.If, test: PerIteration) -> Completion:
    """Build an `if` whose condition is known at compile time but differs between iterations of a static loop."""

    def side(statements: list[ast.stmt], truth: bool) -> Branch:
        def build() -> Completion:
            with context.where(test, truth):
                return scoped(context, statements)

        return build

    condition = context.values.condition(test, "if", node.test)
    otherwise = side(node.orelse, False) if node.orelse else None
    return branch(context, condition, side(node.body, True), otherwise, is_python=True)


def says_static(context: Context, test: ast.expr) -> bool:
    """Return whether a condition is visibly constant in the Python source."""
    return isinstance(test, ast.Constant) or any(
        static_argument(context, inner) is not None for inner in ast.walk(test) if isinstance(inner, ast.Call)
    )


def branch(
    context: Context,
    condition: Statement,
    build_then: Branch,
    build_otherwise: Branch | None = None,
    is_python: bool = False,
) -> Completion:
    """Append an `if` on a run-time condition; its branches are built by callables."""
    location = context.builder.location
    then, otherwise = Block(), Block()
    with context.builder.into(then):
        first = build_then()
    with context.builder.into(otherwise):
        second = build_otherwise() if build_otherwise is not None else NORMAL
    exits = _merge(first.exits, second.exits)
    context.builder.location = location
    keeps_otherwise = build_otherwise is not None or bool(exits)
    context.add_if(condition, then, otherwise if keeps_otherwise else None).is_python = is_python
    return Completion(first.falls or second.falls, exits, _tail(then, first, otherwise, second) if exits else None)


def _guards(context: Context, test: ast.expr) -> bool:
    """Return whether loops under a known condition are serial: without `ti.static` they are, as in Taichi."""
    return context.nesting.is_conditional or static_argument(context, test) is None


def _tail(then: Block, first: Completion, otherwise: Block, second: Completion) -> Block | None:
    """Return the only block whose end is reached if no exit was taken."""
    if first.falls == second.falls:
        return None
    block, going = (then, first) if first.falls else (otherwise, second)
    return going.tail if going.exits else block


# --- return, pass, assert, expressions ------------------------------------------------------------------------------


@statement(ast.Return)
def build_return(context: Context, node: ast.Return) -> Completion:
    """`return`: in a kernel or real function a statement, in an inlined function an exit."""
    if context.static_loops and context.static_loops[-1].is_conditional:
        context.need_copies()  # another iteration may return another type
    frame = context.frame
    frame.returned = True
    if frame.leave is None and frame.returns is None:
        declared_return(context, node)
        return NEVER
    value: Any = None
    if isinstance(node.value, ast.Tuple):
        value = display(context, node.value)
    elif node.value is not None:
        value = context.value(node.value)
    if frame.returns is not None:
        inferred_return(context, frame.returns, value, node)
        return NEVER
    assert frame.leave is not None
    if context.builder.block is frame.entry and frame.result is None:
        frame.value = value
        return NEVER
    _store_result(context, value)
    context.exits.take(frame.leave)
    if frame.leave.loops < context.nesting.depth:
        context.builder.add(Break())
        serialize_enclosing(context)
    return Completion(False, (frame.leave,))


def _store_result(context: Context, value: Any) -> None:
    """Store the values of one of several `return`s; the variables are typed when all are known."""
    frame = context.frame
    if frame.result is None:
        frame.result = Result(is_tuple=isinstance(value, tuple))
    items = list(value) if isinstance(value, tuple) else [] if value is None else [value]
    result = frame.result
    if result.stores and len(result.stores) != len(items) or result.is_tuple != isinstance(value, tuple):
        raise context.error(
            TaichiSyntaxError,
            "All `return`s of a function need the same number of values",
            "return as many values in each",
        )
    assert frame.leave is not None
    for position, item in enumerate(items):
        lifted = context.values.lift(item)
        assert lifted.type is not None
        if position == len(result.stores):
            suffix = f"_{position}" if result.is_tuple else ""
            lvalue = _result_variable(context, f"{frame.definition.name}_result{suffix}", lifted.type)
            result.variables.append(lvalue)
            result.stores.append([])
        result.stores[position].append(_store_untyped(context, result.variables[position], lifted))


@statement(ast.Pass)
def build_pass(context: Context, node: ast.Pass) -> None:
    """`pass`."""


@statement(ast.Expr)
def build_expression_statement(context: Context, node: ast.Expr) -> None:
    """A call for its effect, or a docstring."""
    if not isinstance(node.value, ast.Constant):
        context.evaluate(node.value)


@statement(ast.Assert)
def build_assert(context: Context, node: ast.Assert) -> None:
    """`assert condition, message`: a check under `debug` only; what the operands do besides giving values remains."""
    operands = Block()
    with context.builder.into(operands):
        condition = context.values.condition(context.truth(node.test), "assert", node.test)
        message, values = message_parts(context, node.msg)
    if context.options.debug or any(has_effect(s, EFFECTS) for s in operands.statements):
        context.builder.block.statements += operands.statements
    if not context.options.debug:
        return
    if not message:
        message = ast.unparse(node.test).replace("{", "{{").replace("}", "}}")
    if isinstance(condition, Const) and condition.value and condition.type == u1:
        return
    context.builder.add(Assert(condition, message, values))


def _result_variable(context: Context, name: str, type: Type) -> Alloca:
    """Declare a result variable at the start of the current function."""
    leave = context.frame.leave
    assert leave is not None
    shown = None if context.frame.hides_names else name
    variable = Alloca(type=type, name=shown, location=context.builder.location)
    leave.block.statements.insert(leave.position, variable)
    return variable


def _store_untyped(context: Context, variable: Alloca, value: Statement) -> tuple[Block, LocalStore]:
    """Store without a cast, which is added later, when the variable's type is known."""
    return context.builder.block, context.builder.add(LocalStore(variable, value))
