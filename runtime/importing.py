"""The import system's view of the package: all public names at once, and modules under Taichi's import paths.

In: import paths, `shadesmith.math`, `shadesmith.runtime.launch.kernel`. Out: modules.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from importlib.machinery import PathFinder as FilesFinder
from importlib.util import module_from_spec
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from .compat.lazy import NOT_TAICHIS, PACKAGE, PATHS, RUNTIME, path_of
from .loading import SameModule, loader, without_collections
from .session.starting import BEFORE

if TYPE_CHECKING:
    from typing import Protocol

    class _InnerModule(Protocol):
        def find(self, fullname: str, rest: str) -> ModuleSpec | None: ...


PUBLIC = f"{RUNTIME}.public"
"""The module with all names; it also lets the parts of the package find each other."""

EARLY = tuple(f"runtime.devices.{path}" for path in ("cuda.opening", "forks", "vulkan.declarations", "vulkan.instance"))
"""Modules that open a device meanwhile, and rely on no other."""

_public: Callable[[], ModuleType] = loader(".public", __package__)
_inner: Callable[[], _InnerModule] = loader(".compat.inner", __package__)


class _Loading:
    """The loading of all public names, by the thread that begins.

    A thread that waits for another one must not hold the lock of a module that the other needs, and Python holds that
    of a module which it imports. So a thread that needs names waits; one that imports a part of the package does not.
    """

    def __init__(self) -> None:
        self._is_begun, self._has_ended = threading.Lock(), threading.Event()
        self._thread = 0

    def may_begin(self) -> bool:
        """Return whether no thread has begun."""
        return not self._is_begun.locked()

    def run(self, waits: bool) -> None:
        """Load all names, unless a thread does or has done so. waits: wait for that thread."""
        if self._is_begun.acquire(blocking=False):
            self._thread = threading.get_ident()
            try:
                with without_collections(imports=True):
                    _public()
            finally:
                self._thread = 0
                self._has_ended.set()
        elif waits and self._thread != threading.get_ident():
            self._has_ended.wait()


_loading = _Loading()


def load_public() -> ModuleType:
    """Return the module of all public names; the first call imports most of the package, and NumPy."""
    _loading.run(waits=True)
    return _public()


BEFORE.append(load_public)


class _AfterPublicNames:
    """A loader of a module that is imported first: it loads all public names before, on which modules may rely.

    find: returns the module's specification afterwards. waits: as in `_Loading.run`. Not `find_spec` does this, in
    which a thread holds a lock that the imports of all others need.
    """

    def __init__(self, find: Callable[[], ModuleSpec | None], waits: bool) -> None:
        self._find, self._waits = find, waits
        self._own: ModuleSpec | None = None
        self._is_new = False

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module, which exists already if public names need it. Raises: ModuleNotFoundError."""
        _loading.run(self._waits)
        existing = sys.modules.get(spec.name)
        if existing is not None:
            self._own = existing.__spec__
            return existing
        self._own = self._find()
        if self._own is None:
            raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name)
        self._is_new = True
        return module_from_spec(self._own)

    def get_code(self, name: str) -> CodeType | None:
        """Return the code of a module that is run as a program, `python -m shadesmith.examples...`."""
        _loading.run(self._waits)
        loader: Any = None if (found := self._find()) is None else found.loader
        code: CodeType | None = None if loader is None else loader.get_code(name)
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Execute a new module. Restore its own specification, which Python has replaced."""
        replacement = module.__spec__
        if self._is_new and self._own is not None and self._own.loader is not None:
            self._own.loader.exec_module(module)
        if module.__spec__ is replacement:
            module.__spec__ = self._own


class PathFinder:
    """Finds the modules of `PATHS` and those of Taichi's inside for Python's import system.

    The first module below the package loads all public names.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Return the specification of a module, None for other paths."""
        root, _, rest = fullname.partition(".")
        if root != PACKAGE or fullname == PUBLIC or rest in EARLY:
            return None
        is_taichis = not rest.startswith(NOT_TAICHIS)
        if hasattr(sys.modules.get(PUBLIC), "_IS_COMPLETE"):
            return _taichis(fullname, rest) if is_taichis else None
        if not is_taichis and not _loading.may_begin():
            return None
        found = FilesFinder.find_spec(fullname, path)
        if found is None and is_taichis:
            loader = _AfterPublicNames(lambda: _taichis(fullname, rest), waits=True)
            return ModuleSpec(fullname, loader, is_package=True)  # type: ignore[arg-type]
        if found is None or not _loading.may_begin():
            return None
        is_package = found.submodule_search_locations is not None
        loader = _AfterPublicNames(lambda: found, waits=False)
        return ModuleSpec(fullname, loader, is_package=is_package)  # type: ignore[arg-type]


def _taichis(fullname: str, rest: str) -> ModuleSpec | None:
    """Return the specification of a module under Taichi's path."""
    if rest in PATHS:
        loader = SameModule(f"{RUNTIME}.{path_of(fullname)}")
        return ModuleSpec(fullname, loader, is_package=True)  # type: ignore[arg-type]
    return _inner().find(fullname, rest)
