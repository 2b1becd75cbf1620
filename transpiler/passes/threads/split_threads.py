"""Splits the body of a loop with barriers into regions that each thread runs between two barriers (loop fission).

    tile[t] = x[i]               threads { tile[t] = x[i] }
    barrier                      barrier
    for k in range(n):     ->    for k in range(n):
        s += tile[k]                 threads { s += tile[k] }     (s: one per thread)
        barrier                      barrier
    y[i] = s                     threads { y[i] = s }

On a target that runs the threads of a block in a loop, `threads` is that loop, and a subgroup collective becomes an
`Exchange` between two such loops. On GPUs `threads` is the condition that the thread has an iteration: in the last
block of a loop some threads have none, but must reach the barriers, too. A GPU loop with full blocks stays as it is.

Control flow around barriers, and the values it depends on, are uniform (`check_threads`) and move out of `threads`. A
value that is used on both sides of a barrier is computed again if that is cheap, and stored in a per-thread variable
otherwise (`carry_across_barriers`).
"""

from __future__ import annotations

from itertools import chain

from ...errors import TaichiSyntaxError
from ...ir.builder import Builder
from ...ir.nodes import Block, Effect, Statement, blocks, has_effect, operands, reads, replace_uses, walk, walk_inside
from ...ir.statements import (
    Alloca,
    Break,
    Const,
    Continue,
    GlobalLoad,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    RangeFor,
    While,
    base_pointer,
)
from ...ir.tasks import Kernel, Task
from ...ir.textures import TEXEL_READS
from ...ir.threads import COLLECTIVES, Barrier, Collective, Exchange, ThreadFor, ThreadIndex, has_full_blocks, waits
from ...ir.types import i32, u1
from ..analysis.queries import ends_iteration, is_index_of
from ..analysis.uniformity import Uniformity
from ..context import PassContext
from .parts.carry_across_barriers import carry_across_barriers

Waiting = tuple[str, ...]
"""The scopes at whose barriers a body is split."""


def split_threads(kernel: Kernel, context: PassContext) -> bool:
    """Split tasks with barriers, if the target or an incomplete last block requires it."""
    changed = False
    as_loops = context.capabilities.blocks_as_loops
    if context.capabilities.blocks_in_lockstep:
        return False
    for task in kernel.tasks:
        has_barrier = task.synchronizes and any(waits(statement, "block") for statement in walk(task.body))
        if task.synchronizes and (as_loops or (has_barrier and not has_full_blocks(task))):
            _Split(task, as_loops).run()
            task.is_split = changed = True
    return changed


class _Split:
    """Splits one task. `outer`: statements that run once per block (control flow around barriers and its operands)."""

    def __init__(self, task: Task, as_loops: bool) -> None:
        self.task = task
        self.as_loops = as_loops
        self.scopes: Waiting = ("block", "subgroup") if as_loops else ("block",)
        self.uniformity = Uniformity(task)
        self.outer: set[Statement] = set()
        self.stores: dict[Statement, list[LocalStore]] = {}
        self.around: dict[Statement, list[Statement]] = {}
        self.firsts: dict[Statement, ThreadIndex] = {}
        self.left: Statement | None = None
        self.exchanges: dict[Statement, Exchange] = {}

    def run(self) -> None:
        self.index(self.task.body, [])
        self.find_outer()
        body = self.split_block(self.task.body, None)
        self.task.body.statements = body.statements
        for_blocks = {collective: new for collective, new in self.exchanges.items() if new.result is None}
        replace_uses(self.task.body, dict(for_blocks))
        carry_across_barriers(
            self.task.body, {c: new.result for c, new in self.exchanges.items() if new.result is not None}
        )
        if not self.as_loops:
            _sink_variables(self.task.body)

    # --- statements that run once per block

    def index(self, block: Block, around: list[Statement]) -> None:
        """Record the stores to each variable, and the statements that enclose each statement."""
        for statement in block.statements:
            self.around[statement] = around
            if isinstance(statement, LocalStore):
                self.stores.setdefault(base_pointer(statement.pointer), []).append(statement)
            for inner in blocks(statement):
                self.index(inner, [*around, statement])

    def is_split_point(self, statement: Statement) -> bool:
        """Return whether a body is split at a statement."""
        return any(waits(statement, scope) for scope in self.scopes)

    def find_outer(self) -> None:
        pending: list[Statement] = []
        for statement, around in self.around.items():
            if self.is_split_point(statement):
                pending += around
            elif isinstance(statement, ThreadFor):
                pending += [value for inner in walk(statement.body) for value in reads(inner)]
            elif isinstance(statement, Continue) and self.ends_block(around):
                pending += [statement, *around]
        while pending:
            statement = pending.pop()
            if statement in self.outer or statement in self.uniformity.divergent:
                continue
            self.outer.add(statement)
            pending += self.needed(statement)
            if isinstance(statement, (RangeFor, While)):
                pending += self.exits_of(statement)

    def ends_block(self, around: list[Statement]) -> bool:
        """Return whether a `continue` under `around` ends the iterations of all threads of a block."""
        if any(isinstance(enclosing, (RangeFor, While)) for enclosing in around):
            return False
        return not any(enclosing in self.uniformity.divergent for enclosing in around)

    def needed(self, statement: Statement) -> list[Statement]:
        """Return the statements that have to run once per block because `statement` does."""
        result = list(operands(statement))
        if isinstance(statement, LocalLoad):
            variable = base_pointer(statement.pointer)
            for store in self.stores.get(variable, ()):
                result += [store, *self.around[store]]
        if isinstance(statement, While) and statement.condition.result is not None:
            result.append(statement.condition.result)
        elif isinstance(statement, IfExp):
            result += walk_inside(statement)
        return [value for value in result if not self.is_split_point(value)]

    def exits_of(self, loop: Statement) -> list[Statement]:
        """Return the breaks and continues of a loop, with the conditions that enclose them."""
        result: list[Statement] = []
        for statement, around in self.around.items():
            if isinstance(statement, (Break, Continue)):
                loops = [enclosing for enclosing in around if isinstance(enclosing, (RangeFor, While))]
                if loops and loops[-1] is loop:
                    result += [statement, *around[around.index(loop) + 1 :]]
        return result

    # --- splitting

    def split_block(self, block: Block, condition: Alloca | None) -> Block:
        """Return `block` with its per-thread statements in `ThreadFor`s. condition: the threads that run this block."""
        result = _BlockSplitter(self, condition)
        for statement in block.statements:
            result.add(statement)
        result.flush()
        result.block.result = block.result
        return result.block

    def first_index(self, index: LoopIndex) -> ThreadIndex:
        """Return the replacement of the index of the parallel loop in statements that run once per block."""
        result = ThreadIndex("first", type=i32, location=index.location)
        self.firsts[index] = result
        return result


class _BlockSplitter:
    """The state of splitting one block.

    Attributes:
        region: per-thread statements since the last split.
        speculated: statements before them that need no condition.
        members: the statements of `region` as a set.
    """

    def __init__(self, split: _Split, condition: Alloca | None) -> None:
        self.split = split
        self.condition = condition
        self.block = Block()
        self.region: list[Statement] = []
        self.members: set[Statement] = set()
        self.speculated: list[Statement] = []

    def flush(self) -> None:
        """End the region."""
        self.block.statements += self.speculated
        self.speculated = []
        if self.region:
            if self.split.left is not None:
                raise self.split.left.location.error(
                    TaichiSyntaxError,
                    "Some threads end their iteration here, but what follows is split into parts that all threads run",
                    "put the rest under a condition instead of `continue` or `return`",
                )
            if self.split.as_loops:
                self.split.left = next((s for s in self.region if ends_iteration(s)), None)
            self.block.statements.append(
                ThreadFor(Block(self.region), self.condition, location=self.region[0].location)
            )
            self.region, self.members = [], set()

    def builder(self, origin: Statement) -> Builder:
        """Return a builder of per-thread statements."""
        self.flush_speculated()
        return Builder(Block(self.region), origin.location)

    def add(self, statement: Statement) -> None:
        """Append one statement of the body."""
        split = self.split
        if split.is_split_point(statement):
            self.add_split_point(statement)
        elif isinstance(statement, ThreadFor):  # of all threads
            self.flush()
            self.block.statements.append(statement)
        elif (
            isinstance(statement, If)
            and statement in split.uniformity.divergent
            and self.contains_split_point(statement)
        ):
            self.add_divergent(statement)
        elif statement in split.outer and statement.BLOCKS and not isinstance(statement, IfExp):
            self.flush()
            self.add_control(statement)
        elif statement in split.outer:
            self.add_outer(statement)
        elif not split.as_loops and _may_speculate(statement):
            self.add_speculated(statement)
        else:
            self.flush_speculated()
            self.region.append(statement)

    def add_speculated(self, statement: Statement) -> None:
        """On GPUs: append a statement that threads without an iteration may run, too, outside of `threads` if possible.

        It is outside if no conditional statement precedes it since the last split, or if it is a named value that
        depends on no such statement.
        """
        if not self.region:
            self.speculated.append(statement)
        elif (
            statement.name is not None
            and not isinstance(statement, (Alloca, LocalLoad))
            and self.is_independent(statement)
        ):
            self.block.statements.append(statement)
        else:
            self.region.append(statement)

    def is_independent(self, statement: Statement) -> bool:
        """Return whether a value does not depend on the region."""
        if statement.EFFECT != Effect.NONE or isinstance(statement, Alloca):
            return False
        self.members.update(self.region[len(self.members) :])
        return self.members.isdisjoint(operands(statement))

    def flush_speculated(self) -> None:
        """Before a conditional statement: leave speculated statements outside, up to the last store or named value."""
        outside_count = max(
            (k for k, s in enumerate(self.speculated, 1) if s.name is not None or isinstance(s, (Alloca, LocalStore))),
            default=0,
        )
        self.block.statements += self.speculated[:outside_count]
        self.region += self.speculated[outside_count:]
        self.speculated = []

    def add_outer(self, statement: Statement) -> None:
        """Append a statement that runs once per block; if it depends on memory, end the region first."""
        if is_index_of(statement, self.split.task.loop):
            self.region.append(statement)  # each thread has its own index; statements of the block read `first`
            self.block.statements.append(self.split.first_index(statement))
            return
        loads = any(isinstance(inner, (GlobalLoad, *TEXEL_READS)) for inner in walk(Block([statement])))
        if loads or has_effect(statement, Effect.WRITE | Effect.CONTROL):
            self.flush()
        replace_uses(Block([statement]), dict(self.split.firsts))
        self.block.statements.append(statement)

    def contains_split_point(self, statement: Statement) -> bool:
        return any(self.split.is_split_point(inner) for inner in walk_inside(statement))

    def add_control(self, statement: Statement) -> None:
        """Append control flow around barriers, with its blocks split."""
        for attribute in statement.BLOCKS:
            inner = getattr(statement, attribute)
            if inner is not None:
                setattr(statement, attribute, self.split.split_block(inner, self.condition))
        self.block.statements.append(statement)

    def add_divergent(self, statement: If) -> None:
        """Append both branches of a divergent condition around subgroup collectives: each runs for its own threads."""
        builder = self.builder(statement)
        conditions = [(statement.condition, statement.then)]
        if statement.otherwise is not None:
            conditions.append((builder.op("logical_not", statement.condition), statement.otherwise))
        branches: list[tuple[Block, Alloca]] = []
        for value, branch in conditions:
            mask = Alloca(type=u1, name="takes_part", location=statement.location, per_thread=True)
            self.block.statements.append(mask)
            if self.condition is not None:  # threads outside this block must not take part either
                start = Builder(Block(), statement.location)
                start.store(mask, start.const(False, u1))
                self.block.statements.append(ThreadFor(start.block, location=statement.location))
            builder.store(mask, value)
            branches.append((branch, mask))
        self.flush()
        for branch, mask in branches:
            self.block.statements += self.split.split_block(branch, mask).statements

    # --- synchronization

    def add_split_point(self, statement: Statement) -> None:
        """Append a barrier, or a collective and its variables."""
        if isinstance(statement, Barrier):
            self.flush()
            self.block.statements.append(statement)
            return
        assert isinstance(statement, Collective)
        if self.split.as_loops:
            self.exchange(statement)
        else:
            self.vote(statement)

    def vote(self, statement: Collective) -> None:
        """On GPUs: store the predicate, neutral in threads without an iteration, and vote outside of `threads`."""
        (predicate,) = statement.operands
        variable = Alloca(type=u1, name=predicate.name or "vote", location=statement.location, per_thread=True)
        outside = Builder(self.block, statement.location)
        outside.add(variable)
        outside.store(variable, outside.const(statement.op == "block_all", u1))
        self.builder(statement).store(variable, predicate)
        self.flush()
        statement.operands[0] = outside.load(variable)
        self.block.statements.append(statement)

    def exchange(self, statement: Collective) -> None:
        """If blocks are loops: add an `Exchange`; `carry_across_barriers` makes its operands variables."""
        arguments = COLLECTIVES[statement.op].arguments
        values = [self.operand_of(*item, statement) for item in zip(statement.operands, arguments, strict=True)]
        self.flush()
        new = Exchange(statement.op, values, condition=self.condition, location=statement.location)
        if COLLECTIVES[statement.op].scope == "block":
            new.type, new.name = statement.type, statement.name
        else:
            new.result = Alloca(type=statement.type, name=statement.name, location=statement.location, per_thread=True)
            new.result.hint = statement.op.removeprefix("subgroup_")
            self.block.statements.append(new.result)
        self.block.statements.append(new)
        self.split.exchanges[statement] = new

    def operand_of(self, operand: Statement, argument: str, origin: Statement) -> Statement:
        """Return an operand of a collective; a uniform value is stored in a per-thread variable."""
        is_uniform = isinstance(operand, Const) or operand in self.split.outer or waits(operand, "block")
        if not is_uniform or argument not in ("value", "predicate"):
            return operand
        variable = Alloca(type=operand.type, name=operand.name, location=operand.location, per_thread=True)
        variable.hint = operand.hint or argument
        self.block.statements.append(variable)
        self.builder(origin).store(variable, operand)
        return variable


def _sink_variables(body: Block) -> None:
    """Move the variables of threads with an iteration, which nothing else uses, to where these use them."""
    users: dict[Statement, set[Statement]] = {s: set() for s in body if isinstance(s, Alloca) and not s.per_thread}
    for statement in body if users else ():
        inside = chain([statement], *map(walk, blocks(statement)))
        for variable in users.keys() & {operand for inner in inside for operand in operands(inner)}:
            users[variable].add(statement)
    for variable, using in reversed(users.items()):
        only = next(iter(using)) if len(using) == 1 else None
        if isinstance(only, ThreadFor):
            body.statements.remove(variable)
            only.body.statements.insert(0, variable)


def _may_speculate(statement: Statement) -> bool:
    """Return whether a statement has no effect but on local variables, and takes bounded time."""
    if statement.BLOCKS:
        return False
    return isinstance(statement, (LocalLoad, LocalStore)) or statement.EFFECT == Effect.NONE
