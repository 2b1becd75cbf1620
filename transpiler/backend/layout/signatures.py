"""The emitted signature of a real function: its name in the source, implicit parameters, results.

In: a kernel in final form and the names that are taken. Out: a `Signature` for each function. A function that accesses
arrays, extents or reports takes `args` (C, CUDA); one that reports takes the `index` of the iteration; one that draws
random numbers takes the `rng` of the iteration; one in which a check may fail takes `failed`, which its callers test.
"""

from __future__ import annotations

from ...ir.functions import Function, called, reachable
from ...ir.sparse import TREE_STATEMENTS
from ...ir.statements import CHECKS, RECORDS, Array, ArrayShape, GlobalPtr, Rand
from ...ir.tasks import Kernel
from ...ir.textures import TEXTURE_STATEMENTS
from ...lazy_dataclasses import dataclass
from ..languages.common.naming import Names, legal
from ..languages.common.target import Target

NEEDS_ARGS = (GlobalPtr, ArrayShape, *RECORDS, *TREE_STATEMENTS, *TEXTURE_STATEMENTS)
"""Statements whose source refers to a member of `args`."""


@dataclass(frozen=True, slots=True)
class Signature:
    """One function. result_type: the struct of several results, else "". members: the members of that struct.

    arrays: those that a call passes, which the function has as the parameters `array_names`; there are some only of a
    function that stands for several (`assemble/shared_functions.py`). type_argument: what a call states of a template.
    """

    name: str
    takes_args: bool
    takes_index: bool
    takes_random: bool
    may_fail: bool
    is_recursive: bool
    result_type: str
    members: tuple[str, ...]
    arrays: tuple[Array, ...] = ()
    array_names: tuple[str, ...] = ()
    type_argument: str = ""


def signatures(kernel: Kernel, target: Target, taken: frozenset[str]) -> dict[Function, Signature]:
    """Return the signature of each function; their names differ from those of `taken`."""
    names = Names(taken)
    by_user_first = sorted(kernel.functions, key=lambda function: bool(function.library))
    return {function: _signature(function, target, names) for function in by_user_first}


def _signature(function: Function, target: Target, names: Names) -> Signature:
    kinds = {type(statement) for statement in reachable(function.body)}
    has_args = target.language.has_pointers  # GLSL's arguments are global
    name = names.declare(function.name)
    several = len(function.results) > 1
    members = Names(target.language.reserved)
    return Signature(
        name=name,
        takes_args=has_args and not kinds.isdisjoint(NEEDS_ARGS),
        takes_index=not kinds.isdisjoint(RECORDS),
        takes_random=Rand in kinds,
        may_fail=not kinds.isdisjoint(CHECKS),
        is_recursive=function in called(function.body),
        result_type=names.declare(f"{name}_results") if several else "",
        members=tuple(members.declare(legal(name)) for name in function.result_names) if several else (),
    )
