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

Integers are exact. Sums of floats need `fast_math`, since their order changes.
"""

from __future__ import annotations

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
from ...ir.threads import Barrier, Collective, neutral
from ...ir.types import Scalar, i32
from ...options import MAX_ITERATIONS, Capabilities, CompileOptions
from ..analysis.linear import Reader
from ..analysis.loops.synchronizable import may_synchronize
from ..analysis.queries import given_end, is_given, trip_count
from ..context import PassContext
from ..tasks.parts.copies import copy_of, put_in_place, say_when, split
from ..tiles.parts.tiled_loops import add_axis, new_shared, replace_indices
from .parts.accumulators import start_with_zeros
from .parts.capped_sums import count_all
from .parts.first_lane import add_alone
from .parts.scans import THREADS, Found, Scan, Scans, scans_of, stores_elements
from .parts.strided_rows import stride

FEWEST = 256
"""The fewest iterations of a loop that is worth a block."""
SHORTEST = 128
"""The fewest iterations of a loop over a row that are; each of the fewest threads has two."""
FEWEST_THREADS = 64
ALL_THREADS = 1 << 18
"""About as many as a GPU runs at a time: 132 multiprocessors of an H200 have 2,048 each."""
FEW_COLUMNS, LONG = 64, 1024
"""The most columns that get blocks, whose threads read a line of the cache each, and the fewest iterations there."""
MANY_ROWS = ALL_THREADS // FEWEST_THREADS
"""More rows than that should not be short: a block has little to do for one."""
SOME_ROWS, SOME_ELEMENTS = 1024, 1024
"""The numbers of rows and of their elements, for the choice of a block, where only the launch knows them."""
WARP = 32
FEATURES = {"arithmetic", "shuffle"}


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
    _Sharing(kernel, task, found, THREADS).run()
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
    threads = FEWEST_THREADS
    while threads < min(length, THREADS) and threads * (rows or SOME_ROWS) < ALL_THREADS:
        threads *= 2
    conditions = _conditions(loop, found, threads)
    if conditions is None:
        return False
    if conditions:
        other = split(task, *conditions)
        say_when(task, other, conditions)
        put_in_place(kernel, task, [task, other])
    add_axis(task, {}, threads, "thread")
    loop.grid_stride = False
    _Sharing(kernel, task, found, threads).run()
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
    """Gives an iteration of a task a block of threads, the last axis of its loop."""

    def __init__(self, kernel: Kernel, task: Task, found: Found, threads: int) -> None:
        assert task.loop is not None
        self.kernel, self.task, self.found, self.threads = kernel, task, found, threads
        self.builder = Builder(Block(), task.location)
        self.thread = self.builder.add(LoopIndex(task.loop, len(task.loop.starts) - 1, type=i32))

    def run(self) -> None:
        """Replace the body of the task."""
        task, builder, body = self.task, self.builder, self.task.body.statements
        last = max(map(body.index, self.found))
        task.block_dim, task.tile = self.threads, (self.threads,)
        self._alone_where_it_stores(body[: last + 1])
        if body[last + 1 :]:
            builder.add(Barrier("block"))
            add_alone(builder, body[last + 1 :], self.thread)
        body[:] = builder.block.statements

    def _alone_where_it_stores(self, statements: list[Statement]) -> None:
        """Let all threads compute what comes first, and one of them store."""
        builder, has_loaded, has_stored = self.builder, False, False
        for statement in statements:
            if has_stored:
                builder.add(Barrier("block"))
            has_stored = statement in self.found
            if has_stored:
                builder.location, found = statement.location, self.found[statement]
                if found.joined is None:
                    self._add_loop(found)
                else:
                    has_stored = stores_elements(statement)
                    if has_stored and has_loaded:
                        builder.add(Barrier("block"))
                    self._add_sums(found.loop, found.joined)
                has_loaded = found.joined == {}
            elif not stores_elements(statement):
                builder.add(statement)
                has_loaded |= _loads_elements(statement)
            else:
                if has_loaded:
                    builder.add(Barrier("block"))
                add_alone(builder, [statement], self.thread)
                builder.add(Barrier("block"))
                has_loaded = False

    def _add_sums(self, row: RangeFor, joined: dict[Alloca, str]) -> None:
        """Add a loop whose iterations do not depend on each other, and what joins what the threads have added up."""
        builder, warps = self.builder, self.threads // WARP
        start_with_zeros(builder, list(builder.block), joined, self.thread)
        note = f"each thread has every {self.threads:,}th iteration (block_scans)"
        row.remarks = (Remark(note, "above", row.location), *row.remarks)
        stride(builder, row, self.thread, self.threads)
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
            replace_indices(row.body, row, {0: index})
            builder.block.statements += [s for s in row.body if s in found.before]
            sums = self._add_scans(found.scans, is_own, name, remarks if is_one else ())
            if not is_one:
                builder.add(Barrier("block"))  # the next iterations overwrite the shared arrays
            own = dict[Statement, Alloca]()
            own |= {scan.variable: variable for scan, (variable, _) in zip(found.scans, sums, strict=True)}
            with builder.into(builder.add(If(is_own)).then):
                builder.block.statements += [s for s in row.body if s not in found.before]
                for access in walk(builder.block):
                    if isinstance(access, (LocalLoad, LocalStore)):
                        access.pointer = own.get(access.pointer, access.pointer)
            inside = set(walk(row.body))
            used = {s.pointer for s in walk(self.task.body) if isinstance(s, LocalLoad) and s not in inside}
            for scan, (_, of_warps) in zip(found.scans, sums, strict=True):
                if is_one and scan.variable not in used:
                    continue
                last_warp = builder.const(self.threads // WARP - 1)
                total = builder.add(Collective("shuffle", [of_warps, last_warp], type=scan.term.type))
                total.hint = "total"
                builder.store(scan.variable, builder.op(scan.op, builder.load(scan.variable), total))

    def _add_scans(
        self, scans: list[Scan], is_own: Statement, index: str, remarks: tuple[Remark, ...]
    ) -> list[tuple[Alloca, Statement]]:
        """Add up what the threads before this one add; return this thread's variables, and the sums up to each warp.

        index: the name of the loop's. remarks: above the first sum.
        """
        builder = self.builder
        warp, is_last = self._warp()
        parts = []
        for scan in scans:
            type = _type_of(scan)
            condition = builder.all_of([is_own] if scan.condition is None else [is_own, scan.condition])
            assert condition is not None
            shared = self._new_shared(scan.variable, scan.op, index)
            term = builder.op("select", condition, scan.term, builder.const(neutral(scan.op, type), type))
            before = builder.add(Collective(f"exclusive_{scan.op}", [term], type=type))
            term.hint, before.hint = "term", "before"
            before.remarks, remarks = remarks, ()
            parts.append((scan, shared, term, before))
        with builder.into(builder.add(If(is_last)).then):
            for scan, shared, term, before in parts:
                builder.store(builder.add(GlobalPtr(shared, [warp], type=term.type)), builder.op(scan.op, before, term))
        builder.add(Barrier("block"))
        previous = builder.op("max", builder.op("sub", warp, builder.const(1)), builder.const(0))
        previous.hint = "previous"
        exchanged = []
        for scan, shared, term, _ in parts:
            of_warps = self._of_warps(shared, scan.op)
            earlier = builder.add(Collective("shuffle", [of_warps, previous], type=term.type))
            earlier.hint = "earlier"
            exchanged.append((earlier, of_warps))
        is_later, found = builder.op("gt", warp, builder.const(0)), list[tuple[Alloca, Statement]]()
        is_later.hint = "is_later"
        for (scan, _, _, before), (earlier, of_warps) in zip(parts, exchanged, strict=True):
            type = _type_of(scan)
            of_earlier = builder.op("select", is_later, earlier, builder.const(neutral(scan.op, type), type))
            start, own = builder.load(scan.variable), builder.add(Alloca(type=type))
            own.hint = f"own_{scan.variable.name or scan.variable.hint or index}"
            builder.store(own, builder.op(scan.op, builder.op(scan.op, start, of_earlier), before))
            found.append((own, of_warps))
        return found


def _type_of(scan: Scan) -> Scalar:
    assert isinstance(scan.variable.type, Scalar)
    return scan.variable.type
