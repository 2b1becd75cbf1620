"""The sessions of a process: which of them is current in this thread, and which are open besides the default one.

A thread is in the sessions of its `with` statements; a context variable has them, so each thread and each asyncio task
has its own. `ti.init` makes the default session, which is current in every thread that is in no other.

While no other session is open, launches pay nothing for this: kernels look for observers of calls anyway, and the first
other session adds one to them (`CALL_OBSERVERS`), so that `Kernel._launch_here` gets each call.
"""

from __future__ import annotations

from contextvars import ContextVar
from itertools import count
from typing import Any
from weakref import WeakSet

from ..events import CALL_OBSERVERS

ENTERED: ContextVar[tuple[Any, ...]] = ContextVar("shadesmith_sessions", default=())
"""The sessions of the `with` statements that this thread is in, the innermost last."""

RESTORE: ContextVar[tuple[Any, ...]] = ContextVar("shadesmith_restore", default=())
"""What makes the GPU before current again, for each of these sessions whose device is one of several GPUs."""

OTHERS: WeakSet[Any] = WeakSet()
"""The open sessions that `ti.Session` made."""

NUMBERS = count(1)
"""Numbers of sessions, for messages."""


def _sees_nothing(kernel: object, args: object, kwargs: object) -> None:
    """Let kernels look for observers."""


def add(session: Any) -> None:
    """Remember a session that `ti.Session` made; from now on kernels ask which session is current."""
    OTHERS.add(session)
    if _sees_nothing not in CALL_OBSERVERS:
        CALL_OBSERVERS.append(_sees_nothing)


def remove(session: Any) -> None:
    """Forget a session that is closed; without others kernels ask no more."""
    OTHERS.discard(session)
    if not OTHERS and _sees_nothing in CALL_OBSERVERS:
        CALL_OBSERVERS.remove(_sees_nothing)
