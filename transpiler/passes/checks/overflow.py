"""Traps integer arithmetic whose result does not fit its type, under `check_overflow`.

    $3 = add $1, $2    ->    assert not add_overflows($1, $2), "Addition overflow detected: {0} + {1} does not fit i32"
                             $3 = add $1, $2

It covers + - * ** << and negation, `abs`, atomic updates (checked afterwards, from their old value), sums and products
of tensors step by step, division by zero, floats cast to integers that cannot represent them, and integers stored in a
type that may not represent them. `ti.cast` between integers wraps, as documented. It is the first pass: arithmetic that
later passes add (indices, counters) is not the user's.
"""

from __future__ import annotations

import numpy as np

from ...ir.builder import Builder
from ...ir.nodes import Statement
from ...ir.ops import OPS
from ...ir.statements import Assert, AtomicOp, Cast, Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, element_of, f32, i32, promote, u32
from ..context import PassContext
from ..rewrite import surround
from .parts.overflows import (
    SHAPED,
    TITLES,
    Condition,
    Values,
    _are_integers,
    _by_elements,
    _lowest,
    _number,
    _result_fits,
)

DIVISIONS = {"floordiv": "//", "mod": "%", "raw_div": "/", "raw_mod": "%"}
QUOTIENTS = frozenset({"floordiv", "raw_div"})


def overflow(kernel: Kernel, context: PassContext) -> bool:
    """Insert an Assert of kind "overflow" at each operation that may overflow, under `check_overflow`."""
    roots = kernel.roots() if context.options.check_overflow else ()
    changed = [surround(root, before=_check_value, after=_check_atomic) for root in roots]
    return any(changed)


def _check_value(builder: Builder, value: Statement) -> None:
    """Check an operation or a cast from its operands."""
    if isinstance(value, Operation):
        _check_operation(builder, value)
    elif isinstance(value, Cast) and not value.bits:
        _check_cast(builder, value)


def _check_operation(builder: Builder, operation: Operation) -> None:
    assert operation.type is not None
    kind = element_of(operation.type)
    if not _are_integers(kind):
        return
    name, values = operation.op, operation.operands
    if name in TITLES:
        _check_binary(builder, name, values, kind)
    elif name in SHAPED:
        what, shown = SHAPED[name]
        fits = builder.op("logical_not", builder.op(f"{name}_overflows", *values))
        builder.add(Assert(fits, f"{what} overflow detected: {shown} leaves {kind}", list(values), "overflow"))
    elif name in DIVISIONS:
        shown = f"{{0}} {DIVISIONS[name]} {{1}}"
        _check(builder, values, lambda b, v: b.op("ne", v[1], _number(b, 0, kind)), f"Division by zero: {shown}")
        if name in QUOTIENTS and kind.kind == "int":
            _check(builder, values, _quotient_fits, f"Division overflow detected: {shown} does not fit {kind}")
    elif name in ("neg", "abs"):
        what, shown = {"neg": ("Negation", "-({0})"), "abs": ("Absolute value", "abs({0})")}[name]
        if kind.kind == "int":
            _check(builder, values, _is_not_lowest, f"{what} overflow detected: {shown} does not fit {kind}")
        elif name == "neg":  # only the unsigned 0 has a negation
            condition_of: Condition = lambda b, v: b.op("eq", v[0], _number(b, 0, kind))  # noqa: E731
            _check(builder, values, condition_of, f"{what} overflow detected: {shown} does not fit {kind}")


def _check_atomic(builder: Builder, atomic: Statement) -> None:
    """Check the result of an atomic from its old value."""
    if not isinstance(atomic, AtomicOp):
        return
    assert atomic.type is not None
    kind = element_of(atomic.type)
    if atomic.op in TITLES and _are_integers(kind):
        _check_binary(builder, atomic.op, [atomic, atomic.value], kind)


def _check_binary(builder: Builder, name: str, values: Values, kind: Scalar) -> None:
    message = f"{TITLES[name]} overflow detected: {{0}} {OPS[name].symbol} {{1}} does not fit {kind}"
    _check(builder, values, lambda b, v: _result_fits(b, name, v, kind), message)


def _check_cast(builder: Builder, cast: Cast) -> None:
    assert cast.type is not None and cast.value.type is not None
    old, new = element_of(cast.value.type), element_of(cast.type)
    if old.is_float and _are_integers(new):
        message = f"Cast overflow detected: {{0}} does not fit {new}"
        _check(builder, [cast.value], lambda b, v: _cast_fits(b, v[0], old, new), message)
    elif cast.is_implicit and _are_integers(old, new) and promote(new, old) != new:  # the frontend has warned of these
        message = f"Assignment overflow detected: {{0}} does not fit {new}"
        _check(builder, [cast.value], lambda b, v: _integer_fits(b, v[0], old, new), message)


def _check(builder: Builder, values: Values, condition_of: Condition, message: str) -> None:
    """Add an Assert of the condition; for tensors, of the condition of every element."""
    condition = _by_elements(builder, values, condition_of, "logical_and")
    builder.add(Assert(condition, message, list(values), "overflow"))


def _is_not_lowest(builder: Builder, values: Values) -> Statement:
    kind = values[0].type
    assert isinstance(kind, Scalar)
    return builder.op("ne", values[0], builder.const(_lowest(kind), kind))


def _quotient_fits(builder: Builder, values: Values) -> Statement:
    kind = values[1].type
    assert isinstance(kind, Scalar)
    is_not_minus_one = builder.op("ne", values[1], builder.const(-1, kind))
    return builder.op("logical_or", _is_not_lowest(builder, values), is_not_minus_one)


def _integer_fits(builder: Builder, value: Statement, old: Scalar, new: Scalar) -> Statement:
    if old.bits < 32:
        old = i32 if old.kind == "int" else u32
        value = builder.cast(value, old)
    low, high = np.iinfo(new.numpy).min, np.iinfo(new.numpy).max
    fits = builder.op("le", value, builder.const(int(high), old))
    if low <= np.iinfo(old.numpy).min:
        return fits
    return builder.op("logical_and", builder.op("ge", value, builder.const(int(low), old)), fits)


def _cast_fits(builder: Builder, value: Statement, old: Scalar, new: Scalar) -> Statement:
    """Return the condition that a float, truncated, is in the range of `new`; NaN is not."""
    old = f32 if old.bits < 32 else old
    value = builder.cast(value, old)
    low, high = _lowest(new), int(np.iinfo(new.numpy).max)
    below = low - 1  # every float above it is truncated to `low` or more
    exact = int(old.numpy.type(below)) == below
    above_low = builder.op("gt" if exact else "ge", value, builder.const(below if exact else low, old))
    return builder.op("logical_and", above_low, builder.op("lt", value, builder.const(high + 1, old)))
