"""What `ranges` leaves plain gives the same numbers: random kernels, on each target and by the interpreter without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_ranges import CELLS, DATA, LAUNCHES, SMALL, RandomRanges
from written_programs import write

import shadesmith as ti

SEEDS = 12
VECTOR, MATRIX = ti.types.vector(3, ti.u32), ti.types.matrix(2, 2, ti.u32)


def outcome(path: Path, seed: int) -> np.ndarray:
    """Return what the kernel of `seed` gives in this session for each list of arguments."""
    run = write(path, RandomRanges(seed).text()).run
    results = np.zeros((len(LAUNCHES), CELLS), np.int64)
    for out, numbers in zip(results, LAUNCHES, strict=True):
        run(out, np.array(DATA, np.int32), np.array(SMALL, np.uint8), *numbers)
    return results


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_divisions(seed: int, target: str, tmp_path: Path) -> None:
    found = outcome(tmp_path / "kernel.py", seed)
    ti.init(arch=ti.python, advanced_optimization=False, log_level=ti.WARN)
    np.testing.assert_array_equal(found, outcome(tmp_path / "kernel.py", seed))


ENDS = (0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1 << 30, (1 << 31) - 1)


@pytest.mark.parametrize("begin", [0, 1, -1, -(1 << 31), (1 << 31) - 9])
def test_divisions_by_numbers_that_come_with_the_launch(begin: int, target: str) -> None:
    """Python's own, and 0 by 0; begins may be anything."""

    @ti.kernel
    def run(quotients: ti.types.ndarray(ti.i32, 1), rests: ti.types.ndarray(ti.i32, 1), begin: ti.i32, n: ti.i32):
        for i in range(begin, begin + 8):
            quotients[i - begin] = i // n
            rests[i - begin] = i % n

    for divisor in (*ENDS, *(-end for end in ENDS)):
        quotients, rests = np.zeros(8, np.int32), np.zeros(8, np.int32)
        run(quotients, rests, begin, divisor)
        numbers = range(begin, begin + 8)
        wanted = [(i // divisor, i % divisor) if divisor else (0, 0) for i in numbers]
        assert quotients.tolist() == [(q + (1 << 31)) % (1 << 32) - (1 << 31) for q, _ in wanted]
        assert rests.tolist() == [rest for _, rest in wanted]


def test_neighbours_around_a_ring(target: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for i in range(n):
            b[i] = a[(i + 1) % n] * 100 + a[(i - 1) % n]

    for n in (0, 1, 2, 7, 8):
        a, b = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        run(a, b, n)
        assert np.array_equal(b, np.roll(a, -1) * 100 + np.roll(a, 1))


def test_tiles_of_a_grid(target: str) -> None:
    tiles = ti.field(ti.i32, (4, 3))

    @ti.kernel
    def run(a: ti.types.ndarray(ti.i32, 2)):
        for I in ti.grouped(a):
            tiles[I // 5] += I.x % 5 * 5 + I.y % 5
            a[I] = I.x // 5 * 3 + I.y // 5

    a = np.zeros((20, 15), np.int32)
    run(a)
    rows, columns = np.indices(a.shape)
    assert np.array_equal(a, rows // 5 * 3 + columns // 5) and np.all(tiles.to_numpy() == 300)


def test_divisions_in_place(target: str) -> None:
    @ti.kernel
    def run(
        a: ti.types.ndarray(VECTOR, 1), b: ti.types.ndarray(MATRIX, 1), c: ti.types.ndarray(ti.u16, 1),
        d: ti.types.ndarray(ti.u8, 1),
    ):  # fmt: skip
        for i in a:
            a[i] //= ti.u32(3)
            a[i] %= ti.u32(50)
            b[i] //= ti.u32(2)
            b[i] %= ti.u32(7)
            c[i] //= ti.cast(3, ti.u16)
            d[i] %= ti.cast(9, ti.u8)

    shapes = {"a": ((10, 3), np.uint32), "b": ((10, 2, 2), np.uint32), "c": ((10,), np.uint16), "d": ((10,), np.uint8)}
    arrays = [np.arange(np.prod(s)).reshape(s).astype(t) * t(np.iinfo(t).max // 50) for s, t in shapes.values()]
    wanted = [arrays[0] // 3 % 50, arrays[1] // 2 % 7, arrays[2] // 3, arrays[3] % 9]
    run(*arrays)
    ti.sync()
    assert all(np.array_equal(found, good) for found, good in zip(arrays, wanted, strict=True))


def test_a_bound_divided_by_zero_is_zero(target: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(ti.i32, 1), n: ti.i32, m: ti.i32):
        for i in range(n // m):
            a[i] += 1
        for i in range(n % m):
            a[i] += 10
        for i in range(ti.raw_div(n, m)):
            for k in range(n % m):
                a[i] += 100

    for divisor, wanted in ((0, [0] * 4), (3, [111, 101, 0, 0])):
        a = np.zeros(4, np.int32)
        run(a, 7, divisor)
        ti.sync()
        assert a.tolist() == wanted


def test_checks_that_stay_still_fail(target: str) -> None:
    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.ERROR)
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def run(n: ti.i32):
        for i in x:
            x[(i + n) % 9] += x[(i + 1) % 8]

    run(0)
    with pytest.raises(ti.TaichiAssertionError, match=r"size \(8\) with indices \(8\)"):
        run(1)
        ti.sync()


def test_a_float_of_an_integer_is_rounded(target: str) -> None:
    """16777217 is no f32, so that integers in order may be equal floats; bits of an integer are no number."""

    @ti.kernel
    def greater(n: ti.i32, m: ti.i32) -> ti.i32:
        found = 0
        if n >= 16777217 and m <= 16777216:
            found = ti.cast(ti.cast(n, ti.f32) > ti.cast(m, ti.f32), ti.i32)
        return found

    @ti.kernel
    def whole_part_of_bits(n: ti.i32) -> ti.i32:
        found = -1
        if n > 4:
            found = ti.cast(ti.bit_cast(n, ti.f32), ti.i32) % 7
        return found

    assert (greater(16777217, 16777216), greater(16777219, 16777216)) == (0, 1)
    assert whole_part_of_bits(5) == 0


@ti.real_func
def halved(x: ti.ref(ti.i32)) -> ti.i32:
    half = x // 2
    x = 5
    return half


def test_what_a_caller_passes_by_reference_may_be_anything(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        x = n
        return halved(x) * 10 + x

    assert run(-7) == -4 * 10 + 5


def test_indices_that_wrapped_are_checked(target: str) -> None:
    """1 - 5 of u32 is no number below 8, though 1 is; nor is -100 - 100 of i8, which is 56."""
    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.ERROR)
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def unsigned(u: ti.u32, v: ti.u32):
        for i in range(1):
            x[(u & ti.u32(3)) - (v & ti.u32(7))] = 1

    @ti.kernel
    def narrow(u: ti.i8, v: ti.i8):
        for i in range(1):
            difference = u - v
            if u < ti.cast(8, ti.i8) and v > ti.cast(0, ti.i8) and difference >= ti.cast(0, ti.i8):
                x[difference] = 1

    unsigned(5, 9)
    for kernel, numbers, index in ((unsigned, (1, 5), 4294967292), (narrow, (-100, 100), 56)):
        with pytest.raises(ti.TaichiAssertionError, match=rf"with indices \({index}\)"):
            kernel(*numbers)
            ti.sync()


def test_sums_of_an_index_that_wrap_and_wrap_back(target: str) -> None:
    """`32 + i` wraps, the index does not: its last constant must not be of 64 bits."""

    @ti.kernel
    def run(out: ti.types.ndarray(ti.i32, 1), big: ti.i32):
        for i in range(2147483635, 2147483647):
            out[32 + i - 2147483635] += i % 100
        for i in range(2147483635, 2147483647):
            out[(32 + i) + -2147483635] += 1
        for i in range(12):
            out[big + i + 2147483647] += 1
            out[(i - big) - 2147483647] += 1
            out[i - big - 2147483616] += 1

    out = np.zeros(64, np.int32)
    run(out, -2147483647)
    wanted = np.zeros(64, np.int32)
    wanted[32:44] = np.arange(2147483635, 2147483647) % 100 + 1
    wanted[:12] += 2
    wanted[31:43] += 1
    assert out.tolist() == wanted.tolist()


WRAPPING = {
    "(n * m) % 9": [(3, 3), (2**31 - 2, -8), (2**30 + 1, 7), (-(2**31), -1), (-5, 3)],
    "n * m + 5": [(65536, 65536), (2**31 - 1, 2), (1, 2)],
    "(n - m) // 1000000000": [(-(2**31), 1), (2**31 - 1, -1), (2**31 - 1, 5)],
    "ti.min(n + m, 7)": [(2**31 - 1, 1), (2**31 - 1, 2**31 - 1), (-3, 8)],
    "ti.cast(n, ti.i8) + m": [(200, 60), (127, 1), (300, -40)],
    "ti.cast(ti.cast(n, ti.u8) * ti.cast(m, ti.u8), ti.i32) // 20": [(255, 255), (20, 20), (-1, 3)],
}


@pytest.mark.parametrize("extent", WRAPPING)
def test_the_host_counts_iterations_as_devices_do(target: str, extent: str, define_program: Any) -> None:
    """A number that does not fit its type wraps, also where the host computes how many threads a loop needs."""
    o = ti.field(ti.i32, 400)
    lines = [
        "@ti.kernel",
        "def fill(n: ti.i32, m: ti.i32):",
        f"    for i in range({extent}):",
        "        o[i % 400] += 1",
    ]
    size = ["@ti.kernel", "def size(n: ti.i32, m: ti.i32) -> ti.i32:", f"    return {extent}", ""]
    program = define_program("\n".join([*lines, *size]), o=o)
    for arguments in WRAPPING[extent]:
        o.fill(0)
        count = program["size"](*arguments)
        assert count < 400
        program["fill"](*arguments)
        assert o.to_numpy().sum() == max(count, 0), arguments


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint64])
def test_loops_as_long_as_numbers_of_numpy_say(target, kind):
    """Their products wrap, and no mask of 32 bits fits them: the launcher counts in Python's integers."""

    @ti.kernel
    def fill(x: ti.types.ndarray(ti.i32, 2), n: ti.i32, m: ti.i32, v: ti.types.vector(2, ti.i32)):
        for i, j in ti.ndrange(n, (1, m - 1)):
            x[i, j] += 1
        for i, j in ti.ndrange(v[0], v[1] * 2):
            x[i, j] += 2

    x = np.zeros((100, 200), np.int32)
    expected = x.copy()
    expected[:, 1:99] += 1
    expected[:90, :180] += 2
    fill(x, kind(100), kind(100), ti.Vector([kind(90), kind(90)]))
    assert np.array_equal(x, expected)
    fill(x, kind(100), kind(1), ti.Vector([kind(0), kind(0)]))
    assert np.array_equal(x, expected)
