"""Lazy imports of shadesmith's modules, modules under a second path, and a pause of the garbage collector.

In: the name of a module. Out: a function that imports it, or a loader for Python's import system. The caller annotates
the function with a protocol of the module's members that it uses, so that types are checked although a plain import
would slow down every start.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def loader(name: str, package: str | None) -> Callable[[], Any]:
    """Return a function that imports a module, `name` relative to `package`; each call returns the same module."""
    return lambda: importlib.import_module(name, package)


class SameModule:
    """A loader that gives the existing module `name` for another import path: one module, not a copy of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the existing module."""
        module = importlib.import_module(self.name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own specification, which Python has replaced by that of the path."""
        module.__spec__ = self._spec


MANY_OBJECTS = 4096
"""Young objects whose traversal takes about a millisecond."""

_has_frozen = False
"""Whether objects were frozen when they were counted."""


@contextmanager
def without_collections(imports: bool = False) -> Iterator[None]:
    """Let Python's garbage collector wait. imports: if modules are imported meanwhile, all objects become old ones.

    A compilation makes some hundred objects for each statement, an import of modules some for each line, and both drop
    few of them: the collector would traverse them all again and again, for a fifth and a tenth of the time.

    What a large compilation leaves, its syntax tree and entries of caches, becomes old, too: there is no garbage in it.
    Only full collections traverse old objects. Where a program has frozen objects, they stay: to count them takes 0.1 s
    for 600,000, so that is left to the first call that imports something or leaves much, and remembered.
    """
    global _has_frozen
    modules = len(sys.modules)
    was_enabled, young = gc.isenabled(), gc.get_count()[0]
    gc.disable()
    try:
        yield
    finally:
        leaves_much = was_enabled and gc.get_count()[0] - young > MANY_OBJECTS
        if (leaves_much or (imports and len(sys.modules) > modules)) and not _has_frozen:
            _has_frozen = gc.get_freeze_count() > 0
            if not _has_frozen:
                gc.freeze()
                gc.unfreeze()
        if was_enabled:
            gc.enable()
