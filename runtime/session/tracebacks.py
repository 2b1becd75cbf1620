"""Public functions whose errors show only the user's frames, unless the option `print_full_traceback` is set."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError, as_seen_by_user
from . import session as sessions

F = TypeVar("F", bound=Callable[..., Any])


def user_error(error: Exception) -> Exception:
    """Return `error` so that it shows only the user's frames; the caller raises it at once and nobody catches it."""
    return error if sessions.current_config().print_full_traceback else as_seen_by_user(error)


def hides_own_frames(function: F) -> F:
    """Remove shadesmith's frames from user errors that leave `function`."""
    return hides_own_frames_of()(function)


def hides_own_frames_of(*also: type[Exception]) -> Callable[[F], F]:
    """Return a decorator like `hides_own_frames`. also: further exceptions that the function raises for user errors."""
    return functools.partial(_hiding, also)


def _hiding(also: tuple[type[Exception], ...], function: F) -> F:
    shortened: tuple[type[Exception], ...] = (TaichiCompilationError, TaichiRuntimeError, *also)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except shortened as error:
            if sessions.current_config().print_full_traceback:
                raise
            __tracebackhide__ = True  # for pytest and IPython, where a trace function is in the way of the cut
            raise as_seen_by_user(error) from None

    return cast(F, wrapper)
