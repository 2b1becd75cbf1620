"""A family of `fuzz.choices` aimed at passes of C for short loops over corners and bits, and at powers of two.

In: a `Choices`. Out: the lines of a kernel, whose iterations take factors from the bits of an index, set bits, count,
add and multiply by the bits of a number, from what variables are and from what they were before.
"""

from __future__ import annotations

from typing import Any

from .loops import indented


def corners(one: Any) -> list[str]:
    """Bits of an index and of numbers: `unrolled_corners`, `collected_bits`, `counted_choices`, `bit_terms`,
    `literal_bases`."""
    kind, n = one.one("f32", "f64"), one.extent(70)
    for name in ("a", "y"):
        one.array(name, kind, (n,), True)
    for name in ("k", "z"):
        one.array(name, "i32", (n,), True)
    lines = [f"s, f, bits, count, m = a[i], ti.{kind}(1), 0, {one.one('0', 'k[i]')}, ti.abs(k[i]) * 37 & 511"]
    for _ in range(one.random.randint(1, 2)):
        body = [line for _ in range(one.random.randint(1, 4)) for line in _part(one, kind, n)]
        lines += [f"for c in range({one.one(2, 4, 6, 8, '1, 7')}):", *indented(body)]
    body = [line for _ in range(one.random.randint(1, 3)) for line in _part(one, kind, n, "m & 7")]
    lines += ["while m > 0:", *indented([*body, *_terms(one, kind), "m >>= 1"])]
    return ["for i in y:", *indented([*lines, "y[i] = s + f", "z[i] = bits ^ count"])]


def _test(one: Any, kind: str, n: int, bit: str) -> str:
    return one.one(
        f"a[(i + {bit}) % {n}] > ti.{kind}(1)", "k[i] > 0", f"{bit} % 3 == 1", f"s > ti.{kind}(4)", "bits & 2 == 0"
    )


def _part(one: Any, kind: str, n: int, bit: str = "c") -> list[str]:
    """Return some statements of an iteration. bit: an integer from 0 to 7."""
    test, other = (_test(one, kind, n, bit) for _ in range(2))
    sign = f"ti.cast(({bit} & 1) * 2 - 1, ti.{kind})"
    base = one.one("2.0", "0.5", "4.0", "0.25", "16.0")
    return one.one(
        [f"s += {sign} * a[i]"],
        [f"s -= ti.cast(({bit} >> 1) % 2, ti.{kind}) * a[({bit} + i) % {n}]"],
        [f"if {test}:", f"    bits |= {one.one(f'1 << {bit}', '4', '1', '6')}"],
        ["was = bits", f"bits = {one.one('0', f'bits ^ {bit}')}", f"if {test}:", f"    bits = was | 1 << {bit}"],
        [f"if {test}:", f"    count += {one.one(1, 3)}", f"elif {other}:", f"    count -= {one.one(1, 2)}"],
        ["old = count", "count += 5", f"if {test}:", "    count = old + 1", f"elif {other}:", "    count = old - 1"],
        [f"s += ti.{kind}({base}) ** ti.cast(({bit} - 2) & 3, ti.{kind})"],
        [f"if {test}:", f"    s = ti.{kind}(0)"],
        *([[f"if {test}:", f"    {one.one('continue', 'break')}"]] if bit == "c" else []),
    )


def _terms(one: Any, kind: str) -> list[str]:
    """Return what a bit of a number decides."""
    test = one.one("m & 1", "m & 1 == 0", "m & 4 != 0")
    return one.one(
        [f"if {test}:", f"    s += ti.{kind}(2)"],
        [f"if {test}:", f"    f *= ti.{kind}(2)", "    s -= f"],
        ["total = s + a[i]", f"s = s - ti.{kind}(1)", f"if {test}:", "    s = total"],
        ["before = f", f"f += ti.{kind}(1)", f"if {test}:", f"    f = before * ti.{kind}(0.5)"],
    )
