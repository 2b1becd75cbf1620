"""If-conversion of counters: counts by one of two conditions without a branch, in loops of C that carry values.

    if a { n = n + 1 }
    else {                  ->      first = a; second = b
        if b { n = n - 1 }          n = n + (first - (second & ~first))
    }

gcc 12 makes jumps of such branches, which are guessed wrongly where the conditions are any: edit distances by words
of bits took one core 104 ms before, 72 ms after (LLVM: 72). Both conditions are computed, of numbers at hand and by
operations that take an instruction. Loops that carry sums alone become vectors, in which gcc selects.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, blocks, walk, walk_blocks
from ...ir.statements import Alloca, Cast, Const, If, LocalLoad, LocalStore, LoopIndex, Operation, repeats
from ...ir.tasks import Kernel
from ...ir.types import Scalar, i32
from ..analysis.loops.carried import carries_values
from ..analysis.queries import has_else
from ..context import PassContext

CHEAP = frozenset({
    "eq", "ne", "lt", "le", "gt", "ge", "logical_not", "bit_and", "bit_or", "bit_xor", "bit_not", "shr", "sar", "shl",
    "add", "sub",
})  # fmt: skip
"""Operations of conditions, and on words of bits, that may be computed although they are not needed."""
SHIFTS = frozenset({"shr", "sar", "shl"})
LARGEST = 1 << 16
"""Number that is added, of which no multiple of a condition overflows."""
MOST = 6
"""The most statements that compute the second condition."""
REMARK = Remark("without a branch (counted_choices)")


def counted_choices(kernel: Kernel, context: PassContext) -> bool:
    """Replace such branches."""
    if not context.capabilities.predicts_branches:
        return False
    in_lanes = {block for task in kernel.tasks if task.is_in_lanes for block in task.roots()}
    changed = False
    for root in [root for root in kernel.roots() if root not in in_lanes]:
        for loop in [s for s in walk(root) if repeats(s) and carries_values(s)]:
            for block in [inner for body in blocks(loop) for inner in walk_blocks(body)]:
                for branch in [s for s in block.statements if isinstance(s, If)]:
                    changed |= _replace(block, branch)
    return changed


def _replace(block: Block, branch: If) -> bool:
    """Replace two branches, one in place of the other, that add numbers to an integer; return whether they are such."""
    if branch.otherwise is None or not branch.otherwise.statements:
        return False
    *values, second = branch.otherwise.statements
    if not isinstance(second, If) or has_else(second) or len(values) > MOST:
        return False
    counts = [_counted(branch.then), _counted(second.then)]
    if counts[0] is None or counts[1] is None or counts[0][0] is not counts[1][0]:
        return False
    if not all(map(_is_cheap, [*values, branch.condition, second.condition])):
        return False
    variable, builder = counts[0][0], Builder(Block(), branch.location)
    builder.block.statements += values
    first = builder.add(Cast(branch.condition, type=i32, name="first"))
    last = builder.add(Cast(second.condition, type=i32, name="second"))
    other = builder.op("bit_and", last, builder.op("bit_not", first))
    total = _sum(builder, _times(builder, first, counts[0][1]), other, counts[1][1])
    count = builder.op("add", builder.add(LocalLoad(variable, type=i32)), total)
    builder.add(LocalStore(variable, count, remarks=(REMARK,)))
    block.replace(branch, builder.block)
    return True


def _counted(block: Block) -> tuple[Alloca, int] | None:
    """Return the integer that a block adds a number to, and that number; None if it does something else."""
    store = block.statements[-1] if block.statements else None
    if not isinstance(store, LocalStore) or not isinstance(store.pointer, Alloca) or store.pointer.type != i32:
        return None
    match store.value:
        case Operation(
            op="add" | "sub" as op, operands=[LocalLoad(pointer=pointer) as load, Const(value=value) as one]
        ):
            inside = [s for s in block if s not in (store, store.value, load, one)]
            is_count = pointer is store.pointer and load in block.statements
            if is_count and all(isinstance(s, Const) for s in inside) and abs(int(value)) <= LARGEST:
                return store.pointer, int(value) if op == "add" else -int(value)
    return None


def _is_cheap(value: Statement) -> bool:
    """Return whether a value may be computed although it is not needed."""
    if isinstance(value, Operation):
        is_known = value.op not in SHIFTS or isinstance(value.operands[1], Const)  # C has no shifts by 32 and more
        return value.op in CHEAP and isinstance(value.type, Scalar) and is_known
    return isinstance(value, (Const, LoopIndex)) or (isinstance(value, LocalLoad) and isinstance(value.pointer, Alloca))


def _times(builder: Builder, value: Statement, count: int) -> Statement:
    return value if count == 1 else builder.op("mul", value, builder.const(count))


def _sum(builder: Builder, first: Statement, other: Statement, count: int) -> Statement:
    """Return the first number plus so many times the other."""
    op = "sub" if count < 0 else "add"
    return builder.op(op, first, _times(builder, other, abs(count)))
