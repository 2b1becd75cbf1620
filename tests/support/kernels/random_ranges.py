"""Random kernels of integer arithmetic, as source: loops of all kinds, branches, variables, and divisions everywhere.

In: a number. Out: the source of a kernel `run(out, data, small, n, m, u)`, whose iterations each store their result in an
element of `out`, and argument values to launch it with. Numbers are small, or at the ends of their type.
"""

from __future__ import annotations

import random

HEAD = """
@ti.kernel
def run(
    out: ti.types.ndarray(ti.i64, 1), data: ti.types.ndarray(ti.i32, 1), small: ti.types.ndarray(ti.u8, 1),
    n: ti.i32, m: ti.i32, u: ti.u32,
):
"""
CELLS = 64
DATA = (0, 1, -1, 2, 7, -7, 8, 63, 64, -64, 100, 1 << 30, (1 << 31) - 1, -(1 << 31), 12345, -2)
SMALL = (0, 1, 2, 3, 127, 128, 200, 255)
LAUNCHES = ((7, 3, 5), (0, 0, 0), (-3, 1, 4_000_000_000), (2_147_483_639, 5, 9), (1, -2_147_483_648, 2_147_483_648))
"""Values of n, m, u."""
NUMBERS = "0 1 2 3 4 5 7 8 16 31 64 100 -1 -2 -8 1073741824 2147483647".split()
NARROW = ("i8", "u8", "i16", "u16", "u32", "i64")


class RandomRanges:
    """Writes one kernel. names: of values in sight; kept: of those that may be assigned to; uses: names given so far."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names: list[str] = []
        self.kept: list[str] = []
        self.count = 0
        self.loops = 0

    def text(self) -> str:
        """Return the kernel's text."""
        for begin in range(0, CELLS, 16):
            self.task(begin)
        return HEAD + "\n".join(self.lines) + "\n"

    def task(self, begin: int) -> None:
        """Write a parallel loop over at most 16 turns that fill the cells from `begin` on."""
        head, index = self.random.choice((
            ("for i in range(16):", "i"),
            ("for i in range(3, 19):", "i - 3"),
            ("for i in range(-8, 8):", "i + 8"),
            ("for i in range(n, n + 8):", "i - n"),
            ("for i in range(data.shape[0]):", "i"),
            ("for i in range(ti.min(n, 16)):", "i"),
            ("for i in range(2147483635, 2147483647):", "i - 2147483635"),
            ("for i in range(12, 0, -2):", "i"),
            ("for i in data:", "i"),
            ("for i, j in ti.ndrange(4, (-1, 3)):", "i * 4 + j + 1"),
            ("for i, j in ti.ndrange((2, 6), 4):", "(i - 2) * 4 + j"),
        ))  # fmt: skip
        self.line(1, head)
        self.names = ["i", "j"] if "j" in head else ["i"]
        self.kept = []
        self.line(2, "total = ti.cast(0, ti.i64)")
        for _ in range(self.random.randint(3, 6)):
            self.statement(2)
        self.line(2, f"out[{begin} + {index}] = total")

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def statement(self, depth: int) -> None:
        """Write a statement, and what is inside it."""
        kind = self.random.random()
        if depth < 5 and kind < 0.2:
            self.line(depth, f"if {self.condition()}:")
            self.suite(depth)
            if self.random.random() < 0.4:
                self.line(depth, "else:")
                self.suite(depth)
        elif depth < 4 and kind < 0.4:
            self.loop(depth)
        elif kind < 0.55:
            self.count += 1
            name = f"x{self.count}"
            self.line(depth, f"{name} = {self.value()}")
            self.names.append(name)
            self.kept.append(name)
        elif kind < 0.65 and self.kept:
            operator = self.random.choice(("=", "+=", "-=", "//=", "%=", "&="))
            value = self.divisor(1) if operator in ("//=", "%=") else self.value(1)
            self.line(depth, f"{self.random.choice(self.kept)} {operator} {value}")
        elif kind < 0.7 and self.loops:
            self.line(depth, f"if {self.condition()}:")
            self.line(depth + 1, self.random.choice(("break", "continue")))
        else:
            self.line(depth, f"total = total * 31 + ti.cast({self.division()}, ti.i64)")

    def suite(self, depth: int) -> None:
        names, kept = len(self.names), len(self.kept)
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth + 1)
        del self.names[names:], self.kept[kept:]

    def loop(self, depth: int) -> None:
        self.count += 1
        name = f"k{self.count}"
        end = self.value(2)
        bounds = self.random.choice((
            "5", "2, 9, 3", "4, -4, -1", f"ti.min({end}, 6)", f"ti.max(ti.min({end}, 4), -4), 5",
            f"{self.atom()} % 7", "i, i + 3", "i, i - 3, -1", f"6, ti.max({end}, -3), -2",
        ))  # fmt: skip
        bounds = f"{bounds}" if not bounds.startswith("ti.min(") else f"ti.max({bounds}, -5)"
        self.loops += 1
        if self.random.random() < 0.2:
            self.line(depth, f"{name} = 0")
            self.line(depth, f"while {name} < 4 and ({self.condition()}):")
            self.line(depth + 1, f"{name} += 1")
        else:
            self.line(depth, f"for {name} in range({bounds}):")
        self.names.append(name)
        self.suite(depth)
        self.names.remove(name)
        self.loops -= 1

    def atom(self) -> str:
        """Return something short of which not all is known."""
        read = f"data[{self.random.randrange(len(DATA))}]"
        return self.random.choice([*self.names * 3, "n", "m", "data.shape[0]", read, self.small()])

    def small(self) -> str:
        return f"ti.cast(small[{self.random.randrange(len(SMALL))}], ti.i32)"

    def divisor(self, depth: int) -> str:
        positive = self.random.choice(("2", "3", "4", "7", "16", "100"))
        return positive if self.random.random() < 0.6 else self.random.choice((f"({self.value(depth + 1)})", "-3", "n"))

    def division(self, depth: int = 0) -> str:
        """Return a division of some type, as i32."""
        a, b = self.value(depth + 1), self.divisor(depth + 1)
        kind = self.random.random()
        if kind < 0.6:
            return f"(({a}) {self.random.choice(('//', '%'))} {b})"
        if kind < 0.7:
            return f"ti.{self.random.choice(('raw_div', 'raw_mod'))}({a}, {b})"
        if kind < 0.8:
            c, d = self.atom(), self.random.choice((self.atom(), "-1", "9"))
            return f"(ti.Vector([{c}, {d}]) {self.random.choice(('//', '%'))} {b}).sum()"
        narrow = self.random.choice(NARROW)
        operator = self.random.choice(("//", "%"))
        return f"ti.cast(ti.cast({a}, ti.{narrow}) {operator} ti.cast({b}, ti.{narrow}), ti.i32)"

    def condition(self, depth: int = 2) -> str:
        operator = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        test = f"{self.value(depth + 1)} {operator} {self.random.choice((self.atom(), '0', '1', '8'))}"
        kind = self.random.random()
        if kind < 0.2:
            return f"{test} {self.random.choice(('and', 'or'))} {self.atom()} > {self.random.choice(('0', '-1', '2'))}"
        return f"not ({test})" if kind < 0.3 else test

    def value(self, depth: int = 0) -> str:
        """Return an expression of type i32."""
        kind = self.random.random()
        if depth > 3 or kind < 0.3:
            return self.atom()
        if kind < 0.4:
            return self.random.choice(NUMBERS)
        if kind < 0.6:
            return self.division(depth)
        a, b = self.value(depth + 1), self.value(depth + 1)
        if kind < 0.75:
            return f"({a} {self.random.choice(('+', '-', '*', '&', '|', '^'))} {b})"
        if kind < 0.8:
            return f"({a} if {self.condition(depth + 1)} else {b})"
        count = self.random.choice(("1", "3", "31", f"({b} & 7)", self.atom()))
        return self.random.choice((
            f"ti.min({a}, {b})", f"ti.max({a}, {b})", f"abs({a})", f"(-{self.atom()})", f"(~{a})", f"({a} & 15)",
            f"({a} << {count})", f"({a} >> {count})", f"ti.bit_shr({a}, {count})", f"ti.select({a} > {b}, {a}, {b})",
            f"ti.cast(ti.cast({a}, ti.{self.random.choice(NARROW)}), ti.i32)",
            f"ti.cast(u {self.random.choice(('//', '%'))} ti.cast({a}, ti.u32), ti.i32)",
        ))  # fmt: skip
