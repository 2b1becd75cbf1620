"""`ti.lang.kernel_impl`: the decorators and what they return."""

from __future__ import annotations

from ....transpiler.lang.decorators import Func, data_oriented, func, pyfunc
from ...launch.kernel import Kernel, kernel

__all__ = ["Func", "Kernel", "data_oriented", "func", "kernel", "pyfunc"]
