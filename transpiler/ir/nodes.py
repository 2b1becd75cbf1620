"""The base of the IR: statements in nested blocks, and the few functions every pass needs over them.

A statement is one value or one effect. It names the statements it reads (`OPERANDS`) and the blocks it holds
(`BLOCKS`) as class constants, so that walking, replacing and cloning are written once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import field, fields
from itertools import chain
from typing import Any, ClassVar, Final

from ..errors import NOWHERE, SourceLocation
from ..lazy_dataclasses import dataclass
from .types import Type


class Effect:
    """What a statement does besides giving a value: bits. NONE: it may be moved, shared and dropped.

    Integers, since each pass tests those of every statement and an `enum.Flag` takes ten times as long.
    """

    NONE: Final = 0
    READ: Final = 1
    """Reads memory that some other statement may write (locals, arrays, temporaries)."""
    WRITE: Final = 2
    """Writes memory, or has an order that must be preserved (atomics, random numbers, printing)."""
    CONTROL: Final = 4
    """Changes which statement runs next, or holds statements that may do so."""
    FENCE: Final = 8
    """Other threads may have written any shared or global memory by now: nothing read before is known after it."""


MANY = 32
"""Statements of a block whose classes are found first."""
LINE = "\x00"
"""Placeholder in `Remark.template` for the line of the remark's location."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment that explains why the source differs from the Python line. Printers know `why_comments`.

    Attributes:
        template: the message, with `LINE` for the line of `location`: a cached kernel may have moved in its file.
        where: relative to its statement: "inline" (at the end of its last line), "above" or "below".
        location: of the Python statement that was left out.
    """

    template: str
    where: str = "inline"
    location: SourceLocation = NOWHERE

    @property
    def message(self) -> str:
        """The message with the present line number."""
        return self.template.replace(LINE, str(self.location.line))


@dataclass(eq=False, slots=True, kw_only=True)
class Statement:
    """Base of all statements.

    Attributes:
        type: of its value, None if it has none.
        name: of the variable in the user's program that it belongs to.
        hint: what a variable with its value is called if the source needs one, although the user has none.
        copies: how many equal values of the user's program it stands for, if these were merged.
        remarks: comments to print at its source.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ()
    """Attributes that hold a statement, a list of statements, or None."""
    BLOCKS: ClassVar[tuple[str, ...]] = ()
    """Attributes that hold a block or None."""
    EFFECT: ClassVar[int] = Effect.NONE
    """Bits of `Effect`."""

    location: SourceLocation = NOWHERE
    type: Type | None = None
    name: str | None = None
    hint: str | None = None
    copies: int = 1
    remarks: tuple[Remark, ...] = ()


@dataclass(eq=False, slots=True)
class Block:
    """Statements in order. result: the value of a block that is an expression (condition, branch of IfExp)."""

    statements: list[Statement] = field(default_factory=list)
    result: Statement | None = None

    def __iter__(self) -> Iterator[Statement]:
        return iter(self.statements)

    def __len__(self) -> int:
        return len(self.statements)

    def replace(self, old: Statement, new: Iterable[Statement]) -> None:
        """Put statements in the place of one of the block."""
        position = self.statements.index(old)
        self.statements[position : position + 1] = new

    def insert_before(self, statement: Statement, new: Iterable[Statement]) -> None:
        """Put statements before one of the block."""
        position = self.statements.index(statement)
        self.statements[position:position] = new

    def drop(self, statements: Container[Statement]) -> None:
        """Remove those of the block that are among some statements."""
        self.statements = [statement for statement in self.statements if statement not in statements]


def operands(statement: Statement) -> list[Statement]:
    """Return the statements `statement` reads, in order; results of its blocks are not among them."""
    return READERS[statement.__class__](statement)


def reads(statement: Statement) -> list[Statement]:
    """Return the operands of `statement`, and the results of its blocks."""
    results = [block.result for block in blocks(statement) if block.result is not None] if statement.BLOCKS else []
    return operands(statement) + results


def blocks(statement: Statement) -> list[Block]:
    """Return the blocks `statement` holds, in order."""
    return BLOCK_READERS[statement.__class__](statement) if statement.BLOCKS else []


def are_flat(statements: Sequence[Statement]) -> bool:
    """Return whether no statement holds blocks. Of many, their few classes are looked up, in half the time."""
    if len(statements) > MANY:
        return not any(map(NESTING.__getitem__, set(map(type, statements))))
    return not [statement for statement in statements if statement.BLOCKS]


def walk(block: Block) -> Iterator[Statement]:
    """Return every statement of `block` and of the blocks inside it, each before its own blocks.

    Of nested blocks a list is made at once: a generator would take longer. What the caller changes it does not see.
    """
    statements = block.statements
    if len(statements) > MANY and are_flat(statements):
        return iter(statements)
    if not [statement for statement in statements if statement.BLOCKS]:
        return iter(statements)  # most
    outer = [number for number, statement in enumerate(statements) if statement.BLOCKS]
    found: list[Statement] = []
    readers = BLOCK_READERS
    pending = [(statements, 0, iter(outer))]  # a block, how many of its statements are found, and the rest with blocks
    while pending:
        statements, start, numbers = pending.pop()
        for number in numbers:
            statement = statements[number]
            found += statements[start : number + 1]
            start = number + 1
            nested = [inner.statements for inner in readers[statement.__class__](statement)]
            is_flat = len(nested) == 1 and len(nested[0]) > MANY and are_flat(nested[0])
            if not is_flat and [one for inner in nested for one in inner if one.BLOCKS]:
                pending.append((statements, start, numbers))
                for inner in reversed(nested):
                    pending.append((inner, 0, iter([k for k, one in enumerate(inner) if one.BLOCKS])))
                break
            for inner in nested:
                found += inner
        else:
            found += statements[start:]
    return iter(found)


def walk_inside(statement: Statement) -> Iterator[Statement]:
    """Return every statement of the blocks of a statement, and of the blocks inside these."""
    return chain.from_iterable(map(walk, blocks(statement)))


def walk_blocks(block: Block) -> Iterator[Block]:
    """Yield `block` and every block inside it, outermost first."""
    stack = [block]
    readers = BLOCK_READERS
    while stack:
        outer = stack.pop()
        yield outer
        if len(outer.statements) > MANY and are_flat(outer.statements):
            continue
        for statement in reversed([statement for statement in outer.statements if statement.BLOCKS]):
            stack += reversed(readers[statement.__class__](statement))


def map_operands(statement: Statement, function: Callable[[Statement], Statement]) -> bool:
    """Replace every operand `o` of `statement` by `function(o)`; return whether one changed."""
    changed = False
    for attribute in statement.OPERANDS:
        value = getattr(statement, attribute)
        if value is None:
            continue
        if isinstance(value, list):
            for index, operand in enumerate(value):
                new = function(operand)
                if new is not operand:
                    value[index] = new
                    changed = True
        elif (new := function(value)) is not value:
            setattr(statement, attribute, new)
            changed = True
    return changed


def replace_uses(block: Block, mapping: dict[Statement, Statement]) -> bool:
    """Replace, in `block` and inside, every use of a key of `mapping` by its value (chains are followed)."""

    def resolve(operand: Statement) -> Statement:
        while operand in mapping:
            operand = mapping[operand]
        return operand

    if not mapping:
        return False
    changed = False
    for inner in walk_blocks(block):
        for statement in inner.statements:
            changed |= map_operands(statement, resolve)
        if inner.result is not None and (new := resolve(inner.result)) is not inner.result:
            inner.result = new
            changed = True
    return changed


def users_of(statements: Iterable[Statement]) -> defaultdict[Statement, list[Statement]]:
    """Return, by value, those of some statements that read it, as an operand or as the result of a block, in order."""
    users: defaultdict[Statement, list[Statement]] = defaultdict(list)
    for statement in statements:
        for value in reads(statement):
            users[value].append(statement)
    return users


def count_uses(block: Block) -> dict[Statement, int]:
    """Return how often each statement is read in `block` and inside, as an operand or a block's result."""
    return count_uses_in([block])


def count_uses_in(roots: Iterable[Block]) -> Counter[Statement]:
    """Return how often each statement is read in some blocks and inside."""
    readers, blocks = READERS, [block for root in roots for block in walk_blocks(root)]
    uses = Counter[Statement](chain.from_iterable([readers[s.__class__](s) for b in blocks for s in b.statements]))
    uses.update([inner.result for inner in blocks if inner.result is not None])
    return uses


def clone_block(block: Block, mapping: dict[Statement, Statement]) -> Block:
    """Return a deep copy of `block`; `mapping` turns outer statements into their copies and receives the new ones."""
    copied = Block([clone(statement, mapping) for statement in block.statements])
    copied.result = None if block.result is None else mapping.get(block.result, block.result)
    return copied


def clone(statement: Statement, mapping: dict[Statement, Statement]) -> Statement:
    """Return a copy of `statement` with operands mapped and blocks copied; records itself in `mapping`."""
    copied = COPIERS[statement.__class__](statement)
    mapping[statement] = copied
    for attribute in statement.OPERANDS:
        value = getattr(statement, attribute)
        if isinstance(value, list):
            setattr(copied, attribute, [mapping.get(v, v) for v in value])
        elif value is not None:
            setattr(copied, attribute, mapping.get(value, value))
    for attribute in statement.BLOCKS:
        inner = getattr(statement, attribute)
        if inner is not None:
            setattr(copied, attribute, clone_block(inner, mapping))
    return copied


def has_effect(statement: Statement, effect: int) -> bool:
    """Return whether `statement`, or one inside it, has one of the flags of `effect`."""
    if statement.EFFECT & effect:
        return True
    if not statement.BLOCKS:
        return False
    return any(inner.EFFECT & effect for inner in walk_inside(statement))


# --- functions made for each class of statement -----------------------------------------------------------------------

Reader = Callable[[Any], list[Any]]
"""Returns the operands of a statement, in order, as a new list. Made for each class at its first use: functions that
name its attributes take a third of the time of a loop over their names: passes read all operands often."""
Resolver = Callable[[Any, dict[Any, Any]], None]
"""Replaces the operands of a statement that are keys of a mapping, and so the results of its blocks."""


class _Nesting(dict[type, bool]):
    """By class of statement, whether it holds blocks."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = found = bool(kind.BLOCKS)  # type: ignore[attr-defined]
        return found


class _Readers(dict[type, Reader]):
    """By class of statement."""

    def __missing__(self, kind: type) -> Reader:
        made: Reader = _function("statement", [f"return [{', '.join(map(_item, _members(kind)))}]"])
        self[kind] = made
        return made


class _BlockReaders(dict[type, Callable[[Any], list[Block]]]):
    """By class of statement with blocks."""

    def __missing__(self, kind: type) -> Callable[[Any], list[Block]]:
        optional = {member.name for member in fields(kind) if "None" in str(member.type)}
        items = [
            f"*([] if statement.{name} is None else [statement.{name}])" if name in optional else f"statement.{name}"
            for name in kind.BLOCKS  # type: ignore[attr-defined]
        ]
        made: Callable[[Any], list[Block]] = _function("statement", [f"return [{', '.join(items)}]"])
        self[kind] = made
        return made


class _Copiers(dict[type, Callable[[Any], Statement]]):
    """By class of statement: `copy.copy`, which takes ten times as long."""

    def __missing__(self, kind: type) -> Callable[[Any], Statement]:
        members = [f"copied.{member.name} = statement.{member.name}" for member in fields(kind)]
        lines = ["kind = statement.__class__", "copied = kind.__new__(kind)", *members, "return copied"]
        made: Callable[[Any], Statement] = _function("statement", lines)
        self[kind] = made
        return made


class _Resolvers(dict[type, Resolver]):
    """By class of statement."""

    def __missing__(self, kind: type) -> Resolver:
        lines = [line for member in _members(kind) for line in _replacement(*member)]
        for name in kind.BLOCKS:  # type: ignore[attr-defined]
            lines += [
                f"block = statement.{name}",
                "if block is not None and block.result in mapping:",
                "    block.result = mapping[block.result]",
            ]
        made: Resolver = _function("statement, mapping", lines or ["pass"])
        self[kind] = made
        return made


def _members(kind: type) -> list[tuple[str, str]]:
    """Return the names of the operands of a class, each with "list", "one", or "any" if its annotation says neither."""
    annotations = {member.name: str(member.type) for member in fields(kind)}
    found = []
    for name in kind.OPERANDS:  # type: ignore[attr-defined]
        annotation = annotations[name]
        known = {"list[Statement]": "list", "Statement": "one"}.get(annotation, "any")
        found.append((name, known))
    return found


def _item(member: tuple[str, str]) -> str:
    name, form = member
    value = f"statement.{name}"
    if form == "any":
        return f"*({value} if {value}.__class__ is list else () if {value} is None else ({value},))"
    return f"*{value}" if form == "list" else value


def _replacement(name: str, form: str) -> list[str]:
    of_list = ["for index, operand in enumerate(value):", "    if operand in mapping:"]
    of_list.append("        value[index] = mapping[operand]")
    of_one = ["if value in mapping:", f"    statement.{name} = mapping[value]"]
    if form == "any":
        indented = [f"    {line}" for line in of_list]
        lines = ["if value.__class__ is list:", *indented, f"elif value is not None and {of_one[0][3:]}", of_one[1]]
    else:
        lines = of_list if form == "list" else of_one
    return [f"value = statement.{name}", *lines]


def _function(parameters: str, lines: list[str]) -> Any:
    names: dict[str, Any] = {}
    body = "\n    ".join(lines)
    exec(f"def access({parameters}):\n    {body}", names)  # noqa: S102 - made of names of members
    return names["access"]


NESTING = _Nesting()
READERS = _Readers()
BLOCK_READERS = _BlockReaders()
RESOLVERS = _Resolvers()
COPIERS = _Copiers()
