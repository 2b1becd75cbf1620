"""Programs that `tests/fuzz` reduced to a few lines: each gave a wrong number, or no number, before its cause was mended."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shadesmith as ti

FLAGS, TABLE = ti.types.vector(3, ti.u1), ti.types.matrix(2, 3, ti.u1)

Pair = ti.types.vector(2, ti.i32)


def test_a_variable_of_a_branch_does_not_hide_the_result_of_the_choice(target: str) -> None:
    # The result was named `t1`, after a branch had been printed that declares the user's own `t1`.
    a = ti.field(ti.f32, 4)

    @ti.func
    def one(n):
        t0 = 0
        t1 = 0
        t2 = 0
        if n > 3:
            t0 += n
            t1 += 4
            t2 -= n
        return ti.cast(n + t0 + t1 + t2, ti.f32)

    @ti.kernel
    def run(n: ti.i32):
        for i in a:
            if (0.5 if i < 2 else one(n + i)) >= 1:
                a[i] = 1
            x = -3.0 if i == 1 else one(i)
            a[i] += x

    run(0)
    assert a.to_numpy().tolist() == [0, -3, 3, 4]


def test_a_named_choice_is_not_hidden_either(target: str) -> None:
    a = ti.field(ti.i32, 4)

    @ti.func
    def f(n):
        x = n
        if n > 2:
            x += 10 * a[0]
        return x * 2

    @ti.kernel
    def run():
        for _ in range(1):
            for i in range(1, 4):
                x = f(i) if i > 1 else -1
                a[i] = x

    a[0] = 1
    run()
    assert a.to_numpy().tolist() == [1, -1, 4, 26]


def test_an_element_of_a_vector_is_set_from_an_element_of_a_matrix(target: str) -> None:
    # `x op= y` was looked for by comparing indices before it was known that both are of one tensor: ValueError.
    a = ti.Vector.field(2, ti.i32, shape=3)
    m = ti.Matrix.field(2, 3, ti.i32, shape=3)

    @ti.kernel
    def run():
        for i in a:
            a[i][0] = m[i][0, 2] ** 2
            a[i][1] = m[i][1, 1] + 5
            m[i][1, 2] = a[i][1] - 1

    m.from_numpy(np.arange(18, dtype=np.int32).reshape(3, 2, 3))
    run()
    assert a.to_numpy().tolist() == [[4, 9], [64, 15], [196, 21]]
    assert m.to_numpy()[:, 1, 2].tolist() == [8, 14, 20]


def test_bits_of_a_loop_index_are_counted_under_a_condition(target: str) -> None:
    # gcc 12.2 -O3 with AVX512: `__builtin_popcountll((int64_t)i)` of eight iterations was `i`.
    a = ti.field(ti.u16, 8)
    g = ti.field(ti.i32, 8)
    f = ti.field(ti.i32, 8)

    @ti.kernel
    def run(n: ti.u16):
        for i in range(8):
            x = ti.cast(ti.math.popcnt(ti.cast(i, ti.i64)), ti.i64)
            if a[i] == 6 or n == g[i]:
                x = ti.cast(a[i], ti.i64) * 5
            f[i] = 72 ^ ti.cast(x, ti.i32)

    run(77)
    assert (f.to_numpy() ^ 72).tolist() == [0, 1, 1, 2, 1, 2, 2, 3]


NUMPY = {"i64": np.int64, "u64": np.uint64}


@pytest.mark.parametrize("dtype", NUMPY)
def test_bits_of_all_64_are_counted(target: str, dtype: str) -> None:
    x, count = ti.field(getattr(ti, dtype), 6), ti.field(ti.i32, 6)

    @ti.kernel
    def run():
        for i in x:
            count[i] = ti.cast(ti.math.popcnt(x[i]), ti.i32)

    x.from_numpy(np.array([0, 1, 1 << 32, 2**64 - 1, 1 << 63, 0x8000000180000001], np.uint64).view(NUMPY[dtype]))
    run()
    assert count.to_numpy().tolist() == [0, 1, 1, 64, 1, 4]


def test_an_expression_shortened_in_a_block_is_whole_after_it(target: str) -> None:
    # An operand that got a variable in a branch or a loop, since the line was long, was named after it too.
    out = ti.field(ti.i64, (3, 4))

    @ti.kernel
    def run(name_of_an_argument: ti.i8, another_argument: ti.i8):
        for i in range(3):
            out[i, 3] = ti.cast(name_of_an_argument, ti.i64) - ti.cast(another_argument, ti.i64)
            if i > 0:
                v = ti.Vector([
                    ti.cast(name_of_an_argument, ti.i64), ti.cast(another_argument, ti.i64),
                    ti.cast(name_of_an_argument, ti.i64) + i, ti.cast(another_argument, ti.i64) - i,
                ])  # fmt: skip
                out[i, 0] = v[i] * v[i - 1] + v[i + 1]
            for k in range(i):
                m = ti.Vector([
                    ti.cast(another_argument, ti.i64), ti.cast(name_of_an_argument, ti.i64),
                    ti.cast(name_of_an_argument, ti.i64) * k, ti.cast(another_argument, ti.i64) - k,
                ])  # fmt: skip
                out[i, 1] += m[k] * m[k + 1] - m[i]
            w = ti.Vector([
                ti.cast(name_of_an_argument, ti.i64), ti.cast(another_argument, ti.i64),
                ti.cast(name_of_an_argument, ti.i64) - i, ti.cast(another_argument, ti.i64) ^ i,
            ])  # fmt: skip
            out[i, 2] = w[i] * w[i + 1]

    run(5, -7)
    a, b = 5, -7
    for i in range(3):
        v, w = [a, b, a + i, b - i], [a, b, a - i, b ^ i]
        first = v[i] * v[i - 1] + v[i + 1] if i > 0 else 0
        second = sum(m[k] * m[k + 1] - m[i] for k in range(i) for m in [[b, a, a * k, b - k]])
        assert out.to_numpy()[i].tolist() == [first, second, w[i] * w[i + 1], a - b]


def test_a_choice_of_vectors_is_a_member_of_a_struct(target: str) -> None:
    """As `S{x, c ? vec2{y, z} : v}` it ends the process in NVRTC 12.9 and 13.0."""
    inner = ti.types.struct(v=Pair, w=ti.i32)
    outer = ti.types.struct(p=ti.f32, q=Pair, r=inner)
    o = outer.field(shape=4)

    @ti.real_func
    def both(a: ti.i32, c: ti.i32) -> (ti.i32, Pair):
        return a, ti.select(c > a, ti.Vector([a, 1]), ti.Vector([c, a]))

    @ti.kernel
    def f(c: ti.i32, a: ti.i32):
        for i in o:
            first, second = both(a, c)
            v = ti.Vector([a, 1]) if c > i else ti.select(c == i, ti.Vector([i, a]), second)
            w = inner(ti.select(c > i, ti.Vector([i, first]), v), 3)
            o[i] = outer(1.5, ti.Vector([c, i]) if c > i else v, w if a > i else inner(ti.Vector([i, i]), i))

    f(2, 3)
    assert o.q.to_numpy().tolist() == [[2, 0], [2, 1], [2, 3], [2, 3]]
    assert o.r.v.to_numpy().tolist() == [[0, 3], [1, 3], [2, 3], [3, 3]]
    assert o.r.w.to_numpy().tolist() == [3, 3, 3, 3]
    between_braces = re.compile(r"\{[^{}()]*\? [a-zA-Z_0-9]+\{")
    assert not between_braces.search(f.source(2, 3, arch=ti.cuda))


def test_a_conversion_that_was_stored_is_not_computed_again(target: str) -> None:
    """C widens the second operand of a sum by itself; its value was computed anew from what the store had changed."""
    e, b = ti.field(ti.i64, 5), ti.field(ti.u8, 5)
    e.from_numpy(np.array([0, 2, 3, 1, 2], np.int64))
    b.fill(100)

    @ti.kernel
    def f():
        for i in e:
            e[i] = i ** e[i]
            x = b[i] - e[i]
            e[i] = x + b[i]

    f()
    assert e.to_numpy().tolist() == [200 - i**p for i, p in enumerate([0, 2, 3, 1, 2])]


def test_arguments_of_truth_values_are_bytes_in_glsl(target: str) -> None:
    """GLSL has them as bytes: a matrix of `uint8_t` was taken for one of `bool`, and no program compiled."""
    flags, tables, both = FLAGS.field(shape=2), TABLE.field(shape=2), FLAGS.field(shape=2)

    @ti.kernel
    def f(v: FLAGS, m: TABLE):
        for i in flags:
            w = v
            flags[i] = v
            tables[i] = m
            both[i] = w and flags[i]

    f(FLAGS(True), TABLE(True))
    assert all(field.to_numpy().all() for field in (flags, tables, both))
    tables.fill(False)
    tables.fill(True)  # by a kernel where the memory is the device's
    assert tables.to_numpy().all()
