"""Register budget: leaves registers for loads whose places are loaded, so that a thread waits for many of them at once.

    __launch_bounds__(BLOCK)        ->        __launch_bounds__(BLOCK, 512 / BLOCK)

ptxas chooses how many registers a thread has by how many threads then run on an SM. It gives 40 to an iteration that
gathers 27 vectors from a grid, and lets it load, wait and add, again and again: 2^21 particles took an H200 .484 ms,
with up to 128 registers .320 (64: .336), and 9 vectors in two dimensions .080 and .075. Neighbours, whose loads a warp
shares, come soon enough: 19 of them took 1.014 of the time. Nor is it for iterations with long serial loops, which
compute while others wait.
"""

from __future__ import annotations

from ...ir.functions import Call, Function, reachable
from ...ir.nodes import Block, Statement, blocks, operands, walk
from ...ir.statements import ArgLoad, GlobalLoad, LocalStore, RangeFor, base_pointer, repeats
from ...ir.tasks import Kernel
from ...ir.types import count_scalars
from ..analysis.queries import trip_count
from ..context import PassContext

FEWEST = 16
"""The fewest numbers that an iteration gathers."""
LONGEST = 32
"""The most iterations of a serial loop that compilers unroll."""
THREADS = 512
"""The threads of an SM, which has 65,536 registers."""


def loads_in_flight(kernel: Kernel, context: PassContext) -> bool:
    """Choose `Task.threads_of_sm` of such tasks in CUDA."""
    if not context.capabilities.has_launch_bounds:
        return False
    changed = False
    for task in kernel.tasks:
        if task.loop is None or task.reductions or task.block_sums or task.tile:
            continue
        if not any(map(_is_long, reachable(task.body))) and _Gathers().count(task.body) >= FEWEST:
            task.threads_of_sm, task.bounded_by = THREADS, "loads_in_flight"
            changed = True
    return changed


def _is_long(statement: Statement) -> bool:
    """Return whether a statement is a loop with many iterations, or nobody knows how many."""
    return repeats(statement) and not (isinstance(statement, RangeFor) and 0 < (trip_count(statement) or 0) <= LONGEST)


class _Gathers:
    """Counts the numbers that are loaded at places which depend on other loads; `loaded` are values that do."""

    def __init__(self) -> None:
        self.loaded: set[Statement] = set()
        self.of_functions: dict[Function, int] = {}

    def count(self, block: Block) -> int:
        """Return how many there are in a block."""
        return sum(map(self.count_of, block))

    def count_of(self, statement: Statement) -> int:
        """Return how many there are in a statement."""
        found = sum(map(self.count, blocks(statement)))
        if isinstance(statement, RangeFor):
            found *= trip_count(statement) or 0
        used = {*operands(statement), *(block.result for block in blocks(statement))}
        if isinstance(statement, LocalStore):
            used.add(base_pointer(statement.pointer))  # a part of its variable
        is_loaded = not self.loaded.isdisjoint(used)
        if isinstance(statement, GlobalLoad):
            found += count_scalars(statement.type) if is_loaded and statement.type is not None else 0
        elif isinstance(statement, Call):
            found += self._of_function(statement.function) if is_loaded else 0
        if is_loaded or isinstance(statement, GlobalLoad):
            self.loaded.add(base_pointer(statement.pointer) if isinstance(statement, LocalStore) else statement)
        return found

    def _of_function(self, function: Function) -> int:
        """Return how many there are in a function, if what it is given depends on loads."""
        if function not in self.of_functions:
            self.of_functions[function] = 0  # a function that calls itself
            self.loaded.update(s for s in walk(function.body) if isinstance(s, ArgLoad))
            self.of_functions[function] = self.count(function.body)
        return self.of_functions[function]
