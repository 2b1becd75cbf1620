"""Vectors and matrices in each language: names, structs if there is no native type, elements, construction.

GLSL has vectors of 2 to 4 elements of every scalar type and float matrices up to 4x4. Its matrices are column-major: n
rows of m columns are `mat{m}x{n}`, and element (i, j) is `M[j][i]`. All other tensors are generated structs of the same
name, stored row by row without padding: members x, y, z, w for vectors up to 4, `m[r][c]` for matrices, `e[n]` for
longer vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd, prod

from ....ir.types import SCALARS, Scalar, Struct, Tensor, Type
from . import one_line
from .language import Language
from .literals import scalar_name
from .syntax_forms import ASSIGN, PRIMARY, UNARY, Syntax

PREFIXES: dict[str, str] = {"f32": "", "i32": "i", "u32": "u", "u1": "b", "f64": "d"}
COMPONENTS = "xyzw"
WIDEST_LOAD = 16
"""Bytes that one instruction loads or stores."""


@lru_cache(maxsize=1024)
def tensor_name(tensor: Tensor) -> str:
    """Return GLSL's name of a type, extended to all sizes: vec3, ivec2, dmat3, mat3x2 (2 rows, 3 columns), vec9."""
    prefix = PREFIXES.get(tensor.element.name, tensor.element.name)
    if len(tensor.shape) == 1:
        return f"{prefix}vec{tensor.shape[0]}"
    rows, columns = tensor.shape
    return f"{prefix}mat{columns}" if rows == columns else f"{prefix}mat{columns}x{rows}"


def is_native(language: Language, tensor: Tensor) -> bool:
    """Return whether the language has the type itself."""
    if not language.has_vectors or not all(2 <= extent <= 4 for extent in tensor.shape):
        return False
    return len(tensor.shape) == 1 or tensor.element.is_float


def name_of(language: Language, type: Type) -> str:
    """Return the name of a scalar or tensor in registers; `structs.Structs` names structs."""
    assert not isinstance(type, Struct)
    return tensor_name(type) if isinstance(type, Tensor) else scalar_name(language, type)


def parse_type(name: str) -> Scalar | Tensor:
    """Return the type whose `str` is `name`: "f32" or "f32[3x3]"."""
    if "[" not in name:
        return SCALARS[name]
    element, shape = name[:-1].split("[")
    return Tensor(tuple(int(extent) for extent in shape.split("x")), SCALARS[element])


def is_short_vector(tensor: Tensor) -> bool:
    """Return whether the elements are the members x, y, z, w."""
    return len(tensor.shape) == 1 and tensor.size <= 4


def has_row_vectors(language: Language, tensor: Tensor) -> bool:
    """Return whether a generated GLSL matrix is an array of native vectors, its rows."""
    return len(tensor.shape) == 2 and is_native(language, Tensor(tensor.shape[1:], tensor.element))


def zero_of(kind: Scalar) -> int | float | bool:
    """Return the zero of a scalar type."""
    return False if kind.kind == "bool" else 0.0 if kind.is_float else 0


def whole_alignment(type: Type) -> int:
    """Return the largest alignment that needs no padding, at most that of the widest load [bytes]."""
    return gcd(type.size_bytes, WIDEST_LOAD)


def struct_key(tensor: Tensor) -> str:
    """Return the key of the struct that declares `tensor`."""
    return f"struct {tensor}"


def built_in_vector(language: Language, tensor: Tensor) -> str:
    """Return the language's own struct for a vector, aligned by `whole_alignment`; "" if there is none."""
    return language.vectors.get((tensor.element.name, tensor.size), "") if len(tensor.shape) == 1 else ""


def struct_source(language: Language, tensor: Tensor, is_aligned: bool = False) -> str:
    """Return the declaration of a tensor type that the language lacks. is_aligned: for `whole_alignment`."""
    element, name = scalar_name(language, tensor.element), tensor_name(tensor)
    if is_short_vector(tensor) and (built_in := built_in_vector(language, tensor)):
        if is_aligned or whole_alignment(tensor) == tensor.element.size_bytes:
            return f"using {name} = {built_in};"
    if is_aligned:
        name = language.aligned.format(name=name, bytes=whole_alignment(tensor))
    if is_short_vector(tensor):
        return one_line.struct_source(language, name, [(element, component) for component in COMPONENTS[: tensor.size]])
    if len(tensor.shape) == 1:
        return one_line.struct_source(language, name, [(element, f"e[{tensor.size}]")])
    rows, columns = tensor.shape
    row = tensor_name(Tensor((columns,), tensor.element))
    member = (row, f"m[{rows}]") if has_row_vectors(language, tensor) else (element, f"m[{rows}][{columns}]")
    return f"{one_line.struct_source(language, name, [member])}  // {rows} rows of {columns}"


def element_source(language: Language, tensor: Tensor, value: str, indices: Sequence[int | str]) -> str:
    """Return the source of one element of `value`, a primary expression; an index is a number or a source."""
    if len(tensor.shape) == 2:
        row, column = indices
        return f"{value}[{column}][{row}]" if is_native(language, tensor) else f"{value}.m[{row}][{column}]"
    (index,) = indices
    if not is_short_vector(tensor):
        return f"{value}.e[{index}]"
    if isinstance(index, int) and 0 <= index < tensor.size:
        return f"{value}.{COMPONENTS[index]}"
    if is_native(language, tensor):
        return f"{value}[{index}]"
    if not language.has_pointers:
        return f"{value}.x"  # a vector of one element, which GLSL cannot index
    return f"(({scalar_name(language, tensor.element)} *)&{value})[{index}]"


def pointed_element(language: Language, tensor: Tensor, pointer: str, indices: Sequence[int | str]) -> str:
    """Return the source of one element of the tensor, a struct, that a pointer refers to."""
    if len(tensor.shape) == 2:
        return f"{pointer}->m[{indices[0]}][{indices[1]}]"
    (index,) = indices
    if not is_short_vector(tensor):
        return f"{pointer}->e[{index}]"
    if isinstance(index, int) and 0 <= index < tensor.size:
        return f"{pointer}->{COMPONENTS[index]}"
    return f"(({scalar_name(language, tensor.element)} *){pointer})[{index}]"


def element_syntax(language: Language, tensor: Tensor, indices: Sequence[int | str | None], is_lvalue: bool) -> Syntax:
    """Return the syntax of an element, an lvalue with `is_lvalue`; an index None is operand {1} or {2}."""
    operands = [f"{{{axis + 1}}}" if index is None else _escaped(index) for axis, index in enumerate(indices)]
    needs = (PRIMARY,) + (ASSIGN,) * len(operands)
    if not language.has_vectors and is_short_vector(tensor) and not isinstance(indices[0], int) and not is_lvalue:
        key = f"at({tensor}, i32) -> {tensor.element}"
        return Syntax(f"{at_name(language, tensor)}({{0}}, {operands[0]})", PRIMARY, (ASSIGN, ASSIGN), (key,))
    return Syntax(element_source(language, tensor, "{0}", operands), PRIMARY, needs)


def _escaped(index: int | str) -> int | str:
    return index if isinstance(index, int) else index.replace("{", "{{").replace("}", "}}")


def at_name(language: Language, tensor: Tensor) -> str:
    """Return the name of the function that reads an element of a struct by a computed index."""
    return "at" if language.has_operators else f"{tensor_name(tensor)}_at"


def positions(tensor: Tensor) -> list[tuple[int, ...]]:
    """Return the index tuples of all elements, row by row."""
    if len(tensor.shape) == 1:
        return [(i,) for i in range(tensor.shape[0])]
    return [(i, j) for i in range(tensor.shape[0]) for j in range(tensor.shape[1])]


def init_source(language: Language, tensor: Tensor, elements: Sequence[str]) -> str:
    """Return the primary expression for a tensor made of `elements`, row by row."""
    return _literal(language, tensor, elements)[0]


def return_source(language: Language, tensor: Tensor, elements: Sequence[str]) -> str:
    """Return the statement that returns a tensor made of `elements`; in C++ the function's head names its type."""
    named, bare = _literal(language, tensor, elements)
    return f"return {bare if language.has_operators else named};"


def _literal(language: Language, tensor: Tensor, elements: Sequence[str]) -> tuple[str, str]:
    """Return that, and its form for the initializer of a declaration, which has the type already."""
    if narrows(language, tensor.element):
        cast = f"({scalar_name(language, tensor.element)})"
        elements = [element if element.startswith(cast) else cast + element for element in elements]
    return literal_of(language, tensor, elements)


def narrows(language: Language, kind: Type) -> bool:
    """Return whether braces take no int for a number of this type: in C++, of 8 and 16 bits."""
    return language.braces_refuse_narrowing and isinstance(kind, Scalar) and is_small(kind)


def literal_of(language: Language, tensor: Tensor, elements: Sequence[str]) -> tuple[str, str]:
    """Return a tensor made of elements that have its type, and the same without the name of the type."""
    name = tensor_name(tensor)
    if is_native(language, tensor):
        if len(tensor.shape) == 2:  # GLSL takes columns
            rows, columns = tensor.shape
            elements = [elements[i * columns + j] for j in range(columns) for i in range(rows)]
        return language.literal(name, ", ".join(elements))
    if not language.has_braces:
        source = _constructors(language, tensor, elements)
        return source, source
    return language.literal(name, _values(language, tensor, elements))


def _values(language: Language, tensor: Tensor, elements: Sequence[str]) -> str:
    values = ", ".join(elements)
    if len(tensor.shape) == 2 and not (language.has_operators and tensor.size <= len(COMPONENTS)):
        columns = tensor.shape[1]
        rows = [elements[k : k + columns] for k in range(0, tensor.size, columns)]
        return "{" + ", ".join("{" + ", ".join(row) + "}" for row in rows) + "}"
    is_flat = is_short_vector(tensor) or len(tensor.shape) == 2  # C++ finds the rows of 2 x 2 numbers itself
    return values if is_flat else "{" + values + "}"


def is_small(type: Scalar) -> bool:
    """Return whether a type is an integer of 8 or 16 bits."""
    return type.is_integral and 1 < type.bits < 32


def _constructors(language: Language, tensor: Tensor, elements: Sequence[str]) -> str:
    name, element = tensor_name(tensor), scalar_name(language, tensor.element)
    if is_short_vector(tensor):
        return f"{name}({elements[0]})"
    if len(tensor.shape) == 1:
        return f"{name}({element}[{tensor.size}]({', '.join(elements)}))"
    count, columns = tensor.shape
    is_vector = has_row_vectors(language, tensor)
    row_type = tensor_name(Tensor((columns,), tensor.element)) if is_vector else f"{element}[{columns}]"
    rows = [f"{row_type}({', '.join(elements[k : k + columns])})" for k in range(0, tensor.size, columns)]
    outer = f"{row_type}[{count}]" if is_vector else f"{element}[{count}][{columns}]"
    return f"{name}({outer}({', '.join(rows)}))"


def init_syntax(language: Language, tensor: Tensor) -> Syntax:
    """Return the syntax of a tensor made of its elements {0}, {1}, ..., row by row."""
    fields = [f"\0{k}\1" for k in range(prod(tensor.shape))]
    template, bare = (
        source.replace("{", "{{").replace("}", "}}").replace("\0", "{").replace("\1", "}")
        for source in _literal(language, tensor, fields)
    )
    needed = UNARY if narrows(language, tensor.element) else ASSIGN
    return Syntax(template, PRIMARY, (needed,) * tensor.size, type_keys(language, tensor), bare=bare)


def type_keys(language: Language, type: Type) -> tuple[str, ...]:
    """Return the keys of the declarations of `type`: a struct, or CUDA's name of a scalar."""
    if isinstance(type, Tensor) and not is_native(language, type):
        return (struct_key(type),)
    is_declared = isinstance(type, Scalar) and type.name in language.declared_types
    return (name_of(language, type),) if is_declared else ()
