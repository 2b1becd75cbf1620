"""`ti.graph`: kernels recorded in order once and run as one: `GraphBuilder`, `Arg`, `ArgKind`, `Graph`."""

from __future__ import annotations

from .argument import Arg, ArgKind
from .builder import GraphBuilder
from .graph import Graph

__all__ = ["Arg", "ArgKind", "Graph", "GraphBuilder"]
