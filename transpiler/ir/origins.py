"""Where a constant comes from: the named Python numbers of which it was computed.

In: numbers with names, and the operations on them that Python or the pass `fold` has evaluated. Out: `Origin`, an
expression that every compiler evaluates to the constant, bit by bit; printers write it in place of the number. All
other parts of the compiler see the number alone. An expression that a compiler may round otherwise becomes a named
number itself:

    dx = 1 / 128, in the kernel 0.5 * dx    ->    0.5f * dx, with `const float dx = 0.0078125f;`
    dt = 1e-4, in the kernel dt * dt        ->    dt_squared, with `const float dt_squared = 1e-08f;  // dt ** 2`
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cache
from typing import Any

import numpy as np

from ..lazy_dataclasses import dataclass
from .types import Scalar, f16, f32, i32, i64, u64

Number = int | float | bool

NAMED, LITERAL, CAST, OPAQUE, BLOCK_SIZE = "named", "literal", "cast", "opaque", "block_size"
"""Kinds of origins that are no operation: a named number, a number in the source, a conversion, something that only
Python or a device computes, the number of threads of a block, which a person may change."""
DECLARED = frozenset({"i32", "u32", "i64", "u64", "f32", "f64"})
"""Types that a named number may have in a source."""
ROUNDED = frozenset({"add", "sub", "mul", "neg"})
"""Operations on floats that every compiler rounds correctly."""
INTEGER = frozenset({"add", "sub", "mul", "neg", "plain_div", "plain_mod"})
"""Operations on integers that are the same in every language, if nothing overflows."""
MAX_SIZE = 9
"""Parts of an expression that is printed."""
MAX_TRACKED = 32
"""Parts of an expression that is remembered."""
MAX_NAME = 40
MAX_TEXT = 80
"""Characters of the text of an expression that is not remembered."""
INFIX = {
    "add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2), "plain_div": ("//", 2), "plain_mod": ("%", 2),
    "floordiv": ("//", 2), "mod": ("%", 2), "pow": ("**", 4),
}  # fmt: skip
"""Python's operators, with their precedence; that of a unary minus is 3."""
PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "div": operator.truediv,
    "plain_div": operator.floordiv, "plain_mod": operator.mod,
}  # fmt: skip
"""Operations that a source may contain, without rounding to a type."""


@dataclass(frozen=True, slots=True)
class Origin:
    """An expression of named numbers.

    Attributes:
        op: an operation of the op table, or one of the kinds above.
        type: of the value.
        value: what Python has, or of an operation of a kernel what the type represents.
        name: of a named number, as an identifier in Python; of an opaque operation, how names are made with it.
        note: of a named number, where it comes from, "" for a captured one of this name; of an opaque one, its text.
        operands: of an operation.
        size: the number of its parts.
        notation: of a literal that is not decimal in Python, as of a `Const`.
    """

    op: str
    type: Scalar
    value: Number
    name: str = ""
    note: str = ""
    operands: tuple[Origin, ...] = ()
    size: int = 1
    notation: str = field(default="", compare=False)

    @property
    def number(self) -> Number:
        """The value as its type represents it."""
        return represented(self.value, self.type)

    @property
    def key(self) -> tuple[str, str, Scalar, str]:
        """What distinguishes two named numbers."""
        return self.name, self.note, self.type, repr(self.number)

    def named(self) -> Iterator[Origin]:
        """Yield the named numbers of which it consists, in order."""
        if self.op == NAMED:
            yield self
        for operand in self.operands:
            yield from operand.named()


def named_number(name: str, note: str, value: Any, type: Scalar) -> Origin | None:
    """Return the origin of a number that has a name in Python, None if no source can name it."""
    type, value = f32 if type == f16 else type, plain_number(value)
    if type.is_integral and isinstance(value, int) and type(value) != value:
        type = i64 if i64(value) == value else u64
    if isinstance(value, bool) or type.name not in DECLARED or not math.isfinite(value):
        return None
    is_known = value == type(value) if type.is_integral else math.isfinite(represented(value, type))
    return Origin(NAMED, type, value, name, note) if is_known else None


def extent_of(array: Any, axis: int) -> Origin:
    """Return the origin of an extent of a field or a texture of constant extents."""
    return Origin(NAMED, i32, array.shape[axis], f"{array.name}_n{axis}", f"{array.name}.shape[{axis}]")


def block_size(value: int) -> Origin:
    """Return the origin of the number of threads in a block of the task."""
    return Origin(BLOCK_SIZE, i32, value)


def literal(value: Any, type: Scalar) -> Origin:
    """Return the origin of a number that has no name."""
    return Origin(LITERAL, type, plain_number(value), notation=notation_in(value))


def operation(op: str, operands: tuple[Origin, ...], value: Any, type: Scalar) -> Origin | None:
    """Return the origin of the result of an operation; None if no name is left, or too many."""
    value = plain_number(value)
    if isinstance(value, bool) or not math.isfinite(value):
        return None
    same = _without_identity(op, operands, value)
    if same is not None:
        return same if same.op != LITERAL else None
    if op in ("add", "sub") and operands[1].op == LITERAL and operands[1].value < 0:
        op = "sub" if op == "add" else "add"
        operands = (operands[0], literal(-operands[1].value, operands[1].type))
    if op in ("floordiv", "mod") and not type.is_float and min(o.value for o in operands) >= 0:
        op = f"plain_{op.removeprefix('floor')}"
    if op == "pow" and operands[1].op == LITERAL and operands[1].value in (2, 3) and operands[0].op == NAMED:
        return _product(operands[0], int(operands[1].value), value, type)
    return _sized(Origin(op, type, value, "", "", operands))


def converted(origin: Origin, type: Scalar) -> Origin:
    """Return an operand in the type of an operation."""
    if origin.type == type:
        return origin
    if origin.op == LITERAL:
        return Origin(LITERAL, type, origin.value, notation=origin.notation)
    return _cast(origin, type)


def opaque(name: str, note: str, operands: tuple[Origin, ...], value: Any, type: Scalar) -> Origin | None:
    """Return the origin of what a function of Python returned. note: the call as it is written."""
    value = plain_number(value)
    return _sized(Origin(OPAQUE, type, value, name, note, operands)) if math.isfinite(value) else None


def settled(origin: Origin | None, value: Number, type: Scalar) -> Origin | None:
    """Return the origin of a constant as printers need it: every compiler evaluates it to exactly this number.

    None if the number is to be printed. value: as the type represents it.
    """
    if origin is None or type.kind == "bool" or not math.isfinite(value):
        return None
    for found in _forms(origin, type):
        if found.size <= MAX_SIZE and all(_is(result, value, type) for result in (_exact(found), _in_double(found))):
            return found
    if type.name not in DECLARED or not any(origin.named()):
        return None
    while origin.op == CAST:
        origin = origin.operands[0]
    name, note = derived_name(origin), python_text(origin)
    if origin.op == NAMED:  # a conversion that loses digits
        name, note = (origin.name if type.is_float else f"int_{origin.name}"), f"{note} as {type}"
    return Origin(NAMED, type, value, name, note)


def _forms(origin: Origin, type: Scalar) -> Iterator[Origin]:
    """Yield expressions for a number of some type: in that type as a whole, or converted at the end."""
    whole = i32 if type.is_integral else f32
    if origin.type.is_float == type.is_float:
        if type.name in DECLARED:
            yield _at(origin, type)
        if origin.type != type and origin.type.bits < type.bits:
            yield _cast(origin, type)
        if type.bits < whole.bits:
            yield _cast(_at(origin, whole), type)
    elif type.is_float:
        yield _cast(_at(origin, i32), type)


def _at(origin: Origin, type: Scalar) -> Origin:
    """Return an expression computed in another type of its kind; integers in it are i32."""
    if origin.type.is_float and not type.is_float:
        return origin  # no source converts it: only Python does
    if origin.type.is_float != type.is_float:
        return _cast(_at(origin, i32), type)
    if origin.op == CAST:
        return _at(origin.operands[0], type)
    if origin.type == type and not origin.operands:
        return origin
    operands = tuple(_at(operand, type) for operand in origin.operands)
    return Origin(origin.op, type, origin.value, origin.name, origin.note, operands, origin.size, origin.notation)


def _cast(origin: Origin, type: Scalar) -> Origin:
    return Origin(CAST, type, origin.value, operands=(origin,), size=origin.size + 1)


# --- numbers ----------------------------------------------------------------------------------------------------------

_classes: dict[int, type] = {}
"""By identity, the classes whose objects are numbers with an origin; no foreign class is compared or hashed."""


@cache
def _class_with_origin(kind: Any) -> Any:
    members = {
        "origin": None,
        "plain": None,
        "notation": "",
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
    }
    made = type(kind.__name__, (kind,), members)  # errors show the user's class
    _classes[id(made)] = made
    return made


def with_origin(value: Any, origin: Origin | None) -> Any:
    """Return a number that remembers its origin, of a subclass of its class: for Python it is the number.

    Only numbers of Python's and NumPy's own classes can.
    """
    kind: Any = type(value)
    if origin is None or not (kind in (int, float) or kind.__module__ == "numpy" and issubclass(kind, np.number)):
        return value
    made = _class_with_origin(kind)(value)
    made.origin, made.plain = origin, value
    return made


def with_notation(value: int, notation: str) -> int:
    """Return a number that remembers its literal in Python, `0x00ff`, of a subclass of int."""
    made: Any = _class_with_origin(int)(value)
    made.notation, made.plain = notation, value
    return made  # type: ignore[no-any-return]


def notation_in(value: Any) -> str:
    """Return the literal that a number remembers, "" for any other object."""
    return value.notation if id(type(value)) in _classes else ""


def origin_in(value: Any) -> Origin | None:
    """Return the origin that a number remembers, None for any other object."""
    return value.origin if id(type(value)) in _classes else None


def without_origin(value: Any) -> Any:
    """Return the number itself; other objects as they are."""
    return value.plain if id(type(value)) in _classes else value


def plain_number(value: Any) -> Any:
    """Return a number as one of Python's own types."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, bool) else int(value) if isinstance(value, int) else float(value)


def represented(value: Number, type: Scalar) -> Number:
    """Return a number as a type represents it."""
    if type.is_float:
        with np.errstate(over="ignore"):
            return float(type.numpy.type(value))
    number: Number = type(value)
    return number


def _is(result: Any, value: Number, type: Scalar) -> bool:
    """Return whether a result is a number, its sign too if it is 0."""
    return result is not None and repr(represented(result, type)) == repr(value)


# --- what compilers compute -------------------------------------------------------------------------------------------


def _exact(origin: Origin) -> Any:
    """Return what a compiler computes that rounds each operation to its type; None if that is not certain."""
    if origin.op in (NAMED, LITERAL, BLOCK_SIZE):
        is_known = origin.type.is_float or origin.value == origin.number
        return origin.number if is_known and origin.type.name in DECLARED else None
    results = [_exact(operand) for operand in origin.operands]
    if any(result is None for result in results):
        return None
    if origin.op == CAST:
        return _converted(results[0], origin.operands[0].type, origin.type)
    if any(operand.type != origin.type for operand in origin.operands):
        return None
    if not origin.type.is_float:
        return _integer(origin.op, results, origin.type)
    if origin.op in ROUNDED:
        with np.errstate(all="ignore"):
            return origin.type.numpy.type(PYTHON[origin.op](*map(origin.type.numpy.type, results))).item()
    if origin.op == "div" and results[1]:
        quotient = represented(results[0] / results[1], origin.type)  # devices may divide coarsely
        return quotient if _is_product(results[0], quotient, results[1]) else None
    return None


def _is_product(value: Number, factor: Number, other: Number) -> bool:
    """Return whether a number is exactly the product of two: `fractions` would take 3 ms of a start."""
    (a, b), (c, d), (e, f) = (number.as_integer_ratio() for number in (value, factor, other))
    return a * d * f == c * e * b


def _integer(op: str, results: list[int], type: Scalar) -> int | None:
    if op not in INTEGER or (op.startswith("plain_") and results[1] <= 0):
        return None
    value: int = PYTHON[op](*results)
    return value if type(value) == value else None


def _converted(value: Number, old: Scalar, new: Scalar) -> Number | None:
    if old.is_float and not new.is_float:
        return None
    result = represented(value, new)
    if new.is_float or result == value:
        return result
    return None


def _in_double(origin: Origin) -> Any:
    """Return what a compiler computes that keeps constants in double, from the decimals in the source, as glslang does.

    The result is rounded to the type of the constant by the caller.
    """
    if origin.op in (NAMED, LITERAL, BLOCK_SIZE):
        if origin.type.name == "f32":
            return float(str(np.float32(origin.value)))
        return origin.number
    results = [_in_double(operand) for operand in origin.operands]
    if any(result is None for result in results):
        return None
    if origin.op == CAST:
        return results[0]
    if origin.op == "div":
        return results[0] / results[1] if results[1] else None
    return PYTHON[origin.op](*results) if origin.op in PYTHON else None


# --- expressions ------------------------------------------------------------------------------------------------------


def _sized(origin: Origin) -> Origin | None:
    size = 1 + sum(operand.size for operand in origin.operands)
    if all(operand.op == LITERAL for operand in origin.operands):
        return None
    if size > MAX_TRACKED:  # a number of its own, whose name and text say where it comes from
        if origin.type.name not in DECLARED:
            return None
        return Origin(NAMED, origin.type, origin.value, derived_name(origin), f"{python_text(origin)[:MAX_TEXT]}...")
    return Origin(origin.op, origin.type, origin.value, origin.name, origin.note, origin.operands, size)


def _without_identity(op: str, operands: tuple[Origin, ...], value: Number) -> Origin | None:
    """Return the operand that an operation with 0 or 1 leaves as it is."""
    if len(operands) != 2 or op not in ("add", "sub", "mul"):
        return None
    identity = 1 if op == "mul" else 0
    for one, other in (operands, operands[::-1])[: 1 if op == "sub" else 2]:
        if other.op == LITERAL and other.value == identity and type(one.value) is type(value) and one.value == value:
            return one
    return None


def _product(base: Origin, exponent: int, value: Number, type: Scalar) -> Origin | None:
    product = base
    for _ in range(exponent - 1):
        with np.errstate(all="ignore"):
            product = Origin("mul", type, product.value * base.value, operands=(product, base), size=product.size + 2)
    power = Origin("pow", type, value, operands=(base, literal(exponent, i32)), size=3)
    settled_product = Origin("mul", type, value, operands=product.operands, size=product.size)
    exact = represented(value, type)
    return settled_product if _is(_exact(product), exact, type) and base.type == type else power


def python_text(origin: Origin, outer: int = 0) -> str:
    """Return the expression in Python."""
    match origin.op:
        case "named":
            text = origin.note if origin.note else origin.name
            return f"({text})" if _precedence(text) < outer else text
        case "literal":
            return origin.notation or repr(origin.value)
        case "opaque":
            return origin.note
        case "cast":
            return python_text(origin.operands[0], outer)
        case "block_size":
            return "BLOCK"
    symbol, own = INFIX.get(origin.op, ("", 3))
    if symbol and len(origin.operands) == 2:
        left, right = (python_text(o, own + k) for k, o in enumerate(origin.operands))
        text = f"{left} {symbol} {right}"
    elif origin.op == "neg":
        text = f"-{python_text(origin.operands[0], 3)}"
    else:
        return f"{origin.op}({', '.join(map(python_text, origin.operands))})"
    return f"({text})" if own < outer else text


def _precedence(text: str) -> int:
    """Return the precedence of the last operation of an expression in Python, 0 of what is none (`n as f32`)."""
    if text.isidentifier():
        return 5
    try:
        match ast.parse(text, mode="eval").body:
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return 1
            case ast.BinOp(op=ast.Pow()):
                return 4
            case ast.BinOp():
                return 2
            case ast.UnaryOp():
                return 3
            case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call() | ast.Constant():
                return 5
    except (SyntaxError, ValueError):
        pass
    return 0


def derived_name(origin: Origin) -> str:
    """Return a name for the result of an expression: `dt_E`, `inv_dx`, `dt_squared`, `inv_h_scaled`, `sqrt_E`."""
    names = list(dict.fromkeys(named.name for named in origin.named()))
    if len(names) != 1:
        return "_".join(names)[:MAX_NAME].rstrip("_")
    (name,) = names
    first = origin.operands[0] if origin.operands else origin
    last = origin.operands[-1] if origin.operands else origin
    if origin.op == "div" and first.op == LITERAL and first.value == 1:
        return f"inv_{name}"
    if origin.op == "pow" and last.op == LITERAL and last.value in (2, 3):
        return f"{name}_{'squared' if last.value == 2 else 'cubed'}"
    if origin.op == "mul" and first.op == last.op == NAMED:
        return f"{name}_squared"
    if origin.op in ("mul", "div"):
        is_inverse = origin.op == "div" and not any(first.named()) and not name.startswith("inv_")
        return f"{'inv_' if is_inverse else ''}{name.removesuffix('_scaled')}_scaled"
    if origin.op in ("add", "sub"):
        return f"{name}_shifted"
    return f"{origin.name or origin.op}_{name}"
