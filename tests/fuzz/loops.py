"""Families of `fuzz.choices` aimed at the passes that regroup loops: rows, lanes, elements that are kept or forwarded.

In: a `Choices`, which draws numbers and arrays. Out: the lines of a kernel. Sums are of small whole numbers, so that every
order of them is exact; factors of recurrences are powers of two.
"""

from __future__ import annotations

from typing import Any

INTEGERS = ("i32", "u32", "i64")


def indented(lines: list[str]) -> list[str]:
    """Return lines one level deeper."""
    return [f"    {part}" for line in lines for part in line.split("\n")]


def sums(one: Any) -> list[str]:
    """Loops over all elements that add to an element a row: `axis_sums`, `reduce_atomics`."""
    axes, kind = one.one(2, 2, 3), one.one("i32", "f32", "u32", "i64", "f64")
    shape = (*(one.extent(9) for _ in range(axes - 1)), one.one(1, 2, 63, 64, 65, 127, 128, 129, 200))
    names = "ijk"[:axes]
    offset = tuple(one.one(0, -3, 5) for _ in names) if one.one(0, 0, 0, 1) else (0,) * axes
    for name in ("a", "b"):
        one.array(name, kind, shape, True, offset=offset)
    rows = one.one(shape[0], max(1, shape[0] - 1), max(1, shape[0] // 2))
    for name in ("s", "t"):
        one.array(name, kind, (rows,), True, offset=offset[:1])
    one.array("w", kind, (shape[0],), True, offset=offset[:1])
    one.array("u", kind, shape[-1:], True, offset=offset[-1:])
    one.array("v", kind, (shape[0], shape[-1]), True, offset=(offset[0], offset[-1]))
    low, high = offset[0], offset[0] + rows
    index = ", ".join(names)
    leaves = [f"a[{index}]", f"b[{index}]", "w[i]", f"ti.cast({names[-1]}, ti.{kind})"]
    one.options = {"passes": one.one("-block_sums", "-block_sums", "")}
    operations: dict[str, str] = {}  # of each array: iterations may change it in any order, which only one kind allows
    lines = []
    for _ in range(one.random.randint(1, 3)):
        place, first, last = one.one(("i", 0, 0), ("i - 1", -1, -1), ("i + 1", 1, 1), (str(low), None, None))
        tests = []
        if first is not None:
            if first < 0:
                tests.append(f"i > {low - 1 - first}")
            if rows < shape[0] or last > 0:
                tests.append(f"i < {high - last}")
        tests += [f"a[{index}] > ti.{kind}({one.random.randint(0, 4)})"] if one.one(0, 0, 1) else []
        element = one.one(*[f"{name}[{place}]" for name in "st"], f"u[{names[-1]}]", f"v[i, {names[-1]}]")
        operation = one.one("add", "add", "add", one.one("min", "max"))
        operation = operations.setdefault(element[0], operation)
        change = f"{element} {one.one('+=', '+=', '-=')} {one.value(leaves, kind)}"
        if operation != "add":
            change = f"ti.atomic_{operation}({element}, {one.value(leaves, kind)})"
        lines += [f"if {' and '.join(tests)}:", f"    {change}"] if tests else [change]
    if one.one(0, 0, 1):
        ends = [f"({begin}, {begin + extent})" for begin, extent in zip(offset, shape, strict=True)]
        return [f"for {index} in ti.ndrange({', '.join(ends)}):", *indented(lines)]
    return [f"for {index} in {one.one('a', 'b')}:", *indented(lines)]


def products(one: Any) -> list[str]:
    """Serial loops over rows and columns of arrays: `register_tiles`, `shared_rows`, `row_lanes`, `lane_loops`."""
    kind = one.one("f32", "f32", "i32", "u32", "i64", "f64")
    n, m, depth = one.extent(33), one.extent(40), one.one(1, 2, 3, 4, 15, 16, 17, 31, 33, 64)
    is_field = one.one(True, False, None)
    shapes = {"a": (n, depth), "b": (depth, m), "d": (m, depth), "c": (n, m), "e": (n, m)}
    for name, shape in shapes.items():
        one.array(name, kind, shape, is_field)
    one.array("x", kind, (depth,), is_field)
    one.array("y", kind, (n,), is_field)
    one.array("z", kind, (m,), is_field)
    is_row = one.one(0, 0, 1)
    row_leaves = ["a[i, k]", "x[k]", "y[i]", f"ti.cast(k, ti.{kind})"]
    leaves = row_leaves if is_row else [*row_leaves, "a[i, k]", "b[k, j]", "d[j, k]", "b[k, j]", "z[j]"]
    names = ["s", "t"][: one.random.randint(1, 2)]
    lines = [f"{name} = ti.{kind}({one.one('0', '0', '2')})" for name in names]
    if one.one(0, 0, 1):  # a value from before the loop
        lines, leaves = [f"old = {one.one(*row_leaves[2:3], 'x[0]')}", *lines], [*leaves, "old"]
    if one.one(0, 0, 1):
        lines[-1] = f"{names[-1]} = {one.one('y[i]', 'y[i]' if is_row else 'e[i, j]')}"
    has_first = one.one(0, 0, 0, 1)
    if has_first:  # what a variable was before the loop
        lines += [f"if y[i] > ti.{kind}(1):", f"    {names[0]} = ti.{kind}(3)", f"first = {names[0]}"]
    length = one.one(str(depth), "a.shape[1]", f"a.shape[1] - {one.one(0, 1)}", "x.shape[0]")
    inner = []
    for name in names:
        value = one.value(leaves, kind)
        if one.one(0, 1, 1):
            value = f"({value} + {'a[i, k] * x[k]' if is_row else one.one('a[i, k] * b[k, j]', 'a[i, k] * d[j, k]')})"
        change = one.one(f"{name} += {value}", f"{name} += {value}", f"{name} -= {value}",
                         f"{name} = ti.max({name}, {value})", f"{name} = {value} + {name}")  # fmt: skip
        if has_first and one.one(0, 1):
            change = f"{names[0]} = {one.one(f'first + {value}', f'ti.max(first, {value})', f'first - {value}')}"
        inner += (
            [f"if {one.one('a[i, k] > y[i]', 'k != 2', 'x[k] != y[i]')}:", f"    {change}"]
            if one.one(0, 0, 0, 1)
            else [change]
        )
    loop = [f"for k in range({one.one('0', '0', '0', '1', 'i')}, {length}):", *indented(inner)]
    if one.one(0, 0, 0, 1):
        loop += [f"for k in range({depth}):", f"    {names[0]} -= {one.value(leaves, kind, 1)}"]
    if one.one(0, 0, 0, 1):
        lines.append(one.one("y[i] = y[i] * y[i]" if is_row else "e[i, j] = e[i, j] + z[j]"))
    target = "y[i]" if is_row else "c[i, j]"
    after = [f"{target} = {' - '.join(names)}", f"{target} += {names[0]}"][one.random.randrange(2)]
    if "old" in leaves:
        after = f"{target} = old if {names[0]} > {names[-1]} + ti.{kind}(1) else {names[0]} + x[0]"
    head = one.one("for i in range(n_rows):", "for i in y:") if is_row else one.one(
        "for i, j in c:", "for i, j in e:", "for i, j in ti.ndrange(n_rows, c.shape[1])",
        "for i, j in ti.ndrange(n_rows, (1, c.shape[1]))")  # fmt: skip
    one.numbers["n_rows"] = one.one(n, n, max(0, n - 1), 0)
    return [head if head.endswith(":") else f"{head}:", *indented([*lines, *loop, after])]


def whiles(one: Any) -> list[str]:
    """`while` loops of neighbouring iterations, which end at different times: `lane_whiles`."""
    kind, n = one.one(*INTEGERS, "f32", "f64"), one.extent(140)
    is_field = one.one(True, False)
    for name in ("a", "b", "c"):
        one.array(name, kind, (n,), is_field)
    literal = one.random.randint(1, 40)
    lines = [f"x, y = a[i], ti.{kind}({one.one('1', '0')})", "count = 0"]
    if one.one(0, 1):
        lines.append(f"v = ti.Vector([x, ti.{kind}({one.random.randint(0, 3)})])")
        leaves = ["x", "y", "v[0]", "v.y", "b_i"]
    else:
        leaves = ["x", "y", "b_i"]
    lines.append("b_i = b[i]")
    has_vector = "v.y" in leaves
    inner = []
    for _ in range(one.random.randint(1, 4)):
        value = one.value(leaves, kind, 2)
        place = one.one("x", "y", *(["v.x", "v[1]"] if has_vector else []))
        change = one.one(f"{place} += {value}", f"{place} = {value}", f"{place} -= {value}")
        inner += (
            [f"if {one.value(leaves, kind, 1)} > ti.{kind}(1):", f"    {change}"] if one.one(0, 0, 0, 1) else [change]
        )
    if has_vector and one.one(0, 1):
        inner.append("v = ti.Vector([v.y, v.x])")
    bound = one.one("x", "y", "x + y", "ti.max(x, y)")
    # floats would leave what is exact: few iterations of small numbers
    most = one.random.randint(1, 6) if kind.startswith("f") else literal
    test = f"{one.one('', '')}count < {most} and {bound} {one.one('<', '<=', '!=', '>')} ti.{kind}({literal})"
    inner.append("count += 1")
    loop = [f"while {test}:", *indented(inner)]
    if one.one(0, 0, 1):
        loop += [f"while count < {most + 3}:", "    count += 2", f"    y = {one.value(leaves, kind, 1)}"]
    end = one.one("c[i] = y", "c[i] = x - y", f"c[i] = ti.cast(count, ti.{kind})", "c[i] = x\nb[i] = y")
    if one.one(0, 0, 0, 1):
        one.array("p", kind, (3, n), is_field)
        one.array("q", kind, (3, n), is_field)
        lines[0] = lines[0].replace("a[i]", "p[j, i]")
        return ["for j, i in q:", *indented([*lines, *loop, "q[j, i] = x + y"])]
    return ["for i in c:", *indented([*lines, *loop, end])]


def elements(one: Any) -> list[str]:
    """Elements that an iteration stores, reads and changes again: `forward_elements`, `forward_stores`, `keep_elements`."""
    kind, n = one.one("i32", "f32", "i64", "u32", "f64"), one.extent(70)
    is_field = one.one(True, False, None)
    for name in ("a", "b", "c"):
        one.array(name, kind, (n, 3), is_field)
    one.array("d", kind, (n,), is_field)
    is_ndarray = "a" in one.arrays and "b" in one.arrays
    if is_ndarray and one.one(0, 1):
        one.same["b"] = "a"  # two arguments that are one array
    leaves = [f"{name}[i, {place}]" for name in "abc" for place in ("0", "1", "2")] + ["d[i]", "x", "x"]
    places = [leaf for leaf in leaves if leaf != "x"]

    def change(depth: int) -> list[str]:
        value = one.value(leaves, kind, one.one(1, 2))
        place = one.one("x", *places)
        match one.random.randrange(8 if depth else 4):
            case 0 | 1:
                return [f"{place} = {value}"]
            case 2:
                return [f"{place} += {value}"]
            case 3:
                return [f"x = {one.one(*places)}"]
            case 4:
                return [f"if {one.value(leaves, kind, 1)} > ti.{kind}(0):", *indented(block(depth - 1)),
                        *(["else:", *indented(block(depth - 1))] if one.one(0, 1) else [])]  # fmt: skip
            case 5:
                bound = one.one("2", "3", "0", "1", "n % 3")
                return [f"for k{depth} in range({bound}):", *indented(block(depth - 1, f"k{depth}"))]
            case 6:
                bound = one.one(1, 2, 3)
                return [f"for k{depth} in ti.static(range({bound})):", *indented(block(depth - 1, f"k{depth}"))]
        leave = [f"if k{depth} == 1:", f"    {one.one('break', 'continue')}"]
        return [f"for k{depth} in range({one.one('3', '2')}):", *indented([*leave, *block(depth - 1, f"k{depth}")])]

    def block(depth: int, index: str = "") -> list[str]:
        found = [line for _ in range(one.random.randint(1, 3)) for line in change(max(depth, 0))]
        if index:
            name = one.one("a", "b", "c")
            found.append(f"{name}[i, {index}] {one.one('=', '+=')} {one.value(leaves, kind, 1)}")
        return found

    one.numbers["n"] = one.random.randint(0, 5)
    lines = ["x = d[i]", *(line for _ in range(one.random.randint(2, 4)) for line in change(2)), "d[i] = x"]
    if kind.startswith("f"):  # products of products would not be exact
        lines = [line.replace(f"* ti.{kind}(2)", "").replace(f"* ti.{kind}(3)", "") for line in lines]
    return [one.one("for i in d:", f"for i in range({n}):"), *indented(lines)]


def recurrences(one: Any) -> list[str]:
    """Serial loops that scale and shift local floats by powers of two: `fold_recurrences`."""
    kind, n = one.one("f32", "f64"), one.extent(40)
    for name in ("a", "b"):
        one.array(name, kind, (n,))
    names = ["x", "y"][: one.random.randint(1, 2)]
    lines = [f"{name} = {one.one('a[i]', 'b[i]', '1.0', '0.0')}" for name in names]
    inner = []
    for name in names:
        factor, term = one.one("1.0", "1.0", "-1.0", "0.5", "-0.5"), one.one("1.0", "-2.0", "4.0", "0.0")
        inner.append(one.one(f"{name} = {name} * {factor} + {term}", f"{name} = {term} - {name}", f"{name} += {term}",
                             f"{name} *= {factor}", f"{name} = ({name} - {term}) * {factor}", f"{name} = -{name}",
                             f"{name} = {names[-1]} + {term}"))  # fmt: skip
    count = one.one(1, 2, 3, 4, 7)
    lines += [f"for k in range({one.one('', '1, ', '-1, ')}{count}):", *indented(inner)]
    if one.one(0, 1):
        lines += [f"for k in range(2, {count}):", *indented(inner[:1])]
    return ["for i in a:", *indented([*lines, *(f"b[i] {one.one('=', '+=')} {name}" for name in names)])]


def counts(one: Any) -> list[str]:
    """Branches in loops of constant bounds, by what stays the same and by the index: `added_shifts`, `exact_ends`."""
    kind, n = one.one("i32", "i32", "i64", "u32"), one.extent(40)
    for name in ("a", "b", "c"):
        one.array(name, kind, (n,))
    one.numbers["m"] = one.random.randint(0, 7)
    same = ["p", "q", "p", "q", "m", f"ti.{kind}({one.random.randint(1, 9)})"]

    def value(leaves: list[str]) -> str:
        first, second = one.one(*leaves), one.one(*leaves)
        shift = f"{first} >> {one.random.randint(1, 7)}"
        forms = shift, shift, shift, f"{first} // 4", f"{first} * {second}", f"{first} - {second}", f"~{first}"
        return one.one(*forms, first, f"({first} ^ {second}) + {one.random.randint(1, 5)}", f"-{first}")

    def test(index: str) -> str:
        number = one.random.randint(-1, 6)
        of_same = f"{one.one('p', 'q', 'm')} {one.one('!=', '>', '<=', '==')} {number}", f"p & {one.one(1, 2, 4)} != 0"
        of_index = (
            f"{index} {one.one('<=', '>=', '!=', '==', '<')} {number}",
            f"{index} % 2 == 0",
            f"{index} * 2 < {number}",
        )
        return one.one(*of_same, *of_index, *of_index, f"{index} < m", f"p > {index}")

    def block(index: str, depth: int) -> list[str]:
        if not depth or one.one(0, 0, 0, 1):
            leaves = same if one.one(0, 0, 1) else [*same, index]
            return [f"{one.one('t', 't', 'u')} {one.one('+=', '+=', '-=', '^=')} {value(leaves)}"]
        lines = [f"if {test(index)}:", *indented(block(index, depth - 1))]
        if one.one(0, 0, 1):
            lines += ["else:", *indented(block(index, depth - 1))]
        return [*lines, *(block(index, 0) if one.one(0, 0, 0, 1) else [])]

    lines = ["p, q, t, u = a[i], b[i], c[i], a[i]"]
    for number in range(one.random.randint(1, 3)):
        index = f"k{number}"
        first, step, length = (
            one.one(0, 0, 0, 1, 2, -2),
            one.one(1, 1, 1, 2, -1, 3),
            one.one(2, 3, 4, 5, 6, 8, 9, 17, 100),
        )
        last = first + (length if step > 0 else -length)
        bounds = f"range({first}, {last}, {step})" if step != 1 else f"range({first}, {last})"
        bounds = (
            f"ti.static({bounds})"
            if one.one(0, 1) and length < 20
            else one.one(bounds, bounds, bounds, f"range(m + {length})")
        )
        lines += [f"for {index} in {bounds}:", *indented(block(index, one.random.randint(1, 3)))]
    return ["for i in c:", *indented([*lines, "c[i] = t", "b[i] = u"])]


def shared(one: Any) -> list[str]:
    """Arrays in shared memory whose rows and columns threads access: `padded_rows`."""
    kind, block = one.one("f32", "i32", "u32", "i64", "f64"), one.one(32, 64, 128, 256)
    rows, row = one.one((32, 32), (16, 64), (8, 32), (16, 16), (5, 33), (64, 8))
    one.array("a", kind, (rows * row,), True)
    one.array("b", kind, (block * one.random.randint(1, 3),), True)
    one.numbers["m"] = one.random.randint(0, 9)

    def index(extent: int) -> str:
        thread = one.one(
            "t", "t", f"t // {extent}", f"t // {one.one(2, 4, 8, 16)}", f"t * {one.one(2, 3, 4)}", "(t ^ 5)"
        )
        return f"({thread}{one.one('', '', ' + k', ' + m', ' + k * m')}) % {extent}"

    target = one.one(f"e // {row}, e % {row}", f"e % {rows}, e // {rows}", f"e % {rows}, e // {rows}")
    load = one.one(f"s += tile[{index(rows)}, {index(row)}]", f"s = ti.max(s, tile[{index(rows)}, {index(row)}] - s)")
    length = one.one("4", "m", "16")
    loop = f"for k in {one.one(f'range({length})', 'ti.static(range(4))')}:"
    return [
        f"ti.loop_config(block_dim={block})",
        "for i in b:",
        *indented(
            [
                f"tile = ti.simt.block.SharedArray(({rows}, {row}), ti.{kind})",
                "t = ti.simt.block.thread_idx()",
                f"for e in range(t, {rows * row}, {block}):",
                f"    tile[{target}] = a[e]",
                "ti.simt.block.sync()",
                "s = b[i]",
                loop,
                f"    {load}",
                "b[i] = s",
            ]
        ),
    ]


def scans(one: Any) -> list[str]:
    """Sums of the iterations before, also in place, of a kernel, of rows or of columns: `block_scans`."""
    kind = one.one("i32", "i32", "u32", "f32", "i64", "f64")
    n = one.one(1, 2, 3, 31, 33, 64, 129, 255, 256, 300, 1023, 1024, 1025, 2050)
    form, rows, is_field = (
        one.one("serial", "rows", "rows", "flat", "columns"),
        one.one(1, 2, 3, 5, 17),
        one.one(True, None),
    )
    shape, at = {
        "serial": ((n + 1,), "{}[{}]"), "rows": ((rows, n + 1), "{}[r, {}]"),
        "flat": ((rows * (n + 1),), f"{{}}[r * {n + 1} + {{}}]"), "columns": ((n + 1, rows), "{}[{}, r]"),
    }[form]  # fmt: skip
    for name in ("a", "b", "x"):
        one.array(name, kind, shape, is_field)
    one.array("place", "i32", shape, True)
    if {"x", "b"} <= one.arrays.keys() and one.one(0, 0, 1):
        one.same["x"] = "b"
    one.array("total", kind, (rows,), True)
    one.numbers["m"] = one.one(n, n, n - 1, 0, -1)
    length = {"serial": "x.shape[0] - 1", "rows": "x.shape[1] - 1", "flat": "m", "columns": "x.shape[0] - 1"}[form]
    k = one.one("k", "k", "k", "k", f"{n} - k")
    a, b, x, x_k, b_k = (
        at.format("a", k),
        at.format("b", k),
        at.format("x", k),
        at.format("x", "k"),
        at.format("b", "k"),
    )
    op = one.one(
        "s += {}", "s = {} + s", "s = first + {}", "s += {}" if kind in ("f32", "f64") else "s = ti.max(s, {})"
    )
    update = [op.format(one.one(x, x, f"ti.{kind}(2)", f"{b} + {x_k}", a, "k" if kind == "i32" else x))]
    if one.one(0, 0, 1):
        update = [f"if {x_k} {one.one('>', '!=')} ti.{kind}(1):", *indented(update)]
    behind = at.format("a", f"{k} {'-' if k == 'k' else '+'} 1")
    body = one.one(
        [f"{a} = s", *update],
        [*update, f"{a} = s"],
        [*update, f"{a} += s", f"{b_k} = s"],
        [f"t = {a}", f"{a} = s", "s += t"],
        [f"{a} = {a} + s", f"s = {a}"],
        [f"{a} += {behind}"],
        [f"{a} += {behind} + {x_k}", f"{b} += s", *(update if kind in INTEGERS else [f"s += ti.{kind}(2)"])],
        [f"{a} = {x}", f"s += {a}", f"{b_k} = s"],
        [f"if {x} > ti.{kind}(0):", f"    {at.format('place', 'c')} = k", "    c += 1", *update],
        [f"t = {x}", *update, f"if t {one.one('>', '==')} s:", f"    {a} -= s + ti.cast(c, ti.{kind})", "c += 3"],
    )  # fmt: skip
    top = at.format("a", "0")
    lines = [
        f"s, c = {one.one(f'ti.{kind}(0)', f'ti.{kind}(3)', top)}, {one.one(0, 0, 2)}",
        *([f"if s > ti.{kind}(1):", "    s = s + s", "first = s"] if "first" in op else []),
        f"for k in range({one.one(1, 1, 2)}, {one.one(n, 'm', n, length)}):",
        *indented(body),
    ]
    after = f"total[{'0' if form == 'serial' else 'r'}] = s + ti.cast(c, ti.{kind})"
    lines += one.one([after], [after, f"{top} += s"], [f"{at.format('a', one.one(0, n))} = s", after])
    others = [f"s += {x_k}", f"s = ti.max(s, {x_k})", f"{b_k} += s", f"s -= {a} * ti.{kind}(2)", f"{a} = {a} - {b}"]
    for place in one.one((), (1,), (len(lines),), (1, len(lines) + 2)):
        other = one.one(*others)
        lines[place:place] = [f"for k in range({one.one(0, 1)}, {one.one(n, n, 'm', length)}):", f"    {other}"]
    if form == "serial":
        return [
            part
            for line in lines
            for part in (["ti.loop_config(serialize=True)"] if line[:3] == "for" else []) + [line]
        ]
    lines = one.one(lines, [f"total[r] = {at.format('x', 0)}", *lines])
    return [f"for r in range({one.one(rows, 'x.shape[0]' if form == 'rows' else rows)}):", *indented(lines)]


def nests(one: Any) -> list[str]:
    """Nests of serial loops that add up, take extremes and store: `shared_rows`, `shared_columns`."""
    kind, sizes = one.one("i32", "f32", "u32", "i64", "f64"), {name: one.extent(17) for name in "cij"}
    order = one.one("icj", "icj", "cij", "cij", "ijc", "cji")
    shape = tuple(sizes[name] for name in order)
    for name in one.one("a", "ab", "abz"):
        one.array(name, kind, shape)
    one.array("w", kind, (sizes["i"], sizes["j"]))
    one.array("y", kind, (sizes["c"],), False)
    known = {**one.arrays, **one.fields}
    arrays, index = [name for name in "abz" if name in known], ", ".join(order)
    leaves = [*(f"{name}[{index}]" for name in arrays), "w[i, j]", f"ti.cast(j, ti.{kind})"]
    names = ["s", "t"][: one.random.randint(1, 2)]
    lines = [f"{name} = ti.{kind}({one.one(0, 0, 2)})" for name in names]

    def nest(inner: list[str]) -> list[str]:
        ends = {name: one.one(str(sizes[name]), f"a.shape[{order.index(name)}]") for name in "ij"}
        if one.one(0, 0, 1):
            return [f"for i, j in ti.ndrange({ends['i']}, {ends['j']}):", *indented(inner)]
        low = one.one("", "", "1, ")
        return [f"for i in range({ends['i']}):", *indented([f"for j in range({low}{ends['j']}):", *indented(inner)])]

    changes = []
    for name in names:
        value = one.value(leaves, kind)
        change = one.one(f"{name} += {value}", f"{name} -= {value}", f"{name} = ti.max({name}, {value})")
        changes += [f"if {one.one(*leaves)} > ti.{kind}(1):", f"    {change}"] if one.one(0, 0, 1) else [change]
    lines += nest(changes)
    if one.one(0, 1):
        lines += nest([f"{one.one(*arrays)}[{index}] = {one.value([*leaves, *names], kind)}"])
    config = [f"ti.loop_config(block_dim={one.one(32, 64, 256)})"] if one.one(0, 0, 0, 1) else []
    lines.append(f"y[c] = {' + '.join(names)}")
    return [*config, f"for c in {one.one('y', 'range(y.shape[0])')}:", *indented(lines)]


FAMILIES = {
    "shared": shared, "counts": counts, "sums": sums, "products": products, "whiles": whiles, "elements": elements,
    "recurrences": recurrences, "scans": scans, "nests": nests,
}  # fmt: skip
