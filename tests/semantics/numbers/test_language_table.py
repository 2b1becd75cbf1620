"""Literals, types and operators of all number types under two pairs of default types: type and value are Taichi 1.7.4's.

tests/data/language.json was recorded by tests/data/record_language.py. What differs on purpose is listed below, with the
reason. Of some groups only types were recorded, which the frontend knows: nothing is compiled for these.
"""

from __future__ import annotations

import itertools
import json
import linecache
import math
import re
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti

TABLE = json.loads((Path(__file__).parents[2] / "data" / "language.json").read_text())
ARGUMENTS, DEFAULTS = TABLE["arguments"], TABLE["defaults"]
IMPORTS = "import math\nimport numpy as np\nimport shadesmith as ti\nimport shadesmith.math as tm\n"
SIGNATURE = ", ".join(f"{name}: ti.{kind}" for name, (kind, _) in ARGUMENTS.items())
SIZE = 40
"""Cases a kernel."""

OTHERWISE = {
    r"(ti\.[iuf]\d+|np\.bool_)\((np\.bool_\()?(True|False)": "a truth value has the type that is called; in Taichi it stays u1",
    r"1e39": "casts of numbers out of range are undefined",
    r"1e-(40|310)": "Taichi counts subnormal numbers as 0",
    r"a_f(16|32)": "casts of negative numbers to unsigned integers are undefined",
    r"S\{n\}\(q=ti\.Vector": "a member has its declared type; in Taichi a vector keeps its own",
    r"^r = ti\.static\([^()]*\)$": "a value known at compile time, which has no type",
    r"c = ti\.static\(True\)": "as above",
    r"rsqrt": "Taichi keeps the type of an integer",
    r"ti\.(zero|one)\(": "the type of the operand, as Taichi's documentation says",
    r"(True|[ab]_u1) (<<|>>)": "a truth value is shifted as a number, as in Python",
    r"-[ab]_u1|\+True|(abs|round|clz|popcnt|one|zero)\((True|[ab]_u1)": "truth values count",
    r"u1.*\.sum\(|\.sum\(\).*u1|diag\(2, b_u1|u1.*\.(norm|trace|determinant|dot|outer)": "sums of truth values count",
    r"b_(u1|u8).* @ ": "products of truth values count; those of 8 and 16 bits keep their type, which in Taichi is default_ip",
    r"atan2\(ti": "of vectors of f64 it is f64",
    r"b_f(16|32|64); (r = )?ti\.atomic_(and|or|xor)|\.norm\(\)|\.inverse\(\)": "floats are refused; lengths and inverses keep the type of floats",
    r"bit_cast": "types of unequal width are refused",
    r"(clz|popcnt)\(([ab]_f|2\.5)": "floats are refused",
    r"f16.*(norm|length|distance)|(norm|length|distance).*f16": "lengths of f16 are f16",
    r"\) and ti\.Vector|and ti\.Matrix": "logical operators of vectors give truth values",
    r"ivec|Matrix\.diag|cast\(ti\.u8\)": "vectors get the type that is called",
    r"b_u1; r [+\-*/]|s\.p \+= 1": "a truth value that is changed",
    r"Vector\(\[b_[iu]\d+, b_[iu]\d+\]\) \*\* \d$|\*\* ti\.Vector": "Taichi notes the promoted type for the power of a vector, and computes in the left type",
}
"""Patterns of codes whose result differs from Taichi's, and why."""

DIFFERS = re.compile("|".join(f"(?:{pattern})" for pattern in OTHERWISE))


def rows_of(valued: bool) -> list[tuple[int, str, str, str, str | None]]:
    """Return (defaults, code, prelude, type, value) of all rows that Taichi accepts and whose value is known, or not."""
    found = []
    for group, code, prelude, results in TABLE["rows"]:
        if group == "" or DIFFERS.search(code):
            continue
        for pair in range(len(DEFAULTS)):
            kind, value = results[min(pair, len(results) - 1)]
            if kind != "error" and (value is not None) == valued:
                found.append((pair, code, prelude, kind, value))
    return sorted(found, key=lambda row: row[0])


def batches(rows: list) -> list[list]:
    """Return rows of equal default types in batches of the size of a kernel."""
    by_pair = [[row for row in rows if row[0] == pair] for pair in range(len(DEFAULTS))]
    return [group[k : k + SIZE] for group in by_pair for k in range(0, len(group), SIZE)]


def shape_of(kind: str) -> list[int]:
    return json.loads(kind[kind.index("[") :]) if "[" in kind else []


def kernel_of(batch: list, name: str, stores: bool):
    """Return a kernel of all cases, which checks their types, and stores their values if asked to."""
    space: dict = {"__name__": "language"}
    preludes = dict.fromkeys(row[2].replace("{n}", str(n)) for n, row in enumerate(batch) if row[2])
    lines = [*(IMPORTS + "\n".join(preludes)).splitlines(), "@ti.kernel"]
    lines += [f"def k({SIGNATURE}, real: ti.types.ndarray(), whole: ti.types.ndarray()):", "    for _ in range(1):"]
    position = 0
    for n, (_, code, _, kind, _) in enumerate(batch):
        text = code.replace("{n}", str(n))
        lines.append("        if ti.static(True):")
        lines += [f"            {line}" for part in text.split("; ") for line in part.split("\n")]
        lines.append(f"            ti.static_assert(r.dtype == ti.{kind.split('[')[0]}, {text.splitlines()[-1]!r})")
        for index in itertools.product(*map(range, shape_of(kind))) if stores else ():
            item = f"r[{', '.join(map(str, index))}]" if index else "r"
            lines.append(f"            real[{position}] = ti.cast({item}, ti.f64)")
            lines.append(f"            whole[{position}] = ti.cast({item}, ti.i64)")
            position += 1
    source = "\n".join(lines) + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), space)
    return space["k"]


def start(target: str, pair: int) -> None:
    ip, fp = DEFAULTS[pair]
    ti.init(
        arch=getattr(ti, target), default_ip=getattr(ti, ip), default_fp=getattr(ti, fp), fast_math=False,
        log_level=ti.ERROR, enable_fallback=False,
    )  # fmt: skip


def equal(found: str, expected: str, kind: str) -> bool:
    if not kind.startswith("f"):
        return found == expected
    x, y = float(found), float(expected)
    if math.isnan(y) or math.isinf(y):
        return repr(x) == repr(y)
    ulp = {"f16": 2**-10, "f32": 2**-23, "f64": 2**-52}[kind[:3]]
    return abs(x - y) <= 4 * ulp * max(abs(y), 1e-30)


VALUED = batches(rows_of(True))


@pytest.mark.sampled(12)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(VALUED)))
def test_types_and_values_are_taichis(number: int, target: str) -> None:
    batch = VALUED[number]
    start(target, batch[0][0])
    count = sum(len(row[4].split()) for row in batch)
    real, whole = np.zeros(count), np.zeros(count, np.int64)
    kernel_of(batch, f"/language_{number}.py", True)(*[value for _, value in ARGUMENTS.values()], real, whole)
    ti.sync()
    position, wrong = 0, []
    for _, code, _, kind, expected in batch:
        for text in expected.split():
            found = repr(float(real[position])) if kind.startswith("f") else str(int(whole[position]))
            position += 1
            if not equal(found, text, kind):
                wrong.append((code, kind, found, text))
    assert not wrong, wrong[:20]


TYPED = batches(rows_of(False))


def check_types(batch: list, number: int) -> None:
    """Build a kernel of cases, as far as the types are known."""
    start("python", batch[0][0])
    kernel = kernel_of(batch, f"/language_types_{number}.py", False)
    arguments = [value for _, value in ARGUMENTS.values()]
    assert kernel.ir("frontend", *arguments, np.zeros(1), np.zeros(1, np.int64))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(0, len(TYPED), 16))
def test_types_are_taichis(number: int) -> None:
    check_types(TYPED[number], number)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(TYPED)))
def test_all_types_are_taichis(number: int) -> None:
    check_types(TYPED[number], number)


REFUSED = [
    (pair, code, prelude)
    for group, code, prelude, results in TABLE["rows"]
    for pair in range(len(DEFAULTS))
    if group == "literals" and results[min(pair, len(results) - 1)][0] == "error"
    and re.fullmatch(r"r = ti\.[iu](8|16|32|64)\([^()]*\)", code)
]  # fmt: skip
"""Literals that do not fit the type that is called on them, and floats as integers."""


def test_literals_that_taichi_refuses_are_refused() -> None:
    assert len(REFUSED) > 300
    for pair, code, prelude in REFUSED[:: max(1, len(REFUSED) // 40)]:
        start("python", pair)
        source = f"{IMPORTS}{prelude}\n@ti.kernel\ndef k():\n    {code}\n"
        name = f"/refused_{pair}_{code}.py"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        space: dict = {"__name__": "refused"}
        exec(compile(source, name, "exec"), space)
        with pytest.raises(ti.TaichiTypeError, match="exceeded the range of specified dtype|must be annotated with"):
            space["k"]()
