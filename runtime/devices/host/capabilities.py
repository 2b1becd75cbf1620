"""Capabilities of C on every 64-bit host."""

from __future__ import annotations

from ....transpiler.ir.types import SCALARS
from ....transpiler.options import Capabilities
from ..portable import BITWISE, INTEGERS, SHARED_BYTES

PORTABLE = Capabilities(
    "c",
    frozenset(SCALARS),
    frozenset((t, op) for t in INTEGERS for op in ("add", "sub", *BITWISE)),
    whole_atomics=True,
    max_shared_bytes=SHARED_BYTES,
)
