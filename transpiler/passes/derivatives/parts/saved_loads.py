"""Elements of arrays that a kernel reads and overwrites, saved when the forward sweep reads them.

Branches and iterations that the backward sweep runs again take what was read the first time from a local variable, or,
in loops, from a local array with an element for each iteration.
"""

from __future__ import annotations

from collections.abc import Callable

from ....errors import TaichiCompilationError
from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, blocks
from ....ir.statements import Alloca, Array, GlobalLoad, GlobalPtr, LoopIndex, RangeFor, StructFor, While, base_pointer
from ....ir.types import Scalar, Tensor, i32
from .saved_values import constant_trip_count, number_of_constant_index

Index = Callable[[LoopIndex], Statement]
"""Returns the present index of a loop."""


class SavedLoads:
    """The variables, by load; and the loops around each load."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.variables: dict[Statement, Alloca] = {}
        self.loops: dict[Statement, tuple[RangeFor, ...]] = {}

    def __contains__(self, statement: Statement) -> bool:
        return statement in self.variables

    def begin(self, block: Block, arrays: set[Array], parallel: set[Statement]) -> None:
        """Emit the variables of all loads from `arrays` in the branches and serial loops of a block.

        Raises: TaichiCompilationError for a load in a loop whose trip count is no constant.
        """
        for statement in block.statements:
            if statement.BLOCKS and statement not in parallel:
                self._find(statement, arrays, ())

    def _find(self, outer: Statement, arrays: set[Array], loops: tuple[Statement, ...]) -> None:
        loops = (*loops, outer) if isinstance(outer, (RangeFor, StructFor, While)) else loops
        for block in blocks(outer):
            for statement in block.statements:
                self._find(statement, arrays, loops)
                if isinstance(statement, GlobalLoad) and statement not in self.variables:
                    base = base_pointer(statement.pointer)
                    if isinstance(base, GlobalPtr) and base.array in arrays:
                        self._declare(statement, base.array, loops)

    def _declare(self, load: GlobalLoad, array: Array, loops: tuple[Statement, ...]) -> None:
        count = 1
        for loop in loops:
            length = constant_trip_count(loop)
            if length is None or not isinstance(load.type, Scalar | Tensor):
                raise load.location.error(
                    TaichiCompilationError,
                    f"The gradient needs this value of `{array.path or array.name}`, which the kernel overwrites, from "
                    "each iteration of a loop whose trip count is known only at run time",
                    f"give `{array.path or array.name}` an axis for the iterations, or run the loop in Python",
                )
            count *= max(length, 1)
        type = load.type
        if loops:
            assert isinstance(type, Scalar | Tensor)
            type = Tensor((count, type.size), type.element) if isinstance(type, Tensor) else Tensor((count,), type)
        self.loops[load] = tuple(loop for loop in loops if isinstance(loop, RangeFor))
        name = f"{array.name}_saved"
        self.variables[load] = self.builder.add(Alloca(type=type, name=name, location=load.location))

    def store(self, load: Statement, value: Statement, index: Index) -> None:
        """Emit the store of what a load gave."""
        builder = self.builder
        if not self.loops[load]:
            builder.store(self.variables[load], value)
            return
        slot = self._slot(load, index)
        if not isinstance(value.type, Tensor):
            builder.store(builder.element_ptr(self.variables[load], [slot]), value)
            return
        for position in range(value.type.size):
            indices = (position,) if len(value.type.shape) == 1 else divmod(position, value.type.shape[1])
            element = builder.element(value, [builder.const(k) for k in indices])
            builder.store(builder.element_ptr(self.variables[load], [slot, builder.const(position)]), element)

    def load(self, load: Statement, index: Index) -> Statement:
        """Return what a load gave the first time."""
        builder = self.builder
        if not self.loops[load]:
            return builder.load(self.variables[load])
        slot = self._slot(load, index)
        if not isinstance(load.type, Tensor):
            return builder.load(builder.element_ptr(self.variables[load], [slot]))
        elements = [
            builder.load(builder.element_ptr(self.variables[load], [slot, builder.const(position)]))
            for position in range(load.type.size)
        ]
        return builder.tensor(elements, load.type.shape, load.type.element)

    def _slot(self, load: Statement, index: Index) -> Statement:
        """Return the number of the present iteration among those of all loops around a load."""
        builder = self.builder
        slot: Statement | None = None
        for loop in self.loops[load]:
            number = number_of_constant_index(builder, loop, index(LoopIndex(loop, type=loop.starts[0].type)))
            if slot is not None:
                length = constant_trip_count(loop)
                assert length is not None
                number = builder.op("add", builder.op("mul", slot, builder.const(length)), number)
            slot = number
        assert slot is not None
        return builder.cast(slot, i32)
