"""Creates statements, appends them to the current block, and gives each its type from the op table.

Casts of operands are inserted here, so a kernel is well typed by construction and needs no type-check pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from ..errors import NOWHERE, SourceLocation, TaichiCompilationError, TaichiTypeError
from .nodes import Block, Statement, clone, operands
from .ops import OPS, U1_OPS, RuleError, ShapeError
from .origins import notation_in, origin_in, settled
from .statements import (
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    LocalLoad,
    LocalStore,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    StructElement,
    StructInit,
    StructPtr,
    base_pointer,
)
from .types import (
    Scalar,
    Struct,
    StructError,
    Tensor,
    Type,
    count_scalars,
    describe_type,
    element_of,
    f32,
    i32,
    u1,
    with_element,
)

S = TypeVar("S", bound=Statement)

AXES = "xyzw"
"""The names of the elements of a vector."""
MAX_ELEMENTS = 1 << 16
"""Numbers in one value of a kernel: a local variable of more would not fit on the stack of a thread."""
LEAST_LIMIT = 65504
"""The largest f16: a number below it overflows in no type."""


class _Into:
    """A context in which a builder appends to another block; a generator would take three times as long."""

    __slots__ = ("block", "builder")

    def __init__(self, builder: Builder, block: Block) -> None:
        self.builder, self.block = builder, block

    def __enter__(self) -> Block:
        builder, block = self.builder, self.block
        self.block, builder.block = builder.block, block
        return block

    def __exit__(self, *error: object) -> None:
        self.builder.block = self.block


class Builder:
    """Creates statements in `block`, with `location` as their source location."""

    def __init__(self, block: Block, location: SourceLocation = NOWHERE, default_fp: Scalar = f32) -> None:
        self.block, self.location, self.default_fp = block, location, default_fp

    def into(self, block: Block) -> _Into:
        """Append to `block` within the context."""
        return _Into(self, block)

    def add(self, statement: S) -> S:
        """Append a statement; it gets the current location if it has none."""
        if statement.location is NOWHERE:
            statement.location = self.location
        self.block.statements.append(statement)
        return statement

    def again(self, value: Statement) -> Statement:
        """Compute a value again, with all that it is computed from."""
        copies: dict[Statement, Statement] = {}

        def copy(statement: Statement) -> Statement:
            if statement not in copies:
                for operand in operands(statement):
                    copy(operand)
                copies[statement] = self.add(clone(statement, copies))
            return copies[statement]

        return copy(value)

    def all_of(self, conditions: Sequence[Statement]) -> Statement | None:
        """Return whether all conditions hold, None if there are none."""
        total: Statement | None = None
        for condition in conditions:
            total = condition if total is None else self.op("logical_and", total, condition)
        return total

    def shifted(self, index: Statement, by: int) -> Statement:
        """Return an index plus a number; 0 adds nothing."""
        return self.op("add" if by > 0 else "sub", index, self.const(abs(by))) if by else index

    def const(self, value: int | float | bool, type: Scalar = i32) -> Const:
        """Return a number, converted to `type` as NumPy would; one that has a name in Python keeps it."""
        if value.__class__ is int and 0 <= value < 128 and type.kind in ("int", "uint"):  # most are
            return self.add(Const(value, type=type))
        origin, notation = (None, "") if value.__class__ is float else (origin_in(value), notation_in(value))
        if type.kind == "float":
            if -LEAST_LIMIT < value < LEAST_LIMIT:
                value = float(type.numpy.type(value))
            else:
                with np.errstate(over="ignore"):
                    value = float(type.numpy.type(value))
        elif type.kind == "bool":
            value = bool(value)
        else:
            value = type(value)
        origin = settled(origin, value, type) if origin is not None else None
        return self.add(Const(value, origin, notation, type=type))

    def cast(self, value: Statement, type: Scalar, is_implicit: bool = False) -> Statement:
        """Return `value` with its elements cast to `type`, if they differ. is_implicit: the user wrote no cast."""
        assert value.type is not None
        if value.type is type or element_of(value.type) is type:
            return value
        if isinstance(value, Const):
            made = self.const(_cast_number(value.value, type), type)
            made.origin, made.notation = settled(value.origin, made.value, type), value.notation
            return made
        return self.add(Cast(value, is_implicit=is_implicit, type=with_element(value.type, type)))

    def bit_cast(self, value: Statement, type: Scalar) -> Statement:
        """Return the bits of `value` as `type`, of equal width.

        Raises: TaichiTypeError if the widths differ.
        """
        assert value.type is not None
        old = element_of(value.type)
        if old.bits != type.bits:
            message = f"`ti.bit_cast` needs types of equal width, found {old} and {type}"
            raise self.location.error(TaichiTypeError, message, "use `ti.cast`")
        return self.add(Cast(value, True, type=with_element(value.type, type)))

    def op(self, name: str, *operands: Statement) -> Statement:
        """Apply an operation of the op table: cast operands by its rule, check shapes, derive the type.

        Raises: TaichiTypeError naming the operation, the types found and the types it takes.
        """
        types = tuple([operand.type for operand in operands])
        try:
            needed, result, shape, is_plain = operation_types(name, types, self.default_fp)
        except StructError as error:
            raise self._struct_operand(OPS[name].symbol or name, error.args[0]) from None
        except (RuleError, ShapeError) as error:
            type_names = " and ".join(f"`{describe_type(t)}`" for t in types)
            hint = error.hint if isinstance(error, ShapeError) else "write `ti.cast(x, ti.i32)`"
            raise self.location.error(
                TaichiTypeError, f"`{OPS[name].symbol or name}` {error}; found {type_names}", hint
            ) from None
        if is_plain:  # most are
            return self.add(Operation(name, list(operands), type=result))
        cast = [
            operand if operand.type is type else self.cast(operand, type)
            for operand, type in zip(operands, needed, strict=True)
        ]
        if result == u1 and needed[0] == u1:
            if name in ("sign", "abs", "floor", "ceil", "round"):
                return cast[0]
            if name in ("mod", "raw_mod"):
                return self.op("logical_and", cast[0], self.const(False, u1))
            if name == "pow":
                return self.op("logical_or", cast[0], self.op("logical_not", cast[1]))
            name = U1_OPS.get(name, name)
        return self.add(Operation(name, cast, type=Tensor(shape, result) if shape else result))

    def _struct_operand(self, name: str, struct: Struct) -> TaichiCompilationError:
        message = f"`{name}` takes numbers, vectors and matrices; found the struct `{struct}`"
        member = struct.names[0] if struct.members else "x"
        return self.location.error(TaichiTypeError, message, f"use the members: `a.{member}`")

    def check_size(self, count: int, location: SourceLocation | None = None) -> None:
        """Raise TaichiTypeError if a value would hold too many numbers. location: by default the current one."""
        if count > MAX_ELEMENTS:
            message = f"A value in a kernel holds at most {MAX_ELEMENTS:,} numbers; this one has {count:,}"
            hint = "use a field or an ndarray, and read one element at a time"
            raise (location or self.location).error(TaichiTypeError, message, hint)

    def tensor(self, elements: Sequence[Statement], shape: tuple[int, ...], element: Scalar) -> Statement:
        """Return a vector or matrix of scalars, given row by row, cast to `element`."""
        self.check_size(len(elements))
        return self.add(MatrixInit([self.cast(e, element) for e in elements], type=Tensor(shape, element)))

    def element(self, value: Statement, indices: Sequence[Statement]) -> Statement:
        """Return one element of a tensor value; of a `MatrixInit` the operand itself."""
        assert isinstance(value.type, Tensor)
        if isinstance(value, MatrixInit) and all(isinstance(i, Const) for i in indices):
            positions = [int(index.value) for index in indices if isinstance(index, Const)]
            return named_element(value, positions)
        return self.add(MatrixElement(value, list(indices), type=value.type.element))

    def element_ptr(self, origin: Statement, indices: Sequence[Statement]) -> Statement:
        """Return a pointer to one element of the tensor at `origin`."""
        assert isinstance(origin.type, Tensor)
        return self.add(MatrixPtr(origin, list(indices), type=origin.type.element))

    def struct(self, values: Sequence[Statement], type: Struct) -> Statement:
        """Return a struct of `values`, which have the types of its members."""
        return self.add(StructInit(list(values), type=type))

    def member(self, value: Statement, name: str) -> Statement:
        """Return a member of a struct value; of a `StructInit` the operand itself."""
        assert isinstance(value.type, Struct)
        if isinstance(value, StructInit):
            return value.values[value.type.names.index(name)]
        return self.add(StructElement(value, name, type=value.type.member(name)))

    def member_ptr(self, origin: Statement, name: str) -> Statement:
        """Return a pointer to a member of the struct at `origin`."""
        assert isinstance(origin.type, Struct)
        return self.add(StructPtr(origin, name, type=origin.type.member(name)))

    def zero(self, type: Type) -> Statement:
        """Return the value of `type` whose parts are all 0."""
        if isinstance(type, Struct):
            return self.struct([self.zero(member) for _, member in type.members], type)
        if isinstance(type, Tensor):
            element = self.zero(type.element)
            return self.add(MatrixInit([element] * type.size, type=type))
        return self.const(0, type)

    def load(self, pointer: Statement) -> Statement:
        """Return the value at a pointer of any kind."""
        if pointer.type.__class__ is not Scalar and pointer.type is not None:
            self.check_size(count_scalars(pointer.type))
        if isinstance(base_pointer(pointer), (GlobalPtr, GlobalTemporary)):
            return self.add(GlobalLoad(pointer, type=pointer.type))
        return self.add(LocalLoad(pointer, type=pointer.type))

    def store(self, pointer: Statement, value: Statement) -> Statement:
        """Store at a pointer of any kind; the value is cast to the pointer's type, a scalar fills a tensor."""
        assert pointer.type is not None
        value = self.fit(value, pointer.type)
        if isinstance(base_pointer(pointer), (GlobalPtr, GlobalTemporary)):
            return self.add(GlobalStore(pointer, value))
        return self.add(LocalStore(pointer, value))

    def atomic(self, op: str, pointer: Statement, value: Statement) -> Statement:
        """Atomically combine the target of `pointer` with `value`; return the old value."""
        assert pointer.type is not None
        return self.add(AtomicOp(op, pointer, self.fit(value, pointer.type), type=pointer.type))

    def fit(self, value: Statement, type: Type) -> Statement:
        """Return `value` cast to `type`; a scalar fills a tensor, a struct is cast member by member.

        Raises: TaichiTypeError if shapes differ, or the names of members.
        """
        if value.type is type:
            return value
        if isinstance(type, Struct) or isinstance(value.type, Struct):
            return self._fit_struct(value, type)
        value = self.cast(value, element_of(type), True)
        if value.type == type:
            return value
        if isinstance(type, Tensor) and isinstance(value.type, Scalar):
            self.check_size(type.size)
            return self.tensor([value] * type.size, type.shape, type.element)
        message = f"Cannot assign `{describe_type(value.type)}` to a variable of type `{describe_type(type)}`"
        one = isinstance(type, Scalar)
        hint = "assign one element, `v[0]`, or use a new variable" if one else "use a new variable for the new shape"
        raise self.location.error(TaichiTypeError, message, hint)

    def _fit_struct(self, value: Statement, type: Type) -> Statement:
        """Return `value` as the struct `type`, whose members are matched by name."""
        old = value.type
        if old == type:
            return value
        if not isinstance(type, Struct):
            message = f"Cannot assign the struct `{old}` to a variable of type `{type}`"
            raise self.location.error(TaichiTypeError, message, "assign one of its members")
        if not isinstance(old, Struct):
            message = f"Only dict or Struct can be assigned to a Struct: `{type}` cannot take `{old}`"
            raise self.location.error(TaichiTypeError, message, f"write `{type}(...)`, or assign a member")
        if sorted(old.names) != sorted(type.names):
            message = f"Member mismatch between structs {list(type.names)}, {list(old.names)}"
            raise self.location.error(TaichiTypeError, message, "give both structs the same members")
        return self.struct([self.fit(self.member(value, name), member) for name, member in type.members], type)


@lru_cache(maxsize=4096)
def operation_types(
    name: str, types: tuple[Type | None, ...], default_fp: Scalar
) -> tuple[Sequence[Scalar], Scalar, tuple[int, ...], bool]:
    """Return the types to which an operation casts the elements of its operands, that of its result, and its shape;
    then whether the operands are numbers of these types, and no truth values.

    Raises: StructError, RuleError and ShapeError.
    """
    entry = OPS[name]
    assert len(types) == entry.arity and None not in types
    elements = [element_of(t) for t in types if t is not None]
    needed, result = entry.rule(elements, default_fp)
    shape = (entry.shape_rule or elementwise_shape)([t.shape if isinstance(t, Tensor) else () for t in types])
    return needed, result, shape, tuple(needed) == types and not shape and needed[0] != u1


def _cast_number(value: int | float | bool, type: Scalar) -> int | float | bool:
    """Convert as C does: truncate toward zero and wrap; NaN and infinities become 0."""
    if type.is_integral and isinstance(value, float):
        if type.kind == "bool":
            return value != 0
        return int(value) if value == value and abs(value) != float("inf") else 0
    return value


def elementwise_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common shape of operands that are scalars or tensors of one shape.

    Raises: ShapeError if two tensors differ in shape.
    """
    nonscalar = [shape for shape in shapes if shape]
    if any(shape != nonscalar[0] for shape in nonscalar):
        raise ShapeError("takes vectors or matrices of one shape", "give both the same shape, or make one a scalar")
    return nonscalar[0] if nonscalar else ()


def named_element(tensor: MatrixInit, positions: Sequence[int]) -> Statement:
    """Return an operand of a tensor, which is called `v_x` if it needs a name and the tensor is `v`."""
    assert isinstance(tensor.type, Tensor)
    found = tensor.elements[flat_index(tensor.type.shape, positions)]
    if tensor.name and found.name is None and found.hint is None and len(positions) == 1 and positions[0] < len(AXES):
        found.hint = f"{tensor.name}_{AXES[positions[0]]}"
    return found


def flat_index(shape: tuple[int, ...], indices: Sequence[int]) -> int:
    """Return the row-major position of an element."""
    position = 0
    for extent, index in zip(shape, indices, strict=True):
        position = position * extent + index
    return position
