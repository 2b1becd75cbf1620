"""Checks indices that are wider than i32, as `bounds` checks others: early, while their whole value can be seen.

    $3 = cast i32 $k; $4 = ptr a ($3)    ->    check a ($k) within (shape a 0)    ($k: i64, u64, u32)

Indices are cut to i32 where they are used, so that 2^32 would be 0; a cleanup may compute that at once.
"""

from __future__ import annotations

from ...ir.tasks import Kernel
from ..context import PassContext
from .bounds import guard, is_wide


def check_wide_indices(kernel: Kernel, context: PassContext) -> bool:
    """Put an IndexCheck before each access with a wide index, under `debug` or `check_out_of_bound`."""
    return context.options.check_out_of_bound and guard(kernel, is_wide)
