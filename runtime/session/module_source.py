"""Which module of a kernel runs: the generated one, or another that takes its place.

In: what a `session.ModuleSource` decides. Out: `Choice`, the module and what is said of it; `GeneratedOnly`, the source
of modules of a session that nobody edits in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ...transpiler.backend.module.compilation import Compilation
from ...transpiler.backend.module.interface import BackendModule

GENERATED, EDIT, TUNED = "generated", "edit", "tuned"
FASTEST = "fastest"
"""What `Kernel.use` takes for the variant that is fastest when measured."""

Launch = Callable[..., Any]
"""Takes the arguments of a kernel, one a leaf, and launches it."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Which source of a kernel runs. variant: "generated", "edit", or the name of a named one.

    digest: of the sources that run. paths: files it comes from, none for the generated source. reason: why it was
    chosen. knobs: constants that a search found, in place of those in the source.
    """

    variant: str
    digest: str
    paths: tuple[Path, ...] = ()
    reason: str = ""
    knobs: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.variant} {self.digest}" + (f" ({self.reason})" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Choice:
    """What runs. known: what is said of it, None for the generated module, of which nobody has asked yet.

    watched: files whose change makes the choice anew; none where nobody can change them. dispatch: where the arguments
    of each launch decide, which variant that is.
    """

    module: BackendModule
    known: Variant | None = None
    watched: tuple[Path, ...] = ()
    dispatch: Callable[[Sequence[Any]], str] | None = None

    @property
    def variant(self) -> Variant:
        """What is said of the module; its digest is computed when it is asked for."""
        return variant_of(self.module) if self.known is None else self.known


class Recompiled(Protocol):
    """A kernel as those see it who have it compiled again. key: what the kernel calls a kind of arguments."""

    def recompile(self, key: Any, args: Sequence[Any]) -> Launch:
        """Compile anew what is launched with such arguments; return what launches it."""

    def launch_of_variant(self, key: Any, args: Sequence[Any], variant: str) -> Launch:
        """Return what launches one variant, compiled when it is first asked for."""


def variant_of(module: BackendModule, name: str = GENERATED, paths: Sequence[Path] = (), reason: str = "") -> Variant:
    """Return what is said of a module that runs."""
    return Variant(name, digest_of(module), tuple(paths), reason)


def digest_of(module: BackendModule) -> str:
    """Return a digest of a module's sources."""
    return hashlib.sha256("\x00".join(file.text for file in module.files).encode()).hexdigest()[:12]


class GeneratedOnly:
    """The source of modules where nothing else is installed (`session.ModuleSource`): all run as they are generated."""

    def choose(
        self,
        session: object,
        specialization: object,
        argument_kinds: Sequence[str],
        compilation: Compilation,
        args: Sequence[Any],
        wanted: str | None = None,
    ) -> Choice:
        """Return the generated module."""
        return Choice(compilation.module)

    def follow(self, launch: Launch, choice: Choice, kernel: Any, key: Any, config: object) -> Launch | None:
        """Return None: nothing changes between launches."""
        return None

    def digest(self, config: object, specialization: object, generated: Callable[[], BackendModule]) -> str:
        """Return "": nothing runs in place of the generated source."""
        return ""

    def archived(self, config: object, specialization: object, module: BackendModule) -> tuple[BackendModule, str]:
        """Return the generated module, and no digest."""
        return module, ""
