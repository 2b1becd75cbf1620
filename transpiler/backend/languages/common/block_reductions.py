"""Functions that join the values of all threads of a block: `block_sum(value)`, `block_max(value)`.

Helpers are generated from keys "block add f32", and what they share from "block memory f32". All threads of a block
call them; the first thread gets the result. C has none: there, threads are iterations of loops.
"""

from __future__ import annotations

from functools import lru_cache

from ....ir.ops import ATOMIC_OPS
from ....ir.types import SCALARS, Scalar
from .helpers import called
from .language import Language
from .syntax_forms import Generated

NAMES = {"add": "block_sum", "mul": "block_product"}
VERBS = {"add": "The sum", "mul": "The product", "min": "The least", "max": "The greatest"}
MEMORY = "memory"
ASSIGNED = {f"{{0}} {symbol} {{1}}": f"{symbol}=" for symbol in ("+", "*", "&", "|", "^")}
"""Template of an operation -> its compound assignment."""


def key_of(op: str, type: Scalar, options: str = "") -> str:
    """Return the key of the helper for `op` on `type`. options: of the device, as the language needs them."""
    return f"block {op} {type}{' ' + options if options else ''}"


def name_of(op: str) -> str:
    """Return the name of the helper for `op`, the same for all types."""
    return NAMES.get(op, f"block_{op}")


@lru_cache(maxsize=256)
def generate(language: Language, key: str) -> Generated:
    """Return the helper of `key`."""
    _, op, name, *options = key.split(" ")
    assert language.block_reduction is not None
    source, uses = language.block_reduction(language, op, SCALARS[name], tuple(options))
    return Generated(name_of(op), source, (*uses, *called(language, source)))


def comment(op: str) -> str:
    """Return what the helper returns."""
    return f"{VERBS.get(op, f'`{op}`')} of the values of a block's threads, in the first; all threads call it."


def joined(language: Language, op: str, type: Scalar, other: str) -> str:
    """Return the statement `value = value op other`."""
    syntax = language.operation(ATOMIC_OPS[op], type)
    if syntax.template in ASSIGNED:
        return f"value {ASSIGNED[syntax.template]} {other};"
    return f"value = {syntax.format('value', other)};"
