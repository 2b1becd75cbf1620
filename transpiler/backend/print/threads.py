"""How the iterations of a parallel loop become threads: counts, and the index along an axis from a thread's number.

In: a task whose prologue has been printed. Out: `Threads`: source for the template, and trip counts as expressions that
the host computes (`interface.Expression`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import prod

from ...ir.constants import constant_range
from ...ir.nodes import Statement
from ...ir.origins import LITERAL, Origin, literal, operation, settled
from ...ir.statements import ArgLoad, ArrayShape, Const, GlobalLoad, GlobalPtr, Operation, RangeFor, is_const
from ...ir.tasks import Task
from ...ir.types import i32
from ...lazy_dataclasses import dataclass
from ...options import MAX_ITERATIONS
from ..languages.common.naming import bound_name
from ..languages.common.one_line import INDENT
from ..languages.common.syntax_forms import ADD, MULTIPLY, PRIMARY, UNARY, Rendered
from ..layout.layout import Layout
from ..layout.trip_counts import constant_count, has_constant_step, known_extents, step_of
from ..module.interface import Expression
from .expressions import Expressions
from .iteration_order import differences, index_of_axis, inside, is_wide, nested_loops, quotients_of_index
from .loop_heads import bound, comparison_operand, loop_head

MANY_ITERATIONS, FEW_ITERATIONS = 8192, 64
"""Iterations from which a loop is worth threads on the host: with a short body, with a body that contains loops."""
FEW_ROWS = 64
"""Iterations of outer loops below which the threads of a host share the iterations of all loops."""

MAX_COMPARED = 10
"""Pairs of addresses that gcc compares before a loop to exclude overlap."""


@dataclass(frozen=True, slots=True)
class Threads:
    """How a parallel loop runs on threads.

    declarations: lines before all others.
    count: the number of all iterations, unsigned.
    indices: an expression per axis. unsigned_indices: the same, where the value is converted to `int` later.
    loops: heads of nested loops.
    extents: trip counts for the host, or None.
    linear: the number of an iteration.
    by_block: unsigned expressions, if a block has all iterations of the last axis; () if that has no constant extent.
    """

    declarations: list[str]
    count: str
    indices: list[str]
    loops: list[str]
    extents: tuple[Expression, ...] | None
    linear: str = "index"
    unsigned_indices: Sequence[str] = ()
    by_block: Sequence[str] = ()
    quotients: Sequence[tuple[str, str]] = ()
    """Names and values of the unsigned numbers in `indices`: of all axes but the last, of all but two, and so on."""

    def quotients_of(self, axes: Sequence[int]) -> list[tuple[str, str]]:
        """Return those of `quotients` that the indices along some axes need."""
        outermost = max(0, min(axes) - 1) if axes else len(self.indices)
        return list(self.quotients[: max(0, len(self.indices) - 1 - outermost)])

    @property
    def device_count(self) -> str:
        """`count` if it is read from memory, which the iterations may change; else ""."""
        return self.count if self.extents is None and not self.declarations else ""

    @property
    def limit(self) -> str:
        """The number of iterations as an entry compares it with that of a thread."""
        return "count" if self.device_count else self.count


def spread(
    e: Expressions,
    loop: RangeFor,
    names: list[str],
    layout: Layout,
    has_wide_index: bool = False,
    declare: Callable[[str], str] = str,
) -> Threads:
    """Return how `loop` becomes threads, or nested loops if the target has those.

    has_wide_index: its indices have 64 bits. declare: returns a free name of the entry.
    """
    axes = range(len(loop.starts))
    extents, known = known_extents(loop, layout)
    declarations: list[str] = []
    if e.language.nested_loops:
        if loop.order:
            heads, indices, number = nested_loops(loop, names, lambda axis: loop_head(e, loop, axis, names[axis]))
            return Threads(declarations, str(known), indices, heads, extents, number)
        _declare_ends(e, loop, names, declarations)
        heads = [loop_head(e, loop, axis, names[axis], is_wide=has_wide_index or is_wide(loop, axis)) for axis in axes]
        factors = _factors([_difference(e, loop, axis) for axis in axes])
        count = ("(long long)" if len(factors) > 1 else "") + " * ".join(factors)
        return Threads(declarations, count, names, heads, extents, _number(e, loop, names))
    texts = [_extent(e, loop, axis, names[axis], declarations) for axis in axes]
    constant = {text for axis, text in enumerate(texts) if constant_range(loop, axis) is not None}  # int, as products
    constant |= {text for axis, text in enumerate(texts) if len(texts) == 1 and _is_rounded(loop, axis)}
    count = " * ".join(
        text if text.isdigit() or text in constant else e.language.as_unsigned(text) for text in _factors(texts)
    )
    factors = ["1" if text == "0" else text for text in texts]  # without iterations, too, no division by zero
    quotients = quotients_of_index(e, loop, names, factors, declare) if loop.packs_divisors else []
    parts = differences(quotients, factors) if quotients else []
    indices = [index_of_axis(e, loop, axis, factors, parts=parts) for axis in axes]
    unsigned = [index_of_axis(e, loop, axis, factors, converts=False, parts=parts) for axis in axes]
    by_block = _indices_by_block(e, loop, factors)
    return Threads(
        declarations, count, indices, [], extents,
        unsigned_indices=unsigned, by_block=by_block, quotients=quotients,
    )  # fmt: skip


def _indices_by_block(e: Expressions, loop: RangeFor, factors: list[str]) -> list[str]:
    """Return the indices of a thread of a block that has all iterations of the last axis, which starts at 0."""
    block, thread = e.language.block_index, e.language.only_index
    if not thread or loop.order or not is_const(loop.starts[-1], 0) or not is_const(loop.steps[-1], 1):
        return []
    if constant_range(loop, len(factors) - 1) is None:
        return []
    outer = range(len(factors) - 1)
    return [*(index_of_axis(e, loop, axis, factors[:-1], converts=False, linear=block) for axis in outer), thread]


def _factors(texts: list[str]) -> list[str]:
    """Return the factors of a product, with the constants joined and last."""
    known = prod(int(text) for text in texts if text.isdigit())
    factors = [text for text in texts if not text.isdigit()]
    return factors if factors and known == 1 else [*factors, str(known)]


def spread_runs(e: Expressions, loop: RangeFor, names: list[str], layout: Layout, first: str, size: str) -> Threads:
    """Return how `loop` becomes nested loops on the host, the innermost over runs of `size` iterations (C)."""
    threads = spread(e, loop, names, layout)
    start, end = bound(e, loop.starts[-1]).source, bound(e, loop.ends[-1]).source
    head = f"for (long long {first} = {start}; {first} < {comparison_operand(bound(e, loop.ends[-1]))}; "
    run = first if is_the_same_everywhere(loop.ends[-1]) else f"{first}, {end}"
    indices, loops = [*threads.indices[:-1], run], [*threads.loops[:-1], f"{head}{first} += {size})"]
    return replace(threads, indices=indices, loops=loops)


def is_the_same_everywhere(end: Statement) -> bool:
    """Return whether the end of a loop may be printed in its body too: nothing that the body does changes it."""
    return isinstance(end, (Const, ArgLoad, ArrayShape))


def spread_blocks(
    e: Expressions, loop: RangeFor, names: list[str], layout: Layout, block_dim: int, size: str
) -> Threads:
    """Return how `loop` becomes blocks of threads if a block is an iteration of a loop on the host (C).

    block_dim: threads per block. size: name of that constant. `count` in the source is the number of all iterations.
    """
    axes = range(len(loop.starts))
    extents, known = known_extents(loop, layout)
    if known is not None:
        count = " * ".join(_factors([_known_extent(e, loop, axis) for axis in axes]))
        blocks = f"{count} / {size}" if known % block_dim == 0 else f"({count} + {size} - 1L) / {size}"
        return Threads([], count, names, [f"for (int block = 0; block < {blocks}; block++)"], extents)
    declarations: list[str] = []
    _declare_ends(e, loop, names, declarations)
    factors = []
    for axis in axes:
        text = extent_in_c(e, loop, axis)
        if len(axes) > 1 and not text.isdigit():
            declarations.append(f"int {bound_name('extent', names[axis])} = {text} > 0 ? {text} : 0;")
            text = bound_name("extent", names[axis])
        factors.append(text)
    declarations.append(f"int count = {' * '.join(_factors(factors))};")
    loops = [f"for (int block = 0; block < (count + {size} - 1L) / {size}; block++)"]
    return Threads(declarations, "count", names, loops, extents)


def indices_in_block(e: Expressions, loop: RangeFor, linear: str) -> list[str]:
    """Return a thread's indices in C, computed from `index`, or from the expression `linear` if that is readable."""
    extents = [extent_in_c(e, loop, axis) for axis in range(len(loop.starts))]
    texts = [index_of_axis(e, loop, axis, extents) for axis in range(len(loop.starts))]
    return [
        f"{text.removesuffix('index')}{linear}" if text == "index" or text.endswith("+ index") else text
        for text in texts
    ]


def _is_rounded(loop: RangeFor, axis: int) -> bool:
    """Return whether a trip count is an end by a step, rounded up: unsigned, since their sum may be large."""
    if not has_constant_step(loop, axis) or abs(step_of(loop, axis)) == 1 or isinstance(loop.ends[axis], Const):
        return False
    return _is_ordered(loop, axis) or (is_const(loop.starts[axis], 0) and step_of(loop, axis) > 1)


def _is_ordered(loop: RangeFor, axis: int) -> bool:
    """Return whether a loop certainly does not end before it starts, since its end is limited so (`empty_loops`)."""
    start, end = loop.starts[axis], loop.ends[axis]
    if not has_constant_step(loop, axis) or not isinstance(end, Operation):
        return False
    is_limited = end.op == ("max" if step_of(loop, axis) > 0 else "min")
    return is_limited and any(operand is start or _is_same_number(operand, start) for operand in end.operands)


def _is_same_number(a: Statement, b: Statement) -> bool:
    """Return whether two bounds are one number, argument, extent or element."""
    match a, b:
        case (Const(value=x), Const(value=y)):
            return bool(x == y)
        case (ArgLoad(parameter=x), ArgLoad(parameter=y)):
            return x is y
        case (Operation(op=x, operands=parts), Operation(op=y, operands=others)):
            return x == y and all(map(_is_same_number, parts, others))
        case (ArrayShape(array=x, axis=m), ArrayShape(array=y, axis=n)):
            return x is y and m == n
        case (
            GlobalLoad(pointer=GlobalPtr(array=x, indices=parts)),
            GlobalLoad(pointer=GlobalPtr(array=y, indices=others)),
        ):
            return x is y and all(map(_is_same_number, parts, others))  # nothing in a prologue stores
    return a is b


def _known_extent(e: Expressions, loop: RangeFor, axis: int) -> str:
    """Return a constant trip count along an axis as a factor, by the names of which its bounds are made."""
    start, end, step = loop.starts[axis], loop.ends[axis], step_of(loop, axis)
    assert isinstance(start, Const) and isinstance(end, Const)
    span = int(end.value) - int(start.value)
    origin = _origin_of_span(start, end) if step > 0 and 0 < span <= MAX_ITERATIONS - step else None
    if origin is None:
        return str(len(range(int(start.value), int(end.value), step)))
    text = e.of(Const(span, origin, type=i32))
    if step == 1:
        return text.source if is_plain(text.source) else f"({text.source})"
    if span % step == 0:
        return f"({inside(text, MULTIPLY)} / {step})"
    return f"(({inside(text, ADD)} + {step - 1}) / {step})"


def _origin_of_span(start: Const, end: Const) -> Origin | None:
    """Return the expression of the names of two bounds for what is between them: n - 2 for 1 and n - 1."""
    span = end.value - start.value
    if end.origin is None or end.type != i32:
        return None
    if start.origin is not None:
        return settled(operation("sub", (end.origin, start.origin), span, i32), span, i32)
    base, distance = end.origin, -int(start.value)
    if base.op in ("add", "sub") and base.operands[1].op == LITERAL:
        distance += int(base.operands[1].value) * (1 if base.op == "add" else -1)
        base = base.operands[0]
    return settled(operation("add", (base, literal(distance, i32)), span, i32), span, i32)


def extent_in_c(e: Expressions, loop: RangeFor, axis: int) -> str:
    """Return the trip count along an axis as a factor; it may be negative instead of 0."""
    start, end, step = loop.starts[axis], loop.ends[axis], step_of(loop, axis)
    if constant_range(loop, axis) is not None:
        return _known_extent(e, loop, axis)
    if step == 1:
        text = _difference(e, loop, axis)
        return text if is_plain(text) or text.startswith("(") else f"({text})"
    low, high = (start, end) if step > 0 else (end, start)
    span = _span(e, low, high)
    return f"(({span} + {abs(step) - 1}) / {abs(step)})"


def _difference(e: Expressions, loop: RangeFor, axis: int) -> str:
    """Return an estimate of the trip count along an axis as a factor, to decide whether threads are worthwhile."""
    start, end = bound(e, loop.starts[axis]), bound(e, loop.ends[axis])
    if start.source == "0":
        return end.source if end.precedence >= UNARY or len(loop.starts) == 1 else f"({end.source})"
    first, last = loop.starts[axis], loop.ends[axis]
    if isinstance(first, Const) and isinstance(last, Const):
        return str(abs(int(last.value) - int(first.value)))
    low, high = (first, last) if step_of(loop, axis) > 0 else (last, first)
    text = _span(e, low, high)
    return f"({text})" if len(loop.starts) > 1 else text


def _span(e: Expressions, low: Statement, high: Statement) -> str:
    """Return what is between two bounds: `n - 2` for 1 and `n - 1`."""
    match high, low:
        case (
            Operation(op="add" | "sub" as op, operands=[rest, Const(origin=None, value=more)], name=None),
            Const(origin=None, value=start),
        ) if not is_plain(e.of(high).source):
            distance = (int(more) if op == "add" else -int(more)) - int(start)
            text = inside(bound(e, rest), ADD)
            return text if distance == 0 else f"{text} {'-' if distance < 0 else '+'} {abs(distance)}"
    return f"{inside(bound(e, high), ADD)} - {inside(bound(e, low), MULTIPLY)}"


def is_plain(text: str) -> bool:
    """Return whether an expression is a number, a name or a member of a struct."""
    return all(character.isalnum() or character in "._" for character in text)


def _declare_ends(e: Expressions, loop: RangeFor, names: list[str], declarations: list[str]) -> None:
    """Declare variables for ends that are more than an argument, so that they are computed once."""
    for axis, end in enumerate(loop.ends):
        rendered = bound(e, end)
        if is_plain(rendered.source) or isinstance(end, Const):
            continue
        name = bound_name("end", names[axis])
        declarations.append(f"int {name} = {rendered.source};")
        e.rendered[end] = Rendered(name)


def _number(e: Expressions, loop: RangeFor, names: list[str]) -> str:
    """Return the number of an iteration of nested loops, which is a thread's number on other targets."""
    text = ""
    for axis, name in enumerate(names):
        start, step = bound(e, loop.starts[axis]), step_of(loop, axis)
        own = name if start.source == "0" else f"({name} - {inside(start, MULTIPLY)})"
        own = own if step == 1 else f"{own} / {step}"
        count = f"({_difference(e, loop, axis)} + {step - (1 if step > 0 else -1)}) / {step}" if step != 1 else ""
        count = f"({count})" if count else _difference(e, loop, axis)
        text = f"(uint32_t)({own})" if axis == 0 else f"({text} * {count} + {own})"
    return f"(uint32_t){names[0]}" if text == f"(uint32_t)({names[0]})" else text


def _extent(e: Expressions, loop: RangeFor, axis: int, name: str, declarations: list[str]) -> str:
    """Return the trip count along an axis as a primary expression, or as any if it is the only axis."""
    if not has_constant_step(loop, axis):
        return _chosen_extent(e, loop, axis, name, declarations)
    start, end, step = loop.starts[axis], loop.ends[axis], step_of(loop, axis)
    if constant_range(loop, axis) is not None:
        text = _known_extent(e, loop, axis)
        return text[1:-1] if len(loop.starts) == 1 and text.startswith("(") else text
    rendered = bound(e, end)
    if isinstance(start, Const) and start.value == 0 and step == 1:
        if isinstance(end, ArrayShape):
            return rendered.source
        text = f"max({rendered.source}, 0)"
        e.symbols.call("max")
    elif _is_ordered(loop, axis):
        low, high = (start, end) if step > 0 else (end, start)
        text = _span(e, low, high)
        if abs(step) > 1:
            first, last = (e.language.as_unsigned(bound(e, value).source) for value in (low, high))
            text = _rounded_up(e, f"{last} - {first}", abs(step), len(loop.starts) > 1)
    elif _is_rounded(loop, axis):
        span = rendered.source if isinstance(end, ArrayShape) else f"max({rendered.source}, 0)"
        e.symbols.call(*(() if isinstance(end, ArrayShape) else ("max",)))
        text = _rounded_up(e, e.language.as_unsigned(span), step, len(loop.starts) > 1)
    else:
        span = _span(e, *((start, end) if step > 0 else (end, start)))
        if isinstance(start, Const) and start.value == 0:
            span = rendered.source if step > 0 else f"-{inside(rendered, PRIMARY)}"
        if abs(step) > 1:
            span = f"({span} + {abs(step) - 1}) / {abs(step)}"
        text = f"max({span}, 0)"
        e.symbols.call("max")
    if len(loop.starts) == 1:
        return text
    for declaration in declarations:
        if declaration.startswith("int extent_") and declaration.endswith(f" = {text};"):
            return declaration.removeprefix("int ").partition(" ")[0]
    extent = bound_name("extent", name)
    declarations.append(f"int {extent} = {text};")
    return extent


def _rounded_up(e: Expressions, span: str, step: int, is_int: bool) -> str:
    """Return how many steps there are in an unsigned span. is_int: the result is the value of an `int`."""
    suffix = "u" if e.language.converts_explicitly else ""
    text = f"({span} + {step - 1}{suffix}) / {step}{suffix}"
    return f"int({text})" if is_int and e.language.converts_explicitly else text


def _chosen_extent(e: Expressions, loop: RangeFor, axis: int, name: str, declarations: list[str]) -> str:
    """Return the trip count along an axis from 0 with a step that the launch chooses, 1 if the end is 0.

    Only that of an inner axis occurs twice: indices are divided by it.
    """
    step, extent = e.step_names[loop, axis], bound_name("extent", name)
    declarations.append(f"int {step} = {bound(e, loop.steps[axis]).source};")
    e.rendered[loop.steps[axis]] = Rendered(step)
    text = f"({inside(bound(e, loop.ends[axis]), ADD)} - 1) / {step} + 1"
    if not isinstance(loop.ends[axis], ArrayShape):
        text = f"max({text}, 0)"
        e.symbols.call("max")
    if axis == 0:
        return text
    declarations.append(f"int {extent} = {text};")
    return extent


def index_ranges(e: Expressions, task: Task, names: list[str], threads: Threads) -> list[str]:
    """Return what says in which ranges indices are, of those loops that threads may share."""
    ranges: list[str] = []
    for axis in task.ranged_axes:
        if axis < _most_shared(threads) and task.loop is not None:
            start, end = bound(e, task.loop.starts[axis]), comparison_operand(bound(e, task.loop.ends[axis]))
            ranges.append(f"ASSUME({start.source} <= {names[axis]} && {names[axis]} < {end});")
    return ranges


def _most_shared(threads: Threads) -> int:
    """Return how many of nested loops threads may share."""
    return len(threads.loops) if few_rows(threads) is not None else max(len(threads.loops) - 1, 1)


def nest(threads: Threads, call: str, directive: str = "", ranges: Sequence[str] = ()) -> list[str]:
    """Return the lines of nested loops around `call`.

    directive: for the innermost loop. ranges: of the indices that threads share; nothing may be between such loops.
    """
    lines: list[str] = []
    for depth, head in enumerate(threads.loops):
        if directive and depth == len(threads.loops) - 1:
            lines.append(INDENT * depth + directive)
        lines.append(INDENT * depth + head + " {")
        if depth == _most_shared(threads) - 1:
            lines += [INDENT * (depth + 1) + each for each in ranges]
    lines.append(INDENT * len(threads.loops) + call)
    return lines + [INDENT * depth + "}" for depth in reversed(range(len(threads.loops)))]


SHORT_ROWS = tuple(("const", count) for count in range(4))
"""Numbers of iterations that no vector takes together."""


def is_vectorized(threads: Threads, reads: Collection[object], writes: Collection[object]) -> bool:
    """Return whether the innermost loop is marked for vectorization, which states that its iterations are independent.

    Nested loops gain by it, but for short rows: gcc 12 computes wrong numbers in a marked loop of two iterations, where
    a choice gives an index. A single loop needs it if a compiler would have to compare too many addresses before it
    vectorizes: gcc gives up beyond `MAX_COMPARED` pairs of which one is written.
    """
    pairs = len(writes) * (len(writes) - 1) // 2 + len(writes) * len({*reads} - {*writes})
    is_short = threads.extents is not None and threads.extents[-1] in SHORT_ROWS
    return (len(threads.loops) > 1 or pairs > MAX_COMPARED) and not is_short


def few_rows(threads: Threads) -> int | None:
    """Return the number of iterations of the outer loops of several if these are too few for the threads of a host."""
    if threads.extents is None or len(threads.loops) != len(threads.extents) or len(threads.loops) == 1:
        return None
    rows = constant_count(threads.extents[:-1])
    return rows if rows is not None and rows < FEW_ROWS else None


def row_pragma(task: Task, threads: Threads, uneven: bool, simd: bool) -> str:
    """Return OpenMP's directive for the innermost loop, if the loops around it are few; "" if they are not.

    Each of the outer iterations starts the threads, which a short innermost loop is not worth.
    uneven, simd: as in `pragma`.
    """
    rows, known = few_rows(threads), constant_count(threads.extents)
    if rows is None or known is None or known < max(rows, 1) * MANY_ITERATIONS:
        return ""
    number = "" if task.loop is None or task.loop.parallelize is None else f"num_threads({task.loop.parallelize}) "
    schedule = "dynamic, 64" if uneven else "static"
    return f"#pragma omp parallel for {'simd ' if simd else ''}firstprivate(args) {number}schedule({schedule})"


@dataclass(frozen=True, slots=True)
class Parts:
    """The helper functions by which a loop is cut into parts. count: that of their number, "" if it is PARTS."""

    begin: str = "part_begin"
    end: str = "part_end"
    count: str = ""


SHORT_PARTS = Parts("aligned_begin", "aligned_end", "part_count")
"""The parts of a loop over one axis, without loops inside. A sum of 10,000 floats took one core 2.5 us in 128 parts,
and .7 us in these."""


def parts_of(task: Task, threads: Threads, has_loops: bool, uneven: bool) -> Parts:
    """Return how a loop is cut into parts."""
    is_short = len(threads.loops) == 1 and not has_loops and not uneven
    is_plain = task.loop is not None and not task.loop.order and step_of(task.loop, 0) == 1
    return SHORT_PARTS if is_short and is_plain else Parts()


def part_pragma(task: Task, threads: Threads | None, loops: bool, uneven: bool) -> str:
    """Return OpenMP's directive for a loop over the parts of a loop; "" if the loop stays on one thread."""
    if threads is None:
        return ""
    least = FEW_ITERATIONS if loops else MANY_ITERATIONS
    known = constant_count(threads.extents)
    if known is not None and known < least:
        return ""
    parts = ["#pragma omp parallel for firstprivate(args)"]
    if task.loop is not None and task.loop.parallelize is not None:
        parts.append(f"num_threads({task.loop.parallelize})")
    parts.append(f"schedule({'dynamic' if uneven else 'static'})")
    if known is None:
        parts.append(f"if ({threads.count} >= {least})")
    return " ".join(parts)


def region_and_loop(task: Task, threads: Threads, loops: bool, uneven: bool) -> tuple[list[str], str] | None:
    """Return the clauses of a parallel region and of the loop in it; None if the loop stays on one thread."""
    least = FEW_ITERATIONS if loops else MANY_ITERATIONS
    known = constant_count(threads.extents)
    if known is not None and known < least:
        return None
    collapsed = len(threads.loops) - 1
    collapse = f"collapse({collapsed}) " if collapsed > 1 else ""
    chunk = ", 64" if uneven and collapsed == 0 else ""
    condition = [] if known is not None else [f"if ({threads.count} >= {least})"]
    return condition, f"{collapse}schedule({'dynamic' if uneven else 'static'}{chunk})"


def pragma(task: Task, threads: Threads | None, loops: bool, uneven: bool, simd: bool) -> str:
    """Return OpenMP's directive for the loop; loops with few iterations stay on one thread.

    loops: the body contains loops.
    uneven: an iteration may take much longer than others, so that the schedule is dynamic.
    simd: a single loop is marked for vectorization.
    """
    if threads is None:
        return ""
    least = FEW_ITERATIONS if loops or task.synchronizes else MANY_ITERATIONS
    known = constant_count(threads.extents)
    if known is not None and known < least:
        return ""
    is_flat = len(threads.loops) == 1 or (few_rows(threads) is not None and not simd)
    collapsed = len(threads.loops) - (0 if is_flat else 1)
    simd = simd and is_flat
    parts = [f"#pragma omp parallel for {'simd ' if simd else ''}firstprivate(args)"]
    if task.loop is not None and task.loop.parallelize is not None:
        parts.append(f"num_threads({task.loop.parallelize})")
    if collapsed > 1:
        parts.append(f"collapse({collapsed})")
    chunk = ", 64" if uneven and is_flat and not (task.synchronizes or task.lane_loops) else ""
    parts.append(f"schedule({'dynamic' if uneven else 'static'}{chunk})")
    if known is None:
        parts.append(f"if ({'parallel: ' if simd else ''}{threads.count} >= {least})")
    return " ".join(parts)
