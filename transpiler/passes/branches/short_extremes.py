"""If-conversion of extremes: replaces the branches by which short loops find an extreme and where it is, in C.

    for p in range(8) {                             for p in range(8) {
        c = v[p] + a[p, q]                              c = v[p] + a[p, q]
        if c > best { best = c; arg = p }    ->         arg = arg + (p - arg) * (c > best)
    }                                                   best = c if c > best else best
                                                    }

The greatest of few numbers changes every third time, so that a processor guesses such a branch wrongly, and gcc 12
makes a branch of a choice of two integers next to one of floats, too. The paths of a model with eight states took one
core 38 ms in place of 54 (Viterbi's algorithm, Zen 5). In long loops the branch is seldom taken and stays.

So it is in a loop that carries something else than sums from one iteration to the next: of others gcc makes vectors,
also with such branches in them. The nearest of 12 points to each of 262,144 took 2.6 ms without the branch, .2 with it.

Likewise in loops that gcc does not make vectors of: those that load elements at indices that are loaded, or rows of
fields whose length is neither 3 nor a power of two. The greatest of ten numbers in each row of 65,536 took one core
2.3 ms before, .8 ms after, and the farthest of 16 points of one of 64 polygons 2.2 and 1.2 (LLVM, which selects: 1.0).
From 17 iterations on gcc does not unroll the loop, and guesses are mostly right.

So it is in loops that end at any time, and in functions that only such loops call. What belongs to the extreme may be
floats and vectors of up to four, too, which are selected by components:

    if d > best { best = d; point = p }    ->    point = (vec2){is_new ? p.x : point.x, is_new ? p.y : point.y}
                                                 best = is_new ? d : best

Distances of 20,000 pairs of polygons, whose farthest points are looked for several times (GJK), 4.2 and 2.4 ms (LLVM:
2.9; Zen 4).
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.functions import Call
from ...ir.nodes import Block, Remark, Statement, blocks, walk, walk_blocks, walk_inside
from ...ir.statements import (
    Alloca,
    ArgLoad,
    Const,
    GlobalLoad,
    GlobalPtr,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
    Parameter,
    RangeFor,
    base_pointer,
    repeats,
)
from ...ir.tasks import Kernel
from ...ir.types import Tensor, f32, f64
from ..analysis.loops.carried import carries_values
from ..analysis.queries import computed_from, has_else, trip_count
from ..context import PassContext
from .parts.comparisons import are_current
from .parts.known_stores import store_if, stores_integer
from .parts.scalar_places import scalar_places

MOST = 16
"""The trip count from which a loop is no longer short."""
UNROLLED = 16
"""The most iterations of a loop that gcc unrolls, so that processors guess each one by itself."""
REMARK = Remark("without a branch (short_extremes)")
MOST_SELECTED = 4
"""The most numbers that are selected together with an extreme, other than integers."""


def short_extremes(kernel: Kernel, context: PassContext) -> bool:
    """Replace such branches in loops with few iterations."""
    if not context.capabilities.predicts_branches:
        return False
    changed = False
    loaded = _loaded_parameters(kernel)
    unrolled = [(loop, around) for loop, around in _unrolled_loops(kernel) if any(map(_extremes_of, blocks(loop)))]
    scalars = scalar_places(kernel) if unrolled else set()
    for loop, around in unrolled:
        if loop in scalars or _is_scalar(loop, around, loaded):
            changed |= _replace_in(loop)
    for around in [s for s in kernel.statements() if s.BLOCKS and repeats(s) and not _is_short(s)]:
        if not carries_values(around):
            continue
        for loop in [s for s in walk_inside(around) if _is_short(s)]:
            changed |= _replace_in(loop)
    return changed


def _unrolled_loops(kernel: Kernel) -> list[tuple[Statement, Statement | None]]:
    """Return loops that gcc unrolls, and those directly around them: None for the first of a function."""
    found: dict[Statement, Statement | None] = {}
    for task in kernel.tasks:
        if not task.is_in_lanes:
            found.update({s: task.loop for root in task.roots() for s in walk(root) if _is_short(s, UNROLLED)})
    for function in kernel.functions:
        found.update({s: None for s in walk(function.body) if _is_short(s, UNROLLED)})
    for around in [s for s in kernel.statements() if s.BLOCKS and repeats(s)]:
        for loop in [s for s in walk_inside(around) if s in found]:
            found[loop] = around  # the innermost is last
    return list(found.items())


def _loaded_parameters(kernel: Kernel) -> set[Parameter]:
    """Return the parameters of functions that some call gets from an array."""
    found: set[Parameter] = set()
    count = -1
    while len(found) > count:  # a function may pass on what it gets
        count = len(found)
        for call in [s for s in kernel.statements() if isinstance(s, Call)]:
            for parameter, argument in zip(call.function.parameters, call.arguments, strict=True):
                if _is_loaded(argument, found):
                    found.add(parameter)
    return found


def _is_loaded(value: Statement, loaded: set[Parameter]) -> bool:
    """Return whether a value is computed from an element of an array."""
    parts = computed_from(value)
    return any(isinstance(s, GlobalLoad) or (isinstance(s, ArgLoad) and s.parameter in loaded) for s in parts)


def _is_scalar(loop: Statement, around: Statement | None, loaded: set[Parameter]) -> bool:
    """Return whether gcc makes no vectors of the loop around a short one, for the elements that this one loads."""
    bases = [base_pointer(s.pointer) for s in walk_inside(loop) if isinstance(s, GlobalLoad)]
    pointers = [base for base in bases if isinstance(base, GlobalPtr)]
    if any(_is_loaded(index, loaded) for pointer in pointers for index in pointer.indices):
        return True
    return any(_is_odd_row(pointer, loop, around) for pointer in pointers)


def _is_odd_row(pointer: GlobalPtr, loop: Statement, around: Statement | None) -> bool:
    """Return whether a short loop goes along a row, of which lanes of vectors would have one each.

    gcc 12 loads vectors of each row, and transposes them, if rows have three numbers or a power of two.
    """
    array = pointer.array
    if len(pointer.indices) < 2 or array.shape is None:
        return False
    *outer, last = pointer.indices
    if not any(isinstance(s, LoopIndex) and s.loop is loop for s in computed_from(last)):
        return False
    length = array.shape[-1] * (array.element.size if isinstance(array.element, Tensor) else 1)
    return any(_differs(index, around) for index in outer) and length != 3 and length & (length - 1) != 0


def _differs(index: Statement, around: Statement | None) -> bool:
    """Return whether an index differs between neighbouring iterations of a loop, or between calls of a function."""
    last = len(around.starts) - 1 if isinstance(around, RangeFor) else 0
    parts = computed_from(index)
    indices = [s for s in parts if isinstance(s, LoopIndex) and s.loop is around and s.axis == last]
    return bool(indices) or (around is None and any(isinstance(s, ArgLoad) for s in parts))


def _is_short(statement: Statement, most: int = MOST - 1) -> bool:
    """Return whether a statement is a loop of few iterations without others inside."""
    if not isinstance(statement, RangeFor) or (trip_count(statement) or most + 1) > most:
        return False
    return not any(repeats(s) for s in walk(statement.body) if s.BLOCKS)


def _replace_in(loop: Statement) -> bool:
    """Replace the branches of a loop that store extremes; return whether there are any."""
    changed = False
    for body in blocks(loop):
        for block, branch in _extremes_of(body):
            changed |= _replace(block, branch)
    return changed


def _extremes_of(body: Block) -> list[tuple[Block, If]]:
    """Return the branches of a body that store extremes, each with its block."""
    found = [(block, s) for block in walk_blocks(body) for s in block.statements if isinstance(s, If)]
    return [(block, branch) for block, branch in found if _compared(branch) is not None]


def _replace(block: Block, branch: If) -> bool:
    """Replace a branch that stores the greater of two floats, and what belongs to it; return whether it is one."""
    compared = _compared(branch)
    if compared is None:
        return False
    condition, best, new = compared
    loads = [s for s in condition.operands if isinstance(s, LocalLoad) and s.pointer is best]
    if not are_current(loads, block, branch):
        return False
    builder = Builder(Block(), branch.location)
    selected = [s for s in branch.then if isinstance(s, LocalStore) and s.pointer is not best and not stores_integer(s)]
    if selected:
        condition.name = "is_new"  # several selections need it
    for statement in branch.then:
        if statement in selected:
            _select(builder, statement, condition)
        elif not isinstance(statement, LocalStore) or statement.pointer is not best:
            store_if(builder, statement, condition, REMARK)
    again = [builder.load(best) if o is not new else new for o in condition.operands]
    old = next(o for o in again if o is not new)
    comparison = condition if selected else builder.op(condition.op, *again)
    builder.add(LocalStore(best, builder.op("select", comparison, new, old)))
    block.replace(branch, builder.block)
    return True


def _select(builder: Builder, store: Statement, condition: Operation) -> None:
    """Add a store of a float or vector that keeps what the variable holds where a condition is false."""
    assert isinstance(store, LocalStore)
    old, new = builder.load(store.pointer), store.value
    if isinstance(new.type, Tensor):
        indices = [builder.const(k) for k in range(new.type.size)]
        pairs = [(builder.element(new, [k]), builder.element(old, [k])) for k in indices]
        elements = [builder.op("select", condition, *pair) for pair in pairs]
        value = builder.tensor(elements, new.type.shape, new.type.element)
    else:
        value = builder.op("select", condition, new, old)
    builder.add(LocalStore(store.pointer, value, remarks=(REMARK,)))


def _compared(branch: If) -> tuple[Operation, Alloca, Statement] | None:
    """Return the comparison of a branch that stores an extreme, the variable of that, and the other float."""
    condition = branch.condition
    if has_else(branch) or not isinstance(condition, Operation) or condition.op not in ("gt", "lt"):
        return None
    if not all(isinstance(s, (LocalStore, Const)) for s in branch.then):
        return None
    stores = [s for s in branch.then if isinstance(s, LocalStore)]
    for old, new in (condition.operands, condition.operands[::-1]):
        if isinstance(old, LocalLoad) and isinstance(old.pointer, Alloca) and old.type in (f32, f64):
            others = [s for s in stores if s.pointer is not old.pointer]
            is_found = any(s.pointer is old.pointer and s.value is new for s in stores) and new is not old
            if is_found and len(others) == len(stores) - 1 and others and _may_select(others):
                return condition, old.pointer, new
    return None


def _may_select(stores: list[LocalStore]) -> bool:
    """Return whether what belongs to an extreme is selected as fast as it is compared: few numbers in variables."""
    others = [s for s in stores if not stores_integer(s)]
    if not all(isinstance(s.pointer, Alloca) and _numbers(s.pointer) for s in others):
        return False
    variables = {s.pointer for s in stores}
    if others and (len(variables) < len(stores) or any(_reads(s.value, variables) for s in stores)):
        return False
    return sum(_numbers(s.pointer) for s in others) <= MOST_SELECTED


def _numbers(variable: Statement) -> int:
    """Return how many floats a variable has, 0 if there may be others in it."""
    kind = variable.type
    element = kind.element if isinstance(kind, Tensor) and len(kind.shape) == 1 else kind
    if element not in (f32, f64):
        return 0
    return kind.size if isinstance(kind, Tensor) else 1


def _reads(value: Statement, variables: set[Statement]) -> bool:
    """Return whether a value is made of what one of some variables holds."""
    return any(isinstance(s, LocalLoad) and base_pointer(s.pointer) in variables for s in computed_from(value))
