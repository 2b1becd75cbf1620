"""Prints what the threads of a block do together: shared arrays, barriers, questions, the parts between two barriers.

    C                                                       GLSL, CUDA (where the last block may not be full)
    for (int thread = 0; thread < threads; thread++) {      if (has_turn) {
        int i = block * BLOCK + thread;                         tile[i % BLOCK] = x(i);
        tile[i % BLOCK] = x(i);                             }
    }                                                       barrier();

In: statements of `ir.threads`, and the `Block` of their task. Out: lines and texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...ir.nodes import walk
from ...ir.statements import Alloca, Array, AtomicOp, GlobalLoad, GlobalPtr, GlobalStore, LoopIndex, base_pointer
from ...ir.tasks import Task
from ...ir.threads import COLLECTIVES, SUBGROUP_SIZE, Barrier, Collective, Exchange, ThreadFor, ThreadIndex, waits
from ...ir.types import Scalar
from ..languages.common.collectives import ALL_LANES, collective_syntax, exchange_key, exchange_name
from ..languages.common.helpers import known
from ..languages.common.syntax_forms import ADD
from .expressions import WRITERS as VALUES
from .expressions import Expressions, Rendered
from .statements import Statements, print_call

THREADS = "threads"
"""What C calls the number of threads of a block that have a turn."""
HAS_ITERATION = "has_turn"
LANES = "lanes"


ACCESSES = (GlobalLoad, GlobalStore, AtomicOp)


@dataclass(slots=True)
class BlockForm:
    """How a task whose threads work together is printed. size: its threads a block, as text.

    as_loops: C, where `threads` is how many have a turn. is_full: all blocks have all threads. index: C's text of a
    thread's number in the loop. axes: by axis of the loop the name and text of its index. uses_lanes: CUDA's task needs
    to be told which lanes of its warp run. orders_buffers: threads hand one another values in arrays. has_barrier: threads
    wait for one another.
    """

    task: Task
    size: str
    as_loops: bool
    is_full: bool
    axes: list[tuple[str, str]] = field(default_factory=list)
    uses_lanes: bool = False
    orders_buffers: bool = False
    has_barrier: bool = False

    @property
    def threads(self) -> str:
        """How many threads of the block run, in C."""
        return self.size if self.is_full else THREADS

    @property
    def index(self) -> str:
        """C's number of a thread among all turns of the loop."""
        return f"block * {self.size} + thread"


def block_form(task: Task, size: str, as_loops: bool, is_full: bool) -> BlockForm:
    """Return the form of a task."""
    form = BlockForm(task, size, as_loops, is_full)
    accesses = [(s, base_pointer(s.pointer)) for s in walk(task.body) if isinstance(s, ACCESSES)]
    arrays = [(s, base) for s, base in accesses if isinstance(base, GlobalPtr) and not base.array.is_shared]
    written = {base.array for s, base in arrays if isinstance(s, (GlobalStore, AtomicOp))}
    read = {base.array for s, base in arrays if isinstance(s, (GlobalLoad, AtomicOp))}
    form.orders_buffers = bool(written & read & {base.array for _, base in arrays if not _is_own(base, task)})
    form.has_barrier = any(waits(s, scope) for s in walk(task.body) for scope in ("block", "subgroup"))
    return form


def _is_own(pointer: GlobalPtr, task: Task) -> bool:
    """Return whether a thread reaches the cell of its own index, which no other thread does in the same way."""
    loop = task.loop
    axes = [index.axis for index in pointer.indices if isinstance(index, LoopIndex) and index.loop is loop]
    return loop is not None and axes == list(range(len(loop.starts)))


def declare_shared(e: Expressions, arrays: list[Array]) -> list[str]:
    """Return the declarations of shared arrays: `shared float tile[64];`, in C a plain array.

    Its elements are zero there, so that a program that reads what no thread wrote gives the same numbers each time.
    """
    language = e.language
    return [
        f"{language.shared_qualifier}{e.type_text(array.element)} {e.layout.accessors.names[array]}"
        f"{''.join(f'[{extent}]' for extent in array.shape or ())}{language.shared_start};"
        for array in arrays
    ]


def block_parameters(block: BlockForm, count: str) -> list[tuple[str, str]]:
    """Return what the function of a task takes beside indices, and what it is given. count: of all turns, as text."""
    if block.as_loops:
        return [("int block", "block"), *([] if block.is_full else [("int count", count)])]
    found = [(f"bool {HAS_ITERATION}", f"index < {count}")] if block.task.is_split else []
    return found + ([(f"unsigned {LANES}", LANES)] if block.uses_lanes else [])


# --- values -----------------------------------------------------------------------------------------------------------


def thread_index(e: Expressions, value: ThreadIndex) -> Rendered:
    """Return the text of a thread's number."""
    if value.kind == "first":
        return _first_index(e)
    if value.kind == "global" and e.block is not None and e.block.as_loops:
        return Rendered(e.block.index, ADD)
    syntax = e.language.thread_numbers[value.kind]
    e.use(syntax)
    return Rendered(syntax.format(e.index), syntax.precedence)


def _first_index(e: Expressions) -> Rendered:
    """Return the index of the loop in a block's first thread; quotients by whole blocks are the same in all others."""
    assert e.block is not None
    name, text = e.block.axes[0]
    if not e.block.as_loops:
        e.indices_used.add((e.block.task.loop, 0))
        return Rendered(name)
    return Rendered(text.removesuffix(" + thread"), ADD)


# --- statements -------------------------------------------------------------------------------------------------------


def write_threads(p: Statements, statement: ThreadFor) -> None:
    """Print what each thread runs between two barriers."""
    block = p.e.block
    assert block is not None
    if not block.as_loops:
        p.emit(f"if ({HAS_ITERATION}) {{")
        with p.indented():
            p.last = None
            p.block(statement.body)
        p.emit("}")
        return
    p.emit(f"for (int thread = 0; thread < {block.threads}; thread++) {{")
    with p.indented():
        if statement.condition is not None:
            p.emit(f"if (!{p.e.place(statement.condition)}) continue;")
        used = {s.axis for s in walk(statement.body) if isinstance(s, LoopIndex) and s.loop is block.task.loop}
        if any("index" in block.axes[axis][1].split() for axis in used):
            p.emit(f"int index = {block.index};")
        for axis in sorted(used):
            name, text = block.axes[axis]
            p.emit(f"int {name} = {text};")
        loops, p.loops = p.loops, 1  # `continue` ends the turn of this loop
        p.last = None  # what is computed again here comes from lines that were before
        p.block(statement.body)
        p.loops = loops
    p.emit("}")


def write_barrier(p: Statements, barrier: Barrier) -> None:
    """Print a barrier; between two loops of C only the Python line says that one is there."""
    block = p.e.block
    assert block is not None
    language = p.e.language
    asks_lanes = language.names_lanes and barrier.scope == "subgroup" and not barrier.memory_only
    calls = language.barrier(language, barrier, block.orders_buffers, _lanes(p, barrier) if asks_lanes else "")
    if not calls:
        p.mark(barrier.location)
    for call in calls:
        p.e.use(call)
        p.emit(f"{call.text};", barrier.location)


def write_collective(p: Statements, statement: Collective) -> None:
    """Print a question of GLSL or CUDA."""
    row = COLLECTIVES[statement.op]
    kind = statement.operands[0].type if "value" in row.arguments else None
    assert kind is None or isinstance(kind, Scalar)
    needs_lanes = p.e.language.names_lanes and row.scope == "subgroup" and statement.op != "active_mask"
    syntax = collective_syntax(p.e.language, statement.op, kind, _lanes(p, statement) if needs_lanes else "")
    written = p.e.formatted(syntax, *statement.operands)
    print_call(p, statement, written)


def _lanes(p: Statements, statement: Barrier | Collective) -> str:
    """Return the lanes of a warp that come here: those named; all; those with a turn; those that happen to be here.

    `__activemask()` only where threads have parted: after that a warp runs as one again where CUDA's compiler put it,
    so that it is no promise, but GLSL's subgroups make none either.
    """
    block = p.e.block
    assert block is not None
    if statement.lanes is not None:
        return p.e.of(statement.lanes).text
    warp = p.e.language.warp
    assert warp is not None
    if not statement.converged:
        return warp.active
    if block.is_full and block.task.block_dim % SUBGROUP_SIZE == 0:
        return ALL_LANES
    block.uses_lanes = True
    p.e.need(*known(p.e.language, [warp.ballot]))  # the entry asks which lanes have an iteration
    return LANES


def write_exchange(p: Statements, statement: Exchange) -> None:
    """Print a question of C: a call with the variables of all threads."""
    block, row = p.e.block, COLLECTIVES[statement.op]
    assert block is not None
    texts = [p.e.variable_names.get(operand) or p.e.of(operand).text for operand in statement.operands]
    if row.scope == "block":
        p.e.need(statement.op)
        print_call(p, statement, Rendered(f"{statement.op}({', '.join([block.threads, *texts])})"))
        return
    kind = statement.operands[0].type if "value" in row.arguments else None
    assert kind is None or isinstance(kind, Scalar)
    uniform = len(statement.operands) > 1 and statement.operands[1] not in p.e.variable_names
    masked = statement.condition is not None
    options = (statement.op, kind, uniform, masked)
    p.e.need(exchange_key(*options))
    if statement.condition is not None:
        texts.insert(0, p.e.variable_names[statement.condition])
    assert statement.result is not None
    texts.append(p.e.variable_names[statement.result])
    p.emit(f"{exchange_name(*options)}({', '.join([block.threads, *texts])});", statement.location)


def declare_per_thread(p: Statements, alloca: Alloca, name: str) -> str:
    """Return the declaration of a variable of which each thread has its own, and note how it is reached."""
    block = p.e.block
    assert block is not None and alloca.type is not None
    kind = p.e.type_text(alloca.type)
    if not block.as_loops:
        return f"{kind} {name};"
    p.e.variable_names[alloca] = name
    p.e.texts[alloca] = Rendered(f"{name}[thread]")
    return f"{kind} {name}[{block.size}];"


VALUES[ThreadIndex] = thread_index
WRITERS: dict[type, Callable[..., None]] = {
    ThreadFor: write_threads,
    Barrier: write_barrier,
    Collective: write_collective,
    Exchange: write_exchange,
}
"""How each of these statements is printed."""
