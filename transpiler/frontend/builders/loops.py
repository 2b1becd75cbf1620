"""Loops: `for` over ranges, ndranges, arrays and compile-time sequences, `while`, `break`, `continue`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...errors import TaichiSyntaxError, TaichiTypeError
from ...ir.nodes import Block, Statement
from ...ir.statements import (
    ALL,
    Array,
    ArrayShape,
    Break,
    Const,
    Continue,
    LoopIndex,
    RangeFor,
    StructFor,
    While,
    is_const,
)
from ...ir.textures import Texture
from ...ir.types import Scalar, describe_type, i32, i64, u32
from ...lang.meshes import is_elements
from ..context.context import Context, statement
from ..context.nesting import LoopRecord
from ..context.values import (
    GroupedValue,
    MeshElement,
    MeshRelation,
    NdrangeValue,
    RangeValue,
    describe_kind,
    is_number,
)
from ..library.meshes import neighbor, relation_bounds
from ..library.textures import texels
from .assignment import declare, static_argument
from .search_loops import first_index, is_search, search
from .statements import NEVER, Completion, build_body, leave_loop, says_static
from .static_loops import build_static_loop

LONG = 1024
"""Iterations of a serial loop of which a warning is worth the reader's time."""

LANES = 1 << 30
"""The most threads of a parallel loop whose index is i64."""


@statement(ast.For)
def build_for(context: Context, node: ast.For) -> Completion:
    """`for`: unrolled over `ti.static(...)`, else a loop at run time."""
    if node.orelse:
        raise context.error(
            TaichiSyntaxError,
            "'else' clause for 'for' not supported in Taichi kernels",
            "set a flag before `break` and test it after the loop",
            node,
        )
    static_nodes = static_argument(context, node.iter)
    if static_nodes is not None:
        return build_static_loop(context, node)
    value = context.value(node.iter)
    context.builder.location = context.frame.location(node)
    grouped = isinstance(value, GroupedValue)
    inner = value.inner if isinstance(value, GroupedValue) else value
    if isinstance(inner, range):
        inner = RangeValue(*context.named_bounds(inner), inner.step)
    elif hasattr(type(inner), "describe_domain"):
        inner = context.arrays.cells_of(inner)
    elif isinstance(inner, Texture):
        inner = texels(context, inner)
    if is_elements(inner) and not grouped:
        return _loop_over_elements(context, node, inner)
    if isinstance(inner, MeshRelation) and not grouped:
        return _loop_over_relation(context, node, inner)
    array = context.arrays.find(inner)
    if array is not None:
        return _loop_over_array(context, node, array, grouped)
    if isinstance(inner, RangeValue) and not grouped:
        return _loop_over_ranges(context, node, [(inner.begin, inner.end)], [inner.step], False)
    if isinstance(inner, NdrangeValue):
        if not inner.bounds:
            return _loop_once(context, node, grouped)
        return _loop_over_ranges(context, node, list(inner.bounds), [1] * len(inner.bounds), grouped, True)
    raise context.error(
        TaichiTypeError if isinstance(inner, Statement) else TaichiSyntaxError,
        f"Cannot loop over {describe_kind(inner)} at run time",
        _remedy_for_loop(inner),
        node.iter,
    )


def _remedy_for_loop(value: object) -> str:
    """Return what to write in place of a loop over what has no iterations at run time."""
    if isinstance(value, int | np.integer):
        return "write `for ... in range(...)`"
    if isinstance(value, np.ndarray):
        return "pass the array to a parameter with the annotation `ti.types.ndarray()`"
    return "write `for ... in ti.static(...)` to unroll the loop at compile time"


# --- run time -------------------------------------------------------------------------------------------------------


def _loop_over_ranges(
    context: Context,
    node: ast.For,
    bounds: list[tuple[Any, Any]],
    steps: list[Any],
    grouped: bool,
    is_ndrange: bool = False,
) -> Completion:
    """is_ndrange: the indices may be changed, and have names of variables outside, as in Taichi."""
    at = _bound_nodes(node, len(bounds))
    starts = [_bound(context, begin, at[0]) for begin, _ in bounds]
    ends = [_bound(context, end, at[1]) for _, end in bounds]
    names = _target_names(context, node, len(bounds), grouped or len(bounds) > 1, is_ndrange)
    is_wide = len(bounds) == 1 and any(map(_is_wide, [*starts, *ends]))
    if not is_wide:
        starts, ends = ([_narrow(context, bound, at[n]) for bound in all_] for n, all_ in enumerate((starts, ends)))
    kind = i64 if is_wide else i32
    starts, ends = ([context.builder.cast(bound, kind, True) for bound in all_] for all_ in (starts, ends))
    made_steps: list[Statement] = [context.builder.const(step, kind) for step in steps]
    loop = RangeFor(starts, ends, made_steps, names)
    loop.over = _array_of_extents(starts, ends, steps)
    return _finish_loop(context, node, loop, len(bounds), grouped, is_ndrange=is_ndrange)


def _bound_nodes(node: ast.For, axes: int) -> tuple[ast.AST, ast.AST]:
    """Return the nodes of the bounds of a `range`."""
    call = node.iter
    if axes == 1 and isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and len(call.args) <= 2:
        return call.args[0], call.args[-1]
    return call, call


def _bound(context: Context, value: Any, node: ast.AST) -> Statement:
    """Return a loop bound as an integer."""
    lifted = context.values.lift(value, node)
    if not isinstance(lifted.type, Scalar) or lifted.type.is_float:
        raise context.error(
            TaichiTypeError,
            f"The bounds of a range must be integers, found `{describe_type(lifted.type)}`",
            "write `ti.cast(x, ti.i32)` or `int(x)`",
            node,
        )
    return lifted


def _fits(bound: Const) -> bool:
    return -(2**31) <= int(bound.value) < 2**31


def _is_wide(bound: Statement) -> bool:
    """Return whether a bound of a range may exceed i32, so that the index is i64."""
    assert isinstance(bound.type, Scalar)
    return not _fits(bound) if isinstance(bound, Const) else bound.type.bits > i32.bits


def _narrow(context: Context, bound: Statement, node: ast.AST) -> Statement:
    """Return a bound of an index that is i32: reject a constant out of range, and warn of a type that may exceed it."""
    assert isinstance(bound.type, Scalar)
    if isinstance(bound, Const):
        if not _fits(bound):
            message = f"The bound {bound.value} of a range exceeds i32, the type of the indices of `ti.ndrange`"
            raise context.error(TaichiTypeError, message, "write an outer and an inner loop", node)
    elif bound.type.bits > i32.bits or bound.type == u32:
        message = f"Casting range_for boundary values from {bound.type} to i32, which may cause numerical issues"
        hint = "its indices are at most 2**31 - 1; write `ti.cast(n, ti.i32)` where the value fits, or `ti.i64`"
        context.warn(message, hint, node)
    return bound


def _array_of_extents(starts: list[Statement], ends: list[Statement], steps: list[Any]) -> Array | None:
    """Return the array whose shape is the range of the loop, if its bounds are the extents of one."""
    first = ends[0]
    if not isinstance(first, ArrayShape) or not isinstance(first.array, Array) or first.array.ndim != len(ends):
        return None
    for axis, (begin, end, step) in enumerate(zip(starts, ends, steps, strict=True)):
        covers = isinstance(end, ArrayShape) and end.array is first.array and end.axis == axis
        if not covers or not is_const(begin, 0) or step != 1:
            return None
    return first.array


def _loop_over_array(context: Context, node: ast.For, array: Array, grouped: bool) -> Completion:
    count = len(node.target.elts) if isinstance(node.target, (ast.Tuple, ast.List)) else 1
    if not grouped and count != array.ndim:
        raise context.error(
            TaichiSyntaxError,
            f"`{array.name}` has {array.ndim} axes, the loop has {count} indices",
            f"name {array.ndim} indices, or write `for I in ti.grouped({array.name})`",
            node.iter,
        )
    if array.ndim == 0:
        return _loop_once(context, node, grouped)
    names = _target_names(context, node, array.ndim, grouped)
    return _finish_loop(context, node, StructFor(array, names), array.ndim, grouped)


def _loop_over_elements(context: Context, node: ast.For, elements: Any) -> Completion:
    """Build a loop over the elements of a mesh: over their numbers, of which the target is the element."""
    names, source = _target_names(context, node, 1, False), ast.unparse(node.iter)
    number = elements.describe_elements().number
    build, outer = context.builder, context.nesting.mesh_element
    extent = context.values.lift(context.named(number, f"n_{source.rpartition('.')[2]}", f"len({source})"))
    loop = RangeFor([build.const(0)], [extent], [build.const(1)], names)

    def bind(index: Statement) -> None:
        element = MeshElement(elements, index)
        context.nesting.mesh_element = outer or element
        context.frame.declare(names[0], element, node.target, is_loop_index=True)

    done = _finish_loop(context, node, loop, 1, False, bind)
    context.nesting.mesh_element = outer
    return done


def _loop_over_relation(context: Context, node: ast.For, relation: MeshRelation) -> Completion:
    """Build a loop over the elements to which an element of a mesh leads.

    for u in v.verts:    ->    for u_entry in range(verts_begin[v], verts_begin[v + 1]): u = verts[u_entry]
    """
    (name,) = _target_names(context, node, 1, False)
    build = context.builder
    begin, end = (context.values.lift(bound) for bound in relation_bounds(context, relation))
    if not isinstance(end, Const) and not context.frame.hides_names:
        end.name = f"{name}_end"
    loop = RangeFor([begin], [end], [build.const(1)], [f"{name}_entry"])

    def bind(position: Statement) -> None:
        element = neighbor(context, relation, position)
        if not context.frame.hides_names:
            element.index.name = name
        context.frame.declare(name, element, node.target, is_loop_index=True)

    return _finish_loop(context, node, loop, 1, False, bind)


def _loop_once(context: Context, node: ast.For, grouped: bool) -> Completion:
    """Build a loop over no axes: one iteration, whose index is an empty list."""
    if not grouped:
        message = "`ti.ndrange()` has no axes, so that a loop over it has no indices"
        raise context.error(TaichiSyntaxError, message, "name the extents: `ti.ndrange(n, m)`", node.iter)
    _target_names(context, node, 0, True)
    zero, one = context.builder.const(0), context.builder.const(1)
    return _finish_loop(context, node, RangeFor([zero], [one], [one], ["_"]), 0, True)


def _target_names(context: Context, node: ast.For, axes: int, may_group: bool, may_hide: bool = False) -> list[str]:
    """Return the names of the indices; a single name for several is numbered. Raises, or warns, of names in use."""
    target = node.target
    names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    for name in names:
        if not isinstance(name, ast.Name):
            raise context.error(
                TaichiSyntaxError, "A loop target is a name or a tuple of names", "write `for i in ...`", name
            )
        if name.id == "_" or context.frame.find(name.id) is None:
            continue
        if may_hide:
            message = f"`{name.id}` is also a variable outside of the loop, which keeps its value, as in Taichi"
            context.warn(message, "choose another name", name)
        else:
            raise context.error(
                TaichiSyntaxError,
                f"Variable '{name.id}' is already declared in the outer scope and cannot be used as loop variable",
                "choose another name",
                name,
            )
    identifiers = [name.id for name in names if isinstance(name, ast.Name)]
    if isinstance(target, ast.Name) and (may_group or axes != 1):
        return [f"{target.id}_{axis}" for axis in range(axes)]
    if len(identifiers) != axes:
        raise context.error(
            TaichiSyntaxError, f"The loop gives {axes} indices, found {len(identifiers)} names", "name as many", target
        )
    return identifiers


def _finish_loop(
    context: Context,
    node: ast.For,
    loop: RangeFor | StructFor,
    axes: int,
    grouped: bool,
    bind: Callable[[Statement], None] | None = None,
    is_ndrange: bool = False,
) -> Completion:
    """Build the body and append the loop. bind: declares the target, if that is not the index."""
    context.need_copies_at_top()
    location = context.builder.location
    options, context.nesting.loop_options = context.nesting.loop_options, {}
    loop.parallelize = options.get("parallelize")
    loop.serialize = options.get("serialize", False) or loop.parallelize == 1 or context.nesting.is_conditional
    loop.block_local, context.nesting.block_local = context.nesting.block_local, []
    loop.block_dim, loop.grid_stride = options.get("block_dim"), options.get("grid_stride")
    is_parallel = context.builder.block is context.kernel.body and not loop.serialize
    if isinstance(loop, RangeFor):
        loop.unroll_count = ALL if options.get("unroll") is True else int(options.get("unroll", 0))
    if is_parallel and "unroll" in options:
        context.warn(
            "`ti.loop_config(unroll=...)` is for serial loops, and this one is parallel",
            "write it before a loop inside, or with `serialize=True`",
            node,
        )
    if not is_parallel and context.nesting.depth == 0 and not options:
        _warn_of_serial_loop(context, loop, node)
    record = LoopRecord(loop, is_parallel)

    def build(loop: RangeFor | StructFor, record: LoopRecord) -> Completion:
        outer, context.nesting.is_parallel = context.nesting.is_parallel, context.nesting.is_parallel or is_parallel
        context.frame.scopes.append({})
        with context.builder.into(loop.body):
            if bind is None:
                _bind_indices(context, node.target, loop, axes, grouped, is_ndrange)
            else:
                bind(context.builder.add(LoopIndex(loop, 0, type=i32, name=loop.names[0])))
            done = build_body(context, node.body, record)
        context.frame.scopes.pop()
        context.nesting.is_parallel = outer
        context.builder.location = loop.location = location
        return done

    if isinstance(loop, RangeFor) and is_parallel and loop.starts[0].type == i64:
        return _finish_wide_loop(context, node, loop, lambda: build(loop, record), record)
    done = build(loop, record)
    if isinstance(loop, RangeFor):
        for step, name in zip(loop.steps, loop.names, strict=True):
            if is_const(step, 0):
                raise context.error(
                    TaichiTypeError, f"The step of the range of `{name}` is 0", "use a step of at least 1", node.iter
                )
    if record.first_break is not None:
        loop = _add_search(context, loop, record.first_break)
        done = build(loop, LoopRecord(loop))
    context.builder.add(loop)
    leave_loop(context, done.exits)
    return Completion(True, done.exits)


def _index_type(loop: RangeFor | StructFor) -> Scalar:
    return i64 if isinstance(loop, RangeFor) and loop.starts and loop.starts[0].type == i64 else i32


def _finish_wide_loop(
    context: Context, node: ast.For, loop: RangeFor, build_loop: Callable[[], Completion], record: LoopRecord
) -> Completion:
    """Append a parallel loop whose index is i64.

    for i in range(a, b)    ->    for i_lane in range(min(b - a, 2^30)): for i in range(a + i_lane, b, 2^30)

    So every index is a valid number of a thread, and a loop that is not longer has one iteration for each.
    """
    build = context.builder
    first, end, step = loop.starts[0], loop.ends[0], loop.steps[0]
    if not is_const(step, 1):
        raise context.error(
            TaichiTypeError,
            "A parallel range with bounds of 64 bits has step 1",
            f"multiply in the body: `for k in range(n): {loop.names[0]} = begin + step * k`",
            node.iter,
        )
    length = build.op("sub", end, first)
    lanes = build.cast(
        build.op("min", build.op("max", length, build.const(0, i64)), build.const(LANES, i64)), i32, True
    )
    name = f"{loop.names[0]}_lane"
    count = build.cast(lanes, i32, True)
    outer = RangeFor([build.const(0)], [count], [build.const(1)], [name], block_dim=loop.block_dim)
    outer.parallelize, outer.location = loop.parallelize, build.location
    loop.block_dim = loop.parallelize = None
    loop.steps = [build.const(LANES, i64)]
    with build.into(outer.body):
        lane = build.add(LoopIndex(outer, 0, type=i32, name=name))
        loop.starts = [build.op("add", first, build.cast(lane, i64, True))]
        build_loop()
        leaves = record.first_break or next((inner for inner in ast.walk(node) if isinstance(inner, ast.Return)), None)
        if leaves is not None:
            keyword = "break" if isinstance(leaves, ast.Break) else "return"
            hint = "use `continue`, or `ti.loop_config(serialize=True)` before the loop to run it serially"
            message = f"`{keyword}` in a parallel range with bounds of 64 bits"
            raise context.error(TaichiSyntaxError, message, hint, leaves)
        build.add(loop)
    build.add(outer)
    return Completion(True, ())


def _warn_of_serial_loop(context: Context, loop: RangeFor | StructFor, node: ast.For) -> None:
    """Warn of a long loop that would be parallel without the `if` around it."""
    if isinstance(loop, StructFor):
        extents, axes = list(loop.array.shape or ()), loop.array.ndim
    else:
        extents, axes = [int(end.value) for end in loop.ends if isinstance(end, Const)], len(loop.ends)
    is_short = len(extents) == axes and prod(extents) < LONG
    if not is_short and context.frame.function is None and not context.frame.is_library:
        message = f"The loop over `{', '.join(loop.names)}` runs on one thread, because an `if` encloses it"
        hint = (
            "write the `if` in the loop, or `if ti.static(...)`; `ti.loop_config(serialize=True)` says that it is meant"
        )
        context.warn(message, hint, node)


def _add_search(context: Context, loop: RangeFor | StructFor, node: ast.Break) -> RangeFor:
    """Append a parallel loop with a `break` as the search for the first iteration that takes it.

    Return the loop to build next, which begins there. Raises: TaichiSyntaxError for a loop that does more than that.
    """
    if not is_search(loop) or context.specialization.definition.derivative:
        hint = "write `ti.loop_config(serialize=True)` before the loop to run it serially"
        if isinstance(loop, RangeFor) and len(loop.names) == 1:
            hint += ", or do nothing in iterations without `break`: such a search is parallel"
        raise context.error(TaichiSyntaxError, "Cannot break in the outermost loop", hint, node)
    assert isinstance(loop, RangeFor)
    build = context.builder
    first = first_index(build, loop)
    context.nesting.outside.add(first)
    search(build, loop, first)
    build.add(loop)
    return RangeFor([build.load(first)], [loop.ends[0]], [build.const(1)], [*loop.names], serialize=True)


def _bind_indices(
    context: Context, target: ast.expr, loop: RangeFor | StructFor, axes: int, grouped: bool, may_change: bool
) -> None:
    indices: list[Statement] = [
        context.builder.add(LoopIndex(loop, axis, type=_index_type(loop), name=loop.names[axis]))
        for axis in range(axes)
    ]
    if isinstance(target, ast.Name):
        if grouped or axes > 1:
            value: Any = context.builder.tensor(indices, (axes,), i32) if indices else []
            changes = may_change and target in context.frame.definition.parsed.mutable
            if isinstance(value, Statement) and not context.frame.hides_names and not changes:
                value.name = target.id
                for index in indices:
                    index.hint = index.name  # until the user gives it a name of its own
        else:
            value = indices[0]
        _bind_index(context, target, value, may_change)
        return
    assert isinstance(target, (ast.Tuple, ast.List))
    for name, index in zip(target.elts, indices, strict=True):
        assert isinstance(name, ast.Name)
        _bind_index(context, name, index, may_change)


def _bind_index(context: Context, name: ast.Name, value: Any, may_change: bool) -> None:
    if may_change and name in context.frame.definition.parsed.mutable:
        declare(context, name.id, name, value)
    else:
        context.frame.declare(name.id, value, name, is_loop_index=True)


@statement(ast.While)
def build_while(context: Context, node: ast.While) -> Completion:
    """`while`: the condition is evaluated before each iteration."""
    if node.orelse:
        raise context.error(
            TaichiSyntaxError,
            "'else' clause for 'while' not supported in Taichi kernels",
            "set a flag before `break` and test it after the loop",
            node,
        )
    location = context.builder.location
    loop = While(Block(), is_known=says_static(context, node.test))
    context.nesting.loop_options = {}
    with context.builder.into(loop.condition):
        value = context.truth(node.test)
        loop.condition.result = context.values.condition(
            value if not is_number(value) else bool(value), "while", node.test
        )
    record = LoopRecord(loop)
    with context.builder.into(loop.body):
        done = build_body(context, node.body, record)
    loop.location = context.builder.location = location
    if is_const(loop.condition.result, True) and not record.is_broken and not done.exits:
        _check_ends(context, node)
    context.builder.add(loop)
    leave_loop(context, done.exits)
    return Completion(record.is_broken or not is_const(loop.condition.result, True), done.exits)


def _check_ends(context: Context, node: ast.While) -> None:
    """Raise for an infinite loop: the device would hang, and with it the program."""
    if not any(isinstance(inner, ast.Return) for inner in ast.walk(node)):
        message = f"`while {ast.unparse(node.test)}` never ends: its body has no `break` and no `return`"
        raise context.error(
            TaichiSyntaxError, message, "add `if ...: break`, or state the condition: `while i < n:`", node
        )


# --- break and continue ---------------------------------------------------------------------------------------------


@statement(ast.Break)
def build_break(context: Context, node: ast.Break) -> Completion:
    """`break`."""
    record = context.nesting.loops[-1]
    if record.loop is None:
        assert record.break_exit is not None
        context.exits.take(record.break_exit)
        return Completion(False, (record.break_exit,))
    if record.is_parallel and record.first_break is None:
        record.first_break = node
    context.builder.add(Break())
    record.is_broken = True
    return NEVER


@statement(ast.Continue)
def build_continue(context: Context, node: ast.Continue) -> Completion:
    """`continue`."""
    record = context.nesting.loops[-1]
    if record.loop is None:
        assert record.continue_exit is not None
        context.exits.take(record.continue_exit)
        return Completion(False, (record.continue_exit,))
    context.builder.add(Continue())
    return NEVER
