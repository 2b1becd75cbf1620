"""Names for values that the user has not named but that need a variable: they say what the value is.

    float length_d = length(d);    vec2 x_i = x(i);    float random = random_f32(rng);    int old_count = atomicAdd(...)

In: a value. Out: a name made of the names in the user's program and of the operation; `Names` makes it unique.
"""

from __future__ import annotations

from ...ir.functions import Call, CallResult
from ...ir.nodes import Statement
from ...ir.ops import MIRRORED
from ...ir.sparse import Append, Length
from ...ir.statements import (
    Alloca,
    ArgLoad,
    ArrayShape,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalTemporary,
    IfExp,
    ListItem,
    LocalLoad,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    Rand,
    RangeFor,
    StructElement,
    StructInit,
    StructPtr,
    base_pointer,
)
from ...ir.types import Scalar, Tensor, u1
from ..languages.common.naming import bound_name
from .repetition import is_settled

ORDERS = {"lt", "le", "gt", "ge"}
MAX_LENGTH = 24
"""Characters of a name made of those of two operands."""
INFIX = {
    "add": "plus", "sub": "minus", "mul": "times", "div": "over", "raw_div": "over", "floordiv": "over",
    "plain_div": "over", "mod": "mod", "raw_mod": "mod", "plain_mod": "mod", "near_mod": "mod",
    "close_mod": "mod",
    "pow": "to", "lt": "less", "le": "most",
    "gt": "greater", "ge": "least", "eq": "is", "ne": "not", "logical_and": "and", "logical_or": "or",
    "bit_and": "and", "bit_or": "or", "bit_xor": "xor", "min": "min", "max": "max", "at_most": "min", "at_least": "max",
    "running_min": "min", "running_max": "max", "scalar_min": "min", "scalar_max": "max", "dot": "dot",
    "cross": "cross", "matmul": "times", "lean_matmul": "times", "outer_product": "outer",
}  # fmt: skip
"""The word between the names of two operands."""
RESULTS = {
    "add": "sum", "sub": "difference", "mul": "product", "matmul": "product", "lean_matmul": "product",
    "outer_product": "product",
    "div": "ratio", "raw_div": "ratio", "floordiv": "quotient", "plain_div": "quotient",
    "mod": "remainder", "raw_mod": "remainder", "plain_mod": "remainder", "near_mod": "remainder",
    "close_mod": "remainder",
    "pow": "power", "exp2": "power", "exp10": "power", "short_atan2": "atan2", "neg": "negative",
    "min": "least", "max": "greatest", "at_most": "least", "at_least": "greatest", "running_min": "least",
    "running_max": "greatest", "scalar_min": "least", "scalar_max": "greatest", "select": "chosen",
    "normal_reciprocal": "reciprocal", "lt": "is_less", "le": "is_at_most",
    "gt": "is_greater", "ge": "is_at_least", "eq": "is_equal", "ne": "differs", "logical_and": "both",
    "logical_or": "either", "logical_not": "fails", "bit_and": "masked", "bit_or": "bits", "bit_xor": "bits",
    "bit_not": "inverted", "shl": "shifted", "sar": "shifted", "shr": "shifted",
}  # fmt: skip
"""The name of a result where the operands have none, or too long ones; of other operations it is their name."""


ROOTS = {"sqrt": "root", "normal_sqrt": "root", "rsqrt": "rsqrt", "normal_rsqrt": "rsqrt"}
"""The name of a root of a value without a name; that of `x` is `sqrt_x`."""


def derived_name(value: Statement) -> str:
    """Return a name for a value: what the user called it elsewhere, or what it is made of."""
    if isinstance(value, GlobalLoad) and not (value.hint and isinstance(value.type, Tensor)):
        return _element(value.pointer)
    if value.hint:
        return value.hint
    match value:
        case AtomicOp(pointer=pointer):
            return f"old_{_array(pointer)}"
        case Rand():
            return "random"
        case LocalLoad() if word := _word(value):
            return f"old_{word}"  # the variable changes before the value is used
        case Append():
            return "item"
        case Call(function=function, arguments=arguments):
            word = _word(arguments[0]) if arguments else None
            if word and len(word) < MAX_LENGTH // 2:
                return f"{function.name}_{word}"
            return f"{function.name}_result" if value.type is not None else "results"
        case MatrixElement(value=inner, indices=[index]) if (word := _word(inner)) and (number := _word(index)):
            return f"{word}_{number}"
        case IfExp():
            return "holds" if value.type == u1 else "chosen"
        case Operation(op="mul", operands=[a, Operation(op="normal_reciprocal", operands=[b])]):
            return _operation("div", [a, b])
        case Operation(op=op, operands=operands):
            return _operation(op.removeprefix("wrapping_").removeprefix("biased_"), operands)
        case MatrixInit():
            return _tensor(value)
        case StructInit():
            return "record"
        case Cast(value=inner, type=Scalar(name=name)) if word := _word(inner):
            return f"{word}_{name}"
        case Cast(value=inner):
            return _word(inner) or "converted"
    return _word(value) or "value"


def names_of_ends(loop: RangeFor) -> dict[Statement, str]:
    """Return names for computed or loaded ends of a loop, of those that need one: `end_k` of the loop over `k`."""
    return {
        end: bound_name("end", name)
        for end, name in zip(loop.ends, loop.names)
        if isinstance(end, (Operation, Call, Length, GlobalLoad))
        if name.strip("_") and not (end.hint or is_settled(end))
    }


def _element(pointer: Statement) -> str:
    """Return the name of a value in memory: `x_i` of `x(i)`."""
    match pointer:
        case StructPtr(member=member):
            return f"{_array(pointer)}_{member}"
        case MatrixPtr(origin=origin, indices=[Const(value=number)]) if number in range(4):
            return f"{_element(origin)}_{'xyzw'[int(number)]}"
    base = base_pointer(pointer)
    if not isinstance(base, GlobalPtr):
        return _array(pointer)
    other = f"{base.array.name}_{'row' if base.lanes > 1 and base.array.ndim > 1 else 'value'}"
    words = [_index(index) for index in base.indices]
    if base.is_flat and words[0] and words[0].startswith(f"{base.array.name}_"):
        return other
    if not words or not all(words):
        return other
    group = (words[0] or "").removesuffix("_0")
    if words == [f"{group}_{axis}" for axis in range(len(words))]:
        return f"{base.array.name}_{group}"
    parts = list(dict.fromkeys(word for word in words if word))
    joined = ("" if all(len(part) == 1 for part in parts) else "_").join(parts)
    name = f"{base.array.name}_{joined}"
    return name if len(name) <= MAX_LENGTH else other


def _index(index: Statement) -> str | None:
    """Return the name of an index: `i_plus_1`, since `x_i` is another element than `x(i + 1)`."""
    match index:
        case Operation(op=op, operands=[a, Const(value=number)]) if number and op.endswith(("add", "sub")):
            is_sum = op.endswith("add") == (number > 0)
            return f"{word}_{'plus' if is_sum else 'minus'}_{abs(int(number))}" if (word := _word(a)) else None
    return _word(index)


def _array(pointer: Statement) -> str:
    base = base_pointer(pointer)
    if isinstance(base, GlobalPtr):
        return base.array.name
    if isinstance(base, GlobalTemporary):
        return base.temporary.name
    return base.name or base.hint or "value"


def _operation(op: str, operands: list[Statement]) -> str:
    words = [_word(operand) for operand in operands]
    known = [word for word in words if word]
    if op in ROOTS:
        return f"{op.removeprefix('normal_')}_{known[0]}" if known else ROOTS[op]
    if op == "logical_and" and (word := _bounded(operands)):
        return f"{word}_inside"
    if op == "mul" and operands[0] is operands[1]:
        return f"{known[0]}_squared" if known else "squared"
    if op in INFIX and len(operands) == 2:
        if words[0] is None:
            op = MIRRORED.get(op, op)  # `sum < r2`: the name is that of r2, which is greater
        if len(known) == 2:
            name = f"{words[0]}_{INFIX[op]}_{words[1]}"
            return name if len(name) <= MAX_LENGTH and words[0] != words[1] else RESULTS.get(op, op)
        return f"{known[0]}_{RESULTS.get(op, op)}" if known and len(known[0]) < MAX_LENGTH // 2 else RESULTS.get(op, op)
    name = RESULTS.get(op, op)
    return f"{name}_{known[0]}" if known and len(known[0]) < MAX_LENGTH // 2 else name


def _bounded(tests: list[Statement]) -> str | None:
    """Return the name of the value that two tests bound: `i >= 0 && i < n`."""
    first, second = tests
    if not (isinstance(first, Operation) and isinstance(second, Operation) and {first.op, second.op} <= ORDERS):
        return None
    return next((word for part in first.operands if part in second.operands and (word := _word(part))), None)


def _tensor(value: MatrixInit) -> str:
    words = list(dict.fromkeys(word for element in value.elements if (word := _word(element))))
    name = "_".join(words) if len(words) > 1 else ""
    if name and len(name) <= MAX_LENGTH // 2:
        return name
    return "matrix" if isinstance(value.type, Tensor) and len(value.type.shape) > 1 else "vector"


def _word(value: Statement) -> str | None:
    """Return the name of a value that has one in the user's program, or of what it is a part of; else None."""
    if value.name or value.hint:
        return value.name or value.hint
    match value:
        case LoopIndex(loop=loop, axis=axis):
            return loop.names[axis] if axis < len(loop.names) else None
        case ArgLoad(parameter=parameter):
            return parameter.name
        case ArrayShape(array=array):
            return f"{array.name}_n"
        case LocalLoad(pointer=Alloca() as variable):
            return variable.name or variable.hint
        case LocalLoad(pointer=StructPtr() | MatrixPtr() as pointer):
            base = base_pointer(pointer)
            return base.name or base.hint
        case GlobalLoad(pointer=pointer):
            return _array(pointer)
        case StructElement(member=member):
            return member
        case MatrixElement(value=inner, indices=[Const(value=number)]) if (word := _word(inner)) and number in range(4):
            return f"{word}_{'xyzw'[int(number)]}"
        case MatrixElement(value=inner) | Cast(value=inner) | ListItem(origin=inner):
            return _word(inner)
        case CallResult():
            return None
        case Operation(op="neg", operands=[inner]):
            return _word(inner)
        case Operation(op=op, operands=[a, b]) if op.endswith(("add", "sub")) and isinstance(b, Const):
            return _word(a)
    return None
