"""Taichi's names that this version lacks: reading one gives a sentence, not Python's bare "has no attribute".

In: the name of a module and of an attribute. Out: the AttributeError to raise from a module's `__getattr__`.
"""

from __future__ import annotations

LATER: dict[str, tuple[str, ...]] = {
    "ti": (
        "ArgPack", "BitpackedFields", "DeviceCapability", "FieldsBuilder", "Format", "Mesh", "MeshInstance",
        "SNode", "Struct", "StructField", "Texture", "activate", "ad", "algorithms", "aot", "append",
        "assume_in_range", "axes", "block_local", "cache_read_only", "dataclass", "deactivate",
        "deactivate_all_snodes", "eig", "experimental", "frexp", "get_addr", "global_thread_idx", "graph",
        "i", "ij", "ijk", "ijkl", "ijl", "ik", "ikl", "il", "is_active", "j", "jk", "jkl", "jl", "k", "kl",
        "l", "length", "linalg", "loop_unique", "mesh_local", "mesh_patch_idx", "no_activate",
        "polar_decompose", "profiler", "real_func", "ref", "rescale_index", "root", "solve", "sparse",
        "sparse_matrix_builder", "svd", "sym_eig", "tools", "ui", "var",
    ),
    "ti.types": (
        "argpack", "quant", "ref", "rw_texture", "sparse_matrix_builder", "struct", "texture",
    ),
    "ti.simt": ("block", "grid", "subgroup", "warp"),
}  # fmt: skip
"""Names by module; a name leaves the table when its feature arrives."""


def missing(module: str, name: str) -> AttributeError:
    """Return the error for attribute `name` of `module` ("ti", "ti.types", "ti.simt")."""
    if name in LATER[module]:
        return AttributeError(f"{module}.{name} is not in this version of shadesmith; see docs/status")
    return AttributeError(f"module '{module.replace('ti', 'shadesmith', 1)}' has no attribute '{name}'")
