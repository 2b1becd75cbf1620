"""`@ti.real_func`: a function that kernels call instead of inlining it; it may recurse and return anywhere.

In: a Python function with types. Out: a `Func` marked as real; its annotations are checked at the decoration.
"""

from __future__ import annotations

import inspect
from typing import Any

from ...transpiler.errors import TaichiSyntaxError
from ...transpiler.frontend.source.definition import NO_DEFAULT, definition_of, is_in_class
from ...transpiler.frontend.source.signature import check_function
from ...transpiler.lang.decorators import Func
from ..session.tracebacks import hides_own_frames


@hides_own_frames
def real_func(fn: Any) -> Func:
    """Mark `fn` to be called by kernels: one function of the emitted source, with typed parameters and results.

    Raises: TaichiSyntaxError if it is not a plain function, or a parameter has no type.

    Example:
        >>> @ti.real_func
        ... def fib(n: ti.i32) -> ti.i32:
        ...     return n if n < 2 else fib(n - 1) + fib(n - 2)
        >>> @ti.kernel
        ... def example(n: ti.i32) -> ti.i32:
        ...     return fib(n)
        >>> example(10)
        55
    """
    if not inspect.isfunction(fn):
        message = f"ti.real_func decorates functions, found {fn!r}"
        raise TaichiSyntaxError(message, "write `@ti.real_func` above a `def`")
    check_function(definition_of(fn, _takes_self(fn)))
    return Func(fn, is_real=True)


def _takes_self(function: Any) -> bool:
    """Return whether the first parameter is `self` or `cls`: of a method, and unannotated, unlike a static method's."""
    if not is_in_class(function):
        return False
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first is not None and first.annotation is NO_DEFAULT
