"""`ti.lang.impl`: the running session by Taichi's names: `current_cfg()`, `get_runtime().prog.config()`."""

from __future__ import annotations

from ....transpiler.lang.functions import grouped, one, static, static_assert, static_print, stop_grad, zero
from ...arrays.ndarray import ndarray
from ...config import Config
from ...fields.field import field
from ...session import session as sessions
from ...session.taichi_program import Program, Runtime

__all__ = [
    "Program", "Runtime", "current_cfg", "default_cfg", "field", "get_runtime", "grouped", "ndarray", "one", "static",
    "static_assert", "static_print", "stop_grad", "zero",
]  # fmt: skip


_RUNTIME = Runtime()


def get_runtime() -> Runtime:
    """Return the object that gives access to the running session."""
    return _RUNTIME


def current_cfg() -> Config:
    """Return the options of the session. Raises: TaichiRuntimeError before `ti.init()`."""
    return sessions.current().config


def default_cfg() -> Config:
    """Return all options with their defaults."""
    return Config()
