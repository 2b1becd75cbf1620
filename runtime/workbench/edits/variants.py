"""All sources of one specialization: the generated one and its edits.

In: a kernel's arguments. Out: `Variants`, from which `compare`, `bench` and `tune` take modules to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import TaichiRuntimeError
from ....transpiler.frontend.source.specialization import Specialization
from ...cache.compiler import compile_source
from ...session.module_source import EDIT, GENERATED, TUNED, Variant, digest_of, variant_of
from .slots import Slot

if TYPE_CHECKING:
    from ....transpiler.backend.module.compilation import Compilation
    from ...session.session import Session
    from .proposals import Proposal

TEMPLATES = "templates"
"""The variant of the templates of a project (`ti.init(templates_dir=...)`)."""


def unknown_variant(module: BackendModule, name: str | None, known: Iterable[str], folder: Path) -> TaichiRuntimeError:
    """Return the error for a variant that a kernel does not have. known: those that it has."""
    names = ", ".join(dict.fromkeys((GENERATED, *known)))
    hint = f"name one of {names}" if names != GENERATED else "`kernel.edit(*args, variant=...)` writes one"
    files = (Slot(folder).path(file.name, "" if name == EDIT else name or "") for file in module.files)
    if copy := next(filter(Path.is_file, files), None):
        hint = f"{copy.name} there is an unchanged copy of the generated source: change it first"
    return TaichiRuntimeError(
        f"kernel `{module.kernel}` has no variant `{name}` for these arguments in {folder}; there are {names}", hint
    )


@dataclass(slots=True)
class Variants:
    """All sources of one specialization. edits: by name, "edit" for the unnamed one; each merged and ready to build.

    kinds: of arguments, as `launcher.make_launcher` takes them. args: bound, packs flattened. chosen: what a launch
    runs. paths: files of each edit. errors: of edits that cannot run, by name. proposals: merges
    that a launch does not run before somebody accepts them, by name of the edit.
    """

    session: Session
    specialization: Specialization
    compilation: Compilation
    argument_kinds: Sequence[str]
    args: tuple[Any, ...]
    slot: Slot
    generated: BackendModule
    edits: dict[str, BackendModule]
    paths: dict[str, tuple[Path, ...]]
    chosen: Variant
    errors: dict[str, Exception] = field(default_factory=dict)
    proposals: dict[str, list[Proposal]] = field(default_factory=dict)

    def module(self, name: str | None = None) -> BackendModule:
        """Return the module of a variant; None: of the one that a launch runs.

        Raises: the edit's own error if it cannot run; TaichiRuntimeError with the variants that exist.
        """
        name = self.chosen.variant if name is None else name
        if name == GENERATED:
            return self.generated
        if name in self.errors:
            raise self.errors[name]
        if name not in self.edits:
            raise unknown_variant(self.generated, name, self.edits, self.slot.folder)
        return self.edits[name]


def with_templates(variants: Variants, names: Sequence[str] | None) -> Variants:
    """Return what to compare or time: with the variant `templates` if it is named, or if there is no other edit.

    names: the variants that the user names, None for none.
    """
    given = variants.specialization
    own = given.options.own_templates
    is_wanted = not variants.paths and not variants.errors if names is None else TEMPLATES in names
    if not own or not is_wanted or TEMPLATES in variants.paths:
        return variants
    plain = replace(given, options=replace(given.options, own_templates=()))
    compilation = compile_source(plain)
    paths = tuple(Path(template.path) for template in own)
    return replace(
        variants,
        specialization=plain,
        compilation=compilation,
        generated=compilation.module,
        edits={TEMPLATES: variants.generated},
        paths={TEMPLATES: paths},
        chosen=variant_of(variants.generated, TEMPLATES, paths),
        errors={},
        proposals={},
    )


__all__ = [
    "EDIT",
    "GENERATED",
    "TEMPLATES",
    "TUNED",
    "Variant",
    "Variants",
    "digest_of",
    "unknown_variant",
    "variant_of",
    "with_templates",
]
