"""The adjoints of loads, stores and atomic operations."""

from __future__ import annotations

import numpy as np

from ....errors import TaichiCompilationError
from ....ir.builder import Builder
from ....ir.nodes import Statement
from ....ir.statements import (
    Alloca,
    AtomicOp,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LocalLoad,
    LocalStore,
    base_pointer,
    scalar_type,
)
from ....ir.types import Scalar, Tensor
from .reverse_sweep import ReverseSweep, Rule
from .scope import Scope


def _load(sweep: ReverseSweep, statement: GlobalLoad | LocalLoad, scope: Scope) -> None:
    if _load_of_elements(sweep, statement, scope):
        return
    adjoint = sweep.take(statement, scope) if statement in sweep.varied else None
    if adjoint is None:
        return
    pointer = sweep.pointer(statement.pointer, scope)
    if pointer is not None:
        base = base_pointer(statement.pointer)
        sweep.accumulate(pointer, adjoint, isinstance(base, GlobalPtr) or sweep.is_shared(base))


def _load_of_elements(sweep: ReverseSweep, statement: GlobalLoad | LocalLoad, scope: Scope) -> bool:
    """Emit the adjoints of the elements of a load, if not all of them have one; return whether it did."""
    parts = sweep.parts.get((scope, statement))
    is_whole = (scope, statement) in sweep.partial or statement in sweep.adjoints
    if parts is None or is_whole or not isinstance(statement.type, Tensor) or len(parts) == statement.type.size:
        return False
    del sweep.parts[scope, statement]
    pointer = sweep.pointer(statement.pointer, scope)
    shape, base = statement.type.shape, base_pointer(statement.pointer)
    for number, adjoint in parts.items() if pointer is not None else ():
        assert pointer is not None
        indices = [sweep.builder.const(k) for k in ((number,) if len(shape) == 1 else divmod(number, shape[1]))]
        element = sweep.builder.element_ptr(pointer, indices)
        sweep.accumulate(element, adjoint, isinstance(base, GlobalPtr) or sweep.is_shared(base))
    return True


def _store(sweep: ReverseSweep, statement: GlobalStore | LocalStore, scope: Scope) -> None:
    pointer = sweep.pointer(statement.pointer, scope)
    if pointer is None:
        return
    base = base_pointer(statement.pointer)
    if isinstance(base, Alloca) and sweep.is_shared(base):
        raise statement.location.error(
            TaichiCompilationError,
            f"All iterations of the parallel loop assign `{base.name}`, so that its gradient depends on their order",
            f"declare `{base.name}` in the loop, or add to it: `{base.name} += ...`",
        )
    adjoint = sweep.builder.load(pointer)
    update = sweep.updates.get(statement)
    if update is not None:  # the adjoint of `v` passes through `v = v + x`
        other, is_subtracted = update
        sweep.contribute(other, sweep.builder.op("neg", adjoint) if is_subtracted else adjoint, scope)
        return
    if statement.value.name:
        adjoint.name = f"{statement.value.name}_adj"
    elif isinstance(base, GlobalPtr):
        adjoint.hint = f"{base.array.name}_adj"
    assert pointer.type is not None
    sweep.builder.store(pointer, sweep.builder.zero(pointer.type))
    sweep.contribute(statement.value, adjoint, scope)


def _extreme(sweep: ReverseSweep, statement: AtomicOp, pointer: Statement, scope: Scope) -> None:
    """Emit the adjoint of an atomic minimum or maximum: the value that became the result takes the adjoint, once.

    The adjoint that is left belongs to what was there before. A value that is computed again may be rounded otherwise,
    since compilers contract a product and a sum into one operation here and not there.
    """
    builder = sweep.builder
    assert isinstance(statement.pointer, GlobalPtr)
    result = builder.load(sweep.forward.copy(statement.pointer, scope))
    sweep.forward.originals[result] = statement
    name = f"{statement.pointer.array.name}_adj"
    taken = builder.add(Alloca(type=pointer.type, name=name))
    branch = builder.add(If(_is_same(builder, scope.find(statement.value), result)))
    with builder.into(branch.then):
        old = builder.atomic("mul", pointer, builder.const(0, scalar_type(pointer)))
        builder.store(taken, old)
    sweep.contribute(statement.value, builder.load(taken), scope)


def _is_same(builder: Builder, value: Statement, result: Statement) -> Statement:
    """Return whether a value, which is computed again, became the result."""
    kind = result.type
    if isinstance(value, GlobalLoad) or not isinstance(kind, Scalar) or not kind.is_float:
        return builder.op("eq", value, result)
    tolerance = builder.const(ROUNDINGS * float(np.finfo(kind.numpy).eps), kind)
    distance = builder.op("abs", builder.op("sub", value, result))
    return builder.op("le", distance, builder.op("mul", tolerance, builder.op("abs", result)))


ROUNDINGS = 16
"""By so many units in the last place two evaluations of one expression may differ."""


def _atomic(sweep: ReverseSweep, statement: AtomicOp, scope: Scope) -> None:
    if statement in sweep.varied and sweep.take(statement, scope) is not None:
        raise statement.location.error(
            TaichiCompilationError,
            "The gradient needs the derivative of what an atomic operation returns, which depends on the order of "
            "the iterations",
            "read the element before, or in another loop",
        )
    pointer = sweep.pointer(statement.pointer, scope)
    if pointer is None:
        return
    if statement.op in ("min", "max") and isinstance(statement.pointer, GlobalPtr) and isinstance(pointer.type, Scalar):
        _extreme(sweep, statement, pointer, scope)
        return
    if statement.op not in ("add", "sub"):
        raise statement.location.error(
            TaichiCompilationError,
            f"`ti.atomic_{statement.op}` has no derivative here: it depends on the order of the iterations",
            "compute the result in a serial loop with a local variable, `ti.loop_config(serialize=True)`",
        )
    if statement.value not in sweep.varied:
        return
    adjoint = sweep.builder.load(pointer)
    base = base_pointer(statement.pointer)
    adjoint.hint = f"{base.array.name}_adj" if isinstance(base, GlobalPtr) else None
    signed = adjoint if statement.op == "add" else sweep.builder.op("neg", adjoint)
    sweep.contribute(statement.value, signed, scope)


MEMORY_RULES: dict[type[Statement], Rule] = {
    GlobalLoad: _load,
    LocalLoad: _load,
    GlobalStore: _store,
    LocalStore: _store,
    AtomicOp: _atomic,
}
"""The rule of each access of memory."""
