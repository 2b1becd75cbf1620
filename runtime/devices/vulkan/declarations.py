"""The declarations of the package `vulkan`: Vulkan's types, functions and constants, as cffi reads them.

The package itself is not imported: its wrappers, which nothing here calls, take 20 ms of the 28 that it needs.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

DECLARATIONS = "_vulkancache.py"
"""The package's module that has only cffi's declarations (1.3.275). Without it the package is imported."""
LIBRARIES = ("libvulkan.so.1", "vulkan-1.dll", "libvulkan.dylib")


class Declarations:
    """Constants of Vulkan by name, as attributes. ffi: types. lib: functions of the loader."""

    def __init__(self, ffi: Any, lib: Any) -> None:
        self.ffi, self.lib = ffi, lib

    def __getattr__(self, name: str) -> Any:
        """Return a constant. The package alone has the older names of some."""
        try:
            value = getattr(self.lib, name)
        except AttributeError:
            value = getattr(importlib.import_module("vulkan"), name)
        setattr(self, name, value)
        return value


def load_declarations() -> Declarations:
    """Open the loader. Raises: ImportError without the package, OSError without the loader."""
    spec = importlib.util.find_spec("vulkan")
    if spec is None:
        raise ImportError("no module named 'vulkan'", name="vulkan")
    for folder in spec.submodule_search_locations or ():
        path = Path(folder, DECLARATIONS)
        if path.is_file():
            ffi = _run(path).ffi
            return Declarations(ffi, _open(ffi))
    package = importlib.import_module("vulkan")
    return Declarations(package.ffi, package._vulkan.lib)


def _run(path: Path) -> ModuleType:
    """Return the module of a file, of which Python keeps the bytecode, but not the module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _open(ffi: Any) -> Any:
    for name in LIBRARIES[:-1]:
        try:
            return ffi.dlopen(name)
        except OSError:
            pass
    return ffi.dlopen(LIBRARIES[-1])
