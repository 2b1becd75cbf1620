"""`ti.ad.jacobian` and `ti.ad.hessian_vector`: derivatives of a function that launches kernels, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ..arrays.dense_array import DenseArray
from ..arrays.memory import Array
from ..events import CALL_OBSERVERS
from ..fields.field import add_dual
from ..session.tracebacks import hides_own_frames
from .clearing import SNodeGradType, clear_all_gradients, derivatives_of_fields, fields_with
from .contents import Latest
from .forward_mode import launches_dual
from .tape import Tape, check_loss


@hides_own_frames
def jacobian(function: Callable[[], Any], output: Any, input: Any) -> Array:
    """Return how each number of `output` changes with each of `input`, shape (*output, *input).

    function: launches the kernels from `input` to `output`. Both are fields. With `needs_dual=True` and no more numbers
    in `input` than in `output`, it runs once for each number of `input`, each time with the fields that have duals as
    they were (forward mode); with `needs_grad=True` it runs once, and its gradients once for each number of `output`.
    Afterwards all arrays are as it leaves them; gradients, or duals, of all fields are 0.
    Raises: TaichiRuntimeError for fields that have neither.

    Example:
        >>> x = ti.field(ti.f64, shape=2, needs_grad=True, needs_dual=True)
        >>> y = ti.field(ti.f64, shape=2, needs_grad=True, needs_dual=True)
        >>> @ti.kernel
        ... def square():
        ...     for i in x:
        ...         y[i] = x[i] ** 2
        >>> x.fill(3.0)
        >>> ti.ad.jacobian(square, y, x).tolist()
        [[6.0, 0.0], [0.0, 6.0]]
    """
    shape = (*np.shape(output.to_numpy()), *np.shape(input.to_numpy()))
    inputs, outputs = int(np.prod(np.shape(input.to_numpy()))), int(np.prod(np.shape(output.to_numpy())))
    has_gradients, has_duals = (all(_is_made(a, m) for a in (output, input)) for m in ("grad", "dual"))
    if has_duals and (inputs <= outputs or not has_gradients):
        return _by_columns(function, output, input).reshape(shape)
    if has_gradients:
        return _by_rows(function, output, input, outputs).reshape(shape)
    raise TaichiRuntimeError(
        "`ti.ad.jacobian` takes two fields that both have gradients or both have duals",
        "make them with `needs_grad=True`, or `needs_dual=True`",
    )


@hides_own_frames
def hessian_vector(function: Callable[[], Any], loss: Any, param: Any, direction: Any) -> Array:
    """Return the product of the Hessian of `loss` by `param` and a direction, in the shape of `param`.

    function: launches the kernels that compute `loss`, a 0-D field, which is set to 0 before. All fields between have
    `needs_grad=True` and `needs_dual=True`. The duals of the gradients are computed: forward mode over reverse mode.
    `param.grad` holds the gradient afterwards. Raises: TaichiRuntimeError for fields without gradient or dual.

    Example:
        >>> x = ti.field(ti.f64, shape=2, needs_grad=True, needs_dual=True)
        >>> loss = ti.field(ti.f64, shape=(), needs_grad=True, needs_dual=True)
        >>> @ti.kernel
        ... def energy():
        ...     for i in x:
        ...         loss[None] += x[i] ** 3
        >>> x.fill(2.0)
        >>> ti.ad.hessian_vector(energy, loss, x, np.ones(2)).tolist()
        [12.0, 12.0]
    """
    check_loss(loss)
    for name, array in (("loss", loss), ("param", param)):
        if not (_is_made(array, "grad") and _is_made(array, "dual")):
            raise TaichiRuntimeError(
                f"`{name}` of `hessian_vector` needs a gradient and a dual",
                "make it with `ti.field(..., needs_grad=True, needs_dual=True)`",
            )
    seconds = [add_dual(gradient) for gradient in derivatives_of_fields("grad")]
    clear_all_gradients(SNodeGradType.DUAL)
    for second in seconds:
        second.fill(0)
    param.dual.from_numpy(np.asarray(direction, param.dtype.numpy).reshape(np.shape(param.to_numpy())))
    tape = Tape(loss)
    tape.second_order = True
    with tape:
        loss.dual.fill(0)
        CALL_OBSERVERS.append(launches_dual)  # after the tape, which sees the kernel itself
        try:
            function()
            tape.grad()
        finally:
            CALL_OBSERVERS.remove(launches_dual)
            tape.eval_on_exit = False
    clear_all_gradients(SNodeGradType.DUAL)
    result: Array = param.grad.dual.to_numpy()
    return result


def _is_made(array: Any, member: str) -> bool:
    found = getattr(array, member, None)
    return isinstance(array, DenseArray) and found is not None and bool(getattr(found, "is_placed", True))


def _by_columns(function: Callable[[], Any], output: Any, input: Any) -> Array:
    """Return the Jacobian, shape (outputs, inputs): one run with duals for each element of the input."""
    start = Latest()
    for array in fields_with("dual"):
        start.keep(array)
    shape = np.shape(input.to_numpy())
    count = int(np.prod(shape))
    columns = []
    CALL_OBSERVERS.append(launches_dual)
    try:
        for number in range(count):
            start.restore()
            clear_all_gradients(SNodeGradType.DUAL)
            input.dual.from_numpy(_unit(count, number, shape, input))
            function()
            columns.append(output.dual.to_numpy().reshape(-1))
    finally:
        CALL_OBSERVERS.remove(launches_dual)
        clear_all_gradients(SNodeGradType.DUAL)
    return np.stack(columns, axis=1)


def _by_rows(function: Callable[[], Any], output: Any, input: Any, outputs: int) -> Array:
    """Return the Jacobian, shape (outputs, inputs): one run, and its gradients for each element of the output."""
    tape = Tape()
    with tape:
        function()
    shape = np.shape(output.to_numpy())
    rows = []
    for number in range(outputs):
        clear_all_gradients()
        output.grad.from_numpy(_unit(outputs, number, shape, output))
        tape.run_gradients()
        rows.append(input.grad.to_numpy().reshape(-1))
    clear_all_gradients()
    return np.stack(rows)


def _unit(count: int, number: int, shape: tuple[int, ...], array: Any) -> Array:
    values = np.zeros(count, array.dtype.numpy)
    values[number] = 1
    return values.reshape(shape)
