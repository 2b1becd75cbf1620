"""Registers the targets of this folder with `devices.target_tools`, which is below them and imports none of them.

`runtime/targets` is one of the highest layers, since a target's parts belong to the workbench and to archives. The root
package calls `install` once; a target is imported when its tools are first requested.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..devices.target_tools import install_loader


def load_tools(target: str, part: str = "") -> Any:
    """Return `TOOLS` of a target's package, or of one of its parts; None if the target has no such part."""
    if not part:
        return importlib.import_module(f".{target}", __package__).TOOLS
    try:
        return importlib.import_module(f".{target}.{part}", __package__).TOOLS
    except ModuleNotFoundError as error:
        if error.name != f"{__package__}.{target}.{part}":
            raise
        return None


def install() -> None:
    """Let the runtime find the targets of this folder."""
    install_loader(load_tools)
