"""Prints reductions: accumulators, what joins them, and what follows the loop.

    CUDA, GLSL                                      C
    float s_sum = 0.0f;                             double s_sum_of[PARTS];
    for (...) task(args, int(index), s_sum);        for (int part = 0; part < PARTS; part++) {
    s_sum = block_sum(s_sum);                           double s_sum = 0.0;
    if (threadIdx.x == 0) {                             for (...) task(args, i, &s_sum);
        atomicAdd(&s(), s_sum);                         s_sum_of[part] = s_sum;
    }                                               }

In C a loop is cut into a fixed number of parts, whose results are joined in order: so sums do not depend on the number
of threads. Of integers they never do, and OpenMP joins them:

    int count = 0;
    #pragma omp parallel for firstprivate(args) schedule(static) reduction(+: count)
    for (int i = 0; i < x_n0; i++) {
        task(args, i, &count);
    }

f32 are added in f64, with `fast_math` after runs of a few iterations in f32:

    int end = part_end(x_n0, part);
    for (int run = part_begin(x_n0, part); run < end; run = run_end(run, end)) {
        float s_run = 0.0f;
        #pragma omp simd reduction(+: s_run) simdlen(32)
        for (int64_t i = run; i < run_end(run, end); i++) {
            task(args, i, &s_run);
        }
        s += s_run;
    }

Where iterations add to an array (the pass `private_sums`), each thread of C has a copy of it:

    #pragma omp parallel firstprivate(args) num_threads(threads_up_to(7))
    {
        struct Args own = args;
        own.mass_data = start_sums_f32(args.temporaries->mass_copies, mass_n0 * mass_n1);
        #pragma omp for schedule(static)
        for (int p = 0; p < x_n0; p++) {
            task(own, p);
        }
        join_sums_f32(args.mass_data, args.temporaries->mass_copies, mass_n0 * mass_n1);
    }

In: a task with reductions and a printer of its entry. Out: `Reductions`, lines for the templates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from ...ir.nodes import Statement
from ...ir.statements import Array, ArrayShape, Const, MatrixInit, RangeFor
from ...ir.tasks import Apart, Choice, PrivateSums, Reaches, Reduction, Task
from ...ir.threads import WARP, neutral
from ...ir.types import Scalar, Tensor, count_scalars, element_of, i32
from ...lazy_dataclasses import dataclass
from ...options import Capabilities
from ..languages.common.collectives import generate_reduction, reduction_key, reduction_name
from ..languages.common.one_line import COLUMNS, INDENT
from ..languages.common.syntax_forms import Rendered
from ..languages.common.tensors import positions
from ..layout.trip_counts import step_of
from .expressions import Expressions
from .iteration_order import cells_along, first_index, part_name
from .lines import Line, wrapped
from .loop_heads import bound, comparison_operand
from .statements import Statements
from .threads import Parts, Threads, extent_in_c

SIMD = {"add": "+", "mul": "*", "and": "&", "or": "|", "xor": "^", "min": "min", "max": "max"}
"""Join -> operator of OpenMP's `reduction`."""
LANES_OF_SUMS, LANES_OF_RUNS = "simdlen(16)", "simdlen(32)"
"""Of sums of f32, in f64 and in runs. On Intel's processors gcc avoids vectors of 64 bytes: it takes 8 numbers at a
time, and waits for its accumulators. Two of 64 bytes are enough on AMD's (2^22 floats: .30 ms by one, .23 by two)."""
OWN = "own"
"""C's variable for the `args` of a thread that adds to copies of arrays."""
COPIES = "copies"
"""C's variable for the number of threads that do so, where the launch decides."""
MANY_THREADS = 1 << 16
"""No limit to the number of threads."""
MAX_JOINED_BYTES = 16 << 10
"""Shared memory in which a block joins the numbers of a tensor."""
DECLARATION = (
    "#pragma omp declare reduction({name} : {type} : omp_out = {name}(omp_out, omp_in)) \\\n"
    "    initializer(omp_priv = NAN)"
)

DECLARATION_OF_SUM = (
    "#pragma omp declare reduction({name} : {type} : omp_out += omp_in) \\\n    initializer(omp_priv = -0.0)"
)
"""With `fast_math=False`: OpenMP's own sums start with 0.0, which changes -0.0."""


@dataclass(slots=True)
class PrintedReduction:
    """An accumulator: its reduction, type and name, the neutral element, and the array of partial results, if any.

    run: that of a run of iterations, "" without one. run_start: its declaration.
    """

    reduction: Reduction
    type: str
    name: str
    start: str
    restart: str
    parts: str
    run: str = ""
    run_start: str = ""


@dataclass(slots=True)
class Reductions:
    """The lines of an entry with reductions.

    accumulators: their declarations. joins: what joins those of a block. join: what joins one with another partial
    result. epilogue: what one thread does at the end. clauses: of OpenMP. simd: those for vectorization, None if it has
    none.
    located: the lines of the epilogue, with those of Python. declarations: of operators in these clauses.
    has_parts: the loop is cut into parts. done: the number of blocks that have stored their partial results. index: of
    the loop that joins these.
    variables_of_runs: for the first iteration of a run, and for the end of all in a part; () without runs.
    """

    printed: list[PrintedReduction] = field(default_factory=list)
    accumulators: list[str] = field(default_factory=list)
    joins: list[str] = field(default_factory=list)
    join: list[str] = field(default_factory=list)
    epilogue: list[str] = field(default_factory=list)
    located: list[Line] = field(default_factory=list)
    clauses: list[str] = field(default_factory=list)
    simd: list[str] | None = None
    declarations: list[str] = field(default_factory=list)
    has_parts: bool = False
    done: str = ""
    index: str = "i"
    variables_of_runs: tuple[str, ...] = ()

    @property
    def in_any_order(self) -> bool:
        """Whether C joins the results of threads in any order: those of integers are the same in each."""
        types = [printed.reduction.accumulator.type for printed in self.printed]
        return bool(types) and all(isinstance(type, Scalar) and not type.is_float for type in types)

    @property
    def used_declarations(self) -> list[str]:
        """The declarations, if the loop is vectorized."""
        return self.declarations if self.simd is not None else []

    @property
    def stores(self) -> list[str]:
        """The lines that store the partial results of a block."""
        return [f"{printed.parts}[{{block}}] = {printed.name};" for printed in self.printed]

    @property
    def restarts(self) -> list[str]:
        """The lines that set the accumulators to the neutral element again."""
        return [f"{printed.name} = {printed.restart};" for printed in self.printed]

    @property
    def arguments(self) -> list[str]:
        """The names of the accumulators that an iteration adds to."""
        return [printed.run or printed.name for printed in self.printed]


def declare_accumulators(p: Statements, task: Task) -> list[str]:
    """Name the accumulators in the function of an iteration; return its parameters."""
    declared = []
    for reduction in task.reductions:
        parameter = reduction.innermost
        name = p.e.parameters[parameter] = p.names.declare(parameter.name)
        declared.append(p.e.language.reference.format(type=p.e.name_of_type(parameter.type), name=name))
    return declared


def name_accumulators(p: Statements, task: Task) -> Reductions:
    """Name the accumulators in an entry, before its statements are printed."""
    reductions = Reductions()
    e = p.e
    if task.blocks_done is not None:
        reductions.done = e.temporary(task.blocks_done)
    names = [p.names.declare(reduction.accumulator.name) for reduction in task.reductions]
    if reductions.index in names:
        reductions.index = "part"
    for reduction, name in zip(task.reductions, names, strict=True):
        parameter = reduction.accumulator
        type = e.name_of_type(parameter.type)
        start = e.of(_neutral(reduction, e.target.exact))
        parts = p.names.declare(f"{name}_of") if e.language.nested_loops else ""
        if reduction.partials is not None:
            parts = e.temporary(reduction.partials)
        e.parameters[parameter], e.parameters[reduction.other] = name, f"{parts}[{reductions.index}]"
        e.variables |= {parameter, reduction.other}
        printed = PrintedReduction(reduction, type, name, start.initializer, start.source, parts)
        if reduction.run is not None:
            printed.run, zero = p.names.declare(reduction.run.name), e.of(Const(0.0, type=reduction.run.type))
            printed.run_start = f"{e.name_of_type(reduction.run.type)} {printed.run} = {zero.source};"
            reductions.variables_of_runs = reductions.variables_of_runs or tuple(map(p.names.declare, ("run", "end")))
        reductions.printed.append(printed)
        note = "  // NaN loses against every number" if _is_extremum(reduction) else ""
        reductions.accumulators.append(f"{type} {name} = {start.initializer};{note}")
    return reductions


def print_reductions(
    p: Statements,
    task: Task,
    reductions: Reductions,
    capabilities: Capabilities,
    with_comments: Callable[[list[Line]], list[Line]],
) -> None:
    """Print what follows the loop of an entry. with_comments: completes the comments of lines."""
    comments, p.comments = p.comments, False
    if not (p.e.language.nested_loops and reductions.in_any_order):
        with p.captured() as lines:
            p.block(task.join)
            reductions.join = [INDENT * line.depth + line.text for line in lines]
    p.comments = comments
    with p.captured() as lines:
        p.block(task.epilogue)
        reductions.located = with_comments(lines)
        reductions.epilogue = [INDENT * line.depth + line.text for line in reductions.located]
    scalars = [printed.reduction for printed in reductions.printed]
    if p.e.language.nested_loops and all(isinstance(r.accumulator.type, Scalar) for r in scalars):
        names: dict[str, list[str]] = {}
        exact = p.e.target.exact
        for q in reductions.printed:
            names.setdefault(_simd_operator(q.reduction, exact), []).append(q.run or q.name)
        reductions.clauses = [f"reduction({operator}: {', '.join(listed)})" for operator, listed in names.items()]
        reductions.simd = list(reductions.clauses)
        if any(r.element.bits < element_of(r.accumulator.type).bits and r.element.is_float for r in scalars):
            reductions.simd.append(LANES_OF_RUNS if any(q.run for q in reductions.printed) else LANES_OF_SUMS)
        floats = {_simd_operator(q.reduction, exact): q.type for q in reductions.printed if _is_extremum(q.reduction)}
        reductions.declarations = [DECLARATION.format(name=name, type=type) for name, type in floats.items()]
        sums = {
            _simd_operator(q.reduction, exact): q.type for q in reductions.printed if exact and _is_sum(q.reduction)
        }
        reductions.declarations += [DECLARATION_OF_SUM.format(name=name, type=type) for name, type in sums.items()]
    if p.e.language.block_reduction is not None:
        for printed in reductions.printed:
            reductions.joins += _block_joins(p.e, printed, task.block_dim, capabilities)


def _is_extremum(reduction: Reduction) -> bool:
    """Return whether a reduction is the least or greatest of floats, which starts with NaN."""
    return element_of(reduction.accumulator.type).is_float and reduction.op in ("min", "max")


def _is_sum(reduction: Reduction) -> bool:
    return element_of(reduction.accumulator.type).is_float and reduction.op == "add"


def _simd_operator(reduction: Reduction, exact: bool) -> str:
    """Return OpenMP's operator; its `max` leaves open what it returns if an operand is NaN, its sums start with 0.0."""
    if exact and _is_sum(reduction):
        return f"sum_{reduction.accumulator.type}"
    if not _is_extremum(reduction):
        return SIMD[reduction.op]
    return f"{reduction.op}_{reduction.accumulator.type}"


def _neutral(reduction: Reduction, exact: bool) -> Statement:
    """Return the neutral element: `min` and `max` of floats return the other operand of NaN."""
    type = reduction.accumulator.type
    element, value = element_of(type), neutral(reduction.op, reduction.element)
    if exact and value == 0 and element.is_float:
        value = -0.0  # 0.0 would change -0.0
    number = Const(value, type=element)
    return MatrixInit([number] * type.size, type=type) if isinstance(type, Tensor) else number


def _block_joins(e: Expressions, printed: PrintedReduction, block_dim: int, capabilities: Capabilities) -> list[str]:
    """Return lines that join the accumulators of a block: tensors at once if possible, else number by number."""
    type, op = printed.reduction.accumulator.type, printed.reduction.op
    assert isinstance(type, (Scalar, Tensor))
    element, texts = element_of(type), [printed.name]
    options = _options(element, capabilities)
    if isinstance(type, Tensor) and not _at_once(e, printed.reduction, options, block_dim):
        constants = [[Const(k, type=i32) for k in indices] for indices in positions(type)]
        texts = [e.element(printed.name, type, indices, True).source for indices in constants]
        type = element
    key = reduction_key(op, type, options)
    e.need(key, *(used for used in generate_reduction(e.language, key).uses if used.startswith("extension ")))
    e.symbols.call(reduction_name(op))
    return [f"{text} = {reduction_name(op)}({text});" for text in texts]


def _at_once(e: Expressions, reduction: Reduction, options: str, block_dim: int) -> bool:
    """Return whether a block joins all numbers of a tensor at once: in shared memory all have their places then."""
    size_bytes = reduction.accumulator.type.size_bytes
    if e.language.warp is not None:
        return WARP * size_bytes <= MAX_JOINED_BYTES  # a block has at most as many warps as a warp has threads
    return bool(options) and not _is_extremum(reduction) and block_dim * size_bytes <= MAX_JOINED_BYTES


def _options(element: Scalar, capabilities: Capabilities) -> str:
    """Return whether a device has subgroup arithmetic on a type."""
    features = capabilities.subgroup_features
    small = element.bits == 32 or (element.is_float and element.bits == 64)
    return "subgroups" if "arithmetic" in features and (small or "extended_types" in features) else ""


# --- C ----------------------------------------------------------------------------------------------------------------

InRegion = Callable[[list[str]], list[str]]
"""Puts a loop into the region of threads that add to copies of arrays."""


def nest_in_any_order(
    threads: Threads, reductions: Reductions, call: str, directive: str, in_region: InRegion | None = None
) -> list[str]:
    """Return C's lines for a loop whose results OpenMP joins. directive: OpenMP's, which may vectorize one loop."""
    if in_region is not None:
        return [*reductions.accumulators, *in_region(_loops(threads.loops, call, [])), *reductions.epilogue]
    simd = _directive(["#pragma omp simd", *reductions.simd]) if reductions.simd and " simd " not in directive else []
    condition = [f"if {rest}" for rest in directive.partition(" if ")[2:] if rest]
    words = [directive.partition(" if ")[0], *reductions.clauses, *condition]
    return [*reductions.accumulators, *_directive(words), *_loops(threads.loops, call, simd), *reductions.epilogue]


def nest_in_parts(
    e: Expressions,
    task: Task,
    threads: Threads,
    names: list[str],
    reductions: Reductions,
    call: str,
    clauses: str,
    parts: Parts,
    in_region: InRegion | None = None,
) -> list[str]:
    """Return C's lines for a loop with reductions. clauses: of OpenMP's directive; "" if one thread is enough."""
    simd = [] if reductions.simd is None else _directive(["#pragma omp simd", *reductions.simd])
    assert task.loop is not None
    k = reductions.index
    heads = [_part_head(e, task.loop, names, parts), *threads.loops[1:]] if clauses else threads.loops
    loops = _loops(heads, call, simd)
    if reductions.variables_of_runs:
        loops = _runs(e, task.loop, names, reductions, heads, call, simd, parts if clauses else None)
    if not clauses:
        return [*reductions.accumulators, *loops, *reductions.epilogue]
    inside = [
        *reductions.accumulators,
        *loops,
        *(f"{q.parts}[part] = {q.name};" for q in reductions.printed),
    ]
    count = f"{parts.count}({extent_in_c(e, task.loop, 0)})" if parts.count else "PARTS"
    loop = [f"for (int part = 0; part < {count}; part++) {{", *(INDENT + line for line in inside), "}"]
    return [
        "// Parts of the loop, joined in order: the result does not depend on the number of threads.",
        *(f"{q.type} {q.parts}[PARTS];" for q in reductions.printed),
        *([clauses, *loop] if in_region is None else in_region(loop)),
        *reductions.accumulators,
        f"for (int {k} = 0; {k} < {count}; {k}++) {{",
        *(INDENT + line for line in reductions.join),
        "}",
        *reductions.epilogue,
    ]


def _directive(words: list[str]) -> list[str]:
    """Return a directive, continued on further lines if it is long: between clauses, or between names of one."""
    width = COLUMNS - 4 * len(INDENT)
    lines = [words[0]]
    for word in words[1:]:
        if len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines[-1] += " \\"
            *first, last = wrapped(word, width - len(INDENT))
            lines += [*(f"{INDENT}{part} \\" for part in first), INDENT + last]
    return lines


def _loops(heads: list[str], call: str, simd: list[str]) -> list[str]:
    lines: list[str] = []
    for depth, head in enumerate(heads):
        if depth == len(heads) - 1:
            lines += [INDENT * depth + line for line in simd]
        lines.append(f"{INDENT * depth}{head} {{")
    lines.append(INDENT * len(heads) + call)
    return lines + [INDENT * depth + "}" for depth in reversed(range(len(heads)))]


def _runs(
    e: Expressions,
    loop: RangeFor,
    names: list[str],
    reductions: Reductions,
    heads: list[str],
    call: str,
    simd: list[str],
    parts: Parts | None,
) -> list[str]:
    """Return the lines of loops of which the innermost is cut into runs. parts: how the outermost is cut, if it is.

    The first iteration of a run is an `int`, so that gcc 13 knows that `i` fits one, and loads vectors, gathering none.
    """
    name, (first, end) = names[-1], reductions.variables_of_runs
    start, declared, stop = bound(e, loop.starts[-1]).source, [], bound(e, loop.ends[-1])
    if parts is not None and len(heads) == 1:
        count = extent_in_c(e, loop, 0)
        declared, stop = [f"int {end} = {_offset(start, f'{parts.end}({count}, part)', 1)};"], Rendered(end)
        start = _offset(start, f"{parts.begin}({count}, part)", 1)
    after = f"run_end({first}, {stop.source})"
    inside = [
        *(printed.run_start for printed in reductions.printed if printed.run),
        *_loops([f"for (int64_t {name} = {first}; {name} < {after}; {name}++)"], call, simd),
        *(f"{printed.name} += {printed.run};" for printed in reductions.printed if printed.run),
    ]
    outer = [*heads[:-1], f"for (int {first} = {start}; {first} < {comparison_operand(stop)}; {first} = {after})"]
    return [
        *declared,
        *(f"{INDENT * depth}{head} {{" for depth, head in enumerate(outer)),
        *(INDENT * len(outer) + line for line in inside),
        *(INDENT * depth + "}" for depth in reversed(range(len(outer)))),
    ]


def _part_head(e: Expressions, loop: RangeFor, names: list[str], parts: Parts) -> str:
    """Return the head of the outermost loop within a part.

    A variable of 64 bits cannot wrap: with one of 32 bits, which starts at any number, gcc gathers neighbours.
    """
    step = 1
    if loop.order:
        component = loop.order[0]
        axis, count = component.dimension, str(component.extent)
        is_whole = component.extent == cells_along(loop, axis)
        name = names[axis] if is_whole else part_name(names, axis, 0)
        start = str(first_index(loop, axis)) if is_whole else "0"
    else:
        name, start = names[0], bound(e, loop.starts[0]).source
        count, step = extent_in_c(e, loop, 0), step_of(loop, 0)
    first, end = (_offset(start, f"{function}({count}, part)", step) for function in (parts.begin, parts.end))
    advance = {1: f"{name}++", -1: f"{name}--"}.get(step, f"{name} += {step}")
    return f"for (int64_t {name} = {first}; {name} {'<' if step > 0 else '>'} {end}; {advance})"


def _offset(start: str, count: str, step: int) -> str:
    term = count if abs(step) == 1 else f"{count} * {abs(step)}"
    if start == "0":
        return term if step > 0 else f"-{term}"
    return f"{start} {'+' if step > 0 else '-'} {term}"


# --- C: sums in arrays -----------------------------------------------------------------------------------------------


def loop_with_copies(e: Expressions, task: Task, clauses: list[str], schedule: list[str], loop: list[str]) -> list[str]:
    """Return the lines around the loops of a task. clauses: of the parallel region. schedule: those of the loop."""
    most = min(sums.most_threads for sums in task.private)
    if task.loop is not None and task.loop.parallelize is not None:
        most = min(most, task.loop.parallelize)
    inside = [
        f"struct Args {OWN} = args;",
        *(_start(e, sums) for sums in task.private),
        *_directive(["#pragma omp for", *schedule]),
        *loop,
        *(_join(e, sums) for sums in task.private),
    ]
    return [
        "// Each thread adds to copies of its own, since atomic additions take longer.",
        " ".join(["#pragma omp parallel firstprivate(args)", f"num_threads(threads_up_to({most}))", *clauses]),
        "{",
        *(INDENT + line for line in inside),
        "}",
    ]


def loop_with_a_choice(
    e: Expressions, task: Task, clauses: list[str], schedule: list[str], loop: list[str]
) -> list[str]:
    """Return the lines around the loops of a task that adds to copies of ndarrays, or to these themselves."""
    most = MANY_THREADS if task.loop is None else task.loop.parallelize or MANY_THREADS
    threads = f"num_threads({COPIES} > 0 ? {COPIES} : threads_up_to({most}))"
    inside = [
        f"struct Args {OWN} = args;",
        *_if_copied([_start(e, sums) for sums in task.private]),
        *_directive(["#pragma omp for", *schedule]),
        *loop,
        *_if_copied([_join(e, sums) for sums in task.private]),
    ]
    return [
        *_choice(e, task),
        " ".join(["#pragma omp parallel firstprivate(args)", threads, *clauses]),
        "{",
        *(INDENT + line for line in inside),
        "}",
    ]


def _if_copied(lines: list[str]) -> list[str]:
    return [f"if ({COPIES} > 0) {{", *(INDENT + line for line in lines), "}"]


def _choice(e: Expressions, task: Task) -> list[str]:
    """Return the lines that decide how many threads add to copies; none do if arrays share memory."""
    assert task.loop is not None
    extents = [extent_in_c(e, task.loop, axis) for axis in range(len(task.loop.starts))]
    factors = [f"(long long){extents[0]}", *extents[1:]]
    additions = " * ".join([*factors, *([str(task.private[0].additions)] * (task.private[0].additions > 1))])
    numbers = " + ".join(numbers_of(e, sums.array) for sums in task.private)
    data = e.layout.data  # without arrays whose last access was removed
    most = min(task.private[0].most_threads, task.loop.parallelize or task.private[0].most_threads)
    return [
        "// Threads that add to one array wait for each other, so each adds to copies of its own,",
        "// unless these are too large.",
        f"int copies = threads_with_copies({additions}, {numbers}, {task.private[0].copies.count}, {most});",
        *(_zero_if_shared(e, sums.array, other) for sums in task.private for other in sums.others if other in data),
    ]


def _zero_if_shared(e: Expressions, a: Array, b: Array) -> str:
    ends = [f"{e.data_of(array)}, {e.data_of(array)} + {extent_of_all(e, array)}" for array in (a, b)]
    return f"copies = are_apart({', '.join(ends)}) ? copies : 0;"


def helpers_of(task: Task) -> list[str]:
    """Return the helpers that these lines call."""
    types = [element_of(sums.array.element) for sums in task.private]
    choice = ["threads_with_copies", *["are_apart"] * any(sums.others for sums in task.private)]
    return [
        *(choice if task.private[0].is_choice else ()),
        "threads_up_to",
        *(f"{name}_sums_{type}" for type in types for name in ("start", "join")),
    ]


def _start(e: Expressions, sums: PrivateSums) -> str:
    array, copies = sums.array, e.temporary(sums.copies)
    own = f"{OWN}.{e.layout.data[array].removeprefix('args.')}"
    return f"{own} = start_sums_{element_of(array.element)}({copies}, {numbers_of(e, array)});"


def _join(e: Expressions, sums: PrivateSums) -> str:
    array, copies = sums.array, e.temporary(sums.copies)
    return f"join_sums_{element_of(array.element)}({e.layout.data[array]}, {copies}, {numbers_of(e, array)});"


def numbers_of(e: Expressions, array: Array) -> str:
    """Return how many numbers an array has, by the names of its extents."""
    size = count_scalars(array.element)
    return " * ".join(
        [
            extent_of_all(e, array),
            *([f"{size}ll" if array.shape is None and array.ndim == 1 else str(size)] if size > 1 else []),
        ]
    )


def extent_of_all(e: Expressions, array: Array) -> str:
    """Return how many elements an array has, by the names of its extents."""
    if array.shape is None:
        extents = [e.of(ArrayShape(array, axis, type=i32)).source for axis in range(array.ndim)]
        return " * ".join([f"(long long){extents[0]}", *extents[1:]] if extents[1:] else extents or ["1"])
    factors = [e.layout.constants.extent(array, axis) for axis in range(array.ndim)]
    e.used.constants |= dict.fromkeys(name for name in factors if not name.isdigit())
    return " * ".join(factors or ["1"])


# --- C: tasks of which a launch runs one ------------------------------------------------------------------------------


def print_choices(p: Statements, task: Task) -> None:
    """Print where a task returns because another one runs: the host calls all tasks of C, whatever a launch is given.

    Passes for the host choose only by which ndarrays share memory, and which elements they have.
    """
    assert task.loop is not None
    tests = [f"if ({_holds(p.e, task.loop, choice)}) return;" for choice in task.unless]
    tests += [f"if (!({_holds(p.e, task.loop, choice)})) return;" for choice in task.when]
    p.lines += [Line(0, test) for test in tests]


def _holds(e: Expressions, loop: RangeFor, choice: Choice) -> str:
    """Return whether all conditions of a choice hold."""
    data = e.layout.data  # without arrays whose last access was removed
    tests = []
    for condition in choice.conditions:
        if isinstance(condition, Reaches):
            extents = [ArrayShape(condition.array, axis, type=i32) for axis in range(condition.array.ndim)]
            pairs = zip(extents, condition.axes, strict=True)
            found = [f"{e.of(extent).source} >= {bound(e, loop.ends[axis]).source}" for extent, axis in pairs]
            tests += found if condition.array in data else []
            continue
        assert isinstance(condition, Apart) and not condition.may_be_same
        pair = (condition.first, condition.second)
        if all(array in data for array in pair):
            e.need("are_apart")
            tests.append(f"are_apart({', '.join(_range_of(e, array) for array in pair)})")
    return " && ".join(tests) or "1"


def _range_of(e: Expressions, array: Array) -> str:
    """Return where an array begins and ends in memory."""
    return f"{e.data_of(array)}, {e.data_of(array)} + {extent_of_all(e, array)}"
