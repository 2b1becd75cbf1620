"""The compiler, loaded when the first kernel is compiled: its 40 modules would double the import's time, and a start at
which all kernels are in the cache needs none of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...transpiler.frontend.source.specialization import Specialization

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.ir.text import Form
    from ..config import Config
    from ..session.session import Session
    from ..store.store import Store
    from .fingerprint import Fingerprint
    from .ir_entries import KeptFrontend

PACKAGE = __package__.rsplit(".", 2)[0]


def compile_kernel(
    specialization: Specialization,
    target: str,
    observer: Callable[[str, Form], None] | None = None,
    frontend: KeptFrontend | None = None,
) -> Compilation:
    """Turn a specialization into text; see `transpiler.pipeline.compile_kernel`."""
    pipeline = importlib.import_module(f"{PACKAGE}.transpiler.pipeline")
    given = () if frontend is None else (frontend,)
    compilation: Compilation = pipeline.compile_kernel(specialization, target, observer, *given)
    return compilation


def kept_frontend(store: Store, fingerprint: Fingerprint, name: str) -> KeptFrontend:
    """Return the frontend of one compilation, which looks into the cache; see `cache.kept_ir`."""
    module = importlib.import_module(f"{PACKAGE}.runtime.cache.ir_entries")
    made: KeptFrontend = module.KeptFrontend(store, fingerprint, name)
    return made


def find_or_compile(
    specialization: Specialization,
    target: str,
    config: Config,
    observer: Callable[[str, Form], None] | None = None,
    is_kept: bool = True,
) -> Compilation:
    """Return a kernel's text from the cache, or compile it; see `cache.lookup.find_or_compile`."""
    lookup = importlib.import_module(f"{PACKAGE}.runtime.cache.lookup")
    compilation: Compilation = lookup.find_or_compile(specialization, target, config, observer, is_kept)
    return compilation


def generated_key(specialization: Specialization, target: str, config: Config, session: Session | None) -> str:
    """Return the key of what is generated for a kernel; see `cache.kernel_key.generated_key`."""
    module = importlib.import_module(f"{PACKAGE}.runtime.launch.kernel_key")
    key: str = module.generated_key(specialization, target, config, session)
    return key


def content_key(specialization: Specialization) -> str:
    """Return a digest of all that decides a text; see `transpiler.pipeline.content_key`."""
    key: str = importlib.import_module(f"{PACKAGE}.transpiler.pipeline").content_key(specialization)
    return key
