"""Legalization: replaces operations that no target has, and rejects those that this target lacks.

    atomic add v[$i], $vector    ->    atomic add v[$i].0, $vector.0   (each element)
    pow $x, 3                    ->    mul (mul $x, $x), $x

An integer power becomes a product, since GLSL's `pow` is undefined for negative bases.
"""

from __future__ import annotations

from functools import partial

from ...errors import SourceLocation, UnsupportedError
from ...ir.builder import Builder
from ...ir.nodes import Statement
from ...ir.statements import AtomicOp, Const, GlobalPtr, Operation, base_pointer
from ...ir.tasks import Kernel
from ...ir.types import SCALARS, Scalar, Tensor, Type, element_of, scalars_of
from ..context import PassContext
from ..rewrite import Rewriter

MAX_POWER, MAX_FAST_POWER = 16, 32
"""Largest constant exponents that become products: of up to 6 multiplications, and of up to 8 with `fast_math`, as
Taichi's. A denoiser with `** 32` of 25 neighbours took an H200 1.32 ms before."""

FEATURES = {
    "f16": "16-bit floats (shaderFloat16)",
    "f64": "64-bit floats (shaderFloat64)",
    "i8": "8-bit integers (shaderInt8)",
    "u8": "8-bit integers (shaderInt8)",
    "i16": "16-bit integers (shaderInt16)",
    "u16": "16-bit integers (shaderInt16)",
    "i64": "64-bit integers (shaderInt64)",
    "u64": "64-bit integers (shaderInt64)",
}
"""The device feature that a type needs; the name in parentheses is Vulkan's."""


def legalize(kernel: Kernel, context: PassContext) -> bool:
    """Rewrite operations that emitted languages do not have.

    Raises:
        UnsupportedError: at the first statement of a type that the target does not support.
    """
    _check_types(kernel, context)
    if not context.may_have(kernel, ("pow",)) and not context.may_have_all(kernel, (AtomicOp, Tensor)):
        return False
    most = MAX_FAST_POWER if context.options.fast_math else MAX_POWER
    return Rewriter({AtomicOp: _split_atomic, Operation: partial(_expand_power, most=most)}).run(kernel)


def _check_types(kernel: Kernel, context: PassContext) -> None:
    """Raise UnsupportedError for the first statement of a type or an atomic that the target lacks."""
    types = context.capabilities.types
    lacks_some = any(scalar.name not in types for scalar in context.scalars(kernel))
    has_atomics = context.may_have(kernel, (AtomicOp,))
    checked: set[tuple[str, Type | None]] = set()
    for statement in kernel.statements() if lacks_some or has_atomics else ():
        if lacks_some and statement.type is not None and (lacking := _lacking(statement.type, types)) is not None:
            raise _unsupported(lacking, statement.location, context)
        if statement.__class__ is AtomicOp and (key := (statement.op, statement.type)) not in checked:
            checked.add(key)
            _check_atomic(statement, context)
    stored = [parameter.type for parameter in kernel.parameters] + [array.element for array in kernel.arrays]
    stored += [parameter.type for function in kernel.functions for parameter in function.parameters]
    for type in stored + [temporary.type for temporary in kernel.temporaries]:
        if (lacking := _lacking(type, types)) is not None:
            raise _unsupported(lacking, kernel.location, context)


def _lacking(type: Type, types: frozenset[str]) -> Scalar | None:
    """Return a scalar of `type` that the target does not support."""
    return next((scalar for scalar in scalars_of(type) if scalar.name not in types), None)


def _check_atomic(atomic: AtomicOp, context: PassContext) -> None:
    """Reject an atomic that the target neither has nor can build from compare-and-swap."""
    capabilities = context.capabilities
    assert atomic.type is not None
    scalar, base = element_of(atomic.type), "add" if atomic.op == "sub" else atomic.op
    if scalar.kind == "bool" and base in ("add", "mul"):
        message = f"`atomic_{atomic.op}` of `u1` is not available: truth values are not counted"
        raise atomic.location.error(UnsupportedError, message, "use an `i32` field, or `atomic_or` and `atomic_and`")
    if (scalar.name, base) in capabilities.atomics or scalar.bits in capabilities.atomic_bits:
        return
    widths = ", ".join(map(str, sorted(capabilities.atomic_bits)))
    message = f"`atomic_{atomic.op}` of `{scalar}` is not available on {capabilities.target}"
    kind = "u" if scalar.kind == "bool" else scalar.name[0]
    raise atomic.location.error(
        UnsupportedError,
        f"{message}: the target device has atomic operations of {widths} bits",
        f"use `{kind}32`, or another arch: ti.init(arch=ti.cpu) has atomics of all types",
    )


def _unsupported(scalar: Scalar, location: SourceLocation, context: PassContext) -> Exception:
    target = context.capabilities.target
    message = (
        f"`{scalar}` is not available on {target}: the target device has no {FEATURES.get(scalar.name, str(scalar))}"
    )
    hint = f"use `{_substitute(scalar, context)}`, or another arch: ti.init(arch=ti.cpu) computes with all types"
    return location.error(UnsupportedError, message, hint)


def _substitute(scalar: Scalar, context: PassContext) -> str:
    """Return the nearest available type of the same kind: the next wider one, otherwise the next narrower one."""
    same_kind = [SCALARS[name] for name in context.capabilities.types if name[0] == scalar.name[0] and name != "u1"]
    by_distance = sorted(same_kind, key=lambda type: (type.bits < scalar.bits, abs(type.bits - scalar.bits)))
    return by_distance[0].name if by_distance else "f32"


def _split_atomic(rewriter: Rewriter, atomic: Statement) -> Statement | None:
    """Split an atomic on a tensor into one per element; the old value is the tensor of the old elements."""
    assert isinstance(atomic, AtomicOp)
    if not isinstance(atomic.type, Tensor):
        return None
    builder = rewriter.builder(atomic)
    old = []
    base = base_pointer(atomic.pointer)
    if isinstance(base, GlobalPtr) and atomic.value.hint is None:
        atomic.value.hint = f"{base.array.name}_{atomic.op}"  # each element is added on its own
    for position in range(atomic.type.size):
        indices = _unravel(position, atomic.type.shape)
        pointer = builder.element_ptr(atomic.pointer, [builder.const(i) for i in indices])
        value = builder.element(atomic.value, [builder.const(i) for i in indices])
        old.append(builder.atomic(atomic.op, pointer, value))
    old[-1].remarks = atomic.remarks
    return builder.tensor(old, atomic.type.shape, atomic.type.element)


def _unravel(position: int, shape: tuple[int, ...]) -> list[int]:
    """Return the indices of the element at `position`, row by row."""
    indices: list[int] = []
    for extent in reversed(shape):
        position, index = divmod(position, extent)
        indices.insert(0, index)
    return indices


def _expand_power(rewriter: Rewriter, power: Statement, most: int) -> Statement | None:
    """Replace a power: with a whole exponent up to `most` by a product (by squaring), with exponent 0.5 by a root."""
    assert isinstance(power, Operation)
    if power.op != "pow":
        return None
    base, exponent = power.operands
    if not isinstance(exponent, Const) or not abs(exponent.value) <= most:
        return None
    if exponent.value == 0.5:
        return rewriter.builder(power).op("sqrt", base)
    if exponent.value != int(exponent.value):
        return None
    count = int(exponent.value)
    is_float = element_of(base.type or exponent.type).is_float  # type: ignore[arg-type]
    if count == 0 or (count < 0 and not is_float):
        return None
    builder = rewriter.builder(power)
    product = _product(builder, base, abs(count))
    if count > 0:
        return product
    return builder.op("div", builder.const(1, element_of(base.type)), product)  # type: ignore[arg-type]


def _product(builder: Builder, base: Statement, count: int) -> Statement:
    """Return base ** count for count >= 1: x, x*x, x*x*x, (x*x)*(x*x), ..."""
    if count == 1:
        return base
    half = _product(builder, base, count // 2)
    square = builder.op("mul", half, half)
    return builder.op("mul", square, base) if count % 2 else square
