"""`ti.init(warn_stale_globals=True)`: kernels hold globals as constants; a launch warns of those that changed since.

In: a launcher and the globals that its kernel holds. Out: a launcher that checks them first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...transpiler.errors import warn_user
from ...transpiler.ir.captured_constant import CapturedConstant


def watch(launch: Callable[..., Any], kernel: str, captured: Mapping[str, CapturedConstant]) -> Callable[..., Any]:
    """Return `launch` with a warning, once per value, for each global that differs from the value compiled in."""
    known = {path: repr(found.value) for path, found in captured.items()}

    def watched(*args: Any) -> Any:
        for path, found in captured.items():
            now = _now(found)
            if now != known[path]:
                message = f"`{path}` was {found.value!r} when kernel `{kernel}` was compiled and is {now} now"
                hint = "pass it as an argument, or keep it in a field; a kernel holds globals as constants"
                warn_user(found.location.explained(message, hint))
                known[path] = now
        return launch(*args)

    return watched


def _now(found: CapturedConstant) -> str:
    """Return the `repr` of a global's value; a deleted one counts as unchanged."""
    try:
        return repr(found.read())
    except (KeyError, AttributeError):
        return repr(found.value)
