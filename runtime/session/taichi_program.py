"""The running session by Taichi's names: `get_runtime().prog.config()`, as `ti.lang.impl` gives it to programs."""

from __future__ import annotations

from ...transpiler.ir.types import Scalar
from ..config import Config
from . import session as sessions


class Program:
    """Taichi's `Program`: the current session."""

    __slots__ = ()

    def config(self) -> Config:
        """Return the options of the session, by Taichi's names."""
        return sessions.current().config

    def synchronize(self) -> None:
        """Wait for all launches."""
        sessions.sync()


class Runtime:
    """Taichi's `PyTaichi`: the current session's properties. prog: None before `ti.init()`."""

    __slots__ = ()

    @property
    def prog(self) -> Program | None:
        """The current program, None before `ti.init()`."""
        return _PROGRAM if sessions.active() is not None else None

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
        """Do nothing: fields have memory as soon as they are made."""

    def get_num_compiled_functions(self) -> int:
        """Return how many kernels the session has compiled."""
        return sessions.current().compiled_functions if sessions.active() is not None else 0

    def sync(self) -> None:
        """Wait for all launches."""
        sessions.sync()


_PROGRAM = Program()
