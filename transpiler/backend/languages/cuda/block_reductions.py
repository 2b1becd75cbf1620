"""Block reductions of CUDA: shuffles in each warp, then one thread joins the results of the warps."""

from __future__ import annotations

from ....ir.types import Scalar, Tensor
from ..common.collectives import ALL_LANES, joined, reduction_comment, reduction_name
from ..common.language import Language
from ..common.one_line import indented
from ..common.tensors import name_of


def block_reduction(
    language: Language, op: str, type: Scalar | Tensor, options: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """Return the source of the helper, and the keys that it uses. Blocks have full warps."""
    warp = language.warp
    assert warp is not None
    shuffle, name = warp.shuffle_down, name_of(language, type)
    with_lanes = joined(language, op, type, lambda number: f"{shuffle}({ALL_LANES}, {number('value')}, step)")
    with_warps = joined(language, op, type, lambda number: number("of_warps[warp]"))
    return (
        f"// {reduction_comment(op)}\n"
        f"{language.helper_qualifier}{name} {reduction_name(op)}({name} value) {{\n"
        f"    __shared__ {name} of_warps[32];\n"
        "    for (int step = 16; step > 0; step /= 2) {\n"
        f"{indented(with_lanes, 2)}"
        "    }\n"
        "    if (threadIdx.x % 32 == 0) {\n"
        "        of_warps[threadIdx.x / 32] = value;\n"
        "    }\n"
        "    __syncthreads();\n"
        "    for (unsigned warp = 1; threadIdx.x == 0 && warp < blockDim.x / 32; warp++) {\n"
        f"{indented(with_warps, 2)}"
        "    }\n"
        "    __syncthreads();  // the next call overwrites the array\n"
        "    return value;\n}"
    ), ()
