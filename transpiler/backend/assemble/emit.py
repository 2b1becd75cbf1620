"""Turns a kernel in final form into a `BackendModule`: the source files, and the interface by which a launcher packs.

In: a kernel, a target's name, options, capabilities. Out: sources that depend on nothing else. Printers make lines,
templates arrange them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from ...ir.functions import reachable
from ...ir.statements import Operation
from ...ir.tasks import Choice, Kernel
from ...ir.text import print_kernel
from ...options import Capabilities, CompileOptions
from ..languages.c.language import C
from ..languages.common.language import Language
from ..languages.common.naming import entry_stem
from ..languages.common.target import Target
from ..languages.registry import LANGUAGES
from ..layout.layout import Layout, layout
from ..layout.task_memory import memory_of
from ..layout.trip_counts import NONE, choices_on_host, divisors_on_host, loop_indices, serial_trip_count
from ..module.interface import BackendModule, Expression, SourceFile, TaskSource
from .context import PUSH_BYTES, EmitContext, emit_context
from .files import FileAssembler
from .shared_functions import share_functions
from .tasks import PrintedTask, TaskPrinter

__all__ = ["emit"]


def emit(kernel: Kernel, target: str, options: CompileOptions, capabilities: Capabilities) -> BackendModule:
    """Return the source and the interface of `kernel` for `target` ("vulkan", "cuda", "c" or "python").

    Raises: InternalError if a statement cannot be printed, which is a fault of the passes before.
    """
    if target == "python":
        return _for_interpreter(kernel, options)
    language = _reporting(LANGUAGES[target]) if capabilities.reports_overflow else LANGUAGES[target]
    settings = Target(language, exact=not options.fast_math, offsets=options.argument_offsets)
    while True:
        form = layout(kernel, settings, volatile=capabilities.volatile_vectors)
        if form.divisors:
            form.interface = replace(form.interface, divisors=divisors_on_host(form))
            if not language.has_pointers and _fits_without_divisors(form, capabilities):
                _divide_without_launch(kernel)
                continue
        context = emit_context(kernel, settings, form, options, capabilities)
        module, hidden = _print_module(context)
        if hidden <= settings.referenced:
            return module
        settings = replace(settings, referenced=settings.referenced | hidden)


def _fits_without_divisors(form: Layout, capabilities: Capabilities) -> bool:
    """Return whether arguments are push constants only if there are no divisors among them: others are in memory."""
    limit = capabilities.max_push_bytes or PUSH_BYTES
    return form.interface.without_divisors().args_size_bytes <= limit < form.interface.args_size_bytes


def _divide_without_launch(kernel: Kernel) -> None:
    """Remove the marks of `launch_divisors`."""
    for statement in kernel.statements():
        if isinstance(statement, Operation):
            statement.by_launch = False
    for loop in [task.loop for task in kernel.tasks if task.loop is not None]:
        loop.packs_divisors = False


@cache
def _reporting(language: Language) -> Language:
    """Return a language whose sums that wrap are reported."""
    return replace(language, reports_overflow=True)


def _print_module(context: EmitContext) -> tuple[BackendModule, set[str]]:
    """Return the module, and the names in its files that a user's name hides although the files reference them."""
    kernel, language = context.kernel, context.language
    printer = TaskPrinter(context)
    shared = share_functions(context)
    own = {function: printer.function(function) for function in kernel.functions if function not in shared}
    files = FileAssembler(context, {**own, **shared})
    printed = [printer.task(task, number) for number, task in enumerate(kernel.tasks)]
    groups = [[task] for task in printed] if context.file_per_task or not printed else [printed]
    holds = choices_on_host(context.layout, kernel.tasks)
    module = BackendModule(
        kernel.name,
        language.target,
        tuple(files.file(group, number) for number, group in enumerate(groups)),
        tuple(_task_source(context, p, p.number if context.file_per_task else 0, holds) for p in printed),
        context.layout.interface,
        _tool_options(context.options),
    )
    if any(signature.is_recursive for signature in context.signatures.values()):
        module.options["recursive"] = True  # CUDA needs a larger stack
    return module, files.referenced & (context.user_names | printer.local_names())


def _task_source(context: EmitContext, p: PrintedTask, file: int, holds: dict[Choice, Expression]) -> TaskSource:
    """Return the record of a task. file: index of its source. holds: each choice of the kernel."""
    form: Layout = context.layout
    is_limited = context.capabilities.loop_iteration_limit is not None
    trip_count = serial_trip_count(form, p.task.body) if is_limited else NONE
    reads, writes = p.memory
    return TaskSource(
        name=p.task.name,
        kind=p.task.kind.value,
        entry=p.entry,
        file=file,
        block_dim=1 if p.threads is None else p.task.block_dim,
        extents=_extents(form, p, holds),
        reads=reads,
        writes=writes,
        strided=p.grid.is_strided,
        few_block=p.task.few_block,
        serial_turns=None if trip_count[0] == "const" else trip_count,
        items=p.items,
        loop=None if p.task.loop is None else loop_indices(form, p.task.loop, p.names),
    )


def _extents(form: Layout, p: PrintedTask, holds: dict[Choice, Expression]) -> tuple[Expression, ...] | None:
    """Return the trip counts of a task, 0 if choices leave it out, at least 1 if a serial task has become its end."""
    if p.threads is None:
        return (("const", 1),)
    extents = p.threads.extents
    if p.task.choices:
        assert extents is not None
        first = extents[0]
        for choice in reversed(p.task.unless):
            first = ("select", holds[choice], NONE, first)
        for choice in reversed(p.task.when):
            first = ("select", holds[choice], first, NONE)
        return (first, *extents[1:])
    if not p.task.ends_alone or extents is None:
        return extents
    return tuple(("const", max(e[1], 1)) if e[0] == "const" else ("max", e, ("const", 1)) for e in extents)


def _tool_options(options: CompileOptions) -> dict[str, Any]:
    return {"fast_math": options.fast_math, "debug": options.debug}


def _for_interpreter(kernel: Kernel, options: CompileOptions) -> BackendModule:
    """Return the module of the interpreter: its source is the final form of the IR, its arguments are those of C."""
    form = layout(kernel, Target(C), complete=True)
    name = entry_stem(kernel)
    tasks = []
    for number, task in enumerate(kernel.tasks):
        reads, writes = memory_of(task, reachable(task.body))
        tasks.append(TaskSource(task.name, task.kind.value, f"{name}_{number}", 0, 1, None, reads, writes))
    files = (SourceFile(f"{name}.ir", print_kernel(kernel)),)
    return BackendModule(kernel.name, "python", files, tuple(tasks), form.interface, _tool_options(options), kernel)
