"""The statements of the IR, one dataclass each, with Taichi's names where Taichi has the concept.

Pointers (`Alloca`, `GlobalPtr`, `GlobalTemporary`, `MatrixPtr`, `StructPtr`) have the `type` of what they point to.
Conventions that every pass and printer may rely on:

- an operand is defined in an enclosing block, before the statement that reads it;
- indices of arrays and loops are i32; conditions are u1; shapes and `LoopIndex` are i32;
- elementwise operations have operands of one scalar type (casts are explicit); a scalar may be combined with a tensor;
- a value stored has the type of the pointer.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from ..lazy_dataclasses import dataclass
from .nodes import Block, Effect, Statement
from .origins import Origin
from .snodes import IndexComponent, Node
from .textures import Texture
from .types import Packing, Scalar, Type


@dataclass(eq=False, slots=True)
class Array:
    """A dense array that a kernel uses: an ndarray parameter or a captured field.

    An array with the binding -1 represents the cells of an SNode over which a loop runs; it is in no signature.

    Attributes:
        name: identifier in the emitted source.
        element: scalar, tensor (stored row by row) or struct.
        ndim: number of axes.
        binding: index among the kernel's arrays; shared arrays are counted separately.
        shape: constant extents of a field; None for an ndarray, whose extents come with each launch.
        extents: of a shared array, what its extents are made of, None for a number without a name; () if none has one.
        padding: of a shared array, elements after each row, which nothing accesses (`padded_rows`).
        parameter: position in the kernel's signature, None for a field.
        may_alias: whether another array of the kernel may share its memory (ndarrays may, fields do not).
        is_shared: it is memory of one block of threads, which is in no signature.
        place: the place node of a field in a tree with others or in another memory order; None: row-major by itself.
        offset: the first index along each axis, () if all are 0.
        strided: the distance of elements along each axis comes with the launch too, as for a transposed array.
        clamped: an index out of bounds means the nearest index in bounds.
        is_gradient: it is the gradient of the argument at `parameter`.
        derivative: in the kernel of a gradient, the array that holds its gradient; in that of a dual, its dual.
        is_constant: the user calls it constant in derivatives, `ti.stop_grad`.
        tangent: in the kernel of a gradient that is to be differentiated again, the array that holds its dual.
        parts: of a split field (SoA): an array for each component or member, which may itself have parts. The whole
            then has no memory and no binding, and `split_arrays` leaves only loops over it.
        path: of a part of a split field: its name in errors, such as `s.pos`.
        packing, words: of a field of quantised numbers: where they are in `words`, an array of integers. The field
            then has no memory and no binding, and `packed_arrays` leaves only loops over it.
        role: of an auxiliary array of a sparse node (`ir/sparse.py`), which is no field.
        node: the sparse node of an auxiliary array.
    """

    name: str
    element: Type
    ndim: int
    binding: int
    shape: tuple[int, ...] | None = None
    parameter: int | None = None
    may_alias: bool = False
    is_shared: bool = False
    place: Node | None = None
    offset: tuple[int, ...] = ()
    strided: bool = False
    clamped: bool = False
    is_gradient: bool = False
    derivative: Array | None = None
    is_constant: bool = False
    tangent: Array | None = None
    parts: tuple[Array, ...] = ()
    path: str = ""
    role: str = ""
    node: Node | None = None
    packing: Packing | None = None
    words: Array | None = None
    extents: tuple[Origin | None, ...] = ()
    padding: int = 0


@dataclass(eq=False, slots=True)
class Parameter:
    """A scalar or tensor passed by value, or a member of a struct passed by value.

    Attributes:
        name: identifier, or the path to the member: `ray.origin`.
        type: of the value.
        position: in the kernel's signature.
        component: number of its first scalar among those of the whole argument.
        by_reference: only of a real function: the parameter is a variable of the caller (`Reference`).
    """

    name: str
    type: Type
    position: int
    component: int = 0
    by_reference: bool = False


@dataclass(eq=False, slots=True)
class Temporary:
    """A value that crosses tasks through device memory. Made by `offload`.

    count: an array of that many values, which only entries with reductions or private sums access.
    """

    name: str
    type: Type
    count: int = 1


# --- values ---------------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Const(Statement):
    """A number. `value` is a Python int, float or bool that `type` (a scalar) represents exactly.

    origin: the expression of named numbers that printers write instead.
    notation: the literal, in lower case, that printers write of an integer that has this value: `0x00ff`, `0b101`.
        Two constants that differ in it alone are equal.
    """

    value: int | float | bool
    origin: Origin | None = None
    notation: str = ""


@dataclass(eq=False, slots=True)
class Operation(Statement):
    """An operation of `ops.OPS` (Taichi: UnaryOp, BinaryOp, TernaryOp). All operands are evaluated."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("operands",)
    op: str
    operands: list[Statement]
    by_launch: bool = False  # a division of i32 by what the launch packs (pass `launch_divisors`)


@dataclass(eq=False, slots=True)
class Cast(Statement):
    """`value` converted to `type`, element by element; with `bits`, its bits reinterpreted in a type of equal width.

    is_implicit: the frontend added it to store the value; only `overflow` reads this.
    in_lanes: of an f16, in a loop whose iterations are lanes of vectors (`passes/vectors/lane_halves.py`).
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("value",)
    value: Statement
    bits: bool = False
    is_implicit: bool = False
    in_lanes: bool = False


@dataclass(eq=False, slots=True)
class MatrixInit(Statement):
    """A tensor of its elements, row by row."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("elements",)
    elements: list[Statement]


@dataclass(eq=False, slots=True)
class MatrixElement(Statement):
    """One element of a tensor value; as many indices (i32) as the tensor has axes."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("value", "indices")
    value: Statement
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class StructInit(Statement):
    """A struct of its members, in the order of the type."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("values",)
    values: list[Statement]


@dataclass(eq=False, slots=True)
class StructElement(Statement):
    """A member of a struct value."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("value",)
    value: Statement
    member: str


@dataclass(eq=False, slots=True)
class ListInit(Statement):
    """A constant local array of values of one type. Only `ListItem` reads it; `type` is the type of an item."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("items",)
    items: list[Statement]


@dataclass(eq=False, slots=True)
class ListItem(Statement):
    """An item of a `ListInit`; the index (i32) is in range."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("origin", "index")
    origin: Statement
    index: Statement


@dataclass(eq=False, slots=True)
class IfExp(Statement):
    """`then` if the condition holds, else `otherwise`: blocks with a result, of which only one is evaluated.

    Short-circuit operators: `a and b` has otherwise = {False}, `a or b` has then = {True}.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("condition",)
    BLOCKS: ClassVar[tuple[str, ...]] = ("then", "otherwise")
    condition: Statement
    then: Block
    otherwise: Block


@dataclass(eq=False, slots=True)
class Rand(Statement):
    """A random number: uniform in [0, 1) for floats, all bits for integers, a coin for u1."""

    EFFECT: ClassVar[int] = Effect.WRITE


@dataclass(eq=False, slots=True)
class LoopIndex(Statement):
    """The current index of `loop` along `axis`. The loop is not an operand: the index is defined in its body."""

    loop: RangeFor | StructFor
    axis: int = 0


@dataclass(eq=False, slots=True)
class ArgLoad(Statement):
    """The value of a by-value parameter."""

    parameter: Parameter


@dataclass(eq=False, slots=True)
class IsAligned(Statement):
    """Whether the first element of `array` is at a multiple of `bytes`. Made by `wide_accesses`."""

    array: Array
    bytes: int


@dataclass(eq=False, slots=True)
class ArrayShape(Statement):
    """The extent of an array or texture along an axis (Taichi: ExternalTensorShapeAlongAxis); folds for fields."""

    array: Array | Texture
    axis: int


# --- pointers, loads and stores -------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Alloca(Statement):
    """A mutable local variable, initially zero.

    per_thread: each thread of the block has its own, and statements between barriers store to it before any reads it.
    """

    EFFECT: ClassVar[int] = Effect.NONE
    per_thread: bool = False


@dataclass(eq=False, slots=True)
class GlobalPtr(Statement):
    """An element of an array (Taichi: GlobalPtr and ExternalPtr); as many indices as the array has axes.

    cell: for an array in a pool, the number of the pool's cell that contains the element, if it is known.
    lanes: of neighbours along the last axis that are accessed together: the type is a vector of so many elements.
    is_flat: the only index is the number of the element in the array's memory, i32 or i64 (`lower_access`).
    by_word: it counts the numbers, all of one size, of which structs, vectors or matrices there consist.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices", "cell")
    array: Array
    indices: list[Statement]
    cell: Statement | None = None
    lanes: int = 1
    is_flat: bool = False
    by_word: bool = False


@dataclass(eq=False, slots=True)
class GlobalTemporary(Statement):
    """The address of a value that crosses tasks."""

    temporary: Temporary


@dataclass(eq=False, slots=True)
class MatrixPtr(Statement):
    """A pointer to an element of the tensor at `origin`."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("origin", "indices")
    origin: Statement
    indices: list[Statement]


@dataclass(eq=False, slots=True)
class StructPtr(Statement):
    """A pointer to a member of the struct at `origin`."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("origin",)
    origin: Statement
    member: str


@dataclass(eq=False, slots=True)
class LocalLoad(Statement):
    """The value of a local variable. pointer: an Alloca, or a pointer into one."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("pointer",)
    EFFECT: ClassVar[int] = Effect.READ
    pointer: Statement


@dataclass(eq=False, slots=True)
class LocalStore(Statement):
    """A store to a local variable. pointer: an Alloca, or a pointer into one."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("pointer", "value")
    EFFECT: ClassVar[int] = Effect.WRITE
    pointer: Statement
    value: Statement


@dataclass(eq=False, slots=True)
class GlobalLoad(Statement):
    """The value at a GlobalPtr, a GlobalTemporary, or a pointer into one."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("pointer",)
    EFFECT: ClassVar[int] = Effect.READ
    pointer: Statement


@dataclass(eq=False, slots=True)
class GlobalStore(Statement):
    """A store at a GlobalPtr, a GlobalTemporary, or a pointer into one."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("pointer", "value")
    EFFECT: ClassVar[int] = Effect.WRITE
    pointer: Statement
    value: Statement


@dataclass(eq=False, slots=True)
class AtomicOp(Statement):
    """Reads, combines by `ops.ATOMIC_OPS[op]` and writes in one step; the value is the old one. Tensors: per element.

    pointer: as for GlobalStore, or a local one, for which `local_atomics` replaces the operation by a plain one.
    mask: of an operation of `ops.MASKED_OPS`: the bits of the integer that change.
    together: of an addition that one instruction performs with others: their number, its position, how many they are.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("pointer", "value", "mask")
    EFFECT: ClassVar[int] = Effect.READ | Effect.WRITE
    op: str
    pointer: Statement
    value: Statement
    mask: Statement | None = None
    together: tuple[int, int, int] | None = None


# --- control --------------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class If(Statement):
    """Statements under a condition. is_python: it is an `if` of the user, not a check or guard that a pass added."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("condition",)
    BLOCKS: ClassVar[tuple[str, ...]] = ("then", "otherwise")
    EFFECT: ClassVar[int] = Effect.CONTROL
    condition: Statement
    then: Block = field(default_factory=Block)
    otherwise: Block | None = None
    is_python: bool = False


@dataclass(eq=False, slots=True)
class While(Statement):
    """Runs `body` as long as the result of `condition`, which is evaluated before each iteration, is true.

    is_known: a reader of the Python source sees whether the condition holds.
    """

    BLOCKS: ClassVar[tuple[str, ...]] = ("condition", "body")
    EFFECT: ClassVar[int] = Effect.CONTROL
    condition: Block
    body: Block = field(default_factory=Block)
    is_known: bool = False


ALL = -1
"""The `unroll_count` of a loop that shall be unrolled completely."""


@dataclass(eq=False, slots=True)
class RangeFor(Statement):
    """Runs `body` for all index tuples, the last axis fastest: axis k from starts[k] to before ends[k] by steps[k].

    At the top level of a kernel it runs in parallel unless `serialize`.

    Attributes:
        starts, ends, steps: i32 or i64, evaluated once before. A step is a constant other than 0, but in `row_lanes`.
        names: Python names of the indices.
        body: the statements of one iteration.
        serialize: whether it runs serially at the top level, too. block_dim: threads per block, None for the default.
        over: the array whose shape gives the extents, if any: each index tuple is then one of its elements.
        parallelize: number of host threads, None for all.
        order: index components in the order of iteration of a task, () for row-major; requires constant bounds.
        cells: the sparse array over whose active cells it iterates; its indices are computed from lists (`CellIndex`).
        purpose: of a loop that the compiler added: what it does.
        unroll: it is a static loop of the user with constant bounds, which the target's compiler unrolls.
        grid_stride: of a parallel loop on a GPU, whether a thread runs several iterations; None: the compiler decides.
        unroll_count: so many of its iterations shall be unrolled together, `ALL`: all, 0: as the compiler likes.
        block_local: arrays of which each block of threads shall have a copy of what it reads.
        halves: so many neighbouring halves it only converts to floats in a local array, which is one call of C.
        exact_ends: by axis, the index at which a source shall compare by `!=`, None for `<` (pass `exact_ends`).
        packs_divisors: the launch packs the extents by which its indices are computed (pass `launch_divisors`).
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("starts", "ends", "steps")
    BLOCKS: ClassVar[tuple[str, ...]] = ("body",)
    EFFECT: ClassVar[int] = Effect.CONTROL
    starts: list[Statement]
    ends: list[Statement]
    steps: list[Statement]
    names: list[str]
    body: Block = field(default_factory=Block)
    serialize: bool = False
    block_dim: int | None = None
    over: Array | None = None
    parallelize: int | None = None
    order: tuple[IndexComponent, ...] = ()
    cells: Array | None = None
    purpose: str = ""
    unroll: bool = False
    unroll_count: int = 0
    grid_stride: bool | None = None
    exact_ends: tuple[int | None, ...] = ()
    packs_divisors: bool = False
    block_local: list[Array] = field(default_factory=list)
    halves: int = 0


@dataclass(eq=False, slots=True)
class StructFor(Statement):
    """Runs `body` for all elements of `array`; the pass `struct_for` turns it into a RangeFor over its shape."""

    BLOCKS: ClassVar[tuple[str, ...]] = ("body",)
    EFFECT: ClassVar[int] = Effect.CONTROL
    array: Array
    names: list[str]
    body: Block = field(default_factory=Block)
    serialize: bool = False
    block_dim: int | None = None
    parallelize: int | None = None
    grid_stride: bool | None = None
    block_local: list[Array] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Break(Statement):
    """Leaves the innermost loop (of one axis)."""

    EFFECT: ClassVar[int] = Effect.CONTROL


@dataclass(eq=False, slots=True)
class Continue(Statement):
    """Continues with the next iteration of the innermost loop; directly in a parallel loop it ends the iteration."""

    EFFECT: ClassVar[int] = Effect.CONTROL


@dataclass(eq=False, slots=True)
class Return(Statement):
    """Returns the results, one value each. After `lower` a kernel has it only as its last statement."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("values",)
    EFFECT: ClassVar[int] = Effect.WRITE | Effect.CONTROL
    values: list[Statement]


# --- output and checks ------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Print(Statement):
    """Prints `parts` in order: strings, and (index into `values`, format specification) pairs."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("values",)
    EFFECT: ClassVar[int] = Effect.WRITE
    values: list[Statement]
    parts: list[str | tuple[int, str]]


@dataclass(eq=False, slots=True)
class Assert(Statement):
    """Stops with `message`, a template with {0}, {1} for `values`, if `condition` is false.

    kind: "assert", "overflow" or "iterations".
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("condition", "values")
    EFFECT: ClassVar[int] = Effect.WRITE
    condition: Statement
    message: str
    values: list[Statement]
    kind: str = "assert"


@dataclass(eq=False, slots=True)
class Notice(Statement):
    """Tells `message` on standard error if `condition` is true, and goes on; made by the pass `overflow_notices`."""

    OPERANDS: ClassVar[tuple[str, ...]] = ("condition",)
    EFFECT: ClassVar[int] = Effect.WRITE
    condition: Statement
    message: str
    values: ClassVar[tuple[Statement, ...]] = ()


@dataclass(eq=False, slots=True)
class IndexCheck(Statement):
    """Stops unless every index is within its extent; made by the passes `check_wide_indices` and `bounds`.

    Attributes:
        indices: integers of any width.
        extents: i32 values.
        message: a template with {0}, {1}, ... for the indices and then the extents.
        array: Python name of the indexed object.
        lower_bounds: the least index along each axis, () if all are 0.
    """

    OPERANDS: ClassVar[tuple[str, ...]] = ("indices", "extents")
    EFFECT: ClassVar[int] = Effect.WRITE
    indices: list[Statement]
    extents: list[Statement]
    message: str
    array: str
    lower_bounds: tuple[int, ...] = ()

    @property
    def values(self) -> list[Statement]:
        """The values in its record."""
        return [*self.indices, *self.extents]


Record = Print | Notice | Assert | IndexCheck
RECORDS = (Print, Notice, Assert, IndexCheck)
"""Statements that write a record for the host."""
CHECKS = (Assert, IndexCheck)
"""Records that end the iteration of the loop; the kernel ends after their task."""


def is_const(statement: Statement, value: Any = None) -> bool:
    """Return whether `statement` is a constant, with that value if one is given."""
    return isinstance(statement, Const) and (value is None or statement.value == value)


def repeats(statement: Statement) -> bool:
    """Return whether `statement` is a loop that runs as one: not a static loop, which the compiler unrolls."""
    return isinstance(statement, While) or (isinstance(statement, RangeFor) and not statement.unroll)


def base_pointer(pointer: Statement) -> Statement:
    """Return the Alloca, GlobalPtr or GlobalTemporary that `pointer` points into."""
    while pointer.__class__ in (MatrixPtr, StructPtr):  # of which there is no subclass
        pointer = pointer.origin
    return pointer


def origin_of(pointer: Statement) -> Statement | None:
    """Return the pointer whose target contains that of `pointer`, None if `pointer` is itself a base pointer."""
    return pointer.origin if isinstance(pointer, (MatrixPtr, StructPtr)) else None


def scalar_type(statement: Statement) -> Scalar:
    """Return the type of a value known to be a scalar."""
    assert isinstance(statement.type, Scalar)
    return statement.type
