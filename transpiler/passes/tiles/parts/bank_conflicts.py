"""How many cycles a warp's access to shared memory takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

CYCLE_BYTES = 128
"""What the 32 banks give at once, 4 bytes each. Threads share a cycle if they read 128 bytes together: of numbers of 8
bytes half a warp does."""
BANK_BYTES = 4
MOST_BYTES = 48 * 1024
"""The shared memory of a block [bytes] in which CUDA has arrays of constant size."""


def cycles(elements: Sequence[int], size_bytes: int, active: Sequence[bool]) -> int:
    """Return the cycles of the accesses of some warps to elements of an array.

    elements: by thread, warp after warp. size_bytes: of an element, 2 to 16. active: the threads that access any.
    Source: CUDA C++ Programming Guide, shared memory: threads that access different words in one bank wait for each
    other, and those that access the same word do not.
    """
    if size_bytes < BANK_BYTES:  # two numbers are in one word
        elements, size_bytes = [element * size_bytes // BANK_BYTES for element in elements], BANK_BYTES
    banks, total = CYCLE_BYTES // size_bytes, 0
    for first in range(0, len(elements), banks):
        together = slice(first, first + banks)
        words = {element for element, takes_part in zip(elements[together], active[together]) if takes_part}
        total += max(Counter(word % banks for word in words).values(), default=0)
    return total
