"""Look up a kernel's source in the cache; on a miss, compile and store it.

In: a specialization in a session. Out: `Compilation`, and a reason for every miss in `ti.cache.stats()`. On a hit
nothing of the frontend, the passes and the printers is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from ...transpiler.backend.module.compilation import Compilation
from ...transpiler.errors import warn_user
from ...transpiler.frontend.source.specialization import Specialization
from ..config import Config
from ..devices.target_tools import tools_of
from ..events import CACHE, note
from ..loading import loader
from ..store.stats import COUNTS
from ..store.store import Store, store_of
from .fingerprint import Fingerprint, fingerprint
from .positions import Moved
from .source_entries import Uncacheable, from_entry, to_entry
from .walk import Undescribable

if TYPE_CHECKING:
    from ...transpiler.ir.forms import FrontendResult
    from ...transpiler.ir.text import IRText
    from .ir_entries import CachingFrontend

_ir_entries = loader(".ir_entries", __package__)
STAGE = "text"


class Compile(Protocol):
    """The compiler that runs on a miss: `compiler.compile_source`."""

    def __call__(
        self,
        specialization: Specialization,
        observer: Callable[[str, IRText], None] | None = None,
        frontend: Callable[[Specialization], FrontendResult] | None = None,
    ) -> Compilation:
        """Return the compilation. Raises: TaichiCompilationError and its subclasses."""


def find_or_compile(
    specialization: Specialization,
    config: Config,
    compile: Compile,
    observer: Callable[[str, IRText], None] | None = None,
    is_cacheable: bool = True,
) -> Compilation:
    """Return a kernel's source for the target of its capabilities.

    observer: receives every form of the IR; with an observer the kernel is always compiled.
    is_cacheable: whether the kernel may be cached.
    Raises: TaichiCompilationError and its subclasses.
    """
    name, target = specialization.definition.name, specialization.capabilities.target
    reason = _why_not_looked_up(target, config, observer, is_cacheable) or _unknown_pass(specialization)
    store = store_of(config) if reason is None else None
    if store is None:
        COUNTS.miss(STAGE, name, reason or "offline_cache=False, or no folder that can be trusted")
        COUNTS.frontend_ran()
        return compile(specialization, observer)
    try:
        with COUNTS.key_time():
            found = fingerprint(specialization, target, config)
    except Undescribable as error:
        COUNTS.miss(STAGE, name, str(error))
        COUNTS.frontend_ran()
        return compile(specialization, observer)
    stored = _find(store, found, name)
    if stored is not None:
        return stored
    with store.making(STAGE, found.source_key) as others_came_first:
        stored = _find(store, found, name) if others_came_first else None
        if stored is not None:
            return stored
        return _compile_and_store(specialization, config, compile, observer, store, found)


def _compile_and_store(
    specialization: Specialization,
    config: Config,
    compile: Compile,
    observer: Callable[[str, IRText], None] | None,
    store: Store,
    found: Fingerprint,
) -> Compilation:
    name, target = specialization.definition.name, specialization.capabilities.target
    frontend = _caching_frontend(store, found, name)
    compilation = compile(specialization, observer, frontend)
    with COUNTS.key_time():
        reason = _why_uncacheable(specialization, target, config, found, compilation)
    if reason is None:
        try:
            frontend.store_result()
            store.put(STAGE, found.source_key, *to_entry(compilation, found), name)
        except Uncacheable as error:
            reason = str(error)
    if reason is not None:
        COUNTS.miss(STAGE, name, f"not cached: {reason}")
    return compilation


def _why_not_looked_up(target: str, config: Config, observer: object, is_cacheable: bool) -> str | None:
    """Return why the cache is not used, None if it is."""
    if not is_cacheable:
        return "@ti.kernel(offline_cache=False)"
    if tools_of(target).is_interpreter:
        return "ti.python interprets the kernel itself"
    if observer is not None:
        return "print_ir shows how it is compiled"
    if config.warn_stale_globals:
        return "warn_stale_globals compares what the frontend read"
    return None


def _unknown_pass(specialization: Specialization) -> str | None:
    """Return why passes of the program keep the kernel out of the cache, None if they do not."""
    for own in specialization.options.own_passes:
        if own.unknown:
            return f"the pass `{own.name}` of the program reads `{own.unknown}`, which has no description"
    return None


def _caching_frontend(store: Store, found: Fingerprint, name: str) -> CachingFrontend:
    """Return the frontend of one compilation, which uses the cache; it is imported only for compiling."""
    module: Any = _ir_entries()
    frontend: CachingFrontend = module.CachingFrontend(store, found, name)
    return frontend


def _find(store: Store, found: Fingerprint, name: str) -> Compilation | None:
    start = perf_counter()
    entry = store.get(STAGE, found.source_key, name)
    if entry is None:
        return None
    try:
        compilation = from_entry(entry, found)
    except Moved as error:
        COUNTS.miss(STAGE, name, f"found, but {error}")
        return None
    except (ValueError, KeyError, IndexError, TypeError) as error:
        warn_user(f"The entry of kernel `{name}` in the cache cannot be read: {error}. It is made again and replaced")
        COUNTS.miss(STAGE, name, f"damaged: {error}")
        return None
    compilation.times["cache"] = perf_counter() - start
    note(CACHE, "found on disk", name, start)
    return compilation


def _why_uncacheable(
    specialization: Specialization, target: str, config: Config, before: Fingerprint, compilation: Compilation
) -> str | None:
    """Return why a compiled kernel must not be cached, None if it may be."""
    assert compilation.dependencies is not None
    reason = before.reached(compilation.dependencies)
    if reason is not None:
        return reason
    for function, source in before.functions:
        parsed = function.__dict__.get("_shadesmith_parsed")
        if parsed is not None and any(a != b for a, b in zip(parsed.source.lines, source.lines, strict=False)):
            return f"the source of `{function.__qualname__}` changed while it was compiled"
    after = fingerprint(specialization, target, config)
    if after.source_key != before.source_key:
        return "what it reads changed while it was compiled"
    return None
