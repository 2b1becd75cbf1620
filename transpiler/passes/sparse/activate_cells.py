"""Activates the cells that a kernel stores to.

    store x[$i, $j], $v    ->    $block = activate block ($i / 4, $j / 4)
                                 store x[$i, $j] in cell $block, $v

Later statements in scope of an activation access the cell by its number, too, unless something is deactivated. The cell
of an iteration over active cells is active, so that its number is only looked up. A chunk of a list may be missing,
though: a store to an item makes the list that long, and earlier items get memory when they are stored to.
"""

from __future__ import annotations

from collections.abc import Hashable

from ...ir.builder import Builder
from ...ir.functions import Call, reachable
from ...ir.nodes import Block, Effect, Statement, blocks, clone, map_operands, operands, walk_inside
from ...ir.snodes import Node, is_sparse, pool_above, sparse_above
from ...ir.sparse import Activate, Append, CellIndex, CellNumber, Deactivate, node_name
from ...ir.sparse_storage import number_type
from ...ir.statements import (
    CHECKS,
    Array,
    AtomicOp,
    Const,
    GlobalPtr,
    GlobalStore,
    If,
    LoopIndex,
    MatrixPtr,
    RangeFor,
    StructPtr,
    base_pointer,
)
from ...ir.tasks import Kernel
from ..context import PassContext
from .parts.active_cells import scaled

Key = tuple[Hashable, ...]


def activate_cells(kernel: Kernel, context: PassContext) -> bool:
    """Insert an `Activate` before each store to a sparse tree, unless the cell is known to be active."""
    if not any(array.place is not None and is_sparse(array.place) for array in kernel.arrays):
        return False
    changed = False
    for root in kernel.roots():
        changed |= _Activation(kernel).block(root, is_top=root is kernel.body)
    return changed


class _Activation:
    """Inserts activations.

    Attributes:
        known: numbers of active cells in scope, by node and indices; None if the cell has no number.
        replaced: pointers into trees, and their replacements from here on.
        has_deactivated: cells were deactivated before.
        stored: pointers through which the kernel stores.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.known: dict[Key, Statement | None] = {}
        self.replaced: dict[Statement, Statement] = {}
        self.has_deactivated = False
        self.stored = {pointer for s in kernel.statements() if (pointer := _stored(s)) is not None}

    def block(self, block: Block, is_top: bool = False) -> bool:
        """Rewrite a block and those inside; activations are forgotten at its end."""
        known, replaced = self.known.copy(), self.replaced.copy()
        first_uses = _first_uses(block)
        builder = Builder(Block())
        changed = False
        for statement in block.statements:
            is_task = is_top and isinstance(statement, RangeFor) and not statement.serialize
            if (_deactivates(statement) and not isinstance(statement, If)) or is_task:  # numbers do not cross tasks
                self.known, self.replaced = {}, {}
                self.has_deactivated |= not is_task
            builder.location = statement.location
            for pointer in first_uses.get(statement, ()):
                if pointer not in self.replaced:
                    self.replaced[pointer] = self._activated(builder, pointer)
                    changed = True
            map_operands(statement, lambda operand: self._replacement(builder, operand))
            for inner in blocks(statement):
                changed |= self.block(inner)
            builder.add(statement)
            if isinstance(statement, GlobalPtr) and (number := self._current_cell_number(statement)) is not None:
                self.replaced[statement] = builder.add(
                    GlobalPtr(statement.array, list(statement.indices), number, type=statement.type)
                )
                changed = True
        block.statements = builder.block.statements
        self.known, self.replaced = ({}, {}) if self.has_deactivated else (known, replaced)
        return changed

    def _current_cell_number(self, pointer: GlobalPtr) -> Statement | None:
        """Return the number of the cell of the current iteration, if the element is in that cell."""
        leaf = pointer.array.place
        if pointer.cell is not None or leaf is None or self.has_deactivated or not _is_in_current_cell(pointer):
            return None
        index, pool = pointer.indices[0], pool_above(leaf)
        if pool is not None and pool.kind == "dynamic" and pointer in self.stored:
            return None
        body = index.loop.body.statements if isinstance(index, CellIndex) else []
        return next((s for s in body if isinstance(s, CellNumber) and s.node is pool), None)

    def name(self, pool: Node) -> str:
        """Return the name of the variable for the number of a cell."""
        return node_name(self.kernel, pool)

    def _replacement(self, builder: Builder, operand: Statement) -> Statement:
        """Return the replacement of a pointer, or of a pointer into its target."""
        if not self.replaced or operand in self.replaced or not isinstance(operand, (MatrixPtr, StructPtr)):
            return self.replaced.get(operand, operand)
        origin = self._replacement(builder, operand.origin)
        if origin is operand.origin:
            return operand
        copied = self.replaced[operand] = builder.add(clone(operand, {operand.origin: origin}))
        return copied

    def _activated(self, builder: Builder, pointer: GlobalPtr) -> Statement:
        """Return a pointer to an element after activating its cell."""
        array = pointer.array
        key = _key(pointer)
        if key not in self.known:
            self.known[key] = self._cell(builder, pointer)
        cell = self.known[key]
        if cell is None:
            return pointer
        return builder.add(GlobalPtr(array, list(pointer.indices), cell, type=pointer.type))

    def _cell(self, builder: Builder, pointer: GlobalPtr) -> Statement | None:
        """Activate the cell of an element; return the number of its pool cell, None without a pool."""
        leaf = pointer.array.place
        assert leaf is not None
        lowest, pool = sparse_above(leaf)[-1], pool_above(leaf)
        if not self.has_deactivated and _is_in_current_cell(pointer) and pool is None:
            return None
        lower_bounds = pointer.array.offset or (0,) * len(pointer.indices)
        indices = [
            builder.shifted(index, -lower_bound)
            for index, lower_bound in zip(pointer.indices, lower_bounds, strict=True)
        ]
        name = None if pool is None else self.name(pool)
        cell_indices = scaled(builder, leaf, lowest, indices)
        is_appended = any(isinstance(index, Append) and index.node is lowest for index in pointer.indices)
        activation = Activate(lowest, cell_indices, is_appended, type=number_type(lowest), name=name)
        builder.add(activation)
        return activation if pool is not None else None


def _first_uses(block: Block) -> dict[Statement, list[GlobalPtr]]:
    """Return, by statement, the pointers whose cells have to be active there.

    These are the stores of a block and reads before a store: `x[i] = 2 * x[i]` looks up its cell once.
    """
    result: dict[Statement, list[GlobalPtr]] = {}
    for position, statement in enumerate(block.statements):
        pointer = _stored(statement)
        if pointer is None:
            continue
        first = statement
        for before in reversed(block.statements[:position]):
            if before.EFFECT & Effect.CONTROL or isinstance(before, CHECKS) or _deactivates(before):
                break
            if any(_base(operand) is pointer for operand in operands(before)) and not _is_pointer(before):
                first = before
        result.setdefault(first, []).append(pointer)
    return result


def _stored(statement: Statement) -> GlobalPtr | None:
    """Return the pointer through which a statement stores to a sparse tree."""
    if not isinstance(statement, (GlobalStore, AtomicOp)):
        return None
    base = base_pointer(statement.pointer)
    is_in_tree = isinstance(base, GlobalPtr) and base.array.place is not None and is_sparse(base.array.place)
    return base if is_in_tree and isinstance(base, GlobalPtr) and base.cell is None else None


def _is_pointer(statement: Statement) -> bool:
    return isinstance(statement, (GlobalPtr, MatrixPtr, StructPtr))


def _base(operand: Statement) -> Statement:
    return base_pointer(operand) if _is_pointer(operand) else operand


def _key(pointer: GlobalPtr) -> Key:
    """Return a key that is equal for elements of one cell: fields of one node, at the same indices."""
    leaf = pointer.array.place
    assert leaf is not None
    indices = (index.value if isinstance(index, Const) else index for index in pointer.indices)
    return (leaf.parent, pointer.array.offset, *indices)


def _is_in_current_cell(pointer: GlobalPtr) -> bool:
    """Return whether an element is in the cell of the current iteration of a loop over active cells."""
    first = pointer.indices[0] if pointer.indices else None
    if not isinstance(first, (CellIndex, LoopIndex)) or not isinstance(first.loop, RangeFor):
        return False
    loop = first.loop
    cells = loop.cells if isinstance(first, CellIndex) else loop.over
    if cells is None or not _share_cells(cells, pointer.array):
        return False
    return all(
        type(index) is type(first) and index.loop is loop and index.axis == axis
        for axis, index in enumerate(pointer.indices)
    )


def _share_cells(cells: Array, array: Array) -> bool:
    """Return whether an element of `array` is active if the cell of `cells` at the same indices is."""
    if cells.place is None or array.place is None or cells.shape != array.shape or cells.offset != array.offset:
        return False
    return sparse_above(cells.place) == sparse_above(array.place)


def _deactivates(statement: Statement) -> bool:
    """Return whether a statement, one inside it or a function it calls deactivates cells."""
    result = [statement, *walk_inside(statement)]
    if any(isinstance(inner, Deactivate) for inner in result):
        return True
    return any(isinstance(inner, Call) and _function_deactivates(inner) for inner in result)


def _function_deactivates(call: Call) -> bool:
    return any(isinstance(inner, Deactivate) for inner in reachable(call.function.body))
