"""Statements but loops: assignment, `if`, `return`, `assert`, and what follows a statement that may leave its block.

Handlers return None, or a `Completion` where the statement may not go on to the next one.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from ..errors import TaichiNameError, TaichiSyntaxError, TaichiTypeError
from ..ir.nodes import Block, Statement
from ..ir.statements import Array, Assert, Break, Const, Return
from ..ir.types import Tensor, Type, u1
from ..lang.functions import static
from ..lang.matrix import Matrix
from .context import STATEMENTS, Context, NeedsMemory, statement
from .operators import BINARY, binary
from .scope import Exit, Local, Result
from .text import Formatted, message_parts
from .values import Place, Swizzle, as_type, describe_kind, is_number

ATOMIC: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
"""Augmented assignments to arrays that are atomic; the others load, compute and store, as in Taichi."""


@dataclass(frozen=True, slots=True)
class Completion:
    """How a statement may end. falls: it can go on to the next one. exits: exits that may have been taken.

    tail: the block that is left at its end only where no exit was taken; what follows can stand there unconditionally.
    """

    falls: bool = True
    exits: tuple[Exit, ...] = ()
    tail: Block | None = None


NORMAL = Completion()
NEVER = Completion(falls=False)


def execute(context: Context, statements: list[ast.stmt]) -> Completion:
    """Build statements into the current block, up to one that never goes on.

    After a statement that may have taken an exit, the rest stands under `if not taken`, or in the branch that did not.
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
    """Build what follows a statement that may have taken an exit; exits out of the current loop have broken it."""
    inner = [leave for leave in completion.exits if leave.loops >= context.depth]
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
    condition = context.builder.op("logical_not", context.any_taken(inner))
    guarded = Block()
    with context.builder.into(guarded):
        done = execute(context, rest)
    context.add_if(condition, guarded)
    return Completion(done.falls, _merge(completion.exits, done.exits), done.tail if done.exits else guarded)


def leave_loop(context: Context, exits: tuple[Exit, ...]) -> None:
    """After an inner loop: break the current one too, if an exit that lies outside of it was taken."""
    crossing = [leave for leave in exits if leave.loops < context.depth]
    if not crossing:
        return
    breaking = Block()
    condition = context.any_taken(crossing)
    with context.builder.into(breaking):
        context.builder.add(Break())
    context.add_if(condition, breaking)
    serialize_enclosing(context)


def serialize_enclosing(context: Context) -> None:
    """Make loops serial that an exit breaks: iterations after it must not run."""
    for record in context.loops:
        if record.loop is not None and record.is_parallel:
            record.loop.serialize = True  # type: ignore[union-attr]


def _merge(first: tuple[Exit, ...], second: tuple[Exit, ...]) -> tuple[Exit, ...]:
    return first + tuple(leave for leave in second if leave not in first)


def scoped(context: Context, statements: list[ast.stmt]) -> Completion:
    """Build statements in a scope of their own."""
    context.frame.scopes.append({})
    done = execute(context, statements)
    context.frame.scopes.pop()
    return done


# --- if -------------------------------------------------------------------------------------------------------------


def static_argument(context: Context, node: ast.expr) -> list[ast.expr] | None:
    """Return the arguments if `node` is a call of `ti.static`, else None."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    local = context.frame.find(name) if isinstance(node.func, ast.Name) else None
    if local is not None or (name != "static" and isinstance(node.func, ast.Attribute)):
        return None
    return node.args if context.evaluate(node.func) is static else None


def _if(context: Context, node: ast.If) -> Completion:
    """Build an `if`: one branch where the condition is known at compile time, else both."""
    location = context.builder.location = context.frame.location(node)
    value = context.truth(node.test)
    context.builder.location = location
    if not isinstance(value, Statement | Array | Matrix | list | tuple):
        return scoped(context, node.body if context.python(bool, value) else node.orelse)
    condition = context.condition(value, "if", node.test)
    then, otherwise = Block(), Block()
    with context.builder.into(then):
        first = scoped(context, node.body)
    with context.builder.into(otherwise):
        second = scoped(context, node.orelse)
    exits = _merge(first.exits, second.exits)
    context.builder.location = location
    keeps_otherwise = bool(node.orelse) or bool(exits)
    context.add_if(condition, then, otherwise if keeps_otherwise else None)
    return Completion(first.falls or second.falls, exits, _tail(then, first, otherwise, second) if exits else None)


def _tail(then: Block, first: Completion, otherwise: Block, second: Completion) -> Block | None:
    """Return the one block that is left at its end where no exit was taken."""
    if first.falls == second.falls:
        return None
    block, going = (then, first) if first.falls else (otherwise, second)
    return going.tail if going.exits else block


# --- assignment -----------------------------------------------------------------------------------------------------


@statement(ast.Assign)
def build_assign(context: Context, node: ast.Assign) -> None:
    """`a = value`, `a, b = values`, `a = b = value`."""
    static_nodes = static_argument(context, node.value)
    if static_nodes is not None and isinstance(node.targets[0], ast.Name | ast.Tuple | ast.List):
        value = context.evaluate(node.value)
        for target in node.targets:
            assign_static(context, target, value)
        return
    if isinstance(node.value, ast.Tuple | ast.List):
        value = _display(context, node.value)
    else:
        value = context.value(node.value)
        _check_value(context, value, node.value)
    for target in node.targets:
        assign(context, target, value)


def _check_value(context: Context, value: Any, node: ast.expr) -> None:
    """Raise for what no variable can hold."""
    if value is None and isinstance(node, ast.Call):
        raise context.error(TaichiTypeError, "This call gives no value", "add a `return` to the function", node)
    if isinstance(value, Formatted):
        raise context.error(
            TaichiSyntaxError,
            "An f-string with run-time values is no value of a kernel",
            "use the f-string in `print` or `assert` only",
            node,
        )
    if isinstance(value, complex):
        context.lift(value, node)


def _display(context: Context, node: ast.Tuple | ast.List) -> Any:
    """Evaluate a tuple or list with its items loaded, before any of them is assigned: `a, b = b, a`."""
    value = context.evaluate(node)
    return type(value)(context.loaded(item) for item in value)


def assign_static(context: Context, target: ast.expr, value: Any) -> None:
    """Bind names to compile-time values."""
    if isinstance(target, ast.Tuple | ast.List):
        values = unpack(context, target, value)
        for element, item in zip(target.elts, values, strict=True):
            assign_static(context, element, item)
    elif isinstance(target, ast.Name):
        context.frame.declare(target.id, value, target)
    else:
        raise context.error(TaichiSyntaxError, "`ti.static` values can only be bound to names", None, target)


def unpack(context: Context, target: ast.Tuple | ast.List, value: Any) -> list[Any]:
    """Return one value for each element of a tuple target."""
    for element in target.elts:
        if isinstance(element, ast.Starred):
            raise context.error(
                TaichiSyntaxError, "Assignment to a starred variable is not supported", "name each variable", element
            )
    if isinstance(value, Statement) and isinstance(value.type, Tensor):
        values: list[Any] = list(context.elements(value))
    elif isinstance(value, list | tuple | Matrix | range):
        values = list(value)
    else:
        raise context.error(
            TaichiTypeError,
            f"Cannot unpack {describe_kind(value)} into {len(target.elts)} variables",
            "assign one variable",
            target,
        )
    if len(values) != len(target.elts):
        raise context.error(
            TaichiTypeError,
            f"Cannot unpack {len(values)} values into {len(target.elts)} variables",
            "name as many variables as there are values",
            target,
        )
    return values


def assign(context: Context, target: ast.expr, value: Any, type: Type | None = None) -> None:
    """Assign a loaded value to a name, an element, a member, or a tuple of those. type: of an annotation."""
    if isinstance(target, ast.Name):
        _assign_name(context, target, value, type)
    elif isinstance(target, ast.Tuple | ast.List):
        for element, item in zip(target.elts, unpack(context, target, value), strict=True):
            assign(context, element, item)
    elif isinstance(target, ast.Starred):
        raise context.error(
            TaichiSyntaxError, "Assignment to a starred variable is not supported", "name each variable", target
        )
    else:
        store(context, place_of_target(context, target), value, target)


def _assign_name(context: Context, target: ast.Name, value: Any, type: Type | None) -> None:
    local = context.frame.find(target.id)
    if local is None:
        declare(context, target.id, target, value, type)
        return
    check_assignable(context, local, target)
    if isinstance(local.value, Statement) and local.node is not None:
        raise NeedsMemory(local.node, context.frame)
    if not isinstance(local.value, Place):
        raise context.error(
            TaichiSyntaxError,
            f"`{target.id}` is {describe_kind(local.value)} known at compile time and cannot be assigned again",
            "choose another name",
            target,
        )
    store(context, local.value, value, target)


def check_assignable(context: Context, local: Local, target: ast.Name) -> None:
    """Raise if a variable is a loop index."""
    if local.is_loop_index:
        raise context.error(
            TaichiTypeError,
            f"Loop variable `{target.id}` cannot be assigned",
            f"copy it first: `k = {target.id}`",
            target,
        )


def declare(context: Context, name: str, node: ast.AST, value: Any, type: Type | None = None) -> None:
    """Bind a new variable: to a value if it never changes, else to memory."""
    is_mutable = node in context.frame.definition.parsed.mutable
    user_name = None if context.frame.is_library else name
    if type is not None:
        value = context.fit(value, type)
    elif is_number(value) or isinstance(value, Matrix):
        value = context.lift(value)
    elif isinstance(value, list) and value and not isinstance(value[0], str):
        bound = [
            _bind_item(context, item, user_name and f"{user_name}_{k}", is_mutable) for k, item in enumerate(value)
        ]
        context.frame.declare(name, bound, node)
        return
    if isinstance(value, Statement):
        value = bind(context, value, user_name, is_mutable)
    context.frame.declare(name, value, node)


def _bind_item(context: Context, item: Any, name: str | None, is_mutable: bool) -> Any:
    if isinstance(item, list):
        return [_bind_item(context, inner, name and f"{name}_{k}", is_mutable) for k, inner in enumerate(item)]
    if isinstance(item, Place) or (is_mutable and is_number(item)):
        item = context.lift(item)
    return bind(context, item, name, is_mutable) if isinstance(item, Statement) else item


def bind(context: Context, value: Statement, name: str | None, is_mutable: bool) -> Statement | Place:
    """Give a value its Python name, or store it in a variable of that name."""
    if is_mutable:
        assert value.type is not None
        place = context.variable(name, value.type)
        context.builder.store(place.pointer, value)
        return place
    if value.name is None and name is not None:
        value.name = name
    return value


def place_of_target(context: Context, target: ast.expr) -> Place | Swizzle:
    """Return the place that a subscript or attribute on the left side means."""
    if not isinstance(target, ast.Subscript | ast.Attribute):
        raise context.error(TaichiSyntaxError, "This cannot be assigned", None, target)
    if isinstance(target, ast.Attribute):
        components = swizzle_target(context, target)
        if components is not None:
            return components
    found = context.evaluate(target)
    if isinstance(found, Place | Swizzle):
        return found
    root = _root_local(context, target)
    if root is not None and isinstance(found, Statement):
        context.place_of(found, root)
    if isinstance(target, ast.Attribute):
        raise context.error(
            TaichiTypeError,
            f"Member `{target.attr}` cannot be assigned in a kernel",
            "keep the value in a field",
            target,
        )
    raise context.error(TaichiTypeError, f"Cannot assign to {describe_kind(found)}", None, target)


def swizzle_target(context: Context, target: ast.Attribute) -> Swizzle | None:
    """Return the components that `v.xy` on the left side means, None if it is no swizzle of several."""
    from_name = target.attr
    if len(from_name) < 2 or len(from_name) > 4 or any(letter not in "xyzwrgbastpq" for letter in from_name):
        return None
    base = context.evaluate(target.value)
    if isinstance(base, Statement) and (root := _root_local(context, target)) is not None:
        context.place_of(base, root)
    if not isinstance(base, Place) or not isinstance(base.type, Tensor):
        return None
    for letters in ("xyzw", "rgba", "stpq"):
        if all(letter in letters[: base.type.shape[0]] for letter in from_name):
            components = tuple(letters.index(letter) for letter in from_name)
            if len(set(components)) != len(components):
                raise context.error(
                    TaichiSyntaxError, f"`.{from_name}` names a component twice", "assign each component once", target
                )
            return Swizzle(base, components)
    return None


def _root_local(context: Context, target: ast.AST) -> Local | None:
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return context.frame.find(target.id) if isinstance(target, ast.Name) else None


def store(context: Context, place: Place | Swizzle, value: Any, target: ast.AST) -> None:
    """Store a value, cast to what the place holds."""
    if isinstance(place, Place):
        context.builder.store(place.pointer, context.fit(value, place.type))
        return
    element = place.place.type.element  # type: ignore[union-attr]
    value = context.fit(value, Tensor((len(place.components),), element))
    for component, item in zip(place.components, context.elements(value), strict=True):
        pointer = context.builder.element_ptr(place.place.pointer, [context.builder.const(component)])
        context.builder.store(pointer, item)


@statement(ast.AnnAssign)
def build_annotated(context: Context, node: ast.AnnAssign) -> None:
    """`a: ti.f32 = value`: the value is cast to the type."""
    if node.value is None:
        raise context.error(TaichiSyntaxError, "A declaration needs a value", "write `a: ti.i32 = 0`", node)
    type = as_type(context.evaluate(node.annotation), context.options)
    if type is None:
        raise context.error(
            TaichiTypeError, "The annotation is no type of a kernel", "write a type such as `ti.f32`", node.annotation
        )
    assign(context, node.target, context.value(node.value), type)


@statement(ast.AugAssign)
def build_augmented(context: Context, node: ast.AugAssign) -> None:
    """`a += value`: atomic on arrays where the operation is, plain on variables."""
    value = context.value(node.value)
    place = _augmented_place(context, node)
    symbol = ATOMIC.get(type(node.op))
    if isinstance(place, Place) and symbol is not None and context.is_shared(place):
        context.builder.atomic(symbol, place.pointer, context.fit(value, place.type))
        return
    if isinstance(place, Swizzle):
        loaded = context.lift(place.place)
        assert isinstance(loaded.type, Tensor)
        items = context.elements(loaded)
        old: Any = context.builder.tensor(
            [items[k] for k in place.components], (len(place.components),), loaded.type.element
        )
    else:
        old = context.builder.load(place.pointer)
    store(context, place, binary(context, BINARY[type(node.op)], old, value), node.target)


def _augmented_place(context: Context, node: ast.AugAssign) -> Place | Swizzle:
    target = node.target
    if not isinstance(target, ast.Name):
        return place_of_target(context, target)
    local = context.frame.find(target.id)
    if local is None:
        context.name(target)  # raises where there is no such name at all
        raise context.error(
            TaichiNameError,
            f'Name "{target.id}" is not a variable of this function; values from outside are constants',
            f"copy it first, or keep it in a field: `{target.id}[None]`",
            target,
        )
    check_assignable(context, local, target)
    if isinstance(local.value, Place):
        return local.value
    if isinstance(local.value, Statement) and local.node is not None:
        raise NeedsMemory(local.node, context.frame)
    raise context.error(
        TaichiTypeError,
        f"`{target.id}` is {describe_kind(local.value)} and cannot be changed",
        "choose an element: `a[i] += ...`",
        target,
    )


# --- return, pass, assert, expressions ------------------------------------------------------------------------------


@statement(ast.Return)
def build_return(context: Context, node: ast.Return) -> Completion:
    """`return`, in the kernel a statement, in an inlined function a way to its end."""
    frame = context.frame
    frame.returned = True
    if frame.leave is None:
        return _kernel_return(context, node)
    value: Any = None
    if isinstance(node.value, ast.Tuple):
        value = _display(context, node.value)
    elif node.value is not None:
        value = context.value(node.value)
    if context.builder.block is frame.entry and frame.result is None:
        frame.value = value
        return NEVER
    _store_result(context, value)
    context.take(frame.leave)
    if frame.leave.loops < context.depth:
        context.builder.add(Break())
        serialize_enclosing(context)
    return Completion(False, (frame.leave,))


def _store_result(context: Context, value: Any) -> None:
    """Store what one of several `return`s gives; the variables get their types when all are known."""
    frame = context.frame
    if frame.result is None:
        frame.result = Result(is_tuple=isinstance(value, tuple))
    items = list(value) if isinstance(value, tuple) else [] if value is None else [value]
    result = frame.result
    if result.stores and len(result.stores) != len(items) or result.is_tuple != isinstance(value, tuple):
        raise context.error(TaichiSyntaxError, "All `return`s of a function need the same number of values")
    assert frame.leave is not None
    for position, item in enumerate(items):
        lifted = context.lift(item)
        assert lifted.type is not None
        if position == len(result.stores):
            suffix = f"_{position}" if result.is_tuple else ""
            place = context.result_variable(f"{frame.definition.name}_result{suffix}", lifted.type)
            result.places.append(place)
            result.stores.append([])
        result.stores[position].append(context.store_untyped(result.places[position], lifted))


def _kernel_return(context: Context, node: ast.Return) -> Completion:
    types = context.kernel.returns
    if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
        if types:
            raise context.error(
                TaichiSyntaxError, "This kernel must return a value, found a plain `return`", None, node
            )
        context.builder.add(Return([]))
        return NEVER
    if not types:
        raise context.error(
            TaichiSyntaxError,
            "A kernel with a return value must be annotated with a return type, e.g. def func() -> ti.f32",
            f"write `def {context.frame.definition.name}(...) -> ti.f32:`",
            node,
        )
    if any(record.is_parallel for record in context.loops):
        raise context.error(
            TaichiSyntaxError,
            "Return inside a parallel loop cannot give a value",
            "store the value in a field, or write `ti.loop_config(serialize=True)` before the loop",
            node,
        )
    value = context.evaluate(node.value)
    values = list(value) if isinstance(node.value, ast.Tuple) and len(types) > 1 else [value]
    if len(values) != len(types):
        raise context.error(
            TaichiSyntaxError, f"This kernel returns {len(types)} values, found {len(values)}", None, node
        )
    context.builder.add(Return([_returned(context, v, t, node) for v, t in zip(values, types, strict=True)]))
    return NEVER


def _returned(context: Context, value: Any, type: Type, node: ast.Return) -> Statement:
    value = context.loaded(value)
    found = context.lift(value)
    if found.type != type and isinstance(found.type, Tensor) != isinstance(type, Tensor):
        raise context.error(
            TaichiTypeError,
            f"The return type is `{type}`, found `{found.type}`",
            "change the annotation or the value",
            node.value,
        )
    return context.fit(value if is_number(value) else found, type)


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
    """`assert condition, message`: kept under `debug` only."""
    if not context.options.debug:
        return
    condition = context.condition(context.truth(node.test), "assert", node.test)
    message, values = message_parts(context, node.msg)
    if not message:
        message = ast.unparse(node.test)
    if isinstance(condition, Const) and condition.value and condition.type == u1:
        return
    context.builder.add(Assert(condition, message, values))
