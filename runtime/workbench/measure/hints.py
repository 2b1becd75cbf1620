"""What an edit left out that the generated source needs for its threads: atomic operations, copies, barriers.

A race may not show in any run of a comparison; so each is named, whether or not something differed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule

COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
ATOMIC = re.compile(
    r"\b(?:atomic\w*|__atomic_\w+|imageAtomic\w*|red_\w+|__sync_\w+)\s*\(|#pragma omp atomic|reduction\("
)
COPIES = re.compile(r"= start_sums_\w+\(|^ *join_sums_\w+\(", re.MULTILINE)
"""Calls with which C's threads add to copies of an array in place of atomic operations."""
BARRIERS = {
    "barriers": re.compile(
        r"\b(?:barrier|__syncthreads\w*|__syncwarp|subgroupBarrier|memoryBarrier\w*|groupMemoryBarrier)\s*\("
    ),
    "loops over the threads of a block, between which the host's barriers are": re.compile(r"for \(int thread = 0;"),
    "memory fences": re.compile(r"\b(?:__threadfence\w*|__atomic_thread_fence)\s*\("),
}


def dropped(name: str, generated: BackendModule, module: BackendModule) -> list[str]:
    """Return remarks on atomic operations and barriers of which an edit has fewer."""
    old, new = (COMMENTS.sub("", each.source()) for each in (generated, module))
    notes = []
    patterns = {"atomic operations": ATOMIC, "calls for copies that threads add to": COPIES, **BARRIERS}
    for what, pattern in patterns.items():
        before, after = len(pattern.findall(old)), len(pattern.findall(new))
        if after < before:
            is_sum = pattern in (ATOMIC, COPIES)
            risk = "threads may lose each other's results" if is_sum else "threads may read too early"
            notes.append(f"`{name}` has {after} {what}, the generated source {before}: {risk}, whatever the runs gave")
    return notes
