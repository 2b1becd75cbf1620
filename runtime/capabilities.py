"""What a target can do when no device is asked: the capabilities `kernel.source(arch=...)` compiles for without one."""

from __future__ import annotations

from ..transpiler.ir.types import SCALARS
from ..transpiler.options import Capabilities

INTEGERS = ("i32", "u32", "i64", "u64")
BITWISE = ("and", "or", "xor")
PORTABLE: dict[str, Capabilities] = {
    "c": Capabilities("c", frozenset(SCALARS), frozenset((t, op) for t in INTEGERS for op in ("add", "sub", *BITWISE))),
    "cuda": Capabilities(
        "cuda",
        frozenset(SCALARS),
        frozenset((t, op) for t in ("i32", "u32", "u64", "i64") for op in ("add", "sub", "min", "max", *BITWISE))
        | {("f32", "add"), ("f64", "add"), ("f32", "sub"), ("f64", "sub")},
        atomic_bits=frozenset({16, 32, 64}),
        max_push_bytes=4096,
        max_shared_bytes=49152,
    ),
    "vulkan": Capabilities(
        "vulkan",
        frozenset(SCALARS),
        frozenset((t, op) for t in ("i32", "u32") for op in ("add", "sub", "min", "max", *BITWISE)) | {("f32", "add")},
        atomic_bits=frozenset({32, 64}),
        max_push_bytes=128,
        recursion=False,
    ),
    "python": Capabilities("python", frozenset(SCALARS)),
}
"""By target: a desktop GPU of today for Vulkan (f32 atomic add), sm_90 for CUDA, a 64-bit host for C."""
