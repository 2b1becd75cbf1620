"""Blocks of threads: shared arrays, barriers and votes, on every target, for counts that fill the last block or do not."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

B = 64


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 100, 1000])
def test_block_sums_of_any_count(target: str, n: int) -> None:
    @ti.kernel
    def sums(a: ti.types.ndarray(dtype=ti.i32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=B)
        for i in range(a.shape[0]):
            tile = ti.simt.block.SharedArray(B, ti.i32)
            t = ti.simt.block.thread_idx()
            tile[t] = a[i]
            ti.simt.block.sync()
            threads = ti.min(B, a.shape[0] - (i - t))
            stride = B // 2
            while stride > 0:
                if t < stride and t + stride < threads:
                    tile[t] += tile[t + stride]
                ti.simt.block.sync()
                stride //= 2
            if t == 0:
                out[i // B] = tile[0]

    a = np.random.default_rng(n).integers(-1000, 1000, max(n, 1)).astype(np.int32)[:n]
    out = np.zeros(n // B + 1, np.int32)
    sums(a, out)
    assert out.tolist() == [int(a[k * B : (k + 1) * B].sum()) for k in range(n // B + 1)]


@pytest.mark.parametrize("n", [256, 200])
def test_hillis_steele_scan(target: str, n: int) -> None:
    @ti.kernel
    def scan(a: ti.types.ndarray(dtype=ti.i32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=1), m: ti.i32):
        ti.loop_config(block_dim=B)
        for i in range(m):
            buffer = ti.simt.block.SharedArray((2, B), ti.i32)
            t = ti.simt.block.thread_idx()
            source = 0
            buffer[0, t] = a[i]
            ti.simt.block.sync()
            for k in range(6):
                offset = 1 << k
                value = buffer[source, t]
                if t >= offset:
                    value += buffer[source, t - offset]
                buffer[1 - source, t] = value
                source = 1 - source
                ti.simt.block.sync()
            out[i] = buffer[source, t]

    a = np.arange(1, n + 1, dtype=np.int32)
    out = np.zeros_like(a)
    scan(a, out, n)
    expected = np.concatenate([np.cumsum(a[k : k + B]) for k in range(0, n, B)])
    assert (out == expected).all()


def test_blelloch_scan(target: str) -> None:
    @ti.kernel
    def scan(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=B)
        for i in a:
            tile = ti.simt.block.SharedArray(B, ti.i32)
            t = ti.simt.block.thread_idx()
            tile[t] = a[i]
            stride = 1
            while stride < B:
                ti.simt.block.sync()
                right = (t + 1) * stride * 2 - 1
                if right < B:
                    tile[right] = tile[right] + tile[right - stride]
                stride *= 2
            ti.simt.block.sync()
            if t == 0:
                tile[B - 1] = 0
            stride = B // 2
            while stride > 0:
                ti.simt.block.sync()
                right = (t + 1) * stride * 2 - 1
                if right < B:
                    left = tile[right - stride]
                    tile[right - stride] = tile[right]
                    tile[right] = tile[right] + left
                stride //= 2
            ti.simt.block.sync()
            a[i] = tile[t]

    a = np.arange(1, 4 * B + 1, dtype=np.int32)
    expected = np.concatenate([np.cumsum(a[k : k + B]) - a[k : k + B] for k in range(0, 4 * B, B)])
    scan(a)
    assert (a == expected).all()


@pytest.mark.parametrize("n", [128, 100])
def test_nbody_with_tiles(target: str, n: int) -> None:
    @ti.kernel
    def forces(x: ti.types.ndarray(dtype=ti.math.vec3, ndim=1), f: ti.types.ndarray(dtype=ti.math.vec3, ndim=1)):
        ti.loop_config(block_dim=32)
        for i in range(x.shape[0]):
            tile = ti.simt.block.SharedArray(32, ti.math.vec3)
            t = ti.simt.block.thread_idx()
            force = ti.Vector([0.0, 0.0, 0.0])
            mine = x[i]
            for k in range((x.shape[0] + 31) // 32):
                j = k * 32 + t
                tile[t] = ti.Vector([0.0, 0.0, 0.0])
                if j < x.shape[0]:
                    tile[t] = x[j]
                ti.simt.block.sync()
                for m in range(ti.min(32, x.shape[0] - k * 32)):
                    d = tile[m] - mine
                    force += d / (d.dot(d) + 0.5) ** 1.5
                ti.simt.block.sync()
            f[i] = force

    x = np.random.default_rng(3).random((n, 3)).astype(np.float32)
    f = np.zeros_like(x)
    m = n - n % 32  # the threads of the last block do not fill its tile: every block reads only whole tiles then
    forces(x[:m].copy(), f[:m])
    d = x[:m][None, :, :] - x[:m][:, None, :]
    expected = (d / ((d * d).sum(-1, keepdims=True) + 0.5) ** 1.5).sum(1)
    np.testing.assert_allclose(f[:m], expected, rtol=1e-3, atol=1e-4)


def test_tiled_matrix_product(target: str) -> None:
    T, N = 8, 24

    @ti.kernel
    def product(
        a: ti.types.ndarray(dtype=ti.f32, ndim=2),
        b: ti.types.ndarray(dtype=ti.f32, ndim=2),
        c: ti.types.ndarray(dtype=ti.f32, ndim=2),
    ):
        ti.loop_config(block_dim=T * T)
        for index in range(N * N):
            left = ti.simt.block.SharedArray((T, T), ti.f32)
            right = ti.simt.block.SharedArray((T, T), ti.f32)
            block, t = index // (T * T), ti.simt.block.thread_idx()
            row, column = t // T, t % T
            i, j = block // (N // T) * T + row, block % (N // T) * T + column
            total = 0.0
            for k in range(N // T):
                left[row, column] = a[i, k * T + column]
                right[row, column] = b[k * T + row, j]
                ti.simt.block.sync()
                for m in ti.static(range(T)):
                    total += left[row, m] * right[m, column]
                ti.simt.block.sync()
            c[i, j] = total

    random = np.random.default_rng(5)
    a, b = (random.random((N, N)).astype(np.float32) for _ in range(2))
    c = np.zeros_like(a)
    product(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_transposition(target: str) -> None:
    T, N = 8, 32

    @ti.kernel
    def transpose(a: ti.template(), b: ti.template()):
        ti.loop_config(block_dim=T * T)
        for index in range(N * N):
            tile = ti.simt.block.SharedArray((T, T + 1), ti.f32)
            block, t = index // (T * T), ti.simt.block.thread_idx()
            row, column = block // (N // T) * T, block % (N // T) * T
            tile[t // T, t % T] = a[row + t // T, column + t % T]
            ti.simt.block.sync()
            b[column + t // T, row + t % T] = tile[t % T, t // T]

    a, b = ti.field(ti.f32, (N, N)), ti.field(ti.f32, (N, N))
    values = np.arange(N * N, dtype=np.float32).reshape(N, N)
    a.from_numpy(values)
    transpose(a, b)
    assert (b.to_numpy() == values.T).all()


@pytest.mark.parametrize("n", [1, 64, 100])
def test_votes_of_a_block(target: str, n: int) -> None:
    @ti.kernel
    def votes(a: ti.types.ndarray(dtype=ti.i32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        ti.loop_config(block_dim=32)
        for i in range(a.shape[0]):
            out[i, 0] = ti.simt.block.sync_count_nonzero(a[i])
            out[i, 1] = ti.simt.block.sync_any_nonzero(a[i] > 2)
            everyone = ti.simt.block.sync_all_nonzero(a[i])
            out[i, 2] = everyone
            if everyone == 1:
                out[i, 3] = ti.simt.block.sync_count_nonzero(a[i] == 1)

    for seed in range(3):
        a = np.random.default_rng(seed).integers(0 if seed else 1, 4, n).astype(np.int32)
        out = np.zeros((n, 4), np.int32)
        votes(a, out)
        for k in range(0, n, 32):
            part = a[k : k + 32]
            everyone = int((part != 0).all())
            row = [int((part != 0).sum()), int((part > 2).any()), everyone, int((part == 1).sum()) * everyone]
            assert (out[k : k + 32] == row).all()


def test_loop_that_goes_on_while_any_thread_has_work(target: str) -> None:
    @ti.kernel
    def halve(a: ti.types.ndarray(dtype=ti.i32, ndim=1), turns: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=16)
        for i in a:
            x = a[i]
            count = 0
            while ti.simt.block.sync_any_nonzero(x > 0):
                x //= 2
                count += 1
            turns[i] = count

    a = np.array([k % 16 if k < 32 else 1000 for k in range(40)], np.int32)
    turns = np.zeros_like(a)
    halve(a, turns)
    assert turns.tolist() == [4] * 32 + [10] * 8


def test_break_that_all_threads_take(target: str) -> None:
    @ti.kernel
    def run(out: ti.types.ndarray(dtype=ti.i32, ndim=1), limit: ti.i32):
        ti.loop_config(block_dim=16)
        for i in out:
            tile = ti.simt.block.SharedArray(16, ti.i32)
            t = ti.simt.block.thread_idx()
            tile[t] = t
            for k in range(100):
                ti.simt.block.sync()
                value = tile[(t + 1) % 16]
                ti.simt.block.sync()
                if k >= limit:
                    break
                if k % 2 == 1:
                    continue
                tile[t] = value
            out[i] = tile[t]

    out = np.zeros(32, np.int32)
    run(out, 6)
    assert out.tolist() == [(t + 3) % 16 for t in range(16)] * 2


def test_shared_atomics(target: str) -> None:
    @ti.kernel
    def histogram(a: ti.types.ndarray(dtype=ti.i32, ndim=1), counts: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=B)
        for i in range(a.shape[0]):
            local = ti.simt.block.SharedArray(8, ti.i32)
            least = ti.simt.block.SharedArray(1, ti.i32)
            t = ti.simt.block.thread_idx()
            if t < 8:
                local[t] = 0
            least[0] = 100
            ti.simt.block.sync()
            local[a[i]] += 1
            ti.atomic_min(least[0], a[i])
            ti.simt.block.sync()
            if t < 8:
                counts[t] += local[t]
            if t == 0:
                ti.atomic_max(counts[8], least[0])

    a = np.random.default_rng(1).integers(0, 8, 500).astype(np.int32)
    a[:B] = np.maximum(a[:B], 3)
    counts = np.zeros(9, np.int32)
    histogram(a, counts)
    assert counts[:8].tolist() == np.bincount(a, minlength=8).tolist()
    assert counts[8] == 3


def test_shared_floats_add_up(target: str) -> None:
    @ti.kernel
    def add(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        ti.loop_config(block_dim=32)
        for i in a:
            total = ti.simt.block.SharedArray(1, ti.f32)
            total[0] = 0.0
            ti.simt.block.sync()
            total[0] += a[i]
            ti.simt.block.sync()
            a[i] = total[0]

    a = np.ones(64, np.float32)
    add(a)
    assert (a == 32.0).all()


@pytest.mark.parametrize("dtype", ["i32", "u32", "i64", "f64", "f32", "u1", "vec2", "mat2", "mat5"])
def test_element_types(target: str, dtype: str) -> None:
    types = {"vec2": ti.math.vec2, "mat2": ti.math.mat2, "mat5": ti.types.matrix(5, 5, ti.f32)}
    kind = types.get(dtype) or getattr(ti, dtype)

    @ti.kernel
    def rotate(out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=16)
        for i in out:
            tile = ti.simt.block.SharedArray(16, kind)
            t = ti.simt.block.thread_idx()
            tile[t] = kind(t % 2)
            if ti.static(dtype == "vec2"):
                tile[t].y += 1.0
            if ti.static(dtype[:3] == "mat"):
                tile[t][0, 1] += 1.0
            ti.simt.block.sync()
            other = tile[(t + 1) % 16]
            if ti.static(dtype in types):
                out[i] = int(other.sum())
            else:
                out[i] = int(other)

    elements = {"vec2": 2, "mat2": 4, "mat5": 25}.get(dtype, 0)
    out = np.zeros(32, np.int32)
    rotate(out)
    odd = (np.arange(32) + 1) % 2
    assert (out == (odd * elements + 1 if elements else odd)).all()


def test_numbers_of_threads(target: str) -> None:
    @ti.kernel
    def number(out: ti.types.ndarray(dtype=ti.i32, ndim=2), n: ti.i32):
        ti.loop_config(block_dim=16)
        for i in range(n):
            out[i, 0] = ti.simt.block.thread_idx()
            out[i, 1] = ti.global_thread_idx()
            out[i, 2] = ti.simt.block.global_thread_idx()

    out = np.zeros((50, 3), np.int32)
    number(out, 50)
    index = np.arange(50)
    assert (out == np.stack([index % 16, index, index], 1)).all()


def test_several_axes_and_a_begin(target: str) -> None:
    @ti.kernel
    def tiles(out: ti.types.ndarray(dtype=ti.i32, ndim=2), m: ti.i32):
        ti.loop_config(block_dim=16)
        for i, j in ti.ndrange((1, m), (2, 9)):
            tile = ti.simt.block.SharedArray(16, ti.i32)
            t = ti.simt.block.thread_idx()
            tile[t] = i * 100 + j
            ti.simt.block.sync()
            out[i, j] = tile[t // 2 * 2]

    out = np.zeros((7, 9), np.int32)
    tiles(out, 7)
    cells = [(i, j) for i in range(1, 7) for j in range(2, 9)]
    for k, cell in enumerate(cells):
        assert out[cell] == cells[k // 2 * 2][0] * 100 + cells[k // 2 * 2][1]


def test_loop_over_a_field_with_a_step(target: str) -> None:
    field = ti.field(ti.i32, (6, 5))

    @ti.kernel
    def tiles():
        ti.loop_config(block_dim=8)
        for i, j in field:
            tile = ti.simt.block.SharedArray(8, ti.i32)
            t = ti.simt.block.thread_idx()
            tile[t] = i * 5 + j
            ti.simt.block.sync()
            field[i, j] = tile[t ^ 1]
        ti.loop_config(block_dim=4)
        for k in range(20, 0, -3):
            pair = ti.simt.block.SharedArray(4, ti.i32)
            t = ti.simt.block.thread_idx()
            pair[t] = k
            ti.simt.block.sync()
            field[k // 5, k % 5] += pair[t - t % 2]

    tiles()
    expected = np.arange(30) ^ 1
    steps = list(range(20, 0, -3))
    for position, k in enumerate(steps):
        expected[k] += steps[position - position % 2]
    assert field.to_numpy().ravel().tolist() == expected.tolist()


def test_a_function_brings_its_own_array(target: str) -> None:
    @ti.func
    def broadcast(value, lane):
        cell = ti.simt.block.SharedArray(1, ti.f32)
        if ti.simt.block.thread_idx() == lane:
            cell[0] = value
        ti.simt.block.sync()
        return cell[0]

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        ti.loop_config(block_dim=8)
        for i in a:
            a[i] = broadcast(a[i], 3) * 10 + broadcast(a[i], 0)

    a = np.arange(16, dtype=np.float32)
    run(a)
    assert a.tolist() == [30.0] * 8 + [118.0] * 8


def test_random_numbers_are_those_of_the_plain_loop(target: str) -> None:
    @ti.kernel
    def plain(out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in out:
            out[i] = ti.random() + ti.random()

    @ti.kernel
    def in_blocks(out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        ti.loop_config(block_dim=32)
        for i in out:
            tile = ti.simt.block.SharedArray(32, ti.f32)
            t = ti.simt.block.thread_idx()
            tile[t] = ti.random()
            ti.simt.block.sync()
            out[i] = tile[t] + ti.random()

    found = []
    for kernel in (plain, in_blocks):
        ti.init(arch=getattr(ti, target), random_seed=7, log_level=ti.WARN)
        out = np.zeros(100, np.float32)
        kernel(out)
        found.append(out)
    assert (found[0] == found[1]).all()


def test_two_tasks_of_different_block_sizes(target: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=8)
        for i in a:
            tile = ti.simt.block.SharedArray(8, ti.i32)
            tile[i % 8] = a[i]
            ti.simt.block.sync()
            a[i] = tile[7 - i % 8]
        for i in a:
            a[i] += 1
        ti.loop_config(block_dim=16)
        for i in a:
            tile = ti.simt.block.SharedArray(16, ti.i32)
            tile[i % 16] = a[i]
            ti.simt.block.sync()
            a[i] = tile[15 - i % 16]

    a = np.arange(64, dtype=np.int32)
    run(a)
    expected = np.arange(64).reshape(-1, 8)[:, ::-1].reshape(-1, 16)[:, ::-1].ravel() + 1
    assert a.tolist() == expected.tolist()


def test_values_of_all_kinds_cross_a_barrier(target: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.f32, ndim=1), out: ti.types.ndarray(dtype=ti.f32, ndim=1), n: ti.i32):
        ti.loop_config(block_dim=16)
        for i in range(n):
            x = a[i]
            y = ti.sqrt(x) + ti.sqrt(x + 1.0) * 3.0
            v = ti.Vector([x, y])
            count = 0
            for k in range(i % 5):
                count += k
            choice = x if i % 2 == 0 else y
            flag = i % 3 == 0
            ti.simt.block.sync()
            v[1] += 1.0
            count += 1
            if flag:
                count += 100
            ti.simt.block.sync()
            out[i] = x + v[0] + v[1] + count + choice

    a = np.arange(40, dtype=np.float32)
    out = np.zeros_like(a)
    run(a, out, 40)
    y = np.sqrt(a) + np.sqrt(a + 1) * 3
    i = np.arange(40)
    count = np.array([sum(range(k % 5)) + 1 + 100 * (k % 3 == 0) for k in i])
    np.testing.assert_allclose(out, a + a + y + 1 + count + np.where(i % 2 == 0, a, y), rtol=1e-5)


def test_what_a_block_starts_with_may_decide(target: str) -> None:
    @ti.kernel
    def run(out: ti.types.ndarray(dtype=ti.i32, ndim=1), sizes: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=16)
        for i in out:
            tile = ti.simt.block.SharedArray(16, ti.i32)
            t = ti.simt.block.thread_idx()
            tile[t] = t
            block = i // 16
            for k in range(sizes[block]):
                ti.simt.block.sync()
                value = tile[(t + 1) % 16]
                ti.simt.block.sync()
                tile[t] = value
            out[i] = tile[t]

    out = np.zeros(48, np.int32)
    run(out, np.array([0, 3, 5], np.int32))
    assert out.tolist() == [(t + k) % 16 for k in (0, 3, 5) for t in range(16)]


@pytest.mark.all_targets
def test_last_block_adds_up_all_others(target: str) -> None:
    """The classic use of a memory fence: the block that finishes last sees what all others wrote."""
    N = 1000
    values, parts = ti.field(ti.i32, N), ti.field(ti.i32, 16)
    done, total = ti.field(ti.i32, ()), ti.field(ti.i32, ())

    @ti.kernel
    def run(blocks: ti.i32):
        ti.loop_config(block_dim=B)
        for i in values:
            tile = ti.simt.block.SharedArray(1, ti.i32)
            ticket = ti.simt.block.SharedArray(1, ti.i32)
            t = ti.simt.block.thread_idx()
            tile[0] = 0
            ti.simt.block.sync()
            tile[0] += values[i]
            ti.simt.block.sync()
            if t == 0:
                parts[i // B] = tile[0]
                ti.simt.grid.memfence()
                ticket[0] = ti.atomic_add(done[None], 1)
            ti.simt.block.sync()
            if ticket[0] == blocks - 1 and t == 0:
                ti.simt.grid.memfence()
                s = 0
                for k in range(blocks):
                    s += parts[k]
                total[None] = s

    numbers = np.random.default_rng(0).integers(-(10**6), 10**6, N).astype(np.int32)
    values.from_numpy(numbers)
    for _ in range({"cpu": 1000, "cuda": 1000, "vulkan": 50, "python": 2}[target]):
        done[None] = total[None] = 0
        run(-(-N // B))
        assert total[None] == numbers.sum()


def test_shared_memory_of_blocks_is_no_memory_of_tasks(target: str) -> None:
    """It was counted as the temporaries of a kernel, for which its tasks, and those of a graph, waited."""

    @ti.kernel
    def turn(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
        ti.loop_config(block_dim=64)
        for i in range(128):
            tile = ti.simt.block.SharedArray(64, ti.f32)
            tile[i % 64] = x[i]
            ti.simt.block.sync()
            y[i] = tile[63 - i % 64]

    plan = turn.launch_plan(np.ones(128, np.float32), np.ones(128, np.float32))
    assert "reads x; writes y" in str(plan) and "temporaries" not in str(plan)


@pytest.mark.parametrize(
    ("shape", "name", "expected"),
    [
        ((64, 4), "f32", "__align__(16) float"),
        ((64, 2), "f32", "__align__(8) float"),
        ((64, 8), "f16", "__align__(16) half"),
        ((64, 3), "f32", ""),
        ((64, 32), "f32", ""),
        ((64,), "f32", ""),
    ],
)
def test_short_rows_are_aligned_in_cuda(shape: tuple[int, ...], name: str, expected: str) -> None:
    """One instruction reads the elements of a row that are accessed together."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.field(ti.f32, 256)

    @ti.kernel
    def rows():
        ti.loop_config(block_dim=64)
        for i in x:
            tile = ti.simt.block.SharedArray(shape, getattr(ti, name))
            if ti.static(len(shape) == 1):
                tile[i % 64] = x[i]
                ti.simt.block.sync()
                for k in range(64):
                    x[i] += tile[k]
            else:
                tile[i % 64, 0], tile[i % 64, 1] = x[i], -x[i]
                ti.simt.block.sync()
                for k in range(64):
                    x[i] += tile[k, 0] + 2 * tile[k, 1]

    line = next(line for line in rows.source(arch=ti.cuda).splitlines() if "__shared__" in line)
    assert expected in line if expected else "__align__" not in line
    assert "__align__" not in rows.source(arch=ti.vulkan) + rows.source(arch=ti.cpu)
