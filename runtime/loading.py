"""Lazy imports of shadesmith's modules: those that start processes, or open the device of a target.

In: the name of a module. Out: a function that imports it. The caller annotates this function with a protocol of the
module's members that it uses, so that types are checked although a plain import would slow down every start.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def loader(name: str, package: str | None) -> Callable[[], Any]:
    """Return a function that imports a module, `name` relative to `package`; each call returns the same module."""
    return lambda: importlib.import_module(name, package)
