"""Through which arrays without a gradient a kernel passes numbers on: there a gradient ends, and nobody notices.

    y[i] = x[i] ** 2        y has no gradient: what reads it later passes nothing on to x_grad

In: the statements of a kernel. Out: its `Flow`s, which a tape follows from launch to launch; and `lines_with_kinks`.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import SourceLocation
from ...ir.nodes import Block, Statement, blocks, operands, walk
from ...ir.statements import (
    Array,
    AtomicOp,
    Cast,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    IfExp,
    LocalLoad,
    LocalStore,
    Operation,
    base_pointer,
)
from ..context import Flow
from .activity import POINTERS, is_real
from .adjoints import ZERO

Source = Array | None
"""An array; None stands for all that have a gradient."""
KINKS = ("abs", "min", "max", "mod", "raw_mod")
"""Operations whose derivative jumps; so does that of `ZERO`, or the operation itself."""


def flows(body: Block) -> list[Flow]:
    """Return the flows of real numbers from arrays to arrays, without those between arrays that have a gradient."""
    reaching = _reaching(body, lambda array: [] if array.is_constant else [array if array.derivative is None else None])
    found: dict[tuple[Source, Source], Flow] = {}
    for statement in walk(body):
        if not isinstance(statement, (GlobalStore, AtomicOp)):
            continue
        target = _array(statement.pointer)
        if target is None or not is_real(statement.value.type):
            continue
        reached = None if target.derivative is not None else target
        for source, load in reaching.get(statement.value, {}).items():
            shown = target if source is None else source
            if source is not None or reached is not None:
                location = (statement if source is None else load).location
                flow = Flow(_binding(source), _binding(reached), shown.path or shown.name, location)
                found.setdefault((source, reached), flow)
    return list(found.values())


def lines_with_kinks(body: Block, binding: int) -> tuple[list[SourceLocation], SourceLocation | None]:
    """Return where steps and kinks of what an array's elements become may be, and where it is read first.

    binding: of the array.
    """
    reaching = _reaching(body, lambda array: [array] if array.binding == binding else [])
    kinks: dict[SourceLocation, None] = {}
    for statement in walk(body):
        is_step = isinstance(statement, Cast) and not is_real(statement.type)
        if isinstance(statement, Operation):
            is_step = statement.op in ZERO or statement.op in KINKS
        if is_step and any(operand in reaching for operand in operands(statement)):
            kinks[statement.location] = None
    reads = (load.location for sources in reaching.values() for load in sources.values())
    return list(kinks), next(reads, None)


def _binding(array: Source) -> int | None:
    return None if array is None else array.binding


def _array(pointer: Statement) -> Array | None:
    base = base_pointer(pointer)
    return base.array if isinstance(base, GlobalPtr) else None


Sources = dict[Source, Statement]
"""The arrays whose elements a value depends on, each with the first statement that reads it."""


def _reaching(body: Block, sources_of: Callable[[Array], list[Source]]) -> dict[Statement, Sources]:
    """Return the sources of each value and variable. sources_of: which sources the elements of an array have."""
    reaching: dict[Statement, Sources] = {}
    count = -1
    while count != (count := sum(map(len, reaching.values()))):  # again for variables that a loop carries on
        for statement in walk(body):
            for source, load in _sources(statement, reaching, sources_of).items():
                reaching.setdefault(statement, {}).setdefault(source, load)
            if isinstance(statement, (LocalStore, AtomicOp)) and _array(statement.pointer) is None:
                for source, load in reaching.get(statement.value, {}).items():
                    reaching.setdefault(base_pointer(statement.pointer), {}).setdefault(source, load)
    return reaching


def _sources(
    statement: Statement, reaching: dict[Statement, Sources], sources_of: Callable[[Array], list[Source]]
) -> Sources:
    if not is_real(statement.type) or isinstance(statement, POINTERS):
        return {}
    if isinstance(statement, (GlobalLoad, LocalLoad, AtomicOp)):
        array = _array(statement.pointer)
        if array is None:
            return reaching.get(base_pointer(statement.pointer), {})
        return dict.fromkeys(sources_of(array), statement)
    if isinstance(statement, Operation) and statement.op in ZERO:
        return {}
    if isinstance(statement, Cast) and not is_real(statement.value.type):
        return {}
    inner = [block.result for block in blocks(statement)] if isinstance(statement, IfExp) else operands(statement)
    return {array: load for value in inner if value is not None for array, load in reaching.get(value, {}).items()}
