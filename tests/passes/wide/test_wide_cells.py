"""Pass `wide_accesses` over cells of trees: loops of GPUs take four elements as one; inactive ones keep what they hold."""

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [
    pytest.mark.sampled(3),  # the rest in `make test-all`
    pytest.mark.targets("vulkan", "cuda"),  # elsewhere the pass returns at once
]

SHAPES = {
    "1-D": ((1 << 16,), lambda root, n: root.bitmasked(ti.i, n[0])),
    "blocks of 8": ((256, 256), lambda root, n: root.dense(ti.ij, (n[0] // 8, n[1] // 8)).bitmasked(ti.ij, 8)),
    "blocks of 3 x 2": ((384, 256), lambda root, n: root.dense(ti.ij, (n[0] // 3, n[1] // 2)).bitmasked(ti.ij, (3, 2))),
    "rows": ((260, 260), lambda root, n: root.bitmasked(ti.ij, n)),
    "columns": ((260, 260), lambda root, n: root.dense(ti.j, n[1]).bitmasked(ti.i, n[0])),
    "three axes": ((64, 32, 32), lambda root, n: root.dense(ti.ijk, [k // 4 for k in n]).bitmasked(ti.ijk, 4)),
    "dense blocks": ((256, 256), lambda root, n: root.dense(ti.ij, (n[0] // 8, n[1] // 8)).dense(ti.ij, 8)),
    "a bit for a block": ((256, 256), lambda root, n: root.bitmasked(ti.ij, (n[0] // 8, n[1] // 8)).dense(ti.ij, 8)),
    "an odd number": ((257, 257), lambda root, n: root.bitmasked(ti.ij, n)),
}


def start(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, enable_fallback=False)


def chosen(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Return which elements are active: nearly none, half, nearly all of a run."""
    random = np.random.default_rng(seed)
    share = np.repeat(random.choice([0.02, 0.5, 0.99, 1.0, 0.0], 1 + np.prod(shape) // 512), 512)[: np.prod(shape)]
    return (random.random(np.prod(shape)) < share).reshape(shape)


def is_wide(kernel, *args: object) -> bool:
    return "at a time" in kernel.source(*args, arch=ti.cuda)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", [ti.f32, ti.i32, ti.u32, ti.f64, ti.i64, ti.i16, ti.u8], ids=str)
@pytest.mark.parametrize("tree", SHAPES)
def test_inactive_cells_keep_what_they_hold(target: str, tree: str, dtype: object) -> None:
    shape, make = SHAPES[tree]
    if target == "python":
        if tree in ("rows", "columns", "an odd number") or dtype not in (ti.f32, ti.i16):
            pytest.skip("the interpreter is slow, and has no such pass")
        shape = {1: (200,), 2: (24, 24), 3: (8, 8, 8)}[len(shape)]
    start(target)
    x, other = ti.field(dtype), ti.field(dtype)
    make(ti.root, shape).place(x)
    make(ti.root, shape).place(other)
    mask = ti.field(ti.u8, shape)
    wanted = chosen(shape, 3)
    mask.from_numpy(wanted.astype(np.uint8))

    @ti.kernel
    def activate():
        for I in ti.grouped(mask):
            if mask[I] != 0:
                x[I] = ti.cast(I.sum() % 50, dtype)

    @ti.kernel
    def change(a: dtype):
        for I in ti.grouped(x):
            x[I] = ti.cast(x[I] * a + 3, dtype)
            x[I] -= ti.cast(1, dtype)

    @ti.kernel
    def put(a: dtype):
        for I in ti.grouped(x):
            x[I] = a

    @ti.kernel
    def everything():
        for I in ti.grouped(mask):
            x[I] += 0  # activates: what inactive cells hold shows

    activate()
    change(2)
    if tree in ("dense blocks", "a bit for a block"):
        cells = [(k // 8 * 8, (k + 8) // 8 * 8) for k in range(0, shape[0], 8)]
        active = np.zeros(shape, bool)
        for low, high in cells:
            for first, last in cells:
                active[low:high, first:last] = tree == "dense blocks" or wanted[low:high, first:last].any()
    else:
        active = wanted
    before = np.where(wanted, sum(np.indices(shape)) % 50, 0)
    assert np.array_equal(x.to_numpy(), np.where(active, before * 2 + 2, 0).astype(x.to_numpy().dtype))
    put(7)
    everything()
    assert np.array_equal(x.to_numpy(), np.where(active, 7, 0).astype(x.to_numpy().dtype))
    assert not other.to_numpy().any()
    widened = tree not in ("a bit for a block", "an odd number", "rows")
    if target != "python" and tree not in ("rows", "1-D"):
        assert is_wide(change, 2) == widened


def test_trees_of_the_same_order(target: str) -> None:
    """One tree is bitmasked, one is dense and in the same order, one is row-major: only the last keeps its indices."""
    start(target)
    n = 24 if target == "python" else 256
    x, y, z = ti.field(ti.f32), ti.field(ti.f32), ti.field(ti.f32, (n, n))
    ti.root.dense(ti.ij, n // 8).bitmasked(ti.ij, 8).place(x)
    ti.root.dense(ti.ij, n // 8).dense(ti.ij, 8).place(y)
    wanted = chosen((n, n), 5)
    z.from_numpy(np.arange(n * n, dtype=np.float32).reshape(n, n) % 100)

    @ti.kernel
    def prepare():
        for i, j in z:
            y[i, j] = z[i, j] + 1
            if z[i, j] % 3 == 0:
                x[i, j] = z[i, j]

    @ti.kernel
    def both(a: ti.f32):
        for i, j in x:
            y[i, j] = y[i, j] + x[i, j] * a
            x[i, j] = -y[i, j]
            y[i, j] += 1

    @ti.kernel
    def mixed():
        for i, j in x:
            x[i, j] = z[i, j] + 1

    @ti.kernel
    def by_index():
        for i, j in x:
            x[i, j] = i * 1000 + j

    prepare()
    both(2.0)
    values = z.to_numpy()
    active = values % 3 == 0
    sums = values + 1 + 2 * values
    assert np.array_equal(x.to_numpy(), np.where(active, -sums, 0))
    assert np.array_equal(y.to_numpy(), np.where(active, sums + 1, values + 1))
    mixed()
    assert np.array_equal(x.to_numpy(), np.where(active, values + 1, 0))
    by_index()
    i, j = np.indices((n, n))
    assert np.array_equal(x.to_numpy(), np.where(active, i * 1000 + j, 0))
    if target != "python":
        assert is_wide(both, 2.0) and not is_wide(mixed) and not is_wide(by_index)
    assert wanted.shape == values.shape


def test_offsets(target: str) -> None:
    start(target)
    n = 24 if target == "python" else 256
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.dense(ti.ij, n // 8).dense(ti.ij, 8).place(x, offset=(-8, 16))
    ti.root.dense(ti.ij, n // 8).bitmasked(ti.ij, 8).place(y, offset=(-8, 16))

    @ti.kernel
    def fill():
        for i, j in x:
            x[i, j] = 5
        for i, j in x:
            if (i + j) % 3 == 0:
                y[i, j] = i * n + j
        for i, j in y:
            y[i, j] = y[i, j] * 2 + x[i, j]
        for i, j in x:
            x[i, j] = x[i, j] + 1

    fill()
    i, j = np.indices((n, n))
    i, j = i - 8, j + 16
    assert (x.to_numpy() == 6).all()
    assert np.array_equal(y.to_numpy(), np.where((i + j) % 3 == 0, (i * n + j) * 2 + 5, 0))


def test_cells_that_the_loop_deactivates(target: str) -> None:
    start(target)
    n = 24 if target == "python" else 256
    x = ti.field(ti.f32)
    cells = ti.root.dense(ti.ij, n // 8).bitmasked(ti.ij, 8)
    cells.place(x)

    @ti.kernel
    def make():
        for i, j in ti.ndrange(n, n):
            if (i ^ j) % 5 < 2:
                x[i, j] = i - j

    @ti.kernel
    def drop():
        for i, j in x:
            x[i, j] = x[i, j] + 1
            if i % 2 == 0:
                ti.deactivate(cells, [i, j])

    make()
    drop()
    i, j = np.indices((n, n))
    assert np.array_equal(x.to_numpy(), np.where(((i ^ j) % 5 < 2) & (i % 2 == 1), i - j + 1, 0))
