"""Loop-invariant code motion of address arithmetic: out of the loops in which it does not change.

    for k in range(n2):                       $row = (i * n1 + j) * n2
        x at (i * n1 + j) * n2 + k     ->     for k in range(n2):
                                                  x at $row + k

Sums, products and conversions of integers have no effects and cannot fail, so it does not matter whether the loop has
an iteration. Values that the user has named stay where Python has them.
"""

from __future__ import annotations

from ...ir.nodes import Block, Statement, blocks, operands, walk
from ...ir.statements import ArgLoad, ArrayShape, Cast, Const, If, LoopIndex, Operation, RangeFor, While, is_const
from ...ir.tasks import Kernel
from ...ir.types import Scalar
from ..analysis.addresses import is_flat_pointer
from ..context import PassContext

TOTAL = (
    "add", "sub", "mul", "neg", "wrapping_add", "wrapping_sub", "wrapping_mul", "near_mod", "close_mod",
)  # fmt: skip
"""Operations of addresses that cannot fail."""
DIVISIONS = ("plain_div", "plain_mod")
"""Those that cannot if the divisor is a constant: processors trap zeros."""
ATOMS = (Const, ArrayShape, LoopIndex, ArgLoad)


def hoist_addresses(kernel: Kernel, context: PassContext) -> bool:
    """Move what addresses are computed from before the serial loops that do not change it."""
    needed = _needed(kernel)
    changed = [_in_block(root, needed) for root in kernel.roots()] if needed else []
    return any(changed)


def _needed(kernel: Kernel) -> set[Statement]:
    """Return the arithmetic that flat pointers are computed from."""
    waiting = [pointer for pointer in kernel.statements() if is_flat_pointer(pointer)]
    found: set[Statement] = set()
    while waiting:
        for operand in operands(waiting.pop()):
            if operand not in found and _is_movable(operand):
                found.add(operand)
                waiting.append(operand)
    return found


def _is_movable(value: Statement) -> bool:
    if isinstance(value, ATOMS):
        return True
    is_whole = isinstance(value.type, Scalar) and value.type.is_integral and value.name is None
    if isinstance(value, Operation):
        return is_whole and (value.op in TOTAL or (value.op in DIVISIONS and is_const(value.operands[1])))
    return is_whole and isinstance(value, Cast)


def _in_block(block: Block, needed: set[Statement]) -> bool:
    changed = False
    result: list[Statement] = []
    for statement in block.statements:
        for inner in blocks(statement):
            changed |= _in_block(inner, needed)
        if isinstance(statement, (RangeFor, While)) and (moved := _invariant(statement, needed)):
            result.extend(moved)
            gone = set(moved)
            for inner in _without_loops(statement.body):
                inner.drop(gone)
            changed = True
        result.append(statement)
    block.statements = result
    return changed


def _invariant(loop: RangeFor | While, needed: set[Statement]) -> list[Statement]:
    """Return the arithmetic in a body that gives the same in each iteration, with the atoms it reads."""
    inside = set(walk(loop.body))
    if isinstance(loop, While):
        inside |= set(walk(loop.condition))
    moved: dict[Statement, None] = {}
    atoms: set[Statement] = set()
    found = [statement for block in _without_loops(loop.body) for statement in block]
    for statement in found:
        if isinstance(statement, ATOMS):
            if statement in needed and not (isinstance(statement, LoopIndex) and statement.loop is loop):
                atoms.add(statement)
        elif statement in needed and all(o in moved or o in atoms or o not in inside for o in operands(statement)):
            moved.update(dict.fromkeys(o for o in operands(statement) if o in atoms))
            moved[statement] = None
    order = {statement: number for number, statement in enumerate(found)}
    return sorted(moved, key=order.__getitem__)


def _without_loops(block: Block) -> list[Block]:
    """Return a block and the branches in it, each after what it may read."""
    found = [block]
    for statement in block.statements:
        if isinstance(statement, If):
            found += [inner for branch in blocks(statement) for inner in _without_loops(branch)]
    return found
