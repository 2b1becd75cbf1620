"""How many cycles a warp's access to shared memory takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CYCLE_BYTES = 128
"""What the 32 banks give at once, 4 bytes each. Threads share a cycle if they read 128 bytes together: of numbers of 8
bytes half a warp does."""


def cycles(elements: NDArray[Any], size_bytes: int, active: NDArray[Any]) -> int:
    """Return the cycles of the accesses of some warps to elements of an array.

    elements: by thread, warp after warp. size_bytes: of an element, 4, 8 or 16. active: the threads that access any.
    Source: CUDA C++ Programming Guide, shared memory: threads that access different words in one bank wait for each
    other, and those that access the same word do not.
    """
    banks = CYCLE_BYTES // size_bytes
    numbers, takes_part = elements.reshape(-1, banks), active.reshape(-1, banks)
    lowest = numbers.min() - 1
    fill = np.where(takes_part, numbers, lowest).max(axis=1, keepdims=True)
    ordered = np.sort(np.where(takes_part, numbers, fill), axis=1)
    is_first = np.ones(ordered.shape, np.bool_)
    is_first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    is_first &= takes_part.any(axis=1, keepdims=True)
    bank = np.arange(len(ordered))[:, None] * banks + ordered % banks
    words = np.bincount(bank[is_first], minlength=len(ordered) * banks)
    return int(words.reshape(-1, banks).max(axis=1).sum())
