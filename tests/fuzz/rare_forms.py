"""Parts of programs with what fewer programs use: classes with kernels, quantised numbers, tuples and structs in and out.

They are drawn like those of `user_forms.py`, from a generator of their own.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from .scalars import Value
from .user_forms import Part, UserForms

KEEPING = ("+=", "^=", "|=", "&=")
"""Atomic operations of which a place may see one kind from many iterations."""


class RareForms(UserForms):
    """Makers of these parts."""

    def rare_parts(self) -> list[Part]:
        """Return the parts of a program: none of every second one."""
        before, self.random = self.random, random.Random(f"rare parts of {self.dialect.name} {self.seed}")
        makers: list[Callable[[], Part]] = [
            self.objects,
            self.packed,
            self.packed_rows,
            self.whole_arguments,
            self.scattered,
        ]
        makers += [self.chosen_when_compiled, self.reduced_in_functions]
        if self.dialect.name != "taichi":
            makers.append(self.roundings)
        made = [make() for make in self.random.sample(makers, self.random.choice((0, 0, 1, 1, 2)))]
        self.random = before
        return made

    def objects(self) -> Part:
        """Two or three objects of one class, with numbers, sizes and fields of their own; kernels and functions are methods."""
        part, type = Part(), self.number_type()
        sizes = self.random.sample((3, 8, 17, 33), self.random.choice((2, 3)))
        x, i, k = Value("x", type), Value("i", "i32", 33.0), Value("ti.cast(self.k, ti.i32)", "i32")
        operator = self.random.choice(KEEPING)
        part.head += [
            "@ti.data_oriented", "class Object:", "    def __init__(self, n, k):", "        self.n, self.k = n, k",
            f"        self.x = ti.field(ti.{type}, shape=n)", "        self.total = ti.field(ti.i64, shape=())",
            "", "    @ti.func", "    def changed(self, x, i):", f"        return {self.expression([x, i, k], type)}",
            "", "    @ti.kernel", "    def step(self, m: ti.i32):", "        for i in self.x:", "            if i < m:",
            "                x = self.x[i]", "                self.x[i] = self.changed(x, i)",
            "        for i in range(self.n):", "            x = self.x[i]",
            f"            self.total[None] {operator} {self.expression([x, i, k], 'i64')}",
            "", "    @ti.kernel", "    def take(self, other: ti.template()):",
            "        for i in range(min(self.n, other.n)):", f"            self.x[i] {self.random.choice(('+=', '='))} other.x[i]",
            "            if ti.static(self.k > other.k):", f"                self.x[i] {self.random.choice(('-=', '^='))} self.k",
        ]  # fmt: skip
        objects = [f"ob_{n}" for n in range(len(sizes))]
        for name, size in zip(objects, sizes, strict=True):
            part.launches.append(f"{name} = Object({size}, {self.random.choice((0, 1, -3, 7, 100))})")
            self.filled(part, f"{name}.x", type, (size,))
        steps = [f"{name}.step({self.random.choice((0, 2, 5, 40))})" for name in objects]
        takes = [
            f"{objects[0]}.take({objects[1]})",
            f"{objects[1]}.take({objects[0]})",
            f"{objects[0]}.take({objects[0]})",
        ]
        order = [*steps, *takes, *steps]
        self.random.shuffle(order)
        part.launches += order
        for name in objects:
            part.result(f"{name}.x", f"{name}.x.to_numpy()")
            part.result(f"{name}.total", f"{name}.total.to_numpy()")
        return part

    def quantised(self, most: int) -> tuple[str, int]:
        """Return a type of a few bits, and their number."""
        bits = self.random.randint(1, most)
        signed = bits > 1 and self.chance(0.6)
        return f"ti.types.quant.int(bits={bits}, signed={signed})", bits

    def packed(self) -> Part:
        """Fields that share a word: each of several loops stores some of them, or changes them atomically."""
        part, names, left = Part(), list[str](), self.random.choice((32, 64))
        word, n = left, self.random.choice((4, 40))
        while left >= 1 and len(names) < 4:
            type, bits = self.quantised(min(left, 32))
            left -= bits
            names.append(f"qu_{len(names)}")
            part.head.append(f"{names[-1]} = ti.field({type})")
        part.head += [
            f"qu_word = ti.BitpackedFields(max_num_bits={word})", f"qu_word.place({', '.join(names)})",
            f"ti.root.dense(ti.i, {n}).place(qu_word)", f"qu_sum = ti.field(ti.i64, shape={len(names)})",
            "", "", "@ti.kernel", "def pack():",
        ]  # fmt: skip
        i = Value("i", "i32", float(n))
        for name in (*names, self.random.choice(names)):
            kind = self.random.choice(("own", "other", "atomic"))
            where = {"own": "i", "other": f"{n - 1} - i", "atomic": f"i % {self.random.randint(1, n)}"}[kind]
            atomics = ("+=", "-=", "^=", "|=") if self.dialect.quantised_logic else ("+=", "-=")
            operator = self.random.choice(atomics) if kind == "atomic" else "="
            part.head += [
                f"    for i in range({n}):",
                f"        {name}[{where}] {operator} {self.expression([i], 'i32')}",
            ]
        part.head += ["", "", "@ti.kernel", "def unpack():", f"    for i in range({n}):"]
        values = [i]
        for k, name in enumerate(names):
            part.head.append(f"        r{k} = ti.cast({name}[i], ti.i32)")
            values.append(Value(f"r{k}", "i32"))
        for k in range(len(names)):
            part.head.append(f"        qu_sum[{k}] += {self.expression(values, 'i64')}")
        part.launches += ["pack()", "unpack()"] * self.random.choice((1, 2))
        for name in (*names, "qu_sum"):
            part.result(name, f"{name}.to_numpy()")
        return part

    def packed_rows(self) -> Part:
        """Numbers of a few bits side by side in words, that different iterations store."""
        part, (type, bits) = Part(), self.quantised(16)
        count, rows = self.random.randint(1, 32 // bits), self.random.choice((1, 5))
        n = count * rows
        i, x = Value("i", "i32", float(n)), Value("x", "i32")
        step = self.random.choice([k for k in (1, 3, 5, 7) if n % k or n == 1 or k == 1])
        part.head += [
            f"qa_x = ti.field({type})",
            f"ti.root.dense(ti.i, {rows}).quant_array(ti.i, {count}, max_num_bits=32).place(qa_x)",
            f"qa_y = ti.field(ti.i32, shape={n})", "", "", "@ti.kernel", "def shuffle():",
            f"    for i in range({n}):", f"        qa_x[i * {step} % {n}] = {self.expression([i], 'i32')}",
            f"    for i in range({n}):", "        x = ti.cast(qa_x[i], ti.i32)", f"        qa_y[i] {self.random.choice(('=', '+='))} {self.expression([i, x], 'i32')}",
            f"        qa_x[i] {self.random.choice(('=', '+=', '|=') if self.dialect.quantised_logic else ('=', '+='))} {self.expression([i, x], 'i32')}",
        ]  # fmt: skip
        part.launches += ["shuffle()"] * self.random.choice((1, 2))
        part.result("qa_x", "qa_x.to_numpy()")
        part.result("qa_y", "qa_y.to_numpy()")
        return part

    def whole_arguments(self) -> Part:
        """A kernel that is given vectors, a matrix and a struct, and returns several values, a vector or a struct."""
        part, a, b = Part(), self.number_type(), self.number_type(32)
        v, m, s, k = Value("v[1]", a), Value("m[i % 2, 1]", b), Value("s.w", b), Value("s.inner.u[2]", a)
        values, kind = [Value("i", "i32", 4.0), v, m, s, k], self.random.choice(("tuple", "vector", "struct"))
        part.head += [
            f"WhInner = ti.types.struct(u=ti.types.vector(3, ti.{a}))",
            f"WhStruct = ti.types.struct(w=ti.{b}, inner=WhInner)",
            f"WhVector, WhMatrix = ti.types.vector(3, ti.{a}), ti.types.matrix(2, 2, ti.{b})",
        ]
        first, second = (self.expression(values, a, is_outermost=True) for _ in range(2))
        returned = {"tuple": f"(ti.{a}, ti.{b}, WhVector)", "vector": "WhVector", "struct": "WhStruct"}[kind]
        part.head += [
            "", "", "@ti.kernel", f"def whole(v: WhVector, m: WhMatrix, s: WhStruct) -> {returned}:", f"    p = ti.cast(0, ti.{a})",
            f"    q = ti.cast(1, ti.{b})", "    i = 1", f"    r = WhVector({first}, {second}, 5)",
            "    for j in range(4):", "        i = j", f"        p {self.random.choice(KEEPING)} {self.expression(values, a)}",
            f"        q {self.random.choice(KEEPING)} {self.expression(values, b)}",
        ]  # fmt: skip
        results = {"tuple": "p, q, r", "vector": "r + p", "struct": "WhStruct(w=q, inner=WhInner(u=r))"}
        part.head.append(f"    return {results[kind]}")

        def numbers(type: str, count: int) -> list[str]:
            return [str(self.random.choice((0, 1, 2, 5, 100, 127))) for _ in range(count)]

        for number in range(2):
            vector, matrix = ", ".join(numbers(a, 3)), ", ".join(f"[{', '.join(numbers(b, 2))}]" for _ in range(2))
            struct = f"WhStruct(w={numbers(b, 1)[0]}, inner=WhInner(u=[{', '.join(numbers(a, 3))}]))"
            part.launches.append(f"wh_{number} = whole(WhVector({vector}), WhMatrix([{matrix}]), {struct})")
            names = {
                "tuple": {"0": "[0]", "1": "[1]", "2": "[2]"}, "vector": {"v": ""}, "struct": {"w": ".w", "u": ".inner.u"},
            }[kind]  # fmt: skip
            for name, access in names.items():
                part.result(f"wh_{number}.{name}", f"np.array(wh_{number}{access})")
        return part

    def scattered(self) -> Part:
        """Elements of vectors and of a matrix that many iterations change, at places that an array gives."""
        part, type, n = Part(), self.number_type(32), self.random.choice((9, 64))
        i, x = Value("i", "i32", float(n)), Value("x", "i32")
        first, second = (self.random.choice((*KEEPING, "min", "max")) for _ in range(2))

        def change(where: str, operator: str) -> str:
            made = self.expression([i, x], type)
            return f"ti.atomic_{operator}({where}, {made})" if operator.isalpha() else f"{where} {operator} {made}"

        part.head += [
            "sc_x = ti.field(ti.i32, shape=%d)" % n, f"sc_v = ti.Vector.field(3, ti.{type}, shape=5)",
            f"sc_m = ti.Matrix.field(2, 2, ti.{type}, shape=())", "", "", "@ti.kernel", "def scatter():", "    for i in sc_x:",
            "        x = sc_x[i]", f"        {change('sc_v[(x & 1023) % 5][i % 3]', first)}",
            f"        if {self.test([i, x])}:", f"            {change('sc_m[None][x & 1, i & 1]', second)}",
        ]  # fmt: skip
        self.filled(part, "sc_x", "i32", (n,))
        self.filled(part, "sc_v", type, (5, 3))
        part.launches += ["scatter()"] * self.random.choice((1, 2))
        part.result("sc_v", "sc_v.to_numpy()")
        part.result("sc_m", "sc_m.to_numpy()")
        return part

    def chosen_when_compiled(self) -> Part:
        """A kernel with template arguments, numbers of the module and functions as arguments: each choice is another kernel."""
        part, type, n = Part(), self.number_type(), self.random.choice((6, 35))
        x, i, k, c = (
            Value("x", type),
            Value("i", "i32", float(n)),
            Value("ti.cast(k, ti.i32)", "i32", 8.0),
            Value("ti.cast(CH_K, ti.i32)", "i32"),
        )
        part.head += [f"CH_K = {self.random.choice((0, 3, -7, 1000))}", f"ch_x = ti.field(ti.{type}, shape={n})"]
        for name in ("ch_f", "ch_g"):
            part.head += [
                "",
                "",
                "@ti.func",
                f"def {name}(x, i, k):",
                f"    return {self.expression([x, i, k, c], type)}",
            ]
        part.head += [
            "", "", "@ti.kernel", "def choose(f: ti.template(), k: ti.template(), deep: ti.template()):", "    for i in ch_x:",
            "        x = ch_x[i]", "        if ti.static(k > 1):", "            x = f(x, i, k)", "        elif ti.static(deep):",
            "            for j in ti.static(range(3)):", "                x += f(x, ti.cast(j, ti.i32), k) if ti.static(j != 1) else ti.cast(CH_K, ti.i8)",
            "        else:", f"            x = {self.expression([x, i], type)}", f"        ch_x[i] = x if {self.test([x, i])} else f(x, i, k)",
        ]  # fmt: skip
        self.filled(part, "ch_x", type, (n,))
        for _ in range(self.random.choice((2, 3))):
            name, number = self.random.choice(("ch_f", "ch_g")), self.random.randrange(4)
            part.launches.append(f"choose({name}, {number}, {self.chance(0.5)})")
        part.result("ch_x", "ch_x.to_numpy()")
        return part

    def reduced_in_functions(self) -> Part:
        """Sums and extrema of a loop inside a function, which a kernel calls in its iterations, and of variables of a kernel."""
        part, type, n = Part(), self.number_type(), self.random.choice((8, 65))
        sums = self.number_type(32)
        x, j, i, low = (
            Value("x", type),
            Value("j", "i32", float(n)),
            Value("i", "i32", float(n)),
            Value("low", "i32", float(n)),
        )
        operator = self.random.choice((*KEEPING, "min", "max"))

        def change(made: str) -> str:
            return f"ti.atomic_{operator}(s, {made})" if operator.isalpha() else f"s {operator} {made}"

        part.head += [
            f"re_x = ti.field(ti.{type}, shape={n})", f"re_y = ti.field(ti.{sums}, shape={n})",
            "", "", "@ti.func", "def reduced(a: ti.template(), low, high):", f"    s = ti.cast({self.random.choice((0, 1, -5))}, ti.{sums})",
            "    for j in range(low, high):", "        x = a[j]",
        ]  # fmt: skip
        if self.chance(0.5):
            part.head += [
                f"        if {self.test([x, j, low])}:",
                f"            {self.random.choice(('continue', 'break', 'low += 1'))}",
            ]
        part.head += [
            f"        {change(self.expression([x, j], sums))}", "    return s",
            "", "", "@ti.kernel", f"def reduce_parts() -> ti.{sums}:", f"    for i in range({n}):",
            f"        re_y[i] = reduced(re_x, i // 2, i) {self.random.choice(('+', '^', '-'))} {self.expression([i], sums)}",
            f"    s = ti.cast(3, ti.{sums})", f"    for i in range({n}):", "        x = re_x[i]", f"        {change(self.expression([x, i], sums))}",
            "    return s",
        ]  # fmt: skip
        self.filled(part, "re_x", type, (n,))
        part.launches.append("re_s = reduce_parts()")
        part.result("re_s", "re_s")
        part.result("re_y", "re_y.to_numpy()")
        return part

    def roundings(self) -> Part:
        """Every bit of sums, products and quotients, and what follows from them: conditions, integers, arguments, sums.

        Which zero is the greater one is left open, so the sign of a zero is not compared.
        """
        part, n = Part(), self.random.choice((8, 40))
        type, bits = self.random.choice((("f32", "i32"), ("f64", "i64")))

        def number(depth: int) -> str:
            """Return an expression of x and y, finite for all of them."""
            if depth == 0:
                return self.random.choice(("x", "y", "x", "y", "ti.cast(i, ti.f32)", "0.1", "3.0", "-0.7"))
            a, b = number(depth - 1), number(self.random.randrange(depth))
            return self.random.choice((
                f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / (ti.abs({b}) + 0.5))", f"rounded({a}, {b})",
                f"({a} if {b} < {a} else -{a})", f"ti.max({a}, {b})", f"(ti.Vector([{a}, {b}]) * {a}).sum()",
            ))  # fmt: skip

        part.head += [
            f"rd_x = ti.field(ti.{type}, shape={n})", f"rd_y = ti.field(ti.{type}, shape={n})", f"rd_to = ti.Vector.field(4, ti.{bits}, shape={n})",
            "", "", "@ti.func", "def rounded(a, b):", f"    return {self.random.choice(('a * b + 1.0', 'a - b * b', '(a + b) - a', 'a * 0.1 - b'))}",
            "", "", "@ti.kernel", "def round_all():", "    for i in rd_x:", "        x, y = rd_x[i], rd_y[i]",
            f"        v = ti.cast({number(3)}, ti.{type})", f"        rd_to[i][0] = ti.bit_cast(v, ti.{bits}) if v != 0.0 else ti.{bits}(0)",
            f"        rd_to[i][1] = {number(2)} < {number(2)}",
            f"        rd_to[i][2] = ti.cast(ti.math.clamp({number(2)}, -1000.0, 1000.0) * 1000.0, ti.i32)", f"        s = ti.cast(0.0, ti.{type})",
            f"        for k in range({self.random.randint(1, 4)}):", f"            s += {number(2)}", f"            if s > {number(1)}:",
            f"                s -= {number(1)}", f"        rd_to[i][3] = ti.bit_cast(s, ti.{bits}) if s != 0.0 else ti.{bits}(0)",
        ]  # fmt: skip
        for name in ("rd_x", "rd_y"):
            numbers = [round(self.random.uniform(-4, 4), 5) for _ in range(n)]
            part.launches.append(f"{name}.from_numpy(np.array({numbers}, np.float{type[1:]}))")
        part.launches.append("round_all()")
        part.result("rd_to", "rd_to.to_numpy()")
        return part
