"""Prints the tasks and real functions of a kernel: bodies, parameters, and what an entry computes before its loop.

In: an `EmitContext`. Out: `PrintedTask`s and `PrintedFunction`s, from which `files` assembles sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...ir.functions import Call, Function, called, reachable
from ...ir.nodes import Block, Statement, walk_blocks
from ...ir.statements import RECORDS, Array, Const, Rand, Return
from ...ir.tasks import Task, arrays_in
from ...ir.threads import Barrier, ThreadIndex, has_full_blocks
from ...ir.types import Struct, u1, u32
from ...lazy_dataclasses import dataclass
from ..languages.common.naming import Names, bound_name
from ..languages.common.one_line import INDENT
from ..languages.common.symbols import Symbols
from ..languages.common.syntax_forms import Rendered
from ..layout.accessors import UsedMemory
from ..layout.task_memory import Slots, memory_of
from ..layout.trip_counts import chosen_steps
from ..module.random_stream import task_seed
from ..print.blocks import (
    HAS_ITERATION,
    IS_OWN,
    LANES,
    BlockForm,
    LaneForm,
    block_form,
    block_parameters,
    declare_per_thread,
    declare_shared,
)
from ..print.blocks import WRITERS as BLOCK_WRITERS
from ..print.expressions import Expressions
from ..print.functions import WRITERS as CALL_WRITERS
from ..print.functions import PrintedFunction, leave_by_loop, print_function, return_writer
from ..print.iteration_order import NAMES_OF_ENTRIES, part_names
from ..print.line_comments import shortened
from ..print.lines import Line
from ..print.loop_heads import bound, declare_axis
from ..print.placement import Placement, place
from ..print.reductions import (
    COPIES,
    OWN,
    Reductions,
    declare_accumulators,
    name_accumulators,
    print_choices,
    print_reductions,
)
from ..print.reports import WRITERS as REPORT_WRITERS
from ..print.reports import stop_after_failure
from ..print.sparse import WRITERS as CELL_WRITERS
from ..print.statements import WRITERS as STATEMENT_WRITERS
from ..print.statements import Statements, infix_symbol
from ..print.textures import WRITERS as TEXTURE_WRITERS
from ..print.threads import (
    Threads,
    indices_in_block,
    is_the_same_everywhere,
    spread,
    spread_blocks,
    spread_runs,
)
from .block_sums import ELEMENT, BlockSums, print_block_sums
from .context import EmitContext
from .element_pointers import element_pointers
from .grid_stride import Grid, grid_of
from .local_arrays import local_arrays

EFFECTS: dict[type, Callable[..., None]] = {
    **STATEMENT_WRITERS, **REPORT_WRITERS, **CALL_WRITERS, **BLOCK_WRITERS, **CELL_WRITERS,
    **TEXTURE_WRITERS,
}  # fmt: skip
"""The printer of each statement with an effect."""
GENERATED = [*NAMES_OF_ENTRIES, ELEMENT]
"""Variables of an entry for the threads of a GPU."""


@dataclass(slots=True)
class PrintedTask:
    """One printed task.

    function: name of the function that runs one iteration, or the serial part. entry: name of the function to launch.
    names: of the loop's indices. prologue: lines of the entry. shared: declarations of shared arrays.
    entry_expressions: the values of the entry. tables: its lines that fill tables before any iteration.
    table_declarations: of these tables, where the function of an iteration and the entry are two.
    items: iterations of one thread at a time.
    index: name of the number of an iteration in the body. shared_names: that both the body and the entry declare.
    statements: of the body, and of the functions that it calls. memory: the slots that the task reads and writes.
    """

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
    reductions: Reductions
    block_sums: BlockSums | None
    entry_expressions: Expressions
    tables: list[str]
    table_declarations: list[str]
    items: int
    index: str
    shared_names: set[str]
    statements: list[Statement]
    memory: Slots

    @property
    def axes(self) -> list[int]:
        """The axes of the loop whose indices are parameters."""
        return [axis for axis, name in enumerate(self.names) if f"int {name}" in self.parameters]


def attributes_of(task: Task) -> list[str]:
    """Return the macros before the entry of a task, which say how C's compiler shall treat it."""
    marks = (("SHORT_VECTORS", task.short_vectors), ("STRAIGHT", task.is_straight))
    return [name for name, is_marked in marks if is_marked]


Entry = tuple[list[str], Threads | None, Expressions, Reductions]
"""What an entry has around the call of its function: lines, threads, what the lines use, and what follows the loop."""


class TaskPrinter:
    """Prints the tasks and functions of one kernel."""

    def __init__(self, context: EmitContext) -> None:
        self.context, self.language, self.capabilities = context, context.language, context.capabilities
        self.scopes: list[Names] = []
        self.accumulators: list[str] = []
        """Parameters of the task that is being printed, for its reductions."""
        self.entries: dict[tuple[object, ...], tuple[Names, Entry]] = {}
        """Entries by all that they depend on: many loops over the same indices have equal ones, and serial tasks."""

    def local_names(self) -> set[str]:
        """Return the names of all local variables that were printed."""
        return {name for names in self.scopes for name in names.given}

    def task(self, task: Task, number: int) -> PrintedTask:
        """Print one task: the function of one iteration, and what the entry computes before it."""
        context = self.context
        # A language that prints loops leaves them to the host's threads.
        grid = Grid() if self.language.nested_loops else grid_of(task, context.layout, self.capabilities.max_groups)
        single = len(context.kernel.tasks) == 1 or context.file_per_task
        inside = list(reachable(task.body))
        kinds = {statement.__class__ for statement in inside}
        body, names, statements = self._body(task, number, kinds)
        e = statements.e
        prologue, threads, entry, reductions = self._entry(task, number, names, e.step_names)
        own_names = {*GENERATED, *names, *e.step_names.values()}
        parameters, arguments = _parameters(task, names, statements, threads, _takes_index(inside, kinds))
        parameters += self.accumulators
        by_pointer = "&" if self.language.reference_is_pointer else ""
        arguments += [f"{by_pointer}{name}" for name in reductions.arguments]
        sums = print_block_sums(entry, task) if task.block_sums else None
        tables, declarations, others = self._tables(task)
        others = [entry, *others]
        for other in others:
            e.symbols.add(other.symbols)
        return PrintedTask(
            task=task,
            number=number,
            function="task" if single else f"task_{number}",
            entry="main" if self.language.file_per_task else f"{context.name}_{number}",
            body=body,
            names=names,
            prologue=prologue,
            threads=threads,
            grid=grid,
            parameters=parameters,
            arguments=arguments,
            block=e.block,
            shared=self._shared_lines([e, *others[1:]], reductions, sums),
            reductions=reductions,
            block_sums=sums,
            items=context.options.loads if grid.is_unrolled else 1,
            entry_expressions=entry,
            tables=tables,
            table_declarations=declarations,
            index=e.index,
            shared_names=statements.names.given & (self.scopes[-1].given - own_names),
            uses_args=e.uses_args,
            entry_uses_args=any(other.uses_args for other in others),
            used=e.used.with_all([other.used for other in others if other.used]),
            structs=[*e.structs_used, *(struct for other in others for struct in other.structs_used)],
            helpers=[
                *e.helpers,
                *(helper for other in others for helper in other.helpers),
                *(self.language.unroll_helpers if grid.is_unrolled else ()),
                *attributes_of(task),
            ],
            symbols=e.symbols,
            functions=called(task.body, task.tables) if Call in kinds or task.tables.statements else [],
            statements=inside,
            memory=memory_of(task, inside),
        )

    def _shared_lines(self, printed: list[Expressions], reductions: Reductions, sums: BlockSums | None) -> list[str]:
        """Return the declarations of what the threads of a block share. printed: of an iteration, and of tables."""
        needs_flag = bool(reductions.done) and not self.language.has_pointers
        arrays = {array: None for e in printed for array in _shared_arrays(e)}
        return [
            *declare_shared(printed[0], sorted(arrays, key=lambda a: a.binding), self.context.options.why_comments),
            *(["shared bool is_last;"] if needs_flag else []),
            *(sums.declarations if sums else ()),
        ]

    def function(self, function: Function) -> PrintedFunction:
        """Print a real function."""
        placement = place([(function.body, [])], self._is_infix)
        printer = self._statements(placement, {**EFFECTS, Return: return_writer(function)})
        printer.e.local_arrays = local_arrays(function.body, placement, self.language)
        printed = print_function(function, printer, self.capabilities.branch_depth_limit)
        return replace(printed, body=self._with_comments(printed.body))

    def _is_infix(self, operation: Any) -> bool:
        return operation not in self.context.plain and infix_symbol(self.context.target, operation) is not None

    def _statements(self, placement: Placement, writers: Mapping[type, Callable[..., None]] = EFFECTS) -> Statements:
        context = self.context
        expressions = Expressions(context.target, context.layout)
        expressions.signatures = context.signatures
        comments, atomics = context.options.line_comments != "none", self.capabilities.atomics
        names = Names(context.taken)
        self.scopes.append(names)
        printer = Statements(expressions, placement, names, comments, atomics, writers)
        printer.result_names = [member.name for member in context.layout.results.members]
        printer.prints_remarks = context.options.why_comments
        printer.shared_atomics = self.capabilities.shared_atomics
        printer.declare_per_thread = declare_per_thread
        return printer

    def _body(self, task: Task, number: int, kinds: set[type[Statement]]) -> tuple[list[Line], list[str], Statements]:
        chosen = chosen_steps(task)
        before = [s for s in task.prologue.statements if s not in chosen.values()]
        block = Block([*before, *task.body.statements])
        placement = place([(block, [])], self._is_infix)
        printer = self._statements(placement)
        printer.e.local_arrays = local_arrays(block, placement, self.language)
        printer.e.element_pointers = element_pointers(block, placement, self.language)
        printer.e.own_arrays = frozenset(sums.array for sums in task.private if sums.is_choice)
        names: list[str] = []
        if task.loop is not None:
            if task.synchronizes:  # before the user's names: a loop's index may be called `thread`
                as_loops = self.capabilities.blocks_as_loops
                for name in ("block", "count", "thread", "threads") if as_loops else (HAS_ITERATION, LANES):
                    printer.names.declare(name)
            for axis in range(len(task.loop.starts)):
                names.append(declare_axis(printer.names, task.loop, axis))
                printer.e.loop_names[task.loop, axis] = names[axis]
            printer.e.index = printer.names.declare("index")
            if printer.e.own_arrays:
                printer.names.declare(IS_OWN)
            for key, step in chosen.items():
                name = printer.e.step_names[key] = printer.names.declare(step.hint or "step")
                printer.e.rendered[step] = Rendered(name)
            printer.commented.add((task.loop.location.file, task.loop.location.line))
        self.accumulators = declare_accumulators(printer, task)
        printer.e.block_size = self.context.block_size(task) if task.loop is not None else ""
        if task.synchronizes and task.loop is not None:
            self._start_block(printer, task, names)
        if task.lane_loops:
            printer.e.lanes = self._lane_form(printer, task, names)
        if Rand in kinds:
            _start_random(printer, task.stream)
        if Call in kinds and any(self.context.signatures[function].may_fail for function in called(task.body)):
            _start_checks(printer)
        if task.loop is None:
            stop_after_failure(printer, number)
        printer.block(block)
        leave_by_loop(printer, self.capabilities.branch_depth_limit)
        if self.language.has_pointers:
            filled = arrays_in([*walk_blocks(task.tables)])
            arrays = [array for array in _shared_arrays(printer.e) if array not in filled]
            declared = declare_shared(printer.e, arrays, self.context.options.why_comments)
            printer.lines[:0] = [Line(0, line) for line in declared]
        return self._with_comments(printer.lines), names, printer

    def _tables(self, task: Task) -> tuple[list[str], list[str], list[Expressions]]:
        """Print what fills the tables of a block: lines, declarations of the tables, and what the lines use."""
        if not task.tables.statements:
            return [], [], []
        context, language = self.context, self.language
        printer = self._statements(place([(task.tables, [])], self._is_infix))
        printer.comments = False
        printer.e.block_size = context.threads_of_block(task)
        printer.block(task.tables)
        for call in language.barrier(language, Barrier("block"), False, ""):
            printer.e.use(call)
            printer.emit(f"{call.template};")
        declared: list[str] = []
        if language.has_pointers:  # other languages declare what threads share outside of functions
            declared = declare_shared(printer.e, _shared_arrays(printer.e), context.options.why_comments)
        return [INDENT * line.depth + line.text for line in printer.lines], declared, [printer.e]

    def _with_comments(self, lines: list[Line]) -> list[Line]:
        """Return the lines of a function with the comments that the options want."""
        context = self.context
        if context.options.line_comments != "short":
            return lines
        return shortened(lines, self.language, context.kernel.location.file)

    def _start_block(self, printer: Statements, task: Task, names: list[str]) -> None:
        """Prepare the printer for threads that synchronize in blocks."""
        assert task.loop is not None
        as_loops = self.capabilities.blocks_as_loops
        form = block_form(task, self.context.block_size(task), as_loops, has_full_blocks(task))
        printer.e.block = form
        if not as_loops:
            form.axes = [(name, name) for name in names]
            return
        form.axes = list(zip(names, indices_in_block(printer.e, task.loop, form.index), strict=True))
        printer.e.index = f"(uint32_t)({form.index})"
        if not form.is_full:
            rest = f"count - block * {form.size}"
            printer.lines.append(Line(0, f"int threads = {rest} < {form.size} ? {rest} : {form.size};"))

    def _lane_form(self, printer: Statements, task: Task, names: list[str]) -> LaneForm:
        """Return how loops are printed that run for neighbouring iterations together."""
        assert task.loop is not None
        first, end = printer.names.declare(bound_name("first", names[-1])), task.loop.ends[-1]
        size, parameters = self.context.lanes(task), [f"int {first}"]
        if is_the_same_everywhere(end):
            return LaneForm(size, names[-1], first, bound(printer.e, end).source, parameters)
        name = printer.names.declare(bound_name("end", names[-1]))
        return LaneForm(size, names[-1], first, name, [*parameters, f"int {name}"])

    def _entry(self, task: Task, number: int, names: list[str], steps: dict[tuple[Statement, int], str]) -> Entry:
        """Print what the entry computes before its loop, unless that of an earlier task is equal."""
        key = None if self.context.layout.usage.sites else _known_entry(task, names)
        if key is None:
            return self._new_entry(task, number, names, steps)
        found = self.entries.get(key)
        if found is None:
            entry = self._new_entry(task, number, names, steps)
            self.entries[key] = self.scopes[-1], entry
            return entry
        self.scopes.append(found[0])
        return found[1]

    def _new_entry(self, task: Task, number: int, names: list[str], steps: dict[tuple[Statement, int], str]) -> Entry:
        """Print what the entry computes before its loop."""
        context = self.context
        bounds = [*task.loop.starts, *task.loop.ends, *task.loop.steps] if task.loop is not None else []
        roots: list[tuple[Block, list[Statement]]] = [(task.prologue, bounds), (task.join, []), (task.epilogue, [])]
        printer = self._statements(place(roots, self._is_infix))
        generated = [] if self.language.nested_loops else GENERATED
        parts = [] if task.loop is None else part_names(task.loop, names)
        bounds_of = [bound_name(prefix, name) for name in names for prefix in ("end", "extent")]
        printer.e.step_names = steps
        own = [OWN, COPIES] if task.private or task.block_sums else []
        for name in [*names, *steps.values(), *parts, *generated, *bounds_of, *own]:
            printer.names.declare(name)  # local variables of the entry, as are those of the prologue
        printer.comments = False
        reductions = name_accumulators(printer, task)
        if task.loop is not None:
            stop_after_failure(printer, number)
        if task.choices and self.language.nested_loops:
            print_choices(printer, task)
        printer.block(task.prologue)
        threads = None
        if task.loop is not None and task.synchronizes and self.language.nested_loops:
            size = context.block_size(task)
            threads = spread_blocks(printer.e, task.loop, names, context.layout, task.block_dim, size)
        elif task.loop is not None and task.lane_loops:
            first = printer.names.declare(bound_name("first", names[-1]))
            threads = spread_runs(printer.e, task.loop, names, context.layout, first, context.lanes(task))
        elif task.loop is not None:
            declare = printer.names.declare
            threads = spread(printer.e, task.loop, names, context.layout, task.wide_counter, declare)
        if task.reductions:
            printer.comments = task.ends_alone and context.options.line_comments != "none"
            print_reductions(printer, task, reductions, self.capabilities, self._with_comments)
            if reductions.done and self.language.has_pointers:
                printer.e.need("is_last_block")
        return [INDENT * line.depth + line.text for line in printer.lines], threads, printer.e, reductions


def _known_entry(task: Task, names: list[str]) -> tuple[object, ...] | None:
    """Return all that the entry of a plain task depends on, whose loop has constant bounds; None for other tasks."""
    loop = task.loop
    bounds = [] if loop is None else [*loop.starts, *loop.ends, *loop.steps]
    if [value for value in (*task.prologue.statements, *bounds) if value.__class__ is not Const or value.remarks]:
        return None
    if task.reductions or task.synchronizes or task.private or task.block_sums or task.lane_loops or task.choices:
        return None
    numbers = [(bound.value, bound.type, bound.origin) for bound in bounds]  # type: ignore[attr-defined]
    return () if loop is None else (*names, loop.order, loop.exact_ends, task.wide_counter, *numbers)


TAKE_INDEX = frozenset({Rand, *RECORDS})
"""Statements that need the number of the iteration."""


def _takes_index(inside: list[Statement], kinds: set[type[Statement]]) -> bool:
    """Return whether some of these statements, whose classes are `kinds`, need the number of the iteration."""
    has_threads = ThreadIndex in kinds and any(s.__class__ is ThreadIndex and s.kind == "global" for s in inside)
    return has_threads or not kinds.isdisjoint(TAKE_INDEX)


def _parameters(
    task: Task,
    names: list[str],
    statements: Statements,
    threads: Threads | None,
    takes_index: bool,
) -> tuple[list[str], list[str]]:
    """Return the parameters of a task's function but `args`, and the arguments of its call.

    takes_index: whether the body, or a function that it calls, needs the number of the iteration.
    """
    e, loop = statements.e, task.loop
    unsigned = e.name_of_type(u32) if takes_index and loop is not None else ""
    used = [k for k in range(len(names)) if loop is not None and (loop, k) in e.indices_used]
    kind = "long long" if task.wide_counter else "int"
    parameters = [f"{kind} {names[k]}" for k in used] + ([f"{unsigned} {e.index}"] if takes_index and threads else [])
    parameters += [f"int {step}" for step in e.step_names.values()]
    if task.lane_loops:
        used = [k for k in used if k != len(names) - 1] + [len(names) - 1]
        parameters = [*(f"int {names[k]}" for k in used[:-1]), *e.lanes.parameters]
    arguments = [*(threads.indices[k] for k in used), *([threads.linear] if takes_index else [])] if threads else []
    arguments += e.step_names.values()
    if e.own_arrays:
        parameters, arguments = [*parameters, f"bool {IS_OWN}"], [*arguments, f"{COPIES} > 0"]
    block: BlockForm | None = e.block
    if block is None:
        return parameters, arguments
    more = block_parameters(block, threads.limit if threads else "")
    if block.as_loops:
        parameters, arguments = [], []
    return [*parameters, *(parameter for parameter, _ in more)], [*arguments, *(argument for _, argument in more)]


def _start_random(printer: Statements, stream: int) -> None:
    """Start the random stream of one iteration; `random_stream.task_seed` defines the same in Python."""
    task = task_seed(0, stream)
    seed = f"args.seed ^ {task:#x}u" if task else "args.seed"
    printer.e.need("random_start")
    block: BlockForm | None = printer.e.block
    if block is None or not block.as_loops:
        printer.lines.append(Line(0, f"Random rng = random_start({seed}, {printer.e.index});"))
        return
    printer.e.random = "&rng[thread]"
    printer.lines += [
        Line(0, f"Random rng[{block.size}];"),
        Line(0, f"for (int thread = 0; thread < {block.threads}; thread++) {{"),
        Line(1, f"rng[thread] = random_start({seed}, {printer.e.index});"),
        Line(0, "}"),
    ]


def _start_checks(printer: Statements) -> None:
    """Declare the variable that a called function sets if a check fails in it."""
    printer.failed = printer.e.failed = printer.names.declare("failed")
    printer.lines.append(Line(0, f"{printer.e.name_of_type(u1)} {printer.failed} = false;"))
    if printer.e.language.reference_is_pointer:
        printer.e.failed = f"&{printer.failed}"


def _shared_arrays(e: Expressions) -> list[Array]:
    """Return the shared arrays that a task uses."""
    return sorted((array for array in e.used.arrays if array.is_shared), key=lambda a: a.binding)
