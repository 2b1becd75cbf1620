"""Joins atomic operations on the elements of one vector where the target has functions for vectors.

    atomic add v[$i].x, $a.x
    atomic add v[$i].y, $a.y        ->      atomic add v[$i], $a      printed as `atomic_add_vec2(&v(i), a);`

Each element is changed atomically, as before. The vector needs no name then: it is printed where it is added. Where one
instruction adds the whole vector (the pass `vector_atomics`), the statement says so.
"""

from __future__ import annotations

from ...ir.nodes import Block, Effect, Statement, count_uses, walk_blocks
from ...ir.statements import AtomicOp, Const, MatrixElement, MatrixPtr
from ...ir.tasks import Kernel
from ...ir.types import Tensor
from ..context import PassContext

MOST = 4
"""The most elements of a vector that has a function."""


def whole_atomics(kernel: Kernel, context: PassContext) -> bool:
    """Replace atomic operations on all elements of a vector, whose results are not used, by one."""
    if not context.capabilities.whole_atomics:
        return False
    changed = False
    for root in kernel.roots():
        used = count_uses(root)
        for block in walk_blocks(root):
            changed |= _join_all(block, used)
    return changed


def _join_all(block: Block, used: dict[Statement, int]) -> bool:
    """Join them in a block. Between them are only values that do not depend on memory."""
    group: list[AtomicOp] = []
    changed = False
    for statement in list(block.statements):
        if statement.EFFECT == Effect.NONE and not statement.BLOCKS:
            continue
        if not isinstance(statement, AtomicOp) or statement in used:
            group = []
            continue
        group = [*group, statement] if _continues(group, statement) else [statement]
        vector = _vector(group[0])
        if vector is None:
            group = []
        elif len(group) == vector.size:
            is_one = _is_one_instruction(group)
            if is_one is None or (is_one and statement.op == "add"):  # instructions add: elements are subtracted alone
                _join(block, group, used)
                changed = True
            group = []
    return changed


def _vector(first: AtomicOp) -> Tensor | None:
    """Return the type of a vector if a statement may be the first of those on its elements."""
    pointer, value = first.pointer, first.value
    if not (isinstance(pointer, MatrixPtr) and isinstance(value, MatrixElement)) or first.mask is not None:
        return None
    kind = pointer.origin.type
    is_short = isinstance(kind, Tensor) and len(kind.shape) == 1 and kind.size <= MOST
    if not is_short or value.value.type != kind or (_number(pointer), _number(value)) != (0, 0):
        return None
    assert isinstance(kind, Tensor)
    return kind


def _continues(group: list[AtomicOp], atomic: AtomicOp) -> bool:
    """Return whether an operation is that on the next element."""
    if not group or (atomic.op, atomic.mask) != (group[0].op, None):
        return False
    first, pointer, value = group[0], atomic.pointer, atomic.value
    if not (isinstance(pointer, MatrixPtr) and isinstance(value, MatrixElement)):
        return False
    assert isinstance(first.pointer, MatrixPtr) and isinstance(first.value, MatrixElement)
    is_same = pointer.origin is first.pointer.origin and value.value is first.value.value
    return is_same and _number(pointer) == _number(value) == len(group)


def _is_one_instruction(group: list[AtomicOp]) -> bool | None:
    """Return whether one instruction adds just these elements, None if each has its own."""
    numbers = {atomic.together and (atomic.together[0], atomic.together[2]) for atomic in group}
    if numbers == {None}:
        return None
    return len(numbers) == 1 and all(number is not None and number[1] == len(group) for number in numbers)


def _number(element: MatrixPtr | MatrixElement) -> int | None:
    """Return which element of a vector it is, None if only the device knows."""
    index = element.indices[0]
    return int(index.value) if isinstance(index, Const) else None


def _join(block: Block, group: list[AtomicOp], used: dict[Statement, int]) -> None:
    last = group[-1]
    assert isinstance(last.pointer, MatrixPtr) and isinstance(last.value, MatrixElement)
    origin, value = last.pointer.origin, last.value.value
    remarks = tuple(dict.fromkeys(remark for atomic in group for remark in atomic.remarks))
    whole = AtomicOp(last.op, origin, value, type=origin.type, location=last.location, remarks=remarks)
    whole.together = last.together
    block.statements[block.statements.index(last)] = whole
    parts = {atomic.pointer for atomic in group} | {atomic.value for atomic in group}
    unneeded = {*group, *(part for part in parts if used.get(part, 0) == 1)}
    block.drop(unneeded)
