"""An entry that holds the statements of an iteration itself, as a person writes a kernel of one loop.

    __device__ inline void task(const Args &args, int i) {         extern "C" __global__ ... k_0(const Args args) {
        x(i) = 0.0f;                                                   int i = blockIdx.x * BLOCK + threadIdx.x;
    }                                                       ->         if (i >= x_n0) return;
    extern "C" __global__ ... k_0(const Args args) {                   x(i) = 0.0f;
        unsigned index = blockIdx.x * BLOCK + threadIdx.x;         }
        if (index < x_n0) task(args, int(index));
    }

A function remains where the entry calls it in a loop, or for threads without an iteration too.
In: a printed task of a GPU. Out: the lines between the head of its entry and its statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...ir.statements import Const
from ...ir.tasks import Task
from ...options import FEW_ITERATIONS
from ..languages.common.language import Language
from ..languages.common.one_line import INDENT
from ..layout.layout import Layout
from ..layout.trip_counts import constant_count
from ..print.lines import fitted
from .tasks import PrintedTask

REGISTERS, MOST = 65_536, 255
"""Of an SM, and of a thread."""
INDEX = "index"
"""The number of an iteration in an entry."""
LARGEST_COUNT = 1 << 30
"""Iterations of which a thread's number is an `int`, that of a thread without an iteration too."""
ROWS = "// an axis of the grid has at most 65,535 groups; the others are in further rows"


def fits_entry(language: Language, p: PrintedTask) -> bool:
    """Return whether the entry of a task can hold its statements."""
    if language.nested_loops:
        return False
    if p.task.loop is None:
        return True
    assert p.threads is not None
    chosen = p.entry_expressions.step_names.values()
    indices = {f"int {name}" for name in (*p.names, *chosen)} | {f"{language.unsigned} {INDEX}"}
    is_called_once = not (p.grid.is_strided or p.task.reductions or p.task.block_sums)
    is_named = p.index == INDEX and INDEX not in p.names and indices.issuperset(p.parameters)
    has_names = bool(p.prologue or p.threads.declarations or p.threads.quotients)
    return is_called_once and is_named and not (has_names and p.shared_names)


def entry_head(language: Language, p: PrintedTask, block: str) -> str:
    """Return the first lines of an entry. block: the number of its threads."""
    head = language.serial_entry if p.task.loop is None else language.entry
    return fitted(head.format(name=p.entry, block=launch_bounds(p.task, block)))


def launch_bounds(task: Task, block: str) -> str:
    """Return for how many threads a compiler leaves registers: of a block, and how many blocks on an SM if it shall.

    block: the number of its threads.
    """
    return f"{block}, {task.threads_of_sm} / {block}" if task.threads_of_sm else block


def registers_note(task: Task) -> str:
    """Return why there is such a number of blocks or threads, "" if nobody has chosen it."""
    count = task.threads_of_sm
    if not count:
        few = f"a launch of up to {FEW_ITERATIONS:,} iterations has blocks of {task.few_block} threads (few_threads)"
        return few if task.few_block else ""
    registers = min(REGISTERS // count, MOST)
    return f"{count:,} threads on an SM, with up to {registers} registers for loads in flight ({task.bounded_by})"


def block_of_tile(tile: tuple[int, ...]) -> str:
    """Return why a block has so many threads. tile: extents of its iterations, one if they are numbered."""
    several = f"a block is a tile of {' x '.join(map(str, tile))}"
    return several if len(tile) > 1 else f"tiles are for {tile[0]:,} threads"


RESTRICTED = "// NVRTC heeds __restrict__ of variables, not of members: loads need not wait for stores"


def pointers(layout: Layout, p: PrintedTask, comments: bool) -> list[str]:
    """Return the declarations of the pointers that a task has in variables (`neighbour_loads`), before any branch."""
    memory, language = layout.memory, layout.memory.target.language
    used = sorted(memory.variables.keys() & p.used.arrays.keys(), key=lambda array: array.binding)
    starts = {a: language.field_start.format(layout.data[a]) if a in memory.by_rows else layout.data[a] for a in used}
    lines = [f"{layout.declared[array]} {memory.variables[array]} = {starts[array]};" for array in used]
    return [INDENT + line for line in ([RESTRICTED] if comments and lines else []) + lines]


def _is_row_by_block(p: PrintedTask) -> bool:
    """Return whether a block has all iterations of the last axis, and no others."""
    assert p.threads is not None and p.task.loop is not None
    tile, last = p.task.tile, p.task.loop.ends[-1]
    is_plain = bool(p.threads.by_block) and not p.threads.declarations
    return is_plain and len(tile) == 1 and isinstance(last, Const) and last.value == tile[0]


def opening(language: Language, p: PrintedTask, block: str) -> list[str]:
    """Return the lines of an entry before the statements: the loop's indices, and threads that have no iteration."""
    threads, loop = p.threads, p.task.loop
    if threads is None or loop is None:
        return []
    lines = [*p.prologue, *threads.declarations]
    is_full = p.block is not None and p.block.is_full
    if p.task.tile and language.size_check:
        lines.append(f'{language.size_check}({block} == {prod(p.task.tile)}, "{block_of_tile(p.task.tile)}");')
    elif is_full and language.size_check:
        lines.append(f'{language.size_check}({threads.count} % {block} == 0, "each thread has an iteration");')
    lines += [*p.table_declarations, *p.tables]  # before the threads without an iteration leave
    is_guarded = not is_full or p.grid.is_folded  # of further rows of blocks, the last have no iterations
    if p.grid.is_folded:
        lines.append(ROWS)
    number = (language.folded_index if p.grid.is_folded else language.linear_index).format(block=block)
    count = constant_count(threads.extents)
    if language.only_index and count is not None and p.task.tile and count == prod(p.task.tile):
        number = language.only_index
    has_rows = not is_guarded and f"{language.unsigned} {INDEX}" not in p.parameters and _is_row_by_block(p)
    is_small = count is not None and count <= LARGEST_COUNT
    if is_small and p.parameters == [f"int {p.names[0]}"] and threads.unsigned_indices == [INDEX]:
        name = p.names[0]
        number = number if not language.converts_explicitly else f"int({number})"
        lines.append(f"int {name} = {number};")
        lines += [f"if ({name} >= {threads.count}) return;"] if is_guarded else []
    else:
        values = threads.indices if language.converts_explicitly else threads.unsigned_indices
        if has_rows:
            values = list(threads.by_block)
        else:
            lines.append(f"{language.unsigned} {INDEX} = {number};")
            lines += [f"if ({INDEX} >= {threads.count}) return;"] if is_guarded else []
        used = {p.names[axis]: values[axis] for axis in p.axes}
        lines += _declared(language, [] if has_rows else threads.quotients_of(p.axes), used, p.names[0])
    lines = _without_unused(lines, threads.declarations)
    return fitted("\n".join(INDENT + line for line in lines)).split("\n")


def _without_unused(lines: list[str], declarations: Sequence[str]) -> list[str]:
    """Return lines without the extents that no other line needs, where blocks have all iterations of a loop."""
    for declaration in reversed(declarations):  # an extent may be computed from one before it
        name = declaration.partition(" = ")[0].rpartition(" ")[2]
        others = [line for line in lines if line is not declaration]
        if not any(name in line for line in others):
            lines = others
    return lines


def _declared(language: Language, quotients: list[tuple[str, str]], indices: dict[str, str], first: str) -> list[str]:
    """Return the declarations of indices, by name, and of the quotients that they are computed from.

    first: the name of the first index, which may be a quotient itself.
    """
    if quotients and quotients[-1][0] == first:  # declared once, as an index
        value = quotients.pop()[1]
        indices = {first: f"int({value})" if language.converts_explicitly else value} | {
            name: value for name, value in indices.items() if name != first
        }
    lines = quotient_lines(language, quotients)
    if indices:
        lines.append(f"int {', '.join(f'{name} = {value}' for name, value in indices.items())};")
    return lines


def quotient_lines(language: Language, quotients: Sequence[tuple[str, str]]) -> list[str]:
    """Return the declarations of quotients."""
    return [f"{language.unsigned} {name} = {value};" for name, value in quotients]
