"""`@ti.func`, `@ti.pyfunc` and `@ti.data_oriented`: mark functions and classes for the frontend.

Input: Python functions and classes. Output: `Func` objects, which kernels inline or call, and classes marked as
containing kernels. `@ti.real_func` is in the runtime, since it checks annotations as `@ti.kernel` does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from types import MethodType
from typing import Any, TypeVar, overload

from ..errors import TaichiSyntaxError, as_seen_by_user

Class = TypeVar("Class", bound=type)


class Func:
    """A function of kernels.

    Attributes:
        function: the decorated function.
        in_python: whether Python may call it too (`ti.pyfunc`).
        is_real: a `ti.real_func`: its types are declared, and kernels always call it.
        inline: whether kernels inline it; None: the compiler decides.
        snippets: of a `ti.native`, its body in some languages: their names and sources.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        in_python: bool = False,
        is_real: bool = False,
        inline: bool | None = None,
        snippets: tuple[tuple[str, str], ...] = (),
    ) -> None:
        if not callable(function):
            raise TypeError(f"{function} is not a callable object")
        self.function = function
        self.in_python = in_python
        self.is_real = is_real
        self.inline = inline
        self.snippets = snippets
        update_wrapper(self, function)

    def __get__(self, instance: Any, owner: type | None = None) -> Func | BoundFunc:
        return self if instance is None else BoundFunc(self, instance)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the function in Python. Raises: TaichiSyntaxError for a `ti.func`."""
        if not self.in_python:
            name = self.function.__qualname__
            message = f"Taichi functions cannot be called from Python-scope; `{name}` is a `ti.func`"
            hint = "call it in a kernel, or decorate it with `@ti.pyfunc` to call it in both"
            raise as_seen_by_user(TaichiSyntaxError(message, hint))
        return self.function(*arguments, **named)

    def __copy__(self) -> Func:
        return self

    def __deepcopy__(self, memo: Any) -> Func:
        return self  # as functions

    def __repr__(self) -> str:
        return (
            f"<{'real_func' if self.is_real else 'pyfunc' if self.in_python else 'func'} {self.function.__qualname__}>"
        )


class BoundFunc:
    """A `Func` read from an object: `function` gets `instance` as its first argument."""

    __slots__ = ("func", "instance")

    def __init__(self, func: Func, instance: Any) -> None:
        self.func = func
        self.instance = instance

    @property
    def function(self) -> Callable[..., Any]:
        """The decorated function, with `self` as its first parameter."""
        return self.func.function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the function in Python with the object. Raises: TaichiSyntaxError for a `ti.func`."""
        return self.func(self.instance, *arguments, **named)

    def __repr__(self) -> str:
        return f"<bound {self.func!r}>"


def as_bound(value: Any) -> Any:
    """Bind a `Func` inside a `classmethod` to its class; Python 3.13 and later make a plain method of it."""
    if isinstance(value, MethodType) and isinstance(value.__func__, Func):
        return BoundFunc(value.__func__, value.__self__)
    return value


@overload
def func(function: Callable[..., Any], /) -> Func: ...


@overload
def func(*, inline: bool | None = None) -> Callable[[Callable[..., Any]], Func]: ...


def func(
    fn: Callable[..., Any] | None = None, *, inline: bool | None = None
) -> Func | Callable[[Callable[..., Any]], Func]:
    """Mark a function of kernels, which Python cannot call.

    inline: True: calls are replaced by the function's statements; False: the emitted source has a function, wherever
        that is possible; None: the compiler decides (`docs/functions.md`).

    fn: the function; parameters need no types.

    Example:
        >>> @ti.func
        ... def square(x):
        ...     return x * x
        >>> @ti.kernel
        ... def example(x: ti.f32) -> ti.f32:
        ...     return square(x) + 1
        >>> example(3.0)
        10.0
    """
    return partial(Func, inline=_checked(inline)) if fn is None else Func(fn, inline=_checked(inline))


@overload
def pyfunc(function: Callable[..., Any], /) -> Func: ...


@overload
def pyfunc(*, inline: bool | None = None) -> Callable[[Callable[..., Any]], Func]: ...


def pyfunc(
    fn: Callable[..., Any] | None = None, *, inline: bool | None = None
) -> Func | Callable[[Callable[..., Any]], Func]:
    """Mark function `fn`, which both kernels and Python call. inline: as for `func`.

    Example:
        >>> @ti.pyfunc
        ... def square(x):
        ...     return x * x
        >>> square(3.0)
        9.0
    """
    if fn is None:
        return partial(Func, in_python=True, inline=_checked(inline))
    return Func(fn, in_python=True, inline=_checked(inline))


def _checked(inline: bool | None) -> bool | None:
    """Return the option `inline` of a function. Raises: TypeError if it is none of True, False and None."""
    if inline is not None and not isinstance(inline, bool):
        raise TypeError(f"`inline` of a function is True, False or None, and {inline!r} was given")
    return inline


def data_oriented(cls: Class) -> Class:
    """Mark class `cls`, whose methods may be kernels; each instance is a compile-time value of them.

    Example:
        >>> @ti.data_oriented
        ... class Counter:
        ...     def __init__(self, n):
        ...         self.x = ti.field(ti.i32, n)
        ...     @ti.kernel
        ...     def fill(self, value: ti.i32):
        ...         for i in self.x:
        ...             self.x[i] = value
        >>> counter = Counter(3)
        >>> counter.fill(7)
        >>> counter.x.to_numpy().tolist()
        [7, 7, 7]
    """
    cls._data_oriented = True  # type: ignore[attr-defined]
    return cls
