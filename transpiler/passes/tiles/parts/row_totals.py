"""Atomic operations of the iterations of a tile on an element of their row: a thread has a sum for each of its rows.

    for row in 8, column in 8 {                        for row in 8 {
        if n[row, column] > m {                            h_sum = 0
            atomic add h[i + row], 1        ->             for column in 8 { if n[row, column] > m { h_sum += 1 } }
        }                                                  if h_sum != 0 { atomic add h[i + row], h_sum }
    }                                                  }

Blocks compute 64 or 128 columns of a row, and their threads would wait for each other as often. An element need not
exist where no iteration changes it. In: what is behind the serial loop of a task with tiles.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.builder import Builder
from ....ir.functions import calls
from ....ir.nodes import Block, Remark, Statement, count_uses, walk, walk_blocks
from ....ir.ops import ATOMIC_OPS
from ....ir.statements import Alloca, Array, AtomicOp, GlobalPtr, If, LocalStore
from ....ir.threads import neutral
from ....ir.types import Scalar
from ....lazy_dataclasses import dataclass
from ...analysis.queries import base_array, computed_from, is_index_of
from .arranged_loops import VALUES
from .register_plan import Plan

JOINED = {"sub": "add"}
"""What joins the sums of threads, if not the operation of an iteration."""
NOTE = "one atomic operation for all columns of the thread (register_tiles)"


@dataclass(eq=False, slots=True)
class RowTotal:
    """What an iteration does to an element of its row. variable: what a thread has of it."""

    atomic: AtomicOp
    variable: Alloca

    @property
    def op(self) -> str:
        """What joins the variable with the element."""
        return JOINED.get(self.atomic.op, self.atomic.op)

    def _neutral(self, builder: Builder) -> Statement:
        kind = self.variable.type
        assert isinstance(kind, Scalar)
        return builder.const(neutral(self.op, kind), kind)

    def begin_row(self, builder: Builder) -> None:
        """Add the variable before all columns."""
        builder.store(builder.add(self.variable), self._neutral(builder))

    def add_to_row(self, builder: Builder) -> None:
        """Add what changes the element behind all columns."""
        builder.location = self.atomic.location
        total = builder.load(self.variable)
        branch = builder.add(If(builder.op("ne", total, self._neutral(builder))))
        branch.remarks = (Remark(NOTE, "above", branch.location),)
        with builder.into(branch.then):
            builder.atomic(self.op, builder.again(self.atomic.pointer), total)


def take_row_totals(plan: Plan, body: Block, is_fast: bool) -> list[RowTotal]:
    """Let iterations change variables in place of elements of their rows; return these. body: of the task."""
    behind, uses = Block(plan.after), count_uses(body)
    found = [s for s in walk(behind) if isinstance(s, AtomicOp) and not uses[s] and _is_of_row(s, plan, is_fast)]
    totals = [_total(atomic) for atomic in found if _is_alone(atomic, found, body)]
    for total in totals:
        builder = Builder(Block(), total.atomic.location)
        value = builder.op(ATOMIC_OPS[total.atomic.op], builder.load(total.variable), total.atomic.value)
        builder.add(LocalStore(total.variable, value))
        for block in walk_blocks(behind):
            if total.atomic in block.statements:
                block.replace(total.atomic, builder.block)
    plan.after[:] = behind.statements
    return totals


def _total(atomic: AtomicOp) -> RowTotal:
    array = base_array(atomic.pointer)
    kind = {"min": "least", "max": "greatest"}.get(atomic.op, "sum")
    name = f"{array.name if array is not None else 'value'}_{kind}"
    return RowTotal(atomic, Alloca(type=atomic.pointer.type, hint=name, location=atomic.location))


def _is_of_row(atomic: AtomicOp, plan: Plan, is_fast: bool) -> bool:
    """Return whether an operation is on an element that the indices of the row alone say, in any order."""
    pointer, kind = atomic.pointer, atomic.pointer.type
    if not isinstance(pointer, GlobalPtr) or pointer.cell is not None or atomic.mask is not None:
        return False
    if not isinstance(kind, Scalar) or atomic.op not in ("add", "sub", "min", "max") or atomic.value.type != kind:
        return False
    if kind.is_float and (atomic.op not in ("add", "sub") or not is_fast):
        return False
    return all(_is_of_indices(value, plan) for index in pointer.indices for value in computed_from(index))


def _is_of_indices(value: Statement, plan: Plan) -> bool:
    return isinstance(value, VALUES) and not (is_index_of(value, plan.loop) and value.axis == plan.column)


def _is_alone(atomic: AtomicOp, found: Sequence[AtomicOp], body: Block) -> bool:
    """Return whether a task accesses an array by such operations of one kind alone, and no other that may be it."""
    array, others = base_array(atomic.pointer), set[Array]()
    assert array is not None
    for statement in walk(body):
        if isinstance(statement, GlobalPtr):
            others.add(statement.array)
        elif isinstance(statement, AtomicOp) and base_array(statement.pointer) is array:
            if statement not in found or JOINED.get(statement.op, statement.op) != JOINED.get(atomic.op, atomic.op):
                return False
    for call in calls(body):
        others |= call.function.reads | call.function.writes
    pointers = [s for s in walk(body) if isinstance(s, GlobalPtr) and s.array is array]
    atomics = [s for s in found if base_array(s.pointer) is array]
    used = count_uses(body)
    if any(used[pointer] > sum(s.pointer is pointer for s in atomics) for pointer in pointers):
        return False
    return not array.may_alias or not any(other is not array and other.may_alias for other in others)
