"""Arrays that the iterations of a parallel loop only add to, by atomic operations at any place."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ....ir.functions import calls, reachable
from ....ir.nodes import Effect, Statement, count_uses, operands, walk
from ....ir.statements import Array, AtomicOp, Const, GlobalPtr, MatrixPtr, Operation, base_pointer
from ....ir.tasks import Task
from ....ir.threads import depends_on_block
from ....ir.types import Scalar, Tensor, element_of, f32, f64, i32, i64, u32, u64
from ..queries import is_dense, is_index_of


def scattered(
    task: Task,
    is_suitable: Callable[[Array], bool] | None = None,
    ops: Collection[str] = ("add", "sub"),
    reduces: bool = False,
) -> dict[Array, list[AtomicOp]]:
    """Return the arrays that a loop accesses only by atomic operations without a result, with these.

    is_suitable: whether an array counts; None: fields do. ops: the operations that count. reduces: whether the loop may
    have reductions, too, whose results go elsewhere.
    """
    is_suitable = is_suitable or is_summed_field
    if task.loop is None or (task.reductions and not reduces) or task.loop.cells is not None:
        return {}
    if any(depends_on_block(s) or s.EFFECT & Effect.FENCE for s in reachable(task.body)):
        return {}
    used = count_uses(task.body)
    found: dict[Array, list[AtomicOp]] = {}
    pointers: dict[Statement, Array] = {}
    rejected: set[Array] = {array for call in calls(task.body) for array in call.function.reads | call.function.writes}
    rejected |= {s.array for s in walk(task.epilogue) if isinstance(s, GlobalPtr)}
    for statement in walk(task.body):
        if isinstance(statement, (GlobalPtr, MatrixPtr)) and isinstance(base := base_pointer(statement), GlobalPtr):
            pointers[statement] = base.array
            continue
        if isinstance(statement, AtomicOp) and statement.pointer in pointers and statement not in used:
            array = pointers[statement.pointer]
            if statement.op in ops and is_suitable(array):
                found.setdefault(array, []).append(statement)
                rejected |= {pointers[o] for o in operands(statement) if o in pointers and o is not statement.pointer}
                continue
        rejected |= {pointers[operand] for operand in operands(statement) if operand in pointers}
    return {array: atomics for array, atomics in found.items() if array not in rejected}


def is_summed_field(array: Array) -> bool:
    """Return whether an array is a field with memory of its own, of numbers that C adds without a conversion."""
    if array.shape is None or not is_dense(array):
        return False
    is_plain = isinstance(array.element, (Scalar, Tensor))
    return is_plain and element_of(array.element) in (f32, f64, i32, u32, i64, u64) and not array.may_alias


def is_scattered(task: Task, additions: list[AtomicOp]) -> bool:
    """Return whether some index of the additions is more than arithmetic on the loop's: else few threads share one."""
    pointers = [base_pointer(atomic.pointer) for atomic in additions]
    values = [index for pointer in pointers if isinstance(pointer, GlobalPtr) for index in pointer.indices]
    while values:
        value = values.pop()
        if isinstance(value, Operation):
            values += operands(value)
        elif not isinstance(value, Const) and not is_index_of(value, task.loop):
            return True
    return False
