"""Pass `bit_terms`: sums that a bit selects have no branch in C; results are the same on every target, NaN included."""

from __future__ import annotations

import random

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

BY_BIT = "(bit_terms)"
N = 64


@ti.kernel
def inverses(k: ti.template(), x: ti.template(), y: ti.template()):
    for i in range(N):
        n, r, f = k[i] & 0xFFFF, x[i], x[N - 1 - i]
        while n > 0:
            if n & 1:
                r += f
            f *= 0.5
            n >>= 1
        y[i] = r


@ti.kernel
def powers(k: ti.template(), x: ti.template(), y: ti.template()):
    for i in range(N):
        n, r, b = k[i] & 0xFF, 1.0, x[i]
        while n != 0:
            if n & 1 == 1:
                r *= b
            b *= b
            n >>= 1
        y[i] = r


@ti.kernel
def descents(k: ti.template(), x: ti.template(), y: ti.template()):
    for i in range(N):
        org = ti.Vector([x[i], -0.0, 0.0])
        n, size, w = k[i], 1.0, x[N - 1 - i]
        while size > 0.01:
            size *= 0.5
            for a in ti.static(range(3)):
                if (n >> a) & 1:
                    org[a] -= size
            if n & 8 == 0:
                org[0] += size * w - 1.0
            n = (n ^ (n << 7)) >> 3
        y[i] = org[0] + org[1] / org[2]


@ti.kernel
def sums_of_before(k: ti.template(), x: ti.template(), y: ti.template()):
    for i in range(N):
        n, r, f = k[i] & 0xFFFF, x[i], x[N - 1 - i]
        while n > 0:
            total, old = r + x[i], f
            r *= 0.5
            f += 1.0
            if n & 1:
                r = total
            if n & 2:
                f = old * 0.5
            n >>= 1
        y[i] = r + f


KERNELS = [inverses, powers, descents, sums_of_before]


def start(arch=ti.cpu, kind=ti.f32, **options) -> list:
    ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False, default_fp=kind, **options)
    k, x, y = ti.field(ti.i32, N), ti.field(kind, N), ti.field(kind, N)
    generator = np.random.default_rng(0)
    numbers = generator.uniform(-2, 2, N)
    numbers[::7], numbers[1::9], numbers[2::11], numbers[3::8] = np.nan, np.inf, -np.inf, -0.0
    integers = generator.integers(-(2**31), 2**31, N)
    integers[:4] = 0, -1, 2**31 - 1, -(2**31)
    k.from_numpy(integers.astype(np.int32))
    x.from_numpy(numbers.astype(np.float32 if kind == ti.f32 else np.float64))
    return [k, x, y]


def results(kernel, arch, kind=ti.f32, **options) -> np.ndarray:
    fields = start(arch, kind, fast_math=False, **options)
    kernel(*fields)
    return fields[2].to_numpy()


def are_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether numbers are equal, with the signs of zeros; NaN has no sign."""
    is_number = ~np.isnan(a)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a)[is_number], np.signbit(b)[is_number])


@pytest.mark.sampled(2, each="kernel")
@pytest.mark.parametrize("kind", [ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_results_are_those_of_the_interpreter(kernel, kind):
    assert are_same(results(kernel, ti.cpu, kind), results(kernel, ti.python, kind))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_results_are_those_of_branches(kernel):
    assert are_same(results(kernel, ti.cpu), results(kernel, ti.cpu, passes="-bit_terms"))


def test_a_sum_takes_one_of_two_numbers():
    source = inverses.source(*start())
    assert (
        "float terms[2] = {-0.0f, f};" in source
        and f"r += terms[n & 1];  // by the bit, without a branch {BY_BIT}" in source
    )
    assert "if (" not in source


def test_a_product_takes_one_or_a_factor():
    source = powers.source(*start())
    assert "float factors[2] = {1.0f, b};" in source and "r *= factors[n & 1];" in source


def test_bits_that_are_clear_and_masks_of_other_bits():
    source = descents.source(*start())
    assert "terms[(n & 8) == 0 ? 1 : 0]" in source or "terms[(int)((n & 8) == 0)]" in source
    assert "org[a] -= terms[(n >> a) & 1];" in source and "{0.0f, size}" in source


@pytest.mark.parametrize(
    "body",
    [
        "if n & 1:\n    r += x[i]",  # a load
        "if n & 1:\n    r += 1.0 / f",
        "if n & 1:\n    r += f\nelse:\n    r -= f",
        "if n > 5:\n    r += f",
        "if n & 1:\n    c += 1",
        "if n & 1:\n    r = f - r",
        "if n & 1:\n    v[n % 3] += f",
    ],
)
def test_other_branches_stay(body, tmp_path):
    kernel = kernel_of([*body.split("\n"), "n >>= 1"], tmp_path)
    assert BY_BIT not in kernel.source(*start())


def test_loops_that_become_vectors_keep_their_branches():
    @ti.kernel
    def weighted(k: ti.template(), x: ti.template(), y: ti.template()):
        for i in range(N):
            r = 0.0
            for j in range(N):
                if (k[i] >> (j & 31)) & 1:
                    r += x[j]
            y[i] = r

    assert BY_BIT not in weighted.source(*start())


def test_gpus_have_branches():
    assert BY_BIT not in inverses.source(*start(ti.python), arch=ti.cuda)


def kernel_of(lines: list[str], tmp_path):
    """Return a kernel with lines in a `while` loop."""
    text = "\n                ".join(lines)
    source = f"""
import shadesmith as ti
N = {N}
@ti.kernel
def branches(k: ti.template(), x: ti.template(), y: ti.template()):
    for i in range(N):
        n, r, f, c = k[i] & 0x7FFFFFFF, x[i], x[N - 1 - i], 0
        v = ti.Vector([f, 0.5, -0.0])
        while n > 0:
            if c < 100:
                {text}
        y[i] = r + v[0] * v[1] - v[2] + c
"""
    number = len(list(tmp_path.iterdir()))
    path = tmp_path / f"branches_{number}.py"
    path.write_text(source)
    return written_programs.load(path).branches


def random_lines(generator: random.Random) -> list[str]:
    """Return lines with a branch on bits that adds to floats, or multiplies them."""
    test = generator.choice(
        ["n & 1", "(n >> 2) & 1 == 0", "n & 1 != 1", "n & 6", "n & 6 == 0", "n % 2 == 1", "1 & n == 0"]
    )
    places = ["r", "v[0]", "v[2]", "f"]
    terms = ["f", "v[1]", "f * 0.5", "-f", "(r + f)", "0.0", "-0.0", "1e38"]
    stores = [
        f"    {generator.choice(places)} {generator.choice(['+=', '-=', '*='])} {generator.choice(terms)}"
        for _ in range(generator.randint(1, 2))
    ]
    return [f"if {test}:", *stores, "n >>= 1", *generator.choice([[], ["f *= 0.75"], ["v[1] = r"]])]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(12))
def test_random_branches(seed, tmp_path):
    kernels = [kernel_of(random_lines(random.Random(100 * seed + k)), tmp_path) for k in range(3)]
    for kernel in kernels:
        assert are_same(results(kernel, ti.cpu), results(kernel, ti.python)), kernel.__name__
