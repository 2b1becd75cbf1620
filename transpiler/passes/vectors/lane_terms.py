"""If-conversion by speculation: computes what branches of a loop add before them, so that iterations are lanes, in C.

    if i != j and dot(d, d) < 6.25 {        f = 24 / dot(d, d) * d        (`d` is loaded before, too)
        s = s + 24 / dot(d, d) * d     ->   if i != j and dot(d, d) < 6.25 {
    }                                           s = s + f
                                            }

    if a[j] > 0 { s = s + sqrt(a[j]) }
    else { s = s - .1 * a[j] }         ->   s = s + (sqrt(a[j]) if a[j] > 0 else -(.1 * a[j]))

    if a[j] <= a[i] { continue }            x = abs(b[i] - b[j])
    if abs(b[i] - b[j]) < 1 { k = 0 }  ->   if a[j] <= a[i] { continue }
                                            if x < 1 { k = 0 }

gcc 12 makes vectors of a loop with branches if these do no more than add, and loads nothing in them. Sums of 2,048 x
2,048 terms took one core 17 ms before and .3 ms after (the second form), 4.4 and .3 ms (neighbours counted), 6 and .9
ms (forces with a cutoff). The pass takes only loops of which all else can become vectors: what they load is one apart
in neighbouring iterations or the same in all, and what they carry from one to the next are sums, or one number that
they store in a variable. Such flags of 512 x 512 pairs took one core .43 to .50 ms before, .018 ms after; with a
`break`, for which the loop runs in parts, .40 and .023 ms.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.builder import AXES, Builder
from ...ir.nodes import Block, Effect, Remark, Statement, reads, walk, walk_blocks, walk_inside
from ...ir.statements import (
    Alloca,
    Break,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixPtr,
    Operation,
    RangeFor,
    base_pointer,
    is_const,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, Type, element_of, u1
from ..analysis.loops.vector_loops import FOR_VECTORS, innermost_loops
from ..analysis.queries import computed_from, element_name, has_else, is_dense, trip_count
from ..analysis.speculation import divided, guarded, may_be_early
from ..context import PassContext
from .parts.loop_ends import name_end
from .parts.moved_terms import move_before
from .parts.search_runs import ending_of, search_in_runs

FEWEST = 16
"""The fewest iterations that are worth vectors."""
MOST, MOST_OF_SEARCH = 64, 32
"""The most operations of a loop, and of a search, which may end at once. They are counted by weight, and all of them
are computed in all iterations."""
SLOW, SLOW_WEIGHT = frozenset({"div", "norm", "normalized", "rsqrt", "sqrt"}), 8
TAKEN = FOR_VECTORS | {"rsqrt", "floor", "ceil", "sum", "normalized"}
"""Operations that gcc makes vectors of."""
REMARK = Remark("computed in all iterations, so that these may become lanes of vectors (lane_terms)")


def lane_terms(kernel: Kernel, context: PassContext) -> bool:
    """Move what branches of such loops compute before them."""
    if not context.capabilities.vectorizes_loops:
        return False
    changed = False
    for task in kernel.tasks:
        if task.loop is None or task.is_in_lanes or task.short_vectors:
            continue
        loops = [loop for loop in innermost_loops(task) if _may_be_lanes(loop, context.options.fast_math)]
        for around in list(walk_blocks(task.body)) if loops else []:
            for loop in [s for s in around if s in loops]:
                assert isinstance(loop, RangeFor)
                ending = ending_of(loop)
                if _in_loop(loop) or ending is not None:
                    changed = True
                    name_end(around, loop)
                if ending is not None:
                    search_in_runs(around, loop, ending)
    return changed


def _may_be_lanes(loop: RangeFor, is_fast: bool) -> bool:
    """Return whether iterations of a loop become lanes of vectors if its branches only add."""
    count = trip_count(loop)
    if len(loop.starts) > 1 or not is_const(loop.steps[0], 1) or (count is not None and count < FEWEST):
        return False
    statements = list(walk(loop.body))
    is_search = any(isinstance(s, Break) for s in statements)
    weight = sum(_weight(s) for s in statements if isinstance(s, Operation))
    if weight > (MOST_OF_SEARCH if is_search else MOST) or not any(isinstance(s, If) for s in statements):
        return False
    own = set(statements)
    if is_search and ending_of(loop) is None:
        return False
    is_left = any(isinstance(s, (Break, Continue)) for s in statements)
    always = set() if is_left else set(loop.body)
    if any(isinstance(s, GlobalLoad) and s not in always and not may_be_early(s) for s in statements):
        return False
    return all(_is_taken(s, loop, own, is_fast) for s in statements)


def _weight(operation: Operation) -> int:
    """Return how many plain operations of four bytes take as long."""
    type = operation.operands[0].type
    if not isinstance(type, (Scalar, Tensor)):
        return 1
    size = type.size if isinstance(type, Tensor) else 1
    return size * (SLOW_WEIGHT if operation.op in SLOW else 1) * (2 if element_of(type).bits == 64 else 1)


def _is_taken(statement: Statement, loop: RangeFor, own: set[Statement], is_fast: bool) -> bool:
    """Return whether gcc takes a statement for several iterations at a time. own: the statements of the loop."""
    if not _is_small(statement.type):
        return False
    match statement:
        case If() | IfExp() | Break() | Continue() | LocalLoad():
            return True
        case LocalStore():
            return statement.pointer in own or _is_sum(statement, is_fast) or _is_flag(statement, own)
        case GlobalLoad():
            return _is_along(statement, loop, own)
        case Operation():
            is_integer = isinstance(statement.type, Scalar) and statement.type.is_integral
            return statement.op in TAKEN and not (is_integer and statement.op == "div")
    return statement.EFFECT == Effect.NONE and not statement.BLOCKS


def _is_small(type: Type | None) -> bool:
    """Return whether values of a type are no more than a vector of four numbers of one register."""
    match type:
        case None:
            return True
        case Scalar():
            return type.is_float or type.bits <= 32
        case Tensor():
            return type.size <= 4 and _is_small(type.element)
    return False


def _is_sum(store: LocalStore, is_fast: bool) -> bool:
    """Return whether a store adds to a variable, in an order that does not matter."""
    value = store.value
    if not isinstance(store.pointer, Alloca) or not isinstance(value, Operation) or value.type is None:
        return False
    loads = [isinstance(o, LocalLoad) and o.pointer is store.pointer for o in value.operands]
    is_added = loads.count(True) == 1 and (value.op == "add" or (value.op == "sub" and loads[0]))
    return is_added and (is_fast or not element_of(value.type).is_float)


def _is_flag(store: LocalStore, own: set[Statement]) -> bool:
    """Return whether a store is of the only number that a loop stores in a variable, which it does not read."""
    accesses = [s for s in own if isinstance(s, (LocalLoad, LocalStore)) and base_pointer(s.pointer) is store.pointer]
    numbers = {s.value.value if isinstance(s, LocalStore) and isinstance(s.value, Const) else None for s in accesses}
    return isinstance(store.pointer, Alloca) and len(numbers) == 1 and None not in numbers


def _is_along(load: GlobalLoad, loop: RangeFor, own: set[Statement]) -> bool:
    """Return whether neighbouring iterations load one element, or elements next to each other."""
    base = base_pointer(load.pointer)
    if not isinstance(base, GlobalPtr) or not _is_small(base.array.element):
        return False
    array = base.array
    if not is_dense(array) or array.strided:
        return False
    if not base.indices:
        return True
    *outer, last = base.indices
    return not any(_varies(index, loop, own) for index in outer) and _is_next(last, loop, own)


def _varies(index: Statement, loop: RangeFor, own: set[Statement]) -> bool:
    """Return whether an index may differ between iterations."""
    made = computed_from(index)
    loads = [s for s in made if isinstance(s, (LocalLoad, GlobalLoad))]
    return any(s in own for s in loads) or any(isinstance(s, LoopIndex) and s.loop is loop for s in made)


def _is_next(index: Statement, loop: RangeFor, own: set[Statement]) -> bool:
    """Return whether an index is that of the loop, a fixed distance from it, or the same in all iterations."""
    if not _varies(index, loop, own):
        return True
    if isinstance(index, LoopIndex):
        return True
    if not isinstance(index, Operation) or index.op not in ("add", "sub"):
        return False
    left, right = index.operands
    if _varies(right, loop, own):
        return index.op == "add" and not _varies(left, loop, own) and _is_next(right, loop, own)
    return _is_next(left, loop, own)


def _in_loop(loop: RangeFor) -> bool:
    """Leave only sums in the branches of a loop, the inner ones first; return whether that changes it."""
    changed = False
    for block in reversed(list(walk_blocks(loop.body))):
        for statement in reversed(list(block)):
            if isinstance(statement, IfExp):
                changed |= _load_early(block, statement)
            elif isinstance(statement, If):
                changed |= _select_term(block, statement) or _compute_early(block, statement)
    return changed


def _load_early(block: Block, choice: IfExp) -> bool:
    """Move what the operands of `and`, `or` and conditional expressions load, and what is computed from it."""
    changed = False
    for own in (choice.then, choice.otherwise):
        moved, rest = divided([s for s in own if s is not own.result])
        if any(isinstance(s, GlobalLoad) for s in moved):
            last = [own.result] if own.result is not None and own.result not in moved else []
            own.statements = [*rest, *(s for s in last if s in own.statements)]
            block.insert_before(choice, moved)
            _name(moved, [*rest, *last], "compared")
            changed = True
    return changed


def _compute_early(block: Block, branch: If) -> bool:
    """Move what a branch adds before it."""
    moved, rest = divided(guarded(block, branch))
    if has_else(branch) or not any(isinstance(s, (Operation, GlobalLoad)) for s in moved):
        return False
    _name(moved, rest, "term")
    move_before(block, branch, moved)
    return True


def _select_term(block: Block, branch: If) -> bool:
    """Replace two branches that add to one number by one sum, of what the condition selects."""
    parts = [_added(own) for own in (branch.then, branch.otherwise)]
    if parts[0] is None or parts[1] is None or parts[0][0].pointer is not parts[1][0].pointer:
        return False
    builder = Builder(Block(), branch.location)
    terms = []
    for own, part in zip((branch.then, branch.otherwise), parts, strict=True):
        assert own is not None and part is not None
        store, term = part
        builder.block.statements += [s for s in own if s not in (store, store.value) and not isinstance(s, LocalLoad)]
        is_less = isinstance(store.value, Operation) and store.value.op == "sub"
        terms.append(builder.op("neg", term) if is_less else term)
    store = parts[0][0]
    total = builder.load(store.pointer)
    term = builder.op("select", branch.condition, *terms)
    builder.add(LocalStore(store.pointer, builder.op("add", total, term)))
    block.replace(branch, builder.block)
    return True


def _added(block: Block | None) -> tuple[LocalStore, Statement] | None:
    """Return the store of a block that adds to a number and does nothing else, and what it adds."""
    if block is None or not block.statements:
        return None
    *values, store = block.statements
    if not isinstance(store, LocalStore) or not isinstance(store.value, Operation) or not _is_sum(store, True):
        return None
    loads = [s for s in values if isinstance(s, LocalLoad)]
    rest = divided([s for s in values if s is not store.value and s not in loads])[1]
    if rest or not isinstance(store.pointer.type, Scalar) or any(s.pointer is not store.pointer for s in loads):
        return None
    terms = [o for o in store.value.operands if o not in loads]
    return (store, terms[0]) if len(loads) == len(terms) == 1 and store.value in values else None


def _name(moved: list[Statement], rest: list[Statement], name: str) -> None:
    """Give names to the numbers that a branch uses, so that they are statements before it."""
    early = set(moved)
    users = [s for statement in rest for s in (statement, *walk_inside(statement))]
    used = [o for user in users for o in reads(user) if o in early]
    terms = [o for o in used if o.type != u1 and isinstance(o, (Operation, GlobalLoad))]
    compared = [number for o in used if o.type == u1 for number in _compared(o, early)]
    for value in dict.fromkeys([*terms, *compared]):
        if isinstance(value, GlobalLoad):
            value.name = value.name or _name_of(value)
        else:
            value.name = value.name or (name if value in terms else "compared")
    for value in [*terms, *compared][:1]:
        value.remarks = (REMARK,)


def _name_of(load: GlobalLoad) -> str:
    """Return the name of a variable that holds an element, or a component of one: `x_j`, `v_j_y`."""
    base = base_pointer(load.pointer)
    assert isinstance(base, GlobalPtr)
    indices = load.pointer.indices if isinstance(load.pointer, MatrixPtr) else []
    numbers = [int(index.value) for index in indices if isinstance(index, Const)]
    letters = [AXES[number] for number in numbers] if len(numbers) == 1 else [str(number) for number in numbers]
    return "_".join([element_name(base), *letters])


def _compared(value: Statement, early: set[Statement]) -> Iterator[Statement]:
    """Return the numbers that an early condition compares, which is printed where it is used."""
    if value in early and isinstance(value, Operation) and value.type == u1:
        for operand in value.operands:
            yield from _compared(operand, early)
    elif value in early and isinstance(value, (Operation, GlobalLoad)):
        yield value
