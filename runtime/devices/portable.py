"""What the capabilities of several targets are made of."""

from __future__ import annotations

INTEGERS = ("i32", "u32", "i64", "u64")
BITWISE = ("and", "or", "xor")
SHARED_BYTES = 49152
"""Memory of a block that every GPU with CUDA has; C keeps as much on the stack."""
