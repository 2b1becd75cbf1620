"""Calls of handlers: the frontend's implementation of a function or method, with the user's arguments.

The arguments are compared with the handler's signature first. So a `TypeError` inside a handler is a fault of
shadesmith, and never reported as the user's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ArgumentsError(Exception):
    """Arguments that a function does not take. The message follows the function's name."""


def call_handler(
    handler: Callable[..., Any], given: Sequence[Any], arguments: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """Call a handler. given: its first arguments, passed by the frontend; the others are the user's.

    Raises: ArgumentsError if the handler does not take the user's arguments.
    """
    check_arguments(_parameters(handler)[len(given) :], arguments, named)
    return handler(*given, *arguments, **named)


def check_arguments(
    parameters: Sequence[inspect.Parameter], arguments: Sequence[Any], named: Mapping[str, Any]
) -> None:
    """Compare arguments with parameters. Raises: ArgumentsError."""
    positional = [parameter for parameter in parameters if parameter.kind in POSITIONAL]
    kinds = {parameter.kind for parameter in parameters}
    if len(arguments) > len(positional) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        optional = "at most " if any(parameter.default is not parameter.empty for parameter in positional) else ""
        count = len(positional)
        raise ArgumentsError(f"takes {optional}{count} argument{'s'[: count != 1]}, found {len(arguments)}")
    for name in named:
        if name in [parameter.name for parameter in positional[: len(arguments)]]:
            raise ArgumentsError(f"is given the argument `{name}` twice")
        is_known = any(parameter.name == name and parameter.kind in BY_NAME for parameter in parameters)
        if not is_known and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise ArgumentsError(f"takes no argument `{name}`")
    for parameter in (*positional[len(arguments) :], *(p for p in parameters if p.kind is p.KEYWORD_ONLY)):
        if parameter.default is parameter.empty and parameter.name not in named:
            raise ArgumentsError(f"is called without its argument `{parameter.name}`")


@lru_cache(maxsize=1024)
def _parameters(handler: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(handler).parameters.values())
