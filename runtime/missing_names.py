"""Taichi's names that this version lacks: reading one gives a full message, not only Python's "has no attribute".

In: the name of a module and of an attribute. Out: the AttributeError to raise from a module's `__getattr__`.
"""

from __future__ import annotations

from ..transpiler.errors import NotYetError, as_seen_by_user

Later = tuple[str, int | None] | tuple[str, int | None, str]
"""The missing feature, its issue, and what to use instead, if there is something."""

ASSUMPTIONS: Later = ("assumptions about indices", None, "write the index itself: an assumption changes no result")
ADDRESSES: Later = ("addresses of cells", None)
PROFILER: Later = ("times of kernels", None, "use `time.perf_counter()` around launches and `ti.sync()`")
TAICHI_ARCHIVES: Later = (
    "archives in Taichi's own format",
    None,
    "docs/archive.md describes shadesmith's: JSON in a zip",
)
MESHES: Later = ("meshes", None)
LIBRARIES: Later = ("linear algebra and algorithms", None)
QUANTISED: Later = ("quantised types", None, "use a small type such as `ti.i8`, `ti.u16` or `ti.f16`")

LATER: dict[str, dict[str, Later]] = {
    "ti": {
        **dict.fromkeys(("assume_in_range", "loop_unique"), ASSUMPTIONS),
        **dict.fromkeys(("get_addr",), ADDRESSES),
        **dict.fromkeys(("Mesh", "MeshInstance", "mesh_local", "mesh_patch_idx"), MESHES),
        **dict.fromkeys(("algorithms", "linalg", "sparse_matrix_builder"), LIBRARIES),
        **dict.fromkeys(("BitpackedFields",), QUANTISED),
    },
    "ti.aot": dict.fromkeys(("GfxRuntime140", "conventions"), TAICHI_ARCHIVES),
    "ti.profiler": dict.fromkeys(
        (
            "CuptiMetric", "clear_kernel_profiler_info", "clear_scoped_profiler_info",
            "collect_kernel_profiler_metrics", "get_kernel_profiler_total_time", "get_predefined_cupti_metrics",
            "print_kernel_profiler_info", "print_scoped_profiler_info", "query_kernel_profiler_info",
            "set_kernel_profiler_metrics", "set_kernel_profiler_toolkit",
        ),
        PROFILER,
    ),
    "ti.types": {
        **dict.fromkeys(("sparse_matrix_builder",), LIBRARIES),
        **dict.fromkeys(("quant",), QUANTISED),
    },
}  # fmt: skip
"""Names by module; a name is removed when its feature is added."""


def missing(module: str, name: str) -> Exception:
    """Return the error for attribute `name` of `module` ("ti", "ti.types")."""
    if name in LATER[module]:
        return as_seen_by_user(NotYetError(f"{module}.{name}", *LATER[module][name]))
    return AttributeError(f"module '{module.replace('ti', 'shadesmith', 1)}' has no attribute '{name}'")
