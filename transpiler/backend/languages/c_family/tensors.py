"""The one operation on tensors that C and its descendants have: selection between two of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....ir.types import Scalar, Tensor, Type, element_of
from ..common.syntax_forms import Syntax


def selection(operation: Callable[[str, Scalar], Syntax]) -> Callable[[str, Sequence[Type], Type], Syntax | None]:
    """Return a `tensor_operation` for `c ? v : w` on structs, which has the syntax of the operation on scalars."""

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
