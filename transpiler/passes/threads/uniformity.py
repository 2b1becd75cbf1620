"""Which values are the same for all threads of a block, and which control flow all of them take together.

An analysis for `check_threads` and `split_threads`. Uniform are constants, arguments, shapes, what a block votes on,
reads of arrays that the task does not write, of shared memory at a uniform index (a program that is free of races reads
one value there), and what is made of such. A variable varies if anything that varies is stored to it, or anything at
all under a condition that varies. Where nothing is known a value varies.
"""

from __future__ import annotations

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
from ...ir.threads import COLLECTIVES, Collective, ThreadIndex
from ..analysis.aliasing import Place, place_of, written_places


class Uniformity:
    """varying: values and variables that may differ. divergent: `If`s and loops whose threads may part."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.varying: set[Statement] = set()
        self.divergent: set[Statement] = set()
        self.written: list[Place] = written_places(task.body)
        self.stores_texels = any(isinstance(statement, ImageStore) for statement in walk(task.body))
        self.loops: list[tuple[Statement, bool]] = []
        self.size = -1
        while self.size != len(self.varying) + len(self.divergent):
            self.size = len(self.varying) + len(self.divergent)
            self.block(task.body, False)

    def block(self, block: Block, parted: bool) -> None:
        """Note what varies in `block`. parted: threads may have parted on the way to it."""
        for statement in block.statements:
            if statement.BLOCKS:
                self.holder(statement, parted)
            elif self.is_varying(statement, parted):
                self.varying.add(statement)

    def holder(self, statement: Statement, parted: bool) -> None:
        """Note what varies in a statement with blocks."""
        match statement:
            case If(condition=condition) | IfExp(condition=condition):
                if condition in self.varying:
                    self.divergent.add(statement)
                inner = parted or statement in self.divergent
                for branch in (statement.then, statement.otherwise):
                    if branch is not None:
                        self.block(branch, inner)
                if isinstance(statement, IfExp):
                    results = {condition, statement.then.result, statement.otherwise.result}
                    if results & self.varying:
                        self.varying.add(statement)
            case While(condition=condition, body=body):
                self.loops.append((statement, parted))
                self.block(condition, parted or statement in self.divergent)
                if condition.result in self.varying:
                    self.divergent.add(statement)
                self.block(body, parted or statement in self.divergent)
                self.loops.pop()
            case RangeFor(body=body):
                if any(value in self.varying for value in operands(statement)):
                    self.divergent.add(statement)
                self.loops.append((statement, parted))
                self.block(body, parted or statement in self.divergent)
                self.loops.pop()

    def is_varying(self, statement: Statement, parted: bool) -> bool:
        """Return whether a statement without blocks gives a value that varies; notes variables it stores to."""
        match statement:
            case LoopIndex(loop=loop):
                return loop is self.task.loop or loop in self.divergent
            case ThreadIndex(kind=kind):
                return kind not in ("size", "first")
            case Operation() if self.is_block_number(statement):
                return False
            case Rand() | AtomicOp():
                if isinstance(statement, AtomicOp) and isinstance(base := base_pointer(statement.pointer), Alloca):
                    self.varying.add(base)
                return True
            case Collective(op=op):
                return COLLECTIVES[op].scope != "block"
            case GlobalLoad(pointer=pointer):
                return pointer in self.varying or self.is_written(pointer)
            case TextureSample() | TextureFetch() | ImageLoad() if self.stores_texels:
                return True
            case LocalLoad(pointer=pointer):
                return pointer in self.varying or base_pointer(pointer) in self.varying
            case LocalStore(pointer=pointer, value=value):
                if parted or value in self.varying or pointer in self.varying:
                    self.varying.add(base_pointer(pointer))
                return False
            case Break() | Continue():
                if parted and self.loops and not self.loops[-1][1]:
                    self.divergent.add(self.loops[-1][0])
                return False
            case Alloca():
                return statement in self.varying
        return any(operand in self.varying for operand in operands(statement))

    def is_written(self, pointer: Statement) -> bool:
        """Return whether other threads may change what is read, so that two of them may read different values.

        That two arguments are one array counts for nothing here: threads that depend on it would race.
        """
        base = base_pointer(pointer)
        if isinstance(base, GlobalPtr) and base.array.is_shared:
            return False
        place = place_of(pointer)
        return place is None or place in self.written

    def is_block_number(self, value: Operation) -> bool:
        """Return whether `value` is `i // n` with blocks that lie within n turns of the loop over i."""
        loop = self.task.loop
        if value.op != "floordiv" or loop is None or len(loop.begins) != 1:
            return False
        index, divisor = value.operands
        begin, step = loop.begins[0], loop.steps[0]
        if not (isinstance(index, LoopIndex) and index.loop is loop and isinstance(divisor, Const)):
            return False
        if not (isinstance(begin, Const) and isinstance(step, Const) and step.value == 1 and divisor.value > 0):
            return False
        return divisor.value % self.task.block_dim == 0 and begin.value % divisor.value == 0
