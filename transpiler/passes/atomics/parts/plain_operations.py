"""What an atomic operation is where no other thread has the element: a load, an operation and a store."""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Statement
from ....ir.ops import ATOMIC_OPS
from ....ir.statements import AtomicOp, Const
from ....ir.types import Scalar
from ...rewrite import Rewriter


def make_plain(rewriter: Rewriter, atomic: AtomicOp) -> Statement:
    """Emit load, operation and store; return the old value."""
    builder = rewriter.builder(atomic)
    old = builder.load(atomic.pointer)
    if atomic.mask is not None:
        _store_masked(builder, atomic, old)
        return old
    builder.store(atomic.pointer, builder.op(ATOMIC_OPS[atomic.op], old, atomic.value)).remarks = atomic.remarks
    return old


def _store_masked(builder: Builder, atomic: AtomicOp, old: Statement) -> None:
    """Store what an operation of `MASKED_OPS` makes of `old`."""
    mask, value = atomic.mask, atomic.value
    assert mask is not None and isinstance(mask.type, Scalar)
    new = builder.op("bit_and", builder.op("add", old, value), mask) if atomic.op == "add_bits" else value
    if isinstance(mask, Const):
        unmasked = int(mask.type(~int(mask.value)))
        others: Statement = builder.add(Const(unmasked, notation=hex(unmasked), type=mask.type))
    else:
        others = builder.op("bit_not", mask)
    builder.store(
        atomic.pointer, builder.op("bit_or", builder.op("bit_and", old, others), new)
    ).remarks = atomic.remarks
