"""What all parts of one emission share: the kernel, its target and layout, signatures of functions, taken names."""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from ...ir.functions import Function
from ...ir.nodes import Statement
from ...ir.tasks import Kernel, Task, TaskKind
from ...lazy_dataclasses import dataclass
from ...options import Capabilities, CompileOptions
from ..languages.common.language import Language
from ..languages.common.naming import entry_stem
from ..languages.common.reserved import GENERATED_NAMES, macros
from ..languages.common.reserved import functions as functions_of_tasks
from ..languages.common.target import Target
from ..layout.layout import Layout
from ..layout.signatures import Signature, signatures
from .names import user_names
from .plain_assignments import plain_assignments

PUSH_BYTES = 128
"""Size of push constants if a device does not state it."""


@dataclass(eq=False, slots=True)
class EmitContext:
    """One kernel, printed once for one target.

    name: stem of the names of files and entries.
    by_pointer: whether `Args` is too large for push constants.
    user_names: names with file scope that come from the user.
    taken: names that no local variable may have.
    block_names: the constant of each task that has blocks: the number of their threads.
    plain: operations that are printed as `v = v + w` (`plain_assignments.py`).
    language: of the target.
    in_sections: whether several tasks share a file in sections, of which a compiler takes one at a time.
    file_per_task: whether each task has a file of its own.
    """

    kernel: Kernel
    target: Target
    layout: Layout
    options: CompileOptions
    capabilities: Capabilities
    name: str
    by_pointer: bool
    signatures: dict[Function, Signature]
    user_names: frozenset[str]
    taken: frozenset[str]
    block_names: dict[Task, str] = field(default_factory=dict)
    plain: frozenset[Statement] = frozenset()
    language: Language = field(init=False)
    in_sections: bool = field(init=False)
    file_per_task: bool = field(init=False)

    def __post_init__(self) -> None:
        self.language = self.target.language
        self.in_sections = self.language.file_per_task and self.options.one_file and len(self.kernel.tasks) > 1
        self.file_per_task = self.language.file_per_task and not self.in_sections

    def block_size(self, task: Task) -> str:
        """Return the name of the constant that is the number of threads in a block."""
        return "1" if task.kind is TaskKind.SERIAL else self.block_names.get(task, "BLOCK")

    def threads_of_block(self, task: Task) -> str:
        """Return how many threads a block has, for numbers of iterations."""
        return self.language.block_size if task.few_block else self.block_size(task)

    def lanes(self, task: Task) -> str:
        """Return the name of the number of iterations whose loops run together."""
        is_single = len({task.lane_loops for task in self.kernel.tasks} - {0}) == 1
        return "LANES" if is_single else f"LANES_{task.lane_loops}"

    def has_block_size(self, task: Task) -> bool:
        """Return whether the source of a task has blocks of threads."""
        return task.kind is TaskKind.RANGE_FOR and (task.synchronizes or not self.language.nested_loops)


def emit_context(
    kernel: Kernel, target: Target, layout: Layout, options: CompileOptions, capabilities: Capabilities
) -> EmitContext:
    """Return the context of one emission; adapts `layout` if `Args` is passed by pointer."""
    name = entry_stem(kernel)
    by_pointer = layout.interface.args_size_bytes > (capabilities.max_push_bytes or PUSH_BYTES)
    if by_pointer and target.language.forwards_by_copy:
        layout.report = "Report(args.report)"  # a member of a readonly block cannot be an argument, its copy can
        layout.copies_members = True
        if layout.cells is not None:
            layout.cells.wraps = True
    constants = macros(len(kernel.tasks))
    own = user_names(layout, ())
    taken = target.language.reserved.union(target.referenced, GENERATED_NAMES, constants, own)
    tasks = functions_of_tasks(name, len(kernel.tasks))
    of_functions: dict[Function, Signature] = {}
    if kernel.functions:
        of_functions = signatures(kernel, target, taken.union(target.language.functions, tasks))
        own = user_names(layout, of_functions.values())
    context = EmitContext(
        kernel, target, layout, options, capabilities, name, by_pointer, of_functions, own, taken.union(own, tasks)
    )
    if target.language.has_tensor_assignment and not target.language.has_vectors:
        context.plain = plain_assignments(kernel)
    context.block_names = _block_names(context)
    return context


def _block_names(context: EmitContext) -> dict[Task, str]:
    """Return the constant of each task that has blocks: BLOCK for the size of most, BLOCK_2 for another of task 2."""
    numbered = [(k, task) for k, task in enumerate(context.kernel.tasks) if context.has_block_size(task)]
    if context.language.file_per_task or not numbered:
        return {task: "BLOCK" for _, task in numbered}
    ((usual, _),) = Counter(task.block_dim for _, task in numbered).most_common(1)
    return {task: "BLOCK" if task.block_dim == usual else f"BLOCK_{k}" for k, task in numbered}
