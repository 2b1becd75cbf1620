"""Parallel scan: a block of threads runs a serial loop whose iterations depend on a sum of those before them alone.

    s = 0                                    s = 0
    for c in 0 .. n {                        for c_first in 0 .. n step 1024 {
        start[c] = s                 ->          term = count[c_first + thread]
        s += count[c]                            own = s + the terms of the threads before this one
    }                                            s += the terms of all threads
                                                 start[c_first + thread] = own
                                             }

Counting sorts, cell lists, rows of sparse matrices and lists of what is left over have such a loop, which one thread
of a GPU runs, waiting for each load: Python has no other word for it. Starts of 4,096 cells took an H200 .128 ms.

The body stays as it is, with a variable of its own for the sum. What is added, and the condition under which it is, is
computed before, from what the loop does not change. Each iteration stores to elements of its own: at its index, or at
a sum that grows with each store. Thread 0 alone runs what is before and after the loop, if that stores.

Integers are exact. Sums of floats need `fast_math`, since their order changes.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Remark, Statement, walk
from ...ir.statements import (
    RECORDS,
    Alloca,
    Array,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
    Rand,
    RangeFor,
    Return,
    base_pointer,
    is_const,
)
from ...ir.tasks import Kernel, Task, TaskKind
from ...ir.threads import Barrier, Collective, neutral
from ...ir.types import Scalar, i32
from ...lazy_dataclasses import dataclass
from ...options import MAX_ITERATIONS
from ..analysis.linear import Reader
from ..analysis.queries import (
    base_array,
    computed_from,
    is_dense,
    is_given,
    is_index_of,
    leaves_block,
    trip_count,
)
from ..context import PassContext
from ..rewrite import Rewriter
from ..tiles.parts.tiled_loops import new_shared
from .parts.first_lane import add_alone

FEWEST = 256
"""The fewest iterations of a loop that is worth a block."""
WARP, THREADS = 32, 1024
"""As many warps as a warp has threads: each adds up the sums of those before it."""
MOST_SCANS = 4
FEATURES = {"arithmetic", "shuffle"}
OPS = ("add", "min", "max")


def block_scans(kernel: Kernel, context: PassContext) -> bool:
    """Share such loops of GPUs among the threads of a block."""
    capabilities, options = context.capabilities, context.options
    if not capabilities.has_shared_memory or options.deterministic:
        return False
    if capabilities.subgroup_size != WARP or not capabilities.subgroup_features >= FEATURES:
        return False
    if capabilities.max_block_dim < THREADS:
        return False
    changed = False
    for task in kernel.tasks:
        found = _scans_of(task, options.fast_math)
        if found and _bytes(found.scans) <= capabilities.max_shared_bytes:
            _Sharing(kernel, task, found).run(options.why_comments)
            changed = True
    return changed


# --- which loops ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scan:
    """A variable that each iteration changes. store: where. term: by what. condition: whether it does; None: always.

    op: of `variable = variable op term`.
    """

    variable: Alloca
    store: LocalStore
    op: str
    term: Statement
    condition: Statement | None


@dataclass(frozen=True, slots=True)
class Scans:
    """A loop of a serial task, and its scans. before: the values that it computes first."""

    loop: RangeFor
    scans: list[Scan]
    before: set[Statement]


def _bytes(scans: list[Scan]) -> int:
    return WARP * sum(scan.variable.type.size_bytes for scan in scans if scan.variable.type is not None)


def _scans_of(task: Task, fast_math: bool) -> Scans | None:
    """Return the first such loop of a serial task, None if there is none."""
    if task.kind is not TaskKind.SERIAL or task.choices or any(isinstance(s, RECORDS) for s in walk(task.body)):
        return None
    for loop in task.body:
        if isinstance(loop, RangeFor) and _is_usual(loop) and _is_alone(task, loop):
            scans = _scans_in(task, loop, fast_math)
            if scans and _stores_are_apart(task, loop, scans):
                wanted = {value for scan in scans for value in (scan.term, scan.condition) if value is not None}
                before = wanted.union(*map(computed_from, wanted)) & set(walk(loop.body))
                return Scans(loop, scans, before)
    return None


def _is_usual(loop: RangeFor) -> bool:
    """Return whether a loop counts up by one, and all threads know its bounds."""
    count, end = trip_count(loop), loop.ends[0]
    if len(loop.starts) != 1 or not is_const(loop.steps[0], 1) or loop.unroll or loop.starts[0].type != i32:
        return False
    is_near = isinstance(end, Const) and int(end.value) > MAX_ITERATIONS - THREADS  # the next index would wrap
    return is_given(loop.starts[0]) and is_given(end) and not is_near and (count is None or count >= FEWEST)


def _is_alone(task: Task, loop: RangeFor) -> bool:
    """Return whether threads may run the rest of the task as one: what stores there computes nothing for the loop."""
    place = task.body.statements.index(loop)
    inside = list(walk(loop.body))
    excluded = (Rand, AtomicOp, Return)
    if any(leaves_block(s) or isinstance(s, excluded) or _has_effects(s) for s in inside):
        return False
    first = task.body.statements[:place]
    return not any(isinstance(s, excluded) or _has_effects(s) for s in walk(Block(first))) and not any(
        _is_guarded(s) and any(isinstance(inner, LocalStore) for inner in walk(Block([s]))) for s in first
    )


def _has_effects(statement: Statement) -> bool:
    """Return whether a statement calls a function that writes, or is a point that memory is seen from."""
    return bool(statement.EFFECT & Effect.FENCE) or (
        isinstance(statement, Call) and bool(statement.EFFECT & Effect.WRITE)
    )


def _is_guarded(statement: Statement) -> bool:
    """Return whether one thread alone runs a statement outside the loop."""
    return any(isinstance(inner, GlobalStore) for inner in walk(Block([statement])))


def _scans_in(task: Task, loop: RangeFor, fast_math: bool) -> list[Scan]:
    """Return the scans of a loop; [] if it changes other variables of the task, or there are none."""
    own = {s for s in walk(loop.body) if isinstance(s, Alloca)}
    stores = [s for s in walk(loop.body) if isinstance(s, LocalStore) and s.pointer not in own]
    variables = {store.pointer for store in stores}
    if not 0 < len(stores) == len(variables) <= MOST_SCANS or not all(isinstance(v, Alloca) for v in variables):
        return []
    changed = own | variables
    written = {base_array(s.pointer) for s in walk(loop.body) if isinstance(s, GlobalStore)}
    scans = [_scan(loop, store, fast_math) for store in stores]
    for scan in scans:
        values = [] if scan is None else [v for v in (scan.term, scan.condition) if v is not None]
        if scan is None or not all(_is_known(value, loop, changed, written) for value in values):
            return []
    return [scan for scan in scans if scan is not None]


def _scan(loop: RangeFor, store: LocalStore, fast_math: bool) -> Scan | None:
    """Return the scan whose variable a statement stores, None if it is none."""
    variable, value, type = store.pointer, store.value, store.pointer.type
    if not isinstance(variable, Alloca) or not isinstance(type, Scalar) or type.bits < 32:
        return None
    if (
        not isinstance(value, Operation)
        or value.op not in OPS
        or (type.is_float and (value.op != "add" or not fast_math))
    ):
        return None
    olds = [o for o in value.operands if isinstance(o, LocalLoad) and o.pointer is variable]
    terms = [o for o in value.operands if not (isinstance(o, LocalLoad) and o.pointer is variable)]
    if len(olds) != 1 or len(terms) != 1:
        return None
    if store in loop.body.statements:
        return Scan(variable, store, value.op, terms[0], None)
    for branch in loop.body:
        if isinstance(branch, If) and store in branch.then.statements:
            return Scan(variable, store, value.op, terms[0], branch.condition)
    return None


def _is_known(value: Statement, loop: RangeFor, changed: set[Statement], written: set[Array | None]) -> bool:
    """Return whether a value of an iteration is computed from what the loop does not change, at its top or outside."""
    inside, top = set(walk(loop.body)), set(loop.body.statements)
    for part in {value, *computed_from(value)} & inside:
        if isinstance(part, GlobalLoad):
            array = base_array(part.pointer)
            if array is None or array in written:
                return False
        elif isinstance(part, LocalLoad):
            if part.pointer in changed:
                return False
        elif not isinstance(part, (Const, Cast, Operation, GlobalPtr)) and not is_index_of(part, loop):
            return False
        if part not in top and not isinstance(part, Const):
            return False
    return True


# --- which stores -----------------------------------------------------------------------------------------------------


def _stores_are_apart(task: Task, loop: RangeFor, scans: list[Scan]) -> bool:
    """Return whether each iteration stores to elements of its own, and loads none that others store."""
    accesses = [s for s in walk(loop.body) if isinstance(s, (GlobalLoad, GlobalStore))]
    called = {array for s in walk(loop.body) if isinstance(s, Call) for array in s.function.reads}
    stores = [s for s in accesses if isinstance(s, GlobalStore)]
    stored = [base_array(store.pointer) for store in stores]
    if None in stored or len(set(stored)) < len(stored):
        return False
    loaded = {base_array(s.pointer) for s in accesses if isinstance(s, GlobalLoad)} | called
    for array, store in zip(stored, stores, strict=True):
        assert array is not None
        others = (loaded | set(stored)) - {array}
        if array in loaded or not is_dense(array) or any(o is None or task.may_share(array, o) for o in others):
            return False
        if not _has_own_element(loop, store, scans):
            return False
    return True


def _has_own_element(loop: RangeFor, store: GlobalStore, scans: list[Scan]) -> bool:
    """Return whether no two iterations store to one element."""
    pointer = base_pointer(store.pointer)
    assert isinstance(pointer, GlobalPtr)
    inside = {loop, *walk(loop.body)}
    reader = Reader(inside, {}, scales=True)
    for index in pointer.indices:
        found = reader.read(index)
        if found is not None and found.indices.get((loop, 0), 0) != 0 and len(found.indices) == 1:
            return True
    last = pointer.indices[-1:]
    return any(_grows(scan, index, loop, store) for scan in scans for index in last)


def _grows(scan: Scan, index: Statement, loop: RangeFor, store: GlobalStore) -> bool:
    """Return whether an index is a sum of integers that each iteration with the store makes greater."""
    if not isinstance(index, LocalLoad) or index.pointer is not scan.variable or scan.op != "add":
        return False
    is_greater = isinstance(scan.term, Const) and scan.variable.type == i32 and int(scan.term.value) > 0
    return is_greater and any(
        store in block.statements and scan.store in block.statements and index in block.statements
        for block in (loop.body, *(s.then for s in loop.body if isinstance(s, If)))
    )


# --- the block --------------------------------------------------------------------------------------------------------


class _Sharing:
    """Gives a serial task a block of threads."""

    def __init__(self, kernel: Kernel, task: Task, found: Scans) -> None:
        self.kernel, self.task = kernel, task
        self.row, self.scans, self.first = found.loop, found.scans, found.before
        self.builder = Builder(Block(), task.location)

    def run(self, explains: bool) -> None:
        """Replace the body of the task."""
        task, builder, body = self.task, self.builder, self.task.body.statements
        place = body.index(self.row)
        before, after = body[:place], body[place + 1 :]
        task.kind, task.block_dim, task.tile = TaskKind.RANGE_FOR, THREADS, (THREADS,)
        bounds = Builder(task.prologue, self.row.location)
        zero, count, one = (bounds.const(value) for value in (0, THREADS, 1))
        task.loop = RangeFor([zero], [count], [one], ["thread"], grid_stride=False, location=self.row.location)
        self.thread = builder.add(LoopIndex(task.loop, 0, type=i32))
        self._alone_where_it_stores(before)
        builder.location = self.row.location
        self._add_loop(explains)
        if after:
            builder.add(Barrier("block"))
            add_alone(builder, after, self.thread)
        task.body = builder.block

    def _alone_where_it_stores(self, statements: list[Statement]) -> None:
        """Let all threads compute what comes first, and one of them store."""
        builder, has_loaded = self.builder, False
        for statement in statements:
            if not _is_guarded(statement):
                builder.add(statement)
                has_loaded |= any(isinstance(s, GlobalLoad) for s in walk(Block([statement])))
                continue
            if has_loaded:
                builder.add(Barrier("block"))
            add_alone(builder, [statement], self.thread)
            builder.add(Barrier("block"))
            has_loaded = False

    def _add_loop(self, explains: bool) -> None:
        """Add the loop over as many iterations at a time as there are threads."""
        builder, row, name = self.builder, self.row, self.row.names[0]
        start, end = row.starts[0], row.ends[0]
        chunks = builder.add(RangeFor([start], [end], [builder.const(THREADS)], [f"{name}_first"]))
        if explains:
            note = f"{THREADS:,} iterations at a time, with the sums of those before (block_scans)"
            chunks.remarks = (Remark(note, "above", row.location),)
        with builder.into(chunks.body):
            first = builder.add(LoopIndex(chunks, 0, type=i32))
            left = builder.op("sub", end, first)
            last = builder.op("sub", left, builder.const(1))
            index = builder.op("add", first, builder.op("min", self.thread, last))
            index.name = name
            is_own = builder.op("lt", self.thread, left)
            is_own.hint = "is_in_loop"
            self._replace(index)
            builder.block.statements += [s for s in row.body if s in self.first]
            own: dict[Statement, Alloca] = {scan.variable: self._add_scan(scan, is_own) for scan in self.scans}
            with builder.into(builder.add(If(is_own)).then):
                builder.block.statements += [s for s in row.body if s not in self.first]
                for access in walk(builder.block):
                    if isinstance(access, (LocalLoad, LocalStore)):
                        access.pointer = own.get(access.pointer, access.pointer)

    def _replace(self, index: Statement) -> None:
        """Let the body use the index of the thread."""

        def rule(rewriter: Rewriter, value: Statement) -> Statement | None:
            return index if is_index_of(value, self.row) else None

        Rewriter({LoopIndex: rule}).block(self.row.body)

    def _add_scan(self, scan: Scan, is_own: Statement) -> Alloca:
        """Add up what the threads before this one add; return this thread's variable."""
        builder, type = self.builder, scan.variable.type
        assert isinstance(type, Scalar)
        nothing = builder.const(neutral(scan.op, type), type)
        condition = builder.all_of([is_own] if scan.condition is None else [is_own, scan.condition])
        assert condition is not None
        name = scan.variable.name or scan.variable.hint or self.row.names[0]
        shared = new_shared(self.kernel, f"{name}_{'sums' if scan.op == 'add' else 'extremes'}", type, (WARP,))
        term = builder.op("select", condition, scan.term, nothing)
        before = builder.add(Collective(f"exclusive_{scan.op}", [term], type=type))
        warp, lane = (builder.op(op, self.thread, builder.const(WARP)) for op in ("floordiv", "mod"))
        is_last = builder.op("eq", lane, builder.const(WARP - 1))
        with builder.into(builder.add(If(is_last)).then):
            place = builder.add(GlobalPtr(shared, [warp], type=type))
            builder.store(place, builder.op(scan.op, before, term))
        builder.add(Barrier("block"))
        of_warp = builder.load(builder.add(GlobalPtr(shared, [lane], type=type)))
        of_warps = builder.add(Collective(f"inclusive_{scan.op}", [of_warp], type=type))
        previous = builder.op("max", builder.op("sub", warp, builder.const(1)), builder.const(0))
        earlier = builder.add(Collective("shuffle", [of_warps, previous], type=type))
        total = builder.add(Collective("shuffle", [of_warps, builder.const(WARP - 1)], type=type))
        builder.add(Barrier("block"))
        for value, hint in (
            (term, "term"),
            (warp, "warp"),
            (before, "before"),
            (of_warps, "of_warps"),
            (earlier, "earlier"),
            (total, "total"),
        ):
            value.hint = hint
        is_later = builder.op("gt", warp, builder.const(0))
        of_earlier = builder.op("select", is_later, earlier, nothing)
        start, result = builder.load(scan.variable), builder.add(Alloca(type=type))
        result.hint = f"own_{name}"
        builder.store(result, builder.op(scan.op, builder.op(scan.op, start, of_earlier), before))
        builder.store(scan.variable, builder.op(scan.op, start, total))
        return result
