"""Functions on the cells of sparse nodes: `ti.activate`, `ti.append`, ... All but `rescale_index` need a kernel.

In a kernel the frontend finds the handler of each by the identity of the function object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def _kernel_only(name: str) -> NoReturn:
    raise AssertionError(f"{name} cannot be called in Python-scope")


def activate(node: Any, indices: Any) -> NoReturn:
    """Activate a cell of a node and the cells that contain it; kernels only. Dense cells are always active."""
    _kernel_only("activate")


def deactivate(node: Any, indices: Any) -> NoReturn:
    """Deactivate and zero a cell of a node, or empty a list; kernels only. It does nothing on dense nodes."""
    _kernel_only("deactivate")


def is_active(node: Any, indices: Any) -> NoReturn:
    """Return whether a cell of a pointer or bitmasked node is active; kernels only."""
    _kernel_only("is_active")


def length(node: Any, indices: Any) -> NoReturn:
    """Return the number of items of a list of a dynamic node; kernels only. indices: those of the node above."""
    _kernel_only("length")


def append(node: Any, indices: Any, val: Any) -> NoReturn:
    """Append an item to a list of a dynamic node and return its position; kernels only. indices: of the node above."""
    _kernel_only("append")


def get_addr(f: Any, indices: Any) -> NoReturn:
    """Return how many bytes a cell is from the beginning of its tree's memory, as u64; kernels only.

    Taichi returns an address of its device's memory; differences of two addresses are the same.
    """
    _kernel_only("get_addr")


def no_activate(*args: Any) -> NoReturn:
    """Declare that the next loop stores only to active cells of these fields; kernels only.

    It has no effect: cells that are known to be active are never activated again.
    """
    _kernel_only("no_activate")


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
    """Return the index in `b` that corresponds to index `I` of `a`: fields or nodes whose extents are multiples."""
    return rescaled(I, a.shape, b.shape, lambda i, factor: i // factor, lambda i, factor: i * factor)
