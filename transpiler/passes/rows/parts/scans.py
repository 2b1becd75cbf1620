"""Serial loops whose iterations depend on a sum of those before them alone (for `block_scans`): a query.

In: the iterations, or the one, of a task. Out: its loops that a block of threads may run, each with its scans.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.functions import Call
from ....ir.nodes import Block, Effect, Statement, walk
from ....ir.statements import (
    RECORDS,
    Alloca,
    Array,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LocalLoad,
    LocalStore,
    Operation,
    Rand,
    RangeFor,
    Return,
    base_pointer,
    is_const,
)
from ....ir.tasks import Apart, Task
from ....ir.types import Scalar, i32, u1
from ....lazy_dataclasses import dataclass
from ....options import MAX_ITERATIONS
from ...analysis.linear import Reader
from ...analysis.queries import base_array, computed_from, is_dense, is_given, is_index_of, leaves_block
from .accumulators import accumulators

THREADS = 1024
"""The most threads of a block."""
MOST_SCANS = 4
OPS = ("add", "min", "max")


@dataclass(frozen=True, slots=True)
class Scan:
    """A variable that each iteration changes. store: where. term: by what. condition: whether it does; None: always.

    op: of `variable = variable op term`.
    """

    variable: Alloca
    store: LocalStore
    op: str
    term: Statement
    condition: Statement | None


@dataclass(frozen=True, slots=True)
class Vote:
    """A number that a scan adds where conditions hold, more than that of the scan itself."""

    number: int
    conditions: list[Statement]


@dataclass(frozen=True, slots=True)
class Scans:
    """A loop and its scans. before: the values that it computes first. apart: ndarrays that must not overlap for it.

    joined: what it adds up, if its iterations do not depend on those before; else None.
    """

    loop: RangeFor
    scans: list[Scan]
    before: set[Statement]
    apart: list[Apart]
    joined: dict[Alloca, str] | None


Found = dict[Statement, Scans]
"""The loops of a task with scans."""


def scans_of(task: Task, fast_math: bool, is_worth: Callable[[Scans], bool]) -> Found:
    """Return such loops of a task, at the top of its body; also those whose iterations do not depend on each other."""
    if any(isinstance(s, RECORDS) for s in walk(task.body)):
        return {}
    found: Found = {}
    for loop in task.body:
        if isinstance(loop, RangeFor) and _is_usual(loop) and _is_alone(task, loop, found):
            joined = accumulators(loop, fast_math)
            scans = _scans_in(loop, fast_math) if joined is None else []
            apart = _must_be_apart(task, loop, scans) if scans or joined is not None else None
            if apart is not None:
                wanted = {value for scan in scans for value in (scan.term, scan.condition) if value is not None}
                before = wanted.union(*map(computed_from, wanted)) & set(walk(loop.body))
                possible = Scans(loop, scans, before, apart, joined)
                found |= {loop: possible} if is_worth(possible) else {}
    return found


def _is_usual(loop: RangeFor) -> bool:
    """Return whether a loop counts up by one, and all threads know its bounds."""
    end = loop.ends[0]
    if len(loop.starts) != 1 or not is_const(loop.steps[0], 1) or loop.unroll or loop.starts[0].type != i32:
        return False
    is_near = isinstance(end, Const) and int(end.value) > MAX_ITERATIONS - THREADS  # the next index would wrap
    return is_given(loop.starts[0]) and is_given(end) and not is_near


def _is_alone(task: Task, loop: RangeFor, found: Found) -> bool:
    """Return whether threads may run what is before a loop as one: what stores there computes nothing for the loop.

    found: the loops before it that are shared, too.
    """
    place = task.body.statements.index(loop)
    inside = list(walk(loop.body))
    excluded = (Rand, AtomicOp, Return)
    if any(leaves_block(s) or isinstance(s, excluded) or _has_effects(s) for s in inside):
        return False
    first = [statement for statement in task.body.statements[:place] if statement not in found]
    return not any(isinstance(s, excluded) or _has_effects(s) for s in walk(Block(first))) and not any(
        stores_elements(s) and any(isinstance(inner, LocalStore) for inner in walk(Block([s]))) for s in first
    )


def _has_effects(statement: Statement) -> bool:
    """Return whether a statement calls a function that writes, or is a point that memory is seen from."""
    return bool(statement.EFFECT & Effect.FENCE) or (
        isinstance(statement, Call) and bool(statement.EFFECT & Effect.WRITE)
    )


def stores_elements(statement: Statement) -> bool:
    """Return whether one thread alone runs a statement outside the loop."""
    return any(isinstance(inner, GlobalStore) for inner in walk(Block([statement])))


def _scans_in(loop: RangeFor, fast_math: bool) -> list[Scan]:
    """Return the scans of a loop; [] if it changes other variables of the task, or there are none."""
    own = {s for s in walk(loop.body) if isinstance(s, Alloca)}
    stores = [s for s in walk(loop.body) if isinstance(s, LocalStore) and s.pointer not in own]
    variables = {store.pointer for store in stores}
    if not 0 < len(stores) == len(variables) <= MOST_SCANS or not all(isinstance(v, Alloca) for v in variables):
        return []
    changed = own | variables
    late = _loads_after_stores(loop)
    scans = [_scan(loop, store, fast_math) for store in stores]
    for scan in scans:
        values = [] if scan is None else [v for v in (scan.term, scan.condition) if v is not None]
        if scan is None or not all(_is_known(value, loop, changed, late) for value in values):
            return []
    return [scan for scan in scans if scan is not None]


def _scan(loop: RangeFor, store: LocalStore, fast_math: bool) -> Scan | None:
    """Return the scan whose variable a statement stores, None if it is none."""
    variable, value, type = store.pointer, store.value, store.pointer.type
    if not isinstance(variable, Alloca) or not isinstance(type, Scalar) or type.bits < 32:
        return None
    if (
        not isinstance(value, Operation)
        or value.op not in OPS
        or (type.is_float and (value.op != "add" or not fast_math))
    ):
        return None
    olds = [o for o in value.operands if isinstance(o, LocalLoad) and o.pointer is variable]
    terms = [o for o in value.operands if not (isinstance(o, LocalLoad) and o.pointer is variable)]
    if len(olds) != 1 or len(terms) != 1 or olds[0] not in set(walk(loop.body)):
        return None  # `s = first + a[k]`, of what s was before the loop, is no sum
    if store in loop.body.statements:
        return Scan(variable, store, value.op, terms[0], None)
    for branch in loop.body:
        if isinstance(branch, If) and store in branch.then.statements:
            return Scan(variable, store, value.op, terms[0], branch.condition)
    return None


def vote_of(scan: Scan) -> Vote | None:
    """Return the number that a scan adds or does not add, None if it adds several, or always the same."""
    type = scan.variable.type
    if scan.op != "add" or not isinstance(type, Scalar) or type.is_float:
        return None
    match scan.term:
        case Const(value=number) if scan.condition is not None:
            return Vote(int(number), [])
        case Cast(value=truth, bits=False) if truth.type == u1:
            return Vote(1, [truth])
        case Operation(op="select", operands=[truth, Const(value=number), Const(value=0)]) if truth.type == u1:
            return Vote(int(number), [truth])
    return None


def _loads_after_stores(loop: RangeFor) -> set[Statement]:
    """Return the loads that an iteration does after a store to the array, perhaps to their element."""
    stored, found = set[Array | None](), set[Statement]()
    for access in walk(loop.body):
        if isinstance(access, GlobalStore):
            stored.add(base_array(access.pointer))
        elif isinstance(access, GlobalLoad) and base_array(access.pointer) in stored:
            found.add(access)
    return found


def _is_known(value: Statement, loop: RangeFor, changed: set[Statement], late: set[Statement]) -> bool:
    """Return whether a value of an iteration is computed from what it has not changed yet, at its top or outside."""
    inside, top = set(walk(loop.body)), set(loop.body.statements)
    for part in {value, *computed_from(value)} & inside:
        if isinstance(part, GlobalLoad):
            if base_array(part.pointer) is None or part in late:
                return False
        elif isinstance(part, LocalLoad):
            if part.pointer in changed:
                return False
        elif not isinstance(part, (Const, Cast, Operation, GlobalPtr)) and not is_index_of(part, loop):
            return False
        if part not in top and not isinstance(part, Const):
            return False
    return True


# --- which stores -----------------------------------------------------------------------------------------------------


def _must_be_apart(task: Task, loop: RangeFor, scans: list[Scan]) -> list[Apart] | None:
    """Return which ndarrays must be apart for each iteration to store to elements of its own, and to load none that
    others store; None if it does anyway."""
    accesses = [s for s in walk(loop.body) if isinstance(s, (GlobalLoad, GlobalStore))]
    called = {array for s in walk(loop.body) if isinstance(s, Call) for array in s.function.reads}
    stores = {base_array(s.pointer): s for s in accesses if isinstance(s, GlobalStore)}
    if len(stores) < sum(isinstance(s, GlobalStore) for s in accesses):
        return None
    arrays = dict.fromkeys((*(base_array(s.pointer) for s in accesses), *called))
    apart = dict[frozenset[Array], Apart]()
    for array, store in stores.items():
        if array is None or array in called or not is_dense(array):
            return None
        for other in arrays:
            if other is None or (array is not other and task.may_share(array, other) and array.strided | other.strided):
                return None
            if array is not other and task.may_share(array, other):
                apart[frozenset((array, other))] = Apart(array, other)
        pointers = [s.pointer for s in accesses if base_array(s.pointer) is array]
        is_stored_only = len(pointers) == 1
        if not _have_own_element(task, loop, pointers) and not (is_stored_only and _grows_to(store, loop, scans)):
            return None
    return list(apart.values())


def _have_own_element(task: Task, loop: RangeFor, pointers: list[Statement]) -> bool:
    """Return whether an iteration has the elements at pointers alone: along one axis it has an index of its own."""
    around = set[Statement]() if task.loop is None else {task.loop}
    reader = Reader({loop, *around, *walk(loop.body)}, {}, scales=True)
    bases = [pointer for pointer in map(base_pointer, pointers) if isinstance(pointer, GlobalPtr)]
    for indices in zip(*(pointer.indices for pointer in bases), strict=True):
        first, *others = map(reader.read, indices)
        is_own = first is not None and {of for of, _ in first.indices} - around == {loop}
        if is_own and all(other is not None and other.key == first.key for other in others):  # type: ignore[union-attr]
            return True
    return False


def _grows_to(store: GlobalStore, loop: RangeFor, scans: list[Scan]) -> bool:
    """Return whether each iteration with a store has a greater last index than those before it."""
    pointer = base_pointer(store.pointer)
    assert isinstance(pointer, GlobalPtr)
    return any(_grows(scan, index, loop, store) for scan in scans for index in pointer.indices[-1:])


def _grows(scan: Scan, index: Statement, loop: RangeFor, store: GlobalStore) -> bool:
    """Return whether an index is a sum of integers that each iteration with the store makes greater."""
    if not isinstance(index, LocalLoad) or index.pointer is not scan.variable or scan.op != "add":
        return False
    is_greater = isinstance(scan.term, Const) and scan.variable.type == i32 and int(scan.term.value) > 0
    blocks = (loop.body, *(s.then for s in loop.body if isinstance(s, If)))
    return is_greater and any(
        scan.store in block.statements and _is_before(store, index, scan.store, block) for block in blocks
    )


def _is_before(store: Statement, index: Statement, end: Statement, block: Block) -> bool:
    """Return whether a store is at an index that is loaded before a statement of a block, perhaps under a condition."""
    first = Block(block.statements[: block.statements.index(end)])
    around = (block, *(s.then for s in first if isinstance(s, If)))
    return any(store in inner.statements and index in inner.statements for inner in around)
