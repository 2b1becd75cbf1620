"""Random expressions with known types, well-defined by construction.

Integers wrap and may be anything; shifts count less than the width; casts of reals to integers are in range, since every
real value has a bound. Reals are exact (operators, sqrt, floor: equal bits on all targets with `fast_math=False`) or not;
what is not exact never decides anything and is never cast to an integer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from .dialects import Dialect, Policy
from .scalars import INTEGERS, LARGEST_EXACT, SIGNED, Value, greatest, is_real, least, promote, width

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Expressions:
    """The expressions of one program. Subclasses say what is in sight."""

    random: random.Random
    policy: Policy
    dialect: Dialect
    room: int = 0
    """Operations that the statement at hand may still have."""

    more_integers: list[tuple[float, Callable[[int], Value]]] = []
    """Further makers of integers, with their weights."""
    more_reals: list[tuple[float, Callable[[int, bool], Value]]] = []

    # --- what is in sight

    def in_sight(self) -> Sequence[Value]:
        """Return variables, parameters and loop indices."""
        raise NotImplementedError

    def read(self, wanted: Callable[[str], bool], depth: int, exact: bool) -> Value | None:
        """Return an element of an array that may be read here, of a wanted type."""
        raise NotImplementedError

    def call(self, wanted: Callable[[str], bool], depth: int) -> Value | None:
        """Return a call of a function whose result has a wanted type."""
        raise NotImplementedError

    # --- helpers

    def chance(self, share: float) -> bool:
        """Return whether something of that probability happens."""
        return self.random.random() < share

    def choose(self, *options: Callable[[], Value | None]) -> Value:
        """Return what the first option in random order gives that is possible here."""
        for option in self.random.sample(options, len(options)):
            found = option()
            if found is not None:
                return found
        raise AssertionError("the last option is always possible")

    def variable(self, wanted: Callable[[str], bool], exact: bool) -> Value | None:
        """Return a variable of a wanted type."""
        found = [v for v in self.in_sight() if not v.shape and wanted(v.type) and (v.exact or not exact)]
        return self.random.choice(found) if found else None

    # --- integers

    def integer(self, depth: int) -> Value:
        """Return an expression of some integer type."""
        self.room -= 1
        if depth <= 0 or self.room < 0 or self.chance(0.2):
            return self.integer_leaf(depth)
        makers = [
            (6, self.arithmetic), (2, self.bits), (3, self.division), (2, self.shift), (2, self.extreme),
            (1, self.unary), (2, self.integer_choice), (2, self.integer_cast), (1, self.truth), (1, self.power),
            (1, self.rounded), (1, self.counted_bits), (2, self.integer_call),
            *((weight, maker) for weight, maker in self.more_integers),
        ]  # fmt: skip
        make = self.random.choices([m for _, m in makers], [w for w, _ in makers])[0]
        return make(depth)

    def integer_leaf(self, depth: int = 0) -> Value:
        """Return something short."""

        def is_integer(type: str) -> bool:
            return type in INTEGERS

        if self.chance(0.55):
            found = self.variable(is_integer, False)
            if found is not None:
                return found
        if self.chance(0.7):
            found = self.read(is_integer, depth, False)
            if found is not None:
                return found
        return self.literal()

    def literal(self) -> Value:
        """Return an integer literal, which has the type i32, or one of another type."""
        kind = self.random.random()
        if kind < 0.7:
            number = self.random.choice((0, 1, 2, 3, 5, 7, 8, 31, 100, -1, -2, -7))
        elif kind < 0.85:
            number = self.random.choice((127, 128, 255, 256, 32767, 65535, 65536, 1 << 30, (1 << 31) - 1, -32768))
        else:
            number = self.random.randint(-(1 << 31) + 1, (1 << 31) - 1)
        text = str(number) if number >= 0 else f"({number})"
        return Value(text, "i32", float(abs(number)), constant=True)

    def pair(self, depth: int) -> tuple[Value, Value]:
        """Return two operands, of which Python knows one at most: its integers would not wrap."""
        a, b = self.integer(depth), self.integer(depth)
        return (self.at_run_time(a) if b.constant else a), b

    def at_run_time(self, value: Value) -> Value:
        """Return an integer that has a type, whose operations wrap."""
        return self.as_type(replace(value, type="?"), "i32") if value.constant else value

    def any_integer_type(self) -> str:
        """Return a type that the program prefers, or any."""
        return self.random.choice(self.policy.integers if self.chance(0.8) else INTEGERS)

    def as_type(self, value: Value, type: str) -> Value:
        """Return an integer cast to another integer type; numbers wrap."""
        if value.type == type:
            return value
        bound = value.bound if value.bound and value.bound <= greatest(type) and type in SIGNED else 0.0
        return Value(f"ti.cast({value.text}, ti.{type})", type, bound)

    def small(self, depth: int, limit: int = 8) -> Value:
        """Return an i32 from 0 to limit - 1."""
        if depth <= 0 or self.chance(0.3):
            number = self.random.randrange(limit)
            return Value(str(number), "i32", float(limit), constant=True)
        value = self.at_run_time(self.as_type(self.integer(depth - 1), "i32"))
        if limit & (limit - 1) == 0 and self.chance(0.5):
            return Value(f"({value.text} & {limit - 1})", "i32", float(limit))
        return Value(f"({value.text} % {limit})", "i32", float(limit))

    def bounded(self, depth: int) -> Value:
        """Return an integer of some type whose absolute value is at most 128."""
        found = [v for v in self.in_sight() if not v.shape and v.type in INTEGERS and 0 < v.bound <= 128]
        if found and self.chance(0.6):
            return self.random.choice(found)
        value = self.integer(depth - 1) if depth > 0 else self.literal()
        if value.type in ("i8",) or 0 < value.bound <= 128:
            return replace(value, bound=128.0)
        number = self.random.choice((1, 3, 7, 15, 63, 127))
        value = self.at_run_time(value)
        return Value(f"({value.text} & {number})", promote(value.type, "i32"), float(number))

    def arithmetic(self, depth: int) -> Value:
        """Return a sum, difference or product, which wraps."""
        a, b = self.pair(depth - 1)
        return Value(f"({a.text} {self.random.choice('+-*+-')} {b.text})", promote(a.type, b.type))

    def bits(self, depth: int) -> Value:
        """Return a bitwise operation."""
        a, b = self.pair(depth - 1)
        return Value(f"({a.text} {self.random.choice('&|^')} {b.text})", promote(a.type, b.type))

    def division(self, depth: int) -> Value:
        """Return a quotient or a remainder, of Python's kind or C's."""
        a, b = self.at_run_time(self.integer(depth - 1)), self.divisor(depth)
        if width(promote(a.type, b.type)) == 8 and not self.dialect.narrow_division:
            a = self.as_type(a, "i32")
        type = promote(a.type, b.type)
        if self.chance(0.15):
            if not self.dialect.divides_by_zero:
                a, type = Value(f"({self.as_type(a, 'i32').text} & 65535)", "i32"), "i32"
                b = Value(str(self.random.randint(1, 99)), "i32", constant=True)
            name = self.random.choice(("raw_div", "raw_mod"))
            return Value(f"ti.{name}({a.text}, {b.text})", type)
        return Value(f"({a.text} {self.random.choice(('//', '%'))} {b.text})", type)

    def divisor(self, depth: int) -> Value:
        """Return a number that is not zero; or any, if that means something. -1 never meets the least number."""
        kind = self.random.random()
        if kind < 0.5:
            number = self.random.choice((1, 2, 3, 4, 5, 7, 8, 10, 16, 64, 100, 1000, 1 << 30, -2, -3, -7, -8))
            return Value(str(number) if number > 0 else f"({number})", "i32")
        if kind < 0.7 and self.dialect.divides_by_zero:
            return self.integer(depth - 1)
        return Value(f"({self.at_run_time(self.small(depth - 1)).text} + 1)", "i32")

    def shift(self, depth: int) -> Value:
        """Return a shift, which has the type of its left operand."""
        a = self.at_run_time(self.integer(depth - 1))
        if self.chance(0.5):
            count = str(self.random.randrange(width(a.type)))
        else:
            b = self.at_run_time(self.integer(depth - 1))
            count = f"({b.text} & {self.random.choice((1, 3, 7, width(a.type) - 1))})"
        kind = self.random.choice(("<<", "<<", ">>", ">>", "bit_shr"))
        if kind == "bit_shr":
            return Value(f"ti.bit_shr({a.text}, {count})", a.type)
        return Value(f"({a.text} {kind} {count})", a.type)

    def extreme(self, depth: int) -> Value:
        """Return the least or the greatest of two or three."""
        values = [self.integer(depth - 1) for _ in range(self.random.choice((2, 2, 3)))]
        values[0] = self.at_run_time(values[0])
        if not self.dialect.narrow_division:  # Taichi has no least or greatest of u8 and u16
            values = [v if width(v.type) > 16 else self.as_type(v, "i32") for v in values]
        name = self.random.choice(("ti.min", "ti.max", "min", "max"))
        type = values[0].type
        for value in values[1:]:
            type = promote(type, value.type)
        return Value(f"{name}({', '.join(v.text for v in values)})", type)

    def unary(self, depth: int) -> Value:
        """Return -x, ~x or abs(x)."""
        a = self.at_run_time(self.integer(depth - 1))
        if a.type in SIGNED and self.chance(0.6):
            if a.type != "i32" and self.dialect.name == "taichi":  # which has no abs of other types
                return Value(f"(-{a.text})", a.type, a.bound)
            return Value(self.negated_or_positive(a), a.type, a.bound)
        return Value(f"(~{a.text})", a.type)

    def negated_or_positive(self, a: Value) -> str:
        """Return -x or abs(x)."""
        form = self.random.choice(("(-{})", "abs({})", "ti.abs({})"))
        if a.type == "i32" and "abs" in form and not self.dialect.least_absolute:
            return form.format(f"ti.max({a.text}, {least('i32') + 1})")
        return form.format(a.text)

    def integer_choice(self, depth: int) -> Value:
        """Return one of two by a condition."""
        a, b, condition = self.integer(depth - 1), self.integer(depth - 1), self.condition(depth - 1)
        type = promote(a.type, b.type)
        bound = max(a.bound, b.bound) if a.bound and b.bound and type in SIGNED else 0.0
        if self.chance(0.4):
            return Value(f"ti.select({condition}, {a.text}, {b.text})", type, bound)
        return Value(f"({a.text} if {condition} else {b.text})", type, bound)

    def integer_cast(self, depth: int) -> Value:
        """Return a cast, or the bits of a real number."""
        if self.chance(0.15) and self.policy.reals_share:
            a = self.real(depth - 1, exact=True)
            type = self.random.choice("iu") + str(width(a.type))
            return Value(f"ti.bit_cast(ti.abs(ti.cast({a.text}, ti.{a.type})), ti.{type})", type)
        a = self.at_run_time(self.integer(depth - 1))
        type = self.any_integer_type()
        if width(type) == width(a.type) and self.chance(0.3):
            return Value(f"ti.bit_cast({a.text}, ti.{type})", type)
        if self.chance(0.15):
            return Value(f"int({self.at_run_time(a).text})", "i32")
        return self.as_type(a, type)

    def truth(self, depth: int) -> Value:
        """Return a condition as a number."""
        type = self.any_integer_type()
        return Value(f"ti.cast({self.condition(depth - 1)}, ti.{type})", type, 1.0)

    @property
    def least_exponent(self) -> int:
        """The least literal exponent."""
        return 0 if self.dialect.zeroth_powers else 1

    def power(self, depth: int) -> Value:
        """Return a power with a small exponent."""
        a = self.at_run_time(self.integer(depth - 1))
        exponent = str(self.random.randint(self.least_exponent, 12))
        if self.chance(0.3):
            exponent = f"({self.at_run_time(self.integer(depth - 1)).text} & {self.random.choice((1, 3, 7))})"
        return Value(f"({a.text} ** {exponent})", a.type)

    def rounded(self, depth: int) -> Value:
        """Return a real number rounded toward zero."""
        if not self.policy.reals_share:
            return self.integer_leaf()
        a = self.real(depth - 1, exact=True)
        type = self.any_integer_type()
        text = a.text if type in SIGNED else f"ti.abs({a.text})"
        bound = a.bound
        if bound > greatest(type):
            bound = 100.0
            text = f"ti.min(ti.max({text}, {-bound if type in SIGNED else 0.0}), {bound})"
        return Value(f"ti.cast({text}, ti.{type})", type, bound)

    def counted_bits(self, depth: int) -> Value:
        """Return a count of bits."""
        a = self.as_type(self.integer(depth - 1), self.random.choice(("i32", "u32", "i64", "u64")))
        if self.dialect.name == "taichi" and a.type != "i32":
            a = self.as_type(a, "i32")
        return Value(f"ti.cast(ti.math.{self.random.choice(('popcnt', 'clz'))}({a.text}), ti.i32)", "i32", 64.0)

    def integer_call(self, depth: int) -> Value:
        """Return what a function returns."""
        return self.call(lambda type: type in INTEGERS, depth) or self.integer(depth - 1)

    # --- conditions

    def condition(self, depth: int) -> str:
        """Return a truth value."""
        kind = self.random.random()
        if depth > 0 and kind < 0.15:
            return f"({self.condition(depth - 1)} {self.random.choice(('and', 'or'))} {self.condition(depth - 1)})"
        if depth > 0 and kind < 0.2:
            return f"(not {self.condition(depth - 1)})"
        if kind < 0.3:
            found = self.variable(lambda type: type == "u1", True) or self.read(lambda type: type == "u1", depth, True)
            if found is not None:
                return found.text
        if kind < 0.4:
            return f"(({self.at_run_time(self.integer(depth)).text} & {self.random.choice((1, 2, 4))}) != 0)"
        if kind < 0.5 and self.policy.reals_share:
            a, b = self.real(depth - 1, exact=True), self.real(depth - 1, exact=True)
            a = replace(a, text=f"ti.cast({a.text}, ti.{a.type})") if a.constant and b.constant else a
            return f"({a.text} {self.random.choice(COMPARISONS)} {b.text})"
        if kind < 0.55 and self.dialect.membership:
            options = ", ".join(str(self.random.randint(-3, 9)) for _ in range(3))
            a = self.at_run_time(self.integer(depth))
            return f"({a.text} {self.random.choice(('in', 'not in'))} ({options}))"
        a, b = self.at_run_time(self.integer(depth)), self.integer(depth - 1)
        test = f"{a.text} {self.random.choice(COMPARISONS)} {b.text}"
        if kind > 0.93:
            test += f" {self.random.choice(COMPARISONS)} {self.integer(depth - 1).text}"
        return f"({test})"

    # --- reals

    def real(self, depth: int, exact: bool) -> Value:
        """Return an expression of a real type; exact: to the bit."""
        self.room -= 1
        if depth <= 0 or self.room < 0 or self.chance(0.2):
            return self.real_leaf(depth, exact)
        makers = [
            (6, self.real_arithmetic), (2, self.real_division), (2, self.real_extreme), (2, self.real_unary),
            (2, self.real_choice), (2, self.real_cast), (1, self.real_call), (1, self.real_floor),
            *((weight, maker) for weight, maker in self.more_reals),
        ]  # fmt: skip
        if not exact:
            makers.append((4, self.function))
        make = self.random.choices([m for _, m in makers], [w for w, _ in makers])[0]
        return self.within(make(depth, exact))

    def within(self, value: Value) -> Value:
        """Return a real value that is clamped if its bound has grown too large."""
        if value.bound <= LARGEST_EXACT[value.type]:
            return value
        limit = self.random.choice((8.0, 100.0))
        low, high = self.random.choice((("ti.max", "ti.min"), ("max", "min")))
        text = f"{low}({high}({value.text}, {limit}), -{limit})"
        return replace(value, text=text, bound=limit, type=promote(value.type, "f32"))

    def real_leaf(self, depth: int, exact: bool) -> Value:
        """Return something short."""
        if self.chance(0.5):
            found = self.variable(is_real, exact)
            if found is not None:
                return found
        if self.chance(0.6):
            found = self.read(is_real, depth, exact)
            if found is not None:
                return found
        if self.chance(0.3):
            value, type = self.bounded(0), self.real_type()
            return Value(f"ti.cast({value.text}, ti.{type})", type, value.bound)
        number = self.random.choice((0.5, 1.0, 2.0, -1.0, 0.25, 3.0, 0.1, -2.5, 1.5, 7.0, 100.0, 0.3))
        text = repr(number) if number > 0 else f"({number})"
        return Value(text, "f32", abs(number), constant=True)

    def real_type(self) -> str:
        """Return a real type that the program prefers."""
        return self.random.choice(self.policy.reals)

    def operand(self, depth: int, exact: bool) -> Value:
        """Return a real value, or a small integer that becomes one."""
        return self.bounded(depth) if self.chance(0.15) else self.real(depth - 1, exact)

    def real_arithmetic(self, depth: int, exact: bool) -> Value:
        """Return a sum, difference or product."""
        a, b = self.real(depth - 1, exact), self.operand(depth, exact)
        if self.chance(0.2):
            a, b = b, a
        sign = self.random.choice("+-*+-")
        bound = a.bound * b.bound if sign == "*" else a.bound + b.bound
        return Value(f"({a.text} {sign} {b.text})", promote(a.type, b.type), bound, a.exact and b.exact)

    def real_division(self, depth: int, exact: bool) -> Value:
        """Return a quotient whose divisor is at least 1/2."""
        if self.chance(0.3) and not is_real((a := self.bounded(depth)).type):
            return Value(f"({a.text} / {self.random.randint(1, 9)})", "f32", a.bound)
        a, b = self.real(depth - 1, exact), self.real(depth - 1, exact)
        type = promote(promote(a.type, b.type), "f32")
        return Value(f"({a.text} / (ti.abs({b.text}) + 0.5))", type, a.bound * 2, a.exact and b.exact)

    def real_floor(self, depth: int, exact: bool) -> Value:
        """Return `//` or `%` by a number whose quotient is exact."""
        a, number = self.real(depth - 1, True), self.random.choice(("2.0", "4.0", "0.5", "(-2.0)"))
        type = promote(a.type, "f32")
        if self.chance(0.5):
            return Value(f"({a.text} // {number})", type, a.bound * 2 + 1)
        return Value(f"({a.text} % {number})", type, 4.0)

    def real_extreme(self, depth: int, exact: bool) -> Value:
        """Return the lesser or the greater."""
        a, b = self.real(depth - 1, exact), self.operand(depth, exact)
        name = self.random.choice(("ti.min", "ti.max", "min", "max"))
        return Value(f"{name}({a.text}, {b.text})", promote(a.type, b.type), max(a.bound, b.bound), a.exact and b.exact)

    def real_unary(self, depth: int, exact: bool) -> Value:
        """Return a function that is exact."""
        a = self.real(depth - 1, exact)
        name = self.random.choice(
            ("(-{})", "ti.abs({})", "ti.floor({})", "ti.ceil({})", "ti.sqrt(ti.abs({}))", "ti.round({})")
        )
        if not a.exact and "sqrt" not in name:
            name = "ti.abs({})"
        if self.dialect.name == "taichi" and "round" in name:
            name = "(-{})"
        return Value(name.format(a.text), a.type, a.bound + 1, a.exact)

    def real_choice(self, depth: int, exact: bool) -> Value:
        """Return one of two by a condition."""
        a, b, condition = self.real(depth - 1, exact), self.real(depth - 1, exact), self.condition(depth - 1)
        type, bound = promote(a.type, b.type), max(a.bound, b.bound)
        if self.chance(0.4):
            return Value(f"ti.select({condition}, {a.text}, {b.text})", type, bound, a.exact and b.exact)
        return Value(f"({a.text} if {condition} else {b.text})", type, bound, a.exact and b.exact)

    def real_cast(self, depth: int, exact: bool) -> Value:
        """Return an integer or a real of another type, as a real."""
        if self.chance(0.5):
            a = self.bounded(depth)
        else:
            a = self.real(depth - 1, exact)
        type = self.real_type()
        return Value(f"ti.cast({a.text}, ti.{type})", type, a.bound, a.exact)

    def real_call(self, depth: int, exact: bool) -> Value:
        """Return what a function returns; those of reals are exact."""
        return self.call(is_real, depth) or self.real(depth - 1, exact)

    def function(self, depth: int, exact: bool) -> Value:
        """Return a function of mathematics, on arguments where it is well-conditioned."""
        a = self.real(depth - 1, False)
        if a.bound > 16.0:
            a = replace(a, text=f"ti.max(ti.min({a.text}, 4.0), -4.0)", bound=4.0)
        name, bound = self.random.choice((
            ("ti.sin({})", 1.0), ("ti.cos({})", 1.0), ("ti.tanh({})", 1.0), ("ti.exp(-ti.abs({}))", 1.0),
            ("ti.log(ti.abs({}) + 1.0)", 4.0), ("ti.atan2({}, 2.0)", 2.0), ("ti.rsqrt(ti.abs({}) + 1.0)", 1.0),
            ("(ti.abs({}) + 1.0) ** 1.5", 100.0), ("({}) ** 2", 256.0), ("({}) ** 3", 4096.0),
            ("ti.math.mix({}, 2.0, 0.25)", 20.0), ("ti.math.smoothstep(-4.0, 4.0, {})", 1.0),
        ))  # fmt: skip
        return Value(f"({name.format(a.text)})", a.type, bound, False)
