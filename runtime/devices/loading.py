"""Modules of ours that are loaded when they are first needed: what starts processes, the tools of a target.

In: the name of a module. Out: a function that imports it. Who uses it annotates it by a protocol with what is taken
from the module, so that types are checked where a plain import would cost each start.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def loader(name: str, package: str | None) -> Callable[[], Any]:
    """Return a function that imports a module, `name` relative to `package`; each call returns the same module."""
    return lambda: importlib.import_module(name, package)
