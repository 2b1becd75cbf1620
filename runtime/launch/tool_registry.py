"""Registry of the tools that inspect kernels: the workbench registers them, kernels find them by name.

In: functions by name (`register`), each loaded when it is first called. Out: `tool(name)`. So kernels and inspections
do not import the workbench, which imports them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...transpiler.errors import InternalError

Tool = Callable[..., Any]

_TOOLS: dict[str, Tool] = {}


def register(tools: Mapping[str, Tool]) -> None:
    """Add tools by name."""
    _TOOLS.update(tools)


def tool(name: str) -> Tool:
    """Return a tool. Raises: InternalError if it is not registered."""
    found = _TOOLS.get(name)
    if found is None:
        raise InternalError(f"no tool `{name}` is registered; there are {', '.join(_TOOLS) or 'none'}")
    return found
