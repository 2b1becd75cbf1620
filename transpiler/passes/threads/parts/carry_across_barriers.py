"""Carries values across the barriers at which `split_threads` split a body.

    threads { tid = i % 64; x = a[i] }        x: f32, one per thread
    barrier                             ->    threads { store x, a[i] }
    threads { b[tid] = x }                    barrier
                                              threads { tid = i % 64; b[tid] = load x }

A value that costs only a few operations is computed again after the barrier; pointers always are.
"""

from __future__ import annotations

from collections.abc import Collection

from ....ir.functions import Call
from ....ir.nodes import Block, Effect, Statement, blocks, clone, map_operands, operands, walk, walk_blocks
from ....ir.statements import (
    Alloca,
    Cast,
    Const,
    GlobalPtr,
    GlobalTemporary,
    ListInit,
    LocalLoad,
    LocalStore,
    MatrixElement,
    MatrixPtr,
    Operation,
    StructElement,
    StructPtr,
)
from ....ir.threads import Exchange, ThreadFor
from ...tasks.parts.zero_stores import is_stored_next, store_zero

MAX_COST = 4
"""The maximum number of operations that are repeated instead of stored."""
POINTERS = (GlobalPtr, GlobalTemporary, MatrixPtr, StructPtr)


def carry_across_barriers(body: Block, results: dict[Statement, Alloca], cheap: Collection[str] | None = None) -> None:
    """Make the values of each `ThreadFor` in `body` available in the others.

    results: the variables with the results of subgroup collectives. cheap: the operations that may be computed again,
    None for all.
    """
    _Carrier(body, results, cheap).run()


class _Carrier:
    """Carries the values of one body.

    Attributes:
        region_of: the ThreadFor that contains a statement.
        block_of: the block that contains a ThreadFor.
        stored: values that are stored in variables.
        hoisted: variables that are declared outside of their ThreadFor.
    """

    def __init__(self, body: Block, results: dict[Statement, Alloca], cheap: Collection[str] | None) -> None:
        self.body = body
        self.cheap = cheap
        self.results = results
        self.region_of: dict[Statement, ThreadFor] = {}
        self.block_of: dict[ThreadFor, Block] = {}
        self.regions: list[ThreadFor] = []
        self.exchanges: list[tuple[Exchange, Block]] = []
        self.stored: dict[Statement, Alloca] = {}
        self.hoisted: list[Alloca] = []

    def run(self) -> None:
        self.collect(self.body)
        for exchange, block in self.exchanges:
            self.pass_operands(exchange, block)
        for region in self.regions:
            self.carry_into(region)
        self.carry_out(self.body)
        for variable in self.hoisted:
            self.hoist(variable)
        for value, variable in self.stored.items():
            self.store(value, variable)

    def collect(self, block: Block) -> None:
        for statement in block.statements:
            if isinstance(statement, ThreadFor):
                self.regions.append(statement)
                self.block_of[statement] = block
                for inner in walk(statement.body):
                    self.region_of[inner] = statement
                continue
            if isinstance(statement, Exchange):
                self.exchanges.append((statement, block))
            for inner_block in blocks(statement):
                self.collect(inner_block)

    def pass_operands(self, exchange: Exchange, block: Block) -> None:
        """Make the operands of a collective per-thread variables; constants are copied."""
        for position, operand in enumerate(exchange.operands):
            if isinstance(operand, Const) and operand in self.region_of:
                copied = clone(operand, {})
                block.insert_before(exchange, [copied])
                exchange.operands[position] = copied
            elif operand in self.results:
                exchange.operands[position] = self.results[operand]
            elif operand in self.region_of:
                exchange.operands[position] = self.variable_of(operand)

    def variable_of(self, value: Statement) -> Alloca:
        """Return the variable of a value that is stored."""
        if value not in self.stored:
            self.stored[value] = Alloca(type=value.type, name=value.name, location=value.location, per_thread=True)
            self.stored[value].hint = value.hint or "carried"
        return self.stored[value]

    # --- reading

    def carry_into(self, region: ThreadFor) -> None:
        """Make all statements of a region read values that are in scope there."""
        added: list[Statement] = []
        mapping: dict[Statement, Statement] = {}

        def resolve(operand: Statement) -> Statement:
            return self.carry(operand, region, added, mapping)

        for block in list(walk_blocks(region.body)):
            for statement in block.statements:
                map_operands(statement, resolve)
            if block.result is not None:
                block.result = resolve(block.result)
        for statement in added:
            self.region_of[statement] = region
        region.body.statements[:0] = added

    def carry_out(self, block: Block) -> None:
        """Make statements between the regions read values of the regions (GPUs: statements without a condition)."""
        result: list[Statement] = []
        for statement in block.statements:
            if not isinstance(statement, (ThreadFor, Exchange)):
                for inner in blocks(statement):
                    self.carry_out(inner)
                map_operands(statement, lambda operand: self.carry(operand, None, result, {}))
            result.append(statement)
        block.statements = result

    def carry(
        self, value: Statement, region: ThreadFor | None, added: list[Statement], mapping: dict[Statement, Statement]
    ) -> Statement:
        """Return the replacement of `value` in `region` (None: outside); its new statements are added to `added`."""
        result = mapping.get(value)
        if result is not None:
            return result
        result_variable = self.results.get(value)
        origin = self.region_of.get(value)
        if result_variable is not None:
            new = self.load(result_variable, value, added)
        elif origin is None or origin is region:
            return value
        elif isinstance(value, Alloca):
            if value not in self.hoisted:
                self.hoisted.append(value)
            return value
        elif isinstance(value, (*POINTERS, ListInit)) or _cost(value, self.cheap) <= MAX_COST:
            new = clone(value, {})
            map_operands(new, lambda operand: self.carry(operand, region, added, mapping))
            added.append(new)
        else:
            new = self.load(self.variable_of(value), value, added)
        mapping[value] = new
        return new

    def load(self, variable: Alloca, value: Statement, added: list[Statement]) -> Statement:
        load = LocalLoad(variable, type=value.type, location=value.location)
        added.append(load)
        return load

    # --- storing

    def hoist(self, variable: Alloca) -> None:
        """Declare a variable outside of its region; the declaration inside becomes a store of zero."""
        region = self.region_of[variable]
        after = region.body.statements[region.body.statements.index(variable) + 1 :]
        region.body.replace(variable, [] if is_stored_next(variable, after) else store_zero(variable))
        variable.per_thread = True
        self.declare(variable, region)

    def declare(self, variable: Alloca, region: ThreadFor) -> None:
        self.block_of[region].insert_before(region, [variable])

    def store(self, value: Statement, variable: Alloca) -> None:
        """Store a value in its variable after its definition, and replace later uses in the region by a load."""
        region = self.region_of[value]
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


def _cost(value: Statement, cheap: Collection[str] | None) -> int:
    """Return the number of operations to compute a value again; more than the limit if that is impossible."""
    if value.EFFECT != Effect.NONE or value.BLOCKS:
        return MAX_COST + 1
    if cheap is not None and (isinstance(value, Call) or (isinstance(value, Operation) and value.op not in cheap)):
        return MAX_COST + 1
    is_operation = isinstance(value, (Operation, Cast, MatrixElement, StructElement))
    cost = 1 if is_operation else MAX_COST if operands(value) else 0
    for operand in operands(value):
        cost += _cost(operand, cheap)
        if cost > MAX_COST:
            break
    return cost
