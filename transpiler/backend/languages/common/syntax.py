"""The syntax of types, numbers, operations, casts, atomics and tensor accesses, and the helpers that they need.

In: statements of the IR, or their types. Out: `Syntax` (a template and its precedences), names, and the source of the
helper functions that a file uses. `registry` has the languages.

The template of every `Syntax` is for `str.format`, even without operands: print `syntax.format(...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise

from ....ir.nodes import Statement
from ....ir.origins import Origin
from ....ir.statements import (
    Cast,
    Const,
    GlobalLoad,
    LocalLoad,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    RangeFor,
    is_const,
)
from ....ir.types import (
    Scalar,
    Struct,
    Tensor,
    Type,
    element_of,
    f32,
    f64,
    i32,
    i64,
    scalars_of,
    u1,
    u8,
    u32,
    with_element,
)
from ....lazy_dataclasses import dataclass
from . import (
    atomics,
    collectives,
    helpers,
    literals,
    tensor_functions,
    tensors,
    texture_functions,
)
from .language import Language
from .one_line import on_one_line
from .syntax_forms import EXACT, Generated, Rendered, Syntax, call, same, with_helpers

__all__ = [
    "Syntax",
    "extensions",
    "helper_names",
    "atomic_syntax",
    "helpers_source",
    "cast_syntax",
    "constant_syntax",
    "declared_name",
    "element_syntax",
    "extended",
    "init_syntax",
    "load_syntax",
    "operation_syntax",
    "printed_operands",
    "promoted",
    "splat_syntax",
    "store_syntax",
    "storage_helpers",
    "storage_name",
    "swizzle",
    "type_helpers",
    "type_name",
]


def type_name(language: Language, type: Type) -> str:
    """Return the name of a type in registers; `type_helpers` returns the keys of its declarations."""
    return tensors.name_of(language, type)


def type_helpers(language: Language, type: Type) -> tuple[str, ...]:
    """Return the keys of the declarations that the name of `type` needs."""
    return tensors.type_keys(language, type)


@cache
def declared_name(language: Language, type: Scalar | Tensor) -> tuple[str, tuple[str, ...], list[str]]:
    """Return the name of a type, the keys of its declarations, and the names of scalars that these contain."""
    named = [language.types[scalar.name] for scalar in scalars_of(type)]
    return type_name(language, type), type_helpers(language, type), named


def stored_type(language: Language, type: Type) -> Type:
    """Return the type that stores `type` in memory: GLSL has no bool there, so u1 is a byte of 0 or 1."""
    if language.bool_in_memory or isinstance(type, Struct) or element_of(type) != u1:
        return type
    return with_element(type, u8)


def storage_name(language: Language, type: Type) -> str:
    """Return the name of a type in memory."""
    return type_name(language, stored_type(language, type))


def storage_helpers(language: Language, type: Type) -> tuple[str, ...]:
    """Return the keys of the declarations that `storage_name` needs."""
    return type_helpers(language, stored_type(language, type))


def load_syntax(language: Language, type: Type) -> Syntax:
    """Return the syntax of a load: the lvalue {0} in memory read as a value of `type`."""
    stored = stored_type(language, type)
    return same() if stored == type else _cast(language, stored, type, False)


def store_syntax(language: Language, type: Type) -> Syntax:
    """Return the syntax of what is assigned to memory to store the value {0} of `type`."""
    stored = stored_type(language, type)
    return Syntax("{0}", 1, (1,)) if stored == type else _cast(language, type, stored, False)


def constant_syntax(language: Language, const: Const) -> Syntax:
    """Return the syntax of a number, which has no operands (-1 is a unary minus)."""
    kind = _scalar(const.type)
    if const.notation and kind.is_integral and int(const.notation, 0) == const.value:
        return literals.in_notation(language, kind, const.notation)
    return literals.literal(language, kind, const.value)


def operation_syntax(language: Language, operation: Operation, exact: bool = False) -> Syntax:
    """Return the syntax of an operation, by its name, the types of its operands and, for shifts, a constant count.

    exact: within 4 units in the last place for all arguments, even if the operation of the language is coarser.
    """
    types = tuple([o.type for o in operation.operands if o.type is not None])
    assert operation.type is not None
    op = operation.op
    if exact and language.coarse(op, element_of(types[0])):
        op = EXACT + op
    syntax = _operation(language, op, types, operation.type)
    if operation.op in SHIFTS:
        return _without_mask(syntax, operation.operands[1])
    if operation.op in BY_POSITIVE and isinstance(operation.operands[1], Const):
        return _by_constant(language, operation, operation.operands[1]) or syntax
    return syntax


BY_POSITIVE = {"floordiv": "floor_div_positive", "mod": "mod_positive", "raw_div": ""}
"""Divisions that are simpler for a positive divisor, with the name of the function; `raw_div` is `/` then."""


def _by_constant(language: Language, operation: Operation, divisor: Const) -> Syntax | None:
    """Return the syntax of a division of i32 or i64 by a positive constant, which needs no tests for 0 and -1."""
    kind = operation.type
    if kind not in (i32, i64) or divisor.type != kind or divisor.value < 1:
        return None
    if operation.op == "raw_div":
        return _operation(language, "plain_div", (kind, kind), kind)
    return _with_called(language, call(f"{BY_POSITIVE[operation.op]}_{kind}", 2))


@lru_cache(maxsize=4096)
def _operation(language: Language, op: str, types: tuple[Type, ...], result: Type) -> Syntax:
    if all(isinstance(t, Scalar) for t in types):
        syntax = language.operation(op, _scalar(types[1] if op == "select" else types[0]))
        return _with_called(language, syntax)
    native = language.tensor_operation(op, types, result)
    if native is not None:
        return _with_called(language, native)
    return tensor_functions.call_syntax(language, _plain_name(op, element_of(types[0])), types, result)


def _plain_name(op: str, element: Scalar) -> str:
    """Return the common name of operations that are the same on `element`, so that they share a helper."""
    if element.is_float:
        return op.replace("raw_div", "div")
    return SAME_ON_BOOLEANS.get(op, op) if element == u1 else op


SAME_ON_BOOLEANS = {
    "bit_and": "logical_and", "min": "logical_and", "bit_or": "logical_or", "max": "logical_or",
    "bit_not": "logical_not",
}  # fmt: skip


def cast_syntax(language: Language, cast: Cast) -> Syntax:
    """Return the syntax of a conversion, or with `bits` of a bit cast."""
    assert cast.value.type is not None and cast.type is not None
    if cast.in_lanes and language.lane_cast is not None:
        return _with_called(language, language.lane_cast(_scalar(cast.value.type), _scalar(cast.type)))
    return _cast(language, cast.value.type, cast.type, cast.bits)


@lru_cache(maxsize=4096)
def _cast(language: Language, old: Type, new: Type, bits: bool) -> Syntax:
    if isinstance(old, Tensor) and isinstance(new, Tensor):
        native = language.tensor_cast(old, new, bits)
        return native or tensor_functions.call_syntax(language, "bit_cast" if bits else "cast", (old,), new)
    syntax = (language.bit_cast if bits else language.cast)(_scalar(old), _scalar(new))
    return _with_called(language, with_helpers(syntax, *type_helpers(language, new)))


def element_syntax(
    language: Language, tensor: Tensor, indices: Sequence[int | str | None], is_lvalue: bool = True
) -> Syntax:
    """Return the syntax of an element of the tensor {0}.

    Args:
        indices: for each axis a number, the source of an index, or None for operand {1} (axis 0) or {2} (axis 1).
        is_lvalue: {0} is a variable, a parameter or an element of an array. C cannot index other values: a computed
            index then takes a function.
    """
    return tensors.element_syntax(language, tensor, tuple(indices), is_lvalue)


@lru_cache(maxsize=1024)
def init_syntax(language: Language, tensor: Tensor) -> Syntax:
    """Return the syntax of a tensor made of its elements {0}, {1}, ... row by row."""
    return tensors.init_syntax(language, tensor)


def splat_syntax(language: Language, tensor: Tensor) -> Syntax:
    """Return the syntax of a tensor whose elements are all {0}."""
    if len(tensor.shape) == 1 and tensors.is_native(language, tensor):
        return call(tensors.tensor_name(tensor))
    return tensor_functions.call_syntax(language, "splat", (tensor.element,), tensor)


def constructor_operands(
    language: Language, value: MatrixInit, template: Callable[[Statement], str]
) -> Sequence[Statement]:
    """Return the elements of a vector; GLSL's constructors convert, so that `vec2(float(i), 0.0)` is `vec2(i, 0.0)`.

    template: as for `printed_operands`.
    """
    kind = value.type
    if not isinstance(kind, Tensor) or not tensors.is_native(language, kind) or kind.element != f32:
        return value.elements
    return [unconverted(language, element, template) for element in value.elements]


def swizzle(value: MatrixInit, source: Callable[[Statement], str]) -> Rendered | None:
    """Return GLSL's `a.zyx` for a vector made of elements of one other; None for others.

    source: returns how an element is printed.
    """
    text = _components(value.elements, source)
    return None if text is None else Rendered(text)


def extended(value: MatrixInit, name: str, source: Callable[[Statement], str]) -> Rendered | None:
    """Return GLSL's `vec4(a, 0.0)` for a vector made of all elements of a shorter one, and others; None for others.

    name: of the type.
    """
    first = _owner(value.elements[0])
    size = first.type.size if first is not None and isinstance(first.type, Tensor) else 0
    kind = value.type
    if first is None or not isinstance(kind, Tensor) or len(kind.shape) > 1 or not 1 < size < kind.size:
        return None  # numbers of a matrix are in columns
    if first.type != Tensor((size,), kind.element):
        return None
    owner, _, names = (_components(value.elements[:size], source) or "").rpartition(".")
    if names != "xyzw"[:size]:
        return None
    return Rendered(f"{name}({', '.join([owner, *map(source, value.elements[size:])])})")


def _components(elements: Sequence[Statement], source: Callable[[Statement], str]) -> str | None:
    """Return `a.zyx` for elements of one vector; None for others."""
    if len({_owner(element) for element in elements}) != 1 or _owner(elements[0]) is None:
        return None
    parts = [source(element).rpartition(".") for element in elements]
    if len({owner for owner, _, _ in parts}) != 1 or not all(name in tuple(tensors.COMPONENTS) for _, _, name in parts):
        return None
    return f"{parts[0][0]}.{''.join(name for _, _, name in parts)}"


def _owner(element: Statement) -> Statement | None:
    """Return the vector, or the pointer to one, that an element is read from."""
    if isinstance(element, MatrixElement):
        return element.value
    pointer = element.pointer if isinstance(element, (LocalLoad, GlobalLoad)) else None
    return pointer.origin if isinstance(pointer, MatrixPtr) else None


SHIFTS = frozenset({"shl", "sar", "shr"})
CONVERTING = frozenset({"add", "sub", "mul", "div", "raw_div", "lt", "le", "gt", "ge", "eq", "ne"})
"""Operations whose operands are converted to a common type."""
PROMOTING = CONVERTING - {"div", "raw_div"} | {"bit_and", "bit_or", "bit_xor", "plain_div", "plain_mod", "shl", "sar"}
"""Those that C computes of integers by operators, for which it converts narrow ones to int."""


def printed_operands(
    language: Language, operation: Operation, template: Callable[[Statement], str]
) -> Sequence[Statement]:
    """Return the operands of `i - x`, without the conversion of a number to the type of the other operand, and those
    of a third power in the order that needs no brackets.

    template: returns that of a value's syntax, "" for a value that is printed as a name.
    """
    if operation.op in PROMOTING and Cast in map(type, operation.operands):
        counts = operation.op in ("add", "sub") and operation.type == i32
        operands = [promoted(language, value, template, counts) for value in operation.operands]
        if operands != operation.operands:
            return operands
    if operation.op in SHIFTS:
        return [operation.operands[0], _count_of(language, operation.operands[1], template)]
    if operation.op not in CONVERTING or len(operation.operands) != 2:
        return operation.operands
    a, b = operation.operands
    if operation.op == "mul" and isinstance(b, Operation) and b.op == "mul" and all(part is a for part in b.operands):
        return [b, a]  # `x * x * x`, which is `x * (x * x)` to the last bit
    if a.type != b.type or a.type not in (f32, f64):
        return operation.operands
    # One operand must stay a float: `(float)i / n`.
    return [a if _conversion(b) else unconverted(language, a, template), unconverted(language, b, template)]


def _count_of(language: Language, value: Statement, template: Callable[[Statement], str]) -> Statement:
    """Return the i32 or u32 by which bits are shifted, which every language takes whatever type the bits have."""
    if not isinstance(value, Cast) or not value.is_implicit or {value.type, value.value.type} != {i32, u32}:
        return value
    return value.value if template(value) == cast_syntax(language, value).template else value


def unconverted(language: Language, value: Statement, template: Callable[[Statement], str]) -> Statement:
    """Return the integer, or the f32, that is printed converted to a float as every language does; else the value."""
    cast = _conversion(value)
    if cast is None or cast.bits or cast.type not in (f32, f64):
        return value
    is_implicit = cast.value.type in (i32, u32) or (cast.value.type, cast.type) == (f32, f64)
    return cast.value if is_implicit and template(value) == cast_syntax(language, cast).template else value


def _conversion(value: Statement) -> Cast | None:
    """Return a conversion, or the one of a named number that a constant was made by."""
    match value:
        case Cast():
            return value
        case Const(origin=Origin(op="cast", operands=(number,))):
            return Cast(Const(number.number, number, type=number.type), type=value.type)
    return None


def promoted(
    language: Language, value: Statement, template: Callable[[Statement], str], counts: bool = False
) -> Statement:
    """Return the narrow integer that is printed converted to a type that C computes as int, too; else the value.

    counts: comparisons are such, too, in `(a > 0.0f) + (b > 0.0f)`.
    """
    if not language.computes_small_as_int or not isinstance(value, Cast) or value.bits:
        return value
    match value.value.type, value.type:
        case Scalar(kind="bool"), Scalar(name="i32") if counts and isinstance(value.value, Operation):
            is_compared = value.value.op in ("lt", "le", "gt", "ge", "eq", "ne")
            return value.value if is_compared and template(value) == cast_syntax(language, value).template else value
        case Scalar(kind="int" | "uint" as old, bits=few), Scalar(kind="int" | "uint" as new, bits=bits) as kind if (
            few < bits <= 32 and old in ("uint", new) and kind != u32
        ):
            return value.value if template(value) == cast_syntax(language, value).template else value
    return value


def atomic_syntax(language: Language, op: str, type: Scalar, native: bool) -> Syntax:
    """Return the syntax of an atomic operation; its result is the old value.

    {0} is the target, {1} the value. GLSL's compare-and-swap loops also take {2}, the buffer reference (or 64 bit
    address) of the array, and {3}, the index (uint) of the target among elements of `type` in it.

    Args:
        native: the result of `atomics.is_native` for the capabilities of the device; only GLSL uses it.

    Raises: UnsupportedError if the language lacks compare-and-swap of that width.
    """
    return atomics.atomic_syntax(language, op, type, native)


def helpers_source(language: Language, keys: Iterable[str], aligned: Collection[Tensor] = ()) -> str:
    """Return the declarations and functions that `keys` need, dependencies first, or an empty string.

    aligned: tensors whose structs are aligned so that one instruction loads or stores several elements.
    """
    library_keys, structs, functions = _closure(language, tuple(dict.fromkeys(keys)))
    sources = [helper.source for helper in helpers.order(language, library_keys)]
    sources += [tensors.struct_source(language, tensor, tensor in aligned) for tensor in structs]
    sources += [_generate(language, key).source for key in functions]
    sources = [on_one_line(source) for source in sources]
    return "".join(f"{source}\n{_gap(source, below)}" for source, below in pairwise([*sources, ""])).rstrip("\n")


def _gap(source: str, below: str) -> str:
    """Return the blank line between two declarations; none between two of one line and one kind."""
    is_block = any("\n" in part for part in (source, below))
    return "" if _kind(source) == _kind(below) and not is_block else "\n"


def _kind(source: str) -> str:
    """Return whether the first line of a declaration is a macro, a type or something else."""
    if source.startswith(("typedef", "struct", "using")):
        return "type"
    return "macro" if source.startswith("#define") else "other"


def helper_names(language: Language, keys: Iterable[str]) -> list[str]:
    """Return all names that `helpers_source` would define, so that names of the user can avoid them."""
    library_keys, structs, functions = _closure(language, tuple(dict.fromkeys(keys)))
    names = [helper.name for helper in helpers.order(language, library_keys)]
    names += [tensors.tensor_name(tensor) for tensor in structs]
    return names + [_generate(language, key).name for key in functions]


@dataclass(frozen=True, slots=True)
class Library:
    """What a file needs of helpers: their source, all names that it defines, all identifiers in it, extensions."""

    source: str
    names: list[str]
    identifiers: set[str]
    extensions: list[str]


def library_of(language: Language, keys: Sequence[str], aligned: Collection[Tensor], types: Iterable[Type]) -> Library:
    """Return what a file needs of helpers. types: of its values and arrays. aligned: as in `helpers_source`."""
    return Library(
        helpers_source(language, keys, aligned),
        helper_names(language, keys),
        helper_identifiers(language, keys),
        extensions(language, types, keys),
    )


def helper_identifiers(language: Language, keys: Iterable[str]) -> set[str]:
    """Return all identifiers in the helpers that `keys` need."""
    library_keys, structs, functions = _closure(language, tuple(dict.fromkeys(keys)))
    identifiers = set().union(*(helper.identifiers for helper in helpers.order(language, library_keys)))
    chunks = [tensors.struct_source(language, tensor) for tensor in structs]
    chunks += [_generate(language, key).source for key in functions]
    return identifiers.union(*map(helpers.identifiers_of, chunks))


def _is_generated(key: str) -> bool:
    return " -> " in key or key.startswith(("atomic ", "block ", "own ", "subgroup ", "texel ", "whole "))


def _generate(language: Language, key: str) -> Generated:
    if key.startswith("subgroup "):
        return collectives.generate(language, key)
    if key.startswith("block "):
        return collectives.generate_reduction(language, key)
    if key.startswith("texel "):
        return texture_functions.generate(language, key)
    if key.startswith("whole "):
        return atomics.generate_whole(language, key)
    if key.startswith("own "):
        return atomics.generate_own(language, key)
    return atomics.generate(language, key) if key.startswith("atomic ") else tensor_functions.generate(language, key)


@lru_cache(maxsize=256)
def _closure(language: Language, keys: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[Tensor, ...], tuple[str, ...]]:
    """Return library keys, structs, and generated functions, dependencies first."""
    libraries: dict[str, None] = {}
    structs: dict[Tensor, None] = {}
    functions: dict[str, None] = {}

    def visit(key: str) -> None:
        if key.startswith("struct "):
            tensor = tensors.parse_type(key.removeprefix("struct "))
            assert isinstance(tensor, Tensor)
            structs[tensor] = None
            for name in type_helpers(language, tensor.element):
                libraries[name] = None
        elif not _is_generated(key):
            libraries[key] = None
        elif key not in functions:
            for used in _generate(language, key).uses:
                visit(used)
            functions[key] = None

    for key in sorted(keys):
        visit(key)
    ordered = sorted(structs, key=lambda t: (t.element.name, len(t.shape), t.shape))
    return tuple(libraries), tuple(ordered), tuple(functions)


def extensions(language: Language, types: Iterable[Type], keys: Iterable[str]) -> list[str]:
    """Return the extensions needed for values or arrays of `types` and for the helpers of `keys`, sorted."""
    by_type = language.type_extensions
    needed = {by_type[part.name] for type in types for part in scalars_of(type) if part.name in by_type}
    keys = tuple(dict.fromkeys(keys))
    needed |= {key.removeprefix("extension ") for key in keys if key.startswith("extension ")}
    identifiers = helper_identifiers(language, keys)
    needed |= {extension for name, extension in language.extensions.items() if name in identifiers}
    return sorted(needed)


def _with_called(language: Language, syntax: Syntax) -> Syntax:
    return with_helpers(syntax, *helpers.known(language, syntax.named))


def _scalar(type: Type | None) -> Scalar:
    assert isinstance(type, Scalar)
    return type


def _without_mask(syntax: Syntax, count: Statement) -> Syntax:
    """A count that is certainly in range needs no mask: `x << 3`."""
    start = syntax.template.find("({1} & ")
    greatest = _greatest(count) if start >= 0 else None
    if greatest is None or greatest >= element_of(count.type or u1).bits:
        return syntax
    end = start + 1
    while syntax.template[start:end].count("(") != syntax.template[start:end].count(")"):
        end += 1
    return replace(syntax, template=syntax.template[:start] + "{1}" + syntax.template[end:])


def _greatest(count: Statement) -> int | None:
    """Return the greatest value that a number may have, None if it may be negative or is not known."""
    match count:
        case Const(value=value):
            return int(value) if int(value) >= 0 else None
        case LoopIndex(loop=RangeFor(starts=starts, ends=ends, steps=steps), axis=axis):
            first, end = starts[axis], ends[axis]
            if not (isinstance(first, Const) and isinstance(end, Const) and is_const(steps[axis], 1)):
                return None
            return int(end.value) - 1 if 0 <= int(first.value) < int(end.value) else None
        case Operation(op="bit_and", operands=[_, Const(value=mask)]):
            return int(mask) if int(mask) >= 0 else None
        case Operation(op="mod" | "plain_mod" | "near_mod" | "close_mod", operands=[_, Const(value=divisor)]):
            return int(divisor) - 1 if int(divisor) > 0 else None
        case Operation(op="add" | "sub" | "mul" as op, operands=[a, b], type=Scalar(bits=bits)):
            left, right = _greatest(a), _greatest(b)
            if left is None or right is None:
                return None
            if op == "sub":
                return left if isinstance(a, Const) and right <= left else None
            total = left + right if op == "add" else left * right
            return total if total < 1 << (bits - 1) else None
        case Cast(value=Statement(type=Scalar(kind="int" | "uint")) as inner, bits=False):
            return _greatest(inner)
    return None
