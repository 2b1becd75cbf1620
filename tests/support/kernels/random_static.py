"""Random kernels with static loops, as source: nests of ranges and ndranges, lists, matrices, static and run-time ifs.

In: a number. Out: the source of a kernel `run(out, data, n)`, whose iterations each store their results in `out`. What a
loop does with its index is drawn from what keeps it a loop, and from what needs its copies.
"""

from __future__ import annotations

import random

HEAD = """
import numpy as np
WEIGHTS = [0.5, 0.1, 0.25, 1.0 / 3.0, -2.0, 7.0]
STEPS = [(0, 1), (2, -1), (1, 1), (-1, 0), (3, 2), (0, 0)]
TABLE = ti.Matrix([[1, 2, 3], [4, 5, 6], [-7, 8, 9]])
VECTORS = [ti.Vector([0, 1]), ti.Vector([-2, 3]), ti.Vector([1, 1]), ti.Vector([0, -1])]
RATES = [ti.Vector([0.5, 0.1, 1.0 / 3.0]), ti.Vector([2.0, -0.7, 0.0]), ti.Vector([0.5, 7.0, 0.3])]


@ti.func
def mixed(a: ti.template(), b, c):
    r = b
    if ti.static(a == 1):
        r = b * 2.0 + c
    return r + a


@ti.func
def plain(a, b):
    a += 1
    return a * b


@ti.kernel
def run(out: ti.types.ndarray(ti.f32, 2), data: ti.types.ndarray(ti.f32, 1), n: ti.i32):
    for p in range(CELLS):
"""
CELLS = 5
COLUMNS = 12
RANGES = ("range(3)", "range(2)", "range(1)", "range(0)", "range(1, 4)", "range(-1, 2)", "range(3, 0, -1)",
          "range(5, -2, -3)", "range(0, 6, 2)", "range(4)", "[1, 5, 2]", "(-1, 1)", "(3, 0, 4, 4, 1)", "[4, 2, 0]",
          "np.array([2, 0, 1, 1])")  # fmt: skip
LISTS = ("STEPS", "((1, 0), (0, 2), (3, 3), (0, 0), (1, 4))", "[(0, 1), (1, 0)]")
"""Of pairs of integers, for two names or for one."""
GROUPS = ("ti.grouped(ti.ndrange(2, 3))", "ti.grouped(ti.ndrange((-1, 1), (1, 3)))")
PAIRS = (
    "ti.ndrange(2, 3)",
    "ti.ndrange((-1, 2), 2)",
    "ti.ndrange(1, 3)",
    "ti.ndrange(3, 0)",
    "ti.ndrange((1, 3), (2, 4))",
)


class RandomStatic:
    """Writes one kernel. indices: of the static loops around; with_lists: `w` and `v` are in sight."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.indices: list[str] = []
        self.count = 0

    def text(self) -> str:
        """Return the kernel's source."""
        self.line(2, "s = data[p]")
        self.line(2, "q = p")
        self.line(2, "v = ti.Vector([data[p], data[p + 1], 0.5, data[p + 2], 2.0, -1.0])")
        self.line(2, "m = ti.Matrix([[data[p], 1.0, 2.0], [0.5, data[p + 3], 1.0], [3.0, 0.25, -1.0]])")
        self.line(2, "w = [data[p] * 0.5, data[p + 1] + 1.0, data[p + 2], data[p] * data[p], 1.5 * data[p], s]")
        self.line(2, "u = [v * 0.5, v + 1.0, v * v, v - data[p], v, 2.0 * v]")
        for _ in range(self.random.randint(1, 3)):
            self.loop(2)
        self.line(2, "out[p, 0] += s")
        self.line(2, "out[p, 1] += float(q)")
        self.line(2, "for k in range(6):")
        self.line(3, "out[p, 2 + k] += v[k]")
        self.line(2, "for k in range(3):")
        self.line(3, "out[p, 8 + k] += m[k, k]")
        return HEAD.replace("CELLS", str(CELLS)) + "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * depth + text)

    def loop(self, depth: int) -> None:
        """Write a static loop of one or two axes."""
        mark = len(self.indices)
        self.count += 1
        if self.random.random() < 0.25:
            self.items(depth, mark)
            return
        if self.random.random() < 0.15:
            self.line(depth, f"for I{self.count} in ti.static({self.random.choice(GROUPS)}):")
            self.line(
                depth + 1,
                f"s += (I{self.count} * 0.5 - data[p]).dot(ti.Vector([1.0, 2.0]) * w[abs(I{self.count}[1]) % 6])",
            )
            self.line(depth + 1, f"out[p, 3] += I{self.count}.cast(float).sum() * data[p] + I{self.count}.x")
            self.line(depth + 1, "for d in ti.static(range(2)):")
            self.line(depth + 2, f"s += u[abs(I{self.count}[d])][d] + I{self.count}[d]")
            names = [f"I{self.count}[0]", f"I{self.count}[1]"]
            self.body(depth, names, mark)
            return
        if self.random.random() < 0.3:
            names = [f"i{self.count}", f"j{self.count}"]
            over = self.random.choice((*PAIRS, *LISTS))
        else:
            names = [f"i{self.count}"]
            over = self.random.choice(RANGES)
            if self.indices and self.random.random() < 0.2:
                over = f"range({self.random.choice(self.indices)})"
        self.line(depth, f"for {', '.join(names)} in ti.static({over}):")
        self.body(depth, names, mark)

    def items(self, depth: int, mark: int) -> None:
        """Write a static loop over a list of vectors, of pairs or of floats."""
        name, data = f"e{self.count}", "data[p]"
        kind = self.random.choice(("vectors", "rates", "pairs", "floats"))
        if kind == "vectors":
            self.line(depth, f"for {name} in ti.static(VECTORS):")
            self.line(depth + 1, f"b{self.count} = ti.Vector([p, q]) + {name}")
            self.line(depth + 1, f"s += b{self.count}[0] * {data} + {name}.y")
            self.line(depth + 1, f"q = (q + {name}[0] * 3 + b{self.count}.y) % 101")
            self.body(depth, [f"{name}.x", f"{name}[1]"], mark)
        elif kind == "rates":
            self.line(depth, f"for {name} in ti.static(RATES):")
            self.line(depth + 1, f"s += ({name} * {data}).sum()")
            self.line(depth + 1, f"v[1] -= {name}.dot(ti.Vector([v[0], s, 1.0]))")
            self.line(depth + 1, f"if {name}.x > {data}:")
            self.line(depth + 2, self.random.choice(("break", f"s += {name}[1] * 0.5", "continue")))
        elif kind == "pairs":
            self.line(depth, f"for {name} in ti.static(STEPS):")
            self.line(depth + 1, f"s += data[p + abs({name}[0])] * {name}[1]")
            self.body(depth, [f"{name}[0]", f"{name}[1]"], mark)
        else:
            self.line(depth, f"for {name} in ti.static({self.random.choice(('WEIGHTS', '[0.1, 2.5, -0.3]'))}):")
            self.line(depth + 1, f"s += {name} * {data}")
            self.line(depth + 1, f"v[2] = v[2] * {name} + s / ({name} + 9.0)")
            self.line(depth + 1, f"if {name} > {data}:")
            self.line(depth + 2, f"v[3] += {name}")

    def body(self, depth: int, names: list[str], mark: int) -> None:
        """Write the statements of a loop. mark: number of indices outside."""
        self.indices += names
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth + 1)
        if depth < 5 and self.random.random() < 0.4:
            self.loop(depth + 1)
        del self.indices[mark:]

    def index(self) -> str:
        """Return an index in sight."""
        return self.random.choice(self.indices)

    def integer(self) -> str:
        """Return an integer known at compile time."""
        i, j = self.index(), self.index()
        return self.random.choice(
            (i, f"{i} + 1", f"2 * {i}", f"{i} * {j} - 1", f"{i} // 2", f"{i} % 3", f"-{i}", f"{i} - {j}", f"abs({i})",
             f"min({i}, 1)", f"max({i}, {j})", f"{i} & 3", f"({i} if {i} > {j} else 2)", f"({i} << 1)", f"{i} ** 2",
             f"int({i} * 0.5)", f"STEPS[abs({i}) % 6][0]", f"TABLE[abs({i}) % 3, 1]")
        )  # fmt: skip

    def number(self) -> str:
        """Return a float known at compile time."""
        i, k = self.index(), self.integer()
        return self.random.choice(
            (f"{i} * 0.5", f"{i} / 2", f"{i} * 0.1", f"({k}) * 0.25 + 1.0", f"WEIGHTS[abs({i}) % 6]", f"{i} / 3", "0.5",
             f"(1.5 - {i}) ** 2", f"(1.0 if {i} == 1 else 0.25)", f"-{i} * 0.0", f"1.0 + {i} * WEIGHTS[1]")
        )  # fmt: skip

    def value(self) -> str:
        """Return a value known at run time."""
        i, j = self.index(), self.index()
        return self.random.choice(
            (f"data[p] * {i}", f"data[p + abs({i})]", f"v[abs({i}) % 6]", f"m[abs({i}) % 3, abs({j}) % 3]",
             f"w[abs({i}) % 6]", f"u[abs({i}) % 6][abs({j}) % 6]", f"float({self.integer()})", f"data[p] + {self.number()}",
             f"mixed({i}, data[p], 0.5)", f"plain({i}, data[p])", "s", f"ti.Vector([{i}, {j}]).dot(ti.Vector([1, 2])) * 0.5",
             f"(data[p] if data[p] > {i} else s)", f"data[p] * ({self.number()})", f"data[p] ** {i}" if i == j else "q",
             f"ti.cast({i}, ti.f32)", f"data[p] / ({self.integer()} + 100)")
        )  # fmt: skip

    def condition(self) -> str:
        """Return a condition."""
        i, j = self.index(), self.index()
        return self.random.choice(
            (f"ti.static({i} == 1)", f"ti.static({i} > {j})", f"{i} != 0", f"ti.static({i} % 2 == 0)", f"data[p] > {i}",
             f"{i} > 0 and data[p] > 1.0", f"ti.static(0 <= {i} < 2)", f"not {i}", f"{i} == 1 or {j} == 2", f"p > {i}")
        )  # fmt: skip

    def statement(self, depth: int) -> None:
        """Write a statement that uses the index."""
        i = self.index()
        choice = self.random.random()
        if choice < 0.3:
            self.line(depth, f"s += {self.value()}")
        elif choice < 0.4:
            self.line(depth, f"v[abs({i}) % 6] += {self.value()}")
        elif choice < 0.48:
            self.line(depth, f"m[abs({i}) % 3, abs({self.index()}) % 3] = {self.value()}")
        elif choice < 0.56:
            self.line(depth, f"q = q * 3 % 101 + {self.integer()}")
        elif choice < 0.62:
            self.line(depth, f"out[p, abs({i}) % {COLUMNS}] += {self.value()}")
        elif choice < 0.68:
            self.line(depth, f"a{self.count}_{len(self.lines)} = {self.value()}")
            self.line(depth, f"s += {self.lines[-1].split('=')[0].strip()} * 0.5")
        elif choice < 0.72:
            self.line(depth, f"for k in range(abs({self.integer()}) % 4):")
            self.line(depth + 1, f"s += 0.25 * k + {i}")
        elif choice < 0.77:
            self.line(depth, f"if data[p] > {self.integer()}:")
            self.line(depth + 1, self.random.choice(("break", "continue")))
        else:
            self.line(depth, f"if {self.condition()}:")
            self.line(depth + 1, f"s += {self.value()}")
            if self.random.random() < 0.4:
                self.line(depth, "else:")
                self.line(depth + 1, f"v[0] -= {self.value()}")
