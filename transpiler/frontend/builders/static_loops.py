"""Static loops, `for ... in ti.static(...)`: kept as loops where their index is only a number, else unrolled.

The body of a kept loop is built once, with the numbers of all iterations as its index (`context/per_iteration.py`).
Anything that needs a single number raises `NeedsUnroll`, as does any error in the body: the build starts again, and
this loop is unrolled then. So the unrolled form decides what is an error.

    for i in ti.static(range(3)):           RangeFor, unroll: a loop that the target's compiler unrolls
        x[p + i] += w[i] * 2.0

    for i in ti.static(range(3)):           three copies: the types of the fields may differ
        fields[i][p] = 0
"""

from __future__ import annotations

import ast
from math import prod
from typing import Any

from ...errors import TaichiCompilationError
from ...ir.constants import constant_ranges, is_constant_array
from ...ir.nodes import Block, Statement, walk
from ...ir.statements import (
    Cast,
    Const,
    ListItem,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    Operation,
    RangeFor,
)
from ...ir.types import Scalar, i32
from ...lang.matrix import Vector
from ..context.context import Context
from ..context.iteration import compile_time_items
from ..context.nesting import LoopRecord
from ..context.per_iteration import MAX_ITERATIONS, MAX_UNROLLED, NeedsUnroll, PerIteration, StaticLoop, each
from ..context.references import need_memory
from ..context.scope import Exit
from ..context.values import GroupedValue, NdrangeValue
from ..source.named_numbers import plain
from .expressions import bind_target
from .statements import Completion, build_body, execute, leave_loop
from .static_lists import StaticList, as_range, name_items, static_list

FAULTS = (TaichiCompilationError, AttributeError, KeyError, AssertionError, TypeError, ValueError, IndexError)
"""What a body raises that cannot be built once; if it cannot be built at all, its unrolled form raises again."""

FOLDED = frozenset(
    {"add", "sub", "mul", "neg", "abs", "min", "max", "select", "floor", "ceil", "lt", "le", "gt", "ge", "eq", "ne",
     "logical_and", "logical_or", "logical_not"}
)  # fmt: skip
"""Operations on floats with the same result on a device as in a constant that the compiler folds."""


def build_static_loop(context: Context, node: ast.For) -> Completion:
    """Build a loop over `ti.static(...)`."""
    value = context.value(node.iter)
    location = context.builder.location = context.frame.location(node)
    listed = None
    if not context.options.unroll_static_loops and node not in context.unrolled and not _returns(node):
        listed = static_list(context, node, value)
        if (equal_steps := as_range(value, node.target)) is not None:
            value, listed = equal_steps, None
    loop = _rolled_loop(context, node, value, listed)
    if loop is None:
        return _unroll(context, node, value)
    loop.location = location
    static = StaticLoop(
        node, loop, context.static_loops[-1] if context.static_loops else None, (), context.builder.block,
        context.builder.block is context.kernel.body, [],
    )  # fmt: skip
    try:
        done = _keep(context, node, static, listed)
    except FAULTS as error:
        raise NeedsUnroll(node) from error
    context.builder.location = location
    context.builder.add(loop)
    leave_loop(context, done.exits)
    return Completion(True, done.exits)


# --- kept -----------------------------------------------------------------------------------------------------------


def _rolled_loop(context: Context, node: ast.For, value: Any, listed: StaticList | None) -> RangeFor | None:
    """Return the loop, without its body, if a static loop may be kept. listed: the items, if it runs over a list."""
    if context.options.unroll_static_loops or node in context.unrolled:
        return None
    grouped = isinstance(value, GroupedValue)
    if listed is not None:
        value = range(len(listed.items))
    axes = [value] if isinstance(value, range) else _axes(context, value.inner if grouped else value)
    names = [listed.index] if listed is not None else _names(node.target, len(axes), grouped)
    around = len(context.static_loops[-1].origins) if context.static_loops else 1
    limits = [limit for axis in axes for limit in (axis.start, axis.stop, axis.step)]
    is_wide = any(not -(2**31) <= limit < 2**31 for limit in limits)
    if not axes or not names or is_wide or _returns(node):
        return None
    count = prod(map(len, axes))
    if not 2 <= count <= MAX_ITERATIONS // around:
        return None
    build = context.builder
    bounds = [context.named_bounds(axis) for axis in axes]
    starts: list[Statement] = [build.const(begin) for begin, _ in bounds]
    ends: list[Statement] = [build.const(end) for _, end in bounds]
    steps: list[Statement] = [build.const(axis.step) for axis in axes]
    is_top = build.block is context.kernel.body
    return RangeFor(starts, ends, steps, names, serialize=is_top, unroll=count * around <= MAX_UNROLLED)


def _axes(context: Context, value: Any) -> list[range]:
    """Return the ranges of an ndrange whose bounds are Python's integers."""
    bounds = [bound for pair in value.bounds for bound in pair] if isinstance(value, NdrangeValue) else [None]
    if not all(type(plain(bound)) is int for bound in bounds):
        return []
    axes = [(range(begin, end), begin, end) for begin, end in value.bounds]
    context.bounds_of_ranges.update({id(axis[0]): axis for axis in axes})
    return [axis for axis, _, _ in axes]


def _names(target: ast.expr, axes: int, grouped: bool) -> list[str]:
    """Return a name for each axis, none if the target is not as simple."""
    if grouped:
        return [f"{target.id}_{axis}" for axis in range(axes)] if isinstance(target, ast.Name) else []
    targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    names = [name.id for name in targets if isinstance(name, ast.Name)]
    is_tuple = isinstance(target, (ast.Tuple, ast.List))
    return names if len(names) == len(targets) == axes and is_tuple == (axes > 1) else []


def _returns(node: ast.For) -> bool:
    return any(isinstance(inner, ast.Return) for inner in ast.walk(node))


def _keep(context: Context, node: ast.For, static: StaticLoop, listed: StaticList | None) -> Completion:
    """Build the body once."""
    loop = static.loop
    _number_iterations(static)
    targets = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
    context.static_loops.append(static)
    context.frame.scopes.append({})
    with context.builder.into(loop.body):
        static.indices = [
            context.builder.add(LoopIndex(loop, axis, type=i32, name=name)) for axis, name in enumerate(loop.names)
        ]
        numbers = static.numbers
        if listed is not None:
            numbers = listed.bind(node.target, numbers[0])
        elif len(targets) < len(numbers) or loop.names[0] != getattr(targets[0], "id", None):  # a group
            group = each("", lambda *index: Vector(list(index)), *static.numbers)
            group.statement = context.values.tensor(static.numbers)
            group.statement.name = getattr(targets[0], "id", None)
            numbers = [group]
        for target, number in zip(targets, numbers, strict=True):
            bind_target(context, target, number)
        done = build_body(context, node.body, LoopRecord(loop))
    context.frame.scopes.pop()
    context.static_loops.pop()
    context.rolled_loops.add(loop)
    _check_constants(static, context.rolled_loops | {around.loop for around in context.static_loops})
    return done


def _number_iterations(static: StaticLoop) -> None:
    """Number the iterations of all kept loops together, the innermost fastest."""
    axes, parent = constant_ranges(static.loop), static.parent
    assert axes is not None
    own: list[tuple[int, ...]] = [()]
    for axis in axes:
        own = [(*first, number) for first in own for number in axis]
    around = 1 if parent is None else len(parent.origins)
    static.origins = tuple(origin for origin in range(around) for _ in own)
    outer = [True] if parent is None else parent.active
    static.active = [outer[origin] for origin in static.origins]
    static.numbers = [
        PerIteration(static, tuple(item[axis] for _ in range(around) for item in own), ("index", axis))
        for axis in range(len(axes))
    ]


def _check_constants(static: StaticLoop, rolled: set[RangeFor]) -> None:
    """Raise NeedsUnroll if a number would be computed by the device that is a folded constant in the unrolled form.

    The library functions of a device and its division under `fast_math` round differently from Python's.
    """
    known: set[Statement] = set()
    for statement in walk(static.loop.body):
        match statement:
            case Const():
                known.add(statement)
            case LoopIndex(loop=loop) if loop in rolled:
                known.add(statement)
            case ListItem(origin=origin) if is_constant_array(origin):
                known.add(statement)
            case Cast(value=value) if value in known:
                known.add(statement)
            case MatrixInit(elements=parts) | MatrixElement(indices=parts) if known.issuperset(parts):
                if isinstance(statement, MatrixInit) or statement.value in known:
                    known.add(statement)
            case Operation(op=op, operands=operands) if known.issuperset(operands):
                known.add(statement)
                is_float = any(not isinstance(o.type, Scalar) or o.type.is_float for o in (*operands, statement))
                if is_float and op not in FOLDED and not all(isinstance(o, Const) for o in operands):
                    if op != "div" or not _is_power_of_two(operands[1]):
                        raise NeedsUnroll(static.node)


def _is_power_of_two(value: Statement) -> bool:
    number = value.value if isinstance(value, Const) else 0
    return number > 0 and float(number).hex().partition("p")[0] == "0x1.0000000000000"


# --- unrolled -------------------------------------------------------------------------------------------------------


COPIES = 8
"""Times `unrolling_limit`: so many copies of a body nested `ti.static` loops may make without a warning."""


def _unroll(context: Context, node: ast.For, value: Any) -> Completion:
    """Build the body once for each item; `break` and `continue` become exits."""
    items = compile_time_items(context, value, node.iter)
    name_items(context, node, items)
    if _changes(context, node.target):
        need_memory(context.frame, node.iter)  # the items are variables, which the body changes
    if len(items) > context.options.unrolling_limit > 0:
        message = f"unrolling {len(items)} iterations makes long code; the limit is {context.options.unrolling_limit}"
        context.warn(
            message, "leave out `ti.static` to loop at run time, or raise `ti.init(unrolling_limit=...)`", node
        )
    outer = next((loop.copies for loop in reversed(context.nesting.loops) if loop.loop is None), 1)
    record = LoopRecord(None, copies=outer * len(items))
    if outer > 1 and len(items) > 1 and record.copies > COPIES * context.options.unrolling_limit > 0:
        message = f"nested `ti.static` loops make {record.copies} copies of this body"
        context.warn(message, "leave out the inner `ti.static` to loop at run time", node, "copies")
    record.break_exit = context.exits.new("broken", context.nesting.depth)
    context.nesting.loops.append(record)
    done = _unroll_items(context, node, items, 0, record)
    context.nesting.loops.pop()
    context.exits.close(record.break_exit)
    return Completion(done.falls or _holds(done, record.break_exit), _without(done.exits, record.break_exit))


def _changes(context: Context, target: ast.expr) -> bool:
    """Return whether the body of a loop changes one of its targets."""
    return not context.frame.definition.parsed.mutable.isdisjoint(ast.walk(target))


def _unroll_items(context: Context, node: ast.For, items: list[Any], position: int, record: LoopRecord) -> Completion:
    """Build the items from `position` on; those after a possible exit are conditional."""
    exits: tuple[Exit, ...] = ()
    for current in range(position, len(items)):
        record.continue_exit = context.exits.new("continued", context.nesting.depth)
        context.frame.scopes.append({})
        bind_target(context, node.target, items[current])
        done = execute(context, node.body)
        context.frame.scopes.pop()
        leave = record.continue_exit
        context.exits.close(leave)
        done = Completion(done.falls or _holds(done, leave), _without(done.exits, leave), None)
        exits += tuple(e for e in done.exits if e not in exits)
        inner = [e for e in done.exits if e.loops >= context.nesting.depth]
        if not done.falls or current + 1 == len(items):
            return Completion(done.falls, exits)
        if not inner:
            continue
        condition = context.builder.op("logical_not", context.exits.any_taken(inner))
        guarded = Block()
        with context.builder.into(guarded):
            rest = _unroll_items(context, node, items, current + 1, record)
        context.add_if(condition, guarded)
        return Completion(rest.falls, exits + tuple(e for e in rest.exits if e not in exits))
    return Completion()


def _holds(done: Completion, leave: Exit) -> bool:
    return leave in done.exits


def _without(exits: tuple[Exit, ...], leave: Exit) -> tuple[Exit, ...]:
    return tuple(e for e in exits if e is not leave)
