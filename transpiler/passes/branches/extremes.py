"""Finds minima and maxima of floats of which an operand is certainly a number, and those of all iterations, for C.

    m = max(m, abs(x))               ->     m = at_least(abs(x), m)    (`m` starts as 0.0)
    d = min(1.0, max(0.0, x))        ->     d = min(max(x, 0.0), 1.0)

The lesser of two floats is the number if the other is NaN: two comparisons. Where the second operand is certainly no
NaN, one is enough, `a < b ? a : b`, which is one instruction of x86: the distances to the boxes of a tree took 1.0 s
before, .8 s after (32,768 points, Zen 5, gcc 12).

Where one operand is the same in all iterations of a loop, as that of one box which others are compared with, it is
second, and compilers test before the loop whether it is a number: overlaps of 512 boxes took one core 1.77 ms before,
1.40 ms after. This needs `fast_math`, since zeros may have another sign then.

Outside of vectors gcc 12 makes two choices of the general minimum, one after another. A minimum over all iterations of
a loop waits for both in each of them, although it is seldom replaced: a `running_min` is a jump, which processors guess
(distances to polygons 52 ms in place of 75).

In loops of which gcc makes no vectors at all, as `while` loops, the general minimum is a `scalar_min`: AVX-512 has an
instruction that returns the number, where gcc moves both operands to registers of integers, and the result back. Rays
through a tree of boxes took one core 353 ms before, 216 ms after, medians of 5 x 5 985 and 310 (LLVM: 227, 760; Intel
Xeon, gcc 12). Zeros may have another sign, so it needs `fast_math` too.
"""

from __future__ import annotations

from ...ir.nodes import Block, Statement, operands, walk
from ...ir.statements import (
    Alloca,
    Cast,
    Const,
    IfExp,
    LocalLoad,
    LocalStore,
    MatrixInit,
    MatrixPtr,
    Operation,
    Rand,
    RangeFor,
    While,
    is_const,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, element_of, f32, f64
from ..analysis.queries import trip_count
from ..analysis.steady_values import SteadyValues
from ..context import PassContext
from .parts.scalar_places import scalar_places

PRESERVING = frozenset({"abs", "neg", "floor", "ceil", "round", "transpose", "rounded_half", "flushed"})
"""Operations whose result is a number whenever their operand is one."""
EITHER = frozenset({"min", "max", "running_min", "running_max", "scalar_min", "scalar_max"})
"""Operations whose result is a number whenever one of their operands is one."""
ALMOST_ALWAYS = 16
"""The iterations after which the extreme so far is mostly that of all."""


def extremes(kernel: Kernel, context: PassContext) -> bool:
    """Put certain numbers second in minima and maxima of floats, and name those that need one comparison."""
    if not context.capabilities.slow_extremes:
        return False
    changed = context.options.fast_math and _put_steady_second(kernel)
    scalars: set[Statement] | None = None
    for root in kernel.roots():
        found = [s for s in walk(root) if isinstance(s, Operation) and s.op in ("min", "max") and _is_float(s)]
        if found:
            numbers = _variables_of_numbers(root)
            running = _running(root)
            if scalars is None:
                scalars = scalar_places(kernel) if context.options.fast_math else set()
            for operation in found:
                changed |= _replace(operation, numbers, running, context.options.fast_math)
                changed |= operation in scalars and _name_scalar(operation)
    return changed


def _put_steady_second(kernel: Kernel) -> bool:
    """Put operands second that are the same in all iterations of a loop: compilers test before it for NaN."""
    found = [s for s in kernel.statements() if isinstance(s, Operation) and s.op in ("min", "max")]
    found = [operation for operation in found if _is_float(operation)]
    if not found:
        return False
    steady, changed = SteadyValues(kernel), False
    for operation in found:
        first, second = operation.operands
        if steady.has(first, operation) and not steady.has(second, operation):
            operation.operands = [second, first]
            changed = True
    return changed


def _is_float(operation: Operation) -> bool:
    return operation.type is not None and element_of(operation.type) in (f32, f64)


def _replace(
    operation: Operation, numbers: set[Statement], running: dict[Statement, Statement], may_order: bool
) -> bool:
    """Order the operands of a minimum, if zeros may have another sign, and name its kind; return whether it changes."""
    old = operation.op, *operation.operands
    first, second = operation.operands
    earlier = running.get(operation)
    if may_order and _is_number(first, numbers) and (isinstance(first, Const) or not _is_number(second, numbers)):
        first, second = second, first
    if not _is_number(second, numbers):
        if earlier is not None and (may_order or first is earlier):
            operation.op = f"running_{operation.op}"
            first, second = earlier, first if second is earlier else second
    elif not isinstance(second, Const):  # compilers see that a constant is a number
        operation.op = {"min": "at_most", "max": "at_least"}[operation.op]
    operation.operands = [first, second]
    return old != (operation.op, first, second)


def _name_scalar(operation: Operation) -> bool:
    """Name an extreme of which gcc makes no vectors, unless one comparison is enough; return whether it changes."""
    if operation.op not in ("min", "max") or isinstance(operation.operands[1], Const):
        return False
    operation.op = f"scalar_{operation.op}"
    return True


def _variables_of_numbers(root: Block) -> set[Statement]:
    """Return the variables that hold no NaN: those to which only numbers are stored, of these variables too."""
    stores: dict[Statement, list[Statement]] = {}
    others: set[Statement] = set()
    for statement in walk(root):
        if isinstance(statement, Alloca):
            stores.setdefault(statement, [])
        elif isinstance(statement, LocalStore):
            stores.setdefault(statement.pointer, []).append(statement.value)
        elif not isinstance(statement, LocalLoad):
            others.update(operands(statement))
    found: set[Statement] = {
        v for v in stores if isinstance(v, Alloca) and isinstance(v.type, Scalar) and v not in others
    }
    while True:
        left: set[Statement] = {
            variable for variable in found if all(_is_number(value, found) for value in stores[variable])
        }
        if left == found:
            return found
        found = left


def _is_number(value: Statement, numbers: set[Statement]) -> bool:
    """Return whether a value, or each element of a tensor, is certainly no NaN. numbers: variables that are none."""
    match value:
        case Const():
            return bool(value.value == value.value)
        case LocalLoad():
            return value.pointer in numbers
        case Cast(bits=False):
            old = element_of(value.value.type) if value.value.type is not None else None
            return old is not None and (not old.is_float or _is_number(value.value, numbers))
        case MatrixInit():
            return all(_is_number(element, numbers) for element in operands(value))
        case IfExp():
            results = (value.then.result, value.otherwise.result)
            return all(result is not None and _is_number(result, numbers) for result in results)
        case Operation(op="select"):
            return all(_is_number(operand, numbers) for operand in value.operands[1:])
        case Operation() if value.op in PRESERVING:
            return _is_number(value.operands[0], numbers)
        case Operation() if value.op in EITHER:
            return any(_is_number(operand, numbers) for operand in value.operands)
    return isinstance(value, Rand) or (isinstance(value, Operation) and value.op in ("at_most", "at_least"))


def _running(root: Block) -> dict[Statement, Statement]:
    """Return the operations that loops repeat with what they were before, and which operand that is."""
    found: dict[Statement, Statement] = {}
    for loop in walk(root):
        if not isinstance(loop, (RangeFor, While)):
            continue
        count = trip_count(loop) if isinstance(loop, RangeFor) else None
        own = {s for s in walk(loop.body) if isinstance(s, Alloca)}
        is_short = count is not None and 0 < count < ALMOST_ALWAYS
        for store in [] if is_short else [s for s in walk(loop.body) if isinstance(s, LocalStore)]:
            if isinstance(store.pointer, MatrixPtr) and not all(map(is_const, store.pointer.indices)):
                continue  # each time another element, as in a sorting network
            if store.pointer not in own and isinstance(store.value, Operation):
                before = [o for o in store.value.operands if isinstance(o, LocalLoad) and o.pointer is store.pointer]
                if before:
                    found[store.value] = before[-1]
    return found
