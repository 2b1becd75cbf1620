"""Collectives, barriers and thread indices of CUDA."""

from __future__ import annotations

from functools import cache

from ....ir.threads import FOLDS, SUBGROUP_SIZE, Barrier, identity
from ....ir.types import Scalar
from ..common.collectives import ALL_LANES, WHOLE, from_table, updated
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
    source = _function(language, op, type, WHOLE in options)
    return Generated(op, source, called(language, source))


def _function(language: Language, op: str, type: Scalar, is_whole: bool) -> str:
    """Return a function of the lanes of a mask, or of all lanes of a warp (`is_whole`), which takes no mask."""
    name, warp = scalar_name(language, type), _warp(language)
    among, lanes = ("a warp", ALL_LANES) if is_whole else ("`lanes`", "lanes")
    parameters = f"{name} value" if is_whole else f"unsigned lanes, {name} value"
    head = f"{language.helper_qualifier}{name} {op}({parameters}) {{\n"
    first = f"{warp.shuffle}({lanes}, value, {'0' if is_whole else '__ffs(lanes) - 1'})"
    if op == "broadcast_first":
        return f"// The value of the lowest lane of {among}.\n{head}    return {first};\n}}"
    if op == "all_equal":
        head = head.replace(f"{name} {op}", f"bool {op}", 1)
        same = f"{warp.all}({lanes}, value == {first}) != 0"
        return f"// Whether all of {among} have one value.\n{head}    return {same};\n}}"
    scan, _, fold = op.partition("_")
    start = literal(language, type, identity(FOLDS[fold], type)).template
    steps = _butterfly(language, type, fold) if scan == "reduce" else _steps(language, name, type, fold)
    if scan == "exclusive":
        steps = [
            f"value = {warp.shuffle_up}({ALL_LANES}, value, 1);",
            "if (lane == 0) {",
            f"    value = {start};",
            "}",
            *steps,
        ]
    body = [] if scan == "reduce" else ["int lane = threadIdx.x % 32;"]
    if is_whole:
        body += [*steps, "return value;"]
    else:
        fast = [*steps, "return value;"]
        body += [f"if (lanes == {ALL_LANES}) {{", *(f"    {line}" for line in fast), "}"]
        body += _one_by_one(language, name, type, scan, FOLDS[fold], start)
    up_to = {"reduce": "", "inclusive": " up to this one", "exclusive": " below this one"}[scan]
    return (
        f"// {_verb(fold)} the values of {'the lanes of ' if is_whole else ''}{among}{up_to}.\n{head}"
        + "".join(f"    {line}\n" for line in body)
        + "}"
    )


def _one_by_one(language: Language, name: str, type: Scalar, scan: str, op: str, start: str) -> list[str]:
    """Return the lines that combine the values of any lanes."""
    combine = [updated(language, op, type, "result", "other")]
    if scan != "reduce":
        combine = [f"if (source {'<=' if scan == 'inclusive' else '<'} lane) {{", f"    {combine[0]}", "}"]
    return [
        f"{name} result = {start};",
        "for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {",
        "    int source = __ffs(rest) - 1;",
        f"    {name} other = {_warp(language).shuffle}(lanes, value, source);",
        *(f"    {line}" for line in combine),
        "}",
        "return result;",
    ]


def _butterfly(language: Language, type: Scalar, fold: str) -> list[str]:
    """Return the lines that combine the values of all lanes in 5 steps."""
    other = f"{_warp(language).shuffle_xor}({ALL_LANES}, value, bits)"
    return [
        "for (int bits = 16; bits > 0; bits /= 2) {",
        f"    {updated(language, FOLDS[fold], type, 'value', other)}",
        "}",
    ]


def _steps(language: Language, name: str, type: Scalar, fold: str) -> list[str]:
    """Return the same for scans: each step combines twice as many lanes."""
    return [
        "for (int offset = 1; offset < 32; offset *= 2) {",
        f"    {name} other = {_warp(language).shuffle_up}({ALL_LANES}, value, offset);",
        "    if (lane >= offset) {",
        f"        {updated(language, FOLDS[fold], type, 'value', 'other')}",
        "    }",
        "}",
    ]


def _verb(fold: str) -> str:
    return {"add": "Add", "mul": "Multiply", "min": "The least of", "max": "The greatest of"}.get(
        fold, f"Combine by `{fold}`"
    )
