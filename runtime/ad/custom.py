"""Gradients written by hand: `grad_replaced` with `grad_for`, and `no_grad`.

A tape records the decorated Python function as one call, not the kernels that it launches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ..session.tracebacks import hides_own_frames

Recorder = Callable[["CustomFunction", tuple[Any, ...], dict[str, Any]], None]
RECORDERS: list[Recorder] = []
"""Called with each decorated function and its arguments."""
_paused = 0


def is_paused() -> bool:
    """Return whether a decorated function is running, whose launches no tape records."""
    return _paused > 0


@contextmanager
def _pause() -> Iterator[None]:
    global _paused
    _paused += 1
    try:
        yield
    finally:
        _paused -= 1


class CustomFunction:
    """A Python function whose gradient is not derived. grad: the function that computes it, None until there is one."""

    def __init__(self, function: Callable[..., Any], grad: Callable[..., Any] | None) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.grad = grad

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; a tape records this call."""
        if not is_paused():
            for recorder in tuple(RECORDERS):
                recorder(self, args, kwargs)
        with _pause():
            return self.function(*args, **kwargs)

    @property
    def is_ignored(self) -> bool:
        """Whether tapes ignore it: `no_grad` decorates it."""
        return self.grad is _nothing

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind a decorated method to its object, which becomes the first argument."""
        return self if instance is None else functools.partial(self, instance)


@hides_own_frames
def grad_replaced(func: Callable[..., Any]) -> CustomFunction:
    """Make the gradient of function `func` the one that `grad_for` registers, not that of the kernels it launches.

    Example:
        >>> x = ti.field(ti.f32, shape=(), needs_grad=True)
        >>> @ti.ad.grad_replaced
        ... def double():
        ...     x[None] *= 2
        >>> @ti.ad.grad_for(double)
        ... def gradient_of_double():
        ...     x.grad[None] *= 2
        >>> double()
    """
    return CustomFunction(func, None)


@hides_own_frames
def grad_for(primal: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the gradient of `primal`, which `grad_replaced` decorates.

    Raises: RuntimeError if it does not, or has a gradient already.

    Example:
        >>> x = ti.field(ti.f32, shape=(), needs_grad=True)
        >>> @ti.ad.grad_replaced
        ... def double():
        ...     x[None] *= 2
        >>> @ti.ad.grad_for(double)
        ... def gradient_of_double():
        ...     x.grad[None] *= 2
        >>> double()
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if not isinstance(primal, CustomFunction):
            name = getattr(primal, "__name__", repr(primal))
            raise TaichiRuntimeError(
                f"Primal function `{name}` must be decorated by ti.ad.grad_replaced",
                "wrap the kernel in a Python function with `@ti.ad.grad_replaced`",
            )
        if primal.grad is not None:
            raise TaichiRuntimeError(
                f"`{primal.__name__}` has a gradient already",  # type: ignore[attr-defined]
                "use one `@ti.ad.grad_for` for each function",
            )
        primal.grad = function
        return function

    return register


@hides_own_frames
def no_grad(func: Callable[..., Any]) -> CustomFunction:
    """Make tapes ignore function `func` and the kernels that it launches.

    Example:
        >>> @ti.ad.no_grad
        ... def log_progress():
        ...     print("no gradient of this")
        >>> log_progress()
        no gradient of this
    """
    return CustomFunction(func, _nothing)


def _nothing(*args: Any, **kwargs: Any) -> None:
    """The gradient of a function without one."""
