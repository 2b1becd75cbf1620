"""Inlining of functions in loops of C over neighbours, since gcc makes no vectors of a loop with calls.

    static inline vec4 face(vec4 a, ...)    ->    static inline __attribute__((always_inline)) vec4 face(vec4 a, ...)

gcc 12 inlines a function that is called several times only if it is short, however much the loop would gain. Fluxes
through the sides of 512 x 512 cells, with limited slopes and three waves, took one core 72 ms before, 13 ms after
(Taichi: 55).

A loop qualifies that has no others inside, stores neighbouring elements, and computes by operations that processors
have for vectors. What its branches decide is selected then, so that all of it is computed; none accesses an array.
"""

from __future__ import annotations

from collections import Counter

from ...ir.functions import Call, Function, called, calls, reachable
from ...ir.nodes import Block, Effect, Statement, blocks, walk
from ...ir.statements import (
    Cast,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    Operation,
    RangeFor,
    Return,
    base_pointer,
    repeats,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Struct
from ..analysis.loops.vector_loops import FOR_VECTORS, NOT_TAKEN, is_plain_loop, varying_values
from ..analysis.loops.vector_rows import is_along
from ..analysis.queries import is_dense
from ..context import PassContext

MOST = 4000
"""The most statements of an iteration with all functions inlined: gcc takes some .5 ms for each."""
FEWEST = 20
"""The fewest statements of a function: gcc inlines shorter ones in any case, and those that are called once."""
NO_VECTORS = tuple(kind for kind in NOT_TAKEN if kind not in (Call, Return))


def vector_calls(kernel: Kernel, context: PassContext) -> bool:
    """Mark the functions that such loops call."""
    if not context.capabilities.vectorizes_loops:
        return False
    sites = Counter(call.function for root in kernel.roots() for call in calls(root))
    changed = False
    for task in kernel.tasks:
        sizes = _sizes(task.body)
        if sizes and _has_vectors(task) and _size(task.body, sizes) <= MOST:
            for function in [function for function in sizes if sites[function] > 1 and sizes[function] >= FEWEST]:
                function.is_in_lanes = changed = True
    return changed


def _has_vectors(task: Task) -> bool:
    """Return whether a compiler can make vectors of the iterations of a task, once it has inlined all calls."""
    loop = task.loop
    if loop is None or task.as_lanes or task.lane_loops or not is_plain_loop(task, loop):
        return False
    functions = called(task.body)
    if any(function.snippets or function.effect & Effect.WRITE or not function.is_inline for function in functions):
        return False
    statements = list(reachable(task.body))
    if any(isinstance(s, NO_VECTORS) or repeats(s) for s in statements) or not all(map(_is_of_lanes, statements)):
        return False
    branches = [s for s in statements if isinstance(s, (If, IfExp))]
    guarded = [inside for branch in branches for block in blocks(branch) for inside in walk(block)]
    if any(isinstance(s, (GlobalLoad, GlobalStore)) for s in guarded):
        return False
    varying = varying_values(task, loop)
    stores = [s for s in statements if isinstance(s, GlobalStore)]
    return bool(stores) and all(_is_along(s, loop, varying) for s in stores)


def _is_along(store: GlobalStore, loop: RangeFor, varying: set[Statement]) -> bool:
    """Return whether lanes store neighbouring numbers or vectors."""
    base = base_pointer(store.pointer)
    if not isinstance(base, GlobalPtr) or not is_dense(base.array) or isinstance(base.array.element, Struct):
        return False
    return base.indices[-1] in varying and is_along(base.indices, loop, varying)


def _is_of_lanes(statement: object) -> bool:
    """Return whether processors have an operation or a conversion for vectors."""
    if isinstance(statement, Operation):
        return statement.op in FOR_VECTORS
    return not isinstance(statement, Cast) or isinstance(statement.value.type, Scalar)


def _sizes(body: Block) -> dict[Function, int]:
    """Return how many statements the functions that a body calls have with all calls inlined, those that recur many."""
    sizes: dict[Function, int] = {}
    for function in called(body):  # callees first
        sizes[function] = _size(function.body, sizes)
    return sizes


def _size(body: Block, sizes: dict[Function, int]) -> int:
    return sum(1 for _ in walk(body)) + sum(sizes.get(call.function, MOST) for call in calls(body))
