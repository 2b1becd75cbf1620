"""`GraphBuilder`: dispatches kernels in order, and appends sequences of them any number of times."""

from __future__ import annotations

from typing import Any

from ...transpiler.errors import TaichiCompilationError
from ..session.tracebacks import hides_own_frames
from .argument import Arg
from .dispatch import Dispatch, make_dispatch
from .graph import Graph


class Sequential:
    """A sequence of launches, made by `GraphBuilder.create_sequential`."""

    def __init__(self, arguments: dict[str, Arg]) -> None:
        self._arguments = arguments
        self._nodes: list[Dispatch | Sequential] = []

    @hides_own_frames
    def dispatch(self, kernel_fn: Any, *args: Any) -> None:
        """Add a launch of a kernel. args: one per parameter: a `ti.graph.Arg`, or a value that never changes.

        Raises: TaichiCompilationError if an argument does not fit, or another argument has its name.
        """
        dispatch = make_dispatch(kernel_fn, args)
        for argument in dispatch.arguments:
            if isinstance(argument, Arg) and not argument.is_like(self._arguments.setdefault(argument.name, argument)):
                first = self._arguments[argument.name]
                raise TaichiCompilationError(
                    f"An arg with name {argument.name} already exists: {first!r}, and {argument!r} is another"
                )
        self._nodes.append(dispatch)

    def add(self, node: Sequential) -> None:
        """Add the launches that a sequence holds when the graph is compiled."""
        self._nodes.append(node)

    def holds(self, node: Sequential) -> bool:
        """Return whether a sequence is this one or a part of it."""
        return node is self or any(part.holds(node) for part in self._nodes if isinstance(part, Sequential))

    def flat(self) -> list[Dispatch]:
        """Return all launches in order."""
        launches: list[Dispatch] = []
        for node in self._nodes:
            launches += [node] if isinstance(node, Dispatch) else node.flat()
        return launches


class GraphBuilder:
    """Collects launches in order; `compile` makes the graph.

    Example:
        >>> @ti.kernel
        ... def double(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] *= 2
        >>> symbol = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
        >>> builder = ti.graph.GraphBuilder()
        >>> for _ in range(3):
        ...     builder.dispatch(double, symbol)
        >>> graph = builder.compile()
        >>> x = ti.ndarray(ti.f32, 2)
        >>> x.fill(1.0)
        >>> graph.run({"x": x})
        >>> x.to_numpy().tolist()
        [8.0, 8.0]
    """

    def __init__(self) -> None:
        self._arguments: dict[str, Arg] = {}
        self._root = Sequential(self._arguments)

    @hides_own_frames
    def dispatch(self, kernel_fn: Any, *args: Any) -> None:
        """Add a launch of a kernel; see `Sequential.dispatch`."""
        self._root.dispatch(kernel_fn, *args)

    def create_sequential(self) -> Sequential:
        """Return an empty sequence, which runs once at each position where it is appended."""
        return Sequential(self._arguments)

    @hides_own_frames
    def append(self, node: Sequential) -> None:
        """Add a sequence made by `create_sequential`. Raises: TaichiCompilationError for anything else."""
        if not isinstance(node, Sequential):
            raise TaichiCompilationError(
                f"a graph appends sequences, found {node!r}", "`s = builder.create_sequential()`, `s.dispatch(...)`"
            )
        if node._arguments is not self._arguments:
            raise TaichiCompilationError("the sequence belongs to another builder", "create it with this builder")
        if node.holds(self._root):
            raise TaichiCompilationError("a sequence cannot hold itself")
        self._root.add(node)

    @hides_own_frames
    def compile(self) -> Graph:
        """Compile each specialisation that is new, once, and return the graph; later dispatches are not in it.

        Raises: TaichiRuntimeError before `ti.init()`; as the first call of each kernel.
        """
        graph = Graph(self._root.flat())
        graph.prepare()
        return graph
