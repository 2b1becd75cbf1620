"""Numbers that differ between the iterations of a static loop that is kept as a loop.

The body of such a loop is built once. Its index is a `PerIteration`: the Python numbers of all iterations, computed by
Python, and how they were made. So what needs one number (a type, a name, a shape) notices that there are several: it
raises `NeedsUnroll`, and the build starts again with that loop unrolled. A statement that needs the number at run time
gets an expression of the loop's index that has exactly these values (`static_numbers.py`).
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, NoReturn

from ...ir.nodes import Block, Statement
from ...ir.statements import RangeFor
from ...lang.matrix import Matrix
from ...lazy_dataclasses import dataclass

MAX_ITERATIONS = 1 << 16
"""Iterations of nested static loops, all together, up to which they are kept: each operation computes that many."""
MAX_UNROLLED = 1024
"""Iterations, all together, up to which the source requests that they are unrolled."""


class NeedsUnroll(BaseException):
    """A static loop that was kept needs one copy of its body for each iteration. The build starts again.

    It is no `Exception`, since it passes through handlers of errors in the user's Python functions.
    """

    def __init__(self, node: ast.AST) -> None:
        super().__init__()
        self.node = node


@dataclass(eq=False, slots=True)
class StaticLoop:
    """A static loop under construction that is kept as a loop.

    Attributes:
        node: the `for`.
        loop: the statement; its axes are those of an ndrange.
        parent: the static loop around it that is kept, too.
        origins: for each iteration, counted over all kept loops around it, the number of the iteration of `parent`.
        before: the block that contains the loop, which is appended to it after its body is built.
        is_outermost: at the top level of the kernel, where the loops inside would be parallel.
        active: whether the current statement runs in an iteration, as far as conditions on static numbers tell.
        is_conditional: there is such a condition around the current statement.
        indices, numbers: the index along each axis, as a statement and as numbers.
        lists: local arrays before the loop that statements in it read, by what they hold.
    """

    node: ast.AST
    loop: RangeFor
    parent: StaticLoop | None
    origins: tuple[int, ...]
    before: Block
    is_outermost: bool
    active: list[bool]
    is_conditional: bool = False
    indices: list[Statement] = field(default_factory=list)
    numbers: list[PerIteration] = field(default_factory=list)
    lists: dict[Any, Statement] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """The number of kept loops around it."""
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def chain(self) -> list[StaticLoop]:
        """The kept loops around it and itself, the outermost first."""
        return [*(self.parent.chain if self.parent is not None else []), self]


class _Missing:
    """The value in an iteration that does not compute it."""


MISSING = _Missing()

Form = tuple[Any, ...]
"""How numbers were made: `("index", axis)`, or the name of an operation of the op table and its operands."""


class PerIteration:
    """A Python value for each iteration of `loop` and of the kept loops around it.

    name: of the list it comes from. statement: the value at run time, if it is in scope already.
    """

    __slots__ = ("form", "loop", "name", "statement", "values")
    __array_ufunc__ = None  # so that NumPy's numbers leave operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, loop: StaticLoop, values: tuple[Any, ...], form: Form | None = None, name: str = "") -> None:
        self.loop = loop
        self.values = values
        self.form = form
        self.name = name
        self.statement: Statement | None = None

    def needs_one(self, *_: Any) -> NoReturn:
        """Raise: something needs one number where there are several."""
        raise NeedsUnroll(self.loop.node)

    __bool__ = __int__ = __index__ = __float__ = __complex__ = __len__ = __iter__ = needs_one
    __str__ = __repr__ = __format__ = __round__ = __contains__ = __getitem__ = __call__ = needs_one

    def __getattr__(self, name: str) -> Any:
        raise NeedsUnroll(self.loop.node)

    def along(self, loop: StaticLoop) -> tuple[Any, ...]:
        """Return the values for each iteration of `loop`, which is this value's loop or inside it."""
        if loop is self.loop:
            return self.values
        assert loop.parent is not None
        outer = self.along(loop.parent)
        return tuple(outer[origin] for origin in loop.origins)

    @property
    def present(self) -> list[Any]:
        """The values of the iterations in which the current statement runs."""
        return [v for v, is_active in zip(self.values, self.loop.active, strict=True) if is_active and v is not MISSING]

    @property
    def common(self) -> Any:
        """The number that all iterations share, else the object itself."""
        present = self.present
        if not present:
            self.needs_one()
        first = present[0]
        same = all(type(value) is type(first) and repr(value) == repr(first) for value in present)
        return first if same and isinstance(first, (bool, int, float)) else self


class _Anywhere:
    """Takes the place of the loop of an `ArgumentNumber`: whatever asks for more than the node needs the number."""

    __slots__ = ("node",)

    def __init__(self, node: ast.AST) -> None:
        self.node = node

    def __getattr__(self, name: str) -> NoReturn:
        raise NeedsUnroll(self.node)


class ArgumentNumber(PerIteration):
    """A Python number that a function of the emitted source gets as an argument: calls may pass others.

    As a run-time value it is the parameter. Whatever needs the number, Python's arithmetic too, raises `NeedsUnroll`:
    the function is built again for this number alone.

    limits: (least, end) of the indices that the body makes of it; end None if it is not known at compile time.
    """

    __slots__ = ("limits",)

    def __init__(self, node: ast.AST, number: Any, parameter: Statement) -> None:
        super().__init__(_Anywhere(node), (number,))  # type: ignore[arg-type]
        self.statement = parameter
        self.limits: list[tuple[int, int | None]] = []

    @property
    def number(self) -> Any:
        """The number of the first call."""
        return self.values[0]

    def limit(self, least: int, end: int | None) -> None:
        """Require a number in a range, of this call and of all others."""
        if not is_within(self.number, least, end):
            self.needs_one()
        self.limits.append((least, end))

    def along(self, loop: StaticLoop) -> NoReturn:
        """Raise: the number is not one of those of a loop."""
        self.needs_one()

    @property
    def present(self) -> list[Any]:
        """Raise: another call may pass another number."""
        self.needs_one()

    @property
    def common(self) -> Any:
        """The object itself: another call may pass another number."""
        return self


def is_within(number: Any, least: int, end: int | None) -> bool:
    """Return whether a number is an integer in a range."""
    return isinstance(number, int) and least <= number and (end is None or number < end)


def innermost(*operands: Any) -> StaticLoop | None:
    """Return the innermost loop on which one of the operands depends, None if none does."""
    for operand in operands:
        if isinstance(operand, ArgumentNumber):
            operand.needs_one()
    loops = [operand.loop for operand in operands if isinstance(operand, PerIteration)]
    return max(loops, key=lambda loop: loop.depth, default=None)


def each(name: str, meaning: Callable[..., Any], *operands: Any) -> Any:
    """Apply a function of Python to the values of each iteration. name: of the operation, "" if there is none."""
    loop = innermost(*operands)
    assert loop is not None
    rows = zip(*(_column(operand, loop) for operand in operands), strict=True)
    values = tuple(
        meaning(*row) if is_active and all(value is not MISSING for value in row) else MISSING
        for row, is_active in zip(rows, loop.active, strict=True)
    )
    return PerIteration(loop, values, (name, *operands) if name else None)


def _column(operand: Any, loop: StaticLoop) -> tuple[Any, ...]:
    """Return the values of an operand in each iteration of a loop."""
    return operand.along(loop) if isinstance(operand, PerIteration) else (operand,) * len(loop.origins)


def _forward(name: str, meaning: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *others: each(name, meaning, self, *others)


def _reflected(name: str, meaning: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: each(name, meaning, other, self)


BINARY = {
    "add": ("add", operator.add), "sub": ("sub", operator.sub), "mul": ("mul", operator.mul),
    "truediv": ("div", operator.truediv), "floordiv": ("floordiv", operator.floordiv), "mod": ("mod", operator.mod),
    "pow": ("", operator.pow), "and": ("bit_and", operator.and_), "or": ("bit_or", operator.or_),
    "xor": ("bit_xor", operator.xor), "lshift": ("shl", operator.lshift), "rshift": ("sar", operator.rshift),
}  # fmt: skip
"""Python's names of binary operators -> the operation of the op table and the meaning."""

for _method, (_name, _meaning) in BINARY.items():
    setattr(PerIteration, f"__{_method}__", _forward(_name, _meaning))
    setattr(PerIteration, f"__r{_method}__", _reflected(_name, _meaning))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "abs"):
    setattr(PerIteration, f"__{_name}__", _forward(_name, getattr(operator, _name)))
setattr(PerIteration, "__invert__", _forward("bit_not", operator.invert))  # noqa: B010 - as the others


@contextmanager
def narrowed(loops: list[StaticLoop], condition: PerIteration, truth: bool) -> Iterator[None]:
    """Within the context, statements run only in iterations whose condition has this truth value."""
    if isinstance(condition, ArgumentNumber):
        condition.needs_one()
    loop = loops[-1]
    outer = [(one, one.active, one.is_conditional) for one in loops]
    loop.active = [a and bool(c) is truth for a, c in zip(loop.active, condition.along(loop), strict=True)]
    for one in reversed(loops):
        one.is_conditional = True
        if one.parent is not None:
            reached = {origin for origin, is_active in zip(one.origins, one.active, strict=True) if is_active}
            one.parent.active = [k in reached for k in range(len(one.parent.origins))]
    try:
        yield
    finally:
        for one, active, is_conditional in outer:
            one.active, one.is_conditional = active, is_conditional


def logical(name: str, first: PerIteration, second: Any) -> Any:
    """Return `first and second` or `first or second`; the second is missing where the first decides."""
    decides = name == "or"
    loop = innermost(first, second)
    assert loop is not None
    pairs = zip(_column(first, loop), _column(second, loop), strict=True)
    values = tuple(a if a is MISSING or bool(a) == decides else b for a, b in pairs)
    return PerIteration(loop, values, (f"logical_{name}", first, second))


def logical_not(value: PerIteration) -> Any:
    """Return `not value`."""
    return each("logical_not", operator.not_, value)


def choose(condition: PerIteration, first: Any, second: Any) -> Any:
    """Return `first if condition else second` of values known at compile time."""
    return each("select", lambda c, a, b: a if c else b, condition, first, second)


def item_of(base: Any, index: Any, name: str = "") -> PerIteration:
    """Return `base[index]`, where one of both differs between iterations. name: of the sequence."""
    item: PerIteration = each("", operator.getitem, base, index)
    item.name = name
    return item


def are_vectors(value: PerIteration) -> bool:
    """Return whether the values of all iterations are vectors of one length."""
    items = value.present
    if not items or not all(isinstance(item, Matrix) and item.entries.ndim == 1 for item in items):
        return False
    return len({len(item.entries) for item in items}) == 1


def contains_per_iteration(*values: Any) -> PerIteration | None:
    """Return a `PerIteration` among values and the items of sequences, None if there is none."""
    for value in values:
        if isinstance(value, PerIteration):
            return value
        if isinstance(value, (list, tuple)) and (found := contains_per_iteration(*value)) is not None:
            return found
        if isinstance(value, dict) and (found := contains_per_iteration(*value.values())) is not None:
            return found
    return None
