"""Decides where each value of a task is printed: inside the statement that uses it, or as a variable at its position.

In: the blocks of a task. Out: `Placement`. Blocks are scanned backwards, so that the points where a value will be
printed are known when it is reached. A read moves down to its user only if no statement between them writes what it
reads; a value crosses the head of a loop only if it costs nothing to compute again.

    load a[i]; store b[j]; add        ->  b(j) = ...; x = a(i) + 1        (a, b: fields, which never alias)
    load a[i]; store a[j]; add        ->  float t0 = a(i); a(j) = ...; x = t0 + 1
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from ...ir.functions import Call, Reference
from ...ir.nodes import READERS, Block, Effect, Statement, has_effect, operands
from ...ir.ops import COMPARISONS
from ...ir.sparse import TOPOLOGY_WRITERS, Activate, Append, Deactivate, IsActive, Length, address_operands
from ...ir.statements import (
    Alloca,
    AtomicOp,
    Cast,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    If,
    IfExp,
    ListInit,
    LocalLoad,
    LocalStore,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    Rand,
    RangeFor,
    Return,
    StructElement,
    StructInit,
    StructPtr,
    While,
    base_pointer,
)
from ...ir.textures import TEXEL_READS, ImageStore
from ...ir.threads import Collective, Exchange, ThreadFor
from ...ir.types import Scalar, Tensor, element_of, u1
from ...lazy_dataclasses import dataclass
from .repetition import (
    ATOMS,
    MAX_READS,
    MAX_UNCHANGED_READS,
    has_short_zero,
    is_cheap,
    is_of_neighbours,
    is_same_address,
    is_settled,
    is_simple,
    is_small,
    is_zero,
    may_repeat,
    memory_behind,
)
from .value_names import names_of_ends

CALLS = (AtomicOp, Rand, Collective, Exchange, Call, Activate, Deactivate, Append)
"""Effects with a value: a call that is printed exactly once, at its position."""
CALL_KINDS = frozenset(CALLS)
ATOM_KINDS = frozenset(ATOMS)
ADDRESSES = (Alloca, GlobalPtr, MatrixPtr, StructPtr, GlobalTemporary, Reference)
READS = frozenset({LocalLoad, GlobalLoad, Call, IsActive, Length, *TEXEL_READS})
"""Values that are read from memory, which may change."""
WITHOUT_LINES = frozenset({*ATOMS, *ADDRESSES})
"""Values that are printed inside others, or have lines of their own before (`Alloca`)."""
UNSEEN = WITHOUT_LINES - {Alloca}
"""Those that never have a line."""
SILENT = frozenset({
    *ATOMS, Alloca, Cast, GlobalLoad, GlobalPtr, GlobalTemporary, MatrixElement, MatrixInit, MatrixPtr, Operation,
    StructElement, StructInit, StructPtr,
})  # fmt: skip
"""Statements that neither write nor read a variable, and have no blocks."""
PRINTED = frozenset({LocalStore, GlobalStore, Return, If})
"""Statements that may contain a call."""
DECLARED = frozenset({Operation, Cast, MatrixInit})
"""Values whose declarations may."""
TOPOLOGY = "activity of cells"
TEXELS = "texels"
ANYTHING = "all memory"
"""What a call with effects may write."""


@dataclass(eq=False, slots=True)
class _Loop:
    start: int
    parent: _Loop | None
    end: int = 0


_Point = tuple[int, _Loop | None]
"""Where a value will be printed: position in the order of the source, and the innermost loop around it."""


@dataclass(slots=True)
class Placement:
    """Where the values of a function are printed.

    inline: values printed inside their users.
    compound: stores of `x op y` to `x`, with that operation.
    read_back: stores whose value all later users read from memory.
    declared_by_store: the store that declares a local variable, if one can.
    dead: locals that are never read, and their stores.
    set_by_branches: locals whose first mention is an `if` that sets them on every path.
    direct: atomics, random numbers and calls whose only user is the store, condition or declaration printed next.
    names: all names of the user in the function, also of what is declared further below.
    ends: of loops, with names for them: `end_k`.
    """

    inline: set[Statement] = field(default_factory=set)
    used: set[Statement] = field(default_factory=set)
    compound: dict[Statement, Operation] = field(default_factory=dict)
    declared_by_store: dict[Statement, Statement] = field(default_factory=dict)
    dead: set[Statement] = field(default_factory=set)
    read_back: dict[Statement, Statement] = field(default_factory=dict)
    set_by_branches: set[Statement] = field(default_factory=set)
    direct: set[Statement] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    ends: dict[Statement, str] = field(default_factory=dict)


def place(roots: Sequence[tuple[Block, Sequence[Statement]]], is_infix: Callable[[Operation], bool]) -> Placement:
    """Return the placement for blocks printed one after the other.

    roots: each block with values that are used around it (bounds of the parallel loop). is_infix: whether an
    operation is printed as `a op b`, so that `a op= b` exists.
    """
    placer = _Placer(is_infix)
    roots = [(block, results) for block, results in roots if block.statements or results]
    for block, _ in roots:
        placer.number(block, None)
    for block, results in reversed(roots):
        for result in results:
            placer.add_points(result, [(placer.end[block], None)])
        placer.place_block(block)
    return placer.placement


class _Placer:
    def __init__(self, is_infix: Callable[[Operation], bool]) -> None:
        self.is_infix = is_infix
        self.placement = Placement()
        self.clock = 0
        self.point: dict[Statement, _Point] = {}  # of statements
        self.home: dict[Statement, Block] = {}
        self.inner_loop: dict[Statement, _Loop] = {}
        self.end: dict[Block, int] = {}  # Block compares by identity (eq=False)
        self.writes: dict[object, list[int]] = {}
        self.fences: list[int] = []
        self.points: dict[Statement, list[_Point]] = {}
        self.read: set[Statement] = set()
        self.stored: dict[Statement, Statement] = {}
        self.next_printed: Statement | None = None
        self.user: dict[Statement, Statement] = {}
        self.in_braces: set[Statement] = set()

    # --- order of the source, and positions of writes

    def number(self, block: Block, loop: _Loop | None) -> None:
        for statement in block.statements:
            position = self.clock
            self.clock += 1
            if statement.name is not None:
                self.placement.names.add(statement.name)
            kind = statement.__class__
            if kind in ATOM_KINDS:
                continue
            self.point[statement] = position, loop
            self.home[statement] = block
            if kind in SILENT:
                continue
            if isinstance(statement, (LocalStore, GlobalStore, AtomicOp)):
                self.writes.setdefault(memory_behind(statement.pointer), []).append(position)
            elif isinstance(statement, ImageStore):
                self.writes.setdefault(TEXELS, []).append(position)
            elif isinstance(statement, LocalLoad):
                self.read.add(base_pointer(statement.pointer))
            elif isinstance(statement, Call):
                self._number_call(statement)
            elif isinstance(statement, TOPOLOGY_WRITERS):
                deactivates = not isinstance(statement, (Activate, Append))
                self.writes.setdefault(ANYTHING if deactivates else TOPOLOGY, []).append(position)
            elif statement.EFFECT & Effect.FENCE or isinstance(statement, ThreadFor):
                self._number_barrier(statement)
            if not statement.BLOCKS:
                continue
            inner = loop
            if isinstance(statement, (RangeFor, While, ThreadFor)):
                inner = self.inner_loop[statement] = _Loop(position, loop)
            for attribute in statement.BLOCKS:
                if (nested := getattr(statement, attribute)) is not None:
                    self.number(nested, inner)
            if inner is not loop and inner is not None:
                inner.end = self.clock
        self._find_declarations(block)
        self.end[block] = self.clock
        self.clock += 1

    def _number_call(self, call: Call) -> None:
        """Record what a call reads and writes; of the caller's variables only those passed by reference."""
        self.read.update(call.references())
        for variable in call.references():
            self.writes.setdefault(variable, []).append(self.point[call][0])
        if call.EFFECT & Effect.WRITE:
            self.writes.setdefault(ANYTHING, []).append(self.point[call][0])

    def _number_barrier(self, statement: Statement) -> None:
        """Record that other threads may have written memory, and which variables of threads are read and set."""
        if statement.EFFECT & Effect.FENCE:
            self.fences.append(self.point[statement][0])
        self.read.update(operand for operand in operands(statement) if isinstance(operand, Alloca))
        if isinstance(statement, Exchange) and statement.result is not None:
            self.writes.setdefault(statement.result, []).append(self.point[statement][0])

    def _find_declarations(self, block: Block) -> None:
        """Let the first store of a local of this block declare it, if no other mention comes before."""
        waiting: set[Statement] = {s for s in block.statements if s.__class__ is Alloca}
        if not waiting:
            return
        for statement in block.statements:
            if isinstance(statement, LocalStore) and statement.pointer in waiting:
                self.placement.declared_by_store[statement.pointer] = statement
                waiting.discard(statement.pointer)
            elif not waiting:
                return
            elif statement.BLOCKS:
                mentioned = _mentioned(statement, waiting)
                waiting -= mentioned
                self.placement.set_by_branches |= {a for a in mentioned if _is_set_by(statement, a)}
            else:
                waiting.difference_update(o for o in operands(statement) if o in waiting)

    def may_be_written(self, memory: object, after: int, before: int) -> bool:
        """Return whether `memory` may be written between two positions."""
        is_local = isinstance(memory, Alloca)
        return any(
            index < len(positions) and positions[index] < before
            for positions in (
                self.writes.get(memory, ()),
                *(() if is_local else (self.writes.get(ANYTHING, ()), self.fences)),
            )
            for index in (bisect_right(positions, after),)
        )

    # --- decisions, backwards

    def place_block(self, block: Block, uses_result: bool = True) -> None:
        self.next_printed = None
        result = block.result if uses_result else None
        for statement in reversed(block.statements):
            kind = statement.__class__
            if kind in ATOM_KINDS:
                continue
            if kind in CALL_KINDS and not statement.name and len(self.points.get(statement, ())) == 1:
                if statement is result or (statement.EFFECT & Effect.WRITE and self._is_part_of_next(statement)):
                    self.placement.direct.add(statement)
                    self.next_printed = None  # what is called before must not be called within the same statement
            self._place(statement)
            if kind in UNSEEN:
                continue
            if kind in DECLARED:
                if self._prints_lines(statement):
                    self.next_printed, result = statement, None
            elif kind in PRINTED and statement not in self.placement.dead:
                self.next_printed, result = statement, None
            elif statement.EFFECT & (Effect.WRITE | Effect.CONTROL) or self._prints_lines(statement):
                if statement not in self.placement.direct and statement not in self.placement.dead:
                    self.next_printed, result = None, None

    def _is_part_of_next(self, call: Statement) -> bool:
        """Return whether a call can be printed inside the statement that is printed next.

        That statement must evaluate it always, and read nothing that the call may change, as the order is undefined.
        """
        value: Statement = call
        while (user := self.user.get(value)) is not self.next_printed:
            if user is None or self.home.get(user) is not self.home[call] or len(self.points.get(value, ())) != 1:
                return False
            if user not in self.placement.inline or not self._evaluates_once(user, value):
                return False
            value = user
        store = self.next_printed
        if store is None or self.home[store] is not self.home[call] or len(self.points.get(value, ())) != 1:
            return False
        if isinstance(store, Return) and len(store.values) > 1:
            return False
        if store.__class__ in DECLARED and not self._evaluates_once(store, value):
            return False
        return all(other is call or _is_unchanged_by(call, other) for other in self._parts(store))

    def _evaluates_once(self, user: Statement, value: Statement) -> bool:
        """Return whether an expression evaluates its operand `value` once, in each case: `a && b` does not."""
        if isinstance(user, Operation):
            is_arithmetic = self.is_infix(user) or user.op in COMPARISONS or len(user.operands) == 1
            return is_arithmetic and value.type is not None and element_of(value.type) != u1
        return isinstance(user, (Cast, MatrixInit))

    def _parts(self, store: Statement) -> Iterator[Statement]:
        """Yield the values and pointers that are, or may be, printed inside a statement."""
        waiting = operands(store)
        while waiting:
            part = waiting.pop()
            yield part
            is_variable = part.name is not None or (
                part in self.placement.used and part not in self.placement.inline and not isinstance(part, CALLS)
            )
            if not is_variable and not isinstance(part, CALLS):
                waiting += operands(part)

    def _prints_lines(self, statement: Statement) -> bool:
        """Return whether a statement without effect is printed as lines."""
        if statement.__class__ in WITHOUT_LINES:
            return statement.__class__ is Alloca and statement not in self.placement.declared_by_store
        return statement in self.placement.used and statement not in self.placement.inline

    def _place(self, statement: Statement) -> None:
        points = self.points.get(statement, [])
        if statement.EFFECT & (Effect.WRITE | Effect.CONTROL):
            if points:
                self.placement.used.add(statement)
            self._place_effect(statement, [self.point[statement]])
            return
        kind = statement.__class__
        if kind is IfExp:
            self._place_choice(statement, points, [self.point[statement]])  # type: ignore[arg-type]
            return
        if not points:
            return
        self.placement.used.add(statement)
        if len(points) > 1 and self._is_read_back(statement, points):
            return
        is_inline = kind in WITHOUT_LINES or self._prints_inline(statement, points)
        if is_inline:
            self.placement.inline.add(statement)
        here = points if is_inline else [self.point[statement]]
        needed: list[Statement] = READERS[kind](statement)
        if kind is GlobalPtr and statement.cell is not None:  # type: ignore[attr-defined]
            needed = address_operands(statement)  # type: ignore[arg-type]
        elif kind is MatrixInit and len(set(needed)) == 1:
            del needed[1:]  # printed once: vec3(x)
        elif kind in (StructInit, ListInit):
            self.in_braces.update(needed)
        user, known_points = self.user, self.points
        for operand in needed:
            if operand.__class__ in ATOM_KINDS:
                self.add_atom(operand)
                continue
            user[operand] = statement
            known = known_points.get(operand)
            if known is None:
                known_points[operand] = here[:]
            else:
                known += here

    def _place_effect(self, statement: Statement, here: list[_Point]) -> None:
        if isinstance(statement, (LocalStore, GlobalStore)):
            self._place_store(statement, here)
        elif isinstance(statement, RangeFor):
            inside: list[_Point] = [(self.point[statement][0], self.inner_loop[statement])]
            self.add_points(statement.starts[0], here)
            for value in (*statement.starts[1:], *statement.ends):
                self.add_points(value, here if is_settled(value) else inside)
            self.placement.ends = names_of_ends(statement) | self.placement.ends
        else:
            if isinstance(statement, Return) and len(statement.values) > 1:
                self.in_braces.update(statement.values)
            for operand in operands(statement):
                self.user[operand] = statement
                self.add_points(operand, here)
        inner = self.inner_loop.get(statement, self.point[statement][1])
        for attribute in reversed(statement.BLOCKS):
            if (block := getattr(statement, attribute)) is not None:
                if block.result is not None:
                    self.add_points(block.result, [(self.end[block], inner)])
                self.place_block(block)

    def _place_store(self, store: LocalStore | GlobalStore, here: list[_Point]) -> None:
        base = base_pointer(store.pointer)
        if isinstance(base, Alloca) and base not in self.read:
            self.placement.dead |= {store, base}
            return
        self.user[store.value] = store
        self.add_points(store.pointer, here)
        value = store.value
        if isinstance(value, Operation) and value not in self.points and self._is_compound(store, value):
            self.placement.compound[store] = value
            self.user[value.operands[1]] = store
            self.add_points(value.operands[1], here)
        else:
            self.add_points(value, here)
            self.stored[value] = store

    def _is_read_back(self, value: Statement, points: list[_Point]) -> bool:
        """Print a value inside the store before its other users, which then read it from memory, if possible.

        t0 = v(i) + g; v(i) = t0; x(i) += t0    ->    v(i) += g; x(i) += v(i)
        """
        store = self.stored.get(value)
        if not isinstance(store, (LocalStore, GlobalStore)) or value.name or not isinstance(value, (Operation, Cast)):
            return False
        pointer = store.pointer
        if not isinstance(store, GlobalStore) and not isinstance(pointer, StructPtr):
            return False
        if self.home[store] is not self.home[value]:  # a store in a branch may not have run in another
            return False
        position, around = self.point[store][0], self.point[value][1]
        others = [other for other, _ in points if other > position]
        if len(others) + 1 != len(points) or any(loop is not around for _, loop in points):
            return False
        can_be_read = is_simple(pointer) and not is_of_neighbours(pointer)  # of which lavapipe reads a wrong element
        if not can_be_read or self.may_be_written(memory_behind(pointer), position, max(others)):
            return False
        self.placement.inline.add(value)
        self.placement.read_back[store] = value
        here = [self.point[store]]
        if isinstance(value, Operation) and self._is_compound(store, value):
            self.placement.compound[store] = value
            self.add_points(value.operands[1], here)
            return True
        for operand in operands(value):
            self.add_points(operand, here)
        return True

    def _is_compound(self, store: LocalStore | GlobalStore, value: Operation) -> bool:
        """Return whether `store` can be printed as `x op= y`: its target is read only here, and unchanged since."""
        if len(value.operands) != 2 or value.name is not None or not self.is_infix(value):
            return False
        load = value.operands[0]
        if not isinstance(load, (LocalLoad, GlobalLoad)) or load.name:
            return False
        if not is_same_address(load.pointer, store.pointer):
            return False
        if self.placement.declared_by_store.get(store.pointer) is store:
            return False
        (start, loop), (end, loop_of_store) = self.point[load], self.point[store]
        return loop is loop_of_store and not self.may_be_written(memory_behind(load.pointer), start, end)

    def _place_choice(self, choice: IfExp, points: list[_Point], here: list[_Point]) -> None:
        effects = has_effect(choice, Effect.WRITE | Effect.CONTROL)
        if not points and not effects:
            return
        if points:
            self.placement.used.add(choice)
        inline = not effects and len(points) == 1 and not choice.name and points[0][1] is self.point[choice][1]
        inline = inline and not self._crashes_compilers(choice)
        if inline:
            self.placement.inline.add(choice)
        for block in (choice.otherwise, choice.then):
            if block.result is not None:
                result_points = points if inline else [(self.end[block], self.point[choice][1])]
                self.add_points(block.result, result_points)
            self.place_block(block, bool(points))
        self.add_points(choice.condition, points if inline else here)

    def add_points(self, value: Statement, points: list[_Point]) -> None:
        """Record that `value` will be printed at `points` too."""
        if value.__class__ in ATOM_KINDS:
            self.add_atom(value)
        else:
            self.points.setdefault(value, []).extend(points)

    def add_atom(self, value: Statement) -> None:
        """Record that a value is printed that is the same wherever it is: inside the statements that use it."""
        self.placement.used.add(value)
        self.placement.inline.add(value)

    def _prints_inline(self, value: Statement, points: list[_Point]) -> bool:
        kind = value.__class__
        if kind is MatrixInit and value.name is None and has_short_zero(value.type) and is_zero(value):  # type: ignore[arg-type]
            return True
        if kind is ListInit or (value in self.in_braces and self._crashes_compilers(value)):
            return False
        if value.name is not None and not (isinstance(value, Cast) and isinstance(value.value, ATOMS)):
            return False
        loop = self.point[value][1] if value in self.point else None
        crosses = bool([around for _, around in points if around is not loop])
        if kind in READS:
            return self._reads_inline(value, points, crosses)
        if len(points) == 1 and not crosses:
            return not (value.hint and kind is Operation and self._reads_overwritten(value, points))
        user = self.user.get(value)
        is_squared = isinstance(value.type, Tensor) and isinstance(user, Operation) and user.op == "dot"
        return is_cheap(value) or (not crosses and not is_squared and may_repeat(value, len(points), self.is_infix))

    def _reads_inline(self, value: Statement, points: list[_Point], crosses: bool) -> bool:
        """Return whether a value that is read from memory can be read where it is used."""
        if isinstance(value, (LocalLoad, GlobalLoad)):
            if self._is_overwritten(value, points, crosses):
                return False
            if isinstance(self.user.get(value), MatrixElement) and is_of_neighbours(value.pointer):
                return False  # lavapipe reads a wrong one
            return isinstance(value, LocalLoad) or (not crosses and self._may_read_again(value, points))
        if len(points) != 1 or crosses:
            return False
        end = points[0][0]
        if isinstance(value, Call):
            return not self._may_have_changed(value, end)
        memory = TEXELS if isinstance(value, TEXEL_READS) else TOPOLOGY
        return not self.may_be_written(memory, self.point[value][0], end)

    def _reads_overwritten(self, value: Statement, points: list[_Point]) -> bool:
        """Return whether a value is made of variables that change before it is used, so that it gets one instead."""
        waiting = [value]
        while waiting:
            part = waiting.pop()
            if isinstance(part, LocalLoad) and self._is_overwritten(part, points, False):
                return True
            if isinstance(part, (Operation, Cast, MatrixInit)):
                waiting += [operand for operand in operands(part) if operand.name is None]
        return False

    def _crashes_compilers(self, value: Statement) -> bool:
        """Return whether a value would be a choice of vectors or structs between braces: `{x, c ? vec2{y, z} : v}`.

        NVRTC before CUDA 13.1 ends the process by a signal there.
        """
        is_choice = isinstance(value, IfExp) or (isinstance(value, Operation) and value.op == "select")
        return is_choice and value in self.in_braces and not isinstance(value.type, Scalar)

    def _may_read_again(self, load: GlobalLoad, points: list[_Point]) -> bool:
        """Return whether a load is read where it is used: compilers merge loads with no store between them."""
        if len(points) == 1:
            return True
        if len(points) > MAX_UNCHANGED_READS or not is_small(load.type):
            return False
        if isinstance(load.pointer, GlobalPtr) and load.pointer.lanes > 1:
            return False  # lavapipe reads `x4(i).x` for `x4(i).y` next to `x4(i)`
        last = max([position for position, _ in points])
        return len(points) <= MAX_READS or not any(
            self.may_be_written(memory, self.point[load][0], last) for memory in self.writes
        )

    def _may_have_changed(self, call: Call, end: int) -> bool:
        """Return whether memory may be written between a call without effects and the position of its only use."""
        start = self.point[call][0]
        return bool(call.EFFECT) and any(self.may_be_written(memory, start, end) for memory in self.writes)

    def _is_overwritten(self, load: LocalLoad | GlobalLoad, points: list[_Point], crosses: bool) -> bool:
        memory = memory_behind(load.pointer)
        others = () if isinstance(memory, Alloca) else (*self.writes.get(ANYTHING, ()), *self.fences)
        if memory not in self.writes and not others:
            return False
        position, loop = self.point[load]
        last = max([other for other, _ in points])
        if crosses:
            last = max(last, *(_end_of_crossed(point, loop) for point in points))
        return self.may_be_written(memory, position, last)


def _end_of_crossed(point: _Point, loop: _Loop | None) -> int:
    """Return the end of the outermost loop around `point` that lies inside `loop`."""
    end, inner = point
    while inner is not None and inner is not loop:
        end = max(end, inner.end)
        inner = inner.parent
    return end


def _is_unchanged_by(call: Statement, value: Statement) -> bool:
    """Return whether a value is the same before and after a call."""
    if isinstance(value, (*CALLS, *TEXEL_READS, IfExp)):
        return value.name is not None
    if isinstance(value, GlobalLoad):
        return isinstance(call, (Rand, Collective)) or value.name is not None
    return not isinstance(value, LocalLoad) or not isinstance(call, (Call, Exchange)) or value.name is not None


def _is_set_by(statement: Statement, local: Statement) -> bool:
    """Return whether `statement` stores to `local` on every path before any other use of it."""
    if not isinstance(statement, If):
        return isinstance(statement, LocalStore) and statement.pointer is local
    for block in (statement.then, statement.otherwise):
        statements = block.statements if block is not None else []
        first = next((s for s in statements if s.EFFECT & Effect.CONTROL or _mentioned(s, {local})), None)
        if first is None or not _is_set_by(first, local):
            return False
    return True


def _mentioned(statement: Statement, candidates: set[Statement]) -> set[Statement]:
    """Return which of `candidates` are read or written by `statement` or inside it."""
    mentioned = {o for o in operands(statement) if o in candidates}
    for attribute in statement.BLOCKS:
        if (block := getattr(statement, attribute)) is None:
            continue
        if block.result in candidates:
            mentioned.add(block.result)
        for inner in block.statements:
            mentioned |= _mentioned(inner, candidates)
    return mentioned
