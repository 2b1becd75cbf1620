"""`ti.graph`: kernels recorded in order once and run as one: `GraphBuilder`, `Arg`, `ArgKind`, `Graph`."""

from __future__ import annotations

from .argument import Arg, ArgKind
from .builder import GraphBuilder
from .graph import Graph
from .tapes import TapeGraph, compile_tape

__all__ = ["Arg", "ArgKind", "Graph", "GraphBuilder", "TapeGraph", "compile_tape"]
