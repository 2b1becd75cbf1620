"""`@ti.real_func`: a function that kernels call instead of inlining it; it may recurse and return anywhere.

In: a Python function with types. Out: a `Func` marked as real; its annotations are checked at the decoration.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from textwrap import dedent
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


@hides_own_frames
def native(*, glsl: str | None = None, cuda: str | None = None, c: str | None = None) -> Callable[[Any], Func]:
    """Mark a function whose body in some languages the program writes; its Python body says what it means.

    Kernels call it as a `ti.real_func`. The Python body is what other targets, the interpreter and derivatives run, and
    what the compiler reads to know the effects of a call.

    glsl, cuda, c: statements with the names of the parameters; `return` gives the result. They may use everything that
        the language has without further declarations.

    Raises: TaichiSyntaxError without a snippet, and as `ti.real_func`.

    Example:
        >>> @ti.native(glsl="return bitfieldReverse(x);", cuda="return __brev(x);")
        ... def reversed_bits(x: ti.u32) -> ti.u32:
        ...     result = ti.u32(0)
        ...     for k in range(32):
        ...         result |= ((x >> k) & 1) << (31 - k)
        ...     return result
        >>> @ti.kernel
        ... def example(x: ti.u32) -> ti.u32:
        ...     return reversed_bits(x)
        >>> example(6)
        1610612736
    """
    given = (("GLSL", glsl), ("CUDA C", cuda), ("C", c))
    snippets = tuple((name, dedent(text).strip("\n")) for name, text in given if text is not None)
    if not snippets:
        raise TaichiSyntaxError("`ti.native` has no snippet", 'write `@ti.native(glsl="return ...;", cuda=..., c=...)`')

    def mark(fn: Any) -> Func:
        marked = real_func(fn)
        marked.snippets = snippets
        return marked

    return mark


def _takes_self(function: Any) -> bool:
    """Return whether the first parameter is `self` or `cls`: of a method, and unannotated, unlike a static method's."""
    if not is_in_class(function):
        return False
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first is not None and first.annotation is NO_DEFAULT
