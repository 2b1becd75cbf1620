"""Operations of GLSL on its built-in vectors and matrices.

In: an operation and the types of its operands. Out: a `Syntax`, or None if GLSL has no such operation and
`tensor_functions` must generate a helper. A scalar operand is converted to a tensor by a constructor if the built-in
function takes no scalar.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.ops import EXTREMES, MATH_H
from ....ir.types import Scalar, Tensor, Type, element_of, u32, with_element
from ..common.syntax_forms import ASSIGN, PRIMARY, Syntax, call, custom, infix, prefix, same, with_operands
from ..common.tensors import tensor_name
from . import tables as tables_glsl

RELATIONS = {
    "lt": "lessThan", "le": "lessThanEqual", "gt": "greaterThan", "ge": "greaterThanEqual",
    "eq": "equal", "ne": "notEqual",
}  # fmt: skip

VECTOR_FLOAT = frozenset({
    "abs", "sign", "round", "rsqrt", "normal_rsqrt", "normal_sqrt", "short_sin", "short_cos", "paired_sin",
    "paired_cos", "min", "max", "mod", "atan2", *EXTREMES, *MATH_H,
})  # fmt: skip
LINEAR = {
    "dot": ("dot", 2), "cross": ("cross", 2), "norm": ("length", 1), "normal_norm": ("length", 1),
    "normalized": ("normalize", 1),
}  # fmt: skip
WIDE = frozenset({"i32", "u32", "i64", "u64"})


def _is_native(tensor: Tensor) -> bool:
    """Return whether GLSL has the type, as `tensors.is_native` does for any language."""
    return all(2 <= extent <= 4 for extent in tensor.shape) and (len(tensor.shape) == 1 or tensor.element.is_float)


def _name_of(type: Type) -> str:
    return tensor_name(type) if isinstance(type, Tensor) else tables_glsl.TYPES[str(type)]


def operation(op: str, types: Sequence[Type], result: Type) -> Syntax | None:
    """Return the syntax of `op`, or None unless all tensors are native and GLSL has the operation."""
    tensors = [t for t in (*types, result) if isinstance(t, Tensor)]
    if not all(_is_native(t) for t in tensors):
        return None
    if op == "select" and isinstance(types[0], Scalar):
        return _repeat(tables_glsl.operation("select", element_of(result)), types, result, (1, 2))
    element = element_of(types[1] if op == "select" else types[0])
    if any(len(t.shape) == 2 for t in tensors):
        return _matrix(op, types, result)
    if op in LINEAR:
        return call(*LINEAR[op]) if element.is_float else None
    return _vector(op, types, result, element)


def _matrix(op: str, types: Sequence[Type], result: Type) -> Syntax | None:
    mixed = any(isinstance(t, Scalar) for t in types)
    match op:
        case "mul" if not mixed:
            return call("matrixCompMult", 2)
        case "mul" | "matmul" | "lean_matmul":
            return infix("*")
        case "add" | "sub" | "div" | "raw_div":
            return infix({"add": "+", "sub": "-"}.get(op, "/"))
        case "neg":
            return prefix("-")
        case "transpose":
            return call("transpose")
        case "outer_product":
            return call("outerProduct", 2)
    return None


def _vector(op: str, types: Sequence[Type], result: Type, element: Scalar) -> Syntax | None:
    if op in RELATIONS:
        return _relation(op, types, element)
    if op == "select":
        return _repeat(custom("mix({2}, {1}, {0})", PRIMARY, ASSIGN, ASSIGN, ASSIGN), types, result, (1, 2))
    if element.kind == "bool":
        return _logical(op, types)
    if op in tables_glsl.NEGATIONS and element.is_narrow_int:
        return None
    if op in ("add", "sub", "mul", "neg", "div", "bit_and", "bit_or", "bit_xor", "bit_not"):
        return tables_glsl.operation(op, element)
    if element.is_float:
        return _float(op, types, result, element)
    if op in ("shl", "sar") or (op == "shr" and element.kind == "uint"):
        return _repeat(tables_glsl.operation(op, element), types, result, (0,))
    if op in ("floor", "ceil", "round"):
        return same()
    if op in ("min", "max") and element.name in WIDE:
        return _repeat(tables_glsl.operation(op, element), types, result, (0, 1))
    if op in ("plain_div", "plain_mod") and element.name in WIDE and element.bits == 32:
        return tables_glsl.operation(op, element)
    if op == "abs":
        return same() if element.kind == "uint" else call("abs")
    return call("bitCount") if op == "popcnt" and element.bits == 32 else None


def _float(op: str, types: Sequence[Type], result: Type, element: Scalar) -> Syntax | None:
    if op in ("raw_div", "floordiv"):
        return tables_glsl.operation(op, element)
    if op in VECTOR_FLOAT and not tables_glsl.has_helper(op, element):
        return _repeat(tables_glsl.operation(op, element), types, result, (0, 1))
    return None


def _repeat(syntax: Syntax, types: Sequence[Type], shape: Type, which: Sequence[int]) -> Syntax:
    """Wrap the scalar operands numbered in `which` in the constructor of a tensor."""
    operands = [f"{{{k}}}" for k in range(len(types))]
    needs = list(syntax.operand_precedence)
    for k in which:
        if k < len(types) and isinstance(types[k], Scalar) and isinstance(shape, Tensor):
            operands[k] = f"{_name_of(with_element(shape, element_of(types[k])))}({{{k}}})"
            needs[k] = ASSIGN
    return Syntax(syntax.template.format(*operands), syntax.precedence, tuple(needs), syntax.helpers)


def _relation(op: str, types: Sequence[Type], element: Scalar) -> Syntax:
    shape = next(t for t in types if isinstance(t, Tensor))
    if element.kind == "bool" and op not in ("eq", "ne"):
        return with_operands(call(RELATIONS[op], 2), f"{tensor_name(Tensor(shape.shape, u32))}({{0}})", PRIMARY, ASSIGN)
    return _repeat(call(RELATIONS[op], 2), types, shape, (0, 1))


def _logical(op: str, types: Sequence[Type]) -> Syntax | None:
    """bvec has no && and ||: it is converted to the numbers 0 and 1, which have & and |."""
    shape = next(t for t in types if isinstance(t, Tensor))
    if op in ("logical_not", "bit_not"):
        return call("not")
    symbol = {"logical_and": "&", "bit_and": "&", "min": "&", "logical_or": "|", "bit_or": "|", "max": "|"}.get(op)
    if symbol is None:
        return same() if op in ("abs", "sign", "floor", "ceil", "round") else None
    numbers = tensor_name(Tensor(shape.shape, u32))
    wrapped = [f"{numbers}({{0}})", f"{numbers}({{1}})"]
    template = f"{tensor_name(shape)}({f' {symbol} '.join(wrapped)})"
    return Syntax(template, PRIMARY, (ASSIGN, ASSIGN))


def cast(old: Tensor, new: Tensor, bits: bool) -> Syntax | None:
    """Return the syntax of a conversion between native tensors, None if GLSL has none."""
    if not (_is_native(old) and _is_native(new)):
        return None
    if not bits:
        return call(tensor_name(new))
    if len(old.shape) == 2:
        return None
    syntax = tables_glsl.bit_cast(old.element, new.element)
    return call(tensor_name(new)) if old.element.is_float == new.element.is_float else syntax
