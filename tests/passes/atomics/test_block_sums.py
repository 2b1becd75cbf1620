"""Pass `block_sums`: blocks of GPUs add to copies of small arrays; sums are right on every target, at edges too."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

VECTORS, NUMBERS = ti.types.ndarray(ti.types.vector(8, ti.f32), 1), ti.types.ndarray(ti.i32, 1)

pytestmark = [
    pytest.mark.sampled(3),  # the rest in `make test-all`
    pytest.mark.targets("vulkan", "cuda"),  # elsewhere the pass returns at once
]

N = 20_000


def counts(arch, **options):
    """Return a kernel that counts and sums, and its fields."""
    ti.init(arch=arch, log_level=ti.ERROR, **options)
    h, g, u = ti.field(ti.i32, 7), ti.field(ti.f32, (3, 5)), ti.field(ti.u32, 2)

    @ti.kernel
    def count(x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            h[x[i] % 7] += 1
            if x[i] > 3:
                h[0] -= 2
            g[x[i] % 3, x[i] % 5] += x[i]
            u[x[i] & 1] += ti.u32(4_000_000_000)  # wraps

    return count, (h, g, u)


def numbers(n):
    return (np.arange(n) * 7919 % 13).astype(np.int32)


def expected(x):
    h, g, u = np.zeros(7, np.int64), np.zeros((3, 5)), np.zeros(2, np.uint64)
    np.add.at(h, x % 7, 1)
    h[0] -= 2 * np.sum(x > 3)
    np.add.at(g, (x % 3, x % 5), x)
    np.add.at(u, x & 1, np.uint64(4_000_000_000))
    return [h, g, u.astype(np.uint32)]


@pytest.mark.parametrize("n", [0, 1, 127, 1025, N])
def test_sums_are_added_to_what_is_there(target: str, n: int) -> None:
    count, fields = counts(getattr(ti, target))
    for field in fields:
        field.fill(3)
    x = numbers(n)
    count(x)
    for field, sums in zip(fields, expected(x), strict=True):
        assert np.array_equal(field.to_numpy(), (sums + 3).astype(field.to_numpy().dtype))


def test_sources() -> None:
    count, _ = counts(ti.python)
    x = numbers(3)
    for arch, start in ((ti.cuda, "__shared__ int h_copy[h_n0];"), (ti.vulkan, "shared int h_copy[h_n0];")):
        source = count.source(x, arch=arch)
        assert start in source and source.count("to the block's copy (block_sums)") >= 4
    assert "_copy[" not in count.source(x, arch=ti.x64)
    for options in ({"make_block_local": False}, {"passes": "-block_sums"}, {"debug": True}):
        assert "_copy[" not in counts(ti.python, **options)[0].source(x, arch=ti.cuda)


def test_what_has_no_copies() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    h, large, wide, read = ti.field(ti.i32, 8), ti.field(ti.i32, 5000), ti.field(ti.f64, 8), ti.field(ti.i32, 8)

    @ti.kernel
    def short():
        for i in range(1000):
            h[i % 8] += 1

    @ti.kernel
    def others(x: ti.types.ndarray(ti.i32, 1), given: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            large[x[i]] += 1
            wide[x[i]] += 1.0
            given[x[i]] += 1
            read[x[i]] += read[0]
            h[x[i]] += 1
            h[0] = 3  # no addition

    x = numbers(3)
    assert "_copy[" not in short.source(arch=ti.cuda)
    assert "_copy[" not in others.source(x, x, arch=ti.cuda)


def test_names_of_copies_are_free(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    h, own, k = ti.field(ti.i32, 4), ti.field(ti.i32, 4), ti.field(ti.i32, 4)

    @ti.kernel
    def count(h_copy: ti.types.ndarray(ti.i32, 1), h_data: ti.i32):
        for i in h_copy:
            count = h_copy[i]
            h[count] += h_data
            own[count] += 2
            k[count] += 3

    x = (np.arange(3000) % 4).astype(np.int32)
    count(x, 5)
    assert [f.to_numpy().tolist() for f in (h, own, k)] == [[3750] * 4, [1500] * 4, [2250] * 4]


@pytest.mark.parametrize("keeps", [False, True])
def test_copies_of_additions_that_never_happen_are_dropped(target: str, keeps: bool) -> None:
    """What a branch compares is known only when ranges are: the copies were chosen before."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    never, h = ti.field(ti.i32, 5), ti.field(ti.i32, 5)

    @ti.kernel
    def count(x: ti.types.ndarray(ti.i32, 3)):
        for i, j, k in x:
            zero = 0
            if (zero < 1 > j) in (2, 2, 2):
                never[x[i, j, k] % 5] += 1
            if ti.static(keeps):
                h[x[i, j, k] % 5] += 1

    x = numbers(N).reshape(10, 40, 50)
    count(x)
    assert not never.to_numpy().any()
    assert np.array_equal(h.to_numpy(), keeps * np.bincount(x.ravel() % 5, minlength=5))
    for arch in (ti.cpu, ti.cuda, ti.vulkan):
        assert "never_" not in count.source(x, arch=arch)
        assert ("h_cop" in count.source(x, arch=arch)) == keeps


def in_bins(arch, bins, length, **options):
    """Return a kernel that adds vectors, floats and ones in many bins, with its fields and what it should find."""
    ti.init(arch=arch, log_level=ti.ERROR, **options)
    of, value = ti.field(ti.i32, length), ti.Vector.field(3, ti.f32, length)
    v, s, c = ti.Vector.field(3, ti.f32, bins), ti.field(ti.f32, bins), ti.field(ti.i32, bins)
    rng = np.random.default_rng(1)
    bin_of, values = rng.integers(0, bins, length).astype(np.int32), rng.integers(-9, 9, (length, 3)).astype(np.float32)
    of.from_numpy(bin_of)
    value.from_numpy(values)

    @ti.kernel
    def add():
        for i in of:
            v[of[i]] += value[i]
            v[of[i]].y -= 1.0
            s[of[i]] += value[i].x
            c[of[i]] += 1

    sums = np.zeros((bins, 3), np.float64)
    np.add.at(sums, bin_of, values)
    ones = np.bincount(bin_of, minlength=bins)
    expected = sums - np.array([0, 1, 0]) * ones[:, None], sums[:, 0], ones
    return add, (v, s, c), expected


@pytest.mark.parametrize("bins", [1, 16, 1000])
def test_vectors_and_large_copies(target: str, bins: int) -> None:
    add, fields, expected = in_bins(getattr(ti, target), bins, 1 << 14 if target == "python" else (1 << 18) + 5)
    for field in fields:
        field.fill(2)
    add()
    for field, sums in zip(fields, expected, strict=True):
        assert np.array_equal(field.to_numpy(), sums + 2)


def test_sources_of_large_copies() -> None:
    long = 1 << 18
    for arch, vector in ((ti.cuda, "__shared__ vec3 v_copy[v_n0];"), (ti.vulkan, "shared vec3 v_copy[v_n0];")):
        source = in_bins(ti.python, 1000, long)[0].source(arch=arch)
        assert vector in source and "s_copy[" in source and "c_copy[" in source and "#define BLOCK 512" in source
        assert source.count("to the block's copy (block_sums)") == 4 and "_float3(" not in source
    assert "_copy[" not in in_bins(ti.python, 1 << 14, long)[0].source(arch=ti.cuda)
    short = in_bins(ti.python, 1000, 1 << 17)[0].source(arch=ti.cuda)
    assert "s_copy[" in short and "c_copy[" in short and "v_copy[" not in short and "#define BLOCK 256" in short


def test_regular_additions_have_no_large_copies() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, s = ti.field(ti.i32, (512, 4096)), ti.field(ti.i32, 4096)

    @ti.kernel
    def add():
        for i, j in x:
            s[(j + 5) % 4096] += x[i, j]

    assert "_copy[" not in add.source(arch=ti.cuda)


def test_a_loop_that_also_returns_a_sum(target):
    """Copies and a reduction in one loop; what follows the loop sees the additions of all blocks."""
    n, m = 70_000, 13
    x, counts, weights = ti.field(ti.i32, n), ti.field(ti.i32, m), ti.field(ti.f32, m)
    numbers = np.random.default_rng(1).integers(0, m, n).astype(np.int32)
    x.from_numpy(numbers)

    @ti.kernel
    def count() -> ti.i32:
        hits = 0
        for i in x:
            counts[x[i]] += 1
            weights[x[i]] += 0.5
            if x[i] == 3:
                hits += 1
        return hits

    @ti.kernel
    def count_and_read() -> ti.i32:
        hits = 0
        for i in x:
            counts[x[i]] += 1
            if x[i] == 3:
                hits += 1
        return hits * 100_000 + counts[3]

    expected = np.bincount(numbers, minlength=m)
    assert count() == expected[3]
    assert np.array_equal(counts.to_numpy(), expected) and np.array_equal(weights.to_numpy(), 0.5 * expected)
    assert count_and_read() == expected[3] * 100_002
    assert np.array_equal(counts.to_numpy(), 2 * expected)
    for arch in (ti.cuda, ti.vulkan):
        source = count.source(arch=arch)
        assert "counts_copy" in source and "block_sum(hits)" in source


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_vectors_where_nobody_knows_how_many_iterations(n: int, target: str) -> None:
    """As sums of clusters: small vectors of up to 16 numbers, beside their counts."""
    clusters, length = 5, 8
    points = ti.Vector.ndarray(length, ti.f32, max(n, 1))
    label = ti.ndarray(ti.i32, max(n, 1))
    sums, counts = ti.Vector.field(length, ti.f32, clusters), ti.field(ti.i32, clusters)
    given = np.random.default_rng(n).integers(-9, 9, (max(n, 1), length)).astype(np.float32)
    labels = np.random.default_rng(7).integers(0, clusters, max(n, 1)).astype(np.int32)
    points.from_numpy(given)
    label.from_numpy(labels)
    sums.fill(2)

    @ti.kernel
    def add(points: VECTORS, label: NUMBERS, n: ti.i32):
        for i in range(n):
            at = label[i]
            counts[at] += 1
            sums[at] += points[i]

    add(points, label, n)
    expected = np.full((clusters, length), 2, np.float32)
    np.add.at(expected, labels[:n], given[:n])
    assert (sums.to_numpy() == expected).all()
    assert (counts.to_numpy() == np.bincount(labels[:n], minlength=clusters)).all()
    for arch in (ti.cuda, ti.vulkan):
        source = add.source(points, label, n, arch=arch)
        assert "sums_copy[k].e[part] = 0.0" in source


@pytest.mark.parametrize("shape", [(2, 8, 8, 16), (4, 128, 128, 16)])
def test_crowds_at_indices_of_the_loop(shape: tuple[int, ...], target: str) -> None:
    """As statistics of groups of channels: so many additions to each vector that threads wait, whatever its index."""
    x, y = ti.field(ti.f32, shape), ti.field(ti.f32, shape)
    stats = ti.Vector.field(2, ti.f32, (shape[0], shape[3] // 4))
    given = np.random.default_rng(3).integers(-3, 4, shape).astype(np.float32)
    x.from_numpy(given)

    @ti.kernel
    def add():
        for b, i, j, c in x:
            s = x[b, i, j, c]
            y[b, i, j, c] = s
            stats[b, c // 4] += ti.Vector([s, s * s])

    add()
    groups = given.reshape(*shape[:3], shape[3] // 4, 4)
    assert (stats.to_numpy()[..., 0] == groups.sum(axis=(1, 2, 4))).all()
    assert (stats.to_numpy()[..., 1] == (groups**2).sum(axis=(1, 2, 4))).all()
    is_crowded = given.size >= 1 << 18
    for arch in (ti.cuda, ti.vulkan):
        assert ("stats_copy" in add.source(arch=arch)) is is_crowded
