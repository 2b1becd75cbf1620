"""The import system's view of the package: all public names at once, and modules under Taichi's import paths.

In: import paths, `shadesmith.math`, `shadesmith.runtime.launch.kernel`. Out: modules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from .compat.lazy import NOT_TAICHIS, PACKAGE, PATHS, RUNTIME, path_of
from .loading import SameModule, loader, without_collections

if TYPE_CHECKING:
    from typing import Protocol

    class _InnerModule(Protocol):
        def find(self, fullname: str, rest: str) -> ModuleSpec | None: ...


PUBLIC = f"{RUNTIME}.public"
"""The module with all names; it also lets the parts of the package find each other."""

_public: Callable[[], ModuleType] = loader(".public", __package__)
_inner: Callable[[], _InnerModule] = loader(".compat.inner", __package__)


def load_public() -> ModuleType:
    """Return the module of all public names; the first call imports most of the package, and NumPy."""
    if PUBLIC in sys.modules:
        return _public()
    with without_collections(imports=True):
        return _public()


class _LoadedModule:
    """A loader of a module that was loaded while Python looked for it. spec: its specification for this one time.

    Python takes the one in `__spec__` in place of what a finder returns, and would execute the file a second time.
    """

    def __init__(self, module: ModuleType) -> None:
        self._module, self._own = module, module.__spec__
        is_package = hasattr(module, "__path__")
        self.spec = ModuleSpec(module.__name__, self, is_package=is_package)  # type: ignore[arg-type]
        module.__spec__ = self.spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own specification."""
        module.__spec__ = self._own


class PathFinder:
    """Finds the modules of `PATHS` and those of Taichi's inside for Python's import system.

    Before it looks for any module of the package, it loads all public names: the modules rely on that.
    """

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the specification of a module, None for other paths."""
        root, _, rest = fullname.partition(".")
        if root != PACKAGE or fullname == PUBLIC:
            return None
        load_public()  # or wait for the thread that does so; nothing happens within what it imports
        if fullname in sys.modules:
            return _LoadedModule(sys.modules[fullname]).spec
        if rest in PATHS:
            loader = SameModule(f"{RUNTIME}.{path_of(fullname)}")
            return ModuleSpec(fullname, loader, is_package=True)  # type: ignore[arg-type]
        if rest.startswith(NOT_TAICHIS):
            return None
        return _inner().find(fullname, rest)
