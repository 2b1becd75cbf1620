"""Pass `eager_conditions`: C computes both sides of `and` and `or` in choices of serial loops."""

from __future__ import annotations

import random

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once


def test_sums_of_words_with_a_carry(target: str) -> None:
    rows, words = 40, 4
    x, y, z = (ti.field(ti.u32, (rows, words)) for _ in range(3))

    @ti.kernel
    def add():
        for i in range(rows):
            carry = ti.u32(0)
            for w in range(words):
                v = x[i, w]
                s = v + y[i, w] + carry
                carry = ti.u32(1) if s < v or (carry > 0 and s == v) else ti.u32(0)
                z[i, w] = s

    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 1 << 32, (rows, words), dtype=np.uint64) for _ in range(2))
    a[:5], b[:5, 0] = 0xFFFFFFFF, 1
    b[:5, 1:] = 0
    x.from_numpy(a.astype(np.uint32))
    y.from_numpy(b.astype(np.uint32))
    add()
    numbers = [[sum(int(v) << (32 * k) for k, v in enumerate(row)) for row in side] for side in (a, b)]
    expected = [(p + q) % (1 << 128) for p, q in zip(*numbers, strict=True)]
    assert [sum(int(v) << (32 * k) for k, v in enumerate(row)) for row in z.to_numpy()] == expected
    assert "(s < v) | ((carry > 0u) & (s == v)) ? 1u : 0u" in add.source(arch=ti.cpu)
    assert "s < v || (carry > 0u && s == v)" in add.source(arch=ti.cuda)


def test_comparisons_with_nan(target: str) -> None:
    n = 64
    x, y = ti.field(ti.f32, (n, n)), ti.field(ti.i32, n)

    @ti.kernel
    def count():
        for i in range(n):
            m, last = 0, 0.0
            for k in range(n):
                v = x[i, k]
                m = m + 1 if (v < last and v > -2) or v == 3.0 else m - 1
                last = v
            y[i] = m

    values = (np.arange(n * n).reshape(n, n) * 7 % 13 - 6).astype(np.float32)
    values[::3, ::5] = np.nan
    x.from_numpy(values)
    count()
    last = np.concatenate([np.zeros((n, 1), np.float32), values[:, :-1]], axis=1)
    taken = ((values < last) & (values > -2)) | (values == 3)
    assert np.array_equal(y.to_numpy(), np.where(taken, 1, -1).sum(axis=1))


def test_what_stays() -> None:
    """Branches, what is loaded for a side alone, and choices outside of serial loops."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    x, y = ti.field(ti.i32, 100), ti.field(ti.i32, 100)

    @ti.kernel
    def branch():
        for i in range(100):
            m = 0
            for k in range(50):
                if m < k or (m > 3 and m == i):
                    y[k] = m
                m = (m * 7 + k) % 11
            x[i] = m

    @ti.kernel
    def loaded():
        for i in range(100):
            m = 0
            for k in range(50):
                m = 1 if m < k and x[(m * k) % 100] > 3 else m + 2
            y[i] = m

    @ti.kernel
    def alone():
        for i in range(100):
            m = x[i]
            y[i] = 1 if m < i or (m > 3 and m == 2 * i) else 0

    for kernel in (branch, loaded, alone):
        source = kernel.source()
        assert ") | (" not in source and ") & (" not in source, source


BOXES = """
import shadesmith as ti
N = 96
@ti.func
def quotient(w, h, u):
    r = 0.25
    if CONDITION:
        r = w * h / (1.0 + u - w * h)
    return r

@ti.kernel
def searches(x: ti.template(), y: ti.template()):
    for i in range(N):
        k, s = -1, 0.0
        for j in range(N):
            if x[j, 2] < x[i, 2]:
                continue
            w = ti.min(x[i, 0], x[j, 0]) - x[j, 2]
            h = x[i, 1] + x[j, 1]
            r = quotient(w, h, x[j, 2])
            s += r
            if r > 0.7:
                k = j
                END
        y[i, 0], y[i, 1] = k, s
"""


def searches_of(condition: str, tmp_path, end: str = "break"):
    """Return a kernel that searches for a quotient."""
    source = BOXES.replace("CONDITION", condition).replace("END", end)
    path = tmp_path / f"searches_{len(list(tmp_path.iterdir()))}.py"
    path.write_text(source)
    names: dict = {"__name__": path.stem}
    exec(compile(source, str(path), "exec"), names)
    return names["searches"]


def results_of(kernel, arch, **options) -> np.ndarray:
    ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False, fast_math=False, **options)
    x, y = ti.field(ti.f32, (96, 3)), ti.field(ti.f32, (96, 2))
    numbers = np.random.default_rng(0).integers(-4, 5, (96, 3)) * 0.5
    numbers[::7, 0], numbers[1::11, 1], numbers[2::13, 2], numbers[3::9, 0] = np.nan, np.inf, -np.inf, -0.0
    x.from_numpy(numbers.astype(np.float32))
    kernel(x, y)
    return y.to_numpy()


def source_of(kernel) -> str:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    return kernel.source(ti.field(ti.f32, (96, 3)), ti.field(ti.f32, (96, 2)))


COUNTED = "all are compared: gcc 12 would jump between (eager_conditions)"


def test_a_branch_that_guards_a_quotient_counts_what_holds(tmp_path):
    source = source_of(searches_of("w > 0 and h > 0", tmp_path))
    assert COUNTED in source and "if ((w > 0.0f) + (h > 0.0f) == 2) {" in source
    lines = source.split("\n")
    remark = next(k for k, line in enumerate(lines) if COUNTED in line)
    assert any("if ((w > 0.0f)" in line for line in lines[remark : remark + 3]), "the remark is at the branch"


@pytest.mark.parametrize("condition", ["w > 0", "w > 0 or h > 0", "w > 0 and (h > 0 or u < 1)", "w > 0 and 1 / h < u"])
def test_other_branches_stay(condition, tmp_path):
    assert COUNTED not in source_of(searches_of(condition, tmp_path))


def test_loops_that_may_be_vectors_stay():
    @ti.kernel
    def sums(x: ti.template(), y: ti.template()):
        for i in range(96):
            s = 0.0
            for j in range(96):
                w, h = x[j, 0], x[j, 1]
                if w > 0 and h > 0:
                    s += w / h
            y[i, 0] = s

    assert COUNTED not in source_of(sums)


COMPARISONS = ["w > 0", "h >= 0.5", "w + h <= u", "u != w", "w == h", "h < w", "u > -1", "not w < h", "u <= 1e38"]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(10))
def test_random_guards(seed, tmp_path):
    generator = random.Random(seed)
    for _ in range(2):
        condition = " and ".join(generator.choices(COMPARISONS, k=generator.randint(2, 4)))
        kernel = searches_of(condition, tmp_path, generator.choice(["break", "continue", "s -= r"]))
        ours, expected = (results_of(kernel, arch) for arch in (ti.cpu, ti.python))
        assert ours.tobytes() == expected.tobytes() or np.array_equal(ours, expected, equal_nan=True), condition
        without = results_of(kernel, ti.cpu, passes="-eager_conditions")
        assert np.array_equal(ours, without, equal_nan=True), condition
