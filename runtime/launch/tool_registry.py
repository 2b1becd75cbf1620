"""Tools that look at kernels without launching them for the user: registered from above, asked for by name.

In: functions by name (`register`), each loaded when it is first called. Out: `tool(name)`. Kernels and inspections ask
here, so that they need not know the workbench, which knows them.
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
    """Return a tool. Raises: InternalError where nobody registered it."""
    found = _TOOLS.get(name)
    if found is None:
        raise InternalError(f"no tool `{name}` is registered; there are {', '.join(_TOOLS) or 'none'}")
    return found
