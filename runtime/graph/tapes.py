"""`ti.graph.compile_tape`: what a tape recorded, as graphs that run again without Python.

    with ti.ad.Tape(loss) as tape:
        for t in range(30):
            step(t)
        measure()
    graph = ti.graph.compile_tape(tape)
    for _ in range(100):
        graph.run()          # the launches, then their gradients
        descend()

A graph clears loss and gradients, launches what the tape recorded, with the same arguments, and then the gradients,
last first. It copies nothing: a tape of launches that overwrite what a gradient needs is refused.
"""

from __future__ import annotations

from typing import cast

from ...transpiler.errors import TaichiRuntimeError
from ..ad.contents import gradients_of_calls
from ..ad.tape import Record, Tape
from ..arrays.dense_array import DenseArray
from ..fields.field import StructField
from ..launch.kernel import Kernel
from ..session.tracebacks import hides_own_frames
from .dispatch import Dispatch
from .graph import Graph
from .kernels import clear, seed


class TapeGraph:
    """A tape that runs again; `ti.graph.compile_tape` makes it.

    calls: the launches that the tape recorded. loss: its field.
    forward: the graph that clears the loss and launches. backward: the one that clears the gradients and computes them.

    Example:
        >>> x = ti.field(ti.f32, shape=3, needs_grad=True)
        >>> loss = ti.field(ti.f32, shape=(), needs_grad=True)
        >>> @ti.kernel
        ... def energy():
        ...     for i in x:
        ...         loss[None] += x[i] ** 2
        >>> with ti.ad.Tape(loss) as tape:
        ...     energy()
        >>> graph = ti.graph.compile_tape(tape)
        >>> x.fill(2.0)
        >>> graph.forward.run({})
        >>> loss[None]
        12.0
        >>> graph.backward.run({})
        >>> x.grad.to_numpy().tolist()
        [4.0, 4.0, 4.0]
    """

    def __init__(self, calls: list[Record], loss: DenseArray) -> None:
        flat = [tuple(record.function.arguments.flattened(record.args, record.kwargs)) for record in calls]
        launches = [Dispatch(record.function, args) for record, args in zip(calls, flat, strict=True)]
        gradients = [Dispatch(record.function.grad, args) for record, args in zip(calls, flat, strict=True)]
        others = [array for array in gradients_of_calls(calls) if array is not loss.grad]
        self.forward = Graph([*_clearing(loss), *launches])
        cleared = [dispatch for array in others for dispatch in _clearing(array)]
        self.backward = Graph([*cleared, Dispatch(cast(Kernel, seed), (loss.grad,)), *reversed(gradients)])
        self._both = Graph([*self.forward.dispatches, *self.backward.dispatches])

    @hides_own_frames
    def run(self) -> None:
        """Launch everything: loss and gradients are computed again."""
        self._both.run({})


@hides_own_frames
def compile_tape(tape: Tape) -> TapeGraph:
    """Return the launches of a tape and their gradients as one graph, with the arguments that they had.

    tape: has ended. The kernels and arrays are those of the tape, in the session in which it recorded.
    Raises: TaichiRuntimeError for a tape that does more than launch kernels, or saved what they overwrite.

    Example:
        >>> x = ti.field(ti.f32, shape=3, needs_grad=True)
        >>> loss = ti.field(ti.f32, shape=(), needs_grad=True)
        >>> @ti.kernel
        ... def energy():
        ...     for i in x:
        ...         loss[None] += x[i] ** 2
        >>> with ti.ad.Tape(loss) as tape:
        ...     energy()
        >>> graph = ti.graph.compile_tape(tape)
        >>> x.fill(3.0)
        >>> graph.run()
        >>> loss[None], x.grad.to_numpy().tolist()
        (27.0, [6.0, 6.0, 6.0])
    """
    if not isinstance(tape.loss, DenseArray) or tape.loss.KIND != "field":
        raise TaichiRuntimeError(
            "`compile_tape` needs a tape with a loss that is a field", "`ti.field(float, (), needs_grad=True)`"
        )
    for record in tape.calls:
        if not isinstance(record.function, Kernel):
            raise TaichiRuntimeError(
                "`compile_tape` takes launches of kernels, and the tape holds something else",
                "leave out `fill`, `from_numpy`, `copy_from`, `ti.ad.checkpoint` and functions of `grad_replaced`",
            )
        if record.saved:
            array = record.saved[0][0]
            raise TaichiRuntimeError(
                f"The gradient of `{record.function.definition.name}` needs elements of {array!r} that a launch of the "
                "tape overwrites",
                "give the array an axis for the steps: `x[t + 1, i] = f(x[t, i])`",
            )
    return TapeGraph(tape.calls, tape.loss)


def _clearing(array: DenseArray) -> list[Dispatch]:
    """Return the launches that set a field or ndarray to 0."""
    if isinstance(array, StructField):
        return [dispatch for name in array.keys for dispatch in _clearing(array.get_member_field(name))]
    return [Dispatch(cast(Kernel, clear), (array,))]
