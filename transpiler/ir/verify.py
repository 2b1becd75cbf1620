"""Checks that a kernel is well formed at a stage, as passes and printers require.

Input: a kernel after any pass. Raises: InternalError that names the fault and shows the kernel.
"""

from __future__ import annotations

from enum import Enum

from ..errors import InternalError
from .functions import Call, CallResult, Function, Reference
from .nodes import Block, Effect, Statement, operands
from .ops import ATOMIC_OPS, MASKED_OPS, OPS
from .sparse import Activate, Append, CellNumber, Deactivate, IsActive, Length, index_count
from .statements import (
    Alloca,
    ArgLoad,
    Array,
    ArrayShape,
    AtomicOp,
    Break,
    Cast,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    If,
    IfExp,
    IndexCheck,
    ListInit,
    ListItem,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    Parameter,
    RangeFor,
    Return,
    StructElement,
    StructFor,
    StructInit,
    StructPtr,
    While,
    base_pointer,
)
from .tasks import Kernel
from .text import print_kernel
from .textures import ImageLoad, ImageStore, TextureFetch, TextureSample, TextureStatement
from .threads import COLLECTIVES, Barrier, Collective, Exchange, ThreadFor
from .types import Scalar, Struct, Tensor, Type, element_of, f32, i32, i64, scalars_of, u1


class Stage(Enum):
    """A stage of compilation; the value is its name for users."""

    FRONTEND = "frontend"
    LOWERED = "lowered"
    TASKS = "tasks"
    FINAL = "final"


def _pointed(pointer: GlobalPtr) -> Type:
    """Return the type of what a pointer into an array points to."""
    element, lanes = pointer.array.element, pointer.lanes
    if pointer.by_word and pointer.type is not None:
        return pointer.type if _is_word_of(pointer.type, element) else element
    return Tensor((lanes,), element) if lanes > 1 and isinstance(element, Scalar) else element


def _is_word_of(type: Type, element: Type) -> bool:
    """Return whether an element consists of numbers of the size of `type`."""
    return isinstance(type, Scalar) and {s.size_bytes for s in scalars_of(element)} == {type.size_bytes}


def verify(kernel: Kernel, stage: Stage) -> None:
    """Check `kernel` against the rules of `stage`.

    Raises: InternalError with the fault, the statement and the kernel in text form.
    """
    checker = _Checker(kernel, stage)
    try:
        checker.check()
    except _Fault as fault:
        statement = fault.args[1]
        what = ""
        if isinstance(statement, Statement):
            what = f" (at {type(statement).__name__}, {_location_of(statement)})"
        error = InternalError(f"malformed {stage.value} IR: {fault.args[0]}{what}\n{print_kernel(kernel)}")
        error.statement = statement
        raise error from None


class _Fault(Exception):
    """A violated rule; args: message, statement."""


def _location_of(statement: Statement) -> str:
    return f"{statement.location.file}:{statement.location.line}"


def _need(condition: bool, message: str, statement: Statement | None = None) -> None:
    if not condition:
        raise _Fault(message, statement)


POINTERS = (Alloca, GlobalPtr, GlobalTemporary, MatrixPtr, StructPtr, Reference)
WHOLE = (i32, i64)
LOCALS = (Alloca, Reference)


class _Checker:
    """State of a check. visible: values in scope; loops: the loops around the current statement."""

    def __init__(self, kernel: Kernel, stage: Stage) -> None:
        self.kernel = kernel
        self.stage = stage
        self.visible: set[Statement] = set()
        self.seen: set[Statement] = set()
        self.loops: list[Statement] = []
        self.arrays: set[Array] = {*kernel.arrays, *kernel.shared}
        self.function: Function | None = None
        self.reduced: set[Parameter] = set()

    def check(self) -> None:
        for function in self.kernel.functions:
            self.function, self.visible = function, set()
            self.block(function.body)
        self.function = None
        self.visible = set()
        if not self.kernel.tasks:
            self.block(self.kernel.body)
            return
        _need(not self.kernel.body.statements, "statements outside tasks")
        for task in self.kernel.tasks:
            self.visible = set()
            self.block(task.prologue, close=False)
            if task.loop is None:
                _need(not task.prologue.statements, "a serial task with a prologue")
                self.block(task.body)
                continue
            _need(task.loop.body is task.body, "a task whose body is not its loop's", task.loop)
            self.operands(task.loop)
            self.range_for(task.loop)
            for statement in task.prologue.statements:
                _need(not statement.EFFECT & (Effect.WRITE | Effect.CONTROL), "an effect in a prologue", statement)
            chosen = [step for step in task.loop.steps if not isinstance(step, Const)]
            self.visible = set(chosen)  # by the launch; the body asks for it (`row_lanes`)
            self.reduced = {p for r in task.reductions for p in (r.accumulator, r.other, r.innermost)}
            self.loops.append(task.loop)
            self.block(task.body)
            self.loops.pop()
            if task.reductions:
                self.block(task.join)
                self.block(task.epilogue)
            self.block(task.tables)
            self.reduced = set()

    def block(self, block: Block, close: bool = True) -> None:
        """Check the statements of a block; their values go out of scope at its end."""
        for position, statement in enumerate(block.statements):
            _need(statement not in self.seen, "a statement in two blocks", statement)
            self.seen.add(statement)
            self.operands(statement)
            self.statement(statement, position == len(block.statements) - 1)
            self.visible.add(statement)
        if block.result is not None:
            _need(block.result in self.visible, "the result of a block is not defined in it or around it", block.result)
        if close:
            self.visible.difference_update(block.statements)

    def operands(self, statement: Statement) -> None:
        for operand in operands(statement):
            if operand not in self.visible:
                _need(
                    False,
                    f"an operand ({type(operand).__name__} {operand.name or ''}) is not defined before its use",
                    statement,
                )

    def statement(self, statement: Statement, is_last: bool) -> None:
        """Check one statement and the blocks inside it."""
        if self.stage is not Stage.FRONTEND and isinstance(statement, Return) and self.function is None:
            _need(is_last and not self.loops, "a return that is not last", statement)
        self.types(statement)
        match statement:
            case If():
                self.block(statement.then)
                if statement.otherwise is not None:
                    self.block(statement.otherwise)
            case IfExp():
                for branch in (statement.then, statement.otherwise):
                    self.block(branch)
                    _need(
                        branch.result is not None and branch.result.type == statement.type,
                        "a branch of another type",
                        statement,
                    )
            case While():
                self.loops.append(statement)
                self.block(statement.condition)
                result = statement.condition.result
                _need(result is not None and result.type == u1, "a condition that is not u1", statement)
                self.block(statement.body)
                self.loops.pop()
            case RangeFor() | StructFor():
                dense = isinstance(statement, RangeFor) or self.stage in (Stage.FRONTEND, Stage.LOWERED)
                _need(dense, "a struct-for", statement)
                if isinstance(statement, RangeFor):
                    self.range_for(statement)
                self.loops.append(statement)
                self.block(statement.body)
                self.loops.pop()
            case ThreadFor():
                self.block(statement.body)
            case TextureSample() | TextureFetch() | ImageLoad() | ImageStore():
                self.texel(statement)
            case Break():
                _need(bool(self.loops), "a break outside loops", statement)
                loop = self.loops[-1]
                single = isinstance(loop, While) or (isinstance(loop, RangeFor) and len(loop.starts) == 1)
                _need(single or self.stage is Stage.FRONTEND, "a break out of a loop of several axes", statement)
            case Continue():
                _need(bool(self.loops), "a continue outside loops", statement)

    def range_for(self, loop: RangeFor) -> None:
        axes = len(loop.starts)
        _need(axes == len(loop.ends) == len(loop.steps) and axes > 0, "a loop whose bounds differ in number", loop)
        for value in (*loop.starts, *loop.ends, *loop.steps):
            _need(value.type in (i32, i64), f"a bound of type {value.type}", loop)
        for step in loop.steps:
            _need(not isinstance(step, Const) or step.value != 0, "a step of 0", loop)

    def types(self, statement: Statement) -> None:
        """Check the types of a statement and its operands."""
        match statement:
            case Operation():
                self.operation(statement)
            case Const():
                _need(_is_number(statement), f"the constant {statement.value} of {statement.type}", statement)
            case Cast():
                _need(_shape(statement) == _shape(statement.value), "a cast that changes the shape", statement)
            case MatrixInit(elements=elements):
                kind = statement.type
                _need(isinstance(kind, Tensor) and kind.size == len(elements), "a tensor of another size", statement)
                same = isinstance(kind, Tensor) and all(element.type == kind.element for element in elements)
                _need(same, "an element of another type", statement)
            case MatrixElement(value=origin, indices=indices) | MatrixPtr(origin=origin, indices=indices):
                kind = origin.type
                is_inside = isinstance(kind, Tensor) and len(indices) == len(kind.shape)
                _need(is_inside, "an element of a value that is no tensor", statement)
                _need(isinstance(kind, Tensor) and statement.type == kind.element, "another element type", statement)
                self.indices(statement, indices)
            case ListInit() | ListItem():
                self.local_array(statement)
            case StructInit(values=values):
                kind = statement.type
                same = isinstance(kind, Struct) and [v.type for v in values] == [type for _, type in kind.members]
                _need(same, "a struct of other members than its type", statement)
            case StructElement(value=origin, member=member) | StructPtr(origin=origin, member=member):
                _need(_has_member(origin.type, member, statement.type), "a missing member", statement)
            case GlobalPtr():
                self.element(statement)
            case Activate() | Deactivate() | IsActive() | CellNumber() | Append() | Length():
                self.cell(statement)
            case ArrayShape():
                _need(0 <= statement.axis < statement.array.ndim, "the extent of a missing axis", statement)
            case GlobalTemporary():
                _need(statement.temporary in self.kernel.temporaries, "an unknown temporary", statement)
            case LoopIndex():
                _need(statement.loop in self.loops, "an index outside its loop", statement)
            case IndexCheck(indices=indices, extents=extents):
                _need(len(indices) == len(extents), "another number of indices than extents", statement)
                _need(all(map(_is_integral, indices)), "an index that is no integer", statement)
            case If() | IfExp():
                _need(statement.condition.type == u1, "a condition that is not u1", statement)
            case LocalLoad() | GlobalLoad() | LocalStore() | GlobalStore() | AtomicOp():
                self.access(statement)
            case Barrier() | Collective() | Exchange():
                self.together(statement)
            case Return():
                results = self.kernel.returns if self.function is None else self.function.results
                _need([v.type for v in statement.values] == results, "results of other types", statement)
            case ArgLoad(parameter=parameter) | Reference(parameter=parameter):
                self.parameter(statement, parameter)
            case Call():
                self.call(statement)
            case CallResult(call=call, position=position):
                self.result(statement, call, position)

    def result(self, statement: CallResult, call: Statement, position: int) -> None:
        """Check that a call has the result that is read."""
        result_types = call.function.results if isinstance(call, Call) else []
        _need(len(result_types) > max(1, position), "a result of no call with several", statement)
        _need(result_types[position] == statement.type, "a result of another type", statement)

    def local_array(self, statement: ListInit | ListItem) -> None:
        """Check that all items of a local array have its type."""
        if isinstance(statement, ListInit):
            same = bool(statement.items) and all(item.type == statement.type for item in statement.items)
            _need(same, "an item of another type", statement)
            return
        same = isinstance(statement.origin, ListInit) and statement.origin.type == statement.type
        _need(same, "an item of a value that is no list", statement)
        self.indices(statement, [statement.index])

    def parameter(self, statement: Statement, parameter: Parameter) -> None:
        """Check that a parameter belongs to the function that reads it, and is read as it is passed."""
        owner = self.kernel if self.function is None else self.function
        is_own = parameter in owner.parameters or parameter in self.reduced
        _need(is_own, "a parameter of another function", statement)
        _need(isinstance(statement, Reference) == parameter.by_reference, "another way to pass", statement)

    def call(self, call: Call) -> None:
        """Check that a call fits the function's signature."""
        function = call.function
        _need(function in self.kernel.functions, "a call of an unknown function", call)
        given, wanted = [a.type for a in call.arguments], [p.type for p in function.parameters]
        _need(given == wanted, "arguments of other types", call)
        _need(all(isinstance(base, LOCALS) for base in call.references()), "a reference to no variable", call)
        _need(call.type == (function.results[0] if len(function.results) == 1 else None), "another result", call)

    def cell(self, statement: Activate | Deactivate | IsActive | CellNumber | Append | Length) -> None:
        """Check the indices of a cell."""
        _need(len(statement.indices) == index_count(statement), "another number of indices", statement)
        self.indices(statement, statement.indices)

    def texel(self, statement: TextureStatement) -> None:
        """Check that a texture is the kernel's, of the expected kind, and the size of a coordinate."""
        texture = statement.texture
        _need(texture in self.kernel.textures, "an unknown texture", statement)
        stored = isinstance(statement, (ImageLoad, ImageStore))
        _need(stored == texture.is_storage, "a texture of the other kind", statement)
        element = f32 if isinstance(statement, TextureSample) else i32
        coordinate = element if texture.ndim == 1 else Tensor((texture.ndim,), element)
        _need(statement.coordinate.type == coordinate, "a coordinate of another type", statement)
        texel = statement.value.type if isinstance(statement, ImageStore) else statement.type
        _need(texel == texture.texel, "a texel of another type", statement)

    def indices(self, statement: Statement, indices: list[Statement]) -> None:
        _need(all(index.type == i32 for index in indices), "an index that is not i32", statement)

    def element(self, pointer: GlobalPtr) -> None:
        """Check a pointer into an array."""
        array = pointer.array
        is_whole = self.stage is Stage.FRONTEND and (bool(array.parts) or array.words in self.arrays)
        _need(array in self.arrays or is_whole, "a pointer into an unknown array", pointer)
        _need(pointer.type == _pointed(pointer), "a pointer of another type than the array", pointer)
        if not pointer.is_flat:
            _need(len(pointer.indices) == pointer.array.ndim, "another number of indices than axes", pointer)
            self.indices(pointer, pointer.indices)
            return
        is_one = len(pointer.indices) == 1 and pointer.cell is None and not pointer.array.is_shared
        is_one = is_one and not (pointer.by_word and pointer.lanes > 1)
        _need(is_one and pointer.indices[0].type in WHOLE, "an element by a number that is not i32 or i64", pointer)

    def operation(self, statement: Operation) -> None:
        entry = OPS.get(statement.op)
        _need(entry is not None, f"an unknown operation `{statement.op}`", statement)
        assert entry is not None
        _need(len(statement.operands) == entry.arity, "another number of operands", statement)
        types = [operand.type for operand in statement.operands]
        _need(None not in types, "an operand without value", statement)
        _need(not any(isinstance(type, Struct) for type in types), "an operation on a struct", statement)
        scalars = [element_of(type) for type in types if type is not None]
        needed, _ = entry.rule(scalars, next((t for t in scalars if t.is_float), scalars[0]))
        _need(
            list(needed) == scalars, f"operands of `{statement.op}` of types {', '.join(map(str, scalars))}", statement
        )

    def together(self, statement: Barrier | Collective | Exchange) -> None:
        """Check that a collective has the operands of its entry, and is in a loop."""
        _need(bool(self.loops), "a barrier or collective outside a parallel loop", statement)
        if not isinstance(statement, Barrier):
            entry = COLLECTIVES.get(statement.op)
            _need(entry is not None, f"an unknown collective `{statement.op}`", statement)
            assert entry is not None
            _need(len(statement.operands) == len(entry.arguments), "another number of operands", statement)

    def access(self, statement: LocalLoad | GlobalLoad | LocalStore | GlobalStore | AtomicOp) -> None:
        """Check that an access suits the kind of its pointer and the type of its value."""
        pointer = statement.pointer
        _need(isinstance(pointer, POINTERS), "an access through a value that is no pointer", statement)
        local = isinstance(base_pointer(pointer), LOCALS)
        if not isinstance(statement, AtomicOp):
            _need(
                local == isinstance(statement, (LocalLoad, LocalStore)),
                "a local access of global memory, or the reverse",
                statement,
            )
        else:
            known = ATOMIC_OPS if statement.mask is None else MASKED_OPS
            _need(statement.op in known, f"an unknown atomic `{statement.op}`", statement)
        accessed = statement.type if isinstance(statement, (LocalLoad, GlobalLoad)) else statement.value.type
        _need(accessed == pointer.type, f"a value of type {accessed} at a pointer to type {pointer.type}", statement)


def _is_integral(statement: Statement) -> bool:
    return isinstance(statement.type, Scalar) and statement.type.is_integral


def _has_member(owner: Type | None, name: str, type: Type | None) -> bool:
    return isinstance(owner, Struct) and (name, type) in owner.members


def _shape(statement: Statement) -> tuple[int, ...]:
    return statement.type.shape if isinstance(statement.type, Tensor) else ()


def _is_number(constant: Const) -> bool:
    """Return whether a constant is a scalar that its type holds."""
    kind = constant.type
    return isinstance(kind, Scalar) and (kind.is_float or kind(constant.value) == constant.value)
