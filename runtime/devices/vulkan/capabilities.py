"""What GLSL can do on a desktop GPU of today (f32 atomic add), and on every device of Vulkan 1.1."""

from __future__ import annotations

from ....transpiler.ir.types import SCALARS
from ....transpiler.options import Capabilities
from ..portable import BITWISE

ATOMICS = frozenset((t, op) for t in ("i32", "u32") for op in ("add", "sub", "min", "max", *BITWISE))

PORTABLE = Capabilities(
    "vulkan",
    frozenset(SCALARS),
    ATOMICS | {("f32", "add")},
    atomic_bits=frozenset({32, 64}),
    max_push_bytes=128,
    recursion=False,
    shared_atomics=frozenset({("f32", "add")}),
    subgroup_size=None,
)
