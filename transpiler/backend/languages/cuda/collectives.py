"""Collectives, barriers and thread indices of CUDA."""

from __future__ import annotations

from functools import cache

from ....ir.threads import FOLDS, SUBGROUP_SIZE, Barrier, identity
from ....ir.types import Scalar
from ..common import wrapping
from ..common.collectives import ALL_LANES, from_table
from ..common.helpers import called, known
from ..common.language import Language, Warp
from ..common.literals import literal, scalar_name
from ..common.syntax_forms import EQUAL, PRIMARY, Generated, Syntax

THREAD_NUMBERS = {
    "thread": Syntax("int(threadIdx.x)"),
    "lane": Syntax(f"int(threadIdx.x % {SUBGROUP_SIZE})"),
    "size": Syntax(str(SUBGROUP_SIZE)),
    "global": Syntax("int({0})"),
}
WARP = Warp(
    shuffle="__shfl_sync",
    shuffle_xor="__shfl_xor_sync",
    shuffle_up="__shfl_up_sync",
    shuffle_down="__shfl_down_sync",
    all="__all_sync",
    any="__any_sync",
    uniform="__uni_sync",
    ballot="__ballot_sync",
    match_any="__match_any_sync",
    synchronize="__syncwarp",
    active="__activemask()",
)


@cache
def _operations(warp: Warp) -> dict[str, tuple[str, int]]:
    """Return template and precedence of collectives; the others are helpers, which take the lanes first."""
    return {
        "block_all": ("__syncthreads_and({0}) != 0", EQUAL),
        "block_any": ("__syncthreads_or({0}) != 0", EQUAL),
        "block_count": ("__syncthreads_count({0})", PRIMARY),
        "all": (f"{warp.all}({{lanes}}, {{0}}) != 0", EQUAL),
        "any": (f"{warp.any}({{lanes}}, {{0}}) != 0", EQUAL),
        "unique": (f"{warp.uniform}({{lanes}}, {{0}}) != 0", EQUAL),
        "ballot": (f"{warp.ballot}({{lanes}}, {{0}})", PRIMARY),
        "active_mask": (warp.active, PRIMARY),
        "match_any": (f"{warp.match_any}({{lanes}}, {{0}})", PRIMARY),
        "shuffle": (f"{warp.shuffle}({{lanes}}, {{0}}, {{1}})", PRIMARY),
        "shuffle_xor": (f"{warp.shuffle_xor}({{lanes}}, {{0}}, {{1}})", PRIMARY),
        "shuffle_up": (f"{warp.shuffle_up}({{lanes}}, {{0}}, {{1}})", PRIMARY),
        "shuffle_down": (f"{warp.shuffle_down}({{lanes}}, {{0}}, {{1}})", PRIMARY),
    }


def _warp(language: Language) -> Warp:
    assert language.warp is not None
    return language.warp


def collective_syntax(language: Language, op: str, type: Scalar | None, lanes: str) -> Syntax:
    """Return the syntax of a collective. lanes: the mask of participating lanes."""
    return from_table(language, _operations(_warp(language)), op, type, lanes)


def barrier(language: Language, barrier: Barrier, orders_buffers: bool, lanes: str) -> list[Syntax]:
    """Return the calls of a barrier."""
    if barrier.memory_only:
        return [Syntax("__threadfence()" if barrier.scope == "grid" else "__threadfence_block()")]
    if barrier.scope == "block":
        return [Syntax("__syncthreads()")]
    name = _warp(language).synchronize
    return [Syntax(f"{name}({lanes})", helpers=known(language, [name]))]


def helper(language: Language, op: str, type: Scalar | None, options: frozenset[str]) -> Generated:
    """Return the function of a collective that CUDA lacks."""
    assert type is not None
    source = _function(language, op, type)
    return Generated(op, source, called(language, source))


def _function(language: Language, op: str, type: Scalar) -> str:
    name, warp = scalar_name(language, type), _warp(language)
    head = f"{language.helper_qualifier}{name} {op}(unsigned lanes, {name} value) {{\n"
    if op == "broadcast_first":
        lowest = f"{warp.shuffle}(lanes, value, __ffs(lanes) - 1)"
        return f"// The value of the lowest of `lanes`.\n{head}    return {lowest};\n}}"
    if op == "all_equal":
        head = head.replace(f"{name} {op}", f"bool {op}", 1)
        same = f"value == {warp.shuffle}(lanes, value, __ffs(lanes) - 1)"
        return f"// Whether all of `lanes` have one value.\n{head}    return {warp.all}(lanes, {same}) != 0;\n}}"
    scan, _, fold = op.partition("_")
    combined = wrapping.operation(language, FOLDS[fold], type).format("result", "other")
    start = literal(language, type, identity(FOLDS[fold], type)).template
    among = {"reduce": "", "inclusive": " up to this one", "exclusive": " below this one"}[scan]
    test = {"reduce": "", "inclusive": "source <= lane", "exclusive": "source < lane"}[scan]
    lane = "    int lane = threadIdx.x % 32;\n" if test else ""
    assign = (
        f"        if ({test}) {{\n            result = {combined};\n        }}"
        if test
        else f"        result = {combined};"
    )
    fast = (
        _butterfly(language, name, type, fold) if scan == "reduce" else _steps(language, name, type, fold, scan, start)
    )
    return (
        f"// {_verb(fold)} the values of `lanes`{among}.\n{head}{lane}{fast}"
        f"    {name} result = {start};\n"
        "    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {\n"
        "        int source = __ffs(rest) - 1;\n"
        f"        {name} other = {warp.shuffle}(lanes, value, source);\n"
        f"{assign}\n    }}\n    return result;\n}}"
    )


def _butterfly(language: Language, name: str, type: Scalar, fold: str) -> str:
    """The common case in 5 steps."""
    combined = wrapping.operation(language, FOLDS[fold], type).format("value", "other")
    return (
        f"    if (lanes == {ALL_LANES}) {{\n"
        "        for (int bits = 16; bits > 0; bits /= 2) {\n"
        f"            {name} other = {_warp(language).shuffle_xor}(lanes, value, bits);\n"
        f"            value = {combined};\n"
        "        }\n        return value;\n    }\n"
    )


def _steps(language: Language, name: str, type: Scalar, fold: str, scan: str, start: str) -> str:
    """The same for scans: each step combines twice as many lanes."""
    combined = wrapping.operation(language, FOLDS[fold], type).format("other", "value")
    before = (
        f"        value = {_warp(language).shuffle_up}(lanes, value, 1);\n"
        f"        if (lane == 0) {{\n            value = {start};\n        }}\n"
    )
    return (
        f"    if (lanes == {ALL_LANES}) {{\n"
        f"{before if scan == 'exclusive' else ''}"
        "        for (int offset = 1; offset < 32; offset *= 2) {\n"
        f"            {name} other = {_warp(language).shuffle_up}(lanes, value, offset);\n"
        f"            if (lane >= offset) {{\n                value = {combined};\n            }}\n"
        "        }\n        return value;\n    }\n"
    )


def _verb(fold: str) -> str:
    return {"add": "Add", "mul": "Multiply", "min": "The least of", "max": "The greatest of"}.get(
        fold, f"Combine by `{fold}`"
    )
