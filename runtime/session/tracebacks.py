"""Public functions whose errors show the user's frames only, unless `print_full_traceback` asks for all."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError, as_seen_by_user
from . import session as sessions

F = TypeVar("F", bound=Callable[..., Any])


def user_error(error: Exception) -> Exception:
    """Return `error`, to be raised at once and caught by nobody, so that it shows the user's frames only."""
    return error if sessions.current_config().print_full_traceback else as_seen_by_user(error)


def hides_own_frames(function: F) -> F:
    """Cut frames of ours off the errors of users that leave `function`."""
    return hides_own_frames_of()(function)


def hides_own_frames_of(*also: type[Exception]) -> Callable[[F], F]:
    """Return a decorator that does so. also: further exceptions that the function raises for mistakes of users."""
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
