"""Strip mining and interchange: runs the serial loops of neighbouring iterations together on C.

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

A branch may be around serial loops if it is the same for all `j`, as the bounds are: it is once in a run, and so are
elements that loops inside need of it. Products of the rows of `a` that `if i < count[b]:` chooses, 8 of 512 x 64 x 64,
took one core 9.4 ms before, .57 ms after (LLVM: 4.0).

Loops that store what they carry, as filters do, may also have local vectors, of which each component becomes an
array, and call functions that compute numbers: 512 cascades of two filters over 256 numbers took one core .77 ms
before, .054 ms after.
"""

from __future__ import annotations

from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Statement, blocks, count_uses, operands, walk, walk_inside
from ...ir.statements import Alloca, GlobalLoad, GlobalStore, If, IfExp, LocalStore, Operation, RangeFor, repeats
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Struct, i32
from ..analysis.loops.vector_loops import (
    SUMS,
    accesses_in_loops,
    guards_of,
    has_carried_stores,
    is_along,
    is_before_loops,
    may_have_lanes,
    varying_values,
)
from ..context import PassContext
from ..threads.parts.carry_across_barriers import carry_across_barriers
from .parts.component_variables import ComponentVariables
from .parts.lane_bodies import CHEAP, drop_unused, split_at

RUN = 128
"""The iterations that run together: with 64 the product takes 1.35 times as long, with 256 1.2 times."""


def lane_loops(kernel: Kernel, context: PassContext) -> bool:
    """Split the bodies of loops whose serial loops are run for several iterations together (C)."""
    capabilities = context.capabilities
    if not capabilities.vectorizes_loops:
        return False
    for task in kernel.tasks:
        outer = _outer_values(task, context)
        if outer is not None:
            ComponentVariables().run(task.body)
            task.body.statements = _split(task.body, outer, set(guards_of(task.body))).statements
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
    if not _select(task, statements):
        return None
    varying = context.fact(varying_values, task, loop)
    accesses = accesses_in_loops(task)
    reached = [access for access in accesses if access.pointer in varying]
    if not reached or not all(is_along(s, loop, varying) or is_before_loops(s, task, loop) for s in accesses):
        return None
    serial = [s for s in statements if isinstance(s, RangeFor) and repeats(s)]
    needed = [bound for each in serial for bound in (*each.starts, *each.ends, *each.steps)]
    needed += [guard.condition for guard in guards_of(task.body)]
    same = _Same(set(statements), varying, _after_stores(task.body))
    if not all(map(same.take, needed)):
        return None
    for load in _used_inside(task.body):
        same.take(load)
    return same.taken


class _Same:
    """Finds values that are the same for all `j`, wherever in an iteration they are computed.

    own: the statements of the body. varying: values that depend on `j`. stored: statements that may run after a store.
    taken: such values, and all that these are computed of.
    """

    def __init__(self, own: set[Statement], varying: set[Statement], stored: set[Statement]) -> None:
        self.own, self.varying, self.stored = own, varying, stored
        self.taken: set[Statement] = set()

    def take(self, value: Statement) -> bool:
        """Add a value; return whether it is one."""
        found: set[Statement] = set()
        pending = [value]
        while pending:
            part = pending.pop()
            if part in self.taken or part in found or part not in self.own:
                continue
            if part in self.varying or not self._is_settled(part):
                return False
            inside = list(walk_inside(part))
            found.add(part)
            pending += [*operands(part), *inside]
        self.taken |= found
        return True

    def _is_settled(self, value: Statement) -> bool:
        if isinstance(value, GlobalLoad):
            return value not in self.stored
        return isinstance(value, IfExp) or (value.EFFECT == Effect.NONE and not value.BLOCKS)


def _used_inside(block: Block) -> list[Statement]:
    """Return the loads of a body that loops and branches in it use, and those of these."""
    found: list[Statement] = []
    for statement in block:
        if repeats(statement) or isinstance(statement, If):
            uses = count_uses(Block([statement]))
            found += [s for s in block if isinstance(s, GlobalLoad) and s in uses]
            found += [load for inner in blocks(statement) for load in _used_inside(inner)]
    return found


def _are_numbers(statements: list[Statement]) -> bool:
    """Return whether all variables are numbers and no function is called: in other loops, compilers do well alone."""
    return not any(
        isinstance(s, Call) or (isinstance(s, Alloca) and not isinstance(s.type, Scalar)) for s in statements
    )


def _select(task: Task, statements: list[Statement]) -> bool:
    """Return whether there are no branches without loops inside, or some store what is no sum.

    A compiler makes vectors of a serial loop with conditional sums: pairs of 8,192 points take 6.2 ms by its vectors,
    and 38 ms as lanes.
    """
    guards = guards_of(task.body)
    branches = [s for s in statements if isinstance(s, If) and s not in guards]
    stores = [s for each in branches for s in walk(Block([each])) if isinstance(s, LocalStore)]
    return not branches or any(not isinstance(s.value, Operation) or s.value.op not in SUMS for s in stores)


def _after_stores(block: Block) -> set[Statement]:
    """Return the statements that may run after a store to an array in the same iteration."""
    found: set[Statement] = set()
    has_stored = False
    for statement in block:
        inner = list(walk(Block([statement])))
        stores = any(isinstance(s, GlobalStore) for s in inner)
        if has_stored or (stores and repeats(statement)):  # a store at the end of a loop is before its next round
            found.update(inner)
        elif stores:
            for body in blocks(statement):
                found |= _after_stores(body)
        has_stored = has_stored or stores
    return found


def _split(block: Block, outer: set[Statement], guards: set[If]) -> Block:
    """Return a block whose parts between serial loops and guards are `ThreadFor`s, in these too."""

    def split_loop(statement: Statement) -> list[Statement] | None:
        if isinstance(statement, RangeFor) and repeats(statement):
            statement.body = _split(statement.body, outer, guards)
            return [statement]
        if isinstance(statement, If) and statement in guards:
            statement.then = _split(statement.then, outer, guards)
            if statement.otherwise is not None:
                statement.otherwise = _split(statement.otherwise, outer, guards)
            return [statement]
        return None

    return split_at(block, outer, split_loop)
