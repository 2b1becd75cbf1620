"""All pairs of number types under all binary operations: type and value equal Taichi 1.7.4's (tests/data/binary_ops.json).

The file was recorded by tests/data/record_taichi.py. Where Taichi itself is wrong (docs/numerics.md), rows are left out by
name below.
"""

from __future__ import annotations

import json
import linecache
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from shadesmith.transpiler.ir.builder import Builder
from shadesmith.transpiler.ir.nodes import Block
from shadesmith.transpiler.ir.types import SCALARS

ROWS = json.loads((Path(__file__).parents[2] / "data" / "binary_ops.json").read_text())
TYPES = list(SCALARS)
EXPRESSIONS = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "div": "a / b", "floordiv": "a // b", "mod": "a % b",
    "pow": "a ** b", "bit_and": "a & b", "bit_or": "a | b", "bit_xor": "a ^ b", "shl": "a << b", "sar": "a >> b",
    "shr": "ti.bit_shr(a, b)", "lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b", "eq": "a == b",
    "ne": "a != b", "min": "ti.min(a, b)", "max": "ti.max(a, b)", "atan2": "ti.atan2(a, b)",
    "raw_div": "ti.raw_div(a, b)", "raw_mod": "ti.raw_mod(a, b)",
}  # fmt: skip


def valid(row: list) -> bool:
    return row[3] != "error"


def taichi_is_wrong(operation: str, a: str, b: str) -> bool:
    """8-bit floor division and modulo give a quotient of one bit (100 // 3 = 1); raw_mod of a negative number by an
    unsigned one takes the remainder as signed while raw_div divides as unsigned (docs/numerics.md). A shift of a truth
    value keeps one bit: `(x > 0) << 3` is 1, or 0 where Taichi folds it."""
    if operation in ("shl", "sar", "shr"):
        return a == "u1"
    if operation in ("floordiv", "mod"):
        return {a, b} <= {"i8", "u8"}
    return operation == "raw_mod" and a.startswith("i") and b.startswith("u") and int(b[1:]) >= int(a[1:])


@pytest.mark.parametrize("operation", EXPRESSIONS)
def test_result_type_is_taichis(operation: str) -> None:
    rows = [row for row in ROWS if row[0] == operation and valid(row)]
    assert rows
    for _, a, b, expected, _ in rows:
        if operation in ("shl", "sar", "shr") and a == "u1":
            expected = "i32"  # as in Python; Taichi: u1
        builder = Builder(Block())
        operands = [builder.const(1, SCALARS[a]), builder.const(1, SCALARS[b])]
        assert str(builder.op(operation, *operands).type) == expected, (operation, a, b)


def kernel_of(a: str, b: str, operations: list[str]):
    lines = ["import shadesmith as ti", "@ti.kernel",
             f"def k(a: ti.{a}, b: ti.{b}, real: ti.types.ndarray(), whole: ti.types.ndarray()):",
             "    for _ in range(1):"]  # fmt: skip
    for index, operation in enumerate(operations):
        lines += [f"        x{index} = {EXPRESSIONS[operation]}",
                  f"        real[{index}] = ti.cast(x{index}, ti.f64)",
                  f"        whole[{index}] = ti.cast(x{index}, ti.i64)"]  # fmt: skip
    name = f"<binary {a} {b}>"
    text = "\n".join(lines) + "\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict = {"__name__": "binary"}
    exec(compile(text, name, "exec"), namespace)
    return namespace["k"]


def close(found: float, expected: float, result: str, operation: str, target: str) -> bool:
    if math.isnan(expected):
        return math.isnan(found)
    # With `fast_math` division is off by up to 2 ulp on CUDA and 2.5 on Vulkan (docs/numerics.md).
    inexact = ("pow", "atan2", "div", "raw_div") if target in ("cuda", "vulkan") else ("pow", "atan2")
    if operation in inexact and result.startswith("f"):
        ulp = {"f16": 2**-10, "f32": 2**-23, "f64": 2**-52}[result]
        return abs(found - expected) <= 4 * ulp * max(abs(expected), 1e-30)
    return found == expected


@pytest.mark.sampled(4)
@pytest.mark.parametrize("a", TYPES)
def test_values_are_taichis(a: str, target: str) -> None:
    by_other = defaultdict(list)
    for row in ROWS:
        if row[1] == a and valid(row) and not taichi_is_wrong(*row[:3]):
            by_other[row[2]].append(row)
    wrong = []
    for b, rows in by_other.items():
        kernel = kernel_of(a, b, [row[0] for row in rows])
        real, whole = np.zeros(len(rows)), np.zeros(len(rows), np.int64)
        pairs = dict.fromkeys((x, y) for row in rows for x, y, _ in row[4])
        for x, y in pairs:
            kernel(x, y, real, whole)
            for index, (operation, _, _, result, samples) in enumerate(rows):
                for sx, sy, text in samples:
                    if (sx, sy) == (x, y):
                        found = float(real[index]) if result.startswith("f") else int(whole[index])
                        if not close(
                            found, float(text) if result.startswith("f") else int(text), result, operation, target
                        ):
                            wrong.append((operation, a, b, x, y, found, text))
    assert not wrong, wrong[:20]
