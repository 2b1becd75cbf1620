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
computed before, from what the loop has not changed yet. Each iteration stores to elements of its own: at its index, or
at a sum that grows with each store. At its index it may load them, too, as in `s[i] += s[i - 1]`, of which
`carried_elements` has made a variable, or `t = c[i]; c[i] = s; s += t`. Thread 0 alone runs what is between such loops
and behind them, if that stores.

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
from ..tiles.parts.tiled_loops import new_shared, replace_indices
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
        if found and _bytes(found) <= capabilities.max_shared_bytes:
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


Found = dict[Statement, Scans]
"""The loops of a task with scans."""


def _bytes(found: Found) -> int:
    variables = [scan.variable for scans in found.values() for scan in scans.scans]
    return WARP * sum(variable.type.size_bytes for variable in variables if variable.type is not None)


def _scans_of(task: Task, fast_math: bool) -> Found:
    """Return such loops of a serial task."""
    if task.kind is not TaskKind.SERIAL or task.choices or any(isinstance(s, RECORDS) for s in walk(task.body)):
        return {}
    found: Found = {}
    for loop in task.body:
        if isinstance(loop, RangeFor) and _is_usual(loop) and _is_alone(task, loop, found):
            scans = _scans_in(task, loop, fast_math)
            if scans and _stores_are_apart(task, loop, scans):
                wanted = {value for scan in scans for value in (scan.term, scan.condition) if value is not None}
                before = wanted.union(*map(computed_from, wanted)) & set(walk(loop.body))
                found[loop] = Scans(loop, scans, before)
    return found


def _is_usual(loop: RangeFor) -> bool:
    """Return whether a loop counts up by one, and all threads know its bounds."""
    count, end = trip_count(loop), loop.ends[0]
    if len(loop.starts) != 1 or not is_const(loop.steps[0], 1) or loop.unroll or loop.starts[0].type != i32:
        return False
    is_near = isinstance(end, Const) and int(end.value) > MAX_ITERATIONS - THREADS  # the next index would wrap
    return is_given(loop.starts[0]) and is_given(end) and not is_near and (count is None or count >= FEWEST)


def _is_alone(task: Task, loop: RangeFor, found: Found) -> bool:
    """Return whether threads may run what is before a loop as one: what stores there computes nothing for the loop.

    found: the loops before it that are shared, too.
    """
    place = task.body.statements.index(loop)
    inside = list(walk(loop.body))
    excluded = (Rand, AtomicOp, Return)
    if any(leaves_block(s) or isinstance(s, excluded) or _has_effects(s) for s in inside):
        return False
    first = [statement for statement in task.body.statements[:place] if statement not in found]
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
    late = _loads_after_stores(loop)
    scans = [_scan(loop, store, fast_math) for store in stores]
    for scan in scans:
        values = [] if scan is None else [v for v in (scan.term, scan.condition) if v is not None]
        if scan is None or not all(_is_known(value, loop, changed, late) for value in values):
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


def _loads_after_stores(loop: RangeFor) -> set[Statement]:
    """Return the loads that an iteration does after a store to the array, perhaps to their element."""
    stored, found = set[Array | None](), set[Statement]()
    for access in walk(loop.body):
        if isinstance(access, GlobalStore):
            stored.add(base_array(access.pointer))
        elif isinstance(access, GlobalLoad) and base_array(access.pointer) in stored:
            found.add(access)
    return found


def _is_known(value: Statement, loop: RangeFor, changed: set[Statement], late: set[Statement]) -> bool:
    """Return whether a value of an iteration is computed from what it has not changed yet, at its top or outside."""
    inside, top = set(walk(loop.body)), set(loop.body.statements)
    for part in {value, *computed_from(value)} & inside:
        if isinstance(part, GlobalLoad):
            if base_array(part.pointer) is None or part in late:
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
    stores = {base_array(s.pointer): s for s in accesses if isinstance(s, GlobalStore)}
    if None in stores or len(stores) < sum(isinstance(s, GlobalStore) for s in accesses):
        return False
    arrays = {base_array(s.pointer) for s in accesses} | called
    for array, store in stores.items():
        assert array is not None
        others = arrays - {array}
        if array in called or not is_dense(array) or any(o is None or task.may_share(array, o) for o in others):
            return False
        pointers = [s.pointer for s in accesses if base_array(s.pointer) is array]
        is_stored_only = len(pointers) == 1
        if not _have_own_element(loop, pointers) and not (is_stored_only and _grows_to(store, loop, scans)):
            return False
    return True


def _have_own_element(loop: RangeFor, pointers: list[Statement]) -> bool:
    """Return whether an iteration has the elements at pointers alone: along one axis it has an index of its own."""
    reader = Reader({loop, *walk(loop.body)}, {}, scales=True)
    bases = [pointer for pointer in map(base_pointer, pointers) if isinstance(pointer, GlobalPtr)]
    for indices in zip(*(pointer.indices for pointer in bases), strict=True):
        first, *others = map(reader.read, indices)
        is_own = first is not None and set(first.indices) == {(loop, 0)}
        if is_own and all(other is not None and other.key == first.key for other in others):  # type: ignore[union-attr]
            return True
    return False


def _grows_to(store: GlobalStore, loop: RangeFor, scans: list[Scan]) -> bool:
    """Return whether each iteration with a store has a greater last index than those before it."""
    pointer = base_pointer(store.pointer)
    assert isinstance(pointer, GlobalPtr)
    return any(_grows(scan, index, loop, store) for scan in scans for index in pointer.indices[-1:])


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

    def __init__(self, kernel: Kernel, task: Task, found: Found) -> None:
        self.kernel, self.task, self.found = kernel, task, found
        self.builder = Builder(Block(), task.location)

    def run(self, explains: bool) -> None:
        """Replace the body of the task."""
        task, builder, body = self.task, self.builder, self.task.body.statements
        last = max(map(body.index, self.found))
        location = next(iter(self.found)).location
        task.kind, task.block_dim, task.tile = TaskKind.RANGE_FOR, THREADS, (THREADS,)
        bounds = Builder(task.prologue, location)
        zero, count, one = (bounds.const(value) for value in (0, THREADS, 1))
        task.loop = RangeFor([zero], [count], [one], ["thread"], grid_stride=False, location=location)
        self.thread = builder.add(LoopIndex(task.loop, 0, type=i32))
        self._alone_where_it_stores(body[: last + 1], explains)
        if body[last + 1 :]:
            builder.add(Barrier("block"))
            add_alone(builder, body[last + 1 :], self.thread)
        task.body = builder.block

    def _alone_where_it_stores(self, statements: list[Statement], explains: bool) -> None:
        """Let all threads compute what comes first, and one of them store."""
        builder, has_loaded, has_stored = self.builder, False, False
        for statement in statements:
            if has_stored:
                builder.add(Barrier("block"))
            has_stored = statement in self.found
            if has_stored:
                builder.location = statement.location
                self._add_loop(self.found[statement], explains)
                has_loaded = False
            elif not _is_guarded(statement):
                builder.add(statement)
                has_loaded |= any(isinstance(s, GlobalLoad) for s in walk(Block([statement])))
            else:
                if has_loaded:
                    builder.add(Barrier("block"))
                add_alone(builder, [statement], self.thread)
                builder.add(Barrier("block"))
                has_loaded = False

    def _add_loop(self, found: Scans, explains: bool) -> None:
        """Add a loop over as many iterations at a time as there are threads."""
        builder, row, name = self.builder, found.loop, found.loop.names[0]
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
            replace_indices(row.body, row, {0: index})
            builder.block.statements += [s for s in row.body if s in found.before]
            sums = [self._add_scan(scan, is_own, name) for scan in found.scans]
            own = dict[Statement, Alloca]()
            own |= {scan.variable: variable for scan, (variable, _) in zip(found.scans, sums, strict=True)}
            with builder.into(builder.add(If(is_own)).then):
                builder.block.statements += [s for s in row.body if s not in found.before]
                for access in walk(builder.block):
                    if isinstance(access, (LocalLoad, LocalStore)):
                        access.pointer = own.get(access.pointer, access.pointer)
            for scan, (_, total) in zip(found.scans, sums, strict=True):
                builder.store(scan.variable, builder.op(scan.op, builder.load(scan.variable), total))

    def _add_scan(self, scan: Scan, is_own: Statement, index: str) -> tuple[Alloca, Statement]:
        """Add up what the threads before this one add; return this thread's variable, and the sum of all threads.

        index: the name of the loop's.
        """
        builder, type = self.builder, scan.variable.type
        assert isinstance(type, Scalar)
        nothing = builder.const(neutral(scan.op, type), type)
        condition = builder.all_of([is_own] if scan.condition is None else [is_own, scan.condition])
        assert condition is not None
        name = scan.variable.name or scan.variable.hint or index
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
        return result, total
