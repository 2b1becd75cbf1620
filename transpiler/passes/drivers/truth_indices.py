"""Keeps gcc from vectorizing loops that take elements at the outcome of a comparison: their addresses would be wrong.

    v[i, j] = u[i, 1 if u[i, j] > 0 else 0]    ->    args.u_data[(long long)(i) * n + (u(i, j) > 0 ? 1 : 0)]

gcc 12.2 (Debian 12) and 13.3 (Ubuntu 24.04) widen a comparison to a 64-bit summand of an address wrongly in loops that
they vectorize, or end with an internal error (tests/passes/drivers/test_truth_indices.py). They see through variables,
branches and calls, so this pass does, too. Sums of a comparison with a number are right.
"""

from __future__ import annotations

from ...ir.functions import Call, CallResult, Function
from ...ir.nodes import Statement, walk
from ...ir.statements import (
    ArgLoad,
    Cast,
    Const,
    GlobalPtr,
    IfExp,
    LocalLoad,
    LocalStore,
    MatrixPtr,
    Operation,
    Parameter,
    Return,
    base_pointer,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, i64, u1, u64
from ..context import PassContext

OF_TRUTHS = frozenset(
    {"mul", "sub", "wrapping_mul", "wrapping_sub", "min", "max", "abs", "bit_and", "bit_or", "bit_xor"}
)
"""Operations on 0 and 1 that give 0 or 1 where they are used as an index."""


def truth_indices(kernel: Kernel, context: PassContext) -> bool:
    """Mark a kernel of C that has an address with the outcome of a comparison as a summand."""
    if not context.capabilities.miscompiles_truth_indices:
        return False
    statements = list(kernel.statements())
    candidates = [value for s in statements if (value := _summand(s)) is not None]
    kernel.avoids_vectors = bool(candidates) and any(map(_Truths(statements).is_truth, candidates))
    return kernel.avoids_vectors


def _summand(statement: Statement) -> Statement | None:
    """Return what a statement widens to 64 bits without a factor: the last index of several, or a component's."""
    match statement:
        case GlobalPtr(indices=[*others, last]) if others:
            return last
        case MatrixPtr(indices=[*_, last]) if isinstance(base_pointer(statement), GlobalPtr):
            return last
        case Cast(value=value, type=kind) if kind in (i64, u64) and value.type not in (i64, u64):
            return value
    return None


def _results(function: Function, position: int) -> list[Statement]:
    """Return the values that a function may return as one of its results."""
    return [statement.values[position] for statement in walk(function.body) if isinstance(statement, Return)]


class _Truths:
    """Finds the values that are 0 or 1 by comparisons. stored: by variable, passed: by parameter, known: outcomes."""

    def __init__(self, statements: list[Statement]) -> None:
        self.stored: dict[Statement, list[Statement]] = {}
        self.passed: dict[Parameter, list[Statement]] = {}
        self.known: dict[Statement, bool] = {}
        for statement in statements:
            if isinstance(statement, LocalStore):
                self.stored.setdefault(statement.pointer, []).append(statement.value)
            elif isinstance(statement, Call):
                for parameter, value in zip(statement.function.parameters, statement.arguments):
                    self.passed.setdefault(parameter, []).append(value)

    def is_truth(self, value: Statement | None) -> bool:
        """Return whether a value is no constant, and 0 or 1."""
        return value is not None and not isinstance(value, Const) and self._is_bit(value)

    def _is_bit(self, value: Statement) -> bool:
        if value not in self.known:
            self.known[value] = True  # for a variable that is assigned itself
            self.known[value] = self._may_be_bit(value)
        return self.known[value]

    def _may_be_bit(self, value: Statement) -> bool:
        match value:
            case Const(value=number):
                return number in (0, 1)
            case Statement(type=Scalar() as kind) if kind == u1:
                return True
            case Cast(value=inner):
                return self._is_bit(inner)
            case IfExp(then=then, otherwise=otherwise):
                return all(result is not None and self._is_bit(result) for result in (then.result, otherwise.result))
            case Operation(op="select", operands=[_, first, second]):
                return self._is_bit(first) and self._is_bit(second)
            case Operation(op="bit_and", operands=operands) if any(map(self.is_truth, operands)):
                return True
            case Operation(op=op, operands=operands) if op in OF_TRUTHS:
                return all(map(self._is_bit, operands)) and any(map(self.is_truth, operands))
            case LocalLoad(pointer=pointer):
                return pointer in self.stored and all(map(self._is_bit, self.stored[pointer]))
            case ArgLoad(parameter=parameter):
                return any(map(self.is_truth, self.passed.get(parameter, ())))
            case Call(function=function):
                return all(map(self._is_bit, _results(function, 0)))
            case CallResult(call=Call(function=function), position=position):
                return all(map(self._is_bit, _results(function, position)))
        return False
