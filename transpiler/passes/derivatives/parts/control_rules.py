"""The adjoints of branches and loops, whose blocks are run again where they are differentiated."""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, walk, walk_inside
from ....ir.statements import (
    Alloca,
    AtomicOp,
    Const,
    If,
    LocalStore,
    LoopIndex,
    RangeFor,
    StructFor,
    While,
    base_pointer,
)
from ....ir.types import element_of, i32
from .forward_sweep import copied_loop
from .iteration_order import keeps_order
from .reverse_sweep import ReverseSweep, Rule, drop_empty
from .saved_values import SavedLoop, first_of_slot, number_of_index, restore, trip_count
from .scope import Scope


def _branches(sweep: ReverseSweep, statement: If, scope: Scope) -> None:
    sweep.prepare(statement, scope)
    changed = _changed(statement)
    branch = If(scope.find(statement.condition), Block(), Block(), is_python=statement.is_python)
    sweep.builder.add(branch)
    for block, copied in zip((statement.then, statement.otherwise), (branch.then, branch.otherwise), strict=True):
        assert copied is not None
        if block is not None:
            with sweep.builder.into(copied):
                sweep.run(block, sweep.place(statement, scope, changed))
    drop_empty(branch)


def _changed(statement: Statement) -> set[Alloca]:
    """Return the variables that the blocks of a statement store to."""
    inside = walk_inside(statement)
    bases = {base_pointer(inner.pointer) for inner in inside if isinstance(inner, LocalStore | AtomicOp)}
    return {base for base in bases if isinstance(base, Alloca)}


def _loop(sweep: ReverseSweep, statement: RangeFor | StructFor | While, scope: Scope) -> None:
    sweep.prepare(statement, scope)
    if statement in sweep.forward.parallel:
        _parallel_loop(sweep, statement, scope)
    else:
        _serial_loop(sweep, statement, scope)


def _parallel_loop(sweep: ReverseSweep, statement: Statement, scope: Scope) -> None:
    """Emit a parallel loop with the same iterations."""
    copied = copied_loop(statement, scope)
    sweep.builder.add(copied)
    sweep.parallel, sweep.inside = statement, set(walk(Block([statement]))) - {statement}
    with sweep.builder.into(copied.body):  # type: ignore[attr-defined]
        inner = sweep.place(statement, scope, set())
        inner.values[statement] = copied
        sweep.forward.first(statement.body, inner)  # type: ignore[attr-defined]
        sweep.forward.is_first = False
        sweep.block(statement.body, inner)  # type: ignore[attr-defined]
    sweep.parallel, sweep.inside = None, set()


def _serial_loop(sweep: ReverseSweep, statement: RangeFor | StructFor | While, scope: Scope) -> None:
    """Emit a loop over the same iterations, last first."""
    saved = sweep.forward.saved[statement]
    changed = _changed(statement)
    builder = sweep.builder
    if isinstance(statement, RangeFor) and saved.iterations is None and keeps_order(statement, sweep.updates):
        loop = copied_loop(statement, scope)
    else:
        loop = _reversed_loop(sweep, statement, saved, scope)
    builder.add(loop)
    assert isinstance(loop, RangeFor)
    with builder.into(loop.body):
        own: Statement = builder.add(LoopIndex(loop, type=loop.starts[0].type))
        index = own
        place = sweep.place(statement, scope, changed)
        if saved.iterations is None:
            assert isinstance(statement, RangeFor)
            number = number_of_index(builder, statement, scope, own)
        else:
            number = own
            if isinstance(statement, RangeFor):
                index = _index_of_number(builder, statement, scope, own)
        for variable, pointer in place.values.items():
            if isinstance(variable, Alloca) and variable in saved.arrays:
                restore(builder, saved, variable, pointer, number)
        if saved.stride is not None:
            _run_until(sweep, statement, saved, place, number)
        place.indices[statement, 0] = index
        sweep.run(statement.body, place)


def _run_until(
    sweep: ReverseSweep, statement: RangeFor | StructFor | While, saved: SavedLoop, place: Scope, number: Statement
) -> None:
    """Emit the iterations from one whose values are saved up to number `number`."""
    builder = sweep.builder
    first = first_of_slot(builder, saved, number)
    again = RangeFor([first], [number], [builder.const(1)], ["again"], serialize=True)
    builder.add(again)
    with builder.into(again.body):
        inner = Scope(place)
        repeated: Statement = builder.add(LoopIndex(again, type=i32))
        if isinstance(statement, RangeFor):
            inner.indices[statement, 0] = _index_of_number(builder, statement, place, repeated)
        sweep.forward.block(statement.body, inner)


def _index_of_number(builder: Builder, loop: RangeFor, scope: Scope, number: Statement) -> Statement:
    """Return the index of a loop in an iteration."""
    start, step = scope.find(loop.starts[0]), loop.steps[0]
    assert isinstance(step, Const) and start.type is not None
    scaled = number if step.value == 1 else builder.op("mul", number, builder.const(int(step.value)))
    index = scaled if isinstance(start, Const) and start.value == 0 else builder.op("add", start, scaled)
    return builder.cast(index, element_of(start.type))


def _reversed_loop(sweep: ReverseSweep, statement: Statement, saved: SavedLoop, scope: Scope) -> RangeFor:
    """Return a loop over the index of `statement`, or the number of its iteration, from the last to the first."""
    builder = sweep.builder
    if saved.iterations is not None:
        last = builder.op("sub", builder.load(saved.iterations), builder.const(1))
        return RangeFor([last], [builder.const(-1)], [builder.const(-1)], ["iteration"], serialize=True)
    assert isinstance(statement, RangeFor)
    start, step = scope.find(statement.starts[0]), statement.steps[0]
    assert isinstance(step, Const)
    size = int(step.value)
    if size == 1:
        end = scope.find(statement.ends[0])
        if isinstance(start, Const) and not isinstance(end, Const) and end.type == start.type:
            end = builder.op("max", end, start)  # nothing is below it, so that the last index cannot wrap
        last = builder.op("sub", end, builder.const(1))
    else:
        count = builder.op("sub", trip_count(builder, statement, scope), builder.const(1))
        last = builder.op("add", start, builder.op("mul", count, builder.const(size)))
    end = builder.op("sub", start, builder.const(1 if size > 0 else -1))
    return RangeFor([last], [end], [builder.const(-size)], statement.names, serialize=True, unroll=statement.unroll)


def _nothing(sweep: ReverseSweep, statement: Statement, scope: Scope) -> None:
    """A variable, whose adjoint is one too."""


CONTROL_RULES: dict[type[Statement], Rule] = {
    If: _branches,
    RangeFor: _loop,
    StructFor: _loop,
    While: _loop,
    Alloca: _nothing,
}
"""The rule of each statement with blocks, and of variables."""
