"""The heads of serial loops: names of indices, bounds, hints for the compiler.

In: a `RangeFor` whose bounds are rendered. Out: `for (int k = 0; k < n; k++)`, and what is before it.
"""

from __future__ import annotations

from ...ir.constants import constant_range
from ...ir.nodes import Statement, walk
from ...ir.statements import ALL, Cast, Const, GlobalLoad, LocalStore, RangeFor, base_pointer, is_const
from ...ir.threads import ThreadIndex
from ...ir.types import Scalar, i32, i64
from ..languages.common.literals import scalar_name
from ..languages.common.naming import Names
from ..languages.common.syntax_forms import Rendered
from .expressions import Expressions

AT_ONCE = 8
"""Iterations that gcc, which takes no `unroll` without a number, unrolls where the trip count is not known; it takes
minutes for a large number."""


def declare_axis(names: Names, loop: RangeFor, axis: int) -> str:
    """Declare the index of an axis under its name in Python, or as the first letter from i on that is free in it."""
    if len(loop.names) == len(loop.starts) and loop.names[axis].strip("_"):
        return names.declare(loop.names[axis])
    inside = {name for inner in walk(loop.body) if isinstance(inner, RangeFor) for name in inner.names}
    free = (letter for letter in "ijklmnop" if letter not in inside and names.is_free(letter))
    return names.declare(next(free, "i"))


def loop_head(e: Expressions, loop: RangeFor, axis: int, name: str, is_wide: bool = False) -> str:
    """Return `for (int k = start; k < end; k++)`. is_wide: `k` may step beyond numbers of 32 bits (C)."""
    step_value = loop.steps[axis]
    assert isinstance(step_value, Const)
    step, size = int(step_value.value), abs(int(step_value.value))
    by = e.of(step_value).source if step_value.origin is not None and step > 1 else str(size)
    start, end = bound(e, loop.starts[axis]), bound(e, loop.ends[axis])
    if isinstance(loop.starts[axis], ThreadIndex) and start.source == f"int({e.language.only_index})":
        start = Rendered(e.language.only_index)  # C converts it
    is_open = not loop.exact_ends or loop.exact_ends[axis] is None
    if not is_open:
        constant = loop.ends[axis]
        is_end = isinstance(constant, Const) and int(constant.value) == loop.exact_ends[axis]
        end = end if is_end else Rendered(str(loop.exact_ends[axis]))
    comparison = ("<" if step > 0 else ">") if is_open else "!="
    if is_open and step < 0 and is_const(loop.ends[axis], -1):
        comparison, end = ">=", Rendered("0")
    advance = {1: f"{name}++", -1: f"{name}--"}.get(step, f"{name} {'+' if step > 0 else '-'}= {by}")
    kind = loop.starts[axis].type
    assert isinstance(kind, Scalar)
    declared = "int" if kind != i64 else scalar_name(e.language, kind)
    declared = "long long" if is_wide else declared
    return f"for ({declared} {name} = {start.source}; {name} {comparison} {comparison_operand(end)}; {advance})"


def unroll_hint(e: Expressions, loop: RangeFor, axis: int) -> str:
    """Return what is before the head of a loop to unroll completely; the line of a pragma ends with a line break."""
    indices = constant_range(loop, axis)
    e.need(*e.language.unroll_helpers)
    return e.language.unroll.format(count=AT_ONCE if indices is None else len(indices))


def partial_hint(e: Expressions, loop: RangeFor, axis: int) -> str:
    """Return what is before the head of a loop that the compiler shall unroll in part."""
    if loop.unroll_count == ALL:
        return unroll_hint(e, loop, axis)
    return e.language.unroll_some.format(count=loop.unroll_count) if loop.unroll_count else ""


def halves_call(e: Expressions, loop: RangeFor) -> str:
    """Return the call that converts neighbouring halves in place of the loop that does so."""
    store = loop.body.statements[-1]
    assert isinstance(store, LocalStore) and isinstance(store.value, Cast) and isinstance(store.value.value, GlobalLoad)
    e.loop_names[loop, 0] = bound(e, loop.starts[0]).source
    e.need("floats_from_f16")
    array, first = e.lvalue(base_pointer(store.pointer)), e.lvalue(store.value.value.pointer)
    return f"floats_from_f16({array}, &{first}, {loop.halves});"


def comparison_operand(rendered: Rendered) -> str:
    """Return a bound as the right side of a comparison."""
    return rendered.source if rendered.precedence >= 13 else f"({rendered.source})"


def bound(e: Expressions, value: Statement) -> Rendered:
    """Return a bound of a loop as an i32, or as an i64 of a loop that needs it."""
    if value.type in (i32, i64):
        return e.of(value)
    text = e.of(value).source
    return Rendered(*e.language.converted("int", text))
