"""The stages in order: specialization -> frontend -> passes -> source. Pure: no device and no clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .backend.assemble.emit import emit
from .backend.module.compilation import Compilation
from .backend.module.compiled import compilation_of
from .errors import TaichiCompilationError
from .frontend.builders.build import build
from .frontend.source.specialization import Specialization
from .ir.forms import FrontendResult
from .ir.tasks import Kernel, forget_statements
from .ir.text import IRText, frontend_text, kernel_text
from .ir.verify import verify
from .nesting import deep_recursion
from .passes import PassContext, Stage, run

Observer = Callable[[str, IRText], None]
"""Receives the name of a form ("frontend", "lowered", "pass:03:fold", "tasks", "final") and the form with locations."""

Frontend = Callable[[Specialization], FrontendResult]
"""Returns a kernel before any pass: `frontend.builders.build`, or one that caches its results."""


def compile_kernel(
    specialization: Specialization,
    target: str,
    observer: Observer | None = None,
    frontend: Frontend = build,
    stage_ended: Callable[[str], None] = lambda stage: None,
) -> Compilation:
    """Turn one specialization of a kernel into source for `target` ("vulkan", "cuda", "c" or "python").

    Args:
        observer: called with every intermediate form; forms are printed only for it.
        stage_ended: called with the name of each stage at its end ("frontend", "passes", "emit"), for measurements.

    Raises: TaichiCompilationError and its subclasses for the user's mistakes, each with the Python line.
    """
    try:
        with deep_recursion():
            return _compile(specialization, target, observer, frontend, stage_ended)
    except RecursionError:
        raise specialization.definition.location().error(
            TaichiCompilationError,
            "The kernel nests deeper than the compiler can follow",
            "unroll fewer iterations of a loop with `break`, or split the expression over several variables",
        ) from None


def _compile(
    specialization: Specialization,
    target: str,
    observer: Observer | None,
    frontend: Frontend,
    stage_ended: Callable[[str], None],
) -> Compilation:
    options, capabilities = specialization.options, specialization.capabilities
    result = frontend(specialization)
    stage_ended("frontend")
    kernel = result.kernel
    if observer is not None:
        observer("frontend", replace(frontend_text(kernel), flat=kernel_text(kernel)))
    context = PassContext(options, capabilities, _recorder(observer))
    run(kernel, context)
    if options.verify:
        verify(kernel, Stage.FINAL)
    stage_ended("passes")
    if observer is not None:
        observer("final", kernel_text(kernel))
    module = emit(kernel, target, options, capabilities)
    stage_ended("emit")
    compilation = compilation_of(module, kernel, result, tuple(context.warnings), context.times, context.runs)
    if observer is None and module.program is None and not options.own_passes:
        forget_statements(kernel)
    return compilation


def _recorder(observer: Observer | None) -> Callable[[Stage, str, Kernel], None] | None:
    if observer is None:
        return None
    count = 0

    def record(stage: Stage, step: str, kernel: Kernel) -> None:
        nonlocal count
        count += 1
        form = kernel_text(kernel)
        observer(f"pass:{count:02d}:{step}", form)
        if step in ("lower", "offload"):
            observer({"lower": "lowered", "offload": "tasks"}[step], form)

    return record
