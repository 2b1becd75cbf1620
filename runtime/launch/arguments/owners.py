"""To which session an array belongs, and the error for one that is used in another.

Kernels check the fields that they captured when they are compiled. While several sessions are open they check the
arguments of each launch; with one session there is nothing to check.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....transpiler.backend.module.interface import Interface
from ....transpiler.errors import TaichiRuntimeError
from ....transpiler.frontend.source.definition import KernelDefinition
from ...arrays.dense_array import DenseArray
from ...arrays.texture import Texture
from ...session.allocation_handle import CLOSED
from ...session.session import Session

OWNED = (DenseArray, Texture)


def check_arguments(definition: KernelDefinition, args: Sequence[Any], session: Session) -> None:
    """Check that all arrays among the arguments of a launch belong to `session`. Raises: TaichiRuntimeError."""
    for position, value in enumerate(args):
        if not isinstance(value, OWNED):
            continue
        owner: Session = value.session
        if owner is not session and owner.epoch != CLOSED:
            name = definition.flat_parameters[position].name
            raise other_session(f"argument `{name}`, {value!r},", owner, f"kernel `{definition.name}`", session)


def check_captured(interface: Interface, fields: Sequence[Any], kernel: str, session: Session) -> None:
    """Check that all fields that a kernel uses belong to `session`. Raises: TaichiRuntimeError.

    fields: by array index, None for parameters.
    """
    for array, field in zip(interface.arrays, fields, strict=True):
        owner = field.session if isinstance(field, DenseArray) else session
        if owner is not session and owner.epoch != CLOSED:
            raise other_session(f"field `{array.name}`", owner, f"kernel `{kernel}`", session)


def other_session(what: str, owner: Session, user: str, session: Session) -> TaichiRuntimeError:
    """Return the error for an array of another session. user: the kernel or graph that takes it."""
    return TaichiRuntimeError(
        f"{what} belongs to {owner.name}, and {user} is called in {session.name}",
        "call it inside `with session:` of the array's session, or pass a copy, `x.to(session)`",
    )
