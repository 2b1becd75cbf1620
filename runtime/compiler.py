"""The compiler, loaded by `ti.init` or the first look at a kernel: its 40 modules would double the import's time."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..transpiler.frontend.specialization import Specialization

if TYPE_CHECKING:
    from ..transpiler.ir.text import Form
    from ..transpiler.compilation import Compilation

PACKAGE = __package__.rpartition(".")[0]
LANGUAGES = {"vulkan": "glsl", "cuda": "cuda", "c": "c"}


def compile_kernel(
    specialization: Specialization, target: str, observer: Callable[[str, Form], None] | None = None
) -> Compilation:
    """Turn a specialization into text; see `transpiler.pipeline.compile_kernel`."""
    pipeline = importlib.import_module(f"{PACKAGE}.transpiler.pipeline")
    compilation: Compilation = pipeline.compile_kernel(specialization, target, observer)
    return compilation


def content_key(specialization: Specialization) -> str:
    """Return a digest of all that decides a text; see `transpiler.pipeline.content_key`."""
    key: str = importlib.import_module(f"{PACKAGE}.transpiler.pipeline").content_key(specialization)
    return key


def prepare(target: str) -> None:
    """Load the compiler and the templates of a target, so that the first launch need not."""
    importlib.import_module(f"{PACKAGE}.transpiler.pipeline")
    if target in LANGUAGES:
        importlib.import_module(f"{PACKAGE}.transpiler.backend.render").prepare(LANGUAGES[target])
