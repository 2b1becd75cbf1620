"""Functions on the cells of sparse nodes: `ti.activate`, `ti.append`, ... All but `rescale_index` need a kernel.

In a kernel the frontend finds the handler of each by the identity of the function object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .hooks import kernel_only


def activate(node: Any, indices: Any) -> Any:
    """Activate the cell of `node` at `indices`, and the cells that contain it; dense cells are active. Kernels only.

    Example:
        >>> x = ti.field(ti.i32)
        >>> _ = ti.root.pointer(ti.i, 4).place(x)
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     count = 0
        ...     for i in range(2):
        ...         ti.activate(x.parent(), [i])
        ...     for i in x:
        ...         count += 1
        ...     return count
        >>> example()
        2
    """
    kernel_only("activate")


def deactivate(node: Any, indices: Any) -> Any:
    """Deactivate and zero the cell of `node` at `indices`, or empty a list; nothing on dense nodes. Kernels only.

    Example:
        >>> x = ti.field(ti.i32)
        >>> _ = ti.root.pointer(ti.i, 4).place(x)
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     count = 0
        ...     for i in range(2):
        ...         x[i] = 1
        ...         ti.deactivate(x.parent(), [i])
        ...     for i in x:
        ...         count += 1
        ...     return count
        >>> example()
        0
    """
    kernel_only("deactivate")


def is_active(node: Any, indices: Any) -> Any:
    """Return whether the cell of `node`, a pointer or bitmasked node, at `indices` is active; kernels only.

    Example:
        >>> x = ti.field(ti.i32)
        >>> _ = ti.root.pointer(ti.i, 4).place(x)
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     count = 0
        ...     for i in range(2):
        ...         x[i] = ti.is_active(x.parent(), [i])
        ...     for i in x:
        ...         count += 1
        ...     return count
        >>> example()
        2
    """
    kernel_only("is_active")


def length(node: Any, indices: Any) -> Any:
    """Return the number of items of a list of a dynamic node; kernels only. indices: those of the node above.

    Example:
        >>> x = ti.field(ti.i32)
        >>> _ = ti.root.dynamic(ti.i, 16).place(x)
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     ti.append(x.parent(), [], 7)
        ...     ti.append(x.parent(), [], 8)
        ...     return ti.length(x.parent(), [])
        >>> example()
        2
    """
    kernel_only("length")


def append(node: Any, indices: Any, val: Any) -> Any:
    """Append `val` to a list of a dynamic node and return its position; kernels only. indices: of the node above.

    Example:
        >>> x = ti.field(ti.i32)
        >>> _ = ti.root.dynamic(ti.i, 16).place(x)
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     ti.append(x.parent(), [], 7)
        ...     return ti.length(x.parent(), [])
        >>> example()
        1
    """
    kernel_only("append")


def get_addr(f: Any, indices: Any) -> Any:
    """Return how many bytes the cell of node `f` at `indices` is from the start of its tree's memory; kernels only.

    Taichi returns an address of its device's memory; differences of two addresses are the same.

    Example:
        >>> x = ti.field(ti.i32, 4)
        >>> @ti.kernel
        ... def distance() -> ti.u64:
        ...     return ti.get_addr(x.parent(), 3) - ti.get_addr(x.parent(), 0)
        >>> distance()
        12
    """
    kernel_only("get_addr")


def no_activate(*args: Any) -> Any:
    """Declare that the next loop stores only to active cells of the fields `args`; kernels only.

    It has no effect: cells that are known to be active are never activated again.

    Example:
        >>> x = ti.field(ti.f32, 4)
        >>> @ti.kernel
        ... def fill():
        ...     ti.no_activate(x)
        ...     for i in x:
        ...         x[i] = i
        >>> fill()
        >>> x.to_numpy().tolist()
        [0.0, 1.0, 2.0, 3.0]
    """
    kernel_only("no_activate")


def rescaled(
    I: Any,  # noqa: E741
    a: tuple[int, ...],
    b: tuple[int, ...],
    divide: Callable[[Any, int], Any],
    multiply: Callable[[Any, int], Any],
) -> list[Any]:
    """Return an index for the shape `a` converted to the shape `b`, axis by axis.

    divide, multiply: functions of an index and a factor.
    """
    indices = list(I)
    for axis, (here, there) in enumerate(zip(a, b, strict=False)):
        if axis < len(indices):
            if here > there:
                indices[axis] = divide(indices[axis], here // there)
            elif here < there:
                indices[axis] = multiply(indices[axis], there // here)
    return indices


def rescale_index(a: Any, b: Any, I: Any) -> Any:  # noqa: E741 - Taichi's public name
    """Return the index in `b` that corresponds to index `I` of `a`: fields or nodes whose extents are multiples.

    Example:
        >>> coarse, fine = ti.field(ti.i32, 4), ti.field(ti.i32, 16)
        >>> @ti.kernel
        ... def inside() -> ti.i32:
        ...     return ti.rescale_index(fine, coarse, ti.Vector([9]))[0]
        >>> inside()
        2
    """
    return rescaled(I, a.shape, b.shape, lambda i, factor: i // factor, lambda i, factor: i * factor)
