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

from functools import partial

from ...ir.builder import Builder
from ...ir.functions import Function, calls, in_loops, reachable
from ...ir.nodes import Block, Statement, walk, walk_blocks
from ...ir.statements import Const, Operation, RangeFor, While, is_const
from ...ir.tasks import Kernel
from ...ir.types import f32
from ..context import PassContext
from ..rewrite import add_before

RECIPROCAL = "normal_reciprocal"
SOME = 4
"""The fewest quotients for which an iteration waits."""


def short_quotients(kernel: Kernel, context: PassContext) -> bool:
    """Replace quotients of f32 by products with reciprocals."""
    if not context.capabilities.slow_subnormals or not context.options.fast_math:
        return False
    bodies = in_loops(kernel.roots(), lambda statement: isinstance(statement, (RangeFor, While)))
    waiting = {statement for body in bodies for statement in walk(body)}
    known: dict[Function, int] = {}
    for task in kernel.tasks:
        if task.lanes == 1 and _quotients(task.body, known) >= SOME:
            waiting.update(reachable(task.body))
    # Their vectors of quotients give the same bits as their single iterations.
    waiting.difference_update(*(reachable(task.body) for task in kernel.tasks if task.lanes > 1))
    found = {s for s in kernel.statements() if s in waiting and _is_quotient(s)}
    for block in (block for root in kernel.roots() if found for block in walk_blocks(root)):
        add_before(block, partial(_multiply, found, {}))
    return bool(found)


def _quotients(block: Block, known: dict[Function, int]) -> int:
    """Return how often a block divides numbers, with one iteration of each loop, and no calls of a function by itself.

    known: of the functions that have been asked for.
    """
    total = sum(1 for statement in walk(block) if _is_quotient(statement))
    for call in calls(block):
        if call.function not in known:
            known[call.function] = 0
            known[call.function] = _quotients(call.function.body, known)
        total += known[call.function]
    return total


def _is_quotient(statement: Statement) -> bool:
    """Return whether a statement divides a number by one that no compiler knows."""
    if not isinstance(statement, Operation) or statement.op != "div" or statement.type != f32:
        return False
    return not isinstance(statement.operands[1], Const)


def _multiply(
    found: set[Statement], inverses: dict[Statement, Statement], builder: Builder, quotient: Statement
) -> None:
    """Make a quotient a product by a reciprocal. inverses: those of the block, by the number that divides."""
    if quotient not in found:
        return
    assert isinstance(quotient, Operation)
    dividend, divisor = quotient.operands
    if is_const(dividend, 1):
        quotient.op, quotient.operands = RECIPROCAL, [divisor]
        inverses.setdefault(divisor, quotient)
    else:
        if divisor not in inverses:
            inverses[divisor] = builder.op(RECIPROCAL, divisor)
        quotient.op, quotient.operands = "mul", [dividend, inverses[divisor]]
