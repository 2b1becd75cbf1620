"""Splits accesses to arrays that are stored as one array per part (SoA) into accesses to these arrays.

    x = velocity[i]              ->    x = tensor (velocity_x[i], velocity_y[i], velocity_z[i])
    velocity[i] = a + b          ->    velocity_x[i] = a.x + b.x; velocity_y[i] = a.y + b.y; ...
    atomic add velocity[i], a    ->    atomic add velocity_x[i], a.x; ...
    velocity[i].x                ->    velocity_x[i]
    velocity[i][k]               ->    velocity_x[i] if k == 0 else velocity_y[i] if k == 1 else velocity_z[i]

A stored value with no other use is computed separately for each part, as an author would write it for split arrays; a
named value stays whole. A component with a run-time index is read and written alone, since other threads may write the
other components.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.builder import Builder, flat_index
from ...ir.nodes import Block, Statement, count_uses, operands
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
from ...lazy_dataclasses import dataclass
from ..analysis.accesses import Access, is_safe
from ..checks.parts.index_checks import index_check
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter

Usage = Callable[[Array], "Statement | None"]
"""An access to the selected part; returns its value, None for a store."""


def split_arrays(kernel: Kernel, context: PassContext) -> bool:
    """Rewrite all accesses to split arrays; loops over them stay, since they only use the shape."""
    if not any(array.parts for array in context.arrays(kernel)):
        return False
    return _Splitter(kernel, context.options.check_out_of_bound).run(kernel)


@dataclass(frozen=True, slots=True)
class Element:
    """The target of a removed pointer: an element of a split array.

    component: indices of one component, if one of them is known only at run time.
    """

    array: Array
    indices: list[Statement]
    component: tuple[Statement, ...] = ()


class _Splitter(Rewriter):
    """Rewrites the accesses. `targets`: targets of the removed pointers; `uses`: number of uses of each value."""

    def __init__(self, kernel: Kernel, checks: bool) -> None:
        super().__init__(RULES)
        self.kernel, self.checks = kernel.name, checks
        self.targets: dict[Statement, Element] = {}
        self.uses: dict[Statement, int] = {}
        for root in kernel.roots():
            self.uses.update(count_uses(root))

    def part_at(self, pointer: Statement, array: Array, indices: list[Statement]) -> Statement:
        """Return a pointer into the part `array`; if the part is split too, record the target of `pointer`."""
        if not array.parts:
            return self.emit(GlobalPtr(array, indices[:], type=array.element), pointer)
        self.targets[pointer] = Element(array, indices)
        return DROPPED


# --- pointers ---------------------------------------------------------------------------------------------------------


def _global_ptr(rewriter: Rewriter, pointer: Statement) -> Statement | None:
    assert isinstance(rewriter, _Splitter) and isinstance(pointer, GlobalPtr)
    return rewriter.part_at(pointer, pointer.array, pointer.indices) if pointer.array.parts else None


def _struct_ptr(rewriter: _Splitter, pointer: StructPtr, element: Element) -> Statement:
    struct = element.array.element
    assert isinstance(struct, Struct)
    return rewriter.part_at(pointer, element.array.parts[struct.names.index(pointer.member)], element.indices)


def _matrix_ptr(rewriter: _Splitter, pointer: MatrixPtr, element: Element) -> Statement:
    tensor = element.array.element
    assert isinstance(tensor, Tensor)
    numbers = [int(index.value) for index in pointer.indices if isinstance(index, Const)]
    if len(numbers) == len(pointer.indices):
        return rewriter.part_at(pointer, element.array.parts[flat_index(tensor.shape, numbers)], element.indices)
    rewriter.targets[pointer] = Element(element.array, element.indices, tuple(pointer.indices))
    return DROPPED


# --- accesses ---------------------------------------------------------------------------------------------------------


def _load(rewriter: _Splitter, load: GlobalLoad, element: Element) -> Statement | None:
    builder = rewriter.builder(load)

    def read(array: Array) -> Statement:
        if not array.parts:
            return builder.load(_at(builder, array, element))
        parts = [read(part) for part in array.parts]
        whole = MatrixInit if isinstance(array.element, Tensor) else StructInit
        return builder.add(whole(parts, type=array.element))

    return _use_selected(rewriter, builder, element, read, True)


def _store(rewriter: _Splitter, store: GlobalStore, element: Element) -> Statement:
    builder = rewriter.builder(store)

    def write(array: Array, value: Statement) -> None:
        if not array.parts:
            builder.store(_at(builder, array, element), value)
        for number, part in enumerate(array.parts):
            write(part, _part_of(rewriter, builder, value, number))

    _use_selected(rewriter, builder, element, lambda array: write(array, store.value), False)
    return DROPPED


def _atomic(rewriter: _Splitter, atomic: AtomicOp, element: Element) -> Statement:
    builder = rewriter.builder(atomic)

    def change(array: Array, value: Statement) -> Statement:
        if not array.parts:
            return builder.atomic(atomic.op, _at(builder, array, element), value)
        parts = [change(part, _part_of(rewriter, builder, value, k)) for k, part in enumerate(array.parts)]
        return builder.add(MatrixInit(parts, type=array.element)) if is_read else parts[0]

    is_read = atomic in rewriter.uses
    old = _use_selected(rewriter, builder, element, lambda array: change(array, atomic.value), is_read)
    return old if old is not None and is_read else DROPPED


def _at(builder: Builder, array: Array, element: Element) -> Statement:
    return builder.add(GlobalPtr(array, element.indices[:], type=array.element))


# --- parts ------------------------------------------------------------------------------------------------------------


def _part_of(rewriter: _Splitter, builder: Builder, value: Statement, number: int) -> Statement:
    """Return a component or member of a value; for an unnamed sum without other uses, the sum of components."""
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


def _use_selected(
    rewriter: _Splitter, builder: Builder, element: Element, use: Usage, has_value: bool
) -> Statement | None:
    """Apply `use` to the array of an element, or to the part that its run-time component selects."""
    if not element.component:
        return use(element.array)
    shape = element.array.element.shape  # type: ignore[union-attr]
    if rewriter.checks:  # before the branches, since `bounds` would check again in each of them
        name = element.array.path or element.array.name
        whole, component = element.array.parts[0], list(element.component)
        for access in (Access(element.indices, whole, whole.shape, name), Access(component, None, shape, name)):
            if not all(is_safe(access, axis) for axis in range(len(access.indices))):
                builder.add(index_check(builder, access, rewriter.kernel))

    def along(axis: int, number: int, first: int = 0) -> Statement | None:
        """Use the part whose indices before `axis` are `number`, and whose index there is at least `first`."""
        if axis == len(shape):
            return use(element.array.parts[number])
        index = element.component[axis]
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
        if has_value:
            assert then.result is not None
            return builder.add(IfExp(condition, then, otherwise, type=then.result.type))
        then.result = otherwise.result = None
        builder.add(If(condition, then, otherwise))
        return None

    return along(0, 0)


def _on_removed_pointer(rule: Callable[..., Statement | None]) -> Callable[[Rewriter, Statement], Statement | None]:
    """Return the rule for statements whose pointer was removed; `rule` receives the target of the pointer."""

    def applied(rewriter: Rewriter, statement: Statement) -> Statement | None:
        assert isinstance(rewriter, _Splitter)
        element = rewriter.targets.get(operands(statement)[0])  # the pointer comes first in all of them
        return None if element is None else rule(rewriter, statement, element)

    return applied


RULES: dict[type[Statement], Callable[[Rewriter, Statement], Statement | None]] = {
    GlobalPtr: _global_ptr,
    StructPtr: _on_removed_pointer(_struct_ptr),
    MatrixPtr: _on_removed_pointer(_matrix_ptr),
    GlobalLoad: _on_removed_pointer(_load),
    GlobalStore: _on_removed_pointer(_store),
    AtomicOp: _on_removed_pointer(_atomic),
}
