"""Taichi's names that this version lacks: reading one gives a sentence, not Python's bare "has no attribute".

In: the name of a module and of an attribute. Out: the AttributeError to raise from a module's `__getattr__`.
"""

from __future__ import annotations

from ...transpiler.errors import NotYetError

FUNCTIONS = ("real functions and references", 3)
THREADS = ("threads, blocks and subgroups", 3)
NODES = ("layouts by SNodes, sparse ones too,", 4)
FILES = ("images, videos and the memory report", 4)
KEEPING = ("the cache, AOT modules and graphs", 6)
DERIVATIVES = ("derivatives", None)
TEXTURES = ("textures", None)
MESHES = ("meshes", None)
LIBRARIES = ("linear algebra and algorithms", None)
QUANTISED = ("quantised types", None)

LATER: dict[str, dict[str, tuple[str, int | None]]] = {
    "ti": {
        **dict.fromkeys(("real_func", "ref", "experimental"), FUNCTIONS),
        **dict.fromkeys(("block_local", "cache_read_only", "global_thread_idx"), THREADS),
        **dict.fromkeys(
            (
                "FieldsBuilder", "activate", "append", "assume_in_range", "deactivate", "deactivate_all_snodes",
                "get_addr", "is_active", "length", "loop_unique", "rescale_index", "sparse", "var",
            ),
            NODES,
        ),
        **dict.fromkeys(("profiler", "tools"), FILES),
        **dict.fromkeys(("DeviceCapability", "aot", "graph"), KEEPING),
        **dict.fromkeys(("ad", "no_activate"), DERIVATIVES),
        **dict.fromkeys(("Format", "Texture"), TEXTURES),
        **dict.fromkeys(("Mesh", "MeshInstance", "mesh_local", "mesh_patch_idx"), MESHES),
        **dict.fromkeys(("algorithms", "linalg", "sparse_matrix_builder"), LIBRARIES),
        **dict.fromkeys(("BitpackedFields",), QUANTISED),
    },
    "ti.types": {
        **dict.fromkeys(("ref",), FUNCTIONS),
        **dict.fromkeys(("rw_texture", "texture"), TEXTURES),
        **dict.fromkeys(("sparse_matrix_builder",), LIBRARIES),
        **dict.fromkeys(("quant",), QUANTISED),
    },
    "ti.simt": dict.fromkeys(("block", "grid", "subgroup", "warp"), THREADS),
}  # fmt: skip
"""Names by module, with what they belong to and its issue; a name leaves the table when its feature arrives."""


def missing(module: str, name: str) -> AttributeError:
    """Return the error for attribute `name` of `module` ("ti", "ti.types", "ti.simt")."""
    if name in LATER[module]:
        return NotYetError(f"{module}.{name}", *LATER[module][name])
    return AttributeError(f"module '{module.replace('ti', 'shadesmith', 1)}' has no attribute '{name}'")
