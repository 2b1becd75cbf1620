"""Brings values over the barriers at which `split_threads` cut a body.

    threads { tid = i % 64; x = a[i] }        x: f32, one a thread
    barrier                             ->    threads { store x, a[i] }
    threads { b[tid] = x }                    barrier
                                              threads { tid = i % 64; b[tid] = load x }

What costs no more than a few operations is computed again behind the barrier; pointers always are.
"""

from __future__ import annotations

from ...ir.nodes import Block, Effect, Statement, blocks, clone, map_operands, operands, walk, walk_blocks
from ...ir.statements import (
    Alloca,
    Cast,
    Const,
    GlobalPtr,
    GlobalTemporary,
    LocalLoad,
    LocalStore,
    MatrixElement,
    MatrixPtr,
    Operation,
    StructElement,
    StructPtr,
)
from ...ir.threads import Exchange, ThreadFor
from ..tasks.zero_stores import is_stored_next, store_zero

MAX_COST = 4
"""Operations that are rather done again than kept."""
POINTERS = (GlobalPtr, GlobalTemporary, MatrixPtr, StructPtr)


def carry_across_barriers(body: Block, answers: dict[Statement, Alloca]) -> None:
    """Let every `ThreadFor` in `body` read what others made. answers: the variables with what subgroups were asked."""
    _Keeper(body, answers).run()


class _Keeper:
    """home: the ThreadFor a statement is in. site: the block that holds a ThreadFor. kept: values in variables."""

    def __init__(self, body: Block, answers: dict[Statement, Alloca]) -> None:
        self.body = body
        self.answers = answers
        self.home: dict[Statement, ThreadFor] = {}
        self.site: dict[ThreadFor, Block] = {}
        self.regions: list[ThreadFor] = []
        self.exchanges: list[tuple[Exchange, Block]] = []
        self.kept: dict[Statement, Alloca] = {}
        self.moved: list[Alloca] = []

    def run(self) -> None:
        self.collect(self.body)
        for exchange, block in self.exchanges:
            self.give(exchange, block)
        for region in self.regions:
            self.bring_all(region)
        self.bring_out(self.body)
        for variable in self.moved:
            self.move(variable)
        for value, variable in self.kept.items():
            self.keep(value, variable)

    def collect(self, block: Block) -> None:
        for statement in block.statements:
            if isinstance(statement, ThreadFor):
                self.regions.append(statement)
                self.site[statement] = block
                for inner in walk(statement.body):
                    self.home[inner] = statement
                continue
            if isinstance(statement, Exchange):
                self.exchanges.append((statement, block))
            for inner_block in blocks(statement):
                self.collect(inner_block)

    def give(self, exchange: Exchange, block: Block) -> None:
        """Let a question read variables of what the threads give; numbers it takes as they are."""
        for position, operand in enumerate(exchange.operands):
            if isinstance(operand, Const) and operand in self.home:
                copied = clone(operand, {})
                block.statements.insert(block.statements.index(exchange), copied)
                exchange.operands[position] = copied
            elif operand in self.answers:
                exchange.operands[position] = self.answers[operand]
            elif operand in self.home:
                exchange.operands[position] = self.variable_of(operand)

    def variable_of(self, value: Statement) -> Alloca:
        """Return the variable that keeps a value."""
        if value not in self.kept:
            self.kept[value] = Alloca(type=value.type, name=value.name, location=value.location, per_thread=True)
        return self.kept[value]

    # --- reading

    def bring_all(self, region: ThreadFor) -> None:
        """Let all that stands in a region read values that are in sight there."""
        brought: list[Statement] = []
        mapping: dict[Statement, Statement] = {}

        def resolve(operand: Statement) -> Statement:
            return self.bring(operand, region, brought, mapping)

        for block in list(walk_blocks(region.body)):
            for statement in block.statements:
                map_operands(statement, resolve)
            if block.result is not None:
                block.result = resolve(block.result)
        for statement in brought:
            self.home[statement] = region
        region.body.statements[:0] = brought

    def bring_out(self, block: Block) -> None:
        """Let what stands between the regions read values of theirs (GPUs: what needs no condition)."""
        result: list[Statement] = []
        for statement in block.statements:
            if not isinstance(statement, (ThreadFor, Exchange)):
                for inner in blocks(statement):
                    self.bring_out(inner)
                map_operands(statement, lambda operand: self.bring(operand, None, result, {}))
            result.append(statement)
        block.statements = result

    def bring(
        self, value: Statement, region: ThreadFor | None, brought: list[Statement], mapping: dict[Statement, Statement]
    ) -> Statement:
        """Return what stands for `value` in `region` (None: outside); adds to `brought` what is made for it."""
        found = mapping.get(value)
        if found is not None:
            return found
        answer = self.answers.get(value)
        home = self.home.get(value)
        if answer is not None:
            new = self.load(answer, value, brought)
        elif home is None or home is region:
            return value
        elif isinstance(value, Alloca):
            if value not in self.moved:
                self.moved.append(value)
            return value
        elif isinstance(value, POINTERS) or _cost(value) <= MAX_COST:
            new = clone(value, {})
            map_operands(new, lambda operand: self.bring(operand, region, brought, mapping))
            brought.append(new)
        else:
            new = self.load(self.variable_of(value), value, brought)
        mapping[value] = new
        return new

    def load(self, variable: Alloca, value: Statement, brought: list[Statement]) -> Statement:
        load = LocalLoad(variable, type=value.type, location=value.location)
        brought.append(load)
        return load

    # --- keeping

    def move(self, variable: Alloca) -> None:
        """Declare a variable outside of the region that declared it; there it is set to zero, as it was."""
        region = self.home[variable]
        statements = region.body.statements
        position = statements.index(variable)
        zero = [] if is_stored_next(variable, statements[position + 1 :]) else store_zero(variable)
        statements[position : position + 1] = zero
        variable.per_thread = True
        self.declare(variable, region)

    def declare(self, variable: Alloca, region: ThreadFor) -> None:
        site = self.site[region].statements
        site.insert(site.index(region), variable)

    def keep(self, value: Statement, variable: Alloca) -> None:
        """Store a value in its variable where it is made, and read it from there."""
        region = self.home[value]
        self.declare(variable, region)
        statements = region.body.statements
        position = statements.index(value) + 1
        load = LocalLoad(variable, type=value.type, location=value.location)
        rest = Block(statements[position:])
        used = False
        for block in walk_blocks(rest):
            for statement in block.statements:
                used |= map_operands(statement, lambda operand: load if operand is value else operand)
            if block.result is value:
                block.result, used = load, True
        store = LocalStore(variable, value, location=value.location)
        statements[position:] = [store, *([load] if used else []), *rest.statements]
        value.name = None


def _cost(value: Statement) -> int:
    """Return how many operations it takes to compute a value again; more than the limit where that is not possible."""
    if value.EFFECT is not Effect.NONE or value.BLOCKS:
        return MAX_COST + 1
    is_operation = isinstance(value, (Operation, Cast, MatrixElement, StructElement))
    own = 1 if is_operation else MAX_COST if operands(value) else 0
    for operand in operands(value):
        own += _cost(operand)
        if own > MAX_COST:
            break
    return own
