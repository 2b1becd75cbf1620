"""What a session needs of the objects that it knows: they have these methods. For annotations only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.backend.module.interface import BackendModule
    from ...transpiler.frontend.source.specialization import Specialization
    from ..config import Config
    from .module_source import Choice, Launch, Recompiled


class Owned(Protocol):
    """An object that lives in a session and is ended with it."""

    def end(self) -> None:
        """Free memory and refuse further use."""


class Watched(Protocol):
    """An object that detects failures of earlier launches."""

    def check(self) -> None:
        """Raise the failure of an earlier launch, if there is one."""


class ModuleSource(Protocol):
    """Decides which module of a kernel runs: the generated one, or an edit of it.

    Kernels can be inspected before `ti.init`, so `digest` and `archived` take a configuration.
    """

    def choose(
        self,
        session: Any,
        specialization: Specialization,
        argument_kinds: Sequence[str],
        compilation: Compilation,
        args: Sequence[Any],
        wanted: str | None = None,
    ) -> Choice:
        """Return what a launch with these arguments runs.

        session: a `Session`. kinds: how a launcher reads each argument. wanted: the name of a variant.
        Raises: TaichiCompilationError for an edit that cannot run; TaichiRuntimeError for a missing variant.
        """

    def follow(
        self, launch: Launch, choice: Choice, kernel: ref[Recompiled], key: Any, config: Config
    ) -> Launch | None:
        """Return a launcher that replaces `launch` because the choice may change; None if it cannot."""

    def digest(self, config: Config, specialization: Specialization, generated: Callable[[], BackendModule]) -> str:
        """Return a digest of the module that replaces the generated one, "" if none does."""

    def archived(
        self, config: Config, specialization: Specialization, module: BackendModule
    ) -> tuple[BackendModule, str]:
        """Return the module for an archive of another device than the session's, and the digest of its edit or ""."""
