"""The indices of a parallel loop, from the number of an iteration, in row-major order or in that of memory.

In: a parallel loop. Out: expressions. One over the cells of a tree runs in the order of memory, in C as
nested loops. For x in dense(ij, (8, 4)).dense(ij, 4) the indices of iteration
`index` are

    i = int(index / 64 * 4 + index / 4 % 4)    j = int(index / 16 % 4 * 4 + index % 4)

and in C there is a loop for each of the four components.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ...ir.constants import extent_key
from ...ir.statements import ArrayShape, Const, RangeFor, is_const
from ...ir.types import i32
from ...options import MAX_ITERATIONS
from ..languages.common.naming import bound_name
from ..languages.common.syntax_forms import ADD, MULTIPLY, Rendered
from ..layout.trip_counts import has_constant_step, number_limits, step_of
from .expressions import Expressions
from .loop_heads import bound

NAMES_OF_ENTRIES = ("blocks", "count", "first", "index", "item", "part", "stride")
"""Names that the templates declare in entries."""
FARTHEST = 1 << 16
"""The step of a loop over an array that is no longer than 2^31 numbers without the last step."""


def index_of_iteration(loop: RangeFor, axis: int) -> tuple[str, bool]:
    """Return the index of iteration `index` along an axis, counted from 0; and whether it is a sum."""
    terms = []
    for number, component in enumerate(loop.order):
        if component.dimension != axis:
            continue
        inner = prod(other.extent for other in loop.order[number + 1 :])
        term = f"index / {inner}" if inner > 1 else "index"
        term = f"{term} % {component.extent}" if number > 0 else term
        terms.append(f"{term} * {component.weight}" if component.weight > 1 else term)
    return " + ".join(terms) or "0", len(terms) > 1


def first_index(loop: RangeFor, axis: int) -> int:
    """Return the first index along an axis of a loop over cells."""
    start = loop.starts[axis]
    assert isinstance(start, Const)
    return int(start.value)


def nested_loops(loop: RangeFor, names: list[str], head: Callable[[int], str]) -> tuple[list[str], list[str], str]:
    """Return the heads of C's loops, the index along each axis, and the number of an iteration.

    head: returns the head of a loop over a whole axis.
    """
    heads: list[str] = []
    parts: list[list[str]] = [[] for _ in names]
    linear = ""
    for component in loop.order:
        axis = component.dimension
        if component.extent == cells_along(loop, axis):
            heads.append(head(axis))
            start = first_index(loop, axis)
            counted = f"({names[axis]} {'-' if start > 0 else '+'} {abs(start)})" if start else names[axis]
        else:
            counted = part_name(names, axis, len(parts[axis]))
            heads.append(f"for (int {counted} = 0; {counted} < {component.extent}; {counted}++)")
            parts[axis].append(f"{counted} * {component.weight}" if component.weight > 1 else counted)
        linear = f"{f'({linear})' if ' ' in linear else linear} * {component.extent} + {counted}" if linear else counted
    indices = [_index(loop, axis, name, parts[axis]) for axis, name in enumerate(names)]
    return heads, indices, f"(uint32_t)({linear})"


def _index(loop: RangeFor, axis: int, name: str, parts: list[str]) -> str:
    start = first_index(loop, axis)
    if cells_along(loop, axis) == 1:
        return str(start)
    return " + ".join([*([str(start)] if start else []), *parts]) if parts else name


def cells_along(loop: RangeFor, axis: int) -> int:
    """Return the number of cells along an axis."""
    return prod(component.extent for component in loop.order if component.dimension == axis)


def part_name(names: list[str], axis: int, number: int) -> str:
    """Return the name of one component of an index in C: `i_0` for the slowest of i."""
    name = f"{names[axis]}_{number}"
    while name in names:
        name += "_"
    return name


def part_names(loop: RangeFor, names: list[str]) -> list[str]:
    """Return the names of all components that have a loop."""
    counts = [0] * len(names)
    names_of_loops: list[str] = []
    for component in loop.order:
        if component.extent != cells_along(loop, component.dimension):
            names_of_loops.append(part_name(names, component.dimension, counts[component.dimension]))
            counts[component.dimension] += 1
    return names_of_loops


def quotients_of_index(
    e: Expressions, loop: RangeFor, names: list[str], factors: list[str], declare: Callable[[str], str]
) -> list[tuple[str, str]]:
    """Return the numbers of all indices but the last, of all but the last two, and so on: names and values.

    `ij = divide(index, args.by_n2)`, `i = divide(ij, args.by_n1)`. The last of them has the name of the first index
    where it is that index.
    """
    keys = [extent_key(loop, axis) for axis in range(len(factors))]
    divisors = [e.layout.divisors.get(key) if key is not None else None for key in keys]
    if not any(divisors):
        return []
    e.need("divide")
    e.uses_args = True
    found: list[tuple[str, str]] = []
    number, separator = "index", "" if all(len(name) == 1 for name in names) else "_"
    for axis in range(len(factors) - 1, 0, -1):
        by = divisors[axis]
        value = f"divide({number}, {by})" if by is not None else f"{number} / {factors[axis]}"
        is_index = is_const(loop.starts[0], 0) and is_const(loop.steps[0], 1) and names[0] not in NAMES_OF_ENTRIES
        if axis == 1:
            number = names[0] if is_index else declare(bound_name("number", names[0]))
        else:
            number = declare(separator.join(names[:axis]))
        found.append((number, value))
    return found


def differences(quotients: list[tuple[str, str]], factors: list[str]) -> list[Rendered]:
    """Return each index, counted from 0 by steps of 1, as what is left of a quotient: `ij - i * args.n1`."""
    numbers = ["index", *(name for name, _ in quotients)][::-1]
    found = [Rendered(numbers[0])]
    for outer, number, factor in zip(numbers, numbers[1:], factors[1:]):
        is_constant = factor.isdigit()
        rest = f"{number} % {factor}" if is_constant else f"{number} - {outer} * {factor}"
        found.append(Rendered(rest, MULTIPLY if is_constant else ADD))
    return found


def index_of_axis(
    e: Expressions,
    loop: RangeFor,
    axis: int,
    extents: list[str],
    converts: bool = True,
    linear: str = "index",
    parts: Sequence[Rendered] = (),
) -> str:
    """Return the index along an axis from the linear `index`, or from its number in `parts`.

    It is divided by the inner extents one after the other, last axis first: compilers share these quotients among axes.
    """
    converts = converts and not e.language.nested_loops
    if loop.order:
        return _index_in_order(loop, axis, converts)
    if parts:
        return _from_start(e, loop, axis, parts[axis], converts)
    inner = extents[axis + 1 :]
    if inner and all(text.isdigit() for text in inner):
        inner = [str(prod(map(int, inner)))]
    text = " / ".join([linear, *reversed(inner)])
    if axis > 0:
        text = f"{text} % {extents[axis]}"
    return _from_start(e, loop, axis, Rendered(text, MULTIPLY), converts)


def _from_start(e: Expressions, loop: RangeFor, axis: int, number: Rendered, converts: bool) -> str:
    """Return the index along an axis from its number, counted from 0 by steps of 1."""
    if not has_constant_step(loop, axis):  # from 0
        factor = f"int({number.source})" if converts else inside(number, MULTIPLY)
        return f"{factor} * {bound(e, loop.steps[axis]).source}"
    step, start = step_of(loop, axis), loop.starts[axis]
    sign = "+" if step > 0 else "-"
    if is_wide(loop, axis) and not e.language.nested_loops:
        distance = f"{inside(number, MULTIPLY)} * {abs(step)}u"
        if is_const(start, 0) and step > 0:
            return f"int({distance})"
        return f"int({e.language.as_unsigned(bound(e, start).source)} {sign} {distance})"
    if isinstance(start, Const) and (start.value < 0 or (step < 0 and start.value == 0)):
        converts = not e.language.nested_loops  # no sum with a negative number is unsigned
    needed = ADD if step == 1 else MULTIPLY
    text = f"int({number.source})" if converts else inside(number, needed)
    if abs(step) != 1:
        text = f"{text} * {abs(step)}"
    if isinstance(start, Const) and start.value == 0:
        return text if step > 0 else f"-{text}"
    rendered = bound(e, start)
    return f"{inside(rendered, ADD)} {sign} {text}"


def _index_in_order(loop: RangeFor, axis: int, converts: bool) -> str:
    text, is_sum = index_of_iteration(loop, axis)
    start = first_index(loop, axis)
    if text == "0":
        return str(start)
    if converts:
        text = f"int({text})"
    elif start and is_sum:
        text = f"({text})"
    return f"{start} + {text}" if start else text


def is_wide(loop: RangeFor, axis: int) -> bool:
    """Return whether numbers of 32 bits may not count the iterations of a loop, since they are far apart."""
    start, end = loop.starts[axis], loop.ends[axis]
    if not has_constant_step(loop, axis) or start.type != i32 or abs(step_of(loop, axis)) == 1:
        return False
    step, (low, high) = step_of(loop, axis), (start, end) if step_of(loop, axis) > 0 else (end, start)
    if isinstance(high, ArrayShape) and is_const(low, 0):
        return abs(step) > FARTHEST
    span = number_limits(high)[1] - number_limits(low)[0]
    return span + abs(step) > MAX_ITERATIONS


def inside(rendered: Rendered, needed: int) -> str:
    """Return a source as an operand of an operator."""
    return rendered.source if rendered.precedence >= needed else f"({rendered.source})"
