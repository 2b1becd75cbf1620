"""Products of matrices of whose rows an iteration needs all elements, one after another, by tiles.

    for t in x {                                     for t_tile step 64, thread in 0 .. 128 {
        best = -inf                                      t = t_tile + thread
        for e in m {                                     best = -inf
            s = 0.0                                      for e_tile in 0 .. m step 64 {
            for d in n { s += x[t, d] * w[d, e] }            s_tile = products of 64 rows by 64 columns
            if s > best { best = s, at = e }     ->          if thread < 64 {
        }                                                        for e in e_tile .. e_tile + 64 {
        y[t] = at                                                    s = s_tile[thread, e - e_tile]
    }                                                                if s > best { best = s, at = e }
                                                                 }
                                                             }
                                                         }
                                                         if thread < 64 { y[t] = at }
                                                     }

So are the nearest of some vectors found, as by k-means, and the best of experts. A thread alone loads an element of `w`
for each multiplication, and one of `x`, of a row that is far from those of its neighbours: 8,192 rows of 512, by 64
columns, took an H200 .52 ms. The products are those of `register_tiles`, in its order. The loop over the columns may
also store, and read what earlier iterations have computed, but no element that the products load is stored in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, operands, reads, walk
from ...ir.statements import (
    Alloca,
    Array,
    Const,
    GlobalLoad,
    GlobalPtr,
    If,
    LocalLoad,
    LocalStore,
    LoopIndex,
    RangeFor,
)
from ...ir.tasks import Apart, AtLeast, Condition, Kernel, Length, Task
from ...ir.threads import Barrier
from ...ir.types import Scalar, i32
from ...options import Capabilities
from ..analysis.aliasing import written_objects
from ..analysis.loops.synchronizable import may_synchronize
from ..analysis.queries import count_along, given_length, is_index_of, long_enough, names_of, trip_count
from ..context import PassContext
from ..rewrite import Rewriter
from ..tasks.parts.copies import put_in_place, split
from .parts.arranged_loops import VALUES, Arrangement, arrange_axes, arrangements_of
from .parts.inner_columns import products_of, rows_of
from .parts.register_plan import THIN, Plan, Shape, plan_of, small_shape
from .parts.sided_factors import arranged_copy, prepare_serial
from .parts.tasks_behind import with_task_behind
from .parts.tiled_loops import new_shared, replace_indices
from .parts.tiling import Tiling

FEWEST_ROWS = 1024
"""Rows that are worth it."""


def product_rows(kernel: Kernel, context: PassContext) -> bool:
    """Give such loops of GPUs tiles."""
    capabilities, options = context.capabilities, context.options
    if not capabilities.has_shared_memory or capabilities.max_block_dim < small_shape(capabilities).threads:
        return False
    if options.has_own_block_dim or not options.make_block_local:
        return False
    changed = False
    for task in list(kernel.tasks):
        found = _plan_of(task, capabilities, options.fast_math)
        if found is None and (apart := with_task_behind(task)) is not None:
            first, second, memory = apart
            found = _plan_of(first, capabilities, options.fast_math)
            if found is not None:
                kernel.temporaries += memory
                put_in_place(kernel, task, [first, second])
                task = first
        if found is not None:
            arrangement, plan = found
            conditions = _conditions(task, plan)
            if _overlap(task, conditions):
                continue
            arrange_axes(task, arrangement[:-1])
            if conditions:
                _split(kernel, task, conditions)
            _RowTiling(kernel, task, context).run()
            changed = True
    return changed


# --- which loops ------------------------------------------------------------------------------------------------------


def _plan_of(task: Task, capabilities: Capabilities, is_fast: bool) -> tuple[Arrangement, Plan] | None:
    """Return how the axes of a task are to be arranged for its rows to have tiles, and the plan for the products alone.

    None if they cannot, or if that is not worth it.
    """
    rows, loop = rows_of(task), task.loop
    if rows is None or loop is None or not may_synchronize(task):
        return None
    if not rows.is_alone or len(rows.accumulators) != 1:
        return None
    count, columns = trip_count(loop), count_along(rows.columns, 0)
    if (count is not None and count < FEWEST_ROWS) or (columns is not None and columns < THIN):
        return None
    if rows.loaded.intersection(written_objects(task.body)) or not _may_cross(task, rows.columns):
        return None
    products = products_of(task)
    for arrangement in [] if products is None else arrangements_of(products):
        assert products is not None
        if arrangement[-1] == (len(loop.starts),):
            plan = plan_of(arranged_copy(products, arrangement, is_fast), capabilities)
            if plan is None or (count_along(plan.serial, 0) is None and plan.serial_end is None):
                continue
            if _bytes_of(plan, rows.accumulators[0], capabilities) <= capabilities.max_shared_bytes:
                return arrangement, plan
    return None


def _shape_of(plan: Plan, capabilities: Capabilities) -> Shape:
    """Return what a block computes: tiles that are no larger than the small ones."""
    return min(plan.shape, small_shape(capabilities), key=lambda shape: shape.extent)


def _bytes_of(plan: Plan, total: Alloca, capabilities: Capabilities) -> int:
    """Return how much shared memory a block has: for what it combines, and for its products."""
    shape = _shape_of(plan, capabilities)
    assert total.type is not None
    return plan.bytes_of(shape) + shape.extent**2 * total.type.size_bytes


# --- the task ---------------------------------------------------------------------------------------------------------


def _conditions(task: Task, plan: Plan) -> list[Condition]:
    """Return what a launch has to find out for the tiles to be right and worth it. plan: of the products alone."""
    rows, loop, found = rows_of(task), task.loop, list[Condition]()
    assert rows is not None and loop is not None
    if trip_count(loop) is None:
        found.append(AtLeast(tuple(map(Length, range(len(loop.starts)))), FEWEST_ROWS))
    found += [*long_enough(given_length(rows.columns.ends[0]), THIN), *plan.is_long]
    before = task.body.statements[: task.body.statements.index(rows.columns) + 1]
    stored = [array for array in written_objects(Block(before)) if isinstance(array, Array) and array.may_alias]
    loaded = sorted((array for array in rows.loaded if array.may_alias), key=lambda array: array.binding)
    return [*found, *(Apart(first, second) for first in stored for second in loaded)]


def _overlap(task: Task, conditions: Sequence[Condition]) -> bool:
    """Return whether a launch starts a task only if ndarrays overlap that must not."""
    pairs = [{c.first, c.second} for choice in task.unless for c in choice.conditions if isinstance(c, Apart)]
    return any(isinstance(c, Apart) and {c.first, c.second} in pairs for c in conditions)


def _split(kernel: Kernel, task: Task, conditions: Sequence[Condition]) -> None:
    """Leave a task to launches for which conditions hold."""
    few = split(task, *conditions)
    few.launches = f"for fewer than {FEWEST_ROWS:,} rows, or {THIN} columns"
    task.launches = f"for {FEWEST_ROWS:,} rows of {THIN} columns and more"
    if any(isinstance(condition, Apart) for condition in conditions):
        few.launches += ", or if ndarrays overlap"
    put_in_place(kernel, task, [few, task])


def _of_own_row(before: Sequence[Statement]) -> list[Statement]:
    """Return which statements before the columns are for the threads that have a row: not values, and no variables."""
    own: list[Statement] = []
    for statement in before:
        is_start = isinstance(statement, LocalStore) and isinstance(statement.value, Const)
        is_value = isinstance(statement, (*VALUES, GlobalPtr, Alloca)) and not any(
            o in own for o in operands(statement)
        )
        if not is_start and not is_value:
            own.append(statement)
    return own


def _may_cross(task: Task, columns: RangeFor) -> bool:
    """Return whether what a row computes before its columns, and uses later, are values that a variable may have."""
    position = task.body.statements.index(columns)
    own, later = _of_own_row(task.body.statements[:position]), task.body.statements[position:]
    used = {value for statement in walk(Block(later)) for value in reads(statement)}
    return all(isinstance(s, (GlobalLoad, LocalLoad, *VALUES)) for s in own if s in used)


def _load_at_start(block: Block, variables: Mapping[Statement, Alloca]) -> None:
    """Let a block use variables in place of values, which it loads first."""
    used = {value for statement in walk(block) for value in reads(statement)}
    loads = {v: LocalLoad(one, type=one.type, location=v.location) for v, one in variables.items() if v in used}
    if loads:
        rewriter = Rewriter({})
        rewriter.mapping.update(loads)
        rewriter.block(block)
        block.statements[:0] = loads.values()


class _RowTiling:
    """Makes a task run by tiles, of whose rows a thread each runs what the iteration does with them.

    Attributes:
        task: the task of the products, which takes the place of `old`.
        row: the axis of the rows.
    """

    def __init__(self, kernel: Kernel, old: Task, context: PassContext) -> None:
        capabilities, is_fast = context.capabilities, context.options.fast_math
        rows, products = rows_of(old), products_of(old)
        assert rows is not None and products is not None and old.loop is not None
        self.kernel, self.old, self.task, self.rows = kernel, old, products, rows
        prepare_serial(products, is_fast)
        plan = plan_of(products, capabilities)
        assert plan is not None
        plan.shape = _shape_of(plan, capabilities)
        self.plan, self.row, self.extent = plan, plan.row, plan.shape.extent
        names = names_of(old.loop)
        self.tiling = Tiling(kernel, products, plan, has_all_columns=True)
        self.builder = builder = self.tiling.builder
        self.index = builder.op("add", self.tiling.first[self.row], self.tiling.thread)
        self.index.name = names[self.row]
        limit, thread = self.tiling.limit[self.row], self.tiling.thread
        is_own = builder.op("lt", thread, builder.const(self.extent))
        self.is_own = builder.all_of([is_own, *([] if limit is None else [builder.op("lt", thread, limit)])])

    def run(self) -> None:
        """Replace the task."""
        old, products, columns = self.old, self.task, self.rows.columns
        assert old.loop is not None and products.loop is not None
        replace_indices(old.body, old.loop, {self.row: self.index})
        for statement in walk(old.body):
            if is_index_of(statement, old.loop):
                statement.loop = products.loop
        statements = old.body.statements
        position = statements.index(columns)
        before, after = statements[:position], statements[position + 1 :]
        crossing = self._add_before(before, [columns, *after])
        self._add_columns()
        _load_at_start(columns.body, crossing)
        if after:
            block = self._if_own()
            block.statements += after
            _load_at_start(block, crossing)
        products.body.statements[:] = self.builder.block.statements
        put_in_place(self.kernel, old, [products])

    def _if_own(self) -> Block:
        """Add a condition that holds for the threads that have a row of their own."""
        assert self.is_own is not None
        return self.builder.add(If(self.is_own)).then

    def _add_before(self, before: Sequence[Statement], later: Sequence[Statement]) -> dict[Statement, Alloca]:
        """Add what an iteration does before the columns; return variables for values that are used later."""
        own = _of_own_row(before)
        everywhere = [s for s in before if s not in own]
        self.builder.block.statements += everywhere
        used = {value for s in walk(Block(list(later))) for value in reads(s)}
        crossing = {s: self.builder.add(Alloca(type=s.type, name=s.name, hint=s.hint)) for s in own if s in used}
        if own:
            block = self._if_own()
            block.statements += own
            with self.builder.into(block):
                for value, variable in crossing.items():
                    self.builder.store(variable, value)
        return crossing

    def _add_columns(self) -> None:
        """Add the loop over tiles of columns: the products, and what a row does with each of them."""
        builder, tiling, plan, columns = self.builder, self.tiling, self.plan, self.rows.columns
        (name,) = names_of(columns)
        end = builder.again(plan.ends[plan.column])
        size = builder.const(self.extent)
        builder.location = columns.location
        loop = builder.add(RangeFor([builder.again(columns.starts[0])], [end], [size], [f"{name}_tile"]))
        note = f"{self.extent} x {self.extent} products at a time, then a thread has those of a row (product_rows)"
        loop.remarks = (Remark(note, "above", columns.location),)
        (old,), (variable,) = self.rows.accumulators, plan.variables
        assert isinstance(old.type, Scalar)
        tile = new_shared(self.kernel, f"{variable.name or 's'}_tile", old.type, (self.extent, self.extent))
        with builder.into(loop.body):
            first = builder.add(LoopIndex(loop, type=i32))
            tiling.begin(plan.column, first)
            tiling.add_variables()
            tiling.add_products()
            tiling.store_elements(variable, tile)
            builder.add(Barrier("block"))
            with builder.into(self._if_own()):
                columns.starts, columns.steps = [first], [builder.const(1)]
                columns.ends = [builder.op("add", first, size)]
                if tiling.limit[plan.column] is not None:
                    columns.ends = [builder.op("min", columns.ends[0], end)]
                builder.add(columns)
        self._use_tile(tile, first, old)

    def _use_tile(self, tile: Array, first: Statement, variable: Alloca) -> None:
        """Let an iteration of the loop over columns have its sum from the tile that begins with the column `first`."""
        rows, columns = self.rows, self.rows.columns
        builder = Builder(Block(), rows.sums.location)
        column = builder.op("sub", builder.add(LoopIndex(columns, type=i32)), first)
        pointer = builder.add(GlobalPtr(tile, [self.tiling.thread, column], type=tile.element))
        builder.store(variable, builder.load(pointer))
        gone = {s for s in rows.own if isinstance(s, LocalStore)}
        position = columns.body.statements.index(rows.sums)
        others = [s for s in columns.body.statements[:position] if s not in gone]
        columns.body.statements[: position + 1] = [*others, *builder.block.statements]
