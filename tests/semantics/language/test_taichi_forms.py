"""Forms of Taichi's programs: strings with `%`, dict comprehensions, structs of dictionaries, sizes and copies of arrays."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import shadesmith as ti

S = ti.types.struct(a=ti.i32, b=ti.math.vec2)
T = ti.types.struct(s=S, c=ti.f32)


def test_percent_formats_run_time_values(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    @ti.kernel
    def show(i: ti.i32, x: ti.f32):
        print("%d %5d|%-5d|%05d %+d %x %#o %s" % (i, i, i, i, i, i, i, "text"))
        print("%.2f|%8.1f|%e|%d%%" % (x, i, x, x))
        print("%(a)d-%(b).1f" % {"a": i, "b": x}, "%d" % i, "%s %d" % ("known", 7))

    show(31, 2.75)
    ti.sync()
    i, x = 31, 2.75
    expected = "%d %5d|%-5d|%05d %+d %x %#o %s\n" % (i, i, i, i, i, i, i, "text")
    expected += "%.2f|%8.1f|%e|%d%%\n" % (x, i, x, x) + "%(a)d-%(b).1f" % {"a": i, "b": x} + " 31 known 7\n"
    assert capfd.readouterr().out == expected


def test_percent_in_the_message_of_an_assert_and_its_mistakes() -> None:
    ti.init(arch=ti.python, debug=True, log_level=ti.ERROR)

    @ti.kernel
    def check(i: ti.i32):
        assert i > 5, "i is %d, not %s" % (i, "more")

    with pytest.raises(ti.TaichiAssertionError, match="i is 3, not more"):
        check(3)

    @ti.kernel
    def fewer(i: ti.i32):
        print("%d %d" % i)

    with pytest.raises(ti.TaichiTypeError, match="There is no value for `%d`"):
        fewer(1)

    @ti.kernel
    def more(i: ti.i32):
        print("%d" % (i, i))  # noqa: F507

    with pytest.raises(ti.TaichiTypeError, match="fewer `%` than values"):
        more(1)


def test_sizes_of_arrays(target: str) -> None:
    x, f = ti.ndarray(ti.f32, (3, 4)), ti.field(ti.i32, (2, 5, 1))
    v = ti.Vector.field(3, ti.f32, 7)

    @ti.kernel
    def sizes(a: ti.types.ndarray()) -> ti.types.vector(6, ti.i32):
        return [a.ndim, a.size, f.ndim, f.size, v.ndim, v.size]

    assert list(sizes(x)) == [2, 12, 3, 10, 1, 7]
    assert [x.ndim, x.size, f.ndim, f.size, v.ndim, v.size] == [2, 12, 3, 10, 1, 7]
    assert ti.field(ti.f32, ()).size == 1


def test_copies_of_ndarrays_are_arrays_of_their_own(target: str) -> None:
    for x in (ti.ndarray(ti.f64, (2, 3)), ti.Vector.ndarray(2, ti.i32, 3), ti.ndarray(ti.u8, 0)):
        x.fill(3)
        again = copy.deepcopy({"x": x, "same": x})
        assert type(again["x"]) is type(x) and again["x"] is again["same"] is not x
        x.fill(4)
        assert np.array_equal(again["x"].to_numpy(), np.full_like(x.to_numpy(), 3))
        assert np.array_equal(copy.copy(x).to_numpy(), x.to_numpy())
    x = ti.ndarray(ti.f32, 8)
    x.from_numpy(np.arange(8, dtype=np.float32))
    assert copy.deepcopy(x[1:7:2]).to_numpy().tolist() == [1, 3, 5]


def test_dict_comprehensions_and_structs_of_dictionaries(target: str) -> None:
    out = T.field(shape=2)

    @ti.kernel
    def compute(i: ti.i32) -> ti.i32:
        squares = {k: k * i for k in range(4) if k != 2}
        pairs = {a + str(b): b for a in ("x", "y") for b in range(2)}
        s = S({"a": squares[3], "b": ti.math.vec2(1, 2)})
        out[0] = T({"s": {"a": s.a, "b": s.b}, "c": 0.5})
        out[1] = {"s": s, "c": 1.5}
        return squares[3] + pairs["y1"]

    assert compute(5) == 16
    assert out[0].s.a == 15 and out[0].c == 0.5 and out[1].c == 1.5
    made = T({"s": S({"a": 1}), "c": 2})
    assert (made.s.a, made.c, list(made.s.b)) == (1, 2, [0, 0])
    with pytest.raises(ti.TaichiSyntaxError, match="no member `z`"):
        S({"z": 1})


def test_methods_of_matrices_are_called_through_their_class(target: str) -> None:
    known = ti.Vector([1.0, 0.0, 2.0])

    @ti.kernel
    def compute(x: ti.f32, out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        a, b = ti.Vector([x, 2.0, 3.0]), ti.Vector([4.0, 4.0, 4.0])
        m = ti.Matrix([[1.0, x], [3.0, 5.0]])
        out[0] = ti.Matrix.dot(a, b) + ti.Vector.dot(known, a)
        out[1] = ti.Matrix.outer_product(a, b)[1, 2] + ti.Vector.cross(a, known).y
        out[2] = ti.Matrix.determinant(m) + ti.Matrix.transpose(m)[0, 1] + ti.Vector.norm_sqr(a)
        out[3] = ti.cast(ti.Matrix.cast(a, ti.i32).sum(), ti.f32) + ti.Matrix.norm(known)

    out = np.zeros(4, np.float32)
    compute(1.5, out)
    assert np.allclose(out, [26 + 7.5, 8 + 0.0, 0.5 + 3 + 15.25, 6 + np.sqrt(5)])


def test_columns_are_vectors_for_numpy(target: str) -> None:
    column, vector = ti.Matrix.field(3, 1, ti.f32, 2), ti.Vector.field(3, ti.f32, 2)
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    for field in (column, vector):
        for shape in ((2, 3), (2, 3, 1)):
            field.from_numpy(values.reshape(shape))
            assert np.array_equal(field.to_numpy(), values)
            assert np.array_equal(field.to_numpy(keep_dims=True), values[..., None])


def test_promises_about_indices_change_no_result(target: str) -> None:
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def fill():
        for i in x:
            x[ti.loop_unique(i, covers=[x])] += ti.assume_in_range(i, i, 0, 1)

    fill()
    assert x.to_numpy().tolist() == list(range(8))


def test_addresses_count_bytes_in_a_tree(target: str) -> None:
    x, a, b = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.f32)
    ti.root.dense(ti.ij, (1, 2)).dense(ti.ij, 2).dense(ti.ij, 2).place(x)
    ti.root.dense(ti.ij, (3, 5)).place(a, b)

    @ti.kernel
    def fill():
        for i, j in x:
            x[i, j] = int(ti.get_addr(x.snode, [i, j]) - ti.get_addr(x.snode, [0, 0])) // 4

    @ti.kernel
    def distance(i: ti.i32, j: ti.i32) -> ti.i32:
        return int(ti.get_addr(b.snode, ti.Vector([i, j])) - ti.get_addr(a.snode, [0, 0]))

    fill()
    assert x.to_numpy()[:, 4:].tolist() == [[16, 17, 20, 21], [18, 19, 22, 23], [24, 25, 28, 29], [26, 27, 30, 31]]
    assert [distance(i, j) for i in range(2) for j in range(3)] == [4, 12, 20, 44, 52, 60]
    y = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).place(y)

    @ti.kernel
    def sparse() -> ti.u64:
        return ti.get_addr(y.snode, [1])

    with pytest.raises(ti.TaichiTypeError, match="a node of a dense tree"):
        sparse()
