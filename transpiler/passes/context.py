"""What every pass receives with the kernel: options, capabilities, and sinks for records and warnings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import field
from typing import Any, TypeVar

from ..errors import SourceLocation
from ..ir.nodes import Block
from ..ir.statements import Array
from ..ir.tasks import Kernel, Kinds, Task, arrays_in, blocks_in, kinds_in, scalars_in
from ..ir.types import Scalar
from ..ir.verify import Stage
from ..lazy_dataclasses import dataclass
from ..options import Capabilities, CompileOptions

Found = TypeVar("Found")
Pass = Callable[[Kernel, "PassContext"], bool]
"""Changes a kernel in place and returns whether it changed anything."""


@dataclass(frozen=True, slots=True)
class ElementAccess:
    """Elements of an array that a kernel or its gradient accesses, for the tape.

    Attributes:
        binding: of the array.
        name: of the array in Python.
        purpose: "stored" by the kernel, "needed" by its gradient, or "replayed": the gradient needs the values from
            before the launch.
        indices: by axis: a number, (position of an argument, number to add), or None for an index of any value.
        location: of the statement.
    """

    binding: int
    name: str
    purpose: str
    indices: tuple[int | tuple[int, int] | None, ...]
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class Flow:
    """Elements of one array on which a kernel makes those of another depend, where one of both has no gradient.

    Attributes:
        source, target: bindings of the arrays, None: an array that has a gradient.
        name: in Python, of the one without a gradient; of both, of the source.
        location: of the statement that reads the source; of one that stores, if the source has a gradient.
    """

    source: int | None
    target: int | None
    name: str
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class SummedGradient:
    """A gradient whose elements are sums over iterations that access another one, which must be other memory.

    Attributes:
        binding, other: of the arrays of both.
        location: of the statement whose adjoint is added.
    """

    binding: int
    other: int
    location: SourceLocation


@dataclass(frozen=True, slots=True)
class PassRun:
    """One run of a pass. start: by `perf_counter` [s]."""

    name: str
    start: float
    seconds: float
    has_changed: bool


@dataclass(slots=True)
class PassContext:
    """The state that the passes of one compilation share.

    Args:
        record: called after each pass that changed the kernel, with its stage and name.
        warnings: messages for the user.
        accesses, flows: of a gradient's kernel, what a tape has to know.
        summed: of a gradient's kernel, which ndarrays have to be different ones.
        times: seconds in each pass, summed over its runs, in order of the first run.
        runs: all runs of passes, in order.
        changes: how many runs of passes that are not required have changed the kernel.
        kinds: classes and operations of the kernel's statements, and perhaps more; None if a pass has changed it since.
        facts: what passes have found out about the kernel; dropped when a pass changes it.
        left: set by a pass that knows which steps of the cleanup its change may have left something to; None: any.
    """

    options: CompileOptions
    capabilities: Capabilities
    record: Callable[[Stage, str, Kernel], None] | None = None
    warnings: list[str] = field(default_factory=list)
    accesses: list[ElementAccess] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    summed: list[SummedGradient] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    runs: list[PassRun] = field(default_factory=list)
    changes: int = 0
    kinds: Kinds | None = None
    facts: dict[Hashable, Any] = field(default_factory=dict)
    left: frozenset[str] | None = None

    def has_changed(self, name: str) -> bool:
        """Return whether a pass has changed the kernel."""
        return any(run.has_changed for run in self.runs if run.name == name)

    def may_have(self, kernel: Kernel, kinds: Iterable[object]) -> bool:
        """Return whether a kernel may contain statements of one of these classes, or one of these operations."""
        if self.kinds is None:
            self.kinds = kinds_in(kernel, self.blocks(kernel))
        return not self.kinds.isdisjoint(kinds)

    def may_have_all(self, kernel: Kernel, kinds: Iterable[object]) -> bool:
        """Return whether a kernel may contain statements of all these classes, and all these operations."""
        return all(self.may_have(kernel, (kind,)) for kind in kinds)

    def blocks(self, kernel: Kernel) -> list[Block]:
        """Return all blocks of a kernel, found once until a pass changes it."""
        return self.fact(blocks_in, kernel)

    def scalars(self, kernel: Kernel) -> set[Scalar]:
        """Return `scalars_in` of all blocks of a kernel, likewise."""
        if scalars_in not in self.facts:
            self.facts[scalars_in] = scalars_in(self.blocks(kernel))
        found: set[Scalar] = self.facts[scalars_in]
        return found

    def arrays(self, kernel: Kernel) -> set[Array]:
        """Return `arrays_in` of all blocks of a kernel, likewise."""
        if arrays_in not in self.facts:
            self.facts[arrays_in] = arrays_in(self.blocks(kernel))
        found: set[Array] = self.facts[arrays_in]
        return found

    def choose_block_dim(self, task: Task, threads: int) -> None:
        """Give a task blocks of so many threads, or of as many as the device has, unless the program has chosen."""
        if task.loop is not None and task.loop.block_dim is None and not self.options.has_own_block_dim:
            task.block_dim = min(threads, self.capabilities.max_block_dim)

    def forget(self) -> None:
        """Forget what is known of a kernel, since the pass that runs has changed it and goes on."""
        self.facts.clear()
        self.kinds = None

    def fact(self, find: Callable[..., Found], *given: Hashable) -> Found:
        """Return `find(*given)`, found once until a pass changes the kernel."""
        key = (find, *given)
        if key not in self.facts:
            self.facts[key] = find(*given)
        found: Found = self.facts[key]
        return found
