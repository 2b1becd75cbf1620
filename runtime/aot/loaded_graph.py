"""Graphs of loaded modules: the graphs of `ti.graph`, whose kernels come from an archive.

In: what the manifest says of a graph, and the module's kernels. Out: `LoadedGraph`. It is replayed as other graphs are
where all of its arrays are ours; with arrays of other libraries its kernels are launched one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.types import SCALARS, Tensor
from ...transpiler.lang.textures import Format
from ..arrays.dense_array import DenseArray
from ..close_names import close_names
from ..graph import Arg, ArgKind, Graph
from ..graph.dispatch import Dispatch
from ..launch.kernel import Kernel
from ..session.tracebacks import hides_own_frames
from .stored_types import declared, element_of

SOME_FORMAT = {"f32": "rgba8", "i32": "rgba8i", "u32": "rgba8u"}
"""A format of sampled textures for each type of numbers."""


class Callee(Protocol):
    """A kernel of the module."""

    parameters: Sequence[Mapping[str, Any]]

    def __call__(self, *args: Any) -> Any:
        """Launch it with all parameters but templates."""

    def flattened(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return a value for each parameter, given all but templates."""


MAKERS: dict[str, Callable[[Mapping[str, Any]], Arg]] = {
    "scalar": lambda data: Arg(ArgKind.SCALAR, data["name"], SCALARS[data["type"]]),
    "matrix": lambda data: Arg(
        ArgKind.MATRIX, data["name"], declared(Tensor(tuple(data["shape"]), SCALARS[data["type"]]))
    ),
    "ndarray": lambda data: Arg(ArgKind.NDARRAY, data["name"], declared(element_of(data)), ndim=data["ndim"]),
    "texture": lambda data: Arg(
        ArgKind.TEXTURE, data["name"], ndim=data["ndim"], fmt=Format[SOME_FORMAT[data["element"]]]
    ),
    "rw_texture": lambda data: Arg(ArgKind.RWTEXTURE, data["name"], ndim=data["ndim"], fmt=Format[data["format"]]),
}
"""Constructors of the arguments of `ti.graph`; structs are not among them."""


class LoadedGraph:
    """A graph of a module. arguments: those of a run, from the manifest.

    name: in the archive. data: its entry of the manifest. kernels: by name. `run` takes the arguments by name.

    Example:
        >>> symbol = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
        >>> @ti.kernel
        ... def double(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] *= 2
        >>> builder = ti.graph.GraphBuilder()
        >>> builder.dispatch(double, symbol)
        >>> ti.init(arch=ti.cpu)
        >>> module = ti.aot.Module()
        >>> module.add_graph("twice", builder.compile())
        >>> module.archive("example.tcm")
        >>> list(ti.aot.load("example.tcm").graphs)
        ['twice']
    """

    def __init__(self, name: str, data: Mapping[str, Any], kernels: Mapping[str, Callee]) -> None:
        self.name = name
        self.arguments: Sequence[Mapping[str, Any]] = data["arguments"]
        self._dispatches = [
            (kernel, list(_given(kernel, each["arguments"])))
            for each in data["dispatches"]
            for kernel in (kernels[each["kernel"]],)
        ]
        self._arrays = [argument["name"] for argument in self.arguments if argument["kind"] == "ndarray"]
        self._is_replayable = all(
            argument["kind"] in MAKERS and not argument.get("gradient") for argument in self.arguments
        )
        self._graph: Graph | None = None

    @hides_own_frames
    def run(self, arguments: Mapping[str, Any]) -> None:
        """Launch all kernels with these arguments, by name; values of other names are ignored.

        Raises: TaichiRuntimeError for a missing value; TaichiRuntimeTypeError for one that does not fit.
        """
        for argument in self.arguments:
            if argument["name"] not in arguments:
                close = close_names(argument["name"], list(arguments))
                meant = f"; `{close[0]}` was given, did you mean that?" if close else ""
                raise TaichiRuntimeError(f"`{argument['name']}` is missing for graph `{self.name}`{meant}")
        if self._is_replayable and all(isinstance(arguments[name], DenseArray) for name in self._arrays):
            if self._graph is None:
                self._graph = self._make()
            self._graph.run(arguments)
            return
        for kernel, given in self._dispatches:
            kernel(*(arguments[value] if isinstance(value, str) else value for value in given))

    def _make(self) -> Graph:
        """Return the graph as `ti.graph` makes it."""
        args = {argument["name"]: MAKERS[argument["kind"]](argument) for argument in self.arguments}
        return Graph(
            [
                Dispatch(
                    cast(Kernel, kernel),  # a graph only needs a launcher, which this kernel has too
                    kernel.flattened([args[value] if isinstance(value, str) else value for value in given]),
                )
                for kernel, given in self._dispatches
            ]
        )

    def __repr__(self) -> str:
        return f"<loaded graph {self.name}: {len(self._dispatches)} dispatches>"


def _given(kernel: Callee, values: Sequence[Any]) -> Iterator[Any]:
    """Yield what a dispatch passes: names of arguments, numbers, and values made of several numbers."""
    passed = [parameter for parameter in kernel.parameters if parameter["kind"] != "template"]
    for parameter, value in zip(passed, values, strict=True):
        if parameter["kind"] == "struct" and isinstance(value, list):
            yield _struct(parameter["members"], iter(value))
        else:
            yield value


def _struct(members: Sequence[Sequence[Any]], numbers: Iterator[Any]) -> dict[str, Any]:
    """Return the value of a struct whose numbers come in the order of its members."""
    return {name: _value(type, numbers) for name, type in members}


def _value(type: Any, numbers: Iterator[Any]) -> Any:
    if isinstance(type, str):
        return next(numbers)
    if "members" in type:
        return _struct(type["members"], numbers)
    rows, *columns = type["shape"]
    if not columns:
        return [next(numbers) for _ in range(rows)]
    return [[next(numbers) for _ in range(columns[0])] for _ in range(rows)]
