"""Names whose modules are loaded at their first use: drawing needs modules that kernels do not, a tenth of the time of
`import shadesmith`.

In: names of the root package (`GUI`), and import paths (`shadesmith.tools.image`). Out: objects, modules.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec

from ..loading import SameModule
from ..public_names import NAMES

PACKAGE, RUNTIME = __name__.split(".")[0], __name__.rsplit(".", 2)[0]

PATHS = (
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


def _path_of(name: str) -> str:
    """Return the path below `runtime` of an import path such as `shadesmith.tools.image`."""
    path = name.partition(".")[2]
    return NAMES.get(path, path)


class PathFinder:
    """Finds the modules of `PATHS` and those of Taichi's inside for Python's import system."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the specification of a module, None for other paths."""
        root, _, rest = fullname.partition(".")
        if root != PACKAGE:
            return None
        if rest in PATHS:
            loader = SameModule(f"{RUNTIME}.{_path_of(fullname)}")
            return ModuleSpec(fullname, loader, is_package=True)  # type: ignore[arg-type]
        if rest.startswith(NOT_TAICHIS):
            return None
        return import_module(".inner", __package__).find(fullname, rest)  # type: ignore[no-any-return]


def install() -> None:
    """Make `PATHS` importable."""
    sys.meta_path.insert(0, PathFinder())  # before the default finder, which would load a second copy of the file
