"""Names the ends of loops, without which gcc 12 makes no vectors of some."""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Block, clone
from ....ir.statements import Alloca, ArgLoad, ArrayShape, LocalStore, RangeFor


def name_end(block: Block, loop: RangeFor) -> None:
    """Load the end of a loop once: gcc 12 makes vectors of a loop with a branch only if its end is no member."""
    if len(loop.ends) > 1 or not isinstance(loop.ends[0], (ArgLoad, ArrayShape)):
        return
    builder = Builder(Block(), loop.location)
    end = builder.add(Alloca(type=loop.ends[0].type, hint=f"end_{loop.names[0]}"))
    builder.add(LocalStore(end, builder.add(clone(loop.ends[0], {}))))
    loop.ends = [builder.load(end)]
    block.insert_before(loop, builder.block)
