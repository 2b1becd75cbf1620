"""Kernels, and the tasks into which the passes split them. A task is one launch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from enum import Enum
from itertools import chain
from operator import attrgetter

from ..errors import NOWHERE, SourceLocation
from ..lazy_dataclasses import dataclass
from .functions import Function
from .nodes import Block, Remark, Statement, are_flat, walk, walk_blocks
from .snodes import Node, Tree
from .statements import Array, GlobalPtr, If, Operation, Parameter, RangeFor, Temporary
from .textures import Texture
from .types import Scalar, Struct, Type, scalars_of

Kinds = set[object]
"""Classes of statements and of their types, names of operations, and `DERIVATIVE`: passes look for few of them, and
most kernels have none of these."""
DERIVATIVE = "derivative"
"""The kind of a kernel that is a derivative: its statements may differentiate others."""
MAX_BLOCKS = 4096
"""Blocks of threads that store partial results, if these are joined in order: more than an H200 runs at once."""
SUMS_PADDING = 1 << 14
"""Numbers between the copies of an array: an index that misses by a row reaches no other copy."""


class TaskKind(Enum):
    """How the threads of a task are started. The value is the name in the IR text and in templates."""

    SERIAL = "serial"
    RANGE_FOR = "range_for"


@dataclass(eq=False, slots=True)
class Reduction:
    """A value that the iterations of a parallel loop combine: each thread has its own, and all are joined at the end.

    Attributes:
        op: of `ops.ATOMIC_OPS`, by which two partial results are joined.
        accumulator: passed by reference to each iteration, so that `body` accesses it by a `Reference`, as `Task.join`
            and `Task.epilogue` do.
        other: in `Task.join` another partial result.
        element: the type of the numbers that are combined. The accumulator may be wider, and starts with the neutral
            element of this type.
        run: of a sum in a wider type: accumulates a few iterations in `element`, and is then added to the accumulator.
            The body adds to it.
        partials: the results of the blocks of threads, if they are joined in order.
        location: of the first statement that combines.
    """

    op: str
    accumulator: Parameter
    other: Parameter
    element: Scalar
    partials: Temporary | None = None
    location: SourceLocation = NOWHERE
    run: Parameter | None = None

    @property
    def innermost(self) -> Parameter:
        """What the body of the loop adds to."""
        return self.run or self.accumulator


@dataclass(eq=False, slots=True)
class PrivateSums:
    """An array of which each thread of the host has a copy that it adds to; all are added after the loop.

    copies: their memory, with `SUMS_PADDING` numbers after each copy. most_threads: how many there are.
    additions: of an ndarray, to whose copies or to which itself the threads add as the launch decides: the numbers that
    an iteration adds to all such arrays. others: those that must share no memory with it then.
    """

    array: Array
    copies: Temporary
    most_threads: int
    additions: int = 0
    others: tuple[Array, ...] = ()

    @property
    def is_choice(self) -> bool:
        """Whether the launch decides."""
        return self.array.shape is None


@dataclass(eq=False, slots=True)
class SingleIteration:
    """Where a task that takes several iterations as one runs one of them. index: along the innermost axis."""

    block: Block
    index: Statement


@dataclass(eq=False, slots=True)
class Sizes:
    """The lengths of the loop of a task for which a launch starts it; other tasks have the iterations of other lengths.

    Attributes:
        axes: axes of the loop.
        least, below: limits of the product of their lengths, None if it has no upper limit.
        thinnest: if one of them is shorter, the product counts as 0.
        inner: what has the end of the serial loop inside: an argument, or an array, whose extent along `inner_axis` it
            is. None if the end is a number.
        inner_least: if the end is less, the product counts as 0.
        tile: how many iterations a tile has along each of the axes, and of the serial loop; () if that does not matter.
        is_whole: whether all tiles must be whole, or one must not be; else the product counts as 0.
        most: if the product is more, it counts as 0; None if it has no such limit.
        rounded_to: extents of tiles to which the loop is rounded up, one for each axis of it, or (). The product is
            then that of all axes, and counts as 0 if whole tiles may have more iterations than can be counted.
    """

    axes: tuple[int, ...]
    thinnest: int
    least: int
    below: int | None = None
    inner: Array | Parameter | None = None
    inner_axis: int = 0
    inner_least: int = 0
    tile: tuple[int, ...] = ()
    is_whole: bool = False
    most: int | None = None
    rounded_to: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.most is not None:
            return f"for {self.of_few()}"
        if not self.least:
            return f"for fewer than {self.below} iterations"
        most = "iterations and more" if self.below is None else f"to {self.below - 1} iterations"
        return f"for {self.least} {most}{self.of_tiles}"

    def of_few(self, form: str = "d") -> str:
        """Return which lengths these are if there is `most`: up to that, or all others. form: of numbers."""
        inner = "" if self.inner is None else f"{self.inner_least:{form}}"
        if self.least:
            return f"up to {self.most:{form}} iterations{f', {inner} and more inside' if inner else ''}"
        return f"more than {self.most:{form}} iterations{f', or fewer than {inner} inside' if inner else ''}"

    @property
    def of_tiles(self) -> str:
        """What is said of the tiles behind these limits, nothing if they do not matter."""
        if not self.tile:
            return ""
        return ", by whole tiles" if self.is_whole else ", if a tile is not whole"


@dataclass(eq=False, slots=True)
class RowChoice:
    """Whether a launch starts the task whose threads share rows, or the one in which fewer do, or none.

    Attributes:
        pairs: ndarrays that must have no memory in common.
        may_be_one: ndarrays that may also be one array, whose rows have one length then.
        lanes: threads of a row where they share it; all of them must be few enough to be counted.
        own_lanes: threads of a row in this task.
        length: an array and the axis along which its rows are `least` long at least; None if the length is known.
        is_shared: whether the task is the one in which `lanes` threads share a row.
    """

    pairs: list[tuple[Array, Array]]
    may_be_one: list[tuple[Array, Array]]
    lanes: int = 1
    own_lanes: int = 1
    length: tuple[Array, int] | None = None
    least: int = 0
    is_shared: bool = True

    def __str__(self) -> str:
        names, shared = " and ".join(array.name for array in self.overlapping), self.is_shared
        length = f"for rows of {self.least} and more" if shared else "for shorter rows"
        overlap = f"if {names} do not overlap" if shared else f"if {names} overlap"
        return (" " if shared else " or ").join([length] * bool(self.length) + [overlap] * bool(names))

    @property
    def overlapping(self) -> list[Array]:
        """The ndarrays that may overlap."""
        return list(dict.fromkeys(chain.from_iterable((*self.pairs, *self.may_be_one))))

    @property
    def is_needed(self) -> bool:
        """Whether there are launches for either task."""
        return bool(self.pairs or self.may_be_one or self.length)


@dataclass(eq=False, slots=True)
class Task:
    """One launch: statements that run once, or a parallel loop.

    Attributes:
        name: of the task.
        kind: serial or range_for.
        body: the statements, or those of one iteration.
        prologue: statements that compute the loop's starts, ends and steps; it runs before the loop and has no effects.
        loop: the parallel loop, None for a serial task; `body` uses its `LoopIndex` values.
        block_dim: threads per block.
        location: in the user's source.
        synchronizes: its threads share memory, synchronize or use their index in the block.
        is_split: its body is split at barriers into `ThreadFor`s.
        reductions: values that the iterations combine.
        join: stores `accumulator op other` to the accumulator of each reduction.
        epilogue: statements after the loop, which use the joined values; they depend on no value of `prologue`.
        private: arrays of which each thread adds to a copy.
        block_sums: arrays of which each block adds to a copy in shared memory.
        overlaps: a thread may run several iterations at a time, whose loads overlap.
        as_lanes: iterations of the innermost axis become lanes of vectors, though the body contains loops.
        lane_loops: the number of neighbouring iterations of the innermost axis whose loops are run together, 0 if each
            is run by itself. The parts of the body between loops are `ThreadFor`s over these iterations.
        short_vectors: a compiler shall not take many iterations of the serial loops at a time.
        tile: extents of the iterations of a block, whose tiles of arrays are in shared memory; () for a plain loop.
        sizes: the lengths of the loop for which a launch starts the task; None if it starts for all.
        rows: when a launch starts the task; None if it starts for all.
        lanes: iterations of the innermost axis that are one, which is the step of the loop there.
        single: where such iterations run one by one, if they do, until `single_iterations`.
        blocks_done: counts the blocks of threads that have stored their partial results. The last one joins them in an
            order that does not change from run to run, and `epilogue` runs once. None: it runs in each block.
        ends_alone: `epilogue` has a serial task that followed, so that it runs also if the loop has no iteration.
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
    reductions: list[Reduction] = field(default_factory=list)
    join: Block = field(default_factory=Block)
    epilogue: Block = field(default_factory=Block)
    blocks_done: Temporary | None = None
    ends_alone: bool = False
    private: list[PrivateSums] = field(default_factory=list)
    block_sums: list[Array] = field(default_factory=list)
    overlaps: bool = False
    lanes: int = 1
    single: SingleIteration | None = None
    as_lanes: bool = False
    lane_loops: int = 0
    short_vectors: bool = False
    tile: tuple[int, ...] = ()
    sizes: Sizes | None = None
    rows: RowChoice | None = None

    @property
    def head(self) -> str:
        """The first line of its text."""
        sizes = f" {self.sizes}" if self.sizes is not None else ""
        rows = f" {self.rows}" if self.rows is not None else ""
        return f"task {self.name} {self.kind.value} block_dim={self.block_dim}{sizes}{rows} {{"

    @property
    def together(self) -> Block:
        """The body for iterations that are one, without what runs them one by one."""
        first = next((statement for statement in self.body if isinstance(statement, If)), None)
        if self.lanes == 1 or first is None:
            return self.body
        return Block([*(statement for statement in self.body if statement is not first), *first.then])

    def roots(self) -> list[Block]:
        """Return the outermost blocks: the prologue and the body; with reductions also what follows the loop."""
        return [self.prologue, self.body, *([self.join, self.epilogue] if self.reductions else [])]


@dataclass(eq=False, slots=True)
class Kernel:
    """A kernel during compilation: its statements are in `body` until `offload` and in `tasks` afterwards.

    Attributes:
        name: of the Python function.
        parameters: passed by value, in order.
        arrays: by binding.
        returns: types of the results, in the order of `Return.values`.
        body: the statements before `offload`; empty afterwards.
        tasks: the launches, in order.
        temporaries: values that cross tasks; made by `offload`.
        functions: the real functions that it calls, in the order of their first calls.
        shared: arrays of blocks of threads, by binding.
        trees: SNode trees of its arrays, by their top nodes.
        textures: by binding.
        location: of the kernel in the user's file.
        remarks: comments on the whole kernel.
        derivative: "reverse" or "forward" if a pass is to replace it by the kernel of its gradient or dual;
            "forward_over_reverse" if by that of the dual of its gradient; else "".
        avoids_vectors: the target's compiler shall not vectorize its loops (`truth_indices`).
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
    derivative: str = ""
    avoids_vectors: bool = False

    def roots(self) -> list[Block]:
        """Return the outermost blocks: the body, or those of each task; then the bodies of functions."""
        own = [block for task in self.tasks for block in task.roots()] if self.tasks else [self.body]
        return [*own, *(function.body for function in self.functions)]

    def structs(self) -> list[Struct]:
        """Return the struct types of the kernel, each after those of its members."""
        types: list[Type | None] = [array.element for array in self.arrays]
        types += [type for tree in self.trees.values() for type in tree.elements.values()]
        types += [*self.returns, *(temporary.type for temporary in self.temporaries)]
        types += [parameter.type for function in self.functions for parameter in function.parameters]
        types += [type for function in self.functions for type in function.results]
        types += [s.type for root in self.roots() for s in walk(root) if s.type.__class__ is Struct]
        return with_members(type for type in types if isinstance(type, Struct))


def with_members(structs: Iterable[Struct]) -> list[Struct]:
    """Return `structs` and those inside them, each once, members before the structs that contain them."""
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


TYPE_OF = attrgetter("type")


def blocks_in(kernel: Kernel) -> list[Block]:
    """Return all blocks of a kernel, those inside others too."""
    found: list[Block] = []
    for root in kernel.roots():
        found += [root] if are_flat(root.statements) else walk_blocks(root)
    return found


def kinds_in(kernel: Kernel, blocks: Sequence[Block] | None = None) -> Kinds:
    """Return the kinds of all statements of a kernel. blocks: all of the kernel, if they are known."""
    kinds: Kinds = {DERIVATIVE} if kernel.derivative else set()
    for block in blocks_in(kernel) if blocks is None else blocks:
        statements = block.statements
        kinds.update(map(type, statements))
        kinds.update(map(type, map(TYPE_OF, statements)))
        kinds.update([statement.op for statement in statements if statement.__class__ is Operation])
    return kinds


def forget_statements(kernel: Kernel) -> None:
    """Empty all blocks of a kernel that nothing reads any more.

    A loop and its index refer to each other: Python's garbage collector would traverse the kernel to find that out.
    """
    for block in blocks_in(kernel):
        block.statements = []
        block.result = None


def scalars_in(blocks: Sequence[Block]) -> set[Scalar]:
    """Return the scalar types of all values of some blocks, and those of the elements and members of the values."""
    types: set[Type | None] = set()
    for block in blocks:
        types.update(map(TYPE_OF, block.statements))
    return {scalar for type in types if type is not None for scalar in scalars_of(type)}


def arrays_in(blocks: Sequence[Block]) -> set[Array]:
    """Return the arrays that statements of some blocks access."""
    return {statement.array for block in blocks for statement in block.statements if statement.__class__ is GlobalPtr}


def statements_in(kernel: Kernel) -> Iterator[Statement]:
    """Return all statements of a kernel: a block's before those of the blocks inside it, and in no further order."""
    return chain.from_iterable(block.statements for root in kernel.roots() for block in walk_blocks(root))
