"""Finds the greatest or least element of a row, with its place, where threads share the row (for `shared_rows`).

    for j in 0 .. n {                       for j in lane .. n step 32 {
        if a[i, j] > s {                        if a[i, j] > s { s = a[i, j], at = j }
            s = a[i, j]                     }
            at = j                    ->    for step in 0 .. 5 {
        }                                       other_s, other_at = those of the lane that differs in bit `step`
    }                                           if other_s > s or (other_s == s and other_at < at) {
                                                    s = other_s, at = other_at
                                                }
                                            }

The result is that of the plain loop, bit by bit. All threads start with the same s. A row has the last iteration that
takes the place of s; of equal elements that is the first one with `>` or `<`, and the last one with `>=` or `<=`. Each
thread finds it among its own iterations, and the same rule holds between these:

- With `>`, a thread that has found something has a greater s than one that has not, so equal ones have both found
  something, and the lesser index is that of the plain loop, or none has, and both are as they were at the start.
- With `>=`, a thread that has found nothing may have an equal s, such as 0.0 in place of -0.0. So its index has to be
  less than all of the row.
- A NaN takes no place, and where s starts as one nothing takes its place, in the plain loop as in each thread.

A variable that is assigned the index decides between equal elements. Where there is none, `found_at` has the index.

A loop may find the second one, too: `elif a[i, j] > s2: s2 = a[i, j]`, with `s2 = s` in the first branch. If both
start with the same, a thread has the two greatest of its iterations, and behind the greatest of two threads comes
`max(s, other_s2)` or `max(s2, other_s)`. Where the second has a place as well, all comparisons are by `>` or all by
`<`, and equal elements are in the order of their places.

An iteration may assign s in a thread, which it would not in the plain loop. So the branch may do nothing else than
assign variables, and it loads only what its condition has loaded, or what certainly is in an array.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....ir.builder import Builder
from ....ir.elements.own_memory import is_plain_field
from ....ir.nodes import Block, Statement, count_uses, operands, walk, walk_blocks
from ....ir.statements import (
    Alloca,
    ArgLoad,
    ArrayShape,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    RangeFor,
    base_pointer,
    is_const,
)
from ....ir.threads import Collective
from ....ir.types import Scalar, element_of, i32
from ...analysis.accesses import Access, is_safe
from ...analysis.queries import computed_from, has_else, is_index_of, names_of
from ...analysis.value_ranges import same_value
from .exchanges import add_steps

MIRRORED = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}
STRICT = {"gt": "gt", "ge": "gt", "lt": "lt", "le": "lt"}
"""How what is found later has to compare, to be better and not as good."""
NOTHING = -1
"""The index of a thread that has found nothing."""
HARMLESS = frozenset({"add", "sub", "mul", "neg", "abs", "min", "max", "select", "bit_and", "bit_or", "bit_xor"})
"""Operations on integers that are defined for all numbers."""
DIVISIONS = frozenset({"floordiv", "mod"})
PLAIN = (LocalStore, LocalLoad, Const, LoopIndex, ArgLoad, ArrayShape, GlobalPtr, MatrixInit)
"""Statements that may run anywhere."""


@dataclass(frozen=True, slots=True)
class Second:
    """The second greatest or least element of a row.

    Attributes:
        branch: what assigns the variables if the element is not the greatest.
        value: the variable that has the element.
        index: the one that has its place, None if there is none.
    """

    branch: If
    value: Alloca
    index: Alloca | None

    @property
    def is_exact(self) -> bool:
        """Whether of equal elements, as zeros of both signs, that of the plain loop is found."""
        assert self.value.type is not None
        return self.index is not None or not element_of(self.value.type).is_float


@dataclass(frozen=True, slots=True)
class Extreme:
    """The greatest or least element of a row, which a loop finds.

    Attributes:
        branch: what assigns the variables.
        value: the variable that has the element. carried: the others.
        op: how an element compares with the variable to take its place.
        index: the variable that has the index of the loop, None if there is none.
        second: what has the second one, if the loop finds it, too.
    """

    branch: If
    value: Alloca
    carried: tuple[Alloca, ...]
    op: str
    index: Alloca | None
    second: Second | None = None

    @property
    def is_strict(self) -> bool:
        """Whether the first of equal elements is found, and not the last."""
        return STRICT[self.op] == self.op


def extremes(row: RangeFor) -> list[Extreme]:
    """Return what a loop finds so, for a loop that contains no other and no calls."""
    branches = [s for s in walk(row.body) if isinstance(s, If)]
    finder = _Finder(row) if branches else None
    found = map(finder.found_by, branches) if finder else ()
    return [extreme for extreme in found if extreme is not None]


def stores_of(found: list[Extreme]) -> set[Statement]:
    """Return the stores by which loops find something."""
    branches = [extreme.branch for extreme in found]
    branches += [extreme.second.branch for extreme in found if extreme.second is not None]
    return {s for branch in branches for s in branch.then if isinstance(s, LocalStore)}


def start_alike(body: Block, row: RangeFor, found: list[Extreme], fast_math: bool) -> bool:
    """Return whether the greatest and the second element start with the same, so that threads may join these.

    body: with the loop over the row. fast_math: of equal seconds, as zeros of both signs, any may be found.
    """
    around = next((block for block in walk_blocks(body) if row in block.statements), None)
    before = [] if around is None else around.statements[: around.statements.index(row)]
    for extreme in found:
        if extreme.second is not None:
            pairs = [(extreme.value, extreme.second.value), (extreme.index, extreme.second.index)]
            starts = [tuple(_start(before, variable) for variable in pair) for pair in pairs if pair[1] is not None]
            if not all(one is not None and other is not None and same_value(one, other) for one, other in starts):
                return False
            if not extreme.second.is_exact and not fast_math:
                return False
    return True


def _start(before: list[Statement], variable: Statement | None) -> Statement | None:
    """Return what a variable certainly is behind some statements, None if that is not known."""
    stores = [s for s in walk(Block(before)) if isinstance(s, LocalStore) and s.pointer is variable]
    if not stores:
        return Const(0, type=variable.type) if variable in before else None
    return stores[-1].value if stores[-1] in before else None


class _Finder:
    """Finds branches that assign the greatest or least element.

    Attributes:
        uses: how often the loop uses a value or variable.
        order: the statements of the loop, with their numbers. As it contains no other one, they run in this order.
        inside: the variables of an iteration.
        same: pairs of values that are compared already.
    """

    def __init__(self, row: RangeFor) -> None:
        self.row, self.uses = row, count_uses(row.body)
        self.order = {statement: number for number, statement in enumerate(walk(row.body))}
        self.inside = {statement for statement in self.order if isinstance(statement, Alloca)}
        self.same: dict[tuple[Statement, Statement], bool] = {}

    def found_by(self, branch: If) -> Extreme | None:
        """Return what a branch, with that of its `else`, finds; None if it is another one."""
        return self.two(branch) if has_else(branch) else self.extreme(branch)

    def extreme(self, branch: If) -> Extreme | None:
        """Return what a branch finds, None if it is another one."""
        comparison = self.comparison_in(branch.condition)
        if comparison is None:
            return None
        for own, element, op in _sides(comparison):
            if isinstance(own, LocalLoad) and own in self.order and self.uses[own] == 1:
                if (found := self.assigned(branch, own.pointer, element, op)) is not None:
                    return found
        return None

    def two(self, branch: If) -> Extreme | None:
        """Return the greatest and the second element, if a branch and that of its `else` find them."""
        condition, others = branch.condition, branch.otherwise.statements if branch.otherwise else []
        inner = others[-1] if others else None
        if not isinstance(condition, Operation) or condition.op not in MIRRORED or not isinstance(inner, If):
            return None
        for first, element, op in _sides(condition):
            second = self.second(inner, element, op) if isinstance(first, LocalLoad) else None
            values = [s for s in others[:-1] if s is not inner.condition]
            if second is not None and self.uses[condition] == 1 and all(map(self.is_value, values)):
                found = self.first_before(second, branch, first.pointer, element, op)  # type: ignore[attr-defined]
                if found is not None:
                    return found
        return None

    def is_value(self, statement: Statement) -> bool:
        """Return whether a statement stores nothing, and may run where Python would not have run it."""
        return not isinstance(statement, LocalStore) and self.is_pure(statement, set())

    def second(self, inner: If, element: Statement, op: str) -> Second | None:
        """Return the second element, which an inner branch assigns. op: how an element takes the first place."""
        condition = inner.condition
        if has_else(inner) or not isinstance(condition, Operation) or condition.op not in MIRRORED:
            return None
        stores = {s.pointer: s.value for s in inner.then if isinstance(s, LocalStore)}
        places = [variable for variable, value in stores.items() if is_index_of(value, self.row)]
        place = places[0] if places else None
        for own, other, kind in _sides(condition):
            value = stores.get(own.pointer) if isinstance(own, LocalLoad) and self.uses[own] == 1 else None
            if value is None or not self.is_same(other, element) or not self.is_same(value, element):
                continue
            is_alike = STRICT[kind] == STRICT[op] if place is None else kind == op == STRICT[op]
            variable = own.pointer  # type: ignore[attr-defined]
            if self.is_own(variable, 3) and is_alike and stores.keys() == {variable, *places[:1]}:
                assert isinstance(variable, Alloca)
                return Second(inner, variable, place if isinstance(place, Alloca) else None)
        return None

    def first_before(self, second: Second, branch: If, value: Statement, element: Statement, op: str) -> Extreme | None:
        """Return the greatest element, whose place a branch gives to a new one; it becomes the second one."""
        stores = {s.pointer: s for s in branch.then if isinstance(s, LocalStore)}
        if value is second.value or value not in stores or second.value not in stores:
            return None
        carried = [v for v in stores if v not in (value, second.value, second.index)]
        index = next((v for v in carried if is_index_of(stores[v].value, self.row)), None)
        pairs = [(value, second.value)] if second.index is None else [(value, second.value), (index, second.index)]
        if not all(self.takes(stores, own, other) for own, other in pairs) or not self.is_compared(value, branch):
            return None
        if second.index is not None and not self.is_own(second.index, 2):
            return None
        if not all(self.is_own(v, 2 if v is index and second.index else 1) for v in carried):
            return None
        evaluated, before = computed_from(element), [*branch.then, *second.branch.then]
        if not self.is_same(element, stores[value].value) or not all(self.is_pure(s, evaluated) for s in before):
            return None
        variables = tuple(variable for variable in carried if isinstance(variable, Alloca))
        assert isinstance(value, Alloca) and (index is None or isinstance(index, Alloca))
        found = Extreme(branch, value, variables, op, index, second)
        return found if self.is_found(found) else None

    def takes(self, stores: Mapping[Statement, LocalStore], own: Statement | None, other: Statement) -> bool:
        """Return whether a branch stores what a variable was to another one."""
        if own is None or other not in stores or not isinstance(old := stores[other].value, LocalLoad):
            return False
        return old.pointer is own and old in self.order and self.order[old] < self.order[stores[own]]

    def is_compared(self, value: Statement, branch: If) -> bool:
        """Return whether a variable lives longer than an iteration, which compares, copies and stores it."""
        loads = [s for s in self.order if isinstance(s, LocalLoad) and s.pointer is value]
        is_used_twice = sum(self.uses[load] for load in loads) == 2 and any(
            o in loads for o in operands(branch.condition)
        )
        return is_used_twice and self.is_own(value, len(loads) + 1)

    def comparison_in(self, condition: Statement) -> Operation | None:
        """Return the comparison in a condition that is evaluated last, if it has no other use."""
        if self.uses[condition] != 1 or condition not in self.order:
            return None
        match condition:
            case Operation(op=op) if op in MIRRORED:
                return condition
            case IfExp(then=then, otherwise=otherwise) if then.result is not None and otherwise.result is not None:
                return self.comparison_in(then.result) if is_const(otherwise.result, False) else None
        return None

    def is_own(self, variable: Statement, uses: int) -> bool:
        """Return whether a variable lives longer than an iteration, which uses it so often."""
        if not isinstance(variable, Alloca) or variable in self.inside or self.uses[variable] != uses:
            return False
        return isinstance(variable.type, Scalar) and variable.type.bits in (32, 64)

    def assigned(self, branch: If, value: Statement, element: Statement, op: str) -> Extreme | None:
        """Return what a branch finds, if it assigns an element to a variable that this is compared with."""
        stores = {s.pointer: s for s in branch.then if isinstance(s, LocalStore)}
        if not self.is_own(value, 2) or value not in stores:  # the comparison and the store, and nothing else
            return None
        assert isinstance(value, Alloca)
        carried = [variable for variable in stores if variable is not value]
        if not all(self.is_own(variable, 1) for variable in carried):
            return None
        evaluated, before = computed_from(element), branch.then.statements
        if not self.is_same(element, stores[value].value) or not all(self.is_pure(s, evaluated) for s in before):
            return None
        variables = tuple(variable for variable in carried if isinstance(variable, Alloca))
        index = next((v for v in variables if is_index_of(stores[v].value, self.row)), None)
        found = Extreme(branch, value, variables, op, index)
        return found if self.is_found(found) else None

    def is_found(self, extreme: Extreme) -> bool:
        """Return whether the place of an element tells whether a thread has found one."""
        start = self.row.starts[0]
        return extreme.is_strict or (isinstance(start, Const) and start.value > NOTHING)

    def is_pure(self, statement: Statement, evaluated: set[Statement]) -> bool:
        """Return whether a statement of a branch may run where Python would not have run it.

        evaluated: what runs in any case.
        """
        if isinstance(statement, PLAIN):
            return True
        match statement:
            case MatrixPtr(indices=indices) | MatrixElement(indices=indices):
                return all(isinstance(index, Const) for index in indices)
            case GlobalLoad(pointer=pointer) if _is_inside(pointer):
                return True
            case Operation(op=op, operands=parts, type=kind) if _is_defined(op, parts, kind):
                return True
            case Cast(value=inner, type=Scalar(is_float=is_float)):
                if is_float or (isinstance(inner.type, Scalar) and not inner.type.is_float):
                    return True
        is_known = isinstance(statement, (GlobalLoad, Operation, Cast))
        return is_known and any(self.is_same(statement, other) for other in evaluated)

    def is_same(self, one: Statement, other: Statement) -> bool:
        """Return whether two values of an iteration are the same."""
        if one is other:
            return True
        if one.__class__ is not other.__class__ or one.type != other.type:
            return False
        if (one, other) not in self.same:
            self.same[one, other] = self.are_equal(one, other)
        return self.same[one, other]

    def are_equal(self, one: Statement, other: Statement) -> bool:
        """Return whether two statements of one kind compute the same."""
        match one, other:
            case Const(), Const():
                return repr(one.value) == repr(other.value)
            case (Operation(), Operation()) if one.op != other.op:
                return False
            case (Cast(), Cast()) if one.bits != other.bits:
                return False
            case GlobalPtr(), GlobalPtr():
                if one.array is not other.array or one.cell is not None or other.cell is not None:
                    return False
            case (GlobalLoad(), GlobalLoad()) | (LocalLoad(), LocalLoad()) if self.is_stored_between(one, other):
                return False
            case (Operation(), _) | (Cast(), _) | (GlobalLoad(), _) | (LocalLoad(), _) | (MatrixPtr(), _):
                pass
            case (MatrixElement(), _) | (MatrixInit(), _):
                pass
            case _:
                return same_value(one, other)
        pairs = list(zip(operands(one), operands(other), strict=False))
        return len(operands(one)) == len(operands(other)) and all(self.is_same(*pair) for pair in pairs)

    def is_stored_between(self, one: Statement, other: Statement) -> bool:
        """Return whether an iteration may store what it loads between two loads, or one of these is not its own."""
        if one not in self.order or other not in self.order:
            return True
        first, last = sorted((self.order[one], self.order[other]))
        between = [statement for statement, number in self.order.items() if first < number < last]
        if not isinstance(one, LocalLoad):
            return any(isinstance(s, GlobalStore) for s in between)
        base = base_pointer(one.pointer)
        return any(isinstance(s, LocalStore) and base_pointer(s.pointer) is base for s in between)


def _sides(comparison: Operation) -> Iterator[tuple[Statement, Statement, str]]:
    """Yield each side of a comparison, with the other one, and how this compares with it."""
    one, other = comparison.operands
    yield one, other, MIRRORED[comparison.op]
    yield other, one, comparison.op


def _is_inside(pointer: Statement) -> bool:
    """Return whether a pointer certainly is of an element of a field."""
    if not isinstance(pointer, GlobalPtr) or pointer.array.shape is None or not is_plain_field(pointer.array):
        return False
    access = Access(pointer.indices, pointer.array, pointer.array.shape, pointer.array.name)
    return all(is_safe(access, axis) for axis in range(len(pointer.indices)))


def _is_defined(op: str, parts: list[Statement], kind: object) -> bool:
    """Return whether an operation has a result for all numbers."""
    if not isinstance(kind, Scalar) or not all(isinstance(part.type, Scalar) for part in parts):
        return False
    divisor = parts[-1]
    is_division = op in DIVISIONS and isinstance(divisor, Const) and divisor.value > 0
    return kind.is_float or op in HARMLESS or is_division


# --- what joins the threads -------------------------------------------------------------------------------------------


def add_places(builder: Builder, row: RangeFor, found: list[Extreme]) -> dict[Extreme, Alloca | None]:
    """Return which variables decide between equal elements; before the loop, add those that are lacking."""
    places: dict[Extreme, Alloca | None] = {}
    before = list(builder.block)
    for extreme in found:
        assert isinstance(extreme.value.type, Scalar)
        if extreme.index is not None and (extreme.is_strict or _starts_below(before, extreme.index, row)):
            places[extreme] = extreme.index
        elif not extreme.carried and not extreme.value.type.is_float:
            places[extreme] = None  # equal integers are the same
        else:
            place = builder.add(Alloca(type=i32, hint="found_at", location=extreme.value.location))
            builder.store(place, builder.const(NOTHING))
            with builder.into(extreme.branch.then):
                index = builder.add(LoopIndex(row, 0, type=i32, name=names_of(row)[0]))
                builder.store(place, index)
            places[extreme] = place
    return places


def _starts_below(before: list[Statement], variable: Alloca, row: RangeFor) -> bool:
    """Return whether a variable certainly is less than all indices of a loop, when it starts."""
    start = row.starts[0]
    stores = [s for s in walk(Block(before)) if isinstance(s, LocalStore) and s.pointer is variable]
    last = stores[-1].value if stores and stores[-1] in before else None
    return isinstance(last, Const) and isinstance(start, Const) and last.value < start.value


def add_exchange(builder: Builder, lanes: int, places: dict[Extreme, Alloca | None]) -> RangeFor:
    """Let all threads of a row take what the best one has found; return the loop that does it."""
    steps, distance = add_steps(builder, lanes)
    with builder.into(steps.body):
        for extreme, place in places.items():
            _take_better(builder, extreme, place, distance)
    return steps


def _take_better(builder: Builder, extreme: Extreme, place: Alloca | None, distance: Statement) -> None:
    """Let a thread take what another one has found, if that is better."""
    first, second = [extreme.value, *_existing(place)], extreme.second
    of_second = [] if second is None else [second.value, *_existing(second.index)]
    variables = list(dict.fromkeys([extreme.value, *extreme.carried, *first]))
    own, others = {}, {}
    for variable in [*variables, *of_second]:
        own[variable] = builder.add(LocalLoad(variable, type=variable.type))
        others[variable] = builder.add(Collective("shuffle_xor", [own[variable], distance], type=variable.type))
        others[variable].hint = f"other_{variable.name or variable.hint or 'value'}"
    better = _is_better(builder, extreme, [others[v] for v in first], [own[v] for v in first])
    branch = builder.add(If(better))
    if second is not None:
        branch.otherwise = Block()
        for block, from_own, from_other in ((branch.then, first, of_second), (branch.otherwise, of_second, first)):
            with builder.into(block):
                own_here = [builder.load(variable) for variable in from_own[: len(of_second)]]
                _store_second(builder, extreme, of_second, own_here, [others[v] for v in from_other[: len(of_second)]])
    with builder.into(branch.then):
        for variable in variables:
            builder.add(LocalStore(variable, others[variable]))


def _existing(variable: Alloca | None) -> list[Alloca]:
    return [] if variable is None else [variable]


def _is_better(builder: Builder, extreme: Extreme, found: list[Statement], than: list[Statement]) -> Statement:
    """Return whether an element, with its place if that counts, goes before another one."""
    better = builder.op(STRICT[extreme.op], found[0], than[0])
    if not found[1:]:
        return better
    is_equal = builder.op("eq", found[0], than[0])
    is_preferred = builder.op("lt" if extreme.is_strict else "gt", found[1], than[1])
    return builder.op("logical_or", better, builder.op("logical_and", is_equal, is_preferred))


def _store_second(
    builder: Builder, extreme: Extreme, variables: list[Alloca], one: list[Statement], other: list[Statement]
) -> None:
    """Store the better of two elements as the second one, with its place if that has a variable."""
    if not variables[1:]:
        op = "max" if STRICT[extreme.op] == "gt" else "min"
        builder.store(variables[0], builder.op(op, one[0], other[0]))
        return
    better = _is_better(builder, extreme, other, one)
    for variable, from_one, from_other in zip(variables, one, other, strict=True):
        builder.store(variable, builder.op("select", better, from_other, from_one))
