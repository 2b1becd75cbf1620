"""Registers the functions of `ti.simt`: in a kernel the frontend finds the handler of each by `MEANING_OF`.

In Python scope there are no threads, so each raises Taichi's kind of error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

MEANING_OF: dict[Callable[..., Any], str] = {}
"""Function -> "collective <name in ir.threads.COLLECTIVES>", "barrier <scope>", "memory <scope>" or "index <kind>"."""


def means(meaning: str) -> Callable[[Function], Function]:
    """Register the decorated function."""

    def register(function: Function) -> Function:
        MEANING_OF[function] = meaning
        return function

    return register


def kernel_only(name: str) -> NoReturn:
    """Raise the error of a call in Python scope."""
    raise AssertionError(f"ti.simt.{name} cannot be called in Python-scope")
