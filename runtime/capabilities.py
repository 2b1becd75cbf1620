"""What a target can do when no device is asked: the capabilities `kernel.source(arch=...)` compiles for without one."""

from __future__ import annotations

from ..transpiler.ir.types import SCALARS
from ..transpiler.options import Capabilities

INTEGERS = ("i32", "u32", "i64", "u64")
BITWISE = ("and", "or", "xor")
SHARED_BYTES = 49152
"""Memory of a block that every GPU with CUDA has; C keeps as much on the stack."""
PORTABLE: dict[str, Capabilities] = {
    "c": Capabilities(
        "c",
        frozenset(SCALARS),
        frozenset((t, op) for t in INTEGERS for op in ("add", "sub", *BITWISE)),
        max_shared_bytes=SHARED_BYTES,
    ),
    "cuda": Capabilities(
        "cuda",
        frozenset(SCALARS),
        frozenset((t, op) for t in ("i32", "u32", "u64", "i64") for op in ("add", "sub", "min", "max", *BITWISE))
        | {("f32", "add"), ("f64", "add"), ("f32", "sub"), ("f64", "sub")},
        atomic_bits=frozenset({16, 32, 64}),
        max_push_bytes=4096,
        max_groups=2**31 - 1,
        max_shared_bytes=SHARED_BYTES,
    ),
    "vulkan": Capabilities(
        "vulkan",
        frozenset(SCALARS),
        frozenset((t, op) for t in ("i32", "u32") for op in ("add", "sub", "min", "max", *BITWISE)) | {("f32", "add")},
        atomic_bits=frozenset({32, 64}),
        max_push_bytes=128,
        recursion=False,
        shared_atomics=frozenset({("f32", "add")}),
        subgroup_size=None,
    ),
    "python": Capabilities("python", frozenset(SCALARS), max_shared_bytes=SHARED_BYTES),
}
"""By target: a desktop GPU of today for Vulkan (f32 atomic add), sm_90 for CUDA, a 64-bit host for C."""
