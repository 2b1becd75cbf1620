"""Loops in which the threads of a row exchange what they have, at distances of 1, 2, 4 and so on.

    for step in 0 .. 5 { s += s of lane ^ (1 << step) }

Afterwards all threads have the same. In: a builder and the number of threads. Out: the loop, and the distance in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....ir.builder import Builder
from ....ir.nodes import Statement
from ....ir.statements import Alloca, Array, GlobalPtr, LoopIndex, RangeFor
from ....ir.tasks import Kernel
from ....ir.threads import Barrier
from ....ir.types import i32
from ...tiles.parts.tiled_loops import new_shared


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


def shared_for_subgroups(kernel: Kernel, variable: Alloca, count: int) -> Array:
    """Add an array in shared memory, with an element for what each of the subgroups of a block has."""
    return new_shared(kernel, f"{variable.name or variable.hint or 'value'}_of_warps", variable.type, (count,))


def join_subgroups(
    builder: Builder, joined: Mapping[Alloca, str], arrays: Mapping[Alloca, Array], subgroup: Statement, together: bool
) -> None:
    """Let all threads of a block join what its subgroups have in variables. arrays: by variable.

    subgroup: the number of that of a thread. together: all threads come to the barrier, whatever encloses it.
    """
    for variable, array in arrays.items():
        place = builder.add(GlobalPtr(array, [subgroup], type=variable.type))
        builder.store(place, builder.load(variable))
    builder.add(Barrier("block", together=together))
    count = next((array.shape[0] for array in arrays.values() if array.shape is not None), 1)
    zero, one, end = (builder.const(number) for number in (0, 1, count))
    for variable, array in arrays.items():
        builder.store(variable, builder.load(builder.add(GlobalPtr(array, [zero], type=variable.type))))
    others = builder.add(RangeFor([one], [end], [one], ["warp"]))
    with builder.into(others.body):
        warp = builder.add(LoopIndex(others, 0, type=i32, name="warp"))
        for variable, op in joined.items():
            value = builder.load(builder.add(GlobalPtr(arrays[variable], [warp], type=variable.type)))
            builder.store(variable, builder.op(op, builder.load(variable), value))
