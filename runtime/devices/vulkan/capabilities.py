"""Capabilities of GLSL on a current desktop GPU (f32 atomic add), and on every Vulkan 1.1 device."""

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
    miscompiles_integers=True,
    skips_roundings=True,
)
