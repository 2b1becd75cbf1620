"""Splits a kernel into tasks: each top-level loop is a parallel launch, the statements between loops run once.

    total = alloca                        task 0, serial:     store temp total, 0
    store total, 0                        task 1, range_for:  for i in x { atomic add temp total, x[i] }
    for i in x { atomic add total, x[i] } task 2, serial:     return load temp total
    return load total

Values that every task can compute from constants, arguments and shapes are copied into each task that uses them, so
that a bound like `n * 2` needs no task, unless they take long (`long_values.py`). Pointers are copied too, and on GPUs,
where a task of one thread is a launch, loads of what no later task of the kernel writes, as for the bounds of rows,
`range(start[c], start[c + 1])`. Variables and other values that cross tasks are stored in a `Temporary` with their
Python name.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from ...ir.functions import Call, calls
from ...ir.nodes import READERS, Block, Effect, Statement, blocks, clone, has_effect, walk_blocks
from ...ir.snodes import sparse_above
from ...ir.sparse import TREE_STATEMENTS
from ...ir.statements import (
    Alloca,
    Array,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    ListInit,
    LocalLoad,
    LocalStore,
    MatrixPtr,
    RangeFor,
    StructPtr,
    Temporary,
    base_pointer,
)
from ...ir.tasks import Kernel, Task, TaskKind
from ...lazy_dataclasses import dataclass
from ..analysis.aliasing import MemoryObject, underlying_object
from ..analysis.queries import becomes_task
from ..analysis.task_order import memory_of, overlap
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter
from .parts.long_values import LongValues
from .parts.zero_stores import is_stored_next, store_zero


def offload(kernel: Kernel, context: PassContext) -> bool:
    """Move `kernel.body` into `kernel.tasks`; the body is empty afterwards."""
    _Offload(kernel, context).run()
    # A single task without temporaries has the statements that it had.
    if len(kernel.tasks) == 1 and not kernel.temporaries:
        context.left = frozenset()
    return True


Group = list[Statement]
"""Consecutive top-level statements of one task: a parallel loop alone, or serial ones."""


MADE_AGAIN = frozenset({GlobalPtr, MatrixPtr, StructPtr, ListInit})
"""What each task makes again from its operands: pointers, and lists, whose type is that of an item."""
MOST_LOADS = 8
"""Loads that each thread repeats, if that saves a task."""


@dataclass(slots=True)
class _Draft:
    """A task before its operands are mapped. `imports`: statements to insert at its start."""

    task: Task
    imports: list[Statement]
    mapping: dict[Statement, Statement]


class _Offload:
    """Splits the body of a kernel.

    Attributes:
        groups: statements per task.
        group_of: the number of the group of a top-level statement.
        order: the position of a top-level statement.
        copied: values that each task computes again. loads: those of them that load elements.
        temporaries: values and variables that cross tasks.
        read: by block, the top-level values that statements in it or inside them read.
    """

    def __init__(self, kernel: Kernel, context: PassContext) -> None:
        self.kernel = kernel
        self.context = context
        self.groups: list[Group] = []
        self.group_of: dict[Statement, int] = {}
        self.order: dict[Statement, int] = {}
        self.copied: set[Statement] = set()
        self.loads: set[Statement] = set()
        self.temporaries: dict[Statement, Temporary] = {}
        self.read: dict[Block, list[Statement]] = {}

    def run(self) -> None:
        self.split()
        if len(self.groups) > 1:  # else no value crosses tasks
            self.find_copied()
            self.find_temporaries()
        # All copies are made before any task is rewritten, since rewriting changes the originals.
        rewriter = Rewriter(
            {Alloca: self.drop_variable, LocalLoad: _load_globally, LocalStore: _store_globally, Call: _call_globally}
        )
        stream = 0
        for group, draft in [(group, self.new_task(group, index)) for index, group in enumerate(self.groups)]:
            self.rewrite(draft, rewriter)
            is_task, draft.task.stream = draft.task.loop is not None or _has_outcome(draft.task.body), stream
            if is_task:
                self.kernel.tasks.append(draft.task)
            stream += is_task or not self.loads.isdisjoint(group)  # a task on targets that load once
        self.kernel.body = Block()
        self.kernel.temporaries = list(self.temporaries.values())
        several = len(self.kernel.tasks) > 1
        for number, task in enumerate(self.kernel.tasks):
            task.name = f"{self.kernel.name}_{number}" if several else self.kernel.name

    def split(self) -> None:
        """Split the body into groups. Pure values do not separate two serial groups."""
        is_open = False  # the last group takes further statements
        for position, statement in enumerate(self.kernel.body.statements):
            is_loop = statement.__class__ is RangeFor and becomes_task(statement)
            if is_loop or not is_open:
                self.groups.append([statement])
            else:
                self.groups[-1].append(statement)
            is_open = not is_loop
            self.group_of[statement] = len(self.groups) - 1
            self.order[statement] = position

    def find_copied(self) -> None:
        """Find the values that each task computes again: uniform ones that do not take long, pointers and lists."""
        loops = (group[0] for group in self.groups)
        long = LongValues(loop for loop in loops if isinstance(loop, RangeFor) and becomes_task(loop))
        self.loads = self.find_constant_loads()
        for statement in self.kernel.body.statements:
            kind = statement.__class__
            if kind in MADE_AGAIN or (
                kind is not Alloca
                and statement.type is not None
                and (statement in self.loads or not has_effect(statement, Effect.READ | Effect.WRITE | Effect.CONTROL))
                and not _calls(statement)  # each thread would repeat the call, which may take long
                and self.copied.issuperset(read := self.outer_operands(statement))
                and not long.is_long(statement, read)
            ):
                self.copied.add(statement)

    def find_constant_loads(self) -> set[Statement]:
        """Return the loads of dense arrays that nothing in the kernel writes later, if each thread may repeat them."""
        options = self.context.options
        if not self.context.capabilities.has_shared_memory or options.debug or options.check_out_of_bound:
            return set()
        loads = [s for s in self.kernel.body.statements if isinstance(s, GlobalLoad)]
        if not 0 < len(loads) <= MOST_LOADS or self.context.may_have(self.kernel, TREE_STATEMENTS):
            return set()
        found: set[Statement] = set()
        written: set[MemoryObject] = set()
        for statement in reversed(self.kernel.body.statements):
            if isinstance(statement, GlobalLoad):
                array = underlying_object(statement.pointer)
                if isinstance(array, Array) and _is_constant(array, written):
                    found.add(statement)
            elif statement.EFFECT or statement.BLOCKS:
                written |= memory_of(Block([statement])).writes
        return found

    def find_temporaries(self) -> None:
        """Find the variables and values that one task defines and another uses, also through copied values."""
        used_in: dict[Statement, set[int]] = {}
        for index, group in enumerate(self.groups):
            pending = [operand for statement in group for operand in self.outer_operands(statement)]
            seen: set[Statement] = set()
            while pending:
                value = pending.pop()
                if value in seen or value not in self.group_of:
                    continue
                seen.add(value)
                used_in.setdefault(value, set()).add(index)
                if value in self.copied and self.group_of[value] != index:
                    pending.extend(self.outer_operands(value))
        taken: set[str] = set()
        for statement in self.kernel.body.statements:
            users = used_in.get(statement)
            if not users or statement in self.copied or statement.type is None:
                continue
            if users != {self.group_of[statement]}:
                name = _unique_name(statement.name or "value", taken)
                self.temporaries[statement] = Temporary(name, statement.type)

    def store_temporaries(self, group: Group) -> Group:
        """Add stores of values that cross tasks to their temporaries; zero the variables that cross tasks."""
        result: Group = []
        for position, statement in enumerate(group):
            result.append(statement)
            temporary = self.temporaries.get(statement)
            if temporary is None:
                continue
            if isinstance(statement, Alloca):
                if not is_stored_next(statement, group[position + 1 :]):
                    result.extend(store_zero(statement))
            else:
                pointer = GlobalTemporary(temporary, type=statement.type, location=statement.location)
                result += [pointer, GlobalStore(pointer, statement, location=statement.location)]
        return result

    def new_task(self, group: Group, index: int) -> _Draft:
        """Return a task of the statements of `group`, and the replacements of values of other tasks."""
        loop, is_alone = group[0], len(self.groups) == 1
        if not (isinstance(loop, RangeFor) and becomes_task(loop)):
            body = Block(group if is_alone else self.store_temporaries(group))
            task = Task("", TaskKind.SERIAL, body, block_dim=1, location=loop.location)
            used = [] if is_alone else [value for s in body.statements for value in self.outer_operands(s)]
            return _Draft(task, *self.import_values(used, index))
        imports, mapping = self.import_values([*loop.starts, *loop.ends, *loop.steps], index)
        for bounds in (loop.starts, loop.ends, loop.steps):
            bounds[:] = [mapping.get(value, value) for value in bounds]
        block_dim = min(loop.block_dim or self.context.options.block_dim, self.context.capabilities.max_block_dim)
        if loop.grid_stride is None:
            loop.grid_stride = self.context.options.grid_stride
        task = Task("", TaskKind.RANGE_FOR, loop.body, Block(imports), loop, loop.location, block_dim=block_dim)
        return _Draft(task, *self.import_values([] if is_alone else self.read_in(loop.body), index))

    def outer_operands(self, statement: Statement) -> list[Statement]:
        """Return the operands of a statement, and the top-level values that statements inside it read."""
        found = READERS[statement.__class__](statement)
        if statement.BLOCKS:
            found += [value for block in blocks(statement) for value in self.read_in(block)]
        return found

    def read_in(self, block: Block) -> list[Statement]:
        """Return the top-level values that statements in `block` or inside them read, each once, in no order."""
        if block not in self.read:
            self.read[block] = list(self.group_of.keys() & _used(block))
        return self.read[block]

    def rewrite(self, draft: _Draft, rewriter: Rewriter) -> None:
        """Make a task read its copies, and access variables that became temporaries by global accesses."""
        if not (draft.mapping or self.temporaries):
            draft.task.body.statements[:0] = draft.imports
            return
        rewriter.mapping = dict(draft.mapping)
        imports, body = Block(draft.imports), draft.task.body
        for block in (draft.task.prologue, imports, body):
            if block.statements:
                rewriter.block(block)
        body.statements = imports.statements + body.statements

    def drop_variable(self, rewriter: Rewriter, alloca: Statement) -> Statement | None:
        """A variable that became a temporary has its pointer from `import_values`."""
        return DROPPED if alloca in self.temporaries else None

    def import_values(
        self, values: Iterable[Statement], index: int
    ) -> tuple[list[Statement], dict[Statement, Statement]]:
        """Return the statements that task `index` needs for `values` from outside, and the replacement of each."""
        imported: list[Statement] = []
        mapping: dict[Statement, Statement] = {}
        needed: set[Statement] = set()
        pending, defined = list(set(values)), self.group_of
        while pending:
            value = pending.pop()
            if value in defined and value not in needed and self.is_from_outside(value, index):
                needed.add(value)
                if value in self.copied:
                    pending += self.outer_operands(value)
        for value in sorted(needed, key=self.order.__getitem__):
            if value in self.copied:
                imported.append(clone(value, mapping))
                continue
            pointer = GlobalTemporary(self.temporaries[value], type=value.type, location=value.location)
            imported.append(pointer)
            mapping[value] = pointer
            if not isinstance(value, Alloca):
                mapping[value] = GlobalLoad(pointer, type=value.type, name=value.name, location=value.location)
                imported.append(mapping[value])
        return imported, mapping

    def is_from_outside(self, value: Statement, index: int) -> bool:
        """Return whether task `index` has to import `value`, which is defined at top level."""
        is_own = self.group_of[value] == index and not becomes_task(self.groups[index][0])
        return not is_own or (isinstance(value, Alloca) and value in self.temporaries)


def _is_constant(array: Array, written: Iterable[MemoryObject]) -> bool:
    """Return whether all tasks read the same in a dense array."""
    is_dense = array.node is None and (array.place is None or not sparse_above(array.place))
    return is_dense and not array.is_shared and not array.clamped and not overlap([array], written)


def _calls(statement: Statement) -> bool:
    """Return whether a statement is a call, or has one inside."""
    return isinstance(statement, Call) or (bool(statement.BLOCKS) and any(calls(Block([statement]))))


def _used(block: Block) -> set[Statement]:
    """Return all operands of the statements in `block` and inside them."""
    used: set[Statement] = set()
    readers = READERS
    for inner in walk_blocks(block):
        used.update(chain.from_iterable([readers[s.__class__](s) for s in inner.statements]))
        if inner.result is not None:
            used.add(inner.result)
    return used


def _load_globally(rewriter: Rewriter, load: Statement) -> Statement | None:
    assert isinstance(load, LocalLoad)
    if not _is_temporary(load.pointer):
        return None
    return rewriter.emit(GlobalLoad(load.pointer, type=load.type, name=load.name), load)


def _store_globally(rewriter: Rewriter, store: Statement) -> Statement | None:
    assert isinstance(store, LocalStore)
    if not _is_temporary(store.pointer):
        return None
    return rewriter.emit(GlobalStore(store.pointer, store.value), store)


def _call_globally(rewriter: Rewriter, call: Statement) -> Statement | None:
    """Pass a local copy by reference for each variable that became a temporary, and store it back afterwards."""
    assert isinstance(call, Call)
    copies = [k for k, argument in enumerate(call.arguments) if _is_temporary(argument)]
    if not copies:
        return None
    new = clone(call, {})
    assert isinstance(new, Call)
    for k in copies:
        pointer = call.arguments[k]
        new.arguments[k] = rewriter.emit(Alloca(type=pointer.type, name=base_pointer(pointer).name), call)
        value = rewriter.emit(GlobalLoad(pointer, type=pointer.type), call)
        rewriter.emit(LocalStore(new.arguments[k], value), call)
    rewriter.emit(new, call)
    for k in copies:
        value = rewriter.emit(LocalLoad(new.arguments[k], type=call.arguments[k].type), call)
        rewriter.emit(GlobalStore(call.arguments[k], value), call)
    return new


def _is_temporary(pointer: Statement) -> bool:
    return isinstance(base_pointer(pointer), GlobalTemporary)


def _unique_name(name: str, taken: set[str]) -> str:
    """Return `name`, with a number if the name is used."""
    result, number = name, 1
    while result in taken:
        result, number = f"{name}_{number}", number + 1
    taken.add(result)
    return result


def _has_outcome(body: Block) -> bool:
    """Return whether a serial task has an effect outside itself."""
    for block in walk_blocks(body):
        if [s for s in block.statements if s.EFFECT & Effect.WRITE and s.__class__ is not LocalStore]:
            return True
    return False
