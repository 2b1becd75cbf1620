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
        partials: the results of the blocks of threads, if they are joined in order; no more blocks do something.
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
class Length:
    """A number that a launch knows: the length of the loop of a task along an axis, whatever its step is.

    of: an array whose extent along the axis it is instead, or the argument that it is. padding: what is added to it.
    """

    axis: int
    of: Array | Parameter | None = None
    padding: int = 0


@dataclass(eq=False, slots=True)
class AtLeast:
    """The product of lengths is not less than a number."""

    lengths: tuple[Length, ...]
    least: int


@dataclass(eq=False, slots=True)
class AtMost:
    """The product of lengths is not more than a number."""

    lengths: tuple[Length, ...]
    most: int


@dataclass(eq=False, slots=True)
class MultipleOf:
    """A length is a multiple of a number, as that of a loop whose tiles are all whole."""

    length: Length
    divisor: int


@dataclass(eq=False, slots=True)
class Apart:
    """Two ndarrays have no memory in common; or, if they `may_be_same`, are one array, and their rows are as long."""

    first: Array
    second: Array
    may_be_same: bool = False


@dataclass(eq=False, slots=True)
class Reaches:
    """An ndarray has an element at the indices of each iteration. axes: of the loop, by those of the array."""

    array: Array
    axes: tuple[int, ...]


Condition = AtLeast | AtMost | MultipleOf | Apart | Reaches
"""What the host finds out of the arguments of a launch."""


@dataclass(eq=False, slots=True)
class Choice:
    """Conditions by which a launch starts some tasks, when all hold, and otherwise others.

    `passes.tasks.parts.copies.split` alone makes one: it adds it to `Task.when` of a task and to `Task.unless` of its
    copy. So tasks that were one are the leaves of a binary tree, and each launch starts exactly one of them.
    """

    conditions: list[Condition]


@dataclass(eq=False, slots=True)
class Task:
    """One launch: statements that run once, or a parallel loop.

    What it runs:
        name: of the task.
        kind: serial or range_for.
        body: the statements, or those of one iteration.
        prologue: statements that compute the loop's starts, ends and steps; it runs before the loop and has no effects.
        loop: the parallel loop, None for a serial task; `body` uses its `LoopIndex` values.
        location: in the user's source.
        over: what the user's loop runs over, if passes have given `loop` other indices: for its title.
        stream: the number by which it draws random numbers, the same for copies of a task, on all targets.

    Which launches start it:
        when, unless: a launch starts the task when each of the first choices holds and none of the others does.
        launches: which ones these are, for a reader: "for 65,536 iterations and more".

    What its iterations combine:
        reductions: values that the iterations combine.
        join: stores `accumulator op other` to the accumulator of each reduction.
        epilogue: statements after the loop, which use the joined values; they depend on no value of `prologue`.
        blocks_done: counts the blocks of threads that have stored their partial results. The last one joins them in an
            order that does not change from run to run, and `epilogue` runs once. None: it runs in each block.
        ends_alone: `epilogue` has a serial task that followed, so that it runs also if the loop has no iteration.
        private: arrays of which each thread adds to a copy.
        block_sums: arrays of which each block adds to a copy in shared memory.

    Its threads:
        block_dim: threads per block.
        block_note: why a pass has chosen `block_dim`, for a reader.
        synchronizes: its threads share memory, synchronize or use their index in the block.
        is_split: its body is split at barriers into `ThreadFor`s.
        tables: fills arrays that the threads of a block share, before any iteration; a barrier follows (GPUs).
        tile: extents of the iterations of a block, whose tiles of arrays are in shared memory; () for a plain loop.
        overlaps: a thread may run several iterations at a time, whose loads overlap.
        lanes: iterations of the innermost axis that are one, which is the step of the loop there.
        single: where such iterations run one by one, if they do, until `single_iterations`.

    In CUDA C:
        threads_of_sm: of an SM, for which the compiler shall leave registers; 0: as many as it likes.
        bounded_by: the pass that has chosen `threads_of_sm`.
        few_block: threads of a block where a launch has few iterations, `FEW_ITERATIONS`; 0: `block_dim` always.

    In C:
        as_lanes: iterations of the innermost axis become lanes of vectors, though the body contains loops.
        lane_loops: the number of neighbouring iterations of the innermost axis whose loops are run together, 0 if each
            is run by itself. The parts of the body between loops are `ThreadFor`s over these iterations.
        wide_counter: the index of the loop has 64 bits, as that of places in memory has.
        ranged_axes: those whose bounds the source repeats, since addresses are computed from the index.
        short_vectors: a compiler shall not take many iterations of the serial loops at a time.
        is_straight: a compiler shall make no jumps of minima and maxima, which are no part of loops.
        is_scalar: a compiler shall make no vectors of the iterations.
        is_own_function: a compiler shall not inline the function of an iteration.
    """

    name: str
    kind: TaskKind
    body: Block
    prologue: Block = field(default_factory=Block)
    loop: RangeFor | None = None
    location: SourceLocation = NOWHERE
    over: str = ""
    stream: int = 0
    when: list[Choice] = field(default_factory=list)
    unless: list[Choice] = field(default_factory=list)
    launches: str = ""
    reductions: list[Reduction] = field(default_factory=list)
    join: Block = field(default_factory=Block)
    epilogue: Block = field(default_factory=Block)
    blocks_done: Temporary | None = None
    ends_alone: bool = False
    private: list[PrivateSums] = field(default_factory=list)
    block_sums: list[Array] = field(default_factory=list)
    block_dim: int = 128
    block_note: str = ""
    synchronizes: bool = False
    is_split: bool = False
    tables: Block = field(default_factory=Block)
    tile: tuple[int, ...] = ()
    overlaps: bool = False
    lanes: int = 1
    single: SingleIteration | None = None
    threads_of_sm: int = 0
    bounded_by: str = ""
    few_block: int = 0
    as_lanes: bool = False
    lane_loops: int = 0
    wide_counter: bool = False
    ranged_axes: tuple[int, ...] = ()
    short_vectors: bool = False
    is_straight: bool = False
    is_scalar: bool = False
    is_own_function: bool = False

    @property
    def head(self) -> str:
        """The first line of its text."""
        launches = f" {self.launches}" if self.launches else ""
        return f"task {self.name} {self.kind.value} block_dim={self.block_dim}{launches} {{"

    @property
    def choices(self) -> list[Choice]:
        """The choices by which a launch starts the task; none if it always does."""
        return [*self.when, *self.unless]

    @property
    def is_in_lanes(self) -> bool:
        """Whether iterations become lanes of vectors, or those of the loops in them do."""
        return self.as_lanes or self.lane_loops > 0

    @property
    def is_plain(self) -> bool:
        """Whether iterations neither combine values, nor add to copies, nor wait for each other."""
        return not (self.reductions or self.private or self.block_sums or self.synchronizes)

    @property
    def together(self) -> Block:
        """The body for iterations that are one, without what runs them one by one."""
        first = next((statement for statement in self.body if isinstance(statement, If)), None)
        if self.lanes == 1 or first is None:
            return self.body
        return Block([*(statement for statement in self.body if statement is not first), *first.then])

    def are_apart(self, first: Array, second: Array) -> bool:
        """Return whether two ndarrays have no memory in common where a launch starts the task."""
        conditions = (condition for choice in self.when for condition in choice.conditions)
        pairs = ({c.first, c.second} for c in conditions if isinstance(c, Apart) and not c.may_be_same)
        return {first, second} in pairs

    def may_share(self, first: Array, second: Array) -> bool:
        """Return whether two arrays may have memory in common where a launch starts the task."""
        return first is second or (first.may_alias and second.may_alias and not self.are_apart(first, second))

    def reaches(self, array: Array, axes: tuple[int, ...]) -> bool:
        """Return whether an ndarray has an element at indices of the loop where a launch starts the task."""
        conditions = (condition for choice in self.when for condition in choice.conditions)
        return any(isinstance(c, Reaches) and c.array is array and c.axes == axes for c in conditions)

    def roots(self) -> list[Block]:
        """Return the outermost blocks: the prologue and the body; with reductions also what follows the loop."""
        tables = [self.tables] if self.tables.statements else []
        return [self.prologue, self.body, *([self.join, self.epilogue] if self.reductions else []), *tables]


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
        only_converts_halves: it converts halves from and to f32, and computes nothing else with them (`lane_halves`).
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
    only_converts_halves: bool = False

    def roots(self) -> list[Block]:
        """Return the outermost blocks: the body, or those of each task; then the bodies of functions."""
        own = [block for task in self.tasks for block in task.roots()] if self.tasks else [self.body]
        return [*own, *(function.body for function in self.functions)]

    def statements(self) -> Iterator[Statement]:
        """Return all statements of the kernel and of its functions, in the order of the source."""
        return chain.from_iterable(map(walk, self.roots()))

    def structs(self) -> list[Struct]:
        """Return the struct types of the kernel, each after those of its members."""
        types: list[Type | None] = [array.element for array in self.arrays]
        types += [type for tree in self.trees.values() for type in tree.elements.values()]
        types += [*self.returns, *(temporary.type for temporary in self.temporaries)]
        types += [parameter.type for function in self.functions for parameter in function.parameters]
        types += [type for function in self.functions for type in function.results]
        types += [s.type for s in self.statements() if s.type.__class__ is Struct]
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
