"""Values that are common to the capabilities of several targets."""

from __future__ import annotations

INTEGERS = ("i32", "u32", "i64", "u64")
BITWISE = ("and", "or", "xor")
SHARED_BYTES = 49152
"""Shared memory of a block that every CUDA GPU has; the C target has the same amount, on the stack."""
