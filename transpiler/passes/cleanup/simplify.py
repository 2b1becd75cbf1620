"""Algebraic simplification and removal of unreachable branches, bit-exact.

    x * 1, x - 0, -(-x), select(c, x, x)    ->    x
    if True { a } else { b }                ->    a
    i + -1                                  ->    i - 1
    break; b                                ->    break

Identities of floats hold for NaN and -0.0 as well; x + 0.0 is x only with fast math (-0.0 + 0.0 is 0.0).
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.builder import Builder, flat_index, named_element
from ...ir.constants import constant_range
from ...ir.nodes import Block, Effect, Statement, operands
from ...ir.ops import NEGATED
from ...ir.remarks import attach_remarks, constant_condition, remark_dropped_task
from ...ir.statements import (
    Break,
    Cast,
    Const,
    Continue,
    If,
    IfExp,
    MatrixElement,
    MatrixInit,
    Operation,
    RangeFor,
    Return,
    StructElement,
    StructFor,
    StructInit,
    While,
    is_const,
)
from ...ir.tasks import Kernel
from ...ir.types import Scalar, Struct, Tensor, element_of, f32, f64, u1
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter, Rule
from .parts.literals import cast_of_elements, scaled_diagonal, with_number

EXITS = (Break, Continue, Return)


def simplify(kernel: Kernel, context: PassContext) -> bool:
    """Apply local identities, and remove unreachable branches and statements."""
    walk = _Simplifier(context)
    if not walk.run(kernel):
        return False
    if walk.only_uses_operands and Const not in map(type, walk.mapping.values()):
        # What uses them comes after them, and has been seen in this walk.
        context.left = frozenset({"forward_stores", "forward_elements", "common_subexpressions", "dead_code"})
    return True


class _Simplifier(Rewriter):
    def __init__(self, context: PassContext) -> None:
        super().__init__(RULES)
        self.fast_math = context.options.fast_math
        self.takes_roots = self.fast_math and not context.capabilities.is_reference  # not in the interpreter
        self.explained = False
        self.has_exits = False
        """Whether a statement so far is a break, continue or return."""
        self.only_uses_operands = True
        """Whether all changes so far use a value that is there in place of another."""

    def run(self, kernel: Kernel) -> bool:
        top = list(kernel.body.statements)
        changed = super().run(kernel)
        if self.explained:
            attach_remarks(kernel)
        for loop in top:
            if isinstance(loop, RangeFor) and any(_is_empty_range(loop, axis) for axis in range(len(loop.starts))):
                remark_dropped_task(kernel, loop, "simplify")
        for task in kernel.tasks:
            if task.loop is not None:
                self.restructure(_drop_last(task.body))
        for function in kernel.functions:
            self.restructure(_drop_last(function.body, Return))
        return changed or self.changed

    def restructure(self, has_changed: bool = True) -> None:
        """Record that blocks have changed, if they have."""
        if has_changed:
            self.changed, self.only_uses_operands = True, False

    def emit(self, statement: Statement, origin: Statement) -> Statement:
        """Emit a new statement, which no rule has seen."""
        self.only_uses_operands = False
        return super().emit(statement, origin)

    def builder(self, origin: Statement) -> Builder:
        """Return a builder of such statements."""
        self.only_uses_operands = False
        return super().builder(origin)

    def replace(self, old: Statement, new: Statement) -> None:
        """Use a value in place of another, or drop a statement."""
        if new is DROPPED:
            self.only_uses_operands = False
        super().replace(old, new)

    def explain(self, statement: Statement, value: object) -> None:
        """Record why a user's `if` or `while` is removed."""
        self.explained = True
        self.out.append(constant_condition(statement.location, value, "simplify"))

    def block(self, block: Block) -> None:
        """Rewrite a block; drop statements after control leaves it."""
        super().block(block)
        for position, statement in enumerate(block.statements[:-1] if self.has_exits else ()):
            if statement.EFFECT & Effect.CONTROL and _never_ends(statement):
                del block.statements[position + 1 :]
                self.restructure()
                break


def _never_ends(statement: Statement) -> bool:
    """Return whether the statements after `statement` in its block are unreachable."""
    if isinstance(statement, EXITS):
        return True
    if isinstance(statement, If) and statement.otherwise is not None:
        branches = (statement.then.statements, statement.otherwise.statements)
        return all(branch and _never_ends(branch[-1]) for branch in branches)
    return False


# --- control ----------------------------------------------------------------------------------------------------------


def _if(rewriter: _Simplifier, statement: Statement) -> Statement | None:
    assert isinstance(statement, If)
    condition = statement.condition
    if isinstance(condition, Const):
        taken = statement.then if condition.value else statement.otherwise
        if statement.is_python and isinstance(rewriter, _Simplifier):
            rewriter.explain(statement, condition.value)
        for inner in taken.statements if taken is not None else ():
            if isinstance(inner, (RangeFor, StructFor)):
                inner.serialize = True  # as under a condition; otherwise it would run in parallel at the top level
            rewriter.visit(inner)
        return DROPPED
    if not statement.then.statements and statement.otherwise is not None and statement.otherwise.statements:
        statement.condition = rewriter.emit(Operation("logical_not", [condition], type=u1), statement)
        statement.then, statement.otherwise = statement.otherwise, None
        rewriter.restructure()
    elif isinstance(condition, Operation) and condition.op == "logical_not" and statement.otherwise is not None:
        statement.condition = condition.operands[0]
        statement.then, statement.otherwise = statement.otherwise, statement.then
        rewriter.restructure()
    return None


def _if_expression(rewriter: Rewriter, statement: Statement) -> Statement | None:
    assert isinstance(statement, IfExp)
    condition, then, otherwise = statement.condition, statement.then, statement.otherwise
    if isinstance(condition, Const):
        taken = then if condition.value else otherwise
        for inner in taken.statements:
            rewriter.visit(inner)
        assert taken.result is not None
        return rewriter.resolve(taken.result)
    if then.result is otherwise.result and not then.statements and not otherwise.statements:
        return then.result
    if statement.type == u1 and then.result is not None and otherwise.result is not None:
        lone = len(then.statements) <= 1 and len(otherwise.statements) <= 1
        if lone and is_const(then.result, True) and is_const(otherwise.result, False):
            return condition
    return None


def _while(rewriter: _Simplifier, loop: Statement) -> Statement | None:
    assert isinstance(loop, While)
    if loop.condition.result is not None and is_const(loop.condition.result, False):
        if isinstance(rewriter, _Simplifier) and not loop.is_known:
            rewriter.explain(loop, False)
        for inner in loop.condition.statements:
            rewriter.visit(inner)
        return DROPPED
    rewriter.restructure(_drop_last(loop.body))
    return None


def _range_for(rewriter: _Simplifier, loop: Statement) -> Statement | None:
    assert isinstance(loop, RangeFor)
    if any(_is_empty_range(loop, axis) for axis in range(len(loop.starts))):
        return DROPPED
    rewriter.restructure(_drop_last(loop.body))
    return None


def _is_empty_range(loop: RangeFor, axis: int) -> bool:
    indices = constant_range(loop, axis)
    return indices is not None and not indices


def _exit(rewriter: Rewriter, statement: Statement) -> Statement | None:
    assert isinstance(rewriter, _Simplifier)
    rewriter.has_exits = True
    return None


def _struct_for(rewriter: _Simplifier, loop: Statement) -> Statement | None:
    assert isinstance(loop, StructFor)
    rewriter.restructure(_drop_last(loop.body))
    return None


def _drop_last(body: Block, kind: type[Statement] = Continue) -> bool:
    """Drop a `continue` at the end of an iteration, or a `return` without values, also at the end of branches."""
    if not body.statements:
        return False
    last = body.statements[-1]
    if isinstance(last, kind) and not operands(last):
        body.statements.pop()
        return True
    changed = False
    if isinstance(last, If):
        changed = _drop_last(last.then, kind)
        if last.otherwise is not None:
            changed |= _drop_last(last.otherwise, kind)
    return changed


# --- values -----------------------------------------------------------------------------------------------------------


def _cast(rewriter: Rewriter, cast: Statement) -> Statement | None:
    assert isinstance(cast, Cast)
    value = cast.value
    if value.type == cast.type:
        return value
    if isinstance(value, Cast) and not value.bits and not cast.bits and value.value.type is not None:
        first, middle, last = (element_of(t) for t in (value.value.type, value.type, cast.type) if t is not None)
        if _is_lossless(first, middle) or _keeps_bits(first, middle, last):
            return value.value if first == last else rewriter.emit(Cast(value.value, type=cast.type), cast)
    if isinstance(value, MatrixInit) and isinstance(cast.type, Tensor) and not cast.bits:
        element = cast.type.element
        if (same := _splatted(value)) is not None:
            number = rewriter.emit(Cast(same, type=element), cast)
            return rewriter.emit(MatrixInit([number] * cast.type.size, type=cast.type), cast)
        return cast_of_elements(rewriter, cast)
    return None


def _keeps_bits(first: Scalar, middle: Scalar, last: Scalar) -> bool:
    """Return whether integers are converted by their low bits, of which the one in the middle has all of the last."""
    return all(kind.kind in ("int", "uint") for kind in (first, middle, last)) and middle.bits >= last.bits


def _is_lossless(narrow: Scalar, wide: Scalar) -> bool:
    """Return whether `wide` represents every number of `narrow`, so that a further cast has the same operand."""
    if narrow.kind == "bool":
        return True
    if narrow.is_float or wide.is_float:
        mantissa = {"f16": 11, "f32": 24, "f64": 53}.get(wide.name, 0)
        return (
            narrow.bits < wide.bits if narrow.is_float and wide.is_float else wide.is_float and narrow.bits <= mantissa
        )
    if narrow.kind == wide.kind:
        return narrow.bits < wide.bits
    return narrow.kind == "uint" and narrow.bits < wide.bits


def _matrix_element(rewriter: Rewriter, element: Statement) -> Statement | None:
    assert isinstance(element, MatrixElement)
    value = element.value
    if not isinstance(value, MatrixInit) or not isinstance(value.type, Tensor):
        return None
    indices = [int(index.value) for index in element.indices if isinstance(index, Const)]
    if len(indices) < len(element.indices):
        return None
    if any(not 0 <= index < extent for index, extent in zip(indices, value.type.shape, strict=True)):
        return None
    return named_element(value, indices)


def _matrix_init(rewriter: Rewriter, tensor: Statement) -> Statement | None:
    """A tensor of all elements of another, in order, is the other tensor."""
    assert isinstance(tensor, MatrixInit) and isinstance(tensor.type, Tensor)
    first = tensor.elements[0]
    if not isinstance(first, MatrixElement) or first.value.type != tensor.type:
        return None
    for position, element in enumerate(tensor.elements):
        if not isinstance(element, MatrixElement) or element.value is not first.value:
            return None
        indices = [int(index.value) for index in element.indices if isinstance(index, Const)]
        if len(indices) < len(tensor.type.shape) or flat_index(tensor.type.shape, indices) != position:
            return None
    return first.value


def _struct_element(rewriter: Rewriter, element: Statement) -> Statement | None:
    assert isinstance(element, StructElement)
    value = element.value
    if not isinstance(value, StructInit) or not isinstance(value.type, Struct):
        return None
    return value.values[value.type.names.index(element.member)]


def _struct_init(rewriter: Rewriter, struct: Statement) -> Statement | None:
    """A struct of all members of another, in order, is the other struct."""
    assert isinstance(struct, StructInit) and isinstance(struct.type, Struct)
    first = struct.values[0] if struct.values else None
    if not isinstance(first, StructElement) or first.value.type != struct.type:
        return None
    for name, value in zip(struct.type.names, struct.values, strict=True):
        if not isinstance(value, StructElement) or value.value is not first.value or value.member != name:
            return None
    return first.value


TAKES_SCALARS = frozenset({"add", "sub", "mul", "div"})
"""Operations of which one operand may be a number for all elements."""


def _splatted(value: Statement) -> Statement | None:
    """Return the number that all elements of an unnamed vector are, None if they differ."""
    if not isinstance(value, MatrixInit) or value.name is not None or len(value.elements) < 2:
        return None
    first = value.elements[0]
    same = all(
        other is first
        or (isinstance(first, Const) and isinstance(other, Const) and repr(first.value) == repr(other.value))
        for other in value.elements
    )
    return first if same and isinstance(value.type, Tensor) and len(value.type.shape) == 1 else None


def _without_splat(rewriter: Rewriter, operation: Operation) -> Statement | None:
    """1 - vec3{d, d, d} is vec3{1 - d, ...}; v - vec3{d, d, d} is v - d."""
    if operation.op not in TAKES_SCALARS or not isinstance(operation.type, Tensor):
        return None
    numbers = [_splatted(operand) for operand in operation.operands]
    if all(number is None for number in numbers):
        return None
    new = [number or operand for number, operand in zip(numbers, operation.operands, strict=True)]
    if any(isinstance(operand.type, Tensor) for operand in new):
        return rewriter.emit(Operation(operation.op, new, type=operation.type), operation)
    if operation.type.element != new[0].type or new[0].type != new[1].type:
        return None
    scalar = rewriter.emit(Operation(operation.op, new, type=operation.type.element), operation)
    return rewriter.emit(MatrixInit([scalar] * operation.type.size, type=operation.type), operation)


def _operation(rewriter: Rewriter, operation: Operation) -> Statement | None:
    if operation.type.__class__ is Tensor:
        simpler = _without_splat(rewriter, operation)
        if simpler is None and isinstance(rewriter, _Simplifier) and rewriter.fast_math:
            simpler = scaled_diagonal(rewriter, operation)
        simpler = simpler or with_number(rewriter, operation)
        if simpler is not None:
            return simpler
    identity = IDENTITIES.get(operation.op)
    if identity is None:
        return None
    new = identity(rewriter, operation)
    # A scalar operand of a tensor operation does not have the tensor's shape.
    return new if new is not None and new.type == operation.type else None


def _is_float(operation: Operation) -> bool:
    return operation.type is not None and element_of(operation.type).is_float


def _add(rewriter: Rewriter, operation: Operation) -> Statement | None:
    a, b = operation.operands
    if a.__class__ is not Const and (b.__class__ is not Const or b.value > 0):
        return None  # most are
    assert isinstance(rewriter, _Simplifier)
    # x + -0.0 is x for all x; x + 0.0 is not, for x = -0.0.
    exact = not _is_float(operation) or rewriter.fast_math
    if _is_number(b, 0) and (exact or repr(b.value) == "-0.0"):  # type: ignore[attr-defined]
        return a
    if _is_number(a, 0) and (exact or repr(a.value) == "-0.0"):  # type: ignore[attr-defined]
        return b
    if _is_negative(b):
        positive = rewriter.emit(Const(-b.value, type=b.type), b)  # type: ignore[attr-defined]
        return rewriter.emit(Operation("sub", [a, positive], type=operation.type), operation)
    return None


def _sub(rewriter: Rewriter, operation: Operation) -> Statement | None:
    a, b = operation.operands
    if a.__class__ is Const and _is_number(a, 0) and _is_narrow(operation):
        return rewriter.emit(Operation("neg", [b], type=operation.type), operation)
    if b.__class__ is not Const or b.value > 0:
        return None
    if _is_number(b, 0) and repr(b.value) != "-0.0":
        return a
    if _is_negative(b):
        positive = rewriter.emit(Const(-b.value, type=b.type), b)
        return rewriter.emit(Operation("add", [a, positive], type=operation.type), operation)
    return None


def _is_narrow(operation: Operation) -> bool:
    """Return whether a negation needs an operation of its own: compilers find it in others, and do not wrap it."""
    return isinstance(operation.type, Scalar) and operation.type.is_narrow_int


def _is_negative(value: Statement) -> bool:
    """Return whether a value is a negative number that the user has not named, and that has a negation."""
    return (
        isinstance(value, Const)
        and isinstance(value.type, Scalar)
        and value.type.is_signed
        and -(2 ** (min(value.type.bits, 32) - 1)) < value.value < 0  # the lowest number has no negation
        and value.name is None
        and value.origin is None
    )


def _mul(rewriter: Rewriter, operation: Operation) -> Statement | None:
    a, b = operation.operands
    if a.__class__ is not Const and (b.__class__ is not Const or b.value > 1):
        return None
    if _is_number(b, 1):
        return a
    if _is_number(a, 1):
        return b
    if _is_narrow(operation) and (_is_number(a, -1) or _is_number(b, -1)):
        return rewriter.emit(Operation("neg", [a if _is_number(b, -1) else b], type=operation.type), operation)
    if not _is_float(operation):
        return b if _is_number(b, 0) else a if _is_number(a, 0) else None
    return None


def _by_one(rewriter: Rewriter, operation: Operation) -> Statement | None:
    """x / 1, x ** 1; x // 1 for integers."""
    if operation.op == "floordiv" and _is_float(operation):
        return None
    return operation.operands[0] if _is_number(operation.operands[1], 1) else None


def _power(rewriter: Rewriter, operation: Operation) -> Statement | None:
    """x ** 0, x ** 1; with `fast_math` x ** 0.5, 1.5, 2.5, -0.5 and -1.5 by a root, which takes a tenth of the time."""
    base, exponent = operation.operands
    kind = operation.type
    if _is_number(exponent, 0) and isinstance(kind, Scalar):
        return rewriter.emit(Const(1.0 if kind.is_float else 1, type=kind), operation)
    if not isinstance(exponent, Const) or exponent.value == 1 or kind not in (f32, f64) or base.type != kind:
        return _by_one(rewriter, operation)
    assert isinstance(rewriter, _Simplifier)
    if not rewriter.takes_roots or exponent.value not in (0.5, 1.5, 2.5, -0.5, -1.5):
        return None

    def emit(op: str, *values: Statement) -> Statement:
        return rewriter.emit(Operation(op, list(values), type=kind), operation)

    if exponent.value == -0.5:
        return emit("rsqrt", base)
    result = emit("sqrt", base)
    for _ in range(int(abs(exponent.value))):
        result = emit("mul", base, result)
    return result if exponent.value > 0 else emit("div", rewriter.emit(Const(1.0, type=kind), operation), result)


def _shift(rewriter: Rewriter, operation: Operation) -> Statement | None:
    return operation.operands[0] if _is_number(operation.operands[1], 0) else None


def _bit_or(rewriter: Rewriter, operation: Operation) -> Statement | None:
    """x | 0, x ^ 0."""
    a, b = operation.operands
    return a if _is_number(b, 0) else b if _is_number(a, 0) else None


def _bit_and(rewriter: Rewriter, operation: Operation) -> Statement | None:
    """x & 0; x & -1, with the type's greatest number in place of -1 if that is unsigned."""
    a, b = operation.operands
    ones = -1 if element_of(a.type or u1).is_signed else (1 << element_of(a.type or u1).bits) - 1
    for number, other in ((a, b), (b, a)):
        if _is_number(number, 0):
            return number
        if _is_number(number, ones):
            return other
    return None


def _twice(rewriter: Rewriter, operation: Operation) -> Statement | None:
    """-(-x), ~~x, not not x."""
    inner = operation.operands[0]
    return inner.operands[0] if isinstance(inner, Operation) and inner.op == operation.op else None


def _logical_not(rewriter: Rewriter, operation: Operation) -> Statement | None:
    """Negate the comparison itself; of floats only == and !=, since a NaN is neither less nor greater."""
    inner = operation.operands[0]
    if not isinstance(inner, Operation) or inner.op not in NEGATED or inner.type != u1:
        return _twice(rewriter, operation)
    kind = inner.operands[0].type
    if inner.op not in ("eq", "ne") and (kind is None or element_of(kind).is_float):
        return None
    return rewriter.emit(Operation(NEGATED[inner.op], inner.operands[:], type=u1), operation)


def _logical_and(rewriter: Rewriter, operation: Operation) -> Statement | None:
    a, b = operation.operands
    for one, other in ((a, b), (b, a)):
        if is_const(one, True):
            return other
        if is_const(one, False):
            return one
    return None


def _logical_or(rewriter: Rewriter, operation: Operation) -> Statement | None:
    a, b = operation.operands
    for one, other in ((a, b), (b, a)):
        if is_const(one, False):
            return other
        if is_const(one, True):
            return one
    return None


def _ne(rewriter: Rewriter, operation: Operation) -> Statement | None:
    """`x != 0`, if x is a bool cast to a number: the bool."""
    a, b = operation.operands
    if isinstance(a, Cast) and not a.bits and a.value.type == u1 and _is_number(b, 0):
        return a.value
    return a if a.type == u1 and is_const(b, False) else None


def _select(rewriter: Rewriter, operation: Operation) -> Statement | None:
    condition, a, b = operation.operands
    if a is b:
        return a
    if isinstance(condition, Const):
        return a if condition.value else b
    return None


def _is_number(value: Statement, number: int) -> bool:
    """Return whether `value` is a constant equal to `number`."""
    return isinstance(value, Const) and value.value == number and value.type != u1


IDENTITIES: dict[str, Callable[[Rewriter, Operation], Statement | None]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _by_one,
    "floordiv": _by_one,
    "pow": _power,
    "bit_or": _bit_or,
    "bit_xor": _bit_or,
    "bit_and": _bit_and,
    "shl": _shift,
    "sar": _shift,
    "shr": _shift,
    "neg": _twice,
    "bit_not": _twice,
    "logical_not": _logical_not,
    "logical_and": _logical_and,
    "logical_or": _logical_or,
    "ne": _ne,
    "select": _select,
}

RULES: dict[type[Statement], Rule] = {
    If: _if,
    IfExp: _if_expression,
    While: _while,
    RangeFor: _range_for,
    StructFor: _struct_for,
    **dict.fromkeys(EXITS, _exit),
    Cast: _cast,
    MatrixElement: _matrix_element,
    MatrixInit: _matrix_init,
    StructElement: _struct_element,
    StructInit: _struct_init,
    Operation: _operation,
}
