"""Generates the functions on tensors that a language lacks, each from its key.

A key says it all: "add(f32[3], f32) -> f32[3]". C calls them by names (`vec3_add_vs`, v: vector, s: scalar), CUDA by
overloaded operators and GLSL's names (`a + s`, `dot(a, b)`), GLSL as C, where its own operations do not reach.
In: key. Out: name and text of one function, and the keys it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from ..ir.types import Scalar, Tensor, Type, element_of
from . import elimination, literals, overflow_functions, tables_c, tables_cuda, tables_glsl
from .helpers import called
from .spelling_forms import ASSIGN, EXACT, PRIMARY, UNARY, Spelling, infix, prefix
from .tensors import (
    COMPONENTS,
    element_text,
    init_text,
    is_short_vector,
    name_of,
    parse_type,
    positions,
    tensor_name,
    type_keys,
)


class Table(Protocol):
    """What `tables_glsl`, `tables_cuda` and `tables_c` offer: spellings by scalar type."""

    def operation(self, op: str, type: Scalar) -> Spelling:
        """Return how `op` is written on scalars of `type` (of the values, for `select`)."""

    def cast(self, old: Scalar, new: Scalar) -> Spelling:
        """Return how a value is converted."""

    def bit_cast(self, old: Scalar, new: Scalar) -> Spelling:
        """Return how bits are read as another type of equal width."""


TABLES: dict[str, Table] = {"vulkan": tables_glsl, "cuda": tables_cuda, "c": tables_c}
QUALIFIERS = {"vulkan": "", "cuda": "__device__ inline ", "c": "static inline "}

OPERATORS: dict[str, str] = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "raw_div": "/", "bit_and": "&", "bit_or": "|", "bit_xor": "^",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "logical_and": "&", "logical_or": "|",
    "neg": "-", "bit_not": "~", "logical_not": "!", "matmul": "*", "plain_div": "/", "plain_mod": "%",
}  # fmt: skip
"""What CUDA overloads; `raw_div` of integers is a function, since `/` would hide the test for 0."""

NAMES: dict[str, str] = {
    "floordiv": "floor_div", "raw_div": "div", "raw_mod": "rem", "round": "rint", "isnan": "is_nan", "isinf": "is_inf",
    "norm": "length", "normalized": "normalize", "outer_product": "outerProduct",
    "outer_product_overflows": "outerProduct_overflows", "logical_and": "and",
    "logical_or": "or", "logical_not": "not", "bit_and": "and", "bit_or": "or", "bit_xor": "xor", "bit_not": "not",
}  # fmt: skip
"""Names of functions where they are not the operation's."""

PARAMETERS = "abc"


@dataclass(frozen=True, slots=True)
class Generated:
    """One generated function. uses: keys of structs, library chunks and other generated functions."""

    name: str
    text: str
    uses: tuple[str, ...]


def key_of(op: str, types: Sequence[Type], result: Type) -> str:
    """Return the key of an operation on tensors."""
    return f"{op}({', '.join(map(str, types))}) -> {result}"


def parse_key(key: str) -> tuple[str, tuple[Type, ...], Type]:
    """Return operation, operand types and result type of a key."""
    head, result = key.split(" -> ")
    op, operands = head[:-1].split("(")
    return op, tuple(parse_type(text) for text in operands.split(", ")), parse_type(result)


def cuda_operator(op: str, types: Sequence[Type]) -> str | None:
    """Return the operator CUDA overloads for `op` on `types`, if it does.

    As in GLSL, `*` between a matrix and a matrix is the product of linear algebra, which also takes a vector.
    """
    if op == "raw_div" and element_of(types[0]).is_integral:
        return None
    if op == "mul" and all(isinstance(t, Tensor) and len(t.shape) == 2 for t in types):
        return None
    return OPERATORS.get(op)


def function_name(target: str, op: str, types: Sequence[Type], result: Type) -> str:
    """Return the name of the function for `op` on `types`."""
    op = op.removeprefix(EXACT)
    name = NAMES.get(op, op)
    if target == "cuda":
        if op == "splat":
            return f"{tensor_name(_tensor(result))}_splat"
        if op == "mul" and cuda_operator(op, types) is None:
            return "matrixCompMult"
        return name if op != "cast" else f"{tensor_name(_tensor(result))}_from"
    if op in ("cast", "bit_cast"):
        return (
            f"{tensor_name(_tensor(result))}_from_{tensor_name(_tensor(types[0]))}{'_bits' if op == 'bit_cast' else ''}"
        )
    tensors = [t for t in types if isinstance(t, Tensor)] or [_tensor(result)]
    subject = _tensor(result) if op == "select" else tensors[0]
    if op.removesuffix("_overflows") in ("matmul", "outer_product") and tensors[1] != tensors[0]:
        return f"{tensor_name(subject)}_{name}_{tensor_name(tensors[1])}"
    mixed = len(tensors) < len(types) and op not in ("at", "splat")
    letters = "_" + "".join("s" if isinstance(t, Scalar) else "v" if len(_tensor(t).shape) == 1 else "m" for t in types)
    return f"{tensor_name(subject)}_{name}{letters if mixed else ''}"


@lru_cache(maxsize=4096)
def spell_call(target: str, op: str, types: tuple[Type, ...], result: Type) -> Spelling:
    """Return how a generated function is called."""
    key = (key_of(op, types, result),)
    symbol = cuda_operator(op, types) if target == "cuda" else None
    if symbol is not None:
        form = prefix(symbol) if len(types) == 1 else infix(symbol)
        return Spelling(form.text, form.precedence, form.operand_precedence, key, form.chain)
    arguments = ", ".join(f"{{{k}}}" for k in range(len(types)))
    return Spelling(f"{function_name(target, op, types, result)}({arguments})", PRIMARY, (ASSIGN,) * len(types), key)


def scalar_spelling(target: str, op: str, type: Scalar, new: Scalar) -> Spelling:
    """Return how one element is computed."""
    table = TABLES[target]
    if op == "cast":
        return table.cast(type, new)
    if op == "bit_cast":
        return table.bit_cast(type, new)
    return table.operation(op, type)


@lru_cache(maxsize=4096)
def generate(target: str, key: str) -> Generated:
    """Return the function of `key`."""
    if key.startswith("assign "):
        return _assignment(target, key.removeprefix("assign "))
    op, types, result = parse_key(key)
    make = SHAPED.get(op, _elementwise)
    body, uses = make(target, op, types, result)
    symbol = cuda_operator(op, types) if target == "cuda" else None
    name = f"operator{symbol}" if symbol else function_name(target, op, types, result)
    parameters = ", ".join(f"{name_of(target, t)} {_parameter(op, k)}" for k, t in enumerate(types))
    text = f"{QUALIFIERS[target]}{name_of(target, result)} {name}({parameters}) {{\n{body}\n}}"
    declared = [k for t in (*types, result) for k in (*type_keys(target, t), *type_keys(target, element_of(t)))]
    return Generated(name, text, tuple(dict.fromkeys([*declared, *uses, *called(target, body)])))


def _assignment(target: str, key: str) -> Generated:
    """Return CUDA's `a op= b` for the `a op b` of `key`."""
    op, types, result = parse_key(key)
    symbol = cuda_operator(op, types)
    left, right = name_of(target, result), name_of(target, types[1])
    head = f"{QUALIFIERS[target]}{left} &operator{symbol}=({left} &a, {right} b)"
    return Generated(f"operator{symbol}=", f"{head} {{\n    return a = a {symbol} b;\n}}", (key,))


def _parameter(op: str, index: int) -> str:
    return "index" if op == "at" and index == 1 else PARAMETERS[index]


def _tensor(type: Type) -> Tensor:
    assert isinstance(type, Tensor)
    return type


Body = tuple[str, tuple[str, ...]]


def _each(target: str, result: Tensor, write: Callable[[tuple[int | str, ...]], str]) -> str:
    """Return a body that computes every element by `write(indices)`: in one line for short vectors, else by loops."""
    if is_short_vector(result):
        return f"    return {init_text(target, result, [write((i,)) for i in range(result.size)])};"
    indices = ("i", "j")[: len(result.shape)]
    lines = [f"    {tensor_name(result)} r;"]
    for depth, (index, extent) in enumerate(zip(indices, result.shape, strict=True)):
        lines.append(f"{'    ' * (depth + 1)}for (int {index} = 0; {index} < {extent}; {index}++) {{")
    lines.append(f"{'    ' * (len(indices) + 1)}{element_text(target, result, 'r', indices)} = {write(indices)};")
    lines.extend("    " * depth + "}" for depth in range(len(indices), 0, -1))
    return "\n".join([*lines, "    return r;"])


def _format(spelling: Spelling, operands: Sequence[str]) -> str:
    """Fill in operands that are primary expressions."""
    return spelling.text.format(*operands)


def _read(target: str, type: Type, name: str, indices: tuple[int | str, ...]) -> str:
    return name if isinstance(type, Scalar) else element_text(target, _tensor(type), name, indices)


def _elementwise(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    tensor = _tensor(result)
    scalar = element_of(types[1] if op == "select" else types[0])
    spelling = scalar_spelling(target, op, scalar, tensor.element)
    narrows = (
        target == "cuda" and is_short_vector(tensor) and tensor.element.is_integral and 1 < tensor.element.bits < 32
    )

    def write(indices: tuple[int | str, ...]) -> str:
        text = _format(spelling, [_read(target, t, PARAMETERS[k], indices) for k, t in enumerate(types)])
        return f"({text})" if narrows and spelling.precedence < UNARY else text

    return _each(target, tensor, write), ()


def _splat(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    return _each(target, _tensor(result), lambda indices: "a"), ()


def _at(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    size = _tensor(types[0]).size
    choices = "".join(f"index == {k} ? a.{COMPONENTS[k]} : " for k in range(size - 1))
    return f"    return {choices}a.{COMPONENTS[size - 1]};", ()


def _accumulate(
    target: str, tensor: Tensor, scalar: Scalar, term: Callable[[tuple[int | str, ...]], str], finish: str
) -> str:
    """Return a body that adds `term(indices)` over all elements and returns `finish` with the sum as {0}."""
    if tensor.size <= 4:
        return f"    return {finish.format(' + '.join(term(position) for position in positions(tensor)))};"
    indices = ("i", "j")[: len(tensor.shape)]
    lines = [f"    {name_of(target, scalar)} r = {literals.literal(target, scalar, 0).text};"]
    for depth, (index, extent) in enumerate(zip(indices, tensor.shape, strict=True)):
        lines.append(f"{'    ' * (depth + 1)}for (int {index} = 0; {index} < {extent}; {index}++) {{")
    lines.append(f"{'    ' * (len(indices) + 1)}r += {term(indices)};")
    lines.extend("    " * depth + "}" for depth in range(len(indices), 0, -1))
    return "\n".join([*lines, f"    return {finish.format('r')};"])


def _narrowed(target: str, scalar: Scalar) -> str:
    """The form of a sum: C computes small numbers as int or float."""
    small = target != "vulkan" and (scalar.name == "f16" or (scalar.is_integral and scalar.bits < 32))
    return f"({name_of(target, scalar)})({{0}})" if small else "{0}"


def _dot(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    tensor, scalar = _tensor(types[0]), element_of(result)

    def term(indices: tuple[int | str, ...]) -> str:
        return f"{element_text(target, tensor, 'a', indices)} * {element_text(target, tensor, 'b', indices)}"

    return _accumulate(target, tensor, scalar, term, _narrowed(target, scalar)), ()


def _sum(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    tensor, scalar = _tensor(types[0]), element_of(result)
    return _accumulate(
        target, tensor, scalar, lambda i: element_text(target, tensor, "a", i), _narrowed(target, scalar)
    ), ()


def _norm(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    tensor, scalar = _tensor(types[0]), element_of(result)

    def square(indices: tuple[int | str, ...]) -> str:
        element = element_text(target, tensor, "a", indices)
        return f"{element} * {element}"

    return _accumulate(target, tensor, scalar, square, scalar_spelling(target, "sqrt", scalar, scalar).text), ()


def _normalized(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    scalar = element_of(result)
    norm = spell_call(target, "norm", tuple(types), scalar)
    divide = spell_call(target, "div", (types[0], scalar), result)
    return f"    return {divide.format('a', norm.format('a'))};", norm.helpers + divide.helpers


def _cross(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    tensor = _tensor(result)
    cast = _narrowed(target, tensor.element)
    rows = [cast.format(f"a.{p} * b.{q} - a.{q} * b.{p}") for p, q in ("yz", "zx", "xy")]
    return f"    return {init_text(target, tensor, rows)};", ()


def _transpose(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    return _each(target, _tensor(result), lambda i: element_text(target, _tensor(types[0]), "a", (i[1], i[0]))), ()


def _outer_product(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    a, b, matrix = _tensor(types[0]), _tensor(types[1]), _tensor(result)
    times = scalar_spelling(target, "mul", matrix.element, matrix.element)

    def entry(i: int | str, j: int | str) -> str:
        return times.format(element_text(target, a, "a", (i,)), element_text(target, b, "b", (j,)))

    return _each(target, matrix, lambda position: entry(*position)), ()


def _matmul(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    a, b, product = _tensor(types[0]), _tensor(types[1]), _tensor(result)
    inner = a.shape[1]
    zero = literals.literal(target, product.element, 0).text
    if inner <= 4 or is_short_vector(product):
        return _each_unrolled(
            target, product, lambda p: " + ".join(_product(target, a, b, p, k) for k in range(inner))
        ), ()
    indices = ("i", "j")[: len(product.shape)]
    lines = [f"    {tensor_name(product)} r;"]
    for depth, (index, extent) in enumerate(zip(indices, product.shape, strict=True)):
        lines.append(f"{'    ' * (depth + 1)}for (int {index} = 0; {index} < {extent}; {index}++) {{")
    pad = "    " * (len(indices) + 1)
    lines.append(f"{pad}{name_of(target, product.element)} sum = {zero};")
    lines.append(f"{pad}for (int k = 0; k < {inner}; k++) {{")
    lines.append(f"{pad}    sum += {_product(target, a, b, indices, 'k')};")
    lines.append(f"{pad}}}")
    lines.append(f"{pad}{element_text(target, product, 'r', indices)} = sum;")
    lines.extend("    " * depth + "}" for depth in range(len(indices), 0, -1))
    return "\n".join([*lines, "    return r;"]), ()


def _each_unrolled(target: str, product: Tensor, write: Callable[[tuple[int | str, ...]], str]) -> str:
    cast = _narrowed(target, product.element)
    return _each(target, product, lambda p: cast.format(write(p)))


def _product(target: str, a: Tensor, b: Tensor, position: Sequence[int | str], k: int | str) -> str:
    left = element_text(target, a, "a", (position[0], k))
    right = element_text(target, b, "b", (k, position[1]) if len(b.shape) == 2 else (k,))
    return f"{left} * {right}"


def _determinant(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    scalar = element_of(result)
    return elimination.determinant(target, _tensor(types[0]), scalar_spelling(target, "abs", scalar, scalar).text), ()


def _inverse(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    scalar = element_of(result)
    absolute, maximum = (scalar_spelling(target, name, scalar, scalar).text for name in ("abs", "max"))
    return elimination.inverse(target, _tensor(types[0]), absolute, maximum), ()


def _overflows(target: str, op: str, types: Sequence[Type], result: Type) -> Body:
    scalar = element_of(types[0])
    steps = overflow_functions.Steps(target, scalar, scalar_spelling(target, "mul", scalar, scalar))
    body = overflow_functions.BODIES[op](steps, *map(_tensor, types))
    return body, tuple(steps.keys)


SHAPED: dict[str, Callable[[str, str, Sequence[Type], Type], Body]] = {
    "splat": _splat,
    "at": _at,
    "dot": _dot,
    "sum": _sum,
    "norm": _norm,
    "normalized": _normalized,
    "cross": _cross,
    "transpose": _transpose,
    "outer_product": _outer_product,
    "matmul": _matmul,
    "determinant": _determinant,
    "inverse": _inverse,
    **dict.fromkeys(overflow_functions.BODIES, _overflows),
}
"""Operations that are not elementwise."""
