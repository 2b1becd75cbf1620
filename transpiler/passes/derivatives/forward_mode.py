"""Adds to a kernel the duals of all that it computes: how its results change if what it reads changes.

v = x[i] * a              v = x[i] * a; v_dual = x_dual[i] * a
y[i] = v * v       ->     y[i] = v * v; y_dual[i] = 2 * v * v_dual
"""

from __future__ import annotations

from ...errors import TaichiCompilationError
from ...ir.builder import Builder
from ...ir.nodes import Block, Statement, blocks, clone, walk
from ...ir.statements import (
    Alloca,
    AtomicOp,
    Cast,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    IfExp,
    ListInit,
    ListItem,
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
)
from ...ir.tasks import Kernel
from ...ir.types import Struct
from ..context import PassContext
from .parts.activity import is_real, varied_values
from .parts.adjoints import ZERO
from .parts.algebra import Value
from .parts.refusals import check_kernel
from .parts.tangents import tangent_of


def forward_mode(kernel: Kernel, context: PassContext) -> bool:
    """Add duals to a kernel whose `derivative` is "forward".

    Raises: TaichiCompilationError for a statement that has no derivative and needs one.
    """
    if kernel.derivative != "forward":
        return False
    check_kernel(kernel)
    varied = varied_values(kernel.body)
    _Tangents(varied).block(kernel.body)
    return True


class _Tangents:
    """The tangent of each value that changes, and the variables that hold those of variables."""

    def __init__(self, varied: set[Statement]) -> None:
        self.varied = varied
        self.builder = Builder(Block())
        self.known: dict[Statement, Statement] = {}

    def block(self, block: Block) -> None:
        """Insert the tangents of the statements of a block after them."""
        statements, rebuilt = block.statements, Block()
        with self.builder.into(rebuilt):
            for statement in statements:
                self.builder.location = statement.location
                self.statement(statement)
        block.statements = rebuilt.statements

    def statement(self, statement: Statement) -> None:
        """Emit a statement and its tangent."""
        if isinstance(statement, IfExp):
            self.builder.add(statement)
            if statement in self.varied:
                self.known[statement] = self.choice(statement)
            return
        if isinstance(statement, AtomicOp):
            self.atomic(statement)
            return
        for inner in blocks(statement):
            self.block(inner)
        self.builder.location = statement.location
        self.builder.add(statement)
        if isinstance(statement, Alloca) and statement in self.varied:
            name = f"{statement.name}_dual" if statement.name else None
            self.known[statement] = self.builder.add(Alloca(type=statement.type, name=name))
        elif isinstance(statement, (LocalStore, GlobalStore)):
            self.store(statement)
        elif statement in self.varied:
            tangent = self.tangent(statement)
            if tangent is not None:
                assert statement.type is not None
                tangent = tangent if isinstance(statement.type, Struct) else self.builder.fit(tangent, statement.type)
                if statement.name and tangent.name is None:
                    tangent.name = f"{statement.name}_dual"
                self.known[statement] = tangent

    def store(self, statement: LocalStore | GlobalStore) -> None:
        """Emit the store of a tangent; a value that does not change has the tangent 0."""
        pointer = self.pointer(statement.pointer)
        if pointer is not None:
            assert pointer.type is not None
            tangent = self.known.get(statement.value)
            self.builder.store(pointer, self.builder.zero(pointer.type) if tangent is None else tangent)

    def atomic(self, statement: AtomicOp) -> None:
        """Emit an atomic operation and that of the tangents."""
        pointer = self.pointer(statement.pointer)
        tangent = self.known.get(statement.value)
        if pointer is not None and statement.op not in ("add", "sub"):
            raise statement.location.error(
                TaichiCompilationError,
                f"`ti.atomic_{statement.op}` has no dual here: it depends on the order of the iterations",
                "compute the result in a serial loop with a local variable, `ti.loop_config(serialize=True)`",
            )
        if pointer is not None and tangent is not None:
            self.known[statement] = self.builder.atomic(statement.op, pointer, tangent)
        elif pointer is not None and statement in self.varied:
            self.known[statement] = self.builder.load(pointer)
        self.builder.add(statement)

    def pointer(self, pointer: Statement) -> Statement | None:
        """Return the pointer to the tangent of what a pointer points to, None if it has none."""
        if not is_real(pointer.type):
            return None
        if isinstance(pointer, GlobalPtr):
            dual = pointer.array.derivative
            return None if dual is None else self.builder.add(GlobalPtr(dual, list(pointer.indices), type=pointer.type))
        if isinstance(pointer, MatrixPtr):
            origin = self.pointer(pointer.origin)
            return None if origin is None else self.builder.element_ptr(origin, pointer.indices)
        if isinstance(pointer, StructPtr):
            origin = self.pointer(pointer.origin)
            return None if origin is None else self.builder.member_ptr(origin, pointer.member)
        return self.known.get(pointer)

    def tangent(self, statement: Statement) -> Statement | None:
        """Return the tangent of a value, None if it does not change."""
        builder = self.builder
        match statement:
            case GlobalLoad() | LocalLoad():
                pointer = self.pointer(statement.pointer)
                return None if pointer is None else builder.load(pointer)
            case Operation():
                return None if statement.op in ZERO else self.operation(statement)
            case Cast(value=value) if not statement.bits:
                return self.known.get(value)
            case MatrixInit(elements=elements):
                return builder.add(MatrixInit([self.of(e) for e in elements], type=statement.type))
            case ListInit(items=items):
                return builder.add(ListInit([self.of(item) for item in items], type=statement.type))
            case ListItem(origin=origin, index=index):
                return builder.add(ListItem(self.known[origin], index, type=statement.type))
            case MatrixElement(value=value, indices=indices):
                return builder.element(self.known[value], indices) if value in self.known else None
            case StructInit(values=values):
                return builder.add(StructInit([self.of(value) for value in values], type=statement.type))
            case StructElement(value=value, member=member):
                return builder.member(self.known[value], member) if value in self.known else None
        raise statement.location.error(
            TaichiCompilationError,
            f"The dual needs the derivative of this line, and `{type(statement).__name__}` has none",
            "compute the value in a kernel of its own, outside of `ti.ad.FwdMode`",
        )

    def of(self, value: Statement) -> Statement:
        """Return the tangent of a value, which is 0 if it does not change."""
        assert value.type is not None
        found = self.known.get(value)
        return self.builder.zero(value.type) if found is None else found

    def operation(self, statement: Operation) -> Statement | None:
        """Return the tangent of an operation."""
        operands = [Value(self.builder, operand) for operand in statement.operands]
        found = [self.known.get(operand) for operand in statement.operands]
        tangents = [None if tangent is None else Value(self.builder, tangent) for tangent in found]
        if len(found) == 2 and statement.operands[0] is statement.operands[1] and statement.op in ("mul", "dot"):
            tangents = [tangents[0], None] if statement.op == "mul" else tangents
        result = tangent_of(statement.op, Value(self.builder, statement), operands, tangents)
        return None if result is None else result.statement

    def choice(self, statement: IfExp) -> Statement:
        """Return the tangent of an expression with blocks: another one, in which these are run again."""
        mapping: dict[Statement, Statement] = {}
        copied = clone(statement, mapping)
        assert isinstance(copied, IfExp)
        for inner in walk(Block([copied])):
            assert not isinstance(inner, LoopIndex) or inner.loop not in mapping
        self.varied |= {new for old, new in mapping.items() if old in self.varied}
        for block in blocks(copied):
            assert block.result is not None
            result = block.result
            self.block(block)
            with self.builder.into(block):
                block.result = self.of(result)
        return self.builder.add(copied)
