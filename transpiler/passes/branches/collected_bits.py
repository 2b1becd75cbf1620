"""If-conversion of bits: sets a bit by a condition without a branch, in serial loops of C.

    if a[k] < b[k] { bits = bits | 1 << k }    ->    bits = bits | u32(a[k] < b[k]) << k

gcc 12 makes a jump of such a branch, since the shift and the union are two instructions, and what is compared is any: a
bit of a descriptor is guessed wrongly half of the time. 65,536 words of bits that compare pixels, and their distances,
took one core 84 ms before, 62 ms after (Intel Xeon; LLVM selects). Where gcc makes vectors, it selects.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, blocks, walk, walk_blocks
from ...ir.statements import Alloca, Cast, Const, If, LocalLoad, LocalStore, LoopIndex, Operation, is_const, repeats
from ...ir.tasks import Kernel
from ...ir.types import Scalar
from ..analysis.queries import has_else
from ..context import PassContext

WIDTHS = (32, 64)
REMARK = Remark("without a branch (collected_bits)")


def collected_bits(kernel: Kernel, context: PassContext) -> bool:
    """Replace such branches."""
    if not context.capabilities.predicts_branches:
        return False
    in_lanes = {block for task in kernel.tasks if task.is_in_lanes for block in task.roots()}
    changed = False
    for root in [root for root in kernel.roots() if root not in in_lanes]:
        for loop in [s for s in walk(root) if s.BLOCKS and repeats(s)]:
            for block in [inner for body in blocks(loop) for inner in walk_blocks(body)]:
                for branch in [s for s in block.statements if isinstance(s, If)]:
                    changed |= _replace(block, branch)
    return changed


def _replace(block: Block, branch: If) -> bool:
    """Replace a branch that does no more than set a bit of a local variable; return whether it is one."""
    if has_else(branch):
        return False
    *inside, store = branch.then.statements or [branch]
    if not isinstance(store, LocalStore) or not isinstance(store.pointer, Alloca) or not _is_word(store.pointer):
        return False
    union = store.value
    if not isinstance(union, Operation) or union.op != "bit_or" or union not in inside:
        return False
    loads = [o for o in union.operands if isinstance(o, LocalLoad) and o.pointer is store.pointer and o in inside]
    if len(loads) != 1 or not all(_is_cheap(s) for s in inside):
        return False
    bit = next(operand for operand in union.operands if operand is not loads[0])
    builder = Builder(Block([s for s in inside if s is not union]), branch.location)
    count = _place(bit, builder)
    if count is None:
        return False
    one = builder.add(Cast(branch.condition, type=store.pointer.type))
    shifted = one if is_const(count, 0) else builder.op("shl", one, count)
    value = builder.op("bit_or", loads[0], shifted)
    value.name = union.name
    builder.add(LocalStore(store.pointer, value, location=store.location, remarks=(*store.remarks, REMARK)))
    block.replace(branch, builder.block)
    return True


def _is_word(variable: Alloca) -> bool:
    return isinstance(variable.type, Scalar) and variable.type.kind in ("int", "uint") and variable.type.bits in WIDTHS


def _is_cheap(value: Statement) -> bool:
    """Return whether a value may be computed although it is not needed."""
    if isinstance(value, Operation):
        return value.op in ("bit_or", "shl") and isinstance(value.type, Scalar)
    return isinstance(value, (Const, LoopIndex, Cast)) or (
        isinstance(value, LocalLoad) and isinstance(value.pointer, Alloca)
    )


def _place(bit: Statement, builder: Builder) -> Statement | None:
    """Return by how much 1 is shifted to be a bit."""
    if isinstance(bit, Operation) and bit.op == "shl" and is_const(bit.operands[0], 1):
        return bit.operands[1]
    if isinstance(bit, Const) and isinstance(bit.type, Scalar):
        number = int(bit.value)
        return builder.const(number.bit_length() - 1, bit.type) if number > 0 and number & (number - 1) == 0 else None
    return None
