from typing import Any, TypeAlias, TypeVar

from shadesmith.runtime.graph.argument import Arg as Arg
from shadesmith.runtime.graph.argument import ArgKind as ArgKind
from shadesmith.runtime.graph.graph import Graph as Graph
from shadesmith.runtime.graph.builder import GraphBuilder as GraphBuilder
from shadesmith.runtime.graph.tapes import TapeGraph as TapeGraph
def compile_tape(tape: Any) -> Any:
    """Return the launches of a tape and their gradients as one graph, with the arguments that they had."""
