"""Additions that a loop scatters into an array: on the CPU each thread has a copy of it (the pass `private_sums`)."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

N, BINS = 16_411, 37
NUMPY = {"i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "f32": np.float32, "f64": np.float64}


Integers, Any1 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ndim=1)


def places(count: int = N, bins: int = BINS) -> np.ndarray:
    return np.random.default_rng(3).integers(0, bins, count).astype(np.int32)


def has_copies(kernel: Any) -> bool:
    return "_copies" in kernel.source(arch=ti.cpu)


@pytest.mark.parametrize("name", NUMPY)
def test_sums_by_place(target: str, name: str) -> None:
    T, kind = getattr(ti, name), NUMPY[name]
    x, place, added, taken = (ti.field(dtype, shape) for dtype, shape in ((T, N), (ti.i32, N), (T, BINS), (T, BINS)))
    start = np.arange(BINS).astype(kind)
    numbers = np.random.default_rng(4).integers(0, 2**63, N).astype(kind)
    if name[0] == "f":
        numbers = np.random.default_rng(4).integers(-9, 9, N).astype(kind)  # sums are exact
    index = places()
    for field, values in ((x, numbers), (place, index), (added, start), (taken, start)):
        field.from_numpy(values)

    @ti.kernel
    def scatter():
        for i in x:
            added[place[i]] += x[i]
            taken[place[i]] -= x[i]
            if i % 3 == 0:
                added[0] += T(2)

    for _ in range(2):
        scatter()
    with np.errstate(over="ignore"):
        sums = np.zeros(BINS, kind)
        np.add.at(sums, index, numbers)
        expected, less = start + sums + sums, start - sums - sums
        expected[0] += kind(2 * 2 * len(range(0, N, 3)))
    np.testing.assert_array_equal(added.to_numpy(), expected)
    np.testing.assert_array_equal(taken.to_numpy(), less)
    assert has_copies(scatter)


def test_vectors_and_components_over_two_axes(target: str) -> None:
    v, m = ti.Vector.field(3, ti.f32, (5, 7), offset=(-2, 3)), ti.Matrix.field(2, 2, ti.f64, 11)

    @ti.kernel
    def scatter():
        ti.loop_config(parallelize=3)
        for i, j in ti.ndrange((1, 129), 130):
            v[i % 5 - 2, j % 7 + 3] += ti.Vector([1.0, 0.5, -1.0])
            v[-2, 3].y += 0.25
            for k in range(2):
                m[(i + j) % 11][k, 1] -= 2.0

    scatter()
    i, j = np.meshgrid(np.arange(1, 129), np.arange(130), indexing="ij")
    expected = np.zeros((5, 7, 3))
    np.add.at(expected, (i % 5, j % 7), (1.0, 0.5, -1.0))
    expected[0, 0, 1] += 0.25 * i.size
    np.testing.assert_array_equal(v.to_numpy(), expected)
    counts = np.bincount(((i + j) % 11).ravel(), minlength=11)
    np.testing.assert_array_equal(m.to_numpy()[:, :, 1], np.stack([-2.0 * counts] * 2, 1))
    assert not m.to_numpy()[:, :, 0].any()
    assert has_copies(scatter)


def test_a_trip_count_of_the_launch(target: str) -> None:
    counts = ti.field(ti.i32, BINS)

    @ti.kernel
    def count(x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            counts[x[i]] += 1

    for size in (0, 1, 8191, 8192, 20_001):
        counts.fill(0)
        index = places(size)
        count(index)
        np.testing.assert_array_equal(counts.to_numpy(), np.bincount(index, minlength=BINS))
    assert has_copies(count)


def test_bins_of_two_axes_and_a_trip_count_of_the_launch(target: str) -> None:
    counts = ti.field(ti.i32, (64, 64))

    @ti.kernel
    def count(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            counts[x[i], y[i]] += 1

    random = np.random.default_rng(0)
    for size in (0, 1, 15, 9001):
        counts.fill(0)
        x, y = random.integers(0, 64, (2, size), np.int32)
        count(x.copy(), y.copy())
        expected = np.bincount(64 * x + y, minlength=64 * 64).reshape(64, 64)
        np.testing.assert_array_equal(counts.to_numpy(), expected)
    assert has_copies(count)


def test_other_accesses_keep_atomic_operations(target: str) -> None:
    place, x, y, old = ti.field(ti.i32, N), ti.field(ti.i32, 4), ti.field(ti.i32, 4), ti.field(ti.i32, N)
    place.from_numpy(places(bins=4))

    @ti.kernel
    def reads():
        for i in place:
            x[place[i]] += 1
            old[i] = x[0]

    @ti.kernel
    def returns():
        for i in place:
            old[i] = ti.atomic_add(x[place[i]], 1)

    @ti.kernel
    def by_value():
        for i in place:
            x[place[i]] += 1
            y[place[i]] += 1 if x[0] >= 0 else 2

    @ti.kernel
    def least():
        for i in place:
            x[place[i]] += 1
            ti.atomic_max(x[3], i)

    @ti.kernel
    def short():
        for i in range(100):
            x[place[i]] += 1

    @ti.kernel
    def given(x: ti.types.ndarray(ti.i32, 1)):
        for i in place:
            x[place[i]] += 1

    for kernel in (reads, returns, short):
        kernel()
        assert not has_copies(kernel), kernel.__name__
    by_value()
    assert "x_copies" not in by_value.source(arch=ti.cpu)
    least()
    assert not has_copies(least)
    assert y.to_numpy().sum() == N
    array = np.zeros(4, np.int32)
    given(array)
    assert array.sum() == N
    assert "threads_with_copies(" in given.source(array, arch=ti.cpu)


def test_large_arrays_keep_atomic_operations(target: str) -> None:
    x = ti.field(ti.f32, 2 * N)

    @ti.kernel
    def scatter():
        for i in range(N):
            x[i * 7 % (2 * N)] += 1.0

    scatter()
    assert x.to_numpy().sum() == N
    assert not has_copies(scatter)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_launches_at_the_same_time_lose_nothing(target: str) -> None:
    place, x = ti.field(ti.i32, N), ti.field(ti.i32, BINS)
    index = places()
    place.from_numpy(index)

    @ti.kernel
    def one():
        for i in place:
            x[place[i]] += 1

    @ti.kernel
    def three():
        for i in place:
            x[place[i]] += 3

    if target == "python":
        pytest.skip("the interpreter is not atomic across launches")
    rounds = 20

    def work(kernel: Any) -> None:
        for _ in range(rounds):
            kernel()

    threads = [threading.Thread(target=work, args=(kernel,)) for kernel in (one, three, one, three)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(x.to_numpy(), 8 * rounds * np.bincount(index, minlength=BINS))


def test_an_index_that_misses_reaches_no_other_element() -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    place, x = ti.field(ti.i32, N), ti.field(ti.f32, BINS)
    place.from_numpy(places(bins=BINS + 200) - 100)

    @ti.kernel
    def scatter():
        for i in place:
            x[place[i]] += 1.0

    scatter()
    inside = np.bincount(places(bins=BINS + 200), minlength=BINS + 200)[100 : 100 + BINS]
    np.testing.assert_array_equal(x.to_numpy(), inside)
    assert has_copies(scatter)
    ti.reset()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("extent", [1, 15, 16, 17, 1003])
def test_elements_that_no_thread_adds_to_keep_their_bits(target: str, dtype: str, extent: int) -> None:
    """Copies are joined many elements at a time; those without an addition are skipped."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    kind, number = getattr(ti, dtype), np.float32 if dtype == "f32" else np.float64
    x, places = ti.field(kind, extent), ti.field(ti.i32, 20_000)
    random = np.random.default_rng(extent)
    start = random.choice(np.array([-0.0, 0.0, 1.5, np.inf, np.nan], number), extent)
    found = random.choice(np.arange(0, extent, 3), 20_000)
    x.from_numpy(start)
    places.from_numpy(found.astype(np.int32))

    @ti.kernel
    def add():
        for i in places:
            x[places[i]] += 0.5

    add()
    expected = start + 0.5 * np.bincount(found, minlength=extent).astype(number)
    touched = np.isin(np.arange(extent), found)
    assert np.array_equal(x.to_numpy()[touched], expected[touched], equal_nan=True)
    assert x.to_numpy()[~touched].tobytes() == start[~touched].tobytes()
    assert has_copies(add)


@pytest.mark.parametrize("options", [{"cpu_max_num_threads": 1}, {"fast_math": False}, {"make_thread_local": False}])
def test_options(options: dict[str, Any]) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN, **options)
    place, x = ti.field(ti.i32, N), ti.field(ti.f64, BINS)
    place.from_numpy(places())
    x.fill(-0.0)

    @ti.kernel
    def scatter():
        for i in place:
            if place[i] > 0:
                x[place[i]] += 1.0

    scatter()
    counts = np.bincount(places(), minlength=BINS)
    np.testing.assert_array_equal(x.to_numpy()[1:], counts[1:])
    assert np.signbit(x.to_numpy()[0])
    assert has_copies(scatter) == ("make_thread_local" not in options)
    ti.reset()


@pytest.mark.parametrize("name", NUMPY)
def test_ndarrays_by_place(target: str, name: str) -> None:
    kind = NUMPY[name]

    @ti.kernel
    def scatter(x: Any1, place: Integers, added: Any1, taken: Any1):
        for i in x:
            added[place[i]] += x[i]
            taken[place[i]] -= x[i]

    for size, bins in ((0, 1), (100, 5), (N, BINS), (N, 1), (N, 3 * N)):
        x, place = np.random.default_rng(4).integers(0, 9, size).astype(kind), places(size, bins)
        start = np.arange(bins).astype(kind)
        added, taken = start.copy(), start.copy()
        scatter(x, place, added, taken)
        sums = np.zeros(bins, kind)
        np.add.at(sums, place, x)
        np.testing.assert_array_equal(added, start + sums)
        np.testing.assert_array_equal(taken, start - sums)
    assert "threads_with_copies(" in scatter.source(x, place, added, taken, arch=ti.cpu)


def test_vectors_of_ndarrays_over_two_axes(target: str) -> None:
    v = ti.Vector.ndarray(3, ti.f32, (5, 7))

    @ti.kernel
    def scatter(v: ti.types.ndarray(ti.math.vec3, 2), n: ti.i32, d: ti.math.vec3):
        ti.loop_config(parallelize=3)
        for i, j in ti.ndrange((1, n), 130):
            v[i % 5, j % 7] += d
            v[0, 3].y -= 0.25

    scatter(v, 129, ti.math.vec3(1.0, 0.5, -1.0))
    i, j = np.meshgrid(np.arange(1, 129), np.arange(130), indexing="ij")
    expected = np.zeros((5, 7, 3))
    np.add.at(expected, (i % 5, j % 7), (1.0, 0.5, -1.0))
    expected[0, 3, 1] -= 0.25 * i.size
    np.testing.assert_array_equal(v.to_numpy(), expected)
    source = scatter.source(v, 129, ti.math.vec3(0), arch=ti.cpu)
    assert "add_to_vec3(&v(" in source and "sub_from_f32(&v(0, 3).y, 0.25f, is_own)" in source


@pytest.mark.parametrize("first", [0, 1])
def test_ndarrays_that_share_memory_have_no_copies(first: int) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    @ti.kernel
    def add(y: Integers, x: Integers, seen: Integers):
        for i in seen:
            y[N - 1 - i] += 1
            seen[i] = x[N - 1 - i + first]

    memory, seen = np.arange(N + 1, dtype=np.int32), np.zeros(N, np.int32)
    before = memory.copy()
    add(memory[first:], memory, seen)  # an iteration reads the element that it has changed
    np.testing.assert_array_equal(seen, before[first : N + first][::-1] + 1)
    assert "threads_with_copies(" in add.source(memory[first:], memory, seen)


def test_floats_are_exchanged_as_bits() -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    @ti.kernel
    def scatter(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f64, 1)) -> ti.f32:
        total = ti.f32(0)
        for i in range(2):
            total += ti.atomic_add(x[i % 1], 1.0)
            ti.atomic_min(y[i % 1], 1.0 - i)
        return total

    x, y = np.zeros(1, np.float32), np.full(1, 7.0)
    source = scatter.source(x, y)  # gcc keeps a float that is exchanged in memory
    assert "f32_bits_to_i32(new)" in source and "f64_bits_to_i64(new)" in source
    assert (scatter(x, y), x[0], y[0]) == (1.0, 2.0, 0.0)


@pytest.mark.parametrize("threads", [1, 2])
def test_some_thousand_additions_have_copies(threads: int) -> None:
    """10,000 atomic additions took one core 47 us, with a copy 5; ndarrays had no copy for one thread."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR, cpu_max_num_threads=threads)
    index = places(10_000)
    x, counts = ti.field(ti.i32, 10_000), ti.field(ti.i32, BINS)
    x.from_numpy(index)

    @ti.kernel
    def count_field():
        for i in x:
            counts[x[i]] += 1

    @ti.kernel
    def count(x: Integers, counts: Integers):
        for i in x:
            counts[x[i]] += 1

    count_field()
    found = np.zeros(BINS, np.int32)
    count(index, found)
    assert has_copies(count_field) and "own.counts_data" in count.source(index, found)
    for each in (found, counts.to_numpy()):
        np.testing.assert_array_equal(each, np.bincount(index, minlength=BINS))


@pytest.mark.parametrize("is_ndarray", [False, True])
@pytest.mark.parametrize("kind", ["i32", "f32", "both"])
def test_a_loop_with_sums_of_all_iterations_too(target: str, kind: str, is_ndarray: bool) -> None:
    """k-means counts the points of each cluster, and sums up how far away they are."""
    place, counts, total, most = ti.field(ti.i32, N), ti.field(ti.i32, BINS), ti.field(ti.i32, ()), ti.field(ti.f32, ())
    sums = ti.ndarray(ti.f32, BINS)
    index = places()
    place.from_numpy(index)
    of_integers, of_floats = kind != "f32", kind != "i32"

    @ti.kernel
    def scatter(sums: Any1, count: ti.i32):
        for i in range(count):
            counts[place[i]] += 1
            if ti.static(is_ndarray):
                sums[place[i]] += 2.0
            if ti.static(of_integers):
                total[None] += place[i]
            if ti.static(of_floats):
                most[None] += 0.5

    for _ in range(2):
        scatter(sums, N)
    expected = np.bincount(index, minlength=BINS) * 2
    np.testing.assert_array_equal(counts.to_numpy(), expected)
    np.testing.assert_array_equal(sums.to_numpy(), expected * 2.0 * is_ndarray)
    assert total[None] == index.sum() * 2 * of_integers
    assert most[None] == N * of_floats
    source = scatter.source(sums, N, arch=ti.cpu)
    assert "counts_copies" in source and ("_sum_of[PARTS]" in source) == of_floats


def test_loops_in_loops_with_sums_of_all_iterations_too(target: str) -> None:
    bins, total = ti.field(ti.i32, BINS), ti.field(ti.i64, ())

    @ti.kernel
    def scatter():
        for i, j, k in ti.ndrange(16, 40, 30):
            bins[(i * j + k) % BINS] += 1
            total[None] += i + j

    scatter()
    i, j, k = np.meshgrid(range(16), range(40), range(30), indexing="ij")
    np.testing.assert_array_equal(bins.to_numpy(), np.bincount(((i * j + k) % BINS).ravel(), minlength=BINS))
    assert total[None] == (i + j).sum()
    assert has_copies(scatter) and "reduction(+: total_sum)" in scatter.source(arch=ti.cpu)
