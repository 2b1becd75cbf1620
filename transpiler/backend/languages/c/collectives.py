"""Collectives of C: loops over the variables of the threads of a block, between the loops that run the threads."""

from __future__ import annotations

from ....errors import InternalError
from ....ir.threads import COLLECTIVES, FOLDS, SUBGROUP_SIZE, Barrier, identity
from ....ir.types import Scalar
from ..common.collectives import exchange_name
from ..common.helpers import called
from ..common.language import Language
from ..common.literals import literal, scalar_name
from ..common.syntax_forms import MULTIPLY, UNARY, Generated, Syntax

THREAD_NUMBERS = {
    "thread": Syntax("thread"),
    "lane": Syntax(f"thread % {SUBGROUP_SIZE}", MULTIPLY),
    "size": Syntax(str(SUBGROUP_SIZE)),
    "global": Syntax("(int){0}", UNARY),
}


def collective_syntax(language: Language, op: str, type: Scalar | None, lanes: str) -> Syntax:
    """Raise: a collective of C is an `Exchange` between two loops, never a value."""
    raise InternalError(f"C has no expression for the collective {op}")


def barrier(language: Language, barrier: Barrier, orders_buffers: bool, lanes: str) -> list[Syntax]:
    """Return the calls of a barrier: between two loops over the threads nothing has to wait."""
    return [Syntax("__atomic_thread_fence(__ATOMIC_SEQ_CST)")] if barrier.scope == "grid" else []


def helper(language: Language, op: str, type: Scalar | None, options: frozenset[str]) -> Generated:
    """Return the function of a collective."""
    uniform, masked = "by" in options, "some" in options
    source = _function(language, op, type, uniform, masked)
    return Generated(exchange_name(op, type, uniform, masked), source, called(language, source))


PARTS: dict[str, tuple[str, str, str]] = {
    "elect": ("bool is_found = false;", "result[lane] = !is_found; is_found = true;", ""),
    "all": ("bool answer = true;", "answer = answer && value[lane];", "result[lane] = answer;"),
    "any": ("bool answer = false;", "answer = answer || value[lane];", "result[lane] = answer;"),
    "all_equal": (
        "bool answer = true; int leader = -1;",
        "leader = leader < 0 ? lane : leader; answer = answer && value[lane] == value[leader];",
        "result[lane] = answer;",
    ),
    "ballot": ("uint32_t bits = 0;", "bits |= (uint32_t)value[lane] << (lane - first);", "result[lane] = bits;"),
    "active_mask": ("uint32_t bits = 0;", "bits |= 1u << (lane - first);", "result[lane] = bits;"),
    "match_all": (
        "uint32_t bits = 0; bool equal = true; int leader = -1;",
        "bits |= 1u << (lane - first); leader = leader < 0 ? lane : leader; "
        "equal = equal && value[lane] == value[leader];",
        "result[lane] = equal ? bits : 0;",
    ),
    "broadcast_first": ("int leader = -1;", "leader = leader < 0 ? lane : leader;", "result[lane] = value[leader];"),
}
"""Collective -> statements before the loop over the lanes, in it, and in a second loop."""

SOURCES = {
    "shuffle": ("index", "first + ({0} & 31)"),
    "shuffle_xor": ("bits", "first + ((lane - first) ^ {0})"),
    "shuffle_up": ("offset", "lane - {0}"),
    "shuffle_down": ("offset", "lane + {0}"),
}
"""Shuffle -> name of its second operand, and the lane that it reads."""


def _function(language: Language, op: str, type: Scalar | None, uniform: bool, masked: bool) -> str:
    collective = COLLECTIVES[op]
    value = scalar_name(language, type) if type is not None else "bool"
    result = scalar_name(language, collective.result) if isinstance(collective.result, Scalar) else value
    parameters = ["int threads"]
    if masked:
        parameters.append("const bool *takes_part")
    if collective.arguments:
        parameters.append(f"const {value} *value")
    if op in SOURCES:
        parameters.append(f"int {SOURCES[op][0]}" if uniform else f"const int *{SOURCES[op][0]}")
    parameters.append(f"{result} *result")
    before, each, after = _parts(language, op, type, uniform, masked)
    lines = [
        f"static inline void {exchange_name(op, type, uniform, masked)}({', '.join(parameters)}) {{",
        f"    for (int first = 0; first < threads; first += {SUBGROUP_SIZE}) {{",
        f"        int end = threads - first < {SUBGROUP_SIZE} ? threads : first + {SUBGROUP_SIZE};",
        *(f"        {line}" for line in before),
        *_lane_loop(each, masked),
        *(_lane_loop(after, masked) if after else []),
        "    }",
        "}",
    ]
    return "\n".join(lines)


def _lane_loop(body: list[str], masked: bool) -> list[str]:
    skip = ["            if (!takes_part[lane]) continue;"] if masked else []
    head = "        for (int lane = first; lane < end; lane++) {"
    return [head, *skip, *(f"            {line}" for line in body), "        }"]


def _parts(
    language: Language, op: str, type: Scalar | None, uniform: bool, masked: bool
) -> tuple[list[str], list[str], list[str]]:
    """Return the lines before the loop over the lanes of a subgroup, in it, and in a second loop."""
    if op in SOURCES:
        name, source = SOURCES[op]
        source = source.format(name if uniform else f"{name}[lane]")
        is_valid = "source >= first && source < end" + (" && takes_part[source]" if masked else "")
        return [], [f"int source = {source};", f"result[lane] = {is_valid} ? value[source] : value[lane];"], []
    if op == "match_any":
        part = "takes_part[other] && " if masked else ""
        inner = f"    if ({part}value[other] == value[lane]) bits |= 1u << (other - first);"
        loop = ["uint32_t bits = 0;", "for (int other = first; other < end; other++) {", inner, "}"]
        return [], [*loop, "result[lane] = bits;"], []
    parts = PARTS.get("all_equal" if op == "unique" else op)
    if parts is not None:
        before, each, after = ([f"{line};" for line in part.rstrip(";").split("; ") if line] for part in parts)
        return before, each, after
    scan, _, fold = op.partition("_")
    assert type is not None
    combined = language.operation(FOLDS[fold], type).format("all", "value[lane]")
    before = [f"{scalar_name(language, type)} all = {literal(language, type, identity(FOLDS[fold], type)).template};"]
    step, store = f"all = {combined};", "result[lane] = all;"
    if scan == "reduce":
        return before, [step], [store]
    return before, [step, store] if scan == "inclusive" else [store, step], []
