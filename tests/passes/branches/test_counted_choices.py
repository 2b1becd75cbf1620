"""Pass `counted_choices`: one of two counts has no branch in the loops of C that carry values."""

from __future__ import annotations

import random

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

COUNTED = "(counted_choices)"
N = 50
KERNEL = """
import shadesmith as ti
N = 50
@ti.kernel
def walks(k: ti.template(), x: ti.template(), y: ti.template()):
    for i in range(N):
        n, m, s, v, last = k[i], ~k[i], 0, x[i], 0.0
        for t in range(40):
            BODY
            m = (m ^ n) + t
            n = (n << 3) ^ (n >> 5) ^ m
            last, v = v, v * 1.5 - last
        y[i] = s
"""


def kernel_of(lines: list[str], tmp_path):
    """Return a kernel with lines in a loop that carries values."""
    source = KERNEL.replace("BODY", "\n            ".join(lines))
    path = tmp_path / f"walks_{len(list(tmp_path.iterdir()))}.py"
    path.write_text(source)
    return written_programs.load(path).walks


def start(arch=ti.cpu, **options) -> list:
    ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False, **options)
    k, x, y = ti.field(ti.i32, N), ti.field(ti.f32, N), ti.field(ti.i32, N)
    generator = np.random.default_rng(0)
    integers, numbers = generator.integers(-(2**31), 2**31, N), generator.normal(0, 1, N)
    integers[:4], numbers[:5] = (0, -1, 2**31 - 1, -(2**31)), (np.nan, np.inf, -np.inf, -0.0, 0.0)
    k.from_numpy(integers.astype(np.int32))
    x.from_numpy(numbers.astype(np.float32))
    return [k, x, y]


def results(kernel, arch, **options) -> list[int]:
    fields = start(arch, fast_math=False, **options)
    kernel(*fields)
    return fields[2].to_numpy().tolist()


def lines_of(first: str, second: str, up: str = "s += 1", down: str = "s -= 1") -> list[str]:
    return [f"if {first}:", f"    {up}", f"elif {second}:", f"    {down}"]


def test_conditions_are_counted(tmp_path):
    source = kernel_of(lines_of("n < 0", "m & 4 != 0"), tmp_path).source(*start())
    assert "first = (int)(n < 0)" in source and "second = (int)((m & 4) != 0)" in source
    assert f"s += first - (second & ~first);  // without a branch {COUNTED}" in source


def test_other_numbers_are_factors(tmp_path):
    source = kernel_of(lines_of("n < 0", "m < 5", "s -= 3", "s += 7"), tmp_path).source(*start())
    assert COUNTED in source and "if (" not in source


@pytest.mark.parametrize(
    "lines",
    [
        lines_of("n < 0", "m < 5", "s += n"),
        lines_of("n < 0", "m < 5", "s += 1", "m -= 1"),
        lines_of("n < 0", "n // m > 3"),  # a division
        lines_of("m < 0", "(n >> m) & 1 != 0"),  # m may be 32
        lines_of("n < 0", "k[(n & 7) * 5] > 0"),  # a load
        [*lines_of("n < 0", "m < 5"), "else:", "    s += 2"],
        ["old = s", "s += n", *lines_of("n < 0", "m < 5", "s = old + 1", "s = old - 1")],
    ],
)
def test_other_branches_stay(lines, tmp_path):
    assert COUNTED not in kernel_of(lines, tmp_path).source(*start())


def test_loops_of_sums_keep_their_branches():
    @ti.kernel
    def counts(k: ti.template(), x: ti.template(), y: ti.template()):
        for i in range(N):
            s = 0
            for t in range(40):
                if x[t] > x[i]:
                    s += 1
                elif k[t] > 0:
                    s -= 1
            y[i] = s

    assert COUNTED not in counts.source(*start())


def test_gpus_have_branches(tmp_path):
    assert COUNTED not in kernel_of(lines_of("n < 0", "m < 5"), tmp_path).source(*start(ti.python), arch=ti.cuda)


CONDITIONS = [
    "n < 0",
    "m & 4 != 0",
    "(n >> 31) != 0",
    "v > last",
    "not v <= 0.5",
    "n + 1 > m",
    "n == m",
    "(m ^ n) & 1 == 0",
]
CHANGES = ["s += 1", "s -= 1", "s += 5", "s -= 65536", "s += 0", "s = s + 2", "s = s - 3"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(12))
def test_random_counts(seed, tmp_path):
    generator = random.Random(seed)
    for _ in range(2):
        lines = lines_of(*generator.choices(CONDITIONS, k=2), *generator.choices(CHANGES, k=2))
        kernel = kernel_of(lines, tmp_path)
        ours = results(kernel, ti.cpu)
        assert ours == results(kernel, ti.python), lines
        assert ours == results(kernel, ti.cpu, passes="-counted_choices"), lines
