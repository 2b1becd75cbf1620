"""Families of `fuzz.choices` aimed at values that are used again: halves of rows, numbers that iterations share, and
elements of local arrays.

In: a `Choices`. Out: the lines of a kernel. Sums are of small whole numbers, so that every order of them is exact.
"""

from __future__ import annotations

from typing import Any

from .loops import indented


def halves(one: Any) -> list[str]:
    """Rows of halves that are converted, in arrays with gaps, too: `half_blocks`, `lane_halves`, `register_tiles`."""
    rows, row = one.extent(40), one.one(1, 7, 16, 63, 64, 65, 130, 200)
    is_field = one.one(True, False)
    for name in ("a", "b", "o"):
        one.array(name, "f16", (rows, row), is_field)
    one.array("y", "f32", (rows, rows), is_field)
    one.array("s", "f32", (rows,), is_field)
    of_a, of_b = "ti.cast(a[i, p], ti.f32)", "ti.cast(b[j, p], ti.f32)"
    change = one.one(
        [f"t += {of_a} * {of_b}"],
        [f"t = ti.max(t, {of_a})"],
        [f"t += {of_a}", f"u -= {of_b}"],
        ["if a[i, p] > b[j, p]:", f"    t += {of_a}"],
        ["h = a[i, p] + b[j, p]", "t += ti.cast(h, ti.f32)"],
    )
    along = one.one(f"{row}", f"{row}", f"1, {row}", "a.shape[1]", f"{row} - 1, -1, -1", f"0, {row}, 2")
    loop = [f"for p in range({along}):", *indented(change)]
    match one.random.randrange(3):
        case 0:
            return ["for i, j in y:", *indented(["t, u = ti.f32(0), ti.f32(0)", *loop, "y[i, j] = t + u"])]
        case 1:
            inner = ["t, u = ti.f32(0), ti.f32(0)", *loop, "best = ti.max(best, t - u)"]
            return [
                "for i in s:",
                *indented(["best = ti.f32(0)", f"for j in range({rows}):", *indented(inner), "s[i] = best"]),
            ]
    bounded = f"ti.cast(ti.max(ti.min({of_a} - t, ti.f32(100)), ti.f32(-100)), ti.f16)"
    lines = [
        "t = ti.f32(0)",
        f"for p in range({row}):",
        f"    t += {of_a}",
        f"for p in range({row}):",
        f"    o[i, p] = {bounded}",
    ]
    return ["for i in s:", *indented([*lines, "s[i] = t"])]


def common(one: Any) -> list[str]:
    """Numbers and vectors that do not depend on an axis of the loop: `common_values`."""
    kind = one.one("f32", "i32", "u32", "i64", "f64")
    samples, outputs, inputs = one.one(2, 5, 17), one.one(16, 17, 33), one.one(2, 3, 8, 17)
    first_b, first_o = one.one((0, 0), (0, 0), (2, -3))
    is_field = one.one(True, True, None)
    for name, shape in {
        "x": (samples, inputs),
        "z": (samples, inputs),
        "w": (outputs, inputs),
        "y": (samples, outputs),
    }.items():
        one.array(name, kind, shape, is_field)
    one.array("v", kind, (outputs,), is_field)
    b, o = f"b - {first_b}", f"o - {first_o}"
    of_row = one.one(f"x[{b}, i]", f"x[{b}, {inputs - 1} - i]", f"x[({b} + i) % {samples}, i]", f"z[{b}, i] + x[{b}, 0]",
                     f"v[{o}] + x[0, i]")  # fmt: skip
    steps, value = [f"c0 = {of_row}"], "c0"
    for number in range(1, one.random.randint(6, 12)):
        bounded = f"ti.min(ti.max({value} * ti.{kind}(2) - {of_row}, ti.{kind}(0)), ti.{kind}(9))"
        choice = f"({value} if {value} > ti.{kind}(1) else {of_row} + ti.{kind}(1))"
        steps.append(f"c{number} = {one.one(bounded, choice)}")
        value = f"c{number}"
    vector = f"n = ti.Vector([{value}, c0, c1, {value} - c2])"
    chosen = f"m = n if w[{o}, i] > ti.{kind}(0) else ti.Vector([ti.{kind}(1)] * 4)"
    inner = one.one(
        [f"s += {value} * w[{o}, i]"],
        [f"if w[{o}, i] > {value}:", f"    s += {value}"],
        [f"s += {value}", "t = ti.max(t, c1)"],
        [vector, f"s += n[3] * w[{o}, i]"],
        [vector, "for k in range(4):", f"    s += n[k] * w[{o}, i]"],
        [vector, "s += (n * ti.cast(2, ti.KIND)).sum() + n[i % 4]".replace("KIND", kind)],
        [vector, chosen, "s += m[0] - m[2]"],
    )
    along = one.one(f"{inputs}", f"1, {inputs}", f"{inputs - 1}, -1, -1", f"0, {inputs}, 2")
    bounds = [f"({low}, {low + extent})" for low, extent in ((first_b, samples), (first_o, outputs))]
    head = one.one(
        f"for b, o in ti.ndrange({', '.join(bounds)}):", f"for o, b in ti.ndrange({', '.join(bounds[::-1])}):"
    )
    body = [f"s, t = ti.{kind}(0), ti.{kind}(0)", f"for i in range({along}):", *indented([*steps, *inner])]
    return [head, *indented([*body, one.one(f"y[{b}, {o}] = s + t", f"y[{b}, {o}] += s")])]


def elements(one: Any) -> list[str]:
    """Loops over elements of local arrays at computed indices, near those that the iteration before has changed."""
    kind, threads, turns = one.one("f32", "i32", "i64", "f64"), one.one(1, 7, 33, 65), one.one(1, 5, 6, 20)
    size = max(turns + 4, one.one(8, 16, 17, 32, 33, 64))
    one.array("x", kind, (threads, turns + 4), one.one(True, None))
    one.array("y", kind, (threads,), True)
    one.numbers["turns"] = turns
    leaves = [f"{name}[k + {shift}]" for name in "pq" for shift in range(3)] + ["w"]

    def changed() -> list[str]:
        target = one.one(*leaves)
        value = f"ti.max(ti.min({one.value(leaves, kind)}, ti.{kind}(50)), ti.{kind}(-50))"
        line = f"{target} = {value}"
        return one.one([line], [line], [f"if {one.one(*leaves)} > {one.one(*leaves)}:", f"    {line}"])

    bound = one.one("turns", "turns", f"{turns}")
    lines = [f"p, q = ti.Vector([ti.{kind}(0)] * {size}), ti.Vector([ti.{kind}(1)] * {size})", f"w = ti.{kind}(1)"]
    lines += [f"for k in range({bound} + 4):", "    p[k] = x[i, k]", f"    q[k] = x[i, {turns + 3} - k]"]
    for _ in range(one.one(1, 1, 2)):
        head = one.one(f"for k in range({bound}):", f"for k in range({bound}):", f"for k in range(1, {bound}):")
        lines += [head, *indented([line for _ in range(one.one(1, 2, 3)) for line in changed()])]
    total = [f"s += p[k] * ti.{kind}(3) - q[k]"]
    lines += [f"s = w + ti.{kind}(0)", f"for k in range({bound} + 4):", *indented(total), "y[i] = s"]
    return ["for i in y:", *indented(lines)]


FAMILIES = {"halves": halves, "common": common, "elements": elements}
