"""Capabilities of CUDA C on a current GPU, sm_90."""

from __future__ import annotations

from ....transpiler.ir.types import SCALARS
from ....transpiler.options import Capabilities
from ..portable import BITWISE, INTEGERS, SHARED_BYTES

PORTABLE = Capabilities(
    "cuda",
    frozenset(SCALARS),
    frozenset((t, op) for t in INTEGERS for op in ("add", "sub", "min", "max", *BITWISE))
    | {("f32", "add"), ("f64", "add"), ("f32", "sub"), ("f64", "sub")},
    vector_atomics=True,
    whole_atomics=True,
    atomic_bits=frozenset({1, 8, 16, 32, 64}),
    max_push_bytes=4096,
    max_groups=2**31 - 1,
    max_shared_bytes=SHARED_BYTES,
    shared_atomics=frozenset({("f32", "add")}),
    undefined_overflow=True,
    slow_subnormals=True,
    slow_angles=True,
    slow_powers=True,
    slow_divisions=True,
    has_launch_bounds=True,
    has_blocks_of_launch=True,
    has_warps=True,
    has_shared_memory=True,
    has_large_threads=True,
    separates_threads=True,
    jumps_over_terms=True,
    leaves_arrays_in_memory=True,
    reloads_elements=True,
    keeps_factors=True,
    keeps_zero_products=True,
    slow_roots=True,
    slow_f64_divisions=True,
)
