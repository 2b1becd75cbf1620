"""Assembles source files from printed tasks and functions: the data that the templates arrange.

In: an `EmitContext`, what `tasks` has printed. Out: `SourceFile`s, and the names that they reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod
from types import SimpleNamespace
from typing import Any

from ...errors import TaichiCompilationError
from ...ir.functions import Call, Function
from ...ir.nodes import Statement
from ...ir.snodes import pool_above
from ...ir.sparse import TOPOLOGY_WRITERS, IsActive
from ...ir.statements import RECORDS, AtomicOp, GlobalPtr, Rand, While, repeats
from ...ir.tasks import with_members
from ...ir.textures import TEXTURE_STATEMENTS
from ...ir.types import Struct
from ..languages.common.one_line import COLUMNS, INDENT
from ..languages.common.symbols import Symbols
from ..languages.common.syntax import Library, library_of
from ..languages.glsl.float_controls import EXTENSION as FLOAT_CONTROLS
from ..languages.glsl.float_controls import execution_modes, rounding
from ..layout.accessors import UsedMemory, definitions
from ..layout.declarations import Declaration, has_matrix, has_vector
from ..layout.task_memory import pointers_of
from ..layout.trip_counts import constant_count
from ..module.interface import SourceFile
from ..print.functions import PrintedFunction, in_order_of_calls, prototypes
from ..print.lines import PrintedBody, fitted, line_map, map_of_lines, wrapped_head, wrapped_text
from ..print.reductions import OWN, helpers_of, loop_with_a_choice, loop_with_copies, nest_in_any_order, nest_in_parts
from ..print.textures import declarations
from ..print.threads import (
    Threads,
    index_ranges,
    is_vectorized,
    nest,
    part_pragma,
    parts_of,
    pragma,
    region_and_loop,
    row_pragma,
)
from .banner import banner, first_line, loop_location, origin_of, python_line, task_title
from .context import EmitContext
from .entries import (
    block_of_tile,
    entry_head,
    fits_entry,
    launch_bounds,
    opening,
    pointers,
    quotient_lines,
    registers_note,
)
from .names import headers, member_types, referenced_names
from .render import render
from .tasks import PrintedTask, attributes_of

NOT_VECTORIZED = (AtomicOp, Rand, *TOPOLOGY_WRITERS, *RECORDS, *TEXTURE_STATEMENTS)
"""Statements that no compiler vectorizes."""
NOT_PLAIN = frozenset({Call, *NOT_VECTORIZED})


INLINED = "static inline __attribute__((always_inline)) "
"""Of a body with loops whose iterations become lanes: gcc inlines it before it looks for those, not after."""
NOT_INLINED = "static __attribute__((noinline)) "
NOT_INLINED_NOTE = "// not inlined: gcc 12 keeps what its inner loops need in registers then (own_functions)\n"

LANES_NOTE = "// several iterations of the innermost loop are lanes of vectors (vector_lanes)"


class FileAssembler:
    """Assembles the files of one kernel.

    Attributes:
        referenced: names that the files reference.
        members, results: lines of the structs that each file declares; made once, as `member_types` and `modes` are.
        libraries: what files need of helpers, by the keys of these, which most files of a kernel have in common.
        constants: declarations of named numbers, by the names, which many files have in common.
        shared: data of the templates that all files have.
    """

    def __init__(self, context: EmitContext, functions: Mapping[Function, PrintedFunction]) -> None:
        self.context, self.language, self.layout = context, context.language, context.layout
        self.functions = functions
        self.referenced: set[str] = set()
        layout = context.layout
        self.members = _as_one(padded(layout.declarations))
        self.results = _as_one(padded(layout.results.members))
        self.member_types = member_types(context.language, layout)
        self.types = list(dict.fromkeys([*layout.usage.types, *layout.stored_types]))
        self.modes = self._modes()
        self.all_modes = [*self._rounding(), *self.modes]
        self.libraries: dict[tuple[str, ...], Library] = {}
        self.constants: dict[tuple[str, ...], list[str]] = {}
        self.tree_structs = [declaration for tree in layout.trees.values() for declaration in tree.structs]
        self.origin = origin_of(context)
        self.shared = self._shared()

    def _shared(self) -> dict[str, Any]:
        """Return the data of the templates that all files have."""
        context, layout = self.context, self.layout
        return {
            "modes": self.all_modes,
            "references": layout.references,
            "members": self.members,
            "by_pointer": context.by_pointer,
            "volatile": context.capabilities.volatile_vectors and any(has_vector(p.type) for p in layout.parameters),
            "row_major": any("mat" in declaration.type for declaration in layout.declarations),
            "row_major_result": any(has_matrix(type) for type in context.kernel.returns),
            "results": self.results,
        }

    def file(self, printed: list[PrintedTask], number: int) -> SourceFile:
        """Return the file that contains these tasks."""
        context = self.context
        of_calls = [self.functions[function] for p in printed for function in p.functions]
        functions = in_order_of_calls(list({id(function): function for function in of_calls}.values()))
        tasks = [self._task_data(p) for p in printed]
        data = self._data(printed, functions, tasks)
        kind = printed[0].task.kind.value if context.file_per_task else "kernel"
        source = fitted(
            render("{0}/{2}.{1}.j2".format(*self.language.templates, kind), data, context.options.own_templates)
        )
        source = f"{first_line(context, self.origin, source)}\n{source}"
        suffix = f"_{number}" if context.file_per_task and len(context.kernel.tasks) > 1 else ""
        bodies = [
            *(PrintedBody(f.start, f.body, f.function.location) for f in functions),
            *(
                PrintedBody(t.head, p.body, loop_location(p.task), len(t.opening))
                for p, t in zip(printed, tasks, strict=True)
            ),
        ]
        try:
            lines = line_map(source, bodies)
            begin = 0
            for p in printed:
                begin = source.index(f" {p.entry}(", begin) + 1
                if p.task.ends_alone:
                    place = source.count("\n", 0, begin)
                    lines = tuple(sorted([*lines, *map_of_lines(source, place, p.reductions.located)]))
        except ValueError:  # a template of the program has left out a body
            if not context.options.own_templates:
                raise
            raise _without_a_body(context) from None
        return SourceFile(f"{context.name}{suffix}.{self.language.suffix}", source, lines)

    def _data(
        self, printed: list[PrintedTask], functions: list[PrintedFunction], tasks: list[SimpleNamespace]
    ) -> dict[str, Any]:
        """Return the data of a file's template, and record the names that the file references."""
        context, layout = self.context, self.layout
        lanes = {context.lanes(p.task): p.task.lane_loops for p in printed if p.task.lane_loops}
        parts = [*(f.used for f in functions), *(p.used for p in printed)]
        used = parts[0] if len(parts) == 1 else UsedMemory().with_all(parts)
        copied = [] if self.language.has_pointers else [array for p in printed for array in p.task.block_sums]
        macros, cell_functions, cell_helpers = definitions(layout.accessors, used, layout.cells, copied)
        helpers = _helpers_of(functions, printed)
        library = self._library([*layout.helpers, *cell_helpers, *helpers])
        symbols = Symbols(set(cell_helpers), {*cell_helpers, *self.member_types})
        for other in (*(f.symbols for f in functions), *(p.symbols for p in printed)):
            symbols.add(other)
        self.referenced |= referenced_names(layout, library.names, symbols)
        has_pointers = self.language.has_pointers
        return {
            **self.shared,
            "banner": banner(context, self.origin, printed),
            "constants": _constants(context, lanes, printed),
            "named_constants": self._named_constants(used),
            "extensions": self._extensions(library),
            "temporaries": _as_one(padded(self._temporaries(used))),
            "joins_in_order": any(p.reductions.done for p in printed),
            "textures": [] if has_pointers else declarations(used.textures, layout.usage, layout.textures),
            "headers": headers(self.language, symbols.named | library.identifiers),
            "avoids_vectors": context.kernel.avoids_vectors,
            "only_converts_halves": context.kernel.only_converts_halves,
            "accessors": macros,
            "cell_functions": cell_functions,
            "helpers": library.source,
            "structs": [*map(layout.structs.declaration, self._used_structs(functions, printed)), *self.tree_structs],
            "structures": [f.structure for f in functions if f.structure],
            "prototypes": prototypes(functions) if functions else [],
            "functions": [{"comment": [*f.comment, *f.template], "source": f.source} for f in functions],
            "shared": [] if has_pointers else [line for p in printed for line in p.shared],
            "declarations": list(dict.fromkeys(line for p in printed for line in p.reductions.used_declarations)),
            "tasks": tasks,
            "threads_of_blocks": [1 if p.threads is None else p.task.block_dim for p in printed],
            "task": tasks[0] if tasks else None,
        }

    def _named_constants(self, used: UsedMemory) -> list[str]:
        """Return the declarations of the numbers that a file uses, in its accessors too."""
        layout, names = self.layout, dict(used.constants)
        for array in {**used.arrays, **used.wide}:
            if array.ndim > 1 and array.shape is not None and array.place is None:
                names |= dict.fromkeys(layout.constants.extent(array, axis) for axis in range(1, array.ndim))
        key = tuple(names)
        found = self.constants.get(key)
        if found is None:
            found = self.constants[key] = layout.constants.declarations(self.language, names)
        return found

    def _temporaries(self, used: UsedMemory) -> list[Declaration]:
        """Return the members of `Temporaries` in a file: all of them, or those that its only task uses."""
        temporaries = self.layout.temporaries
        return temporaries.members_for(used.temporaries) if self.context.file_per_task else temporaries.members

    def _used_structs(self, functions: list[PrintedFunction], printed: list[PrintedTask]) -> list[Struct]:
        """Return the structs that are stored or used by functions and tasks, in the order of the kernel."""
        if not self.layout.structs.names:
            return []
        seen = [struct for f in functions for struct in f.structs] + [struct for p in printed for struct in p.structs]
        used = set(with_members([*self.layout.structs.stored, *seen]))
        return [struct for struct in self.layout.structs.names if struct in used]

    def _library(self, keys: list[str]) -> Library:
        """Return what a file needs of helpers."""
        key = tuple(dict.fromkeys(keys))
        found = self.libraries.get(key)
        if found is None:
            found = self.libraries[key] = library_of(self.language, key, self.layout.aligned, self.types)
        return found

    def _extensions(self, library: Library) -> list[str]:
        """Return the GLSL extensions that a file needs: for addresses, for types, for native atomics."""
        if self.language.has_pointers:
            return []
        names = ["GL_EXT_buffer_reference", "GL_EXT_scalar_block_layout"] if self.layout.declarations else []
        names += library.extensions
        names += [FLOAT_CONTROLS] if self.modes else []
        return list(dict.fromkeys(names))

    def _rounding(self) -> list[str]:
        """Return the line by which drivers round each operation of floats."""
        is_exact = self.context.target.exact and not self.language.has_pointers
        return rounding(self.layout.usage.types) if is_exact else []

    def _modes(self) -> list[str]:
        """Return the execution modes for floats, which are otherwise left to the driver."""
        types = self.layout.usage.types if self.context.target.exact else ()
        return execution_modes(types, self.context.capabilities.float_controls)

    def _task_data(self, p: PrintedTask) -> SimpleNamespace:
        """Return the data of a task's template, as attributes: Jinja tries these before items."""
        context, language, threads = self.context, self.language, p.threads
        args = language.args_parameters if p.uses_args else []
        parameters, arguments = [*args, *p.parameters], [*(["args"] if args else []), *p.arguments]
        if p.block_sums is not None and p.block_sums.own:
            arguments = [OWN, *p.arguments]
        call = f"{p.function}({', '.join(arguments)});"
        quotients = quotient_lines(language, threads.quotients_of(p.axes)) if threads else []
        lanes = [LANES_NOTE] if p.task.as_lanes else []
        lines: list[str] = []
        omp = ""
        if threads and language.nested_loops:
            call, lines, omp = self._loops(p, threads, call)
        return SimpleNamespace(
            kind=p.task.kind.value,
            python=python_line(context, p.task),
            title=task_title(context, p) if len(context.kernel.tasks) > 1 else "",
            **self._head(p, parameters),
            entry=p.entry,
            body="\n".join([INDENT * (line.depth + 1) + line.text if line.text else "" for line in p.body]),
            call="\n".join([*quotients, call]),
            attribute="".join(f"{name} " for name in attributes_of(p.task)),
            guarded_call=_guarded(threads.count if threads else "1", [*quotients, call]),
            block=context.threads_of_block(p.task),
            bounds=launch_bounds(p.task, context.block_size(p.task)),
            registers=registers_note(p.task) if context.options.why_comments else "",
            has_barrier=p.block is not None and p.block.has_barrier,
            guarded=p.block is None or not (p.task.is_split or p.block.is_full),
            full_blocks=threads.count if threads and p.block is not None and p.block.is_full else "",
            tile=block_of_tile(p.task.tile) if p.task.tile else "",
            tile_size=prod(p.task.tile),
            iterations=constant_count(threads.extents) if threads else None,
            ballot=language.warp.ballot if language.warp and p.block is not None and p.block.uses_lanes else "",
            shared=p.shared,
            prologue=[*p.prologue, *(threads.declarations if threads else []), *lanes],
            **_counts(threads),
            nest=lines,
            reductions=p.reductions if p.task.reductions else None,
            block_sums=p.block_sums,
            unrolled=p.grid.is_unrolled,
            pragma=omp,
            strided=p.grid.is_strided,
            folded=p.grid.is_folded,
            uses_args=p.uses_args or p.entry_uses_args or (p.reductions.has_parts and bool(p.reductions.printed)),
        )

    def _loops(self, p: PrintedTask, threads: Threads, call: str) -> tuple[str, list[str], str]:
        """Return the call of a task's function, the lines of the loops around it, and OpenMP's directive for them."""
        statements = [s for s in p.statements if s.BLOCKS or s.__class__ in NOT_PLAIN]
        has_loops = any(repeats(s) or self._is_recursive(s) for s in statements)
        vectorizable = not (has_loops or p.task.is_scalar) and not any(
            isinstance(s, NOT_VECTORIZED) for s in statements
        )
        uneven = self._is_uneven(statements)
        ranges = index_ranges(p.entry_expressions, p.task, p.names, threads)
        region = region_and_loop(p.task, threads, has_loops, uneven) if p.task.private else None
        if region is not None:
            call = f"{p.function}({', '.join([OWN, *p.arguments])});"
            loop = [] if p.task.reductions else nest(threads, call, ranges=ranges)
            lines, omp = _in_region(p, region[0], [region[1]], loop) if loop else [], ""
            p.helpers += [*helpers_of(p.task), *(["ASSUME"] if ranges and not p.task.reductions else [])]
        else:
            simd = _is_simd(p, threads, vectorizable)
            omp = pragma(p.task, threads, has_loops, uneven, simd)
            inner = "#pragma omp simd" if simd and " simd " not in omp else ""
            if p.task.loop is not None and p.task.loop.unroll_count == 1 and len(threads.loops) > 1 and not simd:
                inner = "#pragma GCC unroll 1"
            if omp and (of_row := row_pragma(p.task, threads, uneven, simd)):
                omp, inner = "", of_row
            ranges = ranges if omp or inner.startswith("#pragma omp parallel") else []
            p.helpers += ["ASSUME"] if ranges and not p.task.reductions else []
            lines = nest(threads, call, inner, ranges)
            if p.task.is_scalar:
                lines.insert(lines.index(INDENT * len(threads.loops) + call), INDENT * len(threads.loops) + SCALAR)
        if p.task.reductions:
            p.reductions.simd = p.reductions.simd if vectorizable and region is None else None
            lines, omp = _nest_with_reductions(p, threads, call, has_loops, uneven, region), ""
        if region is not None:
            p.used = p.used.with_all([p.entry_expressions.used])
        return call, lines, omp

    def _is_uneven(self, statements: list[Statement]) -> bool:
        """Return whether an iteration may take much longer than others, so that threads take them as they come."""
        wanted = self.context.options.schedule
        if wanted != "auto":
            return wanted == "dynamic"
        return any(isinstance(s, While) or self._is_recursive(s) for s in statements)

    def _head(self, p: PrintedTask, parameters: list[str]) -> dict[str, Any]:
        """Return what comes before the statements of a task: a function's head, or the entry's and its first lines."""
        language, block = self.language, self.context.block_size(p.task)
        first = pointers(self.layout, p, self.context.options.why_comments)
        if fits_entry(language, p) and not self.context.options.own_templates:
            return {
                "is_entry": True,
                "head": entry_head(language, p, block),
                "opening": [*first, *opening(language, p, self.context.threads_of_block(p.task))],
                "tables": [],
                "table_declarations": [],
            }
        qualifier = INLINED if p.task.as_lanes else language.helper_qualifier
        note = ""
        if p.task.is_own_function:
            qualifier, note = NOT_INLINED, NOT_INLINED_NOTE if self.context.options.why_comments else ""
        head = f"{qualifier}void {p.function}({', '.join(parameters) or language.no_parameters}) {{"
        return {
            "is_entry": False,
            "head": note + wrapped_head(head),
            "opening": first,
            "tables": p.tables,
            "table_declarations": p.table_declarations,
        }

    def _is_recursive(self, statement: Statement) -> bool:
        return isinstance(statement, Call) and self.context.signatures[statement.function].is_recursive


def _without_a_body(context: EmitContext) -> TaichiCompilationError:
    paths = ", ".join(template.path for template in context.options.own_templates)
    message = f"the source of `{context.name}` has no `task.head`, or no `task.body`, of one of its tasks: {paths}"
    return TaichiCompilationError(message, "a template prints both, as `shadesmith/NAME` does; see docs/templates.md")


def _in_region(p: PrintedTask, clauses: list[str], of_loop: list[str], loop: list[str]) -> list[str]:
    """Return the lines of the region in which threads add to copies of arrays. of_loop: the clauses of its loop."""
    around = loop_with_a_choice if p.task.private[0].is_choice else loop_with_copies
    return around(p.entry_expressions, p.task, clauses, of_loop, loop)


def _nest_with_reductions(
    p: PrintedTask,
    threads: Threads,
    call: str,
    has_loops: bool,
    uneven: bool,
    region: tuple[list[str], str] | None,
) -> list[str]:
    """Return C's lines for a loop with reductions, which OpenMP joins if no order changes them.

    region: the clauses of the region of threads that add to copies of arrays, and of the loop in it.
    """
    clauses = part_pragma(p.task, threads, has_loops, uneven)
    p.reductions.has_parts = bool(clauses)
    if clauses and p.reductions.in_any_order:
        directive = pragma(p.task, threads, has_loops, uneven, p.reductions.simd is not None)
        around = region and partial(_in_region, p, region[0], [region[1], *p.reductions.clauses])
        return nest_in_any_order(threads, p.reductions, call, directive, around)
    around = region and partial(_in_region, p, region[0], [f"schedule({'dynamic' if uneven else 'static'})"])
    parts = parts_of(p.task, threads, has_loops, uneven)
    p.helpers += [name for name in (parts.count, parts.begin, parts.end) if name] if clauses else []
    p.helpers += ["run_end"] if p.reductions.variables_of_runs else []
    return nest_in_parts(p.entry_expressions, p.task, threads, p.names, p.reductions, call, clauses, parts, around)


def _is_simd(printed: PrintedTask, threads: Threads, vectorizable: bool) -> bool:
    """Return whether the innermost loop of an entry is marked for vectorization."""
    task = printed.task
    if task.is_in_lanes:
        return task.as_lanes
    is_plain = vectorizable and not task.synchronizes and not task.private
    is_plain &= not any(map(_looks_up_cells, printed.statements))
    return is_plain and is_vectorized(threads, *pointers_of(printed.statements, printed.memory))


def _looks_up_cells(statement: Statement) -> bool:
    """Return whether a statement tests a bit in a cell of a pool, or finds such a cell by indices.

    Vectors of such iterations take longer: 200,000 active bits of a million 1.17 ms, .88 without them; means of
    neighbours in blocks of 16 x 16 1.65 and 1.41 (gcc 12, Zen 4).
    """
    if isinstance(statement, GlobalPtr):
        place = statement.array.place
        return place is not None and statement.cell is None and pool_above(place) is not None
    return isinstance(statement, IsActive) and statement.cell is not None


def _counts(threads: Threads | None) -> dict[str, str]:
    """Return the number of iterations as an entry compares it with a thread's, and what it reads for that, or ""."""
    if threads is None:
        return {"count": "1", "device_count": ""}
    return {"count": threads.limit, "device_count": threads.device_count}


def _guarded(count: str, lines: list[str]) -> list[str]:
    """Return the lines of an entry that end in the call, for threads that have an iteration."""
    line = f"if (index < {count}) {lines[-1]}"
    if len(lines) == 1 and len(INDENT + line) <= COLUMNS:
        return [line]
    return [f"if (index < {count}) {{", *(INDENT + line for line in lines), "}"]


SCALAR = '__asm__ volatile("");  // gcc 12 makes wrong vectors of such choices (conditional_loads)'
"""What a loop contains that shall stay scalar."""


def padded(members: list[Declaration]) -> list[str]:
    """Return the members of a struct with their comments in one column."""
    declared = [f"{m.type}{'' if m.type.endswith('*') else ' '}{m.name};" for m in members]
    width = max(map(len, declared), default=0)
    lines = []
    for text, member in zip(declared, members, strict=True):
        first, *rest = wrapped_text(member.note, max(COLUMNS - len(INDENT) - width - len("  // "), 20), rest="") or [""]
        lines += [f"{text.ljust(width)}  // {first}", *(f"{' ' * width}  // {line}" for line in rest)]
    return lines


def _as_one(lines: list[str]) -> list[str]:
    """Return the lines of a struct as one piece: a kernel of many files has them in each."""
    return [f"\n{INDENT}".join(lines)] if lines else []


def _constants(context: EmitContext, lanes: dict[str, int], printed: list[PrintedTask]) -> list[str]:
    tasks = [] if context.in_sections else [p.task for p in printed if context.has_block_size(p.task)]
    sizes = {context.block_size(task): task.block_dim for task in tasks}
    noted = [task for task in reversed(tasks) if task.block_note and context.options.why_comments]
    notes = {context.block_size(task): f"  // {task.block_note}" for task in noted}
    constants = [f"{name} {size}{notes.get(name, '')}" for name, size in sorted(sizes.items())]
    items = max((p.items for p in printed), default=1)
    if items > 1:
        constants.append(f"LOADS {items}  // iterations of a thread at a time, so that their loads overlap")
    stored = [one.partials.count for p in printed for one in p.task.reductions if one.partials is not None]
    if stored:
        constants.append(f"MAX_BLOCKS {min(stored)}u  // that store partial results")
    note = "  // neighbouring iterations whose loops run together"
    constants += [f"{name} {count}{note}" for name, count in sorted(lanes.items())]
    return constants


def _helpers_of(functions: list[PrintedFunction], printed: list[PrintedTask]) -> list[str]:
    """Return the helpers that functions and tasks use, each once, in order of appearance."""
    helpers = [helper for f in functions for helper in f.helpers] + [helper for p in printed for helper in p.helpers]
    return list(dict.fromkeys(helpers))
