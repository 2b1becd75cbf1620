"""`ti.lang.util`: which other array libraries are installed, and conversion of number types to their dtypes."""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np

from ....transpiler.ir.types import SCALARS, Scalar
from ....transpiler.lang.hooks import scalar_of


def _has(package: str, variable: str) -> bool:
    return os.environ.get(variable, "1") != "0" and find_spec(package) is not None


def has_pytorch() -> bool:
    """Return whether PyTorch is installed and not switched off by `TI_ENABLE_TORCH=0`."""
    return _has("torch", "TI_ENABLE_TORCH")


def has_paddle() -> bool:
    """Return whether Paddle is installed and not switched off by `TI_ENABLE_PADDLE=0`."""
    return _has("paddle", "TI_ENABLE_PADDLE")


def cook_dtype(dtype: Any) -> Scalar:
    """Return the number type that `dtype` names. Raises: ValueError if it names none."""
    return scalar_of(dtype)


def to_numpy_type(dt: Any) -> Any:
    """Return NumPy's class of numbers of type `dt`: `np.float32` for `ti.f32`."""
    return scalar_of(dt).numpy.type


def to_pytorch_type(dt: Any) -> Any:
    """Return PyTorch's dtype of equal layout. Raises: RuntimeError if PyTorch has none."""
    import torch

    return _foreign_type(torch, dt, "PyTorch")


def to_paddle_type(dt: Any) -> Any:
    """Return Paddle's dtype of equal layout. Raises: RuntimeError if Paddle has none."""
    import paddle

    return _foreign_type(paddle, dt, "Paddle")


def _foreign_type(module: Any, dt: Any, library: str) -> Any:
    found = getattr(module, scalar_of(dt).numpy.name, None)
    if found is None:
        raise RuntimeError(f"{library} has no type for {dt}.")
    return found


def warning(msg: str, warning_type: type[Warning] = UserWarning, stacklevel: int = 1, print_stack: bool = True) -> None:
    """Warn of something in the caller."""
    warnings.warn(msg, warning_type, stacklevel + 1)


def to_taichi_type(dt: Any) -> Scalar:
    """Return the number type for a dtype of NumPy, PyTorch or Paddle. Raises: ValueError if there is none."""
    if isinstance(dt, Scalar):
        return dt
    try:
        return scalar_of(np.dtype(dt))
    except (TypeError, ValueError):
        # A dtype of PyTorch or Paddle prints as `torch.float32`.
        name = str(dt).rpartition(".")[2]
        found = {scalar.numpy.name: scalar for scalar in SCALARS.values()}.get(name)
        if found is None:
            raise ValueError(f"Invalid data type {dt}") from None
        return found


def in_python_scope() -> bool:
    """Return True, since kernels never run Python code."""
    return True


def in_taichi_scope() -> bool:
    """Return False, since kernels never run Python code."""
    return False
