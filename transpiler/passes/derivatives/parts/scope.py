"""What the statements of a kernel became in one place of its derivative.

A sweep runs statements again, once or in several places: the branch of an `if`, or one iteration of a loop, is run
again where it is differentiated. Each such place has a scope: the values that the original ones have there.
"""

from __future__ import annotations

from dataclasses import field

from ....ir.builder import Builder
from ....ir.nodes import Statement
from ....ir.statements import Alloca, LoopIndex, MatrixPtr, StructPtr
from ....lazy_dataclasses import dataclass


@dataclass(eq=False, slots=True)
class Scope:
    """The values of one place, and those of the places around it.

    Attributes:
        outer: the scope around it.
        values: by original statement; pointers for variables.
        frozen: the value of variables that no statement here changes.
        indices: the index of a loop that is run again.
        entries: of a statement with blocks, the values that variables had before it.
    """

    outer: Scope | None = None
    values: dict[Statement, Statement] = field(default_factory=dict)
    frozen: dict[Statement, Statement] = field(default_factory=dict)
    indices: dict[tuple[Statement, int], Statement] = field(default_factory=dict)
    entries: dict[Statement, dict[Alloca, Statement]] = field(default_factory=dict)

    def find(self, original: Statement) -> Statement:
        """Return the value of an original statement. Raises: KeyError if it has none."""
        scope: Scope | None = self
        while scope is not None:
            if original in scope.values:
                return scope.values[original]
            scope = scope.outer
        raise KeyError(original)

    def frozen_value(self, variable: Statement) -> Statement | None:
        """Return the value of a variable that does not change here, None for a variable that may."""
        scope: Scope | None = self
        while scope is not None:
            if variable in scope.values:
                return None
            if variable in scope.frozen:
                return scope.frozen[variable]
            scope = scope.outer
        return None

    def index(self, index: LoopIndex) -> Statement | None:
        """Return the value of a loop's index, None if its loop is not run again here."""
        scope: Scope | None = self
        while scope is not None:
            if (index.loop, index.axis) in scope.indices:
                return scope.indices[index.loop, index.axis]
            scope = scope.outer
        return None


def load_frozen(builder: Builder, pointer: Statement, value: Statement, scope: Scope) -> Statement:
    """Return what a load at `pointer`, an original pointer into a variable, gives if the variable has `value`."""
    if isinstance(pointer, MatrixPtr):
        origin = load_frozen(builder, pointer.origin, value, scope)
        return builder.element(origin, [scope.find(index) for index in pointer.indices])
    if isinstance(pointer, StructPtr):
        return builder.member(load_frozen(builder, pointer.origin, value, scope), pointer.member)
    return value
