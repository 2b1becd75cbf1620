"""Divides by a short reciprocal where quotients cost time, on GPUs where a quotient takes several instructions.

    $2 = div $x, $y    ->    $1 = normal_reciprocal $y    (CUDA C: `rcp.approx.ftz.f32`)
                             $2 = mul $x, $1

`x / y` takes eight instructions in CUDA, and `1 / x` nine, six of which scale numbers next to the ends of the range of
f32. The product takes two, and is within 2.5 units in the last place. The reciprocal of a subnormal number is infinite,
and 0 beyond 2^126, as that of NVIDIA's Vulkan driver. Only with `fast_math`, in loops, in functions that they call, and
in iterations with some quotients: others wait for memory, as do those of `wide_accesses`. A limiter of fifth order in
three dimensions, with 24 quotients, took an H200 .31 ms before and .26 after, a model of reflection .168 and .152.
"""

from __future__ import annotations

from ...ir.functions import calls, in_loops, reachable
from ...ir.nodes import Block, Statement, walk, walk_blocks
from ...ir.statements import Const, Operation, RangeFor, While, is_const
from ...ir.tasks import Kernel
from ...ir.types import f32
from ..context import PassContext

RECIPROCAL = "normal_reciprocal"
SOME = 4
"""The fewest quotients for which an iteration waits."""


def short_quotients(kernel: Kernel, context: PassContext) -> bool:
    """Replace quotients of f32 by products with reciprocals."""
    if not context.capabilities.slow_subnormals or not context.options.fast_math:
        return False
    bodies = in_loops(kernel.roots(), lambda statement: isinstance(statement, (RangeFor, While)))
    waiting = {statement for body in bodies for statement in walk(body)}
    for task in kernel.tasks:
        if task.lanes == 1 and _quotients(task.body) >= SOME:
            waiting.update(reachable(task.body))
    # Their vectors of quotients give the same bits as their single iterations.
    waiting.difference_update(*(reachable(task.body) for task in kernel.tasks if task.lanes > 1))
    changed = [_multiply(block, waiting) for root in kernel.roots() for block in walk_blocks(root)]
    return any(changed)


def _quotients(block: Block) -> int:
    """Return how often a block divides numbers, with one iteration of each loop."""
    own = sum(1 for statement in walk(block) if _is_quotient(statement))
    return own + sum(_quotients(call.function.body) for call in calls(block))


def _is_quotient(statement: Statement) -> bool:
    """Return whether a statement divides a number by one that no compiler knows."""
    if not isinstance(statement, Operation) or statement.op != "div" or statement.type != f32:
        return False
    return not isinstance(statement.operands[1], Const)


def _multiply(block: Block, waiting: set[Statement]) -> bool:
    """Replace the quotients of a block, those by one number by means of one reciprocal."""
    statements: list[Statement] = []
    inverses: dict[Statement, Operation] = {}
    changed = False
    for statement in block.statements:
        if statement in waiting and _is_quotient(statement):
            assert isinstance(statement, Operation)
            dividend, divisor = statement.operands
            if is_const(dividend, 1):
                statement.op, statement.operands = RECIPROCAL, [divisor]
                inverses.setdefault(divisor, statement)
            else:
                if divisor not in inverses:
                    inverses[divisor] = Operation(RECIPROCAL, [divisor], type=f32, location=statement.location)
                    statements.append(inverses[divisor])
                statement.op, statement.operands = "mul", [dividend, inverses[divisor]]
            changed = True
        statements.append(statement)
    block.statements = statements
    return changed
