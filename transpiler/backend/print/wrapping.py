"""Sums that may wrap, in languages where signed overflow is undefined: `int(unsigned(a) * b + c)`.

In: the operation, its syntax, and its operands as they are printed. Out: sources, without and with the conversion back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ...ir.nodes import Statement, operands, walk
from ...ir.statements import ArgLoad, Cast, Const, LoopIndex, Operation, Parameter, RangeFor, While
from ...ir.types import Scalar, Type, i32, u32, u64
from ..languages.common.language import Language
from ..languages.common.syntax import cast_syntax, constant_syntax
from ..languages.common.syntax_forms import PRIMARY, UNARY, Rendered, Syntax
from ..languages.common.wrapping import convert

NameOf = Callable[[Type], str]
"""Returns the name of a type, and records that it is used."""
FARTHEST_BEFORE = 1 << 16
"""Subtracted from an index of 64 bits at most: in 32 bits it could wrap to an element of 2**31 - 2**16 or more only."""


class Operand(NamedTuple):
    """An operand as it is printed. unsigned: without the conversion back, if it is such a sum too."""

    value: Statement
    source: str
    precedence: int
    unsigned: tuple[str, int] | None


def unsigned_sum(
    language: Language, syntax: Syntax, kind: Scalar, operands: Sequence[Operand], name_of: NameOf
) -> tuple[str, int]:
    """Return the operation on unsigned numbers, and its precedence; one unsigned operand makes it unsigned."""
    texts = []
    is_unsigned = any(operand.unsigned is not None for operand in operands)
    for operand, needed in zip(operands, syntax.operand_precedence, strict=True):
        if not is_unsigned:
            texts.append(as_unsigned(language, operand, kind, name_of))
            is_unsigned = True
            continue
        source, precedence = operand.unsigned or (operand.source, operand.precedence)
        texts.append(source if precedence >= needed else f"({source})")
    return syntax.format(*texts), syntax.precedence


def as_unsigned(language: Language, operand: Operand, kind: Scalar, name_of: NameOf) -> str:
    """Return a number of type `kind` as unsigned."""
    if operand.unsigned is not None:
        return operand.unsigned[0]
    wide = u64 if kind.bits == 64 else u32
    if isinstance(operand.value, Const):
        return constant_syntax(language, Const(int(operand.value.value) % (1 << wide.bits), type=wide)).template
    return convert(language.unsigned if wide == u32 else name_of(wide), operand.source)


def signed(kind: Scalar, total: tuple[str, int], name_of: NameOf) -> tuple[str, int]:
    """Return a sum of unsigned numbers as one of type `kind`; the syntax of narrow types does that itself."""
    if kind.bits < 32:
        return total
    source = convert(name_of(kind), total[0])
    return source, UNARY if source.startswith("(") else PRIMARY


def unsigned_cast(cast: Cast, value: Rendered) -> Rendered | None:
    """Return a sum that may wrap as the unsigned number that it is before its conversion back; None if it is none."""
    before = cast.value.type
    is_same_size = isinstance(before, Scalar) and cast.type == (u64 if before.bits == 64 else u32)
    return Rendered(*value.unsigned) if value.unsigned is not None and is_same_size else None


def wide_sums(
    language: Language,
    indices: Sequence[Statement],
    of: Callable[[Statement], Rendered],
    parameters: Collection[Parameter],
    innermost: dict[Statement, bool],
) -> list[str]:
    """Return indices as a language wants them: `x(i - 1ll)` where 32 bits wrap, so that `x(i)` is its neighbour in C.

    The wrapped index and the wide one must both be out of bounds: `i + n` wraps to a negative number, but `i - n` wraps
    to 2**31 - n or more, which is an element if n is large, as in `x[32 + i - 2147483635]`, where `32 + i` has wrapped.
    With several axes the macro has a factor of 64 bits. An index that moves with no loop, or only with one around
    others, which gcc does not vectorize, is as Python has it. parameters: those of the function that is printed.
    innermost: by loop, whether none is in it, which this call extends.
    """
    sources = [of(index).source for index in indices]
    if not language.has_wide_indices or len(indices) != 1:
        return sources
    match indices[0]:
        case Operation(op="add" | "sub" as op, type=Scalar(bits=32, is_float=False), operands=[_, Const() as number]):
            distance = int(number.value) if op == "add" else -int(number.value)
            if (
                number.origin is None
                and distance >= -FARTHEST_BEFORE
                and _is_vectorized(indices[0], parameters, innermost)
            ):
                suffix = language.literals.integer_suffixes["i64"]
                return [f"{sources[0]}{suffix}" if sources[0][-1].isdigit() and " " in sources[0] else sources[0]]
    return sources


def widened_by_other(language: Language, total: Operation, of: Callable[[Statement], Rendered]) -> list[Statement]:
    """Return the operands of a sum of 64 bits; C and C++ widen the second one by themselves: `(int64_t)i * 64 + j`.

    A conversion that is printed otherwise, by a name or what it was stored in, stays: its operand may have changed.
    """
    first, second = total.operands
    if isinstance(first, Const):
        return [first, second]
    if isinstance(second, Cast) and second.is_implicit and second.value.type == i32:
        is_printed = of(second).template == cast_syntax(language, second).template
        second = second.value if is_printed else second
    elif isinstance(second, Const) and second.origin is None and 0 <= second.value < 1 << 31:
        second = Const(second.value, type=i32)
    return [first, second]


def _is_vectorized(index: Statement, parameters: Collection[Parameter], innermost: dict[Statement, bool]) -> bool:
    """Return whether an index may move with a loop without loops in it, or with one around the function's call."""
    if isinstance(index, LoopIndex):
        if index.loop not in innermost:
            inside = walk(index.loop.body)
            innermost[index.loop] = not any(isinstance(statement, (RangeFor, While)) for statement in inside)
        return innermost[index.loop]
    if isinstance(index, ArgLoad):
        return index.parameter in parameters
    return isinstance(index, (Operation, Cast)) and any(
        _is_vectorized(operand, parameters, innermost) for operand in operands(index)
    )
