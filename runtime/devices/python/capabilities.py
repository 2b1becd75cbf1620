"""Capabilities of the interpreter."""

from __future__ import annotations

from ....transpiler.ir.types import SCALARS
from ....transpiler.options import Capabilities
from ..portable import SHARED_BYTES

PORTABLE = Capabilities(
    "python",
    frozenset(SCALARS),
    max_shared_bytes=SHARED_BYTES,
    has_vectors=True,
    wraps_integers=False,
    is_reference=True,
    blocks_in_lockstep=True,
)
