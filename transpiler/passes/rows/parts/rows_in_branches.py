"""Takes loops over rows out of a branch on which all threads of a row agree, so that they may share these.

    if labels[t] >= 0 {                          m = -inf
        m = -inf                                 for c in 0 .. (n if labels[t] >= 0 else 0) { m = max(m, x[t, c]) }
        for c in 0 .. n { m = max(m, x[t, c]) }  if labels[t] >= 0 { loss += log(m) }
        loss += log(m)                       ->
    }

Threads exchange what they have found outside of branches: others of the warp have rows that may be in another one.
"""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Block, Remark, Statement, walk
from ....ir.statements import Alloca, AtomicOp, GlobalStore, If, RangeFor, repeats
from ....ir.tasks import Task
from ...analysis.queries import has_else, trip_count
from ...analysis.speculation import may_be_in_vain

SHORTEST = 256
"""The fewest elements of rows that are only read. With eight threads for 64 halves each, scores of queries took 1.13 of
the time: a thread finds its row in a cache. What it stores or adds is in no cache: rows may be shorter there. 200,000
of 64 floats took .148 ms to be added to others, and .030 with 16 threads each."""
REMARK = "no iterations where the branch is not taken (shared_rows)"


def leave_branch(task: Task) -> bool:
    """Take the loops of a task out of its only branch that has some; return whether that is right."""
    body = task.body.statements
    around = [s for s in body if any(map(repeats, walk(Block([s]))))]
    if len(around) != 1 or not isinstance(branch := around[0], If) or has_else(branch):
        return False
    inside = branch.then.statements
    loops = [s for s in inside if any(map(repeats, walk(Block([s]))))]
    last = inside.index(loops[-1]) + 1
    own: set[Statement] = {s for s in inside if isinstance(s, Alloca)}
    if not all(s in loops or may_be_in_vain(s, own) for s in inside[:last]):
        return False
    changes_memory = any(isinstance(s, (GlobalStore, AtomicOp)) for loop in loops for s in walk(Block([loop])))
    builder = Builder(Block(), branch.location)
    for statement in inside[:last]:
        if statement in loops:
            if not isinstance(statement, RangeFor) or len(statement.starts) != 1:
                return False
            if not changes_memory and (trip_count(statement) or SHORTEST) < SHORTEST:
                return False
            ends = builder.op("select", branch.condition, statement.ends[0], statement.starts[0])
            ends.remarks = (Remark(REMARK),)
            statement.ends = [ends]
        builder.add(statement)
    if inside[last:]:
        builder.add(If(branch.condition, location=branch.location)).then.statements += inside[last:]
    task.body.replace(branch, builder.block)
    return True
