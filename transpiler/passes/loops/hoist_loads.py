"""Loop-invariant code motion of loads: out of static loops (`loads_before_loops`: out of serial ones, on GPUs).

    for i in static(range(3)):          v_p = v[p]
        g[p + i] += w[i] * v[p]    ->   for i in static(range(3)):
                                            g[p + i] += w[i] * v_p

In the unrolled form the copies of the load are merged, since the passes know that fields do not overlap. The target's
compiler, which unrolls the loop, does not know it.

So are quotients and remainders of integers. NVRTC takes `if (o == (k + 9) % 9) { h[o] += w; }` for
`h[(k + 9) % 9] += w` before it unrolls the loop over o, and `h` would be in local memory.
"""

from __future__ import annotations

from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Remark, Statement, blocks, operands, walk
from ...ir.statements import Array, AtomicOp, Break, Continue, GlobalLoad, GlobalStore, Operation, RangeFor, Return
from ...ir.tasks import Kernel
from ...ir.types import element_of
from ..analysis.aliasing import MemoryObject, underlying_object
from ..analysis.queries import is_index_of
from ..context import PassContext


def hoist_loads(kernel: Kernel, context: PassContext) -> bool:
    """Move loads of unchanged elements before the static loops around them."""
    if context.options.debug or context.options.check_out_of_bound:
        return False  # a check of the index comes first
    changed = [_in_block(root) for root in kernel.roots()]
    return any(changed)


def _in_block(block: Block) -> bool:
    if not [statement for statement in block.statements if statement.BLOCKS]:
        return False  # most
    changed = False
    result: list[Statement] = []
    for statement in block.statements:
        for inner in blocks(statement) if statement.BLOCKS else ():
            changed |= _in_block(inner)
        if isinstance(statement, RangeFor) and statement.unroll and (moved := _invariant_loads(statement)):
            for load in moved:
                load.location = statement.location
                if isinstance(load, GlobalLoad):
                    load.remarks = (Remark("the same in all iterations (hoist_loads)"),)
            result.extend(moved)
            gone = set(moved)
            statement.body.drop(gone)
            changed = True
        result.append(statement)
    block.statements = result
    return changed


def _invariant_loads(loop: RangeFor) -> list[Statement]:
    """Return the loads at the top of a body that give the same value in each iteration, and what computes them."""
    inside = list(walk(loop.body))
    written = _written(inside)
    if written is None:
        return []
    changing = {statement for statement in inside if is_index_of(statement, loop)}
    own = set(loop.body.statements)
    nested = {statement for statement in inside if statement not in own}
    moved: dict[Statement, None] = {}
    for statement in loop.body.statements:
        if _is_quotient(statement) or (isinstance(statement, GlobalLoad) and not _is_written(statement, written)):
            needed: dict[Statement, None] = {}
            if _collect(statement, statement, own, changing | nested, needed):
                moved.update(needed)
    return [statement for statement in loop.body.statements if statement in moved]


def _is_quotient(statement: Statement) -> bool:
    """Return whether a statement divides integers by Python's rules."""
    if not isinstance(statement, Operation) or statement.op not in ("floordiv", "mod"):
        return False
    return statement.type is not None and element_of(statement.type).is_integral


def _written(statements: list[Statement]) -> list[MemoryObject] | None:
    """Return the arrays that statements write; None if they may leave the loop, wait, or write something else."""
    written: list[MemoryObject] = []
    for statement in statements:
        if isinstance(statement, (Break, Continue, Return)) or statement.EFFECT & Effect.FENCE:
            return None
        if isinstance(statement, Call):
            if statement.function.is_ordered:
                return None
            written += statement.function.writes
        if isinstance(statement, (GlobalStore, AtomicOp)) and (target := underlying_object(statement.pointer)):
            written.append(target)
    return written


def _is_written(load: GlobalLoad, written: list[MemoryObject]) -> bool:
    target = underlying_object(load.pointer)
    return target is None or any(_may_overlap(target, other) for other in written)


def _may_overlap(a: MemoryObject, b: MemoryObject) -> bool:
    """Return whether two objects may share memory."""
    return a is b or (isinstance(a, Array) and isinstance(b, Array) and a.may_alias and b.may_alias)


def _collect(
    statement: Statement, load: Statement, own: set[Statement], changing: set[Statement], needed: dict[Statement, None]
) -> bool:
    """Add `statement` and its operands in the loop to `needed`; return whether they are the same in each iteration."""
    if statement in changing:
        return False
    if statement not in own or statement in needed:
        return True
    if statement.BLOCKS or not (statement.EFFECT is Effect.NONE or statement is load):
        return False
    if not all(_collect(operand, load, own, changing, needed) for operand in operands(statement)):
        return False
    needed[statement] = None
    return True
