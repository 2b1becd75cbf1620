"""How threads ask one another: a language's functions, and for C loops over the variables of a block's threads.

Helpers are generated from keys "subgroup reduce_add f32"; those that need no type are in `templates/*/lib/threads.*`.
In C a question is a call between two loops over the threads, `subgroup_reduce_add_f32(threads, x, sum)`: from an array
with a value of each thread to one with each thread's answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ....ir.threads import COLLECTIVES
from ....ir.types import SCALARS, Scalar
from .helpers import known
from .language import Language
from .syntax_forms import ASSIGN, PRIMARY, Generated, Syntax, with_helpers

ALL_LANES = "0xffffffffu"
"""The mask of lanes of a whole warp."""
LIBRARY = {"match_any", "block_all", "block_any", "block_count", "elect", "match_all"}
"""Helpers that are in a library, since they need no type."""


def collective_syntax(language: Language, op: str, type: Scalar | None, lanes: str) -> Syntax:
    """Return how a language writes a collective.

    type: of its value, None without one. lanes: the mask of those that take part, "" where a language asks for none.
    """
    return language.collective(language, op, type, lanes)


def from_table(
    language: Language, table: Mapping[str, tuple[str, int]], op: str, type: Scalar | None, lanes: str
) -> Syntax:
    """Return the entry of a table of texts with {lanes}; what has none is a helper of the collective's name."""
    row = COLLECTIVES[op]
    keys: tuple[str, ...] = ()
    found = table.get(op)
    if found is None:
        places = [f"{{{k}}}" for k in range(len(row.arguments))]
        found = (f"{op}({', '.join(['{lanes}', *places] if language.names_lanes else places)})", PRIMARY)
        keys = () if op in LIBRARY else (f"subgroup {op} {type}",)
    text, precedence = found[0].replace("{lanes}", lanes), found[1]
    syntax = Syntax(text, precedence, (ASSIGN,) * len(row.arguments), keys)
    return with_helpers(syntax, *known(language, syntax.named))


def exchange_name(op: str, type: Scalar | None, uniform: bool, masked: bool) -> str:
    """Return what C calls the function of a collective of a subgroup."""
    own = f"_{type}" if type is not None else ""
    return f"subgroup_{op}{own}{'_by' if uniform else ''}{'_of_some' if masked else ''}"


def exchange_key(op: str, type: Scalar | None, uniform: bool, masked: bool) -> str:
    """Return its key. uniform: the lane or offset is one for all threads. masked: some threads take no part."""
    return f"subgroup {op} {type or '-'}{' by' if uniform else ''}{' some' if masked else ''}"


@lru_cache(maxsize=512)
def generate(language: Language, key: str) -> Generated:
    """Return the helper of `key`."""
    _, op, name, *options = key.split(" ")
    return language.collective_helper(language, op, SCALARS.get(name), frozenset(options))
