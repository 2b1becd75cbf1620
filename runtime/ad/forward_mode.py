"""`ti.ad.FwdMode`: kernels launched inside `with` also compute duals, the products of the Jacobian and a vector."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ..events import CALL_OBSERVERS
from ..fields.field import ScalarField
from ..launch.kernel import Kernel
from ..session.tracebacks import hides_own_frames
from .clearing import SNodeGradType, check_placed, clear_all_gradients
from .custom import is_paused


def launches_dual(kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Kernel | None:
    """Let calls of kernels launch the kernels of their duals; an observer of calls."""
    return None if is_paused() or kernel.definition.derivative else kernel.dual


class FwdMode:
    """Computes `loss.dual`, how each element of `loss` changes if `param` changes along `seed`.

    Args:
        loss: a field of numbers with `needs_dual=True`, or a list of them.
        param: a field of numbers with `needs_dual=True`.
        seed: one number for each element of `param`, in order; may be left out if that has one element.
        clear_gradients: set the duals of all fields to 0 at the start.

    Example:
        >>> x = ti.field(ti.f32, shape=(), needs_dual=True)
        >>> y = ti.field(ti.f32, shape=(), needs_dual=True)
        >>> @ti.kernel
        ... def square():
        ...     y[None] = x[None] ** 2
        >>> x[None] = 3.0
        >>> with ti.ad.FwdMode(loss=y, param=x):
        ...     square()
        >>> y.dual[None]
        6.0
    """

    def __init__(
        self, loss: Any, param: Any, seed: Sequence[float] | None = None, clear_gradients: bool = True
    ) -> None:
        self.loss = loss if isinstance(loss, list) else [loss]
        self.param = param
        self.seed = seed
        self.clear_gradients = clear_gradients
        self.entered = False

    @hides_own_frames
    def __enter__(self) -> FwdMode:
        if self.entered:
            raise TaichiRuntimeError("Forward mode manager can be entered only once.", "make a new one")
        self.entered = True
        check_placed("dual")
        for name, array in [("param", self.param), *(("loss", loss) for loss in self.loss)]:
            if not isinstance(array, ScalarField):
                raise TaichiRuntimeError(f"`{name}` of `FwdMode` is a field of numbers, found {array!r:.60}")
            if array.dual is None or not array.dual.is_placed:
                raise TaichiRuntimeError(
                    f"`{name}` of `FwdMode` has no dual", "make it with `ti.field(..., needs_dual=True)`"
                )
        values = self._checked_seed()
        if self.clear_gradients:
            clear_all_gradients(SNodeGradType.DUAL)
        self.param.dual.from_numpy(values)
        CALL_OBSERVERS.append(launches_dual)
        return self

    @hides_own_frames
    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        CALL_OBSERVERS.remove(launches_dual)
        self.param.dual.fill(0)

    def _checked_seed(self) -> Any:
        shape = self.param.shape
        count = prod(shape)
        if self.seed is None:
            if count != 1:
                raise TaichiRuntimeError(
                    "`seed` is not set for non 0-D field, please specify.",
                    f"give a list of {count} numbers, the direction in which `param` changes",
                )
            self.seed = [1.0]
        if len(self.seed) != count:
            raise TaichiRuntimeError(
                f"`seed` has {len(self.seed)} numbers, and `param` {count} elements", "give one number for each element"
            )
        return np.asarray(self.seed, self.param.dtype.numpy).reshape(shape)
