"""Which module of a kernel runs: the generated one, or another that takes its place.

In: the decision of a `session.ModuleSource`. Out: `Choice`, the module and its description; `GeneratedOnly`, the source
of modules of a session without edits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from ...transpiler.backend.module.compilation import Compilation
from ...transpiler.backend.module.interface import BackendModule
from ...transpiler.lazy_dataclasses import dataclass

GENERATED, EDIT, TUNED = "generated", "edit", "tuned"
FASTEST = "fastest"
"""The argument of `Kernel.use` that selects the variant with the shortest measured time."""
RESERVED = (GENERATED, EDIT, FASTEST)
"""What `Kernel.use` takes besides names of variants: a variant of this name could never run."""

Stamp = tuple[int, int, int]
"""When a file and its permissions were changed [ns], and its size [bytes]."""
Launch = Callable[..., Any]
"""Takes the flattened arguments of a kernel and launches it."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Which source of a kernel runs.

    variant: "generated", "edit", or the name of a named variant.
    digest: of the sources that run.
    paths: files it comes from, none for the generated source.
    reason: why it was chosen.
    knobs: values of tuning parameters that a search found, in place of those in the source.
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
    """The module that runs.

    selected: the variant that was selected; None for the generated module, whose digest is computed on demand.
    watched: files whose change repeats the choice. seen: when they were changed, as it was before they were read.
    dispatch: returns the name of the variant for the arguments of a launch, if they decide.
    active: the module with the macros of its sources active, None if it has none or they are off.
    """

    module: BackendModule
    selected: Variant | None = None
    watched: tuple[Path, ...] = ()
    dispatch: Callable[[Sequence[Any]], str] | None = None
    active: BackendModule | None = None
    seen: Mapping[Path, Stamp | None] = field(default_factory=dict)

    @property
    def launched(self) -> BackendModule:
        """The module that a launch runs: the one with active macros, if there is one."""
        return self.module if self.active is None else self.active

    @property
    def variant(self) -> Variant:
        """The variant that runs; the digest of the generated module is computed here."""
        return variant_of(self.module) if self.selected is None else self.selected


class Recompiled(Protocol):
    """A kernel that can be recompiled. key: identifies one set of argument types in the kernel."""

    def recompile(self, key: Any, args: Sequence[Any]) -> Launch:
        """Recompile what is launched with such arguments; return the new launcher."""

    def launch_of_variant(self, key: Any, args: Sequence[Any], variant: str) -> Launch:
        """Return the launcher of one variant, compiled on the first call."""


def variant_of(module: BackendModule, name: str = GENERATED, paths: Sequence[Path] = (), reason: str = "") -> Variant:
    """Return the description of a module that runs."""
    return Variant(name, digest_of(module), tuple(paths), reason)


def digest_of(module: BackendModule) -> str:
    """Return a digest of a module's sources."""
    return hashlib.sha256("\x00".join(file.text for file in module.files).encode()).hexdigest()[:12]


class GeneratedOnly:
    """The default source of modules (`session.ModuleSource`): every kernel runs its generated module."""

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
        """Return "": the generated source is never replaced."""
        return ""

    def archived(self, config: object, specialization: object, module: BackendModule) -> tuple[BackendModule, str]:
        """Return the generated module, and no digest."""
        return module, ""
