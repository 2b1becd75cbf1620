"""`ti.ad.clear_all_gradients`: sets the gradients or duals of all fields of the session to 0."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ..arrays.dense_array import DenseArray
from ..session import session as sessions
from ..session.tracebacks import hides_own_frames


class SNodeGradType(Enum):
    """What a field is for: numbers, or the derivatives of another field. Names and values are Taichi's."""

    PRIMAL = 0
    ADJOINT = 1
    DUAL = 2
    ADJOINT_CHECKBIT = 3


class AutodiffMode(Enum):
    """What a kernel computes: its function, or a derivative of it. Names and values are Taichi's."""

    FORWARD = 0
    REVERSE = 1
    NONE = 2
    VALIDATION = 3


MEMBERS = {SNodeGradType.ADJOINT: "grad", SNodeGradType.DUAL: "dual"}


@hides_own_frames
def clear_all_gradients(gradient_type: SNodeGradType = SNodeGradType.ADJOINT) -> None:
    """Set the gradients of all fields to 0, or their duals. gradient_type: which of them.

    Example:
        >>> x = ti.field(ti.f32, shape=2, needs_grad=True)
        >>> x.grad[0] = 5.0
        >>> ti.ad.clear_all_gradients()
        >>> x.grad[0]
        0.0
    """
    member = MEMBERS.get(gradient_type)
    if member is not None:
        for derivative in derivatives_of_fields(member):
            derivative.fill(0)


def derivatives_of_fields(member: str) -> list[Any]:
    """Return the gradients ("grad") or duals ("dual") of the fields of the session that have memory."""
    return [getattr(array, member) for array in fields_with(member)]


def fields_with(member: str) -> list[Any]:
    """Return the fields of the session whose gradient ("grad") or dual ("dual") has memory."""
    session = sessions.current("gradients")
    found = {id(getattr(array, member, None)): array for array in list(session.fields_with_derivatives)}
    others = ((array, getattr(array, member, None)) for array in found.values())
    return [array for array, other in others if isinstance(other, DenseArray) and _is_placed(other)]


def check_placed(member: str) -> None:
    """Check that gradients ("grad") or duals ("dual") that were asked for are placed. Raises: TaichiRuntimeError."""
    waiting = sessions.current("gradients").derivatives_to_place[member]
    for array in list(waiting):
        if not array.is_placed:
            continue
        waiting.discard(array)
        if not getattr(array, member).is_placed:
            waiting.add(array)
            shown = f"the field `{array.name}`" if array.name else f"a field of shape {array.shape}"
            raise TaichiRuntimeError(
                f"These field(s) need `needs_{member}=True`, however their {member} field(s) are not placed: {shown}",
                f"place it, `ti.root.dense(ti.i, n).place(x, x.{member})`, or all of them: `ti.root.lazy_{member}()`",
            )


def _is_placed(array: Any) -> bool:
    return bool(getattr(array, "is_placed", True))
