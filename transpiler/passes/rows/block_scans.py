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

A loop whose iterations do not depend on each other, before or behind it, has every 1,024th in a thread.

In a parallel loop over rows, each row gets a block: of as many threads as keep a GPU busy with all rows, and no more
than a row has elements. A thread with a row of its own waits for each load, and those of a warp read 32 lines of a
cache. Columns, which neighbouring threads read together, stay with a thread each unless they are few. If ndarrays may
overlap, or only the launch knows how long rows are, it chooses between the two.

Where there are many rows, each gets a warp, which exchanges sums without shared memory and barriers. Where 1 or another
number is added under a condition, threads count the votes of those before them (`ballot`), in place of five exchanges.
Starts of lines in 65,536 rows of 256 bytes took an H200 .051 ms by blocks of 64 threads, .016 by warps with votes.

Integers are exact. Sums of floats need `fast_math`, since their order changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...ir.builder import Builder
from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Remark, Statement, walk
from ...ir.statements import (
    Alloca,
    Array,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    RangeFor,
    base_pointer,
    repeats,
)
from ...ir.tasks import AtLeast, AtMost, Condition, Kernel, Length, Task, TaskKind
from ...ir.threads import WARP, Barrier, Collective, neutral
from ...ir.types import Scalar, i32, u32
from ...lazy_dataclasses import dataclass
from ...options import MAX_ITERATIONS, Capabilities, CompileOptions
from ..analysis.linear import Reader
from ..analysis.loops.synchronizable import may_synchronize
from ..analysis.queries import given_end, is_given, is_index_of, trip_count
from ..context import PassContext
from ..tasks.parts.copies import copy_of, put_in_place, say_when, split
from ..tiles.parts.tiled_loops import add_axis, new_shared, replace_indices
from .parts.accumulators import start_with_zeros
from .parts.capped_sums import count_all
from .parts.first_lane import add_alone
from .parts.scans import THREADS, Found, Scan, Scans, scans_of, stores_elements, vote_of
from .parts.strided_rows import stride

FEWEST = 256
"""The fewest iterations of a loop that is worth a block."""
SHORTEST = 128
"""The fewest iterations of a loop over a row that are; each thread of a warp has four."""
ALL_THREADS = 1 << 18
"""About as many as a GPU runs at a time: 132 multiprocessors of an H200 have 2,048 each."""
FEW_COLUMNS, LONG = 64, 1024
"""The most columns that get blocks, whose threads read a line of the cache each, and the fewest iterations there."""
MANY_ROWS = 1 << 12
"""More rows than that should not be short: a block has little to do for one."""
SOME_ROWS, SOME_ELEMENTS = 1024, 1024
"""The numbers of rows and of their elements, for the choice of a block, where only the launch knows them."""
FEATURES = {"arithmetic", "shuffle"}
Total = Callable[[], Statement]
"""Adds the sum of all threads, where it is needed."""


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
    for task in list(kernel.tasks):
        share = _share_rows if task.loop is not None else _share_serial
        changed |= share(kernel, task, capabilities, options) or _share_counts(kernel, task, capabilities, options)
    return changed


def _share_counts(kernel: Kernel, task: Task, capabilities: Capabilities, options: CompileOptions) -> bool:
    """Share rows that count up to a limit, as rows that count all, if that is right and worth it."""
    if task.loop is None or not count_all(whole := copy_of(task)):
        return False
    put_in_place(kernel, task, [whole])
    if _share_rows(kernel, whole, capabilities, options):
        return True
    put_in_place(kernel, whole, [task])
    return False


def _share_serial(kernel: Kernel, task: Task, capabilities: Capabilities, options: CompileOptions) -> bool:
    """Give a serial task a block of threads, if it has such a loop."""
    if task.kind is not TaskKind.SERIAL or task.choices:
        return False
    found = scans_of(task, options.fast_math, _is_long)
    is_worth = any(scans.scans or scans.joined for scans in found.values())
    if not is_worth or _bytes(found) > capabilities.max_shared_bytes:
        return False
    first = next(iter(found.values())).loop
    builder = Builder(task.prologue, first.location)
    zero, count, one = (builder.const(value) for value in (0, THREADS, 1))
    task.loop = RangeFor([zero], [count], [one], ["thread"], grid_stride=False, location=first.location)
    task.kind = TaskKind.RANGE_FOR
    _Sharing(kernel, task, found, THREADS, capabilities).run()
    return True


def _is_long(scans: Scans) -> bool:
    count = trip_count(scans.loop)
    return not scans.apart and (count is None or count >= FEWEST)


def _loads_elements(statement: Statement) -> bool:
    """Return whether a statement loads elements, or calls a function that does."""
    inside = walk(Block([statement]))
    return any(isinstance(s, GlobalLoad) or (isinstance(s, Call) and s.EFFECT & Effect.READ) for s in inside)


def _bytes(found: Found) -> int:
    variables: list[Alloca] = []
    for scans in found.values():
        variables += [*(scan.variable for scan in scans.scans), *(scans.joined or ())]
    return WARP * sum(variable.type.size_bytes for variable in variables if variable.type is not None)


# --- rows -------------------------------------------------------------------------------------------------------------


def _share_rows(kernel: Kernel, task: Task, capabilities: Capabilities, options: CompileOptions) -> bool:
    """Give each iteration of a parallel loop a block of threads, if it has such a loop, where that is worth it."""
    loop = task.loop
    if loop is None or options.has_own_block_dim or not _is_usual(task, loop):
        return False
    found = scans_of(task, options.fast_math, lambda scans: True)
    own = [scans for scans in found.values() if scans.scans]
    if not own or _bytes(found) > capabilities.max_shared_bytes or not _are_rows(task, loop, found):
        return False
    rows, length = trip_count(loop), max(trip_count(scans.loop) or SOME_ELEMENTS for scans in own)
    threads = WARP
    while threads < min(length, THREADS) and threads * (rows or SOME_ROWS) < ALL_THREADS:
        threads *= 2
    conditions = _conditions(loop, found, threads)
    if conditions is None:
        return False
    if conditions:
        other = split(task, *conditions)
        say_when(task, other, conditions)
        put_in_place(kernel, task, [task, other])
    add_axis(task, {}, threads, "thread" if threads > WARP else "lane")
    loop.grid_stride = False
    _Sharing(kernel, task, found, threads, capabilities).run()
    return True


def _is_usual(task: Task, loop: RangeFor) -> bool:
    """Return whether neither the program nor another pass has chosen what threads do, and iterations are apart."""
    if task.choices or task.private or task.tile or task.synchronizes or not may_synchronize(task):
        return False
    is_plain = loop.block_dim is None and not loop.grid_stride and not loop.order and loop.cells is None
    return is_plain and all(map(is_given, (*loop.starts, *loop.ends))) and all(isinstance(s, Const) for s in loop.steps)


def _are_rows(task: Task, loop: RangeFor, found: Found) -> bool:
    """Return whether iterations of a parallel loop have nothing long to do but such loops, which are over rows."""
    if any(repeats(s) for first in task.body if first not in found for s in walk(Block([first]))):
        return False
    few = (trip_count(loop) or FEW_COLUMNS + 1) <= FEW_COLUMNS
    for scans in found.values():
        row = scans.loop
        pointers = [base_pointer(s.pointer) for s in walk(row.body) if isinstance(s, (GlobalLoad, GlobalStore))]
        if scans.scans and not stores_elements(row):
            return False
        is_long = few and (trip_count(row) or 0) >= LONG
        if not is_long and any(isinstance(p, GlobalPtr) and _is_in_column(p, row, loop) for p in pointers):
            return False
    return True


def _is_in_column(pointer: GlobalPtr, row: RangeFor, loop: RangeFor) -> bool:
    """Return whether neighbouring iterations of the parallel loop have neighbours, as of `a[k, i]`."""
    reader = Reader({loop, row, *walk(row.body)}, {}, scales=True)
    last = reader.read(pointer.indices[-1]) if pointer.indices else None
    return last is not None and abs(last.indices.get((loop, len(loop.starts) - 1), 0)) == 1


def _conditions(loop: RangeFor, found: Found, threads: int) -> list[Condition] | None:
    """Return the conditions on which a launch starts blocks for rows; None if they are never worth it."""
    conditions: list[Condition] = []
    rows, most = trip_count(loop), MAX_ITERATIONS // threads
    for scans in found.values():
        length, start, end = trip_count(scans.loop), scans.loop.starts[0], given_end(scans.loop)
        if length is not None and length < SHORTEST and scans.scans:
            return None
        if length is not None or not scans.scans or (rows or MANY_ROWS) < MANY_ROWS:
            continue
        if end is not None and isinstance(start, Const):
            conditions += [AtLeast((end,), int(start.value) + SHORTEST), AtMost((end,), MAX_ITERATIONS - THREADS)]
        else:
            most = MANY_ROWS
    if rows is not None and rows > most:
        return None
    if rows is None:
        conditions.append(AtMost(tuple(map(Length, range(len(loop.starts)))), most))
    apart = {frozenset((c.first, c.second)): c for scans in found.values() for c in scans.apart}
    return [*conditions, *apart.values()]


# --- the block --------------------------------------------------------------------------------------------------------


class _Sharing:
    """Gives an iteration of a task a block of threads, or a warp, the last axis of its loop.

    scope: of its barriers. may_vote: a thread knows where in its warp a condition holds. below: bits of those before.
    """

    def __init__(self, kernel: Kernel, task: Task, found: Found, threads: int, capabilities: Capabilities) -> None:
        assert task.loop is not None
        self.kernel, self.task, self.found, self.threads = kernel, task, found, threads
        self.scope = "block" if threads > WARP else "subgroup"
        self.may_vote = "ballot" in capabilities.subgroup_features
        self.builder = Builder(Block(), task.location)
        self.thread = self.builder.add(LoopIndex(task.loop, len(task.loop.starts) - 1, type=i32))

    def run(self) -> None:
        """Replace the body of the task."""
        task, builder, body = self.task, self.builder, self.task.body.statements
        last = max(map(body.index, self.found))
        if any(vote_of(scan) for scans in self.found.values() for scan in scans.scans) and self.may_vote:
            lane = self.thread if self.threads == WARP else builder.op("mod", self.thread, builder.const(WARP))
            lane.hint = "lane"
            bit = builder.op("shl", builder.const(1, u32), builder.cast(lane, u32, True))
            self.below = builder.op("sub", bit, builder.const(1, u32))
            self.below.hint = "below"
        if self.threads > WARP:
            task.block_dim, task.tile = self.threads, (self.threads,)
        self._alone_where_it_stores(body[: last + 1])
        if body[last + 1 :]:
            builder.add(Barrier(self.scope))
            add_alone(builder, body[last + 1 :], self.thread)
        body[:] = builder.block.statements

    def _alone_where_it_stores(self, statements: list[Statement]) -> None:
        """Let all threads compute what comes first, and one of them store."""
        builder, has_loaded, has_stored = self.builder, False, False
        for statement in statements:
            if has_stored:
                builder.add(Barrier(self.scope))
            has_stored = statement in self.found
            if has_stored:
                builder.location, found = statement.location, self.found[statement]
                if found.joined is None:
                    self._add_loop(found)
                else:
                    has_stored = stores_elements(statement)
                    if has_stored and has_loaded:
                        builder.add(Barrier(self.scope))
                    self._add_sums(found.loop, found.joined)
                has_loaded = found.joined == {}
            elif not stores_elements(statement):
                builder.add(statement)
                has_loaded |= _loads_elements(statement)
            else:
                if has_loaded:
                    builder.add(Barrier(self.scope))
                add_alone(builder, [statement], self.thread)
                builder.add(Barrier(self.scope))
                has_loaded = False

    def _add_sums(self, row: RangeFor, joined: dict[Alloca, str]) -> None:
        """Add a loop whose iterations do not depend on each other, and what joins what the threads have added up."""
        builder, warps = self.builder, self.threads // WARP
        start_with_zeros(builder, list(builder.block), joined, self.thread)
        note = f"each thread has every {self.threads:,}th iteration (block_scans)"
        row.remarks = (Remark(note, "above", row.location), *row.remarks)
        stride(builder, row, self.thread, self.threads)
        if self.threads == WARP:
            for variable, op in joined.items():
                total = builder.add(Collective(f"reduce_{op}", [builder.load(variable)], type=variable.type))
                builder.store(variable, total)
            return
        if not joined:
            return
        warp, is_last = self._warp()
        sums = []
        for variable, op in joined.items():
            shared = self._new_shared(variable, op, row.names[0])
            own = builder.add(Collective(f"inclusive_{op}", [builder.load(variable)], type=variable.type))
            own.hint = "of_warp"
            sums.append((variable, op, shared, own))
        with builder.into(builder.add(If(is_last)).then):
            for _, _, shared, own in sums:
                builder.store(builder.add(GlobalPtr(shared, [warp], type=own.type)), own)
        builder.add(Barrier("block"))
        for variable, op, shared, _ in sums:
            of_warps = self._of_warps(shared, op)
            total = Collective("shuffle", [of_warps, builder.const(warps - 1)], type=variable.type)
            builder.store(variable, builder.add(total))

    def _warp(self) -> tuple[Statement, Statement]:
        """Return the number of the thread's warp, and whether it is the last thread of it."""
        builder = self.builder
        warp, lane = (builder.op(op, self.thread, builder.const(WARP)) for op in ("floordiv", "mod"))
        lane.hint = "lane"
        is_last = builder.op("eq", lane, builder.const(WARP - 1))
        warp.hint, is_last.hint = "warp", "is_last"
        return warp, is_last

    def _new_shared(self, variable: Alloca, op: str, index: str) -> Array:
        """Add an array for what the threads of each warp have together."""
        name = f"{variable.name or variable.hint or index}_{'sums' if op == 'add' else 'extremes'}"
        return new_shared(self.kernel, name, variable.type, (self.threads // WARP,))

    def _of_warps(self, shared: Array, op: str) -> Statement:
        """Return what the warps up to the number of the thread in its warp have together."""
        builder, type = self.builder, shared.element
        number = builder.op("mod", self.thread, builder.const(self.threads // WARP))
        number.hint = "other_warp"
        of_warp = builder.load(builder.add(GlobalPtr(shared, [number], type=type)))
        of_warps = builder.add(Collective(f"inclusive_{op}", [of_warp], type=type))
        of_warps.hint = "of_warps"
        return of_warps

    def _add_loop(self, found: Scans) -> None:
        """Add a loop over as many iterations at a time as there are threads."""
        builder, row, name = self.builder, found.loop, found.loop.names[0]
        start, end = row.starts[0], row.ends[0]
        is_one = trip_count(row) == self.threads and start.type == i32
        chunks = RangeFor([start], [end], [builder.const(self.threads)], [f"{name}_first"], location=row.location)
        note = f"{self.threads:,} iterations at a time, with the sums of those before (block_scans)"
        if not is_one:
            builder.add(chunks)
        remarks = chunks.remarks = (Remark(note, "above", row.location),)
        with builder.into(builder.block if is_one else chunks.body):
            first = start if is_one else builder.add(LoopIndex(chunks, 0, type=i32))
            left = builder.op("sub", end, first)
            last = builder.op("sub", left, builder.const(1))
            index = builder.op("add", first, builder.op("min", self.thread, last))
            index.name = name
            is_own = builder.op("lt", self.thread, left)
            is_own.hint = "is_in_loop"
            scans = [_with_index(scan, row, index) for scan in found.scans]
            replace_indices(row.body, row, {0: index})
            builder.block.statements += [s for s in row.body if s in found.before]
            sums = self._add_scans(scans, is_own, name, remarks if is_one else ())
            if not is_one and self.threads > WARP:
                builder.add(Barrier("block"))  # the next iterations overwrite the shared arrays
            own = dict[Statement, Alloca]()
            own |= {scan.variable: variable for scan, (variable, _) in zip(scans, sums, strict=True)}
            with builder.into(builder.add(If(is_own)).then):
                builder.block.statements += [s for s in row.body if s not in found.before]
                for access in walk(builder.block):
                    if isinstance(access, (LocalLoad, LocalStore)):
                        access.pointer = own.get(access.pointer, access.pointer)
            inside = set(walk(row.body))
            used = {s.pointer for s in walk(self.task.body) if isinstance(s, LocalLoad) and s not in inside}
            for scan, (_, total) in zip(scans, sums, strict=True):
                if not is_one or scan.variable in used:
                    builder.store(scan.variable, builder.op(scan.op, builder.load(scan.variable), total()))

    def _add_scans(
        self, scans: list[Scan], is_own: Statement, index: str, remarks: tuple[Remark, ...]
    ) -> list[tuple[Alloca, Total]]:
        """Add up what the threads before this one add; return this thread's variables, and what gives the sums of all.

        index: the name of the loop's. remarks: above the first sum.
        """
        builder, parts = self.builder, []
        for scan in scans:
            parts.append(self._in_warp(scan, is_own, remarks))
            remarks = ()
        totals: list[tuple[Statement | None, Total]] = [
            (None, partial(self._of_lane, part.of_warp, WARP, part.is_count)) for part in parts
        ]
        if self.threads > WARP:
            totals = self._join_warps(parts, index)
        found = list[tuple[Alloca, Total]]()
        for part, (earlier, total) in zip(parts, totals, strict=True):
            scan = part.scan
            start, own = builder.load(scan.variable), builder.add(Alloca(type=_type_of(scan)))
            own.hint = f"own_{scan.variable.name or scan.variable.hint or index}"
            start = start if earlier is None else builder.op(scan.op, start, earlier)
            builder.store(own, builder.op(scan.op, start, part.before))
            found.append((own, total))
        return found

    def _in_warp(self, scan: Scan, is_own: Statement, remarks: tuple[Remark, ...]) -> _Part:
        """Add up what the threads of a warp before this one add."""
        builder, type, vote = self.builder, _type_of(scan), vote_of(scan) if self.may_vote else None
        conditions = [is_own] if scan.condition is None else [is_own, scan.condition]
        if vote is not None:
            condition = builder.all_of([*conditions, *vote.conditions])
            assert condition is not None
            votes = builder.add(Collective("ballot", [condition], type=u32))
            votes.hint, votes.remarks = "votes", remarks
            before = self._count(builder.op("bit_and", votes, self.below), vote.number, type)
            of_warp = self._count(votes, vote.number, type)
        else:
            condition = builder.all_of(conditions)
            assert condition is not None
            term = builder.op("select", condition, scan.term, builder.const(neutral(scan.op, type), type))
            before = builder.add(Collective(f"exclusive_{scan.op}", [term], type=type))
            term.hint, before.hint, before.remarks = "term", "before", remarks
            of_warp = builder.op(scan.op, before, term)
        return _Part(scan, before, of_warp, vote is not None)

    def _count(self, votes: Statement, number: int, type: Scalar) -> Statement:
        """Return what is added for some votes."""
        count = self.builder.cast(self.builder.op("popcnt", votes), type, True)
        return count if number == 1 else self.builder.op("mul", count, self.builder.const(number, type))

    def _join_warps(self, parts: list[_Part], index: str) -> list[tuple[Statement | None, Total]]:
        """Let the warps of a block exchange their sums; return those of earlier ones, and what gives those of all."""
        builder = self.builder
        warp, is_last = self._warp()
        shared = [self._new_shared(part.scan.variable, part.scan.op, index) for part in parts]
        with builder.into(builder.add(If(is_last)).then):
            for part, array in zip(parts, shared, strict=True):
                builder.store(builder.add(GlobalPtr(array, [warp], type=array.element)), part.of_warp)
        builder.add(Barrier("block"))
        previous = builder.op("max", builder.op("sub", warp, builder.const(1)), builder.const(0))
        previous.hint = "previous"
        exchanged = []
        for part, array in zip(parts, shared, strict=True):
            of_warps = self._of_warps(array, part.scan.op)
            earlier = builder.add(Collective("shuffle", [of_warps, previous], type=array.element))
            earlier.hint = "earlier"
            exchanged.append((earlier, of_warps))
        is_later, found = builder.op("gt", warp, builder.const(0)), list[tuple[Statement | None, Total]]()
        is_later.hint = "is_later"
        for part, (earlier, of_warps) in zip(parts, exchanged, strict=True):
            type = _type_of(part.scan)
            of_earlier = builder.op("select", is_later, earlier, builder.const(neutral(part.scan.op, type), type))
            found.append((of_earlier, partial(self._of_lane, of_warps, self.threads // WARP, False)))
        return found

    def _of_lane(self, value: Statement, count: int, is_same: bool) -> Statement:
        """Return what the last of some lanes has. is_same: all have it."""
        if is_same:
            return value
        builder = self.builder
        total = builder.add(Collective("shuffle", [value, builder.const(count - 1)], type=value.type))
        total.hint = "total"
        return total


def _with_index(scan: Scan, row: RangeFor, index: Statement) -> Scan:
    """Return a scan with another value in place of the index of its loop, where that itself is added."""
    term = index if is_index_of(scan.term, row) else scan.term
    return Scan(scan.variable, scan.store, scan.op, term, scan.condition)


@dataclass(eq=False, slots=True)
class _Part:
    """What a warp adds: the threads before this one, and all, which the last thread has; or each (is_count)."""

    scan: Scan
    before: Statement
    of_warp: Statement
    is_count: bool


def _type_of(scan: Scan) -> Scalar:
    assert isinstance(scan.variable.type, Scalar)
    return scan.variable.type
