"""Generates the functions on tensors that a language lacks, each from its key.

A key is a signature: "add(f32[3], f32) -> f32[3]". In C the functions have unique names (`vec3_add_vs`, v: vector,
s: scalar), in CUDA they are overloaded operators and functions with GLSL's names (`a + s`, `dot(a, b)`), in GLSL they
have C's names and exist only if GLSL has no such operation.
In: key. Out: name and source of one function, and the keys it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from ....ir.types import Scalar, Tensor, Type, element_of
from . import elimination, literals, overflow_functions, wrapping
from .helpers import called
from .language import Language
from .one_line import COLUMNS, INDENT
from .syntax_forms import ASSIGN, EXACT, PRIMARY, UNARY, Generated, Syntax, infix, prefix
from .tensors import (
    COMPONENTS,
    element_source,
    is_short_vector,
    is_small,
    name_of,
    parse_type,
    positions,
    return_source,
    tensor_name,
    type_keys,
)

OPERATORS: dict[str, str] = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "raw_div": "/", "bit_and": "&", "bit_or": "|", "bit_xor": "^",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "logical_and": "&", "logical_or": "|",
    "neg": "-", "bit_not": "~", "logical_not": "!", "matmul": "*", "lean_matmul": "*", "plain_div": "/",
    "plain_mod": "%",
}  # fmt: skip
"""Operators that CUDA overloads; `raw_div` of integers is a function, since `/` would hide the test for 0."""

NAMES: dict[str, str] = {
    "floordiv": "floor_div", "raw_div": "div", "raw_mod": "rem", "round": "rint", "isnan": "is_nan", "isinf": "is_inf",
    "norm": "length", "normal_norm": "length", "normalized": "normalize", "lean_matmul": "matmul",
    "outer_product": "outerProduct",
    "outer_product_overflows": "outerProduct_overflows", "logical_and": "and",
    "logical_or": "or", "logical_not": "not", "bit_and": "and", "bit_or": "or", "bit_xor": "xor", "bit_not": "not",
}  # fmt: skip
"""Names of functions that differ from the name of the operation."""

PARAMETERS = "abc"
LARGEST_LITERAL = 9
"""Matrices of at most so many elements are computed as literals."""
LONGEST_UNROLLED = 32
"""Elements of the longest vectors whose loops have a hint to unroll them, if `Language.unrolled` is less: gcc keeps a
vector in memory while there is a loop over it. One iteration of D3Q19, whose vectors have 19 elements, took one core
11.3 ms with a loop, and 7.0 ms unrolled; its collision alone 8.8 and .32 ms (gcc 12). Vectors of 48 in an array of
vectors are faster in loops, matrices too."""
BREAK = " " * 8


def key_of(op: str, types: Sequence[Type], result: Type) -> str:
    """Return the key of an operation on tensors."""
    return f"{op}({', '.join(map(str, types))}) -> {result}"


def parse_key(key: str) -> tuple[str, tuple[Type, ...], Type]:
    """Return operation, operand types and result type of a key."""
    head, result = key.split(" -> ")
    op, operands = head[:-1].split("(")
    return op, tuple(parse_type(operand) for operand in operands.split(", ")), parse_type(result)


def operator_symbol(op: str, types: Sequence[Type]) -> str | None:
    """Return the operator that CUDA overloads for `op` on `types`, or None.

    As in GLSL, `*` between a matrix and a matrix is the product of linear algebra, which also takes a vector.
    """
    if op == "raw_div" and element_of(types[0]).is_integral:
        return None
    if op == "mul" and all(isinstance(t, Tensor) and len(t.shape) == 2 for t in types):
        return None
    return OPERATORS.get(op)


def function_name(language: Language, op: str, types: Sequence[Type], result: Type) -> str:
    """Return the name of the function for `op` on `types`."""
    op = op.removeprefix(EXACT)
    name = NAMES.get(op, op)
    if language.has_operators:
        if op == "splat":
            return f"{tensor_name(_tensor(result))}_splat"
        if op == "mul" and operator_symbol(op, types) is None:
            return "matrixCompMult"
        return name if op != "cast" else f"{tensor_name(_tensor(result))}_from"
    if op in ("cast", "bit_cast"):
        return (
            f"{tensor_name(_tensor(result))}_from_{tensor_name(_tensor(types[0]))}{'_bits' if op == 'bit_cast' else ''}"
        )
    tensors = [t for t in types if isinstance(t, Tensor)] or [_tensor(result)]
    subject = _tensor(result) if op == "select" else tensors[0]
    if op.removesuffix("_overflows") in ("matmul", "lean_matmul", "outer_product") and tensors[1] != tensors[0]:
        return f"{tensor_name(subject)}_{name}_{tensor_name(tensors[1])}"
    mixed = len(tensors) < len(types) and op not in ("at", "splat")
    letters = "_" + "".join("s" if isinstance(t, Scalar) else "v" if len(_tensor(t).shape) == 1 else "m" for t in types)
    return f"{tensor_name(subject)}_{name}{letters if mixed else ''}"


@lru_cache(maxsize=4096)
def call_syntax(language: Language, op: str, types: tuple[Type, ...], result: Type) -> Syntax:
    """Return the syntax of a call of a generated function."""
    key = (key_of(op, types, result),)
    symbol = operator_symbol(op, types) if language.has_operators else None
    if symbol is not None:
        form = prefix(symbol) if len(types) == 1 else infix(symbol)
        return Syntax(form.template, form.precedence, form.operand_precedence, key, form.chain)
    arguments = ", ".join(f"{{{k}}}" for k in range(len(types)))
    return Syntax(f"{function_name(language, op, types, result)}({arguments})", PRIMARY, (ASSIGN,) * len(types), key)


def scalar_syntax(language: Language, op: str, type: Scalar, new: Scalar) -> Syntax:
    """Return the syntax of the operation on one element."""
    if op == "cast":
        return language.cast(type, new)
    if op == "bit_cast":
        return language.bit_cast(type, new)
    return wrapping.operation(language, op, type)


INLINED = "static inline __attribute__((always_inline)) "
"""Of functions of C that leave products by zeros out once they are inlined, which gcc finds too long before."""


@lru_cache(maxsize=4096)
def generate(language: Language, key: str) -> Generated:
    """Return the function of `key`."""
    if key.startswith("assign "):
        return _assignment(language, key.removeprefix("assign "))
    op, types, result = parse_key(key)
    generate_body = SHAPED.get(op.removeprefix(EXACT), _elementwise)
    body, uses = generate_body(language, op, types, result)
    symbol = operator_symbol(op, types) if language.has_operators else None
    name = f"operator{symbol}" if symbol else function_name(language, op, types, result)
    parameters = ", ".join(f"{name_of(language, t)} {_parameter(op, k)}" for k, t in enumerate(types))
    is_inlined = op == "lean_matmul" and is_short_vector(_tensor(result))
    qualifier = INLINED if is_inlined else language.helper_qualifier
    source = f"{qualifier}{name_of(language, result)} {name}({parameters}) {{\n{body}\n}}"
    declared = [k for t in (*types, result) for k in (*type_keys(language, t), *type_keys(language, element_of(t)))]
    return Generated(name, source, tuple(dict.fromkeys([*declared, *uses, *called(language, body)])))


def _assignment(language: Language, key: str) -> Generated:
    """Return CUDA's `a op= b` for the `a op b` of `key`."""
    op, types, result = parse_key(key)
    symbol = operator_symbol(op, types)
    left, right = name_of(language, result), name_of(language, types[1])
    head = f"{language.helper_qualifier}{left} &operator{symbol}=({left} &a, {right} b)"
    plain = generate(language, key)
    body = plain.source.split("\n")[1]
    if plain.source.count("\n") == 2:  # so short that it needs no other function
        return Generated(f"operator{symbol}=", f"{head} {{\n{body.replace('return', 'return a =', 1)}\n}}", plain.uses)
    return Generated(f"operator{symbol}=", f"{head} {{\n    return a = a {symbol} b;\n}}", (key,))


def _parameter(op: str, index: int) -> str:
    return "index" if op == "at" and index == 1 else PARAMETERS[index]


def _tensor(type: Type) -> Tensor:
    assert isinstance(type, Tensor)
    return type


Body = tuple[str, tuple[str, ...]]


def _each(language: Language, result: Tensor, write: Callable[[tuple[int | str, ...]], str]) -> str:
    """Return a body that computes every element with `write(indices)`: as a literal if that is short, else in loops."""
    if is_short_vector(result):
        return INDENT + return_source(language, result, [write((i,)) for i in range(result.size)])
    if result.size <= LARGEST_LITERAL and len(result.shape) == 2:
        literal = _in_rows(language, result, [write(position) for position in positions(result)])
        if result.size <= 4 or max(map(len, literal)) <= COLUMNS:
            return "\n".join(literal)
    indices = ("i", "j")[: len(result.shape)]
    lines = [f"    {tensor_name(result)} r;"]
    lines += _heads(language, result)
    lines.append(f"{'    ' * (len(indices) + 1)}{element_source(language, result, 'r', indices)} = {write(indices)};")
    lines.extend("    " * depth + "}" for depth in range(len(indices), 0, -1))
    return "\n".join([*lines, "    return r;"])


def _heads(language: Language, tensor: Tensor) -> list[str]:
    """Return the heads of the loops over the elements of a tensor, that of a long vector with a hint to unroll it."""
    lines = [f"for (int i = 0; i < {tensor.shape[0]}; i++) {{"]
    if len(tensor.shape) == 2:
        lines.append(f"{INDENT}for (int j = 0; j < {tensor.shape[1]}; j++) {{")
    elif 0 < language.unrolled < tensor.size <= LONGEST_UNROLLED:
        lines = [*language.unroll.format(count=tensor.size).splitlines(), *lines]
    return [INDENT + line for line in lines]


def _in_rows(language: Language, matrix: Tensor, elements: Sequence[str]) -> list[str]:
    """Return the lines of a body that returns a literal: one, or one for each row, or for each element of long rows."""
    whole = INDENT + return_source(language, matrix, elements)
    if len(whole) <= COLUMNS:
        return [whole]
    marks = [f"<{k}>" for k in range(matrix.size)]
    source = INDENT + return_source(language, matrix, marks)
    starts = [mark if f"{{{mark}" not in source else f"{{{mark}" for mark in marks[:: matrix.shape[1]]]
    for start in starts[1:]:
        source = source.replace(f", {start}", f",\n{BREAK}{start}")
    lines = source.split("\n")

    def filled(line: str) -> str:
        for mark, element in zip(marks, elements, strict=True):
            line = line.replace(mark, element)
        return line

    result: list[str] = []
    for line in lines:
        parts = [line] if len(filled(line)) <= COLUMNS else line.replace(">, <", ">,\n<").split("\n")
        result += [filled(parts[0]), *(BREAK + filled(part) for part in parts[1:])]
    return result


def _format(syntax: Syntax, operands: Sequence[str]) -> str:
    """Return the source with operands that are primary expressions."""
    return syntax.format(*operands)


def _read(language: Language, type: Type, name: str, indices: tuple[int | str, ...]) -> str:
    return name if isinstance(type, Scalar) else element_source(language, _tensor(type), name, indices)


def _elementwise(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    tensor = _tensor(result)
    scalar = element_of(types[1] if op == "select" else types[0])
    syntax = scalar_syntax(language, op, scalar, tensor.element)
    narrows = language.braces_refuse_narrowing and tensor.size <= LARGEST_LITERAL and is_small(tensor.element)

    def write(indices: tuple[int | str, ...]) -> str:
        element = _format(syntax, [_read(language, t, PARAMETERS[k], indices) for k, t in enumerate(types)])
        return f"({element})" if narrows and syntax.precedence < UNARY else element

    return _each(language, tensor, write), ()


def _splat(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    return _each(language, _tensor(result), lambda indices: "a"), ()


def _at(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    size = _tensor(types[0]).size
    choices = "".join(f"index == {k} ? a.{COMPONENTS[k]} : " for k in range(size - 1))
    return f"    return {choices}a.{COMPONENTS[size - 1]};", ()


def _accumulate(
    language: Language, tensor: Tensor, scalar: Scalar, term: Callable[[tuple[int | str, ...]], str], finish: str
) -> str:
    """Return a body that adds `term(indices)` over all elements and returns `finish` with the sum as {0}."""
    if tensor.size <= 4:
        return f"    return {finish.format(' + '.join(term(position) for position in positions(tensor)))};"
    indices = ("i", "j")[: len(tensor.shape)]
    total = wrapping.total_type(language, scalar)
    lines = [f"    {name_of(language, total)} r = {literals.literal(language, total, 0).template};"]
    lines += _heads(language, tensor)
    lines.append(f"{'    ' * (len(indices) + 1)}r += {term(indices)};")
    lines.extend("    " * depth + "}" for depth in range(len(indices), 0, -1))
    return "\n".join([*lines, f"    return {finish.format('r')};"])


def _narrowed(language: Language, scalar: Scalar) -> str:
    """Return the template of a sum: C computes small numbers as int or float."""
    small = language.computes_small_as_int and (scalar.name == "f16" or (scalar.is_integral and scalar.bits < 32))
    return f"({name_of(language, scalar)})({{0}})" if small else "{0}"


def _dot(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    tensor, scalar = _tensor(types[0]), element_of(result)

    def term(indices: tuple[int | str, ...]) -> str:
        left, right = (element_source(language, tensor, name, indices) for name in "ab")
        return f"{wrapping.operand(language, scalar, left)} * {right}"

    return _accumulate(language, tensor, scalar, term, _narrowed(language, scalar)), ()


def _sum(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    tensor, scalar = _tensor(types[0]), element_of(result)

    def term(indices: tuple[int | str, ...]) -> str:
        return wrapping.operand(language, scalar, element_source(language, tensor, "a", indices))

    return _accumulate(language, tensor, scalar, term, _narrowed(language, scalar)), ()


def _as_exact(language: Language, op: str, inner: str, scalar: Scalar) -> str:
    """Return the operation `inner` as a part of `op`: exact if that is, and if the language's own is coarse."""
    return EXACT + inner if op.startswith(EXACT) and language.coarse(inner, scalar) else inner


def _norm(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    tensor, scalar = _tensor(types[0]), element_of(result)

    def square(indices: tuple[int | str, ...]) -> str:
        element = element_source(language, tensor, "a", indices)
        return f"{element} * {element}"

    op_of_root = "normal_sqrt" if op == "normal_norm" else _as_exact(language, op, "sqrt", scalar)
    root = scalar_syntax(language, op_of_root, scalar, scalar)
    return _accumulate(language, tensor, scalar, square, root.template), ()


def _normalized(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    scalar = element_of(result)
    if not op.startswith(EXACT) and language.coarse("normalized", scalar):
        square = call_syntax(language, "dot", (types[0], types[0]), scalar)
        multiply = call_syntax(language, "mul", (types[0], scalar), result)
        inverse = scalar_syntax(language, "rsqrt", scalar, scalar).format(square.format("a", "a"))
        return f"    return {multiply.format('a', inverse)};", square.helpers + multiply.helpers
    norm = call_syntax(language, _as_exact(language, op, "norm", scalar), tuple(types), scalar)
    divide = call_syntax(language, _as_exact(language, op, "div", scalar), (types[0], scalar), result)
    return f"    return {divide.format('a', norm.format('a'))};", norm.helpers + divide.helpers


def _cross(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    tensor = _tensor(result)
    cast = _narrowed(language, tensor.element)
    x, y, z = (wrapping.operand(language, tensor.element, f"a.{name}") for name in "xyz")
    differences = (f"{y} * b.z - {z} * b.y", f"{z} * b.x - {x} * b.z", f"{x} * b.y - {y} * b.x")
    rows = [cast.format(wrapping.signed(language, tensor.element, difference)) for difference in differences]
    return INDENT + return_source(language, tensor, rows), ()


def _transpose(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    return _each(
        language, _tensor(result), lambda i: element_source(language, _tensor(types[0]), "a", (i[1], i[0]))
    ), ()


def _outer_product(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    a, b, matrix = _tensor(types[0]), _tensor(types[1]), _tensor(result)
    times = scalar_syntax(language, "mul", matrix.element, matrix.element)

    def entry(i: int | str, j: int | str) -> str:
        return times.format(element_source(language, a, "a", (i,)), element_source(language, b, "b", (j,)))

    return _each(language, matrix, lambda position: entry(*position)), ()


def _matmul(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    a, b, product = _tensor(types[0]), _tensor(types[1]), _tensor(result)
    inner = a.shape[1]
    total = wrapping.total_type(language, product.element)
    zero = literals.literal(language, total, 0).template
    if inner <= 4 or is_short_vector(product):
        return _each_unrolled(
            language, product, lambda p: " + ".join(_product(language, a, b, p, k) for k in range(inner))
        ), ()
    indices = ("i", "j")[: len(product.shape)]
    lines = [f"    {tensor_name(product)} r;"]
    for depth, (index, extent) in enumerate(zip(indices, product.shape, strict=True)):
        lines.append(f"{'    ' * (depth + 1)}for (int {index} = 0; {index} < {extent}; {index}++) {{")
    pad = "    " * (len(indices) + 1)
    lines.append(f"{pad}{name_of(language, total)} sum = {zero};")
    lines.append(f"{pad}for (int k = 0; k < {inner}; k++) {{")
    lines.append(f"{pad}    sum += {_product(language, a, b, indices, 'k')};")
    lines.append(f"{pad}}}")
    lines.append(f"{pad}{element_source(language, product, 'r', indices)} = sum;")
    lines.extend("    " * depth + "}" for depth in range(len(indices), 0, -1))
    return "\n".join([*lines, "    return r;"]), ()


def _lean_matmul(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    """Return a body that leaves out products by constants that are 0, once the compiler has unrolled its loops."""
    a, b, product = _tensor(types[0]), _tensor(types[1]), _tensor(result)
    scalar, zero = name_of(language, product.element), literals.literal(language, product.element, 0).template
    add = f"add_product_{product.element}"

    def added(total: str, position: Sequence[int | str], k: int | str) -> str:
        left = element_source(language, a, "a", (position[0], k))
        right = element_source(language, b, "b", (k, position[1]) if len(b.shape) == 2 else (k,))
        return f"{add}({total}, {left}, {right})"

    if is_short_vector(product) or is_short_vector(b):
        lines = [f"{INDENT}{tensor_name(product)} r;"]
        for row in range(product.size):  # the members of short vectors have no index
            target = element_source(language, product, "r", (row,))
            for k in range(a.shape[1]):
                lines.append(f"{INDENT}{target} = {added(target if k else zero, (row,), k)};")
        return "\n".join([*lines, f"{INDENT}return r;"]), ()
    indices, extents = ("i", "j")[: len(product.shape)], (*product.shape, a.shape[1])
    lines = [f"    {tensor_name(product)} r;"]
    for depth, (index, extent) in enumerate(zip((*indices, "k"), extents, strict=True)):
        pad = INDENT * (depth + 1)
        if index == "k":
            lines.append(f"{pad}{scalar} sum = {zero};")
        lines.append(pad + language.unroll.format(count=extent).rstrip("\n"))
        lines.append(f"{pad}for (int {index} = 0; {index} < {extent}; {index}++) {{")
    lines.append(f"{INDENT * (len(indices) + 2)}sum = {added('sum', indices, 'k')};")
    lines.append(f"{INDENT * (len(indices) + 1)}}}")
    lines.append(f"{INDENT * (len(indices) + 1)}{element_source(language, product, 'r', indices)} = sum;")
    lines.extend(INDENT * depth + "}" for depth in range(len(indices), 0, -1))
    return "\n".join([*lines, "    return r;"]), ()


def _each_unrolled(language: Language, product: Tensor, write: Callable[[tuple[int | str, ...]], str]) -> str:
    cast = _narrowed(language, product.element)
    return _each(language, product, lambda p: cast.format(wrapping.signed(language, product.element, write(p))))


def _product(language: Language, a: Tensor, b: Tensor, position: Sequence[int | str], k: int | str) -> str:
    left = element_source(language, a, "a", (position[0], k))
    right = element_source(language, b, "b", (k, position[1]) if len(b.shape) == 2 else (k,))
    return f"{wrapping.operand(language, a.element, left)} * {right}"


def _determinant(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    scalar = element_of(result)
    matrix, absolute = _tensor(types[0]), scalar_syntax(language, "abs", scalar, scalar).template
    return elimination.unrolled(language, matrix, elimination.determinant(language, matrix, absolute)), ()


def _inverse(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    scalar = element_of(result)
    absolute, at_least = (scalar_syntax(language, name, scalar, scalar).template for name in ("abs", "at_least"))
    matrix = _tensor(types[0])
    return elimination.unrolled(language, matrix, elimination.inverse(language, matrix, absolute, at_least)), ()


def _overflows(language: Language, op: str, types: Sequence[Type], result: Type) -> Body:
    scalar = element_of(types[0])
    steps = overflow_functions.Steps(language, scalar, scalar_syntax(language, "mul", scalar, scalar))
    body = overflow_functions.BODIES[op](steps, *map(_tensor, types))
    return body, tuple(steps.keys)


SHAPED: dict[str, Callable[[Language, str, Sequence[Type], Type], Body]] = {
    "splat": _splat,
    "at": _at,
    "dot": _dot,
    "sum": _sum,
    "norm": _norm,
    "normal_norm": _norm,
    "normalized": _normalized,
    "cross": _cross,
    "transpose": _transpose,
    "outer_product": _outer_product,
    "matmul": _matmul,
    "lean_matmul": _lean_matmul,
    "determinant": _determinant,
    "inverse": _inverse,
    **dict.fromkeys(overflow_functions.BODIES, _overflows),
}
"""Operations that are not elementwise."""
