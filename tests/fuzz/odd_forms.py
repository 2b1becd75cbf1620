"""Forms that users write more rarely: powers of vectors, rows, several targets, sums of variables, offsets, run-time extents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .scalars import INTEGERS, Value, edge, is_real, width
from .statements import Access, Statements
from .tensors import SHAPES

REDUCTIONS = (("+=", "-="), ("atomic_min",), ("atomic_max",), ("&=",), ("|=",), ("^=", "atomic_xor"), ("atomic_add",))


class OddForms(Statements):
    """Makers of these forms, for the statements and expressions of a program; `policy.odd` is their share."""

    def begin_odd_forms(self) -> None:
        """Let statements and expressions contain these forms."""
        share = self.policy.odd * 5
        self.more_statements = [
            (share, self.define_several), (share, self.atomic_of_own), (share * 2, self.reduce_variable),
        ]  # fmt: skip
        self.more_integers += [(share, self.extent_of), (share, self.clamped), (share, self.any_of_comparison)]

    # --- numbers

    def extent_of(self, depth: int) -> Value:
        """Return an extent of an array: known at compile time of a field, an argument of an ndarray."""
        found = [] if self.pure else [array for array in self.arrays if array.shape and not array.member]
        if not found:
            return self.integer_leaf(depth)
        array = self.random.choice(found)
        axis = self.random.randrange(len(array.shape))
        bound = float(array.shape[axis] + 1)
        return Value(f"ti.cast({array.name}.shape[{axis}], ti.i32)", "i32", bound)

    def clamped(self, depth: int) -> Value:
        """Return a number within limits."""
        a = self.as_type(self.at_run_time(self.integer(depth - 1)), self.random.choice(("i32", "i64")))
        low = self.random.randint(-9, 0)
        return Value(f"ti.math.clamp({a.text}, {low}, {low + self.random.randint(0, 20)})", a.type, 32.0)

    def any_of_comparison(self, depth: int) -> Value:
        """Return whether one or all elements of two vectors compare so, as a number."""
        if not self.dialect.slices or not self.policy.tensors:
            return self.integer_leaf(depth)
        shape = self.random.choice(SHAPES)
        a, b = self.tensor(depth - 1, shape, False), self.tensor(depth - 1, shape, False)
        test = f"({a.text} {self.random.choice(('<', '<=', '==', '!=', '>'))} {b.text})"
        return Value(f"ti.cast({test}.{self.random.choice(('any', 'all'))}(), ti.i32)", "i32", 1.0)

    def row_or_column(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return a row or a column of a matrix in a variable, or a part of a vector."""
        found = [
            v
            for v in self.in_sight()
            if v.shape and is_real(v.type) == real and (v.exact or not exact)
            and (shape[0] in v.shape if len(v.shape) == 2 else v.shape[0] > shape[0])
        ]  # fmt: skip
        if len(shape) != 1 or not found:
            return self.tensor_leaf(depth, shape, real, exact)
        value = self.random.choice(found)
        if len(value.shape) == 1:
            first = self.random.randint(0, value.shape[0] - shape[0])
            return replace(value, text=f"{value.text}[{first}:{first + shape[0]}]", shape=shape)
        axis = self.random.choice([axis for axis in (0, 1) if value.shape[1 - axis] == shape[0]])
        number = str(self.random.randrange(value.shape[axis]))
        index = f"{number}, :" if axis == 0 else f":, {number}"
        return replace(value, text=f"{value.text}[{index}]", shape=shape)

    def tensor_power(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return the powers of the elements of integers: their type is the left one."""
        a = self.tensor(depth - 1, shape, False)
        exponent = str(self.random.randint(self.least_exponent, 9))
        if self.chance(0.3):
            exponent = f"({self.at_run_time(self.integer(depth - 1)).text} & 3)"
        power = f"({a.text} ** {exponent})"
        if not self.dialect.tensor_powers:
            power = f"ti.cast({power}, ti.{a.type})"
        return Value(power, a.type, 0.0, True, shape)

    def odd_tensors(self, shape: tuple[int, ...], real: bool) -> list[tuple[float, Callable[..., Value]]]:
        share = self.policy.odd * 5
        makers: list[tuple[float, Callable[..., Value]]] = [] if real else [(share, self.tensor_power)]
        return [*makers, (share, self.row_or_column)] if self.dialect.slices and len(shape) == 1 else makers

    # --- statements

    def define_several(self) -> None:
        """Write `a = b = x`, `a, b = x, y`, or the elements of a vector in variables."""
        names = [self.name(), self.name()]
        kind = self.random.random()
        if kind < 0.3:
            made = self.integer(self.policy.depth)
            values = [Value(name, made.type) for name in names]
            self.line(f"{names[0]} = {names[1]} = {self.at_run_time(made).text}")
        elif kind < 0.6 or not self.policy.tensors:
            made, other = self.integer(self.policy.depth), self.integer(self.policy.depth)
            values = [Value(names[0], made.type), Value(names[1], other.type)]
            self.line(f"{names[0]}, {names[1]} = {made.text}, {other.text}")
        else:
            vector = self.tensor(self.policy.depth, (2,), False)
            values = [Value(name, vector.type) for name in names]
            self.line(f"{names[0]}, {names[1]} = {vector.text}")
        self.scopes[-1] += values

    def atomic_of_own(self) -> None:
        """Write an atomic operation on the iteration's own element, and keep the value from before."""
        own = [] if self.pure or self.serial else [
            array for array in self.arrays
            if array.dtype in INTEGERS and width(array.dtype) >= 32 and self.access.get(array.name, Access()).own
        ]  # fmt: skip
        if not own:
            self.define()
            return
        array = self.random.choice(own)
        where = array.at(self.index(array, 1))
        where = f"{where}[{self.changed_component(array)}]" if array.tensor else where
        name = self.name()
        operator = self.random.choice(("add", "sub", "min", "max", "and", "or", "xor"))
        self.line(f"{name} = ti.atomic_{operator}({where}, {self.changing(1, array.dtype)})")
        self.scopes[-1].append(Value(name, array.dtype))

    # --- variables of the kernel that a parallel loop changes

    def begin_reduction(self) -> None:
        """Choose a variable of the kernel that the next parallel loop reduces, or none; write it if it is new."""
        self.reduced = None
        if not self.chance(self.policy.odd * 2):
            return
        type = self.random.choice(("i32", "i64", *(t for t in self.policy.integers if width(t) >= 32)))
        self.reduced = Value(self.name("r"), type)
        self.reduction = self.random.choice(REDUCTIONS)
        self.line(f"{self.reduced.text} = ti.cast({edge(type, self.random) & 0x7FFFFFFF}, ti.{type})")
        self.scopes[-1].append(self.reduced)
        self.shared = [*self.shared, self.reduced]

    reduction: tuple[str, ...] = ()

    def reduce_variable(self) -> None:
        """Write a change of that variable."""
        if self.reduced is None:
            self.assign()
            return
        value, operator = self.changing(1, self.reduced.type), self.random.choice(self.reduction)
        name = self.reduced.text
        self.line(f"{name} {operator} {value}" if operator.endswith("=") else f"ti.{operator}({name}, {value})")

    def extent(self, extent: int) -> str:
        """Return the extent of a parallel loop: the literal, or a number at run time that is at most as large."""
        if not self.chance(self.policy.odd):
            return str(extent)
        self.serial, self.parallel = True, False  # it is computed before the loop
        text = self.small(2, extent + 1).text
        self.serial, self.parallel = False, True
        return text

    # --- between launches

    def python_scope(self) -> list[str]:
        """Return statements of Python scope that change arrays."""
        found = [array for array in self.arrays if array.dtype != "u1" and not array.tensor and not array.member
                 and not array.is_sparse and (array.kind == "field" or array.make)]  # fmt: skip
        if not found or not self.chance(self.policy.odd):
            return []
        array = self.random.choice(found)
        number = "0.5" if is_real(array.dtype) else str(edge(array.dtype, self.random))
        if self.chance(0.3):
            return [f"    {array.name}.fill({number})"]
        index = "None" if not array.shape else ", ".join(str(self.random.randrange(extent)) for extent in array.shape)
        operator = "=" if is_real(array.dtype) or width(array.dtype) > 32 else self.random.choice(("=", "+="))
        number = number if operator == "=" else str(self.random.randint(0, 9))
        if operator == "+=" and self.dialect.name == "taichi":
            operator = "="
        return [f"    {array.at(index)} {operator} {number}"]


def offset_lines(lines: tuple[str, ...], offset: tuple[int, ...]) -> tuple[str, ...]:
    """Return the lines of a field with an offset."""
    text = f"({', '.join(map(str, offset))},)" if len(offset) == 1 else str(offset)
    if len(lines) == 1:
        return (f"{lines[0][:-1]}, offset={text})",)
    return (*lines[:-1], f"{lines[-1][:-1]}, offset={text})")
