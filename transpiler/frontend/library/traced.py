"""Python functions that Python itself executes with run-time values: their arithmetic becomes statements of the kernel.

In: a function of Python's library (`operator.add`, `functools.reduce`), or one of the program that builds lists or has
a `lambda` in it, and its arguments. Out: its result, with statements for what depends on run-time values. A `Traced`
value has Python's operators and NumPy's functions; what decides by it at compile time is an error that says so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import TaichiTypeError
from ...ir.nodes import Statement
from ...ir.ops import OPS
from ...ir.statements import MatrixElement
from ...ir.types import Tensor
from ...lang.describe import safe_attribute
from ...lang.matrix import Matrix
from ..context.context import Context
from ..source.definition import KernelDefinition
from .operators import BINARY, COMPARE, UNARY, binary, compare, unary

UFUNCS = {
    np.sin: "sin", np.cos: "cos", np.tan: "tan", np.arcsin: "asin", np.arccos: "acos", np.arctan2: "atan2",
    np.tanh: "tanh", np.arcsinh: "asinh", np.arccosh: "acosh", np.arctanh: "atanh", np.exp: "exp", np.log: "log",
    np.sqrt: "sqrt", np.floor: "floor", np.ceil: "ceil", np.rint: "round", np.absolute: "abs", np.minimum: "min",
    np.maximum: "max",
}  # fmt: skip
"""Functions of NumPy, which those of `ti` call in Python scope, by operation of the op table."""
ARITHMETIC = {
    np.add: ast.Add, np.subtract: ast.Sub, np.multiply: ast.Mult, np.true_divide: ast.Div, np.power: ast.Pow,
    np.floor_divide: ast.FloorDiv, np.remainder: ast.Mod,
}  # fmt: skip
"""Those of NumPy's functions that are operators, called where a number of NumPy is on the left."""
LEFT, RIGHT = "__{}__", "__r{}__"
NAMES = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
"""Names of Python's operators in those of methods."""
EXECUTED = frozenset({"operator", "_operator", "functools", "_functools", "itertools"})
"""Modules whose functions compute with any objects."""
BUILDS = frozenset({"append", "extend", "insert", "pop", "sort", "reverse", "setdefault", "update"})
"""Methods of lists and dictionaries that change them, which kernels lack."""


class Traced:
    """A run-time value in a function that Python executes."""

    __slots__ = ("_context", "_value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, context: Context, value: Statement) -> None:
        self._context, self._value = context, value

    def __neg__(self) -> Any:
        return self._with(unary(self._context, UNARY[ast.USub], self._value))

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return self._with(unary(self._context, UNARY[ast.Invert], self._value))

    def __abs__(self) -> Any:
        return self._with(self._context.builder.op("abs", self._value))

    def __bool__(self) -> bool:
        raise self._refused("has no truth value")

    def __index__(self) -> int:
        raise self._refused("is no index")

    def __float__(self) -> float:
        raise self._refused("is no number")

    __int__ = __index__

    def __len__(self) -> int:
        return self._shape()[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        shape, value = self._shape(), self._value
        assert isinstance(value.type, Tensor)
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(shape[0]))]
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) != len(shape):
            raise self._refused(f"of {len(shape)} axes has no element with {len(indices)} indices")
        numbers = [range(extent)[k] for extent, k in zip(shape, indices, strict=True)]
        constants: list[Statement] = [self._context.builder.const(k) for k in numbers]
        element = MatrixElement(value, constants, type=value.type.element)
        return self._with(self._context.builder.add(element))

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        values = [self._plain(operand) for operand in operands]
        if function in ARITHMETIC:
            return self._with(binary(self._context, BINARY[ARITHMETIC[function]], *values))
        if function not in UFUNCS:
            raise self._refused(f"is no operand of `numpy.{function.__name__}`")
        context = self._context
        return self._with(context.builder.op(UFUNCS[function], *[context.values.lift(value) for value in values]))

    def _shape(self) -> tuple[int, ...]:
        if not isinstance(self._value.type, Tensor):
            raise self._refused("has no elements")
        return self._value.type.shape

    def _with(self, result: Any) -> Any:
        return wrapped(self._context, result)

    @staticmethod
    def _plain(value: Any) -> Any:
        return value._value if isinstance(value, Traced) else value.item() if isinstance(value, np.generic) else value

    def _refused(self, what: str) -> Exception:
        message = f"a run-time value {what} while Python executes a function that a kernel calls"
        return self._context.error(TaichiTypeError, message, "decorate the function with `@ti.func`")


def _make_operator(node: Any, is_reflected: bool) -> Callable[[Traced, Any], Any]:
    entry, build = (BINARY[node], binary) if node in BINARY else (COMPARE[node], compare)

    def operator(self: Traced, other: Any) -> Any:
        if isinstance(other, (list, tuple, Matrix)):
            other = unwrapped(other)
        left, right = self._plain(self), self._plain(other)
        return self._with(build(self._context, entry, *((right, left) if is_reflected else (left, right))))

    return operator


for _node, _name in NAMES.items():
    setattr(Traced, LEFT.format(_name), _make_operator(_node, False))
    if _node in BINARY:
        setattr(Traced, RIGHT.format(_name), _make_operator(_node, True))


def wrapped(context: Context, value: Any) -> Any:
    """Return a value with `Traced` for the statements in it."""
    return _replaced(value, Statement, lambda found: Traced(context, found))


def unwrapped(value: Any) -> Any:
    """Return a value with statements for the `Traced` in it; iterators become lists."""
    if isinstance(value, Iterator):
        value = list(value)
    return _replaced(value, Traced, lambda found: found._value)


def _replaced(value: Any, kind: type, replace: Callable[[Any], Any]) -> Any:
    if isinstance(value, kind):
        return replace(value)
    if isinstance(value, list):
        return [_replaced(item, kind, replace) for item in value]
    if isinstance(value, tuple):
        items = [_replaced(item, kind, replace) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, dict):
        return {name: _replaced(item, kind, replace) for name, item in value.items()}
    return value


def execute(context: Context, function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Let Python execute a function with run-time values, and return its result."""
    context.need_copies()
    given = [wrapped(context, argument) for argument in arguments]
    options = {name: wrapped(context, value) for name, value in named.items()}
    return context.python(lambda: unwrapped(function(*given, **options)))


def is_executed(function: Any) -> bool:
    """Return whether Python executes a function of its library that gets run-time values: `functools.reduce`."""
    inner = function.func if isinstance(function, partial) else function
    module = safe_attribute(inner, "__module__", str, "") or type(inner).__module__
    return module in EXECUTED or inner is map


def needs_python(definition: KernelDefinition, arguments: Sequence[Any]) -> bool:
    """Return whether a function does what kernels lack: a `lambda`, a generator, a list that grows in a loop, a loop
    over a list.
    """
    parameters = zip(definition.tree.args.args, arguments, strict=False)
    lists = {parameter.arg for parameter, value in parameters if isinstance(value, (list, tuple, dict))}
    lists |= {
        target.id
        for node in ast.walk(definition.tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.ListComp, ast.Dict, ast.Set))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return any(_lacks(statement, lists, False) for statement in definition.tree.body)


def _lacks(node: ast.AST, lists: set[str], in_loop: bool) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="static") | ast.Name(id="static")):
            return False  # which Python executes
        case ast.Lambda() | ast.GeneratorExp():
            return True
        case ast.Call(func=ast.Attribute(attr=name, value=ast.Name(id=owner))) if owner in lists and name in BUILDS:
            if in_loop:
                return True
        case ast.For(iter=ast.Call(func=ast.Attribute(attr="static") | ast.Name(id="static"))):
            pass
        case ast.For(iter=ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name))) if name in lists:
            return True
        case ast.For() | ast.While():
            in_loop = True
    return any(_lacks(child, lists, in_loop) for child in ast.iter_child_nodes(node))


assert set(NAMES) == {*BINARY, *COMPARE} and set(UFUNCS.values()) <= set(OPS)
