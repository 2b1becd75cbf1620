"""`Syntax`, the concrete syntax of one operation, and its common forms: infix, prefix, call, cast.

A `Syntax` has a template for `str.format`, the precedence that each operand must have, and the helpers that it calls.
Precedence levels are those of C; higher binds tighter. More parentheses are required than the language needs if gcc's
-Wparentheses would warn or a reader could be misled (`a + b << c`, `a && b || c`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from ....lazy_dataclasses import dataclass

PRIMARY, UNARY, MULTIPLY, ADD, SHIFT, COMPARE, EQUAL = 16, 15, 14, 13, 12, 11, 10
BIT_AND, BIT_XOR, BIT_OR, AND, OR, TERNARY, ASSIGN = 9, 8, 7, 6, 5, 4, 1

EXACT = "exact "
"""Prefix of the name of an operation: its variant for fast_math=False, if that differs."""


@dataclass(frozen=True, slots=True)
class Syntax:
    """The syntax of an operation.

    template: a `str.format` template; {0} is the first operand.
    precedence: of the whole expression.
    operand_precedence: the precedence that each operand must have at least to need no parentheses.
    helpers: keys for `helpers_source`.
    chain: a left operand with the same template needs no parentheses (`a | b | c`), although its precedence is too low.
    bare: the template of a literal without the name of its type.
    """

    template: str
    precedence: int = PRIMARY
    operand_precedence: tuple[int, ...] = ()
    helpers: tuple[str, ...] = ()
    chain: bool = False
    bare: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """The names in the template, in order: functions, types, constants."""
        return _names_in(self.template)[0]

    @property
    def called(self) -> tuple[str, ...]:
        """The names in the template that an argument list follows."""
        return _names_in(self.template)[1]

    def format(self, *operands: str) -> str:
        """Return the source with operands, which already have the parentheses that they need."""
        return self.template.format(*operands)


class Rendered(NamedTuple):
    """The source of a value.

    template: of its syntax, since `a | b | c` needs no parentheses.
    inverse: the operand, if it is a `!`.
    bare: a literal in a declaration, which has the type already: `{x, y}`.
    unsigned: of a sum that may wrap, without the conversion back to a signed type, and its precedence.
    """

    source: str
    precedence: int = PRIMARY
    template: str = ""
    inverse: str = ""
    bare: str = ""
    unsigned: tuple[str, int] | None = None

    @property
    def initializer(self) -> str:
        """The initializer behind `type name =`."""
        return self.bare or self.assigned

    @property
    def assigned(self) -> str:
        """The source behind `name =`, which converts a number to the type of the variable."""
        return self.source if self.unsigned is None else self.unsigned[0]


@dataclass(frozen=True, slots=True)
class Generated:
    """One generated function. uses: keys of structs, library chunks and other generated functions."""

    name: str
    source: str
    uses: tuple[str, ...]


NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(\s*\()?")
"""A name in a template, and the parenthesis after it; not the suffix of a number."""


@lru_cache(maxsize=4096)
def _names_in(template: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names in a template of a table, and those that are called. Printed source is never passed to this."""
    matches = NAME.findall(template)
    return tuple(name for name, _ in matches), tuple(name for name, called in matches if called)


INFIX: dict[str, tuple[int, int, int, bool]] = {
    "+": (ADD, ADD, MULTIPLY, False),
    "-": (ADD, ADD, MULTIPLY, False),
    "*": (MULTIPLY, MULTIPLY, UNARY, False),
    "/": (MULTIPLY, MULTIPLY, UNARY, False),
    "%": (MULTIPLY, MULTIPLY, UNARY, False),
    "<<": (SHIFT, MULTIPLY, MULTIPLY, False),
    ">>": (SHIFT, MULTIPLY, MULTIPLY, False),
    "<": (COMPARE, SHIFT, SHIFT, False),
    "<=": (COMPARE, SHIFT, SHIFT, False),
    ">": (COMPARE, SHIFT, SHIFT, False),
    ">=": (COMPARE, SHIFT, SHIFT, False),
    "==": (EQUAL, SHIFT, SHIFT, False),
    "!=": (EQUAL, SHIFT, SHIFT, False),
    "&": (BIT_AND, MULTIPLY, MULTIPLY, True),
    "^": (BIT_XOR, MULTIPLY, MULTIPLY, True),
    "|": (BIT_OR, MULTIPLY, MULTIPLY, True),
    "&&": (AND, AND, BIT_OR, False),
    "||": (OR, BIT_OR, BIT_OR, True),
}
"""Symbol -> precedence, required precedence of the left and the right operand, whether it chains to the left."""


def infix(symbol: str) -> Syntax:
    """`{0} symbol {1}`."""
    precedence, left, right, chain = INFIX[symbol]
    return Syntax(f"{{0}} {symbol} {{1}}", precedence, (left, right), (), chain)


def prefix(symbol: str) -> Syntax:
    """`symbol{0}`; the operand must be primary, since `--x` is not `-(-x)`."""
    return Syntax(f"{symbol}{{0}}", UNARY, (PRIMARY,))


def call(name: str, arity: int = 1, *helpers: str) -> Syntax:
    """`name({0}, {1}, ...)`."""
    arguments = ", ".join(f"{{{k}}}" for k in range(arity))
    return Syntax(f"{name}({arguments})", PRIMARY, (ASSIGN,) * arity, helpers)


def same() -> Syntax:
    """The operand itself."""
    return Syntax("{0}", PRIMARY, (PRIMARY,))


def custom(template: str, precedence: int, *operand_precedence: int) -> Syntax:
    """Any other template."""
    return Syntax(template, precedence, operand_precedence)


def c_cast(inner: Syntax, type_name: str) -> Syntax:
    """`(type_name)inner`, with parentheses around `inner` if it binds less than a cast."""
    template = inner.template if inner.precedence >= UNARY else f"({inner.template})"
    operands = (
        tuple(max(p, UNARY) for p in inner.operand_precedence) if inner.template == "{0}" else inner.operand_precedence
    )
    return replace(
        inner, template=f"({type_name}){template}", precedence=UNARY, operand_precedence=operands, chain=False
    )


def constructor(inner: Syntax, type_name: str) -> Syntax:
    """`type_name(inner)`."""
    operands = (ASSIGN,) if inner.template == "{0}" else inner.operand_precedence
    return replace(
        inner, template=f"{type_name}({inner.template})", precedence=PRIMARY, operand_precedence=operands, chain=False
    )


def with_operands(inner: Syntax, form: str, precedence: int, needed: int) -> Syntax:
    """Return `inner` with every operand {k} wrapped by `form` ("int({0})").

    precedence: of the wrapped operand. needed: required of the operand inside it.
    """
    count = len(inner.operand_precedence)
    wrapped = [form.format(f"{{{k}}}") for k in range(count)]
    operands = [w if precedence >= p else f"({w})" for w, p in zip(wrapped, inner.operand_precedence, strict=True)]
    return replace(inner, template=inner.template.format(*operands), operand_precedence=(needed,) * count, chain=False)


def with_helpers(inner: Syntax, *helpers: str) -> Syntax:
    """Return `inner` with more helpers, each once."""
    return replace(inner, helpers=tuple(dict.fromkeys(inner.helpers + helpers)))
