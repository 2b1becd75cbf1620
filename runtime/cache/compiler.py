"""The compile service: from the arguments of a call to the emitted source, for everyone who compiles a kernel.

    specialize(definition, values, options, capabilities)    -> Request: what is compiled, and how a launcher reads it
    find_or_compile(specialization, config)                  -> Compilation, from the cache if possible
    compile_source(specialization)                           -> Compilation, bypassing the cache
    kernel_keys(specialization, config, session)             -> KernelKeys, the cache keys of each stage

The target is that of the specialization's capabilities: the session's or another. The compiler and the cache are loaded
when the first kernel is compiled: their 40 modules would double the time of the import, and a start that finds all
kernels in the cache needs no compiler. Neither of the two imports this module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ...transpiler.frontend.source.definition import KernelDefinition
from ...transpiler.frontend.source.specialization import Specialization
from ...transpiler.lazy_dataclasses import dataclass
from ...transpiler.options import Capabilities, CompileOptions
from ..events import PASS, SINKS, STAGE, note
from ..launch.arguments.classify import classify
from ..loading import loader, without_collections
from ..locks import new_lock

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.ir.forms import FrontendResult
    from ...transpiler.ir.text import IRText
    from ..config import Config
    from ..session.session import Session
    from .kernel_key import KernelKeys

_pipeline = loader("...transpiler.pipeline", __package__)
_content_key = loader("...transpiler.content_key", __package__)
_lookup = loader(".lookup", __package__)
_passes = loader("..passes", __package__)
_kernel_key = loader(".kernel_key", __package__)

PIPELINE = f"{__package__.split('.')[0]}.transpiler.pipeline"
COMPILING = new_lock()
"""Held by the compiling thread: passes set limits of the whole process, and two threads may need the same kernel."""


@dataclass(frozen=True, slots=True)
class Request:
    """What one call compiles. argument_kinds: how a launcher reads each argument (`launcher.make_launcher`)."""

    specialization: Specialization
    argument_kinds: tuple[str, ...]

    @property
    def target(self) -> str:
        """The target of the compilation."""
        return self.specialization.capabilities.target


class StageClock:
    """Measures the time of each stage of a compilation; called with the name of a stage when it has ended.

    times: [s] by stage, in order. ends: when each ended, by `perf_counter` [s].
    """

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self.ends: dict[str, float] = {}
        self._start = perf_counter()

    def __call__(self, stage: str) -> None:
        """Record the time of a stage that has ended."""
        now = perf_counter()
        self.times[stage] = now - self._start
        self.ends[stage] = now
        self._start = now


def specialize(
    definition: KernelDefinition, values: Sequence[Any], options: CompileOptions, capabilities: Capabilities
) -> Request:
    """Return what a call with these values of the flattened parameters compiles; a value may be an annotation.

    Raises: TaichiRuntimeTypeError naming the parameter, the accepted types and the given value.
    """
    options = options_of(definition, options)
    arguments, argument_kinds = classify(definition, values, options)
    return Request(Specialization(definition, arguments, options, capabilities), argument_kinds)


def options_of(definition: KernelDefinition, options: CompileOptions) -> CompileOptions:
    """Return the options of a kernel: those of its session, but for what it has of its own."""
    if definition.fast_math is not None:
        options = replace(options, fast_math=definition.fast_math)
    return _passes().with_passes(options, definition.passes) if definition.passes else options


def compile_source(
    specialization: Specialization,
    observer: Callable[[str, IRText], None] | None = None,
    frontend: Callable[[Specialization], FrontendResult] | None = None,
) -> Compilation:
    """Compile without the cache; see `transpiler.pipeline.compile_kernel`.

    observer: receives every form of the IR. frontend: replaces `frontend.builders.build`.
    Raises: TaichiCompilationError and its subclasses.
    """
    given = {} if frontend is None else {"frontend": frontend}
    with COMPILING, without_collections():
        clock = StageClock()
        compilation: Compilation = _loaded_pipeline().compile_kernel(
            specialization, specialization.capabilities.target, observer, stage_ended=clock, **given
        )
    compilation.times.update(clock.times)
    if SINKS:
        _note(compilation, specialization.definition.name, clock)
    return compilation


def _loaded_pipeline() -> Any:
    if PIPELINE in sys.modules:
        return _pipeline()
    with without_collections(imports=True):
        return _pipeline()


def _note(compilation: Compilation, kernel: str, clock: StageClock) -> None:
    """Note the stages of a compilation and the runs of passes."""
    for stage, seconds in clock.times.items():
        note(STAGE, stage, kernel, clock.ends[stage] - seconds, seconds)
    for run in compilation.runs:
        note(PASS, run.name, kernel, run.start, run.seconds, changed=run.has_changed)


def find_or_compile(
    specialization: Specialization,
    config: Config,
    observer: Callable[[str, IRText], None] | None = None,
    is_cacheable: bool = True,
    on_miss: Callable[[], None] | None = None,
) -> Compilation:
    """Return the cached compilation, or compile; see `cache.lookup.find_or_compile`.

    on_miss: called before a compilation.
    Raises: TaichiCompilationError and its subclasses.
    """

    def compile(*given: Any) -> Compilation:
        if on_miss is not None:
            on_miss()
        return compile_source(*given)

    with COMPILING:
        compilation: Compilation = _lookup().find_or_compile(specialization, config, compile, observer, is_cacheable)
    return compilation


def kernel_keys(specialization: Specialization, config: Config, session: Session | None) -> KernelKeys:
    """Return the keys of a kernel; see `cache.kernel_key`."""
    keys: KernelKeys = _kernel_key().KernelKeys(specialization, config, session, _frontend_key)
    return keys


def _frontend_key(specialization: Specialization) -> str:
    key: str = _content_key().content_key(specialization)
    return key
