"""How threads ask one another: GLSL's and CUDA's functions, and for C loops over the variables of a block's threads.

Helpers are generated from keys "subgroup reduce_add f32"; those that need no type stand in `templates/*/lib/threads.*`.
In C a question is a call between two loops over the threads, `subgroup_reduce_add_f32(threads, x, sum)`: from an array
with a value of each thread to one with each thread's answer.
"""

from __future__ import annotations

from functools import lru_cache

from ..ir.threads import COLLECTIVES, FOLDS, SUBGROUP_SIZE, identity
from ..ir.types import SCALARS, Scalar
from .helpers import called
from .literals import literal, scalar_name
from .spelling_forms import ASSIGN, EQUAL, PRIMARY, TERNARY, Spelling
from .tensor_functions import QUALIFIERS, TABLES, Generated

LANES = "\0"
"""Stands in a CUDA text where the mask of lanes goes."""
ALL_LANES = "0xffffffffu"
GLSL_FOLDS = {"add": "Add", "mul": "Mul", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor"}
GLSL_SCANS = {"reduce": "", "inclusive": "Inclusive", "exclusive": "Exclusive"}

GLSL: dict[str, tuple[str, int]] = {
    "block_all": ("block_all({0})", PRIMARY),
    "block_any": ("block_any({0})", PRIMARY),
    "block_count": ("block_count({0})", PRIMARY),
    "elect": ("subgroupElect()", PRIMARY),
    "all": ("subgroupAll({0})", PRIMARY),
    "any": ("subgroupAny({0})", PRIMARY),
    "all_equal": ("subgroupAllEqual({0})", PRIMARY),
    "unique": ("subgroupAllEqual({0})", PRIMARY),
    "ballot": ("subgroupBallot({0}).x", PRIMARY),
    "active_mask": ("subgroupBallot(true).x", PRIMARY),
    "match_any": ("match_any({0})", PRIMARY),
    "match_all": ("subgroupAllEqual({0}) ? subgroupBallot(true).x : 0u", TERNARY),
    "broadcast_first": ("subgroupBroadcastFirst({0})", PRIMARY),
    "shuffle": ("subgroupShuffle({0}, uint({1}) % gl_SubgroupSize)", PRIMARY),
    **{
        f"{scan}_{fold}": (f"subgroup{prefix}{name}({{0}})", PRIMARY)
        for scan, prefix in GLSL_SCANS.items()
        for fold, name in GLSL_FOLDS.items()
    },
}
"""Collectives in GLSL: text and precedence; those that are not here are helpers of the collective's name."""

CUDA: dict[str, tuple[str, int]] = {
    "block_all": ("__syncthreads_and({0}) != 0", EQUAL),
    "block_any": ("__syncthreads_or({0}) != 0", EQUAL),
    "block_count": ("__syncthreads_count({0})", PRIMARY),
    "all": (f"__all_sync({LANES}, {{0}}) != 0", EQUAL),
    "any": (f"__any_sync({LANES}, {{0}}) != 0", EQUAL),
    "unique": (f"__uni_sync({LANES}, {{0}}) != 0", EQUAL),
    "ballot": (f"__ballot_sync({LANES}, {{0}})", PRIMARY),
    "active_mask": ("__activemask()", PRIMARY),
    "match_any": (f"__match_any_sync({LANES}, {{0}})", PRIMARY),
    "shuffle": (f"__shfl_sync({LANES}, {{0}}, {{1}})", PRIMARY),
    "shuffle_xor": (f"__shfl_xor_sync({LANES}, {{0}}, {{1}})", PRIMARY),
    "shuffle_up": (f"__shfl_up_sync({LANES}, {{0}}, {{1}})", PRIMARY),
    "shuffle_down": (f"__shfl_down_sync({LANES}, {{0}}, {{1}})", PRIMARY),
}
"""The same in CUDA; helpers take the lanes first."""

LIBRARY = {"match_any", "block_all", "block_any", "block_count", "elect", "match_all"}
"""Helpers that stand in a library, since they need no type."""


def spell(target: str, op: str, type: Scalar | None, lanes: str) -> Spelling:
    """Return how GLSL or CUDA write a collective. type: of its value, None without one. lanes: CUDA's mask as text."""
    row = COLLECTIVES[op]
    keys: tuple[str, ...] = ()
    found = (GLSL if target == "vulkan" else CUDA).get(op)
    if found is None:
        places = [f"{{{k}}}" for k in range(len(row.arguments))]
        found = (f"{op}({', '.join([LANES, *places] if target == 'cuda' else places)})", PRIMARY)
        keys = () if op in LIBRARY else (f"subgroup {op} {type}",)
    text, precedence = found
    if target == "vulkan":
        keys += tuple(f"extension {name}" for name in _extensions(row.feature, op, type))
    text = text.replace(LANES, lanes)
    return Spelling(text, precedence, (ASSIGN,) * len(row.arguments), keys + called(target, text))


def _extensions(feature: str, op: str, type: Scalar | None) -> list[str]:
    names = [f"GL_KHR_shader_subgroup_{feature}"] if feature else []
    if op == "match_all":
        names.append("GL_KHR_shader_subgroup_vote")
    if type is not None and type.is_integral and type.bits == 64:
        names.append("GL_EXT_shader_subgroup_extended_types_int64")
    return names


def name_in_c(op: str, type: Scalar | None, uniform: bool, masked: bool) -> str:
    """Return what C calls the function of a collective of a subgroup."""
    own = f"_{type}" if type is not None else ""
    return f"subgroup_{op}{own}{'_by' if uniform else ''}{'_of_some' if masked else ''}"


def key_in_c(op: str, type: Scalar | None, uniform: bool, masked: bool) -> str:
    """Return its key. uniform: the lane or offset is one for all threads. masked: some threads take no part."""
    return f"subgroup {op} {type or '-'}{' by' if uniform else ''}{' some' if masked else ''}"


@lru_cache(maxsize=512)
def generate(target: str, key: str) -> Generated:
    """Return the helper of `key`."""
    _, op, name, *options = key.split(" ")
    type = SCALARS.get(name)
    if target == "c":
        uniform, masked = "by" in options, "some" in options
        text = _c_function(op, type, uniform, masked)
        return Generated(name_in_c(op, type, uniform, masked), text, called("c", text))
    assert type is not None
    text = _cuda_function(op, type) if target == "cuda" else _glsl_function(op, type)
    return Generated(op, text, called(target, text))


# --- GLSL -------------------------------------------------------------------------------------------------------------

GLSL_SHUFFLES = {
    "shuffle_xor": ("Xor", "bits", "the lane whose number differs in `bits`", "(gl_SubgroupInvocationID ^ uint(bits))"),
    "shuffle_up": ("Up", "offset", "the lane `offset` below this one", "gl_SubgroupInvocationID - uint(offset)"),
    "shuffle_down": ("Down", "offset", "the lane `offset` above this one", "gl_SubgroupInvocationID + uint(offset)"),
}


def _glsl_function(op: str, type: Scalar) -> str:
    """Shuffles by a distance: GLSL leaves open what a lane gets where there is none."""
    name, (suffix, parameter, lane, source) = scalar_name("vulkan", type), GLSL_SHUFFLES[op]
    return (
        f"// The value of {lane}, or the own one where there is no such lane.\n"
        f"{name} {op}({name} value, int {parameter}) {{\n"
        f"    {name} other = subgroupShuffle{suffix}(value, uint({parameter}));\n"
        f"    return {source} < gl_SubgroupSize ? other : value;\n}}"
    )


# --- CUDA -------------------------------------------------------------------------------------------------------------


def _cuda_function(op: str, type: Scalar) -> str:
    name = scalar_name("cuda", type)
    head = f"{QUALIFIERS['cuda']}{name} {op}(unsigned lanes, {name} value) {{\n"
    if op == "broadcast_first":
        return (
            f"// The value of the lowest of `lanes`.\n{head}    return __shfl_sync(lanes, value, __ffs(lanes) - 1);\n}}"
        )
    if op == "all_equal":
        head = head.replace(f"{name} {op}", f"bool {op}", 1)
        same = "value == __shfl_sync(lanes, value, __ffs(lanes) - 1)"
        return f"// Whether all of `lanes` have one value.\n{head}    return __all_sync(lanes, {same}) != 0;\n}}"
    scan, _, fold = op.partition("_")
    combined = TABLES["cuda"].operation(FOLDS[fold], type).format("result", "other")
    start = literal("cuda", type, identity(FOLDS[fold], type)).text
    among = {"reduce": "", "inclusive": " up to this one", "exclusive": " below this one"}[scan]
    test = {"reduce": "", "inclusive": "source <= lane", "exclusive": "source < lane"}[scan]
    lane = "    int lane = threadIdx.x % 32;\n" if test else ""
    assign = (
        f"        if ({test}) {{\n            result = {combined};\n        }}"
        if test
        else f"        result = {combined};"
    )
    fast = _butterfly(name, type, fold) if scan == "reduce" else _steps(name, type, fold, scan, start)
    return (
        f"// {_verb(fold)} the values of `lanes`{among}.\n{head}{lane}{fast}"
        f"    {name} result = {start};\n"
        "    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {\n"
        "        int source = __ffs(rest) - 1;\n"
        f"        {name} other = __shfl_sync(lanes, value, source);\n"
        f"{assign}\n    }}\n    return result;\n}}"
    )


def _butterfly(name: str, type: Scalar, fold: str) -> str:
    """The common case in 5 steps."""
    combined = TABLES["cuda"].operation(FOLDS[fold], type).format("value", "other")
    return (
        f"    if (lanes == {ALL_LANES}) {{\n"
        "        for (int bits = 16; bits > 0; bits /= 2) {\n"
        f"            {name} other = __shfl_xor_sync(lanes, value, bits);\n"
        f"            value = {combined};\n"
        "        }\n        return value;\n    }\n"
    )


def _steps(name: str, type: Scalar, fold: str, scan: str, start: str) -> str:
    """The same for scans: each step takes in twice as many lanes."""
    combined = TABLES["cuda"].operation(FOLDS[fold], type).format("other", "value")
    before = (
        "        value = __shfl_up_sync(lanes, value, 1);\n"
        f"        if (lane == 0) {{\n            value = {start};\n        }}\n"
    )
    return (
        f"    if (lanes == {ALL_LANES}) {{\n"
        f"{before if scan == 'exclusive' else ''}"
        "        for (int offset = 1; offset < 32; offset *= 2) {\n"
        f"            {name} other = __shfl_up_sync(lanes, value, offset);\n"
        f"            if (lane >= offset) {{\n                value = {combined};\n            }}\n"
        "        }\n        return value;\n    }\n"
    )


def _verb(fold: str) -> str:
    return {"add": "Add", "mul": "Multiply", "min": "The least of", "max": "The greatest of"}.get(
        fold, f"Combine by `{fold}`"
    )


# --- C ----------------------------------------------------------------------------------------------------------------

IN_C: dict[str, tuple[str, str, str]] = {
    "elect": ("bool found = false;", "result[lane] = !found; found = true;", ""),
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
"""By collective: what stands before the lanes of a subgroup, is done for each, and for each once all were seen."""

SOURCES = {
    "shuffle": ("index", "first + ({0} & 31)"),
    "shuffle_xor": ("bits", "first + ((lane - first) ^ {0})"),
    "shuffle_up": ("offset", "lane - {0}"),
    "shuffle_down": ("offset", "lane + {0}"),
}
"""By shuffle: what its second operand is called, and the lane it reads."""


def _c_function(op: str, type: Scalar | None, uniform: bool, masked: bool) -> str:
    row = COLLECTIVES[op]
    value = scalar_name("c", type) if type is not None else "bool"
    result = scalar_name("c", row.result) if isinstance(row.result, Scalar) else value
    parameters = ["int threads"]
    if masked:
        parameters.append("const bool *takes_part")
    if row.arguments:
        parameters.append(f"const {value} *value")
    if op in SOURCES:
        parameters.append(f"int {SOURCES[op][0]}" if uniform else f"const int *{SOURCES[op][0]}")
    parameters.append(f"{result} *result")
    before, each, after = _c_parts(op, type, uniform, masked)
    lines = [
        f"static inline void {name_in_c(op, type, uniform, masked)}({', '.join(parameters)}) {{",
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


def _c_parts(op: str, type: Scalar | None, uniform: bool, masked: bool) -> tuple[list[str], list[str], list[str]]:
    """Return the lines before the lanes of a subgroup, for each of them, and for each once all were seen."""
    if op in SOURCES:
        name, source = SOURCES[op]
        source = source.format(name if uniform else f"{name}[lane]")
        there = "source >= first && source < end" + (" && takes_part[source]" if masked else "")
        return [], [f"int source = {source};", f"result[lane] = {there} ? value[source] : value[lane];"], []
    if op == "match_any":
        part = "takes_part[other] && " if masked else ""
        inner = f"    if ({part}value[other] == value[lane]) bits |= 1u << (other - first);"
        loop = ["uint32_t bits = 0;", "for (int other = first; other < end; other++) {", inner, "}"]
        return [], [*loop, "result[lane] = bits;"], []
    found = IN_C.get("all_equal" if op == "unique" else op)
    if found is not None:
        before, each, after = ([f"{line};" for line in part.rstrip(";").split("; ") if line] for part in found)
        return before, each, after
    scan, _, fold = op.partition("_")
    assert type is not None
    combined = TABLES["c"].operation(FOLDS[fold], type).format("all", "value[lane]")
    before = [f"{scalar_name('c', type)} all = {literal('c', type, identity(FOLDS[fold], type)).text};"]
    step, give = f"all = {combined};", "result[lane] = all;"
    if scan == "reduce":
        return before, [step], [give]
    return before, [step, give] if scan == "inclusive" else [give, step], []
