"""The backward sweep: the statements in reverse order, each replaced by the contributions to its operands' adjoints.

    w = v * x[i]               g = y_grad[i]; y_grad[i] = 0
    y[i] = w * w      ->       w_adj = 2 * w * g
                               v_adj += w_adj * x[i]; x_grad[i] += w_adj * v

The adjoint of a value is the sum of its uses' contributions: an expression if all uses are in one block, else the
variable `..._adj`. The adjoint of a local variable is a variable too; a store to the variable takes its adjoint and
resets it. Branches and iterations of loops are run again where they are differentiated, with the values that variables
had before them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...errors import NOWHERE, SourceLocation, TaichiCompilationError
from ...ir.builder import Builder
from ...ir.nodes import Block, Statement, blocks, walk
from ...ir.statements import (
    Alloca,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    RangeFor,
    StructElement,
    StructFor,
    StructInit,
    StructPtr,
    While,
    base_pointer,
)
from ...ir.types import Struct, Tensor, Type, element_of, i32
from .activity import is_real, values_from_outside
from .adjoints import ADJOINTS, ZERO
from .algebra import Value
from .forward_sweep import ForwardSweep, copied_loop
from .iteration_order import Update, keeps_order
from .saved_values import SavedLoop, first_of_slot, number_of_index, restore, trip_count
from .scope import Scope


class ReverseSweep:
    """Emits the adjoints of statements.

    Attributes:
        forward: runs statements again.
        varied: values and variables that have an adjoint.
        updates: stores that add to a variable or subtract from it.
        adjoints: the variables that hold adjoints, by value or variable.
        partial: the contributions to a value so far, by the scope in which it was computed.
        parallel: the parallel loop in whose iteration the statements are.
    """

    def __init__(
        self, builder: Builder, forward: ForwardSweep, varied: set[Statement], updates: dict[Statement, Update]
    ) -> None:
        self.builder = builder
        self.updates = updates
        self.forward = forward
        self.varied = varied
        self.adjoints: dict[Statement, Statement] = {}
        self.partial: dict[tuple[Scope, Statement], Statement] = {}
        self.parallel: Statement | None = None
        self.inside: set[Statement] = set()
        self.locations: dict[SourceLocation, SourceLocation] = {}

    def block(self, block: Block, scope: Scope) -> None:
        """Emit the adjoints of a block that the forward sweep has run in `scope`."""
        for statement in block.statements:
            if isinstance(statement, Alloca) and statement in self.varied:
                self.builder.location = self.adjoint(statement)
                self.adjoints[statement] = self.variable(statement)
        for statement in reversed(block.statements):
            rule = RULES.get(type(statement))
            if rule is None:
                if statement in self.varied and self.take(statement, scope) is not None:
                    raise unsupported(statement)
                continue
            self.builder.location = self.adjoint(statement)
            rule(self, statement, scope)

    def adjoint(self, statement: Statement) -> SourceLocation:
        """Return the location of what differentiates a statement."""
        location = statement.location
        if location not in self.locations:
            self.locations[location] = location if location is NOWHERE else replace(location, is_derivative=True)
        return self.locations[location]

    # --- adjoints

    def variable(self, value: Statement) -> Alloca:
        """Emit the variable of an adjoint, which is 0."""
        name = f"{value.name}_adj" if value.name else None
        return self.builder.add(Alloca(type=value.type, name=name, hint=name or _hint(value)))

    def take(self, value: Statement, scope: Scope) -> Statement | None:
        """Return the adjoint of a value, None if it has no contribution. All uses of the value come before."""
        total = self.partial.pop((scope, value), None)
        variable = self.adjoints.get(value)
        if variable is not None:
            sum = self.builder.load(variable)
            total = sum if total is None else self.builder.op("add", sum, total)
        if total is not None and value.name and total.name is None and not isinstance(total, Const):
            total.name = f"{value.name}_adj"
        return total

    def contribute(self, value: Statement, adjoint: Statement, scope: Scope) -> None:
        """Add to the adjoint of a value."""
        if value not in self.varied:
            return
        assert value.type is not None
        adjoint = self.fitted(adjoint, value.type)
        if value in self.adjoints or isinstance(value.type, Struct):
            self.accumulate(self.adjoint_of(value), adjoint, self.is_shared(value))
            return
        known = self.partial.get((scope, value))
        self.partial[scope, value] = adjoint if known is None else self.builder.op("add", known, adjoint)

    def adjoint_of(self, value: Statement) -> Statement:
        """Return the variable of an adjoint; it is made if there is none."""
        if value not in self.adjoints:
            self.adjoints[value] = self.variable(value)
        return self.adjoints[value]

    def fitted(self, adjoint: Statement, type: Type) -> Statement:
        """Return a contribution with the type of the value: of a number used with a vector, the sum of its elements."""
        if isinstance(type, Struct):
            return adjoint
        if isinstance(adjoint.type, Tensor) and not isinstance(type, Tensor):
            adjoint = self.builder.op("sum", adjoint)
        return self.builder.fit(adjoint, type)

    def accumulate(self, pointer: Statement, adjoint: Statement, is_shared: bool) -> None:
        """Emit `pointer += adjoint`, atomically if other iterations of a parallel loop do so too."""
        if isinstance(pointer.type, Struct):
            for name, type in pointer.type.members:
                if is_real(type):
                    member = self.builder.member(adjoint, name)
                    self.accumulate(self.builder.member_ptr(pointer, name), member, is_shared)
        elif is_shared:
            self.builder.atomic("add", pointer, adjoint)
        else:
            self.builder.store(pointer, self.builder.op("add", self.builder.load(pointer), adjoint))

    def is_shared(self, value: Statement) -> bool:
        """Return whether a value is outside the parallel loop."""
        return self.parallel is not None and value not in self.inside

    def pointer(self, pointer: Statement, scope: Scope) -> Statement | None:
        """Return the pointer to the adjoint of what an original pointer points to, None if it has none."""
        if not is_real(pointer.type):
            return None
        if isinstance(pointer, GlobalPtr):
            if pointer.array.derivative is None:
                return None
            indices = [scope.find(index) for index in pointer.indices]
            return self.builder.add(GlobalPtr(pointer.array.derivative, indices, type=pointer.type))
        if isinstance(pointer, (MatrixPtr, StructPtr)):
            origin = self.pointer(pointer.origin, scope)
            if origin is None or isinstance(pointer, StructPtr):
                return None if origin is None else self.builder.member_ptr(origin, pointer.member)  # type: ignore[union-attr]
            return self.builder.element_ptr(origin, [scope.find(index) for index in pointer.indices])
        return self.adjoints.get(pointer)

    # --- places that are run again

    def prepare(self, statement: Statement, scope: Scope) -> None:
        """Emit variables for the adjoints of values that the blocks of a statement use."""
        for value in values_from_outside(statement):
            if value in self.varied and value not in self.adjoints and value in scope.values:
                self.builder.location = self.adjoint(value)
                variable = self.variable(value)
                known = self.partial.pop((scope, value), None)
                if known is not None:
                    self.builder.store(variable, known)
                self.adjoints[value] = variable
        self.builder.location = self.adjoint(statement)

    def place(self, statement: Statement, scope: Scope, changed: set[Alloca]) -> Scope:
        """Return the scope in which a block of `statement` is run again: variables have the values from before it.

        changed: variables that it may change, which become variables of this place.
        """
        inner = Scope(scope)
        for variable, value in scope.entries[statement].items():
            if variable in changed:
                inner.values[variable] = own = self.builder.add(Alloca(type=variable.type, name=variable.name))
                self.builder.store(own, value)
            else:
                inner.frozen[variable] = value
        return inner

    def run(self, block: Block, scope: Scope) -> None:
        """Emit a block again, and its adjoints."""
        self.forward.block(block, scope, is_differentiated=True)
        self.block(block, scope)


def unsupported(statement: Statement) -> TaichiCompilationError:
    """Return the error for a statement that has no derivative, although one is needed."""
    what = f"`{type(statement).__name__}`"
    return statement.location.error(
        TaichiCompilationError,
        f"The gradient needs the derivative of this line, and {what} has none",
        "compute the value in a kernel of its own, outside of `ti.ad.Tape`, or replace its gradient: `ti.ad.grad_for`",
    )


def _hint(value: Statement) -> str | None:
    return f"{value.hint}_adj" if value.hint else None


# --- values ----------------------------------------------------------------------------------------------------------


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
    pointer = sweep.builder.element_ptr(
        _variable_of(sweep, statement.value, scope), [scope.find(index) for index in statement.indices]
    )
    sweep.accumulate(pointer, adjoint, sweep.is_shared(statement.value))


def _struct_element(sweep: ReverseSweep, statement: StructElement, scope: Scope) -> None:
    adjoint = sweep.take(statement, scope) if statement in sweep.varied else None
    if adjoint is not None:
        pointer = sweep.builder.member_ptr(_variable_of(sweep, statement.value, scope), statement.member)
        sweep.accumulate(pointer, adjoint, sweep.is_shared(statement.value))


def _variable_of(sweep: ReverseSweep, value: Statement, scope: Scope) -> Statement:
    """Return the variable of a value's adjoint, to which parts are added."""
    known = sweep.partial.pop((scope, value), None)
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
    _drop_empty(branch)


def _drop_empty(branch: If) -> None:
    if branch.otherwise is not None and not branch.otherwise.statements:
        branch.otherwise = None


# --- memory ----------------------------------------------------------------------------------------------------------


def _load(sweep: ReverseSweep, statement: GlobalLoad | LocalLoad, scope: Scope) -> None:
    adjoint = sweep.take(statement, scope) if statement in sweep.varied else None
    if adjoint is None:
        return
    pointer = sweep.pointer(statement.pointer, scope)
    if pointer is not None:
        base = base_pointer(statement.pointer)
        sweep.accumulate(pointer, adjoint, isinstance(base, GlobalPtr) or sweep.is_shared(base))


def _store(sweep: ReverseSweep, statement: GlobalStore | LocalStore, scope: Scope) -> None:
    pointer = sweep.pointer(statement.pointer, scope)
    if pointer is None:
        return
    base = base_pointer(statement.pointer)
    if isinstance(base, Alloca) and sweep.is_shared(base):
        raise statement.location.error(
            TaichiCompilationError,
            f"All iterations of the parallel loop assign `{base.name}`, so that its gradient depends on their order",
            f"declare `{base.name}` in the loop, or add to it: `{base.name} += ...`",
        )
    adjoint = sweep.builder.load(pointer)
    update = sweep.updates.get(statement)
    if update is not None:  # the adjoint of `v` passes through `v = v + x`
        other, is_subtracted = update
        sweep.contribute(other, sweep.builder.op("neg", adjoint) if is_subtracted else adjoint, scope)
        return
    if statement.value.name:
        adjoint.name = f"{statement.value.name}_adj"
    elif isinstance(base, GlobalPtr):
        adjoint.hint = f"{base.array.name}_adj"
    assert pointer.type is not None
    sweep.builder.store(pointer, sweep.builder.zero(pointer.type))
    sweep.contribute(statement.value, adjoint, scope)


def _atomic(sweep: ReverseSweep, statement: AtomicOp, scope: Scope) -> None:
    if statement in sweep.varied and sweep.take(statement, scope) is not None:
        raise statement.location.error(
            TaichiCompilationError,
            "The gradient needs the derivative of what an atomic operation returns, which depends on the order of "
            "the iterations",
            "read the element before, or in another loop",
        )
    pointer = sweep.pointer(statement.pointer, scope)
    if pointer is None:
        return
    if statement.op not in ("add", "sub"):
        raise statement.location.error(
            TaichiCompilationError,
            f"`ti.atomic_{statement.op}` has no derivative here: it depends on the order of the iterations",
            "compute the result in a serial loop with a local variable, `ti.loop_config(serialize=True)`",
        )
    if statement.value not in sweep.varied:
        return
    adjoint = sweep.builder.load(pointer)
    base = base_pointer(statement.pointer)
    adjoint.hint = f"{base.array.name}_adj" if isinstance(base, GlobalPtr) else None
    signed = adjoint if statement.op == "add" else sweep.builder.op("neg", adjoint)
    sweep.contribute(statement.value, signed, scope)


# --- control ---------------------------------------------------------------------------------------------------------


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
    _drop_empty(branch)


def _changed(statement: Statement) -> set[Alloca]:
    """Return the variables that the blocks of a statement store to."""
    inside = (inner for block in blocks(statement) for inner in walk(block))
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
    if isinstance(statement, RangeFor) and saved.iterations is None and keeps_order(statement):
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
        last = builder.op("sub", scope.find(statement.ends[0]), builder.const(1))
    else:
        count = builder.op("sub", trip_count(builder, statement, scope), builder.const(1))
        last = builder.op("add", start, builder.op("mul", count, builder.const(size)))
    end = builder.op("sub", start, builder.const(1 if size > 0 else -1))
    return RangeFor([last], [end], [builder.const(-size)], statement.names, serialize=True, unroll=statement.unroll)


def _nothing(sweep: ReverseSweep, statement: Statement, scope: Scope) -> None:
    """A pointer, or a value that varies with no array."""


RULES: dict[type[Statement], Callable[..., None]] = {
    Operation: _operation,
    Cast: _cast,
    MatrixInit: _matrix_init,
    MatrixElement: _matrix_element,
    StructInit: _struct_init,
    StructElement: _struct_element,
    IfExp: _choice,
    GlobalLoad: _load,
    LocalLoad: _load,
    GlobalStore: _store,
    LocalStore: _store,
    AtomicOp: _atomic,
    If: _branches,
    RangeFor: _loop,
    StructFor: _loop,
    While: _loop,
    Alloca: _nothing,
}
"""The rule of each statement that has an adjoint; another one is an error if its adjoint is needed."""
