"""`ti.lang.impl`: the running session by Taichi's names: `current_cfg()`, `get_runtime().prog.config()`."""

from __future__ import annotations

from ....transpiler.ir.types import Scalar
from ....transpiler.lang.functions import grouped, one, static, static_assert, static_print, stop_grad, zero
from ...arrays.ndarray import ndarray
from ...config import Config
from ...fields.field import field
from ...session import session as sessions

__all__ = [
    "Program", "Runtime", "current_cfg", "default_cfg", "field", "get_runtime", "grouped", "ndarray", "one", "static",
    "static_assert", "static_print", "stop_grad", "zero",
]  # fmt: skip


class Program:
    """Taichi's `Program`: the session that runs now."""

    __slots__ = ()

    def config(self) -> Config:
        """Return the options of the session, by Taichi's names."""
        return sessions.current().config

    def synchronize(self) -> None:
        """Wait for all launches."""
        sessions.sync()


class Runtime:
    """Taichi's `PyTaichi`: what programs ask of the running session. prog: None before `ti.init()`."""

    __slots__ = ()

    @property
    def prog(self) -> Program | None:
        """The program that runs, None before `ti.init()`."""
        return _PROGRAM if sessions.CURRENT is not None else None

    @property
    def default_fp(self) -> Scalar:
        """Type of float literals."""
        return sessions.default_types()[0]

    @property
    def default_ip(self) -> Scalar:
        """Type of integer literals."""
        return sessions.default_types()[1]

    @property
    def default_up(self) -> Scalar:
        """Default unsigned type."""
        return sessions.default_types()[2]

    def materialize(self) -> None:
        """Return at once: fields have memory from the moment they are made."""

    def get_num_compiled_functions(self) -> int:
        """Return how many kernels the session has compiled."""
        return sessions.current().compiled_functions if sessions.CURRENT is not None else 0

    def sync(self) -> None:
        """Wait for all launches."""
        sessions.sync()


_PROGRAM = Program()
_RUNTIME = Runtime()


def get_runtime() -> Runtime:
    """Return the object through which the running session is asked."""
    return _RUNTIME


def current_cfg() -> Config:
    """Return the options of the session. Raises: TaichiRuntimeError before `ti.init()`."""
    return sessions.current().config


def default_cfg() -> Config:
    """Return all options with their defaults."""
    return Config()
