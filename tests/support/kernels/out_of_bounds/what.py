"""Accesses outside vectors, matrices and arrays of all kinds, by all forms of an index."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

from .rows import outside

# --- vectors and matrices


@outside("p", (3,), (3,))
def vector_read(w):
    @ti.kernel
    def run(i: ti.i32) -> ti.f32:
        p = ti.Vector([1.0, 2.0, w.a[0]])
        return p[i]  # out

    return lambda: run(3)


@outside("p", (-1,), (3,))
def vector_write(w):
    @ti.kernel
    def run(i: ti.i32) -> ti.f32:
        p = ti.Vector([1.0, 2.0, 3.0])
        p[i] = 9.0  # out
        return p.sum()

    return lambda: run(-1)


@outside("p", (3,), (3,))
def vector_augmented(w):
    @ti.kernel
    def run(i: ti.i32) -> ti.f32:
        p = ti.Vector([1.0, 2.0, 3.0])
        p[i] += 9.0  # out
        return p.sum()

    return lambda: run(3)


@outside("p", (2**32,), (3,))
def vector_with_a_wide_index(w):
    @ti.kernel
    def run(i: ti.i64) -> ti.f32:
        p = ti.Vector([1.0, 2.0, w.a[0]])
        return p[i]  # out

    return lambda: run(2**32)


@outside("p", (2, 0), (2, 3))
def matrix_row(w):
    @ti.kernel
    def run(i: ti.i32, j: ti.i32) -> ti.f32:
        p = ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, w.a[0]]])
        return p[i, j]  # out

    return lambda: run(2, 0)


@outside("p", (0, 3), (2, 3))
def matrix_column(w):
    @ti.kernel
    def run(i: ti.i32, j: ti.i32) -> ti.f32:
        p = ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, w.a[0]]])
        p[i, j] = 9.0  # out
        return p.sum()

    return lambda: run(0, 3)


@outside("p", (1, 6), (6, 6))
def large_matrix(w):
    @ti.kernel
    def run(j: ti.i32) -> ti.f32:
        p = ti.Matrix.zero(ti.f32, 6, 6)
        p[1, j] = 9.0  # out
        return p.sum()

    return lambda: run(6)


@outside("v", (4,), (4,))
def vectors_of_a_field_read(w):
    @ti.kernel
    def run(i: ti.i32) -> ti.f32:
        return w.v[i].sum()  # out

    return lambda: run(4)


@outside("v", (4,), (4,))
def vectors_of_a_field_written(w):
    @ti.kernel
    def run(i: ti.i32):
        w.v[i] = ti.Vector([1.0, 2.0, 3.0])  # out

    return lambda: run(4)


@outside("v", (4,), (4,))
def component_of_a_vector_outside_its_field(w):
    @ti.kernel
    def run(i: ti.i32):
        w.v[i].y = 9.0  # out

    return lambda: run(4)


@outside("v", (3,), (3,))
def component_of_a_field_read(w):
    @ti.kernel
    def run(j: ti.i32) -> ti.f32:
        return w.v[1][j]  # out

    return lambda: run(3)


@outside("v", (3,), (3,))
def component_of_a_field_written(w):
    @ti.kernel
    def run(j: ti.i32):
        w.v[1][j] = 9.0  # out

    return lambda: run(3)


@outside("v", (-1,), (3,))
def component_of_a_field_augmented(w):
    @ti.kernel
    def run(j: ti.i32):
        w.v[1][j] += 9.0  # out

    return lambda: run(-1)


@outside("q", (1, 3), (2, 3))
def element_of_a_matrix_in_a_field(w):
    @ti.kernel
    def run(j: ti.i32):
        w.q[1][1, j] = 9.0  # out

    return lambda: run(3)


@outside("b", (4,), (4,))
def inside_a_vector_made(w):
    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        return ti.Vector([1, w.b[i]]).sum()  # out

    return lambda: run(4)


@outside("b", (4,), (4,))
def inside_a_comprehension(w):
    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        p = ti.Vector([w.b[i + k] for k in range(3)])  # out
        return p.sum()

    return lambda: run(2)


# --- structs


@outside("s", (3,), (3,))
def struct_of_a_field(w):
    s = ti.Struct.field({"x": ti.f32, "p": ti.math.vec3}, shape=3)

    @ti.kernel
    def run(i: ti.i32):
        s[i].x = 9.0  # out

    return lambda: run(3)


@outside("s.p", (3,), (3,))
def vector_in_a_struct_of_a_field(w):
    s = ti.Struct.field({"x": ti.f32, "p": ti.math.vec3}, shape=3)

    @ti.kernel
    def run(j: ti.i32):
        s[1].p[j] += 9.0  # out

    return lambda: run(3)


@outside("s.q.p", (-1,), (3,))
def vector_in_a_nested_struct(w):
    Inner = ti.types.struct(p=ti.math.vec3)
    Outer = ti.types.struct(q=Inner, x=ti.f32)

    @ti.kernel
    def run(j: ti.i32) -> ti.f32:
        s = Outer(q=Inner(p=ti.Vector([1.0, 2.0, 3.0])), x=w.a[0])
        s.q.p[j] = 9.0  # out
        return s.q.p.sum()

    return lambda: run(-1)


@outside("x", (2,), (2,))
def struct_of_an_ndarray(w):
    x = ti.ndarray(ti.types.struct(x=ti.f32, p=ti.math.vec3), 2)

    @ti.kernel
    def run(x: ti.types.ndarray(), i: ti.i32) -> ti.f32:
        return x[i].x  # out

    return lambda: run(x, 2)


# --- forms of an index


@outside("m", (4, 1), (4, 5))
def vector_as_index(w):
    @ti.kernel
    def run(i: ti.i32):
        w.m[ti.Vector([i, 1])] = 9.0  # out

    return lambda: run(4)


@outside("m", (0, 5), (4, 5), I_0=0, I_1=4)
def grouped_index(w):
    @ti.kernel
    def run():
        for I in ti.grouped(w.m):
            if I[1] == 4:
                w.m[I + ti.Vector([0, 1])] = 9.0  # out

    return run


@outside("a", (9,), (4,))
def chained_index(w):
    @ti.kernel
    def run(i: ti.i32):
        w.a[w.b[i]] = 9.0  # out

    return lambda: run(3)


@outside("b", (4,), (4,))
def inner_of_a_chained_index(w):
    @ti.kernel
    def run(i: ti.i32):
        w.a[w.b[i]] = 9.0  # out

    return lambda: run(4)


@outside("a", (7,), (4,))
def index_from_a_field_without_axes(w):
    @ti.kernel
    def run():
        w.a[w.n[None]] = 9.0  # out

    return run


@outside("b", (4,), (4,))
def swap(w):
    @ti.kernel
    def run(i: ti.i32):
        w.b[0], w.b[i] = w.b[i], w.b[0]  # out

    return lambda: run(4)


@outside("b", (4,), (4,))
def second_access_of_a_line(w):
    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        return w.b[i - 1] + w.b[i]  # out

    return lambda: run(4)


# --- arrays of all kinds


@outside("x", (5,), (5,))
def numpy_argument(w):
    x = np.zeros(7, np.float32)[1:6]

    @ti.kernel
    def run(x: ti.types.ndarray(), i: ti.i32):
        x[i] = 9.0  # out

    return lambda: run(x, 5)


@outside("x", (2, 3), (2, 3))
def ndarray_argument(w):
    x = ti.ndarray(ti.f32, (2, 3))

    @ti.kernel
    def run(x: ti.types.ndarray(), i: ti.i32, j: ti.i32) -> ti.f32:
        return x[i, j]  # out

    return lambda: run(x, 2, 3)


@outside("x", (2,), (2,))
def ndarray_of_vectors(w):
    x = ti.Vector.ndarray(3, ti.f32, 2)

    @ti.kernel
    def run(x: ti.types.ndarray(), i: ti.i32):
        x[i] += 1.0  # out

    return lambda: run(x, 2)


@outside("x", (3,), (3,))
def component_of_an_ndarray(w):
    x = ti.Vector.ndarray(3, ti.f32, 2)

    @ti.kernel
    def run(x: ti.types.ndarray(), j: ti.i32):
        x[1][j] = 9.0  # out

    return lambda: run(x, 3)


@outside("x", (0,), (0,))
def array_without_elements(w):
    @ti.kernel
    def run(x: ti.types.ndarray(), i: ti.i32):
        x[i] = 9.0  # out

    return lambda: run(np.zeros(0, np.float32), 0)


@outside("x", (0, 0), (3, 0))
def axis_without_elements(w):
    @ti.kernel
    def run(x: ti.types.ndarray(), i: ti.i32):
        x[0, i] = 9.0  # out

    return lambda: run(np.zeros((3, 0), np.float32), 0)


@outside("x", (4,), (4,))
def template_argument(w):
    @ti.kernel
    def run(x: ti.template(), i: ti.i32):
        x[i] = 9.0  # out

    return lambda: run(w.a, 4)


def of_type(kind: str):
    def make(w):
        x = ti.field(getattr(ti, kind), 4)

        @ti.kernel
        def run(i: ti.i32):
            x[i] = 1  # out

        return lambda: run(4)

    make.__name__ = f"elements_of_type_{kind}"
    outside("x", (4,), (4,))(make)


for kind in ("i8", "u8", "u1", "i16", "u16", "u32", "i64", "u64", "f16", "f64"):
    of_type(kind)

# --- places in a program


@outside("b", (4,), (4,))
def in_print(w):
    @ti.kernel
    def run(i: ti.i32):
        print("b is", w.b[i])  # out

    return lambda: run(4)


@outside("b", (4,), (4,))
def in_an_assert(w):
    @ti.kernel
    def run(i: ti.i32):
        assert w.b[i] > 0, "never said"  # out

    return lambda: run(4)


@outside("b", (4,), (4,))
def in_the_message_of_an_assert(w):
    @ti.kernel
    def run(i: ti.i32):
        assert i < 0, f"{w.b[i]}"  # out

    return lambda: run(4)


@outside("b", (4,), (4,))
def in_one_of_several_results(w):
    @ti.kernel
    def run(i: ti.i32) -> (ti.i32, ti.i32):
        return 1, w.b[i]  # out

    return lambda: run(4)


@outside("b", (4,), (4,))
def in_a_walrus(w):
    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        return (k := w.b[i]) + k  # out

    return lambda: run(4)
