"""Collective operations of threads: functions of the language, or in C loops over the variables of a block's threads.

Helpers are generated from keys "subgroup reduce_add f32"; those that need no type are in `templates/*/lib/threads.*`.
In C a collective is a call between two loops over the threads, `subgroup_reduce_add_f32(threads, x, sum)`: it reads an
array with a value for each thread and stores an array with a result for each thread.

What joins the values of all threads of a block for a reduction, `block_sum(value)`, is generated from keys
"block add f32" or "block add f32[27]", and what these functions share from "block memory f32". All threads of a block
call them; the first gets the result. C has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from ....ir.ops import ATOMIC_OPS
from ....ir.threads import COLLECTIVES
from ....ir.types import SCALARS, Scalar, Tensor, element_of
from . import wrapping
from .helpers import called, known
from .language import Language
from .one_line import INDENT
from .syntax_forms import ASSIGN, PRIMARY, Generated, Syntax, with_helpers
from .tensors import element_source, is_short_vector, parse_type

ALL_LANES = "0xffffffffu"
"""The mask of all lanes of a warp."""
WHOLE = "whole"
"""Option of a helper that all lanes of a warp call: it takes no mask."""
LIBRARY = {"match_any", "block_all", "block_any", "block_count", "elect", "match_all"}
"""Helpers that are in a library because they need no type."""


def collective_syntax(language: Language, op: str, type: Scalar | None, lanes: str) -> Syntax:
    """Return the syntax of a collective.

    type: of its value, None without one. lanes: the mask of participating lanes, "" if the language needs none.
    """
    return language.collective(language, op, type, lanes)


def from_table(
    language: Language, table: Mapping[str, tuple[str, int]], op: str, type: Scalar | None, lanes: str
) -> Syntax:
    """Return the entry of a table of templates with {lanes}, or the call of a helper named after the collective."""
    collective = COLLECTIVES[op]
    keys: tuple[str, ...] = ()
    entry = table.get(op)
    if entry is None:
        operands = [f"{{{k}}}" for k in range(len(collective.arguments))]
        is_whole = op not in LIBRARY and lanes == ALL_LANES
        entry = (
            f"{op}({', '.join(['{lanes}', *operands] if language.names_lanes and not is_whole else operands)})",
            PRIMARY,
        )
        keys = () if op in LIBRARY else (f"subgroup {op} {type}{' ' + WHOLE if is_whole else ''}",)
    template, precedence = entry[0].replace("{lanes}", lanes), entry[1]
    syntax = Syntax(template, precedence, (ASSIGN,) * len(collective.arguments), keys)
    return with_helpers(syntax, *known(language, syntax.named))


def exchange_name(op: str, type: Scalar | None, uniform: bool, masked: bool) -> str:
    """Return the name of C's function for a collective of a subgroup."""
    suffix = f"_{type}" if type is not None else ""
    return f"subgroup_{op}{suffix}{'_by' if uniform else ''}{'_of_some' if masked else ''}"


def exchange_key(op: str, type: Scalar | None, uniform: bool, masked: bool) -> str:
    """Return its key. uniform: all threads have the same lane or offset. masked: some threads do not participate."""
    return f"subgroup {op} {type or '-'}{' by' if uniform else ''}{' some' if masked else ''}"


@lru_cache(maxsize=512)
def generate(language: Language, key: str) -> Generated:
    """Return the helper of `key`."""
    _, op, name, *options = key.split(" ")
    return language.collective_helper(language, op, SCALARS.get(name), frozenset(options))


# --- block reductions -------------------------------------------------------------------------------------------------

REDUCTIONS = {"add": "block_sum", "mul": "block_product"}
VERBS = {"add": "The sum", "mul": "The product", "min": "The least", "max": "The greatest"}
MEMORY = "memory"
ASSIGNED = {f"{{0}} {symbol} {{1}}": f"{symbol}=" for symbol in ("+", "*", "&", "|", "^")}
"""Template of an operation -> its compound assignment."""


def reduction_key(op: str, type: Scalar | Tensor, options: str = "") -> str:
    """Return the key of the helper for `op` on `type`. options: of the device, as the language needs them."""
    return f"block {op} {type}{' ' + options if options else ''}"


def reduction_name(op: str) -> str:
    """Return the name of the helper for `op`, the same for all types."""
    return REDUCTIONS.get(op, f"block_{op}")


@lru_cache(maxsize=256)
def generate_reduction(language: Language, key: str) -> Generated:
    """Return the helper of `key`."""
    _, op, name, *options = key.split(" ")
    assert language.block_reduction is not None
    source, uses = language.block_reduction(language, op, parse_type(name), tuple(options))
    return Generated(reduction_name(op), source, (*uses, *called(language, source)))


def reduction_comment(op: str) -> str:
    """Return what the helper returns."""
    return f"{VERBS.get(op, f'`{op}`')} of the values of a block's threads, in the first; all threads call it."


Number = Callable[[str], str]
"""Returns the lvalue of a number of a scalar or tensor, given that of the whole."""


def joined(language: Language, op: str, type: Scalar | Tensor, other: Callable[[Number], str]) -> list[str]:
    """Return lines `value = value op other`, for each number of a tensor."""
    operation = ATOMIC_OPS[op]
    return each_number(
        language, type, lambda number: [updated(language, operation, element_of(type), number("value"), other(number))]
    )


def each_number(language: Language, type: Scalar | Tensor, lines_of: Callable[[Number], list[str]]) -> list[str]:
    """Return lines that do something with each number of a scalar or tensor."""
    if isinstance(type, Scalar):
        return lines_of(str)
    if is_short_vector(type):
        return [line for k in range(type.size) for line in lines_of(_number(language, type, k))]
    names = ("part",) if len(type.shape) == 1 else ("row", "column")
    lines = lines_of(_number(language, type, *names))
    for name, extent in zip(reversed(names), reversed(type.shape), strict=True):
        head = f"{language.unroll.format(count=extent)}for (int {name} = 0; {name} < {extent}; {name}++) {{"
        lines = [*head.splitlines(), *(INDENT + one for one in lines), "}"]
    return lines


def _number(language: Language, type: Tensor, *indices: int | str) -> Number:
    return lambda whole: element_source(language, type, whole, indices)


def updated(language: Language, op: str, type: Scalar, value: str, other: str) -> str:
    """Return the statement `value = value op other`, of which `other` comes from another thread.

    Sums may wrap, but they are those of signed numbers: of what another thread has, no compiler knows the sign.
    """
    syntax = language.operation(op, type)
    if language.reports_overflow:
        return f"{value} = {wrapping.operation(language, op, type).format(value, other)};"
    if syntax.template in ASSIGNED and type.bits >= 32:
        return f"{value} {ASSIGNED[syntax.template]} {other};"
    return f"{value} = {syntax.format(value, other)};"
