"""Gradients compared with finite differences: `Tape(grad_check=[...])` and `ti.ad.gradcheck`.

Both run the recorded calls, or the kernel, again with slightly changed inputs. Numbers are f64, since a difference of
two close numbers has few digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiAssertionError, TaichiRuntimeError
from ..arrays.dense_array import DenseArray
from ..launch.derivatives import accesses_of, lines_with_kinks, named_arrays, values_are_restored
from ..launch.kernel import Kernel
from .contents import copy_of, write_back
from .custom import is_paused

STEPS = tuple(2.0**-exponent for exponent in range(3, 30, 2))
"""Relative changes that `grad_check` tries, as Taichi does: one of them has to agree."""
TOLERANCE = 0.01
STEP = 1e-6


def check_gradients(loss: Any, to_check: Sequence[Any], calls: Sequence[Any], before: Sequence[Any]) -> None:
    """Compare the gradients of a tape with differences of `loss` along a random direction, for each array.

    before: the arrays that the calls wrote, in the order of the first writes, with their values from before these.
    Raises: TaichiRuntimeError if the loss is no f64; TaichiAssertionError if a gradient is wrong.
    """
    if str(getattr(loss, "dtype", "")) != "f64":
        raise TaichiRuntimeError("Only f64 is supported when checking grad.", "make the loss and its fields `ti.f64`")
    latest = [(array, copy_of(array)) for array in _arrays_of(calls)]
    start = _states_before(before, latest)
    numbers = np.random.default_rng(0)
    wrong = []
    for position, array in enumerate(to_check):
        if array is loss:
            continue
        direction = numbers.random(np.shape(array.to_numpy()))
        expected = float(np.sum(array.grad.to_numpy() * direction))
        errors = [abs(_difference(loss, array, direction, step, calls, start) - expected) for step in STEPS]
        if min(errors) * 100 > abs(expected):
            wrong.append(f"array {position} by {min(errors) / max(abs(expected), 1e-20):.2g}")
    for array, values in latest:
        write_back(array, values)
    if wrong:
        raise TaichiAssertionError(
            f"Grad check failed: Not all variables pass grad check; relative errors: {', '.join(wrong)}",
            "compare element by element: `ti.ad.gradcheck(kernel, *args)`",
        )


def _states_before(before: Sequence[Any], latest: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the contents of all arrays before the first call; of views of one memory the first write counts."""
    written = {id(array) for array, _ in before}
    return [*((array, values) for array, values in latest if id(array) not in written), *reversed(before)]


def _arrays_of(calls: Sequence[Any]) -> list[Any]:
    """Return the arrays that the recorded kernels access."""
    found: dict[int, Any] = {}
    for record in calls:
        if isinstance(record.function, Kernel):
            flat = record.function.arguments.flattened(record.args, record.kwargs)
            instance, _ = record.function.grad.launcher(flat)
            for _, array in accesses_of(instance, flat):
                found[id(array)] = array
    return list(found.values())


def _difference(loss: Any, array: Any, direction: Any, step: float, calls: Sequence[Any], start: Any) -> float:
    """Return the central difference of a loss along a direction."""
    results = []
    for sign in (1.0, -1.0):
        for known, values in start:
            write_back(known, values)
        write_back(array, array.to_numpy() + sign * step * direction)
        loss.fill(0.0)
        for record in calls:
            record.function(*record.args, **record.kwargs)
        results.append(float(np.sum(loss.to_numpy())))
    return (results[0] - results[1]) / (2 * step)


def gradcheck(kernel: Kernel, *args: Any, relative: float = 1e-5, absolute: float = 1e-7) -> bool:
    """Compare the gradient of a kernel for the arguments `args` with finite differences, element by element.

    All fields and arguments with a gradient take part; their contents and gradients are as before afterwards. The
    results get random adjoints. Returns True. relative, absolute: tolerances.
    Raises: TaichiAssertionError naming the first wrong element and the Python line: where the kernel has a step or a
    kink, if the differences to both sides are not one, else where the element is read first; TaichiRuntimeError for
    arrays that are no f64.

    Example:
        >>> x = ti.field(ti.f64, shape=3, needs_grad=True)
        >>> y = ti.field(ti.f64, shape=3, needs_grad=True)
        >>> @ti.kernel
        ... def cube():
        ...     for i in x:
        ...         y[i] = x[i] ** 3
        >>> x.fill(1.5)
        >>> ti.ad.gradcheck(cube)
        True
    """
    check = _KernelCheck(kernel, args)
    try:
        check.run(relative, absolute)
    finally:
        check.restore()
    return True


class _KernelCheck:
    """The arrays of a kernel with a gradient, and their contents before."""

    def __init__(self, kernel: Kernel, args: tuple[Any, ...]) -> None:
        assert not is_paused()
        self.kernel, self.args = kernel, args
        self.flat = flat = kernel.arguments.flattened(args, {})
        instance, _ = kernel.grad.launcher(flat)
        self.fields = _with_gradients(named_arrays(instance, flat))
        stored = {id(array) for access, array in accesses_of(instance, flat) if access.purpose == "stored"}
        for name, array in self.fields.items():
            if str(array.dtype) != "f64":
                raise TaichiRuntimeError(f"`{name}` is {array.dtype}, and differences need f64", "make it `ti.f64`")
        self.start = {name: copy_of(array) for name, array in self.fields.items()}
        self.gradients = {name: copy_of(array.grad) for name, array in self.fields.items()}
        numbers = np.random.default_rng(0)
        self.weights = {
            name: numbers.uniform(0.5, 1.5, np.shape(self.start[name])) * (id(array) in stored)
            for name, array in self.fields.items()
        }

    def outcome(self) -> float:
        """Launch with the present contents; return the weighted sum of all contents afterwards."""
        self.kernel(*self.args)
        return sum(float(np.sum(copy_of(a) * self.weights[name])) for name, a in self.fields.items())

    def reset(self) -> None:
        """Give the arrays their contents from before."""
        for name, array in self.fields.items():
            write_back(array, self.start[name])

    def run(self, relative: float, absolute: float) -> None:
        """Compare all elements."""
        self.reset()
        for name, array in self.fields.items():
            write_back(array.grad, self.weights[name])
        with values_are_restored():
            self.kernel.grad(*self.args)
        found = {name: copy_of(array.grad) for name, array in self.fields.items()}
        for name, array in self.fields.items():
            for index in np.ndindex(np.shape(self.start[name])):
                expected, actual = self.difference(name, array, index), float(found[name][index])
                if not abs(actual - expected) <= absolute + relative * max(abs(expected), abs(actual)):
                    raise self.found(name, index, actual, expected)

    def found(self, name: str, index: tuple[int, ...], actual: float, expected: float) -> TaichiAssertionError:
        """Return the error for an element whose gradient is wrong."""
        array, shown = self.fields[name], ", ".join(map(str, index))
        here, above, below = (self.moved(name, array, index, step) for step in (0.0, STEP, -STEP))
        is_smooth = abs((above - here) - (here - below)) <= 1e-3 * max(abs(above - here), abs(here - below))
        kinks, read = lines_with_kinks(self.kernel.grad, self.flat, array)
        message = (
            f"The gradient of `{self.kernel.definition.name}` by `{name}[{shown}]` is {actual:.6g}, and "
            f"differences give {expected:.6g}"
        )
        if is_smooth or not kinks:
            hint = f"`{name}[{shown}]` is read here; `kernel.grad.source()` shows the gradient"
            return TaichiAssertionError(message, hint, read)
        others = sorted({location.line for location in kinks} - {kinks[0].line})
        lines = f", or line {', '.join(map(str, others))}" if others else ""
        hint = f"the kernel is not smooth at this value: look at this line{lines}, or check with another value"
        return TaichiAssertionError(message, hint, kinks[0])

    def difference(self, name: str, array: Any, index: tuple[int, ...]) -> float:
        """Return the central difference by one element."""
        return (self.moved(name, array, index, STEP) - self.moved(name, array, index, -STEP)) / (2 * STEP)

    def moved(self, name: str, array: Any, index: tuple[int, ...], step: float) -> float:
        """Return the outcome with one element changed."""
        self.reset()
        values = np.array(self.start[name])
        values[index] += step
        write_back(array, values)
        return self.outcome()

    def restore(self) -> None:
        """Give arrays and gradients their contents from before."""
        self.reset()
        for name, array in self.fields.items():
            write_back(array.grad, self.gradients[name])


def _with_gradients(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays that have a gradient, each once: an argument is known by the name of its gradient, too."""
    found: dict[int, tuple[str, Any]] = {}
    for name, array in arrays.items():
        if isinstance(array, DenseArray) and getattr(array.grad, "is_placed", array.grad is not None):
            found.setdefault(id(array), (name, array))
    return dict(found.values())
