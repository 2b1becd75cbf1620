"""Prints how threads share data: atomic operations, shared arrays, barriers, collectives, the parts between barriers.

    C                                                       GLSL, CUDA (where the last block may not be full)
    for (int thread = 0; thread < threads; thread++) {      if (has_iteration) {
        int i = block * BLOCK + thread;                         tile[i % BLOCK] = x(i);
        tile[i % BLOCK] = x(i);                             }
    }                                                       barrier();

In: statements of `ir.threads`, and the `BlockForm` of their task. Out: lines and rendered values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from ...errors import UnsupportedError
from ...ir.functions import reachable
from ...ir.nodes import Statement, walk
from ...ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    LoopIndex,
    MatrixPtr,
    Operation,
    StructPtr,
    base_pointer,
)
from ...ir.tasks import Task
from ...ir.threads import COLLECTIVES, SUBGROUP_SIZE, Barrier, Collective, Exchange, ThreadFor, ThreadIndex, waits
from ...ir.types import Scalar, Struct, Tensor, Type, element_of, f32, i32, member_offset
from ...lazy_dataclasses import dataclass
from ..languages.common.atomics import is_native, own_key, own_name, whole_key, whole_name
from ..languages.common.collectives import ALL_LANES, collective_syntax, exchange_key, exchange_name
from ..languages.common.helpers import known
from ..languages.common.one_line import COLUMNS, INDENT
from ..languages.common.syntax import atomic_syntax
from ..languages.common.syntax_forms import ADD, ASSIGN, MULTIPLY, PRIMARY, Rendered
from ..layout.accessors import cell_of, clamped, less_offset, strided
from ..layout.tree_structs import numbered_place, place_number
from .expressions import WRITERS as VALUES
from .expressions import Expressions, is_shared
from .statements import Statements, print_call

THREADS = "threads"
"""C's variable for the number of threads of a block that have an iteration."""
HAS_ITERATION = "has_iteration"
LANES = "lanes"
"""Parameters of a task's function: whether the thread has an iteration, and which lanes of its warp have one (CUDA)."""


IS_OWN = "is_own"
"""C's parameter of a task: whether its thread adds to copies."""
SHORT_ROW = 64
"""Bytes of a row of a shared array whose elements are accessed together, as of `SharedArray((128, 4), ti.f32)`."""
ACCESSES = (GlobalLoad, GlobalStore, AtomicOp)


@dataclass(slots=True)
class LaneForm:
    """How a task is printed whose loops run for neighbouring iterations together (`lane_loops`, `lane_whiles`).

    size: the name of their number. index: the name of the loop's last index. first: its first value. end: of the loop.
    parameters: of the task's function in place of the last index.
    """

    size: str
    index: str
    first: str
    end: str
    parameters: list[str]


@dataclass(slots=True)
class BlockForm:
    """How a task whose threads synchronize is printed.

    size: name of the number of threads per block.
    as_loops: the threads of a block are iterations of loops (C), of which `threads` run.
    is_full: all blocks have all threads.
    axes: name and expression of the loop's index, by axis.
    uses_lanes: the task needs the mask of lanes that have an iteration (CUDA).
    orders_buffers: threads exchange values through arrays.
    has_barrier: threads wait for each other.
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
        """The number of a thread among all iterations of the loop, in C."""
        return f"block * {self.size} + thread"


def block_form(task: Task, size: str, as_loops: bool, is_full: bool) -> BlockForm:
    """Return the form of a task."""
    form = BlockForm(task, size, as_loops, is_full)
    form.orders_buffers = _exchange(task)
    form.has_barrier = any(waits(s, scope) for s in walk(task.body) for scope in ("block", "subgroup"))
    return form


def _exchange(task: Task) -> bool:
    """Return whether threads may exchange values through an array, or through a member if structs are never whole."""
    found = [(s, base, member) for s in reachable(task.body) if isinstance(s, ACCESSES) for base, member in _place(s)]
    whole = {base.array for _, base, member in found if not member}
    places = [(s, base, (base.array, "" if base.array in whole else member)) for s, base, member in found]
    written = {place for s, _, place in places if isinstance(s, (GlobalStore, AtomicOp))}
    read = {place for s, _, place in places if isinstance(s, (GlobalLoad, AtomicOp))}
    return bool(written & read & {place for _, base, place in places if not _is_own(base, task)})


def _place(access: GlobalLoad | GlobalStore | AtomicOp) -> list[tuple[GlobalPtr, str]]:
    """Return the element of an array that a statement accesses, with its member, "" for all of it; else []."""
    pointer, member = access.pointer, ""
    while isinstance(pointer, (MatrixPtr, StructPtr)):
        member = pointer.member if isinstance(pointer, StructPtr) else member
        pointer = pointer.origin
    return [(pointer, member)] if isinstance(pointer, GlobalPtr) and not pointer.array.is_shared else []


def _is_own(pointer: GlobalPtr, task: Task) -> bool:
    """Return whether a thread accesses only the element of its own index through this pointer."""
    loop = task.loop
    if pointer.by_word:
        return True  # all threads have read their elements before the barrier behind which these words are stored
    axes = [index.axis for index in pointer.indices if isinstance(index, LoopIndex) and index.loop is loop]
    return loop is not None and axes == list(range(len(loop.starts)))


def declare_shared(e: Expressions, arrays: list[Array], explains: bool) -> list[str]:
    """Return the declarations of shared arrays: `shared float tile[64];`, in C a plain array.

    Its elements are zero there, so that a program that reads what no thread wrote gives the same numbers each time.
    explains: a comment says why rows are padded.
    """
    lines = []
    for array in arrays:
        name = f"{e.name_of_type(array.element)} {e.layout.accessors.names[array]}"
        extents = "".join(f"[{extent}]" for extent in shared_extents(e, array))
        qualifier = e.language.shared_qualifier + _alignment(e, array)
        line = f"{qualifier}{name}{extents}{e.language.shared_start};"
        lines += _with_reason(line, array) if explains and array.padding else [line]
    return lines


def _alignment(e: Expressions, array: Array) -> str:
    """Return what places the short rows of an array where one instruction reads several of their elements, or ""."""
    shape, element = array.shape or (), array.element
    if not e.language.shared_alignment or len(shape) < 2 or not isinstance(element, Scalar):
        return ""
    size = (shape[-1] + array.padding) * element.size_bytes
    return next((e.language.shared_alignment.format(n) for n in (16, 8) if size % n == 0 and size <= SHORT_ROW), "")


def shared_extents(e: Expressions, array: Array) -> list[str]:
    """Return the extents of a shared array, by the names of which they are made."""
    origins = array.extents or (None,) * array.ndim
    found = [e.of(Const(n, origin, type=i32)).source for n, origin in zip(array.shape or (), origins, strict=True)]
    return [*found[:-1], f"{found[-1]} + {array.padding}"] if array.padding else found


def _with_reason(line: str, array: Array) -> list[str]:
    """Return the declaration of a shared array with a comment on its padding."""
    comment = f"// {array.padding} more: threads access different banks (padded_rows)"
    fits = len(INDENT) + len(line) + len(comment) + 2 <= COLUMNS
    return [f"{line}  {comment}"] if fits else [comment, line]


def block_parameters(block: BlockForm, count: str) -> list[tuple[str, str]]:
    """Return further parameters of a task's function, with arguments. count: source of the number of iterations."""
    if block.as_loops:
        return [("int block", "block"), *([] if block.is_full else [("int count", count)])]
    parameters = [(f"bool {HAS_ITERATION}", f"index < {count}")] if block.task.is_split else []
    return parameters + ([(f"unsigned {LANES}", LANES)] if block.uses_lanes else [])


# --- values -----------------------------------------------------------------------------------------------------------


def thread_index(e: Expressions, value: ThreadIndex) -> Rendered:
    """Render the number of a thread."""
    if value.kind == "first":
        return _first_index(e)
    if value.kind == "global" and e.block is not None and e.block.as_loops:
        return Rendered(e.block.index, ADD)
    syntax = e.language.thread_numbers[value.kind]
    e.use(syntax)
    return Rendered(syntax.format(e.index), syntax.precedence)


def _first_index(e: Expressions) -> Rendered:
    """Render the loop's index in the first thread of a block; quotients by the block size are equal in all threads."""
    assert e.block is not None
    name, text = e.block.axes[0]
    if not e.block.as_loops:
        e.indices_used.add((e.block.task.loop, 0))
        return Rendered(name)
    return Rendered(text.removesuffix(" + thread"), ADD)


# --- statements -------------------------------------------------------------------------------------------------------


def write_threads(p: Statements, statement: ThreadFor) -> None:
    """Print the part of each thread between two barriers, or of each iteration between two serial loops."""
    if p.e.lanes is not None:
        _write_lanes(p, statement, p.e.lanes)
        return
    block = p.e.block
    assert block is not None
    if statement.all_threads:
        with p.scope():
            p.block(statement.body)
        return
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
            p.emit(f"if (!{p.e.lvalue(statement.condition)}) continue;")
        used = {s.axis for s in walk(statement.body) if isinstance(s, LoopIndex) and s.loop is block.task.loop}
        if any("index" in block.axes[axis][1].split() for axis in used):
            p.emit(f"int index = {block.index};")
        for axis in sorted(used):
            name, text = block.axes[axis]
            p.emit(f"int {name} = {text};")
        loops, p.loops = p.loops, 1  # `continue` ends an iteration of this loop
        p.last = None  # values computed again here come from earlier lines
        p.block(statement.body)
        p.loops = loops
    p.emit("}")


def _write_lanes(p: Statements, statement: ThreadFor, lanes: LaneForm) -> None:
    """Print the part of each of neighbouring iterations between two serial loops."""
    p.emit("#pragma omp simd" + ("" if statement.joined is None else f" reduction(|: {p.e.lvalue(statement.joined)})"))
    p.e.need("lanes_end")
    end = f"lanes_end({lanes.first}, {lanes.end}, {lanes.size})"
    p.emit(f"for (int {lanes.index} = {lanes.first}; {lanes.index} < {end}; {lanes.index}++) {{")
    with p.indented():
        p.last = None
        p.block(statement.body)
    p.emit("}")


def write_barrier(p: Statements, barrier: Barrier) -> None:
    """Print a barrier; between two loops of C it is only the comment with its Python line."""
    block = p.e.block
    assert block is not None
    language = p.e.language
    needs_lanes = language.names_lanes and barrier.scope == "subgroup" and not barrier.memory_only
    calls = language.barrier(language, barrier, block.orders_buffers, _lanes(p, barrier) if needs_lanes else "")
    if not calls:
        p.mark(barrier.location)
    for call in calls:
        p.e.use(call)
        p.emit(f"{call.template};", barrier.location)


def write_collective(p: Statements, statement: Collective) -> None:
    """Print a collective of GLSL or CUDA."""
    collective = COLLECTIVES[statement.op]
    kind = statement.operands[0].type if "value" in collective.arguments else None
    assert kind is None or isinstance(kind, Scalar)
    needs_lanes = p.e.language.names_lanes and collective.scope == "subgroup" and statement.op != "active_mask"
    syntax = collective_syntax(p.e.language, statement.op, kind, _lanes(p, statement) if needs_lanes else "")
    rendered = p.e.formatted(syntax, *statement.operands)
    print_call(p, statement, rendered)


def _lanes(p: Statements, statement: Barrier | Collective) -> str:
    """Return the lanes of a warp that participate: the given mask, all, those with an iteration, or the active ones.

    `__activemask()` is only for diverged threads: CUDA's compiler chooses where a warp converges again, so that the
    mask guarantees nothing, but GLSL's subgroups guarantee nothing either.
    """
    block = p.e.block
    assert block is not None
    if statement.lanes is not None:
        return p.e.of(statement.lanes).source
    warp = p.e.language.warp
    assert warp is not None
    if not statement.converged:
        return warp.active
    if block.is_full and block.task.block_dim % SUBGROUP_SIZE == 0:
        return ALL_LANES
    block.uses_lanes = True
    p.e.need(*known(p.e.language, [warp.ballot]))  # the entry computes which lanes have an iteration
    return LANES


def write_exchange(p: Statements, statement: Exchange) -> None:
    """Print a collective of C: a call with the variables of all threads."""
    block, collective = p.e.block, COLLECTIVES[statement.op]
    assert block is not None
    texts = [p.e.variable_names.get(operand) or p.e.of(operand).source for operand in statement.operands]
    if collective.scope == "block":
        p.e.need(statement.op)
        print_call(p, statement, Rendered(f"{statement.op}({', '.join([block.threads, *texts])})"))
        return
    kind = statement.operands[0].type if "value" in collective.arguments else None
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
    """Return the declaration of a variable that each thread has, and record how it is accessed."""
    block, lanes = p.e.block, p.e.lanes
    assert alloca.type is not None
    kind = p.e.name_of_type(alloca.type)
    if lanes is not None:
        p.e.rendered[alloca] = Rendered(f"{name}[{lanes.index} - {lanes.first}]")
        return f"{kind} {name}[{lanes.size}];"
    assert block is not None
    if not block.as_loops:
        return f"{kind} {name};"
    p.e.variable_names[alloca] = name
    p.e.rendered[alloca] = Rendered(f"{name}[thread]")
    return f"{kind} {name}[{block.size}];"


def write_atomic(p: Statements, atomic: AtomicOp) -> None:
    """Print an atomic operation, or all of those that are performed together."""
    if _adds_to_own(p, atomic):
        return
    if isinstance(atomic.type, Tensor):
        p.mark(atomic.location)
        name = f"atomic_add_float{atomic.type.size}"
        if atomic.together is None:
            name = whole_name(atomic.op, atomic.type)
        p.e.need(whole_key(atomic.op, atomic.type) if atomic.together is None else name)
        target, value = p.e.lvalue(atomic.pointer), p.e.operand(atomic.value, ASSIGN)
        p.emit(f"{name}(&{target}, {value});", atomic.location)
        return
    assert isinstance(atomic.type, Scalar)
    if atomic.together is not None:
        _add_together(p, atomic, *atomic.together)
        return
    shared = is_shared(atomic.pointer)
    native = is_native(p.shared_atomics if shared else p.atomics, atomic.op, atomic.type)
    try:
        syntax = atomic_syntax(p.e.language, atomic.op, atomic.type, native)
        if shared and len(syntax.operand_precedence) > 2:
            raise UnsupportedError(f"this device has no atomic {atomic.op} of {atomic.type} in shared memory")
    except UnsupportedError as error:
        raise atomic.location.error(UnsupportedError, error.message, error.hint) from None
    p.e.use(syntax)
    value = p.e.operand(atomic.value, syntax.operand_precedence[1])
    more = [] if atomic.mask is None else [p.e.operand(atomic.mask, syntax.operand_precedence[2])]
    more += _scalar_address(p.e, atomic.pointer) if len(syntax.operand_precedence) - len(more) > 2 else ()
    print_call(p, atomic, Rendered(syntax.format(p.e.lvalue(atomic.pointer), value, *more)))


def _scalar_address(e: Expressions, pointer: Statement) -> tuple[str, str]:
    """Return the buffer reference that contains a GLSL lvalue, and the number of its first scalar there."""
    assert pointer.type is not None
    base, unit = base_pointer(pointer), element_of(pointer.type).size_bytes
    offset, flat = _offset_inside(e, pointer, unit)
    e.uses_args = True
    if isinstance(base, GlobalTemporary):
        e.used.temporaries[base.temporary] = None
        number = e.layout.temporaries.offsets[base.temporary] // unit + offset
        return "args.temporaries", f"uint({number} + {flat})" if flat else f"{number}u"
    assert isinstance(base, GlobalPtr) and base.type is not None
    if (place := base.array.place) is not None:
        indices = [e.of(index).source for index in base.indices]
        if base.is_flat:
            parts = numbered_place(place, indices[0], unit)
        else:
            indices = less_offset(base.array, indices)
            cell = cell_of(place, indices, e.layout.cells) if base.cell is None else f"({e.of(base.cell).source})"
            parts = [place_number(place, indices, e.target, unit, cell)]
        parts += [text for text in (str(offset or ""), flat) if text]
        return e.data_of(base.array), f"uint({' + '.join(parts)})"
    linear = _linear(e, base)
    if not isinstance(base.type, Scalar):
        linear = f"{linear if linear.isidentifier() else f'({linear})'} * {base.type.size_bytes // unit}"
        parts = [linear, *([str(offset)] if offset or not flat else []), *([flat] if flat else [])]
        linear = " + ".join(parts)
    return e.data_of(base.array), f"uint({linear})"


def _offset_inside(e: Expressions, pointer: Statement, unit: int) -> tuple[int, str]:
    """Return the offset of `pointer` in its element: a constant number of scalars, and a computed one."""
    offset, flat = 0, ""
    while isinstance(pointer, (MatrixPtr, StructPtr)):
        origin = pointer.origin
        if isinstance(pointer, StructPtr):
            assert isinstance(origin.type, Struct)
            offset += member_offset(origin.type, pointer.member) // unit
        else:
            component = _component(e, pointer.indices, origin.type)
            offset, flat = (offset + int(component), "") if component.isdigit() else (offset, component)
        pointer = origin
    return offset, flat


def _component(e: Expressions, indices: list[Statement], kind: Type | None) -> str:
    assert isinstance(kind, Tensor)
    columns = kind.shape[-1]
    numbers = [int(i.value) for i in indices if isinstance(i, Const)]
    if len(numbers) == len(indices):
        return str(numbers[0] if len(numbers) == 1 else numbers[0] * columns + numbers[1])
    rows = [e.operand(i, MULTIPLY) for i in indices]
    return rows[0] if len(rows) == 1 else f"{rows[0]} * {columns} + {rows[1]}"


def _linear(e: Expressions, pointer: GlobalPtr) -> str:
    array = pointer.array
    if pointer.is_flat:
        return e.of(pointer.indices[0]).source
    is_sum = len(pointer.indices) > 1 or array.strided
    texts = [e.operand(index, MULTIPLY) if is_sum else e.of(index).source for index in pointer.indices]
    texts = clamped(array, less_offset(array, texts), e.layout.shapes)
    if array.strided and array.ndim:
        return strided(texts, e.layout.strides[array], e.layout.first_elements.get(array))
    text = ""
    for axis, index in enumerate(texts):
        if axis == 0:
            text = f"({index})" if array.offset and is_sum else index
            continue
        extent = e.layout.shapes[array, axis] if array.shape is None else e.extent(array, axis)
        text = f"{text if axis == 1 else f'({text})'} * {extent} + {index}"
    return text or "0"


def _add_together(p: Statements, atomic: AtomicOp, number: int, lane: int, count: int) -> None:
    """Print additions to neighbours in memory, at the last of them: `atomic_add_float2((float2 *)&v(i).x, {a, b})`."""
    p.mark(atomic.location)
    lanes = p.together.setdefault(number, {})
    lanes[lane] = atomic
    if len(lanes) == count:
        name = f"atomic_add_float{count}"
        p.e.need(name)
        first = lanes[0].pointer
        address = f"(float{count} *)&{p.e.lvalue(first)}"
        if isinstance(first, MatrixPtr) and first.origin.type == Tensor((count,), f32):
            address = f"&{p.e.lvalue(first.origin)}"
        values = ", ".join(_added(p, lanes[k]) for k in range(count))
        p.emit(f"{name}({address}, {{{values}}});", atomic.location)


def _adds_to_own(p: Statements, atomic: AtomicOp) -> bool:
    """Print an addition to an array of which the thread may have a copy; return whether it is one."""
    base = base_pointer(atomic.pointer)
    if not isinstance(base, GlobalPtr) or base.array not in p.e.own_arrays:
        return False
    assert isinstance(atomic.type, (Scalar, Tensor))
    p.mark(atomic.location)
    p.e.need(own_key(atomic.op, atomic.type))
    target, value = p.e.lvalue(atomic.pointer), p.e.operand(atomic.value, ASSIGN)
    p.emit(f"{own_name(atomic.op, atomic.type)}(&{target}, {value}, {IS_OWN});", atomic.location)
    return True


def _added(p: Statements, atomic: AtomicOp) -> str:
    """Return the source of the number that an atomic sum or difference adds."""
    value = atomic.value
    if atomic.op == "add":
        return p.e.operand(value, ASSIGN)
    source = p.e.operand(value, PRIMARY)
    is_negative = isinstance(value, Const) or (isinstance(value, Operation) and value.op == "neg")
    return source[2:-1] if is_negative and source.startswith("(-") else f"-{source}"


VALUES[ThreadIndex] = thread_index
WRITERS: dict[type, Callable[..., None]] = {
    AtomicOp: write_atomic,
    ThreadFor: write_threads,
    Barrier: write_barrier,
    Collective: write_collective,
    Exchange: write_exchange,
}
"""How each of these statements is printed."""
