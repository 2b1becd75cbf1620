"""Block reductions of CUDA: shuffles in each warp, then one thread joins the results of the warps."""

from __future__ import annotations

from ....ir.types import Scalar
from ..common.collectives import ALL_LANES, joined, reduction_comment, reduction_name
from ..common.language import Language
from ..common.literals import scalar_name


def block_reduction(language: Language, op: str, type: Scalar, options: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the source of the helper, and the keys that it uses. Blocks have full warps."""
    warp = language.warp
    assert warp is not None
    name = scalar_name(language, type)
    shuffled = f"{warp.shuffle_down}({ALL_LANES}, value, step)"
    return (
        f"// {reduction_comment(op)}\n"
        f"{language.helper_qualifier}{name} {reduction_name(op)}({name} value) {{\n"
        f"    __shared__ {name} of_warps[32];\n"
        "    for (int step = 16; step > 0; step /= 2) {\n"
        f"        {joined(language, op, type, shuffled)}\n"
        "    }\n"
        "    if (threadIdx.x % 32 == 0) {\n"
        "        of_warps[threadIdx.x / 32] = value;\n"
        "    }\n"
        "    __syncthreads();\n"
        "    for (unsigned warp = 1; threadIdx.x == 0 && warp < blockDim.x / 32; warp++) {\n"
        f"        {joined(language, op, type, 'of_warps[warp]')}\n"
        "    }\n"
        "    __syncthreads();  // the next call overwrites the array\n"
        "    return value;\n}"
    ), ()
