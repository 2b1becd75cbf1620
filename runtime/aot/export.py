"""`ti.aot.export`: marks kernels of a file for `shadesmith build`, which then builds only these.

In: kernels. Out: the kernels themselves, marked under a name, with values of their template parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from ...transpiler.errors import TaichiRuntimeError
from ..launch.kernel import Kernel

F = TypeVar("F")

EXPORTED: WeakKeyDictionary[Kernel, dict[str, dict[str, Any]]] = WeakKeyDictionary()
"""Template arguments by the name under which a kernel is built."""


def export_as(name: str, *, template_types: Mapping[str, Any] | None = None) -> Callable[[F], F]:
    """Mark a kernel to be built under `name`. template_types: values of template parameters, and arrays, by name.

    Raises: TaichiRuntimeError for what is no kernel.

    Example:
        >>> @ti.aot.export_as("paint")
        ... @ti.kernel
        ... def fill(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] = 1.0
        >>> fill(ti.ndarray(ti.f32, 4))
    """

    def mark(kernel: F) -> F:
        if not isinstance(kernel, Kernel):
            raise TaichiRuntimeError(
                f"ti.aot.export takes kernels, and {kernel!r} was given", "`@ti.aot.export` above `@ti.kernel`"
            )
        EXPORTED.setdefault(kernel, {})[name] = dict(template_types or {})
        return kernel

    return mark


def export(f: F) -> F:
    """Mark kernel `f` to be built under its own name by `shadesmith build`.

    Example:
        >>> @ti.aot.export
        ... @ti.kernel
        ... def fill(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] = 1.0
        >>> fill(ti.ndarray(ti.f32, 4))
    """
    return export_as(getattr(f, "__name__", ""))(f)
