"""Parallel loops whose iterations share a variable of the kernel: it becomes one of each iteration, or the loop serial.

    r = alloca                                     for i in x {
    for i in x {                                       r = alloca
        store r, $1                         ->         store r, $1
        store y[i], load r                             store y[i], load r
    }                                              }

    for i in x {                            ->     serial for i in x {
        if x[i] > s { store s, x[i] }                  if x[i] > s { store s, x[i] }
    }                                              }
    return load s                                  return load s

A loop stays parallel if the order of its iterations makes no difference: all change a variable by one kind of atomic
operation and none reads it, or all store one value that they do not compute, or they look for the least index. Elements
of a vector that are found by a computed index are left to the author, like those of arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Statement, blocks, operands, replace_uses, walk
from ...ir.statements import (
    Alloca,
    AtomicOp,
    Break,
    Const,
    Continue,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    MatrixPtr,
    Operation,
    RangeFor,
    Return,
    StructPtr,
    base_pointer,
)
from ...ir.tasks import Kernel
from ...lazy_dataclasses import dataclass
from ..analysis.queries import becomes_task, is_index_of
from ..context import PassContext

Path = tuple[object, ...]
"""The members and constant indices that lead from a variable to a part of it."""
SUMS = frozenset({"add", "sub"})
"""Atomic operations that may be mixed."""
HINT = (
    "use an atomic operation, such as `s += x` or `ti.atomic_max(s, x)`, or a variable of the iteration; "
    "`ti.loop_config(serialize=True)` says that it is meant"
)


def ordered_loops(kernel: Kernel, context: PassContext) -> bool:
    """Give iterations variables of their own, and make loops serial whose result depends on the order."""
    statements = kernel.body.statements
    if not any(becomes_task(statement) for statement in statements):
        return False
    variables: dict[Statement, None] = {statement: None for statement in statements if isinstance(statement, Alloca)}
    changed = False
    live: set[Statement] = set()
    for statement in reversed(statements) if variables else ():
        uses = _Uses(variables)
        uses.scan(Block([statement]), set())
        if isinstance(statement, RangeFor) and becomes_task(statement):
            changed |= _order(statement, uses, live, context)
        if isinstance(statement, LocalStore):
            live.discard(statement.pointer)
        live |= uses.exposed
    return changed


@dataclass(slots=True)
class _Part:
    """What a loop does with a part of a variable. loads: it reads what other iterations may have stored."""

    loads: bool = False
    operations: set[str] = field(default_factory=set)
    values: dict[object, Statement] = field(default_factory=dict)
    change: Statement | None = None


class _Uses:
    """The uses of variables in a statement.

    Attributes:
        exposed: variables of which it may read a value from before it.
        parts: what it does with each part of a variable, before it has stored the whole of it.
        stored: variables that it changes.
        indexed: variables with elements that a computed index names.
    """

    def __init__(self, variables: Mapping[Statement, None]) -> None:
        self.variables = variables
        self.exposed: set[Statement] = set()
        self.parts: dict[Statement, dict[Path, _Part]] = {}
        self.stored: set[Statement] = set()
        self.indexed: set[Statement] = set()

    def scan(self, block: Block, own: set[Statement]) -> bool:
        """Record the uses in a block; return whether its end is never reached. own: variables stored as a whole."""
        for statement in block.statements:
            if isinstance(statement, LocalStore) and statement.pointer in self.variables:
                self.change(statement, statement.pointer, "", statement.value)
                own.add(statement.pointer)
            elif isinstance(statement, (LocalStore, AtomicOp, LocalLoad)):
                self.access(statement, own)
            elif isinstance(statement, Call):
                for variable in statement.references():
                    self.read(statement, variable, own)
                    self.change(statement, variable, "", statement)
            elif isinstance(statement, (If, IfExp)):
                self.branch(statement, own)
            elif isinstance(statement, (Break, Continue, Return)):
                return True
            elif statement.BLOCKS:
                for inner in blocks(statement):
                    self.scan(inner, set(own))
            elif not isinstance(statement, (MatrixPtr, StructPtr)):
                for operand in operands(statement):
                    self.read(statement, operand, own)
        return False

    def branch(self, statement: If | IfExp, own: set[Statement]) -> None:
        """Record the uses of branches; what all that go on store is stored."""
        ends = []
        for inner in (statement.then, statement.otherwise):
            after = set(own)
            if inner is None or not self.scan(inner, after):
                ends.append(after)
        if ends:
            own |= set.intersection(*ends)

    def access(self, statement: LocalStore | AtomicOp | LocalLoad, own: set[Statement]) -> None:
        if isinstance(statement, LocalLoad):
            self.read(statement, statement.pointer, own)
            return
        operation = statement.op if isinstance(statement, AtomicOp) else ""
        variable = base_pointer(statement.pointer)
        if variable in self.variables and variable not in own:
            if isinstance(statement, AtomicOp):
                self.exposed.add(variable)
            self.change(statement, statement.pointer, operation, statement.value)

    def read(self, statement: Statement, pointer: Statement, own: set[Statement]) -> None:
        variable = base_pointer(pointer)
        if variable in self.variables and variable not in own:
            self.exposed.add(variable)
            self.part(variable, pointer).loads = True

    def change(self, statement: Statement, pointer: Statement, operation: str, value: Statement) -> None:
        variable = base_pointer(pointer)
        if variable not in self.variables:
            return
        self.stored.add(variable)
        part = self.part(variable, pointer)
        part.change = part.change or statement
        part.operations.add("add" if operation in SUMS else operation)
        if not operation:
            part.values[(value.value, value.type) if isinstance(value, Const) else value] = value

    def part(self, variable: Statement, pointer: Statement) -> _Part:
        """Return the record of the part to which a pointer leads."""
        path: list[object] = []
        while isinstance(pointer, (MatrixPtr, StructPtr)):
            if isinstance(pointer, StructPtr):
                path.append(pointer.member)
            elif all(isinstance(index, Const) for index in pointer.indices):
                path.append(tuple(index.value for index in pointer.indices if isinstance(index, Const)))
            else:
                self.indexed.add(variable)
            pointer = pointer.origin
        return self.parts.setdefault(variable, {}).setdefault(tuple(reversed(path)), _Part())


def _order(loop: RangeFor, uses: _Uses, live: set[Statement], context: PassContext) -> bool:
    """Decide on the variables that a parallel loop changes."""
    shared = {variable for variable in uses.stored if variable in live or variable in uses.exposed}
    own = [variable for variable in uses.variables if variable in uses.stored and variable not in shared]
    if own:
        _make_own(loop, own)
    inside: set[Statement] | None = None
    for variable in uses.variables:
        if variable not in shared or variable in uses.indexed:
            continue
        inside = set(walk(loop.body)) if inside is None else inside
        if _is_least_index(loop, variable, inside):
            continue
        change = _ordered_change(uses.parts[variable], inside)
        if change is not None:
            name = f"`{variable.name}`" if variable.name else "a value of the kernel"
            over = ", ".join(loop.names)
            message = f"The loop over `{over}` runs on one thread: its iterations share {name}, so their order matters"
            context.warnings.append(change.location.explained(message, HINT))
            loop.serialize = True
            return True
    return bool(own)


def _is_least_index(loop: RangeFor, variable: Statement, inside: set[Statement]) -> bool:
    """Return whether iterations look for the least index, and skip those above one that was found (`search_loops`)."""
    uses = {statement for statement in inside if variable in operands(statement)}
    loads = {statement for statement in uses if isinstance(statement, LocalLoad)}
    compare = [statement for statement in inside if not loads.isdisjoint(operands(statement))]
    writes = [s for s in inside if s.EFFECT & Effect.WRITE and not isinstance(s, LocalStore)]
    return (
        all(s in uses and isinstance(s, AtomicOp) and s.op == "min" and is_index_of(s.value, loop) for s in writes)
        and len(uses) == len(loads) + len(writes)
        and all(isinstance(s, Operation) and s.op == "lt" and is_index_of(s.operands[0], loop) for s in compare)
    )


def _make_own(loop: RangeFor, variables: Iterable[Statement]) -> None:
    """Declare variables in the body of a loop."""
    copies: dict[Statement, Statement] = {
        variable: Alloca(type=variable.type, name=variable.name, location=variable.location) for variable in variables
    }
    replace_uses(loop.body, copies)
    loop.body.statements[:0] = copies.values()


def _ordered_change(parts: dict[Path, _Part], inside: set[Statement]) -> Statement | None:
    """Return a change of a variable whose result depends on the order of iterations. inside: statements of the loop."""
    for path, part in parts.items():
        if part.change is None:
            continue
        overlapping = [
            other for known, other in parts.items() if known[: len(path)] == path or path[: len(known)] == known
        ]
        operations = set().union(*(other.operations for other in overlapping))
        values = [value for other in overlapping for value in other.values.values()]
        is_one = len(values) < 2 and not any(value in inside and not isinstance(value, Const) for value in values)
        if len(operations) > 1 or not is_one or any(other.loads for other in overlapping):
            return part.change
    return None
