"""One forward walk that replaces values: the base of `fold`, `simplify`, `common_subexpressions` and `legalize`.

A rule is called for each statement of its class, after the operands are rewritten. It returns None to keep the
statement, a value to use instead, or `DROPPED` to drop a statement without a value. It may emit statements before that.
One walk is enough, since a value is defined before its uses. Passes that only add statements, such as checks, use
`surround`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ..errors import NOWHERE
from ..ir.builder import Builder
from ..ir.nodes import MANY, RESOLVERS, Block, Effect, Statement, blocks
from ..ir.statements import ArgLoad, Const, LoopIndex
from ..ir.tasks import Kernel

ORDERED = Effect.WRITE | Effect.FENCE

DROPPED = Const(0, name="dropped")
"""A rule returns this to drop a statement that is not a value."""

Rule = Callable[[Any, Any], "Statement | None"]
"""Takes the rewriter and a statement of the class for which it is registered."""


Recorder = Callable[[Any, Any], None]
"""Takes the rewriter and a statement of the class for which it is registered."""


class _Visited(dict[type[Statement], bool]):
    """By class of statements, whether walks call `visit` for them: those with blocks, or with one of some effects."""

    def __init__(self, effects: int) -> None:
        super().__init__()
        self.effects = effects

    def __missing__(self, kind: type[Statement]) -> bool:
        is_call = not isinstance(kind.EFFECT, int)  # whose effect is that of its function
        effect = ORDERED if is_call else kind.EFFECT
        self[kind] = found = bool(kind.BLOCKS or effect & self.effects)
        return found


WITH_BLOCKS = _Visited(Effect.NONE)
WITH_EFFECTS = _Visited(ORDERED)


Handler = tuple[bool, "Rule | None", "Recorder | None"]
"""What a walk does with a statement: whether it calls `visit`; its rule; its recorder."""


class _Handlers(dict[type[Statement], "Handler | None"]):
    """By class of statements, what a walk does with them; None: it keeps them."""

    def __init__(self, walk: Rewriter) -> None:
        super().__init__()
        self.visited = WITH_EFFECTS if walk.sees_effects else WITH_BLOCKS
        self.rules, self.recorders = walk.rules, walk.recorders

    def __missing__(self, kind: type[Statement]) -> Handler | None:
        handler = self.visited[kind], self.rules.get(kind), self.recorders.get(kind)
        self[kind] = found = handler if handler != (False, None, None) else None
        return found


class Rewriter:
    """The state of one walk. `out`: statements of the block being rebuilt; `mapping`: values and their replacements.

    drops: a statement was dropped.
    recorders: by class of statements without blocks, what a walk does after such a statement is kept.
    sees_effects: a subclass has a `visit` for statements with effects. Else it is called for those with blocks only.
    """

    sees_effects: ClassVar[bool] = False

    def __init__(self, rules: Mapping[type[Statement], Rule]) -> None:
        self.rules = rules
        self.recorders: Mapping[type[Statement], Recorder] = {}
        self.mapping: dict[Statement, Statement] = {}
        self.out: list[Statement] = []
        self.changed = False
        self.drops = False
        self._handlers: _Handlers | None = None

    def with_rules(self, rules: Mapping[type[Statement], Rule]) -> None:
        """Go on with other rules."""
        self.rules, self._handlers = rules, None

    def run(self, kernel: Kernel) -> bool:
        """Rewrite all of `kernel`; return whether anything changed."""
        if not kernel.tasks:
            self.block(kernel.body)
        for task in kernel.tasks:
            if task.prologue.statements:
                self.block(task.prologue)
            if task.loop is not None and self.mapping:
                self.resolve_operands(task.loop)
            self.block(task.body)
            for root in task.roots()[2:]:
                self.block(root)
        for function in kernel.functions:
            self.block(function.body)
        return self.changed

    def block(self, block: Block) -> None:
        """Rewrite one block and those inside it."""
        outer, self.out = self.out, []
        # Written without helpers: this is the innermost loop of all passes.
        handlers = self._handlers
        if handlers is None:
            handlers = self._handlers = _Handlers(self)
        mapping, resolvers, append = self.mapping, RESOLVERS, self.out.append
        statements = block.statements
        if not mapping and len(statements) > MANY and not any(map(handlers.__getitem__, set(map(type, statements)))):
            self.out += statements  # all are kept
            statements = []
        for statement in statements:
            kind = statement.__class__
            handler = handlers[kind]
            if handler is None:
                if mapping:
                    resolvers[kind](statement, mapping)
                append(statement)
                continue
            is_visited, rule, record = handler
            if is_visited:
                self.visit(statement)
                continue
            if mapping:
                resolvers[kind](statement, mapping)
            if rule is not None and (new := rule(self, statement)) is not None:
                self.replace(statement, new)
                continue
            append(statement)
            if record is not None:
                record(self, statement)
        block.statements = self.out
        if block.result is not None and block.result in self.mapping:
            block.result = self.mapping[block.result]
        self.out = outer

    def visit(self, statement: Statement) -> None:
        """Rewrite one statement and emit it, unless its rule replaces it."""
        if self.mapping:
            RESOLVERS[statement.__class__](statement, self.mapping)
        rule = self.rules.get(statement.__class__)
        if rule is not None:
            new = rule(self, statement)
            if new is not None:
                self.replace(statement, new)
                return
        for attribute in statement.BLOCKS:
            inner = getattr(statement, attribute)
            if inner is not None:
                self.block(inner)
        self.out.append(statement)

    def replace(self, old: Statement, new: Statement) -> None:
        """Use `new` wherever `old` was used from here on, under the user's name of `old`."""
        self.changed = True
        if new is DROPPED:
            self.drops = True
        else:
            self.mapping[old] = new
            if old.name is not None or old.hint is not None or old.copies > 1:
                transfer_name(old, new)

    def emit(self, statement: Statement, origin: Statement) -> Statement:
        """Emit a new statement in place of `origin`, with its source location."""
        if statement.location is NOWHERE:
            statement.location = origin.location
        if origin.remarks and statement.EFFECT & Effect.WRITE:
            statement.remarks = origin.remarks
        self.out.append(statement)
        return statement

    def builder(self, origin: Statement) -> Builder:
        """Return a builder that appends to the current block, with the source location of `origin`."""
        return Builder(Block(self.out), origin.location)

    def resolve(self, value: Statement) -> Statement:
        """Return the replacement of `value`, or `value` itself."""
        return self.mapping.get(value, value)

    def resolve_operands(self, statement: Statement) -> None:
        """Make `statement` read the replacements, and its blocks: a rule may return the result of a block."""
        RESOLVERS[statement.__class__](statement, self.mapping)


def transfer_name(old: Statement, new: Statement) -> None:
    """Give `new` the Python name of `old`, unless it has a name of its own (an index and an argument always have)."""
    if isinstance(new, (LoopIndex, ArgLoad)):
        return
    if old.name is not None and new.name is None:
        new.name = old.name
    if old.hint is not None and new.hint is None:
        new.hint = old.hint
    new.copies = max(new.copies, old.copies)


Adder = Callable[[Builder, Statement], None]
"""Adds statements for one statement."""


def add_before(block: Block, add: Adder) -> bool:
    """Let a function add statements before each statement of a block, not of those inside it; return whether it did."""
    builder = Builder(Block())
    for statement in block:
        builder.location = statement.location
        add(builder, statement)
        builder.add(statement)
    has_more = len(builder.block) > len(block)
    block.statements = builder.block.statements
    return has_more


def surround(block: Block, before: Adder | None = None, after: Adder | None = None) -> bool:
    """Let functions add statements before and after each statement of a block, inner blocks first.

    Returns: whether they added any.
    """
    builder = Builder(Block())
    changed = False
    for statement in block.statements:
        for inner in blocks(statement):
            changed |= surround(inner, before, after)
        count = len(builder.block.statements)
        builder.location = statement.location
        if before is not None:
            before(builder, statement)
        builder.add(statement)
        if after is not None:
            after(builder, statement)
        changed |= len(builder.block.statements) > count + 1
    block.statements = builder.block.statements
    return changed
