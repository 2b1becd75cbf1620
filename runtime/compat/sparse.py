"""`ti.sparse`: grids of structs whose cells are active or inactive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.lang.struct import Struct
from ..fields.field import Placed
from ..fields.snodes import AXES, SNode, root
from ..session.tracebacks import hides_own_frames_of


@hides_own_frames_of(TaichiRuntimeError)
def grid(field_dict: dict[str, Any], shape: Sequence[int]) -> Any:
    """Return a struct field in a bitmasked node of `shape`, of 2 or 3 axes: a cell becomes active when it is stored to.

    field_dict: members and their types. Raises: TaichiRuntimeError for another number of axes.

    Example:
        >>> grid = ti.sparse.grid({"mass": ti.f32}, shape=(8, 8))
        >>> grid[3, 4].mass = 1.0
        >>> ti.sparse.usage(grid)
        0.015625
    """
    if len(shape) not in (2, 3):
        raise TaichiRuntimeError(f"Only 2D and 3D sparse grids are supported, and the shape {tuple(shape)} was given")
    field = Struct.field(field_dict)
    root.bitmasked(AXES["ij" if len(shape) == 2 else "ijk"], list(shape)).place(field)
    return field


@hides_own_frames_of(TaichiRuntimeError)
def usage(x: Any) -> float:
    """Return the fraction of active cells of a sparse grid, from 0 to 1, as an f32.

    x: a field of `ti.sparse.grid`.
    Raises: TaichiRuntimeError if `x` is not a field whose cells are those of a bitmasked node.

    Example:
        >>> ti.sparse.usage(ti.sparse.grid({"mass": ti.f32}, shape=(8, 8)))
        0.0
    """
    above = x.parent() if isinstance(x, Placed) else None
    if not isinstance(above, SNode) or above.kind != "bitmasked":
        node = x if isinstance(x, SNode) else above
        found = f"a {type(x).__name__}" if node is None else f"a {node.kind} node"
        found = f"a field in {found}" if node is not x and node is not None else found
        message = f"`ti.sparse.usage` takes a field of `ti.sparse.grid`, in a bitmasked node; found {found}"
        raise TaichiRuntimeError(message, "make it by `ti.sparse.grid({'v': ti.f32}, shape=(8, 8))`")
    assert above.node is not None and above.memory is not None
    tree = above.memory.sparse()
    words = np.ascontiguousarray(tree.words_of(above.node, "mask"))
    active = int(np.unpackbits(words.view(np.uint8)).sum())
    return float(np.float32(active / np.prod(x.shape)))
