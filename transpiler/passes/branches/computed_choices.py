"""Computes the floats among which branches choose before it selects one, in C.

    r = 0.0                                  r = 0.0
    if t < 1:                                a = 1 + t * t * (1.5 * t - 2.5)
        r = 1 + t * t * (1.5 * t - 2.5)      b = 2 - t * (4 - t * (2.5 - 0.5 * t))
    elif t < 2:                        ->    r = b if t < 2 else r
        r = 2 - t * (4 - t * (...))          r = a if t < 1 else r

Weights of interpolation, of kernels of particles and curves of colours are such polynomials in parts. Which part a
number is in is any, so that a processor guesses the branches wrongly, and gcc 12 makes no vectors of a loop with such
branches in a function. Sums of 12 weights of each of 200,000 numbers took one core 5.8 ms before, .43 ms after (LLVM:
1.4), bicubic interpolation of four million colours 285 and 200 ms (LLVM: 211).

Only of sums and products that have no effect and load nothing from arrays, and of variables that belong to one
iteration: what a loop carries on would wait for the selection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, blocks
from ...ir.statements import Alloca, Cast, Const, If, LocalLoad, LocalStore, LoopIndex, Operation, RangeFor, While
from ...ir.tasks import Kernel
from ...ir.types import Scalar, f32, f64
from ...lazy_dataclasses import dataclass
from ..context import PassContext

FEWEST, MOST = 3, 40
"""The operations of all branches. Of fewer, gcc makes selections itself."""
CHEAP = frozenset({"add", "sub", "mul", "neg", "abs", "min", "max"})
CONDITIONS = frozenset({"lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not"})
REMARK = Remark("selected without a branch (computed_choices)")


def computed_choices(kernel: Kernel, context: PassContext) -> bool:
    """Replace such branches."""
    if not context.capabilities.predicts_branches:
        return False
    changed = False
    for root in kernel.roots():
        for block, branch, own in list(_branches(root, set())):
            chain = _chain(branch, own)
            if chain is not None and FEWEST <= sum(isinstance(s, Operation) for s in chain.values) <= MOST:
                _replace(block, branch, chain)
                changed = True
    return changed


def _branches(block: Block, own: set[Statement]) -> Iterator[tuple[Block, If, frozenset[Statement]]]:
    """Yield branches, outer ones first, and the variables that belong to the same iteration of the loop around.

    None in static loops: after these are unrolled, each of their branches goes mostly one way.
    """
    own = own | {s for s in block if isinstance(s, Alloca)}
    for statement in block:
        if isinstance(statement, If):
            yield block, statement, frozenset(own)
        if isinstance(statement, RangeFor) and statement.unroll:
            continue
        for inner in blocks(statement):
            yield from _branches(inner, set() if isinstance(statement, (RangeFor, While)) else own)


@dataclass(slots=True)
class Chain:
    """A branch and those in its `else`.

    Attributes:
        variable: what it assigns.
        choices: conditions and what is assigned under each, in order; None: otherwise.
        values: what is computed for that, in order.
    """

    variable: Alloca
    choices: list[tuple[Statement | None, LocalStore]]
    values: list[Statement]


def _chain(branch: If, own: frozenset[Statement]) -> Chain | None:
    """Return a chain of branches that assign one float of this iteration and only compute it; None for others."""
    ends: list[tuple[Statement | None, Statement]] = []
    values: list[Statement] = []
    rest: Statement = branch
    while isinstance(rest, If):
        *computed, end = rest.then.statements or [rest]
        ends.append((rest.condition, end))
        values += computed
        if rest.otherwise is None or not rest.otherwise.statements:
            break
        *computed, rest = rest.otherwise.statements
        values += computed
    else:
        ends.append((None, rest))
    choices = [(condition, end) for condition, end in ends if isinstance(end, LocalStore)]
    if len(choices) < len(ends) or not all(map(_is_cheap, values)):
        return None
    if not all(condition is None or _compares_floats(condition) for condition, _ in choices):
        return None
    variable = choices[0][1].pointer
    if not isinstance(variable, Alloca) or variable not in own or variable.type not in (f32, f64):
        return None
    return Chain(variable, choices, values) if all(s.pointer is variable for _, s in choices) else None


def _is_cheap(value: Statement) -> bool:
    """Return whether a value may be computed although it is not needed."""
    if not isinstance(value, Operation):
        return isinstance(value, (Cast, Const, LocalLoad, LoopIndex)) and isinstance(value.type, Scalar)
    if value.op in CONDITIONS:
        return _compares_floats(value)
    is_cheap = value.op in CHEAP or (value.op == "div" and isinstance(value.operands[1], Const))
    return is_cheap and value.type in (f32, f64)


def _compares_floats(condition: Statement) -> bool:
    """Return whether a condition is made of comparisons of floats: others are often the same for long."""
    if not isinstance(condition, Operation) or condition.op not in CONDITIONS:
        return False
    return all(o.type in (f32, f64) or _compares_floats(o) for o in condition.operands)


def _replace(block: Block, branch: If, chain: Chain) -> None:
    """Put what a chain computes, and selections from the last choice to the first, in its place."""
    builder = Builder(Block(), branch.location)
    variable = chain.variable
    builder.block.statements += chain.values
    chosen: list[tuple[Statement | None, Statement]] = []
    for condition, store in chain.choices:
        value = store.value
        if condition is not None and isinstance(value, Operation):  # a compiler would branch around an expression
            place = builder.add(Alloca(type=variable.type, name=variable.name, location=store.location))
            builder.add(LocalStore(place, value, location=store.location))
            value = builder.add(LocalLoad(place, type=variable.type, location=store.location))
        chosen.append((condition, value))
    remarks: tuple[Remark, ...] = (REMARK,)
    for condition, value in reversed(chosen):
        if condition is not None:
            now = builder.load(variable)
            value = builder.op("select", condition, value, now)
        builder.add(LocalStore(variable, value, remarks=remarks))
        remarks = ()
    block.replace(branch, builder.block)
