"""What a launch moves and computes, counted in the final IR: bytes of memory and operations on floats of each task.

In: a kernel after all passes, and the packed arguments of a launch. Out: `Work` by task. An element that an iteration
and its neighbours read counts once, as if all caches were large: the bytes are what must pass between memory and the
device at least. A gather, whose index is read from memory, counts each time. Branches count as if taken, and loops
without a known trip count once; then the work is not exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ...ir.nodes import Block, Statement, blocks
from ...ir.ops import OPS
from ...ir.statements import (
    ArgLoad,
    ArrayShape,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LoopIndex,
    MatrixPtr,
    Operation,
    RangeFor,
    StructPtr,
    base_pointer,
    is_const,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Tensor

OPERATIONS_OF = {"fma": 2, "neg": 0, "select": 0, "flushed": 0}
"""Operations on floats that do not count as one."""

Axis = tuple[int, int]
"""A loop by its identity, and an axis of it."""


@dataclass(slots=True)
class Work:
    """The bytes and operations of one launch of a task. is_exact: nothing had to be guessed."""

    bytes: float = 0.0
    operations: float = 0.0
    is_exact: bool = True


def work_of(kernel: Kernel, values: Mapping[tuple[Any, ...], Any], counts: Mapping[str, int]) -> dict[str, Work]:
    """Return the work of each task by name. values: of the arguments' members by source. counts: trip counts."""
    return {task.name: _Counter(kernel, values).task(task, counts.get(task.name, -1)) for task in kernel.tasks}


@dataclass(slots=True)
class _Place:
    """Elements of an array that one statement accesses. axes: the indices of loops that tell them apart."""

    size_bytes: int
    accesses: float


@dataclass(slots=True)
class _Counter:
    kernel: Kernel
    values: Mapping[tuple[Any, ...], Any]
    work: Work = field(default_factory=Work)
    extents: dict[Axis, int] = field(default_factory=dict)
    places: dict[Any, _Place] = field(default_factory=dict)
    lanes: int = 1

    def task(self, task: Task, count: int) -> Work:
        """Return the work of one task."""
        total = 1
        self.lanes = task.lanes
        if task.loop is not None:
            total = self._enter(task.loop, count * task.lanes, task.lanes)
        self._block(task.together, total)
        self.work.bytes = sum(place.size_bytes * place.accesses for place in self.places.values())
        return self.work

    def _enter(self, loop: RangeFor, count: int = -1, lanes: int = 1) -> int:
        """Record the extents of a loop's axes; return its trip count, 1 if it is not known.

        lanes: iterations that are one.
        """
        found = []
        for start, end, step in zip(loop.starts, loop.ends, loop.steps, strict=True):
            begin, last, by = self._number(start), self._number(end), self._number(step)
            by = 1 if lanes > 1 and not is_const(step, 1) else by
            extent = None if None in (begin, last, by) or not by else max(0, -(-(last - begin) // by))
            found.append(extent)
        if None in found and count >= 0 and len(found) == 1:
            found = [count]
        if None in found:
            self.work.is_exact = False
        for axis, extent in enumerate(found):
            self.extents[id(loop), axis] = 1 if extent is None else extent
        return prod(1 if extent is None else extent for extent in found)

    def _number(self, statement: Statement) -> Any:
        """Return the value of a statement that depends on the arguments alone, else None."""
        match statement:
            case Const():
                return statement.value
            case Cast():
                return self._number(statement.value)
            case ArrayShape():
                slot = next((k for k, array in enumerate(self.kernel.arrays) if array is statement.array), -1)
                return self.values.get(("shape", slot, statement.axis))
            case ArgLoad():
                return self.values.get(("argument", statement.parameter.position, statement.parameter.component))
            case Operation():
                values = [self._number(operand) for operand in statement.operands]
                form = OPS[statement.op].host
                return None if not form or None in values else eval(form.format(*values))  # noqa: S307 - numbers
        return None

    def _block(self, block: Block, factor: float) -> None:
        for statement in block:
            self._statement(statement, factor)

    def _statement(self, statement: Statement, factor: float) -> None:
        match statement:
            case Operation():
                lanes = self.lanes if isinstance(statement.type, Tensor) else 1
                self.work.operations += factor * _operations(statement) / lanes
            case GlobalLoad() | GlobalStore():
                self._access(statement, statement.pointer, factor)
            case AtomicOp():
                self._access(statement, statement.pointer, factor)
                self.work.operations += factor * _floats(statement.value)
            case RangeFor():
                self._block(statement.body, factor * self._enter(statement))
                return
        for block in blocks(statement):
            self.work.is_exact = False
            self._block(block, factor)

    def _access(self, statement: Statement, pointer: Statement, factor: float) -> None:
        base = base_pointer(pointer)
        if not isinstance(base, GlobalPtr):
            return
        axes: set[Axis] = set()
        is_gather = False
        index = []
        for part in base.indices:
            signature, found = _signature(part)
            index.append(signature)
            axes |= found
            is_gather |= "loaded" in str(signature)
        value = statement.type if isinstance(statement, GlobalLoad) else statement.value.type  # type: ignore[attr-defined]
        key = type(statement).__name__, id(base.array), tuple(index), _path(pointer)
        accesses = factor if is_gather else prod(self.extents.get(axis, 1) for axis in axes)
        if not axes and not is_gather:
            accesses = 0  # one element for all iterations: it stays in a cache
        times = 2 if isinstance(statement, AtomicOp) else 1
        width = _size(value) // base.lanes
        if not is_gather and key in self.places:
            return
        place = self.places.setdefault(key, _Place(times * width, 0.0))
        place.accesses += accesses


def _signature(statement: Statement) -> tuple[Any, set[Axis]]:
    """Return what makes an index, without the constants that are added to it, and the loops' indices in it."""
    match statement:
        case Const():
            return "constant", set()
        case LoopIndex():
            axis = (id(statement.loop), statement.axis)
            return axis, {axis}
        case ArgLoad() | ArrayShape():
            return "argument", set()
        case Operation(op="add" | "sub") if any(isinstance(operand, Const) for operand in statement.operands):
            return _signature(next((o for o in statement.operands if not isinstance(o, Const)), statement.operands[0]))
        case Operation():
            parts = [_signature(operand) for operand in statement.operands]
            return (statement.op, *(part for part, _ in parts)), set[Axis]().union(*(axes for _, axes in parts))
        case Cast():
            return _signature(statement.value)
    return f"loaded {id(statement)}", set()


def _path(pointer: Statement) -> tuple[Any, ...]:
    """Return the part of an element that a pointer selects."""
    path: list[Any] = []
    while isinstance(pointer, (MatrixPtr, StructPtr)):
        if isinstance(pointer, StructPtr):
            path.append(pointer.member)
        else:
            path += [index.value if isinstance(index, Const) else id(index) for index in pointer.indices]
        pointer = pointer.origin
    return tuple(path)


def _operations(statement: Operation) -> float:
    if OPS[statement.op].arity == 0:
        return 0
    weight = OPERATIONS_OF.get(statement.op, 1)
    return weight * _floats(statement)


def _floats(statement: Statement) -> int:
    """Return how many floats a value has."""
    kind = statement.type
    if isinstance(kind, Tensor):
        return kind.size if kind.element.is_float else 0
    return int(isinstance(kind, Scalar) and kind.is_float)


def _size(kind: Any) -> int:
    return 0 if kind is None else int(kind.size_bytes)
