"""Which values of a kernel vary with arrays that have a derivative, and which variables a statement accesses.

In: a kernel's statements. Out: `varied_values`, those with a derivative that may differ from 0; `Variables`, the local
variables from outside that a statement with blocks loads and stores; `flows`, the arrays without a gradient through
which numbers pass, where a gradient ends and nobody notices; and `lines_with_kinks`.

    y[i] = x[i] ** 2        y has no gradient: what reads it later passes nothing on to x_grad
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field

from ....errors import SourceLocation
from ....ir.nodes import Block, Statement, blocks, operands, walk
from ....ir.ops import EXTREMES
from ....ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    IfExp,
    LocalLoad,
    LocalStore,
    MatrixPtr,
    Operation,
    StructPtr,
    base_pointer,
    scalar_type,
)
from ....ir.types import Type, scalars_of
from ....lazy_dataclasses import dataclass
from ...analysis.queries import base_array
from ...context import Flow
from .adjoints import ZERO

MANTISSA_BITS = {16: (1 << 10) - 1, 32: (1 << 23) - 1, 64: (1 << 52) - 1}
"""By the number of bits of a real number. The others are steps of the number: their derivative is 0."""
POINTERS = (GlobalPtr, Alloca, MatrixPtr, StructPtr)


def is_real(type: Type | None) -> bool:
    """Return whether a value of this type has a part that is a real number."""
    return type is not None and any(scalar.is_float for scalar in scalars_of(type))


def varied_values(body: Block) -> set[Statement]:
    """Return the values and variables of `body` that depend on elements of arrays with a derivative."""
    varied: set[Statement] = set()
    count = -1
    while count != len(varied):  # again for variables that a loop carries to its next iteration
        count = len(varied)
        for statement in walk(body):
            if _is_varied(statement, varied):
                varied.add(statement)
            if isinstance(statement, (LocalStore, AtomicOp)) and statement.value in varied:
                base = base_pointer(statement.pointer)
                if isinstance(base, Alloca):
                    varied.add(base)
    return varied


def _is_varied(statement: Statement, varied: set[Statement]) -> bool:
    if isinstance(statement, Cast) and statement.bits:
        return statement.value in varied
    if not is_real(statement.type):
        return isinstance(statement, Operation) and _has_varied_bits(statement, varied)
    if isinstance(statement, (GlobalLoad, AtomicOp)):
        base = base_pointer(statement.pointer)
        return isinstance(base, GlobalPtr) and base.array.derivative is not None
    if isinstance(statement, LocalLoad):
        return base_pointer(statement.pointer) in varied
    if isinstance(statement, IfExp):
        return any(block.result in varied for block in blocks(statement))
    if isinstance(statement, Operation) and statement.op in ZERO:
        return False
    if isinstance(statement, Cast) and not is_real(statement.value.type):
        return False
    if isinstance(statement, POINTERS):
        return False
    return any(operand in varied for operand in operands(statement))


def _has_varied_bits(statement: Operation, varied: set[Statement]) -> bool:
    """Return whether an integer has bits of a real number that varies, other than those of sign and exponent.

    It may become a real number again, which is an error if a gradient depends on it.
    """
    if statement.op == "bit_and":
        for mask in statement.operands:
            if isinstance(mask, Const) and not int(mask.value) & MANTISSA_BITS.get(scalar_type(mask).bits, -1):
                return False
    return any(operand in varied and not is_real(operand.type) for operand in statement.operands)


@dataclass(slots=True)
class Variables:
    """The local variables that a statement and those inside it access, and that are declared outside it."""

    loaded: dict[Alloca, None] = field(default_factory=dict)
    stored: dict[Alloca, None] = field(default_factory=dict)

    @property
    def all(self) -> list[Alloca]:
        """Both kinds, in the order of the first access."""
        return list({**self.loaded, **self.stored})


def variables_of(statement: Statement) -> Variables:
    """Return the variables from outside that a statement accesses."""
    found = Variables()
    inside = set(inner_statements(statement))
    for inner in (statement, *inner_statements(statement)):
        if isinstance(inner, (LocalLoad, LocalStore, AtomicOp)):
            base = base_pointer(inner.pointer)
            if isinstance(base, Alloca) and base not in inside:
                if not isinstance(inner, LocalStore):
                    found.loaded[base] = None
                if not isinstance(inner, LocalLoad):
                    found.stored[base] = None
    return found


def inner_statements(statement: Statement) -> Iterator[Statement]:
    """Yield the statements in the blocks of a statement, and those inside these."""
    for block in blocks(statement):
        yield from walk(block)


def values_from_outside(statement: Statement) -> list[Statement]:
    """Return the values that the blocks of a statement use and that are defined outside it, in order of use."""
    inside = set(inner_statements(statement))
    found: dict[Statement, None] = {}
    for inner in inner_statements(statement):
        for operand in operands(inner):
            if operand not in inside:
                found[operand] = None
    for block in blocks(statement):
        for nested in (block, *(b for inner in walk(block) for b in blocks(inner))):
            if nested.result is not None and nested.result not in inside:
                found[nested.result] = None
    return list(found)


# --- arrays that depend on arrays --------------------------------------------------------------------------------

Source = Array | None
"""An array; None stands for all that have a gradient."""
KINKS = ("abs", "min", "max", *EXTREMES, "mod", "raw_mod")
"""Operations whose derivative jumps; so does that of `ZERO`, or the operation itself."""


def flows(body: Block) -> list[Flow]:
    """Return the flows of real numbers from arrays to arrays, without those between arrays that have a gradient."""
    reaching = _reaching(body, lambda array: [] if array.is_constant else [array if array.derivative is None else None])
    found: dict[tuple[Source, Source], Flow] = {}
    for statement in walk(body):
        if not isinstance(statement, (GlobalStore, AtomicOp)):
            continue
        target = base_array(statement.pointer)
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
            if isinstance(statement, (LocalStore, AtomicOp)) and base_array(statement.pointer) is None:
                for source, load in reaching.get(statement.value, {}).items():
                    reaching.setdefault(base_pointer(statement.pointer), {}).setdefault(source, load)
    return reaching


def _sources(
    statement: Statement, reaching: dict[Statement, Sources], sources_of: Callable[[Array], list[Source]]
) -> Sources:
    if not is_real(statement.type) or isinstance(statement, POINTERS):
        return {}
    if isinstance(statement, (GlobalLoad, LocalLoad, AtomicOp)):
        array = base_array(statement.pointer)
        if array is None:
            return reaching.get(base_pointer(statement.pointer), {})
        return dict.fromkeys(sources_of(array), statement)
    if isinstance(statement, Operation) and statement.op in ZERO:
        return {}
    if isinstance(statement, Cast) and not is_real(statement.value.type):
        return {}
    inner = [block.result for block in blocks(statement)] if isinstance(statement, IfExp) else operands(statement)
    return {array: load for value in inner if value is not None for array, load in reaching.get(value, {}).items()}
