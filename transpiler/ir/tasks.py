"""Kernels and tasks: what the passes turn a function into. A task is one launch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from ..errors import NOWHERE, SourceLocation
from .functions import Function
from .nodes import Block, Remark, walk
from .snodes import Node, Tree
from .statements import Array, Parameter, RangeFor, Temporary
from .textures import Texture
from .types import Struct, Type


class TaskKind(Enum):
    """How the threads of a task are made. The value is the name in texts and templates."""

    SERIAL = "serial"
    RANGE_FOR = "range_for"


@dataclass(eq=False, slots=True)
class Task:
    """One launch: statements run once, or a parallel loop.

    prologue: statements that give the loop's starts, ends and steps; it runs before the loop and has no effects.
    loop: the parallel loop, None for a serial task; its `LoopIndex` values are used in `body`, the loop's body.
    block_dim: threads a block. synchronizes: its threads share memory, synchronize or use their number in the block.
    is_split: its body is cut at barriers into `ThreadFor`.
    """

    name: str
    kind: TaskKind
    body: Block
    prologue: Block = field(default_factory=Block)
    loop: RangeFor | None = None
    block_dim: int = 128
    location: SourceLocation = NOWHERE
    synchronizes: bool = False
    is_split: bool = False


@dataclass(eq=False, slots=True)
class Kernel:
    """A function on its way through the compiler: in `body` until `offload`, then in `tasks` (and `body` is empty).

    arrays: by slot. returns: types of the results in order, with `Return.values` alike. temporaries: made by `offload`.
    functions: the real functions it calls, in the order they are first called. notes: comments on the whole.
    textures: by slot. shared: arrays of blocks of threads, by slot. trees: those that its arrays are in, by their tops.
    """

    name: str
    parameters: list[Parameter]
    arrays: list[Array]
    returns: list[Type]
    body: Block
    tasks: list[Task] = field(default_factory=list)
    temporaries: list[Temporary] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    shared: list[Array] = field(default_factory=list)
    trees: dict[Node, Tree] = field(default_factory=dict)
    textures: list[Texture] = field(default_factory=list)
    location: SourceLocation = NOWHERE
    remarks: list[Remark] = field(default_factory=list)

    def roots(self) -> list[Block]:
        """Return the outermost blocks: the body, or each task's prologue and body; then the bodies of functions."""
        own = [block for task in self.tasks for block in (task.prologue, task.body)] if self.tasks else [self.body]
        return [*own, *(function.body for function in self.functions)]

    def structs(self) -> list[Struct]:
        """Return the struct types of the kernel, each behind those of its members."""
        types: list[Type | None] = [array.element for array in self.arrays]
        types += [type for tree in self.trees.values() for type in tree.elements.values()]
        types += [*self.returns, *(temporary.type for temporary in self.temporaries)]
        types += [parameter.type for function in self.functions for parameter in function.parameters]
        types += [type for function in self.functions for type in function.results]
        types += [statement.type for root in self.roots() for statement in walk(root)]
        return with_members(type for type in types if isinstance(type, Struct))


def with_members(structs: Iterable[Struct]) -> list[Struct]:
    """Return `structs` and those inside them, each once, members before what holds them."""
    ordered: dict[Struct, None] = {}

    def visit(struct: Struct) -> None:
        if struct not in ordered:
            for _, type in struct.members:
                if isinstance(type, Struct):
                    visit(type)
            ordered[struct] = None

    for struct in structs:
        visit(struct)
    return list(ordered)
