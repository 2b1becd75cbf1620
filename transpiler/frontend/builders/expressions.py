"""Expressions: operators, conditions, displays and comprehensions.

Handlers get a node and return a Python object, a statement, or an `Lvalue` that the caller loads.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Block, Statement
from ...ir.statements import (
    ArgLoad,
    ArrayShape,
    Cast,
    Const,
    IfExp,
    LocalLoad,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    Operation,
)
from ...ir.types import Scalar, Tensor, u1
from ..context.context import Context, expression
from ..context.iteration import compile_time_items
from ..context.per_iteration import PerIteration, choose, contains_per_iteration
from ..context.per_iteration import logical as combined
from ..context.references import is_view
from ..context.values import holds_runtime, is_number, is_runtime
from ..library.format_strings import formatted, percent_format
from ..library.membership import is_member
from ..library.operators import (
    BINARY,
    COMPARE,
    UNARY,
    binary,
    compare,
    logical,
    naming_operands,
    unary,
    unify,
    with_operands,
)
from ..library.slices import slice_of
from ..source.named_numbers import plain
from .assignment import assign_name, bind

MAX_SPECULATED = 12
"""Up to this many cheap statements the second operand of `and` and `or` is computed unconditionally."""


@expression(ast.BinOp)
def build_binary(context: Context, node: ast.BinOp) -> Any:
    """Binary operators. The nodes of `a + b + c + ...`, which nest to the left, are built without recursion."""
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    left: Any = None
    frame = context.frames[-1]
    for inner in reversed(chain):
        context.builder.location = frame.location(inner)
        if inner is chain[-1]:
            left = context.value(inner.left)
        right = context.value(inner.right)
        if isinstance(right, int):
            _check_range(context, right, inner.right, left)
        elif isinstance(left, int):
            _check_range(context, left, inner.left, right)
        if isinstance(left, str) and isinstance(inner.op, ast.Mod):
            left = percent_format(context, left, right)
        else:
            try:
                left = binary(context, BINARY[type(inner.op)], left, right)
            except TaichiTypeError as error:
                raise with_operands(error, inner.left, inner.right) from None
    return left


def _check_range(context: Context, value: int, node: ast.expr, other: Any) -> None:
    """Refuse an integer that does not fit its type, if it is combined with a run-time value."""
    if isinstance(other, Statement) and not isinstance(value, bool):
        context.values.check_range(value, node)


@expression(ast.UnaryOp)
def build_unary(context: Context, node: ast.UnaryOp) -> Any:
    """`-a`, `~a`, `not a`, `+a`."""
    value = context.truth(node.operand) if isinstance(node.op, ast.Not) else context.value(node.operand)
    if isinstance(node.op, ast.UAdd):
        return value if not is_number(value) else +value
    return unary(context, UNARY[type(node.op)], value)


@expression(ast.Compare)
def build_compare(context: Context, node: ast.Compare) -> Any:
    """`a < b`, `a < b < c` with `b` computed once; all operands are computed, as in Taichi."""
    result: Any = None
    left, left_node = context.value(node.left), node.left
    for kind, right_node in zip(node.ops, node.comparators, strict=True):
        if isinstance(right_node, ast.Set):  # sets have no value elsewhere; source order keeps the output stable
            right: Any = tuple(_items(context, right_node.elts))
        else:
            right = context.value(right_node)
        try:
            comparison = _compare_one(context, kind, left, right)
        except TaichiTypeError as error:
            raise with_operands(error, left_node, right_node) from None
        if result is None:
            result = comparison
        elif not holds_runtime(result) and not holds_runtime(comparison):
            both = contains_per_iteration(result, comparison) is not None
            result = combined("and", result, comparison) if both else result and comparison
        else:
            result = logical(context, "and", context.values.lift(result), context.values.lift(comparison))
        left, left_node = right, right_node
    return result


def _compare_one(context: Context, kind: ast.cmpop, left: Any, right: Any) -> Any:
    entry = COMPARE.get(type(kind))
    if entry is not None:
        return compare(context, entry, left, right)
    if isinstance(kind, (ast.Is, ast.IsNot)):
        if (is_runtime(left) and right is not None) or (is_runtime(right) and left is not None):
            name = "is" if isinstance(kind, ast.Is) else "is not"
            raise context.error(
                TaichiSyntaxError, f'Operator "{name}" in Taichi scope is not supported.', "use `==` or `!=`"
            )
        for numbers, other in ((left, right), (right, left)):
            if isinstance(numbers, PerIteration) and other is not None:
                numbers.needs_one()
        return (plain(left) is plain(right)) == isinstance(kind, ast.Is)
    is_in = isinstance(kind, ast.In)
    if not holds_runtime(left) and not holds_runtime(right):
        return context.python(lambda: (left in right) == is_in)
    membership = is_member(context, left, right)
    return membership if is_in else unary(context, UNARY[ast.Not], membership)


@expression(ast.BoolOp)
def build_logical(context: Context, node: ast.BoolOp) -> Any:
    """`a and b`, `a or b`: the second only if the first does not decide; on tensors element by element."""
    name = "and" if isinstance(node.op, ast.And) else "or"
    is_truth = context.truth_node is node
    evaluate = context.truth if is_truth else context.value
    result = evaluate(node.values[0])
    for operand in node.values[1:]:
        if isinstance(result, PerIteration):
            result = result.common
        if isinstance(result, PerIteration):
            result = _logical_of_numbers(context, name, result, operand, is_truth)
            continue
        if not is_runtime(result) and not holds_runtime(result):
            if context.python(bool, result) == (name == "or"):
                return result
            result = evaluate(operand)
            continue
        result = _logical(context, name, context.values.lift(result), operand, is_truth)
    return result


def _logical_of_numbers(context: Context, name: str, left: PerIteration, node: ast.expr, is_truth: bool) -> Any:
    """Return `left and right` where `left` is known at compile time but differs between iterations."""
    block = Block()
    with context.builder.into(block), context.where(left, name == "and"):
        right = context.truth(node) if is_truth else context.value(node)
    if not is_runtime(right) and not holds_runtime(right):
        return combined(name, left, right)
    if not is_truth and not all(isinstance(number, bool) for number in left.present):
        left.needs_one()  # the number itself may be the result, of another type
    return _logical_in(context, name, context.values.condition(left, name), right, block, is_truth)


def _logical(context: Context, name: str, left: Statement, node: ast.expr, is_truth: bool) -> Statement:
    block = Block()
    with context.builder.into(block):
        right = context.values.lift(context.truth(node) if is_truth else context.value(node), node)
    return _logical_in(context, name, left, right, block, is_truth)


def _logical_in(
    context: Context, name: str, left: Statement, right: Statement, block: Block, is_truth: bool
) -> Statement:
    """Return `left and right` of run-time values. block: computes `right`."""
    if isinstance(left.type, Tensor) or isinstance(right.type, Tensor):
        _splice(context, block)
        return logical(context, name, left, right)
    if not is_truth and (left.type != u1 or right.type != u1):
        return _decided(context, name, left, right, block)
    left = context.values.condition(left, name)
    with context.builder.into(block):
        block.result = context.values.condition(right, name)
    if not context.options.short_circuit_operators or _is_cheap(block):
        result = block.result
        _splice(context, block)
        return logical(context, name, left, result)
    decided = Block()
    with context.builder.into(decided):
        decided.result = context.builder.const(name == "or", u1)
    branches = (block, decided) if name == "and" else (decided, block)
    return context.builder.add(IfExp(left, *branches, type=u1))


def _decided(context: Context, name: str, left: Statement, right: Statement, block: Block) -> Statement:
    """Return one of two numbers, as Python does: `3 and 5` is 5, `3 or 5` is 3, in the type they promote to."""
    type = unify(context, [left, right])
    condition = context.values.condition(left, name)
    first = Block()
    with context.builder.into(first):
        first.result = context.builder.fit(left, type)
    with context.builder.into(block):
        block.result = context.builder.fit(right, type)
    branches = (block, first) if name == "and" else (first, block)
    return context.builder.add(IfExp(condition, *branches, type=type))


def _splice(context: Context, block: Block) -> None:
    context.builder.block.statements.extend(block.statements)


def _is_cheap(block: Block) -> bool:
    """Return whether a block may be computed unnecessarily: few operations, no division, no array."""
    return len(block) <= MAX_SPECULATED and all(_is_harmless(statement) for statement in block.statements)


def _is_harmless(statement: Statement) -> bool:
    match statement:
        case Const() | Cast() | LoopIndex() | ArgLoad() | ArrayShape():
            return True
        case LocalLoad():
            return not isinstance(statement.pointer, Operation)
        case Operation(op=op):
            return op not in ("div", "floordiv", "mod", "raw_div", "raw_mod", "pow")
        case MatrixElement(indices=indices):
            return all(isinstance(index, Const) for index in indices)
        case _:
            return False


@expression(ast.IfExp)
def build_conditional(context: Context, node: ast.IfExp) -> Any:
    """`a if c else b`: only the branch taken is computed; the types promote."""
    test = context.truth(node.test)
    if isinstance(test, PerIteration):
        test = test.common
    if isinstance(test, PerIteration):
        return _conditional_number(context, node, test)
    if not is_runtime(test) and not holds_runtime(test):
        return context.evaluate(node.body if context.python(bool, test) else node.orelse)
    test = context.values.lift(test)
    then, otherwise = Block(), Block()
    with context.builder.into(then):
        first = context.runtime(node.body)
    with context.builder.into(otherwise):
        second = context.runtime(node.orelse)
    if isinstance(test.type, Tensor):
        _splice(context, then)
        _splice(context, otherwise)
        return context.builder.op("select", test, first, second)
    condition = context.values.condition(test, "if")
    with naming_operands(node.body, node.orelse):
        type = unify(context, [first, second])
    for block, value in ((then, first), (otherwise, second)):
        with context.builder.into(block):
            block.result = context.builder.fit(value, type)
    return context.builder.add(IfExp(condition, then, otherwise, type=type))


def _conditional_number(context: Context, node: ast.IfExp, test: PerIteration) -> Any:
    """Build `a if c else b` where the condition is known at compile time but differs between iterations."""
    branches: list[tuple[Block, Any]] = []
    for side, truth in ((node.body, True), (node.orelse, False)):
        block = Block()
        with context.builder.into(block), context.where(test, truth):
            branches.append((block, context.value(side)))
    (then, first), (otherwise, second) = branches
    if not any(is_runtime(value) or holds_runtime(value) for value in (first, second)):
        return choose(test, first, second)
    if not (isinstance(first, Statement) and isinstance(second, Statement) and first.type == second.type):
        test.needs_one()
    then.result, otherwise.result = first, second
    condition = context.values.condition(test, "if", node.test)
    return context.builder.add(IfExp(condition, then, otherwise, type=first.type))


@expression(ast.NamedExpr)
def build_walrus(context: Context, node: ast.NamedExpr) -> Any:
    """`(a := value)`: a variable of the block of the statement."""
    value = context.value(node.value)
    name = node.target.id
    local = context.frame.find(name)
    if local is None:
        lifted = context.values.lift(value)
        assert lifted.type is not None
        with context.builder.into(context.nesting.home):
            lvalue = context.variable(name, lifted.type)
        context.frame.declare(name, lvalue, node.target)
        context.builder.store(lvalue.pointer, lifted)
        return lifted
    assign_name(context, name, node.target, value)
    return context.loaded(local.value)


# --- displays -------------------------------------------------------------------------------------------------------


def _items(context: Context, nodes: list[ast.expr]) -> list[Any]:
    evaluate = context.evaluate if context.by_reference else context.value
    items: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            items.extend(compile_time_items(context, context.value(node.value), node))
        else:
            items.append(evaluate(node))
            if context.by_reference and isinstance(items[-1], MatrixInit) and is_view(context.frame, node):
                raise context.error(
                    TaichiTypeError,
                    f"`{ast.unparse(node)}` would be several elements of a vector that may change, not a copy",
                    f"copy it first: `part = {ast.unparse(node)}`, or name one element",
                    node,
                )
    return items


@expression(ast.Tuple)
def build_tuple(context: Context, node: ast.Tuple) -> tuple[Any, ...]:
    """`(a, b)`: a Python tuple of values."""
    return tuple(_items(context, node.elts))


@expression(ast.List)
def build_list(context: Context, node: ast.List) -> list[Any]:
    """`[a, b]`: a Python list of values."""
    return _items(context, node.elts)


@expression(ast.Dict)
def build_dict(context: Context, node: ast.Dict) -> dict[Any, Any]:
    """`{"a": x}`: a Python dict of values."""
    entries: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            context.python(entries.update, context.value(value))
        else:
            context.python(entries.__setitem__, context.value(key), context.value(value))
    return entries


@expression(ast.ListComp)
def build_comprehension(context: Context, node: ast.ListComp) -> list[Any]:
    """`[f(i) for i in ...]` over items known at compile time."""
    items: list[Any] = []
    _comprehend(context, node.generators, lambda: items.append(context.value(node.elt)))
    return items


@expression(ast.DictComp)
def build_dict_comprehension(context: Context, node: ast.DictComp) -> dict[Any, Any]:
    """`{i: f(i) for i in ...}` over items known at compile time; the dict itself exists at compile time only."""
    entries: dict[Any, Any] = {}

    def add() -> None:
        context.python(entries.__setitem__, context.value(node.key), context.value(node.value))

    _comprehend(context, node.generators, add)
    return entries


def _comprehend(context: Context, generators: Sequence[ast.comprehension], add: Callable[[], None]) -> None:
    """Call `add` for all items of nested generators, with their names bound."""
    if not generators:
        add()
        return
    generator = generators[0]
    for item in compile_time_items(context, context.value(generator.iter), generator.iter):
        context.frame.scopes.append({})
        bind_target(context, generator.target, item)
        tests = [context.value(test) for test in generator.ifs]
        if any(is_runtime(test) for test in tests):
            raise context.error(
                TaichiSyntaxError,
                "The condition of a comprehension must be known at compile time",
                "use `ti.static`, or a loop with `if`",
                generator.ifs[0],
            )
        if all(tests):
            _comprehend(context, generators[1:], add)
        context.frame.scopes.pop()


def bind_target(context: Context, target: ast.expr, item: Any) -> None:
    """Bind the names of a loop target to a compile-time item: a variable is meant itself, as in Taichi."""
    if isinstance(target, ast.Name):
        is_vector = isinstance(item, Statement) and not isinstance(item.type, Scalar)
        if is_vector and target in context.frame.definition.parsed.mutable:
            item = bind(context, item, target.id, True)
        context.frame.declare(target.id, item, target)
    elif isinstance(target, (ast.Tuple, ast.List)):
        items = compile_time_items(context, item, target)
        if len(items) != len(target.elts):
            raise context.error(
                TaichiSyntaxError,
                f"Cannot unpack {len(items)} values into {len(target.elts)} names",
                "name as many",
                target,
            )
        for element, inner in zip(target.elts, items, strict=True):
            bind_target(context, element, inner)
    else:
        raise context.error(
            TaichiSyntaxError, "A loop target is a name or a tuple of names", "write `for i in ...`", target
        )


@expression(ast.JoinedStr)
def build_formatted(context: Context, node: ast.JoinedStr) -> Any:
    """`f"..."`: a string, or parts and values for `print` and `assert`."""
    return formatted(context, node)


@expression(ast.Slice)
def build_slice(context: Context, node: ast.Slice) -> slice:
    """`a:b` of a compile-time sequence."""
    return slice_of(context, node)
