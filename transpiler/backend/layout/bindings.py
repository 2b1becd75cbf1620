"""How an `Interface` describes each array and texture of a kernel: element, extents, access, address in a tree."""

from __future__ import annotations

from ...ir.snodes import begin_of, index_components_of, memory_of, pool_cell_bytes
from ...ir.sparse import most_cells
from ...ir.statements import (
    Array,
)
from ...ir.textures import TEXEL_READS, ImageStore, Texture
from ...ir.types import (
    Struct,
    Tensor,
    described,
    element_of,
)
from ..module.interface import ArrayBinding, TextureBinding, TreeAddress
from .usage import Usage


def array_binding(array: Array, use: Usage) -> ArrayBinding:
    shape = array.element.shape if isinstance(array.element, Tensor) else ()
    element = described(array.element if isinstance(array.element, Struct) else element_of(array.element))
    return ArrayBinding(
        array.name, element, shape, array.ndim, array.shape, array.parameter,
        array in use.read, array in use.written, array.offset, tree_address(array, use),
    )  # fmt: skip


def texture_binding(texture: Texture, use: Usage) -> TextureBinding:
    kinds = {kind for kind, other in use.texels if other is texture}
    return TextureBinding(
        name=texture.name,
        parameter=texture.parameter,
        binding=texture.slot,
        ndim=texture.ndim,
        element=texture.element.name,
        format=None if texture.format is None else texture.format.name,
        storage=texture.is_storage,
        lod=texture.lod,
        read=bool(kinds & set(TEXEL_READS)),
        written=ImageStore in kinds,
    )


def tree_address(array: Array, use: Usage) -> TreeAddress | None:
    """Return where an array lies in the memory of its tree, whose pointer is that of the first array used of it."""
    if array.place is None or array not in use.arrays:
        return None
    part = memory_of(array.place)
    own = [other.slot for other in use.arrays if other.place is not None and memory_of(other.place) is part]
    digits = tuple(tuple(digit) for digit in index_components_of(array.place))
    cells = (most_cells(part), pool_cell_bytes(part)) if part.has_pool else ()
    return TreeAddress(min(own), begin_of(array.place), digits, cells)
