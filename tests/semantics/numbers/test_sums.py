"""Sums of f32 stay within the bound that docs/numerics.md gives: (n - 1) units of rounding of the sum of magnitudes."""

import math

import numpy as np
import pytest

import shadesmith as ti

UNIT = {"f16": 2.0**-11, "f32": 2.0**-24, "f64": 2.0**-53}


def check(found: float, terms: np.ndarray, name: str) -> None:
    """Compare a sum with the exact one of its terms, the first value in memory among them."""
    exact, size = math.fsum(terms), math.fsum(np.abs(terms.astype(np.float64)))
    steps = (len(terms) - 1) * UNIT[name]
    assert abs(found - exact) <= steps / max(1 - steps, 0.5) * size


def terms_of(kind: str, count: int, name: str) -> np.ndarray:
    random = np.random.default_rng(count)
    if kind == "ones":
        values = np.ones(count)
    elif kind == "cancelling":
        values = random.standard_normal(count) * 10.0 ** random.integers(-3, 3, count)
    else:
        values = random.random(count)
    return values.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[name])


@pytest.mark.sampled(4, each="kind")
@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
@pytest.mark.parametrize("kind", ["ones", "uniform", "cancelling"])
@pytest.mark.parametrize("count", [0, 1, 7, 127, 1000])
@pytest.mark.targets("cpu", "cuda", "python")
def test_a_sum_is_within_its_bound(target: str, name: str, kind: str, count: int) -> None:
    T = getattr(ti, name)
    if target == "vulkan" and name == "f16":
        pytest.skip("Vulkan has no atomic operations of 16 bits")
    total = ti.field(T, ())

    @ti.kernel
    def add(x: ti.types.ndarray(T, 1)):
        for i in x:
            total[None] += x[i]

    @ti.kernel
    def add_serially(x: ti.types.ndarray(T, 1)) -> T:
        s = ti.cast(0.0, T)
        ti.loop_config(serialize=True)
        for i in range(x.shape[0]):
            s += x[i]
        return s

    terms = terms_of(kind, count, name)
    x = ti.ndarray(T, count)
    x.from_numpy(terms)
    add(x)
    check(total[None], terms, name)
    check(add_serially(x), terms, name)


def test_ones_added_to_a_large_number_may_be_lost_and_no_more_than_that(target: str) -> None:
    """At 2^24 one f32 in memory takes no more ones; a reduction that adds them to each other first would keep them."""
    total, count = ti.field(ti.f32, ()), 1000

    @ti.kernel
    def add(n: ti.i32):
        for i in range(n):
            total[None] += 1.0

    total[None] = 2.0**24
    add(count)
    assert 2.0**24 <= total[None] <= 2.0**24 + count
    check(total[None], np.concatenate([[2.0**24], np.ones(count)]), "f32")


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_only_sums_with_a_wider_type_take_32_numbers_at_a_time(name: str) -> None:
    T = getattr(ti, name)
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    @ti.kernel
    def add(x: ti.types.ndarray(T, 1)) -> T:
        s = ti.cast(0.0, T)
        for i in x:
            s += x[i]
        return s

    terms = terms_of("cancelling", 10_007, name)
    assert add(terms) == pytest.approx(math.fsum(terms), rel=1e-6)
    assert ("reduction(+: s_run) simdlen(32)" in add.source(terms)) == (name == "f32")


@pytest.mark.parametrize("first, end", [(0, 0), (5, 3), (0, 256), (1, 257), (0, 128), (3, 10_007), (1, 300_000)])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_sum_in_runs_has_all_terms_and_no_other(target: str, first: int, end: int) -> None:
    count = 300_000

    @ti.kernel
    def add(x: ti.types.ndarray(ti.f32, 1), first: ti.i32, end: ti.i32) -> ti.f32:
        s = 0.0
        for i in range(first, end):
            s += x[i]
        return s

    if target == "python":  # which adds one by one
        end = min(end, 20_000)
    bits = (np.random.default_rng(1).random(count) < 0.5).astype(np.float32)  # their sums are exact
    assert add(bits, first, end) == bits[first:end].sum(dtype=np.float64)


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 255), (130, 257), (70, 400)])
def test_a_sum_of_rows_in_runs_has_all_terms_and_no_other(target: str, rows: int, columns: int) -> None:
    most, odd = ti.field(ti.f32, ()), ti.field(ti.i32, ())

    @ti.kernel
    def add(x: ti.types.ndarray(ti.f32, 2), run: ti.i32, end: ti.f32) -> ti.f32:
        s = end
        for i, j in ti.ndrange(x.shape[0], (run, x.shape[1])):
            ti.atomic_max(most[None], x[i, j] + j)
            if x[i, j] > 0.5:
                s += x[i, j]
                odd[None] += j & 1
        return s

    bits = (np.random.default_rng(2).random((rows, columns)) < 0.5).astype(np.float32)
    assert add(bits, 1, 2.0) == bits[:, 1:].sum(dtype=np.float64) + 2.0
    places = np.arange(columns)[1:]
    assert most[None] == (bits[:, 1:] + places).max(initial=0.0)
    assert odd[None] == (bits[:, 1:] * (places & 1)).sum()


def test_floats_are_added_in_f64_where_runs_gain_nothing_or_are_not_wanted() -> None:
    def accumulators(fast_math: bool, inner: bool) -> str:
        ti.init(arch=ti.cpu, log_level=ti.ERROR, fast_math=fast_math)

        @ti.kernel
        def add(x: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
            s = 0.0
            for i in x:
                if ti.static(inner):
                    for k in range(i):
                        s += x[k]
                else:
                    s += x[i]
            return s

        return add.source(np.ones(4, np.float32))

    assert "float *s_run" in accumulators(True, False)
    assert "double *s" in accumulators(False, False)
    assert "double *s" in accumulators(True, True)
