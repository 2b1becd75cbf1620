"""Random expressions of vectors and matrices, and numbers taken from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from .arrays import ArrayInfo
from .expressions import Expressions
from .scalars import INTEGERS, SIGNED, Value, is_real, promote, width

SHAPES = ((2,), (3,), (4,), (2, 2), (3, 3), (2, 3), (5,))
LETTERS = "xyzw"
LIMIT = 64.0
"""Reals in tensors are at most this."""


class Tensors(Expressions):
    """Vectors and matrices of one program."""

    def read_tensor(
        self, shape: tuple[int, ...], wanted: Callable[[str], bool], depth: int, exact: bool
    ) -> Value | None:
        """Return an element of an array of tensors that may be read here."""
        raise NotImplementedError

    def odd_tensors(self, shape: tuple[int, ...], real: bool) -> list[tuple[float, Callable[..., Value]]]:
        """Return further makers of tensors, with their weights."""
        raise NotImplementedError

    def tensor_shape(self) -> tuple[int, ...]:
        """Return a shape, often one that is in sight."""
        found = [value.shape for value in self.in_sight() if value.shape]
        return self.random.choice(found) if found and self.chance(0.7) else self.random.choice(SHAPES)

    def tensor(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool = True) -> Value:
        """Return a vector or a matrix of integers or of reals."""
        self.room -= 1
        if depth <= 0 or self.room < 0 or self.chance(0.2):
            return self.tensor_leaf(depth, shape, real, exact)
        makers = [
            (5, self.tensor_arithmetic), (1, self.tensor_unary), (2, self.tensor_cast), (2, self.tensor_extreme),
            (2, self.tensor_choice), (2, self.written_tensor),
        ]  # fmt: skip
        if len(shape) == 1 and shape[0] <= 4:
            makers.append((2, self.swizzle))
        if not real:
            makers += [(1, self.tensor_division), (1, self.tensor_shift), (2, self.product)]
        if len(shape) == 2 and shape[0] == shape[1]:
            makers.append((1, self.transposed))
        makers += self.odd_tensors(shape, real)
        make = self.random.choices([m for _, m in makers], [w for w, _ in makers])[0]
        return self.tensor_within(make(depth, shape, real, exact))

    def tensor_within(self, value: Value) -> Value:
        """Return a tensor whose reals are clamped if they may be large."""
        if not is_real(value.type) or value.bound <= LIMIT:
            return value
        text = f"ti.max(ti.min({value.text}, {LIMIT}), -{LIMIT})"
        return replace(value, text=text, bound=LIMIT, type=promote(value.type, "f32"))

    def tensor_leaf(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return a variable, an element of an array, or one that is written out."""

        def wanted(type: str) -> bool:
            return is_real(type) == real

        if self.chance(0.6):
            found = [v for v in self.in_sight() if v.shape == shape and wanted(v.type) and (v.exact or not exact)]
            if found:
                return self.random.choice(found)
        if self.chance(0.6):
            read = self.read_tensor(shape, wanted, depth, exact)
            if read is not None:
                return read
        return self.written_tensor(min(depth, 1), shape, real, exact)

    def written_tensor(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return `ti.Vector([...])` or `ti.Matrix([[...], ...])`."""
        type = self.real_type() if real else self.any_integer_type()
        if self.chance(0.1):
            made = (
                f"ti.Vector.{{}}(ti.{type}, {shape[0]})"
                if len(shape) == 1
                else f"ti.Matrix.{{}}(ti.{type}, {shape[0]}, {shape[1]})"
            )
            return Value(made.format(self.random.choice(("zero", "one"))), type, 1.0, True, shape)
        items = []
        self.room -= prod(shape) - 2
        for _ in range(prod(shape)):
            if real:
                value = self.real(depth - 1, exact=True)
                text = value.text if value.bound <= LIMIT else f"ti.max(ti.min({value.text}, {LIMIT}), -{LIMIT})"
                items.append(f"ti.cast({text}, ti.{type})")
            else:
                items.append(self.as_type(self.at_run_time(self.integer(depth - 1)), type).text)
        if len(shape) == 1:
            return Value(f"ti.Vector([{', '.join(items)}])", type, LIMIT, True, shape)
        rows = [", ".join(items[r * shape[1] : (r + 1) * shape[1]]) for r in range(shape[0])]
        return Value(f"ti.Matrix([{', '.join(f'[{row}]' for row in rows)}])", type, LIMIT, True, shape)

    def tensor_arithmetic(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return a sum, difference or product of two tensors, or of a tensor and a number."""
        a = self.tensor(depth - 1, shape, real, exact)
        if self.chance(0.3):
            b = self.real(depth - 1, exact) if real else self.integer(depth - 1)
        else:
            b = self.tensor(depth - 1, shape, real, exact)
        sign = self.random.choice("+-*+-" if real else "+-*+-&|^")
        bound = a.bound * b.bound if sign == "*" else a.bound + b.bound
        if self.chance(0.2) and sign in "+*":
            a, b = b, a
        return Value(f"({a.text} {sign} {b.text})", promote(a.type, b.type), bound, a.exact and b.exact, shape)

    def tensor_unary(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return -x, ~x or abs(x)."""
        a = self.tensor(depth - 1, shape, real, exact)
        if a.type not in ("i32", "f32", "f64") and self.dialect.name == "taichi":
            return a.by(f"(~{a.text})")
        if real or a.type in SIGNED:
            return a.by(self.negated_or_positive(a))
        return a.by(f"(~{a.text})")

    def tensor_cast(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return a cast of all elements."""
        a = self.tensor(depth - 1, shape, real, exact)
        type = self.real_type() if real else self.any_integer_type()
        return replace(a, text=f"ti.cast({a.text}, ti.{type})", type=type)

    def tensor_extreme(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return the lesser or greater elements of two."""
        a, b = self.tensor(depth - 1, shape, real, exact), self.tensor(depth - 1, shape, real, exact)
        if not real and not self.dialect.narrow_division:
            a, b = (replace(v, text=f"ti.cast({v.text}, ti.i32)", type="i32") for v in (a, b))
        name = self.random.choice(("ti.min", "ti.max", "min", "max"))
        return Value(
            f"{name}({a.text}, {b.text})", promote(a.type, b.type), max(a.bound, b.bound), a.exact and b.exact, shape
        )

    def tensor_choice(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return one of two tensors of one type by a condition."""
        a, b = self.tensor(depth - 1, shape, real, exact), self.tensor(depth - 1, shape, real, exact)
        b = replace(b, text=f"ti.cast({b.text}, ti.{a.type})", type=a.type)
        condition = self.condition(depth - 1)
        bound, is_exact = max(a.bound, b.bound), a.exact and b.exact
        text = f"ti.select({condition}, {a.text}, {b.text})"
        if self.chance(0.5) and self.dialect.name != "taichi":
            text = f"({a.text} if {condition} else {b.text})"
        return Value(text, a.type, bound, is_exact, shape)

    def tensor_division(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return a quotient or remainder by a number."""
        a = self.tensor(depth - 1, shape, False)
        if width(a.type) == 8 and not self.dialect.narrow_division:
            return a
        sign, b = self.random.choice(("//", "%")), self.divisor(depth)
        return Value(f"({a.text} {sign} {b.text})", promote(a.type, b.type), 0.0, True, shape)

    def tensor_shift(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return a shift of all elements."""
        a = self.tensor(depth - 1, shape, False)
        return a.by(f"({a.text} {self.random.choice(('<<', '>>'))} {self.random.randrange(width(a.type))})")

    def product(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return a matrix product of integers, or a cross product."""
        if shape == (3,) and self.chance(0.4):
            a, b = self.tensor(depth - 1, shape, False), self.tensor(depth - 1, shape, False)
            b = replace(b, text=f"ti.cast({b.text}, ti.{a.type})", type=a.type)
            return Value(f"{a.text}.cross({b.text})", a.type, 0.0, True, shape)
        inner = self.random.choice((2, 3))
        if shape[0] not in (2, 3) or (len(shape) == 2 and shape[1] not in (2, 3)):
            return self.tensor(depth - 1, shape, False)
        a = self.tensor(depth - 1, (shape[0], inner), False)
        b = self.tensor(depth - 1, (inner, *shape[1:]), False)
        if width(promote(a.type, b.type)) < 32 and not self.dialect.narrow_products:
            a = replace(a, text=f"ti.cast({a.text}, ti.i32)", type="i32")
        return Value(f"({a.text} @ {b.text})", promote(a.type, b.type), 0.0, True, shape)

    def transposed(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return a matrix with rows and columns exchanged."""
        a = self.tensor(depth - 1, shape, real, exact)
        return a.by(f"{a.text}.transpose()")

    def swizzle(self, depth: int, shape: tuple[int, ...], real: bool, exact: bool) -> Value:
        """Return some components of a vector, by letters."""
        size = self.random.choice((2, 3, 4))
        found = [
            v for v in self.in_sight() if v.shape == (size,) and is_real(v.type) == real and (v.exact or not exact)
        ]
        if not found:
            return self.tensor(depth - 1, shape, real, exact)
        a = self.random.choice(found)
        letters = "".join(self.random.choice(LETTERS[:size]) for _ in range(shape[0]))
        return replace(a, text=f"{a.text}.{letters}", shape=shape)

    # --- numbers of tensors

    def component_index(self, shape: tuple[int, ...], depth: int) -> str:
        """Return an index of a component, constant or not."""
        return ", ".join(
            str(self.random.randrange(extent)) if self.chance(0.6) else self.small(min(depth, 1), extent).text
            for extent in shape
        )

    def changed_component(self, array: ArrayInfo) -> str:
        """Return the index of a component of an array's element, to be changed."""
        if not array.is_sparse or self.dialect.sparse_components:
            return self.component_index(array.tensor, 1)
        return ", ".join(str(self.random.randrange(extent)) for extent in array.tensor)

    def from_tensor(self, wanted: Callable[[str], bool], depth: int, exact: bool) -> Value | None:
        """Return a number taken from a vector or a matrix."""
        real = wanted("f32")
        if real and not self.policy.reals_share:
            return None
        shape = self.tensor_shape()
        a = self.tensor(depth - 1, shape, real, exact)
        kinds = ["index", "index", "max", "min", *(["sum", "dot"] if not real else [])]
        kinds += ["letter"] if len(shape) == 1 and shape[0] <= 4 else []
        kinds += ["trace", "determinant"] if shape in ((2, 2), (3, 3)) and not real else []
        if real and not exact:
            kinds += ["norm"]
        kind = self.random.choice(kinds)
        number = Value("", a.type, a.bound, a.exact)
        if kind == "index" or (kind in ("max", "min") and width(a.type) < 32 and self.dialect.name == "taichi"):
            found = [
                v for v in self.in_sight() if v.shape == shape and is_real(v.type) == real and (v.exact or not exact)
            ]
            if not found:
                return number.by(f"{a.text}[{', '.join(str(self.random.randrange(n)) for n in shape)}]")
            a = self.random.choice(found)
            return Value(f"{a.text}[{self.component_index(shape, depth)}]", a.type, a.bound, a.exact)
        if kind == "letter":
            return number.by(f"{a.text}.{self.random.choice(LETTERS[: shape[0]])}")
        if kind == "dot":
            if len(shape) != 1:
                return number.by(f"{a.text}.sum()")
            b = self.tensor(depth - 1, shape, False)
            return Value(f"{a.text}.dot(ti.cast({b.text}, ti.{a.type}))", a.type)
        if kind == "norm":
            return Value(f"({a.text}.norm() * 0.125)", a.type, a.bound, False)
        return (
            number.by(f"{a.text}.{kind}()")
            if kind not in ("determinant", "sum", "trace")
            else Value(f"{a.text}.{kind}()", a.type)
        )

    def integer_of_tensor(self, depth: int) -> Value:
        """Return an integer of a tensor."""
        return self.from_tensor(lambda type: type in INTEGERS, depth, True) or self.integer(depth - 1)

    def real_of_tensor(self, depth: int, exact: bool) -> Value:
        """Return a real of a tensor."""
        return self.from_tensor(is_real, depth, exact) or self.real(depth - 1, exact)
