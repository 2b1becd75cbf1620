"""Takes apart the accesses to arrays whose parts lie apart in memory: afterwards each names the array of one part.

    x = velocity[i]              ->    x = tensor (velocity_x[i], velocity_y[i], velocity_z[i])
    velocity[i] = a + b          ->    velocity_x[i] = a.x + b.x; velocity_y[i] = a.y + b.y; ...
    atomic add velocity[i], a    ->    atomic add velocity_x[i], a.x; ...
    velocity[i].x                ->    velocity_x[i]
    velocity[i][k]               ->    velocity_x[i] if k == 0 else velocity_y[i] if k == 1 else velocity_z[i]

What is stored and used nowhere else is computed part by part, as an author would write it for arrays that lie apart;
a value with a name of its own stays whole. A component chosen at run time is read and written alone: the others may
belong to other threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...ir.builder import Builder, flat_index
from ...ir.nodes import Block, Statement, count_uses, operands, walk
from ...ir.ops import OPS
from ...ir.statements import (
    Array,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    MatrixInit,
    MatrixPtr,
    Operation,
    StructInit,
    StructPtr,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Struct, Tensor
from ..checks.bounds import Access, index_check, is_safe
from ..context import PassContext
from ..rewrite import GONE, Rewriter

Use = Callable[[Array], "Statement | None"]
"""What is done with the part chosen; gives its value where it has one."""


def split_arrays(kernel: Kernel, context: PassContext) -> bool:
    """Rewrite all accesses to arrays with parts; loops over them stay, since only their shape matters."""
    if not any(isinstance(s, GlobalPtr) and s.array.parts for root in kernel.roots() for s in walk(root)):
        return False
    return _Splitter(kernel, context.options.check_out_of_bound).run(kernel)


@dataclass(frozen=True, slots=True)
class Cell:
    """What a pointer that is gone pointed to: an element of an array with parts.

    component: the indices of one of its components, where one of them is known only at run time.
    """

    array: Array
    indices: list[Statement]
    component: tuple[Statement, ...] = ()


class _Splitter(Rewriter):
    """cells: what the pointers into arrays with parts point to. uses: how often a value is read in the kernel."""

    def __init__(self, kernel: Kernel, checks: bool) -> None:
        super().__init__(RULES)
        self.kernel, self.checks = kernel.name, checks
        self.cells: dict[Statement, Cell] = {}
        self.uses: dict[Statement, int] = {}
        for root in kernel.roots():
            self.uses.update(count_uses(root))

    def builder(self, origin: Statement) -> Builder:
        """Return a builder that appends to the block at hand."""
        builder = Builder(Block(self.out))
        builder.location = origin.location
        return builder

    def part_at(self, pointer: Statement, array: Array, indices: list[Statement]) -> Statement:
        """Let `pointer` point into the part `array`, or note what it points to if that has parts itself."""
        if not array.parts:
            return self.emit(GlobalPtr(array, indices[:], type=array.element), pointer)
        self.cells[pointer] = Cell(array, indices)
        return GONE


# --- pointers ---------------------------------------------------------------------------------------------------------


def _global_ptr(rewriter: Rewriter, pointer: Statement) -> Statement | None:
    assert isinstance(rewriter, _Splitter) and isinstance(pointer, GlobalPtr)
    return rewriter.part_at(pointer, pointer.array, pointer.indices) if pointer.array.parts else None


def _struct_ptr(rewriter: _Splitter, pointer: StructPtr, cell: Cell) -> Statement:
    struct = cell.array.element
    assert isinstance(struct, Struct)
    return rewriter.part_at(pointer, cell.array.parts[struct.names.index(pointer.member)], cell.indices)


def _matrix_ptr(rewriter: _Splitter, pointer: MatrixPtr, cell: Cell) -> Statement:
    tensor = cell.array.element
    assert isinstance(tensor, Tensor)
    numbers = [int(index.value) for index in pointer.indices if isinstance(index, Const)]
    if len(numbers) == len(pointer.indices):
        return rewriter.part_at(pointer, cell.array.parts[flat_index(tensor.shape, numbers)], cell.indices)
    rewriter.cells[pointer] = Cell(cell.array, cell.indices, tuple(pointer.indices))
    return GONE


# --- accesses ---------------------------------------------------------------------------------------------------------


def _load(rewriter: _Splitter, load: GlobalLoad, cell: Cell) -> Statement | None:
    builder = rewriter.builder(load)

    def read(array: Array) -> Statement:
        if not array.parts:
            return builder.load(_at(builder, array, cell))
        parts = [read(part) for part in array.parts]
        whole = MatrixInit if isinstance(array.element, Tensor) else StructInit
        return builder.add(whole(parts, type=array.element))

    return _chosen(rewriter, builder, cell, read, True)


def _store(rewriter: _Splitter, store: GlobalStore, cell: Cell) -> Statement:
    builder = rewriter.builder(store)

    def write(array: Array, value: Statement) -> None:
        if not array.parts:
            builder.store(_at(builder, array, cell), value)
        for number, part in enumerate(array.parts):
            write(part, _part_of(rewriter, builder, value, number))

    _chosen(rewriter, builder, cell, lambda array: write(array, store.value), False)
    return GONE


def _atomic(rewriter: _Splitter, atomic: AtomicOp, cell: Cell) -> Statement:
    builder = rewriter.builder(atomic)

    def change(array: Array, value: Statement) -> Statement:
        if not array.parts:
            return builder.atomic(atomic.op, _at(builder, array, cell), value)
        parts = [change(part, _part_of(rewriter, builder, value, k)) for k, part in enumerate(array.parts)]
        return builder.add(MatrixInit(parts, type=array.element)) if is_read else parts[0]

    is_read = atomic in rewriter.uses
    old = _chosen(rewriter, builder, cell, lambda array: change(array, atomic.value), is_read)
    return old if old is not None and is_read else GONE


def _at(builder: Builder, array: Array, cell: Cell) -> Statement:
    return builder.add(GlobalPtr(array, cell.indices[:], type=array.element))


# --- parts ------------------------------------------------------------------------------------------------------------


def _part_of(rewriter: _Splitter, builder: Builder, value: Statement, number: int) -> Statement:
    """Return a component or member of a value; of an unnamed sum that nothing else reads, the sum of components."""
    if isinstance(value.type, Struct):
        return builder.member(value, value.type.names[number])
    assert isinstance(value.type, Tensor)
    if isinstance(value, MatrixInit):
        return value.elements[number]
    if value.name is None and rewriter.uses.get(value) == 1:

        def part(operand: Statement) -> Statement:
            return operand if isinstance(operand.type, Scalar) else _part_of(rewriter, builder, operand, number)

        if isinstance(value, Operation) and OPS[value.op].shape_rule is None:
            return builder.add(Operation(value.op, [part(o) for o in value.operands], type=value.type.element))
        if isinstance(value, Cast):
            return builder.add(Cast(part(value.value), value.bits, type=value.type.element))
    return builder.element(value, [builder.const(index) for index in _indices(value.type.shape, number)])


def _indices(shape: tuple[int, ...], number: int) -> tuple[int, ...]:
    return (number,) if len(shape) == 1 else divmod(number, shape[1])


def _chosen(rewriter: _Splitter, builder: Builder, cell: Cell, use: Use, gives_value: bool) -> Statement | None:
    """Use the array of a cell, or the part that its component names at run time."""
    if not cell.component:
        return use(cell.array)
    shape = cell.array.element.shape  # type: ignore[union-attr]
    if rewriter.checks:  # before the branches, in each of which `bounds` would check anew
        name = cell.array.path or cell.array.name
        whole, component = cell.array.parts[0], list(cell.component)
        for access in (Access(cell.indices, whole, whole.shape, name), Access(component, None, shape, name)):
            if not all(is_safe(access, axis) for axis in range(len(access.indices))):
                builder.add(index_check(builder, access, rewriter.kernel))

    def along(axis: int, number: int, first: int = 0) -> Statement | None:
        """Use the part whose indices before `axis` make `number`, and whose index there is `first` or higher."""
        if axis == len(shape):
            return use(cell.array.parts[number])
        index = cell.component[axis]
        if isinstance(index, Const):
            return along(axis + 1, number * shape[axis] + int(index.value))
        if first == shape[axis] - 1:
            return along(axis + 1, number * shape[axis] + first)
        condition = builder.op("eq", index, builder.const(first))
        then, otherwise = Block(), Block()
        with builder.into(then):
            then.result = along(axis + 1, number * shape[axis] + first)
        with builder.into(otherwise):
            otherwise.result = along(axis, number, first + 1)
        if gives_value:
            assert then.result is not None
            return builder.add(IfExp(condition, then, otherwise, type=then.result.type))
        then.result = otherwise.result = None
        builder.add(If(condition, then, otherwise))
        return None

    return along(0, 0)


def _where_gone(rule: Callable[..., Statement | None]) -> Callable[[Rewriter, Statement], Statement | None]:
    """Return the rule for statements whose pointer is gone; `rule` gets what that pointed to."""

    def applied(rewriter: Rewriter, statement: Statement) -> Statement | None:
        assert isinstance(rewriter, _Splitter)
        cell = rewriter.cells.get(operands(statement)[0])  # the pointer comes first in all of them
        return None if cell is None else rule(rewriter, statement, cell)

    return applied


RULES: dict[type[Statement], Callable[[Rewriter, Statement], Statement | None]] = {
    GlobalPtr: _global_ptr,
    StructPtr: _where_gone(_struct_ptr),
    MatrixPtr: _where_gone(_matrix_ptr),
    GlobalLoad: _where_gone(_load),
    GlobalStore: _where_gone(_store),
    AtomicOp: _where_gone(_atomic),
}
