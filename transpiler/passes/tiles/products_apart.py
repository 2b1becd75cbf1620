"""Several sums of a serial loop, as those of the gates of a recurrent network, become products of a task before.

    for b, k in c {                                           for part, b, k in 4, c {
        a = 0, 0, 0, 0                                            a = 0
        for i in n {                                              for i in n { a += w[part, k, i] * x[b, i] }
            a[0] += w[0, k, i] * x[b, i]                  ->      a_sums[part, b, k] = a
            ...                                               }
            a[3] += w[3, k, i] * x[b, i]                      for b, k in c { a = a_sums[.., b, k], c[b, k] = ... }
        }
        c[b, k] = ...
    }

The sums are alike but for numbers in the indices of what they load, in place of which the loop gets an axis. So they
have the tiles of `register_tiles`, and more columns than each sum alone. A sum that starts with something else than 0
is added to that behind, which rounds in another way: for floats this needs `fast_math`. One sum is enough where other
serial loops follow, as in the sum of two products, or where the iterations add to a total: in the loop of a task with
reductions threads do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign

from ...ir.builder import Builder
from ...ir.functions import Reference, calls
from ...ir.nodes import Block, Remark, Statement, clone, operands, walk
from ...ir.statements import (
    Alloca,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixInit,
    MatrixPtr,
    Operation,
    RangeFor,
    Temporary,
    base_pointer,
    repeats,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Tensor, i32
from ...lazy_dataclasses import dataclass
from ...options import Capabilities
from ..analysis.aliasing import split_offset, written_objects
from ..analysis.queries import base_array, is_index_of, product_of
from ..analysis.value_ranges import same_value
from ..context import PassContext
from ..tasks.parts.copies import copy_of, put_in_place
from .parts.arranged_loops import VALUES, arrangements_of
from .parts.register_plan import plan_of
from .parts.sided_factors import arranged_copy, drop_unused
from .parts.tasks_behind import counts_of, place_of_iteration
from .parts.tiled_loops import add_bound, take_names

MOST_NUMBERS = 1 << 24
"""The most sums of all iterations."""
PURE = (*VALUES, GlobalPtr, GlobalLoad)
BEFORE = (*PURE, Reference, GlobalTemporary, Alloca, MatrixPtr, MatrixInit, LocalLoad, LocalStore)
"""What may be before a serial loop."""


def products_apart(kernel: Kernel, context: PassContext) -> bool:
    """Let tasks of their own compute such products of GPUs."""
    capabilities, options = context.capabilities, context.options
    if not capabilities.has_shared_memory or options.has_own_block_dim or not options.make_block_local:
        return False
    changed, waiting = False, list(kernel.tasks)
    while waiting:
        task = waiting.pop()
        found = _apart(task, options.fast_math)
        if found is not None and _has_tiles(found[0], capabilities, options.fast_math):
            first, second, memory = found
            kernel.temporaries.append(memory)
            put_in_place(kernel, task, [first, second])
            waiting.append(second)
            changed = True
    return changed


def _has_tiles(task: Task, capabilities: Capabilities, is_fast: bool) -> bool:
    """Return whether `register_tiles` gives a task tiles."""
    copies = (arranged_copy(task, arrangement, is_fast) for arrangement in arrangements_of(task))
    return any(plan_of(made, capabilities) is not None for made in copies)


@dataclass(eq=False, slots=True)
class _Sums:
    """What the first serial loop of an iteration adds to.

    Attributes:
        serial: the loop.
        stores: of the sums.
        terms: what they add.
        before: the statements before the loop.
    """

    serial: RangeFor
    stores: list[LocalStore]
    terms: list[Statement]
    before: list[Statement]

    @property
    def type(self) -> Scalar:
        """The type of a sum."""
        kind = self.stores[0].value.type
        assert isinstance(kind, Scalar)
        return kind

    @property
    def op(self) -> str:
        """Whether terms are added or subtracted."""
        value = self.stores[0].value
        assert isinstance(value, Operation)
        return value.op

    @property
    def name(self) -> str:
        """The name of the variables."""
        names = {base_pointer(store.pointer).name for store in self.stores}
        return (names.pop() if len(names) == 1 else None) or "value"

    def starts_with_zero(self, pointer: Statement) -> bool:
        """Return whether a sum certainly starts with 0, and not with -0.0."""
        variable = base_pointer(pointer)
        stores = [s for s in self.before if isinstance(s, LocalStore) and base_pointer(s.pointer) is variable]
        value = stores[-1].value if stores else None
        parts = value.elements if isinstance(value, MatrixInit) else [value]
        is_whole = not stores or stores[-1].pointer is variable
        return is_whole and all(p is None or (isinstance(p, Const) and _is_zero(p.value)) for p in parts)


def _is_zero(number: float) -> bool:
    return number == 0 and copysign(1, number) > 0


# --- which loops ------------------------------------------------------------------------------------------------------


def _apart(task: Task, is_fast: bool) -> tuple[Task, Task, Temporary] | None:
    """Return a task for the products, one for all else, and what they share; None if that cannot be."""
    counts, sums = counts_of(task), _sums_of(task.body.statements)
    if counts is None or sums is None or task.synchronizes:
        return None
    total, behind = product_of(counts), task.body.statements[len(sums.before) + 1 :]
    if total is None or total * len(sums.stores) > MOST_NUMBERS:
        return None
    if len(sums.stores) == 1 and not task.reductions and not any(map(repeats, walk(Block(behind)))):
        return None
    is_exact = sums.type.kind != "float" or is_fast
    if not is_exact and not all(sums.starts_with_zero(store.pointer) for store in sums.stores):
        return None
    loads = [s for s in [*sums.before, *walk(sums.serial.body)] if isinstance(s, GlobalLoad)]
    if not all(_is_unchanged(load, task.body) for load in loads):
        return None
    memory = Temporary(f"{sums.name}_sums", Tensor((total * len(sums.stores),), sums.type))
    first = _products(copy_of(task), memory, counts)
    return None if first is None else (first, _others(copy_of(task), memory, counts), memory)


def _is_unchanged(load: GlobalLoad, body: Block) -> bool:
    """Return whether iterations store no element that a load may be of, but for arrays that overlap."""
    array, pointer = base_array(load.pointer), base_pointer(load.pointer)
    if array is None or array not in written_objects(body):
        return True
    if any(array in call.function.writes for call in calls(body)) or not isinstance(pointer, GlobalPtr):
        return False
    stores = [base_pointer(s.pointer) for s in walk(body) if isinstance(s, (GlobalStore, AtomicOp))]
    return all(_are_apart(pointer, s) for s in stores if isinstance(s, GlobalPtr) and s.array is array)


def _are_apart(one: GlobalPtr, other: GlobalPtr) -> bool:
    """Return whether two elements of an array differ in an index for sure, as those of the steps t and t + 1."""
    pairs = zip(map(split_offset, one.indices), map(split_offset, other.indices), strict=True)
    return any(
        first != second
        and (base is of_other or (base is not None and of_other is not None and same_value(base, of_other)))
        for (base, first), (of_other, second) in pairs
    )


def _sums_of(body: Sequence[Statement]) -> _Sums | None:
    """Return what the first serial loop of an iteration adds to, None if it does anything else."""
    serial = next((s for s in body if repeats(s)), None)
    if not isinstance(serial, RangeFor) or serial.unroll or serial.cells is not None or len(serial.starts) != 1:
        return None
    before = list(body[: body.index(serial)])
    stores = [s for s in serial.body if isinstance(s, LocalStore)]
    if not stores or not all(isinstance(s, BEFORE) for s in before):
        return None
    pairs = [pair for store in stores if (pair := _old_and_term(store)) is not None]
    own = {old for old, _ in pairs}
    pointers = [store.pointer for store in stores]
    if len(pairs) < len(stores) or len({store.value.op for store in stores}) != 1:  # type: ignore[attr-defined]
        return None
    if not _are_different(pointers) or not all(base_pointer(pointer) in before for pointer in pointers):
        return None
    others = [s for s in serial.body if s not in own and not isinstance(s, LocalStore)]
    uses = [operand for s in walk(serial.body) for operand in operands(s) if operand in own]
    if not all(isinstance(s, (*PURE, MatrixPtr)) for s in others) or len(uses) != len(pairs):
        return None
    return _Sums(serial, stores, [term for _, term in pairs], before)


def _old_and_term(store: LocalStore) -> tuple[Statement, Statement] | None:
    """Return what a variable was, and what a store adds to it or subtracts; None if it does anything else."""
    value = store.value
    if not isinstance(value, Operation) or value.op not in ("add", "sub") or not isinstance(value.type, Scalar):
        return None
    old, term = value.operands
    if value.op == "add" and isinstance(term, LocalLoad):
        old, term = term, old
    is_own = isinstance(old, LocalLoad) and old.pointer is store.pointer
    return (old, term) if is_own and value.type.bits >= 32 and old.type == term.type else None


def _are_different(pointers: Sequence[Statement]) -> bool:
    """Return whether pointers certainly are of variables, or of elements of vectors, of which none is another one."""
    keys = set()
    for pointer in pointers:
        numbers: list[int] = []
        if isinstance(pointer, MatrixPtr):
            numbers = [int(index.value) for index in pointer.indices if isinstance(index, Const)]
            if len(numbers) < len(pointer.indices):
                return False
        variable = pointer.origin if isinstance(pointer, MatrixPtr) else pointer
        if not isinstance(variable, Alloca):
            return False
        keys.add((variable, *numbers))
    return len(keys) == len(pointers)


# --- the tasks --------------------------------------------------------------------------------------------------------


def _products(task: Task, memory: Temporary, counts: Sequence[int]) -> Task | None:
    """Let a task compute the products alone, and store them to some memory; None if the sums are not alike."""
    loop, sums, names = task.loop, _sums_of(task.body.statements), take_names(task)
    assert loop is not None and sums is not None
    for statement in walk(task.body):
        if is_index_of(statement, loop):
            statement.axis += 1
    for values, bound in zip((loop.starts, loop.ends, loop.steps), (0, len(sums.stores), 1), strict=True):
        values.insert(0, add_bound(task, bound))
    loop.names = ["part" if "part" not in names else "part_", *names]
    builder = Builder(Block(), sums.serial.location)
    part = builder.add(LoopIndex(loop, 0, type=i32))
    known: set[Statement] = {part}
    for statement in sums.before:
        if isinstance(statement, PURE) and known.issuperset(operands(statement)):
            known.add(builder.add(statement))
    before = list(builder.block.statements)
    variable = builder.add(Alloca(type=sums.type, name=sums.name))
    builder.store(variable, builder.const(0, sums.type))
    builder.add(sums.serial)
    inside, totals = sums.serial.body.statements, {store.value for store in sums.stores}
    sums.serial.body.statements = [s for s in inside if isinstance(s, PURE) and s not in totals]
    used = {operand for statement in [sums.serial, *sums.serial.body] for operand in operands(statement)}
    if not known.union(sums.serial.body).issuperset(used):
        return None
    with builder.into(sums.serial.body):
        builder.location = sums.stores[0].value.location
        term = _with_part(builder, sums.terms, part)
        if term is None:
            return None
        builder.store(variable, builder.op(sums.op, builder.load(variable), term))
    builder.location = sums.serial.location
    builder.store(place_of_iteration(builder, loop, memory, counts, part), builder.load(variable))
    task.body.statements[:] = _without_unused(builder.block, before)
    drop_unused(task)
    task.reductions, task.join, task.epilogue, task.blocks_done = [], Block(), Block(), None
    task.ends_alone = False
    already = f"{task.launches}; " if task.launches else ""
    what = f"{len(sums.stores)} sums" if sums.stores[1:] else "a sum"
    task.launches = f"{already}{what} of each iteration (products_apart)"
    return task


def _without_unused(block: Block, before: Sequence[Statement]) -> list[Statement]:
    """Return the statements of a block without those values before its serial loop that nothing uses."""
    statements, used = list(block), {o for s in walk(block) if s not in before for o in operands(s)}
    for value in reversed(before):
        if value in used:
            used.update(operands(value))
        else:
            statements.remove(value)
    return statements


def _with_part(builder: Builder, values: Sequence[Statement], part: Statement) -> Statement | None:
    """Return a value that depends on the number of a sum as those of the sums do, None if they are not alike."""
    first = values[0]
    if all(value is first for value in values):
        return first
    if first.type == i32 and all(value.type == i32 for value in values):
        bases, numbers = zip(*map(split_offset, values), strict=True)
        step = numbers[1] - numbers[0]
        if len(set(bases)) == 1 and all(number == numbers[0] + n * step for n, number in enumerate(numbers)):
            own = builder.op("mul", part, builder.const(step)) if step != 1 else part
            own = builder.shifted(own, numbers[0])
            return own if bases[0] is None else builder.op("add", bases[0], own)
    if not all(_is_of_kind(value, first) for value in values):
        return None
    mapping: dict[Statement, Statement] = {}
    for of_all in zip(*map(operands, values), strict=True):
        found = _with_part(builder, of_all, part)
        if found is None:
            return None
        mapping[of_all[0]] = found
    return builder.add(clone(first, mapping))


def _is_of_kind(value: Statement, other: Statement) -> bool:
    """Return whether two values are the same but for what they are computed from."""
    if value.__class__ is not other.__class__ or value.type != other.type:
        return False
    match value, other:
        case Operation(), Operation():
            return value.op == other.op
        case Cast(), Cast():
            return value.bits == other.bits
        case GlobalPtr(), GlobalPtr():
            return value.array is other.array and value.cell is other.cell and value.is_flat == other.is_flat
    return isinstance(value, GlobalLoad)


def _others(task: Task, memory: Temporary, counts: Sequence[int]) -> Task:
    """Let a task load the sums in place of the loop that adds them up."""
    sums = _sums_of(task.body.statements)
    assert sums is not None
    builder = Builder(Block(), sums.serial.location)
    for number, store in enumerate(sums.stores):
        part = builder.const(number)
        value = builder.load(place_of_iteration(builder, task.loop, memory, counts, part))
        pointer = store.pointer
        if isinstance(pointer, MatrixPtr):  # it was in the loop
            pointer = builder.element_ptr(pointer.origin, [builder.again(index) for index in pointer.indices])
        if not sums.starts_with_zero(pointer):
            value = builder.op("add", builder.load(pointer), value)
        builder.store(pointer, value)
    builder.block.statements[-1].remarks = (Remark("sums of the task before (products_apart)"),)
    task.body.replace(sums.serial, builder.block)
    return task
