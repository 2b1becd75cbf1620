"""The body of a loop for several iterations at once (`wide_accesses`).

In: a body and the `Plan` of its loop. Out: statements on vectors, with loads and stores of vectors. Elements of a row
that start between vectors are taken from the vector at the index itself, but those beyond it:

    u[i, (j + 1) % n]    ->    vec4(row.y, row.z, row.w, u[i, (j + 4) % n])    with row = u[i, j .. j + 3]

What is no operation on vectors is computed for each iteration, from elements of vectors. Of what depends on the index
alone, only that is computed which one uses: above, one remainder of four. Of a wider window two or more elements are
beyond, and taken from the vectors before and after: a warp that loads every fourth number takes as long as for all.
"""

from __future__ import annotations

from ....ir.builder import AXES, Builder
from ....ir.nodes import Block, Statement, blocks, clone, operands, walk
from ....ir.statements import (
    Alloca,
    Array,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    RangeFor,
)
from ....ir.types import Scalar, Tensor, i32
from .wide_cells import only_active
from .widenable import Plan

Row = tuple[Array, tuple[Statement, ...], int]


def last_index(builder: Builder, plan: Plan, by: int = 0) -> Statement:
    """Return the last index of the loop, and `by`."""
    own: Statement = builder.add(LoopIndex(plan.loop, len(plan.loop.starts) - 1, type=i32))
    return builder.shifted(own, by)


class WideBody:
    """Copies the statements of a body for several iterations at once.

    bits: of the iterations that are run, None if all are.
    mapping: the copies. vectors: those of values that each iteration computes. of_lanes: these, by iteration.
    rows: the vectors of which neighbours are elements, by array, indices and number, 0 for the one at the index itself.
    whole: those that are loaded whole, since two or more of their elements are needed.
    held: what the elements of an array are known to be, where some of them keep it.
    """

    def __init__(self, plan: Plan, bits: Statement | None = None) -> None:
        self.plan, self.lanes, self.bits = plan, plan.lanes, bits
        self.mapping: dict[Statement, Statement] = {}
        self.vectors: dict[Statement, Statement] = {}
        self.of_lanes: dict[tuple[Statement, int], Statement] = {}
        self.rows: dict[Row, Statement] = {}
        self.whole = _whole_rows(plan)
        self.held: dict[Array, Statement] = {}

    def block(self, body: Block) -> Block:
        """Return the copy of a body without its condition."""
        builder = Builder(Block())
        for statement in body:
            if statement is self.plan.branch:
                assert isinstance(statement, If)
                for inner in statement.then:
                    self.statement(builder, inner)
            elif statement not in self.plan.tests:
                self.statement(builder, statement)
        return builder.block

    def statement(self, builder: Builder, statement: Statement) -> None:
        """Copy one statement."""
        plan = self.plan
        builder.location = statement.location
        if statement in plan.shifts:
            self.mapping[statement] = last_index(builder, plan, plan.shifts[statement])
        elif isinstance(statement, RangeFor):
            self.loop(builder, statement)
        elif isinstance(statement, If):
            self.branch(builder, statement)
        elif statement in plan.by_lane:
            for lane in range(self.lanes):
                self.lane(builder, statement, lane)
        elif statement in plan.apart or statement in plan.by_index:
            if isinstance(statement, GlobalLoad):
                self.mapping[statement] = self.neighbours(builder, statement)
        elif isinstance(statement, GlobalLoad) and statement in plan.wide and (plan.apart or plan.chosen):
            self.mapping[statement] = self.neighbours(builder, statement)
        else:
            self.several(builder, statement)

    def loop(self, builder: Builder, loop: RangeFor) -> None:
        """Copy a loop inside."""
        body, loop.body = loop.body, Block()
        copied = builder.add(clone(loop, self.mapping))
        loop.body = body
        assert isinstance(copied, RangeFor)
        self.inner(builder, body, copied.body)

    def branch(self, builder: Builder, branch: If) -> None:
        """Copy a branch that all iterations take or none."""
        copied = If(self.mapping.get(branch.condition, branch.condition), location=branch.location)
        copied.otherwise = None if branch.otherwise is None else Block()
        builder.add(copied)
        for block, into in zip(blocks(branch), blocks(copied), strict=True):
            self.inner(builder, block, into)

    def inner(self, builder: Builder, block: Block, into: Block) -> None:
        """Copy a block inside; what it computes is not known after it."""
        known = self.vectors, self.of_lanes, self.rows
        self.vectors, self.of_lanes, self.rows = dict(self.vectors), dict(self.of_lanes), dict(self.rows)
        with builder.into(into):
            for statement in block:
                self.statement(builder, statement)
        self.vectors, self.of_lanes, self.rows = known

    def several(self, builder: Builder, statement: Statement) -> None:
        """Copy one statement that takes and gives several numbers, or the same in all iterations."""
        mapping = dict(self.mapping)
        if not isinstance(statement, GlobalPtr):
            mapping |= {value: self.vector(builder, value) for value in operands(statement) if self.is_by_lane(value)}
        copied = self.mapping[statement] = clone(statement, mapping)
        if isinstance(copied, LoopIndex):
            copied.loop = self.mapping.get(copied.loop, copied.loop)  # type: ignore[assignment]
        if statement in self.plan.wide:
            assert isinstance(statement.type, Scalar)
            copied.type = Tensor((self.lanes,), statement.type)
            if isinstance(copied, GlobalPtr):
                copied.lanes = self.lanes
        if isinstance(copied, (GlobalStore, LocalStore)) and not isinstance(copied.value.type, Tensor):
            assert copied.pointer.type is not None
            copied.value = builder.fit(copied.value, copied.pointer.type)
        if self.bits is not None:
            self.keep(builder, copied, self.bits)
        if isinstance(copied, GlobalStore):
            self.rows.clear()  # arrays may overlap
        builder.add(copied)

    def keep(self, builder: Builder, statement: Statement, bits: Statement) -> None:
        """Let a store of several elements keep those of inactive cells."""
        if isinstance(statement, GlobalLoad) and isinstance(pointer := statement.pointer, GlobalPtr):
            self.held.setdefault(pointer.array, statement)
        elif isinstance(statement, GlobalStore) and isinstance(pointer := statement.pointer, GlobalPtr):
            if pointer.array not in self.held:
                self.held[pointer.array] = builder.load(pointer)
            statement.value.hint = f"{pointer.array.name}_new"
            statement.value = only_active(builder, bits, statement.value, self.held[pointer.array], self.lanes)

    # --- rows ---------------------------------------------------------------------------------------------------------

    def neighbours(self, builder: Builder, load: GlobalLoad) -> Statement:
        """Return several elements from the one that is loaded: most are in the vector at the index."""
        pointer, kind = load.pointer, load.type
        assert isinstance(pointer, GlobalPtr) and isinstance(kind, Scalar)
        shift = self.plan.shift(pointer)
        if shift % self.lanes:
            elements = [self.element(builder, pointer, kind, lane) for lane in range(self.lanes)]
            made = builder.tensor(elements, (self.lanes,), kind)
            made.name = load.name
            return made
        return self.row(builder, pointer, kind, shift // self.lanes)

    def element(self, builder: Builder, pointer: GlobalPtr, kind: Scalar, lane: int) -> Statement:
        """Return the element that one of the iterations loads."""
        number, position = divmod(self.plan.shift(pointer) + lane, self.lanes)
        is_near = pointer.indices[-1] in self.plan.near
        if number == 0 or (not is_near and (*_row_of(pointer), number) in self.whole):
            return builder.element(self.row(builder, pointer, kind, number), [builder.const(position)])
        indices = [self.mapping.get(index, index) for index in pointer.indices[:-1]]
        last = self.lane(builder, pointer.indices[-1], lane)
        return builder.load(builder.add(GlobalPtr(pointer.array, [*indices, last], type=pointer.array.element)))

    def row(self, builder: Builder, pointer: GlobalPtr, kind: Scalar, number: int = 0) -> Statement:
        """Return the vector at the index, or the one that is a number of vectors after it."""
        array, indices = pointer.array, tuple(self.mapping.get(index, index) for index in pointer.indices[:-1])
        if (array, indices, number) not in self.rows:
            last = last_index(builder, self.plan, number * self.lanes)
            made = GlobalPtr(array, [*indices, last], lanes=self.lanes, type=Tensor((self.lanes,), kind))
            loaded = self.rows[array, indices, number] = builder.load(builder.add(made))
            if number:
                side, distance = ("after" if number > 0 else "before"), abs(number)
                loaded.hint = f"{array.name}_{side}" + (f"_{distance}" if distance > 1 else "")
        return self.rows[array, indices, number]

    # --- values of each iteration -------------------------------------------------------------------------------------

    def is_by_lane(self, value: Statement) -> bool:
        """Return whether a value is computed for each iteration."""
        return value in self.plan.by_lane or value in self.plan.by_index or value in self.plan.shifts

    def vector(self, builder: Builder, value: Statement) -> Statement:
        """Return the vector of what the iterations have computed."""
        if value not in self.vectors:
            assert isinstance(value.type, Scalar)
            elements = [self.lane(builder, value, lane) for lane in range(self.lanes)]
            made = self.vectors[value] = builder.tensor(elements, (self.lanes,), value.type)
            made.name, made.hint = value.name, value.hint
        return self.vectors[value]

    def lane(self, builder: Builder, value: Statement, lane: int) -> Statement:
        """Return the value of one of the iterations."""
        plan = self.plan
        if value in plan.shifts:
            return last_index(builder, plan, plan.shifts[value] + lane)
        if value in plan.by_lane or value in plan.by_index:
            if (value, lane) not in self.of_lanes:
                self.of_lanes[value, lane] = self.copy(builder, value, lane)
            return self.of_lanes[value, lane]
        copied = self.mapping.get(value, value)
        return builder.element(copied, [builder.const(lane)]) if value in plan.wide else copied

    def copy(self, builder: Builder, value: Statement, lane: int) -> Statement:
        """Compute a value for one of the iterations."""
        copied: Statement
        if isinstance(value, IfExp):
            copied = self.choice(builder, value, lane, self.outside(builder, value, lane))
        else:
            copied = clone(value, {operand: self.lane(builder, operand, lane) for operand in operands(value)})
        copied.name, copied.hint = None, value.name and f"{value.name}_{AXES[lane]}"
        return builder.add(copied)

    def outside(self, builder: Builder, choice: IfExp, lane: int) -> dict[Statement, Statement]:
        """Compute what a choice of one of the iterations needs, before it; return it by the values it is a copy of."""
        sides = blocks(choice)
        inside = [statement for side in sides for statement in walk(side)]
        results = [block.result for s in (choice, *inside) for block in blocks(s) if block.result is not None]
        used = dict.fromkeys([choice.condition, *(value for s in inside for value in operands(s)), *results])
        known: dict[Statement, Statement] = {}
        for load in inside:
            if isinstance(load, GlobalLoad) and load in self.plan.chosen:
                assert isinstance(load.pointer, GlobalPtr) and isinstance(load.type, Scalar)
                known[load] = self.element(builder, load.pointer, load.type, lane)
        values = [value for value in used if value not in inside and not isinstance(value, (GlobalPtr, Alloca))]
        return known | {value: self.lane(builder, value, lane) for value in values}

    def choice(self, builder: Builder, choice: IfExp, lane: int, known: dict[Statement, Statement]) -> IfExp:
        """Return a choice of one of the iterations. known: the copies of what it uses."""
        sides = []
        for block in (choice.then, choice.otherwise):
            with builder.into(Block()) as side:
                for statement in block:
                    if statement not in known:
                        known[statement] = self.inside(builder, statement, lane, known)
            assert block.result is not None
            side.result = known[block.result]
            sides.append(side)
        return IfExp(known[choice.condition], *sides, type=choice.type, location=choice.location)

    def inside(self, builder: Builder, statement: Statement, lane: int, known: dict[Statement, Statement]) -> Statement:
        """Copy one statement of a choice for one of the iterations."""
        plan, at = self.plan, [builder.const(lane)]
        match statement:
            case _ if statement in plan.shifts:
                return last_index(builder, plan, plan.shifts[statement] + lane)
            case GlobalPtr() if statement in plan.wide:
                return statement  # its row is loaded
            case LocalLoad(pointer=pointer) if pointer in plan.wide:
                return builder.element(builder.load(self.mapping[pointer]), at)
            case IfExp():
                return builder.add(self.choice(builder, statement, lane, known))
        return builder.add(clone(statement, {**self.mapping, **known}))


def _row_of(pointer: GlobalPtr) -> tuple[Array, tuple[Statement, ...]]:
    """Return the array and the indices of a pointer, but the last."""
    return pointer.array, tuple(pointer.indices[:-1])


def _whole_rows(plan: Plan) -> set[Row]:
    """Return the vectors before and after the one at the index of which iterations need two elements or more. An array
    of one axis may end within a vector, so that those after the index are among them only if the last is needed.
    """
    needed: dict[Row, set[int]] = {}
    for pointer in plan.wide:
        if isinstance(pointer, GlobalPtr) and pointer.indices[-1] not in plan.near:
            for lane in range(plan.lanes):
                number, position = divmod(plan.shift(pointer) + lane, plan.lanes)
                needed.setdefault((*_row_of(pointer), number), set()).add(position)
    return {
        row
        for row, positions in needed.items()
        if len(positions) > 1 and (row[0].ndim > 1 or row[2] < 0 or plan.lanes - 1 in positions)
    }
