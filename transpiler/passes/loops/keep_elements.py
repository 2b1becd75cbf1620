"""Scalar promotion: keeps an element that a loop reads and writes in a variable, and stores it once.

    for k in range(n):                         c_ij = c[i, j]
        c[i, j] += a[i, k] * b[k, j]    ->     for k in range(n):
                                                   c_ij += a[i, k] * b[k, j]
                                               c[i, j] = c_ij

A vector that a static loop fills component by component is stored as a whole, too: loads of all iterations overlap. A
compiler does the same only if it knows that arrays do not overlap; for pointers in a struct it does not. An element
that other iterations of the task may write stays, since the store at the end writes it in any case. The first access
must be sure to happen, or the element to exist, so that none is accessed that the program does not access.

Of ndarrays a launch finds out whether one overlaps another, and whether it has the elements: the task becomes two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ...ir.builder import Builder
from ...ir.constants import constant_range
from ...ir.functions import Call, reachable
from ...ir.nodes import Block, Effect, Remark, Statement, blocks, clone, operands, walk
from ...ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixPtr,
    RangeFor,
    Return,
    While,
    base_pointer,
    is_const,
)
from ...ir.tasks import Apart, Condition, Kernel, Reaches, Task
from ...ir.types import Struct, Tensor, count_scalars
from ..analysis.existence import surely_exists
from ..analysis.loops.exclusive import exclusive_pointers
from ..analysis.queries import base_array, element_name, index_key, is_dense, is_given, leaves_block, trip_count
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter
from ..tasks.parts.copies import put_in_place, say_when, split

MAX_SCALARS = 9
"""The most numbers of an element that fit in registers."""
MAX_FILLED = 32
"""The most numbers of a vector that the loop only writes."""
MOST_STATEMENTS, FEW = 64, 4
"""A task of more statements is not written twice for an element that loops store up to so many times."""


def keep_elements(kernel: Kernel, context: PassContext) -> bool:
    """Keep elements in variables while a loop reads and writes them."""
    options = context.options
    if options.debug or options.check_out_of_bound:
        return False  # a failing iteration leaves what it has stored
    changed = False
    for task in list(kernel.tasks):
        arrays = _candidates(task)
        if any(array.may_alias for array in arrays) and not context.capabilities.is_reference:
            _leave_if_overlapping(kernel, task, arrays)
        for array in arrays:
            changed |= _Keeper(task, array).block(task.body)
    return changed


def _leave_if_overlapping(kernel: Kernel, task: Task, arrays: list[Array]) -> None:
    """Keep the task for launches in which an element is in an array of another name, too, or in none."""
    if task.loop is None or not all(map(is_given, (*task.loop.starts, *task.loop.ends))):
        return
    if len(list(islice(reachable(task.body), MOST_STATEMENTS + 1))) > MOST_STATEMENTS:
        arrays = [array for array in arrays if _is_changed_often(task.body, array)]
    conditions: list[Condition] = []
    for array in arrays:
        keeper = _Keeper(task, array)
        others = keeper.others_in(task.body)
        if not array.strided and not any(other.strided for other in others):
            conditions += [Apart(array, other) for other in others]
            conditions += [Reaches(array, axes) for axes in keeper.unsure]
    if conditions:
        other = split(task, *conditions)
        say_when(task, other, conditions)
        # Lengths of the loop are those of the first task, whose loop later passes leave alone.
        is_by_loop = any(isinstance(condition, Reaches) for condition in conditions)
        put_in_place(kernel, task, [other, task] if is_by_loop else [task, other])


def _is_changed_often(block: Block, array: Array) -> bool:
    """Return whether a loop stores elements of an array more than a few times."""
    for loop in (s for s in walk(block) if isinstance(s, (RangeFor, While))):
        count = trip_count(loop) if isinstance(loop, RangeFor) else None
        if (count is None or count > FEW) and any(
            isinstance(s, GlobalStore) and base_array(s.pointer) is array for s in walk(loop.body)
        ):
            return True
    return False


def _candidates(task: Task) -> list[Array]:
    """Return the arrays that each iteration writes elements of its own of, in the order of their names."""
    arrays = set(filter(_is_plain, _stored_in_loops(task.body)[2]))
    if arrays and task.loop is not None:
        exclusive = exclusive_pointers(task)
        written = [s.pointer for s in walk(task.body) if isinstance(s, (GlobalStore, AtomicOp))]
        arrays -= {
            array for pointer in written if base_pointer(pointer) not in exclusive and (array := base_array(pointer))
        }
    return sorted(arrays, key=lambda array: (array.name, array.binding))


def _stored_in_loops(block: Block) -> tuple[set[Array], set[Array], set[Array]]:
    """Return the arrays that a block loads and stores, and those that a loop in it stores and either loads or fills.

    Other arrays have no element to keep: a kernel without loops is not searched for each of its arrays.
    """
    loaded: set[Array] = set()
    stored: set[Array] = set()
    found: set[Array] = set()
    for statement in block.statements:
        kind = statement.__class__
        if kind is GlobalLoad or kind is GlobalStore:
            if (array := base_array(statement.pointer)) is not None:  # type: ignore[attr-defined]
                (loaded if kind is GlobalLoad else stored).add(array)
        elif statement.BLOCKS:
            (loads, stores, both), *others = map(_stored_in_loops, blocks(statement))
            for more in others:
                loads |= more[0]
                stores |= more[1]
                both |= more[2]
            if isinstance(statement, (RangeFor, While)):
                both |= stores if isinstance(statement, RangeFor) and statement.unroll else loads & stores
            loaded |= loads
            stored |= stores
            found |= both
    return loaded, stored, found


def _is_plain(array: Array) -> bool:
    return is_dense(array) and not isinstance(array.element, Struct) and count_scalars(array.element) <= MAX_FILLED


class _Keeper:
    """Looks for the outermost block in which one element of an array is read and written in a loop.

    others: filled in place of a change. unsure: the axes of the loop at whose indices the array may have no element.
    """

    def __init__(self, task: Task, array: Array) -> None:
        self.task, self.array = task, array
        self.others: dict[Array, None] | None = None
        self.unsure: dict[tuple[int, ...], None] = {}

    def others_in(self, block: Block) -> dict[Array, None]:
        """Return the arrays that have to be apart for more elements in a block to be kept, and keep none."""
        found = self.others = {}
        self.block(block)
        return found

    def block(self, block: Block) -> bool:
        """Keep the element in this block, or in the blocks inside it; return whether one is kept."""
        numbers = [k for k, statement in enumerate(block.statements) if self.accesses([statement])]
        if not numbers:
            return False
        first, last = numbers[0], numbers[-1]
        region = block.statements[first : last + 1]
        pointer = self.common_pointer(region)
        fills = self.fills(region)
        if pointer is not None and (fills or self.is_worth(region)) and self.is_safe(region):
            indices, others = _Outside(region).copies(pointer.indices), self.overlapping(region)
            if indices is not None and (fills or self.is_certain(region[0], pointer) or self.may_reach(pointer)):
                if self.others is not None:
                    self.others |= others
                    return True
                if not others:
                    self.keep(block, first, last, pointer, indices, fills)
                    return True
        changed = [self.block(inner) for statement in region for inner in blocks(statement)]
        return any(changed)

    def accesses(self, statements: Sequence[Statement]) -> list[Statement]:
        """Return the loads, stores, atomic operations and calls that access the array."""
        return [
            s
            for s in walk(Block(list(statements)))
            if (isinstance(s, (GlobalLoad, GlobalStore, AtomicOp)) and base_array(s.pointer) is self.array)
            or (isinstance(s, Call) and self.array in s.function.reads | s.function.writes)
        ]

    def common_pointer(self, region: list[Statement]) -> GlobalPtr | None:
        """Return the pointer to the one element that a region accesses by loads and stores."""
        accesses = self.accesses(region)
        if not all(isinstance(s, (GlobalLoad, GlobalStore)) for s in accesses):
            return None
        pointers = [base_pointer(s.pointer) for s in accesses if isinstance(s, (GlobalLoad, GlobalStore))]
        first = pointers[0]
        assert isinstance(first, GlobalPtr)
        keys = [index_key(index) for index in first.indices]
        same = all(isinstance(p, GlobalPtr) and [index_key(index) for index in p.indices] == keys for p in pointers)
        return first if same else None

    def is_worth(self, region: list[Statement]) -> bool:
        """Return whether a loop both reads and writes the element."""
        if count_scalars(self.array.element) > MAX_SCALARS:
            return False
        loops = (s for s in walk(Block(region)) if isinstance(s, (RangeFor, While)))
        kinds = ({type(access) for access in self.accesses([loop])} for loop in loops)
        return any({GlobalLoad, GlobalStore} <= kind for kind in kinds)

    def fills(self, region: list[Statement]) -> bool:
        """Return whether a region is a static loop that stores each component of a vector, and loads other elements."""
        loop, element = region[0], self.array.element
        if len(region) > 1 or not isinstance(loop, RangeFor) or not loop.unroll or len(loop.starts) > 1:
            return False
        if not isinstance(element, Tensor) or len(element.shape) > 1 or constant_range(loop) != range(element.size):
            return False
        if not all(isinstance(access, GlobalStore) for access in self.accesses(region)) or any(
            map(leaves_block, loop.body)
        ):
            return False
        if not any(isinstance(statement, GlobalLoad) for statement in walk(loop.body)):
            return False
        pointers = [s.pointer for s in loop.body if isinstance(s, GlobalStore) and base_array(s.pointer) is self.array]
        of_loop = [("index", loop, 0)]
        return any(isinstance(p, MatrixPtr) and [*map(index_key, p.indices)] == of_loop for p in pointers)

    def is_safe(self, region: list[Statement]) -> bool:
        """Return whether nothing leaves the region or waits in it, and nothing else may access the element."""
        for statement in walk(Block(region)):
            if isinstance(statement, Return) or statement.EFFECT & Effect.FENCE:
                return False
            if isinstance(statement, Call) and statement.function.is_ordered:
                return False
        return not any(map(leaves_block, region))

    def overlapping(self, region: list[Statement]) -> dict[Array, None]:
        """Return the arrays of other names that a region accesses and that may have the element, too."""
        if not self.array.may_alias:
            return {}
        accessed = dict.fromkeys(array for statement in walk(Block(region)) for array in _arrays_of(statement))
        return {other: None for other in accessed if other is not self.array and self.task.may_share(self.array, other)}

    def is_certain(self, first: Statement, pointer: GlobalPtr) -> bool:
        """Return whether the program accesses the element, or has it anyway."""
        loop = self.task.loop
        if loop is not None and loop.over is self.array:
            keys = [index_key(index) for index in pointer.indices]
            if keys == [("index", loop, axis) for axis in range(self.array.ndim)]:
                return True
        if surely_exists(pointer):
            return True
        while isinstance(first, RangeFor) and trip_count(first):
            inner = [s for s in first.body.statements if self.accesses([s])]
            if any(leaves_block(s) or isinstance(s, Return) for s in walk(first.body)):
                return False
            first = inner[0]
        return isinstance(first, (GlobalLoad, GlobalStore))

    def may_reach(self, pointer: GlobalPtr) -> bool:
        """Return whether a launch finds, or may find, that an ndarray has an element at the indices of the loop."""
        loop, indices = self.task.loop, pointer.indices
        if loop is None or self.array.shape is not None or self.array.offset or not indices:
            return False
        if not all(isinstance(index, LoopIndex) and index.loop is loop for index in indices):
            return False
        axes = tuple(index.axis for index in indices)  # type: ignore[attr-defined]
        if not all(is_const(loop.starts[axis], 0) and is_const(loop.steps[axis], 1) for axis in axes):
            return False
        if self.others is not None:
            self.unsure[axes] = None
        return self.others is not None or self.task.reaches(self.array, axes)

    def keep(
        self, block: Block, first: int, last: int, pointer: GlobalPtr, indices: _Copies, fills: bool = False
    ) -> None:
        """Replace the accesses in a block."""
        start, end = block.statements[first], block.statements[last]
        builder = Builder(Block(), start.location)
        variable = builder.add(Alloca(type=self.array.element, hint=element_name(pointer)))
        builder.block.statements[:0] = indices.statements
        element = builder.add(GlobalPtr(self.array, indices.values, type=pointer.type))
        if not fills and not _stores_whole(start):
            load = builder.add(GlobalLoad(element, type=element.type))
            builder.add(LocalStore(variable, load))
        head = builder.block.statements
        tail: list[Statement] = []
        self.variable, self.last_store = variable, end
        if not _stores_whole(end):
            builder = Builder(Block(), self.accesses([end])[-1].location)
            self.last_store = builder.add(GlobalStore(element, builder.load(variable)))
            tail = builder.block.statements
        self.last_store.remarks = (Remark("stored once: no other iteration writes it (keep_elements)"),)
        statements = block.statements
        block.statements = [*statements[first : last + 1], *tail, *statements[last + 1 :]]
        Rewriter({GlobalLoad: self.local_access, GlobalStore: self.local_access}).block(block)
        block.statements = [*statements[:first], *head, *block.statements]

    def local_access(self, rewriter: Rewriter, access: Statement) -> Statement | None:
        """Access the variable instead of the element."""
        assert isinstance(access, (GlobalLoad, GlobalStore))
        if access is self.last_store or base_array(access.pointer) is not self.array:
            return None
        pointer = self.local_pointer(rewriter, access.pointer, access)
        if isinstance(access, GlobalLoad):
            return rewriter.emit(LocalLoad(pointer, type=access.type), access)
        access.remarks = tuple(r for r in access.remarks if "(demote_atomics)" not in r.template)
        rewriter.emit(LocalStore(pointer, access.value), access)
        return DROPPED

    def local_pointer(self, rewriter: Rewriter, pointer: Statement, access: Statement) -> Statement:
        if isinstance(pointer, GlobalPtr):
            return self.variable
        assert isinstance(pointer, MatrixPtr)
        origin = self.local_pointer(rewriter, pointer.origin, access)
        return rewriter.emit(MatrixPtr(origin, pointer.indices[:], type=pointer.type), access)


def _arrays_of(statement: Statement) -> Iterator[Array]:
    """Yield the arrays that a statement accesses."""
    if isinstance(statement, Call):
        yield from statement.function.reads | statement.function.writes
    elif isinstance(statement, (GlobalLoad, GlobalStore, AtomicOp)) and (array := base_array(statement.pointer)):
        yield array


def _stores_whole(statement: Statement) -> bool:
    """Return whether a statement stores a whole element."""
    return isinstance(statement, GlobalStore) and isinstance(statement.pointer, GlobalPtr)


class _Copies:
    """Values that are the same before a region, and the statements that compute them."""

    def __init__(self, values: list[Statement], statements: list[Statement]) -> None:
        self.values, self.statements = values, statements


class _Outside:
    """Computes values before a region, if nothing in the region changes them."""

    def __init__(self, region: list[Statement]) -> None:
        self.inside = set(walk(Block(region)))
        self.copied: dict[Statement, Statement] = {}

    def copies(self, values: Sequence[Statement]) -> _Copies | None:
        """Return copies of the values; None if one is not known before the region."""
        if not all(map(self.is_known, values)):
            return None
        for value in values:
            self.copy(value)
        return _Copies([self.copied.get(value, value) for value in values], list(self.copied.values()))

    def is_known(self, value: Statement) -> bool:
        """Return whether a value depends on nothing in the region."""
        if value not in self.inside:
            return True
        if isinstance(value, LoopIndex):
            return value.loop not in self.inside
        return value.EFFECT == Effect.NONE and not value.BLOCKS and all(map(self.is_known, operands(value)))

    def copy(self, value: Statement) -> None:
        if value in self.inside and value not in self.copied:
            for operand in operands(value):
                self.copy(operand)
            copied = clone(value, dict(self.copied))
            self.copied[value] = copied
