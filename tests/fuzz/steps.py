"""A family of `fuzz.choices` aimed at `shared_steps`: serial loops in the iterations of a parallel one, with states.

In: a `Choices`. Out: the lines of a kernel, whose iterations access elements of their own. Steps store states at their
index, load those of the step before, of neighbours and of other loops, add up, find the least, store elements of all
states, change what others load, end early, and depend on what was stored. Some loops depend on themselves.
"""

from __future__ import annotations

from typing import Any

from .loops import indented

PLANES = (
    ("now", "1 - now", ["now = 1 - now"]),
    ("t % 2", "(t + 1) % 2", []),
    ("(t - 1) % 3", "t % 3", []),
    ("(t + 1) % 3", "t % 3", []),
    ("t & 1", "(t & 1) ^ 1", []),
    ("(t + 1) & 1", "t & 1", []),
    ("now", "then", ["now, then = then, now"]),
    ("then", "now", ["then, now = now, then"]),
    ("now", "then", ["now = 1 - now", "then = 1 - then"]),
    ("then", "then", []),
    ("0", "1", []),
)
"""The plane that a step loads from, the one that it stores to, and what follows."""


def steps(one: Any) -> list[str]:
    """Serial time with states: `shared_steps`."""
    return _Steps(one).lines()


class _Steps:
    """Writes one kernel. d: the index of a loop over states."""

    def __init__(self, one: Any) -> None:
        self.one, self.kind = one, one.one("i32", "i32", "u32", "f32", "i64", "f64")
        self.rows, self.states, self.times = (
            one.one(1, 2, 3, 5, 9),
            one.one(one.extent(70), one.random.randint(30, 70), one.random.randint(64, 135)),
            one.one(1, 2, 4, 7),
        )
        is_field = one.one(True, False, None)
        rows, states, times = self.rows, self.states, self.times
        shapes = {"p": (rows, 3, states), "h": (rows, times + 1, states), "q": (rows, states), "r": (rows, states)}
        shapes |= {"c": (rows, states), "m": (rows, states, states)} if states < 20 else {"c": (rows, states)}
        for name, shape in shapes.items():
            one.array(name, self.kind, shape, is_field if name != "c" else one.one(True, None))
        self.live = one.one("p", "pq", "pqr", "qr", "hq", "h", "pqh")
        one.array("y", self.kind, (rows,), is_field)
        one.array("z", self.kind, (rows, times), is_field)
        one.array("o", self.kind, (rows, states), is_field)  # nobody loads it
        one.array("total", self.kind, (3,), True)
        one.fields["lens"] = ("i32", one.values.integers(0, states + 1, rows).astype("int32"))
        one.numbers["limit"] = one.one(states, states, max(0, states - 1), 1)
        if one.arrays and one.one(0, 0, 0, 0, 1):
            alike = [name for name in one.arrays if name in ("q", "r", "c")]
            if len(alike) > 1:
                one.same[alike[1]] = alike[0]

    def number(self, most: int = 3) -> str:
        number = self.one.random.randint(0 if self.kind == "u32" else -most, most)
        return f"ti.{self.kind}({float(number) if self.kind[0] == 'f' else number})"

    def small(self, value: str) -> str:
        """Return a value, of floats one whose sums are exact."""
        low = "0" if self.kind == "u32" else f"ti.{self.kind}(-20)"
        return f"ti.max(ti.min({value}, ti.{self.kind}(20)), {low})" if self.kind[0] == "f" else value

    def neighbour(self, name: str) -> str:
        """Return an element of another state, which exists."""
        last = self.states - 1
        place = self.one.one("d", f"ti.min(d + 1, {last})", "ti.max(d - 1, 0)", f"(d + 1) % {self.states}",
                             f"{last} - d", "0", str(last), f"lens[b] % {self.states}")  # fmt: skip
        return f"{name}{place}]"

    def leaf(self, plane: str) -> str:
        """Return an element that a loop over states loads."""
        name = self.one.one(
            *[{"p": f"p[b, {plane}, ", "h": "h[b, t, "}.get(name, f"{name}[b, ") for name in self.live], "c[b, "
        )
        return self.neighbour(name) if self.one.one(0, 1) else f"{name}d]"

    def state_loop(self, load: str, store: str) -> list[str]:
        """Return a loop over states."""
        one, kind = self.one, self.kind
        leaves = [self.leaf(load) for _ in range(4)] + [one.one("low", f"ti.cast(d + t, ti.{kind})")]
        value = one.one(
            one.value(leaves, kind),
            " + ".join(f"{leaf} * ti.{kind}({one.random.randint(1, 3)})" for leaf in leaves[1:]),
        )
        value = self.small(value)
        name = one.one(*self.live)
        target = {"p": f"p[b, {store}, d]", "h": "h[b, t + 1, d]"}.get(name, f"{name}[b, d]")
        inner = one.one([f"{target} = {value}"], [f"v = {value}", f"{target} = v"], [f"{target} += {self.number()}"])
        if one.one(0, 0, 1):
            test = one.one("d % 3 != 0", f"c[b, d] > {self.number()}", f"low < {self.number()}", "d > t")
            inner = [f"if {test}:", *indented(inner)]
        if one.one(0, 0, 0, 1):
            inner.insert(0, one.one("if d == 2:\n    continue", "if d == 40:\n    break"))
        if one.one(0, 0, 0, 1):
            inner = [f"w = {self.number()}", "for g in range(t + 2):", f"    w = ti.max(w, c[b, g % {self.states}])",
                     *one.one([], ["    if g == d:", "        break"]), *inner, f"{target} -= w"]  # fmt: skip
        if one.one(0, 1):
            join = one.one("new = ti.min(new, {})", "new = ti.max(new, {})", "new += {}", "new -= {}")
            inner.append(join.format(self.small(one.one(f"q[b, d] + {self.number()}", leaves[0], "c[b, d]"))))
        if one.one(0, 0, 0, 1):
            element = one.one("c[b, d]", "q[b, d]")
            inner += [f"if {element} {one.one('<', '>', '<=')} best:", f"    best = {element}", "    at = d"]
        if one.one(0, 0, 0, 1):
            inner.append(f"o[b, {one.one('d', f'{self.states - 1} - d')}] = {leaves[0]}")
        if one.one(0, 0, 0, 0, 1):
            inner.append(one.one("total[1] += c[b, d]", "total[0] += ti.cast(d, ti.KIND)", "ti.atomic_max(total[2], q[b, d])")
                         .replace("KIND", kind))  # fmt: skip
        ends = [str(self.states), str(self.states), "limit", "lens[b]"]
        head = one.one(f"range({one.one(*ends)})", f"range({one.one(*ends)})", f"range(1, {one.one(*ends)})",
                       f"range(t, {self.states})", f"range({self.states} - 1, -1, -1)",
                       f"range(lens[b], {self.states})", f"range(0, {self.states}, 2)")  # fmt: skip
        return [f"for d in {head}:", *indented(inner)]

    def dependent_loop(self) -> list[str]:
        """Return a loop whose iterations depend on each other, or that only one thread may run."""
        last, value = self.states - 1, self.number()
        return self.one.one(
            [f"for d in range({last}):", "    q[b, d] = q[b, d + 1]"],
            [f"for d in range(1, {self.states}):", f"    r[b, d] = ti.max(r[b, d - 1], c[b, d]) - {value}"],
            [f"for d in range({self.states}):", f"    q[b, {last} - d] = r[b, d]", f"    r[b, d] = {value}"],
            [f"for d in range({self.states}):", f"    q[b, {last} - d] = q[b, d]"],
            [f"for d in range({last}):", "    q[b, d + 1] = q[b, d] + r[b, d]"],
            ["k = lens[b]", "while k > 0:", "    k -= 1", f"    r[b, k] = q[b, {last} - k] + {value}"],
        )  # fmt: skip

    def alone(self) -> list[str]:
        """Return statements outside of loops over states."""
        one, states = self.one, self.states
        place = one.one("0", f"lens[b] % {states}", "at", f"t % {states}")
        plane = one.one("0", "1", "t % 2", "now")
        names = {"p": f"p[b, {plane}, ", "h": f"h[b, t{one.one('', ' + 1')}, "}
        element = one.one(*[f"{names.get(name, f'{name}[b, ')}{place}]" for name in self.live], "y[b]")
        other = one.one(
            *[f"{names.get(name, f'{name}[b, ')}{one.one('0', place)}]" for name in self.live], "y[b]", "c[b, 0]", "low"
        )
        change = one.one(f"{element} = {self.small(other)}", f"{element} = low", f"{element} += {self.number()}",
                         "z[b, t] = low", f"o[b, {place}] = {self.number()}", f"low = {self.small(other)}", f"low = ti.min({other}, {self.number()})")  # fmt: skip
        if one.one(0, 0, 1):
            return [f"if {other} > {self.number()}:", f"    {change}"]
        return [change]

    def ends(self) -> list[str]:
        """Return statements that end a step, or all of them."""
        test = self.one.one(f"q[b, 0] > {self.number()}", "low > 15", f"y[b] == {self.number()}", "lens[b] == t")
        return [f"if {test}:", f"    {self.one.one('break', 'continue')}"]

    def triangle(self) -> list[str]:
        """Return elimination in a matrix."""
        one, states = self.one, self.states
        if "m" not in one.fields and "m" not in one.arrays:
            return self.alone()
        pivot = f"t % {states}"
        value = self.small("m[b, e, f] - m[b, e, k] * m[b, k, f]")
        return [f"k = {pivot}", f"for e in range(k + 1, {states}):", *one.one([], ["    y[b] = m[b, e, k]"]),
                f"    for f in range(k + 1, {states}):", f"        m[b, e, f] = {value}",
                *one.one([], [f"    r[b, e] -= {self.number()}"], [f"    m[b, e, k] = {self.number()}"])]  # fmt: skip

    def lines(self) -> list[str]:
        one, kind = self.one, self.kind
        load, store, after = one.one(*PLANES)
        body = [f"new, best, at = low, ti.{kind}({one.one('0', '9')}), 0"]
        for _ in range(one.random.randint(2, 5)):
            body += self.part(load, store, after)
        body += [f"low = {self.small('new + best')}", *after]
        head = one.one(f"for t in range({self.times}):", f"for t in range({self.times}):",
                       f"for t in range(ti.min(lens[b], {self.times})):",
                       f"t = -1\nwhile t < {self.times} - 1 and {one.one('q[b, 0] < 30', 'low < 30', 'y[b] != 7')}:\n    t += 1")  # fmt: skip
        before = [f"low = {self.number()}", "now, then = 0, 1"]
        if one.one(0, 1):
            before += [f"for d in range({self.states}):", f"    p[b, 0, d] = {self.number()}"]
        behind = one.one(["y[b] = low"], [f"y[b] = q[b, {self.states} - 1]"], ["total[0] += low"], ["z[b, 0] = p[b, now, 0]"],
                         ["s = low", f"for d in range({self.states}):", "    s += q[b, d]", "y[b] = s"])  # fmt: skip
        parallel = one.one("for b in y:", f"for b in range({self.rows}):", "for b in range(lens.shape[0]):")
        return [parallel, *indented([*before, *head.split("\n"), *indented(body), *behind])]

    def part(self, load: str, store: str, after: list[str]) -> list[str]:
        """Return a part of a step."""
        chosen = self.one.random.randrange(10)
        if chosen < 5:
            return self.state_loop(load, store)
        if chosen == 5:
            return self.dependent_loop()
        if chosen == 6 and not after:
            return self.ends()
        return self.triangle() if chosen == 7 else self.alone()
