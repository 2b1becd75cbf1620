"""Scalarization: writes out short operations on vectors, for which a language would need a function of their own.

    $2 = sub $Xp, 0.5                   $4 = cast i32 (sub $Xp.x, 0.5)
    $3 = cast i32[2] $2          ->     $5 = cast i32 (sub $Xp.y, 0.5)
                                        $3 = vector $4, $5

`ivec2 base = {(int)(Xp.x - 0.5f), (int)(Xp.y - 0.5f)}` is what a person types who has no function for the conversion,
and that is one function less to read. An element of an elementwise operation is the operation on elements, bit for bit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from ...ir.nodes import Block, Statement, blocks, count_uses, operands, walk
from ...ir.statements import (
    ArgLoad,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    ListItem,
    LocalLoad,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    Operation,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Tensor, Type, element_of, i32
from ...lazy_dataclasses import dataclass
from ..analysis.queries import compound_operations
from ..context import PassContext
from ..rewrite import Rewriter

INFIX = frozenset({"add", "sub", "mul", "div", "raw_div", "plain_div"})
ELEMENTWISE = INFIX | {"neg", "min", "max", "abs", "floor", "ceil", "round"}
MAX_USES = 2
"""Uses of a function for which it is not declared."""
MAX_WIDTH = 96
"""Columns of a statement that has the elements, estimated."""
SHARED = 3
"""Uses of an element that is loaded into a variable."""
NUMBER_WIDTH = 4
NAME_WIDTH = 8
CAST_WIDTH = 6
FUNCTION_WIDTH = 7
Key = tuple[str, tuple[Type | None, ...], Type | None]
"""A function on vectors: operation, types of operands, type of the result."""


def expand_vectors(kernel: Kernel, context: PassContext) -> bool:
    """Replace elementwise operations that need a function of their own by vectors of elements."""
    if context.capabilities.has_vectors:
        return False
    total: Counter[Key] = Counter()
    trees: list[_Tree] = []
    for root in kernel.roots():
        finder = _Finder(root, "" if any(root is function.body for function in kernel.functions) else "args.")
        finder.block(root, 1)
        total += finder.keys
        trees += finder.trees
    chosen = _choose(total, trees)
    if not chosen:
        return False
    roots = {tree.root for tree in chosen}

    def expanded(rewriter: Rewriter, statement: Statement) -> Statement | None:
        return _expanded(rewriter, statement) if statement in roots else None

    return Rewriter({Operation: expanded, Cast: expanded}).run(kernel)


@dataclass(eq=False, slots=True)
class _Tree:
    """An expression of elementwise operations on vectors. keys: the functions that it uses."""

    root: Statement
    keys: Counter[Key] = field(default_factory=Counter)


def _choose(total: Counter[Key], trees: list[_Tree]) -> list[_Tree]:
    """Return the trees that save a function which nothing else uses."""
    chosen: dict[_Tree, None] = {}
    remaining = total.copy()
    while True:
        waiting = [tree for tree in trees if tree not in chosen]
        here: Counter[Key] = Counter()
        for tree in waiting:
            here += tree.keys
        saved = {key for key, count in here.items() if 0 < remaining[key] <= min(MAX_USES, count)}
        new = [tree for tree in waiting if not saved.isdisjoint(tree.keys)]
        if not new:
            return list(chosen)
        for tree in new:
            chosen[tree] = None
            remaining -= tree.keys


class _Finder:
    """Finds the functions on vectors that a block needs, and the expressions that can be written out."""

    def __init__(self, root: Block, args: str) -> None:
        self.args = args
        self.uses = count_uses(root)
        self.compound = compound_operations(root)
        self.inner: set[Statement] = set()
        self.operands = {
            operand
            for statement in walk(root)
            if isinstance(statement, (Operation, Cast)) and _is_on_vectors(statement) and _is_infix(statement)
            for operand in operands(statement)
        }
        self.keys: Counter[Key] = Counter()
        self.trees: list[_Tree] = []

    def block(self, block: Block, depth: int) -> None:
        """Search backwards, so that an expression is found before its parts."""
        for statement in reversed(block.statements):
            for inner in blocks(statement):
                self.block(inner, depth + 1)
            if not isinstance(statement, (Operation, Cast)) or not _is_on_vectors(statement):
                continue
            self.keys[_key(statement)] += statement.copies
            is_repeated = statement.name is None and max(self.uses.get(statement, 0), statement.copies) > 1
            is_part = statement.name is None and statement in self.operands  # `v + vec2{...}` is harder to read
            is_part = is_part and not (isinstance(statement, Operation) and statement.op == "neg")
            is_part = is_part and not any(isinstance(o, MatrixInit) and o.name is None for o in operands(statement))
            if statement in self.inner or statement in self.compound or not _is_elementwise(statement):
                continue
            if is_repeated or is_part:
                continue
            tree, found = _Tree(statement), set[Statement]()
            width = self.width(statement, statement, tree, found)
            assert isinstance(statement.type, Tensor)
            prefix = 4 * depth + len(statement.name or "") + 8
            if width is not None and prefix + statement.type.size * (width + 2) <= MAX_WIDTH:
                self.trees.append(tree)
                self.inner |= found

    def width(self, value: Statement, root: Statement, tree: _Tree, inner: set[Statement]) -> int | None:
        """Return the columns of an element of a value; None if it cannot be written out."""
        if isinstance(value, (Operation, Cast)) and _is_elementwise(value):
            is_free = value.name is None and value not in self.compound and self.uses[value] <= value.copies
            if value is root or is_free:
                tree.keys[_key(value)] += value.copies
                inner.add(value)
                widths = [self.width(operand, root, tree, inner) for operand in operands(value)]
                known = [width for width in widths if width is not None]
                return None if len(known) < len(widths) else sum(known) + _own_width(value)
        return self.leaf_width(value)

    def leaf_width(self, value: Statement) -> int | None:
        """Return the columns of a value that is printed as often as the vector has elements."""
        part = 2 if isinstance(value.type, Tensor) else 0
        if isinstance(value, Const):
            parts = 0 if value.origin is None else len(value.origin.operands)
            return NUMBER_WIDTH if parts < 2 else NAME_WIDTH * parts
        if isinstance(value, LoopIndex):
            return len(value.loop.names[value.axis]) if value.axis < len(value.loop.names) else None
        if isinstance(value, ArgLoad):
            return len(self.args + value.parameter.name) + part
        if value.name is not None:
            return len(value.name) + part
        if isinstance(value, LocalLoad) and (name := value.pointer.name or value.pointer.hint):
            return len(name) + part
        if isinstance(value, Cast) and isinstance(value.type, Scalar):
            width = self.leaf_width(value.value)
            return None if width is None else width + CAST_WIDTH
        if isinstance(value, MatrixInit) and self.uses[value] == 1:
            widths = [self.leaf_width(element) for element in value.elements]
            return max((width for width in widths if width is not None), default=0) if None not in widths else None
        if isinstance(value, ListItem) and value.origin.name is not None:
            width = self.leaf_width(value.index)
            return None if width is None else len(value.origin.name) + width + 2
        if isinstance(value, GlobalLoad) and isinstance(value.type, Scalar) and self.uses[value] >= SHARED:
            return NAME_WIDTH
        if isinstance(value, GlobalLoad) and isinstance(value.pointer, GlobalPtr) and self.uses[value] <= value.copies:
            widths = [self.leaf_width(index) for index in value.pointer.indices]
            known = [width for width in widths if width is not None]
            return len(value.pointer.array.name) + sum(known) + 4 if len(known) == len(widths) else None
        return None


def _is_on_vectors(statement: Operation | Cast) -> bool:
    return isinstance(statement.type, Tensor) or any(isinstance(o.type, Tensor) for o in operands(statement))


def _is_elementwise(statement: Operation | Cast) -> bool:
    """Return whether a statement is an operation that each element of a short vector has of its own."""
    kind = statement.type
    if not isinstance(kind, Tensor) or len(kind.shape) != 1 or not 2 <= kind.size <= 4 or statement.remarks:
        return False
    if element_of(kind).size_bytes < i32.size_bytes:
        return False
    if isinstance(statement, Cast):
        return not statement.bits and isinstance(statement.value.type, Tensor)
    shapes = [o.type.shape for o in statement.operands if isinstance(o.type, Tensor)]
    return statement.op in ELEMENTWISE and all(shape == kind.shape for shape in shapes)


def _is_infix(statement: Operation | Cast) -> bool:
    return isinstance(statement, Cast) or statement.op in INFIX | {"neg", "select"}


def _key(statement: Operation | Cast) -> Key:
    op = statement.op if isinstance(statement, Operation) else "cast"
    return op, tuple(operand.type for operand in operands(statement)), statement.type


def _own_width(statement: Operation | Cast) -> int:
    if isinstance(statement, Cast):
        return CAST_WIDTH
    return 4 if statement.op in INFIX else FUNCTION_WIDTH


def _expanded(rewriter: Rewriter, statement: Statement) -> Statement:
    """Emit the elements of an expression; return their vector."""
    assert isinstance(statement.type, Tensor)
    elements = [_element(rewriter, statement, statement, k) for k in range(statement.type.size)]
    return rewriter.emit(MatrixInit(elements, type=statement.type), statement)


def _element(rewriter: Rewriter, value: Statement, root: Statement, index: int) -> Statement:
    """Emit element `index` of a value."""
    if not isinstance(value.type, Tensor):
        return value
    scalar = value.type.element
    is_part = value is root or (isinstance(value, (Operation, Cast)) and _is_elementwise(value) and value.name is None)
    if is_part and isinstance(value, Cast):
        return rewriter.emit(Cast(_element(rewriter, value.value, root, index), type=scalar), value)
    if is_part and isinstance(value, Operation):
        parts = [_element(rewriter, operand, root, index) for operand in value.operands]
        return rewriter.emit(Operation(value.op, parts, type=scalar, copies=value.copies), value)
    if isinstance(value, MatrixInit) and value.name is None:
        return value.elements[index]
    return rewriter.emit(MatrixElement(value, [_number(rewriter, root, index)], type=scalar), root)


def _number(rewriter: Rewriter, root: Statement, index: int) -> Statement:
    return rewriter.emit(Const(index, type=i32), root)
