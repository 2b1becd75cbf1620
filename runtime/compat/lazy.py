"""Names whose modules are loaded when they are first read: drawing needs much that kernels do not, and takes a tenth of
the time of `import shadesmith`.

In: names of the root package (`GUI`), and import paths (`shadesmith.tools.image`). Out: objects, modules.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

PACKAGE, RUNTIME = __name__.split(".")[0], __name__.rsplit(".", 2)[0]

NAMES = {
    "DeviceCapability": "aot.targets",
    "GUI": "gui.gui",
    "aot": "aot",
    "cache": "cache",
    "graph": "graph",
    "hex_to_rgb": "gui.arguments",
    "profiler": "launch.profiler",
    "rgb_to_hex": "gui.arguments",
    "tools": "tools",
    "ui": "gui.ui",
}
"""Modules of `runtime` by the names that the root package has of them; of a module itself its own."""
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
"""Import paths below the root package, and below `runtime`."""


def load(name: str) -> object:
    """Return what a name of `NAMES` stands for."""
    module = import_module(f"{RUNTIME}.{NAMES[name]}")
    return module if NAMES[name] == name else getattr(module, name)


class PathFinder:
    """Answers Python's imports of `PATHS`."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how to load a module, or None where the path is not ours."""
        root, _, rest = fullname.partition(".")
        return ModuleSpec(fullname, self) if root == PACKAGE and rest in PATHS else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module itself, no copy of it."""
        module = import_module(f"{RUNTIME}.{spec.name.partition('.')[2]}")
        self._specs[module.__name__] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own specification back, over which Python has put that of the path."""
        module.__spec__ = self._specs.pop(module.__name__)


def install() -> None:
    """Make `PATHS` importable."""
    sys.meta_path.insert(0, PathFinder())  # before the one that would load a second copy of a file it finds
