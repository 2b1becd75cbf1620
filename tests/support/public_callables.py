"""The public callables of the package: what tests of docstrings and the API reference of the site are about.

In: the package. Out: `public_callables()`, functions and classes by the name under which users reach them first.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import types
from collections.abc import Callable
from typing import Any

import shadesmith as ti
from shadesmith.runtime.public_names import NAMES
from shadesmith.transpiler.lang.decorators import Func

MODULES = (
    "",
    "math",
    "simt.block",
    "simt.grid",
    "simt.subgroup",
    "simt.warp",
    "ad",
    "algorithms",
    "aot",
    "cache",
    "graph",
    "linalg",
    "profiler",
    "tools",
    "types",
    "ui",
    "sparse",
)
"""Public modules, by their paths below the root package, in the order of the reference."""


def _names(module: types.ModuleType) -> list[str]:
    """Return the public names of a module: `__all__`, or what is defined there."""
    declared = getattr(module, "__all__", None)
    if declared is not None:
        return list(declared)
    return [name for name, value in vars(module).items() if not name.startswith("_") and _is_of(value, module)]


def _is_of(value: Any, module: types.ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__


def _is_documented(value: Any) -> bool:
    if isinstance(value, types.ModuleType) or isinstance(value, type) and issubclass(value, (enum.Enum, Exception)):
        return False
    return isinstance(value, (type, Func)) or inspect.isfunction(value)


def module_of(path: str) -> types.ModuleType:
    """Return a public module by its path below the root package."""
    value: Any = ti
    for part in path.split("."):
        value = getattr(value, part)
    if isinstance(value, types.ModuleType):
        return value
    return importlib.import_module(f"shadesmith.{path}")


def members_of(path: str) -> dict[str, Any]:
    """Return the public functions and classes of the module at `path`, "" for the root package, by name."""
    module = module_of(path) if path else ti
    names = sorted({*ti.__all__, *NAMES}) if not path else sorted(_names(module))
    return {name: value for name in names if _is_documented(value := getattr(module, name))}


def public_callables() -> dict[str, Callable[..., Any]]:
    """Return public functions and classes by name, such as `ti.math.mix`; what has several names, by the first."""
    found: dict[int, tuple[str, Any]] = {}
    for path in MODULES:
        for name, value in members_of(path).items():
            found.setdefault(id(value), (".".join(filter(None, ("ti", path, name))), value))
    return dict(found.values())
