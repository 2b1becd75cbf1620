"""Finds the values of local variables that a kernel stores once."""

from __future__ import annotations

from collections import Counter

from ...ir.nodes import Statement
from ...ir.statements import Alloca, LocalStore, base_pointer
from ...ir.tasks import Kernel


def only_values(kernel: Kernel) -> dict[Statement, Statement]:
    """Return the value of each variable that a kernel stores once, and no element of which it stores."""
    stores = [s for s in kernel.statements() if isinstance(s, LocalStore)]
    counts = Counter(base_pointer(store.pointer) for store in stores)
    return {s.pointer: s.value for s in stores if isinstance(s.pointer, Alloca) and counts[s.pointer] == 1}
