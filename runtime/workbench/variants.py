"""The texts of one specialization side by side: the generated one and those a person made of it.

In: a kernel's arguments. Out: `Variants`, from which `compare`, `bench` and `tune` take modules to run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...transpiler.backend.module.interface import BackendModule
from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.frontend.source.specialization import Specialization
from .slots import Slot

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ..session.session import Session

GENERATED, EDIT, TUNED = "generated", "edit", "tuned"


@dataclass(frozen=True, slots=True)
class Variant:
    """Which text of a kernel runs. variant: "generated", "edit", or the name of a named one.

    digest: of the texts that run. paths: files it comes from, none for the generated text. reason: why it was chosen.
    knobs: constants that a search found, in place of those in the text.
    """

    variant: str
    digest: str
    paths: tuple[Path, ...] = ()
    reason: str = ""
    knobs: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.variant} {self.digest}" + (f" ({self.reason})" if self.reason else "")


def variant_of(module: BackendModule, name: str = GENERATED, paths: Sequence[Path] = (), reason: str = "") -> Variant:
    """Return what is said of a module that runs."""
    return Variant(name, digest_of(module), tuple(paths), reason)


def digest_of(module: BackendModule) -> str:
    """Return a digest of a module's texts."""
    return hashlib.sha256("\x00".join(file.text for file in module.files).encode()).hexdigest()[:12]


def unknown_variant(module: BackendModule, name: str | None, known: Iterable[str], folder: Path) -> TaichiRuntimeError:
    """Return the error for a variant that a kernel has not. known: those it has."""
    names = ", ".join(dict.fromkeys((GENERATED, *known)))
    hint = f"name one of {names}" if names != GENERATED else "`kernel.edit(*args, variant=...)` makes one"
    return TaichiRuntimeError(
        f"kernel `{module.kernel}` has no variant `{name}` for these arguments in {folder}; there are {names}. "
        f"Hint: {hint}"
    )


@dataclass(slots=True)
class Variants:
    """All texts of one specialization. edits: by name, "edit" for the unnamed one; each merged and ready to build.

    kinds: of arguments, as `launcher.make_launcher` takes them. args: bound, packs taken apart. chosen: what a launch
    runs. paths: files of each edit. errors: of edits that cannot run, by name.
    """

    session: Session
    specialization: Specialization
    compilation: Compilation
    kinds: Sequence[str]
    args: tuple[Any, ...]
    slot: Slot
    generated: BackendModule
    edits: dict[str, BackendModule]
    paths: dict[str, tuple[Path, ...]]
    chosen: Variant
    errors: dict[str, Exception] = field(default_factory=dict)

    def module(self, name: str | None = None) -> BackendModule:
        """Return the module of a variant; None: of the one that a launch runs.

        Raises: the edit's own error where it cannot run; TaichiRuntimeError listing the variants there are.
        """
        name = self.chosen.variant if name is None else name
        if name == GENERATED:
            return self.generated
        if name in self.errors:
            raise self.errors[name]
        if name not in self.edits:
            raise unknown_variant(self.generated, name, self.edits, self.slot.folder)
        return self.edits[name]
