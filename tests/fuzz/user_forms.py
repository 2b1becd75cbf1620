"""Parts of programs in the shape that real ones have: stencils, compaction, lists, sparse trees in steps, structs, CSR rows.

A part has fields, functions and kernels of its own, which `run` launches after the others. It draws from a generator of
its own, so the rest of a seed's program stays as it was. Its expressions see the numbers of one iteration only; whatever
several iterations change, they change by one kind of commutative atomic operation.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from .arrays import contents
from .outermost import Outermost
from .scalars import NUMPY, Value, edge, width

AXES = ("i", "j")


@dataclass
class Part:
    """Lines of a part. head: at the top of the file; launches: inside `run`, of which the last are results."""

    head: list[str] = field(default_factory=list)
    launches: list[str] = field(default_factory=list)

    def result(self, name: str, text: str) -> None:
        """Let `run` return something."""
        self.launches.append(f'results.append(("{name}", {text}))')


class UserForms(Outermost):
    """Makers of these parts."""

    def parts(self) -> list[Part]:
        """Return the parts of a program: none of every second one."""
        before, self.random = self.random, random.Random(f"parts of {self.dialect.name} {self.seed}")
        makers = [
            self.stencil, self.compaction, self.sparse_steps, self.results_of_functions, self.nested_structs,
            self.static_lists, self.nested_loops, self.rows, self.prefix,
        ]  # fmt: skip
        if self.dialect.lists:
            makers += [self.lists, self.growing_list]
        if self.dialect.references:
            makers += [self.views]
        made = [make() for make in self.random.sample(makers, self.random.choice((0, 0, 1, 2, 3)))]
        self.random = before
        return made

    # --- helpers

    def expression(self, values: Sequence[Value], type: str, depth: int = 0, is_outermost: bool = False) -> str:
        """Return an integer expression of a type, of numbers of one iteration; is_outermost: outside of all loops of a kernel."""
        self.reset()
        self.pure, self.room = True, 10
        self.scopes = [list(values), []]
        self.in_kernel = is_outermost
        self.fixed = {value.text for value in values}
        made = self.at_run_time(self.integer(depth or self.random.choice((1, 2, 3))))
        self.reset()
        self.in_kernel = False
        return f"ti.cast({made.text}, ti.{type})"

    def test(self, values: Sequence[Value]) -> str:
        """Return a condition on numbers of one iteration."""
        number = f"({self.expression(values, 'i32', 1)} & {self.random.choice((1, 2, 3, 7))})"
        return f"{number} {self.random.choice(('==', '!=', '>'))} {self.random.choice((0, 0, 1))}"

    def number_type(self, least: int = 8) -> str:
        return self.random.choice([t for t in (*self.policy.integers, "i32", "i64") if width(t) >= least])

    def filled(self, part: Part, name: str, type: str, shape: tuple[int, ...]) -> None:
        part.launches.append(f"{name}.from_numpy({contents(self.random, type, shape)})")

    def position(self, index: str, extent: int, step: int) -> str:
        """Return a neighbour's index, which stays inside."""
        kind = self.random.random()
        if kind < 0.4:
            return f"({index} {step:+d} + {extent}) % {extent}"
        if kind < 0.8:
            return f"max({index} {step:+d}, 0)" if step < 0 else f"min({index} {step:+d}, {extent - 1})"
        return f"ti.math.clamp({index} {step:+d}, 0, {extent - 1})"

    # --- parts

    def stencil(self) -> Part:
        """Two arrays that take turns, each element made of neighbours in the other."""
        part, type = Part(), self.number_type()
        shape = self.random.choice(((9,), (33,), (70,), (4, 5), (7, 16), (3, 33)))
        kind = self.random.choice(("fields", "together", "ndarrays", "vectors"))
        axes, names = AXES[: len(shape)], ("st_u", "st_w")
        lines = {
            "fields": [f"{name} = ti.field(ti.{type}, shape={shape})" for name in names],
            "together": [
                *(f"{name} = ti.field(ti.{type})" for name in names),
                f"ti.root.dense(ti.{''.join(axes)}, {shape}).place({', '.join(names)})",
            ],
            "ndarrays": [],
            "vectors": [f"{name} = ti.Vector.field(3, ti.{type}, shape={shape})" for name in names],
        }
        part.head += lines[kind]
        of = f"ti.types.ndarray(dtype=ti.{type}, ndim={len(shape)})" if kind == "ndarrays" else "ti.template()"
        element = "[1]" if kind == "vectors" else ""
        reads, values = [], [Value(axis, "i32", float(n)) for axis, n in zip(axes, shape, strict=True)]
        for k in range(self.random.randint(1, 4)):
            where = [self.position(axis, n, self.random.choice((-2, -1, 1, 2))) if self.chance(0.7) else axis
                     for axis, n in zip(axes, shape, strict=True)]  # fmt: skip
            reads.append(f"        r{k} = x[{', '.join(where)}]{element}")
            values.append(Value(f"r{k}", type))
        own = f"y[{', '.join(axes)}]"
        head = self.random.choice((
            f"for {', '.join(axes)} in x:", f"for {', '.join(axes)} in ti.ndrange({', '.join(map(str, shape))}):",
        ))  # fmt: skip
        body = [*reads]
        if self.chance(0.5):
            body += [f"        if {self.test(values)}:", f"            r0 = {self.expression(values, type)}"]
        if kind == "vectors":
            items = ", ".join(self.expression(values, type) for _ in range(3))
            body.append(f"        {own} = ti.Vector([{items}])")
        else:
            body.append(f"        {own} {self.random.choice(('=', '=', '+='))} {self.expression(values, type)}")
        part.head += ["", "", "@ti.kernel", f"def stencil(x: {of}, y: {of}):", f"    {head}", *body]
        whole = (*shape, 3) if kind == "vectors" else shape
        if kind == "ndarrays":
            part.launches += [f"{name} = {contents(self.random, type, whole)}" for name in names]
        else:
            self.filled(part, "st_u", type, whole)
        part.launches += ["stencil(st_u, st_w)", "stencil(st_w, st_u)"] * self.random.choice((1, 2))
        for name in names:
            part.result(name, name if kind == "ndarrays" else f"{name}.to_numpy()")
        return part

    def compaction(self) -> Part:
        """Indices that pass a test get places in an array, in any order; a second loop adds up what they name."""
        part, type, n = Part(), self.number_type(), self.random.choice((7, 40, 100))
        sums = self.number_type(32)
        i, x, k = Value("i", "i32", float(n)), Value("x", type), Value("k", "i32", float(n))
        operator = self.random.choice(("+=", "^=", "|=", "-="))
        shape, where = self.random.choice((("()", "None"), ("3", "k % 3")))
        part.head += [
            f"co_x = ti.field(ti.{type}, shape={n})", f"co_to = ti.field(ti.i32, shape={n})",
            "co_count = ti.field(ti.i32, shape=())", f"co_sum = ti.field(ti.{sums}, shape={shape})", f"co_seen = ti.field(ti.i32, shape={n})",
        ]  # fmt: skip
        part.head += [
            "", "", "@ti.kernel", "def compact():", "    co_count[None] = 0", f"    for i in {self.random.choice(('co_x', f'range({n})'))}:",
            "        x = co_x[i]", f"        if {self.test([i, x])}:", "            place = ti.atomic_add(co_count[None], 1)",
            "            co_to[place] = i", "", "", "@ti.kernel", "def gather() -> ti.i32:", "    for at in range(co_count[None]):",
            "        k = co_to[at]", "        co_seen[k] += 1", "        x = co_x[k]", f"        co_sum[{where}] {operator} {self.expression([k, x], sums)}",
            "    return co_count[None]",
        ]  # fmt: skip
        self.filled(part, "co_x", type, (n,))
        part.launches.append("compact()")
        part.result("gather", "gather()")
        part.result("co_sum", "co_sum.to_numpy()")
        part.result("co_seen", "co_seen.to_numpy()")
        return part

    def lists(self) -> Part:
        """Iterations append to lists, in any order; a loop over all items adds them up."""
        part, type, n = Part(), self.number_type(), self.random.choice((5, 30, 64))
        above = self.random.choice(("dense", "pointer"))
        i, v, at = Value("i", "i32", float(n)), Value("v", type), Value("j", "i32", 4.0)
        part.head += [
            f"li_x = ti.field(ti.{type})", f"li_node = ti.root.{above}(ti.i, 4).dynamic(ti.j, 100, chunk_size={self.random.choice((1, 8, 32))})",
            "li_node.place(li_x)", "li_sum = ti.field(ti.i64, shape=4)", "li_length = ti.field(ti.i32, shape=4)",
            "", "", "@ti.kernel", "def fill_lists(n: ti.i32):", "    for i in range(n):",
            f"        j = {self.expression([i], 'i32')} & 3",
            f"        if {self.test([i, at])}:", f"            ti.append(li_node, [j], {self.expression([i, at], type)})",
            "", "", "@ti.kernel", "def sum_lists():", "    for j, k in li_x:", "        v = li_x[j, k]",
            f"        li_sum[j] += {self.expression([at, v], 'i64')}", "    for j in range(4):", "        li_length[j] = ti.length(li_node, [j])",
        ]  # fmt: skip
        part.launches += [f"fill_lists({n})", "sum_lists()"]
        if self.chance(0.5):
            part.launches += [
                self.random.choice(("li_node.deactivate_all()", "pass")),
                f"fill_lists({n // 2})",
                "sum_lists()",
            ]
        part.result("li_sum", "li_sum.to_numpy()")
        part.result("li_length", "li_length.to_numpy()")
        return part

    def growing_list(self) -> Part:
        """A loop over a list that makes it longer: it has the iterations that were there when it began."""
        part, i = Part(), Value("i", "i32", 128.0)
        step = self.random.choice(("1", "i & 7", "3", "i"))
        first = self.random.choice((1, 5, 33))
        serial = ["    ti.loop_config(serialize=True)"] if self.chance(0.3) else []
        part.head += [
            "gr_x = ti.field(ti.i32)", f"gr_node = ti.root.dynamic(ti.i, 200, chunk_size={self.random.choice((1, 8, 64))})",
            "gr_node.place(gr_x)", "gr_visits = ti.field(ti.i32, shape=200)", "", "", "@ti.kernel", "def grow():",
            *serial, "    for i in gr_x:", f"        gr_visits[i] += 1 + ({self.expression([i], 'i32')} & 15)",
            f"        ti.atomic_max(gr_x[(i + {step} + 1) % 200], {self.expression([i], 'i32')})",
        ]  # fmt: skip
        part.launches += [
            f"for item in range({first}):",
            "    gr_x[item] = item + 1",
            *["grow()"] * self.random.choice((1, 2, 3)),
        ]
        part.result("gr_visits", "gr_visits.to_numpy()")
        part.result("gr_x", "gr_x.to_numpy()")
        return part

    def sparse_steps(self) -> Part:
        """A tree whose cells become active and inactive from kernel to kernel."""
        part, type, n = Part(), self.number_type(32), 48
        forms = {
            "pointer": f"ti.root.pointer(ti.i, {n})", "nested": "ti.root.pointer(ti.i, 6).pointer(ti.i, 8)",
            "bitmasked": f"ti.root.bitmasked(ti.i, {n})", "bits below": "ti.root.pointer(ti.i, 6).bitmasked(ti.i, 8)",
            "blocks": "ti.root.pointer(ti.i, 12).dense(ti.i, 4)",
        }  # fmt: skip
        # Taichi may visit a cell of the lowest sparse node that another iteration has activated
        names = ["blocks"] if self.dialect.name == "taichi" else list(forms)
        form = self.random.choice(names)
        i, x = Value("i", "i32", float(n)), Value("x", type)
        has_cells = form != "blocks"
        part.head += [
            f"sp_x = ti.field(ti.{type})", f"sp_node = {forms[form]}", "sp_node.place(sp_x)", f"sp_visits = ti.field(ti.i32, shape={n})",
            "", "", "@ti.kernel", "def spread():", f"    for i in range({n}):", f"        if {self.test([i])}:",
            f"            sp_x[i] = {self.expression([i], type)}", "", "", "@ti.kernel", "def visit():", "    for i in sp_x:",
            f"        sp_visits[i] += 1 + ({self.expression([i], 'i32')} & 7)",
            f"        ti.atomic_{self.random.choice(('add', 'max', 'or', 'xor'))}(sp_x[(i * {self.random.choice((1, 5, 7))} + 3) % {n}], "
            f"{self.expression([i], type)})",
            "", "", "@ti.kernel", "def prune():", "    for i in sp_x:", "        x = sp_x[i]", f"        if {self.test([i, x])}:",
            "            ti.deactivate(sp_node, [i])" if has_cells else "            sp_x[i] = 0",
        ]  # fmt: skip
        for _ in range(self.random.randint(2, 5)):
            part.launches.append(self.random.choice(("spread()", "visit()", "visit()", "prune()", "sp_node.parent().deactivate_all()"
                                                     if form == "blocks" else "sp_node.deactivate_all()", f"sp_x[{self.random.randrange(n)}] = 5")))  # fmt: skip
        part.launches.append("visit()")
        part.result("sp_x", "sp_x.to_numpy()")
        part.result("sp_visits", "sp_visits.to_numpy()")
        return part

    def results_of_functions(self) -> Part:
        """Functions that return several values, a vector or a struct, some of them early."""
        part, a, b = Part(), self.number_type(), self.number_type()
        early = self.dialect.returns_anywhere
        x, y = Value("x", a), Value("y", "i32")
        is_called = self.dialect.name != "taichi" and self.chance(0.5)
        signature = f"x: ti.{a}, y: ti.i32" if is_called else "x, y"
        part.head += [f"FuPair = ti.types.struct(a=ti.{b}, v=ti.types.vector(3, ti.{a}))"]

        def pair() -> str:
            items = ", ".join(self.expression([x, y], a) for _ in range(3))
            return f"FuPair(a={self.expression([x, y], b)}, v=ti.Vector([{items}]))"

        part.head += ["", "", "@ti.func", "def split(x, y):"]
        if early:
            part.head += [
                f"    if {self.test([x, y])}:",
                f"        return {self.expression([x, y], a)}, {self.expression([x, y], b)}",
            ]
        part.head += [f"    return {self.expression([x, y], a)}, {self.expression([x, y], b)}"]
        part.head += ["", "", "@ti.real_func" if is_called else "@ti.func",
                      f"def make_pair({signature}){' -> FuPair' if is_called else ''}:"]  # fmt: skip
        if early:
            part.head += [
                "    for k in range(3):",
                f"        if {self.test([x, y, Value('k', 'i32', 3.0)])}:",
                f"            return {pair()}",
            ]
        part.head += [f"    return {pair()}"]
        n = self.random.choice((5, 40))
        p, q, s = Value("p", a), Value("q", b), Value("s.a", b)
        part.head += [
            f"fu_x = ti.field(ti.{a}, shape={n})", f"fu_to = ti.Vector.field(2, ti.{b}, shape={n})", f"fu_s = FuPair.field(shape={n})",
            "", "", "@ti.kernel", "def call_functions():", "    for i in fu_x:", "        p, q = split(fu_x[i], i)",
            f"        s = make_pair(p, ti.cast(q, ti.i32){' & 7' if self.chance(0.5) else ''})", "        s.v[1] ^= p",
            f"        fu_to[i] = ti.Vector([{self.expression([p, q, s], b)}, q])", "        fu_s[i] = s",
        ]  # fmt: skip
        self.filled(part, "fu_x", a, (n,))
        part.launches.append("call_functions()")
        part.result("fu_to", "fu_to.to_numpy()")
        part.result("fu_s.a", "fu_s.a.to_numpy()")
        part.result("fu_s.v", "fu_s.v.to_numpy()")
        return part

    def nested_structs(self) -> Part:
        """Structs in structs, with vectors and a matrix; whole elements are copied, members change atomically."""
        part, a, b = Part(), self.number_type(), self.number_type(32)
        n = self.random.choice((6, 35))
        layout = ", layout=ti.Layout.SOA" if self.chance(0.4) else ""
        i, w, u = Value("i", "i32", float(n)), Value("one.inner.w", b), Value("one.inner.v[1]", a)
        items = ", ".join(self.expression([i], a) for _ in range(3))
        operator = self.random.choice(("+=", "^=", "|="))
        part.head += [
            f"NeInner = ti.types.struct(v=ti.types.vector(3, ti.{a}), w=ti.{b})",
            f"NeOuter = ti.types.struct(k=ti.{a}, inner=NeInner, m=ti.types.matrix(2, 2, ti.{b}))",
            f"ne_s = NeOuter.field(shape={n}{layout})", f"ne_t = NeOuter.field(shape={n})", "", "", "@ti.func", "def changed(one, i):",
            f"    one.inner.w += {self.expression([i], b)}", "    one.m[1, 0] = one.inner.w", "    return one",
            "", "", "@ti.kernel", "def build():", f"    for i in range({n}):",
            f"        inner = NeInner(v=ti.Vector([{items}]), w={self.expression([i], b)})",
            f"        one = NeOuter(k={self.expression([i], a)}, inner=inner, m=ti.Matrix([[{self.expression([i], b)}, 1], [2, {self.expression([i], b)}]]))",
            f"        if {self.test([i, w, u])}:", "            one = changed(one, i)",
            f"        one.inner.v[i % 3] = {self.expression([i, w, u], a)}", "        ne_s[i] = one",
            f"    for i in range({n}):", f"        ne_t[{n - 1} - i] = ne_s[i]",
            f"    for i in range({n}):", f"        ne_s[i % 5].inner.w {operator} {self.expression([i], b)}",
            f"        ne_s[i % 3].m[0, 1] {operator} ne_t[i].m[0, 0]",
        ]  # fmt: skip
        part.launches += ["build()"]
        for name in ("ne_s", "ne_t"):
            for member in ("k", "inner.v", "inner.w", "m"):
                part.result(f"{name}.{member}", f"{name}.{member}.to_numpy()")
        return part

    def static_lists(self) -> Part:
        """Loops that are unrolled over lists of fields, and branches that are chosen when the kernel is compiled."""
        part, types = Part(), [self.number_type() for _ in range(3)]
        n = self.random.choice((5, 21))
        part.head += [f"sl_{k} = ti.field(ti.{type}, shape={n})" for k, type in enumerate(types)]
        part.head += ["sl_all = [sl_0, sl_1, sl_2]", f"sl_to = ti.field(ti.i64, shape={n})"]
        i, x = Value("i", "i32", float(n)), Value("x", self.number_type(32))
        head, k = self.random.choice((
            ("for x_of in ti.static(sl_all):", "3"), ("for k, x_of in ti.static(enumerate(sl_all)):", "k"),
            ("for k, x_of in ti.static(zip((2, 5, 9), sl_all)):", "k"),
        ))  # fmt: skip
        body = [
            "        t = ti.i64(1)", f"        {head}", f"            x = ti.cast(x_of[i], ti.{x.type})",
            f"            if ti.static({k} != 2):", f"                t = t * 31 + {self.expression([i, x], 'i64')}", "            else:",
            f"                t ^= {self.expression([i, x], 'i64')}", f"            if {self.test([i, x])}:", "                x_of[i] = x_of[i] + 1",
        ]  # fmt: skip
        part.head += [
            "",
            "",
            "@ti.kernel",
            "def unrolled():",
            f"    for i in range({n}):",
            *body,
            "        sl_to[i] += t",
        ]
        for number, type in enumerate(types):
            self.filled(part, f"sl_{number}", type, (n,))
        part.launches += ["unrolled()"] * self.random.choice((1, 2))
        for name in ("sl_0", "sl_1", "sl_2", "sl_to"):
            part.result(name, f"{name}.to_numpy()")
        return part

    def nested_loops(self) -> Part:
        """Searches in loops inside loops, with `continue` and `break` at each level."""
        part, type, n = Part(), self.number_type(), self.random.choice((6, 31))
        i, j, k = (Value(name, "i32", 16.0) for name in "ijk")
        x, t = Value("x", type), Value("t", "i64")
        inner = self.random.choice((
            ["            for k in range(j, 6):"], ["            for k in range(3):"],
            ["            k = -1", "            while True:", "                k += 1", "                if k > 4:", "                    break"],
            ["            k = 6", "            while k > j:", "                k -= 1"],
        ))  # fmt: skip
        part.head += [
            f"nl_x = ti.field(ti.{type}, shape=({n}, 6))", f"nl_to = ti.field(ti.i64, shape={n})", "", "", "@ti.kernel", "def search():",
            f"    for i in range({n}):", "        t = ti.i64(0)", "        for j in range(6):", "            x = nl_x[i, j]",
            f"            if {self.test([i, j, x])}:", "                continue", *inner,
            f"                if {self.test([i, j, k, x, t])}:", f"                    {self.random.choice(('break', 'continue'))}",
            f"                t += {self.expression([i, j, k, x, t], 'i64')}",
            f"                if {self.test([k, x, t])}:", "                    break",
            f"            if {self.test([i, j, t])}:", f"                {self.random.choice(('break', 't ^= 5'))}", "        nl_to[i] = t",
        ]  # fmt: skip
        self.filled(part, "nl_x", type, (n, 6))
        part.launches.append("search()")
        part.result("nl_to", "nl_to.to_numpy()")
        return part

    def rows(self) -> Part:
        """The product of a sparse matrix in rows and a vector, of integers; the least or greatest product of a row."""
        part, type, n = Part(), self.number_type(32), self.random.choice((4, 30))
        lengths = [self.random.choice((0, 0, 1, 2, 3, 5, 9, 40)) for _ in range(n)]
        starts = [sum(lengths[:k]) for k in range(n + 1)]
        columns = [self.random.randrange(n) for _ in range(starts[-1])] or [0]
        values = [edge(type, self.random) for _ in columns]
        kind = self.random.choice(("+=", "max", "min"))
        change = "s += v[k] * x[c[k]]" if kind == "+=" else f"s = {kind}(s, v[k] * x[c[k]])"
        parameters = f"b: ti.types.ndarray(dtype=ti.i32, ndim=1), c: ti.types.ndarray(dtype=ti.i32, ndim=1), v: ti.types.ndarray(dtype=ti.{type}, ndim=1)"
        others = f"x: ti.types.ndarray(dtype=ti.{type}, ndim=1), y: ti.types.ndarray(dtype=ti.{type}, ndim=1)"
        part.head += ["", "", "@ti.kernel", f"def product({parameters}, {others}):", f"    for i in range({n}):",
                      f"        s = ti.cast({edge('i8', self.random)}, ti.{type})", "        for k in range(b[i], b[i + 1]):",
                      f"            {change}", "        y[i] = s"]  # fmt: skip
        part.launches += [
            f"ro_b = np.array({starts}, np.int32)", f"ro_c = np.array({columns}, np.int32)", f"ro_v = np.array({values}, np.{NUMPY[type]})",
            f"ro_x = {contents(self.random, type, (n,))}", f"ro_y = np.zeros({n}, np.{NUMPY[type]})", "product(ro_b, ro_c, ro_v, ro_x, ro_y)",
        ]  # fmt: skip
        part.result("ro_y", "ro_y")
        return part

    def prefix(self) -> Part:
        """A serial scan between two parallel loops."""
        part, type, n = Part(), self.number_type(), self.random.choice((5, 50))
        i, x, s = Value("i", "i32", float(n)), Value("x", type), Value("s", "i64")
        part.head += [
            f"pr_x = ti.field(ti.{type}, shape={n})", f"pr_s = ti.field(ti.i64, shape={n})", "", "", "@ti.kernel", "def scan():",
            "    for i in pr_x:", "        x = pr_x[i]", f"        pr_s[i] = {self.expression([i, x], 'i64')}",
            "    s = ti.i64(3)", "    ti.loop_config(serialize=True)", f"    for i in range({n}):",
            "        s = s * 3 + pr_s[i]", f"        if {self.test([i, s])}:", "            s = -s", "        pr_s[i] = s",
            f"    for i in range({n - 1}):", f"        pr_x[i] = {self.expression([i, s], type)} + ti.cast(pr_s[i + 1], ti.{type})",
        ]  # fmt: skip
        self.filled(part, "pr_x", type, (n,))
        part.launches += ["scan()"] * self.random.choice((1, 2))
        part.result("pr_x", "pr_x.to_numpy()")
        part.result("pr_s", "pr_s.to_numpy()")
        return part

    def views(self) -> Part:
        """Arguments that are views of one array: every second element, backwards, columns of a matrix."""
        part, type, n = Part(), self.number_type(), self.random.choice((6, 25))
        a, b = self.random.choice((
            ("vi_m[::2]", "vi_m[1::2]"), ("vi_m[1::2][::-1]", "vi_m[::2]"), (f"vi_m[:{n}]", f"vi_m[{n}:]"),
            (f"vi_m.reshape({n}, 2)[:, 0]", f"vi_m.reshape({n}, 2)[:, 1]"), (f"vi_m[{n}:][::-1]", f"vi_m[:{n}]"),
        ))  # fmt: skip
        of = f"ti.types.ndarray(dtype=ti.{type}, ndim=1)"
        i, x = Value("i", "i32", float(n)), Value("x", type)
        part.head += ["", "", "@ti.kernel", f"def on_views(p: {of}, q: {of}):", f"    for i in range({n}):", "        x = q[i]",
                      f"        p[i] {self.random.choice(('=', '+='))} {self.expression([i, x], type)}"]  # fmt: skip
        part.launches += [
            f"vi_m = {contents(self.random, type, (2 * n,))}",
            f"on_views({a}, {b})",
            f"on_views({b}, {a})",
        ]
        part.result("vi_m", "vi_m")
        return part
