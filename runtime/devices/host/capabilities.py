"""Capabilities of C on every 64-bit host. What is said of its compiler is measured with gcc 12 on x86."""

from __future__ import annotations

from ....transpiler.ir.types import SCALARS
from ....transpiler.options import Capabilities
from ..portable import BITWISE, INTEGERS, SHARED_BYTES

PORTABLE = Capabilities(
    "c",
    frozenset(SCALARS),
    frozenset((t, op) for t in INTEGERS for op in ("add", "sub", *BITWISE)),
    whole_atomics=True,
    max_shared_bytes=SHARED_BYTES,
    has_wide_indices=True,
    blocks_as_loops=True,
    joins_in_order=True,
    has_few_threads=True,
    vectorizes_loops=True,
    traps_subnormals=True,
    predicts_branches=True,
    keeps_zero_products=True,
    has_constant_tests=True,
    slow_extremes=True,
    has_fast_f64=True,
    miscompiles_truth_indices=True,
    miscompiles_masked_loads=True,
)
