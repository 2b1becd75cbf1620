"""The value every spelling is made of, and the shapes spellings come in: infix, prefix, call, cast.

Out: `Syntax` objects, templates for `str.format` that say where an operand needs parentheses and which helpers the
text calls. Precedence levels are those of C, higher binds tighter; operands ask for more than the language needs where
gcc's -Wparentheses, or a reader, would stumble (`a + b << c`, `a && b || c`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

PRIMARY, UNARY, MULTIPLY, ADD, SHIFT, COMPARE, EQUAL = 16, 15, 14, 13, 12, 11, 10
BIT_AND, BIT_XOR, BIT_OR, AND, OR, TERNARY, ASSIGN = 9, 8, 7, 6, 5, 4, 1

EXACT = "exact "
"""Before the name of an operation: how it is written for fast_math=False, where that differs."""


@dataclass(frozen=True, slots=True)
class Syntax:
    """How an operation is written. text: a `str.format` template, {0} being the first operand.

    precedence: of the whole text. operand_precedence: what each operand must have to stand without parentheses.
    helpers: keys for `helpers_source`. chain: a left operand written by the same template needs no parentheses
    (`a | b | c`), although its precedence is lower than asked for. bare: a literal without the name of its type.
    """

    text: str
    precedence: int = PRIMARY
    operand_precedence: tuple[int, ...] = ()
    helpers: tuple[str, ...] = ()
    chain: bool = False
    bare: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """The names in the template, in order: functions, types, constants."""
        return _names_in(self.text)[0]

    @property
    def called(self) -> tuple[str, ...]:
        """Those that an argument list follows."""
        return _names_in(self.text)[1]

    def format(self, *operands: str) -> str:
        """Return the text with operands, which already have the parentheses they need."""
        return self.text.format(*operands)


@dataclass(frozen=True, slots=True)
class Generated:
    """One generated function. uses: keys of structs, library chunks and other generated functions."""

    name: str
    text: str
    uses: tuple[str, ...]


NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(\s*\()?")
"""A name in a template, and the parenthesis behind it; no suffix of a number."""


@lru_cache(maxsize=4096)
def _names_in(template: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names in the template of a table, and those of functions. Nothing that is printed comes here."""
    found = NAME.findall(template)
    return tuple(name for name, _ in found), tuple(name for name, called in found if called)


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
"""Symbol -> precedence, what the left and the right operand need, whether it chains to the left."""


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


def written(text: str, precedence: int, *operand_precedence: int) -> Syntax:
    """Any other text."""
    return Syntax(text, precedence, operand_precedence)


def c_cast(inner: Syntax, type_name: str) -> Syntax:
    """`(type_name)inner`, with parentheses around `inner` if it binds less than a cast."""
    text = inner.text if inner.precedence >= UNARY else f"({inner.text})"
    operands = (
        tuple(max(p, UNARY) for p in inner.operand_precedence) if inner.text == "{0}" else inner.operand_precedence
    )
    return replace(inner, text=f"({type_name}){text}", precedence=UNARY, operand_precedence=operands, chain=False)


def constructor(inner: Syntax, type_name: str) -> Syntax:
    """`type_name(inner)`."""
    operands = (ASSIGN,) if inner.text == "{0}" else inner.operand_precedence
    return replace(
        inner, text=f"{type_name}({inner.text})", precedence=PRIMARY, operand_precedence=operands, chain=False
    )


def with_operands(inner: Syntax, form: str, precedence: int, needed: int) -> Syntax:
    """Return `inner` with every operand {k} wrapped as `form` says ("int({0})"), which needs and gives these levels."""
    count = len(inner.operand_precedence)
    wrapped = [form.format(f"{{{k}}}") for k in range(count)]
    texts = [w if precedence >= p else f"({w})" for w, p in zip(wrapped, inner.operand_precedence, strict=True)]
    return replace(inner, text=inner.text.format(*texts), operand_precedence=(needed,) * count, chain=False)


def with_helpers(inner: Syntax, *helpers: str) -> Syntax:
    """Return `inner` with more helpers, each once."""
    return replace(inner, helpers=tuple(dict.fromkeys(inner.helpers + helpers)))
