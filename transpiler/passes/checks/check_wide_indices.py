"""Checks indices that are wider than i32, early, while their full value is available; `bounds` checks the others.

    $3 = cast i32 $k; $4 = ptr a ($3)    ->    check a ($k) within (shape a 0)    ($k: i64, u64, u32)

Indices are truncated to i32 at their use, so that 2^32 would be 0; a cleanup may fold that truncation.
"""

from __future__ import annotations

from ...ir.tasks import Kernel
from ..analysis.accesses import is_wide
from ..context import PassContext
from .parts.index_checks import insert_checks


def check_wide_indices(kernel: Kernel, context: PassContext) -> bool:
    """Insert an IndexCheck before each access with a wide index, under `debug` or `check_out_of_bound`."""
    return context.options.check_out_of_bound and insert_checks(kernel, is_wide)
