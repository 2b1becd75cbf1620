"""Store-to-load forwarding: reads use the stored value, so that variables assigned once become named values.

    x = alloca                      $2 x = add $0, $1
    store x, $2                     ... $2 ...
    $3 = load x                ->
    ... $3 ...

A variable is removed if it is stored to once and every read of it sees that store; the value gets its name. Otherwise
it stays as the author wrote it, since `v += a; v += b` reads better than the values `v`, `v_1` and `v_2`, and better
than a partly replaced variable (only constants replace reads). But between the loops of a kernel every known value is
used, since the host computes the bounds of loops from it. What is stored to arrays is forwarded by `forward_elements`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import InternalError
from ...ir.functions import Call, Reference
from ...ir.nodes import Block, Effect, Statement, blocks, operands, walk
from ...ir.statements import (
    Alloca,
    ArgLoad,
    ArrayShape,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    StructElement,
    StructInit,
    StructPtr,
    base_pointer,
)
from ...ir.tasks import Kernel
from ..analysis.aliasing import stored_locals
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter, transfer_name


def forward_stores(kernel: Kernel, context: PassContext) -> bool:
    """Replace loads by stored values, drop unread stores and unused variables."""
    changed = False
    roots = kernel.roots()
    for root in roots:
        if len(roots) == 1 or any(statement.__class__ is Alloca for statement in walk(root)):
            between_loops = root.statements if root is kernel.body and not kernel.tasks else []
            variables = _Locals({s for s in between_loops if isinstance(s, Alloca)})
            changed |= variables.run(root)
            changed |= bool(variables.stores) and _drop_overwritten(root)
    return changed


class _State:
    """The known value of each variable; the variable itself stands for its initial zero.

    trail: changes, which are undone at the end of a block. Copies of all values for each block would take longer.
    """

    __slots__ = ("trail", "values")

    def __init__(self) -> None:
        self.values: dict[Statement, Statement] = {}
        self.trail: list[tuple[Statement, Statement | None]] = []

    def get(self, variable: Statement) -> Statement | None:
        return self.values.get(variable)

    def set(self, variable: Statement, value: Statement) -> None:
        self.trail.append((variable, self.values.get(variable)))
        self.values[variable] = value

    def pop(self, variable: Statement) -> None:
        if variable in self.values:
            self.trail.append((variable, self.values.pop(variable)))

    def clear(self) -> None:
        self.trail += self.values.items()
        self.values.clear()

    def undo(self, mark: int) -> None:
        """Undo all changes since `trail` had the length `mark`."""
        for variable, before in reversed(self.trail[mark:]):
            if before is None:
                del self.values[variable]
            else:
                self.values[variable] = before
        del self.trail[mark:]


VALUES = frozenset({
    ArgLoad, ArrayShape, Cast, Const, GlobalLoad, GlobalPtr, GlobalStore, GlobalTemporary, LoopIndex, MatrixElement,
    MatrixInit, MatrixPtr, Operation, StructElement, StructInit, StructPtr,
})  # fmt: skip
"""Statements that neither read nor change a variable: their operands are values and pointers to memory."""


class _Locals:
    """Finds the reaching store of each load of a variable, then replaces the load.

    between_loops: variables whose known values are used although they are stored to several times.
    """

    def __init__(self, between_loops: set[Statement]) -> None:
        self.between_loops = between_loops
        self.stored: dict[Statement, set[Statement]] = {}
        self.order: dict[Statement, int] = {}
        self.read: dict[LocalLoad, Statement] = {}
        self.loads: dict[Alloca, list[LocalLoad]] = {}
        self.stores: dict[Alloca, list[LocalStore]] = {}
        self.retained: set[Statement] = set()
        self.mapping: dict[Statement, Statement] = {}
        self.dropped: set[Statement] = set()
        self.changed = False

    def run(self, root: Block) -> bool:
        for statement in root.statements:
            if statement.BLOCKS:
                stored_locals(statement, self.stored)
        self.scan(root, _State())
        if not self.loads and not self.stores:
            return False
        variables = dict.fromkeys([*self.loads, *self.stores])
        for variable in variables:
            self.decide(variable)
        if self.mapping or self.dropped or not self.retained.issuperset(variables):
            self.rebuild(root)
        is_copy = any(
            load.name == variable.name for variable in self.loads if variable.name for load in self.loads[variable]
        )
        return (is_copy and self.drop_names_of_copies(root)) or self.changed

    # --- reaching stores

    def scan(self, block: Block, state: _State) -> bool:
        """Scan `block`, updating `state`; return whether its end is unreachable."""
        ended = False
        order = self.order
        for statement in block.statements:
            order[statement] = len(order)
            if ended and state.values:  # nothing is known in unreachable code
                state.clear()
            if statement.__class__ in VALUES:
                continue
            ended |= SCANS.get(statement.__class__, _Locals.scan_rest)(self, statement, state)
        return ended

    # These return whether what follows in the block is unreachable.

    def scan_alloca(self, alloca: Alloca, state: _State) -> bool:
        state.set(alloca, alloca)
        return False

    def scan_load(self, load: LocalLoad, state: _State) -> bool:
        base = base_pointer(load.pointer)
        if isinstance(base, Alloca):
            self.loads.setdefault(base, []).append(load)
            value = state.get(base)
            if value is None:
                self.retained.add(base)
            else:
                self.read[load] = value
        elif isinstance(base, Reference):
            self.retained.add(base)
        else:
            raise InternalError(f"a local load reads {type(base).__name__}")
        return False

    def scan_store(self, store: LocalStore, state: _State) -> bool:
        base = base_pointer(store.pointer)
        if isinstance(base, Alloca):
            self.stores.setdefault(base, []).append(store)
            if store.pointer is base:
                state.set(base, store.value)
            else:
                state.pop(base)
        elif not isinstance(base, Reference):
            raise InternalError(f"a local store writes {type(base).__name__}")
        return False

    def scan_if(self, statement: If, state: _State) -> bool:
        branches = [statement.then, *([] if statement.otherwise is None else [statement.otherwise])]
        return self.scan_branches(statement, branches, state)

    def scan_choice(self, statement: IfExp, state: _State) -> bool:
        self.scan_branches(statement, [statement.then, statement.otherwise], state)
        return False

    def scan_rest(self, statement: Statement, state: _State) -> bool:
        self.scan_other(statement, state)
        if statement.BLOCKS:
            self.scan_loop(statement, state)
            return False
        return bool(statement.EFFECT & Effect.CONTROL)

    def scan_other(self, statement: Statement, state: _State) -> None:
        """A variable that other statements than loads and stores use stays."""
        for operand in operands(statement):
            if isinstance(operand, (Alloca, MatrixPtr, StructPtr)) and isinstance(
                base := base_pointer(operand), Alloca
            ):
                self.retained.add(base)
                state.pop(base)

    def scan_branches(self, statement: If | IfExp, branches: list[Block], state: _State) -> bool:
        """Scan the branches; `state` is then what all reachable ends agree on, that of a missing branch too."""
        stored = self.stored.get(statement) or ()
        ends: list[list[Statement | None]] = [] if len(branches) == 2 else [[state.get(v) for v in stored]]
        mark = len(state.trail)
        for branch in branches:
            if not self.scan(branch, state):
                ends.append([state.get(variable) for variable in stored])
            state.undo(mark)
        before = self.order[statement]
        for number, variable in enumerate(stored):
            values = [end[number] for end in ends]
            state.pop(variable)
            if values and (value := values[0]) is not None and all(_is_equal(v, value) for v in values):
                # A value defined inside a branch is out of scope after it.
                known = next((v for v in values if v is not None and self.order.get(v, before) < before), None)
                if known is not None:
                    state.set(variable, known)
        return not ends

    def scan_loop(self, loop: Statement, state: _State) -> None:
        """Variables that an iteration stores to are unknown at the start of each iteration and after the loop."""
        for variable in self.stored[loop]:
            state.pop(variable)
        for inner in blocks(loop):  # values of the condition of a `while` are out of scope in its body
            mark = len(state.trail)
            self.scan(inner, state)
            state.undo(mark)

    # --- replacing

    def decide(self, variable: Alloca) -> None:
        """Decide whether to remove `variable`, and what replaces its loads."""
        loads = self.loads.get(variable, [])
        if variable.name is not None and variable not in self.between_loops and len(self.stores.get(variable, ())) > 1:
            self.retained.add(variable)
        if variable in self.retained:
            for load in loads:
                value = self.read.get(load)
                if isinstance(value, Const) and load.pointer is variable:
                    self.replace(load, value)
            return
        self.dropped.update(self.stores.get(variable, ()))
        counts: dict[Statement, int] = {}
        for load in loads:
            value = self.read[load]
            counts[value] = counts.get(value, 0) + 1
            if load.pointer is variable:
                self.replace(load, value)
        self.hand_on_name(variable, counts)

    def hand_on_name(self, variable: Alloca, counts: dict[Statement, int]) -> None:
        """Give the variable's name to the last value stored, and to earlier ones that are read more than once."""
        stores = [store.value for store in self.stores.get(variable, ())]
        for value in stores:
            if value in counts and (value is stores[-1] or counts[value] > 1):
                transfer_name(variable, value)

    def replace(self, load: LocalLoad, value: Statement) -> None:
        self.mapping[load] = value

    def rebuild(self, root: Block) -> None:
        """Apply the decisions, in one walk."""
        rewriter = Rewriter({Alloca: self.rebuild_alloca, LocalLoad: self.rebuild_load, LocalStore: self.rebuild_store})
        rewriter.block(root)
        self.changed = rewriter.changed or bool(self.dropped)

    def drop_names_of_copies(self, root: Block) -> bool:
        """Make `z = z`, left by inlining f(z), print as `z`, unless the variable changes before a use of the copy."""
        copies: list[Statement] = []
        needed: set[Statement] = set()
        self.find_copies(root, copies, {}, set(), needed)
        result = [copy for copy in copies if copy not in needed]
        for copy in result:
            copy.name = None
        return bool(result)

    def find_copies(
        self,
        block: Block,
        copies: list[Statement],
        fresh: dict[Statement, list[Statement]],
        stale: set[Statement],
        needed: set[Statement],
    ) -> None:
        """Collect loads named like their variable: those before (`fresh`) and after (`stale`) the variable has changed.

        needed: stale copies that are read.
        """
        for statement in block.statements:
            for operand in operands(statement) if stale else ():
                if operand in stale:
                    needed.add(operand)
            if isinstance(statement, LocalLoad):
                if isinstance(statement.pointer, Alloca) and statement.name is not None:
                    if statement.pointer.name == statement.name:
                        copies.append(statement)
                        fresh.setdefault(statement.pointer, []).append(statement)
            elif not fresh and not statement.BLOCKS:
                continue
            elif isinstance(statement, (LocalStore, AtomicOp)):
                stale.update(fresh.pop(base_pointer(statement.pointer), ()))
            elif isinstance(statement, Call):
                for variable in statement.references():
                    stale.update(fresh.pop(variable, ()))
            elif statement.BLOCKS:
                for variable in self.stored.get(statement, ()):
                    stale.update(fresh.pop(variable, ()))
                for inner in blocks(statement):
                    self.find_copies(inner, copies, fresh, stale, needed)
        if block.result in stale and block.result is not None:
            needed.add(block.result)

    def rebuild_alloca(self, rewriter: Rewriter, alloca: Statement) -> Statement | None:
        """Replace a variable that is removed by its initial zero, if that is read."""
        assert isinstance(alloca, Alloca)
        if alloca in self.retained or (alloca not in self.loads and alloca not in self.stores):
            return None
        return (
            _zero(rewriter, alloca) if any(self.read[load] is alloca for load in self.loads.get(alloca, ())) else None
        )

    def rebuild_load(self, rewriter: Rewriter, load: Statement) -> Statement | None:
        assert isinstance(load, LocalLoad)
        if load in self.mapping:
            return rewriter.resolve(self.mapping[load])
        if base_pointer(load.pointer) in self.retained:
            return None
        return _part(rewriter, rewriter.resolve(self.read[load]), load.pointer, load)

    def rebuild_store(self, rewriter: Rewriter, store: Statement) -> Statement | None:
        return DROPPED if store in self.dropped else None


SCANS: dict[type[Statement], Callable[[_Locals, Any, _State], bool]] = {
    Alloca: _Locals.scan_alloca,
    LocalLoad: _Locals.scan_load,
    LocalStore: _Locals.scan_store,
    If: _Locals.scan_if,
    IfExp: _Locals.scan_choice,
}


def _is_equal(a: Statement | None, b: Statement) -> bool:
    """Return whether two stored values are one, or equal numbers that `common_subexpressions` may merge."""
    if a is b:
        return True
    if a.__class__ is not Const or b.__class__ is not Const:
        return False
    return _number(a) == _number(b)


def _number(const: Const) -> tuple[object, ...]:
    return const.type, repr(const.value), const.name, const.origin


def _part(rewriter: Rewriter, value: Statement, pointer: Statement, origin: Statement) -> Statement:
    """Return the part of `value`, the value of a variable, that `pointer` into the variable points to."""
    if isinstance(pointer, MatrixPtr):
        value = _part(rewriter, value, pointer.origin, origin)
        return rewriter.emit(MatrixElement(value, pointer.indices[:], type=pointer.type), origin)
    if isinstance(pointer, StructPtr):
        value = _part(rewriter, value, pointer.origin, origin)
        return rewriter.emit(StructElement(value, pointer.member, type=pointer.type), origin)
    return value


def _zero(rewriter: Rewriter, alloca: Alloca) -> Statement:
    """Return the initial zero of a variable, emitted in its place."""
    assert alloca.type is not None
    builder = rewriter.builder(alloca)
    return builder.zero(alloca.type)


def _drop_overwritten(block: Block) -> bool:
    """Drop stores to whole variables that a later store of the same block overwrites before any read."""
    overwritten: set[Statement] = set()
    dropped: set[Statement] = set()
    changed = False
    for statement in reversed(block.statements):
        if statement.__class__ in VALUES:
            continue
        kind = statement.__class__
        if kind is LocalStore:
            pointer = statement.pointer  # type: ignore[attr-defined]
            if base_pointer(pointer) in overwritten:
                dropped.add(statement)
            elif pointer.__class__ is Alloca:
                overwritten.add(pointer)
        elif kind is LocalLoad or isinstance(statement, AtomicOp):
            if overwritten:
                overwritten.discard(base_pointer(statement.pointer))  # type: ignore[attr-defined]
        elif isinstance(statement, Call):
            overwritten.difference_update(statement.references())
        elif statement.BLOCKS or statement.EFFECT & Effect.CONTROL:
            overwritten.clear()  # it may be read inside, or after a jump
            for inner in blocks(statement) if statement.BLOCKS else ():
                changed |= _drop_overwritten(inner)
    if dropped:
        block.drop(dropped)
        return True
    return changed
