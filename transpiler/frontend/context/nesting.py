"""The loops and branches around the current statement, and the variables from outside a parallel loop."""

from __future__ import annotations

import ast
from dataclasses import field
from typing import Any

from ...ir.nodes import Block, Statement
from ...ir.statements import Array, GlobalPtr, RangeFor, StructFor, While, base_pointer
from ...lazy_dataclasses import dataclass
from .scope import Exit
from .values import Lvalue, MeshElement


@dataclass(eq=False, slots=True)
class LoopRecord:
    """A loop around the current statement.

    loop: the IR loop; None for an unrolled loop, which has exits instead. first_break: of a parallel loop. copies: of
    the body of an unrolled loop, those of the unrolled loops around it included.
    """

    loop: RangeFor | StructFor | While | None
    is_parallel: bool = False
    is_broken: bool = False
    first_break: ast.Break | None = None
    break_exit: Exit | None = None
    continue_exit: Exit | None = None
    copies: int = 1


@dataclass(eq=False, slots=True)
class Nesting:
    """The context of the current statement in the kernel, or in the real function, under construction.

    Attributes:
        home: the body of the innermost run-time loop, or of the function.
        loops: loops of the current frame, the innermost last.
        depth: the number of run-time loops, of all frames.
        is_parallel: one of them is parallel.
        is_conditional: an `if` without `ti.static` encloses the statement, so that loops in it are serial, also if its
            condition is known.
        loop_options: options of the next loop, from `ti.loop_config`.
        block_local: arrays of which the next loop's blocks shall have copies, from `ti.block_local`.
        outside: variables declared outside a parallel loop.
        mesh_element: that of the outermost loop over a mesh.
    """

    home: Block
    loops: list[LoopRecord] = field(default_factory=list)
    depth: int = 0
    is_parallel: bool = False
    is_conditional: bool = False
    loop_options: dict[str, Any] = field(default_factory=dict)
    block_local: list[Array] = field(default_factory=list)
    outside: set[Statement] = field(default_factory=set)
    mesh_element: MeshElement | None = None

    def is_shared(self, lvalue: Lvalue) -> bool:
        """Return whether other iterations may change `lvalue`: an array element, or a variable outside the loop."""
        base = base_pointer(lvalue.pointer)
        return isinstance(base, GlobalPtr) or (self.is_parallel and base in self.outside)
