"""The stages in order, nothing else: specialization -> frontend -> passes -> text. Pure: no device, no clock in it."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from time import perf_counter
from typing import Any

from .backend.assemble.emit import emit
from .backend.module.compilation import Compilation
from .errors import TaichiCompilationError
from .frontend.builders.build import build
from .frontend.source.specialization import Specialization
from .ir.forms import FrontendResult
from .ir.notes import notes_of
from .ir.snodes import Node, begin_of, digits_of, is_sparse_tree, top_of
from .ir.statements import Array
from .ir.tasks import Kernel
from .ir.text import Form, form_of, frontend_form_of, print_frontend
from .ir.verify import verify
from .passes import PassContext, Stage, run

Observer = Callable[[str, Form], None]
"""Receives the name of a form ("frontend", "lowered", "pass:03:fold", "tasks", "final") and its text with places."""


Frontend = Callable[[Specialization], FrontendResult]
"""Gives a kernel before any pass: `frontend.builders.build`, or one that remembers what that gave."""


def compile_kernel(
    specialization: Specialization, target: str, observer: Observer | None = None, frontend: Frontend = build
) -> Compilation:
    """Turn one specialization of a kernel into text for `target` ("vulkan", "cuda", "c" or "python").

    observer: called with every form that exists on the way; forms are printed only for it.
    Raises: TaichiCompilationError and its kin for the user's mistakes, each naming the Python line.
    """
    try:
        return _compile(specialization, target, observer, frontend)
    except RecursionError:
        raise specialization.definition.location().error(
            TaichiCompilationError,
            "The kernel nests deeper than the compiler can follow",
            "unroll fewer turns of a loop with `break`, or split the expression over several variables",
        ) from None


def content_key(specialization: Specialization) -> str:
    """Return a digest of all that decides the text: the specialization, and what its kernel read while it was built.

    Raises: TaichiCompilationError for the user's mistakes, as compiling does.
    """
    kernel = build(specialization).kernel
    arrays = [f"{array.name} at {_place_text(array)}" for array in kernel.arrays]
    trees = [str(_node_text(top)) for top in kernel.trees if is_sparse_tree(top)]
    material = [specialization.key, print_frontend(kernel), *notes_of(kernel), *arrays, *trees]
    return sha256("\x00".join(material).encode()).hexdigest()[:16]


def _place_text(array: Array) -> str:
    if array.place is None:
        return str(array.offset)
    digits = [tuple(digit) for digit in digits_of(array.place)]
    return f"{array.offset}, {begin_of(array.place)}, {digits}"


def _node_text(node: Node) -> list[Any]:
    return [node.kind, node.axes, node.extents, node.chunk, str(node.element), *map(_node_text, node.children)]


def _compile(specialization: Specialization, target: str, observer: Observer | None, frontend: Frontend) -> Compilation:
    start = perf_counter()
    result = frontend(specialization)
    built = perf_counter()
    kernel = result.kernel
    if observer is not None:
        observer("frontend", frontend_form_of(kernel))
    context = PassContext(specialization.options, specialization.capabilities, _recorder(observer))
    run(kernel, context)
    if specialization.options.verify:
        verify(kernel, Stage.FINAL)
    passed = perf_counter()
    if observer is not None:
        observer("final", form_of(kernel))
    module = emit(kernel, target, specialization.options, specialization.capabilities)
    times = {"frontend": built - start, "passes": passed - built, "emit": perf_counter() - passed}
    warnings = (*result.warnings, *context.warnings)
    added = [(array.node, array.role) for array in kernel.arrays[len(result.fields) :] if array.node is not None]
    beside = dict(enumerate(added, len(result.fields)))
    fields = (*result.fields, *(result.trees[top_of(node)].sparse_memory(node, role) for node, role in added))
    begins = [None if task.loop is None else task.loop.location for task in kernel.tasks]
    loops = tuple(None if place is None else (place.file, place.line) for place in begins)
    return Compilation(module, fields, result.captured, warnings, times, beside, loops, result.read, context.times)


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
