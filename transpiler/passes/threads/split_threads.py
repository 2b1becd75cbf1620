"""Cuts the body of a loop whose threads meet into what each thread runs between two barriers.

    tile[t] = x[i]               threads { tile[t] = x[i] }
    barrier                      barrier
    for k in range(n):     ->    for k in range(n):
        s += tile[k]                 threads { s += tile[k] }     (s: one a thread)
        barrier                      barrier
    y[i] = s                     threads { y[i] = s }

On a target that runs threads in turn `threads` is a loop, and what a subgroup asks becomes an `Exchange` between two of
them. On GPUs it is the condition that the thread has a turn at all: in the last block of a loop some have none, and
they must come to the barriers, too. There a loop whose blocks are full stays as it is.

Control flow around barriers, and what it depends on, is the same for all threads (`check_threads`) and moves out of
`threads`; what is used on both sides of a barrier is computed again if that is cheap, else kept in a variable of which
each thread has its own (`carry_across_barriers`).
"""

from __future__ import annotations

from ...errors import TaichiSyntaxError
from ...ir.builder import Builder
from ...ir.nodes import Block, Effect, Statement, blocks, has_effect, operands, replace_uses, walk
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
from ..context import PassContext
from .carry_across_barriers import carry_across_barriers
from .uniformity import Uniformity

Waiting = tuple[str, ...]
"""The scopes at whose barriers a body is cut."""


def split_threads(kernel: Kernel, context: PassContext) -> bool:
    """Cut the tasks whose threads meet, where the target or a last block that is not full asks for it."""
    changed = False
    in_turn = context.capabilities.blocks_in_turn
    if context.capabilities.blocks_in_lockstep:
        return False
    for task in kernel.tasks:
        meets = any(waits(statement, "block") for statement in walk(task.body))
        if task.cooperates and (in_turn or (meets and not has_full_blocks(task))):
            _Split(task, in_turn).run()
            task.is_split = changed = True
    return changed


class _Split:
    """outer: statements that run once a block: control flow around barriers, and what it depends on."""

    def __init__(self, task: Task, in_turn: bool) -> None:
        self.task = task
        self.in_turn = in_turn
        self.scopes: Waiting = ("block", "subgroup") if in_turn else ("block",)
        self.uniformity = Uniformity(task)
        self.outer: set[Statement] = set()
        self.stores: dict[Statement, list[LocalStore]] = {}
        self.around: dict[Statement, list[Statement]] = {}
        self.firsts: dict[Statement, ThreadIndex] = {}
        self.left: Statement | None = None
        self.answers: dict[Statement, Exchange] = {}

    def run(self) -> None:
        self.index(self.task.body, [])
        self.find_outer()
        body = self.cut(self.task.body, None)
        self.task.body.statements = body.statements
        of_blocks = {question: answer for question, answer in self.answers.items() if answer.result is None}
        replace_uses(self.task.body, dict(of_blocks))
        carry_across_barriers(self.task.body, {q: a.result for q, a in self.answers.items() if a.result is not None})

    # --- what runs once a block

    def index(self, block: Block, around: list[Statement]) -> None:
        """Note the stores to each variable, and the statements around each statement."""
        for statement in block.statements:
            self.around[statement] = around
            if isinstance(statement, LocalStore):
                self.stores.setdefault(base_pointer(statement.pointer), []).append(statement)
            for inner in blocks(statement):
                self.index(inner, [*around, statement])

    def meets(self, statement: Statement) -> bool:
        """Return whether a body is cut here."""
        return any(waits(statement, scope) for scope in self.scopes)

    def find_outer(self) -> None:
        pending: list[Statement] = []
        for statement, around in self.around.items():
            if self.meets(statement):
                pending += around
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
        """Return whether a `continue` under `around` ends the turns of all threads of a block."""
        if any(isinstance(holder, (RangeFor, While)) for holder in around):
            return False
        return not any(holder in self.uniformity.divergent for holder in around)

    def needed(self, statement: Statement) -> list[Statement]:
        """Return what has to run once a block because `statement` does."""
        found = list(operands(statement))
        if isinstance(statement, LocalLoad):
            variable = base_pointer(statement.pointer)
            for store in self.stores.get(variable, ()):
                found += [store, *self.around[store]]
        if isinstance(statement, While) and statement.condition.result is not None:
            found.append(statement.condition.result)
        elif isinstance(statement, IfExp):
            found += [inner for block in blocks(statement) for inner in walk(block)]
        return [value for value in found if not self.meets(value)]

    def exits_of(self, loop: Statement) -> list[Statement]:
        """Return the breaks out of a loop and the ways to its next turn, with the conditions they stand under."""
        found: list[Statement] = []
        for statement, around in self.around.items():
            if isinstance(statement, (Break, Continue)):
                loops = [holder for holder in around if isinstance(holder, (RangeFor, While))]
                if loops and loops[-1] is loop:
                    found += [statement, *around[around.index(loop) + 1 :]]
        return found

    # --- cutting

    def cut(self, block: Block, condition: Alloca | None) -> Block:
        """Return `block` with what each thread runs in `ThreadFor`. condition: which threads come here at all."""
        made = _Cut(self, condition)
        for statement in block.statements:
            made.add(statement)
        made.flush()
        made.block.result = block.result
        return made.block

    def first_index(self, index: LoopIndex) -> ThreadIndex:
        """Return what stands for the index of the parallel loop where it is used for a whole block."""
        found = ThreadIndex("first", type=i32, location=index.location)
        self.firsts[index] = found
        return found


class _Cut:
    """One block while it is cut. region: statements of each thread since the last cut; harmless: those before them."""

    def __init__(self, split: _Split, condition: Alloca | None) -> None:
        self.split = split
        self.condition = condition
        self.block = Block()
        self.region: list[Statement] = []
        self.members: set[Statement] = set()
        self.harmless: list[Statement] = []

    def flush(self) -> None:
        """End the region."""
        self.block.statements += self.harmless
        self.harmless = []
        if self.region:
            if self.split.left is not None:
                raise self.split.left.location.error(
                    TaichiSyntaxError,
                    "Some threads end their turn here, and what follows is cut into parts that all threads run",
                    "put the rest under a condition instead of `continue` or `return`",
                )
            if self.split.in_turn:
                self.split.left = next((s for s in self.region if _ends_turn(s)), None)
            self.block.statements.append(
                ThreadFor(Block(self.region), self.condition, location=self.region[0].location)
            )
            self.region, self.members = [], set()

    def builder(self, origin: Statement) -> Builder:
        """A builder of statements that each thread runs."""
        self.settle()
        builder = Builder(Block(self.region))
        builder.location = origin.location
        return builder

    def add(self, statement: Statement) -> None:
        """Append one statement of the body."""
        split = self.split
        if split.meets(statement):
            self.meet(statement)
        elif isinstance(statement, If) and statement in split.uniformity.divergent and self.holds_meeting(statement):
            self.part(statement)
        elif statement in split.outer and statement.BLOCKS and not isinstance(statement, IfExp):
            self.flush()
            self.hold(statement)
        elif statement in split.outer:
            self.add_outer(statement)
        elif not split.in_turn and _is_harmless(statement):
            self.add_harmless(statement)
        else:
            self.settle()
            self.region.append(statement)

    def add_harmless(self, statement: Statement) -> None:
        """On GPUs: append what a thread without a turn may run as well as not, outside of `threads` if that reads well.

        It stands there where nothing conditional came before it since the last cut, or where it is a named value of
        such values.
        """
        if not self.region:
            self.harmless.append(statement)
        elif (
            statement.name is not None and not isinstance(statement, (Alloca, LocalLoad)) and self.is_outside(statement)
        ):
            self.block.statements.append(statement)
        else:
            self.region.append(statement)

    def is_outside(self, statement: Statement) -> bool:
        """Return whether a value needs nothing that the region makes."""
        if statement.EFFECT is not Effect.NONE or isinstance(statement, Alloca):
            return False
        self.members.update(self.region[len(self.members) :])
        return self.members.isdisjoint(operands(statement))

    def settle(self) -> None:
        """Something conditional comes: what was harmless before it stays outside up to the last store or name."""
        kept = max(
            (k for k, s in enumerate(self.harmless, 1) if s.name is not None or isinstance(s, (Alloca, LocalStore))),
            default=0,
        )
        self.block.statements += self.harmless[:kept]
        self.region += self.harmless[kept:]
        self.harmless = []

    def add_outer(self, statement: Statement) -> None:
        """Append what runs once a block: values at once, what depends on memory behind the threads' work so far."""
        if isinstance(statement, LoopIndex) and statement.loop is self.split.task.loop:
            self.region.append(statement)  # each thread has its own; blocks read `first`
            self.block.statements.append(self.split.first_index(statement))
            return
        reads = any(isinstance(inner, (GlobalLoad, *TEXEL_READS)) for inner in walk(Block([statement])))
        if reads or has_effect(statement, Effect.WRITE | Effect.CONTROL):
            self.flush()
        replace_uses(Block([statement]), dict(self.split.firsts))
        self.block.statements.append(statement)

    def holds_meeting(self, statement: Statement) -> bool:
        return any(self.split.meets(inner) for block in blocks(statement) for inner in walk(block))

    def hold(self, statement: Statement) -> None:
        """Append control flow around barriers, its blocks cut."""
        for attribute in statement.BLOCKS:
            inner = getattr(statement, attribute)
            if inner is not None:
                setattr(statement, attribute, self.split.cut(inner, self.condition))
        self.block.statements.append(statement)

    def part(self, statement: If) -> None:
        """Append both sides of a condition at which the threads of a subgroup part: each runs for its own threads."""
        builder = self.builder(statement)
        conditions = [(statement.condition, statement.then)]
        if statement.otherwise is not None:
            conditions.append((builder.op("logical_not", statement.condition), statement.otherwise))
        sides: list[tuple[Block, Alloca]] = []
        for value, side in conditions:
            mask = Alloca(type=u1, name="takes_part", location=statement.location, per_thread=True)
            self.block.statements.append(mask)
            if self.condition is not None:  # who does not come here must not take part either
                start = Builder(Block())
                start.location = statement.location
                start.store(mask, start.const(False, u1))
                self.block.statements.append(ThreadFor(start.block, location=statement.location))
            builder.store(mask, value)
            sides.append((side, mask))
        self.flush()
        for side, mask in sides:
            self.block.statements += self.split.cut(side, mask).statements

    # --- meetings

    def meet(self, statement: Statement) -> None:
        """Append a barrier, or a question and the variables it goes through."""
        if isinstance(statement, Barrier):
            self.flush()
            self.block.statements.append(statement)
            return
        assert isinstance(statement, Collective)
        if self.split.in_turn:
            self.exchange(statement)
        else:
            self.vote(statement)

    def vote(self, statement: Collective) -> None:
        """On GPUs: keep the predicate, which threads without a turn must not decide, and ask outside of `threads`."""
        (predicate,) = statement.operands
        variable = Alloca(type=u1, name=predicate.name or "vote", location=statement.location, per_thread=True)
        outside = Builder(self.block)
        outside.location = statement.location
        outside.add(variable)
        outside.store(variable, outside.const(statement.op == "block_all", u1))
        self.builder(statement).store(variable, predicate)
        self.flush()
        statement.operands[0] = outside.load(variable)
        self.block.statements.append(statement)

    def exchange(self, statement: Collective) -> None:
        """In turn: let a loop over the threads answer. `carry_across_barriers` makes variables of what the threads give."""
        arguments = COLLECTIVES[statement.op].arguments
        given = [self.given(*item, statement) for item in zip(statement.operands, arguments, strict=True)]
        self.flush()
        made = Exchange(statement.op, given, condition=self.condition, location=statement.location)
        if COLLECTIVES[statement.op].scope == "block":
            made.type, made.name = statement.type, statement.name
        else:
            made.result = Alloca(type=statement.type, name=statement.name, location=statement.location, per_thread=True)
            self.block.statements.append(made.result)
        self.block.statements.append(made)
        self.split.answers[statement] = made

    def given(self, operand: Statement, argument: str, origin: Statement) -> Statement:
        """Return an operand of a question; a value that is the same for all threads gets a variable in each of them."""
        is_uniform = isinstance(operand, Const) or operand in self.split.outer or waits(operand, "block")
        if not is_uniform or argument not in ("value", "predicate"):
            return operand
        variable = Alloca(type=operand.type, name=operand.name, location=operand.location, per_thread=True)
        self.block.statements.append(variable)
        self.builder(origin).store(variable, operand)
        return variable


def _is_harmless(statement: Statement) -> bool:
    """Return whether a statement touches nothing but local variables and its own value, in bounded time."""
    if statement.BLOCKS:
        return False
    return isinstance(statement, (LocalLoad, LocalStore)) or statement.EFFECT is Effect.NONE


def _ends_turn(statement: Statement) -> bool:
    """Return whether a `continue` of the parallel loop is in `statement`, so that not every thread gets behind it."""
    if isinstance(statement, (RangeFor, While)):
        return False
    return isinstance(statement, Continue) or any(_ends_turn(s) for block in blocks(statement) for s in block)
