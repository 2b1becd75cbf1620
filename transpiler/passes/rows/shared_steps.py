"""Nested parallelism in serial time: the threads of a warp share the independent iterations inside of a serial loop.

    for i in 0 .. 512 {                           for i, lane in (0 .. 512, 0 .. 32) {
        for j in 0 .. n {                             for j in 0 .. n {
            new = 1000                                    new = 1000
            for d in 0 .. 64 {                            barrier of the warp
                v = c[i, j, d]                            for d in lane .. 64 step 32 {
                  + min(p[i, j - 1, d], low)   ->             v = c[i, j, d] + min(p[i, j - 1, d], low)
                p[i, j, d] = v                                p[i, j, d] = v
                new = min(new, v)                             new = min(new, v)
            }                                             }
            low = new                                     new = the least new of the warp
        }                                                 low = new
    }                                                 }
                                                  }

So are dynamic programs along a row, as of alignments, knapsacks and hidden Markov models, recurrent networks, and
linear systems of a few unknowns: each step has many states, which depend on the step before. There are few rows, and a
thread for each leaves most of a GPU idle, and reads rows far apart from those of its neighbours.

No iteration of a shared loop accesses an element that another one stores (`independent`); what it adds up, or takes the
least or greatest of, is joined behind it, and so is where the greatest is (`row_extremes`). Everything else all threads
of a warp compute alike, and the first one stores (`phases`, which finds where they wait for each other). Each iteration
of the parallel loop has a whole warp, so that its threads come to each barrier together, whatever others do.

Where there are many states, an iteration has a block, whose warps join what they have in shared memory.

An iteration accesses elements of its own of each array that it both stores to and loads from: else the threads of a
warp might find different numbers there, of another iteration, and take different branches.

Sums of floats need `fast_math`, since their order changes.
"""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Remark, Statement, blocks, has_effect, walk
from ...ir.statements import (
    Alloca,
    Array,
    AtomicOp,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LocalStore,
    LoopIndex,
    RangeFor,
    While,
    repeats,
)
from ...ir.tasks import Apart, AtMost, Condition, Kernel, Length, Task
from ...ir.threads import Barrier, Collective
from ...ir.types import Scalar, i32, u32
from ...options import FEW_ITERATIONS
from ..analysis.loops.exclusive import has_exclusive_axes
from ..analysis.loops.independent import are_independent
from ..analysis.loops.synchronizable import may_synchronize
from ..analysis.queries import base_array, ends_loop, is_dense, is_given, trip_count
from ..context import PassContext
from ..tasks.parts.copies import put_in_place, split
from ..tiles.parts.tiled_loops import add_axis
from .parts.accumulators import accumulators, start_with_zeros
from .parts.exchanges import join_subgroups, shared_for_subgroups
from .parts.first_lane import Users, add_alone, users_in
from .parts.phases import ALL, FIRST, Phases, changed_by_several
from .parts.row_extremes import Extreme, add_exchange, add_places, extremes, stores_of
from .parts.step_costs import (
    SHORTEST,
    Shared,
    choose_block,
    in_serial_loops,
    is_better_inside,
    is_worth_sharing,
    threads_for,
)
from .parts.strided_rows import stride_by_steps

FEATURES = {"basic", "arithmetic", "shuffle"}
WHOLE_WARP = 0xFFFFFFFF
WORDS = {4: "four", 8: "eight"}
WAITING = "the threads access what others have stored (shared_steps)"


def shared_steps(kernel: Kernel, context: PassContext) -> bool:
    """Give each iteration of such a loop of a GPU a warp."""
    capabilities = context.capabilities
    lanes, has_features = capabilities.subgroup_size or 0, capabilities.subgroup_features >= FEATURES
    if not capabilities.has_warps or context.options.deterministic or not has_features:
        return False
    if not 4 <= lanes <= WHOLE_WARP.bit_length() or lanes & (lanes - 1):
        return False
    changed = False
    for task in list(kernel.tasks):
        if task.block_dim % lanes == 0:
            changed |= _share(kernel, task, lanes, context)
    return changed


def _share(kernel: Kernel, task: Task, lanes: int, context: PassContext) -> bool:
    """Give each iteration of a task a warp, if that is right and worth it; return whether it is."""
    if task.loop is None or not _is_usual(task, task.loop):
        return False
    apart = _must_be_apart(task) if _has_own_elements(task, task.loop) else None
    finder = None if apart is None else _Finder(task, context)
    if apart is None or finder is None or not finder.found or not is_worth_sharing(task, finder.found):
        return False
    found = finder.found
    conditions = list[Condition](apart)
    count = trip_count(task.loop)
    if count is None:
        conditions.insert(0, AtMost(tuple(map(Length, range(len(task.loop.starts)))), FEW_ITERATIONS - 1))
    if conditions and not all(map(is_given, (*task.loop.starts, *task.loop.ends))):
        return False
    if conditions:
        _split(kernel, task, conditions)
    inside = in_serial_loops(task, found)
    of_block = {loop: joined for loop, joined in found.items() if not _extremes(loop) or loop in inside}
    in_warps = any(map(_extremes, of_block))  # which are exchanged there
    threads = lanes if in_warps else threads_for(task, of_block, lanes, context)
    _Sharing(kernel, task, of_block if threads > lanes else found, finder.unordered, lanes, threads).run()
    return True


def _split(kernel: Kernel, task: Task, conditions: list[Condition]) -> None:
    """Let a launch choose between a warp and a thread for each iteration."""
    other = split(task, *conditions)
    names = list(dict.fromkeys(a.name for c in conditions if isinstance(c, Apart) for a in (c.first, c.second)))
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
    few, many = list[str](), list[str]()
    if isinstance(conditions[0], AtMost):
        few, many = [f"for fewer than {FEW_ITERATIONS:,} iterations"], ["for more iterations"]
    few += [f"if {listed} do not overlap"] if names else []
    many += [f"if {listed} overlap"] if names else []
    before = [task.launches] if task.launches else []
    task.launches, other.launches = ("; ".join([*before, t]) for t in (" ".join(few), " or ".join(many)))
    put_in_place(kernel, task, [task, other])


# --- which tasks ------------------------------------------------------------------------------------------------------


def _is_usual(task: Task, loop: RangeFor) -> bool:
    """Return whether a task has few iterations, as far as is known, with loops in serial loops, and nothing else than a
    warp may run."""
    if loop.order or loop.cells is not None or task.private or task.tile or loop.grid_stride:
        return False
    count = trip_count(loop)
    if (count is not None and count >= FEW_ITERATIONS) or not may_synchronize(task, reduces=True):
        return False
    serial = [s for s in walk(task.body) if repeats(s)]
    if not any(isinstance(s, RangeFor) for outer in serial for block in blocks(outer) for s in walk(block)):
        return False
    users = users_in(task.body)
    return all(_is_plain(statement, users) for statement in walk(task.body))


def _is_plain(statement: Statement, users: Users) -> bool:
    """Return whether all threads of a warp may run a statement, or the first one for all."""
    if isinstance(statement, (GlobalStore, AtomicOp)) and base_array(statement.pointer) is None:
        return False
    if isinstance(statement, AtomicOp) and (statement in users or statement.mask is not None):
        return False
    if isinstance(statement, IfExp):
        return not has_effect(statement, Effect.WRITE)
    is_known = isinstance(statement, (Alloca, LocalStore, GlobalStore, AtomicOp))
    return is_known or not statement.EFFECT & (Effect.WRITE | Effect.FENCE)


def _stored(task: Task) -> set[Array]:
    """Return the arrays that a task changes."""
    changes = (s for s in walk(task.body) if isinstance(s, (GlobalStore, AtomicOp)))
    return {array for s in changes if (array := base_array(s.pointer)) is not None}


def _exchanged(task: Task) -> set[Array]:
    """Return the arrays that a task changes and loads from."""
    loaded = {base_array(s.pointer) for s in walk(task.body) if isinstance(s, GlobalLoad)}
    called = {array for s in walk(task.body) if isinstance(s, Call) for array in s.function.reads}
    return {array for array in _stored(task) if array in loaded or array in called}


def _must_be_apart(task: Task) -> list[Apart] | None:
    """Return which ndarrays must be apart; None if an array that the task changes has no memory of its own."""
    stored, pairs = _stored(task), dict[frozenset[Array], Apart]()
    reached = {s.array for s in walk(task.body) if isinstance(s, GlobalPtr)}
    reached |= {array for s in walk(task.body) if isinstance(s, Call) for array in s.function.reads}
    for array in sorted(stored, key=lambda array: array.binding):
        if not is_dense(array) or array.strided:
            return None
        for other in sorted(reached, key=lambda other: other.binding):
            if other is not array and task.may_share(array, other):
                if other.strided:
                    return None
                pairs.setdefault(frozenset((array, other)), Apart(array, other))
    return list(pairs.values())


def _has_own_elements(task: Task, loop: RangeFor) -> bool:
    """Return whether no iteration of a task accesses what another one has stored."""
    if any(array in s.function.reads for s in walk(task.body) if isinstance(s, Call) for array in _stored(task)):
        return False
    for array in _exchanged(task):
        pointers = [s for s in walk(task.body) if isinstance(s, GlobalPtr) and s.array is array]
        if not has_exclusive_axes(pointers, loop):
            return False
    return True


class _Finder:
    """Finds the loops of a task that threads may share, in order; the outer one of two."""

    def __init__(self, task: Task, context: PassContext) -> None:
        self.task, self.fast_math = task, context.options.fast_math
        self.wide = "extended_types" in context.capabilities.subgroup_features
        self.unordered = _unordered(task, self.fast_math)
        self.found: Shared = {}
        self.visit(task.body)

    def visit(self, block: Block) -> None:
        """Find those of a block and of the blocks inside, but not of shared loops."""
        for statement in block:
            joined = self.joined(statement) if isinstance(statement, RangeFor) else None
            if joined is not None and isinstance(statement, RangeFor):
                self.found[statement] = joined
            elif isinstance(statement, (RangeFor, While, If)):
                for inner in blocks(statement)[isinstance(statement, While) :]:
                    self.visit(inner)

    def joined(self, loop: RangeFor) -> dict[Alloca, str] | None:
        """Return what threads join behind a loop, None if they may not share it or if that is not worth it."""
        count = trip_count(loop)
        if len(loop.starts) != 1 or loop.unroll or loop.unroll_count or loop.starts[0].type != i32:
            return None
        if (count is not None and count < SHORTEST) or any(map(ends_loop, loop.body)) or is_better_inside(loop):
            return None
        inside = list(walk(loop.body))
        if any(isinstance(s, AtomicOp) and s not in self.unordered for s in inside):
            return None
        known = stores_of(_extremes(loop))
        joined = accumulators(loop, self.fast_math, known.union(self.unordered), may_leave=True)
        if joined is None or not all(map(self.may_join, joined)):
            return None
        return joined if are_independent(loop, self.task.body, self.unordered) else None

    def may_join(self, variable: Alloca) -> bool:
        """Return whether a target has an operation of a subgroup for a variable."""
        kind = variable.type
        return isinstance(kind, Scalar) and (self.wide or kind.is_float or kind.bits == 32)


def _extremes(loop: RangeFor) -> list[Extreme]:
    """Return what a loop finds; of equal elements a loop that counts down finds that with the greatest index first."""
    step = loop.steps[0]
    found = extremes(loop) if isinstance(step, Const) and step.value > 0 else []
    return [extreme for extreme in found if extreme.second is None]


def _unordered(task: Task, fast_math: bool) -> set[Statement]:
    """Return the atomic operations whose order nobody sees: of arrays that the task accesses in no other way."""
    kinds: dict[Array | None, set[str]] = {}
    for statement in walk(task.body):
        if isinstance(statement, AtomicOp):
            is_sum = statement.op in ("add", "sub")
            is_plain = is_sum or statement.op in ("min", "max", "and", "or", "xor")
            is_exact = not is_sum or fast_math or not isinstance(statement.type, Scalar) or not statement.type.is_float
            kind = ("sum" if is_sum else statement.op) if is_plain and is_exact else "other"
            kinds.setdefault(base_array(statement.pointer), set()).add(kind)
        elif isinstance(statement, (GlobalLoad, GlobalStore)):
            kinds.setdefault(base_array(statement.pointer), set()).add("other")
        elif isinstance(statement, Call):
            for array in statement.function.reads:
                kinds.setdefault(array, set()).add("other")
    alone = {array for array, found in kinds.items() if len(found) == 1 and "other" not in found}
    users = users_in(task.body)
    atomics = [s for s in walk(task.body) if isinstance(s, AtomicOp) and base_array(s.pointer) in alone]
    return {atomic for atomic in atomics if atomic not in users and atomic.mask is None}


# --- the threads ------------------------------------------------------------------------------------------------------


class _Sharing:
    """Gives each iteration of a task the threads of a warp or of a block, the last axis of its loop."""

    def __init__(
        self, kernel: Kernel, task: Task, found: Shared, unordered: set[Statement], lanes: int, threads: int
    ) -> None:
        assert task.loop is not None
        self.kernel, self.task, self.found, self.lanes, self.threads = kernel, task, found, lanes, threads
        self.extremes: dict[RangeFor, list[Extreme]] = {loop: _extremes(loop) for loop in found}
        exchanged = _exchanged(task) | changed_by_several(task.body, found, unordered)
        self.phases = Phases(task.body, found, exchanged, users_in(task.body))
        if threads > lanes:
            task.block_dim, task.tile, task.loop.grid_stride = threads, (threads,), False
        else:
            choose_block(task, lanes)
        add_axis(task, {}, threads, "lane" if threads == lanes else "thread")
        self.builder = Builder(Block(), task.loop.location)
        self.lane = self.builder.add(LoopIndex(task.loop, len(task.loop.starts) - 1, type=i32))
        self.lane.name = task.loop.names[-1]
        self.arrays = dict[Alloca, Array]()
        self.warp = self.builder.add(Const(WHOLE_WARP, notation=hex(WHOLE_WARP), type=u32))
        self.around = list[Statement]()
        self.has_remark = False

    def run(self) -> None:
        """Replace the body of the task."""
        block = ", a block," if self.threads > self.lanes else ""
        note = f"{WORDS.get(self.threads, self.threads)} threads{block} share these iterations (shared_steps)"
        first = next(iter(self.found))
        first.remarks = (Remark(note, "above", first.location), *first.remarks)
        self.add(self.task.body)
        self.task.body.statements = self.builder.block.statements

    def add(self, block: Block) -> None:
        """Add the statements of a block for all threads of a warp."""
        builder = self.builder
        for phase in self.phases.of(block):
            first = phase.statements[0]
            builder.location = first.location
            if first in self.phases.waits:
                self.wait()
            if phase.by == FIRST:
                self.add_alone(phase.statements)
            elif phase.by != ALL:
                assert isinstance(first, RangeFor)
                self.add_shared(first)
            elif first.BLOCKS and isinstance(first, (RangeFor, While, If)):
                self.add_compound(first)
            else:
                self.add_together(phase.statements)

    def add_together(self, statements: list[Statement]) -> None:
        """Add statements that all threads run."""
        for statement in statements:
            if isinstance(statement, Continue) and self.around[-1] in self.phases.waits_at_head:
                self.wait()
            self.builder.add(statement)

    def add_alone(self, statements: list[Statement]) -> None:
        """Add statements that the first thread runs."""
        add_alone(self.builder, statements, self.lane)

    def add_compound(self, statement: RangeFor | While | If) -> None:
        """Add a loop or branch that all threads run, with shared loops or stores inside."""
        waits = statement in self.phases.waits_at_head
        if waits:
            self.wait()
        if repeats(statement):
            self.around.append(statement)
        for inner in blocks(statement)[isinstance(statement, While) :]:
            outer, self.builder = self.builder, Builder(Block(), statement.location)
            self.add(inner)
            inner.statements, self.builder = self.builder.block.statements, outer
            self.builder.location = statement.location
        if waits:
            assert isinstance(statement, While)
            with self.builder.into(statement.body):
                self.wait()
        if repeats(statement):
            self.around.pop()
        self.builder.add(statement)

    def add_shared(self, loop: RangeFor) -> None:
        """Add a loop for one of the threads, and what joins their results."""
        builder, joined = self.builder, self.found[loop]
        places = add_places(builder, loop, self.extremes[loop])
        start_with_zeros(builder, list(builder.block), joined, self.lane)
        stride_by_steps(builder, loop, self.lane, self.threads)
        for variable, op in joined.items():
            of_warp = Collective(f"reduce_{op}", [builder.load(variable)], self.warp, type=variable.type)
            builder.store(variable, builder.add(of_warp))
        if joined and self.threads > self.lanes:
            self.join_warps(joined)
        if places:
            steps = add_exchange(builder, self.lanes, places)
            for statement in walk(steps.body):
                if isinstance(statement, Collective):
                    statement.lanes = self.warp

    def join_warps(self, joined: dict[Alloca, str]) -> None:
        """Let all threads of the block join what its warps have."""
        count = self.threads // self.lanes
        for variable in joined:
            if variable not in self.arrays:
                self.arrays[variable] = shared_for_subgroups(self.kernel, variable, count)
        warp = self.builder.op("floordiv", self.lane, self.builder.const(self.lanes))
        join_subgroups(self.builder, joined, {v: self.arrays[v] for v in joined}, warp, together=True)
        self.builder.add(Barrier("block", together=True))  # before the next step stores there

    def wait(self) -> None:
        """Let all threads of an iteration wait for each other, and see what the others have stored."""
        is_warp = self.threads == self.lanes
        barrier = Barrier("subgroup", lanes=self.warp) if is_warp else Barrier("block", together=True)
        self.builder.add(barrier)
        if not self.has_remark:
            barrier.remarks, self.has_remark = (Remark(WAITING),), True
