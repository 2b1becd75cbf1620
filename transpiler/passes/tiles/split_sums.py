"""Splits long sums of few elements, so that more blocks of a GPU compute them: a task more adds what they have.

    for i, j in c {                                  for part, i, j in 16, n, m {
        s = 0.0                                          s = 0.0
        for k in 4096 { s += a[k, i] * b[k, j] }         for q in 256 { k = part * 256 + q, s += a[k, i] * b[k, j] }
        c[i, j] = s                           ->         s_parts[part, i, j] = s
    }                                                }
                                                     for i, j in c {
                                                         s = 0.0
                                                         for part in 16 { s += s_parts[part, i, j] }
                                                         c[i, j] = s
                                                     }

A covariance of 64 columns is one tile of `register_tiles`, the gradient of a convolution by its weights are a few: one
multiprocessor of 132 would compute it. The parts are added in their order, so that results do not change from run to
run. The order is not that of the source, so that sums of floats need `fast_math`.
"""

from __future__ import annotations

from math import prod

from ...ir.builder import Builder
from ...ir.nodes import Block, Remark, Statement, operands, reads, walk
from ...ir.statements import (
    Alloca,
    GlobalLoad,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
    RangeFor,
    Temporary,
    is_const,
    repeats,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import Scalar, Tensor, i32
from ...lazy_dataclasses import dataclass
from ..analysis.aliasing import may_alias, written_objects
from ..analysis.queries import base_array, count_along, is_index_of, names_of
from ..context import PassContext
from ..rewrite import Rewriter
from ..tasks.parts.copies import put_in_place
from .parts.arranged_loops import Arrangement, arrangements_of
from .parts.register_plan import SMALL, plan_of, short_shape
from .parts.sided_factors import arranged_copy
from .parts.tasks_behind import place_of_iteration
from .parts.tiled_loops import add_bound, take_names

FEW_TILES, BLOCKS = 66, 264
"""Tiles of 64 x 64 that keep at most half of the multiprocessors busy, and how many blocks there are to be."""
LONG, SHORTEST_PART = 1024, 128
"""The shortest sums that are split, and the shortest parts."""
LOADS = 16
"""Parts that a thread loads at once."""
MOST_NUMBERS = 1 << 22
"""Numbers of all parts."""


def split_sums(kernel: Kernel, context: PassContext) -> bool:
    """Split such sums of the loops of GPUs."""
    capabilities, options = context.capabilities, context.options
    if not capabilities.has_shared_memory or not capabilities.has_warps:
        return False
    if options.has_own_block_dim or not options.make_block_local:
        return False
    changed = False
    for task in list(kernel.tasks):
        for arrangement in arrangements_of(task):
            sums = _sums_of(task, arrangement, options.fast_math)
            trial = None if sums is None else _partial(arranged_copy(task, arrangement, options.fast_math), sums, None)
            if sums is None or trial is None or not _is_whole(trial) or plan_of(trial, capabilities) is None:
                continue
            memory = Temporary(f"{sums.name}_parts", Tensor((sums.parts * prod(sums.counts),), sums.type))
            kernel.temporaries.append(memory)
            first, second = (arranged_copy(task, arrangement, options.fast_math) for _ in range(2))
            _partial(first, sums, memory)
            _total(second, sums, memory)
            put_in_place(kernel, task, [first, second])
            changed = True
            break
    return changed


@dataclass(eq=False, slots=True)
class _Sums:
    """Sums to be split. counts: of the iterations along the axes. length: of a part. name, type: of the variable."""

    counts: list[int]
    parts: int
    length: int
    name: str
    type: Scalar


def _serial_of(task: Task) -> RangeFor:
    (serial,) = (s for s in task.body.statements if repeats(s))
    assert isinstance(serial, RangeFor)
    return serial


def _sums_of(task: Task, arrangement: Arrangement, is_fast: bool) -> _Sums | None:
    """Return how the sums of a task are split, None if they are not."""
    if task.when or task.unless or task.reductions or task.private or task.block_sums:
        return None
    trial = arranged_copy(task, arrangement, is_fast)
    loop, serial = trial.loop, _serial_of(trial)
    assert loop is not None
    counts = [count_along(loop, axis) for axis in range(len(loop.starts))]
    length, variable = count_along(serial, 0) if len(serial.starts) == 1 else None, _added_to(serial)
    if variable is None or length is None or length < LONG or not is_const(serial.starts[0], 0):
        return None
    if None in counts or not is_const(serial.steps[0], 1) or variable not in trial.body.statements:
        return None
    kind = variable.type
    if not isinstance(kind, Scalar) or kind.bits < 32 or (kind.kind == "float" and not is_fast):
        return None
    before = Block(trial.body.statements[: trial.body.statements.index(serial)])
    stored, loaded = written_objects(before), _loaded(serial)
    if loaded.intersection(stored) or any(may_alias(one) and may_alias(other) for one in stored for other in loaded):
        return None
    known = [count or 0 for count in counts]
    *batch, rows, columns = known
    tiles = prod(batch) * (short_shape(rows, columns) or SMALL).tiles(rows, columns)
    parts = _parts_of(length, -(-BLOCKS // max(tiles, 1))) if 0 < tiles <= FEW_TILES else 0
    if not parts or parts * prod(known) > MOST_NUMBERS:
        return None
    return _Sums(known, parts, length // parts, variable.name or "sum", kind)


def _loaded(serial: RangeFor) -> set[object]:
    return {base_array(s.pointer) for s in walk(serial.body) if isinstance(s, GlobalLoad)}


def _parts_of(length: int, wanted: int) -> int:
    """Return into how many parts a sum is split, so many at most that there are whole tiles in each; 0 for none."""
    most = min(wanted, length // SHORTEST_PART)
    found = (n for n in range(most, 3, -1) if length % n == 0 and length // n % SMALL.depth == 0)
    return next(found, 0)


def _added_to(serial: RangeFor) -> Alloca | None:
    """Return the variable to which a loop adds, None if it changes others, or in another way."""
    stores = [s for s in serial.body if isinstance(s, LocalStore)]
    if len(stores) != 1 or not isinstance(stores[0].pointer, Alloca):
        return None
    variable, value = stores[0].pointer, stores[0].value
    uses = [s for s in walk(serial.body) if variable in operands(s)]
    if not isinstance(value, Operation) or value.op not in ("add", "sub") or len(uses) != 2:
        return None
    old = [o for o in value.operands[: 1 if value.op == "sub" else 2] if isinstance(o, LocalLoad) and o in uses]
    users = [s for s in walk(serial.body) for value in reads(s) if value in old]
    return variable if len(old) == 1 and len(users) == 1 else None


def _partial(task: Task, sums: _Sums, memory: Temporary | None) -> Task:
    """Let a task compute the parts alone, and store them to some memory."""
    loop, serial, names = task.loop, _serial_of(task), take_names(task)
    assert loop is not None
    variable = _added_to(serial)
    assert variable is not None
    for statement in walk(task.body):
        if is_index_of(statement, loop):
            statement.axis += 1
    for values, bound in zip((loop.starts, loop.ends, loop.steps), (0, sums.parts, 1), strict=True):
        values.insert(0, add_bound(task, bound))
    part_name = "part" if "part" not in names else "part_"
    loop.names = [part_name, *names]
    body = task.body.statements
    builder = Builder(Block(), serial.location)
    part = builder.add(LoopIndex(loop, 0, type=i32))
    first = builder.op("mul", part, builder.const(sums.length))
    first.hint = f"{names_of(serial)[0]}_from"
    values_before = [s for s in body[: body.index(serial)] if not isinstance(s, LocalStore)]
    builder.block.statements += [s for s in values_before if s is variable or _is_value(s)]
    builder.store(variable, builder.const(0, sums.type))
    serial.ends = [builder.const(sums.length)]
    _count_from(serial, first)
    builder.add(serial)
    if memory is not None:
        value = builder.load(variable)
        builder.store(place_of_iteration(builder, loop, memory, sums.counts, part), value)
    task.body.statements[:] = builder.block.statements
    task.launches = f"{sums.parts} parts of each sum (split_sums)"
    return task


def _is_whole(task: Task) -> bool:
    """Return whether a task computes all that it uses."""
    known = set(walk(task.body))
    return all(known.issuperset(reads(statement)) for statement in known)


def _is_value(statement: Statement) -> bool:
    """Return whether a statement may be computed again where the sums are alone."""
    return not statement.EFFECT and not statement.BLOCKS and not isinstance(statement, (Alloca, LocalLoad))


def _count_from(serial: RangeFor, first: Statement) -> None:
    """Let a serial loop count from another index on, where it counts from 0."""
    builder = Builder(Block(), serial.location)
    inside = builder.add(LoopIndex(serial, type=i32))
    index = builder.op("add", first, inside)
    index.name = names_of(serial)[0]

    def rule(rewriter: Rewriter, value: Statement) -> Statement | None:
        return index if is_index_of(value, serial) else None

    Rewriter({LoopIndex: rule}).block(serial.body)
    serial.body.statements[:0] = builder.block.statements
    serial.names = [f"{names_of(serial)[0]}_in_part"]


def _total(task: Task, sums: _Sums, memory: Temporary) -> None:
    """Let a task add up parts in place of its serial loop."""
    loop, serial = task.loop, _serial_of(task)
    assert loop is not None
    variable = _added_to(serial)
    assert variable is not None
    builder = Builder(Block(), serial.location)
    start, end, step = (builder.const(bound) for bound in (0, sums.parts, 1))
    parts = builder.add(RangeFor([start], [end], [step], ["part"]))
    parts.unroll_count = min(sums.parts, LOADS)
    note = f"{sums.parts} parts of the sum, by more blocks than there are elements for (split_sums)"
    parts.remarks = (Remark(note, "above", serial.location),)
    with builder.into(parts.body):
        part = builder.add(LoopIndex(parts, type=i32))
        added = builder.load(place_of_iteration(builder, loop, memory, sums.counts, part))
        builder.store(variable, builder.op("add", builder.load(variable), added))
    task.body.replace(serial, builder.block)
