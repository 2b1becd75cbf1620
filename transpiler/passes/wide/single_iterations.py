"""Makes a function of the single iteration next to a wide one, where it is long: each is read by itself then.

    if aligned and i > 0 and ... {                    iteration(i, j) { if i > 0 and ... { v[i, j] = ... } }
        v[i, j .. j + 3] = ...
    } else {                                          if aligned and i > 0 and ... {
        for jj in j .. j + 4 {                  ->        v[i, j .. j + 3] = ...
            if i > 0 and ... { v[i, jj] = ... }       } else {
        }                                                 for jj in j .. j + 4 { iteration(i, jj) }
    }                                                 }

It runs last: what is known of indices is known where they are computed, not in a function.
"""

from __future__ import annotations

from itertools import chain

from ...ir.functions import Call, Function
from ...ir.nodes import Block, Statement, blocks, clone, operands, replace_uses, walk, walk_blocks
from ...ir.statements import ArgLoad, ArrayShape, LoopIndex, Parameter
from ...ir.tasks import Kernel, SingleIteration, Task
from ...ir.verify import POINTERS
from ..analysis.call_effects import call_effects
from ..analysis.loops.reducible import is_invariant
from ..analysis.queries import is_index_of
from ..context import PassContext

NAME = "iteration"
"""The name of the function; if a kernel has several, names of files tell them apart."""


def single_iterations(kernel: Kernel, context: PassContext) -> bool:
    """Move the single iterations of the tasks of a kernel to functions."""
    changed = False
    for task in kernel.tasks:
        single, task.single = task.single, None
        if single is not None and any(block is single.block for block in walk_blocks(task.body)):
            changed |= _move(kernel, task, single)
    if changed:
        call_effects(kernel, context)
    return changed


def _move(kernel: Kernel, task: Task, single: SingleIteration) -> bool:
    """Move the statements of a single iteration to a function, and call it; return False if they stay."""
    indices = [s for s in single.block if isinstance(s, LoopIndex)]
    own = [s for s in single.block if s not in indices]
    if not any(map(blocks, own)) or any(isinstance(value, POINTERS) for value in _given(own)):
        return False
    own = _repeated(own) + own
    given = sorted(_given(own), key=lambda value: _order(value, task, single))
    function = Function(NAME, [], [], Block(own), is_inline=True, location=task.location)
    loads: list[ArgLoad] = []
    known: dict[Statement, Statement] = {}
    arguments: list[Statement] = []
    for value in given:
        same = next((position for position, other in enumerate(arguments) if _is_same(value, other)), None)
        if same is None:
            assert value.type is not None
            parameter = Parameter(_name(value, task, single), value.type, len(arguments))
            function.parameters.append(parameter)
            loads.append(ArgLoad(parameter, type=value.type, location=value.location))
            arguments.append(value)
        known[value] = loads[-1 if same is None else same]
    replace_uses(function.body, known)
    for block in walk_blocks(function.body):
        block.drop(known)
    function.body.statements[:0] = loads
    single.block.statements = [*indices, Call(function, arguments, location=task.location)]
    kernel.functions.append(function)
    return True


def _repeated(own: list[Statement]) -> list[Statement]:
    """Let statements use copies of the values outside that the host knows and Python does not name; return these."""
    copies: dict[Statement, Statement] = {}

    def repeat(value: Statement) -> None:
        for operand in operands(value):
            if operand not in copies and _is_own(operand):
                repeat(operand)
        clone(value, copies)

    for value in _given(own):
        if value not in copies and _is_own(value) and is_invariant(value):
            repeat(value)
    replace_uses(Block(own), copies)
    return list(copies.values())


def _is_own(value: Statement) -> bool:
    """Return whether a value is no variable outside."""
    return isinstance(value, ArrayShape) or (value.name is None and not isinstance(value, ArgLoad))


def _given(own: list[Statement]) -> list[Statement]:
    """Return the values that statements use and do not contain, and indices of loops around them."""
    every = list(walk(Block(own)))
    loops = set(every)
    inside = {s for s in every if not isinstance(s, LoopIndex) or s.loop in loops}
    results = [block.result for s in every for block in blocks(s) if block.result is not None]
    return [value for value in dict.fromkeys([*chain(*map(operands, every)), *results]) if value not in inside]


def _is_same(value: Statement, other: Statement) -> bool:
    """Return whether two values are the same index of one loop."""
    return isinstance(other, LoopIndex) and is_index_of(value, other.loop) and value.axis == other.axis


def _order(value: Statement, task: Task, single: SingleIteration) -> int:
    """Return the position of a parameter: indices come in order, then other values in the order of their use."""
    assert task.loop is not None
    if is_index_of(value, task.loop):
        return value.axis
    last = len(task.loop.starts)
    return last - 1 if value is single.index or _is_same(value, single.index) else last


def _name(value: Statement, task: Task, single: SingleIteration) -> str:
    """Return the name of a parameter: that of the variable outside, for an index that of the loop's."""
    assert task.loop is not None
    axis = _order(value, task, single)
    if axis < len(task.loop.names):
        return task.loop.names[axis]
    return value.name or value.hint or (value.parameter.name if isinstance(value, ArgLoad) else "value")
