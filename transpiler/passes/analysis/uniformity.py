"""Uniformity analysis: which values are the same for all threads of a block, and which control flow is uniform.

It is used by `check_threads`, `split_threads` and `padded_rows`. Uniform are constants, arguments, shapes, votes of a
block, reads of arrays that the task does not write, reads of shared memory at a uniform index (the same value for all
threads, if the program has no races), and results of operations on uniform values. A variable is varying if a varying
value is stored to it, or any value under a varying condition. All other values are varying.
"""

from __future__ import annotations

from ...ir.functions import Call
from ...ir.nodes import Block, Statement, operands, walk
from ...ir.statements import (
    Alloca,
    AtomicOp,
    Break,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    If,
    IfExp,
    LocalLoad,
    LocalStore,
    LoopIndex,
    Operation,
    Rand,
    RangeFor,
    While,
    base_pointer,
)
from ...ir.tasks import Task
from ...ir.textures import ImageLoad, ImageStore, TextureFetch, TextureSample
from ...ir.threads import COLLECTIVES, Collective, ThreadFor, ThreadIndex
from .aliasing import MemoryObject, underlying_object, written_objects
from .queries import is_index_of


class Uniformity:
    """Results: `varying` values and variables; `divergent` `If`s and loops, at which threads may diverge."""

    def __init__(self, task: Task, common_axes: frozenset[int] = frozenset()) -> None:
        """common_axes: the axes of the loop whose indices the threads in question have in common."""
        self.task = task
        self.common_axes = common_axes
        self.varying: set[Statement] = set()
        self.divergent: set[Statement] = set()
        self.written: list[MemoryObject] = written_objects(task.body)
        self.stores_texels = any(isinstance(statement, ImageStore) for statement in walk(task.body))
        self.loops: list[tuple[Statement, bool]] = []
        self.size = -1
        while self.size != len(self.varying) + len(self.divergent):
            self.size = len(self.varying) + len(self.divergent)
            self.block(task.body, False)

    def block(self, block: Block, diverged: bool) -> None:
        """Find the varying values in `block`. diverged: threads may have diverged before it."""
        for statement in block.statements:
            if statement.BLOCKS:
                self.compound(statement, diverged)
            elif self.is_varying(statement, diverged):
                self.varying.add(statement)

    def compound(self, statement: Statement, diverged: bool) -> None:
        """Find the varying values in a statement with blocks."""
        match statement:
            case If(condition=condition) | IfExp(condition=condition):
                if condition in self.varying:
                    self.divergent.add(statement)
                inner = diverged or statement in self.divergent
                for branch in (statement.then, statement.otherwise):
                    if branch is not None:
                        self.block(branch, inner)
                if isinstance(statement, IfExp):
                    results = {condition, statement.then.result, statement.otherwise.result}
                    if results & self.varying:
                        self.varying.add(statement)
            case While(condition=condition, body=body):
                self.loops.append((statement, diverged))
                self.block(condition, diverged or statement in self.divergent)
                if condition.result in self.varying:
                    self.divergent.add(statement)
                self.block(body, diverged or statement in self.divergent)
                self.loops.pop()
            case ThreadFor(body=body):
                self.block(body, True)
            case RangeFor(body=body):
                if any(value in self.varying for value in operands(statement)):
                    self.divergent.add(statement)
                self.loops.append((statement, diverged))
                self.block(body, diverged or statement in self.divergent)
                self.loops.pop()

    def is_varying(self, statement: Statement, diverged: bool) -> bool:
        """Return whether a statement without blocks has a varying value; record variables that it stores to."""
        match statement:
            case LoopIndex(loop=loop, axis=axis):
                return loop in self.divergent or (loop is self.task.loop and axis not in self.common_axes)
            case ThreadIndex(kind=kind):
                return kind not in ("size", "first")
            case Operation() if self.is_block_number(statement):
                return False
            case Rand() | AtomicOp():
                if isinstance(statement, AtomicOp) and isinstance(base := base_pointer(statement.pointer), Alloca):
                    self.varying.add(base)
                return True
            case Call():
                if is_varying := self.call_varies(statement, diverged):
                    self.varying.update(statement.references())
                return is_varying
            case Collective(op=op):
                return COLLECTIVES[op].scope != "block"
            case GlobalLoad(pointer=pointer):
                return pointer in self.varying or self.is_written(pointer)
            case TextureSample() | TextureFetch() | ImageLoad() if self.stores_texels:
                return True
            case LocalLoad(pointer=pointer):
                return pointer in self.varying or base_pointer(pointer) in self.varying
            case LocalStore(pointer=pointer, value=value):
                if diverged or value in self.varying or pointer in self.varying:
                    self.varying.add(base_pointer(pointer))
                return False
            case Break() | Continue():
                if diverged and self.loops and not self.loops[-1][1]:
                    self.divergent.add(self.loops[-1][0])
                return False
            case Alloca():
                return statement in self.varying
        return any(operand in self.varying for operand in operands(statement))

    def call_varies(self, call: Call, diverged: bool) -> bool:
        """Return whether a call gives threads different results, or leaves different values in their variables."""
        function = call.function
        if function.is_ordered or any(operand in self.varying for operand in operands(call)):
            return True
        if diverged and call.references():
            return True
        reads = {array for array in function.reads if not array.is_shared}
        return not reads.isdisjoint(self.written)

    def is_written(self, pointer: Statement) -> bool:
        """Return whether another thread may change the value at `pointer`, so that threads may read different values.

        Aliasing of two array arguments is ignored: threads that depend on it would race.
        """
        base = base_pointer(pointer)
        if isinstance(base, GlobalPtr) and base.array.is_shared:
            return False
        target = underlying_object(pointer)
        return target is None or target in self.written

    def is_block_number(self, value: Operation) -> bool:
        """Return whether `value` is `i // n` such that each block is within n iterations of the loop over i."""
        loop = self.task.loop
        if value.op != "floordiv" or loop is None or len(loop.starts) != 1:
            return False
        index, divisor = value.operands
        begin, step = loop.starts[0], loop.steps[0]
        if not (is_index_of(index, loop) and isinstance(divisor, Const)):
            return False
        if not (isinstance(begin, Const) and isinstance(step, Const) and step.value == 1 and divisor.value > 0):
            return False
        return divisor.value % self.task.block_dim == 0 and begin.value % divisor.value == 0
