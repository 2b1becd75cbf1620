"""Quantised types: the programs of Taichi's documentation, their numbers on Taichi 1.7.4, atomics, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [pytest.mark.sampled(3), pytest.mark.one_target]  # the rest in `make test-all`

quant = ti.types.quant


def packed(*types: object, n: int = 4, bits: int = 32, shared: bool = False) -> list:
    """Return fields that share words in a dense node."""
    fields = [ti.field(dtype=type) for type in types]
    bitpack = ti.BitpackedFields(max_num_bits=bits)
    bitpack.place(*fields, shared_exponent=shared)
    ti.root.dense(ti.i, n).place(bitpack)
    return fields


def stored(types: list, rows: list, shared: bool = False) -> np.ndarray:
    """Return rows of numbers after a kernel has stored them and another one has read them."""
    fields = packed(*types, n=len(rows), bits=64, shared=shared)
    given, out = (ti.field(ti.f32, (len(rows), len(types))) for _ in range(2))
    given.from_numpy(np.array(rows, np.float32).reshape(given.shape))

    @ti.kernel
    def write():
        for i in range(given.shape[0]):
            for k in ti.static(range(len(fields))):
                fields[k][i] = given[i, k]

    @ti.kernel
    def read():
        for i in range(given.shape[0]):
            for k in ti.static(range(len(fields))):
                out[i, k] = fields[k][i]

    write()
    read()
    assert np.array_equal(np.stack([field.to_numpy() for field in fields], 1), out.to_numpy(), equal_nan=True)
    return out.to_numpy()


FIXED = {
    0.0: 0,
    0.1: 0.125,
    0.49: 0.5,
    0.51: 0.5,
    1.0: -1,
    1.5: -0.5,
    -0.1: -0.125,
    -1.0: -1,
    0.3: 0.3125,
    0.0625: 0.0625,
}
FLOAT = {
    0.0: 0,
    1.1: 1.125,
    1.9: 1.875,
    1.99: 2,
    -1.1: -1.125,
    0.1: 0.1015625,
    1e-3: 0.0009765625,
    1e-5: 0,
    65504.0: 65536,
}
WIDE = {1.1: 1.099609375, 1e-8: 9.997165761888027e-09, 3e38: 3.0007322004844476e38, 1e-40: 0, np.inf: np.inf, -3.0: -3}
UNSIGNED = {1.1: 1.099609375, -1.9: 1.900390625, 1e-3: 0.00099945068359375}
SHARED = {(1.0, 1e-3): (1, 0), (1.0, -0.3): (1, -0.296875), (1e-3, 5.0): (0, 5), (0.0, 3.0): (0, 3), (1.99, 1.1): (1.984375, 1.09375), (1e-10, 1e-12): (0, 0), (-7.0, 7.5): (-7, 7.5), (1.9999, 0.49): (1.984375, 0.484375)}  # fmt: skip # noqa: E501


def test_numbers_of_taichi(target: str) -> None:
    for type, known in (
        (quant.fixed(bits=5, max_value=1.0), FIXED),
        (quant.float(exp=5, frac=5), FLOAT),
        (quant.float(exp=8, frac=10), WIDE),
        (quant.float(exp=6, frac=9, signed=False), UNSIGNED),
    ):
        found = stored([type], list(known))
        assert np.allclose(found[:, 0], list(known.values()), rtol=1e-6, atol=0), type
    found = stored([quant.float(exp=5, frac=8)] * 2, list(SHARED), shared=True)
    assert found.tolist() == [list(pair) for pair in SHARED.values()]


def test_atomics(target: str) -> None:
    x, y, bit = packed(quant.int(5), quant.fixed(6, max_value=1.0), quant.int(1, signed=False))
    old = ti.field(ti.i32, 3)

    @ti.kernel
    def change():
        for i in range(1):
            old[0] = ti.atomic_add(x[0], 5)
            old[1] = ti.atomic_add(x[0], 20)
            y[0] += 0.3
            y[0] += 0.3
            y[0] -= 0.1
            x[0] -= 3
            x[0] |= 16
            x[0] ^= 1
            old[2] = ti.atomic_and(x[0], ~2)
            bit[0] |= ti.u32(1)

    change()
    assert old.to_numpy().tolist() == [0, 5, -9] and x[0] == -11 and y[0] == 0.53125 and bit[0] == 1


def test_many_threads_add_to_one_word(target: str) -> None:
    a, b = packed(quant.int(12, signed=False), quant.int(20, signed=False), n=1)

    @ti.kernel
    def count(n: ti.i32):
        for i in range(n):
            a[0] += ti.u32(1)
            b[0] += ti.u32(i % 7)

    n = 5000 if target != "python" else 50
    count(n)
    assert a[0] == n % 4096 and b[0] == sum(i % 7 for i in range(n))


def test_bits_of_a_quantised_array(target: str) -> None:
    """Conway's game of life with a bit for each cell, as in Taichi's benchmark."""
    n = 64
    now, after = (ti.field(quant.int(1, signed=False)) for _ in range(2))
    for cells in (now, after):
        ti.root.dense(ti.ij, (n, n // 32)).quant_array(ti.j, 32, max_num_bits=32).place(cells)
    start = np.random.default_rng(1).integers(0, 2, (n, n))
    now.from_numpy(start)

    @ti.kernel
    def step():
        ti.loop_config(bit_vectorize=True)
        for i, j in now:
            count = ti.u32(0)
            for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                if ti.static(di != 0 or dj != 0):
                    count += now[(i + di) % n, (j + dj) % n]
            after[i, j] = ti.u32(1) if count == 3 or (count == 2 and now[i, j] == 1) else ti.u32(0)

    step()
    near = sum(np.roll(start, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - start
    assert np.array_equal(after.to_numpy(), (near == 3) | ((near == 2) & (start == 1)))
    assert now[3, 40] == start[3, 40]
    now[3, 40] = 1 - start[3, 40]
    assert int(now.to_numpy().sum()) == start.sum() + 1 - 2 * start[3, 40]


def test_vectors(target: str) -> None:
    """The documentation's particles: fixed-point positions, and colours with a shared exponent."""
    position = ti.Vector.field(3, dtype=quant.fixed(bits=16, max_value=2.0))
    colour = ti.Vector.field(3, dtype=quant.float(exp=5, frac=9, signed=False))
    first, second = ti.BitpackedFields(max_num_bits=64), ti.BitpackedFields(max_num_bits=32)
    first.place(position)
    second.place(colour, shared_exponent=True)
    ti.root.dense(ti.i, 5).place(first, second)

    @ti.kernel
    def fill():
        for i in position:
            position[i] = ti.Vector([0.1, -0.2, 0.3]) * i
            colour[i] = ti.Vector([100.0, 1.0, 0.0])
        for i in position:
            position[i] += ti.Vector([0.5, 0.5, 0.5])
            colour[i] = ti.Vector([1.0, 0.01, 0.5]) * 0.01 * (i + 1)

    fill()
    wanted = np.arange(5)[:, None] * np.array([0.1, -0.2, 0.3]) + 0.5
    assert np.allclose(position.to_numpy(), wanted, atol=2 / 2**15)
    wanted = np.arange(1, 6)[:, None] * np.array([0.01, 0.0001, 0.005])
    assert np.allclose(colour.to_numpy(), wanted, atol=0.05 / 256)
    colour[1] = [8.0, 0.25, 0.0]
    assert colour[1].to_list() == [8.0, 0.25, 0.0] and abs(position[1].y - 0.3) < 1e-4
    colour.fill(0.125)
    assert (colour.to_numpy() == 0.125).all()


def test_sparse_trees_and_offsets(target: str) -> None:
    x, y = ti.field(quant.int(10)), ti.field(quant.int(22))
    bitpack = ti.BitpackedFields(max_num_bits=32)
    bitpack.place(x, y)
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(bitpack, offset=-8)
    total = ti.field(ti.i32, ())

    @ti.kernel
    def write():
        for i in range(-3, 3):
            x[i], y[i] = i, i * 1000

    @ti.kernel
    def add():
        for i in x:
            total[None] += x[i] * 10000 + y[i]

    write()
    add()
    assert total[None] == -33000 and x[-3] == -3 and y[2] == 2000 and x[-8] == 0


def test_a_source_is_readable(target: str) -> None:
    if target in ("python", "cuda"):
        pytest.skip("read once")
    x, y = packed(quant.int(5), quant.int(6, signed=False))

    @ti.kernel
    def copy():
        for i in x:
            x[i] = ti.cast(y[i], ti.i32)

    source = copy.source()
    assert "x_y_bits(i) = (x_y_bits(i) & 0xffffffe0u)" in source and ">> 5" in source


@pytest.mark.one_target
def test_copies_of_one_kernel_in_the_cache(tmp_path: object, target: str) -> None:
    ti.init(arch=getattr(ti, target), offline_cache_file_path=str(tmp_path))

    def run(bits: int) -> int:
        (x,) = packed(quant.int(bits))

        @ti.kernel
        def store() -> ti.i32:
            x[1] = 19
            return x[1]

        return store()

    assert run(5) == -13 and run(6) == 19 and run(5) == -13


@pytest.mark.one_target
def test_refusals(target: str) -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="takes no `shape`"):
        ti.field(quant.int(5), shape=3)
    with pytest.raises(ti.TaichiRuntimeError, match="is placed in `ti.BitpackedFields`"):
        ti.root.dense(ti.i, 3).place(ti.field(quant.int(5)))
    with pytest.raises(ti.TaichiRuntimeError, match="needs 20 bits, and 12 of 32 are left"):
        packed(quant.int(20), quant.int(20))
    bitpack = ti.BitpackedFields(max_num_bits=32)
    bitpack.place(ti.field(quant.int(3)))
    ti.root.dense(ti.i, 2).place(bitpack)
    with pytest.raises(ti.TaichiRuntimeError, match="has been placed already"):
        ti.root.dense(ti.i, 2).place(bitpack)
    with pytest.raises(ti.TaichiSyntaxError, match="At least 2 fields"):
        packed(quant.float(5, 5), shared=True)
    with pytest.raises(ti.TaichiRuntimeError, match="quant_array overflows"):
        ti.root.dense(ti.i, 2).quant_array(ti.i, 9, max_num_bits=32).place(ti.field(quant.int(4)))
    with pytest.raises(ValueError, match="`bits` is an integer from 1 to 32, and 33 was given"):
        quant.int(33)
    (z,) = packed(quant.float(exp=5, frac=9))

    @ti.kernel
    def add():
        for i in z:
            z[i] += 1.0

    with pytest.raises(ti.TaichiTypeError, match="`atomic_add` of quant.float"):
        add()


@pytest.mark.one_target
def test_checks_of_indices(target: str) -> None:
    ti.init(arch=getattr(ti, target), debug=True)
    (x,) = packed(quant.int(5))
    with pytest.raises(ti.TaichiIndexError):
        x[4]

    @ti.kernel
    def store(i: ti.i32):
        x[i] = 1

    store(3)
    with pytest.raises(AssertionError, match="x"):
        store(4)
        ti.sync()


@pytest.mark.one_target
def test_an_archive_holds_the_words_and_not_the_field(target: str, tmp_path: object) -> None:
    if target == "python":
        pytest.skip("ti.python has nothing to archive")
    x, y = packed(quant.int(7), quant.int(9))
    out = ti.field(ti.i32, 4)

    @ti.kernel
    def store(a: ti.i32):
        for i in x:
            x[i], y[i] = a + i, a - i
            out[i] = x[i] * 100 + y[i]

    module = ti.aot.Module()
    with pytest.raises(ti.TaichiRuntimeError, match="has no name of its own"):
        module.add_field("x", x)
    module.add_field("out", out)
    module.add_kernel(store)
    module.archive(f"{tmp_path}/m.tcm")
    loaded = ti.aot.load(f"{tmp_path}/m.tcm")
    loaded.kernels["store"](7)
    assert loaded.fields["out"].to_numpy().tolist() == [707, 806, 905, 1004]


@pytest.mark.one_target
def test_debug_tells_of_overflow_in_a_kernel_with_packed_numbers(
    target: str, capfd: pytest.CaptureFixture[str]
) -> None:
    ti.init(arch=getattr(ti, target), debug=True)
    (x,) = packed(quant.int(5))

    @ti.kernel
    def store(a: ti.i32):
        for i in x:
            x[i] = a + i

    store(3)
    assert x.to_numpy().tolist() == [3, 4, 5, 6]
    store(2**31 - 1)
    ti.sync()
    assert x.to_numpy().tolist() == [-1, 0, 1, 2]
    assert "Addition overflow detected" in capfd.readouterr().err
