"""How an `Interface` describes each array and texture of a kernel: element, extents, access, address in a tree."""

from __future__ import annotations

from ...ir.snodes import index_components_of, memory_of, pool_cell_bytes, start_offset
from ...ir.sparse_storage import max_cells
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


def array_binding(array: Array, usage: Usage) -> ArrayBinding:
    """Return the description of an array."""
    shape = array.element.shape if isinstance(array.element, Tensor) else ()
    element = described(array.element if isinstance(array.element, Struct) else element_of(array.element))
    return ArrayBinding(
        array.name, element, shape, array.ndim, array.shape, array.parameter,
        array in usage.read, array in usage.written, array.offset, tree_address(array, usage),
    )  # fmt: skip


def texture_binding(texture: Texture, usage: Usage) -> TextureBinding:
    """Return the description of a texture."""
    kinds = {kind for kind, other in usage.texels if other is texture}
    return TextureBinding(
        name=texture.name,
        parameter=texture.parameter,
        binding=texture.binding,
        ndim=texture.ndim,
        element=texture.element.name,
        format=None if texture.format is None else texture.format.name,
        storage=texture.is_storage,
        lod=texture.lod,
        read=bool(kinds & set(TEXEL_READS)),
        written=ImageStore in kinds,
    )


def tree_address(array: Array, usage: Usage) -> TreeAddress | None:
    """Return where an array is in the memory of its tree, whose pointer belongs to the first used array of the tree."""
    if array.place is None or array not in usage.arrays:
        return None
    part = memory_of(array.place)
    own = [other.binding for other in usage.arrays if other.place is not None and memory_of(other.place) is part]
    components = tuple(tuple(component) for component in index_components_of(array.place))
    cells = (max_cells(part), pool_cell_bytes(part)) if part.has_pool else ()
    return TreeAddress(min(own), start_offset(array.place), components, cells)
