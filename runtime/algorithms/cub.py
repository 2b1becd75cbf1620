"""CUB by CuPy, for arrays in memory of a CUDA device: sorts, and scans of integers.

In: ndarrays with one axis. Out: changed arrays, or False where CUB would give another result than our own kernels: sums
of floats, whose order differs from run to run there, and keys with NaNs, of which CUB puts those with a sign first.
While launches are recorded our kernels do all, since a recording knows nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.types import Scalar, i32
from ..arrays.exchange import is_on_cuda, root_of
from ..arrays.ndarray import ndarray
from ..launch.instance import LAUNCH_OBSERVERS
from . import kernels

SCANS = {"add": "cumsum", "mul": "cumprod"}
"""Functions of CuPy by operation."""


def takes(x: Any) -> bool:
    """Return whether CuPy can work on the memory of an array."""
    memory = x.memory
    if LAUNCH_OBSERVERS or not is_on_cuda(memory) or not memory.view.flags.c_contiguous:
        return False
    return hasattr(memory.session.device.cupy, "argsort")


def counts(dtype: Scalar) -> bool:
    """Return whether numbers of a type are added exactly, in any order."""
    return dtype.numpy.kind in "iu"


@contextmanager
def lent(*arrays: Any) -> Iterator[Any]:
    """Yield CuPy and a view of each array, in order with launches before and after. Raises: TaichiRuntimeError."""
    device = arrays[0].memory.session.device
    leave = device.activate()
    try:
        device.ordered_stream()
        views = []
        for array in arrays:
            memory, root = array.memory, root_of(array.memory)
            assert root is not None
            memory.refresh_lazily()
            root.flush()
            start = memory.view.ctypes.data - root.view.ctypes.data if memory.view.size else 0
            views.append(device.view(root.allocation, start, memory.view.shape, memory.view.strides, memory.view.dtype))
        yield device.cupy, *views
        for array in arrays:
            root_of(array.memory).forget()  # type: ignore[union-attr]
    except device.cupy.cuda.memory.OutOfMemoryError as error:
        count = arrays[0].shape[0]
        message = f"out of memory on GPU {device.index}: CUB needs more to sort or scan {count} elements; {error}"
        raise TaichiRuntimeError(message, "use smaller arrays, or `del` those no longer needed") from None
    except device.failure as error:
        raise device.describe(error) from error
    finally:
        leave()


def sort(keys: Any) -> bool:
    """Sort keys in place; return whether CUB's order is ours."""
    if not takes(keys) or keys.dtype.numpy.kind not in "iuf" or keys.dtype.numpy == np.float16:
        return False
    if keys.dtype.is_float:
        found = ndarray(i32, 1)
        kernels.find_nan(keys, found, keys.dtype.bits)
        if found[0]:
            return False
    with lent(keys) as (_, view):
        view.sort()
    return True


def order_of(keys: Any) -> Any | None:
    """Return where each of the integers is in their order, None if CuPy cannot work on them."""
    if not takes(keys):
        return None
    order = ndarray(i32, keys.shape)
    with lent(keys, order) as (_, view, numbers):
        numbers[...] = view.argsort()
    return order


def scan(values: Any, out: Any, op: str, inclusive: bool) -> bool:
    """Scan integers to `out`; return False for floats and other operations, and where CuPy cannot work."""
    if op not in SCANS or not counts(values.dtype) or not takes(values) or not takes(out) or out.dtype != values.dtype:
        return False
    with lent(values, out) as (cupy, source, target):
        function = getattr(cupy, SCANS[op])
        if not inclusive:
            source = source[:-1]
        if inclusive:
            function(source, dtype=source.dtype, out=target)
        elif values is out:
            before = source.copy()
            target[:1] = int(op == "mul")
            function(before, dtype=before.dtype, out=target[1:])
        else:
            target[:1] = int(op == "mul")
            function(source, dtype=source.dtype, out=target[1:])
    return True
