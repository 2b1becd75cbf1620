"""Collectives, barriers and thread indices of GLSL."""

from __future__ import annotations

from ....ir.threads import COLLECTIVES, Barrier
from ....ir.types import Scalar
from ..common.collectives import from_table
from ..common.helpers import called
from ..common.language import Language
from ..common.literals import scalar_name
from ..common.syntax_forms import PRIMARY, TERNARY, Generated, Syntax, with_helpers

BASIC = ("extension GL_KHR_shader_subgroup_basic",)
THREAD_NUMBERS = {
    "thread": Syntax("int(gl_LocalInvocationID.x)"),
    "lane": Syntax("int(gl_SubgroupInvocationID)", helpers=BASIC),
    "size": Syntax("int(gl_SubgroupSize)", helpers=BASIC),
    "global": Syntax("int({0})"),
}
FOLDS = {"add": "Add", "mul": "Mul", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor"}
SCANS = {"reduce": "", "inclusive": "Inclusive", "exclusive": "Exclusive"}


OPERATIONS: dict[str, tuple[str, int]] = {
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
        for scan, prefix in SCANS.items()
        for fold, name in FOLDS.items()
    },
}
"""Collective -> template and precedence; the others are helpers named after the collective."""


def collective_syntax(language: Language, op: str, type: Scalar | None, lanes: str) -> Syntax:
    """Return the syntax of a collective, with the extensions that it needs."""
    syntax = from_table(language, OPERATIONS, op, type, lanes)
    extensions = [f"extension {name}" for name in _extensions(COLLECTIVES[op].feature, op, type)]
    return with_helpers(syntax, *extensions)


def barrier(language: Language, barrier: Barrier, orders_buffers: bool, lanes: str) -> list[Syntax]:
    """Return the calls of a barrier."""
    if barrier.scope == "grid":
        return [Syntax("memoryBarrierBuffer()")]
    if barrier.scope == "subgroup":
        return [Syntax("subgroupMemoryBarrier()" if barrier.memory_only else "subgroupBarrier()", helpers=BASIC)]
    return [Syntax(f"{name}()") for name in (["memoryBarrierBuffer", "barrier"] if orders_buffers else ["barrier"])]


def _extensions(feature: str, op: str, type: Scalar | None) -> list[str]:
    names = [f"GL_KHR_shader_subgroup_{feature}"] if feature else []
    if op == "match_all":
        names.append("GL_KHR_shader_subgroup_vote")
    if type is not None and type.is_integral and type.bits == 64:
        names.append("GL_EXT_shader_subgroup_extended_types_int64")
    return names


SHUFFLES = {
    "shuffle_xor": ("Xor", "bits", "the lane whose number differs in `bits`", "(gl_SubgroupInvocationID ^ uint(bits))"),
    "shuffle_up": ("Up", "offset", "the lane `offset` below this one", "gl_SubgroupInvocationID - uint(offset)"),
    "shuffle_down": ("Down", "offset", "the lane `offset` above this one", "gl_SubgroupInvocationID + uint(offset)"),
}


def helper(language: Language, op: str, type: Scalar | None, options: frozenset[str]) -> Generated:
    """Return a shuffle by a distance: in GLSL the result is undefined if the source lane does not exist."""
    assert type is not None
    name, (suffix, parameter, lane, source) = scalar_name(language, type), SHUFFLES[op]
    source = (
        f"// The value of {lane}, or that of this lane if there is no such lane.\n"
        f"{name} {op}({name} value, int {parameter}) {{\n"
        f"    {name} other = subgroupShuffle{suffix}(value, uint({parameter}));\n"
        f"    return {source} < gl_SubgroupSize ? other : value;\n}}"
    )
    return Generated(op, source, called(language, source))
