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

from collections.abc import Callable, Mapping
from typing import Any

from ....errors import NOWHERE, SourceLocation, TaichiCompilationError
from ....ir.builder import Builder
from ....ir.nodes import Block, Statement
from ....ir.statements import Alloca, Const, GlobalLoad, GlobalPtr, If, ListInit, MatrixPtr, StructPtr, base_pointer
from ....ir.types import Scalar, Struct, Tensor, Type
from .activity import is_real, values_from_outside
from .forward_sweep import ForwardSweep
from .iteration_order import Update
from .scope import Scope

Rule = Callable[["ReverseSweep", Any, Scope], None]
"""Emits the adjoint of a statement that was run in a scope."""


class ReverseSweep:
    """Emits the adjoints of statements.

    Attributes:
        forward: runs statements again.
        varied: values and variables that have an adjoint.
        updates: stores that add to a variable or subtract from it.
        adjoints: the variables that hold adjoints, by value or variable.
        partial: the contributions to a value so far, by the scope in which it was computed.
        parts: those to single elements of a vector or matrix, by the element's number.
        unused: the variables of adjoints to which nothing was added yet, and the blocks that they are in.
        parallel: the parallel loop in whose iteration the statements are.
        rules: what emits the adjoint of each kind of statement; another kind is an error if its adjoint is needed.
    """

    def __init__(
        self,
        builder: Builder,
        forward: ForwardSweep,
        varied: set[Statement],
        updates: dict[Statement, Update],
        rules: Mapping[type[Statement], Rule],
    ) -> None:
        self.builder = builder
        self.rules = rules
        self.updates = updates
        self.forward = forward
        self.varied = varied
        self.adjoints: dict[Statement, Statement] = {}
        self.partial: dict[tuple[Scope, Statement], Statement] = {}
        self.parts: dict[tuple[Scope, Statement], dict[int, Statement]] = {}
        self.unused: dict[Statement, Block] = {}
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
            rule = self.rules.get(type(statement))
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
            self.locations[location] = location if location is NOWHERE else location._replace(is_derivative=True)
        return self.locations[location]

    # --- adjoints

    def variable(self, value: Statement) -> Alloca:
        """Emit the variable of an adjoint, which is 0."""
        name = f"{value.name}_adj" if value.name else None
        type = array_of_items(value) if isinstance(value, ListInit) else value.type
        made = self.builder.add(Alloca(type=type, name=name, hint=name or _hint(value)))
        self.unused[made] = self.builder.block
        return made

    def take(self, value: Statement, scope: Scope) -> Statement | None:
        """Return the adjoint of a value, None if it has no contribution. All uses of the value come before."""
        total = self.known(value, scope)
        variable = self.adjoints.get(value)
        if variable is not None:
            sum = self.builder.load(variable)
            total = sum if total is None else self.builder.op("add", sum, total)
        if total is not None and value.name and total.name is None and not isinstance(total, Const):
            total.name = f"{value.name}_adj"
        return total

    def known(self, value: Statement, scope: Scope) -> Statement | None:
        """Return the sum of the contributions to a value that are in no variable, and forget them."""
        total = self.partial.pop((scope, value), None)
        parts = self.parts.pop((scope, value), None)
        if parts is None:
            return total
        assert isinstance(value.type, Tensor)
        zero = self.builder.const(0, value.type.element)
        elements = [parts.get(number, zero) for number in range(value.type.size)]
        whole = self.builder.tensor(elements, value.type.shape, value.type.element)
        return whole if total is None else self.builder.op("add", total, whole)

    def contribute_element(self, value: Statement, number: int, adjoint: Statement, scope: Scope) -> None:
        """Add to the adjoint of an element of a vector or matrix whose own adjoint is in no variable."""
        parts = self.parts.setdefault((scope, value), {})
        parts[number] = self.builder.op("add", parts[number], adjoint) if number in parts else adjoint

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
        is_first = self.unused.pop(base_pointer(pointer), None) is self.builder.block and isinstance(pointer, Alloca)
        if isinstance(pointer.type, Struct):
            for name, type in pointer.type.members:
                if is_real(type):
                    member = self.builder.member(adjoint, name)
                    self.accumulate(self.builder.member_ptr(pointer, name), member, is_shared)
        elif is_shared:
            self.builder.atomic("add", pointer, adjoint)
        elif is_first:
            self.builder.store(pointer, adjoint)
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
                known = self.known(value, scope)
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
    what = UNSUPPORTED.get(type(statement).__name__, f"`{type(statement).__name__}`")
    return statement.location.error(
        TaichiCompilationError,
        f"The gradient needs the derivative of this line, and {what} has none",
        "compute the value in a kernel of its own, outside of `ti.ad.Tape`, or replace its gradient: `ti.ad.grad_for`",
    )


UNSUPPORTED = {
    "TextureSample": "a sample of a texture",
    "TextureFetch": "a texel of a texture",
    "ImageLoad": "a texel of a texture",
    "Rand": "a random number",
}
"""What a user calls these statements."""


def _hint(value: Statement) -> str | None:
    base = base_pointer(value.pointer) if isinstance(value, GlobalLoad) else None
    hint = base.array.name if isinstance(base, GlobalPtr) else value.hint
    return f"{hint}_adj" if hint else None


def array_of_items(value: ListInit) -> Tensor:
    """Return the type of a local array with the numbers of all items of a list, one row for each.

    Raises: TaichiCompilationError for a list of structs.
    """
    if not isinstance(value.type, (Scalar, Tensor)):
        raise unsupported(value)
    if isinstance(value.type, Tensor):
        return Tensor((len(value.items), value.type.size), value.type.element)
    return Tensor((len(value.items),), value.type)


def drop_empty(branch: If) -> None:
    """Drop the second block of an `if` that has no statement there."""
    if branch.otherwise is not None and not branch.otherwise.statements:
        branch.otherwise = None
