"""Names whose modules are loaded at their first use: drawing needs modules that kernels do not, a tenth of the time of
`import shadesmith`.

In: names of the root package (`GUI`), and import paths (`shadesmith.tools.image`). Out: objects, modules.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from ..public_names import NAMES

PACKAGE, RUNTIME = __name__.split(".")[0], __name__.rsplit(".", 2)[0]

PATHS = (
    "aot",
    "graph",
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
    """Finds the modules of `PATHS` for Python's import system."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the specification of a module, None for paths outside `PATHS`."""
        root, _, rest = fullname.partition(".")
        return ModuleSpec(fullname, self) if root == PACKAGE and rest in PATHS else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the existing module, not a copy."""
        module = import_module(f"{RUNTIME}.{_path_of(spec.name)}")
        self._specs[module.__name__] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own specification, which Python has replaced by that of the path."""
        module.__spec__ = self._specs.pop(module.__name__)


def install() -> None:
    """Make `PATHS` importable."""
    sys.meta_path.insert(0, PathFinder())  # before the default finder, which would load a second copy of the file
