"""`GraphBuilder`: kernels are dispatched in order, and sequences of them appended any number of times."""

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
        """Add a launch of a kernel. args: one a parameter, a `ti.graph.Arg`, or a value that never changes.

        Raises: TaichiCompilationError where an argument does not fit, or has the name of another.
        """
        dispatch = make_dispatch(kernel_fn, args)
        for leaf in dispatch.leaves:
            if isinstance(leaf, Arg) and not leaf.is_like(self._arguments.setdefault(leaf.name, leaf)):
                first = self._arguments[leaf.name]
                raise TaichiCompilationError(
                    f"An arg with name {leaf.name} already exists: {first!r}, and {leaf!r} is another"
                )
        self._nodes.append(dispatch)

    def add(self, node: Sequential) -> None:
        """Add all that a sequence holds when the graph is compiled."""
        self._nodes.append(node)

    def holds(self, node: Sequential) -> bool:
        """Tell whether a sequence is this one or a part of it."""
        return node is self or any(part.holds(node) for part in self._nodes if isinstance(part, Sequential))

    def flat(self) -> list[Dispatch]:
        """Return all launches in order."""
        found: list[Dispatch] = []
        for node in self._nodes:
            found += [node] if isinstance(node, Dispatch) else node.flat()
        return found


class GraphBuilder:
    """Puts launches in order; `compile` makes the graph."""

    def __init__(self) -> None:
        self._arguments: dict[str, Arg] = {}
        self._root = Sequential(self._arguments)

    @hides_own_frames
    def dispatch(self, kernel_fn: Any, *args: Any) -> None:
        """Add a launch of a kernel; see `Sequential.dispatch`."""
        self._root.dispatch(kernel_fn, *args)

    def create_sequential(self) -> Sequential:
        """Return an empty sequence, which runs where it is appended, as often as it is."""
        return Sequential(self._arguments)

    @hides_own_frames
    def append(self, node: Sequential) -> None:
        """Add a sequence made by `create_sequential`. Raises: TaichiCompilationError for anything else."""
        if not isinstance(node, Sequential):
            raise TaichiCompilationError(
                f"a graph appends sequences, found {node!r}. Hint: `s = builder.create_sequential()`, `s.dispatch(...)`"
            )
        if node._arguments is not self._arguments:
            raise TaichiCompilationError("the sequence belongs to another builder. Hint: make it by this one")
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
