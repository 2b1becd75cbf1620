"""Every form of a kernel as text: for `kernel.inspect`, `ti.init(print_ir=...)` and the dump folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..transpiler.errors import warn_user
from ..transpiler.frontend.specialization import Specialization
from .compiler import compile_kernel

if TYPE_CHECKING:
    from ..transpiler.backend.interface import BackendModule
    from ..transpiler.ir.text import Form
    from ..transpiler.pipeline import Compilation

NAME_LENGTH = 64
"""Of a kernel's name, in the name of its folder: file systems end at 255 bytes."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """All forms of one specialization.

    forms: by name, in the order they arose. places: of each form, (line of its text, file, line of Python).
    """

    specialization: Specialization
    compilation: Compilation
    forms: dict[str, str]
    places: dict[str, tuple[tuple[int, str, int], ...]]

    @property
    def module(self) -> BackendModule:
        """The emitted text with its interface."""
        return self.compilation.module

    @property
    def source(self) -> str:
        """The emitted text."""
        return self.module.source()

    @property
    def python(self) -> str:
        """The kernel's Python text."""
        return "\n".join(self.specialization.definition.source.lines)

    @property
    def times(self) -> dict[str, float]:
        """Seconds spent in each stage."""
        return self.compilation.times

    def ir(self, stage: str) -> str:
        """Return one form. Raises: KeyError listing the forms there are."""
        if stage == "source":
            return self.source
        if stage == "python":
            return self.python
        if stage not in self.forms:
            raise KeyError(f"no form `{stage}`; there are python, {', '.join(self.forms)}, source")
        return self.forms[stage]

    def __str__(self) -> str:
        parts = [("python", self.python), *self.forms.items(), ("source", self.source)]
        return "\n".join(f"==== {name}\n{text}" for name, text in parts)


def observe(specialization: Specialization, target: str) -> Inspection:
    """Compile for `target` and keep every form on the way."""
    forms: dict[str, Form] = {}
    compilation = compile_kernel(specialization, target, forms.__setitem__)
    forms.setdefault("lowered", forms["frontend"])
    texts = {name: form.text for name, form in forms.items()}
    return Inspection(specialization, compilation, texts, {name: form.places for name, form in forms.items()})


def printing_observer(config: Any, kernel: str) -> Callable[[str, Form], None] | None:
    """Return what prints each form if `print_ir` asks for this kernel, else None."""
    if not config.print_ir or (isinstance(config.print_ir, str) and config.print_ir != kernel):
        return None

    def show(stage: str, form: Form) -> None:
        print(f"==== {kernel}: {stage}\n{form.text}", flush=True)

    return show


def dump(folder: str, module: BackendModule, specialization: Specialization) -> str:
    """Write the emitted files below `folder`, in a folder named by kernel and content; returns that folder.

    The key does not say which globals and closures were read, the text does. Where nothing can be written a warning
    says so: the kernel runs all the same.
    """
    content = hashlib.sha256((specialization.key + module.source()).encode()).hexdigest()
    place = os.path.join(os.path.expanduser(folder), f"{module.kernel[:NAME_LENGTH]}-{content[:12]}")
    try:
        os.makedirs(place, exist_ok=True)
        for file in module.files:
            with open(os.path.join(place, file.name), "w", encoding="utf-8") as opened:
                opened.write(file.text)
    except OSError as error:
        reason = error.strerror or error
        text = f"The emitted files cannot be kept in {place}: {reason}. Hint: name another folder by `dump_dir`"
        warn_user(text)
    return place
