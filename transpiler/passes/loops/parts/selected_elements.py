"""Elements of local arrays at a computed index of a short axis, chosen by comparisons with all of its indices.

$1 = load A[piv, j]        ->    t = A[0, j]
                                 for r in 1 .. 8 { if piv == r { t = A[r, j] } }    unrolled
store A[piv, j], $2        ->    for r in 0 .. 8 { if piv == r { A[r, j] = $2 } }
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from ....ir.builder import Builder
from ....ir.nodes import Block, Remark, Statement, blocks, operands, walk
from ....ir.statements import (
    ALL,
    Alloca,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixPtr,
    RangeFor,
    While,
    base_pointer,
)
from ....ir.types import Tensor, i32
from ...rewrite import DROPPED, Rewriter

LONGEST_AXIS = 8
"""The most indices of an axis with which a computed index is compared."""
MOST_SELECTIONS = 4
"""The most comparisons for each access to the array, which would be one to memory."""
REMARK = Remark("compared, so that all are in registers (register_arrays)")
TRIPS = 256
"""Iterations of a loop of unknown length, to weigh accesses."""


def is_worth_selections(accesses: Mapping[Statement, int], computed: Mapping[MatrixPtr, int]) -> bool:
    """Return whether comparisons are fewer than what accesses to an array in memory cost.

    accesses: how often each access to the array happens. computed: the axis of the computed index of some pointers.
    """
    selections = 0
    for access, count in accesses.items():
        assert isinstance(access, (LocalLoad, LocalStore))
        if isinstance(access.pointer, MatrixPtr) and access.pointer in computed:
            selections += count * _extent(access.pointer, computed)
    return 0 < selections <= MOST_SELECTIONS * sum(accesses.values())


def may_select(pointer: MatrixPtr, axis: int, users: Iterable[Statement]) -> bool:
    """Return whether an element may be chosen: loads and stores alone use its pointer, and its axis is short."""
    kind, index = pointer.origin.type, pointer.indices[axis]
    assert isinstance(kind, Tensor)
    is_plain = all(isinstance(s, (LocalLoad, LocalStore)) and s.pointer is pointer for s in users)
    return is_plain and kind.shape[axis] <= LONGEST_AXIS and index.type == i32


def accesses_of(body: Block, times: Mapping[Statement, int]) -> Iterator[tuple[Alloca, Statement, int]]:
    """Yield each access to an element of a local array, with the array, and how often it happens. times: by loop."""
    for statement in body:
        if isinstance(statement, (LocalLoad, LocalStore)) and isinstance(statement.pointer, MatrixPtr):
            if isinstance(base := base_pointer(statement.pointer), Alloca):
                yield base, statement, 1
        around = times.get(statement, TRIPS if isinstance(statement, (RangeFor, While)) else 1)
        for inner in blocks(statement):
            yield from ((array, access, around * count) for array, access, count in accesses_of(inner, times))


def select_elements(body: Block, computed: Mapping[MatrixPtr, int]) -> None:
    """Choose the elements of some pointers. computed: the axis of the computed index of each."""

    def load(rewriter: Rewriter, statement: Statement) -> Statement | None:
        assert isinstance(statement, LocalLoad)
        pointer = statement.pointer
        if not isinstance(pointer, MatrixPtr) or pointer not in computed:
            return None
        builder, axis = rewriter.builder(statement), computed[pointer]
        chosen = builder.add(Alloca(type=statement.type, hint=_name(pointer, axis)))
        first = builder.store(chosen, builder.load(_at(builder, pointer, axis, builder.const(0))))
        first.remarks = (REMARK,)
        inner, element = _loop(builder, pointer, axis, 1)
        inner.store(chosen, inner.load(element))
        return builder.load(chosen)

    def store(rewriter: Rewriter, statement: Statement) -> Statement | None:
        assert isinstance(statement, LocalStore)
        pointer = statement.pointer
        if not isinstance(pointer, MatrixPtr) or pointer not in computed:
            return None
        inner, element = _loop(rewriter.builder(statement), pointer, computed[pointer], 0)
        last = inner.store(element, statement.value)
        last.remarks = (*statement.remarks, REMARK)
        return DROPPED

    Rewriter({LocalLoad: load, LocalStore: store}).block(body)
    _drop(body, computed)


def _loop(builder: Builder, pointer: MatrixPtr, axis: int, first: int) -> tuple[Builder, Statement]:
    """Add a loop that compares the index; return a builder where it is equal, and a pointer to the element there."""
    extent = _extent(pointer, {pointer: axis})
    start, end, step = (builder.const(number) for number in (first, extent, 1))
    loop = RangeFor([start], [end], [step], ["r"], unroll_count=ALL, serialize=True)
    builder.add(loop)
    inner = Builder(loop.body, builder.location)
    row = inner.add(LoopIndex(loop, 0, type=i32))
    branch = inner.add(If(inner.op("eq", pointer.indices[axis], row)))
    inner = Builder(branch.then, builder.location)
    return inner, _at(inner, pointer, axis, row)


def _at(builder: Builder, pointer: MatrixPtr, axis: int, row: Statement) -> Statement:
    indices = [row if number == axis else index for number, index in enumerate(pointer.indices)]
    return builder.element_ptr(pointer.origin, indices)


def _extent(pointer: MatrixPtr, computed: Mapping[MatrixPtr, int]) -> int:
    assert isinstance(pointer.origin.type, Tensor)
    return pointer.origin.type.shape[computed[pointer]]


def _name(pointer: MatrixPtr, axis: int) -> str:
    index = pointer.indices[axis]
    name = index.pointer.name if isinstance(index, LocalLoad) else index.name
    return f"{pointer.origin.name or pointer.origin.hint or 'array'}_{name or 'element'}"


def _drop(body: Block, pointers: Collection[Statement]) -> None:
    """Drop pointers that nothing uses any more."""
    used = {operand for statement in walk(body) for operand in operands(statement)}
    gone = {pointer for pointer in pointers if pointer not in used}

    def rule(rewriter: Rewriter, pointer: Statement) -> Statement | None:
        return DROPPED if pointer in gone else None

    Rewriter({MatrixPtr: rule}).block(body)
