"""Finds elements that a kernel reads and overwrites afterwards, although its gradient needs what it read.

In: the kernel, and the loads that its gradient runs again. Out: the arrays whose elements may have changed since. For
these the gradient runs the stores again, from the array's values before the launch, which a tape keeps.

A store cannot have changed what a load read if

    it comes first                      y[i] = a; b = y[i] * y[i]
    an index differs by a constant      x[t + 1, i] = f(x[t, i])
    a loop writes ahead of its reads    for k in range(n): e[k + 1] = f(e[k])
    it changes another part             p[i].v = f(p[i].x)

or if another iteration of a parallel loop does it, since such a program has no defined result anyway.
"""

from __future__ import annotations

from collections.abc import Iterable

from ....errors import TaichiCompilationError
from ....ir.nodes import Block, Statement, blocks
from ....ir.statements import (
    ArgLoad,
    Array,
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
    StructFor,
    StructPtr,
    While,
    base_pointer,
)
from ....ir.types import i32, i64
from ....lazy_dataclasses import dataclass
from ...analysis.aliasing import split_indices
from ...analysis.queries import is_index_of
from ...context import ElementAccess

LOOPS = (RangeFor, StructFor, While)


def element_accesses(body: Block, needed: Iterable[Statement], replayed: set[Array]) -> list[ElementAccess]:
    """Return what a tape has to know: the elements that a kernel stores, and those that its gradient needs."""
    wanted = set(needed)
    found: dict[ElementAccess, None] = {}
    for access in _accesses(body):
        is_store = isinstance(access.statement, (GlobalStore, AtomicOp))
        purposes = ["stored"] if is_store else []
        if access.statement in wanted:
            purposes.append("replayed" if access.array in replayed else "needed")
        indices = tuple(_host_index(index) for index in split_indices(access.pointer))
        for purpose in purposes:
            name = access.array.path or access.array.name
            found[ElementAccess(access.array.binding, name, purpose, indices, access.statement.location)] = None
    return list(found)


def _host_index(split: tuple[Statement | None, int]) -> int | tuple[int, int] | None:
    """Return an index that the host knows at a launch, None for another one."""
    base, offset = split
    if base is None:
        return offset
    while isinstance(base, Cast) and not base.bits:
        base = base.value
    is_integer = isinstance(base, ArgLoad) and base.type in (i32, i64)
    return (base.parameter.position, offset) if isinstance(base, ArgLoad) and is_integer else None


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store of an array.

    Attributes:
        statement: the load or store.
        pointer: to the element.
        part: of the element: members and constant indices from the outside in.
        section: number of the parallel loop it is in, or of the serial statements between two of them.
        path: of the statements around it, and itself, each with its position in its block.
        loops: the serial loops around it, outermost first.
    """

    statement: Statement
    pointer: GlobalPtr
    part: tuple[object, ...]
    section: int
    path: tuple[tuple[Statement, int, int], ...]
    loops: tuple[Statement, ...]

    @property
    def array(self) -> Array:
        """The array."""
        return self.pointer.array


def find_overwritten(body: Block, needed: Iterable[Statement], replayed: set[Array]) -> set[Array]:
    """Return further arrays of which `needed`, loads that the gradient runs again, may give other values than before.

    Raises: TaichiCompilationError if the stores cannot be run again, since another loop accesses the array too.
    """
    accesses = list(_accesses(body))
    loads = {access.statement: access for access in accesses}
    stores: dict[Array, list[Access]] = {}
    for access in accesses:
        if isinstance(access.statement, (GlobalStore, AtomicOp)):
            stores.setdefault(access.array, []).append(access)
    found: set[Array] = set()
    for statement in needed:
        load = loads.get(statement)
        if load is None or load.array in replayed:
            continue
        store = next((store for store in stores.get(load.array, ()) if not _is_safe(load, store)), None)
        if store is not None:
            sections = {access.section for access in accesses if access.array is load.array}
            if isinstance(statement, AtomicOp) or len(sections) > 1:
                raise _used_elsewhere(load, store)
            found.add(load.array)
    return found


def _used_elsewhere(load: Access, store: Access) -> TaichiCompilationError:
    name, line = load.array.path or load.array.name, store.statement.location.line
    return load.statement.location.error(
        TaichiCompilationError,
        f"The gradient needs this value of `{name}`, which line {line} overwrites in the same kernel",
        f"put the loop that overwrites `{name}` into a kernel of its own, or write to another array",
    )


def _accesses(body: Block) -> Iterable[Access]:
    """Yield the accesses of arrays in order."""
    section, was_parallel = 0, False
    for position, statement in enumerate(body.statements):
        is_parallel = isinstance(statement, (RangeFor, StructFor)) and not statement.serialize
        section += is_parallel or was_parallel
        was_parallel = is_parallel
        yield from _inside(statement, section, (), position, 0, (), is_parallel)


def _inside(
    statement: Statement,
    section: int,
    path: tuple[tuple[Statement, int, int], ...],
    position: int,
    branch: int,
    loops: tuple[Statement, ...],
    is_parallel: bool = False,
) -> Iterable[Access]:
    path = (*path, (statement, branch, position))
    if isinstance(statement, (GlobalLoad, GlobalStore, AtomicOp)):
        base = base_pointer(statement.pointer)
        if isinstance(base, GlobalPtr):
            yield Access(statement, base, _part(statement.pointer), section, path, loops)
    if isinstance(statement, LOOPS) and not is_parallel:
        loops = (*loops, statement)
    for number, block in enumerate(blocks(statement)):
        for place, inner in enumerate(block.statements):
            yield from _inside(inner, section, path, place, number, loops)


def _part(pointer: Statement) -> tuple[object, ...]:
    """Return which part of an element a pointer selects; None stands for an index that is no constant."""
    if isinstance(pointer, StructPtr):
        return (*_part(pointer.origin), pointer.member)
    if isinstance(pointer, MatrixPtr):
        return (*_part(pointer.origin), *(i.value if isinstance(i, Const) else None for i in pointer.indices))
    return ()


def _is_safe(load: Access, store: Access) -> bool:
    """Return whether a store cannot have changed the element after the load.

    What an atomic minimum or maximum left in the element counts as a load; others of its kind only go on.
    """
    if any(a != b and a is not None and b is not None for a, b in zip(load.part, store.part)):
        return True
    if isinstance(load.statement, AtomicOp) and isinstance(store.statement, AtomicOp):
        if load.statement.op == store.statement.op:
            return True
    common = [loop for loop in load.loops if loop in store.loops]
    if load.section != store.section:
        return store.section < load.section or _differs(load.pointer, store.pointer, [], within_iteration=False)
    if not common and _comes_first(store, load):
        return True
    return _differs(load.pointer, store.pointer, common) or (bool(common) and _writes_ahead(load, store, common[0]))


def _comes_first(store: Access, load: Access) -> bool:
    """Return whether a store is executed before a load, outside loops around both, or not together with it."""
    for (one, branch, place), (other, other_branch, other_place) in zip(store.path, load.path):
        if branch != other_branch:
            return True  # branches of one `if`
        if one is not other:
            return place < other_place
    return False


def _differs(one: GlobalPtr, other: GlobalPtr, loops: list[Statement], within_iteration: bool = True) -> bool:
    """Return whether an index of both differs by a constant, for all iterations of the loops around both."""
    for (a, first), (b, second) in zip(split_indices(one), split_indices(other), strict=True):
        if first != second and _is_same(a, b) and not _varies(a, loops, within_iteration):
            return True
    return False


def are_apart(one: GlobalPtr, other: GlobalPtr) -> bool:
    """Return whether two pointers into an array are to different elements in each iteration."""
    return _differs(one, other, [])


def _varies(base: Statement | None, loops: list[Statement], within_iteration: bool) -> bool:
    """Return whether an index may change from one iteration of the loops to the next."""
    if base is None or isinstance(base, (ArgLoad, ArrayShape, Const)):
        return False
    if isinstance(base, LoopIndex):
        return base.loop in loops or not within_iteration
    if isinstance(base, Operation):
        return any(_varies(operand, loops, within_iteration) for operand in base.operands)
    return bool(loops) or not within_iteration


def _is_same(a: Statement | None, b: Statement | None) -> bool:
    """Return whether two indices are the same value in one iteration."""
    if a is b:
        return True
    if isinstance(a, ArgLoad) and isinstance(b, ArgLoad):
        return a.parameter is b.parameter
    if isinstance(a, LoopIndex) and isinstance(b, LoopIndex):
        return a.loop is b.loop and a.axis == b.axis
    if isinstance(a, Const) and isinstance(b, Const):
        return a.value == b.value
    if isinstance(a, ArrayShape) and isinstance(b, ArrayShape):
        return a.array is b.array and a.axis == b.axis
    if isinstance(a, Operation) and isinstance(b, Operation):
        return a.op == b.op and all(map(_is_same, a.operands, b.operands))
    return False


def _writes_ahead(load: Access, store: Access, loop: Statement) -> bool:
    """Return whether each iteration of the outermost loop around both writes elements that only later ones read."""
    if not isinstance(loop, RangeFor) or not isinstance(loop.steps[0], Const):
        return False
    step = int(loop.steps[0].value)
    for (a, read), (b, written) in zip(split_indices(load.pointer), split_indices(store.pointer), strict=True):
        is_index = is_index_of(a, loop) and _is_same(a, b)
        if is_index and (written - read) * step > 0:
            return True
    return False
