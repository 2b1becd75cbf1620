"""Runs the serial loops of neighbouring iterations together on C, where the compiler cannot do so (`vector_lanes`).

    for i, j in c {                                            for i, and for each run of LANES neighbouring j {
        s = 0.0                                                    for j in the run { s[j] = 0.0 }
        for k in range(a.shape[1]) {                               for k in range(a.shape[1]) {
            s += a[i, k] * b[k, j]                   ->                for j in the run { s[j] += a[i, k] * b[k, j] }
        }                                                          }
        c[i, j] = s                                                for j in the run { c[i, j] = s[j] }
    }                                                          }

The loops over `j` are vectorized, and each row of `b` is read in order: a product of 256 x 256 ndarrays took one core
15.5 ms before, .81 ms after (gcc 12). The sums of one `j` are added in the order of Python. Local variables become
arrays of LANES numbers, which stay in the cache.

A loop qualifies if what its serial loops access is a scalar at `j` along the last axis, a fixed distance from it, or
the same for all `j`, and the bounds of these loops do not depend on `j` nor on anything that the loop stores.
Elements of the index of the parallel loop, and branches that only change variables, are as in `vector_lanes`: the
nearest of 4,096 points to each of 32,768, all in ndarrays, took one core 105 ms before, 12.5 ms after.

Loops that store what they carry, as filters do, may also have local vectors, of which each component becomes an
array, and call functions that compute numbers: 512 cascades of two filters over 256 numbers took one core .77 ms
before, .054 ms after.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Statement, count_uses, operands, walk, walk_blocks
from ...ir.statements import Alloca, GlobalLoad, GlobalStore, If, LocalStore, Operation, RangeFor, repeats
from ...ir.tasks import Kernel, Task
from ...ir.threads import ThreadFor
from ...ir.types import Scalar, Struct, i32
from ..context import PassContext
from ..threads.carry_across_barriers import carry_across_barriers
from ..threads.vector_lanes import (
    SUMS,
    accesses_in_loops,
    has_carried_stores,
    is_along,
    is_before_loops,
    may_have_lanes,
    varying_values,
)
from .component_variables import ComponentVariables

CHEAP = frozenset({"add", "sub", "mul", "neg", "min", "max", "bit_and", "bit_or", "bit_xor", "shl", "sar"})
"""Operations that are computed again in each part of the body in place of a variable."""
RUN = 128
"""The iterations that run together: with 64 the product takes 1.35 times as long, with 256 1.2 times."""


def lane_loops(kernel: Kernel, context: PassContext) -> bool:
    """Split the bodies of loops whose serial loops are run for several iterations together (C)."""
    capabilities = context.capabilities
    if not capabilities.blocks_as_loops or capabilities.blocks_in_lockstep:
        return False
    for task in kernel.tasks:
        outer = _outer_values(task, context)
        if outer is not None:
            ComponentVariables().run(task.body)
            task.body.statements = _split(task.body, outer).statements
            carry_across_barriers(task.body, {}, CHEAP)
            drop_unused(task.body)
            task.lane_loops = RUN
    return any(task.lane_loops for task in kernel.tasks)


def _outer_values(task: Task, context: PassContext) -> set[Statement] | None:
    """Return the values that the bounds of serial loops are made of; None if a loop does not qualify."""
    loop = task.loop
    if loop is None or task.as_lanes or loop.starts[-1].type != i32 or not context.fact(may_have_lanes, task, loop):
        return None
    statements = list(walk(task.body))
    if any(isinstance(s, Alloca) and isinstance(s.type, Struct) for s in statements):
        return None
    if not _are_numbers(statements) and not has_carried_stores(task):
        return None
    if not _select(statements):
        return None
    varying = context.fact(varying_values, task, loop)
    accesses = accesses_in_loops(task)
    reached = [access for access in accesses if access.pointer in varying]
    if not reached or not all(is_along(s, loop, varying) or is_before_loops(s, task, loop) for s in accesses):
        return None
    serial = [s for s in statements if isinstance(s, RangeFor) and repeats(s)]
    own, after_stores = set(statements), _after_stores(task)
    outer: set[Statement] = set()
    pending = [bound for each in serial for bound in (*each.starts, *each.ends, *each.steps)]
    while pending:
        value = pending.pop()
        if value in outer or value not in own:
            continue
        if value in varying or not _is_settled(value, after_stores):
            return None
        outer.add(value)
        pending += operands(value)
    return outer


def _are_numbers(statements: list[Statement]) -> bool:
    """Return whether all variables are numbers and no function is called: in other loops, compilers do well alone."""
    return not any(
        isinstance(s, Call) or (isinstance(s, Alloca) and not isinstance(s.type, Scalar)) for s in statements
    )


def _select(statements: list[Statement]) -> bool:
    """Return whether there are no branches, or some store what is no sum.

    A compiler makes vectors of a serial loop with conditional sums: pairs of 8,192 points take 6.2 ms by its vectors,
    and 38 ms as lanes.
    """
    branches = [s for s in statements if isinstance(s, If)]
    stores = [s for each in branches for s in walk(Block([each])) if isinstance(s, LocalStore)]
    return not branches or any(not isinstance(s.value, Operation) or s.value.op not in SUMS for s in stores)


def _is_settled(value: Statement, stored: set[Statement]) -> bool:
    """Return whether a value is the same for all `j`, wherever in an iteration it is computed."""
    if isinstance(value, GlobalLoad):
        return value not in stored
    return value.EFFECT == Effect.NONE and not value.BLOCKS


def _after_stores(task: Task) -> set[Statement]:
    """Return the statements that may run after a store to an array in the same iteration."""
    found: set[Statement] = set()
    has_stored = False
    for statement in task.body:
        inner = list(walk(Block([statement])))
        stores = any(isinstance(s, GlobalStore) for s in inner)
        if has_stored or (stores and repeats(statement)):  # a store at the end of a loop is before its next round
            found.update(inner)
        has_stored = has_stored or stores
    return found


def _split(block: Block, outer: set[Statement]) -> Block:
    """Return a block whose parts between serial loops are `ThreadFor`s, in these loops too."""

    def split_loop(statement: Statement) -> list[Statement] | None:
        if isinstance(statement, RangeFor) and repeats(statement):
            statement.body = _split(statement.body, outer)
            return [statement]
        return None

    return split_at(block, outer, split_loop)


def split_at(block: Block, outer: set[Statement], split_loop: Callable[[Statement], list[Statement] | None]) -> Block:
    """Return a block whose parts between loops are `ThreadFor`s.

    outer: values that stay outside. split_loop: returns what takes the place of a loop, None for all else.
    """
    result, region = Block(), Block()

    def flush() -> None:
        nonlocal region
        if region.statements:
            result.statements.append(ThreadFor(region, location=region.statements[0].location))
        region = Block()

    for statement in block.statements:
        if statement in outer:
            result.statements.append(statement)
        elif (new := split_loop(statement)) is not None:
            flush()
            result.statements += new
        else:
            region.statements.append(statement)
    flush()
    return result


def drop_unused(body: Block) -> None:
    """Drop the values that were computed again where they are used, and what is empty without them."""
    uses = count_uses(body)
    for block in reversed(list(walk_blocks(body))):
        needed = []
        for statement in reversed(block.statements):
            is_empty = isinstance(statement, ThreadFor) and not statement.body.statements
            is_value = statement.EFFECT == Effect.NONE and not isinstance(statement, Alloca) and not statement.BLOCKS
            if is_empty or (is_value and not uses.get(statement)):
                for operand in operands(statement):
                    uses[operand] -= 1
            else:
                needed.append(statement)
        block.statements = needed[::-1]
