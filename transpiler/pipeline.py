"""The stages in order, nothing else: specialization -> frontend -> passes -> source. Pure: no device and no clock."""

from __future__ import annotations

from collections.abc import Callable

from .backend.assemble.emit import emit
from .backend.module.compilation import Compilation
from .backend.module.compiled import compilation_of
from .errors import TaichiCompilationError
from .frontend.builders.build import build
from .frontend.source.specialization import Specialization
from .ir.forms import FrontendResult
from .ir.tasks import Kernel
from .ir.text import Form, form_of, frontend_form_of
from .ir.verify import verify
from .passes import PassContext, Stage, run

Observer = Callable[[str, Form], None]
"""Receives the name of a form ("frontend", "lowered", "pass:03:fold", "tasks", "final") and its text with places."""


Frontend = Callable[[Specialization], FrontendResult]
"""Gives a kernel before any pass: `frontend.builders.build`, or one that remembers what that gave."""


def compile_kernel(
    specialization: Specialization,
    target: str,
    observer: Observer | None = None,
    frontend: Frontend = build,
    stage_ended: Callable[[str], None] = lambda stage: None,
) -> Compilation:
    """Turn one specialization of a kernel into source for `target` ("vulkan", "cuda", "c" or "python").

    observer: called with every form that exists on the way; forms are printed only for it. stage_ended: called with
    the name of each stage that has ended ("frontend", "passes", "emit"), for who takes the time.
    Raises: TaichiCompilationError and its subclasses for the user's mistakes, each naming the Python line.
    """
    try:
        return _compile(specialization, target, observer, frontend, stage_ended)
    except RecursionError:
        raise specialization.definition.location().error(
            TaichiCompilationError,
            "The kernel nests deeper than the compiler can follow",
            "unroll fewer turns of a loop with `break`, or split the expression over several variables",
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
        observer("frontend", frontend_form_of(kernel))
    context = PassContext(options, capabilities, _recorder(observer))
    run(kernel, context)
    if options.verify:
        verify(kernel, Stage.FINAL)
    stage_ended("passes")
    if observer is not None:
        observer("final", form_of(kernel))
    module = emit(kernel, target, options, capabilities)
    stage_ended("emit")
    return compilation_of(module, kernel, result, tuple(context.warnings), context.times)


def _recorder(observer: Observer | None) -> Callable[[Stage, str, Kernel], None] | None:
    if observer is None:
        return None
    count = 0

    def record(stage: Stage, step: str, kernel: Kernel) -> None:
        nonlocal count
        count += 1
        form = form_of(kernel)
        observer(f"pass:{count:02d}:{step}", form)
        if step in ("lower", "offload"):
            observer({"lower": "lowered", "offload": "tasks"}[step], form)

    return record
