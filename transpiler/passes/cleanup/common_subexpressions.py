"""Common subexpression elimination: computes equal values once.

    $3 = add $0, $1                 $3 = add $0, $1
    $7 = add $0, $1            ->   ... $3 ...
    ... $7 ...

Values without effects are shared from enclosing blocks; loads of arrays are shared within one block, unless a statement
between them may write the element. Loads of local variables stay: `x` twice reads better than a second name for it.
Constants that the user named are not merged with equal numbers, which have another meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from ...ir.functions import Call, CallResult
from ...ir.nodes import Block, Effect, Statement, operands
from ...ir.ops import OPS
from ...ir.sparse import CellNumber, PoolCount
from ...ir.statements import (
    ArgLoad,
    ArrayShape,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    IfExp,
    ListItem,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    StructElement,
    StructInit,
    StructPtr,
    base_pointer,
)
from ...ir.tasks import Kernel
from ...ir.textures import STATEMENT_NAMES, TEXEL_READS
from ...ir.threads import ThreadIndex
from ...ir.types import Tensor
from ..analysis.aliasing import underlying_object
from ..analysis.memory_walk import Changes, MemoryWalk
from ..context import PassContext
from ..rewrite import Rewriter, Rule

Key = tuple[Hashable, ...]
POINTERS = (GlobalPtr, GlobalTemporary, MatrixPtr, StructPtr)
COMPARING = (IfExp, Tensor, StructInit, "select")
"""Kinds of which `simplify` compares operands."""
COMMUTATIVE = frozenset(name for name, entry in OPS.items() if entry.commutative)


def common_subexpressions(kernel: Kernel, context: PassContext) -> bool:
    """Merge equal values of one block, and of a block with its enclosing blocks."""
    walk = _Sharing()
    changed = walk.run(kernel)
    is_simpler = walk.has_emptied or context.may_have(kernel, COMPARING)
    context.left = frozenset({*(["simplify"] if is_simpler else []), *_forwarding_after(walk)})
    return changed


def _forwarding_after(walk: _Sharing) -> Iterator[str]:
    """Yield the steps that forward stored values, if they may find more after a walk."""
    merged = walk.mapping
    if walk.merged_to_locals or any(isinstance(o, LocalLoad) for value in merged for o in operands(value)):
        yield "forward_stores"
    if walk.merged_to_elements or any(isinstance(value, POINTERS) for value in merged):
        yield "forward_elements"


class _Sharing(MemoryWalk):
    """Merges equal values.

    Attributes:
        values: those in scope, by key.
        added: the keys of `values` in the order of their statements.
        texels: values of the texture reads of the current block, by texture and operands.
        numbers: of constants in several notations (`0xff` and 255), which stay two, one for all; operations on them are
            equal. equal: those of each value. Both are empty if all constants are decimal.
        has_emptied: nothing is left of a block.
        merged_to_locals, merged_to_elements: a value that is stored was merged with another; the passes that forward
            stored values compare these.
    """

    def __init__(self) -> None:
        super().__init__(RULES)
        self.values: dict[Key, Statement] = {}
        self.added: list[Key] = []
        self.texels: dict[Key, Statement] = {}
        self.numbers: dict[Statement, Statement] = {}
        self.equal: dict[Key, Statement] = {}
        self.has_emptied = False
        self.merged_to_locals = False
        self.merged_to_elements = False

    def visit(self, statement: Statement) -> None:
        """Merge inside a statement with an effect or with blocks."""
        if statement.__class__ is LocalStore:  # of equal numbers it makes no difference to `forward_stores`
            self.merged_to_locals |= statement.value in self.mapping and statement.value.__class__ is not Const
        elif statement.__class__ is GlobalStore:
            self.merged_to_elements |= statement.value in self.mapping
        super().visit(statement)

    def block(self, block: Block) -> None:
        texels, self.texels = self.texels, {}
        first, had_statements = len(self.added), bool(block.statements)
        super().block(block)
        if had_statements and not block.statements:
            self.has_emptied = True
        if not first:
            self.values, self.added = {}, []
        else:
            for key in self.added[first:]:
                del self.values[key]
            del self.added[first:]
        self.texels = texels

    def forget(self, changes: Changes) -> None:
        super().forget(changes)
        if changes.stores_texels or changes.is_fence:
            self.texels = {}


def _sharing(key_of: Callable[[Any], Key | None]) -> Rule:
    """Return the rule for statements that are equal if their keys are."""

    def share(rewriter: _Sharing, statement: Statement) -> Statement | None:
        key = key_of(statement)
        if key is None:
            return None
        first = rewriter.values.setdefault(key, statement)
        if first is statement:
            rewriter.added.append(key)
            return None
        first.copies += statement.copies
        return first

    return share


def _number(rewriter: _Sharing, statement: Const) -> Statement | None:
    """The rule for constants."""
    first = _share_number(rewriter, statement)
    key = _const_key(statement)
    if first is None and key is not None and (statement.notation or rewriter.numbers):
        decimal = rewriter.values.get((*key[:-1], ""), statement)
        rewriter.numbers[statement] = rewriter.equal.setdefault(key[:-1], decimal)
    return first


def _operation(rewriter: _Sharing, statement: Operation) -> Statement | None:
    """The rule for operations, which are the most."""
    op, operands = statement.op, statement.operands
    if rewriter.numbers:
        operands = [rewriter.numbers.get(operand, operand) for operand in operands]
    if op in COMMUTATIVE and id(operands[0]) > id(operands[1]):
        key: Key = (op, operands[1], operands[0], statement.type)
    else:
        key = (op, *operands, statement.type)
    first = rewriter.values.setdefault(key, statement)
    if first is statement:
        rewriter.added.append(key)
        return None
    first.copies += statement.copies
    return first


def _load(rewriter: _Sharing, load: GlobalLoad) -> Statement | None:
    if _is_wide(load.pointer):
        return None
    first = rewriter.known.get(load.pointer)
    if first is None:
        rewriter.known.remember(load.pointer, load)
    else:
        first.copies += load.copies
    return first


def _write(rewriter: _Sharing, write: GlobalStore | AtomicOp) -> Statement | None:
    if _is_wide(write.pointer) and (target := underlying_object(write.pointer)) is not None:
        rewriter.known.forget_objects([target])
    else:
        rewriter.known.forget(write.pointer)
    return None


def _is_wide(pointer: Statement) -> bool:
    """Return whether several elements are accessed together, of which an address names only the first."""
    base = pointer if pointer.__class__ is GlobalPtr else base_pointer(pointer)
    return isinstance(base, GlobalPtr) and base.lanes > 1


def _texel(rewriter: Rewriter, read: Statement) -> Statement | None:
    assert isinstance(rewriter, _Sharing) and isinstance(read, TEXEL_READS)
    key: Key = (STATEMENT_NAMES[type(read)], read.texture, *operands(read))
    first = rewriter.texels.setdefault(key, read)
    return first if first is not read else None


def _const_key(statement: Const) -> Key | None:
    if statement.name is not None:
        return None
    value: Hashable = statement.value
    if value.__class__ is float and (value == 0 or value != value):
        value = repr(value)  # it distinguishes 0.0 from -0.0, and makes NaN equal to itself
    return (Const, statement.type, value, statement.origin, statement.notation)


def _cast_key(statement: Cast) -> Key | None:
    return (Cast, statement.value, statement.type, statement.bits)


def _init_key(statement: MatrixInit) -> Key | None:
    return (MatrixInit, statement.type, *statement.elements)


def _element_key(statement: MatrixElement) -> Key | None:
    return (MatrixElement, statement.value, *statement.indices)


def _item_key(statement: ListItem) -> Key | None:
    return (ListItem, statement.origin, statement.index)


def _matrix_ptr_key(statement: MatrixPtr) -> Key | None:
    return (MatrixPtr, statement.origin, *statement.indices)


def _struct_key(statement: StructInit) -> Key | None:
    return (StructInit, statement.type, *statement.values)


def _member_key(statement: StructElement) -> Key | None:
    return (StructElement, statement.value, statement.member)


def _member_ptr_key(statement: StructPtr) -> Key | None:
    return (StructPtr, statement.origin, statement.member)


def _global_ptr_key(statement: GlobalPtr) -> Key | None:
    return (statement.array, statement.cell, statement.lanes, statement.is_flat, statement.by_word, *statement.indices)


def _cell_number_key(statement: CellNumber) -> Key | None:
    return (CellNumber, statement.node, *statement.indices)


def _pool_count_key(statement: PoolCount) -> Key | None:
    return (PoolCount, statement.node, statement.counter)


def _temporary_key(statement: GlobalTemporary) -> Key | None:
    return (GlobalTemporary, statement.temporary)


def _index_key(statement: LoopIndex) -> Key | None:
    return (LoopIndex, statement.loop, statement.axis)


def _thread_key(statement: ThreadIndex) -> Key | None:
    return (ThreadIndex, statement.kind)


def _argument_key(statement: ArgLoad) -> Key | None:
    return (ArgLoad, statement.parameter)


def _shape_key(statement: ArrayShape) -> Key | None:
    return (ArrayShape, statement.array, statement.axis)


def _call_key(statement: Call) -> Key | None:
    return None if statement.EFFECT != Effect.NONE else (statement.function, *statement.arguments)


def _call_result_key(statement: CallResult) -> Key | None:
    return (statement.call, statement.position)


KEYS: dict[type[Statement], Callable[[Any], Key | None]] = {
    Const: _const_key,
    Cast: _cast_key,
    MatrixInit: _init_key,
    MatrixElement: _element_key,
    ListItem: _item_key,
    MatrixPtr: _matrix_ptr_key,
    StructInit: _struct_key,
    StructElement: _member_key,
    StructPtr: _member_ptr_key,
    GlobalPtr: _global_ptr_key,
    GlobalTemporary: _temporary_key,
    CellNumber: _cell_number_key,
    PoolCount: _pool_count_key,
    LoopIndex: _index_key,
    ThreadIndex: _thread_key,
    ArgLoad: _argument_key,
    ArrayShape: _shape_key,
    Call: _call_key,
    CallResult: _call_result_key,
}
"""Key under which two statements of a class are equal; a key of None: this statement is never shared."""

_share_number = _sharing(_const_key)
RULES: dict[type[Statement], Rule] = {
    GlobalLoad: _load,
    GlobalStore: _write,
    AtomicOp: _write,
    Operation: _operation,
    **dict.fromkeys(TEXEL_READS, _texel),
    **{kind: _sharing(key_of) for kind, key_of in KEYS.items()},
    Const: _number,
}
