"""Where the gradient of a tape ends unnoticed: an array without a gradient passes numbers from one launch to another.

In: the launches that a tape records. Out: a warning with the line that reads such an array, with `validation=True` an
error; and a warning for a loss that no launch has written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...transpiler.errors import SourceLocation, TaichiRuntimeError, warn_user
from ..launch.derivatives import flows_of
from .contents import memory_key


class LostGradients:
    """Arrays without a gradient that depend on arrays with one.

    is_error: raise, where else the user is warned, once for each array.
    """

    def __init__(self, is_error: bool) -> None:
        self.is_error = is_error
        self._lost: dict[object, tuple[Any, SourceLocation]] = {}
        self._reported: set[object] = set()

    def follow(self, gradient: Any, arguments: Sequence[Any]) -> None:
        """Follow a launch, that of `gradient` without the derivative. Raises: TaichiRuntimeError with `is_error`."""
        for flow, source, target in flows_of(gradient, arguments):
            if source is None:
                self._lost.setdefault(memory_key(target), (target, flow.location))
                continue
            found = self._lost.get(memory_key(source))
            if found is None:
                continue
            if target is None:
                self._report(source, flow, found[1])
            else:
                self._lost.setdefault(memory_key(target), (target, found[1]))

    def overwrite(self, array: Any) -> None:
        """Forget what was stored to an array, which is written as a whole."""
        self._lost.pop(memory_key(array), None)

    def _report(self, array: Any, flow: Any, stored: SourceLocation) -> None:
        if memory_key(array) in self._reported:
            return
        self._reported.add(memory_key(array))
        message = (
            f"`{flow.name}` has no gradient, so what it passes on is missing in the gradients of this tape: "
            f"line {stored.line} of {stored.function} stores values that depend on arrays with a gradient"
        )
        hint = f"give it one, `needs_grad=True`, or call it constant in this kernel: `ti.stop_grad({flow.name})`"
        if self.is_error:
            raise flow.location.error(TaichiRuntimeError, message, hint)
        warn_user(flow.location.explained(message, hint))


def warn_of_unwritten_loss() -> None:
    """Warn that all gradients of a tape are 0."""
    warn_user(
        "No launch of this tape wrote the loss, so all gradients are 0\n"
        "Hint: launch the kernels that compute the loss inside `with ti.ad.Tape(loss):`"
    )
