"""Functions on the cells of sparse nodes: `ti.activate`, `ti.append`, ... All but `rescale_index` need a kernel.

In a kernel the frontend gives each its meaning by the identity of the function object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def _kernel_only(name: str) -> NoReturn:
    raise AssertionError(f"{name} cannot be called in Python-scope")


def activate(node: Any, indices: Any) -> NoReturn:
    """Make a cell of a node active, with all above it that it is in; kernels only. Dense cells always are."""
    _kernel_only("activate")


def deactivate(node: Any, indices: Any) -> NoReturn:
    """Make a cell of a node inactive and zero, or empty a list; kernels only. On dense nodes it does nothing."""
    _kernel_only("deactivate")


def is_active(node: Any, indices: Any) -> NoReturn:
    """Return whether a cell of a pointer or bitmasked node is active; kernels only."""
    _kernel_only("is_active")


def length(node: Any, indices: Any) -> NoReturn:
    """Return how many items a list of a dynamic node has; kernels only. indices: those of the node above."""
    _kernel_only("length")


def append(node: Any, indices: Any, val: Any) -> NoReturn:
    """Append an item to a list of a dynamic node and return its place; kernels only. indices: of the node above."""
    _kernel_only("append")


def no_activate(*args: Any) -> NoReturn:
    """Say that the loop that follows stores to active cells of these fields only; kernels only.

    Results are the same without it: what a loop knows to be active is not activated anyway.
    """
    _kernel_only("no_activate")


def rescaled(
    I: Any,  # noqa: E741
    a: tuple[int, ...],
    b: tuple[int, ...],
    divide: Callable[[Any, int], Any],
    multiply: Callable[[Any, int], Any],
) -> list[Any]:
    """Return an index of something of shape `a` as that of something of shape `b`, axis by axis.

    divide, multiply: take an index and a factor.
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
    """Return the index in `b` of what is at index `I` of `a`, fields or nodes whose extents are multiples."""
    return rescaled(I, a.shape, b.shape, lambda i, factor: i // factor, lambda i, factor: i * factor)
