"""`ti.simt`: collective operations of the threads of a block, of a subgroup or warp, and of the whole grid."""

from . import block, grid, subgroup, warp

__all__ = ["block", "grid", "subgroup", "warp"]
