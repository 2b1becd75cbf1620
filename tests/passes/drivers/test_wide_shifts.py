"""Pass `wide_shifts`: sources for Vulkan shift 64-bit numbers by 31 in two words; the numbers are right on every target."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

f = ti.types.ndarray
NUMBERS = np.array([0, 1, 2, 3, -1, -7, 2**31 - 1, -(2**31)], np.int32)


@ti.kernel
def shifted(x: f(ti.i32, 1), wide: f(ti.i64, 1), out: f(ti.i64, 2)):
    for i in x:
        out[i, 0] = ti.cast(x[i], ti.i64) << 31
        out[i, 1] = ti.cast(ti.cast(x[i], ti.u64) << 31, ti.i64)
        out[i, 2] = ti.cast(x[i], ti.i64) * ti.i64(2147483648)
        out[i, 3] = wide[i] << 31
        v = ti.Vector([x[i], i], dt=ti.i64) << 31
        out[i, 4] = v[0] ^ v[1]
        wide[i] <<= 31
        out[i, 5] = ti.cast(x[i], ti.i64) << 30


def test_results(target: str) -> None:
    wide, out = NUMBERS.astype(np.int64) * 5_000_000_001, np.zeros((8, 6), np.int64)
    shifted(NUMBERS, given := wide.copy(), out)
    ti.sync()
    x, i = NUMBERS.astype(np.int64), np.arange(8)
    expected = [x << 31, x << 31, x << 31, wide << 31, (x << 31) ^ (i << 31), x << 30]
    np.testing.assert_array_equal(out, np.stack(expected, axis=1))
    np.testing.assert_array_equal(given, wide << 31)


@ti.kernel
def counted(x: f(ti.i32, 1), counts: f(ti.i32, 1), out: f(ti.i64, 2)):
    for i in x:
        for k in range(28, 34):
            out[i, k] = ti.cast(x[i], ti.i64) << k
        for k in ti.static(range(28, 34)):
            out[i, 6 + k] = ti.cast(ti.cast(x[i], ti.u64) << k, ti.i64)
        out[i, 0] = (ti.cast(x[i], ti.i64) << 30) * 2
        out[i, 1] = (ti.cast(x[i], ti.i64) * 32768) << 16
        out[i, 2] = ti.cast(x[i], ti.i64) << counts[i]
        n = i + 24
        out[i, 3] = (ti.cast(x[i], ti.i64) + 1) << n


def test_counts_that_a_compiler_may_find(target: str) -> None:
    out, counts = np.zeros((8, 40), np.int64), np.arange(8, dtype=np.int32) * 9
    counted(NUMBERS, counts, out)
    ti.sync()
    x = NUMBERS.astype(np.int64)
    for k in range(28, 34):
        np.testing.assert_array_equal(out[:, k], x << k)
        np.testing.assert_array_equal(out[:, 6 + k], x << k)
    np.testing.assert_array_equal(out[:, 0], x << 31)
    np.testing.assert_array_equal(out[:, 1], x << 31)
    np.testing.assert_array_equal(out[:, 2], x << (counts % 64))
    np.testing.assert_array_equal(out[:, 3], (x + 1) << (np.arange(8) + 24))


def test_members_of_a_word_that_begin_at_bit_31(target: str) -> None:
    """The program in which random programs found it (seed 10100058): of 2 NVIDIA's driver 580 made -2."""
    low, member = (ti.field(ti.types.quant.int(bits=bits, signed=True)) for bits in (31, 23))
    word = ti.BitpackedFields(max_num_bits=64)
    word.place(low, member)
    ti.root.dense(ti.i, 4).place(word)

    @ti.kernel
    def pack():
        for i in range(4):
            member[i % 2] ^= i

    pack()
    assert member.to_numpy().tolist() == [2, 2, 0, 0] and not low.to_numpy().any()


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    given = NUMBERS, np.zeros(8, np.int64), np.zeros((8, 6), np.int64)
    code = shifted.source(*given, arch=ti.vulkan).split("void main()")[1]
    assert "i64vec2_wide_shl_vs(" in code and code.count(" shl_i64(") == 4 and "(shl_u64(" in code, code
    assert not any("<< 31" in line.split("//")[0] for line in code.splitlines())
    again = counted.source(NUMBERS, NUMBERS, np.zeros((8, 40), np.int64), arch=ti.vulkan).split("void main()")[1]
    assert again.count("shl_i64(") == 4 and "<< (int64_t(counts(i)) & 63l)" in again, again
    assert "<< 30" in code and "wide_shl" not in shifted.source(*given, arch=ti.cuda)
