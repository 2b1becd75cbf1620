"""Kernels, functions, types and arrays can be pickled: this installs the functions that do it.

They are installed for the classes (`copyreg`), so neither the language nor arrays depend on them; `by_value.py`, which
has them, is loaded with the first object that is pickled.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from typing import Any

from ...transpiler.lang.decorators import Func
from ...transpiler.lang.struct import Struct, StructType
from ..arrays.ndarray import MatrixNdarray, ScalarNdarray, StructNdarray
from ..fields.field import MatrixField, ScalarField, StructField
from ..loading import loader
from .kernel import BoundKernel, Kernel

_by_value = loader(".by_value", __package__)

REDUCERS: dict[type, str] = {
    Kernel: "reduce_kernel",
    BoundKernel: "reduce_bound_kernel",
    Func: "reduce_function",
    StructType: "reduce_struct_type",
    Struct: "reduce_struct",
    **dict.fromkeys((ScalarNdarray, MatrixNdarray, StructNdarray), "reduce_array"),
    **dict.fromkeys((ScalarField, MatrixField, StructField), "reduce_array"),
}
"""The function of `by_value` for each class."""


def install() -> None:
    """Let `pickle`, and what is built on it, take objects of these classes."""
    for kind, name in REDUCERS.items():
        copyreg.pickle(kind, _reducer(name))


def _reducer(name: str) -> Callable[[Any], Any]:
    return lambda value: getattr(_by_value(), name)(value)
