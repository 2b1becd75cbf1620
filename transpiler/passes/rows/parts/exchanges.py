"""Loops in which the threads of a row exchange what they have, at distances of 1, 2, 4 and so on.

    for step in 0 .. 5 { s += s of lane ^ (1 << step) }

Afterwards all threads have the same. In: a builder and the number of threads. Out: the loop, and the distance in it.
"""

from __future__ import annotations

from ....ir.builder import Builder
from ....ir.nodes import Statement
from ....ir.statements import LoopIndex, RangeFor
from ....ir.types import i32


def steps_of(lanes: int) -> int:
    """Return in how many steps all of the threads of a row, a power of two, have exchanged what they have."""
    return lanes.bit_length() - 1


def add_steps(builder: Builder, lanes: int) -> tuple[RangeFor, Statement]:
    """Add a loop over the steps; return it and the distance of the threads, with which its body starts."""
    zero, one, count = (builder.const(number) for number in (0, 1, steps_of(lanes)))
    steps = builder.add(RangeFor([zero], [count], [one], ["step"]))
    with builder.into(steps.body):
        step = builder.add(LoopIndex(steps, 0, type=i32, name="step"))
        distance = builder.op("shl", builder.const(1), step)
    distance.hint = "distance"
    return steps, distance
