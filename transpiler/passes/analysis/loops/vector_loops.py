"""Loops whose iterations may be lanes of vectors (SIMD): what lanes access, and what differs between them."""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.functions import Call, Function, called, reachable
from ....ir.nodes import Block, Effect, Statement, blocks, users_of, walk, walk_inside
from ....ir.sparse import TOPOLOGY_WRITERS
from ....ir.statements import (
    RECORDS,
    Alloca,
    AtomicOp,
    Break,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixPtr,
    Operation,
    Rand,
    RangeFor,
    Return,
    While,
    base_pointer,
    is_const,
    repeats,
)
from ....ir.tasks import Task
from ....ir.textures import TEXTURE_STATEMENTS
from ....ir.types import Scalar, Tensor
from ..queries import is_index_of
from .carried import uses_carried

FEWEST = 16
"""The fewest iterations of the innermost axis that are worth vectors, if their number is known."""
NOT_TAKEN = (
    AtomicOp, Rand, Call, While, Break, Continue, Return, *TOPOLOGY_WRITERS, *RECORDS, *TEXTURE_STATEMENTS,
)  # fmt: skip
FOR_VECTORS = frozenset({
    "add", "sub", "mul", "div", "neg", "abs", "sqrt", "min", "max", "select", "dot", "norm", "lt", "le", "gt", "ge",
    "eq", "ne", "logical_and", "logical_or", "logical_not", "bit_and", "bit_or", "bit_xor", "bit_not", "flushed",
})  # fmt: skip
"""Operations that processors have for vectors."""
SELECTED = FOR_VECTORS - {"div", "sqrt", "dot", "norm"}
"""Operations that are computed in all lanes if a branch needs them in one: they cost little."""
INTEGER = frozenset({"add", "sub", "mul"})
ELEMENTWISE = INTEGER | {"div", "neg", "min", "max", "abs"}
"""Operations on vectors that read like those on numbers: of integers, which some drivers get wrong, and of floats."""
SUMS = frozenset({"add", "sub", "wrapping_add", "wrapping_sub"})
ACCESSES = frozenset({GlobalLoad, GlobalStore})
PLACES = frozenset({Alloca, MatrixPtr})


def has_carried_stores(task: Task) -> bool:
    """Return whether serial loops of a body store what they carry, so that no compiler takes the loop around them."""
    return any(uses_carried(s) for s in walk(task.body) if isinstance(s, RangeFor) and repeats(s))


def may_have_lanes(task: Task, loop: RangeFor) -> bool:
    """Return whether a parallel loop has loops inside, and only statements that are taken several at a time."""
    if not is_plain_loop(task, loop):
        return False
    statements = _without_plain_calls(task)
    kinds = {s.__class__ for s in statements}
    if any(issubclass(kind, NOT_TAKEN) or kind.EFFECT & Effect.FENCE for kind in kinds):
        return False
    if not any(repeats(s) for s in statements if s.BLOCKS):
        return False
    if If in kinds and not _may_branch(task, statements):
        return False
    if any(_is_indexed(s) for s in statements if s.__class__ in PLACES):
        return False
    return not any(is_scattered(access, loop) for access in accesses_in_loops(task))


def _without_plain_calls(task: Task) -> list[Statement]:
    """Return the statements of a body and of functions; calls are left out if these only compute numbers."""
    statements = list(reachable(task.body))
    if not all(map(_is_plain, called(task.body))):
        return statements
    return [s for s in statements if not isinstance(s, (Call, Return))]


def _is_plain(function: Function) -> bool:
    """Return whether a function only computes numbers, without a branch."""
    *others, last = function.body
    is_straight = isinstance(last, Return) and not any(s.BLOCKS or isinstance(s, Return) for s in others)
    return is_straight and function.effect == Effect.NONE and not function.snippets


def guards_of(block: Block, is_repeated: bool = False) -> list[If]:
    """Return the branches of a body that contain serial loops, and those in serial loops that load what no other may.

    is_repeated: the body is that of a serial loop.
    """
    found = []
    for statement in block:
        if isinstance(statement, If) and (_has_loops(statement) or (is_repeated and _loads(statement))):
            found += [statement, *(guard for body in blocks(statement) for guard in guards_of(body, is_repeated))]
        elif isinstance(statement, RangeFor) and repeats(statement):
            found += guards_of(statement.body, True)
    return found


def _has_loops(branch: If) -> bool:
    return any(repeats(s) for s in walk(Block([branch])) if s.BLOCKS)


def _loads(branch: If) -> bool:
    """Return whether a branch loads elements whose addresses are computed in it alone."""
    inside = {s for body in blocks(branch) for s in walk(body)}
    return any(isinstance(s, GlobalLoad) and s.pointer in inside for s in inside)


def _may_branch(task: Task, statements: list[Statement]) -> bool:
    """Return whether branches contain serial loops, and are the same in all lanes then, or are selections."""
    guards = guards_of(task.body)
    conditions = {guard.condition for guard in guards}
    branches = [s for s in statements if isinstance(s, If) and s not in guards]
    has_choices = any(isinstance(s, IfExp) and s not in conditions for s in statements)
    return not branches or (not has_choices and _are_selections(statements, branches))


def _are_selections(statements: list[Statement], branches: list[If]) -> bool:
    """Return whether branches only change local variables, to values that cost little or are computed anyway."""
    chosen = {s for branch in branches for s in walk_inside(branch)}
    loaded = {s.pointer for s in statements if isinstance(s, GlobalLoad) and s not in chosen}
    return all(_is_selected(s, loaded) for s in chosen)


def _is_selected(statement: Statement, loaded: set[Statement]) -> bool:
    match statement:
        case LocalStore(pointer=Alloca(type=Scalar())) | Const() | LocalLoad() | LoopIndex() | If():
            return True
        case GlobalLoad(pointer=pointer):
            return pointer in loaded
        case Operation(op=op, type=Scalar()):
            return op in SELECTED
    return False


def is_plain_loop(task: Task, loop: RangeFor) -> bool:
    """Return whether the iterations of the innermost axis are independent, one apart, and enough for vectors."""
    if loop.cells is not None or loop.order or not is_const(loop.steps[-1], 1) or is_short(loop):
        return False
    return not (task.reductions or task.private or task.synchronizes or task.is_split)


def accesses_in_loops(task: Task) -> list[GlobalLoad | GlobalStore]:
    """Return the accesses to arrays in the serial loops of a body."""
    return [s for s in in_serial_loops(task) if s.__class__ in ACCESSES]  # type: ignore[misc]


def in_serial_loops(task: Task) -> list[Statement]:
    """Return the statements in the serial loops of a body."""
    return [s for each in _outer_loops(task.body) for s in walk(each.body)]


def _outer_loops(block: Block) -> Iterator[RangeFor]:
    """Return the serial loops of a body, and of branches, that are in no other loop."""
    for statement in block:
        if isinstance(statement, RangeFor) and repeats(statement):
            yield statement
        elif isinstance(statement, If):
            for inner in blocks(statement):
                yield from _outer_loops(inner)


def is_short(loop: RangeFor) -> bool:
    """Return whether the innermost axis is known to have too few iterations."""
    start, end = loop.starts[-1], loop.ends[-1]
    return isinstance(start, Const) and isinstance(end, Const) and int(end.value) - int(start.value) < FEWEST


def _is_indexed(statement: Statement) -> bool:
    """Return whether a statement is a large local variable, or an element of a local one at a computed place."""
    if isinstance(statement, Alloca):
        return isinstance(statement.type, Tensor) and statement.type.size > 4
    return isinstance(statement, MatrixPtr) and not all(isinstance(index, Const) for index in statement.indices)


def varying_values(task: Task, loop: RangeFor) -> set[Statement]:
    """Return the values that differ between lanes; local variables are among them as soon as one is stored there."""
    statements = list(walk(task.body))
    users = users_of(statements)
    waiting: list[Statement] = [s for s in statements if is_index_of(s, loop) and _is_last(s, loop)]
    found = set(waiting)
    while waiting:  # a loop may store at its end what it reads at its start
        value = waiting.pop()
        new = [user for user in users.get(value, ()) if user not in found]
        if isinstance(value, LocalStore) and (variable := base_pointer(value.pointer)) not in found:
            new.append(variable)
        found.update(new)
        waiting += new
    return found


def _is_last(index: LoopIndex, loop: RangeFor) -> bool:
    return index.axis == len(loop.starts) - 1


def is_along(access: GlobalLoad | GlobalStore, loop: RangeFor, varying: set[Statement]) -> bool:
    """Return whether all lanes access one element, or neighbours along the last axis."""
    base = base_pointer(access.pointer)
    if not isinstance(base, GlobalPtr) or base.array.node is not None:
        return False
    if access.pointer not in varying:
        return isinstance(access, GlobalLoad)
    *outer, last = base.indices
    if access.pointer is not base or not isinstance(base.array.element, Scalar) or any(i in varying for i in outer):
        return False
    return _is_lane(last, loop, varying)


def is_before_loops(access: GlobalLoad | GlobalStore, task: Task, loop: RangeFor) -> bool:
    """Return whether an access in a serial loop loads what is the same in all of its iterations.

    So it is if the place depends on no index but those of the parallel loop, and no serial loop stores to an array.
    """
    base = base_pointer(access.pointer)
    if not isinstance(access, GlobalLoad) or not isinstance(base, GlobalPtr) or base.array.node is not None:
        return False
    if access.pointer is not base and not all(isinstance(i, Const) for i in getattr(access.pointer, "indices", [base])):
        return False
    if not all(isinstance(i, Const) or (isinstance(i, LoopIndex) and i.loop is loop) for i in base.indices):
        return False
    return not any(isinstance(s, GlobalStore) for s in accesses_in_loops(task))


def is_scattered(access: GlobalLoad | GlobalStore, loop: RangeFor) -> bool:
    """Return whether the last index of an access shows that lanes access neither one element nor neighbours."""
    base = access.pointer
    if not isinstance(base, GlobalPtr) or not base.indices:
        return False
    last = base.indices[-1]
    return isinstance(last, Operation) and last.op not in SUMS and _depends_on_lane(last, loop)


def _depends_on_lane(value: Statement, loop: RangeFor) -> bool:
    """Return whether operations compute a value from the index of the lane."""
    pending, seen = [value], set[Statement]()
    while pending:
        part = pending.pop()
        if isinstance(part, LoopIndex) and part.loop is loop and _is_last(part, loop):
            return True
        if isinstance(part, Operation) and part not in seen:
            seen.add(part)
            pending += part.operands
    return False


def _is_lane(index: Statement, loop: RangeFor, varying: set[Statement]) -> bool:
    """Return whether an index is that of the lane, or at the same distance from it in all lanes."""
    if isinstance(index, LoopIndex):
        return index.loop is loop and _is_last(index, loop)
    if not isinstance(index, Operation) or index.op not in SUMS:
        return False
    left, *rest = index.operands
    if index.op in ("add", "wrapping_add") and left not in varying:
        return _is_lane(rest[0], loop, varying)
    return _is_lane(left, loop, varying) and rest[0] not in varying


def innermost_loops(task: Task) -> list[RangeFor]:
    """Return the serial loops of a task that contain no other loop."""
    serial = [s for s in walk(task.body) if s.BLOCKS and isinstance(s, RangeFor) and repeats(s)]
    return [loop for loop in serial if not any(repeats(s) for s in walk(loop.body) if s.BLOCKS)]
