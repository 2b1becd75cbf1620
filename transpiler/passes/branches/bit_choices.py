"""If-conversion by bits: takes one of two floats as a bit says, without a branch, in C.

    u = (h & 1 == 0) ? x : -x               u = bits(bits(x) ^ (h & 1) << 31)
    r = (h & 4 == 0) ? u + v : u - v   ->   b = h >> 2 & 1
                                            r = bits(bits(u + v) ^ (bits(u + v) ^ bits(u - v)) & -b)

Bits of a hash are guessed wrongly half of the time, and gcc 12 makes no selection of floats by a condition of integers:
LLVM does. Noise of five octaves, whose gradients have signs by the bits of a hash (Perlin), took one core 8.2 ms
before, 6.5 ms after (LLVM: 6.4; Zen 4). Iterations can be lanes of vectors with these operations, too.

Only of bits of what is loaded, computed by a function or given to one: those of an index are guessed rightly, and gcc
makes vectors of such loops. What both sides compute is a few sums and products.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.functions import Call
from ...ir.nodes import Block, Remark, Statement, replace_uses, walk_blocks
from ...ir.statements import (
    Alloca,
    ArgLoad,
    Const,
    GlobalLoad,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    Operation,
    is_const,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, f32, i32, u32
from ..analysis.queries import computed_from, has_else
from ..context import PassContext

CHEAP = frozenset({"add", "sub", "mul", "neg", "abs"})
"""Operations that may be computed although they are not needed."""
MOST = 6
"""The most statements on both sides."""
LAST = 30
"""The last bit of an i32 that is no sign."""
REMARK = Remark("by the bit, without a branch (bit_choices)")


def bit_choices(kernel: Kernel, context: PassContext) -> bool:
    """Replace choices of one of two f32 by a bit."""
    if not context.capabilities.predicts_branches:
        return False
    changed = False
    for root in kernel.roots():
        found = [(block, s) for block in walk_blocks(root) for s in block if isinstance(s, (IfExp, If))]
        mapping: dict[Statement, Statement] = {}
        for block, choice in found:
            if _bit_of(choice.condition) is not None and _is_cheap(choice):
                _replace(block, choice, mapping)
                changed = True
        if mapping:
            replace_uses(root, mapping)
    return changed


def _replace(block: Block, choice: IfExp | If, mapping: dict[Statement, Statement]) -> None:
    """Replace a choice. mapping: takes the new value of one that is a value."""
    bits = _bit_of(choice.condition)
    assert bits is not None
    builder = Builder(Block(), choice.location)
    builder.block.statements += [s for body in _bodies(choice) for s in body if not isinstance(s, LocalStore)]
    variable, then, otherwise = _sides(choice, builder)
    value, position, is_set = bits
    zero, one = (otherwise, then) if is_set else (then, otherwise)
    chosen = _choose(builder, _bit(builder, value, position), zero, one)
    if variable is not None:
        builder.add(LocalStore(variable, chosen, remarks=(REMARK,)))
    else:
        chosen.name, chosen.hint, chosen.copies = choice.name, choice.hint, choice.copies
        chosen.remarks = (*choice.remarks, REMARK)
        mapping[choice] = chosen
    block.replace(choice, builder.block)


def _choose(builder: Builder, bit: Statement, zero: Statement, one: Statement) -> Statement:
    """Add one of two floats: `zero` where a bit is 0, `one` where it is 1."""
    bits = builder.bit_cast(zero, u32)
    if _is_negated(zero, one):
        change = builder.op("shl", builder.cast(bit, u32), builder.const(31, u32))
    else:
        bits.name = "bits"
        difference = builder.op("bit_xor", bits, builder.bit_cast(one, u32))
        change = builder.op("bit_and", difference, builder.cast(builder.op("neg", bit), u32))
    return builder.bit_cast(builder.op("bit_xor", bits, change), f32)


def _bit(builder: Builder, value: Statement, position: int) -> Statement:
    """Add the bit at a position of an integer."""
    shifted = builder.op("sar", value, builder.const(position)) if position else value
    return builder.op("bit_and", shifted, builder.const(1))


def _sides(choice: IfExp | If, builder: Builder) -> tuple[Statement | None, Statement, Statement]:
    """Return the variable that a branch stores, None for a value, and what it takes if the condition holds, and not."""
    if isinstance(choice, IfExp):
        assert choice.then.result is not None and choice.otherwise.result is not None
        return None, choice.then.result, choice.otherwise.result
    stores = [[s for s in body if isinstance(s, LocalStore)] for body in _bodies(choice)]
    variable = stores[0][0].pointer
    otherwise = stores[1][0].value if len(stores) > 1 else builder.load(variable)
    return variable, stores[0][0].value, otherwise


def _bodies(choice: IfExp | If) -> list[Block]:
    """Return the sides of a choice."""
    if isinstance(choice, If):
        return [choice.then, *([choice.otherwise] if has_else(choice) and choice.otherwise is not None else [])]
    return [choice.then, choice.otherwise]


def _is_cheap(choice: IfExp | If) -> bool:
    """Return whether the sides of a choice are f32 that may both be computed, or are stored in one variable."""
    bodies = _bodies(choice)
    if isinstance(choice, IfExp):
        if choice.type != f32 or any(body.result is None for body in bodies):
            return False
    else:
        stores = [s for body in bodies for s in body if isinstance(s, LocalStore)]
        is_one = len({s.pointer for s in stores}) == 1 and len(stores) == len(bodies)
        if not is_one or not isinstance(stores[0].pointer, Alloca) or stores[0].pointer.type != f32:
            return False
        if any(body.statements[-1:] != [store] for body, store in zip(bodies, stores, strict=True)):
            return False
    values = [s for body in bodies for s in body if not isinstance(s, LocalStore)]
    return len(values) <= MOST and all(map(_is_harmless, values))


def _is_harmless(statement: Statement) -> bool:
    """Return whether a value may be computed although it is not needed."""
    if isinstance(statement, Operation):
        return statement.op in CHEAP and statement.type == f32
    return isinstance(statement, (Const, ArgLoad)) or (
        isinstance(statement, LocalLoad) and isinstance(statement.pointer, Alloca)
    )


def _bit_of(condition: Statement) -> tuple[Statement, int, bool] | None:
    """Return an integer and the position of its bit that a condition tests, and whether it holds for 1."""
    if not isinstance(condition, Operation) or condition.op not in ("ne", "eq"):
        return None
    bits, number = condition.operands
    if not isinstance(bits, Operation) or bits.op != "bit_and" or bits.type != i32:
        return None
    masks = [o for o in bits.operands if isinstance(o, Const) and isinstance(o.type, Scalar)]
    values = [o for o in bits.operands if o not in masks]
    if len(masks) != 1 or len(values) != 1 or not _is_unknown(values[0]):
        return None
    mask = int(masks[0].value)
    position = mask.bit_length() - 1
    if mask <= 0 or mask & (mask - 1) or position > LAST or not (is_const(number, 0) or is_const(number, mask)):
        return None
    return values[0], position, (condition.op == "ne") == is_const(number, 0)


def _is_unknown(value: Statement) -> bool:
    """Return whether a value may be any: it is loaded, or a function computes it or is given it."""
    return any(isinstance(s, (GlobalLoad, Call, ArgLoad)) for s in computed_from(value))


def _is_negated(first: Statement, second: Statement) -> bool:
    """Return whether one of two values is the other with another sign."""
    pairs = ((first, second), (second, first))
    return any(isinstance(a, Operation) and a.op == "neg" and _is_same(a.operands[0], b) for a, b in pairs)


def _is_same(first: Statement, second: Statement) -> bool:
    """Return whether two values are one, or one variable that is loaded twice: no side of a choice stores before."""
    if isinstance(first, LocalLoad) and isinstance(second, LocalLoad):
        return first.pointer is second.pointer
    return first is second
