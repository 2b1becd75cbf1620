"""Names whose modules are loaded at their first use: all but `ti.init` and architectures together, and what only some
programs need, such as drawing, by itself.

In: names of the root package (`GUI`), and import paths (`shadesmith.tools.image`). Out: objects, modules.
"""

from __future__ import annotations

from importlib import import_module

from ..public_names import NAMES

PACKAGE, RUNTIME = __name__.split(".")[0], __name__.rsplit(".", 2)[0]

PATHS = (
    "ad",
    "algorithms",
    "aot",
    "graph",
    "linalg",
    "profiler",
    "tools",
    "tools.diagnose",
    "tools.image",
    "tools.np2ply",
    "tools.video",
    "tools.vtk",
    "ui",
)
"""Import paths below the root package; `NAMES` has the paths of those whose module has another path below `runtime`."""

NOT_TAICHIS = ("runtime", "transpiler", "__main__")
"""The beginnings of paths that are no path of Taichi's."""


def load(name: str) -> object:
    """Return the object or module of a name of `NAMES`."""
    path, _, member = NAMES[name].partition(":")
    module = import_module(f"{RUNTIME}.{path}")
    return getattr(module, member) if member else module


def path_of(name: str) -> str:
    """Return the path below `runtime` of an import path such as `shadesmith.tools.image`."""
    path = name.partition(".")[2]
    return NAMES.get(path, path)
