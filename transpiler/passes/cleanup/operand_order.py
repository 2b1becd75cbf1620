"""Canonical order of a number and a vector, where a kernel has both: the number first.

    $1 = mul $v, 2.0                                 $1 = mul 2.0, $v
    $2 = mul $dt, $w                         ->      $2 = mul $dt, $w

Sums and products of floats commute, bit by bit. A language without operators on vectors gets one function instead of
two. Kernels with one order keep it, and so does `v *= s`. So do functions that exist for several types, which are one
function of the source only if all have one order.
"""

from __future__ import annotations

from collections import defaultdict

from ...ir.functions import Function
from ...ir.nodes import Statement, walk
from ...ir.statements import Operation
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, Type
from ..analysis.queries import compound_operations
from ..context import PassContext

COMMUTATIVE = frozenset({"add", "mul"})


def operand_order(kernel: Kernel, context: PassContext) -> bool:
    """Put the number first in commutative operations on a number and a tensor, for types that have both orders."""
    first: set[tuple[str, Type]] = set()
    last: dict[tuple[str, Type], list[Operation]] = {}
    for statement in kernel.statements():
        if isinstance(statement, Operation) and statement.op in COMMUTATIVE and isinstance(statement.type, Tensor):
            is_scalar = [isinstance(operand.type, Scalar) for operand in statement.operands]
            key = (statement.op, statement.type)
            if is_scalar == [True, False]:
                first.add(key)
            elif is_scalar == [False, True]:
                last.setdefault(key, []).append(statement)
    alike = _of_several_types(kernel) if first and last else set()
    mixed = [o for key, operations in last.items() if key in first for o in operations if o not in alike]
    compound = {operation for root in kernel.roots() for operation in compound_operations(root)} if mixed else set()
    swapped = [operation for operation in mixed if operation not in compound]
    for operation in swapped:
        operation.operands.reverse()
    return bool(swapped)


def _of_several_types(kernel: Kernel) -> set[Statement]:
    """Return the statements of functions that the frontend has built more than once."""
    groups: defaultdict[object, list[Function]] = defaultdict(list)
    for function in kernel.functions:
        groups[function.library, function.location.file, function.location.line].append(function)
    return {s for group in groups.values() if len(group) > 1 for function in group for s in walk(function.body)}
