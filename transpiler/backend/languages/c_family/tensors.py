"""What C and its descendants write themselves of operations on tensors: the choice between two of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....ir.types import Scalar, Tensor, Type, element_of
from ..common.syntax_forms import Syntax


def selection(operation: Callable[[str, Scalar], Syntax]) -> Callable[[str, Sequence[Type], Type], Syntax | None]:
    """Return what writes `c ? v : w` of structs as of scalars, by the language's operations on these."""

    def write(op: str, types: Sequence[Type], result: Type) -> Syntax | None:
        if op == "select" and isinstance(types[0], Scalar) and types[1] == types[2]:
            return operation(op, element_of(result))
        return None

    return write


def no_cast(old: Tensor, new: Tensor, bits: bool) -> Syntax | None:
    """Return None: conversions of structs are generated functions."""
    return None


def never(op: str, type: Scalar) -> bool:
    """Return that no operation is coarse: compilers round as IEEE 754 does without fast math."""
    return False
