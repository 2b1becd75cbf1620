"""Runs a search by 64 iterations without a `break`, and looks after each run whether it has found something.

    for j in range(n) {                         for j_first in range(0, n, 64) {
        if near(x[j]) {                             for j in range(j_first, min(j_first + 64, n)) {
            k = 0                                       if near(x[j]) { k = 0 }
            break                     ->            }
        }                                           if k == 0 { break }
    }                                           }

No compiler makes vectors of a loop with a `break`. The iterations that follow in a run store the same number, or none.
`lane_terms` calls it.
"""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Block, Remark, Statement, walk, walk_blocks
from ....ir.statements import Alloca, Break, Const, If, LocalLoad, LocalStore, LoopIndex, Operation, RangeFor, is_const
from ....ir.types import i32
from ...analysis.queries import LARGEST_END

RUN = 64
"""The iterations of a run: four vectors of 16 numbers. Searches of 1,000 take longer with 32, and as long with 128."""
REMARK = "in runs: a loop with a `break` has no vectors (lane_terms)"


def ending_of(loop: RangeFor) -> tuple[Block, LocalStore] | None:
    """Return the block that ends a search, and its only effect: a number in a variable that the loop does not read."""
    statements = list(walk(loop.body))
    found = [block for block in walk_blocks(loop.body) if any(isinstance(s, Break) for s in block)]
    stores = [s for s in statements if isinstance(s, LocalStore) and s.pointer not in statements]
    if len(found) != 1 or len(stores) != 1 or found[0] is loop.body or not _is_short_of_end(loop):
        return None
    store = stores[0]
    is_number = isinstance(store.pointer, Alloca) and store.pointer.type == i32 and isinstance(store.value, Const)
    is_last = isinstance(found[0].statements[-1], Break) and store in found[0].statements
    is_read = any(isinstance(s, LocalLoad) and s.pointer is store.pointer for s in statements)
    return (found[0], store) if is_number and is_last and not is_read else None


def _is_short_of_end(loop: RangeFor) -> bool:
    """Return whether the start of each run, and the one after the last, are numbers of 32 bits."""
    return loop.starts[0].type == i32 and _is_below(loop.ends[0], LARGEST_END - RUN)


def _is_below(end: Statement, most: int) -> bool:
    """Return whether an end is a number up to `most`, or the index of a loop up to such a number, or the next one."""
    match end:
        case Const(value=value):
            return int(value) <= most
        case LoopIndex(loop=RangeFor() as loop, axis=axis):
            return is_const(loop.steps[axis], 1) and _is_below(loop.ends[axis], most)
        case Operation(op="add", operands=[LoopIndex() as index, Const(value=1)]):
            return _is_below(index, most)
    return False


def search_in_runs(around: Block, loop: RangeFor, ending: tuple[Block, LocalStore]) -> None:
    """Replace a loop by one over runs."""
    last, store = ending
    last.statements = [s for s in last if not isinstance(s, Break)]
    builder = Builder(Block(), loop.location)
    runs = RangeFor(loop.starts, loop.ends, [builder.const(RUN)], [f"{loop.names[0]}_first"], location=loop.location)
    inner = Builder(runs.body, loop.location)
    first = inner.add(LoopIndex(runs, type=i32))
    end = inner.op("min", inner.op("add", first, inner.const(RUN)), loop.ends[0])
    loop.starts, loop.ends = [first], [end]
    inner.add(loop)
    assert isinstance(store.value, Const)
    is_found = inner.op("eq", inner.load(store.pointer), inner.const(store.value.value, i32))
    inner.add(If(is_found, Block([Break(location=loop.location)]), location=loop.location))
    runs.remarks = (Remark(REMARK, "above", loop.location),)
    around.replace(loop, [*builder.block, runs])
