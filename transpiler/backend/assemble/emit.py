"""Turns a kernel in final form into a `BackendModule`: the text of each file and the interface a launcher packs by.

In: tasks, a target's name, options, capabilities. Out: texts that depend on nothing else. Printers make lines, the
templates arrange them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from textwrap import wrap
from typing import Any

from ...errors import NOWHERE, SourceLocation
from ...ir.functions import Call, Function, called, reachable
from ...ir.nodes import Block, Statement
from ...ir.sparse import TOPOLOGY_WRITERS
from ...ir.statements import (
    RECORDS,
    Array,
    AtomicOp,
    Rand,
    RangeFor,
    Return,
    While,
)
from ...ir.tasks import Kernel, Task, TaskKind, with_members
from ...ir.text import print_kernel
from ...ir.textures import TEXTURE_STATEMENTS, describe_texture
from ...ir.threads import ThreadIndex, has_full_blocks
from ...ir.types import Struct, u1, u32
from ...options import Capabilities, CompileOptions
from ..languages.c.language import C
from ..languages.common.naming import Names, bound_name, entry_stem
from ..languages.common.reserved import OURS, macros
from ..languages.common.reserved import functions as functions_of_tasks
from ..languages.common.signatures import signatures
from ..languages.common.symbols import Symbols
from ..languages.common.syntax import extensions, helper_identifiers, helpers_source
from ..languages.common.target import Target
from ..languages.glsl.float_controls import EXTENSION as FLOAT_CONTROLS
from ..languages.glsl.float_controls import execution_modes
from ..languages.registry import LANGUAGES
from ..layout.accessors import UsedMemory, definitions
from ..layout.layout import Declaration, Layout, array_type, has_matrix, has_vector, layout
from ..layout.task_memory import memory_of, pointers_of
from ..module.interface import BackendModule, Interface, SourceFile, TaskSource
from ..module.random_stream import task_seed
from ..print.blocks import (
    HAS_ITERATION,
    LANES,
    BlockForm,
    block_form,
    block_parameters,
    declare_per_thread,
    declare_shared,
)
from ..print.blocks import WRITERS as BLOCK_WRITERS
from ..print.early_returns import leave_by_loop
from ..print.expressions import Expressions
from ..print.functions import WRITERS as CALL_WRITERS
from ..print.functions import PrintedFunction, print_function, prototypes, return_writer
from ..print.iteration_order import part_names
from ..print.line_map import PrintedBody, line_map
from ..print.placement import Placement, place
from ..print.remarks import inert
from ..print.reports import WRITERS as REPORT_WRITERS
from ..print.reports import stop_after_failure
from ..print.sparse import WRITERS as CELL_WRITERS
from ..print.sparse import purpose_of
from ..print.statements import INDENT, Line, Statements, basename, declare_axis, infix_symbol, python_comment
from ..print.statements import WRITERS as STATEMENT_WRITERS
from ..print.textures import WRITERS as TEXTURE_WRITERS
from ..print.textures import declarations
from ..print.threads import (
    Threads,
    indices_in_block,
    is_vectorized,
    loop_indices,
    nest,
    pragma,
    spread,
    spread_blocks,
)
from .grid_stride import Grid, grid_of
from .headers import headers, member_types
from .render import render
from .shadowed_names import names_referenced, user_names
from .trip_counts import NONE, serial_turns

PUSH_BYTES = 128
"""Room for arguments in push constants where a device does not say."""
EFFECTS: dict[type, Callable[..., None]] = {
    **STATEMENT_WRITERS, **REPORT_WRITERS, **CALL_WRITERS, **BLOCK_WRITERS, **CELL_WRITERS, **TEXTURE_WRITERS
}  # fmt: skip
NOT_IN_VECTORS = (AtomicOp, Rand, *TOPOLOGY_WRITERS, *RECORDS, *TEXTURE_STATEMENTS)
"""What compilers cannot do for several turns at once."""
COLUMNS = 120


@dataclass(slots=True)
class _Printed:
    """One task as text."""

    task: Task
    number: int
    function: str
    entry: str
    body: list[Line]
    names: list[str]
    prologue: list[str]
    threads: Threads | None
    grid: Grid
    parameters: list[str]
    arguments: list[str]
    uses_args: bool
    entry_uses_args: bool
    used: UsedMemory
    structs: list[Struct]
    helpers: list[str]
    symbols: Symbols
    functions: list[Function]
    block: BlockForm | None
    shared: list[str]


def emit(kernel: Kernel, target: str, options: CompileOptions, capabilities: Capabilities) -> BackendModule:
    """Return the text and the interface of `kernel` for `target` ("vulkan", "cuda", "c" or "python").

    Raises: InternalError if a statement has no text, which is a fault of the passes before.
    """
    if target == "python":
        return _for_interpreter(kernel, options)
    row = Target(LANGUAGES[target], exact=not options.fast_math)
    while True:
        form = layout(kernel, row, volatile=capabilities.volatile_vectors)
        printer = _Printer(kernel, row, form, options, capabilities)
        module = printer.module()
        hidden = printer.hidden()
        if hidden <= row.needed:
            return module
        row = replace(row, needed=row.needed | hidden)


def _tool_options(options: CompileOptions) -> dict[str, Any]:
    return {"fast_math": options.fast_math, "debug": options.debug}


def _for_interpreter(kernel: Kernel, options: CompileOptions) -> BackendModule:
    """The interpreter takes the kernel itself; its text is the final form of the IR, its arguments are as in C."""
    form = layout(kernel, Target(C), complete=True)
    name = entry_stem(kernel)
    tasks = []
    for number, task in enumerate(kernel.tasks):
        reads, writes = memory_of(task)
        tasks.append(TaskSource(task.name, task.kind.value, f"{name}_{number}", 0, 1, None, reads, writes))
    files = (SourceFile(f"{name}.ir", print_kernel(kernel)),)
    return BackendModule(kernel.name, "python", files, tuple(tasks), form.interface, _tool_options(options), kernel)


class _Printer:
    """Prints the tasks of one kernel for one target."""

    def __init__(
        self, kernel: Kernel, target: Target, form: Layout, options: CompileOptions, capabilities: Capabilities
    ) -> None:
        self.kernel, self.target, self.language, self.form = kernel, target, target.language, form
        self.options, self.capabilities = options, capabilities
        self.name = entry_stem(kernel)
        self.by_pointer = form.interface.args_size_bytes > (capabilities.max_push_bytes or PUSH_BYTES)
        if self.by_pointer and target.language.forwards_by_copy:
            form.report = "Report(args.report)"  # a member of a readonly block cannot be passed on, its copy can
            if form.cells is not None:
                form.cells.wraps = True
        blocks = macros(task.block_dim for task in kernel.tasks)
        taken = target.language.reserved | target.needed | OURS | blocks | user_names(form, ())
        tasks = functions_of_tasks(self.name, len(kernel.tasks))
        self.signatures = signatures(kernel, target, taken | target.language.functions | tasks)
        self.own = user_names(form, self.signatures.values())
        self.taken = taken | self.own
        self.needed: set[str] = set()
        self.locals: list[Names] = []
        self.functions = {function: self._function(function) for function in kernel.functions}

    def module(self) -> BackendModule:
        """Print all tasks and their files."""
        printed = [self.task(task, number) for number, task in enumerate(self.kernel.tasks)]
        groups = [[task] for task in printed] if self.language.file_per_task or not printed else [printed]
        files = tuple(self.file(group, number) for number, group in enumerate(groups))
        places = [p.number if self.language.file_per_task else 0 for p in printed]
        tasks = tuple(_task_source(p, k, self.form, self.capabilities) for p, k in zip(printed, places, strict=True))
        tool_options = _tool_options(self.options)
        if any(signature.is_recursive for signature in self.signatures.values()):
            tool_options["recursive"] = True  # CUDA needs a larger stack
        return BackendModule(self.kernel.name, self.language.target, files, tasks, self.form.interface, tool_options)

    def hidden(self) -> set[str]:
        """Return the names given in the files printed that hide what these files call by the same word."""
        return self.needed & self.own.union(*(names.given for names in self.locals))

    def task(self, task: Task, number: int) -> _Printed:
        """Print one task: the function of one turn, and what the entry computes before it."""
        # A language that prints loops leaves them to the host's threads.
        grid = Grid() if self.language.nested_loops else grid_of(task, self.form, self.capabilities.max_groups)
        single = len(self.kernel.tasks) == 1 or self.language.file_per_task
        body, names, statements = self._body(task, number)
        prologue, threads, entry_uses_args, entry_helpers = self._entry(task, number, names)
        loop, linear = task.loop, statements.e.index
        block: BlockForm | None = statements.e.block
        counted = any(
            isinstance(s, (Rand, *RECORDS)) or (isinstance(s, ThreadIndex) and s.kind == "global")
            for s in reachable(task.body)
        )
        unsigned = statements.e.type_text(u32) if counted and loop is not None else ""
        symbols = statements.e.symbols
        symbols.add(entry_helpers.symbols)
        used = [k for k in range(len(names)) if loop is not None and (loop, k) in statements.e.indices_used]
        parameters = [f"int {names[k]}" for k in used] + ([f"{unsigned} {linear}"] if counted and threads else [])
        arguments = [*(threads.indices[k] for k in used), *([threads.linear] if counted else [])] if threads else []
        if block is not None:
            is_counted = grid.is_strided or (block.has_barrier and grid.is_folded)  # the entry names how many there are
            more = block_parameters(block, "count" if is_counted else threads.count if threads else "")
            as_loops = block.as_loops
            parameters = [*([] if as_loops else parameters), *(parameter for parameter, _ in more)]
            arguments = [*([] if as_loops else arguments), *(argument for _, argument in more)]
        return _Printed(
            task=task,
            number=number,
            function="task" if single else f"task_{number}",
            entry="main" if self.language.file_per_task else f"{self.name}_{number}",
            body=body,
            names=names,
            prologue=prologue,
            threads=threads,
            grid=grid,
            parameters=parameters,
            arguments=arguments,
            block=block,
            shared=declare_shared(statements.e, _shared(statements.e)),
            uses_args=statements.e.uses_args,
            entry_uses_args=entry_uses_args,
            used=statements.e.used.with_all([entry_helpers.used]),
            structs=[*statements.e.structs_used, *entry_helpers.structs_used],
            helpers=[*statements.e.helpers, *entry_helpers.helpers],
            symbols=symbols,
            functions=called(task.body),
        )

    def _function(self, function: Function) -> PrintedFunction:
        """Print a real function: once, however many files need it."""
        placement = place([(function.body, [])], self._is_infix)
        printer = self._statements(placement, {**EFFECTS, Return: return_writer(function)})
        return print_function(function, printer, self.capabilities.branch_depth_limit)

    def _is_infix(self, operation: Any) -> bool:
        return infix_symbol(self.target, operation) is not None

    def _statements(self, placement: Placement, writers: Mapping[type, Callable[..., None]] = EFFECTS) -> Statements:
        expressions = Expressions(self.target, self.form)
        expressions.signatures = self.signatures
        comments, atomics = self.options.line_comments, self.capabilities.atomics
        names = Names(self.taken)
        self.locals.append(names)
        printer = Statements(expressions, placement, names, comments, atomics, writers)
        printer.result_names = [member.name for member in self.form.result_members]
        printer.explains = self.options.why_comments
        printer.shared_atomics = self.capabilities.shared_atomics
        printer.declare_per_thread = declare_per_thread
        return printer

    def _body(self, task: Task, number: int) -> tuple[list[Line], list[str], Statements]:
        block = Block([*task.prologue.statements, *task.body.statements])
        printer = self._statements(place([(block, [])], self._is_infix))
        names: list[str] = []
        if task.loop is not None:
            for axis in range(len(task.loop.starts)):
                names.append(declare_axis(printer.names, task.loop, axis))
                printer.e.loop_names[task.loop, axis] = names[axis]
            printer.e.index = printer.names.declare("index")
            printer.commented.add((task.loop.location.file, task.loop.location.line))
        if task.synchronizes and task.loop is not None:
            self._start_block(printer, task, names)
        if any(isinstance(s, Rand) for s in reachable(task.body)):
            _start_random(printer, number)
        if any(self.signatures[function].may_fail for function in called(task.body)):
            _start_checks(printer)
        if task.loop is None:
            stop_after_failure(printer, number)
        printer.block(block)
        leave_by_loop(printer, self.capabilities.branch_depth_limit)
        if self.language.has_pointers:
            declared = declare_shared(printer.e, _shared(printer.e))
            printer.lines[:0] = [Line(0, line) for line in declared]
        return printer.lines, names, printer

    def _start_block(self, printer: Statements, task: Task, names: list[str]) -> None:
        """Tell the printer that the threads of this task work together."""
        assert task.loop is not None
        as_loops = self.capabilities.blocks_as_loops
        form = block_form(task, self._size(task), as_loops, has_full_blocks(task))
        printer.e.block = form
        if not as_loops:
            for word in (HAS_ITERATION, LANES):
                printer.names.declare(word)
            form.axes = [(name, name) for name in names]
            return
        for word in ("block", "count", "thread", "threads"):
            printer.names.declare(word)
        form.axes = list(zip(names, indices_in_block(printer.e, task.loop, form.index), strict=True))
        printer.e.index = f"(uint32_t)({form.index})"
        if not form.is_full:
            rest = f"count - block * {form.size}"
            printer.lines.append(Line(0, f"int threads = {rest} < {form.size} ? {rest} : {form.size};"))

    def _size(self, task: Task) -> str:
        """Return the constant that says how many threads a block has."""
        if task.kind is TaskKind.SERIAL:
            return "1"
        printed = [task] if self.language.file_per_task else self.kernel.tasks
        sizes = {other.block_dim for other in printed if self._has_size(other)}
        return "BLOCK" if len(sizes) == 1 else f"BLOCK_{task.block_dim}"

    def _has_size(self, task: Task) -> bool:
        return task.kind is TaskKind.RANGE_FOR and (task.synchronizes or not self.language.nested_loops)

    def _entry(self, task: Task, number: int, names: list[str]) -> tuple[list[str], Threads | None, bool, Expressions]:
        bounds = [*task.loop.starts, *task.loop.ends] if task.loop is not None else []
        printer = self._statements(place([(task.prologue, bounds)], self._is_infix))
        ours = [] if self.language.nested_loops else ["count", "first", "index"]
        parts = [] if task.loop is None else part_names(task.loop, names)
        for name in [*names, *parts, *ours, *(bound_name(word, name) for name in names for word in ("end", "extent"))]:
            printer.names.declare(name)  # the entry's own, beside which the prologue's variables stand
        printer.comments = False
        if task.loop is not None:
            stop_after_failure(printer, number)
        printer.block(task.prologue)
        threads = None
        if task.loop is not None and task.synchronizes and self.language.nested_loops:
            size = self._size(task)
            threads = spread_blocks(printer.e, task.loop, names, self.form, task.block_dim, size)
        elif task.loop is not None:
            threads = spread(printer.e, task.loop, names, self.form)
        lines = [INDENT * line.depth + line.text for line in printer.lines]
        return lines, threads, printer.e.uses_args, printer.e

    # --- files

    def file(self, printed: list[_Printed], number: int) -> SourceFile:
        """Render the file that holds these tasks."""
        one = len(self.kernel.tasks) == 1
        suffix = f"_{number}" if self.language.file_per_task and not one else ""
        blocks = sorted({p.task.block_dim for p in printed if self._has_size(p.task)})
        tasks = [self._task_data(p) for p in printed]
        functions = [self.functions[function] for function in called(*(p.task.body for p in printed))]
        form = self.form
        used = UsedMemory().with_all([*(f.used for f in functions), *(p.used for p in printed)])
        macros, cell_functions, cell_helpers = definitions(form.accessors, used, form.cells)
        helpers = [*form.helpers, *cell_helpers, *printed_helpers(functions, printed)]
        symbols = Symbols(set(cell_helpers), {*cell_helpers, *member_types(self.language, form)})
        for other in (*(f.symbols for f in functions), *(p.symbols for p in printed)):
            symbols.add(other)
        data = {
            "banner": self._banner(printed),
            "constants": _constants(blocks),
            "extensions": self._extensions(functions, printed),
            "modes": self._modes(),
            "references": form.references,
            "members": padded(form.declarations),
            "by_pointer": self.by_pointer,
            "volatile": self.capabilities.volatile_vectors and any(has_vector(p.type) for p in form.parameters),
            "row_major": any("mat" in declaration.type for declaration in form.declarations),
            "row_major_result": any(has_matrix(type) for type in self.kernel.returns),
            "temporaries": padded(form.temporary_members),
            "results": padded(form.result_members),
            "textures": [] if self.language.has_pointers else declarations(used.textures, form.use, form.textures),
            "headers": headers(self.language, symbols.named | helper_identifiers(self.language, helpers)),
            "accessors": macros,
            "cell_functions": cell_functions,
            "helpers": helpers_source(self.language, helpers),
            "structs": [
                *(form.structs.declaration(struct) for struct in self._used_structs(functions, printed)),
                *(text for tree in form.trees.values() for text in tree.structs),
            ],
            "structures": [f.structure for f in functions if f.structure],
            "prototypes": prototypes(functions),
            "functions": [{"comment": f.comment, "head": f.head, "body": f.text} for f in functions],
            "shared": [] if self.language.has_pointers else [line for p in printed for line in p.shared],
            "tasks": tasks,
            "task": tasks[0] if tasks else None,
        }
        self.needed |= names_referenced(self.target, form, helpers, symbols)
        kind = printed[0].task.kind.value if self.language.file_per_task else "kernel"
        text = render("{0}/{2}.{1}.j2".format(*self.language.templates, kind), data)
        return SourceFile(
            f"{self.name}{suffix}.{self.language.suffix}",
            text,
            line_map(
                text,
                [
                    *(PrintedBody(f.head, f.body, f.function.location) for f in functions),
                    *(PrintedBody(t["head"], p.body, _begin(p.task)) for p, t in zip(printed, tasks, strict=True)),
                ],
            ),
        )

    def _used_structs(self, functions: list[PrintedFunction], printed: list[_Printed]) -> list[Struct]:
        """Return the structs that lie in memory and those that functions and tasks use, in the order of the kernel."""
        seen = [struct for f in functions for struct in f.structs] + [struct for p in printed for struct in p.structs]
        used = set(with_members([*self.form.structs.stored, *seen]))
        return [struct for struct in self.form.structs.names if struct in used]

    def _extensions(self, functions: list[PrintedFunction], printed: list[_Printed]) -> list[str]:
        """Return the GLSL extensions a file needs: for addresses, for types, for atomics the device does itself."""
        if self.language.has_pointers:
            return []
        names = ["GL_EXT_buffer_reference", "GL_EXT_scalar_block_layout"] if self.form.declarations else []
        keys = [*self.form.helpers, *printed_helpers(functions, printed)]
        names += extensions(self.language, [*self.form.use.types, *self.form.stored_types], keys)
        names += [FLOAT_CONTROLS] if self._modes() else []
        return list(dict.fromkeys(names))

    def _modes(self) -> list[str]:
        """Return what GLSL asks of a device's floats where that is not left to the driver."""
        types = self.form.use.types if self.target.exact else ()
        return execution_modes(types, self.capabilities.float_controls)

    def _task_data(self, p: _Printed) -> dict[str, Any]:
        threads, language = p.threads, self.target.language
        statements = list(reachable(p.task.body))
        loops = any(isinstance(s, (While, RangeFor)) or self._recurs(s) for s in statements)
        plain = not loops and not any(isinstance(s, NOT_IN_VECTORS) for s in statements)
        parameters = [*self._args_parameter(p), *p.parameters]
        arguments = [*(["args"] if parameters[len(p.parameters) :] else []), *p.arguments]
        call = f"{p.function}({', '.join(arguments)});"
        head = f"{language.helper_qualifier}void {p.function}({', '.join(parameters) or language.no_parameters}) {{"
        simd = (
            threads is not None and plain and not p.task.synchronizes and is_vectorized(threads, *pointers_of(p.task))
        )
        uneven = any(isinstance(s, While) or self._recurs(s) for s in statements)
        shared_out = pragma(p.task, threads, loops, uneven, simd)
        return {
            "kind": p.task.kind.value,
            "python": self._python_line(p.task),
            "title": self._title(p) if len(self.kernel.tasks) > 1 else "",
            "entry": p.entry,
            "head": head,
            "body": "\n".join(INDENT * (line.depth + 1) + line.text if line.text else "" for line in p.body),
            "call": call,
            "block": self._size(p.task),
            "has_barrier": p.block is not None and p.block.has_barrier,
            "guarded": p.block is None or not (p.task.is_split or p.block.is_full),
            "ballot": language.warp.ballot if language.warp and p.block is not None and p.block.uses_lanes else "",
            "shared": bool(p.shared),
            "prologue": [*p.prologue, *(threads.declarations if threads else [])],
            "count": threads.count if threads else "1",
            "nest": nest(threads, call, simd and " simd " not in shared_out) if threads else [],
            "pragma": shared_out,
            "strided": p.grid.is_strided,
            "folded": p.grid.is_folded,
            "uses_args": p.uses_args or p.entry_uses_args,
        }

    def _recurs(self, statement: Statement) -> bool:
        return isinstance(statement, Call) and self.signatures[statement.function].is_recursive

    def _python_line(self, task: Task) -> str:
        """Return the comment above the function of a loop's turns: the loop in Python."""
        location = _begin(task)
        return python_comment(location) if self.options.line_comments and location is not NOWHERE else ""

    def _args_parameter(self, p: _Printed) -> list[str]:
        return self.language.args_parameters if p.uses_args else []

    def _banner(self, printed: list[_Printed]) -> list[str]:
        signature = ", ".join(text for _, text in sorted(_signature(self.kernel), key=lambda item: item[0]))
        location = self.kernel.location
        tasks = len(self.kernel.tasks)
        first = f"{self.name}({signature})"
        first += f", {self._title(printed[0])}" if len(printed) == 1 else f", {tasks} tasks"
        place = "" if location is NOWHERE else f"from {basename(location.file)}:{location.line}, "
        notes = self.kernel.remarks if printed and printed[0].number == 0 else []
        ordered = sorted({(n.location.file, n.location.line, inert(n.message)) for n in notes})
        return [
            *wrap(first, COLUMNS - 3, subsequent_indent="    "),
            f"{place}interface {digest(self.form.interface)}",
            *(line for *_, text in ordered for line in wrap(text, COLUMNS - 3, subsequent_indent="    ")),
        ]

    def _title(self, p: _Printed) -> str:
        several = f"task {p.number} of {len(self.kernel.tasks)}: " if len(self.kernel.tasks) > 1 else ""
        title = f"{several}{p.task.kind.value}"
        if p.task.loop is None:
            return f"{title}{purpose_of(p.task, self.kernel)}"
        over = p.task.loop.cells or p.task.loop.over
        if p.task.loop.purpose:
            return f"{title}, {p.task.loop.purpose}"
        return f"{title} over {over.name if over is not None else ', '.join(p.names)}"


def _begin(task: Task) -> SourceLocation:
    """Return the Python line that a task is a loop of."""
    return NOWHERE if task.loop is None else task.loop.location


def _start_random(printer: Statements, number: int) -> None:
    """Begin the stream of random numbers of one turn; `random_stream.task_seed` says the same in Python."""
    seed = task_seed(0, number)
    text = f"args.seed ^ {seed:#x}u" if seed else "args.seed"
    printer.e.need("random_start")
    block: BlockForm | None = printer.e.block
    if block is None or not block.as_loops:
        printer.lines.append(Line(0, f"Random rng = random_start({text}, {printer.e.index});"))
        return
    printer.e.random = "&rng[thread]"
    printer.lines += [
        Line(0, f"Random rng[{block.size}];"),
        Line(0, f"for (int thread = 0; thread < {block.threads}; thread++) {{"),
        Line(1, f"rng[thread] = random_start({text}, {printer.e.index});"),
        Line(0, "}"),
    ]


def _start_checks(printer: Statements) -> None:
    """Declare what functions set where a check of theirs fails."""
    printer.failed = printer.e.failed = printer.names.declare("failed")
    printer.lines.append(Line(0, f"{printer.e.type_text(u1)} {printer.failed} = false;"))
    if printer.e.language.reference_is_pointer:
        printer.e.failed = f"&{printer.failed}"


def _shared(e: Expressions) -> list[Array]:
    """Return the shared arrays that a task uses."""
    return sorted((array for array in e.used.arrays if array.is_shared), key=lambda a: a.binding)


def _constants(blocks: list[int]) -> list[str]:
    if len(blocks) == 1:
        return [f"BLOCK {blocks[0]}"]
    return [f"BLOCK_{block} {block}" for block in blocks]


def _signature(kernel: Kernel) -> list[tuple[int, str]]:
    scalars = [(p.position, f"{p.name}: {p.type}") for p in kernel.parameters]
    given = [a for a in kernel.arrays if a.parameter is not None and not a.is_gradient]
    scalars += [(t.parameter, f"{t.name}: {describe_texture(t)}") for t in kernel.textures]
    return scalars + [(a.parameter, f"{a.name}: {array_type(a)}") for a in given if a.parameter is not None]


def printed_helpers(functions: list[PrintedFunction], printed: list[_Printed]) -> list[str]:
    """Return the helpers that functions and tasks use, each once, in order of appearance."""
    helpers = [helper for f in functions for helper in f.helpers] + [helper for p in printed for helper in p.helpers]
    return list(dict.fromkeys(helpers))


def padded(members: list[Declaration]) -> list[str]:
    """Return the members of a struct with their comments in one column."""
    texts = [f"{m.type}{'' if m.type.endswith('*') else ' '}{m.name};" for m in members]
    width = max(map(len, texts), default=0)
    return [f"{text.ljust(width)}  // {member.note}" for text, member in zip(texts, members, strict=True)]


def digest(interface: Interface) -> str:
    """Return a short name of what text and launcher agree on; where the user's file stands is no part of that."""
    data = asdict(interface)
    for site in data["reports"]:
        site.update(frames=[])
    if not data["textures"]:
        del data["textures"]
    for array in data["arrays"]:
        for key in ("offset", "place"):
            if not array[key]:
                del array[key]  # of most arrays: that it has none needs no saying
    return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8]


def _task_source(p: _Printed, file: int, form: Layout, capabilities: Capabilities) -> TaskSource:
    limited = capabilities.loop_iteration_limit is not None
    turns = serial_turns(form, p.task.body) if limited else NONE
    reads, writes = memory_of(p.task)
    serial = p.threads is None
    extents = (("const", 1),) if p.threads is None else p.threads.extents
    return TaskSource(
        name=p.task.name,
        kind=p.task.kind.value,
        entry=p.entry,
        file=file,
        block_dim=1 if serial else p.task.block_dim,
        extents=extents,
        reads=reads,
        writes=writes,
        strided=p.grid.is_strided,
        serial_turns=None if turns[0] == "const" else turns,
        loop=None if p.task.loop is None else loop_indices(form, p.task.loop, p.names),
    )


__all__ = ["Written", "emit"]
