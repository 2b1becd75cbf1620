"""Statements by which the threads of a block work together, and the table of collective operations.

A block is `block_dim` iterations of a parallel loop that run in parallel and share memory; a subgroup (CUDA: a warp) is
a range of its threads. Each entry of `COLLECTIVES` describes one operation of several threads: its operands, its
result,
and a model on a list of lanes, which the interpreter executes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import reduce
from math import prod
from typing import Any, ClassVar

import numpy as np

from ..lazy_dataclasses import dataclass
from .constants import constant_ranges
from .nodes import Block, Effect, Statement
from .ops import ATOMIC_OPS, OPS
from .statements import Alloca, Array, Const
from .tasks import Task
from .types import SCALAR_OF_NUMPY, Scalar, Type, i32, u1, u32

WARP = 32
"""The threads of a warp."""
SUBGROUP_SIZE = WARP
"""Subgroup size of targets that run threads one after another (C, the interpreter): that of CUDA."""
FULL_MASK = 0xFFFFFFFF
"""Every lane of a warp."""


@dataclass(eq=False, slots=True)
class ThreadIndex(Statement):
    """The index of a thread (i32).

    kind: "thread" in its block, "lane" in its subgroup, "global" in the loop; "size" is the number of lanes of a
    subgroup,
    "first" the index of the first iteration of the block in the parallel loop, which is the same for all its threads.
    """

    kind: str


@dataclass(eq=False, slots=True)
class Barrier(Statement):
    """Waits for the other threads, or only orders accesses to memory (`memory_only`).

    Attributes:
        scope: "block", "subgroup" or "grid" (memory only).
        memory_only: it does not wait.
        lanes: the lanes of a warp that wait.
        converged: all threads that are still running reach it together. Set by `check_threads`.
        together: they do, since they run one iteration: a pass knows what `check_threads` does not see.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("lanes",)
    EFFECT: ClassVar[int] = Effect.WRITE | Effect.FENCE
    scope: str
    memory_only: bool = False
    lanes: Statement | None = None
    converged: bool = True
    together: bool = False


@dataclass(eq=False, slots=True)
class Collective(Statement):
    """An operation of `COLLECTIVES` that the threads of a block or subgroup execute together; each has its own result.

    lanes: the lane mask of a warp function, None for all active lanes. converged: as for Barrier.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("operands", "lanes")
    EFFECT: ClassVar[int] = Effect.WRITE | Effect.FENCE
    op: str
    operands: list[Statement]
    lanes: Statement | None = None
    converged: bool = True


@dataclass(eq=False, slots=True)
class ThreadFor(Statement):
    """The statements that every thread of the block executes between two barriers. Made by `split_threads`.

    It is printed in C as a loop over the threads, in GLSL and CUDA as the condition that the thread has an iteration.
    condition: a per-thread variable that is true for the participating threads, None for all.
    all_threads: those of the last block take part, too, that have no iteration (GPUs).
    joined: a variable of the block, to which threads only add bits (`lane_whiles`).
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("condition", "joined")
    BLOCKS: ClassVar[tuple[str, ...]] = ("body",)
    EFFECT: ClassVar[int] = Effect.CONTROL
    body: Block = field(default_factory=Block)
    condition: Alloca | None = None
    all_threads: bool = False
    joined: Alloca | None = None


@dataclass(eq=False, slots=True)
class Exchange(Statement):
    """A Collective between two ThreadFors, for a target that runs threads one after another; it accesses per-thread
    variables.

    Attributes:
        op: of `COLLECTIVES`.
        operands: per-thread variables, or values that are the same for all threads.
        result: a per-thread variable; None if the block has one result, which is the value of this statement.
        condition: as for ThreadFor.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("operands", "result", "condition")
    EFFECT: ClassVar[int] = Effect.READ | Effect.WRITE | Effect.FENCE
    op: str
    operands: list[Statement]
    result: Alloca | None = None
    condition: Alloca | None = None


Model = Callable[[Mapping[int, tuple[Any, ...]], int, int], Any]
"""Maps the operands of the active lanes (by lane, in order), one lane, and the subgroup size to that lane's result."""


@dataclass(frozen=True, slots=True)
class CollectiveEntry:
    """The signature and the model of a collective.

    Attributes:
        scope: "block" or "subgroup".
        arguments: "value" (a number), "predicate" (u1), "lane", "offset" (i32) or "bits" (i32).
        result: a type, or None for that of the value.
        model: its definition for the interpreter.
        feature: the required Vulkan subgroup feature, "" for none.
    """

    scope: str
    arguments: tuple[str, ...]
    result: Type | None
    model: Model
    feature: str = ""


LaneOperands = Mapping[int, tuple[Any, ...]]


def _firsts(given: LaneOperands) -> list[Any]:
    return [values[0] for values in given.values()]


def _bits(lanes: Any) -> int:
    return sum(1 << lane for lane in lanes)


def _from_lane(given: LaneOperands, source: int, lane: int, size: int) -> Any:
    """Return the value of lane `source`, or of `lane` itself if `source` is not active (undefined on other targets)."""
    return given[source][0] if 0 <= source < size and source in given else given[lane][0]


def _fold(op: str, values: list[Any]) -> Any:
    return reduce(OPS[op].meaning, values)


def identity(op: str, type: Scalar) -> int | float:
    """Return the neutral element of an operation: the result of an exclusive scan in its first lane."""
    if op in ("add", "bit_or", "bit_xor"):
        return 0.0 if type.is_float else 0
    if op == "mul":
        return 1.0 if type.is_float else 1
    if op == "bit_and":
        return -1 if type.is_signed else type.limits[1]
    if type.is_float:
        return float("inf") if op == "min" else float("-inf")
    return type.limits[op == "min"]


def neutral(op: str, type: Scalar) -> int | float:
    """Return the neutral element of an atomic operation: `min` and `max` of floats return the other operand of NaN."""
    return float("nan") if type.is_float and op in ("min", "max") else identity(ATOMIC_OPS[op], type)


def _exclusive(op: str) -> Model:
    def model(given: LaneOperands, lane: int, size: int) -> Any:
        before = [values[0] for other, values in given.items() if other < lane]
        own = given[lane][0]
        type = _scalar_of(own)
        return _fold(op, before) if before else type.numpy.type(identity(op, type))

    return model


def _scalar_of(value: Any) -> Scalar:
    return SCALAR_OF_NUMPY[np.asarray(value).dtype]


def _equal_lanes(given: LaneOperands, lane: int) -> int:
    return _bits(other for other, values in given.items() if values[0] == given[lane][0])


def _all_equal(given: LaneOperands) -> bool:
    return all(value == _firsts(given)[0] for value in _firsts(given))


FOLDS = {
    "add": "add", "mul": "mul", "min": "min", "max": "max", "and": "bit_and", "or": "bit_or", "xor": "bit_xor",
}  # fmt: skip
"""Operations of reductions and scans: suffix of the collective's name -> operation of the op table."""


def _collectives() -> dict[str, CollectiveEntry]:
    value, vote = ("value",), ("predicate",)
    entries = {
        "block_all": CollectiveEntry("block", vote, u1, lambda g, lane, size: all(_firsts(g))),
        "block_any": CollectiveEntry("block", vote, u1, lambda g, lane, size: any(_firsts(g))),
        "block_count": CollectiveEntry("block", vote, i32, lambda g, lane, size: sum(map(bool, _firsts(g)))),
        "elect": CollectiveEntry("subgroup", (), u1, lambda g, lane, size: lane == min(g), "basic"),
        "all": CollectiveEntry("subgroup", vote, u1, lambda g, lane, size: all(_firsts(g)), "vote"),
        "any": CollectiveEntry("subgroup", vote, u1, lambda g, lane, size: any(_firsts(g)), "vote"),
        "all_equal": CollectiveEntry("subgroup", value, u1, lambda g, lane, size: _all_equal(g), "vote"),
        "unique": CollectiveEntry("subgroup", vote, u1, lambda g, lane, size: _all_equal(g), "vote"),
        "ballot": CollectiveEntry(
            "subgroup", vote, u32, lambda g, lane, size: _bits(k for k, v in g.items() if v[0]), "ballot"
        ),
        "active_mask": CollectiveEntry("subgroup", (), u32, lambda g, lane, size: _bits(g), "ballot"),
        "match_any": CollectiveEntry("subgroup", value, u32, lambda g, lane, size: _equal_lanes(g, lane), "shuffle"),
        "match_all": CollectiveEntry(
            "subgroup", value, u32, lambda g, lane, size: _bits(g) if _all_equal(g) else 0, "ballot"
        ),
        "broadcast_first": CollectiveEntry("subgroup", value, None, lambda g, lane, size: g[min(g)][0], "ballot"),
        "shuffle": CollectiveEntry(
            "subgroup", ("value", "lane"), None,
            lambda g, lane, size: _from_lane(g, int(g[lane][1]) % size, lane, size), "shuffle",
        ),
        "shuffle_xor": CollectiveEntry(
            "subgroup", ("value", "bits"), None,
            lambda g, lane, size: _from_lane(g, lane ^ int(g[lane][1]), lane, size), "shuffle",
        ),
        "shuffle_up": CollectiveEntry(
            "subgroup", ("value", "offset"), None,
            lambda g, lane, size: _from_lane(g, lane - int(g[lane][1]), lane, size), "shuffle_relative",
        ),
        "shuffle_down": CollectiveEntry(
            "subgroup", ("value", "offset"), None,
            lambda g, lane, size: _from_lane(g, lane + int(g[lane][1]), lane, size), "shuffle_relative",
        ),
    }  # fmt: skip
    for name, op in FOLDS.items():
        entries[f"reduce_{name}"] = CollectiveEntry("subgroup", value, None, _reduced(op), "arithmetic")
        entries[f"inclusive_{name}"] = CollectiveEntry("subgroup", value, None, _inclusive(op), "arithmetic")
        entries[f"exclusive_{name}"] = CollectiveEntry("subgroup", value, None, _exclusive(op), "arithmetic")
    return entries


def _reduced(op: str) -> Model:
    return lambda given, lane, size: _fold(op, _firsts(given))


def _inclusive(op: str) -> Model:
    return lambda given, lane, size: _fold(op, [values[0] for k, values in given.items() if k <= lane])


COLLECTIVES: dict[str, CollectiveEntry] = _collectives()
"""By name. The names of reductions and scans end in a key of `FOLDS`."""


def depends_on_block(statement: Statement) -> bool:
    """Return whether the value of a statement depends on the block of its thread."""
    return isinstance(statement, (Barrier, Collective)) or (
        isinstance(statement, ThreadIndex) and statement.kind != "global"
    )


def waits(statement: Statement, scope: str) -> bool:
    """Return whether a thread may wait here for the others of its block or subgroup."""
    if isinstance(statement, Barrier):
        return statement.scope == scope and not statement.memory_only
    return isinstance(statement, Collective) and COLLECTIVES[statement.op].scope == scope


def shared_size_bytes(array: Array) -> int:
    """Return the size of a shared array, with what its rows are padded by."""
    *outer, row = array.shape or (1,)
    return array.element.size_bytes * prod(outer) * (row + array.padding)


def constant_iterations(task: Task) -> int | None:
    """Return how many iterations a task has, None if that is known at run time only."""
    ranges = None if task.loop is None else constant_ranges(task.loop)
    return None if ranges is None else prod(map(len, ranges))


def has_full_blocks(task: Task) -> bool:
    """Return whether each thread of each block has an iteration; of tiles (`Task.tile`), at run time too."""
    iterations = constant_iterations(task)
    if iterations is not None:
        return iterations % task.block_dim == 0
    if not task.tile or task.loop is None:
        return False
    start, end = task.loop.starts[-1], task.loop.ends[-1]
    return isinstance(start, Const) and isinstance(end, Const) and (start.value, end.value) == (0, task.block_dim)
