"""If conversion on CUDA: computes tests that clear a flag without a branch for each of them.

    if hit {                                      if hit & apart(x, y, z) {
        if apart(x, y, z) { hit = false }    ->       hit = false
    }                                             }

    return a < -r || b > r               ->       return (a < -r) | (b > r)

Threads of a warp agree in few of such tests, so that each branch costs time and saves none: the voxels that 131,072
triangles touch, by ten separating axes, took an H200 .114 ms before and .058 after. Only of sums, products, comparisons
and selections, also those of functions, which load nothing from arrays.

Conditions of other branches stay: what they guard is more, and is left out more often. With `&` and `|` there, points
in polygons took 1.27 of the time, rays and triangles 1.16.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.constants import constant_range
from ...ir.functions import Call, CallResult, Function
from ...ir.nodes import Block, Statement, operands, walk_blocks
from ...ir.statements import (
    Alloca,
    ArgLoad,
    Cast,
    Const,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    RangeFor,
    Return,
)
from ...ir.tasks import Kernel
from ...ir.types import Tensor, count_scalars, u1
from ..analysis.queries import has_else
from ..analysis.speculation import may_be_in_vain
from ..context import PassContext
from .parts.comparisons import EAGER

MOST_OF_SIDE, MOST_OF_TEST = 12, 64
"""The most instructions of a side of `and` or `or`, and of a test that a flag would leave out."""
CHEAP = frozenset({
    "abs", "neg", "add", "sub", "mul", "min", "max", "lt", "le", "gt", "ge", "eq", "ne", "select", "dot", "cross",
    "logical_and", "logical_or", "logical_not", "bit_and", "bit_or",
})  # fmt: skip
"""Operations that take one or two instructions for each of their numbers."""
FREE = (Alloca, ArgLoad, CallResult, Const, LocalLoad, LocalStore, LoopIndex, MatrixInit, Return)
COSTLY = 1 << 16


def eager_tests(kernel: Kernel, context: PassContext) -> bool:
    """Convert such branches, and `and` and `or` of values."""
    capabilities = context.capabilities
    if not capabilities.has_warps or not capabilities.has_pointers:  # GLSL has no `&` of booleans
        return False
    changed, costs = False, _Costs()
    for block in [block for root in kernel.roots() for block in walk_blocks(root)]:
        joined = [_join(block, branch, costs) for branch in list(block) if isinstance(branch, If)]
        changed |= any(joined + [_make_eager(value, costs) for value in _booleans(block)])
    return changed


def _join(block: Block, branch: If, costs: _Costs) -> bool:
    """Make a branch on a flag with a test inside, which clears or sets it, one branch; return whether it is such."""
    flag = branch.condition
    *computed, test = branch.then.statements or [branch]
    if not isinstance(test, If) or has_else(branch) or has_else(test):
        return False
    if not isinstance(flag, LocalLoad) or not all(_sets(s, flag.pointer) for s in test.then):
        return False
    own: set[Statement] = {s for s in computed if isinstance(s, Alloca)}
    if not all(may_be_in_vain(s, own) for s in computed) or sum(map(costs.of, computed)) > MOST_OF_TEST:
        return False
    both = Operation("bit_and", [flag, test.condition], type=flag.type, location=branch.location)
    block.insert_before(branch, [*computed, both])
    if isinstance(test.condition, Operation) and test.condition.op in EAGER:
        _make_eager(test.condition, costs)
    branch.condition, branch.then = both, test.then
    return True


def _sets(statement: Statement, flag: Statement) -> bool:
    """Return whether a statement sets a flag, or is what it is set to."""
    if isinstance(statement, LocalStore):
        return statement.pointer is flag and isinstance(flag, Alloca)
    return isinstance(statement, Const)


def _booleans(block: Block) -> Iterator[Operation]:
    """Yield `and` and `or` whose values a block stores in variables or returns."""
    for statement in block:
        values = statement.values if isinstance(statement, Return) else operands(statement)
        if isinstance(statement, (LocalStore, Return)):
            yield from (v for v in values if isinstance(v, Operation) and v.op in EAGER and v.type == u1)


def _make_eager(value: Operation, costs: _Costs) -> bool:
    """Let `and` or `or` compute both sides if they cost little; return whether it does."""
    if any(costs.of_tree(side) > MOST_OF_SIDE for side in value.operands):
        return False
    value.op = EAGER[value.op]
    return True


def _is_inside(index: Statement, extent: int) -> bool:
    """Return whether an index is a number, or one of a loop whose indices are all of a matrix."""
    if not isinstance(index, LoopIndex) or not isinstance(index.loop, RangeFor):
        return isinstance(index, Const)
    indices = constant_range(index.loop, index.axis)
    return indices is not None and all(0 <= number < extent for number in (*indices[:1], *indices[-1:]))


class _Costs:
    """How many instructions statements take, about; `COSTLY`: what should not be computed in vain."""

    def __init__(self) -> None:
        self.of_functions: dict[Function, int] = {}

    def of(self, statement: Statement) -> int:
        """Return the instructions of a statement."""
        if isinstance(statement, FREE):
            return 0
        if isinstance(statement, (MatrixElement, MatrixPtr)):  # whose index the flag need not keep inside
            kind = (statement.value if isinstance(statement, MatrixElement) else statement.origin).type
            is_inside = isinstance(kind, Tensor) and all(map(_is_inside, statement.indices, kind.shape))
            return 0 if is_inside else COSTLY
        if isinstance(statement, Call):
            return self._of_function(statement.function)
        if isinstance(statement, Cast) or (isinstance(statement, Operation) and statement.op in CHEAP):
            types = [value.type for value in (statement, *operands(statement)) if value.type is not None]
            return max(map(count_scalars, types))
        return COSTLY

    def of_tree(self, value: Statement) -> int:
        """Return the instructions of a value and of what it is computed from, unless that has a name."""
        return 0 if value.name is not None else self.of(value) + sum(map(self.of_tree, operands(value)))

    def _of_function(self, function: Function) -> int:
        if function not in self.of_functions:
            self.of_functions[function] = COSTLY  # while it is counted: a function that calls itself
            self.of_functions[function] = sum(COSTLY if s.BLOCKS else self.of(s) for s in function.body)
        return self.of_functions[function]
